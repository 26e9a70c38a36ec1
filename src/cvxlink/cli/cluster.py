"""The work of ``cvxlink cluster`` and ``cvxlink explain``: read points and links, then cluster or plan."""

from __future__ import annotations

import csv
import io
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..data.files.atomic import put_in_place, require_new
from ..data.files.contents import STANDARD_INPUT
from ..data.files.delimited import for_spreadsheet
from ..data.files.links import Pairs, read_links, read_pairs
from ..data.files.names import PointNames
from ..data.files.points import PointFile, Roles, read_points
from ..data.links import Links
from ..engine.plan import Plan, routes_of
from ..engine.problem import Problem
from ..errors import FormUnavailable, InaccurateWarning, InconsistentLinks, InvalidInput
from ..estimator.choice import Choice
from ..estimator.constrained_clustering import ConstrainedClustering
from ..estimator.options import AUTO, is_auto
from ..methods import METHODS
from ..methods.fantope.ncuts import NCuts
from ..methods.table import method
from ..model.tables import same_name
from ..plotting.canvas import matplotlib
from ..plotting.overview import drawn_overview, save
from .own_methods import errors_of, formulation_called, is_own
from .streams import require_end
from .terminal import Stages
from .wording import TO_BE_WARNED_OF, inaccuracy, sentence


@dataclass(frozen=True)
class DataChoices:
    """Where the points and links are, and how to read them."""

    source: str
    roles: Roles = field(default_factory=Roles)
    has_header: bool | None = None
    standardize: bool = True
    links: Path | None = None
    must: Path | None = None
    cannot: Path | None = None
    one_based: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all inputs."""
        return tuple(str(path) for path in (self.source, self.links, self.must, self.cannot))

    @property
    def files(self) -> dict[str, Path | None]:
        """The input files, each with the words that describe it in messages."""
        return {
            "holds the points": Path("/dev/stdin" if self.source == STANDARD_INPUT else self.source),
            "--links names": self.links,
            "--must names": self.must,
            "--cannot names": self.cannot,
        }


@dataclass(frozen=True)
class MethodChoices:
    """How to cluster: the parameters of :class:`~cvxlink.ConstrainedClustering` that the command line has."""

    n_clusters: int | None = None
    method: str = AUTO
    method_options: Mapping[str, Any] = field(default_factory=dict)
    n_neighbors: int = 10
    sigma: float | str = "mean"
    symmetrize: str = "union"
    solver: str | None = None
    form: str | None = None
    route: str | None = None
    accuracy: float = 1e-4
    time_limit: float | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.own is None and not is_auto(self.method) and same_name(self.method, METHODS) is None:
            known = ", ".join(METHODS)
            problem = f"there is no method {self.method!r}; there are {known}; `cvxlink methods` describes them"
            raise InvalidInput(problem, "method")

    @cached_property
    def own(self) -> type[Problem] | None:
        """The formulation of one's own that ``module:Class`` names; None for a method by its name."""
        return formulation_called(self.method) if is_own(self.method) else None

    def estimator(self) -> ConstrainedClustering:
        """Return the estimator, unfitted."""
        return ConstrainedClustering(**{**asdict(self), "method": self.own or self.method})


@dataclass(frozen=True, eq=False)
class PointsAndLinks:
    """Points and links as they were read.

    Attributes
    ----------
    file : PointFile
    X : array, n × d
        The features, standardised if asked for.
    points : PointNames
    links : Links
    standardized : bool
    constant : tuple of str
        The features that could not be scaled because they are constant.
    """

    file: PointFile
    X: np.ndarray
    points: PointNames
    links: Links
    standardized: bool
    constant: tuple[str, ...]

    @classmethod
    def read(cls, choices: DataChoices) -> PointsAndLinks:
        """Read the files."""
        if choices.sources.count(STANDARD_INPUT) > 1:
            raise InvalidInput("standard input can be read only once; put the points or the links into a file")
        if not choices.source:
            raise InvalidInput("the name of the file with the points is empty; give a file, or - for standard input")
        for name in choices.sources:
            require_end(name)
        if sys.stdin is None and STANDARD_INPUT in choices.sources:
            raise InvalidInput("standard input is closed; give the name of a file instead of -")
        file = read_points(choices.source, choices.roles, choices.has_header)
        if len(file.X) == 1:
            raise InvalidInput(f"{file.where} has one point; clustering needs at least two")
        points = PointNames(len(file.X), file.names, choices.one_based)
        links = _read_links(choices, points, len(file.X))
        if not choices.standardize:
            return cls(file, file.X, points, links, False, ())
        spreads = np.ptp(file.X, axis=0)
        constant = tuple(name for name, spread in zip(file.features, spreads, strict=True) if spread == 0)
        return cls(file, StandardScaler().fit_transform(file.X), points, links, True, constant)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of clustering, for a report."""

    data: PointsAndLinks
    choices: MethodChoices
    fitted: ConstrainedClustering
    warnings: list[str]
    seconds: dict[str, float]
    out: Path | None = None
    plot: Path | None = None

    @property
    def labels(self) -> np.ndarray:
        """The cluster of each point."""
        return self.fitted.labels_

    @property
    def classes(self) -> list[str] | None:
        """The name of the class of each point, where labels were given; empty for a cluster without a class."""
        if self.data.file.labels is None:
            return None
        names = [str(name) for name in self.fitted.classes_]
        if len(names) > self.fitted.n_clusters_:  # then clusters are not classes
            names = []
        return [names[k] if k < len(names) else "" for k in self.labels.tolist()]

    @property
    def violated(self) -> list[tuple[str, int, int]]:
        """The links that the clustering breaks: kind and points."""
        links, labels = self.data.links, self.labels
        together = labels[links.must[:, 0]] == labels[links.must[:, 1]]
        apart = labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]
        return [("must", i, j) for i, j in links.must[~together].tolist()] + [
            ("cannot", i, j) for i, j in links.cannot[~apart].tolist()
        ]

    def table(self) -> str:
        """Return the labels as CSV; a name that a spreadsheet would run as a formula has an apostrophe before it."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        classes = self.classes
        writer.writerow(["point", "cluster"] + (["label"] if classes else []))
        for row, cluster in enumerate(self.labels.tolist()):
            cells = [str(self.data.points[row]), str(cluster)] + ([classes[row]] if classes else [])
            writer.writerow(map(for_spreadsheet, cells))
        return text.getvalue()


@dataclass(frozen=True, eq=False)
class Explanation:
    """The problem that would be solved, and the plan for it."""

    data: PointsAndLinks
    problem: Problem
    plan: Plan
    warnings: list[str]
    chosen: Choice | None = None  # where no method was named


def cluster(
    data_choices: DataChoices, choices: MethodChoices, out: Path | None, plot: Path | None, stages: Stages
) -> Outcome:
    """Read, solve and cluster; write the labels and the picture if asked for."""
    if plot is not None and not plot.name:
        raise InvalidInput(f"--plot must be the name of a file, such as clusters.png, not {str(plot)!r}")
    plot = plot.with_suffix(".png") if plot is not None and not plot.suffix else plot
    for option, path in (("--out", out), ("--plot", plot)):
        _require_no_loop(path, "written", option)
    for path in data_choices.files.values():
        _require_no_loop(path, "read")
    require_new({"--out": out, "--plot": plot}, data_choices.files)
    if plot is not None:
        _require_picture(plot)
    with put_in_place(out) as new_out, put_in_place(plot) as new_plot:
        stages.begin("reading")
        began = perf_counter()
        data = PointsAndLinks.read(data_choices)
        read = perf_counter()
        fitted, said = _fitted(data, choices, stages)
        seconds = {"read": read - began, "fit": perf_counter() - read, **asdict(fitted.solution_.timings)}
        outcome = Outcome(data, choices, fitted, said, seconds, out, plot)
        if new_out is not None:
            new_out.write_text(outcome.table(), encoding="utf-8")
        if plot is not None:
            stages.begin("drawing")
            save(drawn_overview(data.X, data.links, fitted.solution_, fitted.labels_), new_plot, plot)
    return outcome


def explain(data_choices: DataChoices, choices: MethodChoices, stages: Stages) -> Explanation:
    """Read, declare and plan; nothing is solved."""
    stages.begin("reading")
    data = PointsAndLinks.read(data_choices)
    stages.begin("graph and program")
    with _recorded_warnings(data.points) as said, errors_of(choices.own):
        problem, plan = _planned(data, choices)
        chosen = None
        if is_auto(choices.method):
            chosen = choices.estimator().choice(data.X, data.file.labels, links=data.links)
    return Explanation(data, problem, plan, said, chosen)


def _planned(data: PointsAndLinks, choices: MethodChoices) -> tuple[Problem, Plan]:
    """Return the problem that would be solved, and the plan for it."""
    problem = choices.estimator().declare(data.X, data.file.labels, links=data.links)
    asked = None if is_auto(choices.method) else method(choices.own or choices.method).formulation
    # Without links and labels, NCuts takes the place of other methods, and what was asked of them is not asked of it.
    if isinstance(problem, NCuts) and asked is not NCuts:
        return problem, problem.explain()
    with _forms_told_from_routes(data, choices):
        return problem, problem.explain(choices.solver, choices.form, route=choices.route)


def _fitted(data: PointsAndLinks, choices: MethodChoices, stages: Stages) -> tuple[ConstrainedClustering, list[str]]:
    """Return the fitted estimator, and the warnings."""
    stages.begin("graph, solving and clustering")
    told = _forms_told_from_routes(data, choices)
    with _recorded_warnings(data.points) as said, errors_of(choices.own), told:
        progress = stages.step if stages.are_shown else None
        estimator = choices.estimator().fit(data.X, data.file.labels, links=data.links, progress=progress)
    if estimator.solution_.status in TO_BE_WARNED_OF:
        said.insert(0, inaccuracy(estimator.solution_))
    return estimator, said


@contextmanager
def _recorded_warnings(points: PointNames) -> Iterator[list[str]]:
    """Yield a list that holds the warnings as sentences in the end; contradictions name points as the files do."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield said
        except InconsistentLinks as error:
            raise points.reworded(error) from error
    # Warnings of other kinds are about numbers or versions within libraries, and users cannot act on them. How accurate
    # the answer is, the solution tells.
    own = [w for w in caught if issubclass(w.category, UserWarning) and not issubclass(w.category, InaccurateWarning)]
    said += dict.fromkeys(sentence(warning.message) for warning in own)


@contextmanager
def _forms_told_from_routes(data: PointsAndLinks, choices: MethodChoices) -> Iterator[None]:
    """Say so where somebody asks for a form by the name of a route."""
    try:
        yield
    except FormUnavailable as error:
        if choices.form is None:
            raise
        problem = choices.estimator().declare(data.X, data.file.labels, links=data.links)
        if choices.form not in routes_of(problem):
            raise
        name, route = type(problem).__name__, choices.form
        raise InvalidInput(f"{name} has no form {route!r}: {route!r} is a route, --route {route}", "form") from error


def _read_links(choices: DataChoices, points: PointNames, n: int) -> Links:
    """Return the links of all files together."""
    must: Pairs = []
    cannot: Pairs = []
    if choices.links is not None:
        must, cannot = read_links(choices.links, points)
    if choices.must is not None:
        must = must + read_pairs(choices.must, points)
    if choices.cannot is not None:
        cannot = cannot + read_pairs(choices.cannot, points)
    return Links(n, must, cannot)


def _require_no_loop(path: Path | None, use: str, option: str = "") -> None:
    """Raise if a name leads round in a circle of symbolic links, or cannot be the name of a file at all."""
    try:
        if path is not None:
            path.resolve()
            path.exists()
    except (RuntimeError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a name of a file"
        if isinstance(error, RuntimeError):  # before Python 3.13
            why = "its symbolic links lead round in a circle"
        raise InvalidInput(f"{option} {path} cannot be {use}: {why}; choose another file".lstrip()) from error


def _require_picture(path: Path) -> None:
    """Raise before anything is solved if pictures cannot be drawn, or not in this format."""
    if path.stem == STANDARD_INPUT:
        raise InvalidInput("a picture cannot go to standard output; give --plot the name of a file")
    kinds = matplotlib("backend_bases").FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in kinds:
        raise InvalidInput(f"{path} cannot be drawn: pictures end in {', '.join(f'.{kind}' for kind in sorted(kinds))}")
