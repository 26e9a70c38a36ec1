"""The reports of ``cvxlink cluster`` and ``cvxlink explain``: for a person, or as JSON for a script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import metrics
from ..certificates.certificate import Certificate
from ..data.links import Links
from ..engine.plan import Plan
from ..engine.solution import Solution
from ..errors import InconsistentLinks
from ..estimator.choice import Choice
from ..estimator.options import is_auto
from ..numerics.checks import is_known
from .cluster import Explanation, Outcome
from .reading import PointsAndLinks

SHOWN = 5
WIDTH = 12


def summary(outcome: Outcome) -> str:
    """Return a summary of a clustering for a person, a line or two on each topic."""
    chosen = outcome.fitted.chosen_ if is_auto(outcome.choices.method) else None
    said = [*about_data(outcome.data), *_about_choice(chosen), *_about_solution(outcome.fitted.solution_)]
    said += _about_clusters(outcome)
    if len(outcome.data.links):
        said.append(("violated", _about_violated(outcome)))
    if outcome.data.file.truth is not None:
        said.append(("scores", _about_scores(outcome)))
    said.append(("time", _about_time(outcome.seconds)))
    said += [("written", str(path)) for path in (outcome.out, outcome.plot) if path is not None]
    said += [("warning", words) for words in outcome.warnings]
    return aligned(said)


def summary_of_plan(explanation: Explanation) -> str:
    """Return the data, the program in mathematics, and the plan."""
    said = [*about_data(explanation.data), *_about_choice(explanation.chosen)]
    said += [("warning", words) for words in explanation.warnings]
    return f"{aligned(said)}\n\n{explanation.problem}\n\n{explanation.plan}"


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return everything about a clustering for scripts."""
    fitted, points = outcome.fitted, outcome.data.points
    classes = outcome.classes
    return {
        "points": [points[row] for row in range(len(outcome.labels))],
        "labels": outcome.labels.tolist(),
        **({} if classes is None else {"classes": classes}),
        "n_clusters": fitted.n_clusters_,
        "sizes": _sizes(outcome),
        "violated": [{"i": points[i], "j": points[j], "kind": kind} for kind, i, j in outcome.violated],
        "scores": scores(outcome),
        **solution_as_json(fitted.solution_),
        "chosen": asdict(fitted.chosen_),
        "timings": outcome.seconds,
        "data": data_as_json(outcome.data),
        "settings": asdict(outcome.choices),
        "warnings": outcome.warnings,
        "out": None if outcome.out is None else str(outcome.out),
        "plot": None if outcome.plot is None else str(outcome.plot),
    }


def plan_as_json(explanation: Explanation) -> dict[str, Any]:
    """Return the program and the plan for scripts."""
    plan = explanation.plan
    return {
        "method": type(explanation.problem).__name__,
        "program": str(explanation.problem),
        "latex": explanation.problem._repr_latex_(),
        "sizes": str(explanation.problem.program.sizes),
        "steps": [
            {
                "name": s.name,
                "why": s.why,
                "before": str(s.before.sizes),
                "after": None if s.after is None else str(s.after.sizes),
            }
            for s in plan.steps
        ],
        **_way_as_json(plan),
        "why": plan.why,
        "plan": str(plan),
        "chosen": None if explanation.chosen is None else asdict(explanation.chosen),
        "data": data_as_json(explanation.data),
        "warnings": explanation.warnings,
    }


def solution_as_json(solution: Solution) -> dict[str, Any]:
    """Return how a solve ended, and what is proven about its answer, for scripts."""
    return {
        "method": type(solution.problem).__name__,
        **_way_as_json(solution.plan),
        "status": str(solution.status),
        "reason": solution.reason,
        "certificate": None if solution.certificate is None else _certificate_as_json(solution.certificate),
        "timings": asdict(solution.timings),
        "iterations": solution.iterations,
    }


def scores(outcome: Outcome) -> dict[str, float] | None:
    """Return the scores against the classes in the file, over the points whose class is known."""
    truth = outcome.data.file.truth
    if truth is None:
        return None
    known = is_known(truth)
    return metrics.scores(truth[known], outcome.labels[known])


# ---------------------------------------------------------------------- for a person


def aligned(said: list[tuple[str, str]]) -> str:
    """Return lines, each topic named once at their beginning."""
    heads = [head if k == 0 or said[k - 1][0] != head else "" for k, (head, _) in enumerate(said)]
    return "\n".join(f"{head:<{WIDTH}}{text}".rstrip() for head, (_, text) in zip(heads, said, strict=True))


def about_data(data: PointsAndLinks) -> Iterator[tuple[str, str]]:
    """Yield what was read: points, labels and links."""
    n, d = data.X.shape
    yield "data", f"{data.file.where}: {counted(n, 'point')}, {counted(d, 'feature')} ({_first(data.file.features)})"
    if data.standardized:
        yield "data", "features scaled to zero mean and unit variance; --no-standardize keeps them as they are"
        if data.constant:
            yield "data", f"constant, so not scaled: {_first(data.constant)}"
    else:
        yield "data", "features as they are in the file, not scaled"
    yield from (("data", note) for note in data.file.notes)
    known = np.array([])
    if data.file.labels is not None:
        known = data.file.labels[is_known(data.file.labels)]
        classes = [str(name) for name in np.unique(known)]
        yield "labels", f"{len(known)} of {n} points, {len(classes)} classes ({_first(classes)})"
    yield "links", _about_links(data.links, len(known))
    contradiction = data.links.contradiction()
    if contradiction:
        yield "links", f"contradictory: {data.points.reworded(InconsistentLinks(*contradiction))}"


def _about_links(links: Links, n_labels: int) -> str:
    if not len(links) and n_labels:
        return f"only those that follow from {counted(n_labels, 'label')}"
    if not len(links):
        return "none; give some with --links, --must and --cannot, or --label-column"
    text = (
        f"{counted(len(links.must), 'must-link')} and {counted(len(links.cannot), 'cannot-link')} "
        f"on {counted(len(links.linked), 'point')}"
    )
    if links.contradiction():
        return text
    must, cannot = closure_counts(links)
    return f"{text}; {links.n_blocks} blocks; {must} must and {cannot} cannot follow from them"


def closure_counts(links: Links) -> tuple[int, int]:
    """Return how many must-links and cannot-links follow from links, these included; they are counted, not listed."""
    sizes = np.bincount(links.blocks)
    return int((sizes * (sizes - 1)).sum() // 2), int(sizes[links.block_cannot].prod(axis=1).sum())


def _about_choice(chosen: Choice | None) -> Iterator[tuple[str, str]]:
    if chosen is not None:
        yield "chosen", f"{chosen}; --method names another"


def _about_solution(solution: Solution) -> Iterator[tuple[str, str]]:
    problem, plan = solution.problem, solution.plan
    about = problem.about
    cited = f" ({about.citation.short})" if about.citation else ""
    way = f"the route {plan.route.name!r}" if plan.route else f"the solver {plan.solver}, form {plan.form!r}"
    yield "method", f"{type(problem).__name__}{cited}, {about.program}; by {way}"
    yield "status", f"{solution.status}: {solution.status.sentence} ({solution.reason})"
    certificate = solution.certificate
    if certificate is not None:
        yield from (("certificate", text) for text in _about_certificate(certificate))


def _about_certificate(certificate: Certificate) -> Iterator[str]:
    if certificate.bound is None:
        yield f"value {certificate.value:.8g}; no bound: {certificate.basis}"
    else:
        bounds = (("at least", certificate.lower_bound), ("at most", certificate.upper_bound))
        limits = ", ".join(f"{words} {bound:.8g}" for words, bound in bounds if bound is not None)
        yield (f"value {certificate.value:.8g}; the optimum is {limits}; relative gap {certificate.relative_gap:.1e}")
    distance = "" if certificate.distance is None else f"; at most {certificate.distance:.1e} from the solution"
    yield f"largest violation of a constraint {certificate.largest_violation:.1e}{distance}"


def _about_clusters(outcome: Outcome) -> Iterator[tuple[str, str]]:
    sizes = _sizes(outcome)
    yield "clusters", f"{len(sizes)}, with {', '.join(map(str, sizes))} points"
    if outcome.choices.n_clusters is None:
        yield "clusters", "the number follows from labels and cannot-links, at least 2; set another with --clusters"


def _sizes(outcome: Outcome) -> list[int]:
    return np.bincount(outcome.labels, minlength=outcome.fitted.n_clusters_).tolist()


def _about_violated(outcome: Outcome) -> str:
    violated, points = outcome.violated, outcome.data.points
    text = f"{len(violated)} of {counted(len(outcome.data.links), 'link')}"
    if not violated:
        return text
    named = ", ".join(f"{kind} {points[i]} – {points[j]}" for kind, i, j in violated[:SHOWN])
    return f"{text}: {named}{', …' if len(violated) > SHOWN else ''}"


def _about_scores(outcome: Outcome) -> str:
    found, truth = scores(outcome), outcome.data.file.truth
    assert found is not None and truth is not None
    known = int(is_known(truth).sum())
    over = "" if known == len(truth) else f", over the {known} points whose class is known"
    return ", ".join(f"{name} {value:.4f}" for name, value in found.items()) + over


def _about_time(seconds: dict[str, float]) -> str:
    solving = sum(value for stage, value in seconds.items() if stage not in ("read", "fit"))
    rest = max(seconds["fit"] - solving, 0.0)
    return (
        f"{seconds['read'] + seconds['fit']:.2f} s: reading {seconds['read']:.2f} s, solving and certifying "
        f"{solving:.2f} s, graph and clustering {rest:.2f} s"
    )


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _first(names: Any) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")


# ---------------------------------------------------------------------- for scripts


def _way_as_json(plan: Plan) -> dict[str, Any]:
    return {"route": None if plan.route is None else plan.route.name, "solver": plan.solver, "form": plan.form}


def _certificate_as_json(certificate: Certificate) -> dict[str, Any]:
    names = ("value", "lower_bound", "upper_bound", "gap", "relative_gap", "largest_violation", "violations")
    others = ("conditions", "min_eigenvalue", "distance", "dimacs", "basis")
    return {name: getattr(certificate, name) for name in (*names, *others)}


def data_as_json(data: PointsAndLinks) -> dict[str, Any]:
    """Return what was read, for scripts."""
    n, d = data.X.shape
    return {
        "file": data.file.where,
        "n_points": n,
        "n_features": d,
        "features": list(data.file.features),
        "standardized": data.standardized,
        "constant": list(data.constant),
        "notes": list(data.file.notes),
        "n_labels": None if data.file.labels is None else int(is_known(data.file.labels).sum()),
        "must_links": len(data.links.must),
        "cannot_links": len(data.links.cannot),
        "blocks": data.links.n_blocks,
        "contradictory": data.links.contradiction() is not None,
    }
