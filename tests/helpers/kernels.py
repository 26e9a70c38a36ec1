"""Kernels that are feasible for PCP."""

from __future__ import annotations

import numpy as np

import cvxlink as cl

from .graphs import random_graph


def feasible_kernel(blocks, cannot, rng):
    """A random exactly feasible kernel of PCP: unit vectors per block, orthogonal where cannot-linked."""
    c = blocks.max() + 1
    coordinates = rng.standard_normal((c, c + 2))
    conflicts = [set() for _ in range(c)]
    for a, b in cannot:
        conflicts[max(a, b)].add(min(a, b))
    for a in range(c):  # project each block off the earlier ones it must not touch
        if conflicts[a]:
            Q = np.linalg.qr(coordinates[sorted(conflicts[a])].T)[0]
            coordinates[a] -= Q @ (Q.T @ coordinates[a])
        coordinates[a] /= np.linalg.norm(coordinates[a])
    rows = coordinates[blocks]
    return rows @ rows.T


def random_instance(links, seed):
    """A PCP on a random graph, a feasible kernel of it, and the generator to go on with."""
    rng = np.random.default_rng(seed)
    problem = cl.PCP(random_graph(links.n, rng), links)
    return problem, feasible_kernel(links.blocks, links.block_cannot, rng), rng
