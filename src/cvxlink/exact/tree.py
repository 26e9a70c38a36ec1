"""The tree of a search: what was branched on, and what became of each node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# What became of a node: still to do, branched on, closed by its bound, or without any clustering.
Fate = Literal["open", "branched", "closed", "infeasible"]


@dataclass(frozen=True)
class Node:
    """A node of the tree: the problem with some more links.

    Attributes
    ----------
    number : int
        Nodes are numbered in the order in which they were made; the root is 0.
    parent : int or None
    link : tuple or None
        The link it adds to its parent: ("must", i, j) or ("cannot", i, j).
    depth : int
        The number of links added to those of the problem.
    bound : float
        No clustering that keeps its links has a smaller value.
    value : float or None
        The value of the best clustering known when it was done.
    fate : str
        "open", "branched", "closed" (its bound shows that nothing better is in it) or "infeasible" (no clustering keeps
        its links).
    rounds : int
        Rounds of cuts.
    seconds : float
        The time it took.
    """

    number: int
    parent: int | None = None
    link: tuple[str, int, int] | None = None
    depth: int = 0
    bound: float = float("-inf")
    value: float | None = None
    fate: Fate = "open"
    rounds: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes of a search."""

    nodes: tuple[Node, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __getitem__(self, number: int) -> Node:
        return self.nodes[number]

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that were not branched on."""
        return tuple(node for node in self.nodes if node.fate != "branched")

    @property
    def depth(self) -> int:
        """The largest depth."""
        return max((node.depth for node in self.nodes), default=0)

    def links_of(self, number: int) -> list[tuple[str, int, int]]:
        """Return the links that lead from the root to a node."""
        links: list[tuple[str, int, int]] = []
        node = self.nodes[number]
        while node.link is not None and node.parent is not None:
            links.append(node.link)
            node = self.nodes[node.parent]
        return links[::-1]

    def __str__(self) -> str:
        lines = []
        children: dict[int | None, list[Node]] = {}
        for node in self.nodes:
            children.setdefault(node.parent, []).append(node)

        def show(node: Node) -> None:
            what = "root" if node.link is None else "{}-link ({}, {})".format(*node.link)
            proof = "no clustering keeps its links" if node.fate == "infeasible" else f"bound {node.bound:.8g}"
            lines.append(f"{'  ' * node.depth}{what}: {proof}, {node.fate}")
            for child in children.get(node.number, []):
                show(child)

        for root in children.get(None, []):
            show(root)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Tree({len(self)} nodes, depth {self.depth})"
