"""Labels at least cost that keep blocks apart, by dynamic programming on the graph of the pairs.

Blocks at the ends of trees are taken away first, in rounds: whatever the label of its only neighbour, such a block
takes its cheapest label or its second. What remains, the core, is eliminated block by block: the table of a block
holds, for all labels of the blocks around it, the least cost of everything eliminated with it. The size of a table is a
power of k; in graphs of a few hundred pairs, which are mostly trees, tables are small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .link_graph import Graph, neighbours, pairs_among, parts
from .rules import Rules

# The most entries in one table; beyond, integer programming is faster.
LARGEST_TABLE = 60_000


@dataclass(frozen=True, eq=False)
class Leaves:
    """Blocks with one neighbour left, and these neighbours."""

    blocks: np.ndarray
    parents: np.ndarray


@dataclass(frozen=True, eq=False)
class Step:
    """The elimination of one block.

    Attributes
    ----------
    block : int
    around : tuple of int
        The blocks its table depends on.
    forbidden : array
        Zero, and infinity where the block has the label of a neighbour; one axis per block, this block's first.
    received : tuple of (int, order, shape)
        Earlier steps whose tables are added here, with the order of their axes and the shape that align them.
    """

    block: int
    around: tuple[int, ...]
    forbidden: np.ndarray
    received: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]


@dataclass(frozen=True, eq=False)
class Component:
    """A connected part of the core: its blocks and pairs, and its elimination unless a table would be too large."""

    blocks: np.ndarray
    pairs: np.ndarray
    steps: tuple[Step, ...] | None


@dataclass(frozen=True, eq=False)
class Elimination:
    """The order in which the blocks of given rules are eliminated; used again for other costs."""

    k: int
    rounds: tuple[Leaves, ...]
    core: tuple[Component, ...]

    @classmethod
    def of(cls, rules: Rules) -> Elimination:
        """Plan the elimination."""
        around = neighbours(rules.apart)
        rounds = tuple(_peeled(around)) if rules.k > 1 else ()
        return cls(rules.k, rounds, tuple(_components(around, rules.k)))

    def gathered(self, costs: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Return costs to which the trees are added where they hang, and the two cheapest labels of each leaf."""
        costs, choices = costs.copy(), []
        for leaves in self.rounds:
            own, each = costs[leaves.blocks], np.arange(len(leaves.blocks))
            first = own.argmin(axis=1)
            cheapest = own[each, first]
            own[each, first] = np.inf
            second = own.argmin(axis=1)
            passed = np.repeat(cheapest[:, None], self.k, axis=1)
            passed[each, first] = own[each, second]
            np.add.at(costs, leaves.parents, passed)
            choices.append((first, second))
        return costs, choices

    def scatter(self, labels: np.ndarray, choices: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """Label the trees, given the labels of what they hang on."""
        for leaves, (first, second) in zip(reversed(self.rounds), reversed(choices), strict=True):
            labels[leaves.blocks] = np.where(labels[leaves.parents] == first, second, first)


def eliminate(steps: tuple[Step, ...], costs: np.ndarray, labels: np.ndarray) -> bool:
    """Label the blocks of one component at least cost; False if that is impossible."""
    tables: list[np.ndarray] = []
    choices: list[np.ndarray] = []
    total = 0.0
    for step in steps:
        own = costs[step.block]
        table = step.forbidden + own.reshape(-1, *[1] * len(step.around))
        for earlier, order, shape in step.received:
            table += tables[earlier].transpose(order).reshape(shape)
        choice = table.argmin(axis=0)
        choices.append(choice)
        tables.append(np.take_along_axis(table, choice[None], axis=0)[0])
        if not step.around:
            total += float(tables[-1])
    for step, choice in zip(reversed(steps), reversed(choices), strict=True):
        labels[step.block] = choice[tuple(labels[list(step.around)])]
    return bool(np.isfinite(total))


def _peeled(around: Graph) -> Iterable[Leaves]:
    """Take the leaves away in rounds; of two leaves that are neighbours, one stays as the root."""
    ends = sorted(a for a, others in around.items() if len(others) == 1)
    while ends:
        blocks, parents = [], []
        touched: set[int] = set()
        for a in ends:
            if len(around[a]) != 1:
                continue  # its neighbour went first
            parent = around[a].pop()
            around[parent].discard(a)
            del around[a]
            blocks.append(a)
            parents.append(parent)
            touched.add(parent)
        yield Leaves(np.array(blocks, dtype=int), np.array(parents, dtype=int))
        ends = sorted(a for a in touched if a in around and len(around[a]) == 1)


def _components(around: Graph, k: int) -> Iterable[Component]:
    for part in parts({a: others for a, others in around.items() if others}):
        yield Component(np.array(list(part)), pairs_among(part, part), _steps(part, k))


def _steps(around: Graph, k: int) -> tuple[Step, ...] | None:
    """Eliminate the block with the fewest missing pairs around it first, which keeps the tables small."""
    graph = {a: set(others) for a, others in around.items()}
    tables: dict[int, tuple[int, ...]] = {}
    steps: list[Step] = []
    while graph:
        block = min(graph, key=lambda a: (_missing(graph, a), len(graph[a]), a))
        others = tuple(sorted(graph[block]))
        if k ** (len(others) + 1) > LARGEST_TABLE:
            return None
        axes = (block, *others)
        mine = [number for number, scope in tables.items() if block in scope]
        received = tuple((number, *_alignment(tables.pop(number), axes, k)) for number in mine)
        steps.append(Step(block, others, _forbidden(block, others, around, k), received))
        tables[len(steps) - 1] = others
        for a in others:
            graph[a] |= set(others) - {a}
            graph[a].discard(block)
        del graph[block]
    return tuple(steps)


def _missing(graph: Graph, block: int) -> int:
    others = graph[block]
    return sum(len(others) - 1 - len(graph[a] & others) for a in others)


def _alignment(scope: tuple[int, ...], axes: tuple[int, ...], k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how to order the axes of a table, and its shape then, so that it can be added to a table on ``axes``."""
    order = tuple(scope.index(a) for a in axes if a in scope)
    return order, tuple(k if a in scope else 1 for a in axes)


def _forbidden(block: int, others: tuple[int, ...], around: Graph, k: int) -> np.ndarray:
    forbidden = np.zeros((k,) * (1 + len(others)))
    for position, a in enumerate(others, start=1):
        if a in around[block]:
            same = np.moveaxis(forbidden, (0, position), (0, 1))
            same[np.arange(k), np.arange(k)] = np.inf
    return forbidden
