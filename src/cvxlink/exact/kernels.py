"""Bounds for programs that enforce links and of which a clustering is a point, such as PCP: the program itself."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ..clustering.assignment import assign
from ..data.links import Links
from ..engine.problem import Problem
from ..errors import CvxlinkError, InfeasibleProblem, InvalidInput, SolveFailed
from ..numerics.matrices import as_dense
from .evaluation import Bounding, Evaluation, Report, Task

# The relaxation is solved to this share of the gap that is asked for.
SHARE = 0.1


@dataclass(frozen=True, eq=False)
class BoundedKernel(Bounding):
    """A program in a kernel that enforces links; its number of clusters is a limit, or free."""

    problem: Problem
    n_clusters: int | None = None

    @property
    def links(self) -> Links:  # type: ignore[override]
        """The links of the problem."""
        return self.problem.links  # type: ignore[attr-defined]

    @property
    def rounding(self) -> float:
        """A share of the value of all points in clusters of their own: the trace of the cost."""
        return 1e-12 * abs(self.value(np.arange(self.links.n)))

    def admits(self, labels: np.ndarray) -> bool:
        """Whether a clustering has few enough clusters and keeps the links."""
        return len(np.unique(labels)) <= (self.n_clusters or len(labels)) and super().admits(labels)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The graph, the formulation with its options, and the number of clusters."""
        problem = self.problem
        others = {name: getattr(problem, name) for name in problem.changeable if name not in ("graph", "links")}
        words = f"{type(problem).__module__}.{type(problem).__qualname__} {sorted(others.items())!r}"
        graph = problem.graph  # type: ignore[attr-defined]
        return graph.W.toarray(), np.frombuffer(words.encode(), dtype=np.uint8), np.array([self.n_clusters or 0])

    def value(self, labels: np.ndarray) -> float:
        """Return the value of a clustering: that of its kernel."""
        point = self.problem.point_of_clustering(labels)
        if point is None:
            raise InvalidInput(f"a clustering is not a point of {type(self.problem).__name__}", "problem")
        return self.problem.certify(point).value

    def evaluated(self, task: Task, report: Report | None = None) -> Evaluation:
        """Solve the program with the links of the node, round it, and choose a pair."""
        began = perf_counter()
        trouble = self.contradiction(task.links)
        labels, value = task.labels, task.value
        if trouble:
            return Evaluation(np.inf, labels, value, None, seconds=perf_counter() - began, trouble=trouble)
        bound, K = self._bound(task)
        pair = _undecided(task.links, K)
        only = [task.links.blocks] if pair is None else []  # the links leave one clustering only
        for candidate in [*only, *self._rounded(task.links, K)]:
            at = self.value(candidate)
            if at < value:
                labels, value = candidate, at
        if pair is None:
            bound = max(bound, self.value(task.links.blocks))
        if report is not None:
            report(bound, labels, value)
        return Evaluation(bound, labels, value, pair, seconds=perf_counter() - began)

    def _bound(self, task: Task) -> tuple[float, np.ndarray]:
        """Return the proven bound, and the kernel; without an answer, minus infinity and the closure of the links."""
        limit = {"time_limit": max(task.seconds, 0.05)} if np.isfinite(task.seconds) else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                solution = self.problem.changed(links=task.links).solve(
                    accuracy=max(SHARE * task.gap, 1e-7), strict=False, **limit
                )
            except CvxlinkError:
                solution = None
        K = (task.links.blocks[:, None] == task.links.blocks).astype(float)
        if solution is None or solution.certificate is None:
            return -np.inf, K
        bound = solution.certificate.lower_bound
        K = as_dense(solution.stored_kernel) if solution.values else K
        return -np.inf if bound is None else bound, K

    def _rounded(self, links: Links, K: np.ndarray) -> list[np.ndarray]:
        """Return clusterings that keep the links, for several numbers of clusters."""
        first = np.unique(links.blocks, return_index=True)[1]
        K_blocks = K[np.ix_(first, first)]
        most = len(first) if self.n_clusters is None else min(self.n_clusters, len(first))
        found = []
        for k in sorted({*range(1, min(most, 10) + 1), most}):
            centres = [int(K_blocks.sum(axis=1).argmax())]
            while len(centres) < k:  # the block least like those chosen
                centres.append(int(K_blocks[:, centres].max(axis=1).argmin()))
            try:
                blocks = assign(-K_blocks[:, centres], links.block_cannot, nonempty=False)
            except (InfeasibleProblem, SolveFailed):
                continue
            found.append(blocks[links.blocks])
        return found


def _undecided(links: Links, K: np.ndarray) -> tuple[int, int] | None:
    """Return the pair whose entry is nearest to one half, among those that links leave open."""
    first = np.unique(links.blocks, return_index=True)[1]
    off = abs(K[np.ix_(first, first)] - 0.5)
    i, j = links.block_cannot.T
    off[i, j] = off[j, i] = np.inf
    off[np.tril_indices(len(first))] = np.inf
    a, b = np.unravel_index(int(off.argmin()), off.shape)
    return (int(first[a]), int(first[b])) if np.isfinite(off[a, b]) else None
