"""The library of instances: problems with proven optima, one TOML file each, and how they are proven again."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from ..data.files.contents import bytes_of, require_readable, text_in_utf8
from ..data.graph import Graph
from ..engine.problem import Problem
from ..engine.solution import Solution
from ..errors import CvxlinkError, InfeasibleProblem, InvalidFile, InvalidInput
from ..model.tables import Table
from ..numerics.arguments import as_path, as_text, shown
from ..numerics.checks import as_positive, as_real
from ..programs.status import Status
from .building import Check, built, is_number, meant

# By how much a certified bound may miss the reference because of rounding, relative to 1 + |value|.
ROUNDING = 1e-8
VERIFY_SECONDS = 120.0
# Up to this many points an instance is small: every solver is tried on it.
SMALL = 40
# A longer name is not searched for similar ones.
LONGEST_NAME = 100

KEYS = {"title", "formulation", "why", "tags", "data", "graph", "kernel", "links", "labels", "parameters", "reference"}
REFERENCE_KEYS = {"value", "tolerance", "proof", "by", "solvers"}
VERDICT_KEYS = {"verdict", "proof"}
# The kinds of verdicts on programs without an optimum.
VERDICTS = (Status.INFEASIBLE, Status.UNBOUNDED)
# Sizes, by what good solvers need on one core: next to nothing (up to 40 points), less than some seconds, 1 to 60 s,
# and more than they can.
SIZES = ("small", "medium", "large", "huge")
# What a program is made of, and what is special about it.
TAGS = (
    *SIZES,
    "linear",
    "semidefinite",
    "second-order",
    "logarithms",
    "quadratic",
    "nonnegative",
    "soft",
    "infeasible",
    "unbounded",
)
# A file is small, whatever it describes.
MOST_BYTES = 2**24
PROOFS = ("hand", "certificate", "solvers")


def folder() -> Path:
    """Return where the instances are: in the installed package, or beside the sources."""
    packaged = Path(__file__).parents[1] / "problems"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "problems"


def names(where: Path | str | None = None, tag: str | None = None) -> list[str]:
    """Return the names of the instances, of the library or of a folder of your own.

    Parameters
    ----------
    where : path, optional
        A folder of your own.
    tag : str, optional
        Only those with a tag: their size, "small" (up to 40 points), "medium", "large" (good solvers need 1 to 60 s) or
        "huge", or what they are made of: "semidefinite", "logarithms", "quadratic", "soft", "infeasible" …
    """
    found = _names_in(_folder(where))
    if not found:
        raise InvalidInput(f"there are no instances, files named *.toml, in {shown(str(_folder(where)))}", "where")
    if tag is None:
        return found
    if as_text(tag, "tag") not in TAGS:
        near = get_close_matches(tag[:LONGEST_NAME], TAGS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(TAGS)}"
        raise InvalidInput(f"there is no tag {shown(tag)}; {hint}", "tag")
    return [name for name in found if tag in load(name, where).tags]


def _names_in(home: Path) -> list[str]:
    return sorted(path.stem for path in home.glob("*.toml") if path.is_file())


def load(name: str, where: Path | str | None = None) -> Instance:
    """Return an instance by its name."""
    home = _folder(where)
    if not isinstance(name, str) or not name or Path(name).name != name or set(name) & set("\\\0"):
        raise InvalidInput(
            f"{shown(name)} is not the name of an instance: a name has no folders in it; choose a folder of your own "
            f"with --folder (where=… in Python)",
            "name",
        )
    path = home / f"{name}.toml"
    if not os.path.lexists(path):  # unlike Path.exists, it also says no to names that are too long
        near = get_close_matches(name[:LONGEST_NAME], _names_in(home), 1)
        hint = f"; did you mean {near[0]!r}?" if near else "; `cvxlink problems list` shows them"
        raise InvalidInput(f"there is no instance {shown(name)}{hint}", "name")
    require_readable(path, MOST_BYTES)
    if path.resolve().parent != home.resolve():
        raise InvalidInput(
            f"the instance {shown(name)} is a link to a file outside {home}; copy the file there instead", "name"
        )
    return Instance.read(path)


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
    verdict : Status or None
        INFEASIBLE or UNBOUNDED where there is no optimum; the value is NaN then.
    """

    value: float
    tolerance: float
    by: str
    proof: str
    solvers: tuple[str, ...] = ()
    verdict: Status | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields, ready for a file: the verdict by its name, and no number where there is none."""
        known = {name: value for name, value in asdict(self).items() if value == value}
        return known | {"verdict": self.verdict.name if self.verdict else None}

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
    tags: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Instance:
        """Read a file; a key that is misspelt or missing is named."""
        path = as_path(path)
        text = text_in_utf8(bytes_of(path, MOST_BYTES), path.name)
        try:
            content = tomllib.loads(text)
        except RecursionError as error:
            raise InvalidFile(f"{path.name} cannot be read: it has lists within lists without end") from error
        except ValueError as error:  # also for whole numbers of thousands of digits
            raise InvalidFile(f"{path.name} cannot be read: {error}") from error
        check = Check(path.name)
        check.keys(content, KEYS, {"title", "formulation", "why", "parameters", "reference"})
        for key in ("title", "formulation", "why"):
            if not isinstance(content[key], str):
                raise check.wrong(f"{key} must be text in quotation marks")
        tags = _tags(content.get("tags", []), check)
        reference = _reference(content["reference"], check)
        return cls(path.stem, content["title"], content["why"], content["formulation"], content, reference, tags)

    @cached_property
    def problem(self) -> Problem:
        """The problem."""
        try:
            return built(self.formulation, self.content, Check(f"{self.name}.toml"))
        except InvalidFile:
            raise
        except CvxlinkError as error:
            raise InvalidFile(f"{self.name}.toml: {error}") from error
        except Exception as error:  # wrong kinds of numbers, lists of unequal length, sizes beyond memory …
            words = str(error) or type(error).__name__
            raise InvalidFile(f"{self.name}.toml: the problem cannot be built: {words}") from error

    @property
    def is_small(self) -> bool:
        """Whether it is small enough for every solver."""
        return _points_of(self) <= SMALL

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        reference = self.reference
        value = f"{reference.value:.10g}" if reference.verdict is None else str(reference.verdict).lower()
        size = next((tag for tag in self.tags if tag in SIZES), "")
        return self.name, self.formulation, str(_points_of(self)), size, value, reference.by, self.title

    def __str__(self) -> str:
        reference = self.reference
        agree = f" ({', '.join(reference.solvers)})" if reference.solvers else ""
        lines = [
            f"{self.name}: {self.title}",
            self.why,
            "",
            str(self.problem),
            "",
            f"optimum    {reference.value:.15g}, to {reference.tolerance:g} of 1 + |value|"
            if reference.verdict is None
            else f"optimum    none: {reference.verdict.sentence}",
            f"proven by  {reference.by}{agree}: {reference.proof}",
            *([f"tags       {', '.join(self.tags)}"] if self.tags else []),
        ]
        return "\n".join(lines)


class InstanceTable(Table[Instance]):
    """The instances, one row each; print it to read it."""

    columns = ("name", "formulation", "points", "size", "optimum", "proven by", "what it is")
    noun = "instance"


def _tags(given: Any, check: Check) -> tuple[str, ...]:
    """Return the tags of a file."""
    if not isinstance(given, list) or not all(isinstance(tag, str) for tag in given):
        raise check.wrong('tags must be a list of words, such as ["large", "semidefinite"]')
    for tag in given:
        if tag not in TAGS:
            raise check.wrong(f"there is no tag {tag!r}" + meant(get_close_matches(tag, TAGS, 1)))
    return tuple(given)


def _reference(given: Any, check: Check) -> Reference:
    """Return the reference of a file: an optimum, or a verdict that there is none."""
    if isinstance(given, dict) and "verdict" in given:
        check.keys(given, VERDICT_KEYS, VERDICT_KEYS, "reference")
        known = {verdict.name: verdict for verdict in VERDICTS}
        if given["verdict"] not in known or not isinstance(given["proof"], str):
            raise check.wrong(f"reference.verdict must be {' or '.join(known)}, and reference.proof text")
        return Reference(float("nan"), 1.0, "verdict", given["proof"], verdict=known[given["verdict"]])
    check.keys(given, REFERENCE_KEYS, REFERENCE_KEYS - {"solvers"}, "reference")
    if given["by"] not in PROOFS:
        raise check.wrong(f"reference.by must be one of {', '.join(PROOFS)}, not {given['by']!r}")
    value, tolerance = given["value"], given["tolerance"]
    if not (is_number(value) and is_number(tolerance) and 0 < tolerance < 1):
        raise check.wrong("reference.value and reference.tolerance must be numbers, the latter between 0 and 1")
    solvers = given.get("solvers", [])
    if not isinstance(solvers, list) or not all(isinstance(name, str) for name in [*solvers, given["proof"]]):
        raise check.wrong("reference.solvers must be a list of names, and reference.proof text")
    if (given["by"] == "solvers") != (len(solvers) >= 2):
        raise check.wrong("reference.solvers names two solvers or more if reference.by is 'solvers', and only then")
    return Reference(float(value), float(tolerance), given["by"], given["proof"], tuple(solvers))


def _points_of(instance: Instance) -> int:
    problem = instance.problem
    graph = getattr(problem, "graph", None)
    if isinstance(graph, Graph):
        return graph.n
    return len(problem.X if hasattr(problem, "X") else problem.kernel)  # type: ignore[attr-defined]


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
        if reference.verdict is not None:
            words = _verdict_on(problem, reference.verdict, options)
            return Verdict(name, not words, words or "proven again", perf_counter() - began)
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


def _verdict_on(problem: Problem, expected: Status, options: dict[str, Any]) -> str:
    """Return what contradicts the verdict on a program without an optimum, or an empty string."""
    try:
        solution = problem.solve(**options)
    except InfeasibleProblem:  # seen without a solver
        return "" if expected is Status.INFEASIBLE else "it is infeasible"
    return "" if solution.status is expected else f"it is {solution.status}: {solution.reason}"


def _objection(solution: Solution, reference: Reference) -> str:
    """Return what contradicts a reference, or an empty string."""
    certificate = solution.certificate
    if not solution.status.has_answer or certificate is None:
        return f"no answer: {solution.reason}"
    if reference.off(solution.value) > reference.tolerance:
        return f"the optimum is {solution.value:.10g}, the reference says {reference.value:.10g}"
    slack = ROUNDING * (1 + abs(reference.value))
    if certificate.bound is None:
        return "there is no certified bound; name two solvers that agree" if reference.by == "certificate" else ""
    lower, upper = certificate.lower_bound, certificate.upper_bound
    if lower is not None and lower > reference.value + slack:
        return f"the optimum is at least {lower:.12g}, the reference says {reference.value:.12g}"
    if upper is not None and upper < reference.value - slack:
        return f"the optimum is at most {upper:.12g}, the reference says {reference.value:.12g}"
    if certificate.relative_gap is not None and certificate.relative_gap > reference.tolerance:
        return f"it is only certified to a gap of {certificate.relative_gap:.1e}"
    return ""
