"""A learnt kernel, and how it is clustered: in the way of the method's paper, or as asked."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from ..clustering import METHODS, best_class, kernel_factor, kernel_kmeans, kmeans, places, spectral, spectral_embedding
from ..data.graph import Graph
from ..data.links import Links
from ..errors import ClusterWarning, CvxlinkError, InvalidInput, LinkWarning
from ..numerics.arguments import shown
from ..numerics.checks import MOST_REPEATS, as_count, as_generator, require_random_state
from ..numerics.matrices import Congruence, Matrix, as_dense
from ..numerics.separable import LARGEST_ARRAY
from .formulation import Formulation, Learnt

# With fewer points per cluster than this, a cluster of one point is no surprise.
MANY_PER_CLUSTER = 15


class LearntKernel(ABC):
    """A kernel on the points of a graph, with methods for clustering and for new points.

    A kernel that was computed as a product is kept as one; the n × n array is built when ``kernel`` is accessed.
    """

    problem: Formulation

    @cached_property
    @abstractmethod
    def learnt(self) -> Learnt:
        """What was learnt: kernel, embedding, affinity and scores, as far as they exist."""

    def __getstate__(self) -> dict[str, Any]:
        # It may hold functions, which cannot be pickled, and can be computed again.
        return {name: value for name, value in self.__dict__.items() if name != "learnt"}

    @cached_property
    def stored_kernel(self) -> Matrix:
        """The kernel as it is stored: an array or a product."""
        kernel = self.learnt.get("kernel")
        if kernel is None:
            name, about = type(self.problem).__name__, self.problem.about
            if about.kernel:
                raise CvxlinkError(
                    f"{name} learns no kernel because it does not have exactly one symmetric matrix variable; override "
                    f"learnt(values) to say what to cluster"
                )
            raise CvxlinkError(f"{name} yields {about.yields} and no kernel; call cluster() without a method")
        return kernel

    @cached_property
    def own_embedding(self) -> np.ndarray | None:
        """The embedding, if the method has its own."""
        return self.learnt.get("embedding")

    @property
    def _graph(self) -> Graph | None:
        graph = getattr(self.problem, "graph", None)
        return graph if isinstance(graph, Graph) else None

    @cached_property
    def kernel(self) -> np.ndarray:
        """The learnt kernel K, n × n; an error if it would take gigabytes."""
        n = self.stored_kernel.shape[0]
        if isinstance(self.stored_kernel, Congruence) and n > LARGEST_ARRAY:
            raise InvalidInput(
                f"the kernel of {n} points would take {8 * n * n / 1e9:.0f} GB as an array; with B = solution.factor "
                f"it is B @ B.T, and its entries are (B[i] * B[j]).sum(axis=-1)"
            )
        return as_dense(self.stored_kernel)

    @cached_property
    def factor(self) -> np.ndarray:
        """A factor B, n × r, with K = BBᵀ and columns by decreasing eigenvalue, without negligible ones.

        If the kernel is kept as a product, the n × n array is never formed.
        """
        return kernel_factor(self.stored_kernel)

    @property
    def rank(self) -> int:
        """The numerical rank of the kernel: the number of eigenvalues above 1e-6 times the largest."""
        eigenvalues = np.linalg.svd(self.factor, compute_uv=False) ** 2
        return int((eigenvalues > 1e-6 * eigenvalues.max(initial=0)).sum())

    @property
    def embedding(self) -> np.ndarray:
        """The points in feature space, one row each: the method's own embedding, or the factor of its kernel.

        Methods that end in spectral clustering are embedded by as many eigenvectors as there are clusters; where the
        problem does not know the number, call :meth:`embedding_for`.
        """
        return self.embedding_for(None)

    def embedding_for(self, n_clusters: int | None) -> np.ndarray:
        """Return the embedding for a number of clusters, on which that of spectral clustering depends.

        For methods that end in it, the embedding is what k-means is given: the leading eigenvectors of
        D^{-1/2} A D^{-1/2}, with the affinity A, and rows of unit length.
        """
        if self.problem.about.cluster != "spectral" or self.own_embedding is not None:
            return self._coordinates
        k = getattr(self.problem, "n_clusters", None) if n_clusters is None else n_clusters
        if k is None:
            raise InvalidInput(
                f"{type(self.problem).__name__} is clustered in the leading eigenvectors of its affinity, as many as "
                f"there are clusters; say how many: solution.embedding_for(n_clusters=3)",
                "n_clusters",
            )
        return spectral_embedding(self.affinity_for(k), k)

    @property
    def _coordinates(self) -> np.ndarray:
        return self.factor if self.own_embedding is None else self.own_embedding

    @property
    def affinity(self) -> np.ndarray:
        """The input of spectral clustering: the method's own affinity, or the kernel without its negative entries."""
        return self.affinity_for(None)

    def affinity_for(self, n_clusters: int | None) -> np.ndarray:
        """Return the affinity for a number of clusters, on which it may depend (for MinKL it does)."""
        own = self.learnt.affinity_for(n_clusters)
        if own is None and self.learnt.kernel is None:
            raise InvalidInput(
                f"{type(self.problem).__name__} yields {self.problem.about.yields} and no affinity of its own; "
                f"the affinity of the graph is graph.W, and NCuts clusters it"
            )
        return np.maximum(self.kernel, 0) if own is None else own

    @property
    def weights(self) -> np.ndarray | None:
        """The weights of the points in k-means; None if all are equal."""
        return self.learnt.weights

    @property
    def scores(self) -> np.ndarray:
        """The score of each class at each point, n × classes, for methods that propagate labels."""
        scores = self.learnt.get("scores")
        if scores is None:
            raise InvalidInput(f"{type(self.problem).__name__} has no scores for classes; GFHF and LLGC do")
        return scores

    def cluster(
        self, n_clusters: int | None = None, method: str | None = None, random_state: Any = None, n_init: int = 20
    ) -> np.ndarray:
        """Return labels 0 … n_clusters − 1.

        Parameters
        ----------
        n_clusters : int, optional
            Not needed if the problem knows it: NCuts, SSKK, CSC, and the methods that start from labels.
        method : str, optional
            "kernel-kmeans", "spectral", "kmeans" (on the embedding), "cut" (the sign of a single-column embedding;
            k-means if it has more columns), "argmax" (the class with the largest score) or "partition" (a local search
            that keeps the links, for KMeans and LinkedCut). By default the method of the paper; if it names none,
            k-means on the method's own embedding or else kernel k-means.
        random_state : None, int or numpy generator
        n_init : int
            Restarts of k-means; the best is kept.
        """
        return cluster(self, n_clusters, method, random_state, n_init)


def cluster(solution: Any, n_clusters: int | None, method: str | None, random_state: Any, n_init: int) -> np.ndarray:
    """Cluster a solution; warn if the links cannot hold with this number of clusters, or if most hold one point."""
    if method is not None and (not isinstance(method, str) or method not in METHODS):
        raise InvalidInput(f"there is no clustering method {shown(method)}; there are {', '.join(METHODS)}", "method")
    require_random_state(random_state)
    as_count(n_init, "n_init", 1, MOST_REPEATS)
    k = _number_of_clusters(solution, n_clusters, method)
    method = method or solution.problem.about.cluster
    if method is None:
        method = "kernel-kmeans" if solution.own_embedding is None else "kmeans"
    if not ways(solution):
        _ = solution.stored_kernel  # raises an error that says what is missing
    if method not in ways(solution):
        name, yields = type(solution.problem).__name__, solution.problem.about.yields
        raise InvalidInput(
            f"{name} yields {yields}, which cannot be clustered by {method!r}; it can by {', '.join(ways(solution))}",
            "method",
        )
    known = solution.problem.cautions()  # which solve warned of
    for caution in solution.problem.cautions(k):
        if caution not in known:
            warnings.warn(caution, LinkWarning, stacklevel=3)
    if method == "argmax":  # clusters are classes that labels name
        return best_class(solution.scores)
    labels = _clustered(solution, k, method, random_state, n_init)
    _warn_of_single_points(labels, k)
    return labels


def _by_sign(f: np.ndarray) -> np.ndarray:
    """Return the two sides of a cut; warn if there is only one."""
    labels = (f > 0).astype(int)
    if labels.min() == labels.max():
        warnings.warn(
            "All entries of the cut have the same sign, so there is one cluster, not two. Take orthogonal=True, or "
            "cluster(method='kmeans').",
            ClusterWarning,
            stacklevel=5,
        )
    return labels


def _clustered(solution: Any, k: int, method: str, random_state: Any, n_init: int) -> np.ndarray:
    """Cluster what was learnt by one of the methods."""
    links = getattr(solution.problem, "links", None)
    if method != "kernel-kmeans":
        _warn_of_links(links, k)
    if method == "spectral":
        return spectral(solution.affinity_for(k), k, random_state, n_init)
    if method == "partition":
        return solution.learnt.rounding(random_state, n_init)
    if method == "cut" and k == 2 and solution._coordinates.shape[1] == 1:
        return _by_sign(solution._coordinates[:, 0])
    weights = solution.weights
    if method in ("kmeans", "cut"):
        return kmeans(solution._coordinates, k, random_state, n_init, weights)
    rng = as_generator(random_state)
    options: dict[str, Any] = {"n_init": n_init, "weights": weights}
    if solution.own_embedding is not None:  # the embedding gives one more starting point
        options["start"] = kmeans(solution._coordinates, k, rng, n_init, weights)
    learnt: dict[str, Any] = (
        {"factor": solution.factor} if isinstance(solution.stored_kernel, Congruence) else {"kernel": solution.kernel}
    )
    at = places(k=k, **learnt)
    found = int(at.max()) + 1
    if found < k <= len(at):  # k-means would separate points at the same place
        warnings.warn(
            f"The kernel maps all points to {found} distinct place{'s' if found > 1 else ''}, so only {found} "
            f"cluster{'s exist' if found > 1 else ' exists'}. Add cannot-links, or use a method that trades links off "
            f"against the graph, such as SRCP.",
            LinkWarning,
            stacklevel=4,
        )
        return at
    _warn_of_links(links, k)
    return kernel_kmeans(n_clusters=k, random_state=rng, **learnt, **options)


def ways(solution: Any) -> list[str]:
    """Return the methods by which a solution can be clustered."""
    learnt, own = solution.learnt, solution.problem.about.cluster
    has_kernel = learnt.kernel is not None
    embedded = has_kernel or learnt.embedding is not None or own in ("cut", "argmax")
    possible = {
        "kernel-kmeans": has_kernel,
        "spectral": has_kernel or own == "spectral",
        "kmeans": embedded,
        "cut": embedded,
        "argmax": own == "argmax",
        "partition": learnt.rounding is not None,
    }
    return [method for method in METHODS if possible[method]]


def _number_of_clusters(solution: Any, n_clusters: int | None, method: str | None) -> int:
    """Return the number of clusters: the requested one, or the one the problem was declared for."""
    name, declared = type(solution.problem).__name__, getattr(solution.problem, "n_clusters", None)
    if n_clusters is None:
        if declared is None:
            raise InvalidInput(
                f"{name} does not know how many clusters there are; call cluster(n_clusters=…)", "n_clusters"
            )
        return int(declared)
    graph = solution._graph
    k = as_count(n_clusters, "n_clusters", 1, None if graph is None else graph.n)
    if declared is not None and k != declared and method in (None, "cut", "argmax", "partition"):
        named = hasattr(solution.problem, "classes")
        how = "it has one cluster per class of the labels" if named else f"declare it with n_clusters={k}"
        fixed = ("cut", "argmax", "partition", solution.problem.about.cluster)
        others = [way for way in ways(solution) if way not in fixed]
        instead = f", or pass method={' or '.join(map(repr, others))}" if others else ""
        raise InvalidInput(f"this {name} is for {declared} clusters, not {k}; {how}{instead}", "n_clusters")
    return k


def _warn_of_single_points(labels: np.ndarray, k: int) -> None:
    """Warn if at least half of the clusters besides the largest hold one point each, although points are many."""
    alone = np.flatnonzero(np.bincount(labels, minlength=k)[labels] == 1)
    are_several = len(alone) >= 2 or len(alone) == k - 1 == 1
    if len(labels) < MANY_PER_CLUSTER * k or 2 * len(alone) < k - 1 or not are_several:
        return
    named = ", ".join(map(str, alone[:5])) + (", …" if len(alone) > 5 else "")
    clusters = f"{len(alone)} of the {k} clusters hold" if len(alone) > 1 else f"1 of the {k} clusters holds"
    warnings.warn(
        f"{clusters} a single point (number {named}), which the graph barely joins to the others, as with outliers; "
        f"leave such points out, transform features with long tails, or build the graph with more neighbours or a "
        f"larger sigma",
        ClusterWarning,
        stacklevel=4,
    )


def _warn_of_links(links: Any, k: int) -> None:
    if isinstance(links, Links) and links.contradiction() is None:
        least = links.least_clusters()
        if least > k:
            trouble = f"the cannot-links need at least {least} clusters; with {k} some will be broken"
            warnings.warn(trouble, LinkWarning, stacklevel=5)
        elif links.n_blocks < k <= links.n:
            trouble = (
                f"the must-links leave only {links.n_blocks} blocks; with {k} clusters some must-links will be broken"
            )
            warnings.warn(trouble, LinkWarning, stacklevel=5)
