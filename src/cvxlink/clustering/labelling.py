"""Clustering: from a kernel, a factor or an embedding to labels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.cluster import KMeans

from ..errors import InvalidInput, LinkWarning
from ..numerics.checks import (
    LARGEST_COORDINATE,
    MOST_REPEATS,
    as_count,
    as_generator,
    as_labels,
    as_points,
    as_positive,
    as_square,
    finite_array,
    real_array,
)
from ..numerics.eigenpairs import smallest_eigenpairs
from ..numerics.matrices import Congruence, Matrix, diagonal, entries, inverse_root
from ..numerics.threads import threads_for

# Squared distances below this share of the largest squared length count as rounding errors.
SAME_PLACE = 1e-10
METHODS = ("kernel-kmeans", "spectral", "kmeans", "cut", "argmax", "partition")


def places(k: int, kernel: np.ndarray | None = None, factor: np.ndarray | None = None) -> np.ndarray:
    """Number the first k distinct places of the points, up to rounding; points at further places get -1."""
    if (kernel is None) == (factor is None):
        raise InvalidInput("give either kernel or factor", "kernel")
    k = as_count(k, "k")
    if factor is None:
        K: Matrix = as_square(real_array(kernel, "kernel"), "kernel")
    else:
        factor = finite_array(factor, "factor", (None, None))
        K = Congruence(factor, np.eye(factor.shape[1]))
    squares, labels = diagonal(K), np.full(K.shape[0], -1)
    for number in range(k):
        left = np.flatnonzero(labels < 0)
        if not len(left):
            break
        here = np.full(len(left), left[0])
        distances = squares[left] - 2 * entries(K, here, left) + squares[here]
        labels[left[distances <= SAME_PLACE * squares.max()]] = number
        labels[left[0]] = number
    return labels


def best_class(scores: np.ndarray) -> np.ndarray:
    """Return the class with the largest score at each point; warn about points that no label reaches."""
    scores = finite_array(scores, "scores", (None, None))
    if 0 in scores.shape:
        raise InvalidInput.about("scores", f"must have a row per point and a column per class, not {scores.shape}")
    unreached = int((abs(scores).max(axis=1) == 0).sum())
    if unreached:
        warnings.warn(
            f"no label reaches {unreached} points, because their components of the graph have none; they are put into "
            f"the first class",
            LinkWarning,
            stacklevel=4,
        )
    return scores.argmax(axis=1)


def kernel_factor(K: Matrix, tolerance: float = 1e-10) -> np.ndarray:
    """Return B with K ≈ BBᵀ, dropping eigenvalues below ``tolerance`` times the largest."""
    tolerance = as_positive(tolerance, "tolerance", or_zero=True)
    if isinstance(K, Congruence):
        if not K.is_thin:
            return kernel_factor(K.toarray(), tolerance)
        # TMTᵀ with M = BBᵀ is (TB)(TB)ᵀ; its singular vectors put the columns in order.
        B = K.T @ kernel_factor(K.M, tolerance)
        with threads_for(B.shape[1]):
            vectors, lengths, _ = np.linalg.svd(B, full_matrices=False)
        return vectors * lengths
    matrix = as_square(real_array(K, "K"), "K")
    if abs(matrix).max() > LARGEST_COORDINATE:
        raise InvalidInput.about("K", f"has entries above {LARGEST_COORDINATE:g}; divide it by the largest")
    with threads_for(len(matrix)):
        eigenvalues, vectors = scipy.linalg.eigh((matrix + matrix.T) / 2)
    keep = eigenvalues > tolerance * max(eigenvalues[-1], 0.0)
    return (vectors[:, keep] * np.sqrt(eigenvalues[keep]))[:, ::-1]


def kernel_kmeans(
    kernel: np.ndarray | None = None,
    n_clusters: int = 2,
    random_state: Any = None,
    n_init: int = 20,
    *,
    factor: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    max_iter: int = 300,
) -> np.ndarray:
    r"""Minimise :math:`\sum_i w_i \|\phi_i - \mu_{c(i)}\|^2` over clusterings, using only inner products.

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
    weights : array of n, optional
        The weight of each point, positive; equal by default. Centres are weighted means.
    start : array of n, optional
        A clustering to start from as well.
    max_iter : int
        The largest number of iterations per restart.
    """
    if (kernel is None) == (factor is None):
        raise InvalidInput("give either a kernel or a factor", "kernel")
    name = "kernel" if factor is None else "factor"
    given = finite_array(kernel if factor is None else factor, name, (None, None))
    if factor is None and given.shape[0] != given.shape[1]:
        raise InvalidInput(f"the kernel must be square; its shape is {given.shape}", "kernel")
    if not given.size or abs(given).max() > LARGEST_COORDINATE:
        raise InvalidInput.about(name, f"must not be empty, nor have entries above {LARGEST_COORDINATE:g}")
    n = len(given)
    k = as_count(n_clusters, "n_clusters", 1, n)
    rng = as_generator(random_state)
    w = _weights(weights, n)
    w, max_iter = w / w.mean(), as_count(max_iter, "max_iter")

    def times(H: np.ndarray) -> np.ndarray:
        return given @ H if factor is None else given @ (given.T @ H)

    squares = np.diag(given).copy() if factor is None else (given**2).sum(axis=1)
    starts = [_seeds(times, squares, w, k, rng) for _ in range(as_count(n_init, "n_init", 1, MOST_REPEATS))]
    if start is not None:
        starts.insert(0, _memberships(start, n, k))
    best, lowest = np.zeros(n, dtype=int), np.inf
    for memberships in starts:
        labels, inertia = _lloyd(times, squares, memberships, w, max_iter)
        # A lower inertia by rounding alone must not decide between kernel and factor.
        if inertia < lowest - 1e-9 * (1 + abs(lowest if np.isfinite(lowest) else 0)):
            best, lowest = labels, inertia
    return best


def _seeds(times: Any, squares: np.ndarray, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Draw k points as centres, each with probability proportional to its weighted squared distance from those before.

    Returned as clusters of one point each, one column per cluster.
    """
    n = len(squares)
    chosen = [int(rng.integers(n))]
    nearest = np.full(n, np.inf)
    for _ in range(k - 1):
        latest = np.zeros(n)
        latest[chosen[-1]] = 1
        distances = squares - 2 * times(latest) + squares[chosen[-1]]
        distances[distances < 1e-12 * max(1.0, squares.max())] = 0  # rounding, not distance
        nearest = np.minimum(nearest, distances)
        share = weights * nearest
        total = share.sum()
        draw = rng.random()
        if total > 0:
            chosen.append(int(np.searchsorted(np.cumsum(share), draw * total, side="right").clip(0, n - 1)))
        else:  # fewer distinct points than clusters: take points not taken yet
            rest = np.setdiff1d(np.arange(n), chosen)
            chosen.append(int(rest[int(draw * len(rest))]))
    seeds = np.zeros((n, k))
    seeds[chosen, np.arange(k)] = 1
    return seeds


def _memberships(start: np.ndarray, n: int, k: int) -> np.ndarray:
    """Return a clustering with one column per cluster; an empty cluster gets its own point."""
    labels = as_labels(start, n, "start")
    columns = (labels[:, None] == np.unique(labels)[None, :k]).astype(float)
    return np.hstack([columns, np.eye(n)[:, : k - columns.shape[1]]])


def _lloyd(
    times: Any, squares: np.ndarray, start: np.ndarray, weights: np.ndarray, max_iter: int
) -> tuple[np.ndarray, float]:
    """Alternate between nearest centres and centres; a cluster that empties takes the worst-placed point."""
    n, k = start.shape
    membership = weights[:, None] * start
    labels = np.full(n, -1)
    for _ in range(max_iter):
        means = membership / membership.sum(axis=0)
        inner = times(means)
        distances = squares[:, None] - 2 * inner + (means * inner).sum(axis=0)
        new = distances.argmin(axis=1)
        for empty in np.setdiff1d(np.arange(k), new):
            crowded = np.bincount(new, minlength=k)[new] > 1
            own = np.where(crowded, weights * distances[np.arange(n), new], -np.inf)
            new[own.argmax()] = empty
        if np.array_equal(new, labels):
            break
        labels = new
        membership = weights[:, None] * np.eye(k)[labels]
    means = membership / membership.sum(axis=0)
    inertia = weights @ squares - (membership * times(means)).sum()
    return labels, float(inertia)


def spectral(affinity: Any, n_clusters: int, random_state: Any = None, n_init: int = 20) -> np.ndarray:
    """Cluster the rows of the leading eigenvectors of D^{-1/2} A D^{-1/2}, scaled to unit length (Ng et al.).

    The diagonal of A counts as zero, as in their paper. How similar a point is to itself says nothing about clusters,
    and a point with more weight there than to all others would become a cluster of its own.
    """
    return kmeans(spectral_embedding(affinity, n_clusters), n_clusters, random_state, n_init)


def spectral_embedding(affinity: Any, n_clusters: int) -> np.ndarray:
    """Return what :func:`spectral` clusters: the k leading eigenvectors of D^{-1/2} A D^{-1/2}, rows of unit length."""
    A = as_square(affinity, "affinity")
    numbers = A.data if sp.issparse(A) else A
    if (numbers < 0).any() or numbers.max(initial=0.0) > LARGEST_COORDINATE:
        raise InvalidInput.about("affinity", f"must hold non-negative numbers of at most {LARGEST_COORDINATE:g}")
    n = A.shape[0]
    k = as_count(n_clusters, "n_clusters", 1, n)
    itself = A.diagonal()
    A = sp.csr_array(A - sp.diags_array(itself)) if sp.issparse(A) else A - np.diag(itself)
    scale = sp.diags_array(inverse_root(np.asarray(A.sum(axis=1)).ravel()))
    normalized = scale @ A @ scale
    normalized = (normalized + normalized.T) / 2
    if sp.issparse(A):
        vectors = smallest_eigenpairs(sp.csr_array(sp.eye_array(n) - normalized), k)[1]
    else:
        vectors = scipy.linalg.eigh(normalized, subset_by_index=[n - k, n - 1])[1]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def kmeans(
    embedding: np.ndarray,
    n_clusters: int,
    random_state: Any = None,
    n_init: int = 20,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Cluster the rows of an embedding, optionally weighted, with scikit-learn's k-means."""
    embedding = as_points(embedding, "embedding")
    k = as_count(n_clusters, "n_clusters", 1, len(embedding))
    seed = int(as_generator(random_state).integers(2**31))
    means = KMeans(k, n_init=as_count(n_init, "n_init", 1, MOST_REPEATS), random_state=seed)
    w = None if weights is None else _weights(weights, len(embedding))
    return means.fit_predict(embedding, sample_weight=w).astype(int)


def _weights(weights: Any, n: int) -> np.ndarray:
    w = np.ones(n) if weights is None else real_array(weights, "weights")
    if w.shape != (n,) or not ((w > 0) & (w <= LARGEST_COORDINATE)).all():
        raise InvalidInput.about("weights", f"must be {n} positive numbers, one for each point")
    return w
