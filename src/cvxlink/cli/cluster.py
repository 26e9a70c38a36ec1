"""The work of ``cvxlink cluster`` and ``cvxlink explain``: cluster points with links, or plan to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..engine.plan import Plan, routes_of
from ..engine.problem import Problem
from ..errors import FormUnavailable, InvalidInput
from ..estimator.choice import Choice
from ..estimator.constrained_clustering import ConstrainedClustering
from ..estimator.options import AUTO, is_auto
from ..methods import METHODS
from ..methods.called import errors_of, formulation_called, is_own
from ..methods.fantope.ncuts import NCuts
from ..methods.table import method
from ..model.tables import same_name
from ..plotting.overview import drawn_overview
from .reading import DataChoices, PointsAndLinks, recorded_warnings
from .terminal import Stages
from .wording import TO_BE_WARNED_OF, inaccuracy
from .writing import outputs, table_of_labels


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
        """Return the labels as CSV."""
        return table_of_labels(self.data.points, self.labels, self.classes)


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
    with outputs(out, plot, data_choices.files) as files:
        stages.begin("reading")
        began = perf_counter()
        data = PointsAndLinks.read(data_choices)
        read = perf_counter()
        fitted, said = _fitted(data, choices, stages)
        seconds = {"read": read - began, "fit": perf_counter() - read, **asdict(fitted.solution_.timings)}
        outcome = Outcome(data, choices, fitted, said, seconds, out, files.plot)
        files.write_labels(outcome.table())
        if files.plot is not None:
            stages.begin("drawing")
            files.draw(drawn_overview(data.X, data.links, fitted.solution_, fitted.labels_))
    return outcome


def explain(data_choices: DataChoices, choices: MethodChoices, stages: Stages) -> Explanation:
    """Read, declare and plan; nothing is solved."""
    stages.begin("reading")
    data = PointsAndLinks.read(data_choices)
    stages.begin("graph and program")
    with recorded_warnings(data.points) as said, errors_of(choices.own):
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
    with recorded_warnings(data.points) as said, errors_of(choices.own), told:
        progress = stages.step if stages.are_shown else None
        estimator = choices.estimator().fit(data.X, data.file.labels, links=data.links, progress=progress)
    if estimator.solution_.status in TO_BE_WARNED_OF:
        said.insert(0, inaccuracy(estimator.solution_))
    return estimator, said


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
