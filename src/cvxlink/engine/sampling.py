"""Data that a problem supplies are compared with its declaration at sampled points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from ..certificates.violations import LARGEST_COMPARED, SAME_NUMBER, violations_of
from ..errors import InvalidProblem, ReductionRefused
from ..model.declared import declared_variables
from ..programs.declared import SpecialProgram, read_linear_sdp
from ..programs.linear_sdp import LinearSDP


def require_agreement(program: SpecialProgram) -> None:
    """Raise if the data of a program disagree with its declaration in value or violations at a sampled point."""
    variables = declared_variables(program.problem)
    if sum(variable.size for variable in variables.values()) > LARGEST_COMPARED:
        return
    if isinstance(program.data, LinearSDP):
        _compare_rows(program, program.data)
    elif program.proof is not None or hasattr(program.data, "value"):
        _compare_points(program)


def _compare_points(program: SpecialProgram) -> None:
    """Compare the objective, and with a proof the violations, at each point."""
    declaration, name = program.declaration, type(program.problem).__name__
    for point in _points(declaration.variables):
        with np.errstate(all="ignore"):
            violations, _ = violations_of(declaration, point)
            supplied = float(_called(name, "data.value", program.value, point))
            # CVXPY has logarithms of indefinite matrices, too.
            if np.isfinite(supplied) or not _is_indefinite(point):
                _compare(program, "objective", float(declaration.objective.value), supplied)
            if program.proof is None:
                continue
            named = _called(name, "data.violations", program.violations, point)
        for extra in set(named) - set(declaration.constraints):
            if named[extra] > 0:  # an empty set of links makes no constraint
                raise InvalidProblem(f"{name} supplies data with a constraint {extra!r} that it does not declare")
        for constraint in declaration.constraints:
            if np.isfinite(violations[constraint]):
                _compare(program, f"constraint {constraint!r}", violations[constraint], named.get(constraint))


def _compare_rows(program: SpecialProgram, data: LinearSDP) -> None:
    """Compare a linear semidefinite program with the one that the declaration reads as, row by row at each point."""
    name = type(program.problem).__name__
    try:
        declared = read_linear_sdp(program.declaration)
    except ReductionRefused as refusal:
        raise InvalidProblem(
            f"{name} supplies a linear semidefinite program, and what it declares is not one: {refusal}"
        ) from refusal
    if (declared.variable, declared.n, declared.cone) != (data.variable, data.n, data.cone):
        raise InvalidProblem(
            f"{name} declares {declared.variable} of order {declared.n} with the cone {declared.cone!r}, and supplies "
            f"{data.variable} of order {data.n} with {data.cone!r}"
        )
    for extra in {rows.name for rows in data.rows} - {rows.name for rows in declared.rows}:
        raise InvalidProblem(f"{name} supplies data with a constraint {extra!r} that it does not declare")
    for point in _points(program.declaration.variables):
        K = point[data.variable]
        _compare(program, "objective", declared.value(K), data.value(K))
        wanted, given = declared.split(declared.rows_of(K) - declared.b), data.split(data.rows_of(K) - data.b)
        senses = {rows.name: rows.sense for rows in data.rows}
        for rows in declared.rows:
            one, other = np.sort(wanted[rows.name]), np.sort(given.get(rows.name, np.zeros(0)))
            if len(one) != len(other) or senses[rows.name] != rows.sense:
                raise InvalidProblem(
                    f"{name} declares {len(one)} rows {rows.sense} in the constraint {rows.name!r}, and supplies "
                    f"{len(other)}; the data disagree with what it declares"
                )
            if len(one):
                worst = int(abs(one - other).argmax())
                _compare(program, f"constraint {rows.name!r}", float(one[worst]), float(other[worst]))


def _called(name: str, part: str, function: Any, point: Any) -> Any:
    """Call a part of a formulation; an error in it is named."""
    try:
        return function(point)
    except Exception as error:  # it is not our code
        raise InvalidProblem(f"{name}: {part} fails at a sampled point: {type(error).__name__}: {error}") from error


def _points(variables: Mapping[str, cp.Variable]) -> Iterator[dict[str, np.ndarray]]:
    """Yield points of any sign, large and small, and one with positive numbers and positive definite matrices."""
    rng = np.random.default_rng(0)
    for positive, size in ((False, 1.0), (True, 1.0), (False, 0.05)):
        point: dict[str, Any] = {}
        for name, variable in variables.items():
            value = size * rng.standard_normal(variable.shape)
            if variable.ndim == 2 and variable.is_symmetric():
                value = value @ value.T / len(value) + np.eye(len(value)) if positive else (value + value.T) / 2
            elif positive:
                value = abs(value)
            point[name] = np.asarray(value)
        yield point


def _is_indefinite(point: Mapping[str, np.ndarray]) -> bool:
    squares = [value for value in point.values() if value.ndim == 2 and value.shape[0] == value.shape[1]]
    return any(np.linalg.eigvalsh((value + value.T) / 2)[0] < 0 for value in squares)


def _compare(program: SpecialProgram, what: str, declared: float, supplied: float | None) -> None:
    name = type(program.problem).__name__
    if supplied is None:
        raise InvalidProblem(
            f"{name} supplies its program as data that say nothing about the {what}; violations() must return an entry "
            f"for each declared constraint"
        )
    if np.isfinite(declared) and np.isfinite(supplied):
        same = abs(declared - supplied) <= SAME_NUMBER * max(abs(declared), abs(supplied)) + 1e-12
    else:
        same = np.isfinite(declared) == np.isfinite(supplied)
    if not same:
        raise InvalidProblem(
            f"{name} supplies its program as data that disagree with its declaration: at a sampled point the {what} is "
            f"{declared:.10g} as declared and {supplied:.10g} in the data; correct one of them, or leave out program"
        )
