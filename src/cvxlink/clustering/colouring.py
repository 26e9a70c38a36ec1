"""Whether blocks can be kept apart with k labels, and a proof if they cannot."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from ..data.cliques import greedy_clique
from ..errors import InfeasibleProblem, SolveFailed
from ..numerics.checks import as_positive
from .contradiction import Contradiction
from .integer_program import cheapest
from .link_graph import Graph, core, neighbours, pairs_among, parts
from .rules import Rules

# A search by hand that tries more labels than this is handed to HiGHS.
MOST_TRIALS = 20_000


def colouring(
    n_blocks: int,
    apart: Any,
    k: int,
    sizes: Any = None,
    least: int | None = None,
    most: int | None = None,
    time_limit: float = 10.0,
) -> np.ndarray | Contradiction:
    """Return labels that keep all pairs apart with at most k labels, or a proof that there are none.

    Parameters
    ----------
    n_blocks : int
    apart : pairs of blocks
    k : int
        The number of labels. Clusters may be empty unless ``least`` is given.
    sizes : array of n_blocks, optional
        The number of points in each block; one by default.
    least, most : int, optional
        The smallest and the largest number of points in a cluster.
    time_limit : float
        Seconds. If it is not known by then whether there are labels, :class:`SolveFailed` is raised.
    """
    end = perf_counter() + as_positive(time_limit, "time_limit")
    return allowed(Rules.of(n_blocks, k, apart, sizes, least, most, nonempty=False), end)


def require_labels(rules: Rules, end: float) -> np.ndarray:
    """Return labels that keep the rules; raise :class:`InfeasibleProblem`, with the proof in words, if none do."""
    found = allowed(rules, end)
    if isinstance(found, Contradiction):
        raise InfeasibleProblem(found.message())
    return found


def allowed(rules: Rules, end: float) -> np.ndarray | Contradiction:
    """Return labels that keep the rules, or a proof that there are none; ``end`` is a time of ``perf_counter``."""
    plain = _coloured(rules, end)
    if isinstance(plain, Contradiction):
        return plain
    if rules.fits_sizes(plain):
        return plain
    plain = spread(plain, rules)
    return plain if rules.admits(plain) else _with_sizes(rules, end)


# ---------------------------------------------------------------------- without sizes


def _coloured(rules: Rules, end: float) -> np.ndarray | Contradiction:
    """Colour the graph, ignoring sizes."""
    graph, k = neighbours(rules.apart), rules.k
    labels = np.zeros(rules.n, dtype=int)
    # Blocks with fewer than k neighbours left are labelled at the end: a label is always free for them.
    left, removed = core(graph, k)
    for part in parts(left):
        found = _colour_part(part, k, end)
        if found is None:
            return _critical(part, k, end)
        for a, label in found.items():
            labels[a] = label
    done = set(left)
    for a in reversed(removed):
        taken = {int(labels[b]) for b in graph[a] & done}
        labels[a] = next(label for label in range(k) if label not in taken)
        done.add(a)
    return labels


def _colour_part(graph: Graph, k: int, end: float) -> dict[int, int] | None:
    """Return labels of a connected graph, or None if there are none."""
    clique = greedy_clique(graph)
    if len(clique) > k:
        return None
    labels = {a: label for label, a in enumerate(clique)}
    try:
        return _Dsatur(graph, k, labels, end).run()
    except _TooLongError:
        return _colour_by_program(graph, k, clique, end)


def _colour_by_program(graph: Graph, k: int, clique: list[int], end: float) -> dict[int, int] | None:
    blocks = sorted(graph)
    numbers = {a: number for number, a in enumerate(blocks)}
    pairs = np.array([(numbers[a], numbers[b]) for a in blocks for b in graph[a] if a < b])
    rules = Rules.of(len(blocks), k, pairs, nonempty=False)
    outcome = cheapest(np.zeros((len(blocks), k)), rules, end - perf_counter(), tuple(numbers[a] for a in clique))
    if outcome.is_infeasible:
        return None
    if outcome.labels is None:
        raise _undecided(k)
    return {a: int(label) for a, label in zip(blocks, outcome.labels, strict=True)}


class _TooLongError(Exception):
    """The search by hand was given up."""


class _Dsatur:
    """Backtracking that always labels the block with the fewest free labels next (Brélaz)."""

    def __init__(self, graph: Graph, k: int, labels: dict[int, int], end: float) -> None:
        self.graph, self.k, self.end = graph, k, end
        self.labels = dict(labels)
        self.taken = {a: [0] * k for a in graph}
        for a, label in labels.items():
            for b in graph[a]:
                self.taken[b][label] += 1

    def run(self) -> dict[int, int] | None:
        """Return labels, or None if there are none."""
        trials, path = 0, [self._branch()]
        while path:
            a, options = path[-1]
            if a is None:
                return self.labels
            if a in self.labels:
                self._change(a, self.labels.pop(a), -1)
            if not options:
                path.pop()
                continue
            trials += 1
            if trials > MOST_TRIALS or (trials % 256 == 0 and perf_counter() > self.end):
                raise _TooLongError
            label = options.pop()
            self.labels[a] = label
            self._change(a, label, 1)
            path.append(self._branch())
        return None

    def _branch(self) -> tuple[int | None, list[int]]:
        """Return the next block and the labels to try; labels not in use yet are all alike, so one of them will do."""
        left = [a for a in self.graph if a not in self.labels]
        if not left:
            return None, []
        a = min(left, key=lambda v: (self.taken[v].count(0), -len(self.graph[v]), v))
        in_use = max(self.labels.values(), default=-1) + 1
        return a, [label for label in range(min(in_use + 1, self.k)) if not self.taken[a][label]][::-1]

    def _change(self, a: int, label: int, by: int) -> None:
        for b in self.graph[a]:
            self.taken[b][label] += by


# ---------------------------------------------------------------------- proofs


def _critical(graph: Graph, k: int, end: float) -> Contradiction:
    """Return a subgraph that has no k labels although every smaller one does; a clique if one is found."""
    clique = _clique(graph, k + 1)
    if clique is not None:
        return Contradiction(k, pairs_among(graph, clique))
    irreducible = True

    def is_still_impossible(smaller: Graph) -> bool:
        nonlocal irreducible
        try:
            return any(_colour_part(part, k, end) is None for part in parts(core(smaller, k)[0]))
        except SolveFailed:
            irreducible = False
            return False

    for a in sorted(graph, key=lambda v: len(graph[v])):
        if a in graph:
            smaller = {b: others - {a} for b, others in graph.items() if b != a}
            if is_still_impossible(smaller):
                graph = core(smaller, k)[0]
    for a, b in pairs_among(graph, graph).tolist():
        if b in graph.get(a, ()):
            smaller = {**graph, a: graph[a] - {b}, b: graph[b] - {a}}
            if is_still_impossible(smaller):
                graph = core(smaller, k)[0]
    return Contradiction(k, pairs_among(graph, graph), irreducible=irreducible)


def _clique(graph: Graph, order: int) -> list[int] | None:
    """Return so many blocks that are pairwise apart, or None if there are none or the search takes too long."""
    trials = 0

    def extended(chosen: list[int], candidates: set[int]) -> list[int] | None:
        nonlocal trials
        if len(chosen) == order:
            return chosen
        candidates = set(candidates)
        while len(chosen) + len(candidates) >= order and trials < MOST_TRIALS:
            trials += 1
            a = max(candidates, key=lambda v: (len(graph[v] & candidates), -v))
            found = extended([*chosen, a], candidates & graph[a])
            if found is not None:
                return found
            candidates.discard(a)
        return None

    return extended([], set(graph))


# ---------------------------------------------------------------------- with sizes


def spread(labels: np.ndarray, rules: Rules) -> np.ndarray:
    """Fill clusters that are too small with blocks that may go there, as far as that is simple."""
    labels, points, sizes = labels.copy(), rules.points_in(labels), rules.sizes
    starts, around = rules.adjacency.indptr, rules.adjacency.indices
    for cluster in np.flatnonzero(points < rules.least):
        for a in np.argsort(sizes, kind="stable"):
            if points[cluster] >= rules.least:
                break
            enough = points[labels[a]] - sizes[a] >= rules.least and points[cluster] + sizes[a] <= rules.most
            if enough and labels[a] != cluster and (labels[around[starts[a] : starts[a + 1]]] != cluster).all():
                points[labels[a]] -= sizes[a]
                points[cluster] += sizes[a]
                labels[a] = cluster
    return labels


def _with_sizes(rules: Rules, end: float) -> np.ndarray | Contradiction:
    """Decide by integer programming; what is not needed for a contradiction is left out as long as it is possible."""
    found = _fitting(rules, end)
    if found is not None:
        return found
    irreducible = True

    def is_still_impossible(fewer: Rules) -> bool:
        nonlocal irreducible
        try:
            return _fitting(fewer, end) is None
        except SolveFailed:
            irreducible = False
            return False

    for weaker in (replace(rules, most=rules.total), replace(rules, least=0)):
        if is_still_impossible(weaker):
            rules = weaker
            break
    chunk = len(rules.apart)
    while chunk:
        start = 0
        while start < len(rules.apart):
            fewer = replace(rules, apart=np.delete(rules.apart, slice(start, start + chunk), axis=0))
            if is_still_impossible(fewer):
                rules = fewer
            else:
                start += chunk
        chunk = (chunk + 1) // 2 if chunk > 1 else 0
    most = rules.most if rules.bounds_above else None
    return Contradiction(rules.k, rules.apart, rules.least or None, most, (rules.n, rules.total), irreducible)


def _fitting(rules: Rules, end: float) -> np.ndarray | None:
    """Return labels that keep pairs and sizes, or None if there are none."""
    too_few, too_many = rules.k * rules.least > rules.total, rules.k * rules.most < rules.total
    if too_few or too_many or rules.sizes.max() > rules.most or (rules.least > 0 and rules.k > rules.n):
        return None
    outcome = cheapest(np.zeros((rules.n, rules.k)), rules, end - perf_counter())
    if outcome.labels is None and not outcome.is_infeasible:
        raise _undecided(rules.k)
    return outcome.labels


def _undecided(k: int) -> SolveFailed:
    return SolveFailed(
        f"whether {k} clusters can keep all cannot-links and sizes was not decided in time; allow more time or clusters"
    )
