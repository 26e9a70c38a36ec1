"""Search for the shift: a grid over all shifts that make a difference, refined at its best points."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from ...programs.status import DEFAULT_ACCURACY, Status
from ...solvers.route import Attempt, Route, Settings
from .shifted_spectrum import ShiftedSpectrum

# Grid points per factor e, and how many such factors beyond the eigenvalues; the kernel hardly changes there.
DENSITY = 4
BEYOND = 60
# How many of the best points are refined.
REFINED = 5
# Where the alignment only approaches its best value, the loss allowed for a moderate shift, as a share of the accuracy.
ALLOWED_LOSS = 0.01


class Search(Route):
    """Try a grid on a logarithmic scale, then refine between the neighbours of its best points."""

    name = "search"
    why = "one unknown number: a grid on a logarithmic scale around the eigenvalues, refined at its best points"

    def run(self, data: ShiftedSpectrum, settings: Settings) -> Attempt:
        """Search all shifts."""
        start = perf_counter()
        grid = _grid(data)
        values = _alignments(data, np.exp(grid))
        if not np.isfinite(values).any():
            return Attempt(Status.ERROR, "the linked points are in none of the eigenvectors; raise the order")
        found, best = _refined(data, grid, np.where(np.isfinite(values), values, -np.inf))
        reason = f"searched between {np.exp(grid[0]):.3g} and {np.exp(grid[-1]):.3g}"
        inside = grid[0] + BEYOND, grid[-1] - BEYOND
        if not inside[0] <= found <= inside[1]:
            # Only digits are lost so far from the eigenvalues: take the nearest shift that is hardly worse.
            accuracy = DEFAULT_ACCURACY if settings.accuracy is None else settings.accuracy
            good = np.append(grid[values >= best - ALLOWED_LOSS * accuracy * (1 + abs(best))], found)
            limit, end = (inside[0], "0") if found < inside[0] else (inside[1], "infinity")
            found = float(good[abs(good - limit).argmin()])
            reason += f"; the alignment is largest towards {end}, and hardly less at this shift"
        if settings.verbose:
            print(f"epsilon = {np.exp(found):.6g}, alignment {best:.10g}")
        values_found = {"epsilon": np.asarray(np.exp(found))}
        return Attempt(Status.OPTIMAL, reason, values_found, {}, solve_seconds=perf_counter() - start)


def _grid(data: ShiftedSpectrum) -> np.ndarray:
    """Return logarithms of shifts, from far below the gaps between eigenvalues to far above."""
    gaps = data.gaps if len(data.gaps) else np.ones(1)
    limits = np.log([np.finfo(float).tiny, np.finfo(float).max])
    first = max(np.log(gaps.min()) - BEYOND, limits[0] + 1)
    last = min(np.log(max(gaps.max(), data.eigenvalues[0])) + BEYOND, limits[1] - 1)
    return np.linspace(first, last, int(DENSITY * (last - first)) + 1)


def _alignments(data: ShiftedSpectrum, shifts: np.ndarray) -> np.ndarray:
    shares = data.shares(shifts)
    with np.errstate(all="ignore"):
        return np.asarray(shares @ data.agreement / np.linalg.norm(shares @ data.norm_root.T, axis=1))


def _refined(data: ShiftedSpectrum, grid: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the best logarithm of a shift and its alignment, after refinement around the best local maxima."""

    def cost(logarithm: Any) -> float:
        return -float(_alignments(data, np.exp(np.atleast_1d(logarithm)))[0])

    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= padded[:-2]) & (values >= padded[2:]))
    found, best = float(grid[values.argmax()]), float(values.max())
    for peak in peaks[np.argsort(-values[peaks], kind="stable")[:REFINED]]:
        between = grid[max(peak - 1, 0)], grid[min(peak + 1, len(grid) - 1)]
        refined = minimize_scalar(cost, bounds=between, method="bounded", options={"xatol": 1e-9})
        if -refined.fun > best:
            found, best = float(refined.x), -float(refined.fun)
    return found, best
