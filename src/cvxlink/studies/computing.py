"""Compute one cell. Everything that can go wrong in it is part of its result."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict
from time import perf_counter
from typing import Any

from .. import instances, metrics
from ..engine.solution import Solution
from ..errors import CvxlinkError, SolverUnavailable
from ..estimator import ConstrainedClustering
from ..methods.called import formulation_called, is_own
from ..programs.status import Status
from .cells import Cell
from .judging import proven_to

LONGEST_WORDS = 2000


def worked_out(cell: Cell) -> dict[str, Any]:
    """Return what came of a cell, computed in this process; an error is a result."""
    return _without_error(_solved if cell.kind == "solvers" else _scored, cell)


def _without_error(work: Callable[[Cell], dict[str, Any]], cell: Cell) -> dict[str, Any]:
    """Return what work returns, or the error it raises as a result."""
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work(cell)
        except SolverUnavailable as error:
            words = {"refused": "licence" if error.needs_licence else "solver", "reason": str(error)}
        except CvxlinkError as error:
            words = {"refused": type(error).__name__, "reason": str(error)}
        except Exception as error:  # a formulation of one's own may raise anything
            words = {"status": Status.ERROR.name, "reason": f"{type(error).__name__}: {error}"}
    return words | {"reason": words["reason"][:LONGEST_WORDS], "seconds": round(perf_counter() - began, 6)}


def _solved(cell: Cell) -> dict[str, Any]:
    """Solve the program of a cell."""
    configuration = cell.configuration
    return _optimum(cell) | _described(
        cell.instance.problem().solve(
            solver=configuration.solver,
            route=configuration.route,
            form=configuration.form,
            presolve=configuration.presolve,
            solver_options=dict(configuration.options) or None,
            accuracy=cell.accuracy,
            time_limit=cell.time_limit,
            threads=cell.threads,
            strict=False,
        )
    )


def _optimum(cell: Cell) -> dict[str, Any]:
    """Return the proven optimum of a problem of the library: a check on what is certified."""
    if cell.instance.library is None:
        return {}
    reference = instances.load(cell.instance.library).reference
    return {"reference": {"value": reference.value, "tolerance": reference.tolerance}}


def _described(solution: Solution) -> dict[str, Any]:
    certificate, timings = solution.certificate, solution.timings
    is_verdict = solution.status in (Status.INFEASIBLE, Status.UNBOUNDED)
    by = f"route {solution.plan.route.name}" if solution.plan.route else solution.plan.solver
    return {
        "status": solution.status.name,
        "claimed": solution.claimed.name if solution.claimed else None,
        "reason": solution.reason[:LONGEST_WORDS],
        "verdict_is_proven": is_verdict,
        "proven_to": proven_to(solution),
        "value": _number(solution.value),
        "bound": None if certificate is None else _number(certificate.bound),
        "gap": None if certificate is None else _number(certificate.relative_gap),
        "violation": None if certificate is None else _number(certificate.largest_violation),
        "dimacs": None
        if certificate is None or certificate.dimacs is None
        else [_number(error) for error in certificate.dimacs],
        "seconds": round(timings.total, 6),
        "timings": {name: round(value, 6) for name, value in asdict(timings).items()},
        "iterations": solution.iterations,
        "by": by,
        "solver_options": {name: str(value) for name, value in solution.options.items()},
        "plan": str(solution.plan)[:LONGEST_WORDS],
    }


def _scored(cell: Cell) -> dict[str, Any]:
    """Cluster the data of a cell, and score the clusters."""
    name = cell.configuration.method or ""
    X, y = cell.instance.points()
    links = cell.instance.drawn(y)
    estimator = ConstrainedClustering(
        len(set(y.tolist())),
        method=formulation_called(name) if is_own(name) else name,
        method_options=dict(cell.configuration.options) or None,
        accuracy=cell.accuracy,
        random_state=cell.instance.draw,
    )
    began = perf_counter()
    labels = estimator.fit(X, links=links).labels_
    seconds = perf_counter() - began
    return {
        "scores": {key: _number(value) for key, value in metrics.scores(y, labels, links).items()},
        "seconds": round(seconds, 6),
        "by": str(estimator.chosen_),
        "status": estimator.solution_.status.name,
    }


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
