"""Pictures of scores against how much is known: a panel for each data set, a block of panels for each setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from pages import save_figure

COLUMNS = 4
# The width at which the pages show a picture, in inches.
WIDTH = 7.5


@dataclass(frozen=True)
class Line:
    """A curve: its name, what was counted, means, and deviations where they are known."""

    name: str
    counts: Sequence[float]
    means: Sequence[float]
    spreads: Sequence[float] | None = None
    baseline: bool = False


def draw(
    path: Path,
    settings: dict[str, str],
    names: Sequence[str],
    lines: Callable[[str, str], list[Line]],
    counted: str,
    score: str,
    ticks: Sequence[int] = (),
) -> None:
    """Draw ``lines(setting, name)`` for all ``settings``, which are shown by their titles, and data sets.

    Where ``ticks`` are given, the horizontal axis is logarithmic.
    """
    rows = ceil(len(names) / COLUMNS)
    height = len(settings) * (1.75 * rows + 0.35) + 0.75
    figure = plt.figure(figsize=(WIDTH, height), layout="constrained")
    blocks = np.atleast_1d(figure.subfigures(len(settings), 1))
    for block, (setting, title) in zip(blocks, settings.items(), strict=True):
        axes = block.subplots(rows, COLUMNS, sharey=True, squeeze=False).ravel()
        block.suptitle(title, fontsize=10, fontweight="bold")
        for axis, name in zip(axes, names, strict=False):
            panel(axis, lines(setting, name))
            axis.set_title(name, fontsize=9)
            if ticks:
                axis.set(xscale="log", xticks=ticks, xticklabels=ticks)
                axis.minorticks_off()
        for axis in axes[len(names) :]:
            axis.set_visible(False)
        block.supylabel(score, fontsize=9)
    figure.supxlabel(f"number of {counted}", fontsize=9)
    handles, labels = blocks[0].axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=5 if len(labels) == 5 else 4, frameon=False, fontsize=9
    )
    save_figure(figure, path, dpi=150)
    plt.close(figure)


def panel(axis: plt.Axes, lines: list[Line]) -> None:
    """Draw the curves of one data set."""
    colours = iter(cl.plotting.COLOURS)
    for line in lines:
        colour = "#555555" if line.baseline else next(colours)
        means = np.asarray(line.means)
        axis.plot(
            line.counts,
            means,
            color=colour,
            label=line.name,
            linestyle="--" if line.baseline else "-",
            marker=".",
            markersize=4,
            linewidth=1.2,
        )
        if line.spreads is not None:
            low, high = means - line.spreads, means + line.spreads
            axis.fill_between(line.counts, low, high, color=colour, alpha=0.13, linewidth=0)
    axis.set_ylim(-0.12, 1.04)
    axis.tick_params(labelsize=7)
