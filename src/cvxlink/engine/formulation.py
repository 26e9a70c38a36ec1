"""What a formulation may provide besides the declaration of its program."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from dataclasses import fields as fields_of
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidInput, InvalidProblem
from ..model.declared import Declared, as_values, declared_variables
from ..numerics.arguments import as_choice, as_mapping
from ..numerics.checks import as_count, as_labels
from ..numerics.matrices import Arrays, Congruence, Matrix, indicators
from ..programs.base import Program
from ..programs.declared import DeclaredProgram, SpecialProgram
from ..programs.linear_sdp import LinearSDP
from .sampling import require_agreement


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a formulation derives from its variables. Every field is optional; a costly one may be a function.

    Parameters
    ----------
    kernel : matrix or function
        The kernel, n × n, an array or a product.
    embedding : array or function
        The points in feature space, one row each, if the method has its own coordinates.
    affinity : array, sparse matrix or function
        The input of spectral clustering, if it is not the kernel without its negative entries. A function gets the
        number of clusters, or None if that is not known yet.
    propagated : matrix or function
        What the links imply for every pair of points, if the method propagates links.
    scores : array or function
        One row per point and one column per class, if the method propagates labels.
    classes : array
        The names of the classes, one per column of the scores.
    weights : array
        The weight of each point in k-means; equal by default.
    measures : mapping or function
        Further numbers about the solution, by name.
    propagation : tuple of three matrices
        Propagation within the graph and into it, P_GG and P_GH, and the null vectors of I − P_GG as columns. They
        define which labelings are stationary; see :func:`cvxlink.stationarity`.
    rounding : function
        ``rounding(random_state, n_init)`` returns a clustering that keeps the links, for problems that know how many
        clusters there are.
    """

    kernel: Matrix | Callable[[], Matrix] | None = None
    embedding: np.ndarray | Callable[[], np.ndarray] | None = None
    affinity: Any = None
    propagated: Any = None
    scores: np.ndarray | Callable[[], np.ndarray] | None = None
    classes: np.ndarray | None = None
    weights: np.ndarray | None = None
    measures: Mapping[str, float] | Callable[[], Mapping[str, float]] = field(default_factory=dict)
    propagation: tuple[Any, Any, np.ndarray] | Callable[[], Any] | None = None
    rounding: Callable[[Any, int], np.ndarray] | None = None

    def get(self, name: str) -> Any:
        """Return a field, computed if it was given as a function."""
        as_choice(name, "name", [field.name for field in fields_of(self)])
        value = getattr(self, name)
        return value() if callable(value) else value

    def affinity_for(self, n_clusters: int | None) -> Any:
        """Return the affinity for a number of clusters, or None if the method has none of its own."""
        if n_clusters is not None:
            as_count(n_clusters, "n_clusters")
        return self.affinity(n_clusters) if callable(self.affinity) else self.affinity


class Formulation(Declared):
    """A declared program and what its author knows about it; :class:`~cvxlink.Problem` adds solving."""

    prefers: ClassVar[str | None] = None
    adjustable: ClassVar[tuple[str, ...]] = ()

    _said_about_the_program = (
        "tex",
        "program",
        "equivalents",
        "prefers",
        "point_from",
        "remarks",
        "cautions",
        "adjustable",
    )

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
        values, duals = as_mapping(values, "values"), as_mapping(duals, "duals", "multipliers by name")
        return _named(values, self.declaration.variables), _named(duals, self.declaration.constraints)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Sentences that ``explain()`` shows with the plan."""
        return ()

    def cautions(self, n_clusters: int | None = None) -> tuple[str, ...]:
        """Return sentences on what will go wrong with these data, each with a remedy.

        ``solve`` warns with them before anything is solved, ``explain()`` shows them, and ``cluster`` warns with those
        that the number of clusters adds.
        """
        return ()

    def learnt(self, values: Arrays) -> Learnt:
        """Return what a solution means for clustering; by default, a single symmetric variable is the kernel.

        ``values["K"]`` is an array; ``values.stored["K"]`` may be a product, which is cheaper to work with.
        """
        values = self.answer(values)
        square = [name for name, v in declared_variables(self).items() if v.ndim == 2 and v.is_symmetric()]
        return Learnt(kernel=values.stored[square[0]] if len(square) == 1 else None)

    def answer(self, values: Any) -> Arrays:
        """Return a point, checked to have a value of the right shape for each variable of the program."""
        return as_values(declared_variables(self), values, "values")

    @property
    def changeable(self) -> tuple[str, ...]:
        """The names that :meth:`changed` takes: the fields of a dataclass, or the attributes of any other class."""
        if is_dataclass(self):
            return tuple(one.name for one in fields_of(self) if one.init)
        return tuple(name for name in self.__getstate__() if not name.startswith("_"))

    def changed(self, /, **fields: Any) -> Any:
        """Return the same problem with other values for some of its fields: ``problem.changed(mu=0.3)``."""
        for name in fields:
            if name not in self.changeable:
                has = f"it has {', '.join(self.changeable)}" if self.changeable else "it has none that are known"
                raise InvalidInput(f"{self.called} has no field {name!r}; {has}", name)
        return self._with_fields(fields)

    def _with_fields(self, given: Mapping[str, Any]) -> Any:
        if not given:
            return self
        if is_dataclass(self):
            return replace(self, **given)
        other = copy.copy(self)
        for name, value in given.items():
            setattr(other, name, value)
        return other

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
        if isinstance(program, DeclaredProgram) and program.problem is not problem:
            raise InvalidProblem(
                f"{type(problem).__name__}.program belongs to another problem, a {type(program.problem).__name__}; "
                f"make it with SpecialProgram(self, …)"
            )
        if isinstance(program, LinearSDP):
            program = SpecialProgram(problem, program)
        if isinstance(program, SpecialProgram):
            require_agreement(program)
        problem.__dict__["_checked_program"] = program
    return problem.__dict__["_checked_program"]


def _named(given: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}
