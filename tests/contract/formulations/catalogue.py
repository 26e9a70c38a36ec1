"""The list of formulations, and the points, graphs and links that they are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import cvxlink as cl


@dataclass(frozen=True, eq=False)
class World:
    """Points in three groups, their graph, and links between some of them."""

    n: int

    @property
    def groups(self) -> np.ndarray:
        """The group of each point."""
        return np.arange(self.n) % 3

    @cached_property
    def X(self) -> np.ndarray:
        """Coordinates in the plane."""
        centres = np.array([[0.0, 0.0], [2.0, 0.3], [0.5, 1.9]])
        return centres[self.groups] + 0.6 * np.random.default_rng(self.n).normal(size=(self.n, 2))

    @cached_property
    def graph(self) -> cl.Graph:
        """Nearest neighbours, made connected."""
        graph = cl.Graph.knn(self.X, n_neighbors=3)
        return cl.Graph.from_affinity(graph.W.toarray() + 0.05 * self.similarities)

    @cached_property
    def similarities(self) -> np.ndarray:
        """Gaussian similarities without the diagonal."""
        return np.exp(-self.distances) - np.eye(self.n)

    @cached_property
    def distances(self) -> np.ndarray:
        """Squared distances."""
        return ((self.X[:, None] - self.X[None]) ** 2).sum(axis=2)

    @cached_property
    def L(self) -> np.ndarray:
        """The Laplacian as an array."""
        return self.graph.laplacian(normalized=False).toarray()

    @cached_property
    def edges(self) -> np.ndarray:
        """A chain through all points, and the nearest neighbour of each, as pairs i < j."""
        far = self.distances + np.diag(np.full(self.n, np.inf))
        pairs = {(i, i + 1) for i in range(self.n - 1)}
        pairs |= {(min(i, int(j)), max(i, int(j))) for i, j in enumerate(far.argmin(axis=1))}
        return np.array(sorted(pairs))

    @cached_property
    def links(self) -> cl.Links:
        """Links that agree with the groups, one for every two points."""
        return cl.Links.sample(self.groups, n_links=max(4, self.n // 2), random_state=1)

    @property
    def must(self) -> np.ndarray:
        """The two arrays of ends of must-links."""
        return self.links.must.T

    @property
    def cannot(self) -> np.ndarray:
        """The two arrays of ends of cannot-links."""
        return self.links.cannot.T


@dataclass(frozen=True, eq=False)
class Formulation(cl.Problem):
    """A program about a world."""

    world: World


@dataclass(frozen=True)
class Entry:
    """A formulation and what is true of it.

    ``points`` is the number of points it is tried with, and ``moderate`` a larger one. It ``has_hard_links`` if links
    force points together, and it ``is_limited`` if its constraints say directly how large its variables can be.
    """

    kind: Callable[[World], cl.Problem]
    points: int
    status: cl.Status
    moderate: int | None
    has_hard_links: bool
    is_limited: bool

    def build(self, points: int | None = None) -> cl.Problem:
        """Return the formulation for a number of points."""
        return self.kind(World(self.points if points is None else points))


CATALOGUE: dict[str, Entry] = {}


def listed(
    points: int = 8,
    status: cl.Status = cl.Status.OPTIMAL,
    moderate: int | None = None,
    has_hard_links: bool = False,
    is_limited: bool = False,
) -> Callable[[type[Formulation]], type[Formulation]]:
    """Put a class on the list."""

    def put(kind: type[Formulation]) -> type[Formulation]:
        CATALOGUE[kind.__name__] = Entry(kind, points, status, moderate, has_hard_links, is_limited)
        return kind

    return put
