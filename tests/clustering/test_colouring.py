from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.clustering.colouring import Contradiction, colouring
from cvxlink.clustering.rules import Rules
from helpers.partitions import all_labels, random_links, rules_of_few_blocks

CYCLE = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
# A cycle of five and one block apart from all of it: four labels are needed, and there is no clique of four.
WHEEL = CYCLE + [(i, 5) for i in range(5)]
# The Grötzsch graph needs four labels, and does not even have a triangle.
GROETZSCH = CYCLE + [(i, 5 + (i + 1) % 5) for i in range(5)] + [(i, 5 + (i - 1) % 5) for i in range(5)]
GROETZSCH += [(5 + i, 10) for i in range(5)]


def exists(n, k, apart, sizes=None, least=None, most=None):
    return any(True for _ in all_labels(n, k, apart, sizes, least, most, nonempty=False))


def without(pairs, left_out):
    return [tuple(pair) for number, pair in enumerate(np.asarray(pairs).tolist()) if number != left_out]


def assert_irreducible(found, n):
    """The pairs of a contradiction are impossible, and possible without any one of them."""
    assert isinstance(found, Contradiction) and found.irreducible
    pairs = [tuple(pair) for pair in found.apart.tolist()]
    assert not exists(n, found.k, pairs)
    assert all(exists(n, found.k, without(pairs, i)) for i in range(len(pairs)))


@settings(max_examples=120, deadline=None)
@given(rules_of_few_blocks())
def test_labels_or_a_proof_that_there_are_none(rules):
    n, k, apart, bounds = rules["n"], rules["k"], rules["apart"], {b: rules[b] for b in ("sizes", "least", "most")}
    found = colouring(n, apart, k, **bounds)
    if isinstance(found, np.ndarray):
        assert tuple(found) in {tuple(labels) for labels in all_labels(**rules, nonempty=False)}
        return
    assert not exists(n, k, apart, **bounds)
    assert {tuple(pair) for pair in found.apart.tolist()} <= set(apart)
    kept = {"sizes": bounds["sizes"], "least": found.least, "most": found.most}
    assert not exists(n, k, found.apart.tolist(), **kept)
    for i in range(len(found.apart)):
        assert exists(n, k, without(found.apart, i), **kept)
    for name in ("least", "most"):
        if kept[name] is not None:
            assert exists(n, k, found.apart.tolist(), **{**kept, name: None})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_contradictions_of_denser_links_are_irreducible(seed, k):
    rng = np.random.default_rng(seed)
    apart = random_links(rng, 8, int(rng.integers(8, 40)))
    found = colouring(8, apart, k)
    if isinstance(found, np.ndarray):
        assert Rules.of(8, k, apart, nonempty=False).admits(found)
    else:
        assert_irreducible(found, 8)
        edges = {tuple(sorted(pair)) for pair in apart.tolist()}
        cliques = [c for c in combinations(range(8), k + 1) if edges >= set(combinations(c, 2))]
        assert found.is_clique == bool(cliques)


@pytest.mark.parametrize(("links", "n", "k"), [(CYCLE, 5, 2), (WHEEL, 6, 3), (GROETZSCH, 11, 3)])
def test_graphs_that_need_one_more_label_and_have_no_clique(links, n, k):
    found = colouring(n, links, k)
    assert not found.is_clique and len(found.apart) == len(links)
    assert Rules.of(n, k + 1, links, nonempty=False).admits(colouring(n, links, k + 1))
    # The contradiction is found among links that have nothing to do with it.
    more = [*links, (0, n), (n, n + 1), (n + 1, n + 2)]
    np.testing.assert_array_equal(colouring(n + 3, more, k).apart, found.apart)


@pytest.mark.parametrize(("links", "n", "k"), [(CYCLE, 5, 2), (GROETZSCH, 11, 3), (WHEEL, 6, 4)])
def test_integer_programming_agrees_with_the_search_by_hand(links, n, k, monkeypatch):
    by_hand = colouring(n, links, k)
    monkeypatch.setattr("cvxlink.clustering.colouring.MOST_TRIALS", 0)
    by_program = colouring(n, links, k)
    assert isinstance(by_hand, Contradiction) == isinstance(by_program, Contradiction)


def test_a_large_number_of_links_is_decided():
    rng = np.random.default_rng(0)
    hidden = rng.integers(4, size=300)
    pairs = random_links(rng, 300, 900)
    apart = pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]]
    assert Rules.of(300, 4, apart, nonempty=False).admits(colouring(300, apart, 4))
    clique = np.array(list(combinations([3, 50, 120, 200, 290], 2)))
    found = colouring(300, np.vstack([apart, clique]), 4)
    assert found.is_clique and len(found.blocks) == 5


def test_messages_say_in_one_sentence_what_is_wrong():
    triangle = colouring(4, list(combinations(range(3), 2)), 2)
    assert triangle.message(lambda a: f"point {a + 10}").startswith(
        "point 10, point 11 and point 12 are all kept apart"
    )
    assert "needs 3 clusters instead of 2" in str(triangle)
    assert str(colouring(5, CYCLE, 2)).startswith(
        "5 cannot-links between 5 blocks cannot all be kept with 2 clusters: "
    )
    assert str(colouring(2, [(0, 1)], 1)).startswith("block 0 and block 1 are all kept apart")
    assert "5 points cannot be split into 2 clusters of at least 3 points each" in str(colouring(5, [], 2, least=3))
    blocks = colouring(3, [], 2, sizes=[4, 4, 1], most=4)
    assert "3 blocks with 9 points cannot be split into 2 clusters of at most 4 points each" in str(blocks)
    # A path of three blocks: its ends are together, so one cluster has two points at least.
    path = colouring(3, list(pairwise(range(3))), 2, sizes=[2, 1, 2], most=3)
    assert "while keeping 2 cannot-links" in str(path)
    assert all(len(str(found)) < 500 for found in (triangle, blocks, path))


def test_time_that_is_up_is_not_a_proof(monkeypatch):
    monkeypatch.setattr("cvxlink.clustering.colouring.MOST_TRIALS", 0)
    monkeypatch.setattr("cvxlink.clustering.integer_program.milp", lambda *_, **__: _GaveUp())
    with pytest.raises(cl.SolveFailed, match="not decided in time"):
        colouring(11, GROETZSCH, 3)


class _GaveUp:
    status, x = 1, None
