r"""The same for any declared program: each semidefinite variable K is replaced by :math:`PK'P^\top`.

Objective and constraints are copied with the expression in place of the variable. Linear constraints on K alone become
rows on K', of which repeated and implied ones are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import cvxpy as cp
import cvxpy.lin_ops.lin_utils as lin
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.affine_atom import AffAtom

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.keeping import once
from ..model.linear_maps import LinearMap, at_places
from ..numerics.matrices import Stiffened, as_dense, congruent, joined_multipliers
from ..programs.base import Program
from ..programs.declared import name_of_cone, semidefinite_names, semidefinite_variable
from ..programs.declared_rows import linear_rows
from ..programs.linear_sdp import LinearSDP, Rows
from .base import Lift, Values, as_point
from .faces import Blocks, congruent_rows, face_of
from .matrix_inequalities import InequalityFace, faces_of_inequalities


class Spread(AffAtom):
    """The matrix PK'Pᵀ in place of K, which CVXPY knows as much about as about K."""

    def __init__(self, small: Any, P: sp.csr_array, known: tuple[bool, bool, bool]) -> None:
        self.P, self.known = P, known
        super().__init__(small)

    def shape_from_args(self) -> tuple[int, ...]:
        """Return the shape of K."""
        return (self.P.shape[0], self.P.shape[0])

    def get_data(self) -> list[Any]:
        """Return the arguments for a copy."""
        return [self.P, self.known]

    def sign_from_args(self) -> tuple[bool, bool]:
        """Whether all entries of K are known to be at least, or at most, zero."""
        return self.known[0], self.known[1]

    def is_symmetric(self) -> bool:
        """It is symmetric."""
        return True

    def is_hermitian(self) -> bool:
        """It is symmetric."""
        return True

    def is_psd(self) -> bool:
        """Whether K is declared semidefinite."""
        return self.known[2]

    def name(self) -> str:
        """Return how it is printed."""
        return self.args[0].name()

    def numeric(self, values: list[Any]) -> np.ndarray:
        """Return the product for a value of K'."""
        return as_dense(self.P @ values[0] @ self.P.T)

    def graph_implementation(self, arg_objs: list[Any], shape: tuple[int, ...], data: Any = None) -> tuple[Any, list]:
        """Return the product as CVXPY compiles it: the matrix P ⊗ P times the entries of K' in a column."""
        (n, c), spread = self.P.shape, sp.csc_array(sp.kron(self.P, self.P))
        flat = lin.reshape(arg_objs[0], (c * c, 1))
        product = lin.mul_expr(lin.create_const(spread, (n * n, c * c), sparse=True), flat, (n * n, 1))
        return lin.reshape(product, shape), []


class _OnFace(NamedTuple):
    """The face of a semidefinite variable, the rows it follows from, and the constraints that the first of them are."""

    face: Blocks
    rows: list[Rows]
    terms: list[Any]


def _variables_on_faces(declaration: Declaration) -> dict[str, _OnFace]:
    """Return the semidefinite variables on their faces, which are found once."""
    return once(declaration, "faces of variables", lambda: dict(_found_faces(declaration)))


def _found_faces(declaration: Declaration) -> Iterator[tuple[str, _OnFace]]:
    for name in semidefinite_names(declaration):
        variable = declaration.variables[name]
        rows, terms = linear_rows(declaration, variable)
        rows = [*rows, *_bounds(name, variable)]
        yield name, _OnFace(face_of(rows, variable.shape[0]), rows, terms)


def faces_of_variables(declaration: Declaration) -> dict[str, Blocks | None]:
    """Return the faces of all semidefinite variables; None for the whole cone, and for a matrix that must be zero."""
    found = {name: own.face for name, own in _variables_on_faces(declaration).items()}
    return {name: face if face.is_smaller and face.P.shape[1] else None for name, face in found.items()}


@dataclass(frozen=True, eq=False)
class DeclaredFaces(Program):
    """A declared program with semidefinite variables on their faces."""

    source: Program
    faces: dict[str, Blocks]
    rows: dict[str, list[Rows]]  # the linear constraints on each of these variables, then its bounds
    inequalities: dict[tuple[str, int], InequalityFace]  # matrix inequalities, by group and number in it
    owners: dict[tuple[str, int], tuple[str, int]]  # group and number in it → variable, and number among its rows

    @classmethod
    def of(cls, source: Program) -> DeclaredFaces:
        """Find the faces of all semidefinite variables, or refuse."""
        declaration = source.declaration
        names, inequalities = semidefinite_names(declaration), faces_of_inequalities(declaration)
        if not names and not inequalities:
            raise ReductionRefused("it has no semidefinite variable")
        for name in names:
            _check_attributes(name, declaration.variables[name])
        found = _variables_on_faces(declaration)
        places = {id(t): (key, k) for key, group in declaration.constraints.items() for k, t in enumerate(group)}
        owners = {places[id(term)]: (name, k) for name in names for k, term in enumerate(found[name].terms)}
        faces = {name: own.face for name, own in found.items()}
        return cls(source, faces, {name: own.rows for name, own in found.items()}, inequalities, owners)

    def linear_sdp(self) -> LinearSDP:
        """Refuse for the reason that holds for the program before."""
        return self.source.linear_sdp()

    @cached_property
    def declaration(self) -> Declaration:
        """The program on the faces."""
        given = self.source.declaration
        small = {name: _on_face(variable, self.faces.get(name)) for name, variable in given.variables.items()}
        replaced: dict[int, Any] = {}
        for name, face in self.faces.items():
            K, attributes = given.variables[name], given.variables[name].attributes
            known = (bool(K.is_nonneg()), bool(K.is_nonpos()), bool(attributes["PSD"]))
            replaced[id(K)] = Spread(small[name], face.P, known) if face.is_smaller or any(known[:2]) else small[name]
            for node in _nodes([given.objective, *given.terms]):
                if isinstance(node, LinearMap) and node.args[0] is K:
                    replaced[id(node)] = LinearMap(small[name], congruent_rows(node.A, face.P)[0], node.scalar)
        objective = given.objective.tree_copy(replaced)
        constraints: dict[str, list[Any]] = {}
        for key, group in given.constraints.items():
            terms = [self._reduced(term, (key, k), given, small, replaced) for k, term in enumerate(group)]
            if any(term is not None for term in terms):
                constraints[key] = [term for term in terms if term is not None]
        for (key, k), inequality in self.inequalities.items():
            equations = inequality.equations(given.constraints[key][k].args[0].tree_copy(replaced))
            if equations is not None:
                constraints[_name_of_equations(key, k)] = [equations]
        for name in self.faces:
            for k in range(len(self.rows[name])):
                if k >= self._count(name):  # of its own bounds
                    term = self._rows(name, k, small[name])
                    key = self.rows[name][k].name
                    constraints |= {key: [*constraints.get(key, []), term]} if term is not None else {}
        return Declaration(small, objective, constraints)

    def _count(self, name: str) -> int:
        """Return how many of the rows of a variable are declared constraints."""
        return sum(owner == name for owner, _ in self.owners.values())

    def _reduced(
        self,
        term: Any,
        place: tuple[str, int],
        given: Declaration,
        small: dict[str, cp.Variable],
        replaced: dict[int, Any],
    ) -> Any:
        """Return what becomes of a constraint; None if nothing is left of it."""
        owner = semidefinite_variable(term, given.variables)
        if owner is not None:
            return small[owner] >> 0
        if place in self.owners:
            name, k = self.owners[place]
            return self._rows(name, k, small[name])
        if place in self.inequalities:
            return self.inequalities[place].submatrix(term.args[0].tree_copy(replaced)) >> 0
        return term.tree_copy(replaced)

    def _rows(self, name: str, k: int, K: cp.Variable) -> Any:
        """Return the rows that are left of a linear constraint."""
        start = sum(len(g) for g in self.rows[name][:k])
        face, g = self.faces[name], self.rows[name][k]
        kept = face.merging.kept[start : start + len(g)]
        if not kept.any():
            return None
        numbers = face.merging.row_map[start : start + len(g)][kept]
        A, b = sp.csr_array(face.rows.A[numbers]), face.rows.b[numbers]
        return LinearMap(K, A) == b if g.sense == "==" else LinearMap(K, A) <= b


@dataclass(frozen=True, eq=False)
class DeclaredFacesLift(Lift):
    """K = PK'Pᵀ, and multipliers as they are declared: zero for rows that were dropped."""

    reduced: DeclaredFaces

    def point(self, values: Values, duals: Values) -> tuple[dict[str, Any], dict[str, Any]]:
        """Spread every K' over the points; the multiplier of K ⪰ 0 is the least S ⪰ 0 with PᵀSP = S'."""
        faces, given = self.reduced.faces, self.reduced.source.declaration
        values, duals = as_point(values, duals)
        lifted = dict(values)
        for name, face in faces.items():
            if face.is_smaller:
                lifted[name] = congruent(face.P, np.asarray(values[name]))
        found: dict[str, list[Any]] = {}
        for key, group in given.constraints.items():
            here = self.reduced.declaration.constraints.get(key, [])
            if not here or key in duals:
                parts = _parts(here, duals.get(key))
                found[key] = [self._multiplier(term, (key, k), parts) for k, term in enumerate(group)]
        large = self._stiffened(found, duals)
        multipliers = {key: joined_multipliers(own) for key, own in found.items()}
        for key, stiff in large.items():
            multipliers[key] = Stiffened(multipliers[key], joined_multipliers(stiff))
        for name, face in faces.items():
            cone = name_of_cone(name, given)
            if given.variables[name].attributes["PSD"] and cone in duals:
                multipliers[cone] = _spread_slack(face, as_dense(duals[cone]))
        return lifted, multipliers

    @property
    def _sign(self) -> float:
        """The sign of the multipliers of rows beside those of matrix inequalities, which have none of their own."""
        return -1.0 if isinstance(self.reduced.source.declaration.objective, cp.Maximize) else 1.0

    def _stiffened(self, found: dict[str, list[Any]], duals: Values) -> dict[str, list[Any]]:
        """Replace multipliers of submatrices by those of whole matrices; return what stiffens them."""
        large: dict[str, list[Any]] = {}

        def part_of(key: str, k: int) -> np.ndarray:
            parts = large.setdefault(key, [np.zeros(np.shape(part)) for part in found[key]])
            return parts[k]

        for (group, number), inequality in self.reduced.inequalities.items():
            if group not in found:
                continue
            y = np.ravel(duals.get(_name_of_equations(group, number), np.zeros(len(inequality.added))))
            found[group][number], stiff, stiffness = inequality.multiplier(found[group][number], self._sign * y)
            if stiffness:
                part_of(group, number)[...] = stiff
            for (key, k, r), amount in zip(inequality.rows, stiffness * inequality.face.stiffening, strict=True):
                if amount and key in found:
                    part = part_of(key, k)
                    part[np.unravel_index(r, part.shape, order="F")] += self._sign * amount
        return large

    def _multiplier(self, term: Any, place: tuple[str, int], parts: Iterator[Any]) -> Any:
        """Return the multiplier of a declared constraint from those of the reduced ones, which come in order."""
        owner = semidefinite_variable(term, self.reduced.source.declaration.variables)
        if owner is not None:
            return _spread_slack(self.reduced.faces[owner], next(parts))
        if place not in self.reduced.owners:
            return next(parts)
        name, k = self.reduced.owners[place]
        rows, merging = self.reduced.rows[name], self.reduced.faces[name].merging
        where = slice(sum(len(g) for g in rows[:k]), sum(len(g) for g in rows[: k + 1]))
        kept, y = merging.kept[where], np.zeros(len(rows[k]))
        if kept.any():
            y[kept] = np.ravel(next(parts), order="F") / merging.factors[where][kept]
        return np.atleast_1d(y.reshape(term.shape, order="F"))


def _name_of_equations(key: str, number: int) -> str:
    """Return the name of the equations that are added for a matrix inequality."""
    return f"{key} on its face" if number == 0 else f"{key} on its face, {number}"


def _spread_slack(face: Blocks, S: np.ndarray) -> np.ndarray:
    return as_dense(face.inverse.T @ S @ face.inverse) if face.is_smaller else S


def _parts(terms: list[Any], joined: Any) -> Iterator[Any]:
    """Yield the multipliers of each constraint of a group, from what :func:`joined_multipliers` made of them."""
    if len(terms) <= 1:
        yield from [joined] * len(terms)
        return
    flat, start = np.ravel(as_dense(joined), order="F"), 0
    for term in terms:
        several = not isinstance(term, cp.constraints.PSD | cp.constraints.Equality | cp.constraints.Inequality)
        size = sum(arg.size for arg in term.args) if several else term.size
        part, start = flat[start : start + size], start + size
        yield part.reshape(term.shape, order="F") if not several else [part]


def _nodes(expressions: list[Any]) -> Iterator[Any]:
    """Yield all nodes of expression trees."""
    for expression in expressions:
        yield expression
        yield from _nodes([arg for arg in getattr(expression, "args", ()) if not isinstance(arg, list)])


def _on_face(variable: cp.Variable, face: Blocks | None) -> cp.Variable:
    """Return a variable for the matrix on its face; its bounds are rows there."""
    if face is None:
        return variable
    c, is_psd = face.P.shape[1], bool(variable.attributes["PSD"])
    return cp.Variable((c, c), name=variable.name(), **({"PSD": True} if is_psd else {"symmetric": True}))


def _check_attributes(name: str, variable: cp.Variable) -> None:
    special = {key for key, value in variable.attributes.items() if value is not None and value is not False}
    strange = special - {"symmetric", "PSD", "nonneg", "nonpos", "bounds"}
    if strange:
        raise ReductionRefused(f"its variable {name} is declared as {', '.join(sorted(strange))}")


def _bounds(name: str, variable: cp.Variable) -> Iterator[Rows]:
    """Yield the bounds that a variable is declared with as rows."""
    n, (lower, upper) = variable.shape[0], (np.broadcast_to(b, variable.shape) for b in variable.get_bounds())
    for bound, sign, sense in ((lower, -1.0, "≥"), (upper, 1.0, "≤")):
        i, j = (p.astype(np.int64) for p in np.nonzero(np.isfinite(bound)))
        if len(i):
            A = at_places(n, np.arange(len(i)), i, j, np.full(len(i), sign), len(i))
            yield Rows(f"{name} {sense} its bounds", A, sign * bound[i, j] + 0.0, "<=")
