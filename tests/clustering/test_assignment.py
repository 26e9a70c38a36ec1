from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.clustering.assignment import Assigner, assign
from cvxlink.clustering.integer_program import cheapest
from cvxlink.clustering.rules import Rules
from cvxlink.clustering.transport import transport
from helpers.partitions import all_labels, random_links, rules_of_few_blocks


def total(costs, labels):
    return costs[np.arange(len(costs)), labels].sum()


@settings(max_examples=150, deadline=None)
@given(rules_of_few_blocks(), st.booleans(), st.integers(0, 10_000))
def test_no_labelling_is_cheaper(rules, nonempty, seed):
    costs = np.random.default_rng(seed).standard_normal((rules["n"], rules["k"]))
    allowed = [tuple(labels) for labels in all_labels(**rules, nonempty=nonempty)]
    given = {name: rules[name] for name in ("apart", "sizes", "least", "most")}
    if not allowed:
        with pytest.raises(cl.InfeasibleProblem):
            assign(costs, **given, nonempty=nonempty)
        return
    found = assign(costs, **given, nonempty=nonempty)
    assert tuple(found) in allowed
    assert total(costs, found) == pytest.approx(min(total(costs, np.array(labels)) for labels in allowed), abs=1e-9)


@pytest.mark.parametrize(("n", "m", "k"), [(60, 50, 3), (60, 60, 4), (40, 50, 5), (150, 140, 2)])
def test_elimination_and_integer_programming_agree(n, m, k):
    rng = np.random.default_rng(m)
    apart = random_links(rng, n, m)
    if k == 2:  # a bipartite graph, which two labels can keep
        side = rng.integers(2, size=n)
        apart = apart[side[apart[:, 0]] != side[apart[:, 1]]]
    rules = Rules.of(n, k, apart, nonempty=False)
    assigner = Assigner(rules)
    assert assigner._elimination.core or k == 2
    for _ in range(3):
        costs = rng.random((n, k))
        by_tables, by_program = assigner(costs), cheapest(costs, rules, 10)
        assert by_tables.is_optimal and by_program.is_optimal
        assert rules.admits(by_tables.labels)
        assert total(costs, by_tables.labels) == pytest.approx(total(costs, by_program.labels), abs=1e-9)


def test_tables_too_large_go_to_integer_programming(monkeypatch):
    rng = np.random.default_rng(0)
    apart, costs = random_links(rng, 25, 40), rng.random((25, 4))
    by_tables = assign(costs, apart)
    monkeypatch.setattr("cvxlink.clustering.elimination.LARGEST_TABLE", 10)
    assert any(component.steps is None for component in Assigner(Rules.of(25, 4, apart))._elimination.core)
    assert total(costs, assign(costs, apart)) == pytest.approx(total(costs, by_tables), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(0, 6), st.integers(0, 8))
def test_flows_and_integer_programming_agree(seed, k, least, slack):
    n = 30
    least, most = min(least, n // k), -(-n // k) + slack
    costs = np.random.default_rng(seed).standard_normal((n, k)) + np.arange(k)
    by_program = cheapest(costs, Rules.of(n, k, least=least, most=most, nonempty=False), 10)
    found = transport(costs, least, most)
    points = np.bincount(found, minlength=k)
    assert points.min() >= least and points.max() <= most
    assert total(costs, found) == pytest.approx(total(costs, by_program.labels), abs=1e-9)


def test_one_block_goes_to_a_cluster_that_would_be_empty():
    costs = np.array([[0.0, 9.0, 5.0], [0.0, 9.0, 4.0], [0.0, 7.0, 4.0], [0.0, 8.0, 9.0]])
    np.testing.assert_array_equal(assign(costs), [0, 2, 1, 0])
    np.testing.assert_array_equal(assign(costs, nonempty=False), [0, 0, 0, 0])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 5))
def test_considering_few_unlinked_blocks_for_empty_clusters_loses_nothing(seed, k):
    rng = np.random.default_rng(seed)
    # Some blocks are the best candidates for all clusters that would be empty.
    costs = rng.random((25, k)) + 3 * rng.random((25, 1)) * (np.arange(k) > 0)
    apart = random_links(rng, 5, 2)
    rules = Rules.of(25, k, apart)
    by_program = cheapest(costs + np.arange(k), rules, 10)
    found = assign(costs + np.arange(k), apart)
    assert rules.admits(found)
    assert total(costs + np.arange(k), found) == pytest.approx(total(costs + np.arange(k), by_program.labels), abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_renaming_clusters_renames_labels(seed):
    rng = np.random.default_rng(seed)
    costs, apart, order = rng.random((30, 4)), random_links(rng, 30, 20), rng.permutation(4)
    np.testing.assert_array_equal(order[assign(costs[:, order], apart)], assign(costs, apart))


def test_costs_without_meaning_and_pairs_of_one_block_are_refused():
    with pytest.raises(cl.InvalidInput, match="NaN") as refusal:
        assign([[np.nan, 1.0]])
    assert refusal.value.argument == "costs"
    with pytest.raises(cl.InvalidInput, match="keeps block 1 apart from itself") as refusal:
        assign(np.ones((3, 2)), [(1, 1)])
    assert refusal.value.argument == "apart"
    for sizes in ([1, 2], [1, 0, 1], [1.5, 1, 1]):
        with pytest.raises(cl.InvalidInput, match="sizes must be 3 positive whole numbers"):
            assign(np.ones((3, 2)), sizes=sizes)
    with pytest.raises(cl.InvalidInput, match="most is 1, below the least size"):
        assign(np.ones((3, 2)), least=2, most=1)


def test_time_that_is_up_is_not_called_infeasible(monkeypatch):
    monkeypatch.setattr("cvxlink.clustering.elimination.LARGEST_TABLE", 1)
    monkeypatch.setattr("cvxlink.clustering.integer_program.milp", lambda *_, **__: _GaveUp())
    with pytest.raises(cl.SolveFailed, match="in time"):
        assign(np.zeros((3, 3)), [(0, 1), (1, 2), (0, 2)])


class _GaveUp:
    status, x = 1, None
