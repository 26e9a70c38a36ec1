"""Compute one cell. Everything that can go wrong in it is part of its result."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np

from .. import instances, metrics
from ..data.links import Links
from ..engine.solution import Solution
from ..errors import CvxlinkError, InconsistentLinks, MissingDependency, SolverUnavailable
from ..estimator import ConstrainedClustering
from ..methods.called import is_own, worded
from ..numerics.arguments import shown
from ..numerics.checks import as_labels
from ..programs.status import Status
from .cells import Cell
from .judging import proven_to
from .sources import formulation_in, function_in
from .task import Task

LONGEST_WORDS = 2000
LONGEST_TEXT = 200
MOST_FOUND = 1000


def worked_out(cell: Cell) -> dict[str, Any]:
    """Return what came of a cell, computed in this process; an error is a result."""
    return _without_error({"solvers": _solved, "methods": _scored, "functions": _measured}[cell.kind], cell)


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
        except ImportError as error:  # a peer that is not installed here
            words = {"refused": MissingDependency.__name__, "reason": worded(error)}
        except Exception as error:  # code of one's own may raise anything
            words = {"status": Status.ERROR.name, "reason": worded(error)}
    return words | {"reason": words["reason"][:LONGEST_WORDS], "seconds": round(perf_counter() - began, 6)}


# ---------------------------------------------------------------------- programs


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
            verbose=True,
        )
    )


def _optimum(cell: Cell) -> dict[str, Any]:
    """Return the proven optimum of a problem of the library: a check on what is certified."""
    if cell.instance.library is None:
        return {}
    reference = instances.load(cell.instance.library).reference
    if reference.verdict is not None:
        return {}
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
        "tolerances": {name: _number(value) for name, value in solution.tolerances.items()},
        "plan": str(solution.plan)[:LONGEST_WORDS],
    }


# ---------------------------------------------------------------------- clusters


def _scored(cell: Cell) -> dict[str, Any]:
    """Cluster the data of a cell, and score the clusters against all the links that were drawn.

    A method that enforces links gets those that do not contradict the ones before, in random order; the others count.
    """
    task = cell.instance.task()
    cluster = _by_estimator if cell.configuration.estimator else _by_method
    left_out, began = 0, perf_counter()
    try:
        labels, how = cluster(cell, task)
    except InconsistentLinks:
        kept = consistent_part(task.links, task.random_state)
        left_out, began = len(task.links) - len(kept), perf_counter()
        labels, how = cluster(cell, replace(task, links=kept))
    seconds = perf_counter() - began
    scores = metrics.scores(task.y, labels, task.links)
    left = {"links_left_out": left_out} if left_out else {}
    return {"scores": {key: _number(value) for key, value in scores.items()}, "seconds": round(seconds, 6)} | how | left


def _by_method(cell: Cell, task: Task) -> tuple[np.ndarray, dict[str, Any]]:
    """Cluster with a method, as the estimator does."""
    configuration = cell.configuration
    name = configuration.method or ""
    graph = dict(task.graph_options)
    estimator = ConstrainedClustering(
        task.n_clusters,
        method=formulation_in(name, cell.folder) if is_own(name) else name,
        method_options=dict(configuration.options) or None,
        affinity=graph.pop("kind", "knn"),
        solver=configuration.solver,
        form=configuration.form,
        route=configuration.route,
        accuracy=cell.accuracy,
        random_state=task.random_state,
        **graph,
    )
    labels = estimator.fit(task.X, task.labels, links=task.links).labels_
    return labels, {"by": str(estimator.chosen_), "status": estimator.solution_.status.name}


def _by_estimator(cell: Cell, task: Task) -> tuple[np.ndarray, dict[str, Any]]:
    """Cluster with a function of one's own."""
    name = cell.configuration.estimator or ""
    function = function_in(name, cell.folder)
    labels = as_labels(_called(function, task, cell.configuration.options), len(task.X), "labels", name)
    return labels, {"by": name}


def _called(function: Callable[..., Any], task: Task, options: Mapping[str, Any]) -> Any:
    """Call a function with the parts of a task that it names, or with the task."""
    parts = ("X", "n_clusters", "links", "labels", "random_state", "graph")
    try:
        named = tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some that are written in C do not say
        named = ()
    if "X" in named:
        return function(**{part: getattr(task, part) for part in parts if part in named}, **options)
    return function(task, **options)


def consistent_part(links: Links, seed: int) -> Links:
    """Go through links in random order, and leave out those that contradict the ones before.

    Unlike the least set of links to leave out, these do not depend on how much time there is to look for them.
    """
    pairs = np.vstack([links.must, links.cannot])
    is_must = np.arange(len(pairs)) < len(links.must)
    kept: list[int] = []
    for k in np.random.default_rng(seed).permutation(len(pairs)):
        chosen = np.array([*kept, k])
        more = Links(links.n, pairs[chosen[is_must[chosen]]], pairs[chosen[~is_must[chosen]]])
        if not more.contradiction():
            kept.append(int(k))
    chosen = np.array(sorted(kept), dtype=int)
    return Links(links.n, pairs[chosen[is_must[chosen]]], pairs[chosen[~is_must[chosen]]])


# ---------------------------------------------------------------------- anything else


def _measured(cell: Cell) -> dict[str, Any]:
    """Call a function, and record the numbers and texts that it returns.

    A number called ``seconds`` takes the place of the time of the call.
    """
    name = cell.configuration.run or ""
    function, began = function_in(name, cell.folder), perf_counter()
    found = function(**{**cell.instance.options, **cell.configuration.options})
    seconds = perf_counter() - began
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found) or len(found) > MOST_FOUND:
        raise TypeError(f"{name} must return numbers and texts by name, not {shown(found)}")
    numbers, texts = {}, {}
    for key, value in found.items():
        if value is None or isinstance(value, Real | np.bool_):
            numbers[key] = _number(value)
        elif isinstance(value, str):
            texts[key] = value[:LONGEST_TEXT]
        else:
            raise TypeError(f"{name} must return numbers and texts by name; {key!r} is {shown(value)}")
    seconds = numbers.pop("seconds", None) or seconds
    return {"numbers": numbers, "texts": texts, "seconds": round(seconds, 6), "by": name}


def _number(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
