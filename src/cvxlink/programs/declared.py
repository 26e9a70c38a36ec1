"""The programs that problems declare: read from the declaration once, or supplied as data of a special kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.promote import Promote
from cvxpy.atoms.affine.unary_operators import NegExpression

from ..errors import ReductionRefused
from ..model.declared import Declaration, Declared, as_values, declared_variables
from ..model.expressions import is_linear
from ..model.linear_maps import LinearMap, at_places
from .base import Program
from .coefficients import Map, coefficients, compiled_coefficients
from .linear_sdp import LinearSDP, Rows, Sense
from .separable_reading import read_separable_sdp
from .separable_sdp import SeparableSDP


def read_linear_sdp(declaration: Declaration) -> LinearSDP:
    """Read a linear semidefinite program from a declaration, or refuse with the reason."""
    if len(declaration.variables) != 1:
        raise ReductionRefused(f"it has {len(declaration.variables)} variables, not one symmetric matrix")
    (name, K), *_ = declaration.variables.items()
    special = {key for key, value in K.attributes.items() if value is not None and value is not False}
    if K.ndim != 2 or not K.is_symmetric() or not special <= {"symmetric", "PSD"}:
        raise ReductionRefused(f"its variable {name} is not a plain symmetric matrix")
    if isinstance(declaration.objective, cp.Maximize):
        raise ReductionRefused("it maximises; minimise the negative objective instead")
    if not is_linear(declaration.objective.args[0]):
        raise ReductionRefused("its objective is not linear")
    for key, group in declaration.constraints.items():  # before anything is read, which takes longer
        for term in group:
            if not isinstance(term, cp.constraints.PSD):
                _require_rows(key, term)
            elif not _is_the_variable(term.args[0], K):
                raise ReductionRefused(
                    f"its constraint {key!r} requires an expression other than {name} to be semidefinite"
                )
    cone = None
    if "PSD" in special:
        cone = name_of_cone(name, declaration)
    objective = declaration.objective.args[0]
    if isinstance(objective, LinearMap) and objective.args[0] is K:
        cost, offset = objective.A, np.zeros(1)
    else:
        cost, offset = coefficients(objective, K)
    rows = []
    for key, group in declaration.constraints.items():
        matrices, sides = [], []
        senses: set[Sense] = set()
        for term in group:
            if isinstance(term, cp.constraints.PSD):
                if cone is not None:
                    raise ReductionRefused(f"it requires {name} to be semidefinite twice ({cone!r} and {key!r})")
                if len(group) > 1:
                    raise ReductionRefused(f"its constraint {key!r} mixes a semidefinite constraint with others")
                cone = key
                continue
            rows_of_term = read_rows(key, term, K)
            senses.add(rows_of_term.sense)
            matrices.append(rows_of_term.A)
            sides.append(rows_of_term.b)
        if len(senses) > 1:
            raise ReductionRefused(f"its constraint {key!r} mixes equations and inequalities; give them separate names")
        if matrices:
            A = sp.csr_array(sp.vstack(matrices, format="csr"))
            rows.append(Rows(key, A, np.concatenate(sides), senses.pop()))
    if cone is None:
        raise ReductionRefused(f"it does not require {name} to be positive semidefinite")
    n = K.shape[0]
    C = sp.csr_array(cost.reshape((n, n)))
    return LinearSDP(C, tuple(rows), float(offset[0]), name, cone)


def _require_rows(key: str, term: Any) -> None:
    if not isinstance(term, cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero):
        raise ReductionRefused(f"its constraint {key!r} is of type {type(term).__name__}")
    if not is_linear(body_of(term)):
        raise ReductionRefused(f"its constraint {key!r} is not linear")


def name_of_cone(name: str, declaration: Declaration) -> str:
    """Return an unused name for the multiplier of a variable that is declared semidefinite."""
    several = sum(bool(variable.attributes["PSD"]) for variable in declaration.variables.values()) > 1
    words = [f"{name} psd", f"{name} is psd"] if several else ["psd", f"{name} psd", f"{name} is psd"]
    return next(word for word in words if word not in declaration.constraints)


def semidefinite_variable(term: Any, variables: Mapping[str, cp.Variable]) -> str | None:
    """Return the name of the variable that a constraint requires to be semidefinite, if it does just that."""
    if isinstance(term, cp.constraints.PSD):
        for name, variable in variables.items():
            alone = [v.id for v in term.variables()] == [variable.id]
            whole = variable.is_symmetric() and not variable.attributes["diag"] and variable.sparse_idx is None
            if alone and whole and _is_the_variable(term.args[0], variable):
                return name
    return None


def semidefinite_names(declaration: Declaration) -> list[str]:
    """Return the names of the variables that are semidefinite, by a constraint or as declared."""
    names = {semidefinite_variable(term, declaration.variables) for term in declaration.terms}
    return [name for name, v in declaration.variables.items() if name in names or v.attributes["PSD"]]


def body_of(term: Any) -> Any:
    """Return lhs − rhs of an equation or inequality."""
    return term.args[0] if isinstance(term, cp.constraints.Zero) else term.expr


def read_rows(key: str, term: Any, K: cp.Variable, read: Callable[[Any], Map] | None = None) -> Rows:
    """Return an equation or inequality as rows, or refuse; ``read`` may know its coefficients without reading it."""
    known = getattr(term, "rows", None)  # of a term that carries them
    if known is not None and known[0].args[0] is K:
        linear, b = known
        return Rows(key, linear.A, b, "<=" if isinstance(term, cp.constraints.Inequality) else "==")
    _require_rows(key, term)
    A, constant = coefficients(body_of(term), K) if read is None else read(term)
    # 0 − constant instead of −constant, which would give −0
    return Rows(key, A, 0.0 - constant, "<=" if isinstance(term, cp.constraints.Inequality) else "==")


def _is_the_variable(expression: Any, K: cp.Variable) -> bool:
    """Whether an affine expression is K itself (CVXPY writes ``K >> 0`` as K + 0)."""
    if expression is K:
        return True
    if isinstance(expression, AddExpression):
        own = [part for part in expression.args if not part.is_constant()]
        zero = all(_is_zero(part) for part in expression.args if part.is_constant())
        return len(own) == 1 and zero and _is_the_variable(own[0], K)
    if not expression.is_affine() or expression.shape != K.shape:
        return False
    A, constant = compiled_coefficients(expression, K)
    n = K.shape[0]
    everywhere = np.arange(n * n)
    identity = at_places(n, everywhere, everywhere // n, everywhere % n, np.ones(n * n), n * n)
    return not constant.any() and abs(A - identity).nnz == 0


def _is_zero(constant: Any) -> bool:
    while isinstance(constant, Promote | NegExpression):  # one number for every entry need not be expanded
        constant = constant.args[0]
    value = constant.value
    return not (value.nnz if sp.issparse(value) else np.any(value))


class ReadProgram(Program):
    """A program whose data are read from its declaration, each kind only once."""

    def linear_sdp(self) -> LinearSDP:
        """Return the linear SDP read from the declaration; it is read only once."""
        if isinstance(self._read, LinearSDP):
            return self._read
        raise ReductionRefused(self._read)

    def separable_sdp(self) -> SeparableSDP:
        """Return the program with functions of single numbers read from the declaration; it is read only once."""
        if isinstance(self._read_terms, SeparableSDP):
            return self._read_terms
        raise ReductionRefused(self._read_terms)

    @cached_property
    def _read_terms(self) -> SeparableSDP | str:
        if not self.convex:
            return "it is not convex"
        try:
            return read_separable_sdp(self.declaration, read_linear_sdp)
        except ReductionRefused as refusal:
            return str(refusal)

    @cached_property
    def _read(self) -> LinearSDP | str:
        try:
            return read_linear_sdp(self.declaration)
        except ReductionRefused as refusal:
            return str(refusal)


@dataclass(frozen=True, eq=False)
class DeclaredProgram(ReadProgram):
    """The program that a problem declares."""

    problem: Declared

    @property
    def convex(self) -> bool:  # type: ignore[override]
        """Whether CVXPY's solvers accept the program as declared."""
        return self.problem.convex

    @property
    def declaration(self) -> Declaration:
        """The declaration of the problem."""
        return self.problem.declaration


@dataclass(frozen=True, eq=False)
class SpecialProgram(DeclaredProgram):
    """The program of a problem together with the same program as data, its own algorithms and its own proof.

    It belongs to the problem that declares it: a subclass that declares another program does not inherit it, and its
    data are compared with the declaration at sampled points before they are used.

    Parameters
    ----------
    problem : Problem
        The problem whose program it is.
    data : object
        What the routes and the proof work on. ``data.value(point)`` returns the objective and
        ``data.violations(point)`` the largest violation of each constraint by name; ``point`` maps the names of the
        variables to values. A :class:`LinearSDP` is also accepted.
    routes : tuple of Route
        The algorithms that solve it, in the order in which they are considered.
    proof : function, optional
        ``proof(data, point, duals)`` returns a :class:`~cvxlink.Certificate` for any point and any multipliers.
        By default the general bounds are used.
    reductions : tuple of Reduction
        Reductions to apply before the general ones.
    not_linear : str
        The reason it is not a linear semidefinite program, as ``explain()`` shows it.
    suits_solvers : bool
        Whether a CVXPY solver may be chosen automatically if no route accepts the program.
    refutes : function, optional
        ``refutes(data, status)`` returns the reason why a verdict such as INFEASIBLE is wrong, or an empty string.
    disproves : function, optional
        ``disproves(data, duals)`` returns the proof in words that no point is feasible, from the multipliers of a route
        that says so, or an empty string if they prove nothing.
    """

    data: Any
    routes: tuple[Any, ...] = ()
    proof: Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any] | None = None
    reductions: tuple[Any, ...] = ()
    not_linear: str = "it is a program of a special kind"
    suits_solvers: bool = True
    refutes: Callable[[Any, Any], str] | None = None
    disproves: Callable[[Any, Mapping[str, Any]], str] | None = None

    def linear_sdp(self) -> LinearSDP:
        """Return the data, if they are a linear semidefinite program."""
        if isinstance(self.data, LinearSDP):
            return self.data
        if self.proof is None:
            return super().linear_sdp()
        raise ReductionRefused(self.not_linear)

    def separable_sdp(self) -> SeparableSDP:
        """Return the declared program, unless it is proven in its own way."""
        if self.proof is None:
            return super().separable_sdp()
        raise ReductionRefused(self.not_linear)

    def value(self, point: Mapping[str, Any]) -> float:
        """Return the objective according to the data."""
        data, point = self.data, as_values(declared_variables(self.problem), point, "point").stored
        return data.value(point[data.variable]) if isinstance(data, LinearSDP) else data.value(point)

    def violations(self, point: Mapping[str, Any]) -> Mapping[str, float]:
        """Return the largest violation of each constraint according to the data."""
        data, point = self.data, as_values(declared_variables(self.problem), point, "point").stored
        return data.violations(point[data.variable]) if isinstance(data, LinearSDP) else data.violations(point)
