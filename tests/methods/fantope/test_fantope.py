"""What NCuts and SSKK share: bounds over the Fantope."""

from __future__ import annotations

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.numerics.matrices import Congruence
from helpers.clusters import blobs


@pytest.mark.parametrize("method", ["NCuts", "SSKK"])
def test_the_relaxation_gap_of_a_clustering_is_never_negative(method):
    graph, y, links = blobs()
    solution = cl.methods()[method].make(graph, links, None, 3).solve()
    rng = np.random.default_rng(0)
    for labels in [y, *rng.integers(0, 3, (30, 24))]:
        gap = solution.relaxation_gap(labels)
        assert gap.gap >= -1e-10 and gap.violated < 1e-10
    assert solution.relaxation_gap(y % 2).violated == pytest.approx(1)  # a projection of rank two is none of rank three


def test_bounds_of_the_fantope_hold_for_any_point():
    graph, _, _ = blobs()
    problem = cl.NCuts(graph, 3)
    best = problem.solve()
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-2, 1.0):
        noise = rng.standard_normal((24, 24))
        certificate = cl.certify(problem, {"X": best.kernel + size * (noise + noise.T)})
        assert certificate.lower_bound <= best.value <= certificate.upper_bound
        assert not certificate.holds(1e-2 * size)
    assert cl.certify(problem, {"X": best.kernel}).holds(1e-9)
    V = best.values.stored["X"].T
    low = cl.certify(problem, {"X": Congruence(V[:, :1], np.eye(1))})
    assert low.upper_bound is None and low.violations["trace"] == pytest.approx(2)
    skewed = best.kernel.copy()
    skewed[0, 1] += 0.1
    assert cl.certify(problem, {"X": skewed}).violations["X domain"] == pytest.approx(0.1)
