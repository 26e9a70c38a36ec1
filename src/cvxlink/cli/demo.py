"""The demonstration: PCP on Iris with every installed solver, in the paper's form and reduced; then all methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .. import datasets, metrics, plotting
from ..data.graph import Graph
from ..data.links import Links
from ..data.partial_labels import sample_labels
from ..engine.solution import Solution
from ..errors import MissingDependency, SolverUnavailable
from ..methods.kernels.pcp import PCP
from ..methods.table import methods, own_methods
from ..programs.status import Status
from ..solvers.catalogue import installed_sdp_solvers

FORMS = {"reduced": {"form": "dual", "presolve": True}, "paper": {"form": "paper", "presolve": False}}
REDUCED_LIMIT = 60.0
PER_CLASS = 3


def run(folder: Path, time_limit: float, console: Console) -> None:
    """Solve, print two tables and save a picture."""
    X, y = datasets.load("iris")
    links = Links.sample(y, per_class=PER_CLASS, random_state=0)
    problem = PCP(Graph.knn(X), links)
    console.print(str(problem), highlight=False, soft_wrap=True)
    console.print()
    console.print(str(problem.explain()), highlight=False, soft_wrap=True)
    console.print()
    solvers = installed_sdp_solvers()
    tasks = [(form, solver) for form in FORMS for solver in solvers]
    results: dict[tuple[str, str], Solution | SolverUnavailable] = {}
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as progress:
        bar = progress.add_task("", total=len(tasks))
        for form, solver in tasks:
            progress.update(bar, description=f"{solver}, {form} form")
            limit = REDUCED_LIMIT if form == "reduced" else time_limit
            if not isinstance(results.get(("reduced", solver)), SolverUnavailable):
                results[form, solver] = _attempt(problem, solver, form, limit)
            progress.advance(bar)
        progress.update(bar, description="done")
    console.print(_table(results, y))
    console.print(
        "reduced: must-linked points contracted, then dualised.  paper: the program as printed.\n"
        "certified gap: (upper − lower bound) / (1 + |value|), recomputed outside the solver; ! if over 1e-4.",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_methods(problem.graph, links, y))
    _picture(folder, X, links, results, console)


def _methods(graph: Graph, links: Links, y: Any) -> Table:
    """Every method with its default route or solver, on the same graph and links or labels."""
    title = f"The methods, each by its default route or solver, from {len(links)} links or {3 * PER_CLASS} labels"
    table = Table(title=title, caption="gap: certified, as above.  broken: share of the links that the clusters break.")
    for name in ("method", "from", "by"):
        table.add_column(name, no_wrap=True)
    for name in ("gap", "time", "NMI", "broken"):
        table.add_column(name, justify="right", no_wrap=True)
    labels = sample_labels(y, per_class=PER_CLASS, random_state=0)
    for method in methods()[: len(own_methods())]:
        solution = method.make(graph, links, labels, 3).solve()
        scores = metrics.scores(y, solution.cluster(3, random_state=0), links)
        assert solution.certificate is not None
        gap = solution.certificate.relative_gap
        table.add_row(
            method.name,
            next((kind for kind in ("labels", "links") if kind in method.needs), "graph"),
            solution.plan.route.name if solution.plan.route else str(solution.plan.solver),
            "no bound" if gap is None else f"{gap:.1e}",
            f"{solution.timings.total:.2f} s",
            f"{scores['nmi']:.3f}",
            f"{scores['violated']:.0%}",
        )
    return table


def _attempt(problem: PCP, solver: str, form: str, limit: float) -> Solution | SolverUnavailable:
    try:
        return problem.solve(solver=solver, time_limit=limit, strict=False, **FORMS[form])  # type: ignore[arg-type]
    except SolverUnavailable as error:
        return error


def _table(results: dict, y: object) -> Table:
    table = Table(title="PCP on Iris, 150 points, 18 links")
    for name in ("solver", "form"):
        table.add_column(name)
    for name in ("value", "certified gap", "time", "NMI"):
        table.add_column(name, justify="right")
    for (form, solver), result in sorted(results.items(), key=lambda item: (item[0][1], item[0][0])):
        if isinstance(result, SolverUnavailable):
            table.add_row(solver, "", "no licence" if result.needs_licence else "unavailable")
            continue
        seconds = f"{result.timings.total:.2f} s"
        if result.certificate is None:
            stopped = result.status is Status.LIMIT
            table.add_row(solver, form, "stopped" if stopped else "failed", "—", f"> {seconds}" if stopped else seconds)
            continue
        nmi = metrics.nmi(y, result.cluster(3, random_state=0))
        relative = result.certificate.relative_gap
        gap = "no bound" if relative is None else f"{relative:.1e}"
        if result.status is not Status.OPTIMAL:
            gap += " !"
        table.add_row(solver, form, f"{result.value:.6f}", gap, seconds, f"{nmi:.3f}")
    return table


def _gap(solution: Solution) -> float:
    gap = solution.certificate.relative_gap if solution.certificate else None
    return float("inf") if gap is None else gap


def _picture(folder: Path, X: object, links: Links, results: dict, console: Console) -> None:
    answers = [r for r in results.values() if isinstance(r, Solution) and r.status.has_answer]
    if not answers:
        console.print("no solver returned an answer, so there is no picture")
        return
    best = min(answers, key=_gap)
    labels = best.cluster(3, random_state=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = plotting.save_overview(folder / "pcp-iris.png", X, links, best, labels)
    except MissingDependency as error:
        console.print(f"no picture: {error}")
        return
    console.print(f"picture: {path}", highlight=False, markup=False)
