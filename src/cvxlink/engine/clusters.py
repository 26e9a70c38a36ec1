"""From what was learnt to labels: as in the method's paper, or by another method on request."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..clustering import METHODS, best_class, kernel_kmeans, kmeans, places, spectral
from ..data.links import Links
from ..errors import InvalidInput, LinkWarning
from ..numerics.checks import as_count, as_generator
from ..numerics.matrices import Congruence


def cluster(solution: Any, n_clusters: int | None, method: str | None, random_state: Any, n_init: int) -> np.ndarray:
    """Cluster a solution; warn if the links cannot hold with this number of clusters."""
    if method is not None and method not in METHODS:
        raise InvalidInput(f"there is no clustering method {method!r}; there are {', '.join(METHODS)}")
    k = _number_of_clusters(solution, n_clusters, method)
    method = method or solution.problem.about.cluster
    if method is None:
        method = "kernel-kmeans" if solution.own_embedding is None else "kmeans"
    if not ways(solution):
        _ = solution.stored_kernel  # raises an error that says what is missing
    if method not in ways(solution):
        name, yields = type(solution.problem).__name__, solution.problem.about.yields
        raise InvalidInput(
            f"{name} yields {yields}, which cannot be clustered by {method!r}; it can by {', '.join(ways(solution))}"
        )
    links = getattr(solution.problem, "links", None)
    if method != "kernel-kmeans":
        _warn_of_links(links, k)
    if method == "spectral":
        return spectral(solution.affinity_for(k), k, random_state, n_init)
    if method == "argmax":
        return best_class(solution.scores)
    if method == "cut" and k == 2 and solution.embedding.shape[1] == 1:
        return (solution.embedding[:, 0] > 0).astype(int)
    weights = solution.weights
    if method in ("kmeans", "cut"):
        return kmeans(solution.embedding, k, random_state, n_init, weights)
    rng = as_generator(random_state)
    options: dict[str, Any] = {"n_init": n_init, "weights": weights}
    if solution.own_embedding is not None:  # the embedding gives one more starting point
        options["start"] = kmeans(solution.embedding, k, rng, n_init, weights)
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
    }
    return [method for method in METHODS if possible[method]]


def _number_of_clusters(solution: Any, n_clusters: int | None, method: str | None) -> int:
    """Return the number of clusters: the requested one, or the one the problem was declared for."""
    name, declared = type(solution.problem).__name__, getattr(solution.problem, "n_clusters", None)
    if n_clusters is None:
        if declared is None:
            raise InvalidInput(f"{name} does not know how many clusters there are; call cluster(n_clusters=…)")
        return int(declared)
    k = as_count(n_clusters, "n_clusters", 1)
    if declared is not None and k != declared and method in (None, "cut", "argmax"):
        named = hasattr(solution.problem, "classes")
        how = "it has one cluster per class of the labels" if named else f"declare it with n_clusters={k}"
        others = [way for way in ways(solution) if way not in ("cut", "argmax", solution.problem.about.cluster)]
        instead = f", or pass method={' or '.join(map(repr, others))}" if others else ""
        raise InvalidInput(f"this {name} is for {declared} clusters, not {k}; {how}{instead}")
    return k


def _warn_of_links(links: Any, k: int) -> None:
    if isinstance(links, Links) and links.contradiction() is None:
        least = links.least_clusters()
        if least > k:
            trouble = f"the cannot-links need at least {least} clusters; with {k} some will be broken"
            warnings.warn(trouble, LinkWarning, stacklevel=4)
        elif links.n_blocks < k <= links.n:
            trouble = (
                f"the must-links leave only {links.n_blocks} blocks; with {k} clusters some must-links will be broken"
            )
            warnings.warn(trouble, LinkWarning, stacklevel=4)
