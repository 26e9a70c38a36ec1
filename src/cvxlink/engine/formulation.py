"""What a formulation may provide besides the declaration of its program."""

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
    """A declared program and what its author knows about it; :class:`~cvxlink.Problem` adds solving."""

    prefers: ClassVar[str | None] = None
    adjustable: ClassVar[tuple[str, ...]] = ()

    _said_about_the_program = ("tex", "program", "equivalents", "prefers", "point_from", "remarks", "adjustable")

    @cached_property
    def program(self) -> Program:
        """The declared program, as declaration and as data; it is read only once."""
        return DeclaredProgram(self)

    @property
    def equivalents(self) -> Mapping[str, Formulation]:
        """Other programs with the same optimum, by the name of the form.

        Each has the variables of this program under the same names, and may have more; otherwise override
        :meth:`point_from`, which leads back.
        """
        return {}

    def point_from(
        self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return variables and multipliers of this program from those of an equivalent one; by default, by name."""
        return _named(values, self.declaration.variables), _named(duals, self.declaration.constraints)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences that ``explain()`` shows with the plan."""
        return ()

    def learnt(self, values: Arrays) -> Learnt:
        """Return what a solution means for clustering; by default, a single symmetric variable is the kernel.

        ``values["K"]`` is an array; ``values.stored["K"]`` may be a product, which is cheaper to work with.
        """
        square = [name for name, v in declared_variables(self).items() if v.ndim == 2 and v.is_symmetric()]
        return Learnt(kernel=values.stored[square[0]] if len(square) == 1 else None)

    def point_of_clustering(self, labels: Any) -> dict[str, Any] | None:
        """Return a clustering as a point of the program, or None if that is not possible.

        For a program in one symmetric matrix, without data of a special kind, it is the kernel of the clustering: 1
        within clusters and 0 between them.
        """
        (name, variable), *others = declared_variables(self).items()
        special = isinstance(self.program, SpecialProgram) and self.program.proof is not None
        if special or others or variable.ndim != 2 or not variable.is_symmetric():
            return None
        H = indicators(as_labels(labels, variable.shape[0]))
        return {name: Congruence(H, np.eye(H.shape[1]))}


def checked_program(problem: Formulation) -> Program:
    """Return the program of a problem, after comparing data that the formulation supplies with its declaration."""
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
