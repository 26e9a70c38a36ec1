"""What a formulation may say about its program, besides declaring it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidProblem
from ..model.declared import Declared, declared_variables
from ..numerics.checks import as_labels
from ..numerics.matrices import Arrays, Congruence, indicators
from ..programs.base import Program
from ..programs.declared import DeclaredProgram, SpecialProgram
from ..programs.linear_sdp import LinearSDP
from .learnt import Learnt
from .sampling import require_agreement


class Formulation(Declared):
    """A declared program, and what its author knows about it. :class:`~cvxlink.Problem` adds solving."""

    prefers: ClassVar[str | None] = None
    adjustable: ClassVar[tuple[str, ...]] = ()

    _said_about_the_program = ("tex", "program", "equivalents", "prefers", "point_from", "remarks", "adjustable")

    @cached_property
    def program(self) -> Program:
        """The declared program, as declaration and as data; it is read once."""
        return DeclaredProgram(self)

    @property
    def equivalents(self) -> Mapping[str, Formulation]:
        """Other programs with the same optimum, by the name of the form.

        Such a program has the variables of this one, under the same names, and may have more; otherwise
        :meth:`point_from` says how to come back.
        """
        return {}

    def point_from(
        self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return variables and multipliers of this program from those of an equivalent one: those of the same names."""
        return _named(values, self.declaration.variables), _named(duals, self.declaration.constraints)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences that ``explain()`` says besides the plan."""
        return ()

    def learnt(self, values: Arrays) -> Learnt:
        """Return what a solution means for clustering: the one square symmetric variable is a kernel, if there is one.

        ``values["K"]`` is an array; ``values.stored["K"]`` may be a product that is cheaper to work with.
        """
        square = [name for name, v in declared_variables(self).items() if v.ndim == 2 and v.is_symmetric()]
        return Learnt(kernel=values.stored[square[0]] if len(square) == 1 else None)

    def point_of_clustering(self, labels: Any) -> dict[str, Any] | None:
        """Return the variables that a clustering stands for, where it is a point of the program.

        For a program without data of a special kind, in one symmetric matrix, that is the kernel of the clustering: 1
        within clusters and 0 between.
        """
        (name, variable), *others = declared_variables(self).items()
        special = isinstance(self.program, SpecialProgram) and self.program.proof is not None
        if special or others or variable.ndim != 2 or not variable.is_symmetric():
            return None
        H = indicators(as_labels(labels, variable.shape[0]))
        return {name: Congruence(H, np.eye(H.shape[1]))}


def checked_program(problem: Formulation) -> Program:
    """Return the program of a problem; data that the formulation supplies are first compared with its declaration."""
    if "_checked_program" not in problem.__dict__:
        program = problem.program
        if not isinstance(program, Program):
            raise InvalidProblem(
                f"{type(problem).__name__}.program must be a program, such as a SpecialProgram, not {program!r}; the "
                f"kind of program in words belongs in about = About(program=…)"
            )
        if isinstance(program, LinearSDP):
            program = SpecialProgram(problem, program)
        if isinstance(program, SpecialProgram) and (program.proof is not None or isinstance(program.data, LinearSDP)):
            require_agreement(program)
        problem.__dict__["_checked_program"] = program
    return problem.__dict__["_checked_program"]


def _named(given: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}
