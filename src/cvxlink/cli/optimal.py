"""The work of ``cvxlink optimal``: the best clustering of points with links, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from .. import metrics
from ..clustering.impossible import why_impossible
from ..data.graph import Graph
from ..data.links import Links
from ..data.partial_labels import joined
from ..engine.problem import Problem
from ..errors import InfeasibleProblem, InvalidInput
from ..exact.optimal import OptimalClustering, optimal_clustering
from ..methods.partitions.kmeans import KMeans
from ..methods.partitions.linked_cut import LinkedCut
from ..numerics.checks import is_known
from ..plotting.overview import drawn_search
from ..programs.status import Status
from .reading import DataChoices, PointsAndLinks, recorded_warnings
from .signals import allow_to_end
from .terminal import ExitCode, Stages
from .writing import outputs, table_of_labels

# After Ctrl-C, for saying what is known and saving it.
SECONDS_TO_END = 30.0


@dataclass(frozen=True)
class SearchChoices:
    """What to look for, and how long."""

    n_clusters: int
    size_min: int | None = None
    size_max: int | None = None
    cut: bool = False
    n_neighbors: int = 10
    sigma: float | str = "mean"
    symmetrize: str = "union"
    gap: float = 1e-4
    time_limit: float | None = None
    n_jobs: int = 1
    file: Path | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.cut and (self.size_min is not None or self.size_max is not None):
            raise InvalidInput("--size-min and --size-max are for k-means; leave them out, or --cut")


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """The best clustering that was found, for a report."""

    data: PointsAndLinks
    choices: SearchChoices
    problem: Problem
    found: OptimalClustering
    warnings: list[str]
    seconds: dict[str, float]
    out: Path | None = None
    plot: Path | None = None

    @property
    def exit_code(self) -> ExitCode:
        """Whether the clustering is proven to be the best; if not, whether somebody stopped the search."""
        if self.found.status is Status.OPTIMAL:
            return ExitCode.OK
        return ExitCode.INTERRUPTED if self.found.reason == "interrupted" else ExitCode.INACCURATE

    @property
    def classes(self) -> list[str] | None:
        """The class of each point's cluster, where labels were given, which links keep apart; empty if it has none."""
        labels = self.data.file.labels
        if labels is None:
            return None
        known = is_known(labels)
        names = dict(zip(self.found.labels[known].tolist(), map(str, labels[known]), strict=True))
        return [names.get(k, "") for k in self.found.labels.tolist()]

    def table(self) -> str:
        """Return the labels as CSV."""
        return table_of_labels(self.data.points, self.found.labels, self.classes)

    def scores(self) -> dict[str, float] | None:
        """Return the scores against the classes in the file, over the points whose class is known."""
        truth = self.data.file.truth
        if truth is None:
            return None
        known = is_known(truth)
        return metrics.scores(truth[known], self.found.labels[known])


def optimal(
    data_choices: DataChoices, choices: SearchChoices, out: Path | None, plot: Path | None, stages: Stages
) -> SearchOutcome:
    """Read and search; write the labels and the picture if asked for."""
    with outputs(out, plot, data_choices.files, choices.file) as files:
        stages.begin("reading")
        began = perf_counter()
        data = PointsAndLinks.read(data_choices)
        read = perf_counter()
        with recorded_warnings(data.points) as said:
            problem = declared(data, choices)
            allow_to_end(SECONDS_TO_END)
            stages.begin("searching")
            found = optimal_clustering(
                problem,
                choices.gap,
                choices.time_limit,
                choices.n_jobs,
                stages.search if stages.are_shown else None,
                file=choices.file,
                random_state=choices.random_state,
            )
        seconds = {"read": read - began, "search": perf_counter() - read}
        outcome = SearchOutcome(data, choices, problem, found, said, seconds, out, files.plot)
        files.write_labels(outcome.table())
        if files.plot is not None:
            stages.begin("drawing")
            files.draw(drawn_search(data.X, data.links, found))
    return outcome


def declared(data: PointsAndLinks, choices: SearchChoices) -> Problem:
    """Return the problem; links that no clustering keeps are refused with a proof in the words of the files."""
    known = data.file.labels
    links = data.links if known is None else joined(data.links, known)
    links.require_consistent()
    _require_possible(data, links, choices)
    if not choices.cut:
        return KMeans(data.X, links, choices.n_clusters, choices.size_min, choices.size_max)
    neighbours = min(choices.n_neighbors, len(data.X) - 1)
    graph = Graph.knn(data.X, neighbours, choices.sigma, choices.symmetrize)  # type: ignore[arg-type]
    return LinkedCut(graph, links, choices.n_clusters)


def _require_possible(data: PointsAndLinks, links: Links, choices: SearchChoices) -> None:
    """Raise if no clustering keeps the links; what is wrong with the numbers alone the problem itself says."""
    k, n, least, most = choices.n_clusters, links.n, choices.size_min, choices.size_max
    if k > links.n_blocks or (least or 1) * k > n or (most or n) * k < n:
        return
    sizes = np.bincount(links.blocks)
    why = why_impossible(links, k, sizes, least, most, lambda point: f"point {data.points[point]}")
    if why:
        raise InfeasibleProblem(f"no clustering keeps the links: {why}")
