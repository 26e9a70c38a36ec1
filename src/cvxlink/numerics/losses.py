r"""Convex functions of one number that are linear or quadratic in pieces: values, conjugates, proximal steps.

The subgradients of such a function φ form a curve of points (t, s), :math:`s \in \partial\varphi(t)`, that never goes
down. It is made of straight pieces: vertical at a kink, level where φ is linear, sloping where it is quadratic. It is
described by its vertices, the directions of both ends, and one value of φ:

- φ is the integral of s over t, and infinite beyond a vertical end;
- the conjugate :math:`\varphi^*(s) = \sup_t st - \varphi(t)` has the same curve with t and s exchanged;
- the proximal step :math:`\arg\min_t \varphi(t) + \tfrac\sigma2(t - c)^2` is where the curve meets
  :math:`t + s/\sigma = c`.

.. code-block:: text

    hinge w·max(0, t − m)      level, up at m from 0 to w, level
    absolute value w|t − m|    level, up at m from −w to w, level
    square w(t − m)²           sloping through (m, 0)
    squared hinge              level, sloping from (m, 0)
    Huber's function           level, sloping from m − M to m + M, level
    lower ≤ t ≤ upper          down at lower, level, up at upper
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .rounding import gamma

# Operations per piece of a curve when φ or its conjugate is computed, and once.
OPERATIONS, FIRST_OPERATIONS = 8, 16


class Step(NamedTuple):
    """Where the curves meet t + s/σ = c, and the share of a change of c that t does not follow."""

    t: np.ndarray
    stiffness: np.ndarray


@dataclass(frozen=True, eq=False)
class Losses:
    """One function per row, by the vertices of its curve and the directions (dt, ds) in which it begins and ends.

    ``first`` is the value at the first vertex. Rows with fewer vertices repeat the last one.
    """

    T: np.ndarray
    S: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    first: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    # ------------------------------------------------------------------ the family

    @classmethod
    def hinge(cls, weight: Any, kink: Any) -> Losses:
        """w·max(0, t − m)."""
        w, m = _together(weight, kink)
        return cls(_columns(m, m), _columns(0 * w, w), _level(w), _level(w), 0 * w)

    @classmethod
    def absolute(cls, weight: Any, kink: Any) -> Losses:
        """w|t − m|."""
        w, m = _together(weight, kink)
        return cls(_columns(m, m), _columns(-w, w), _level(w), _level(w), 0 * w)

    @classmethod
    def square(cls, weight: Any, centre: Any) -> Losses:
        """w(t − m)²."""
        w, m = _together(weight, centre)
        slope = _columns(np.ones(len(w)), 2 * w)
        return cls(_columns(m), _columns(0 * w), slope, slope, 0 * w)

    @classmethod
    def squared_hinge(cls, weight: Any, kink: Any) -> Losses:
        """w·max(0, t − m)²."""
        w, m = _together(weight, kink)
        return cls(_columns(m), _columns(0 * w), _level(w), _columns(np.ones(len(w)), 2 * w), 0 * w)

    @classmethod
    def huber(cls, weight: Any, centre: Any, width: Any) -> Losses:
        """w(t − m)² for |t − m| ≤ M, and w(2M|t − m| − M²) beyond."""
        w, m, M = _together(weight, centre, width)
        return cls(_columns(m - M, m + M), _columns(-2 * w * M, 2 * w * M), _level(w), _level(w), w * M * M)

    @classmethod
    def interval(cls, lower: Any, upper: Any) -> Losses:
        """0 for lower ≤ t ≤ upper, and infinite elsewhere; one of the two may be infinite."""
        low, high = _together(lower, upper)
        T = _columns(np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low))
        begin = np.where(np.isfinite(low)[:, None], [0.0, 1.0], [1.0, 0.0])
        end = np.where(np.isfinite(high)[:, None], [0.0, 1.0], [1.0, 0.0])
        return cls(T, np.zeros_like(T), begin, end, np.zeros(len(T)))

    @classmethod
    def largest(cls, slopes: Any, offsets: Any) -> Losses:
        """max_k (a_k t + b_k), given one row of a and b per function."""
        a, b = np.atleast_2d(np.asarray(slopes, dtype=float)), np.atleast_2d(np.asarray(offsets, dtype=float))
        return cls.stacked([_envelope(cls, one, other) for one, other in zip(a, b, strict=True)])

    @classmethod
    def stacked(cls, parts: Sequence[Losses]) -> Losses:
        """All rows of several."""
        width = max([1, *(part.T.shape[1] for part in parts)])
        nothing = cls(np.zeros((0, width)), np.zeros((0, width)), np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
        wide = [nothing, *(part._wide(width) for part in parts)]
        return cls(*(np.concatenate([getattr(part, field.name) for part in wide]) for field in fields(cls)))

    def _wide(self, width: int) -> Losses:
        more = ((0, 0), (0, width - self.T.shape[1]))
        return Losses(np.pad(self.T, more, "edge"), np.pad(self.S, more, "edge"), self.begin, self.end, self.first)

    def scaled(self, factor: Any) -> Losses:
        """φ(f·t) for positive factors f, one for each function or one for all."""
        f = np.broadcast_to(np.asarray(factor, dtype=float), len(self))[:, None]
        turn = np.hstack([1 / f, f])
        return Losses(self.T / f, self.S * f, self.begin * turn, self.end * turn, self.first)

    # ------------------------------------------------------------------ what is known of them

    @cached_property
    def domain(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest t with a finite value."""
        return _ends(self.T, self.begin[:, 0], self.end[:, 0])

    @cached_property
    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest s with a finite conjugate."""
        return _ends(self.S, self.begin[:, 1], self.end[:, 1])

    @property
    def is_hard(self) -> np.ndarray:
        """Which functions are infinite somewhere."""
        low, high = self.domain
        return np.isfinite(low) | np.isfinite(high)

    def values(self, t: np.ndarray) -> np.ndarray:
        """φ(t)."""
        return _integral(t, self.T, self.S, self.begin, self.end, self.first)[0]

    def conjugates(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """φ*(s), and bounds on its rounding errors."""
        found, sizes = self._conjugates(s)
        return found, gamma(OPERATIONS * self.T.shape[1] + FIRST_OPERATIONS) * sizes

    def _conjugates(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = self.S[:, 0] * self.T[:, 0]
        values, sizes = _integral(s, self.S, self.T, self.begin[:, ::-1], self.end[:, ::-1], at - self.first)
        return values, sizes + abs(at) + abs(self.first)

    def values_above(self, t: np.ndarray, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers that φ is not above within ``off`` of t, and how much of them is due to rounding."""
        # A convex function is largest at an end of an interval.
        ends = [_integral(x, self.T, self.S, self.begin, self.end, self.first) for x in (t - off, t + off)]
        share = gamma(OPERATIONS * self.T.shape[1] + FIRST_OPERATIONS)
        highest = np.maximum(*(value + share * size for value, size in ends))
        return highest, highest - self.values(t)

    def subgradients(self, t: np.ndarray, within: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Return the least subgradient at t − within and the largest at t + within."""
        return self._subgradient(t - within, least=True), self._subgradient(t + within, least=False)

    def _subgradient(self, t: np.ndarray, least: bool) -> np.ndarray:
        dT, dS = np.diff(self.T), np.diff(self.S)
        passed = t[:, None] > self.T if least else t[:, None] >= self.T
        share = np.clip(t[:, None] - self.T[:, :-1], 0, dT) / np.where(dT > 0, dT, 1.0)
        s = self.S[:, 0] + (np.where(dT > 0, share, passed[:, :-1]) * dS).sum(axis=1)
        before, after = t - self.T[:, 0], t - self.T[:, -1]
        s = s + np.minimum(before, 0) * _ratio(self.begin[:, 1], self.begin[:, 0])
        s = s + np.maximum(after, 0) * _ratio(self.end[:, 1], self.end[:, 0])
        down = (self.begin[:, 0] == 0) & (before <= 0 if least else before < 0)
        up = (self.end[:, 0] == 0) & (after > 0 if least else after >= 0)
        return np.where(down, -np.inf, np.where(up, np.inf, s))

    def step(self, c: np.ndarray, sigma: float) -> Step:
        """Return the proximal step from c with weight σ."""
        dT, dS = np.diff(self.T), np.diff(self.S)
        at, length = self.T + self.S / sigma, dT + dS / sigma
        share = np.clip(c[:, None] - at[:, :-1], 0, length) / np.where(length > 0, length, 1.0)
        begin, end = (d[:, 0] + d[:, 1] / sigma for d in (self.begin, self.end))
        before, after = np.minimum(c - at[:, 0], 0) / begin, np.maximum(c - at[:, -1], 0) / end
        t = self.T[:, 0] + (share * dT).sum(axis=1) + before * self.begin[:, 0] + after * self.end[:, 0]
        inside = (share > 0) & (share < 1)
        follows = (inside * dT / np.where(length > 0, length, 1.0)).sum(axis=1)
        follows = follows + (before < 0) * self.begin[:, 0] / begin + (after > 0) * self.end[:, 0] / end
        return Step(t, np.clip(1 - follows, 0, 1))


def _together(*numbers: Any) -> tuple[np.ndarray, ...]:
    return tuple(np.array(a, dtype=float) for a in np.broadcast_arrays(*map(np.atleast_1d, numbers)))


def _columns(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack(columns)


def _level(like: np.ndarray) -> np.ndarray:
    return np.tile([1.0, 0.0], (len(like), 1))


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _ends(X: np.ndarray, begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where curves begin and end in one coordinate: at a vertex if they do not move in it, else at infinity."""
    return np.where(begin > 0, -np.inf, X[:, 0]), np.where(end > 0, np.inf, X[:, -1])


def _integral(
    x: np.ndarray, X: np.ndarray, Y: np.ndarray, begin: np.ndarray, end: np.ndarray, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Integrate curves y(x) from their first vertices; also return the sums of the sizes of all terms."""
    dX, dY = np.diff(X), np.diff(Y)
    over = np.clip(x[:, None] - X[:, :-1], 0, dX)
    slope = np.divide(dY, dX, out=np.zeros_like(dY), where=dX > 0)
    before, after = np.minimum(x - X[:, 0], 0), np.maximum(x - X[:, -1], 0)
    bends = before**2 * _ratio(begin[:, 1], begin[:, 0]) / 2 + after**2 * _ratio(end[:, 1], end[:, 0]) / 2
    level = (over * Y[:, :-1], before[:, None] * Y[:, :1], after[:, None] * Y[:, -1:])
    bent = (over**2 * slope / 2).sum(axis=1) + bends
    values = first + sum(part.sum(axis=1) for part in level) + bent
    sizes = abs(first) + sum(abs(part).sum(axis=1) for part in level) + bent
    outside = ((begin[:, 0] == 0) & (before < 0)) | ((end[:, 0] == 0) & (after > 0))
    return np.where(outside, np.inf, values), sizes


def _envelope(cls: type[Losses], a: np.ndarray, b: np.ndarray) -> Losses:
    """Return the largest of some lines: those that are somewhere the largest, with the kinks between them."""
    lines, kinks = list[tuple[float, float]](), list[float]()
    for line in sorted(zip(a.tolist(), b.tolist(), strict=True)):
        while lines:
            (slope, offset), last = lines[-1], kinks[-1] if kinks else -np.inf
            # The higher of two parallel lines comes later.
            kink = -np.inf if slope == line[0] else (offset - line[1]) / (line[0] - slope)
            if kink > last:
                kinks.append(kink)
                break
            lines.pop()
            kinks = kinks[:-1]
        lines.append(line)
    slopes = np.array([slope for slope, _ in lines])
    t, s = (np.repeat(kinks, 2), np.repeat(slopes, 2)[1:-1]) if kinks else (np.zeros(1), slopes)
    first = np.array([lines[0][0] * t[0] + lines[0][1]])
    return cls(t[None], s[None], _level(first), _level(first), first)
