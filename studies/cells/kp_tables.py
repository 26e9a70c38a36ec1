"""The tables of the KP paper: what a cell of kp_tables.toml and kp_ranks.toml computes."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

import cvxlink as cl

GRAPH = {"n_neighbors": 10, "sigma": "mean", "symmetrize": "mutual", "connect": True}
METHODS = {"KP": cl.KP, "PCP": cl.PCP, "Improved-order": cl.ImprovedOrder, "Gaussian-field": cl.GaussianField}
DATA = {"IV": "synthetic_control", "V": "usps0123", "VI": "mnist0123", "VII": "wine"}
RANKS = "VII"


@lru_cache(maxsize=1)
def prepared(table: str) -> tuple[np.ndarray, np.ndarray, cl.Graph]:
    X, y = cl.datasets.load(DATA[table])
    return X, y, cl.Graph.knn(X, **GRAPH)


def scored(table: str, r: int, trial: int, limit: float, method: str) -> dict:
    """Solve and score one cell.

    ``seconds`` are those of ``solve``, with reductions, the eigenvectors that the method needs, and the certificate.
    """
    X, y, graph = prepared(table)
    links = cl.Links.sample(y, per_class=r, random_state=1000 * trial + r)
    # A graph of its own, so that eigenvectors are computed, and timed, anew.
    problem = METHODS[method](cl.Graph(graph.W, X, graph.recipe), links)
    start = time.perf_counter()
    solution = problem.solve(time_limit=limit, strict=False)
    found = {"status": str(solution.status), "seconds": time.perf_counter() - start}
    if solution.status is cl.Status.LIMIT:
        found["stopped_after"] = limit
    if solution.status.has_answer:
        labels = solution.cluster(len(np.unique(y)), random_state=trial)
        gap = solution.certificate.relative_gap
        found |= {"nmi": round(cl.metrics.nmi(y, labels), 4), "gap": gap, "rank": solution.rank}
        if table == RANKS:
            # The tolerance of MATLAB's rank(), which the paper's ranks are likely to be.
            found["machine_rank"] = int(np.linalg.matrix_rank(solution.kernel))
    return found
