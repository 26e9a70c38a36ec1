r"""Inequalities that hold for all clusterings and cut off points of the relaxation.

For the matrix Z of a clustering, :math:`Z_{ij} = d_i d_j / \|d_S\|^2` within the cluster S and 0 between clusters. So
for :math:`z_{ij} = Z_{ij}/(d_i d_j)`:

- *pairs* :math:`z_{ij} \le z_{ii}`: both are :math:`1/\|d_S\|^2` if i and j are together, otherwise the left side is 0;
- *triangles* :math:`z_{ij} + z_{ik} \le z_{ii} + z_{jk}`: if i is with both, j is with k, and both sides are
  :math:`2/\|d_S\|^2`; if i is with one of them, the left side is :math:`z_{ii}`; if with none, it is 0;
- *cliques* :math:`\sum_{i<j \in Q} z_{ij} \ge 1/\beta` for k + 1 points Q: two of them are together, in a cluster with
  :math:`\|d_S\|^2 \le \beta`, because the other k − 1 clusters are not empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import InvalidInput
from ...numerics.arguments import as_instance
from ...numerics.checks import as_count, as_positive, real_array
from .partition import Partition

KINDS = ("pairs", "triangles", "cliques")
# No point has a larger number.
MOST_POINTS = 2**31
# Of the triangles at one point, no more than this many are added at once: many similar ones gain little.
MOST_AT_ONE_POINT = 200
# The number of cliques that are grown, each from another pair.
CLIQUES_TRIED = 60


@dataclass(frozen=True, eq=False)
class Cuts:
    """A set of such inequalities, by the points they are about.

    Attributes
    ----------
    pairs : array, m × 2
        Rows (i, j) for z_ij ≤ z_ii.
    triangles : array, m × 3
        Rows (i, j, k) for z_ij + z_ik ≤ z_ii + z_jk.
    cliques : array, m × (clusters + 1)
        Rows of points of which two are together.
    """

    pairs: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), dtype=int))
    triangles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), dtype=int))
    cliques: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=int))

    def __post_init__(self) -> None:
        for kind, width in (("pairs", 2), ("triangles", 3), ("cliques", None)):
            object.__setattr__(self, kind, _as_points(getattr(self, kind), kind, width))

    def __len__(self) -> int:
        return len(self.pairs) + len(self.triangles) + len(self.cliques)

    def __add__(self, other: Cuts) -> Cuts:
        as_instance(other, Cuts, "other", "another set of cuts")
        return Cuts(*(_stacked(getattr(self, kind), getattr(other, kind)) for kind in KINDS))

    def __repr__(self) -> str:
        return f"Cuts({', '.join(f'{len(getattr(self, kind))} {kind}' for kind in KINDS)})"


def require_within(cuts: Cuts, n: int, n_clusters: int) -> None:
    """Raise unless the cuts are about the points of a problem, and cliques have one more than clusters."""
    for kind in KINDS:
        if getattr(cuts, kind).max(initial=-1) >= n:
            raise InvalidInput(f"the {kind} name a point beyond the {n} points", "cuts")
    if len(cuts.cliques) and cuts.cliques.shape[1] != n_clusters + 1:
        raise InvalidInput(
            f"the cliques have {cuts.cliques.shape[1]} points each; with {n_clusters} clusters they need "
            f"{n_clusters + 1}",
            "cuts",
        )


def chosen(cuts: Cuts, kept: np.ndarray) -> Cuts:
    """Return some of the cuts, chosen by a mask over pairs, triangles and cliques in this order."""
    first, second = len(cuts.pairs), len(cuts.pairs) + len(cuts.triangles)
    masks = kept[:first], kept[first:second], kept[second:]
    return Cuts(*(getattr(cuts, kind)[mask] for kind, mask in zip(KINDS, masks, strict=True)))


def extended(cuts: Cuts, new: Cuts, values: np.ndarray) -> tuple[Cuts, np.ndarray]:
    """Return cuts and new ones, and numbers for all: the given ones for the cuts, zeros for the new."""
    first, second = len(cuts.pairs), len(cuts.pairs) + len(cuts.triangles)
    parts = values[:first], values[first:second], values[second:]
    added = [np.zeros(len(getattr(new, kind))) for kind in KINDS]
    return cuts + new, np.concatenate([part for two in zip(parts, added, strict=True) for part in two])


def keys_of(cuts: Cuts) -> set[tuple[int, ...]]:
    """Return each cut as a tuple: its kind and its points."""
    return {(which, *row) for which, kind in enumerate(KINDS) for row in getattr(cuts, kind).tolist()}


def unknown(cuts: Cuts, known: set[tuple[int, ...]]) -> Cuts:
    """Return the cuts that are not known yet."""
    rows = [(which, *row) for which, kind in enumerate(KINDS) for row in getattr(cuts, kind).tolist()]
    return chosen(cuts, np.array([row not in known for row in rows], dtype=bool))


def rows_of(cuts: Cuts, d: np.ndarray, blocks: np.ndarray, bound: float) -> tuple[sp.csr_array, np.ndarray]:
    """Return the cuts as rows A·vec(Y) ≤ b on blocks with root weights d.

    Cuts that say nothing on blocks, because their points were merged, are rows of zeros. ``bound`` is β.
    """
    c = len(d)
    z = 1 / d
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def entry(rows: np.ndarray, i: np.ndarray, j: np.ndarray, sign: float) -> None:
        parts.append((rows, i, j, sign * z[i] * z[j]))

    number = np.arange(len(cuts.pairs))
    i, j = blocks[cuts.pairs].T
    entry(number, i, j, 1.0)
    entry(number, i, i, -1.0)
    number = len(cuts.pairs) + np.arange(len(cuts.triangles))
    i, j, k = blocks[cuts.triangles].T
    entry(number, i, j, 1.0)
    entry(number, i, k, 1.0)
    entry(number, i, i, -1.0)
    entry(number, j, k, -1.0)
    first = len(cuts.pairs) + len(cuts.triangles)
    members = blocks[cuts.cliques] if len(cuts.cliques) else cuts.cliques
    for p in range(members.shape[1] if len(members) else 0):
        for q in range(p):
            entry(first + np.arange(len(members)), members[:, p], members[:, q], -1.0)
    b = np.concatenate([np.zeros(first), np.full(len(cuts.cliques), -1 / bound)])
    rows, left, right, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    columns = np.concatenate([left * c + right, right * c + left])
    A = sp.csr_array((np.tile(values / 2, 2), (np.tile(rows, 2), columns)), shape=(len(cuts), c * c))
    A.sum_duplicates()
    A.eliminate_zeros()  # the terms of a cut whose points were merged cancel exactly
    return A, b


def separated(
    partition: Partition, Y: np.ndarray, most: int, tolerance: float = 1e-3, rng: np.random.Generator | None = None
) -> Cuts:
    """Return the inequalities that a matrix on blocks violates most, at most ``most`` of each kind.

    Violations below ``tolerance`` times the mean of z_ii do not count.
    """
    most, tolerance = as_count(most, "most"), as_positive(tolerance, "tolerance")
    d, points = partition.block_d, partition.representatives
    z = Y / np.outer(d, d)
    least = tolerance * float(np.diag(z).mean())
    pairs = _worst_pairs(z, most, least)
    triangles = _worst_triangles(z, most, least)
    cliques = _worst_cliques(partition, z, least, rng or np.random.default_rng(0))
    return Cuts(points[pairs], points[triangles], points[cliques] if len(cliques) else cliques)


def _worst_pairs(z: np.ndarray, most: int, least: float) -> np.ndarray:
    off = z - np.diag(z)[:, None]
    np.fill_diagonal(off, -np.inf)
    i, j = np.nonzero(off > least)
    worst = np.argsort(-off[i, j], kind="stable")[:most]
    return np.column_stack([i, j])[worst]


def _worst_triangles(z: np.ndarray, most: int, least: float) -> np.ndarray:
    found, sizes = [np.zeros((0, 3), dtype=int)], [np.zeros(0)]
    upper = np.triu(np.ones(z.shape, dtype=bool), 1)
    for i in range(len(z)):
        off = (z[i] - z[i, i])[:, None] + (z[i] - z)
        off[i] = -np.inf
        off[:, i] = -np.inf
        j, k = np.nonzero((off > least) & upper)
        size = off[j, k]
        if len(size) > MOST_AT_ONE_POINT:
            worst = np.argpartition(-size, MOST_AT_ONE_POINT)[:MOST_AT_ONE_POINT]
            j, k, size = j[worst], k[worst], size[worst]
        found.append(np.column_stack([np.full(len(j), i), j, k]))
        sizes.append(size)
    worst = np.argsort(-np.concatenate(sizes), kind="stable")[:most]
    return np.vstack(found)[worst]


def _worst_cliques(partition: Partition, z: np.ndarray, least: float, rng: np.random.Generator) -> np.ndarray:
    """Grow sets of k + 1 blocks with a small sum of entries, each from another pair, and keep those below 1/β."""
    size, c = partition.n_clusters + 1, len(z)
    found = set()
    for _ in range(CLIQUES_TRIED if size <= c else 0):
        members = [int(rng.integers(c))]
        sums = z[members[0]].copy()
        total = 0.0
        while len(members) < size:
            sums[members] = np.inf
            near_least = np.argpartition(sums, min(2, c - 1))[:2] if len(members) < 3 else [int(sums.argmin())]
            chosen = int(near_least[int(rng.integers(len(near_least)))])
            if not np.isfinite(sums[chosen]):
                break
            total += float(sums[chosen])
            members.append(chosen)
            sums = sums + z[chosen]
        if len(members) == size and 1 / partition.largest_weight - total > least:
            found.add(tuple(sorted(members)))
    return np.array(sorted(found), dtype=int).reshape(-1, size)


def _as_points(rows: Any, kind: str, width: int | None) -> np.ndarray:
    array = real_array(rows, kind)
    if array.size == 0:
        return np.zeros((0, width or 0), dtype=int)
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        raise InvalidInput.about(kind, f"must be rows of {width or 'k + 1'} point numbers")
    if not ((array >= 0) & (array < MOST_POINTS) & (array == np.floor(array))).all():
        raise InvalidInput.about(kind, "must be rows of point numbers, counted from 0")
    return array.astype(int)


def _stacked(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if not len(first) or not len(second):
        return second if not len(first) else first
    if first.shape[1] != second.shape[1]:
        raise InvalidInput("cliques of different sizes cannot be joined: they are for other numbers of clusters")
    return np.vstack([first, second])
