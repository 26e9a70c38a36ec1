"""Pictures: links over the data, a kernel as a heat map, clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA

from .errors import InvalidInput, MissingDependency
from .links import Links
from .validation import as_labels, as_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .solution import Solution

# Okabe & Ito's colours, told apart by most colour-blind readers; black is kept for must-links.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
CANNOT = "#D62728"


def projected(X: Any) -> np.ndarray:
    """Return the data in two dimensions: as it is, or by its first two principal components."""
    points = as_points(X)
    if points.shape[1] == 1:
        return np.column_stack([points, np.zeros(len(points))])
    if len(points) == 1:
        return points[:, :2]
    return points if points.shape[1] == 2 else PCA(2, svd_solver="full").fit_transform(points)


def plot_clusters(X: Any, labels: Any, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw points coloured by label."""
    ax = _axes(ax)
    points = projected(X)
    labels = as_labels(labels, len(points))
    for k, label in enumerate(np.unique(labels)):
        members = labels == label
        x, y = points[members].T
        ax.scatter(x, y, s=18, color=COLOURS[k % len(COLOURS)], label=str(label), linewidths=0)
    return _bare(ax, title)


def plot_links(X: Any, links: Links, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the data in grey with must-links as full black and cannot-links as dashed red lines."""
    ax = _axes(ax)
    points = projected(X)
    if links.n != len(points):
        raise InvalidInput(f"there are {len(points)} points, but the links are on {links.n}")
    ax.scatter(points[:, 0], points[:, 1], s=14, color="#BBBBBB", linewidths=0)
    styles = {"must": ("black", "-"), "cannot": (CANNOT, "--")}
    for kind, (colour, line) in styles.items():
        pairs = getattr(links, kind)
        for k, (i, j) in enumerate(pairs):
            name = f"{len(pairs)} {kind}-links" if k == 0 else None
            ax.plot(*points[[i, j]].T, line, color=colour, linewidth=1.2, marker="o", markersize=3.5, label=name)
    if len(links):
        ax.legend(loc="best", fontsize=8, framealpha=0.9)
    return _bare(ax, title)


def plot_kernel(K: np.ndarray, labels: Any = None, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw a kernel as a heat map, its points ordered by label, with lines between the clusters."""
    ax = _axes(ax)
    order = np.arange(len(K)) if labels is None else np.argsort(as_labels(labels, len(K)), kind="stable")
    image = ax.imshow(np.asarray(K)[np.ix_(order, order)], cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    if labels is not None:
        for edge in np.cumsum(np.unique(as_labels(labels), return_counts=True)[1])[:-1]:
            ax.axhline(edge - 0.5, color="black", linewidth=0.7)
            ax.axvline(edge - 0.5, color="black", linewidth=0.7)
    ax.figure.colorbar(image, ax=ax, shrink=0.75)
    return _bare(ax, title)


def plot_convergence(solution: Solution, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw how far off each iteration was, on a logarithmic scale, for routes that keep a history."""
    if not solution.history:
        raise InvalidInput("the solution kept no history; routes that iterate do, 'spreading' for one")
    ax = _axes(ax)
    ax.semilogy(np.arange(1, len(solution.history) + 1), np.maximum(solution.history, 1e-300), color=COLOURS[0])
    ax.set(title=title, xlabel="iteration", ylabel="how far off, at most")
    return ax


def save_overview(path: str | Path, X: Any, links: Links, K: np.ndarray, labels: Any) -> Path:
    """Save one picture: the data with its links, the learnt kernel, and the clusters."""
    figure = _matplotlib("figure").Figure(figsize=(13.5, 4.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    plot_links(X, links, left, "data and links")
    plot_kernel(K, labels, middle, "learnt kernel, ordered by cluster")
    plot_clusters(X, labels, right, "clusters")
    path = Path(path)
    if path.suffix == "":
        path = path.with_suffix(".png")
    try:
        figure.savefig(path, dpi=130)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"the picture cannot be saved as {path}: {error}") from error
    return path


def _bare(ax: Any, title: str) -> Any:
    """Set the title and take the ticks away: coordinates of a projection mean nothing."""
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
    return ax


def _axes(ax: Any) -> Any:
    return _matplotlib("pyplot").subplots()[1] if ax is None else ax


def _matplotlib(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise MissingDependency("pictures need matplotlib; get it with: pip install 'cvxlink[plot]'") from error
