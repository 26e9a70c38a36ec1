"""Comparisons of solvers and of methods: profiles, times against gaps, and critical differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput
from ..numerics.arguments import shown
from ..numerics.checks import as_positive, real_array
from .canvas import COLOURS, MUST, SMALL, UNKNOWN, as_title, axes, drawn_name, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = ("-", "--", "-.", ":")
# Beyond this ratio to the fastest, profiles hardly change; below it, they are shown to where they end.
MOST_RATIO = 1e4
# Times and gaps of exactly zero are drawn here on a logarithmic axis.
TINY = 1e-16


def plot_performance_profile(times: Mapping[str, Any], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw performance profiles (Dolan & Moré 2002): who is how often within a factor of the fastest.

    Parameters
    ----------
    times : mapping
        For each solver its seconds, one number for each instance, in the same order for all; infinite where it failed.
    ax : matplotlib Axes, optional
    title : str
    """
    names, seconds = _columns(times, "times")
    fastest = np.maximum(seconds.min(axis=1, keepdims=True), TINY)
    solved = np.isfinite(seconds)
    ratios = np.where(solved, np.maximum(seconds, TINY) / np.where(np.isfinite(fastest), fastest, 1.0), np.inf)
    ax = axes(ax)
    most = min(MOST_RATIO, max(2.0, 1.5 * ratios[solved].max(initial=1.0)))
    _draw_steps(ax, names, ratios, 1.0, most)
    ax.set(xscale="log", xlim=(1.0, most), title=as_title(title))
    ax.set_xlabel("times as long as the fastest, at most")
    ax.set_ylabel(f"share of {len(seconds)} instances proven (count: legend)")
    return ax


def plot_data_profile(times: Mapping[str, Any], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the share of instances that each solver proves within so many seconds.

    Parameters
    ----------
    times : mapping
        For each solver its seconds, one number for each instance; infinite where it failed.
    ax : matplotlib Axes, optional
    title : str
    """
    names, seconds = _columns(times, "times")
    ax = axes(ax)
    finite = seconds[np.isfinite(seconds) & (seconds > 0)]
    least, most = (finite.min() / 1.5, finite.max() * 1.5) if len(finite) else (0.1, 10.0)
    _draw_steps(ax, names, seconds, least, most)
    ax.set(xscale="log", xlim=(least, most), title=as_title(title))
    ax.set_xlabel("seconds")
    ax.set_ylabel(f"share of {len(seconds)} instances proven (count: legend)")
    return ax


def _draw_steps(ax: Axes, names: list[str], numbers: np.ndarray, least: float, most: float) -> None:
    """Draw the share of rows of each column that are at most x, as steps from ``least`` to ``most``."""
    for k, name in enumerate(names):
        reached = np.sort(numbers[np.isfinite(numbers[:, k]), k])
        x = np.concatenate([[least], np.maximum(reached, least), [most]])
        share = np.concatenate([[0.0], np.arange(1, len(reached) + 1), [len(reached)]]) / len(numbers)
        colour, style = COLOURS[k % len(COLOURS)], LINES[k // len(COLOURS) % len(LINES)]
        label = f"{drawn_name(name)} ({len(reached)})"
        ax.step(x, share, where="post", color=colour, linestyle=style, linewidth=1.6, label=label)
    ax.set_ylim(0, 1.02)
    ax.grid(color="#DDDDDD", linewidth=0.6)
    legend_beside(ax)


def plot_time_against_gap(
    cells: Mapping[str, Any], ax: Axes | None = None, title: str = "", accuracy: float | None = None
) -> Axes:
    """Draw a dot for each answer: how long it took, and the relative gap that is certified.

    Parameters
    ----------
    cells : mapping
        For each solver pairs (seconds, gap).
    ax : matplotlib Axes, optional
    title : str
    accuracy : float, optional
        A line at the accuracy that was asked for.
    """
    if not isinstance(cells, Mapping) or not cells:
        raise InvalidInput.about("cells", "must be pairs (seconds, gap) by name: {'SCS': [(0.1, 1e-5)]}")
    ax = axes(ax)
    for k, (name, pairs) in enumerate(cells.items()):
        numbers = real_array(pairs, "cells")
        numbers = numbers if numbers.size else np.zeros((0, 2))
        if numbers.ndim != 2 or numbers.shape[1] != 2:
            raise InvalidInput(f"the cells of {shown(name)} must be pairs (seconds, gap)", "cells")
        style: dict[str, Any] = {
            "color": COLOURS[k % len(COLOURS)],
            "marker": "os^Dv<>"[k % 7],
            "s": 16,
            "alpha": 0.75,
            "linewidths": 0,
        }
        seconds, gaps = np.maximum(abs(numbers), TINY).T
        ax.scatter(seconds, gaps, label=drawn_name(name), **style)
    ax.set(xscale="log", yscale="log", title=as_title(title), xlabel="seconds", ylabel="certified relative gap")
    if accuracy is not None:
        accuracy = as_positive(accuracy, "accuracy")
        ax.axhline(accuracy, color=UNKNOWN, linestyle="--", linewidth=1, label=f"asked for: {accuracy:g}", zorder=0)
    ax.grid(color="#EEEEEE", linewidth=0.6)
    legend_beside(ax)
    return ax


def plot_critical_differences(
    ranks: Mapping[str, float], difference: float, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw a critical-difference diagram (Demšar 2006): mean ranks, and bars over methods that do not differ.

    Parameters
    ----------
    ranks : mapping
        The mean rank of each method; the best one has the least.
    difference : float
        Mean ranks that are farther apart are significantly different.
    ax : matplotlib Axes, optional
    title : str
    """
    if not isinstance(ranks, Mapping) or len(ranks) < 2:
        raise InvalidInput.about(
            "ranks", "must hold mean ranks of two methods or more, by name: {'KP': 1.4, 'PCP': 1.6}"
        )
    numbers = real_array(list(ranks.values()), "ranks")
    difference = as_positive(difference, "difference")
    if numbers.ndim != 1 or not ((numbers >= 1) & (numbers <= len(numbers))).all():
        raise InvalidInput.about(
            "ranks", f"must hold one number for each method, from 1 to {len(numbers)}, their number"
        )
    ax = axes(ax)
    order = np.argsort(numbers, kind="stable")
    names, numbers = [list(ranks)[k] for k in order], numbers[order]
    count, half = len(names), (len(names) + 1) // 2
    low, high = 1.0, float(count)
    bars = _alike(numbers, difference)
    below = -0.5 - 0.35 * len(bars)
    margin = 0.06 * (high - low)
    for k, (name, rank) in enumerate(zip(names, numbers, strict=True)):
        is_left = k < half
        height = below - 0.6 * (k if is_left else count - 1 - k) - 0.3
        side = low - margin if is_left else high + margin
        ax.plot([rank, rank, side], [0, height, height], color=MUST, linewidth=0.9)
        words = f"{drawn_name(name)}  {rank:.2f} " if is_left else f" {rank:.2f}  {drawn_name(name)}"
        ax.text(side, height, words, ha="right" if is_left else "left", va="center", fontsize=SMALL + 1)
    for k, (first, last) in enumerate(bars):
        ends = [numbers[first] - 0.2 * margin, numbers[last] + 0.2 * margin]
        ax.plot(ends, [-0.4 - 0.35 * k] * 2, color=COLOURS[5], linewidth=4, solid_capstyle="butt")
    ax.plot([low, low + difference], [1.1, 1.1], color=COLOURS[5], linewidth=2, marker="|")
    ax.text(low, 1.35, f"critical difference {difference:.2f}", va="bottom", fontsize=SMALL)
    ax.plot([low, high], [0, 0], color=MUST, linewidth=1.2)
    for tick in range(1, count + 1):
        ax.plot([tick, tick], [0, 0.15], color=MUST, linewidth=1.2)
        ax.text(tick, 0.25, str(tick), ha="center", va="bottom", fontsize=SMALL)
    ax.set(title=as_title(title), ylim=(below - 0.6 * half - 0.3, 2.2), xticks=[], yticks=[])
    ax.set_xlabel("mean rank (1 is the best); bars join methods that do not differ significantly", fontsize=SMALL)
    ax.spines[:].set_visible(False)
    return ax


def _alike(ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """Return first and last of the largest groups of sorted ranks that are not too far apart, of two or more."""
    last = [int(np.searchsorted(ranks, rank + difference, side="right")) - 1 for rank in ranks]
    return [(k, end) for k, end in enumerate(last) if end > k and (k == 0 or end > last[k - 1])]


def _columns(given: Any, name: str) -> tuple[list[str], np.ndarray]:
    """Return names, and numbers with a column for each; not a number counts as infinite."""
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput.about(name, "must hold seconds for each instance, by solver: {'SCS': [0.1, 2.5]}")
    columns = [np.ravel(real_array(values, name)) for values in given.values()]
    if len({len(column) for column in columns}) != 1 or not len(columns[0]):
        raise InvalidInput.about(name, "must hold one number for each instance and solver, as many for all of them")
    numbers = np.transpose(columns)
    if (numbers < 0).any():
        raise InvalidInput.about(name, "must not be negative")
    return list(map(str, given)), np.where(np.isnan(numbers), np.inf, numbers)
