"""Curves: how a route approached the solution, how scores grow with more links, and optima along a path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine.path import SolutionPath
from ..engine.solution import Solution
from ..errors import InvalidInput
from ..numerics.arguments import shown
from ..numerics.checks import real_array
from .canvas import CANNOT, COLOURS, SMALL, as_title, axes, cluster_style, count_on_x, drawn_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DISTANCE = "bound on the distance to the solution"
GAP = "relative gap"
# With a larger ratio of the largest to the smallest value of a path, its axis is logarithmic.
WIDE = 30.0


def plot_convergence(solution: Solution | Mapping[str, Solution], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the error of each iteration, on a logarithmic scale, for routes that keep a history.

    Parameters
    ----------
    solution : Solution or mapping
        One solution, or several by name: ``{"spreading": s1, "low-rank": s2}``. For spreading,
        a bound on the distance to the solution in the Frobenius norm is drawn, and for the other routes the relative
        gap; the axis says which.
    ax : matplotlib Axes, optional
    title : str
    """
    several = dict(solution) if isinstance(solution, Mapping) else {"": solution}
    if not several:
        raise InvalidInput("there are no solutions to draw; give one, or several by name", "solution")
    for name, one in several.items():
        if not isinstance(one, Solution):
            problem = f"plot_convergence takes solutions, one or several by name, not {type(one).__name__}"
            raise InvalidInput(problem, "solution")
        if not one.history:
            whose = f"the solution {name!r}" if name else "the solution"
            raise InvalidInput(
                f"{whose} kept no history; routes that iterate keep one, for example 'spreading'", "solution"
            )
    ax = axes(ax)
    kinds = {name: _measure(one) for name, one in several.items()}
    same = len(set(kinds.values())) == 1
    for k, (name, one) in enumerate(several.items()):
        colour, marker = cluster_style(k)
        # Some routes record the error of the start as step 0; others begin after the first step.
        first = (one.iterations or 0) + 1 - len(one.history)
        steps = first + np.arange(len(one.history))
        dots = {"marker": marker, "markersize": 4} if len(steps) <= 30 else {}
        label = name if same else f"{name}: {kinds[name]}"
        ax.semilogy(steps, np.maximum(one.history, 1e-300), color=colour, label=label, **dots)
    if len(several) > 1:
        ax.legend(fontsize=SMALL)
    ax.set(title=as_title(title), xlabel="iteration", ylabel=next(iter(kinds.values())) if same else "error, at most")
    count_on_x(ax)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    return ax


def _measure(solution: Solution) -> str:
    """Return what the history of a solution measures."""
    route = solution.plan.route
    return DISTANCE if route is not None and route.history == "distance" else GAP


def plot_scores(
    curve: Mapping[str, Iterable[tuple[int, Any]]], ax: Axes | None = None, title: str = "", score: str = ""
) -> Axes:
    """Draw scores against the number of links, one line per method: the mean, and a band for the middle half.

    Parameters
    ----------
    curve : mapping
        What :func:`cvxlink.studies.link_curve` returns, or for each name pairs (number of links, score). A score may
        be an array with one number per repeat, and a number of links may occur more than once.
    ax : matplotlib Axes, optional
    title : str
    score : str
        The label of the axis; by default the score of the curve.
    """
    if not isinstance(curve, Mapping) or not curve:
        raise InvalidInput.about(
            "curve", "must be pairs (number of links, score) by name: {'KP': [(10, 0.8), (20, 0.9)]}"
        )
    curves = {name: _by_number(name, pairs) for name, pairs in curve.items()}
    ax = axes(ax)
    repeated = False
    for k, (name, scores) in enumerate(curves.items()):
        colour, marker = COLOURS[k % len(COLOURS)], "os^Dv"[k % 5]
        numbers = list(scores)
        ax.plot(numbers, [s.mean() for s in scores.values()], color=colour, marker=marker, markersize=5, label=name)
        if any(len(s) > 1 for s in scores.values()):
            low, high = np.transpose([np.quantile(s, [0.25, 0.75]) for s in scores.values()])
            ax.fill_between(numbers, low, high, color=colour, alpha=0.18, linewidth=0)
            repeated = True
    ax.legend(fontsize=SMALL)
    note = "\nline: mean of the repeats, band: their middle half" if repeated else ""
    named = as_title(score, "score") or getattr(curve, "score", "score")
    ax.set(title=as_title(title), xlabel=f"number of links{note}", ylabel=named)
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    return ax


def _by_number(name: str, pairs: Iterable[tuple[int, Any]]) -> dict[float, np.ndarray]:
    """Return all scores by number of links, in increasing order."""
    found: dict[float, list[np.ndarray]] = {}
    try:
        for number, scores in pairs:
            found.setdefault(float(number), []).append(np.atleast_1d(real_array(scores, f"the scores of {name}")))
    except Exception as error:  # reading objects runs their code, which may raise anything
        raise InvalidInput(
            f"the curve of {shown(name)} must be pairs (number of links, score or array of scores)", "curve"
        ) from error
    together = {number: np.concatenate(found[number]) for number in sorted(found)}
    if not together or not all(s.size and np.isfinite(s).all() for s in together.values()):
        raise InvalidInput(
            f"the curve of {shown(name)} has no scores, or some that are not finite; leave these out", "curve"
        )
    return together


def plot_path(path: SolutionPath, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the optimum along a path, with a band between its certified bounds, and mark values without an answer.

    Parameters
    ----------
    path : SolutionPath
        What :meth:`cvxlink.Problem.path` returns.
    ax : matplotlib Axes, optional
    title : str
    """
    if not isinstance(path, SolutionPath):
        raise InvalidInput(f"plot_path takes a path, what problem.path() returns, not {type(path).__name__}", "path")
    if path.values.ndim > 1:
        raise InvalidInput(f"plot_path draws one number per value, but {path.name} has several; print the path", "path")
    ax = axes(ax)
    order = np.argsort(path.values, kind="stable")
    values, optima = path.values[order], path.optima[order]
    found = np.isfinite(optima)
    low, high = (
        np.where(np.isfinite(bounds[order]), bounds[order], optima) for bounds in (path.lower_bounds, path.upper_bounds)
    )
    if found.any():
        ax.fill_between(values[found], low[found], high[found], color=COLOURS[0], alpha=0.25, linewidth=0)
        ax.plot(values[found], optima[found], color=COLOURS[0], marker="o", markersize=4, label="optimum")
    for kind in dict.fromkeys(path[k].status for k in order[~found]):
        at = [values[r] for r, k in enumerate(order) if not found[r] and path[k].status is kind]
        ax.plot(
            at,
            np.full(len(at), 0.03),
            "x",
            color=CANNOT,
            transform=ax.get_xaxis_transform(),
            label=f"no answer: {kind}",
        )
    if not found.all():
        ax.legend(fontsize=SMALL)
    if values[0] > 0 and values[-1] > WIDE * values[0]:
        ax.set_xscale("log")
    ax.set(title=as_title(title), xlabel=f"{drawn_name(path.name)}{_about_bounds(path)}", ylabel="optimum")
    ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    return ax


def _about_bounds(path: SolutionPath) -> str:
    """Return what the band of a path is, in words."""
    bounds = np.array([path.lower_bounds, path.upper_bounds])
    found = np.isfinite(path.optima)
    bounded = found & np.isfinite(bounds).any(axis=0)
    if not bounded.any():
        return ""
    farthest = np.nanmax(abs(bounds - path.optima)[:, bounded])
    missing = int((found & ~bounded).sum())
    without = f"; {missing} of {len(path)} values have none" if missing else ""
    return f"\nband: certified bounds, at most {farthest:.1g} from the optimum{without}"
