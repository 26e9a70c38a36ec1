"""A search for the best clustering: its tree, and how the cuts at its root raised the bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import InvalidInput
from ..exact.optimal import OptimalClustering
from ..exact.tree import Node, Tree
from ..methods.partitions.strengthening import Round, Strengthening
from ..numerics.arguments import as_instance
from ..numerics.checks import as_real
from .canvas import CANNOT, COLOURS, MUST, SMALL, UNKNOWN, as_title, axes, count_on_x, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Colour, marker and words for what became of a node.
FATES = {
    "branched": (UNKNOWN, "o", "branched on"),
    "closed": (COLOURS[0], "s", "closed by its bound"),
    "infeasible": (COLOURS[5], "X", "no clustering keeps its links"),
    "open": (COLOURS[1], "D", "still open"),
}
EDGES = {"must": (MUST, "-"), "cannot": (CANNOT, "--")}
# How a text stands that is to the left or to the right of a node.
SIDES = {-1: "right", 1: "left"}
# Up to this many leaves, every node has its bound and gap beside it, and every edge its link.
FEW_LEAVES = 12
# Inches of a picture of its own: per leaf and per level, and at most.
WIDTH, HEIGHT, LARGEST = 1.15, 1.15, (15.0, 9.0)


def plot_tree(result: OptimalClustering, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the tree of a search: the root on top, must-links to the left, cannot-links to the right.

    The colour and the shape of a node say what became of it. In a tree with few leaves each node has its bound and the
    gap to the best value beside it, and each edge has the link that was added.

    Parameters
    ----------
    result : OptimalClustering
        What :func:`cvxlink.optimal_clustering` returns.
    ax : matplotlib Axes, optional
    title : str
    """
    as_instance(result, OptimalClustering, "result", "what optimal_clustering returns")
    title = as_title(title) or _headline(result)
    tree, places = result.tree, _places(result.tree)
    leaves = len(tree.leaves)
    canvas = axes(ax)
    if ax is None:  # a picture of its own, as large as the tree needs
        width, height = max(6.4, WIDTH * leaves + 2), max(3.2, HEIGHT * (tree.depth + 1))
        canvas.figure.set_size_inches(min(width, LARGEST[0]), min(height, LARGEST[1]))
    ax = canvas  # so it is never None
    few = leaves <= FEW_LEAVES
    _draw_edges(ax, tree, places, few)
    _draw_nodes(ax, tree, places, few)
    if few:
        _label_nodes(ax, result, places)
    ax.set(title=title, xticks=[], ylabel="links added")
    ax.set_xlim(-0.9, leaves - 0.1)
    ax.set_ylim(tree.depth + (0.75 if few else 0.4), -0.5)
    ax.set_yticks(range(0, tree.depth + 1, 1 + tree.depth // 12))
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    legend_beside(ax)
    return ax


def plot_rounds(
    history: OptimalClustering | Strengthening | tuple[Round, ...],
    value: float | None = None,
    ax: Axes | None = None,
    title: str = "",
) -> Axes:
    """Draw the bound after each round of cuts, with the number of cuts, and the value of a clustering above it.

    Parameters
    ----------
    history : OptimalClustering, Strengthening or tuple of Round
        What :func:`cvxlink.optimal_clustering` or ``KMeans.strengthened`` returns, or its history.
    value : float, optional
        The value of a clustering, drawn as a line; by default the one of the result, if it has one.
    ax : matplotlib Axes, optional
    title : str
    """
    if isinstance(history, OptimalClustering) and value is None:
        value = history.value
    rounds = history.history if isinstance(history, OptimalClustering | Strengthening) else history
    if not isinstance(rounds, tuple | list) or not all(isinstance(one, Round) for one in rounds):
        raise InvalidInput.about("history", "must be what optimal_clustering or strengthened returns, or its history")
    if not rounds:
        raise InvalidInput.about("history", "has no rounds of cuts: this problem has no cuts, or a file held its root")
    value = None if value is None else as_real(value, "value")
    title = as_title(title)
    ax = axes(ax)
    numbers, bounds = [one.number for one in rounds], [one.bound for one in rounds]
    ax.plot(numbers, bounds, color=COLOURS[0], marker="o", markersize=5, label="proven bound")
    if value is not None:
        ax.axhline(value, color=COLOURS[5], linestyle="--", label="value of the clustering")
    for one in (rounds[0], rounds[-1]) if len(rounds) > 1 else rounds:
        count = one.pairs + one.triangles + one.cliques
        words = f"{count} cuts" if count else "no cuts"
        ax.annotate(words, (one.number, one.bound), (0, -12), textcoords="offset points", ha="center", fontsize=SMALL)
    ax.margins(x=0.12, y=0.18)
    ax.legend(fontsize=SMALL, loc="center right")
    ax.set(title=title, xlabel="round of cuts", ylabel="value")
    ax.ticklabel_format(axis="y", useOffset=False)
    count_on_x(ax)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    return ax


def _headline(result: OptimalClustering) -> str:
    nodes = f"{len(result.tree)} node{'s' * (len(result.tree) > 1)}"
    return f"{nodes}: best value {result.value:.6g}, bound {result.bound:.6g}, gap {result.gap:.1e}"


def _places(tree: Tree) -> dict[int, tuple[float, int]]:
    """Return x and depth of each node: leaves side by side, every other node above the middle of its children."""
    children: dict[int, list[Node]] = {node.number: [] for node in tree}
    for node in tree:
        if node.parent is not None:
            children[node.parent].append(node)
    for several in children.values():
        several.sort(key=lambda child: child.link is not None and child.link[0] == "cannot")
    # Leaves from left to right, without recursion: a tree may be deep.
    places: dict[int, tuple[float, int]] = {}
    to_visit, seen = [tree[0]], 0
    while to_visit:
        node = to_visit.pop()
        if children[node.number]:
            to_visit += reversed(children[node.number])
        else:
            places[node.number] = float(seen), node.depth
            seen += 1
    for node in reversed(tree.nodes):  # children have larger numbers than their parents
        if below := children[node.number]:
            places[node.number] = sum(places[child.number][0] for child in below) / len(below), node.depth
    return places


def _draw_edges(ax: Any, tree: Tree, places: dict[int, tuple[float, int]], few: bool) -> None:
    named = set()
    for node in tree:
        if node.parent is None or node.link is None:
            continue
        kind, i, j = node.link
        colour, line = EDGES[kind]
        (x0, y0), (x1, y1) = places[node.parent], places[node.number]
        label = None if kind in named else f"{kind}-link added"
        named.add(kind)
        ax.plot([x0, x1], [y0, y1], line, color=colour, linewidth=1.3 if few else 0.8, zorder=1, label=label)
        if few:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            middle = (x0 + x1) / 2, y0 + 0.62 * (y1 - y0)
            ax.text(
                *middle, f"{kind}\n({i}, {j})", ha="center", va="center", fontsize=SMALL - 1, color=colour, bbox=box
            )


def _draw_nodes(ax: Any, tree: Tree, places: dict[int, tuple[float, int]], few: bool) -> None:
    size = 60 if few else max(12.0, min(40.0, 2500 / len(tree)))
    for fate, (colour, marker, words) in FATES.items():
        at = [places[node.number] for node in tree if node.fate == fate]
        if at:
            x, y = zip(*at, strict=True)
            edge = {"edgecolors": "#333333", "linewidths": 0.5}
            ax.scatter(x, y, s=size, color=colour, marker=marker, zorder=3, label=f"{len(at)} {words}", **edge)


def _label_nodes(ax: Any, result: OptimalClustering, places: dict[int, tuple[float, int]]) -> None:
    """Write bound and gap below leaves, above the root, and elsewhere on the side where no edge arrives."""
    for node in result.tree:
        if node.fate == "infeasible":
            words = "infeasible"
        elif not math.isfinite(node.bound):
            words = "no bound yet"
        else:
            gap = max(result.value - node.bound, 0.0) / max(abs(result.value), 1e-300)
            words = f"{node.bound:.6g}\n" + (f"gap {gap:.1e}" if gap else "no gap")
        offset, ha, va = (0, -8), "center", "top"
        if node.fate == "branched":
            side = 0 if node.link is None else -1 if node.link[0] == "must" else 1
            offset, ha, va = ((0, 8), "center", "bottom") if not side else ((8 * side, 1), SIDES[side], "bottom")
        style = {"ha": ha, "va": va, "fontsize": SMALL - 1}
        ax.annotate(words, places[node.number], offset, textcoords="offset points", zorder=4, **style)
