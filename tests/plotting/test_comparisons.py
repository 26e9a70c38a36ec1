"""Comparisons of solvers and methods: what is drawn is what the definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import cvxlink as cl
from cvxlink import plotting
from cvxlink.studies.statistics import Times

SECONDS = {"x": [1.0, 4.0, 3.0, np.inf], "y": [2.0, 1.0, np.inf, np.inf], "a $b$": [np.nan, 8.0, 9.0, 1.0]}


def axes():
    return Figure().subplots()


def height(line, x):
    """Where a line of steps is at x: at the last point that is not to the right of it."""
    at, heights = line.get_data()
    return heights[np.flatnonzero(np.asarray(at) <= x * (1 + 1e-9))[-1]]


@pytest.fixture
def times():
    seconds = np.where(np.isnan(np.transpose(list(SECONDS.values()))), np.inf, np.transpose(list(SECONDS.values())))
    return Times(tuple("pqrs"), tuple(SECONDS), seconds, 10.0)


def test_profiles_are_drawn_as_they_are_computed(times):
    drawn = plotting.plot_performance_profile(SECONDS, axes(), "Profile")
    for x in (1.0, 1.5, 2.0, 4.0, 8.0):
        np.testing.assert_allclose([height(line, x) for line in drawn.lines], times.profile(x)[0])
    drawn = plotting.plot_data_profile(SECONDS, axes())
    for x in (1.0, 2.5, 4.0, 9.0):
        np.testing.assert_allclose([height(line, x) for line in drawn.lines], times.proven_within(x)[0])
    labels = [text.get_text() for text in drawn.get_legend().get_texts()]
    assert labels == ["x (3)", "y (2)", r"a \$b\$ (3)"] and "4 instances" in drawn.get_ylabel()


def test_curves_end_at_the_edge_and_many_can_be_told_apart():
    many = {str(k): [1.0, k + 1.0] for k in range(12)}
    drawn = plotting.plot_data_profile(many, axes())
    assert {line.get_xdata()[-1] for line in drawn.lines} == {drawn.get_xlim()[1]}
    assert len({(line.get_color(), line.get_linestyle()) for line in drawn.lines}) == 12


def test_nothing_solved_is_a_line_at_zero():
    for draw in (plotting.plot_performance_profile, plotting.plot_data_profile):
        (line,) = draw({"x": [np.inf, np.inf]}, axes()).lines
        assert not np.any(line.get_ydata())


def test_times_and_gaps_are_drawn_where_they_are():
    drawn = plotting.plot_time_against_gap({"x": [(0.5, 1e-5), (2.0, -1e-7)], "y": []}, axes(), accuracy=1e-4)
    np.testing.assert_allclose(drawn.collections[0].get_offsets(), [[0.5, 1e-5], [2.0, 1e-7]])
    assert drawn.get_xscale() == drawn.get_yscale() == "log"
    assert drawn.lines[0].get_ydata()[0] == 1e-4


def bars(drawn):
    return [tuple(np.round(line.get_xdata(), 1)) for line in drawn.lines if line.get_linewidth() == 4]


def test_bars_join_what_is_not_farther_apart_than_the_critical_difference():
    # Demšar (2006), figure 1a: the difference is 1.25, and between 1.964 and 3.143 there is less.
    ranks = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
    assert len(bars(plotting.plot_critical_differences(ranks, 1.25, axes()))) == 1
    drawn = plotting.plot_critical_differences({"a": 1.1, "b": 2.0, "c": 2.9, "d": 4.0}, 0.95, axes(), "Four")
    assert [(round(low), round(high)) for low, high in bars(drawn)] == [(1, 2), (2, 3)]
    texts = " ".join(text.get_text() for text in drawn.texts)
    assert "critical difference 0.95" in texts and all(name in texts for name in ("a  1.10", "4.00  d"))
    assert not bars(plotting.plot_critical_differences({"a": 1.0, "b": 2.0}, 0.5, axes()))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plotting.plot_performance_profile({}), "times must hold seconds"),
        (lambda: plotting.plot_data_profile({"x": [1.0], "y": [1.0, 2.0]}), "as many for all"),
        (lambda: plotting.plot_data_profile({"x": ["soon"]}), "times must hold numbers only"),
        (lambda: plotting.plot_data_profile({"x": [-1.0]}), "must not be negative"),
        (lambda: plotting.plot_time_against_gap([]), "cells must be pairs"),
        (lambda: plotting.plot_time_against_gap({"x": [1.0]}), "cells of 'x' must be pairs"),
        (lambda: plotting.plot_critical_differences({"x": 1.0}, 1.0), "mean ranks of two methods or more"),
        (lambda: plotting.plot_critical_differences({"x": 1.0, "y": np.nan}, 1.0), "from 1 to 2"),
        (lambda: plotting.plot_critical_differences({"x": 1.0, "y": 2.0}, -1.0), "difference must be"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, words):
    with pytest.raises(cl.InvalidInput, match=words):
        call()
