r"""The largest alignment over all shifts, between two proven numbers.

On an interval of shifts every :math:`\nu_i` lies between its values at the ends, and :math:`R^\top R`, whose entries
are squares, is not negative. So :math:`a^\top\nu` and :math:`\|R\nu\|` lie between sums over the ends, which bounds
their ratio A. With :math:`t = \log(\lambda_1 + \varepsilon)` the derivatives are
:math:`\nu_i' = \nu_i(1 - \nu_i)`, hence

.. math:: A' = \frac{(a^\top\nu)\,(\nu^\top R^\top R\,\nu^2)}{\|R\nu\|^3} - \frac{a^\top\nu^2}{\|R\nu\|},

where :math:`\nu^2` is entrywise; sums over the ends bound it, too, and A is at most its value in the middle plus half
the length of the interval times the largest slope. The whole range from 0 to ∞ is divided, again and again where the
bound is above the best value found, until nothing is left or rounding takes over. All sums carry margins for rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .shifted_spectrum import ShiftedSpectrum

# The relative width at which the division stops, and limits against rounding: rounds, and intervals in all.
NARROW = 1e-10
MOST_ROUNDS = 60
MOST_INTERVALS = 20_000
# Intervals per factor e at the start.
FIRST_DENSITY = 2


class Range(NamedTuple):
    """Lower and upper ends of ranges, one for each interval."""

    low: np.ndarray
    high: np.ndarray


class Enclosure(NamedTuple):
    """Two numbers between which the largest alignment lies."""

    low: float
    high: float


def largest_alignment(program: ShiftedSpectrum) -> Enclosure:
    """Enclose the largest alignment over all shifts from 0 to infinity, the limits included."""
    bounds = _Bounds(program)
    ends = _first_ends(program)
    low, high = ends[:-1], ends[1:]
    best, dropped, seen = -np.inf, -np.inf, 0
    for _ in range(MOST_ROUNDS):
        seen += len(low)
        middle = _middles(low, high, program)
        values, above = bounds.at(middle), bounds.above(low, middle, high)
        best = max(best, float(np.max(values.low, initial=-np.inf)))
        target = best + NARROW * (1 + abs(best))
        left = ~(above <= target)
        dropped = max(dropped, float(np.max(above[~left], initial=-np.inf)))
        if not left.any() or seen > MOST_INTERVALS:
            break
        low, middle, high, above = low[left], middle[left], high[left], above[left]
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    rest = float(np.max(above, initial=-np.inf)) if left.any() else -np.inf
    highest = max(best, dropped, rest)
    return Enclosure(best, np.inf if np.isnan(highest) else highest)


def _first_ends(program: ShiftedSpectrum) -> np.ndarray:
    gaps = program.gaps
    if not len(gaps):
        return np.array([0.0, np.inf])
    first, last = np.log(gaps.min()) - 5, np.log(gaps.max()) + 5
    return np.concatenate([[0.0], np.exp(np.linspace(first, last, int(FIRST_DENSITY * (last - first)) + 2)), [np.inf]])


def _middles(low: np.ndarray, high: np.ndarray, program: ShiftedSpectrum) -> np.ndarray:
    """Return points inside intervals: the geometric mean, or far from the finite end where there is no other."""
    first = float(program.eigenvalues[0])
    with np.errstate(all="ignore"):
        middle = np.sqrt(low + first) * np.sqrt(high + first) - first
    middle = np.where(low + first == 0, high * 1e-3, middle)
    middle = np.where(np.isinf(high), np.where(low == 0, max(first, 1.0), low * 1e3), middle)
    return np.clip(middle, low, np.where(np.isinf(high), np.finfo(float).max, high))


class _Bounds:
    """Bounds of the alignment and its slope, with margins for rounding."""

    def __init__(self, program: ShiftedSpectrum) -> None:
        self.program = program
        R, a = program.norm_root, program.agreement
        self.a_plus, self.a_minus = np.maximum(a, 0), np.maximum(-a, 0)
        # The errors of sums of as many terms, products and quotients included.
        self.rounding = 4 * (R.shape[0] + R.shape[1] + 8) * float(np.finfo(float).eps)
        gram, sizes = R.T @ R, abs(R).T @ abs(R)
        self.gram_low, self.gram_high = gram - self.rounding * sizes, gram + self.rounding * sizes

    def at(self, shifts: np.ndarray) -> Range:
        """Return the alignment at shifts."""
        return self._alignment(*self._shares(shifts, shifts))

    def above(self, low: np.ndarray, middle: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return upper bounds on intervals, from the ends or from the middle and the slope."""
        shares = self._shares(low, high)
        first = float(self.program.eigenvalues[0])
        with np.errstate(all="ignore"):
            reach = np.log(np.maximum((high + first) / (middle + first), (middle + first) / (low + first)))
            centred = self.at(middle).high + reach * (1 + self.rounding) * self._steepest(*shares)
        return np.fmin(self._alignment(*shares).high, np.where(np.isfinite(reach), centred, np.inf))

    def _shares(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        least, most = self.program.shares(low), self.program.shares(high)
        return least * (1 - self.rounding), most * (1 + self.rounding)

    def _sum(self, least: np.ndarray, most: np.ndarray) -> Range:
        """Return the range of aᵀx for x between two vectors."""
        margin = self.rounding * (most @ (self.a_plus + self.a_minus))
        return Range(
            least @ self.a_plus - most @ self.a_minus - margin, most @ self.a_plus - least @ self.a_minus + margin
        )

    def _form(self, x: tuple[np.ndarray, np.ndarray], y: tuple[np.ndarray, np.ndarray]) -> Range:
        """Return the range of xᵀRᵀRy for non-negative x and y between two vectors each."""
        least = _product(x[0], np.maximum(self.gram_low, 0), y[0]) - _product(x[1], np.maximum(-self.gram_low, 0), y[1])
        most = _product(x[1], np.maximum(self.gram_high, 0), y[1])
        return Range(np.maximum(least * (1 - self.rounding), 0), most * (1 + self.rounding))

    def _alignment(self, least: np.ndarray, most: np.ndarray) -> Range:
        return _quotient(self._sum(least, most), self._norm(least, most), self.rounding)

    def _norm(self, least: np.ndarray, most: np.ndarray) -> Range:
        squared = self._form((least, most), (least, most))
        return Range(np.sqrt(squared.low) * (1 - self.rounding), np.sqrt(squared.high) * (1 + self.rounding))

    def _steepest(self, least: np.ndarray, most: np.ndarray) -> np.ndarray:
        """Return a bound on the absolute value of A'."""
        norm, squares = self._norm(least, most), (least**2, most**2)
        tilted = self._form((least, most), squares)
        ratio = Range(tilted.low / norm.high**2, tilted.high / norm.low**2)
        aligned, bent = self._alignment(least, most), _quotient(self._sum(*squares), norm, self.rounding)
        ends = np.array(
            [aligned.low * ratio.low, aligned.low * ratio.high, aligned.high * ratio.low, aligned.high * ratio.high]
        )
        steepest = np.maximum(ends.max(axis=0) - bent.low, bent.high - ends.min(axis=0))
        return steepest + self.rounding * (abs(ends).max(axis=0) + abs(bent.low) + abs(bent.high))


def _product(x: np.ndarray, matrix: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", x @ matrix, y)


def _quotient(top: Range, bottom: Range, rounding: float) -> Range:
    """Return the range of a quotient with a non-negative denominator."""
    with np.errstate(all="ignore"):
        low = top.low / np.where(top.low < 0, bottom.low, bottom.high)
        high = top.high / np.where(top.high > 0, bottom.low, bottom.high)
    return Range(low - rounding * abs(low), high + rounding * abs(high))
