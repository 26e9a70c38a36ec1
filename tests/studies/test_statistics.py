"""Means, profiles and ranks against their definitions, and judging against certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import cvxlink as cl
from cvxlink.engine.judging import is_proven
from cvxlink.studies.judging import Outcome, contradiction, outcome, proven_to
from cvxlink.studies.measures import measures
from cvxlink.studies.statistics import (
    Times,
    critical_difference,
    friedman,
    holm,
    interval,
    mean_ranks,
    shifted_geometric_mean,
    signed_rank,
)
from helpers.records import record

# Demšar (2006), table 6: AUC of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. By the ranks that he prints, the
# third is better on "voting", where both are shown as 0.975.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


@pytest.fixture
def times():
    seconds = {"a": (1.0, 2.0), "b": (4.0, 1.0), "c": (3.0, None), "d": (None, None)}
    records = [
        record(name, which, 0.5 if second is None else second, second is not None)
        for name, pair in seconds.items()
        for which, second in zip("xy", pair, strict=True)
    ]
    return Times.of(records, limit=10.0)


def test_profiles_by_their_definition(times):
    assert times.solved.tolist() == [3, 2]
    # x is fastest on a and c, and four times as slow on b; y is fastest on b, and twice as slow on a.
    np.testing.assert_allclose(times.profile([1, 2, 4]), [[0.5, 0.25], [0.5, 0.5], [0.75, 0.5]])
    np.testing.assert_allclose(times.proven_within([1, 3, 10]), [[0.25, 0.25], [0.5, 0.5], [0.75, 0.5]])
    np.testing.assert_array_equal(times.wins(), [[0, 2], [1, 0]])


def test_failures_count_as_the_limit_in_means(times):
    np.testing.assert_allclose(times.means(shift=0), [(1 * 4 * 3 * 10) ** 0.25, (2 * 1 * 10 * 10) ** 0.25])
    assert shifted_geometric_mean(np.full((3, 1), 0.7), 5.0) == pytest.approx(0.7)


def test_one_failed_repeat_is_a_failure():
    several = [record("a", "x", 1.0), record("a", "x", 3.0), record("a", "y", 1.0), record("a", "y", 1.0, solved=False)]
    times = Times.of(several, 10.0)
    assert times.seconds.tolist() == [[2.0, np.inf]]
    # Not even if most of them succeed.
    assert Times.of([*several, record("a", "y", 1.0)], 10.0).seconds.tolist() == [[2.0, np.inf]]


def test_another_accuracy_judges_anew():
    records = [record("a", "x", 1.0), record("b", "x", 1.0, proven_to=1e-9)]
    assert Times.of(records, 10.0).solved == 2
    assert Times.of(records, 10.0, accuracy=1e-7).solved == 1


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"proven_to": 1e-5}, Outcome.PROVEN),
        ({"status": "INFEASIBLE", "verdict_is_proven": True, "value": None}, Outcome.PROVEN),
        ({}, Outcome.WRONG),
        ({"claimed": "INACCURATE"}, Outcome.INACCURATE),
        ({"gap": None}, Outcome.NO_BOUND),
        ({"stopped_by": "time"}, Outcome.TIME),
        ({"stopped_by": "memory"}, Outcome.MEMORY),
        ({"stopped_by": "crash"}, Outcome.CRASH),
        ({"status": "LIMIT"}, Outcome.ITERATIONS),
        ({"refused": "licence"}, Outcome.NO_LICENCE),
        ({"refused": "solver"}, Outcome.REFUSED),
        ({"value": None}, Outcome.ERROR),
        ({"value": None, "claimed": "INFEASIBLE", "status": "UNPROVEN"}, Outcome.NO_BOUND),
        ({"status": "UNPROVEN"}, Outcome.NO_BOUND),
        ({"status": "LIMIT", "seconds": 9.5, "time_limit": 10.0}, Outcome.TIME),
        ({"status": "LIMIT", "seconds": 2.0, "time_limit": 10.0}, Outcome.ITERATIONS),
        ({"outside": True, "value": None}, Outcome.NO_BOUND),
    ],
)
def test_every_failure_has_its_kind(more, expected):
    assert outcome(record("a", "x", **({"seconds": 1.0, "proven_to": None} | more))) is expected


def test_what_is_proven_is_proven_to_its_accuracy_and_to_no_finer_one():
    solution = cl.instances.load("pcp_iris").problem.solve("SCS", accuracy=1e-4)
    reached = proven_to(solution)
    assert reached is not None and reached <= 1e-4 and solution.claimed is cl.Status.OPTIMAL
    assert is_proven(solution.certificate, reached) and not is_proven(solution.certificate, 0.999 * reached)


def test_a_claim_that_does_not_hold_is_called_wrong():
    problem = cl.PCP(cl.Graph.knn(cl.datasets.load("iris")[0][::5]), cl.Links(30, must=[(0, 1)], cannot=[(0, 20)]))
    careless = problem.solve("SCS", solver_options={"eps_abs": 1e-1, "eps_rel": 1e-1}, strict=False)
    assert careless.claimed is cl.Status.OPTIMAL and careless.status is not cl.Status.OPTIMAL
    found = {"proven_to": proven_to(careless), "value": careless.value, "gap": careless.certificate.relative_gap}
    named = {"claimed": careless.claimed.name, "status": careless.status.name}
    assert outcome(record("a", "x", 1.0, **found, **named)) is Outcome.WRONG


def test_holm_against_its_definition():
    # The smallest is multiplied by 3, the next by 2, and none is below one before it.
    np.testing.assert_allclose(holm([0.02, 0.01, 0.03]), [0.04, 0.03, 0.04])


def test_an_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        mean, half = interval(rng.normal(3, 2, 6))
        covered += abs(mean - 3) <= half
    assert scipy.stats.binomtest(covered, 2000, 0.95).pvalue > 1e-3


def test_a_solver_is_not_wrong_about_an_accuracy_that_it_was_not_asked_for():
    answer = record("a", "x", 1.0, proven_to=1e-5)
    assert outcome(answer) is Outcome.PROVEN and outcome(answer, 1e-7) is Outcome.INACCURATE
    answer = record("a", "x", 1.0, proven_to=1e-3)
    assert outcome(answer) is Outcome.WRONG and outcome(answer, 1e-7) is Outcome.WRONG
    assert outcome(answer, 1e-2) is Outcome.PROVEN


def test_a_certificate_that_disagrees_with_a_proven_optimum_is_refuted():
    known = {"reference": {"value": 2.0, "tolerance": 1e-6}}
    for value, expected in ((2.0, Outcome.PROVEN), (2.0 + 3e-6, Outcome.PROVEN), (2.0002, Outcome.REFUTED)):
        assert outcome(record("a", "x", 1.0, value=value, **known)) is expected
    coarse = record("a", "x", 1.0, value=2.0002, proven_to=1e-4, **known)
    assert outcome(coarse) is Outcome.PROVEN  # no more was certified
    assert outcome(record("a", "x", 1.0, value=7.0, proven_to=None, **known)) is Outcome.WRONG
    verdict = record("a", "x", 1.0, status="INFEASIBLE", verdict_is_proven=True, value=None, **known)
    assert outcome(verdict) is Outcome.REFUTED and "infeasible" in contradiction(verdict)


def test_cells_that_are_missing_are_no_failures():
    records = [record("a", "x", 1.0), record("a", "y", 2.0), record("b", "x", 100.0)]
    times = Times.of(records, 10.0)
    assert times.finished.tolist() == [2, 1] and times.common.instances == ("a",)
    np.testing.assert_allclose(times.means(), [1.0, 2.0])
    np.testing.assert_array_equal(times.profile([1.0, 2.0]), [[1, 0], [1, 1]])
    np.testing.assert_array_equal(times.proven_within(1.5), [[1, 0]])
    np.testing.assert_array_equal(times.wins(), [[0, 1], [0, 0]])  # b is no win, as y has not had its turn
    nothing = Times.of([record("a", "x", 1.0), record("b", "y", 1.0)], 10.0)
    assert not len(nothing.common.instances)
    assert np.isnan(nothing.means()).all() and np.isnan(nothing.profile([1, 2])).all()
    assert nothing.fastest().tolist() == [0, 0]


def test_ties_are_no_wins():
    pairs = {"a": (1.0, 1.05), "b": (1.0, 1.2), "c": (1.0, None), "d": (None, None)}
    records = [
        record(name, which, second or 1.0, second is not None)
        for name, pair in pairs.items()
        for which, second in zip("xy", pair, strict=True)
    ]
    times = Times.of(records, 10.0)
    assert times.wins()[0, 1] == 3 and times.wins(1.1).tolist() == [[0, 2], [0, 0]]
    assert times.fastest(1.1).tolist() == [3, 1]


def test_the_order_of_instances_and_the_unit_of_time_do_not_matter(times):
    rng = np.random.default_rng(0)
    seconds = np.where(rng.random((20, 3)) < 0.2, np.inf, rng.lognormal(size=(20, 3)))
    names = tuple(map(str, range(20)))
    one = Times(names, tuple("xyz"), seconds, 100.0)
    order = rng.permutation(20)
    other = Times(tuple(names[k] for k in order), tuple("xyz"), seconds[order], 100.0)
    minutes = Times(names, tuple("xyz"), seconds / 60, 100.0 / 60)
    ratios = [1, 1.5, 2, 10, 1e6]
    for changed in (other, minutes):
        np.testing.assert_allclose(one.profile(ratios), changed.profile(ratios))
        np.testing.assert_array_equal(one.wins(1.1), changed.wins(1.1))
    np.testing.assert_allclose(one.means(), other.means())
    np.testing.assert_allclose(one.means(0.6), 60 * minutes.means(0.01))
    assert (np.diff(one.profile(ratios), axis=0) >= 0).all()
    np.testing.assert_allclose(one.profile(1e9)[0], one.solved / 20)


def test_measures_of_a_configuration():
    timings = {"reduce": 0.0, "compile": 1.0, "solve": 2.0, "lift": 0.0, "certify": 1.0}
    records = [
        record("a", "x", 2.0, timings=timings, megabytes=50.0, dimacs=[1e-8, 0.0, 1e-9, 0.0, -3e-5, None]),
        record("a", "x", 3.0, timings={**timings, "solve": 6.0}, repeat=1, megabytes=80.0),
        record("b", "x", 1.0, solved=False, dimacs=[1e-2], megabytes=None),
        record("c", "x", 1.0, proven_to=None, stopped_by="time"),
    ]
    found = measures(records)["x"]
    assert (found.cells, found.proven, found.failures) == (4, 2, {"wrong": 1, "time limit": 1})
    assert found.shares == pytest.approx({"reduce + compile": 3 / 16, "solve": 5 / 8, "certify": 3 / 16})
    assert found.megabytes == 80.0 and found.spread == pytest.approx(1.5)
    assert found.dimacs_worst == 1e-2 and found.dimacs_median == pytest.approx((3e-5 + 1e-2) / 2)


# ---------------------------------------------------------------------- ranks and tests


def test_the_table_of_demsar():
    np.testing.assert_allclose(mean_ranks(DEMSAR), [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    n, k = DEMSAR.shape
    statistic = 12 * n / (k * (k + 1)) * ((mean_ranks(DEMSAR) ** 2).sum() - k * (k + 1) ** 2 / 4)
    assert statistic == pytest.approx(9.28, abs=5e-3)
    # His statistic is not corrected for ties, which makes it smaller.
    assert 0.01 < friedman(DEMSAR) < scipy.stats.chi2.sf(9.28, k - 1)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    # Two classifiers (his table 2): T = 12 against the critical value 21 for 5 %.
    assert scipy.stats.wilcoxon(DEMSAR[:, 0] - DEMSAR[:, 1], zero_method="zsplit").statistic == 12
    # R⁺ = 93 and R⁻ = 12, with two zeros that are split.
    assert signed_rank(DEMSAR[:, 0] - DEMSAR[:, 1]) == pytest.approx(0.010968, abs=1e-6)


@pytest.mark.parametrize(("count", "value"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_values_of_demsars_table(count, value):
    assert critical_difference(count, 50) * np.sqrt(6 * 50 / (count * (count + 1))) == pytest.approx(value, abs=1.1e-3)


def test_tests_do_not_see_order_constants_or_rounding():
    rng = np.random.default_rng(1)
    shuffled = DEMSAR[rng.permutation(14)]
    for changed in (shuffled, DEMSAR + 0.3, DEMSAR + rng.random((14, 1)), DEMSAR / 3):
        np.testing.assert_allclose(mean_ranks(changed), mean_ranks(DEMSAR))
        assert friedman(changed) == pytest.approx(friedman(DEMSAR))
    differences = DEMSAR[:, 0] - DEMSAR[:, 2]
    assert signed_rank(-differences) == pytest.approx(signed_rank(differences))
    assert signed_rank(shuffled[:, 0] - shuffled[:, 2]) == pytest.approx(signed_rank(differences))


def test_exact_values_and_edges_of_the_tests():
    # All of n differences have one sign: two of the 2ⁿ ways to choose signs are as extreme.
    for n in (5, 8):
        assert signed_rank(np.arange(1.0, n + 1)) == pytest.approx(2.0 ** (1 - n))
    assert signed_rank(np.zeros(6)) == 1.0 and friedman(np.ones((5, 3))) == 1.0
    assert signed_rank([0.3 - 0.1 - 0.2, 0.0]) == 1.0  # rounding is no difference
    for differences in ([1.0, 2.0, -3.0, 4.0, 5.0, 6.0], [1.0, 1.0, 0.0, -1.0, 2.0, 2.0, 3.0], list(range(1, 21))):
        expected = scipy.stats.wilcoxon(differences, zero_method="zsplit").pvalue
        assert signed_rank(differences) == pytest.approx(expected)
    two = DEMSAR[:, :2]
    assert friedman(two) == signed_rank(two[:, 0] - two[:, 1])
    assert np.isnan(interval([1.0])[1]) and np.isnan(interval([])[0])
    # One method is always the best of three, and the others swap: the χ² of ranks (1, 2.5, 2.5) over six rows.
    rows = np.array([[3, 2, 1], [3, 1, 2]] * 3)
    assert friedman(rows) == pytest.approx(scipy.stats.chi2.sf(12 / (6 * 12) * (36 + 225 + 225) - 72, 2))
