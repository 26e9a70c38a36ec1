"""The library of instances: problems with proven optima, one TOML file each, and how they are proven again."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import datasets, methods
from .data.graph import Graph
from .data.links import Links
from .data.partial_labels import sample_labels
from .engine.problem import Problem
from .engine.solution import Solution
from .errors import CvxlinkError, InvalidFile, InvalidInput
from .model.tables import Table
from .numerics.arguments import as_path, as_text, printable, shown
from .numerics.checks import as_positive, as_real

# By how much a certified bound may miss the reference because of rounding, relative to 1 + |value|.
ROUNDING = 1e-8
VERIFY_SECONDS = 120.0
# Up to this many points an instance is small: every solver is tried on it.
SMALL = 40
# A longer name is not searched for similar ones.
LONGEST_NAME = 100

KEYS = {"title", "formulation", "why", "data", "graph", "kernel", "links", "labels", "parameters", "reference"}
REFERENCE_KEYS = {"value", "tolerance", "proof", "by", "solvers"}
PROOFS = ("hand", "certificate", "solvers")


def folder() -> Path:
    """Return where the instances are: in the installed package, or beside the sources."""
    packaged = Path(__file__).parent / "problems"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "problems"


def names(where: Path | str | None = None) -> list[str]:
    """Return the names of the instances, of the library or of a folder of your own."""
    found = sorted(path.stem for path in _folder(where).glob("*.toml") if path.is_file())
    if not found:
        raise InvalidInput(f"there are no instances, files named *.toml, in {shown(str(_folder(where)))}", "where")
    return found


def load(name: str, where: Path | str | None = None) -> Instance:
    """Return an instance by its name."""
    known = names(where)
    if as_text(name, "name") not in known:
        near = get_close_matches(name[:LONGEST_NAME], known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; `cvxlink problems list` shows them"
        raise InvalidInput(f"there is no instance {shown(name)}{hint}", "name")
    return Instance.read(_folder(where) / f"{name}.toml")


def instances(where: Path | str | None = None) -> InstanceTable:
    """Return all instances, as a table that can be printed."""
    return InstanceTable(load(name, where) for name in names(where))


def _folder(where: Path | str | None) -> Path:
    path = folder() if where is None else as_path(where, "where")
    if not path.is_dir():
        raise InvalidInput(f"there is no folder {shown(str(path))}", "where")
    return path


@dataclass(frozen=True)
class Reference:
    """The optimum of an instance.

    Attributes
    ----------
    value : float
    tolerance : float
        How far off an answer may be, relative to ``1 + |value|``.
    by : str
        How it was proven: by "hand", by a "certificate" (bounds from both sides), or by "solvers" of different kinds
        that agree.
    proof : str
        The proof in words.
    solvers : tuple of str
        The solvers that agree.
    """

    value: float
    tolerance: float
    by: str
    proof: str
    solvers: tuple[str, ...] = ()

    def off(self, value: float) -> float:
        """Return how far a value is from the optimum, relative to ``1 + |optimum|``."""
        value = as_real(value, "value")
        return abs(value - self.value) / (1 + abs(self.value))


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem of the library: what it is, why it is interesting, and its optimum."""

    name: str
    title: str
    why: str
    formulation: str
    content: dict[str, Any]
    reference: Reference

    @classmethod
    def read(cls, path: Path) -> Instance:
        """Read a file; a key that is misspelt or missing is named."""
        path = as_path(path)
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
            raise InvalidFile(printable(f"{path.name} cannot be read: {error}")) from error
        check = _Check(path.name)
        check.keys(content, KEYS, {"title", "formulation", "why", "parameters", "reference"})
        for key in ("title", "formulation", "why"):
            if not isinstance(content[key], str):
                raise check.wrong(f"{key} must be text in quotation marks")
        given = content["reference"]
        check.keys(given, REFERENCE_KEYS, REFERENCE_KEYS - {"solvers"}, "reference")
        if given["by"] not in PROOFS:
            raise check.wrong(f"reference.by must be one of {', '.join(PROOFS)}, not {given['by']!r}")
        value, tolerance = given["value"], given["tolerance"]
        if not (_is_number(value) and _is_number(tolerance) and 0 < tolerance < 1):
            raise check.wrong("reference.value and reference.tolerance must be numbers, the latter between 0 and 1")
        solvers = given.get("solvers", [])
        if not isinstance(solvers, list) or not all(isinstance(name, str) for name in [*solvers, given["proof"]]):
            raise check.wrong("reference.solvers must be a list of names, and reference.proof text")
        if (given["by"] == "solvers") != (len(solvers) >= 2):
            raise check.wrong("reference.solvers names two solvers or more if reference.by is 'solvers', and only then")
        reference = Reference(float(value), float(tolerance), given["by"], given["proof"], tuple(solvers))
        return cls(path.stem, content["title"], content["why"], content["formulation"], content, reference)

    @cached_property
    def problem(self) -> Problem:
        """The problem."""
        try:
            return self._built()
        except InvalidFile:
            raise
        except CvxlinkError as error:
            raise InvalidFile(f"{self.name}.toml: {error}") from error
        except Exception as error:  # wrong kinds of numbers, lists of unequal length, sizes beyond memory …
            words = str(error) or type(error).__name__
            raise InvalidFile(f"{self.name}.toml: the problem cannot be built: {words}") from error

    def _built(self) -> Problem:
        check, content = _Check(f"{self.name}.toml"), self.content
        if self.formulation not in methods.__all__:
            near = get_close_matches(str(self.formulation), methods.__all__, 1)
            raise check.wrong(f"there is no formulation {self.formulation!r}" + _meant(near))
        points = _points(content.get("data"), check)
        if "kernel" in content:
            ground: Any = _kernel(content["kernel"], points, check)
            n = len(ground)
        else:
            ground = _graph(content.get("graph", {}), points, check)
            n = ground.n
        known = []
        if "links" in content:
            known.append(_links(content["links"], n, points, check))
        if "labels" in content:
            known.append(_labels(content["labels"], points, check))
        return getattr(methods, self.formulation)(ground, *known, **content["parameters"])

    @property
    def is_small(self) -> bool:
        """Whether it is small enough for every solver."""
        return _points_of(self) <= SMALL

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        value = f"{self.reference.value:.10g}"
        return self.name, self.formulation, str(_points_of(self)), value, self.reference.by, self.title

    def __str__(self) -> str:
        reference = self.reference
        agree = f" ({', '.join(reference.solvers)})" if reference.solvers else ""
        lines = [
            f"{self.name}: {self.title}",
            self.why,
            "",
            str(self.problem),
            "",
            f"optimum    {reference.value:.15g}, to {reference.tolerance:g} of 1 + |value|",
            f"proven by  {reference.by}{agree}: {reference.proof}",
        ]
        return "\n".join(lines)


class InstanceTable(Table[Instance]):
    """The instances, one row each; print it to read it."""

    columns = ("name", "formulation", "points", "optimum", "proven by", "what it is")
    noun = "instance"


def _points_of(instance: Instance) -> int:
    problem = instance.problem
    graph = getattr(problem, "graph", None)
    return graph.n if isinstance(graph, Graph) else len(problem.kernel)  # type: ignore[attr-defined]


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True)
class _Check:
    """Complaints about a file."""

    file: str

    def wrong(self, what: str) -> InvalidFile:
        return InvalidFile(f"{self.file}: {what}")

    def keys(self, given: Any, allowed: set[str], needed: set[str] = frozenset(), section: str = "") -> None:  # type: ignore[assignment]
        """Raise if a key is unknown or missing."""
        within = f" in [{section}]" if section else ""
        if not isinstance(given, dict):
            raise self.wrong(f"{section or 'it'} must be a table of keys and values")
        for key in given:
            if key not in allowed:
                raise self.wrong(f"there is no key {key!r}{within}" + _meant(get_close_matches(key, allowed, 1)))
        for key in sorted(needed):
            if key not in given:
                raise self.wrong(f"the key {key!r} is missing{within}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))


def _meant(near: Sequence[str]) -> str:
    return f"; did you mean {near[0]!r}?" if near else ""


Data = tuple[np.ndarray, np.ndarray]


def _points(given: Any, check: _Check) -> Data | None:
    if given is None:
        return None
    parameters = dict(given)
    if "set" not in parameters:
        raise check.wrong("the key 'set' is missing in [data]")
    name, every, classes = parameters.pop("set"), parameters.pop("every", 1), parameters.pop("classes", None)
    X, y = datasets.load(name, **parameters)
    if classes is not None:
        X, y = X[np.isin(y, classes)], y[np.isin(y, classes)]
    return X[::every], y[::every]


def _needs_points(points: Data | None, what: str, check: _Check) -> Data:
    if points is None:
        raise check.wrong(f"{what} needs points; add a section [data]")
    return points


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


def _graph(given: Any, points: Data | None, check: _Check) -> Graph:
    if not isinstance(given, dict) or not {"affinity", "kind"} & given.keys():
        raise check.wrong("a section [graph] with 'affinity' or 'kind', or [kernel], is missing")
    arguments = dict(given)
    factor, kind = arguments.pop("factor", 1.0), arguments.pop("kind", None)
    if kind is None:
        check.keys(arguments, {"affinity"}, section="graph")
        W: Any = np.array(arguments["affinity"], dtype=float)
    elif kind in SHAPES:
        W = SHAPES[kind](**arguments)
    elif kind in ("knn", "rbf"):
        X, _ = _needs_points(points, f"a graph of the kind {kind!r}", check)
        graph = Graph.knn(X, **arguments) if kind == "knn" else Graph.rbf(X, **arguments)
        if factor == 1:
            return graph
        W = graph.W
    else:
        near = get_close_matches(str(kind), KINDS, 1)
        raise check.wrong(f"there is no graph of the kind {kind!r}" + _meant(near))
    return Graph.from_affinity(factor * W)


KINDS = [*SHAPES, "knn", "rbf"]


def _kernel(given: Any, points: Data | None, check: _Check) -> np.ndarray:
    check.keys(given, {"entries", "sigma"}, section="kernel")
    if "entries" in given:
        return np.array(given["entries"], dtype=float)
    X, _ = _needs_points(points, "a kernel of a width sigma", check)
    return Graph.rbf(X, given.get("sigma", "mean")).kernel()


def _links(given: Any, n: int, points: Data | None, check: _Check) -> Any:
    if isinstance(given, dict) and "strengths" in given:
        check.keys(given, {"strengths"}, section="links")
        return np.array(given["strengths"], dtype=float)
    check.keys(given, {"must", "cannot", "n_links", "per_class", "random_state"}, section="links")
    if {"must", "cannot"} & given.keys():
        check.keys(given, {"must", "cannot"}, section="links")
        return Links(n, **given)
    _, y = _needs_points(points, "sampling links", check)
    return Links.sample(y, **given)


def _labels(given: Any, points: Data | None, check: _Check) -> Any:
    check.keys(given, {"given", "n_labels", "per_class", "random_state"}, section="labels")
    if "given" in given:
        return given["given"]
    _, y = _needs_points(points, "sampling labels", check)
    return sample_labels(y, **given)


# ---------------------------------------------------------------------- proving


@dataclass(frozen=True)
class Verdict:
    """The outcome of proving an instance again."""

    name: str
    holds: bool
    words: str
    seconds: float
    value: float = float("nan")
    gap: float | None = None


def verify(
    which: Sequence[str] | None = None, where: Path | str | None = None, time_limit: float = VERIFY_SECONDS
) -> Iterator[Verdict]:
    """Prove instances again, two at a time, each in a process of its own, and yield the verdicts as they come.

    An instance holds if an answer that is certified to its tolerance agrees with the reference, the reference lies
    between the certified bounds, and, where it rests on solvers, each of them finds it too.
    """
    time_limit = as_positive(time_limit, "time_limit")
    if which is not None and (isinstance(which, str) or not isinstance(which, Sequence)):
        raise InvalidInput.about("which", f"must be a list of names, or None for all, not {shown(which)}")
    wanted = names(where) if which is None else [as_text(name, "which") for name in which]
    with ThreadPoolExecutor(2) as pool:
        yield from pool.map(lambda name: prove(name, where, time_limit), wanted)


def prove(name: str, where: Path | str | None = None, time_limit: float = VERIFY_SECONDS) -> Verdict:
    """Prove one instance again; the verdict says what goes wrong."""
    name, time_limit = as_text(name, "name"), as_positive(time_limit, "time_limit")
    began = perf_counter()
    solution = None
    try:
        instance = load(name, where)
        problem, reference = instance.problem, instance.reference
        options: dict[str, Any] = {"isolate": True, "threads": 1, "time_limit": time_limit, "strict": False}
        options["accuracy"] = max(1e-8, reference.tolerance / 10)
        solution = problem.solve(**options)
        words = _objection(solution, reference)
        for solver in reference.solvers if not words else ():
            other = problem.solve(solver=solver, **options)
            if not other.status.has_answer or reference.off(other.value) > reference.tolerance:
                words = f"{solver} finds {other.value:.10g} ({other.status}) instead of {reference.value:.10g}"
                break
    except CvxlinkError as error:
        words = str(error)
    seconds = perf_counter() - began
    if solution is None or solution.certificate is None:
        return Verdict(name, False, words, seconds)
    certificate = solution.certificate
    return Verdict(name, not words, words or "proven again", seconds, solution.value, certificate.relative_gap)


def _objection(solution: Solution, reference: Reference) -> str:
    """Return what contradicts a reference, or an empty string."""
    certificate = solution.certificate
    if not solution.status.has_answer or certificate is None:
        return f"no answer: {solution.reason}"
    if reference.off(solution.value) > reference.tolerance:
        return f"the optimum is {solution.value:.10g}, the reference says {reference.value:.10g}"
    slack = ROUNDING * (1 + abs(reference.value))
    if certificate.lower_bound is None:
        return "there is no certified bound; name two solvers that agree" if reference.by == "certificate" else ""
    if certificate.lower_bound > reference.value + slack:
        return f"the optimum is at least {certificate.lower_bound:.12g}, the reference says {reference.value:.12g}"
    upper = certificate.upper_bound
    if upper is not None and upper < reference.value - slack:
        return f"the optimum is at most {upper:.12g}, the reference says {reference.value:.12g}"
    if certificate.relative_gap is not None and certificate.relative_gap > reference.tolerance:
        return f"it is only certified to a gap of {certificate.relative_gap:.1e}"
    return ""
