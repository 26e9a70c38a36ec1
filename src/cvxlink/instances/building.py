"""The problem of an instance, built from what its file says: points, a graph or a kernel, links, labels, parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from math import prod
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import datasets, methods
from ..data.graph import Graph
from ..data.links import Links
from ..data.partial_labels import sample_labels
from ..engine.problem import Problem
from ..errors import InvalidFile

# What an instance may claim: files are small, and what they ask for is made in memory.
MOST_POINTS = 100_000
MOST_POINTS_OF_DENSE = 5_000
MOST_NUMBERS = 10**8
MOST_LINKS = 10**6
LARGEST_VALUE = 1e300


def built(formulation: str, content: Mapping[str, Any], check: Check) -> Problem:
    """Return the problem that a file describes."""
    if formulation not in methods.__all__:
        near = get_close_matches(formulation, methods.__all__, 1)
        raise check.wrong(f"there is no formulation {formulation!r}" + meant(near))
    if not isinstance(content["parameters"], dict):
        raise check.wrong("parameters must be a table of keys and values")
    points = _points(content.get("data"), check)
    ground: Any
    if "X" in {parameter.name for parameter in fields(getattr(methods, formulation))}:
        ground, _ = _needs_points(points, formulation, check)
        n = len(ground)
    elif "kernel" in content:
        ground = _kernel(content["kernel"], points, check)
        n = len(ground)
    else:
        ground = _graph(content.get("graph", {}), points, check)
        n = ground.n
    known = []
    if "links" in content:
        known.append(_links(content["links"], n, points, check))
    if "labels" in content:
        known.append(_labels(content["labels"], points, check))
    return getattr(methods, formulation)(ground, *known, **content["parameters"])


@dataclass(frozen=True)
class Check:
    """Complaints about a file."""

    file: str

    def wrong(self, what: str) -> InvalidFile:
        """Return an error that names the file."""
        return InvalidFile(f"{self.file}: {what}")

    def keys(self, given: Any, allowed: set[str], needed: set[str] = frozenset(), section: str = "") -> None:  # type: ignore[assignment]
        """Raise if a key is unknown or missing."""
        within = f" in [{section}]" if section else ""
        if not isinstance(given, dict):
            raise self.wrong(f"{section or 'it'} must be a table of keys and values")
        for key in given:
            if key not in allowed:
                raise self.wrong(f"there is no key {key!r}{within}" + meant(get_close_matches(key, allowed, 1)))
        for key in sorted(needed):
            if key not in given:
                raise self.wrong(f"the key {key!r} is missing{within}")


def is_number(value: Any) -> bool:
    """Whether a value is a number, and not too large to compute with."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_VALUE


def _require_size(check: Check, what: str, *sizes: Any, most: int) -> None:
    """Raise if a product of sizes is beyond a limit; anything that is not a number is left to whoever uses it."""
    numbers = [size for size in sizes if isinstance(size, int | float) and not isinstance(size, bool)]
    if any(abs(number) > most for number in numbers) or prod(max(abs(number), 1) for number in numbers) > most:
        raise check.wrong(f"{what} claims more than {most}, which is the most that an instance may have")


def meant(near: Sequence[str]) -> str:
    """Return the hint that follows a name that is not known, or nothing."""
    return f"; did you mean {near[0]!r}?" if near else ""


# Points and their classes, which are not known if the points stand in the file.
Data = tuple[np.ndarray, np.ndarray | None]


def _points(given: Any, check: Check) -> Data | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise check.wrong("data must be a table of keys and values")
    if "points" in given:
        check.keys(given, {"points"}, section="data")
        return np.array(given["points"], dtype=float), None
    parameters = dict(given)
    if "set" not in parameters:
        raise check.wrong("[data] needs the key 'set', the name of a data set, or 'points'")
    name, every, classes = parameters.pop("set"), parameters.pop("every", 1), parameters.pop("classes", None)
    sizes = {key: value for key, value in parameters.items() if key in ("n", "per_class", "dimension", "n_classes")}
    _require_size(check, "[data]", *sizes.values(), most=MOST_NUMBERS)
    _require_size(check, "the number of points in [data]", sizes.get("n"), sizes.get("per_class"), most=MOST_POINTS)
    X, y = datasets.load(name, **parameters)
    if classes is not None:
        X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    return X[::every], y[::every]


def _needs_points(points: Data | None, what: str, check: Check) -> Data:
    if points is None:
        raise check.wrong(f"{what} needs points; add a section [data]")
    return points


def _needs_classes(points: Data | None, what: str, check: Check) -> np.ndarray:
    _, y = _needs_points(points, what, check)
    if y is None:
        raise check.wrong(f"{what} needs classes, which points in the file do not have; name a set in [data]")
    return y


def _edges(i: Any, j: Any, n: int) -> sp.csr_array:
    W = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sp.csr_array(W + W.T)


def _grid(rows: int, columns: int) -> sp.csr_array:
    at = np.arange(rows * columns).reshape(rows, columns)
    i = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    j = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return _edges(i, j, rows * columns)


# Graphs with names of their own, all weights one.
SHAPES: dict[str, Callable[..., sp.csr_array]] = {
    "path": lambda size: _edges(np.arange(size - 1), np.arange(1, size), size),
    "ring": lambda size: _edges(np.arange(size), np.roll(np.arange(size), -1), size),
    "star": lambda size: _edges(np.zeros(size - 1, int), np.arange(1, size), size),
    "complete": lambda size: _edges(*np.triu_indices(size, 1), size),
    "grid": _grid,
}


def _graph(given: Any, points: Data | None, check: Check) -> Graph:
    if not isinstance(given, dict) or not {"affinity", "kind"} & given.keys():
        raise check.wrong("a section [graph] with 'affinity' or 'kind', or [kernel], is missing")
    arguments = dict(given)
    factor, kind = arguments.pop("factor", 1.0), arguments.pop("kind", None)
    if kind is None:
        check.keys(arguments, {"affinity"}, section="graph")
        W: Any = np.array(arguments["affinity"], dtype=float)
    elif isinstance(kind, str) and kind in SHAPES:
        most = MOST_POINTS_OF_DENSE if kind == "complete" else MOST_POINTS
        _require_size(check, "the number of points in [graph]", *arguments.values(), most=most)
        W = SHAPES[kind](**arguments)
    elif kind in ("knn", "rbf"):
        X, _ = _needs_points(points, f"a graph of the kind {kind!r}", check)
        neighbours = arguments.get("n_neighbors", 1) if kind == "knn" else 1
        _require_size(check, "the number of edges in [graph]", len(X), neighbours, most=MOST_NUMBERS)
        _require_size(check, "a dense [graph]", len(X) if kind == "rbf" else 1, most=MOST_POINTS_OF_DENSE)
        graph = Graph.knn(X, **arguments) if kind == "knn" else Graph.rbf(X, **arguments)
        if factor == 1:
            return graph
        W = graph.W
    else:
        near = get_close_matches(str(kind), KINDS, 1)
        raise check.wrong(f"there is no graph of the kind {kind!r}" + meant(near))
    return Graph.from_affinity(factor * W)


KINDS = [*SHAPES, "knn", "rbf"]


def _kernel(given: Any, points: Data | None, check: Check) -> np.ndarray:
    check.keys(given, {"entries", "sigma"}, section="kernel")
    if "entries" in given:
        return np.array(given["entries"], dtype=float)
    X, _ = _needs_points(points, "a kernel of a width sigma", check)
    _require_size(check, "[kernel]", len(X), most=MOST_POINTS_OF_DENSE)
    return Graph.rbf(X, given.get("sigma", "mean")).kernel()


def _links(given: Any, n: int, points: Data | None, check: Check) -> Any:
    if isinstance(given, dict) and "strengths" in given:
        check.keys(given, {"strengths"}, section="links")
        return np.array(given["strengths"], dtype=float)
    check.keys(given, {"must", "cannot", "n_links", "per_class", "random_state"}, section="links")
    if {"must", "cannot"} & given.keys():
        check.keys(given, {"must", "cannot"}, section="links")
        return Links(n, **given)
    y = _needs_classes(points, "sampling links", check)
    for key in ("n_links", "per_class"):
        _require_size(check, f"{key} in [links]", given.get(key), most=MOST_LINKS)
    return Links.sample(y, **given)


def _labels(given: Any, points: Data | None, check: Check) -> Any:
    check.keys(given, {"given", "n_labels", "per_class", "random_state"}, section="labels")
    if "given" in given:
        return given["given"]
    return sample_labels(_needs_classes(points, "sampling labels", check), **given)
