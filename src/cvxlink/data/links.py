"""Links: which points must share a cluster, and which must not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..errors import InconsistentLinks, InvalidInput
from ..numerics.arguments import as_path, shown
from ..numerics.checks import (
    MOST_POINTS,
    as_count,
    as_generator,
    as_labels,
    as_permutation,
    as_positive,
    as_square,
    is_known,
)
from . import partial_labels as labelling
from .cliques import greedy_clique
from .contradictions import Reconciled, reconciled
from .files import links as link_files


@dataclass(frozen=True, eq=False)
class Links:
    """Must-links and cannot-links on n points.

    Parameters
    ----------
    n : int
        The number of points.
    must, cannot : pairs
        Lists of pairs, arrays with two columns or pandas frames with two columns. The order within a pair
        does not matter, and a pair given twice counts once. Pairs are kept sorted: an array with one number per link
        follows the order of ``links.must`` and ``links.cannot``, not the order in which links were given.

    Notes
    -----
    Links may contradict one another, because some methods treat them as soft. Methods that enforce links call
    :meth:`require_consistent` before anything else.
    """

    n: int
    must: Any = ()
    cannot: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", as_count(self.n, "n", 1, MOST_POINTS))
        for kind in ("must", "cannot"):
            pairs = _as_pairs(getattr(self, kind), self.n, kind)
            pairs.setflags(write=False)
            object.__setattr__(self, kind, pairs)

    # ------------------------------------------------------------------ building

    @classmethod
    def from_labels(cls, labels: Any) -> Links:
        """Link every two labelled points: must if their labels agree, cannot if not; -1 means unknown."""
        labels = as_labels(labels)
        if not len(labels):
            raise InvalidInput.about("labels", "must hold the label of at least one point; it is empty")
        return cls._from_pairs(labels, _all_pairs(np.flatnonzero(is_known(labels))))

    @classmethod
    def from_matrix(cls, Q: Any, threshold: float = 0.0) -> Links:
        """Read links from the signs of a matrix: positive is must, negative is cannot, zero is none.

        The matrix, dense or sparse, may be symmetric or hold each pair once. Entries that are at most ``threshold`` in
        size are left out.
        """
        threshold = as_positive(threshold, "threshold", or_zero=True)
        Q = sp.coo_array(sp.csr_array(as_square(Q, "the link matrix", "Q")))  # entries given twice are added
        strong = (abs(Q.data) > threshold) & (Q.row != Q.col)
        pairs, signs = np.column_stack([Q.row, Q.col])[strong], Q.data[strong] > 0
        must, cannot = _unique_pairs(pairs[signs]), _unique_pairs(pairs[~signs])
        both = np.intersect1d(must @ [Q.shape[0], 1], cannot @ [Q.shape[0], 1])
        if len(both):
            i, j = divmod(int(both[0]), Q.shape[0])
            raise InvalidInput(
                f"the link matrix has opposite signs at ({i}, {j}) and ({j}, {i}); make it symmetric", "Q"
            )
        return cls(Q.shape[0], must, cannot)

    @classmethod
    def sample(
        cls,
        y: Any,
        n_links: int | None = None,
        per_class: int | None = None,
        random_state: Any = None,
    ) -> Links:
        """Draw links at random from known labels.

        Parameters
        ----------
        y : labels
            Points labelled -1 are unknown and are never linked.
        n_links : int
            Draw this many different pairs, all equally likely.
        per_class : int
            Draw this many must-links in each class and this many cannot-links between every two classes
            (the protocol of Li et al. and of the KP paper): r(c + c(c-1)/2) links for c classes.
        random_state : None, int or numpy generator
        """
        if (n_links is None) == (per_class is None):
            raise InvalidInput("give either n_links or per_class", "n_links")
        y = as_labels(y, argument="y")
        if not len(y):
            raise InvalidInput.about("y", "must hold the label of at least one point; it is empty")
        rng = as_generator(random_state)
        if n_links is not None:
            members = np.flatnonzero(is_known(y))
            total = len(members) * (len(members) - 1) // 2
            known = f"y has {len(members)} points with known labels"
            n_links = as_count(n_links, "n_links", 0, total, known)
            drawn = rng.choice(total, size=n_links, replace=False)
            return cls._from_pairs(y, members[_unrank_pairs(drawn)])
        r = as_count(per_class, "per_class", 0)
        classes = {label: np.flatnonzero(y == label) for label in np.unique(y[is_known(y)])}
        must, cannot = [], []
        for label, members in classes.items():
            possible = len(members) * (len(members) - 1) // 2
            _require_enough(r, possible, f"must-links in class {label} ({len(members)} points)")
            must.append(members[_unrank_pairs(rng.choice(possible, size=r, replace=False))])
        for (a, first), (b, second) in combinations(classes.items(), 2):
            possible = len(first) * len(second)
            _require_enough(r, possible, f"cannot-links between the classes {a} and {b}")
            drawn = rng.choice(possible, size=r, replace=False)
            cannot.append(np.column_stack([first[drawn // len(second)], second[drawn % len(second)]]))
        return cls(len(y), _stack(must), _stack(cannot))

    @classmethod
    def _from_pairs(cls, labels: np.ndarray, pairs: np.ndarray) -> Links:
        same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
        return cls(len(labels), pairs[same], pairs[~same])

    # ------------------------------------------------------------------ files

    def save(self, path: str | Path) -> Path:
        """Write the links to a file: JSON, or CSV with the columns ``i,j,kind``, by its ending."""
        return link_files.write(as_path(path), self.n, self.must, self.cannot)

    @classmethod
    def load(cls, path: str | Path, n: int | None = None) -> Links:
        """Read links from JSON or CSV, by the file's ending. A CSV does not store n, so it must be given."""
        path = as_path(path)
        content = link_files.read(path, None if n is None else as_count(n, "n", 1, MOST_POINTS))
        try:
            return cls(*content)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error}", "path") from error

    @classmethod
    def from_table(cls, table: Any, n: int) -> Links:
        """Read links from a pandas frame (or a dict of columns) with the columns ``i``, ``j``, ``kind``."""
        try:
            columns = [list(table[name]) for name in ("i", "j", "kind")]
        except Exception as error:  # it may be anything that has columns
            raise InvalidInput("a table of links needs the columns i, j and kind", "table") from error
        if len({len(column) for column in columns}) > 1:
            raise InvalidInput("the columns i, j and kind of a table of links must be equally long", "table")
        rows: dict[str, list] = {"must": [], "cannot": []}
        for k, (i, j, kind) in enumerate(zip(*columns, strict=True)):
            if not isinstance(kind, str) or kind not in rows:
                raise InvalidInput(f"row {k} of the table: kind must be 'must' or 'cannot', not {shown(kind)}", "table")
            rows[kind].append((i, j))
        n = as_count(n, "n", 1, MOST_POINTS)
        try:
            return cls(n, rows["must"], rows["cannot"])
        except InvalidInput as error:
            raise InvalidInput(f"the table has wrong rows: {error}", "table") from error

    # ------------------------------------------------------------------ reading

    @cached_property
    def blocks(self) -> np.ndarray:
        """The block of each point: the classes of "joined by must-links", numbered by first appearance."""
        return connected_components(_adjacency(self.must, self.n), directed=False)[1]

    @property
    def n_blocks(self) -> int:
        """The number of blocks; a point with no must-link is a block of its own."""
        return int(self.blocks.max()) + 1

    @cached_property
    def block_cannot(self) -> np.ndarray:
        """The cannot-links lifted to pairs of blocks, each once."""
        self.require_consistent()
        return _unique_pairs(self.blocks[self.cannot])

    @cached_property
    def block_neighbours(self) -> dict[int, set[int]]:
        """The blocks that each block is kept apart from, where there are any."""
        neighbours: dict[int, set[int]] = {}
        for a, b in self.block_cannot.tolist():
            neighbours.setdefault(a, set()).add(b)
            neighbours.setdefault(b, set()).add(a)
        return neighbours

    @cached_property
    def linked(self) -> np.ndarray:
        """The points that appear in some link, in increasing order."""
        return np.unique(np.concatenate([self.must.ravel(), self.cannot.ravel()]))

    @property
    def matrix(self) -> sp.csr_array:
        """The symmetric link matrix Y: +1 on must-links, -1 on cannot-links, 0 elsewhere."""
        return sp.csr_array(_adjacency(self.must, self.n) - _adjacency(self.cannot, self.n))

    def closure(self) -> Links:
        """Return all links that follow from these: every pair within a block, every pair of blocks apart."""
        members = [np.flatnonzero(self.blocks == b) for b in range(self.n_blocks)]
        cannot = [np.array(np.meshgrid(members[a], members[b])).reshape(2, -1).T for a, b in self.block_cannot]
        return Links(self.n, _stack([_all_pairs(m) for m in members]), _stack(cannot))

    # ------------------------------------------------------------------ labels

    def with_labels(self, labels: Any) -> Links:
        """Return these links and the links that follow from labels (-1: unknown); raise if they contradict one another.

        :class:`InconsistentLinks` carries the witness: the pair that must not be together, by a cannot-link or by two
        labels, and a shortest chain of must-links and equal labels between its ends.
        """
        labels = as_labels(labels, self.n)
        known = Links.from_labels(labels)
        together = Links(self.n, np.vstack([self.must, known.must]), np.vstack([self.cannot, known.cannot]))
        found = together.contradiction()
        if found:
            raise InconsistentLinks(*found, labels={k: labels[k].item() for k in found[1] if is_known(labels)[k]})
        return together

    def to_labels(self, labels: Any = None, n_classes: int | None = None) -> np.ndarray:
        """Return the labels that follow from these links: along must-links, and where only one class is left.

        Links determine labels only up to the names of the classes, and rarely determine all of them; the others stay
        -1 ("-1" among names). A contradiction raises :class:`InconsistentLinks` with its witness, too few classes
        raise :class:`InvalidInput` with the points that show it.

        Parameters
        ----------
        labels : array of n, optional
            Known labels, -1 for unknown. Without them, the largest set found of points that are pairwise cannot-linked
            gets the labels 0, 1, … to start with.
        n_classes : int, optional
            How many classes there are. A point that is cannot-linked to all classes except one is then in that one;
            without ``n_classes``, only must-links carry labels on. If labels are given, they must name every class.
        """
        return labelling.labels_from(self, labels, n_classes)

    # ------------------------------------------------------------------ consistency

    def contradiction(self) -> tuple[tuple[int, int], tuple[int, ...]] | None:
        """Return a cannot-link inside a block and a shortest chain of must-links between its ends, or None."""
        inside = self.blocks[self.cannot[:, 0]] == self.blocks[self.cannot[:, 1]]
        if not inside.any():
            return None
        i, j = map(int, self.cannot[np.flatnonzero(inside)[0]])
        _, parent = breadth_first_order(_adjacency(self.must, self.n), i, directed=False)
        path = [j]
        while path[-1] != i:
            path.append(int(parent[path[-1]]))
        return (i, j), tuple(reversed(path))

    def require_consistent(self) -> None:
        """Raise :class:`InconsistentLinks`, with a witness, if no clustering can respect all links."""
        found = self.contradiction()
        if found:
            raise InconsistentLinks(*found)

    def without_contradictions(
        self, must_weight: Any = 1.0, cannot_weight: Any = 1.0, time_limit: float = 10.0
    ) -> Reconciled:
        """Remove the least links, by number or weight, such that the others do not contradict one another.

        Weights are given as for soft links; ``time_limit`` is in seconds. The result says what was removed, and whether
        that is proven least; see Remark 1 of Hu, Chen, Zhang & Yin (2010).
        """
        return reconciled(self, must_weight, cannot_weight, time_limit)

    def violated(self, labels: Any) -> float:
        """Return the fraction of links that a clustering breaks (0 if there are none)."""
        labels = as_labels(labels, self.n)
        together = labels[self.must[:, 0]] == labels[self.must[:, 1]]
        apart = labels[self.cannot[:, 0]] != labels[self.cannot[:, 1]]
        broken = (~together).sum() + (~apart).sum()
        return float(broken / len(self)) if len(self) else 0.0

    def least_clusters(self) -> int:
        """Return a number of clusters below which the links certainly cannot be respected."""
        return max(len(self.clique()), 1)

    def clique(self) -> list[int]:
        """Return blocks that are pairwise cannot-linked, as many as are found greedily from every block."""
        return greedy_clique(self.block_neighbours)

    def bootstrap(self, n_links: int, random_state: Any = None) -> Links:
        """Return links drawn from these with replacement; a link drawn twice counts once."""
        if not len(self):
            raise InvalidInput("there are no links to draw from; give some first", "links")
        drawn = np.unique(
            as_generator(random_state).integers(len(self), size=as_count(n_links, "n_links", 1, MOST_POINTS))
        )
        must = drawn[drawn < len(self.must)]
        return Links(self.n, self.must[must], self.cannot[drawn[drawn >= len(self.must)] - len(self.must)])

    def permuted(self, order: Any) -> Links:
        """Return the same links with the points renumbered: new point k is old point ``order[k]``."""
        position = np.argsort(as_permutation(order, self.n))
        return Links(self.n, position[self.must], position[self.cannot])

    def __len__(self) -> int:
        return len(self.must) + len(self.cannot)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Links):
            return NotImplemented
        return self.n == other.n and np.array_equal(self.must, other.must) and np.array_equal(self.cannot, other.cannot)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Links({self.n} points, {len(self.must)} must, {len(self.cannot)} cannot)"


def _as_pairs(pairs: Any, n: int, kind: str) -> np.ndarray:
    """Return pairs i < j, sorted and unique, or say which pair is wrong and why."""
    what = f"{kind}-link"
    try:
        if isinstance(pairs, Iterable) and not hasattr(pairs, "shape"):
            pairs = [tuple(pair) if isinstance(pair, set | frozenset) else pair for pair in pairs]
        array = np.asarray(pairs)
    except Exception as error:  # reading objects runs their code, which may raise anything
        raise InvalidInput(f"{what}s must be pairs (i, j) of point numbers", kind) from error
    if array.size == 0:
        return np.zeros((0, 2), dtype=int)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInput(f"{what}s must be pairs (i, j) of point numbers; their shape is {array.shape}", kind)
    try:
        numbers = array.astype(float)
    except Exception as error:
        raise InvalidInput(f"{what}s must be pairs of whole numbers", kind) from error
    if array.dtype == bool or not (np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()):
        raise InvalidInput(f"{what}s must be pairs of whole numbers", kind)
    outside = ((numbers < 0) | (numbers >= n)).any(axis=1)
    if outside.any():
        i, j = numbers[np.flatnonzero(outside)[0]]
        raise InvalidInput(
            f"the {what} ({i:g}, {j:g}) names a point outside 0 … {n - 1} (n is {n}); points are counted from 0", kind
        )
    integers = numbers.astype(int)
    itself = integers[:, 0] == integers[:, 1]
    if itself.any():
        i = integers[np.flatnonzero(itself)[0], 0]
        raise InvalidInput(f"the {what} ({i}, {i}) joins a point to itself; remove it", kind)
    return _unique_pairs(integers)


def _unique_pairs(pairs: np.ndarray) -> np.ndarray:
    ordered = np.sort(pairs.reshape(-1, 2), axis=1).astype(np.int64)
    base = int(ordered.max(initial=0)) + 1
    return np.column_stack(np.divmod(np.unique(ordered @ [base, 1]), base)).astype(int)  # faster than unique rows


def _all_pairs(members: np.ndarray) -> np.ndarray:
    return np.column_stack([members[side] for side in np.triu_indices(len(members), 1)])


def _stack(parts: list[np.ndarray]) -> np.ndarray:
    return np.vstack([*parts, np.zeros((0, 2), dtype=int)])


def _adjacency(pairs: np.ndarray, n: int) -> sp.csr_array:
    ones = np.ones(len(pairs))
    half = sp.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return sp.csr_array(half + half.T)


def _unrank_pairs(ranks: np.ndarray) -> np.ndarray:
    """Return the pairs i < j numbered 0, 1, 2, … in the order (0,1), (0,2), (1,2), (0,3) and so on."""
    ranks = np.asarray(ranks, dtype=np.int64)
    j = ((1 + np.sqrt(1 + 8 * ranks.astype(float))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > ranks  # the square root may round up
    j += (j + 1) * j // 2 <= ranks  # or down
    return np.column_stack([ranks - j * (j - 1) // 2, j])


def _require_enough(wanted: int, possible: int, what: str) -> None:
    if wanted > possible:
        raise InvalidInput(f"there are only {possible} possible {what}, fewer than the {wanted} asked for", "per_class")
