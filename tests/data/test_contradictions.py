"""The least links to remove so that the others do not contradict one another: against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import cvxlink as cl


def least_by_enumeration(links: cl.Links, must_weight: np.ndarray, cannot_weight: np.ndarray) -> float:
    best = np.inf
    for kept in product((False, True), repeat=len(links)):
        must, cannot = np.array(kept[: len(links.must)], bool), np.array(kept[len(links.must) :], bool)
        weight = must_weight[~must].sum() + cannot_weight[~cannot].sum()
        if weight < best and cl.Links(links.n, links.must[must], links.cannot[cannot]).contradiction() is None:
            best = weight
    return float(best)


@pytest.mark.parametrize("seed", range(25))
def test_the_removed_links_are_least(seed):
    rng = np.random.default_rng(seed)
    n = 7
    pairs = rng.permutation([(i, j) for i in range(n) for j in range(i)])[:12]
    links = cl.Links(n, must=pairs[:8], cannot=pairs[8:])
    weights = rng.integers(1, 9, 12) * (1.0 if seed % 2 else 0.37)
    found = links.without_contradictions(weights[:8], weights[8:])
    assert found.links.contradiction() is None
    assert found.weight == pytest.approx(least_by_enumeration(links, weights[:8], weights[8:]))
    assert found.is_least and found.bound <= found.weight
    together = cl.Links(
        n, np.vstack([found.links.must, found.removed.must]), np.vstack([found.links.cannot, found.removed.cannot])
    )
    assert together == links and len(found.links) + len(found.removed) == len(links)


def test_a_heavy_link_hides_no_light_ones():
    links = cl.Links(3, must=[(0, 1), (1, 2)], cannot=[(0, 1), (0, 2), (1, 2)])
    found = links.without_contradictions([71.0, 6.5e10], [3.0, 2.2e7, 17000.0])
    assert found.removed == cl.Links(3, must=[(0, 1)], cannot=[(1, 2)])
    assert found.weight == found.bound == 17071 and found.is_least


def exact_sum(weights):
    return sum(map(Fraction, weights.tolist()), Fraction(0))


@pytest.mark.parametrize("seed", range(60))
def test_what_is_called_least_is_least_however_far_the_weights_lie_apart(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    must, cannot = ([p for p in pairs if rng.random() < share] for share in (0.5, 0.6))
    must, cannot = must[:6], cannot[:6]
    links = cl.Links(n, must, cannot)
    weights = 10 ** rng.uniform(-8, 8, len(links))
    w_must, w_cannot = weights[: len(must)], weights[len(must) :]
    found = links.without_contradictions(w_must, w_cannot)
    assert found.links.contradiction() is None and found.is_least
    of_must = dict(zip(map(tuple, links.must.tolist()), w_must, strict=True))
    of_cannot = dict(zip(map(tuple, links.cannot.tolist()), w_cannot, strict=True))
    removed = [of_must[tuple(p)] for p in found.removed.must.tolist()]
    removed += [of_cannot[tuple(p)] for p in found.removed.cannot.tolist()]
    least = exact_sum(weights)
    for kept in product((False, True), repeat=len(links)):
        weight = exact_sum(weights[~np.array(kept, bool)])
        if weight < least:
            chosen = np.array(kept, bool)
            rest = cl.Links(n, links.must[chosen[: len(must)]], links.cannot[chosen[len(must) :]])
            least = weight if rest.contradiction() is None else least
    assert exact_sum(np.array(removed)) == least


def test_without_a_proof_nothing_is_removed_that_is_not_needed(monkeypatch):
    monkeypatch.setattr("cvxlink.data.least_breaking.MOST_NODES", 0)
    links = cl.Links(3, must=[(0, 1), (1, 2)], cannot=[(0, 1), (0, 2), (1, 2)])
    found = links.without_contradictions([71.0, 6.5e10], [3.0, 2.2e7, 17000.0])
    assert not found.is_least and found.bound < 17071 <= found.weight and "is necessary" in str(found)
    for kind in ("must", "cannot"):
        for pair in getattr(found.removed, kind):
            given = {"must": found.links.must, "cannot": found.links.cannot}
            given[kind] = np.vstack([given[kind], pair])
            assert cl.Links(3, **given).contradiction() is not None


def test_the_example_of_remark_1():
    # x1 = x2 and x1 = x3, but x2 ≠ x3: one of the three is enough, and weights say which.
    links = cl.Links(3, must=[(0, 1), (0, 2)], cannot=[(1, 2)])
    assert len(links.without_contradictions().removed) == 1
    light_cannot = links.without_contradictions(cannot_weight=0.5)
    assert light_cannot.removed == cl.Links(3, cannot=[(1, 2)]) and light_cannot.weight == 0.5
    one_light = links.without_contradictions(must_weight={(0, 2): 0.1})
    assert one_light.removed == cl.Links(3, must=[(0, 2)])
    assert str(one_light) == "removed must-links (0, 2); weight 0.1, proven least"


def test_one_wrong_must_link_is_removed_rather_than_many_cannot_links():
    # Two groups that many cannot-links keep apart, and one must-link that joins them.
    y = np.repeat([0, 1], 10)
    chains = [(i, i + 1) for i in range(19) if i != 9]
    apart = [(i, j) for i in range(10) for j in range(10, 20)][:30]
    links = cl.Links(20, must=[*chains, (4, 15)], cannot=apart)
    assert (links.violated(y) * len(links)) == pytest.approx(1)
    found = links.without_contradictions()
    assert found.removed == cl.Links(20, must=[(4, 15)]) and found.is_least
    kernel = cl.PCP(cl.Graph.knn(np.arange(20.0)[:, None], 3), found.links).solve()
    assert kernel.status is cl.Status.OPTIMAL


def test_links_without_contradictions_stay_as_they_are():
    links = cl.Links(6, must=[(0, 1), (1, 2)], cannot=[(2, 3), (3, 4)])
    found = links.without_contradictions()
    assert found.links == links and len(found.removed) == 0 and found.weight == 0 and found.is_least
    assert "nothing had to be removed" in str(found)


def test_without_time_there_is_an_answer_and_a_bound():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    links = cl.Links.sample(y, n_links=250, random_state=0)
    wrong = rng.permutation(len(links.must))[:20]
    noisy = cl.Links(60, links.must, np.vstack([links.cannot, links.must[wrong] * [1, 0] + [0, 59]])[:-1])
    hasty = noisy.without_contradictions(time_limit=1e-9)
    assert hasty.links.contradiction() is None and hasty.bound <= hasty.weight
    assert not hasty.is_least and "is necessary" in str(hasty)
    patient = noisy.without_contradictions(time_limit=60)
    assert patient.is_least and hasty.bound <= patient.weight <= hasty.weight


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, "x", [1.0]])
def test_weights_must_be_positive(weight):
    links = cl.Links(3, must=[(0, 1), (0, 2)], cannot=[(1, 2)])
    with pytest.raises(cl.InvalidInput, match="must_weight"):
        links.without_contradictions(must_weight=weight)
