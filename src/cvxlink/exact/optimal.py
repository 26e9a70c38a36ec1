"""The best clustering of a problem with links, with a proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ..engine.problem import Problem
from ..errors import InfeasibleProblem, InvalidInput, SolveFailed
from ..methods.partitions.partition import Partition
from ..numerics.arguments import as_instance, as_path
from ..numerics.checks import as_count, as_generator, as_positive
from ..programs.status import Status
from .evaluation import Bounding
from .kernels import BoundedKernel
from .partitions import BoundedPartition
from .search import Search, SearchProgress, run
from .tree import Tree


@dataclass(frozen=True, eq=False)
class OptimalClustering:
    """The best clustering that was found, and what is proven about it.

    Attributes
    ----------
    labels : array of n
        The clusters, numbered by first appearance; all links hold that the problem enforces.
    value : float
        The value of the clustering, computed anew from the data and the labels.
    bound : float
        Proven: no clustering that keeps the links has a smaller value.
    gap : float
        The difference of value and bound, relative to the value.
    status : Status
        OPTIMAL if the gap is at most the one asked for, LIMIT if the search ended before.
    reason : str
        Why it ended.
    tree : Tree
        The nodes of the search; print it to read it, ``plotting.plot_tree`` draws it.
    history : tuple
        What each round of cuts achieved at the root.
    seconds : float
        Of all runs, if it was resumed from a file.
    among : str
        Among which clusterings it is the best; empty for all, where there are no links or broken ones have a price.
    """

    labels: np.ndarray
    value: float
    bound: float
    gap: float
    status: Status
    reason: str
    tree: Tree
    history: tuple[Any, ...]
    seconds: float
    among: str = "that keeps the links"

    def __str__(self) -> str:
        sizes = ", ".join(map(str, np.bincount(self.labels)))
        proven = "is the best" if self.status is Status.OPTIMAL else "may not be the best"
        among = f" {self.among}" if self.among else ""
        nodes = f"{len(self.tree)} node{'s' * (len(self.tree) != 1)}"
        return "\n".join(
            [
                f"{self.status}: this clustering {proven}{among} ({self.reason})",
                f"value          {self.value:.10g}",
                f"bound          {self.bound:.10g}   (no clustering{among} is below)",
                f"gap            {self.gap:.2e}   relative to the value",
                f"clusters       {sizes} points",
                f"search         {nodes}, depth {self.tree.depth}, {self.seconds:.1f} s",
            ]
        )

    __repr__ = __str__


def optimal_clustering(
    problem: Problem,
    gap: float = 1e-4,
    time_limit: float | None = None,
    n_jobs: int | None = 1,
    progress: Callable[[SearchProgress], Any] | None = None,
    *,
    n_clusters: int | None = None,
    file: Any = None,
    random_state: Any = 0,
) -> OptimalClustering:
    """Find the best clustering that keeps the links, and prove that it is the best.

    Branch and bound: each node is the problem with some more links. Its relaxation, tightened by cuts where there are
    any, gives a rigorous bound, and rounding gives clusterings. Where the bound leaves room for something better, two
    points that are neither clearly together nor clearly apart are must-linked in one child and cannot-linked in the
    other.

    Parameters
    ----------
    problem : Problem
        :class:`KMeans` or :class:`LinkedCut`; or a program that enforces links and of which a clustering is a point,
        such as :class:`PCP`, on few points.
    gap : float
        The search ends when the best value is within this share of the bound.
    time_limit : float, optional
        Seconds. What is known by then is returned.
    n_jobs : int, optional
        Processes, as joblib counts them: -1 for one per core. Scripts that use more than one need the usual
        ``if __name__ == "__main__":``.
    progress : function, optional
        Called with a :class:`~cvxlink.exact.search.SearchProgress` after each node, and after each round at the root.
    n_clusters : int, optional
        For programs that do not know the number of clusters: the largest number allowed; without, any number.
    file : path, optional
        Where to save the search every few seconds and at its end. If the file exists, the search goes on from there; it
        must be of the same problem.
    random_state : None, int or numpy generator
        Seed of the search for clusterings. The proof does not depend on it.

    Returns
    -------
    OptimalClustering
        Ctrl-C ends the search like a time limit does: what is known so far is returned.

    Raises
    ------
    InfeasibleProblem
        If no clustering keeps the links; the message names links that contradict one another.
    SolveFailed
        If the search ended before it found any clustering that keeps the links.
    """
    bounding = _bounding(problem, n_clusters)
    gap = as_positive(gap, "gap")
    limit = np.inf if time_limit is None else as_positive(time_limit, "time_limit")
    jobs = effective_n_jobs(1 if n_jobs is None else _as_jobs(n_jobs))
    if progress is not None and not callable(progress):
        raise InvalidInput("progress must be a function of one argument, or None", "progress")
    path = None if file is None else Path(as_path(file, "file"))
    seed = int(as_generator(random_state).integers(2**31))
    search = Search(bounding, gap, limit, seed, path, progress)
    ended = run(search, jobs)
    if search.trouble:
        raise InfeasibleProblem(f"no clustering keeps the links: {search.trouble}")
    return _result(search, ended, problem)


def _result(search: Search, ended: str, problem: Any) -> OptimalClustering:
    labels, seconds = search.labels, search.seconds
    if labels is None:
        if all(node.fate in ("branched", "infeasible") for node in search.nodes):
            raise InfeasibleProblem(
                f"no clustering keeps the links: it is proven for each of the {len(search.nodes)} nodes of the search"
            )
        how = "interrupted" if ended == "interrupted" else "stopped"
        raise SolveFailed(f"{how} after {seconds:.3g} s, before any clustering that keeps the links was found")
    _, labels = np.unique(labels, return_inverse=True)
    first = np.unique(labels, return_index=True)[1]
    labels = np.argsort(np.argsort(first))[labels]
    value, bound = search.bounding.value(labels), search.bound
    gap = search.relative(value - bound)
    done = gap <= search.gap
    reason = ended or f"proven to a relative gap of {search.gap:g}"
    return OptimalClustering(
        labels,
        value,
        bound,
        gap,
        Status.OPTIMAL if done else Status.LIMIT,
        reason if not done else f"proven to a relative gap of {search.gap:g}",
        Tree(tuple(search.nodes)),
        tuple(search.history),
        seconds,
        "that keeps the links" if len(search.bounding.links) == len(problem.links) > 0 else "",
    )


def _bounding(problem: Any, n_clusters: int | None) -> Bounding:
    """Return a problem in the way that a search needs it, or say why it cannot be searched."""
    as_instance(problem, Problem, "problem", "a problem such as KMeans(X, links, n_clusters=3)")
    partition = getattr(problem, "clusterings", getattr(problem, "partition", None))
    if isinstance(partition, Partition):
        if n_clusters is not None and as_count(n_clusters, "n_clusters") != partition.n_clusters:
            raise InvalidInput(
                f"this {type(problem).__name__} is for {partition.n_clusters} clusters; declare it with another number",
                "n_clusters",
            )
        return BoundedPartition(partition)
    name = type(problem).__name__
    links = getattr(problem, "links", None)
    if links is None or not problem.about.hard_links:
        raise InvalidInput(
            f"{name} does not enforce links, so branching on links is of no use; KMeans, LinkedCut and PCP do",
            "problem",
        )
    if not hasattr(problem, "graph") or problem.point_of_clustering(np.zeros(links.n, dtype=int)) is None:
        raise InvalidInput(f"a clustering is not a point of {name}; it is one of KMeans, LinkedCut and PCP", "problem")
    if hasattr(problem, "n_clusters"):
        raise InvalidInput(
            f"{name} asks for a number of clusters that its clusterings need not have; KMeans and LinkedCut can be "
            f"searched, and PCP with n_clusters=…",
            "problem",
        )
    if n_clusters is not None:
        as_count(n_clusters, "n_clusters", 1, links.n)
    return BoundedKernel(problem, n_clusters)


def _as_jobs(n_jobs: Any) -> int:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise InvalidInput("n_jobs must be a number of processes, or -1 for one per core", "n_jobs")
    return int(n_jobs)
