"""Multipliers of declared constraints as those of the rows of the standard form, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.least_squares import least_norm_solution
from ..numerics.matrices import Stiffened, as_dense
from ..programs.conic_form import long_enough
from ..programs.declared import name_of_cone, semidefinite_variable
from ..reductions.cones import Block, packed, triangle, unpacked
from ..reductions.standard_form import StandardForm

# Smaller numbers, relative to the largest, count as zero when multipliers are moved along their face.
INACTIVE = 1e-6


def multipliers_of_rows(
    declaration: Declaration, form: StandardForm, duals: Mapping[str, Any], sign: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the declared multipliers, one per row, and which rows have one."""
    w, known = np.zeros(len(form.a)), np.zeros(len(form.a), dtype=bool)
    for name, group in declaration.constraints.items():
        if name not in duals:
            raise ReductionRefused(f"there are no multipliers for {name!r}")
        for term, dual in zip(group, split_multipliers(name, group, duals[name], sign), strict=True):
            owner = semidefinite_variable(term, declaration.variables)
            if owner is not None:
                w[form.matrices[owner].rows] += _slack(form, owner, dual.reshape(term.shape, order="F"))
                known[form.matrices[owner].rows] = True
                continue
            places = form.owners[term.id]
            w += places.times(dual)
            known[places.rows] = True
    for name, block in form.matrices.items():
        cone = name_of_cone(name, declaration)
        if declaration.variables[name].attributes["PSD"] and cone in duals:
            given = _numbers(cone, duals[cone], declaration.variables[name].size)
            w[block.rows] += _slack(form, name, given.reshape(form.shapes[name], order="F"))
            known[block.rows] = True
    return w, known


def _slack(form: StandardForm, name: str, S: np.ndarray) -> np.ndarray:
    """Return the multipliers of a semidefinite variable on its face."""
    P = form.faces[name]
    return packed(S if P is None else P.T @ S @ P)


def split_multipliers(name: str, group: list[Any], given: Any, sign: float) -> Iterator[np.ndarray]:
    """Yield the multipliers of each constraint of a group as those of Mz + a in a cone, in the order of its rows.

    For lhs = rhs and lhs ≤ rhs they are declared as the change of the optimum per unit of u in rhs + u.
    """
    constraints = cp.constraints
    counts = [_count(term) for term in group]
    flat = _numbers(name, given, sum(counts))
    for term, part in zip(group, np.split(flat, np.cumsum(counts)[:-1]), strict=True):
        if isinstance(term, constraints.Equality | constraints.Zero):
            yield sign * part
        elif isinstance(term, constraints.Inequality):
            yield -sign * part
        elif isinstance(term, constraints.SOC):
            size = term.args[0].size
            vectors = part[size:].reshape(term.args[1].shape, order="F")
            lengths = long_enough(part[:size].reshape(term.args[0].shape, order="F"), vectors, term.axis)
            yield np.concatenate([np.ravel(lengths, order="F"), part[size:]])
        else:
            yield part


def _count(term: Any) -> int:
    several = cp.constraints.SOC | cp.constraints.ExpCone | cp.constraints.PowCone3D
    if isinstance(term, several):
        return sum(arg.size for arg in term.args[: 2 if isinstance(term, cp.constraints.SOC) else 3])
    return int(term.size)


def _numbers(name: str, given: Any, count: int) -> np.ndarray:
    """Return multipliers as a vector of ``count`` finite numbers."""
    given = given.base if isinstance(given, Stiffened) else given  # on a face the rest adds nothing
    try:
        flat = np.asarray(as_dense(given), dtype=float).ravel(order="F")
    except (TypeError, ValueError):
        flat = np.full(1, np.nan)
    if len(flat) != count or not np.isfinite(flat).all():
        raise ReductionRefused(f"the multipliers of {name!r} must be {count} finite numbers")
    return flat


def worth_of_violations(declaration: Declaration, duals: Mapping[str, Any], violations: Mapping[str, float]) -> float:
    """Return what the violations are worth according to the multipliers."""
    worth = 0.0
    for name, group in declaration.constraints.items():
        flat = _numbers(name, duals[name], sum(map(_count, group)))
        if len(group) == 1 and isinstance(group[0], cp.constraints.PSD):
            total = float(np.trace(flat.reshape(group[0].shape, order="F")))
        else:
            total = float(abs(flat).sum())
        worth += violations.get(name, 0.0) * total
    return worth


def polished(form: StandardForm, w: np.ndarray) -> np.ndarray:
    """Return multipliers on the same face of the dual cone with as little slope as rounding allows."""
    least = INACTIVE * max(float(abs(w).max(initial=0.0)), 1e-300)
    ways = sp.csr_array(sp.block_diag([_ways(block, w[block.rows], least) for block in form.blocks], format="csr"))
    # What is nearly zero is moved to zero, and what is left is corrected.
    w = np.asarray(ways @ least_norm_solution(ways, w))
    rows = sp.csr_array(form.M.T @ ways)
    for _ in range(3):  # each pass removes most of the rounding of the one before
        rest = form.cost - form.M.T @ w
        w = w + ways @ least_norm_solution(rows, rest)
    return w


def _ways(block: Block, w: np.ndarray, least: float) -> sp.csr_array:
    """Return directions in which multipliers can move a little without leaving the dual cone, as columns.

    Those of a cone that are all smaller than ``least`` stay at zero.
    """
    every = sp.eye_array(len(w), format="csr")
    if block.kind == "zero":
        return every
    if abs(w).max() <= least:
        return sp.csr_array((len(w), 0))
    if block.kind == "nonnegative":
        return sp.csr_array(every[:, np.flatnonzero(w > INACTIVE * max(float(w.max(initial=0.0)), 1e-300))])
    if block.kind == "semidefinite":
        eigenvalues, vectors = np.linalg.eigh(unpacked(w, block.order))
        V = vectors[:, eigenvalues > INACTIVE * max(eigenvalues[-1], 1e-300)]
        i, j = triangle(V.shape[1])
        moved = [packed(np.outer(V[:, a], V[:, b]) + np.outer(V[:, b], V[:, a])) for a, b in zip(i, j, strict=True)]
        return sp.csr_array(np.column_stack(moved)) if moved else sp.csr_array((len(w), 0))
    return sp.csr_array(w[:, None])  # longer or shorter
