"""Means, profiles and ranks against their definitions, and judging against certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import cvxlink as cl
from cvxlink.engine.judging import is_proven
from cvxlink.studies.judging import Outcome, outcome, proven_to
from cvxlink.studies.statistics import Times, holm, interval, shifted_geometric_mean


def record(instance, configuration, seconds, solved=True, accuracy=1e-4, **more):
    known = {"proven_to": 1e-6 if solved else None, "value": 1.0, "gap": 1e-2, "claimed": "OPTIMAL", "status": "X"}
    return (
        {"instance": instance, "configuration": configuration, "seconds": seconds, "accuracy": accuracy} | known | more
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
    ],
)
def test_every_failure_has_its_kind(more, expected):
    assert outcome(record("a", "x", 1.0, **({"proven_to": None} | more))) is expected


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
