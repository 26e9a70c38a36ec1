"""Partial labels: drawn at random, or derived from links."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..numerics.checks import as_count, as_generator, as_labels, is_known


def sample_labels(
    y: Any, n_labels: int | None = None, per_class: int | None = None, random_state: Any = None
) -> np.ndarray:
    """Return the labels with some of them revealed and the others set to -1.

    Parameters
    ----------
    y : labels
        Points labelled -1 are unknown and stay unknown.
    n_labels : int
        Reveal this many in all, with at least one of each class if there are enough.
    per_class : int
        Reveal this many of each class.
    random_state : None, int or numpy generator
    """
    if (n_labels is None) == (per_class is None):
        raise InvalidInput("give either n_labels or per_class", "n_labels")
    y = as_labels(y, argument="y")
    rng = as_generator(random_state)
    known = np.flatnonzero(is_known(y))
    classes, sizes = np.unique(y[known], return_counts=True)
    if len(classes) < 2:
        raise InvalidInput(
            "the labels name fewer than two classes; -1 stands for unknown, so number classes from 0", "y"
        )
    order = rng.permutation(known)
    if per_class is not None:
        count = as_count(per_class, "per_class", 1, int(sizes.min()))
        revealed = np.concatenate([order[y[order] == c][:count] for c in classes])
    else:
        count = as_count(n_labels, "n_labels", 1, len(known))
        first = [int(np.flatnonzero(y[order] == c)[0]) for c in classes]  # one of each class comes first
        revealed = np.concatenate([order[first], np.delete(order, first)])[:count]
    is_revealed = np.isin(np.arange(len(y)), revealed)
    return np.where(is_revealed, y, "-1" if y.dtype.kind == "U" else -1)


def labels_from(links: Any, labels: Any, n_classes: int | None) -> np.ndarray:
    """Return the labels that follow from links, see :meth:`cvxlink.Links.to_labels`."""
    if labels is None:
        links.require_consistent()
        apart = sorted(links.clique())
        if not apart and len(links.must):  # nothing is kept apart: the largest block is one class
            apart = [int(np.bincount(links.blocks).argmax())]
        block = {b: number for number, b in enumerate(apart)}
        names = np.arange(max(len(block), as_count(n_classes, "n_classes", 1, links.n) if n_classes is not None else 0))
    else:
        labels = as_labels(labels, links.n)
        known = np.flatnonzero(is_known(labels))
        names, numbers = np.unique(labels[known], return_inverse=True)
        links = joined(links, labels)
        block = dict(zip(links.blocks[known].tolist(), numbers.tolist(), strict=True))
    if n_classes is not None:
        if as_count(n_classes, "n_classes", 1, links.n) < len(names) or (
            labels is not None and n_classes != len(names)
        ):
            if labels is None:
                raise InvalidInput.about(
                    "n_classes",
                    f"is {n_classes}, but the points {_points(links, list(block))} are pairwise kept apart, so there "
                    f"are at least {len(names)} classes",
                )
            raise InvalidInput.about(
                "n_classes",
                f"is {n_classes}, but the labels name {len(names)}; label a point of each class, or leave it out",
            )
        _eliminate(links, block, len(names))
        if n_classes == 1:  # nothing is left to choose
            block = dict.fromkeys(range(links.n_blocks), 0)
    numbers = np.array([block.get(b, -1) for b in links.blocks.tolist()])
    if labels is None:
        return numbers
    unknown = np.array("-1" if labels.dtype.kind == "U" else -1)
    padded = np.append(names, unknown.astype(np.result_type(names, unknown)))
    return padded[numbers]


def joined(links: Any, labels: Any) -> Any:
    """Return a few links that imply these and the links of labels: from each point to the first of its class.

    The first points of the classes are kept apart.

    :meth:`cvxlink.Links.with_labels` returns all of them, for methods that do not derive links from links.
    """
    labels = as_labels(labels, links.n)
    known = np.flatnonzero(is_known(labels))
    _, first, numbers = np.unique(labels[known], return_index=True, return_inverse=True)
    first = known[first]
    must = np.column_stack([first[numbers], known])
    must = must[must[:, 0] != must[:, 1]]
    cannot = first[np.column_stack(np.triu_indices(len(first), 1))]
    together = type(links)(links.n, np.vstack([links.must, must]), np.vstack([links.cannot, cannot]))
    if together.contradiction():
        links.with_labels(labels)  # raises, with the shortest witness
    return together


def _eliminate(links: Any, block: dict[int, int], n_classes: int) -> None:
    """Give each block its class where only one is left, as long as there are such blocks; refuse where none is left."""
    neighbours = links.block_neighbours
    waiting = list(neighbours)
    while waiting:
        b = waiting.pop()
        if b in block:
            continue
        left = set(range(n_classes)) - {block[a] for a in neighbours[b] if a in block}
        if not left:
            near = _points(links, [a for a in sorted(neighbours[b]) if a in block])
            raise InvalidInput(
                f"point {_points(links, [b])} is cannot-linked to all {n_classes} classes, by the points {near}; "
                f"there must be more classes, or one of its cannot-links is wrong",
                "links",
            )
        if len(left) == 1:
            block[b] = left.pop()
            waiting += [a for a in neighbours[b] if a not in block]


def _points(links: Any, blocks: list[int]) -> str:
    """Return a point of each block, to show."""
    return ", ".join(str(np.flatnonzero(links.blocks == b)[0]) for b in blocks)
