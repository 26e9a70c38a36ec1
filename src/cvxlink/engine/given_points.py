"""Points and multipliers that are given by name, to be certified: a name that nothing has is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ..certificates import Certificate, certify_program
from ..errors import InvalidInput, ReductionRefused
from ..model.declared import declared_variables
from ..model.quiet import quiet_about_sparsity
from ..model.well_formed import asked_by_name
from ..numerics.arguments import as_mapping, shown
from ..numerics.checks import as_positive
from ..programs.base import Program
from ..programs.declared import SpecialProgram, name_of_cone
from .formulation import Formulation, checked_program


def certified(
    problem: Formulation | Program,
    values: Mapping[str, Any],
    duals: Mapping[str, Any] | None,
    seconds: float | None = None,
) -> Certificate:
    """Return what a point, and optionally multipliers, prove about a problem or a program."""
    program = problem if isinstance(problem, Program) else checked_program(problem)
    allowed = None if seconds is None else as_positive(seconds, "seconds", or_zero=True)
    given = as_mapping(values, "values", "the values of the variables by name")
    variables = declared_variables(problem) if isinstance(problem, Formulation) else program.declaration.variables
    _require_known(given, variables, "values", "variable")
    if duals is not None and not (isinstance(program, SpecialProgram) and program.proof is not None):
        # A proof of its own may know further multipliers.
        as_mapping(duals, "duals", "multipliers by name")
        if not set(duals) <= program.declaration.constraints.keys():
            _require_known(duals, _names_of_multipliers(problem, program), "duals", "constraint")
    with quiet_about_sparsity():
        return certify_program(program, values, duals, allowed)


def _names_of_multipliers(problem: Formulation | Program, program: Program) -> list[str]:
    """Return the names of all constraints, also of those that are empty, and of what else has multipliers."""
    declaration = program.declaration
    names = list(declaration.constraints)
    if isinstance(problem, Formulation):
        names = list(asked_by_name(problem, "constraints", declared_variables(problem)))
    names += [name_of_cone(name, declaration) for name, v in declaration.variables.items() if v.attributes["PSD"]]
    with suppress(ReductionRefused):
        names.append(program.linear_sdp().cone)
    with suppress(ReductionRefused):
        names.append(program.separable_sdp().name)
    return list(dict.fromkeys(names))


def _require_known(given: Iterable[Any], known: Iterable[str], argument: str, what: str) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            there = f"there are {', '.join(map(repr, names))}" if names else "there are none"
            raise InvalidInput(f"{argument} has {shown(name)}, and there is no such {what}; {there}", argument)
