r"""The dual of any declared program with a semidefinite variable: the unknowns are links, not pairs of points.

A program in the conic form :math:`\min c^\top x + e^\top t + d,\ Ax + Bt + a \in \mathcal{K}` (see
:mod:`cvxlink.programs.conic_form`) whose variables are matrices K ⪰ 0, or otherwise free or signed, has the Lagrange
dual

.. math:: \max_{w \in \mathcal{K}^*}\ d - a^\top w \quad\text{s.t.}\quad B^\top w = e,\quad
          C_K - A_K^* w \succeq 0 \text{ for each } K \succeq 0,\quad c_x - A_x^\top w = 0 \text{ for the others.}

A sum of hinges or squares over links then has a few unknowns per link, instead of one per pair of points, and the
slack is as sparse as the graph. K is the multiplier of its inequality, x that of its equation. Points that linear
constraints force together have been merged before, by :mod:`cvxlink.reductions.declared_faces`.

Most of the equations :math:`B^\top w = e` are solved beforehand: a hinge t ≥ x, t ≥ 0 has two multipliers that add up
to its weight, so one is the weight minus the other. Codes without equations would otherwise have no interior
to work in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..numerics.matrices import joined_multipliers, largest_clique
from ..programs.base import Program
from ..programs.conic_form import ConicForm, has_bounds
from ..programs.declared import name_of_cone, semidefinite_variable
from ..programs.status import Status
from .base import Lift, Values, as_point

# Canonicalising a larger program takes minutes on its own.
MOST_UNKNOWNS = 200_000
# For codes without second-order cones, such a cone becomes a dense semidefinite block of the same size.
SMALL_CONE = 100
# An unbounded dual means infeasible; an infeasible dual means unbounded or infeasible.
VERDICTS_OF_DUALS = {
    Status.UNBOUNDED: (Status.INFEASIBLE, "for the dual"),
    Status.INFEASIBLE: (Status.UNPROVEN, "for the dual, so the problem may be unbounded or infeasible"),
}
KNOWN_ATTRIBUTES = {"symmetric", "PSD", "nonneg", "nonpos"}


@dataclass(frozen=True, eq=False)
class ConicDual(Program):
    """The Lagrange dual of a program in conic form."""

    primal: Declaration
    form: ConicForm
    matrices: tuple[str, ...]  # the semidefinite variables
    unknowns: Unknowns

    @classmethod
    def of(cls, declaration: Declaration) -> ConicDual:
        """Return the dual of a declared program, or refuse."""
        if isinstance(declaration.objective, cp.Maximize):
            raise ReductionRefused("it maximises; minimise the negative objective instead")
        _check_variables(declaration)
        others = [t for t in declaration.terms if semidefinite_variable(t, declaration.variables) is None]
        names = {semidefinite_variable(term, declaration.variables) for term in declaration.terms} - {None}
        names |= {name for name, variable in declaration.variables.items() if variable.attributes["PSD"]}
        if not names:
            raise ReductionRefused("it has no semidefinite variable")
        for name in names & {n for n, variable in declaration.variables.items() if has_bounds(variable)}:
            raise ReductionRefused(f"its matrix {name} is semidefinite and also has bounds")
        form = ConicForm.of(declaration.objective.args[0], declaration.variables, others)
        if not form.cones:
            raise ReductionRefused("it has no constraint except semidefiniteness, so there are no multipliers")
        return cls(declaration, form, tuple(sorted(map(str, names))), Unknowns.of(form))

    @cached_property
    def declaration(self) -> Declaration:
        """Maximise d − aᵀw over semidefinite slack matrices, balances, and multipliers in the dual cones."""
        w = cp.Variable(self.unknowns.T.shape[1], name="w")  # the multipliers that do not follow from others
        objective = cp.Maximize(self.form.minorant(self.unknowns.grouped(w, self.form))[2])
        groups = {name: group if isinstance(group, list) else [group] for name, group in self._groups(w).items()}
        return Declaration({"w": w}, objective, {name: group for name, group in groups.items() if group})

    def _groups(self, w: cp.Variable) -> dict[str, Any]:
        grouped = self.unknowns.grouped(w, self.form)
        gradient, left, _ = self.form.minorant(grouped)
        groups: dict[str, Any] = {}
        for name, variable in self.primal.variables.items():
            if name in self.matrices:
                order = int(np.sqrt(len(self.form.c[name])))
                groups[f"slack {name}"] = cp.reshape(gradient[name], (order, order), order="F") >> 0
            else:
                groups[f"balance {name}"] = _balanced(gradient[name], variable)
        groups["added"] = [
            _balanced(rest if open_.all() else rest[np.flatnonzero(open_)], v)
            for rest, v, open_ in zip(left, self.form.added, self.unknowns.open, strict=True)
            if open_.any()
        ]
        groups["cones"] = [c for cone, ws in zip(self.form.cones, grouped, strict=True) for c in cone.holds_dual(ws)]
        return groups

    @property
    def suits_sdp_codes(self) -> bool:
        """Whether its cones are linear or semidefinite, or second-order ones small enough to be written as such."""
        return all(
            cone.kind in ("zero", "nonnegative", "semidefinite")
            or (cone.kind == "second-order" and cone.parts[1].shape[0] <= SMALL_CONE)
            for cone in self.form.cones
        )

    @cached_property
    def largest_clique(self) -> int:
        """The order of the largest dense block that chordal decomposition leaves of the largest slack matrix."""
        name = max(self.matrices, key=lambda name: len(self.form.c[name]))
        order = int(np.sqrt(len(self.form.c[name])))
        total = abs(self.form.c[name])
        for cone in self.form.cones:
            for part in cone.parts:
                total = total + np.asarray(abs(part.A[name]).sum(axis=0)).ravel()
        return largest_clique(sp.csr_array(total.reshape(order, order)))


@dataclass(frozen=True, eq=False)
class Unknowns:
    """All multipliers w = Tv + w₀ from the unknowns v, and which equations Bᵀw = e are still to be imposed."""

    T: sp.csr_array
    offset: np.ndarray
    open: list[np.ndarray]

    @classmethod
    def of(cls, form: ConicForm) -> Unknowns:
        """Solve equations for a multiplier that occurs in no other, where possible; halve symmetric matrices."""
        parts = [(cone.kind, part) for cone in form.cones for part in cone.parts]
        B = sp.csr_array(sp.vstack([sp.hstack([*part.B, sp.csr_array((len(part.a), 0))]) for _, part in parts]))
        e, m = np.concatenate([*form.e, np.zeros(0)]), B.shape[0]
        signed = np.concatenate([np.full(len(part.a), kind in ("nonnegative", "zero")) for kind, part in parts])
        restricted = np.concatenate(
            [np.full(v.size, _is_restricted(v)) for v in form.added] + [np.zeros(0, dtype=bool)]
        )
        simple = np.flatnonzero(signed & (np.diff(B.indptr) == 1))  # rows of one entry, whose multipliers have a sign
        columns, coefficients = B.indices[B.indptr[simple]], B.data[B.indptr[simple]]
        free = ~restricted[columns]
        solved, first = np.unique(columns[free], return_index=True)
        # w_r = (e_t − Σ B_st w_s)/B_rt for the pivot r of the equation t.
        pivots, own = simple[free][first], coefficients[free][first]
        chosen = sp.csr_array((1 / own, (pivots, np.arange(len(pivots)))), shape=(m, len(pivots)))
        T = sp.csr_array((sp.eye_array(m) - chosen @ B[:, solved].T) @ _mirrored(parts, m))
        T.data[abs(T.data) < 1e-14] = 0
        T.eliminate_zeros()
        is_open = ~np.isin(np.arange(len(e)), solved)
        ends = np.cumsum([v.size for v in form.added])
        opened = [is_open[end - v.size : end] for v, end in zip(form.added, ends, strict=True)]
        return cls(sp.csr_array(T[:, np.unique(T.indices)]), chosen @ e[solved], opened)

    def grouped(self, v: Any, form: ConicForm) -> list[list[Any]]:
        """Return the multipliers of each part of each cone, numbers or expressions."""
        w, start, groups = self.T @ v + self.offset, 0, []
        for cone in form.cones:
            group = []
            for part in cone.parts:
                piece, start = w[start : start + len(part.a)], start + len(part.a)
                shaped = isinstance(w, np.ndarray)
                group.append(
                    piece.reshape(part.shape, order="F") if shaped else cp.reshape(piece, part.shape, order="F")
                )
            groups.append(group)
        return groups


@dataclass(frozen=True, eq=False)
class ConicDualLift(Lift):
    """The multipliers of the dual's constraints are the variables; its unknowns are the multipliers."""

    dual: ConicDual

    verdicts = VERDICTS_OF_DUALS

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Exchange unknowns and multipliers."""
        dual, declaration = self.dual, self.dual.primal
        values, duals = as_point(values, duals)
        lifted: dict[str, Any] = {}
        for name, variable in declaration.variables.items():
            if name in dual.matrices:
                if f"slack {name}" not in duals:
                    return {}, {}
                lifted[name] = duals[f"slack {name}"]
            else:
                sign = 1.0 if variable.is_nonneg() else -1.0  # of 0 ≤ rest + u, or of rest = u and rest ≤ u
                lifted[name] = (sign * np.ravel(duals[f"balance {name}"])).reshape(variable.shape, order="F")
        w = dual.unknowns.grouped(np.ravel(values["w"]), dual.form)
        gradient = dual.form.minorant(w)[0]
        multipliers: dict[str, Any] = {}
        for name, group in declaration.constraints.items():
            multipliers[name] = joined_multipliers([self._multiplier(term, w, gradient) for term in group])
        for name in dual.matrices:
            if name in gradient:  # the variable itself, and no constraint, is declared semidefinite
                order = declaration.variables[name].shape
                multipliers[name_of_cone(name, declaration)] = gradient[name].reshape(order, order="F")
        return lifted, multipliers

    def _multiplier(self, term: Any, w: list[list[np.ndarray]], gradient: dict[str, np.ndarray]) -> Any:
        """Return the multiplier of a constraint; the first that makes a matrix semidefinite gets the whole slack."""
        owner = semidefinite_variable(term, self.dual.primal.variables)
        if owner is not None:
            return gradient.pop(owner, np.zeros(term.size)).reshape(term.shape, order="F")
        parts = w[self.dual.form.owners[term.id]]
        if isinstance(term, cp.constraints.PSD):
            return parts[0]
        if len(parts) > 1:
            return parts
        y = np.atleast_1d(parts[0].reshape(term.shape, order="F") if parts[0].size == term.size else parts[0])
        return -y if isinstance(term, cp.constraints.Inequality) else y


def _mirrored(parts: list[tuple[str, Any]], m: int) -> sp.csr_array:
    """Return the identity, except that entries below the diagonal of a symmetric matrix are those above it."""
    column, start = np.arange(m), 0
    for kind, part in parts:
        if kind == "semidefinite":
            n = part.shape[0]
            place = np.arange(n * n).reshape(n, n, order="F")
            column[start : start + n * n] = start + np.minimum(place, place.T).ravel(order="F")
        start += len(part.a)
    return sp.csr_array((np.ones(m), (np.arange(m), column)), shape=(m, m))


def _is_restricted(variable: cp.Variable) -> bool:
    """Whether a variable is declared with a sign or semidefinite, so that its balance is an inequality."""
    return bool(variable.attributes["PSD"] or variable.is_nonneg() or variable.is_nonpos())


def _balanced(rest: Any, variable: cp.Variable) -> Any:
    """Require the gradient to vanish, or to have the sign its variable allows."""
    if variable.attributes["PSD"]:
        return cp.reshape(rest, variable.shape, order="F") >> 0
    if variable.is_nonneg():
        return rest >= 0
    return rest <= 0 if variable.is_nonpos() else rest == 0


def _check_variables(declaration: Declaration) -> None:
    if sum(variable.size for variable in declaration.variables.values()) > MOST_UNKNOWNS:
        raise ReductionRefused(f"it has too many unknowns to be dualised (at most {MOST_UNKNOWNS})")
    for name, variable in declaration.variables.items():
        special = {key for key, value in variable.attributes.items() if value is not None and value is not False}
        if not special <= KNOWN_ATTRIBUTES:
            raise ReductionRefused(f"its variable {name} is declared as {', '.join(special - KNOWN_ATTRIBUTES)}")
