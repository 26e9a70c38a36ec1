"""How far it goes: what a cell of scale_pcp.toml and scale_methods.toml computes."""

from __future__ import annotations

import os
import time

import numpy as np

import cvxlink as cl

LOW_RANK = "low-rank"
SOLVERS = ("SDPA", "CLARABEL", "CVXOPT", "SCS")
# Beyond, CVXPY needs more memory to write the program down than this machine has.
LARGEST_FOR_SOLVERS = 3000
METHODS = ("KP", "CCSR", "SRCP", "GFHF", "LLGC", "NCuts", "PCP")
# What a solver may take.
MEMORY = "16GB"
CLASSES, DIMENSION, LINKS, LABELS = 5, 8, 300, 100


def pcp_instance(n: int) -> tuple[str, cl.PCP]:
    """Return a PCP on n points, and what they are."""
    if "CVXLINK_DATA" in os.environ:
        name = "usps" if n > 3000 else "mnist0123"
        X, y = cl.datasets.load(name)
        pick = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
        X, y = X[pick], y[pick]
    else:
        name = "blobs"
        X, y = cl.datasets.blobs(n, 4, dimension=10, random_state=0)
    return name, cl.PCP(cl.Graph.knn(X), cl.Links.sample(y, n_links=50, random_state=0))


def pcp(n: int, limit: float, how: str) -> dict:
    """Solve a PCP one way."""
    if how != LOW_RANK and n > LARGEST_FOR_SOLVERS:
        raise cl.InvalidInput(f"{n} points are more than CVXPY writes down in the memory of a usual machine")
    name, problem = pcp_instance(n)
    options = (
        {"route": LOW_RANK, "accuracy": 1e-5}
        if how == LOW_RANK
        else {"solver": how, "form": "dual", "time_limit": limit, "memory_limit": MEMORY}
    )
    start = time.perf_counter()
    solution = problem.solve(strict=False, **options)
    seconds = time.perf_counter() - start
    cell = {"data": name, "seconds": seconds, "status": str(solution.status)}
    if solution.status in (cl.Status.LIMIT, cl.Status.ERROR):
        cell["status"] = f"{solution.status}: {solution.reason.splitlines()[0][:80]}"
    elif solution.certificate is not None:
        cell["gap"], cell["value"] = solution.certificate.relative_gap, solution.value
    if how == LOW_RANK:
        V, L = solution.values.stored["K"].T, problem.L
        start = time.perf_counter()
        for _ in range(20):
            L @ V
        cell["product"] = (time.perf_counter() - start) / 20
        cell["rank"], cell["products"] = solution.rank, int(solution.reason.split(" products")[0].split()[-1])
    return cell


def methods(n: int, how: str) -> dict:
    """Cluster n points from end to end."""
    X, y = cl.datasets.blobs(n, CLASSES, dimension=DIMENSION, random_state=0)
    times = [time.perf_counter()]
    graph = cl.Graph.knn(X)
    times.append(time.perf_counter())
    links = cl.Links.sample(y, n_links=LINKS, random_state=0)
    labels = cl.sample_labels(y, n_labels=LABELS, random_state=0) if how in ("GFHF", "LLGC") else None
    problem = cl.methods()[how].make(graph, links, labels, CLASSES)
    solution = problem.solve(strict=False)
    times.append(time.perf_counter())
    found = solution.cluster(CLASSES, random_state=0)
    times.append(time.perf_counter())
    graph_s, solve_s, cluster_s = np.diff(times)
    certificate = solution.certificate
    return {
        "graph": graph_s,
        "solve": solve_s,
        "cluster": cluster_s,
        "status": str(solution.status),
        "gap": None if certificate is None else certificate.relative_gap,
        "nmi": cl.metrics.scores(y, found)["nmi"],
    }
