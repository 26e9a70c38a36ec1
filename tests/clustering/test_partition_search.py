from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.clustering.partition_moves import Mover
from cvxlink.clustering.partition_search import search, value_of
from cvxlink.clustering.partition_value import Cost, State
from cvxlink.clustering.rules import Rules
from cvxlink.numerics.matrices import Congruence
from helpers.partitions import all_labels, planted_cannot_links, random_links, rules_of_few_blocks


def blocks_of(X, links):
    """Return the block sums divided by d, d, and what is added to the value to get the sum of squares."""
    d = np.sqrt(np.bincount(links.blocks))
    T = np.zeros((links.n_blocks, X.shape[1]))
    np.add.at(T, links.blocks, X)
    return T / d[:, None], d, (X**2).sum()


def sum_of_squares(X, labels):
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in np.unique(labels))


def product(T):
    return Congruence(T, -np.eye(T.shape[1]))


def random_problem(seed, n=12, k=3, m=5):
    rng = np.random.default_rng(seed)
    T, d = rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)
    hidden = rng.permutation(np.arange(n) % k)
    pairs = random_links(rng, n, 3 * m)
    return T, d, pairs[hidden[pairs[:, 0]] != hidden[pairs[:, 1]]][:m], hidden


def indefinite(seed, n=12):
    S = np.random.default_rng(seed).standard_normal((n, n))
    return S + S.T


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_the_value_is_the_sum_of_squares_up_to_a_constant(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 3))
    links = cl.Links(15, must=random_links(rng, 15, 4))
    T, d, constant = blocks_of(X, links)
    labels = rng.integers(k, size=links.n_blocks)
    expected = sum_of_squares(X, labels[links.blocks])
    C = -T @ T.T
    for form in (C, sp.csr_array(C), product(T)):
        assert constant + value_of(form, d, labels) == pytest.approx(expected, rel=1e-9)
        assert value_of(form, d, 3 - labels) == pytest.approx(value_of(form, d, labels), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_changes_of_the_value_are_exact(seed, is_definite):
    T, d, _, labels = random_problem(seed)
    C = -T @ T.T if is_definite else indefinite(seed)
    state = State(Cost.of(C, d), labels, 3)
    changes = state.move_changes()
    for a in range(len(d)):
        for there in range(3):
            moved = np.where(np.arange(len(d)) == a, there, labels)
            assert changes[a, there] == pytest.approx(value_of(C, d, moved) - value_of(C, d, labels), abs=1e-8)
    state.move(0, (labels[0] + 1) % 3)
    afresh = State(state.cost, state.labels, 3)
    for name in ("G", "norms", "forms", "counts"):
        np.testing.assert_allclose(getattr(state, name), getattr(afresh, name), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["chain_move", "swap", "single_moves"]))
def test_moves_improve_the_value_and_keep_the_rules(seed, kind):
    _, d, apart, labels = random_problem(seed)
    C, rules = indefinite(seed), Rules.of(12, 3, apart, least=2, most=6)
    values = []
    for form in (C, sp.csr_array(C), Congruence(np.eye(12), C)):
        state = State(Cost.of(form, d), labels, 3)
        moved = getattr(Mover.of(rules, state), kind)()
        assert rules.admits(state.labels)
        assert moved == (not np.array_equal(state.labels, labels))
        values.append(value_of(C, d, state.labels))
        assert state.value == pytest.approx(values[-1], rel=1e-8)
        assert values[-1] < value_of(C, d, labels) if moved else True
    assert values == pytest.approx([values[0]] * 3, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_no_swap_that_is_allowed_is_left_where_none_is_found(seed):
    T, d, apart, labels = random_problem(seed, n=8, k=2, m=2)
    C, rules = -T @ T.T, Rules.of(8, 2, apart, least=4, most=4)
    state = State(Cost.of(C, d), labels, 2)
    mover = Mover.of(rules, state)
    while mover.chain_move() or mover.swap():
        pass
    found = state.labels
    for a in np.flatnonzero(found == 0):
        for b in np.flatnonzero(found == 1):
            swapped = found.copy()
            swapped[[a, b]] = 1, 0
            if rules.admits(swapped):
                assert value_of(C, d, swapped) >= value_of(C, d, found) - 1e-8


@settings(max_examples=40, deadline=None)
@given(rules_of_few_blocks(), st.integers(0, 10_000), st.booleans())
def test_the_best_of_all_partitions_is_found(rules, seed, is_definite):
    rng = np.random.default_rng(seed)
    n, k = rules["n"], rules["k"]
    T, d = rng.standard_normal((n, 2)), rng.uniform(0.5, 2, n)
    C = -T @ T.T if is_definite else indefinite(seed, n)
    given = {name: rules[name] for name in ("sizes", "least", "most")}
    values = [value_of(C, d, labels) for labels in all_labels(**rules)]
    if not values:
        with pytest.raises(cl.InfeasibleProblem):
            search(C, d, k, rules["apart"], **given, random_state=0)
        return
    labels, value = search(C, d, k, rules["apart"], **given, random_state=0, n_init=6)
    assert Rules.of(n, k, rules["apart"], **given).admits(labels)
    assert value == value_of(C, d, labels)
    assert value == pytest.approx(min(values), rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_the_search_is_never_worse_than_its_starts(seed, n_init):
    _, d, apart, hidden = random_problem(seed, n=20, k=4, m=8)
    C = indefinite(seed, 20)
    labels, value = search(C, d, 4, apart, starts=[hidden], random_state=seed, n_init=n_init)
    assert value <= value_of(C, d, hidden) + 1e-12
    assert Rules.of(20, 4, apart).admits(labels)
    before = np.random.default_rng(seed).standard_normal((20, 2))  # the time is up before the second start
    hurried = search(C, d, 4, apart, starts=[before, labels], random_state=seed, time_limit=1e-9)[1]
    assert hurried <= value + 1e-12


def test_all_forms_of_the_same_matrix_lead_to_the_same_value():
    X, y = cl.datasets.load("iris")
    X, y = X[::2], y[::2]
    links = cl.Links.sample(y, n_links=60, random_state=0)
    T, d, constant = blocks_of(X, links)
    C, apart = -T @ T.T, links.block_cannot
    found = [search(form, d, 3, apart, random_state=0, n_init=4) for form in (product(T), C, sp.csr_array(C))]
    for labels, value in found:
        np.testing.assert_array_equal(labels, found[0][0])
        assert constant + value == pytest.approx(sum_of_squares(X, labels[links.blocks]), rel=1e-9)
        assert links.violated(labels[links.blocks]) == 0


def test_renumbering_blocks_and_clusters_changes_nothing():
    T, d, apart, hidden = random_problem(3, n=20, k=3, m=8)
    labels, value = search(product(T), d, 3, apart, random_state=0)
    order = np.random.default_rng(0).permutation(20)
    place = np.argsort(order)
    again, same = search(product(T[order]), d[order], 3, place[apart], random_state=0)
    assert same == pytest.approx(value, rel=1e-9)
    np.testing.assert_array_equal(again[place][:, None] == again[place], labels[:, None] == labels)
    one, other = (search(product(T), d, 3, apart, starts=[s], n_init=0) for s in (hidden, (hidden + 1) % 3))
    np.testing.assert_array_equal(one[0], other[0])


def test_starts_may_break_links_leave_labels_open_or_be_embeddings():
    X, y = cl.datasets.load("blobs", random_state=0, spread=0.3)
    links = cl.Links.sample(y, n_links=40, random_state=0)
    T, d, _ = blocks_of(X, links)
    truth = y[np.unique(links.blocks, return_index=True)[1]]
    expected = value_of(product(T), d, truth)
    open_labels = np.where(np.arange(len(truth)) % 2, truth, -1)
    for start in (np.zeros(len(truth), dtype=int), open_labels, np.full(len(truth), -1), T / d[:, None]):
        labels, value = search(product(T), d, 3, links.block_cannot, starts=[start], n_init=0, random_state=0)
        assert links.violated(labels[links.blocks]) == 0
        assert value >= expected - 1e-9
    assert search(product(T), d, 3, links.block_cannot, random_state=0)[1] == pytest.approx(expected)


def test_a_sparse_cut_is_found_without_an_embedding():
    W = sp.block_diag([np.ones((6, 6)) - np.eye(6)] * 3).tolil()
    for a, b in ((0, 6), (6, 12)):
        W[a, b] = W[b, a] = 0.1
    W = sp.csr_array(W)
    d = np.sqrt(W.sum(axis=1))
    L = sp.csr_array(sp.eye_array(18) - sp.diags_array(1 / d) @ W @ sp.diags_array(1 / d))
    labels, value = search(L, d, 3, random_state=0, n_init=2)
    np.testing.assert_array_equal(labels, np.repeat([0, 1, 2], 6))
    # A cluster costs the weight of the edges that leave it, divided by its volume.
    assert value == pytest.approx(0.1 / 30.1 + 0.2 / 30.2 + 0.1 / 30.1)
    apart = search(L, d, 3, [(1, 2)], random_state=0, n_init=2)
    assert apart[0][1] != apart[0][2] and apart[1] > value


def test_contradictory_links_and_wrong_arguments_are_refused():
    T, d, _, _ = random_problem(0)
    with pytest.raises(cl.InfeasibleProblem, match="needs 3 clusters instead of 2"):
        search(product(T), d, 2, [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(cl.InfeasibleProblem, match="at least 5 points each"):
        search(product(T), d, 3, least=5)
    with pytest.raises(cl.InfeasibleProblem, match="none of which is empty"):
        search(product(T), d, 13)
    wrong = [
        ("C", {"C": np.triu(np.ones((12, 12)))}),
        ("d", {"d": np.zeros(12)}),
        ("k", {"k": 0}),
        ("apart", {"apart": [(0, 12)]}),
        ("starts", {"starts": [np.arange(12)]}),
        ("starts", {"starts": [np.ones((11, 2))]}),
        ("n_init", {"n_init": -1}),
        ("time_limit", {"time_limit": 0}),
    ]
    for argument, replaced in wrong:
        with pytest.raises(cl.InvalidInput) as refusal:
            search(**{"C": product(T), "d": d, "k": 3, **replaced})
        assert refusal.value.argument == argument


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "k", "share"), [(60, 6, 0.3), (120, 5, 0.05), (120, 3, 0.1), (200, 4, 0.2), (200, 6, 0.05)]
)
def test_many_cannot_links_with_planted_clusters_are_kept(n, k, share):
    y, apart = planted_cannot_links(n, k, share, seed=0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)) + 4 * rng.standard_normal((k, 3))[y]
    labels, value = search(product(X), np.ones(n), k, apart, [X], random_state=0, n_init=0)
    assert (labels[apart[:, 0]] != labels[apart[:, 1]]).all() and len(np.unique(labels)) == k
    assert value <= value_of(product(X), np.ones(n), y) * 0.9  # values are negative: nearly as good as what was planted


def test_kmeans_with_many_cannot_links_is_labelled_after_it_is_solved():
    y, apart = planted_cannot_links(60, 4, 0.25, seed=0)
    rng = np.random.default_rng(0)
    X, links = rng.standard_normal((60, 3)) + 4 * rng.standard_normal((4, 3))[y], cl.Links(60, cannot=apart)
    labels = cl.KMeans(X, links, 4).solve().cluster(random_state=0)
    assert links.violated(labels) == 0
