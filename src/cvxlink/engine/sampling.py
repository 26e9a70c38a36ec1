"""Data that a problem supplies are compared with its declaration at sampled points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import cvxpy as cp
import numpy as np

from ..certificates.violations import violations_of
from ..errors import InvalidProblem
from ..model.declared import declared_variables
from ..programs.declared import SpecialProgram

# Programs with more unknowns are not compared: evaluating one point would take longer than solving them.
LARGEST = 40_000
# The relative difference allowed between the same number computed in two ways.
TOLERANCE = 1e-6


def require_agreement(program: SpecialProgram) -> None:
    """Raise if the data of a program disagree with its declaration in value or violations at a sampled point."""
    variables = declared_variables(program.problem)
    if sum(variable.size for variable in variables.values()) > LARGEST:
        return
    declaration = program.declaration
    for point in _points(variables):
        with np.errstate(all="ignore"):
            violations, _ = violations_of(declaration, point)
            declared, supplied = float(declaration.objective.value), float(program.value(point))
            if np.isfinite(supplied) or not _is_indefinite(
                point
            ):  # CVXPY returns logarithms even for indefinite matrices
                _compare(program, "objective", declared, supplied)
            named = program.violations(point)
            for name, violation in violations.items():
                if name in declaration.constraints:
                    _compare(program, f"constraint {name!r}", violation, named.get(name))


def _points(variables: Mapping[str, cp.Variable]) -> Iterator[dict[str, np.ndarray]]:
    """Yield two points: one of any sign, and one with positive numbers and positive definite matrices."""
    rng = np.random.default_rng(0)
    drawn = {name: rng.standard_normal(variable.shape) for name, variable in variables.items()}
    for positive in (False, True):
        point: dict[str, Any] = {}
        for name, variable in variables.items():
            value = drawn[name]
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
        same = abs(declared - supplied) <= TOLERANCE * max(abs(declared), abs(supplied)) + 1e-12
    else:
        same = np.isfinite(declared) == np.isfinite(supplied)
    if not same:
        raise InvalidProblem(
            f"{name} supplies its program as data that disagree with its declaration: at a sampled point the {what} is "
            f"{declared:.10g} as declared and {supplied:.10g} in the data; correct one of them, or leave out program"
        )
