"""What people use today for clustering with must-links and cannot-links: each function clusters a task of a study.

    pip install active-semi-supervised-clustering metric-learn constrained-linkage "scikit-learn<1.8"

The packages besides scikit-learn are optional; the cells of one that is not installed say so. (metric-learn 0.7 does
not run with scikit-learn 1.8 or later.)
"""

from __future__ import annotations

import importlib

import numpy as np
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.semi_supervised import LabelSpreading

import cvxlink as cl
from cvxlink.studies import Task

# ---------------------------------------------------------------------- scikit-learn


def kmeans(task: Task) -> np.ndarray:
    return KMeans(task.n_clusters, random_state=task.random_state).fit_predict(task.X)


def spectral(task: Task) -> np.ndarray:
    cluster = SpectralClustering(task.n_clusters, affinity="nearest_neighbors", random_state=task.random_state)
    return cluster.fit_predict(task.X)


def spread_labels(task: Task) -> np.ndarray:
    """Give label spreading the true classes of all points in a link, which is more than the links say."""
    known = np.full(len(task.y), -1)
    known[task.links.linked] = task.y[task.links.linked]
    return LabelSpreading().fit(task.X, known).transduction_


# ---------------------------------------------------------------------- packages that take pairs


def cop_kmeans(task: Task) -> np.ndarray:
    return _constrained_kmeans("COPKMeans", task)


def pck_means(task: Task) -> np.ndarray:
    return _constrained_kmeans("PCKMeans", task)


def mpck_means(task: Task) -> np.ndarray:
    return _constrained_kmeans("MPCKMeans", task)


def _constrained_kmeans(kind: str, task: Task) -> np.ndarray:
    with np.errstate():  # importing the package makes numpy raise at every underflow, for good
        module = importlib.import_module("active_semi_clustering.semi_supervised.pairwise_constraints")
    np.random.seed(task.random_state)  # the package has no random_state
    estimator = getattr(module, kind)(n_clusters=task.n_clusters)
    return estimator.fit(task.X, ml=task.links.must.tolist(), cl=task.links.cannot.tolist()).labels_


def itml(task: Task) -> np.ndarray:
    return _learned_metric("ITML", task)


def mmc(task: Task) -> np.ndarray:
    return _learned_metric("MMC", task)


def _learned_metric(kind: str, task: Task) -> np.ndarray:
    seed = task.random_state
    learner = getattr(importlib.import_module("metric_learn"), kind)(preprocessor=task.X, random_state=seed)
    pairs = np.vstack([task.links.must, task.links.cannot])
    learner.fit(pairs, np.repeat([1, -1], [len(task.links.must), len(task.links.cannot)]))
    return KMeans(task.n_clusters, random_state=seed).fit_predict(learner.transform(task.X))


def average_linkage(task: Task) -> np.ndarray:
    linkage = importlib.import_module("constrained_linkage").constrained_linkage
    distances = squareform(pdist(task.X))
    penalties = -0.6 * task.links.matrix.toarray()  # the weight and the linkage of the package's own example
    tree = linkage(distances, method="average", constraint_matrix=penalties, normalize_distances=True)
    tree[:, 2] = np.arange(len(tree))  # rewards make heights negative and unordered; cut after the last merges
    return fcluster(tree, task.n_clusters, criterion="maxclust")


# ---------------------------------------------------------------------- a few lines with cvxlink


def kp_beside_ncuts(task: Task) -> np.ndarray:
    """Cluster KP's rows of unit length beside half of those of NCuts."""
    parts = [0.5 * unit_rows(cl.NCuts(task.graph, task.n_clusters).solve().embedding)]
    if len(task.links):
        parts.append(unit_rows(cl.KP(task.graph, task.links).solve().factor))
    return cl.clustering.kmeans(np.hstack(parts), task.n_clusters, task.random_state)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
