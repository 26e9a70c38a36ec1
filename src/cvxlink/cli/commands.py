"""The command line."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import __version__
from ..errors import CvxlinkError, visible
from . import cluster_arguments, optimal_arguments
from .doors import Doors
from .signals import InterruptibleApp
from .streams import require_end
from .study import study
from .terminal import EXIT_CODES, ExitCode, errors_in_one_sentence, exit_code_of, print_json, say

app = InterruptibleApp(
    help="Convex programs for clustering with must-links and cannot-links.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    cls=Doors,
)
problems = typer.Typer(help="The library of instances with proven optima.", no_args_is_help=True)
app.add_typer(problems, name="problems")
app.add_typer(study, name="study")

# So wide are the columns of tables at least where a word needs it.
LONGEST_CELL = 12
Folder = Annotated[Path | None, typer.Option("--folder", help="Your own folder of TOML files.")]
Name = Annotated[str, typer.Argument(help="The name of an instance.")]
Form = Annotated[str | None, typer.Option(help="A form of the program.")]
AsJson = Annotated[bool, typer.Option("--json", help="For scripts: JSON on standard output.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Convex programs for clustering with must-links and cannot-links."""


app.command(epilog=EXIT_CODES)(cluster_arguments.cluster)
app.command(epilog=EXIT_CODES)(cluster_arguments.explain)
app.command(epilog=EXIT_CODES)(optimal_arguments.optimal)


@app.command()
def version() -> None:
    """Print the version."""
    _print_version(True)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("cvxlink-demo"),
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=cluster_arguments.LONGEST, help="Seconds for each solver on the paper's form.")
    ] = 8.0,
) -> None:
    """Solve PCP on Iris with every installed solver, in the paper's form and in the reduced form."""
    from .demo import run

    with errors_in_one_sentence() as console:
        run(out, time_limit, console)


@app.command()
def solvers(
    check: Annotated[bool, typer.Option(help="Try each installed solver on small problems.")] = True,
    as_json: AsJson = False,
) -> None:
    """List the solvers: installed or not, what they take, and whether they work now."""
    from rich.table import Table

    from ..solvers.catalogue import KINDS
    from ..solvers.table import solvers as table_of_solvers

    with errors_in_one_sentence() as console:
        found = table_of_solvers(check)
        if as_json:
            print_json([asdict(solver) for solver in found])
            return
        here = [solver for solver in found if solver.installed]
        caption = "yes: it just solved a problem on ten points correctly" if check else None
        table = Table(
            title="Installed", caption=caption, box=None, padding=(0, 1), pad_edge=False, title_justify="left"
        )
        rows: list[tuple[str, ...]] = [("solver", "version", "kind", *KINDS, "warm start")]
        for solver in here:
            kinds = (solver.works.get(kind, _taken(solver, kind, check)) for kind in KINDS)
            rows.append((solver.name, solver.version, solver.kind, *kinds, "yes" if solver.warm_start else "no"))
        for name, cells in zip(rows[0], zip(*rows, strict=True), strict=True):
            # No word is broken, unless it is longer than any that the table itself has.
            longest = max(len(word) for cell in cells for word in cell.split() or [""])
            is_narrow = max(map(len, cells)) == longest <= LONGEST_CELL
            table.add_column(name, overflow="fold", no_wrap=is_narrow, min_width=min(longest, LONGEST_CELL))
        for row in rows[1:]:
            table.add_row(*row)
        console.print(table)
        licences: dict[str, list[str]] = {}
        for solver in here:
            licences.setdefault(solver.licence or "see its documentation", []).append(solver.name)
        lines = ["", "Licences", *(f"  {licence}: {', '.join(names)}" for licence, names in licences.items())]
        lines += ["", "Sizes", *(f"  {solver.name}: {solver.limits}" for solver in here if solver.limits)]
        mute = [solver.name for solver in here if not solver.reports]
        lines += ["", f"No iterations or time reported: {', '.join(mute)}"] if mute else []
        missing = [solver for solver in found if not solver.installed]
        known = [f"  {s.name} ({', '.join(s.takes)}; {s.licence}): {s.get}" for s in missing if s.licence]
        others = ", ".join(solver.name for solver in missing if not solver.licence)
        lines += ["", "Not installed", *known] if missing else []
        lines += [f"  and others that CVXPY knows: {others}"] if others else []
        console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _taken(solver: Any, kind: str, check: bool) -> str:
    return "takes" if kind in solver.takes and not check else "—"


@app.command()
def methods(as_json: AsJson = False) -> None:
    """List the methods: their paper, the kind of program, what they take and yield, and their options."""
    from rich.table import Table
    from rich.text import Text

    from ..methods.table import methods as table_of_methods

    with errors_in_one_sentence() as console:
        found = table_of_methods()
        if as_json:
            names = ("name", "paper", "program", "forms", "routes", "takes", "yields", "options")
            print_json([{name: getattr(method, name) for name in names} for method in found])
            return
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 1, 0))
        table.add_column(no_wrap=True)
        table.add_column()
        for method in found:
            where_from = f" ({method.paper})" if method.paper else ""
            options = f"options: {', '.join(method.options)}" if method.options else "no options"
            about = (
                f"{method.program}{where_from}\ntakes {method.takes or 'nothing'}; yields {method.yields}\n{options}"
            )
            table.add_row(Text(method.name, style="bold"), Text(about))
        console.print(table)
        typer.echo("cvxlink cluster data.csv --links links.csv --method srcp --option mu=0.2")


@app.command("bring-back")
def bring_back(
    program: Annotated[Path, typer.Argument(help="The exported file; its .lift must be next to it.")],
    result: Annotated[Path, typer.Argument(help="The result of CSDP, DSDP or SDPA.")],
    clusters: Annotated[
        int | None, typer.Option(min=1, max=cluster_arguments.MOST, help="Cluster, and print the labels.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Your own class, module:Class, if the problem is one. Its module is run.")
    ] = None,
) -> None:
    """Lift and certify a result that was computed elsewhere."""
    from ..engine.exchange import bring_back
    from ..methods.called import formulation_called

    with errors_in_one_sentence():
        for path in (program, result):
            require_end(path)
        if method is not None:
            formulation_called(method)  # which loads it; files cannot
        solution = bring_back(program, result, strict=False)
        say(str(solution), to_errors=False)
        code = exit_code_of(solution)
        if clusters is not None and code != ExitCode.NO_ANSWER:
            typer.echo(" ".join(map(str, solution.cluster(clusters, random_state=0))))
        if code:
            raise typer.Exit(code)


# ---------------------------------------------------------------------- the library


@problems.command("list")
def list_problems(
    folder: Folder = None,
    tag: Annotated[str | None, typer.Option(help="Only those with a tag: small, medium, large, semidefinite …")] = None,
    as_json: AsJson = False,
) -> None:
    """List the instances."""
    from .. import instances as library

    with errors_in_one_sentence():
        good, broken = [], []
        for name in library.names(folder) if tag is None else library.names(folder, tag):
            try:
                instance = library.load(name, folder)
                instance.problem  # noqa: B018 — building it shows what is wrong
                good.append(instance)
            except CvxlinkError as error:
                broken.append(str(error))
        if as_json:
            names = ("name", "title", "why", "formulation", "tags")
            print_json([{n: getattr(i, n) for n in names} | {"reference": i.reference.as_json()} for i in good])
        else:
            say(str(library.InstanceTable(good)), to_errors=False)
        for words in broken:
            say(words, to_errors=as_json, style="red")
        if broken:
            raise typer.Exit(ExitCode.BAD_INPUT)


@problems.command()
def show(name: Name, folder: Folder = None) -> None:
    """Show an instance: its program, why it is interesting, its optimum and the proof."""
    from .. import instances as library

    with errors_in_one_sentence():
        say(str(library.load(name, folder)), to_errors=False)


@problems.command()
def solve(
    name: Name,
    folder: Folder = None,
    solver: Annotated[
        str | None, typer.Option(help="A solver; by default our own algorithm where one applies.")
    ] = None,
    form: Form = None,
    route: Annotated[str | None, typer.Option(help="A route: one of our own algorithms for the program.")] = None,
    accuracy: Annotated[float, typer.Option(min=1e-15, max=0.5)] = 1e-6,
    time_limit: Annotated[float | None, typer.Option(min=0.01, max=cluster_arguments.LONGEST, help="Seconds.")] = None,
    memory_limit: Annotated[str | None, typer.Option(help="For example 4GB.")] = None,
    as_json: AsJson = False,
) -> None:
    """Solve an instance and compare the value with its proven optimum."""
    from .. import instances as library

    with errors_in_one_sentence():
        instance = library.load(name, folder)
        solution = instance.problem.solve(
            solver=solver,
            form=form,
            route=route,
            accuracy=accuracy,
            time_limit=time_limit,
            memory_limit=memory_limit,
            strict=False,
        )
        reference = instance.reference
        off = reference.off(solution.value)
        right = solution.status.has_answer and off <= reference.tolerance
        right = right if reference.verdict is None else solution.status is reference.verdict
        if as_json:
            from .report import solution_as_json

            print_json(solution_as_json(solution) | {"reference": reference.as_json(), "off": off, "holds": right})
        else:
            verdict = f"off by {off:.1e} of 1 + |value|, {'within' if right else 'more than'} the tolerance"
            said = f"{reference.value:.12g}   {verdict}" if reference.verdict is None else str(reference.verdict)
            say(f"{solution}\nreference      {said}", to_errors=False)
        if code := exit_code_of(solution) or (ExitCode.OK if right else ExitCode.BAD_INPUT):
            raise typer.Exit(code)


@problems.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Names of instances; by default all.")] = None,
    folder: Folder = None,
    time_limit: Annotated[
        float, typer.Option(min=0.1, max=cluster_arguments.LONGEST, help="Seconds for each solve.")
    ] = 120.0,
) -> None:
    """Prove the library again: solve, certify and compare; exit code 1 if a reference does not hold."""
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from .. import instances as library
    from ..errors import LinkWarning

    with errors_in_one_sentence() as console, warnings.catch_warnings():
        warnings.simplefilter("ignore", LinkWarning)  # it is about clusters, and nothing is clustered here
        wanted = names or library.names(folder)
        failed = []
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            bar = progress.add_task("proving", total=len(wanted))
            for verdict in library.verify(wanted, folder, time_limit):
                gap = "no bound" if verdict.gap is None else f"gap {verdict.gap:.0e}"
                text = f"{verdict.value:.10g}, {gap}" if verdict.holds else verdict.words
                mark = "holds" if verdict.holds else "FAILS"
                line = f"{verdict.name:<28} {mark}  {verdict.seconds:5.1f} s  {text}"
                progress.console.print(visible(line), highlight=False, markup=False, soft_wrap=True)
                progress.update(bar, advance=1, description=escape(visible(verdict.name)))
                if not verdict.holds:
                    failed.append(verdict.name)
        console.print(f"{len(wanted) - len(failed)} of {len(wanted)} hold", highlight=False)
        if failed:
            say(f"not proven: {', '.join(failed)}", to_errors=False, style="red")
            raise typer.Exit(ExitCode.BAD_INPUT)


@problems.command()
def export(
    name: Name,
    out: Annotated[Path | None, typer.Option(help="NAME.dat-s by default; NAME.cbf for the CBF format.")] = None,
    form: Form = None,
    presolve: Annotated[bool, typer.Option(help="Reduce the program first.")] = True,
    folder: Folder = None,
) -> None:
    """Write the program of an instance to a file for other solvers."""
    from .. import instances as library

    with errors_in_one_sentence():
        path = library.load(name, folder).problem.export(out or Path(f"{name}.dat-s"), form, presolve)
        words = f"{path}, and {path.name}.lift, with which `cvxlink bring-back` reads a result"
        say(words, to_errors=False)
