"""One picture of a result: the data with its links, what was learnt, and the clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..data.files.atomic import put_in_place
from ..data.links import Links
from ..engine.learnt_kernel import LearntKernel
from ..errors import InvalidInput
from ..exact.optimal import OptimalClustering
from ..numerics.arguments import as_instance, as_path, shown
from .canvas import legend_beside, matplotlib
from .kernels import MOST_POINTS, as_learnt, has_kernel, plot_affinity, plot_kernel
from .points import broken_links, draw_broken, plot_clusters, plot_embedding, plot_links, projected
from .tree import plot_tree


def save_overview(path: str | Path, X: Any, links: Links | None, K: Any, labels: Any) -> Path:
    """Save one picture: the data with its links, what was learnt, and the clusters with the links they break.

    Parameters
    ----------
    path : path
        Its suffix gives the format, ``.png`` by default.
    X : array, n × d
    links : Links or None
    K : Solution or array, n × n
        A kernel on up to 2000 points is shown as a heat map. For a larger one, and for a method that yields only an
        embedding, the points in feature space are shown. Where there is neither, the affinity is, again on up to 2000
        points.
    labels : labels
        The clusters.
    """
    path = as_path(path)
    if not path.name:
        raise InvalidInput(f"path must be the name of a file, and {path} is a folder", "path")
    path = path if path.suffix else path.with_suffix(".png")
    figure = drawn_overview(X, links, K, labels)
    with put_in_place(path) as new:
        save(figure, new, path)
    return path


def drawn_overview(X: Any, links: Links | None, K: Any, labels: Any) -> Any:
    """Return the picture that :func:`save_overview` saves."""
    new_figure = matplotlib("figure").Figure
    learnt, points = as_learnt(K), projected(X)
    if links is not None:
        as_instance(links, Links, "links", f"None or Links({len(points)}, must=…, cannot=…)")
    links = Links(len(points)) if links is None else links
    middle = _middle(learnt, len(points))
    figure = new_figure(figsize=(15.5 if middle else 10.5, 4.4), layout="constrained")
    left, *between, right = figure.subplots(1, 3 if middle else 2)
    plot_links(X, links, left, f"data and {len(links)} links" if len(links) else "data")
    for ax in between:
        _draw_learnt(middle, learnt, labels, ax)
    plot_clusters(X, labels, right)
    broken = broken_links(links, labels)
    draw_broken(right, points, broken)
    legend_beside(right)
    right.set_title(f"clusters, {len(broken)} of {len(links)} links broken" if len(links) else "clusters")
    return figure


def drawn_search(X: Any, links: Links, result: OptimalClustering) -> Any:
    """Return a picture of a search: the best clustering with the links, and the tree."""
    figure = matplotlib("figure").Figure(figsize=(15.0, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
    plot_links(X, links, left, f"the best clustering found, and {len(links)} links", labels=result.labels)
    plot_tree(result, right)
    return figure


def save(figure: Any, new: Path | None, path: Path) -> None:
    """Save a picture in a new file that will take the place of ``path``, in the format that its name asks for."""
    try:
        figure.savefig(new, dpi=130, format=path.suffix.lstrip("."))
    except ValueError as error:  # for example a format that matplotlib does not know
        raise InvalidInput(f"the picture cannot be saved as {shown(str(path))}: {error}", "path") from error


def _middle(learnt: LearntKernel, n: int) -> str:
    """Return which part of what was learnt to show; nothing if it is too large, or if there is none."""
    if has_kernel(learnt):
        return "kernel" if n <= MOST_POINTS else "embedding"
    if learnt.own_embedding is not None:
        return "embedding"
    return "affinity" if n <= MOST_POINTS and learnt.learnt.affinity is not None else ""


def _draw_learnt(what: str, learnt: LearntKernel, labels: Any, ax: Any) -> None:
    if what == "kernel":
        plot_kernel(learnt, labels, ax, "learnt kernel, ordered by cluster")
    elif what == "affinity":
        plot_affinity(learnt, labels, ax, "learnt affinity, ordered by cluster")
    else:
        plot_embedding(learnt, labels, ax=ax, title="feature space")
        ax.get_legend().remove()  # it stands beside the clusters already
