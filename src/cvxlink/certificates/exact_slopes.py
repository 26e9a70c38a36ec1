r"""What multipliers exclude if their slopes are added up without rounding.

A contradiction that is small compared with its multipliers, such as :math:`e^x \le y \le 1 - 10^{-6} + x`, has large
multipliers: a bound on the rounding of :math:`M^\top w` is then larger than what it proves, even where the sums are
zero. So they are computed exactly. Then the multipliers must be in the dual cone beyond doubt as well, which is ensured
for equations, inequalities, second-order and exponential cones.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..numerics.rounding import UNIT, dot
from .conic_system import ConicSystem

# Larger systems are not added up exactly: it would take longer than the search.
MOST_NUMBERS = 200_000
# Roundings of two logarithms, and of what is added and multiplied, are smaller than this many units.
ROUNDINGS = 16
# Longer vectors could be longer than their length as it is computed.
LONGEST = 100


def excluded_exactly(system: ConicSystem, w: np.ndarray) -> float:
    """Return up to which size of the unknowns multipliers exclude feasible points; zero if that is not certain."""
    if system.M.nnz > MOST_NUMBERS:
        return 0.0
    certain = _beyond_doubt(system, w)
    gain = system.gain(certain) if certain is not None and np.isfinite(certain).all() else 0.0
    if certain is None or gain <= 0:
        return 0.0
    columns = sp.csc_array(system.M)
    ends = zip(columns.indptr[:-1], columns.indptr[1:], strict=True)
    parts = [slice(start, end) for start, end in ends if end > start]
    slopes = [dot(columns.data[part], certain[columns.indices[part]]).magnitude for part in parts]
    slope = float(np.linalg.norm(slopes)) * (1 + len(slopes) * UNIT)
    return gain / slope if slope else np.inf


def _beyond_doubt(system: ConicSystem, w: np.ndarray) -> np.ndarray | None:
    """Return multipliers near w that are in the dual cone whatever was rounded, or None where that is not known."""
    w, is_empty = w.copy(), np.diff(system.M.indptr) == 0
    for block in system.blocks:
        part = w[block.rows]
        if not part.any():
            continue
        if block.kind in ("semidefinite", "power") or (block.kind == "second-order" and len(part) > LONGEST):
            return None
        if block.kind == "nonnegative":
            w[block.rows] = np.maximum(part, 0.0)
        elif block.kind == "second-order":
            w[block.rows.start] = max(part[0], float(np.linalg.norm(part[1:])) * (1 + len(part) * ROUNDINGS * UNIT))
        elif block.kind == "exponential":
            w[block.rows] = _in_exponential(part, bool(is_empty[block.rows][1]))
    return w


def _in_exponential(w: np.ndarray, moves_second: bool) -> np.ndarray:
    """Return (u, v, z) with −u exp(v/u − 1) ≤ z; v is moved, or z, whichever is not multiplied by an unknown."""
    u, v, z = map(float, w)
    if u >= 0:  # u = 0 and v, z ≥ 0
        return np.array([0.0, max(v, 0.0), max(z, 0.0)])
    if not moves_second:
        exponent = v / u - 1
        with np.errstate(over="ignore"):
            least = -u * np.exp(exponent) * (1 + ROUNDINGS * UNIT * (1 + abs(exponent)))
        return np.array([u, v, max(z, least + 1e-300)])
    if z <= 0:
        return np.array([0.0, max(v, 0.0), 0.0])
    logs = np.log(z), np.log(-u)
    room = ROUNDINGS * UNIT * -u * (1 + abs(logs[0]) + abs(logs[1]))
    return np.array([u, max(v, u * (1 + logs[0] - logs[1]) + room), z])
