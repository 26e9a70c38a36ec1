"""The best clustering, proven: what a cell of exact.toml computes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

import cvxlink as cl

GAP = 1e-4


def searched(set: str, name: str, limit: float, jobs: int) -> dict:
    """Search for the best clustering of one of the public instances."""
    path = folder()
    if path is None:
        raise cl.DataUnavailable("CVXLINK_DATA names no folder with exact/*.npz in it")
    return measured(instances(path / f"{set}.npz")[name], limit, jobs)


def folder() -> Path | None:
    """Where the instances are, or None."""
    home = os.environ.get("CVXLINK_DATA")
    path = Path(home) / "exact" if home else None
    return path if path is not None and path.is_dir() else None


def instances(path: Path) -> dict[str, cl.KMeans]:
    """The problems of one data set, by name."""
    with np.load(path, allow_pickle=False) as file:
        X, k = file["X"], int(file["k"])
        names = sorted(name.removeprefix("must_") for name in file.files if name.startswith("must_"))
        return {
            name: cl.KMeans(X, cl.Links(len(X), must=file[f"must_{name}"], cannot=file[f"cannot_{name}"]), k)
            for name in names
        }


def squared_distances(X: np.ndarray, labels: np.ndarray) -> float:
    """The value of a clustering, by its definition."""
    return float(sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels)))


def measured(problem: cl.KMeans, limit: float, jobs: int, gap: float = GAP) -> dict:
    """Search for the best clustering, and return what came out, with the value computed anew."""
    found = cl.optimal_clustering(problem, gap=gap, time_limit=limit, n_jobs=jobs)
    value = squared_distances(problem.X, found.labels)
    root = found.tree[0]
    return {
        "n": problem.links.n,
        "k": problem.n_clusters,
        "must": len(problem.links.must),
        "cannot": len(problem.links.cannot),
        "order": problem.links.n_blocks,
        "status": str(found.status),
        "value": value,
        "bound": found.bound,
        "gap": (value - found.bound) / value,
        "relaxation_gap": (value - found.history[0].bound) / value if found.history else None,
        "root_gap": max(value - root.bound, 0.0) / value,
        "rounds": max(len(found.history) - 1, 0),
        "nodes": len(found.tree),
        "kept": not problem.links.violated(found.labels),
        "seconds": found.seconds,
    }
