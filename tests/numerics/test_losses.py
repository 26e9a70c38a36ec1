"""Convex functions of one number: values, conjugates and proximal steps against brute force."""

import numpy as np
import pytest

from cvxlink.numerics.losses import Losses

GRID = np.linspace(-30, 30, 240_001)  # steps of 1/4000
FUNCTIONS = {
    "hinge": (Losses.hinge(1.5, 0.25), lambda t: 1.5 * np.maximum(0, t - 0.25)),
    "absolute": (Losses.absolute(2.0, -0.5), lambda t: 2 * abs(t + 0.5)),
    "square": (Losses.square(0.5, 1.0), lambda t: 0.5 * (t - 1) ** 2),
    "squared hinge": (Losses.squared_hinge(3.0, -1.0), lambda t: 3 * np.maximum(0, t + 1) ** 2),
    "huber": (
        Losses.huber(2.0, 0.5, 0.75),
        lambda t: 2 * np.where(abs(t - 0.5) <= 0.75, (t - 0.5) ** 2, 1.5 * abs(t - 0.5) - 0.75**2),
    ),
    "interval": (Losses.interval(-1.0, 2.0), lambda t: np.where((t >= -1) & (t <= 2), 0.0, np.inf)),
    "at most": (Losses.interval(-np.inf, 2.0), lambda t: np.where(t <= 2, 0.0, np.inf)),
    "at least": (Losses.interval(-1.0, np.inf), lambda t: np.where(t >= -1, 0.0, np.inf)),
    "equal": (Losses.interval(0.5, 0.5), lambda t: np.where(t == 0.5, 0.0, np.inf)),
    "largest of four lines": (
        Losses.largest([[-1.0, 0.5, 2.0, 0.5]], [[0.0, -1.0, -4.125, 0.375]]),
        lambda t: np.max([-t, 0.5 * t - 1, 2 * t - 4.125, 0.5 * t + 0.375], axis=0),
    ),
    "one line": (Losses.largest([[0.5, 0.5]], [[1.0, 2.0]]), lambda t: 0.5 * t + 2),
}
each = pytest.mark.parametrize("loss, function", FUNCTIONS.values(), ids=FUNCTIONS.keys())


def at(method, points):
    return np.array([np.ravel(method(np.array([x])))[0] for x in points])


@each
def test_values_are_those_of_the_formula(loss, function):
    t = np.array([-7.0, -1.0, -0.75, 0.0, 0.25, 0.5, 1.25, 2.0, 2.5, 9.0])
    assert np.array_equal(np.isinf(at(loss.values, t)), np.isinf(function(t)))
    finite = np.isfinite(function(t))
    assert at(loss.values, t)[finite] == pytest.approx(function(t)[finite], abs=1e-14)


@each
def test_conjugates_are_suprema(loss, function):
    low, high = loss.slopes[0][0], loss.slopes[1][0]
    inside = np.linspace(max(low, -3.0), min(high, 3.0), 9)
    on_grid = np.array([np.max(s * GRID - function(GRID)) for s in inside])
    assert at(lambda s: loss.conjugates(s)[0], inside) == pytest.approx(on_grid, abs=1e-6)
    for beyond in (low - 0.1, high + 0.1):
        if np.isfinite(beyond):
            assert at(lambda s: loss.conjugates(s)[0], [beyond])[0] == np.inf


@each
@pytest.mark.parametrize("sigma", [0.3, 4.0])
def test_proximal_steps_are_minima(loss, function, sigma):
    for c in (-5.0, -0.9, 0.1, 0.5, 1.7, 6.0):
        best = GRID[np.argmin(function(GRID) + sigma / 2 * (GRID - c) ** 2)]
        assert loss.step(np.array([c]), sigma).t[0] == pytest.approx(best, abs=5e-4)


@each
def test_stiffness_is_the_share_that_a_step_does_not_follow(loss, function):
    sigma, h = 2.0, 1e-6
    for c in (-5.0, -0.9, 0.13, 0.61, 1.7, 6.0):
        step, after = (loss.step(np.array([x]), sigma) for x in (c, c + h))
        assert 1 - (after.t - step.t)[0] / h == pytest.approx(step.stiffness[0], abs=1e-6)


@each
def test_subgradients_make_the_inequality_of_fenchel_an_equation(loss, function):
    for t in np.clip([-4.0, -1.0, -0.5, 0.25, 0.5, 1.1, 2.0, 5.0], *(end[0] for end in loss.domain)):
        for s in np.concatenate(loss.subgradients(np.array([t]))):
            if np.isfinite(s):
                total = loss.values(np.array([t])) + loss.conjugates(np.array([s]))[0]
                assert total[0] == pytest.approx(s * t, abs=1e-12)


@each
def test_scaling_the_argument(loss, function):
    t = np.array([-1.3, 0.1, 0.4, 2.2])
    expected = function(3 * t)
    assert at(loss.scaled(3.0).values, t) == pytest.approx(expected, abs=1e-12)


def test_stacked_functions_keep_their_rows():
    parts = [loss for loss, _ in FUNCTIONS.values()]
    together = Losses.stacked(parts)
    t = np.full(len(parts), 0.4)
    alone = np.array([part.values(np.array([0.4]))[0] for part in parts])
    assert np.array_equal(together.values(t), alone)
    assert len(Losses.stacked([])) == 0


def test_values_above_hold_for_all_nearby_numbers():
    losses = Losses.stacked([Losses.hinge(2.0, 0.1), Losses.square(1.0, 0.0)])
    highest, _ = losses.values_above(np.array([0.05, -1.0]), np.array([0.1, 0.2]))
    for shift in np.linspace(-1, 1, 21):
        assert (losses.values(np.array([0.05 + 0.1 * shift, -1 + 0.2 * shift])) <= highest).all()
    assert highest == pytest.approx([2 * 0.05, 1.2**2])
