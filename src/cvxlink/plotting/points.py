"""Points in the plane, with their clusters and links: of the data, or of feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA

from ..data.links import Links
from ..engine.learnt_kernel import LearntKernel
from ..errors import InvalidInput
from ..numerics.checks import as_labels, as_points, is_known
from .canvas import CANNOT, MUST, UNKNOWN, axes, bare, cluster_style, drawn_name, legend_beside, matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = {"must": (MUST, "-"), "cannot": (CANNOT, "--")}
# Up to this many links are drawn one by one, with marked ends; more are thin, transparent lines.
FEW_LINKS = 100


@dataclass(frozen=True, eq=False)
class Plane:
    """Points in two dimensions, and the names of the dimensions."""

    points: np.ndarray
    x: str = ""
    y: str = ""

    @classmethod
    def of(cls, X: Any) -> Plane:
        """Take the data as it is, or its first two principal components."""
        points = as_points(X)
        n, dimension = points.shape
        if dimension == 1:
            return cls(np.column_stack([points, np.arange(n)]), "the one coordinate", "number of the point")
        if dimension == 2 or n == 1:
            return cls(points[:, :2], "first coordinate", "second coordinate")
        if not np.ptp(points, axis=0).any():
            return cls(np.zeros((n, 2)), f"all points are the same, in {dimension} dimensions")
        pca = PCA(2, svd_solver="full")
        plane = pca.fit_transform(points)
        shares = enumerate(pca.explained_variance_ratio_, 1)
        return cls(plane, *(f"principal component {k} ({share:.0%} of variance)" for k, share in shares))


def projected(X: Any) -> np.ndarray:
    """Return the data in two dimensions: as it is, or by its first two principal components.

    With only one coordinate, the other is the number of the point, so that points and links stay apart.
    """
    return Plane.of(X).points


def plot_clusters(X: Any, labels: Any, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw points coloured by label, over the data's first two principal components if it has more coordinates.

    Parameters
    ----------
    X : array, n × d
    labels : labels
        Of the n points; -1 for unknown, drawn in grey.
    ax : matplotlib Axes, optional
    title : str
    """
    return _draw(Plane.of(X), labels, None, axes(ax), title, "X")


def plot_links(X: Any, links: Links, ax: Axes | None = None, title: str = "", labels: Any = None) -> Axes:
    """Draw must-links as full black and cannot-links as dashed red lines over the data.

    Parameters
    ----------
    X : array, n × d
        Drawn over its first two principal components if it has more than two columns; the axes say so.
    links : Links
    ax : matplotlib Axes, optional
    title : str
    labels : labels, optional
        Colour the points by these; links that they break are drawn thick, with a cross in the middle.
    """
    return _draw(Plane.of(X), labels, links, axes(ax), title, "X")


def plot_embedding(
    solution: LearntKernel, labels: Any = None, links: Links | None = None, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw the points in feature space, over the first two principal components of ``solution.embedding``.

    For methods that end in spectral clustering there are as many eigenvectors as ``labels`` have classes.

    Parameters
    ----------
    solution : Solution
        Or anything else that has learnt a kernel, such as an ensemble.
    labels : labels, optional
        Colour the points by these.
    links : Links, optional
        Draw these too; links that the labels break are marked.
    ax : matplotlib Axes, optional
    title : str
    """
    if not isinstance(solution, LearntKernel):
        problem = f"plot_embedding takes a solution, not {type(solution).__name__}; for points: plot_clusters"
        raise InvalidInput(problem, "solution")
    known = None if labels is None else as_labels(labels)
    embedding = solution.embedding_for(None if known is None else len(np.unique(known[is_known(known)])))
    ax = _draw(Plane.of(embedding), labels, links, axes(ax), title, "solution")
    if embedding.shape[1] > 1:
        ax.set_aspect("equal", adjustable="datalim")  # distances mean something here
    return ax


def broken_links(links: Links, labels: Any) -> Links:
    """Return the links that a clustering breaks, ignoring points whose label is unknown."""
    labels = as_labels(labels, links.n)
    known = is_known(labels)

    def among(pairs: np.ndarray, together: bool) -> np.ndarray:
        i, j = pairs.T
        return pairs[known[i] & known[j] & ((labels[i] == labels[j]) == together)]

    return Links(links.n, among(links.must, together=False), among(links.cannot, together=True))


def draw_broken(ax: Any, points: np.ndarray, broken: Links) -> None:
    """Draw links as thick lines with a cross in the middle."""
    for kind, (colour, line) in LINES.items():
        pairs = getattr(broken, kind)
        if not len(pairs):
            continue
        name, shrink = _counted(len(pairs), f"{kind}-link", " broken"), min(FEW_LINKS / len(pairs), 1.0) ** 0.5
        lines = _segments(points[pairs], colour, line, linewidths=2.2 * shrink, alpha=shrink, zorder=3)
        ax.add_collection(lines, autolim=False)
        x, y = points[pairs].mean(axis=1).T
        cross = {"marker": "X", "color": colour, "edgecolors": "white", "linewidths": 0.8 * shrink}
        ax.scatter(x, y, s=max(55 * shrink, 16), zorder=4, label=name, **cross)


def _draw(plane: Plane, labels: Any, links: Links | None, ax: Any, title: str, whose: str) -> Any:
    points = plane.points
    if links is not None and (not isinstance(links, Links) or links.n != len(points)):
        what = f"the links are on {links.n}" if isinstance(links, Links) else f"links are a {type(links).__name__}"
        how = f"give Links({len(points)}, must=…, cannot=…)"
        raise InvalidInput(f"{whose} has {len(points)} points, but {what}; {how}", "links")
    if labels is not None and len(as_labels(labels)) != len(points):
        count = len(as_labels(labels))
        raise InvalidInput(f"there are {count} labels for {len(points)} points in {whose}", "labels")
    _scatter(ax, points, labels)
    if links is not None:
        broken = Links(links.n) if labels is None else broken_links(links, labels)
        for kind in LINES:
            dot = "o" if labels is None else ""  # a dot would hide the colour of the point
            _draw_links(ax, points, kind, getattr(links, kind), getattr(broken, kind), dot)
        draw_broken(ax, points, broken)
    legend_beside(ax)
    return bare(ax, title, plane.x, plane.y)


def _scatter(ax: Any, points: np.ndarray, labels: Any) -> None:
    size = float(np.clip(18_000 / len(points), 4, 18))
    if labels is None:
        ax.scatter(*points.T, s=size, color=UNKNOWN, linewidths=0)
        return
    labels = as_labels(labels, len(points))
    known = is_known(labels)
    if not known.all():
        ax.scatter(*points[~known].T, s=size, color=UNKNOWN, linewidths=0, label="unknown")
    for k, label in enumerate(np.unique(labels[known])):
        colour, marker = cluster_style(k)
        x, y = points[labels == label].T
        # A thin dark edge keeps the light colours visible on white.
        style = {"color": colour, "marker": marker, "edgecolors": "#333333", "linewidths": 0.2}
        ax.scatter(x, y, s=size, zorder=2.5, label=f"cluster {drawn_name(label)}", **style)


def _draw_links(ax: Any, points: np.ndarray, kind: str, pairs: np.ndarray, broken: np.ndarray, dot: str) -> None:
    """Draw the links of a kind that are not broken, with dots at their ends."""
    n = len(points)
    kept = pairs[~np.isin(pairs @ [n, 1], broken @ [n, 1])]
    if not len(kept):
        return
    (colour, line), name = LINES[kind], _counted(len(kept), f"{kind}-link", " kept" if len(broken) else "")
    if len(pairs) <= FEW_LINKS:
        x, y = points[kept].transpose(2, 1, 0)
        names = [name] + ["_"] * (len(kept) - 1)
        ax.plot(x, y, line, color=colour, linewidth=1.2, marker=dot, markersize=3.5, label=names)
        return
    opacity = max(FEW_LINKS / len(pairs), 0.06) ** 0.5
    ax.add_collection(_segments(points[kept], colour, line, linewidths=0.7, alpha=opacity), autolim=False)
    ax.plot([], [], line, color=colour, linewidth=1.2, label=name)  # for the legend, at full strength


def _segments(ends: np.ndarray, colour: str, line: str, **options: Any) -> Any:
    return matplotlib("collections").LineCollection(ends, colors=colour, linestyles=line, **options)


def _counted(count: int, noun: str, ending: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}{ending}"
