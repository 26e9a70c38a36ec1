r"""A bound that reaches far, for programs whose constraints do not limit their variables.

For multipliers :math:`w \in \mathcal{K}^*` of the conic form :math:`\min c^\top z + d,\ Mz + a \in \mathcal{K}`, every
feasible z costs at least

.. math:: d - a^\top w - \|M^\top w - c\|\,\|z\| ,

so multipliers with :math:`M^\top w = c` bound the optimum wherever z is. The multipliers of a solver miss that by about
1e-8, which proves little about large z. Here the dual program is solved anew, as accurately as possible, and its
answer moved along its face of the cone until the equation holds to the last digits.
"""

from __future__ import annotations

from typing import NamedTuple

import cvxpy as cp
import numpy as np

from ..model.declared import Declaration
from .conic_system import ConicSystem, solved

# Larger programs are not solved a second time for their proof.
LARGEST = 2000
# How much of the bound, relative to 1 + |value|, its reach may cost, and how far it reaches at most.
WORTH = 1e-9
FARTHEST = 1e8


class FarBound(NamedTuple):
    """A lower bound for a minimisation, and how many times as large as the answer other points may be."""

    value: float
    reach: float | None


def bound_of_dual(declaration: Declaration, size: float, value: float) -> FarBound | None:
    """Return a bound from the dual program, solved anew; None if it has no answer. Refuse if it is too large.

    ``size`` is the size of the answer and ``value`` its objective, both as units to measure in.
    """
    system = ConicSystem.of(declaration, LARGEST)
    if not len(system.a):
        return None
    w, inside = system.multipliers()
    # Scaled costs: the tolerances of the search are absolute.
    unit = max(float(abs(system.cost).max(initial=0.0)), 1e-300)
    dual = cp.Problem(cp.Maximize(-system.a @ w), [system.M.T @ w == system.cost / unit, *inside])
    if not solved(dual):
        return None
    cost = system.cost / unit
    found = [_at(system, each, cost, unit, size, value) for each in system.candidates(np.asarray(w.value), cost)]
    return max(found, key=lambda bound: (np.inf if bound.reach is None else bound.reach, bound.value))


def _at(system: ConicSystem, w: np.ndarray, cost: np.ndarray, unit: float, size: float, value: float) -> FarBound:
    """Return the bound at multipliers for scaled costs."""
    total, free = system.gain(w), 0.0
    for reach, length in zip(system.reach, system.lengths(w, cost, system.units), strict=True):
        if np.isfinite(reach):
            total -= reach * length
        else:
            free += length
    if not free:
        return FarBound(unit * total + system.constant, None)
    lost = max(unit * free * max(size, 1.0), 1e-300)  # for points as large as the answer
    reach = min(FARTHEST, WORTH * (1 + abs(value)) / lost)
    return FarBound(unit * total - lost * reach + system.constant, reach)
