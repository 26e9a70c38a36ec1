"""Bounds for k-means and normalised cuts: the relaxation on blocks, with cuts in rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from ..data.links import Links
from ..errors import InfeasibleProblem, SolveFailed
from ..methods.partitions.bounds import proven_bound
from ..methods.partitions.cuts import Cuts
from ..methods.partitions.partition import Partition
from ..methods.partitions.rounding import embedding, rounded
from ..methods.partitions.splitting import State, merged
from ..methods.partitions.strengthening import Effort, strengthened
from ..numerics.matrices import Congruence, as_dense
from ..numerics.threads import threads_for
from .evaluation import Bounding, Evaluation, Report, Task

# Restarts of the search for clusterings at the root, before the relaxation and before branching; elsewhere it starts
# from the relaxation alone.
FIRST_STARTS, ROOT_STARTS = 4, 20
# At the root, cuts are worth much work: they are passed on to all nodes. Elsewhere, branching is often cheaper.
AT_ROOT, ELSEWHERE = Effort(30, 300, 0.05), Effort(8, 150, 0.3)
# The relaxation is solved to a slightly smaller gap than is asked for: the proof takes rounding off.
MARGIN = 0.9


class Warm(NamedTuple):
    """Where a similar program ended."""

    links: Links
    cuts: Cuts
    state: State


@dataclass(frozen=True, eq=False)
class BoundedPartition(Bounding):
    """k-means or normalised cuts with links."""

    partition: Partition

    @property
    def links(self) -> Links:  # type: ignore[override]
        """The links of the problem."""
        return self.partition.links

    @property
    def n_clusters(self) -> int:  # type: ignore[override]
        """The number of clusters."""
        return self.partition.n_clusters

    @property
    def rounding(self) -> float:
        """Squared distances are rounded in the square of the last digit, cuts in the last digit."""
        C = self.partition.block_C
        diagonal = np.einsum("ij,jk,ik->i", C.T, C.M, C.T) if isinstance(C, Congruence) else C.diagonal()
        return (1e-28 if self.partition.is_distortion else 1e-15) * float(abs(diagonal).sum())

    def admits(self, labels: np.ndarray) -> bool:
        """Whether a clustering is one of the problem's."""
        sizes, partition = np.bincount(labels), self.partition
        right = len(np.unique(labels)) == len(sizes) == partition.n_clusters and sizes.min() >= partition.least
        return right and (partition.most is None or sizes.max() <= partition.most) and super().admits(labels)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """The cost, the weights and the sizes."""
        C = self.partition.C
        cost = (C.T, C.M) if isinstance(C, Congruence) else (as_dense(C),)
        sizes = np.array([self.partition.n_clusters, self.partition.least, self.partition.most or 0])
        return *cost, self.partition.d, sizes, np.array([self.partition.offset, self.partition.is_distortion])

    def without_clustering(self, links: Links) -> bool:
        """Whether it is proven that no clustering keeps some links and the sizes."""
        return bool(self._trouble(replace(self.partition, links=links)))

    def _trouble(self, partition: Partition) -> str:
        least = partition.least if partition.least > 1 else None
        if partition.links.contradiction():
            return self.contradiction(partition.links)
        if partition.order < partition.n_clusters:
            return f"the must-links leave {partition.order} blocks, fewer than {partition.n_clusters} clusters"
        return self.contradiction(partition.links, partition.block_sizes, least, partition.most)

    def value(self, labels: np.ndarray) -> float:
        """Return the value of a clustering."""
        return self.partition.value(labels)

    def evaluated(self, task: Task, report: Report | None = None) -> Evaluation:
        """Solve the relaxation with cuts, round it, and choose a pair."""
        began = perf_counter()
        partition = replace(self.partition, links=task.links)
        trouble = self._trouble(partition)
        if trouble:
            return Evaluation(np.inf, task.labels, task.value, None, seconds=perf_counter() - began, trouble=trouble)
        if partition.order == partition.n_clusters:
            labels = task.links.blocks
            value = partition.value(labels)
            best = (labels, value) if value < task.value else (task.labels, task.value)
            return Evaluation(value, *best, None, seconds=perf_counter() - began)
        rounding = _Rounding(partition, task)
        with threads_for(partition.order):
            if task.is_root:
                rounding.improve(None, FIRST_STARTS)
                if report is not None:
                    report(-np.inf, rounding.labels, rounding.value)

            def best_known(Y: np.ndarray) -> float:
                rounding.improve(Y, 0)
                return rounding.value

            cuts, state = _carried(task.warm, partition)
            found = strengthened(
                partition,
                cuts,
                state,
                AT_ROOT if task.is_root else ELSEWHERE,
                best_known,
                MARGIN * task.gap,
                began + task.seconds,
                None if report is None else lambda bound: report(bound, rounding.labels, rounding.value),
                rounding.value,
            )
            if task.is_root and found.history[-1].bound < rounding.value * (1 - task.gap):
                rounding.improve(found.found.Y, ROOT_STARTS)
            bound, _ = proven_bound(partition, found.cuts, *found.found.multipliers)
        pair = undecided_pair(partition, found.found.Y)
        warm = Warm(task.links, found.last_cuts, found.found.state)
        return Evaluation(
            max(bound.lower, 0.0),  # neither squared distances nor cuts are negative
            rounding.labels,
            rounding.value,
            pair,
            warm,
            len(found.history) - 1,
            perf_counter() - began,
            history=found.history,
        )


class _Rounding:
    """The best clustering known while a node is evaluated."""

    def __init__(self, partition: Partition, task: Task) -> None:
        self.partition, self.task = partition, task
        self.labels, self.value = task.labels, task.value
        self.rng, self.began = np.random.default_rng(task.seed), perf_counter()

    def improve(self, Y: np.ndarray | None, restarts: int) -> None:
        """Search for a better one from a matrix on blocks and restarts; it keeps the links of the node."""
        left = self.task.seconds - (perf_counter() - self.began)
        limit = max(left, 0.1) if np.isfinite(left) else None
        try:
            rows = None if Y is None else embedding(self.partition, Y)
            labels = rounded(self.partition, rows, self.rng, restarts, limit)
        except (InfeasibleProblem, SolveFailed):
            return  # what is infeasible the bound tells, with its proof
        value = self.partition.value(labels)
        if value < self.value:
            self.labels, self.value = labels, value


def _carried(warm: Warm | None, partition: Partition) -> tuple[Cuts | None, State | None]:
    """Return cuts and state of the parent, on the blocks of the child."""
    if warm is None:
        return None, None
    before = replace(partition, links=warm.links)
    state = warm.state
    if before.order != partition.order:
        state = state.on(merged(partition, before))
    return warm.cuts, state


def undecided_pair(partition: Partition, Y: np.ndarray) -> tuple[int, int] | None:
    r"""Return the points of the two blocks whose entry is least decided.

    Together, both have the same row of :math:`z = Y/dd^\top`; apart, their entry is zero. So the score is the lesser of
    the entry and the squared distance of the rows, each relative to the diagonal.
    """
    c, d = partition.order, partition.block_d
    z = Y / np.outer(d, d)
    diagonal = np.maximum(np.diag(z), 1e-300)
    entry = z / np.sqrt(np.outer(diagonal, diagonal))
    weighted = z * d  # the rows of Z, each as long as all points count
    squares = (weighted**2).sum(axis=1)
    apart = squares[:, None] + squares - 2 * weighted @ weighted.T
    score = np.minimum(np.clip(entry, 0, 1), apart / np.maximum(np.minimum.outer(diagonal, diagonal), 1e-300))
    weight = np.minimum.outer(d, d)
    score = score * weight
    i, j = partition.apart.T
    score[i, j] = score[j, i] = -np.inf
    score[np.tril_indices(c)] = -np.inf
    a, b = np.unravel_index(int(score.argmax()), score.shape)
    if not np.isfinite(score[a, b]):
        return None
    points = partition.representatives
    return int(points[a]), int(points[b])
