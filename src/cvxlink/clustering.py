"""The one post-processing stage: from a kernel, a factor or an embedding to labels."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
from sklearn.cluster import KMeans

from .errors import InvalidInput, LinkWarning
from .links import Links
from .matrices import Congruence, Matrix
from .threads import threads_for
from .validation import as_count, as_generator

if TYPE_CHECKING:
    from .solution import LearntKernel

METHODS = ("kernel-kmeans", "spectral", "kmeans")


def cluster(solution: LearntKernel, n_clusters: int, method: str, random_state: Any, n_init: int) -> np.ndarray:
    """Cluster a solution; warn where its links cannot be respected by so few clusters."""
    if method not in METHODS:
        raise InvalidInput(f"there is no clustering method {method!r}; there are {', '.join(METHODS)}")
    k = as_count(n_clusters, "n_clusters", 1)
    links = getattr(solution.problem, "links", None)
    if isinstance(links, Links) and links.contradiction() is None:
        if links.least_clusters() > k:
            trouble = f"the cannot-links need at least {links.least_clusters()} clusters; with {k} some are broken"
            warnings.warn(trouble, LinkWarning, stacklevel=3)
        elif links.n_blocks < k <= links.n:
            trouble = f"the must-links leave {links.n_blocks} blocks; with {k} clusters some of them are broken"
            warnings.warn(trouble, LinkWarning, stacklevel=3)
    if method == "spectral":
        return spectral(solution.affinity_for(k), n_clusters, random_state, n_init)
    if method == "kmeans":
        return kmeans(solution.embedding, n_clusters, random_state, n_init)
    if isinstance(solution._kernel, Congruence):
        return kernel_kmeans(None, n_clusters, random_state, n_init, factor=solution.factor)
    return kernel_kmeans(solution.kernel, n_clusters, random_state, n_init)


def kernel_factor(K: Matrix, tolerance: float = 1e-10) -> np.ndarray:
    """Return B with K ≈ BBᵀ, dropping eigenvalues below ``tolerance`` times the largest."""
    if isinstance(K, Congruence):
        if not K.is_thin:
            return kernel_factor(K.toarray(), tolerance)
        # TMTᵀ with M = BBᵀ is (TB)(TB)ᵀ; its singular vectors put the columns in order.
        B = K.T @ kernel_factor(K.M, tolerance)
        with threads_for(B.shape[1]):
            vectors, lengths, _ = np.linalg.svd(B, full_matrices=False)
        return vectors * lengths
    with threads_for(len(K)):
        eigenvalues, vectors = scipy.linalg.eigh((K + K.T) / 2)
    keep = eigenvalues > tolerance * max(eigenvalues[-1], 0.0)
    return (vectors[:, keep] * np.sqrt(eigenvalues[keep]))[:, ::-1]


def kernel_kmeans(
    kernel: np.ndarray | None = None,
    n_clusters: int = 2,
    random_state: Any = None,
    n_init: int = 20,
    *,
    factor: np.ndarray | None = None,
    max_iter: int = 300,
) -> np.ndarray:
    r"""Minimise :math:`\sum_i \|\phi_i - \mu_{c(i)}\|^2` over clusterings, knowing only inner products.

    Parameters
    ----------
    kernel : array, n × n
        The inner products. Give this or ``factor``; both lead to the same labels.
    n_clusters : int
    random_state : None, int or numpy generator
    n_init : int
        Restarts, each from centres drawn as in k-means++; the best is kept.
    factor : array, n × r
        B with kernel = BBᵀ; the kernel itself is then never formed.
    max_iter : int
        The most iterations of one restart.
    """
    if (kernel is None) == (factor is None):
        raise InvalidInput("give either a kernel or a factor")
    given = np.asarray(kernel if factor is None else factor, dtype=float)
    if given.ndim != 2 or not np.isfinite(given).all():
        raise InvalidInput("the kernel or factor must be a matrix of finite numbers")
    if factor is None and given.shape[0] != given.shape[1]:
        raise InvalidInput(f"a kernel is square; its shape is {given.shape}")
    n = len(given)
    k = as_count(n_clusters, "n_clusters", 1, n)
    rng = as_generator(random_state)

    def times(H: np.ndarray) -> np.ndarray:
        return given @ H if factor is None else given @ (given.T @ H)

    squares = np.diag(given).copy() if factor is None else (given**2).sum(axis=1)
    best, lowest = np.zeros(n, dtype=int), np.inf
    for _ in range(as_count(n_init, "n_init", 1)):
        labels, inertia = _lloyd(times, squares, _seeds(times, squares, k, rng), max_iter)
        # A lower inertia by rounding alone must not decide between kernel and factor.
        if inertia < lowest - 1e-9 * (1 + abs(lowest if np.isfinite(lowest) else 0)):
            best, lowest = labels, inertia
    return best


def _seeds(times: Any, squares: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw k centres, each with probability proportional to its squared distance from those before."""
    n = len(squares)
    chosen = [int(rng.integers(n))]
    nearest = np.full(n, np.inf)
    for _ in range(k - 1):
        latest = np.zeros(n)
        latest[chosen[-1]] = 1
        distances = squares - 2 * times(latest) + squares[chosen[-1]]
        distances[distances < 1e-12 * max(1.0, squares.max())] = 0  # rounding, not distance
        nearest = np.minimum(nearest, distances)
        total = nearest.sum()
        draw = rng.random()
        if total > 0:
            chosen.append(int(np.searchsorted(np.cumsum(nearest), draw * total, side="right").clip(0, n - 1)))
        else:  # fewer distinct points than clusters: take points not taken yet
            rest = np.setdiff1d(np.arange(n), chosen)
            chosen.append(int(rest[int(draw * len(rest))]))
    return np.array(chosen)


def _lloyd(times: Any, squares: np.ndarray, seeds: np.ndarray, max_iter: int) -> tuple[np.ndarray, float]:
    """Alternate between nearest centres and centres; a cluster that empties takes the worst-placed point."""
    n, k = len(squares), len(seeds)
    membership = np.zeros((n, k))
    membership[seeds, np.arange(k)] = 1
    labels = np.full(n, -1)
    for _ in range(max_iter):
        means = membership / membership.sum(axis=0)
        inner = times(means)
        distances = squares[:, None] - 2 * inner + (means * inner).sum(axis=0)
        new = distances.argmin(axis=1)
        for empty in np.setdiff1d(np.arange(k), new):
            crowded = np.bincount(new, minlength=k)[new] > 1
            own = np.where(crowded, distances[np.arange(n), new], -np.inf)
            new[own.argmax()] = empty
        if np.array_equal(new, labels):
            break
        labels = new
        membership = np.eye(k)[labels]
    means = membership / membership.sum(axis=0)
    inertia = squares.sum() - (membership * times(means)).sum()
    return labels, float(inertia)


def spectral(affinity: Any, n_clusters: int, random_state: Any = None, n_init: int = 20) -> np.ndarray:
    """Cluster the rows of the leading eigenvectors of D^{-1/2} A D^{-1/2}, scaled to unit length (Ng et al.)."""
    A = np.asarray(affinity.toarray() if hasattr(affinity, "toarray") else affinity, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.isfinite(A).all() or (A < 0).any():
        raise InvalidInput("an affinity must be a square matrix of finite non-negative numbers")
    n = len(A)
    k = as_count(n_clusters, "n_clusters", 1, n)
    d = A.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    normalized = scale[:, None] * A * scale[None, :]
    _, vectors = scipy.linalg.eigh((normalized + normalized.T) / 2, subset_by_index=[n - k, n - 1])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return kmeans(rows, k, random_state, n_init)


def kmeans(embedding: np.ndarray, n_clusters: int, random_state: Any = None, n_init: int = 20) -> np.ndarray:
    """Cluster the rows of an embedding with scikit-learn's k-means."""
    embedding = np.asarray(embedding, dtype=float)
    if embedding.ndim != 2 or not np.isfinite(embedding).all():
        raise InvalidInput("an embedding must be a matrix of finite numbers, one row a point")
    k = as_count(n_clusters, "n_clusters", 1, len(embedding))
    seed = int(as_generator(random_state).integers(2**31))
    return KMeans(k, n_init=as_count(n_init, "n_init", 1), random_state=seed).fit_predict(embedding).astype(int)
