"""The tree of a search and its rounds of cuts: every node and every link is where it belongs."""

from __future__ import annotations

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import cvxlink as cl
from cvxlink import plotting
from cvxlink.exact.tree import Node, Tree

matplotlib.use("Agg")


def axes():
    return Figure().subplots()


@pytest.fixture(scope="module")
def found() -> cl.OptimalClustering:
    rng = np.random.default_rng(1)
    X = rng.random((24, 3))
    links = cl.Links.sample(rng.integers(5, size=24), n_links=8, random_state=0)
    return cl.optimal_clustering(cl.KMeans(X, links, 5))


def grown(n_branches: int, seed: int = 0) -> Tree:
    """A tree of 2m + 1 nodes that grew at leaves drawn at random."""
    rng, nodes = np.random.default_rng(seed), [Node(0, bound=1.0, fate="closed")]
    for _ in range(n_branches):
        leaf = nodes[int(rng.choice([node.number for node in nodes if node.fate != "branched"]))]
        nodes[leaf.number] = replace(leaf, fate="branched")
        for kind, fate in (("must", "infeasible"), ("cannot", "closed")):
            link = (kind, leaf.number, leaf.number + 1)
            nodes.append(Node(len(nodes), leaf.number, link, leaf.depth + 1, leaf.bound + 0.1, fate=fate))
    return Tree(tuple(nodes))


@pytest.mark.parametrize("n_branches", [0, 1, 6, 100])
def test_every_node_and_link_is_drawn_once_and_no_two_leaves_meet(found, n_branches):
    tree = grown(n_branches)
    ax = plotting.plot_tree(replace(found, tree=tree), axes())
    dots = np.vstack([np.asarray(dots.get_offsets()) for dots in ax.collections])
    assert len(dots) == len(tree) == len({tuple(dot) for dot in dots.round(9).tolist()})
    assert sorted(dots[:, 1]) == sorted(node.depth for node in tree)
    lines = [np.asarray(line.get_xydata()) for line in ax.lines]
    assert len(lines) == 2 * n_branches
    for line, ends in zip(ax.lines, lines, strict=True):
        assert ends[1, 1] == ends[0, 1] + 1  # one level down
        is_cannot = line.get_linestyle() == "--"
        assert (ends[1, 0] > ends[0, 0]) == is_cannot and line.get_color() == (
            plotting.CANNOT if is_cannot else "black"
        )
    ax.figure.canvas.draw()


def test_few_nodes_have_their_bounds_and_links_beside_them(found):
    ax = plotting.plot_tree(found, axes())
    written = [text.get_text() for text in ax.texts]
    for node in found.tree:
        assert any(text.startswith(f"{node.bound:.6g}") or text == "infeasible" for text in written)
        assert node.link is None or "{}\n({}, {})".format(*node.link) in written
    assert f"{len(found.tree)} nodes: best value {found.value:.6g}" in ax.get_title()
    many = plotting.plot_tree(replace(found, tree=grown(30)), axes())
    assert not many.texts
    assert {"30 branched on", "must-link added"} <= {text.get_text() for text in many.get_legend().get_texts()}


def test_rounds_rise_to_the_value(found):
    ax = plotting.plot_rounds(found, ax=axes())
    bounds, value = ax.lines
    assert list(bounds.get_ydata()) == [one.bound for one in found.history]
    assert (np.diff(bounds.get_ydata()) >= 0).all() and set(value.get_ydata()) == {found.value}
    alone = plotting.plot_rounds(found.history, ax=axes())
    assert len(alone.lines) == 1
    with pytest.raises(cl.InvalidInput, match="no rounds of cuts"):
        plotting.plot_rounds((), ax=axes())
    with pytest.raises(cl.InvalidInput, match="what optimal_clustering"):
        plotting.plot_rounds([1.0, 2.0], ax=axes())
    with pytest.raises(cl.InvalidInput, match="optimal_clustering"):
        plotting.plot_tree(found.tree, axes())
