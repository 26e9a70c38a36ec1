r"""Kernels that share the graph's eigenvectors, with a spectrum that is given and not fitted to links.

.. math:: K = \sum_i \mu(\lambda_i)\, v_i v_i^\top

They are no programs, and need no links: baselines for those that fit the spectrum.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data.graph import Graph
from ...numerics.arguments import as_instance
from ...numerics.checks import as_count, as_positive

# What is below this share of the largest entry of the spectrum adds nothing to a kernel.
FAINT = 1e-12


def diffusion_kernel(graph: Graph, width: float = 1.0, order: int = 200, normalized: bool = True) -> np.ndarray:
    r"""Return a factor of the diffusion kernel, :math:`\mu(\lambda) = \exp(-\sigma^2\lambda/2)`: K = BBᵀ.

    Parameters
    ----------
    graph : Graph
    width : float
        The σ: how far similarity diffuses.
    order : int
        How many of the smoothest eigenvectors are used; with all n it is the exponential of −σ²L/2.
    normalized : bool
        Use the normalised Laplacian or L = D − W.

    References
    ----------
    Kondor & Lafferty (2002), ICML; named in the introduction of Hu, Chen, Zhang & Yin (2010).
    """
    graph = as_instance(graph, Graph, "graph", "a Graph, such as Graph.knn(X)")
    sigma = as_positive(width, "width")
    eigenvalues, V = graph.smoothest(min(as_count(order, "order", 1), graph.n), normalized)
    return _factor(V, np.exp(-(np.minimum(sigma, 1e100) ** 2) * (eigenvalues - eigenvalues[0]) / 2))


def cluster_kernel(graph: Graph, n_clusters: int) -> np.ndarray:
    """Return a factor of the cluster kernel with a step: K = BBᵀ, one for the k smoothest eigenvectors of L̄, else zero.

    Parameters
    ----------
    graph : Graph
    n_clusters : int
        The number k of eigenvectors that count.

    References
    ----------
    Chapelle, Weston & Schölkopf (2003), NIPS; named in the introduction of Hu, Chen, Zhang & Yin (2010).
    """
    graph = as_instance(graph, Graph, "graph", "a Graph, such as Graph.knn(X)")
    k = as_count(n_clusters, "n_clusters", 1, graph.n)
    return _factor(graph.smoothest(k)[1], np.ones(k))


def _factor(V: np.ndarray, spectrum: Any) -> np.ndarray:
    kept = spectrum > FAINT * spectrum.max()
    return np.asarray(V[:, kept] * np.sqrt(spectrum[kept]))
