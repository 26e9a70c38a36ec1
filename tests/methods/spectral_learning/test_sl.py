"""Spectral learning: links become entries."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from helpers.clusters import blobs
from helpers.graphs import path_graph


def test_links_become_entries_and_nothing_else_moves():
    graph = path_graph(4)
    links = cl.Links(4, must=[(0, 3)], cannot=[(1, 2)])
    solution = cl.SL(graph, links).solve()
    expected = graph.W.toarray()
    expected[0, 3] = expected[3, 0] = 1
    expected[1, 2] = expected[2, 1] = 0
    np.testing.assert_array_equal(solution.affinity, expected)
    assert solution.value == 4 and solution.certificate.distance == 0


def test_one_kind_of_links_is_enough_and_so_is_none():
    graph = path_graph(4)
    assert cl.SL(graph, cl.Links(4, cannot=[(0, 1)])).solve().value == 2
    assert cl.SL(graph, cl.Links(4, must=[(0, 2)])).solve().value == 2
    assert cl.SL(graph, cl.Links(4)).solve().value == 0


def test_a_pair_that_is_both_is_refused_but_a_chain_is_not():
    graph = path_graph(4)
    with pytest.raises(cl.InconsistentLinks) as caught:
        cl.SL(graph, cl.Links(4, must=[(0, 1)], cannot=[(0, 1)]))
    assert caught.value.pair == (0, 1)
    cl.SL(graph, cl.Links(4, must=[(0, 1), (1, 2)], cannot=[(0, 2)])).solve()
    with pytest.raises(cl.InvalidInput, match="the largest is 3"):
        cl.SL(cl.Graph.from_affinity(3 * graph.W), cl.Links(4))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, links: cl.SL(g, cl.Links(3)), "24 points, but the links are on 3"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, says):
    graph, _, links = blobs()
    with pytest.raises(cl.InvalidInput, match=says):
        call(graph, links)
