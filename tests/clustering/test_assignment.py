from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.clustering.assignment import Assigner, assign
from cvxlink.clustering.assignment_search import AssignmentSearch, exchanged, repaired
from cvxlink.clustering.integer_program import cheapest
from cvxlink.clustering.rules import Rules
from cvxlink.clustering.transport import transport
from helpers.partitions import all_labels, planted_cannot_links, random_links, rules_of_few_blocks


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


@pytest.mark.parametrize("trials", [0, 3000])
def test_tables_too_large_go_to_search_and_integer_programming(monkeypatch, trials):
    monkeypatch.setattr("cvxlink.clustering.assignment_search.MOST_TRIALS", trials)
    rng = np.random.default_rng(0)
    apart, costs = random_links(rng, 25, 40), rng.random((25, 4))
    by_tables = assign(costs, apart)
    monkeypatch.setattr("cvxlink.clustering.elimination.LARGEST_TABLE", 10)
    assert any(component.steps is None for component in Assigner(Rules.of(25, 4, apart))._elimination.core)
    assert total(costs, assign(costs, apart)) == pytest.approx(total(costs, by_tables), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(rules_of_few_blocks(), st.integers(0, 10_000))
def test_branch_and_bound_finds_the_cheapest_labels_or_proves_that_there_are_none(given_rules, seed):
    rules = Rules.of(given_rules["n"], given_rules["k"], given_rules["apart"], nonempty=False)
    labellings = all_labels(rules.n, rules.k, rules.apart, None, None, None, nonempty=False)
    allowed = [np.array(labels) for labels in labellings]
    search, rng = AssignmentSearch(rules), np.random.default_rng(seed)
    for _ in range(3):  # the second and third begin with the labels of the one before
        costs = rng.standard_normal((rules.n, rules.k))
        labels, is_proven = search.cheapest(costs)
        assert is_proven and (labels is None) == (not allowed)
        if allowed:
            assert rules.admits(labels)
            least = min(total(costs, other) for other in allowed)
            assert total(costs, labels) == pytest.approx(least, abs=1e-9)


def test_dense_links_that_leave_one_partition_are_labelled_at_once():
    y, apart = planted_cannot_links(200, 4, 0.2, seed=0)
    search, rng = AssignmentSearch(Rules.of(200, 4, apart, nonempty=False)), np.random.default_rng(0)
    for _ in range(5):
        name = rng.permutation(4)[y]
        labels, is_proven = search.cheapest(rng.random((200, 4)) + (name[:, None] != np.arange(4)))
        assert is_proven and np.array_equal(labels, name)
    labels, _ = search.cheapest(rng.random((200, 4)))  # costs that say nothing
    assert len(set(zip(labels.tolist(), y.tolist(), strict=True))) == 4


@pytest.mark.parametrize(("n", "k", "share"), [(60, 6, 0.3), (120, 4, 0.1), (200, 5, 0.2)])
def test_repairing_and_exchanging_keep_all_pairs_apart(n, k, share):
    _, apart = planted_cannot_links(n, k, share, seed=1)
    rules, rng = Rules.of(n, k, apart, nonempty=False), np.random.default_rng(0)
    labels = repaired(rules, rng.integers(k, size=n))
    assert labels is not None and rules.keeps_apart(labels)
    costs = rng.random((n, k))
    better = exchanged(rules, costs, labels)
    assert rules.keeps_apart(better) and total(costs, better) <= total(costs, labels)


def test_after_the_effort_is_spent_labels_still_keep_the_rules(monkeypatch):
    monkeypatch.setattr("cvxlink.clustering.assignment_search.MOST_TRIALS", 0)
    monkeypatch.setattr("cvxlink.clustering.assignment.cheapest", lambda *_: pytest.fail("no program is left to solve"))
    _, apart = planted_cannot_links(60, 4, 0.3, seed=0)
    assigner = Assigner(Rules.of(60, 4, apart))
    assigner.effort.programs = 0
    found = assigner(np.random.default_rng(0).random((60, 4)))
    assert assigner.rules.admits(found.labels) and not found.is_optimal


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
    monkeypatch.setattr("cvxlink.clustering.assignment_search.MOST_TRIALS", 0)
    monkeypatch.setattr("cvxlink.clustering.assignment_search.MOST_REPAIRS", 0)
    with pytest.raises(cl.SolveFailed, match="in time"):
        assign(np.zeros((3, 3)), [(0, 1), (1, 2), (0, 2)])


class _GaveUp:
    status, x = 1, None
