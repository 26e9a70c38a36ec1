"""The base class of formulations: a declared program that can be explained, solved, exported and prepared."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import cvxpy as cp

from ..certificates import Certificate, certify_program
from ..numerics.arguments import as_instance
from ..programs.base import Program
from ..programs.status import DEFAULT_ACCURACY
from . import exchange, plan, solve
from .compiled import Prepared
from .formulation import Formulation, checked_program
from .options import Options, signature
from .solution import Solution


class Problem(Formulation):
    r"""A declared convex program.

    A formulation is a subclass, usually a frozen dataclass, with three methods: :meth:`variables`, :meth:`objective`
    and :meth:`constraints`. Nothing else is needed: solvers, printing, certificates, clustering and the table of
    methods work from the declaration. :mod:`cvxlink.terms` has parts to build it from.

    Notes
    -----
    A subclass may also define:

    ``about``
        An :class:`~cvxlink.About`: the paper, the kind of program, what it takes and yields, how it is clustered.
    ``tex``
        LaTeX for the objective and constraints, by name, where the terms have none.
    ``convex``
        False for a program that is solved by its own route or through an equivalent program.
    :meth:`learnt`
        What the variables mean for clustering, if the kernel is not simply the one symmetric variable.
    ``program``
        The same program as data, with its own routes and proof: a :class:`~cvxlink.SpecialProgram`.
    ``equivalents``, ``prefers``, :meth:`point_from`
        Other programs with the same optimum, the one that is solved by default, and the way back.
    ``remarks``
        Sentences that ``explain()`` shows with the plan.
    ``adjustable``
        The fields that may change in a program compiled by :meth:`prepare`; the declaration must read numbers that
        depend on them with :meth:`parameter`.

    These members describe one program. A subclass or a mixin that changes variables, objective or constraints
    therefore does not inherit ``tex``, ``program``, ``equivalents``, ``prefers``, ``point_from``, ``remarks`` and
    ``adjustable``, nor the paper and the kind of program in ``about``.
    """

    @property
    def forms(self) -> tuple[str, ...]:
        """The names of the equivalent programs that can be passed to CVXPY."""
        return plan.forms_of(self)

    @property
    def routes(self) -> tuple[str, ...]:
        """The names of our own algorithms that can solve it without CVXPY."""
        return plan.routes_of(self)

    def to_cvxpy(self, form: str | None = None, presolve: bool = False) -> cp.Problem:
        """Return a plain ``cvxpy.Problem`` to inspect or to change.

        By default this is the declared program, or its first equivalent if it is not convex; ``form`` selects another
        form, and ``presolve`` applies the reductions. (``solve(solver=…)`` passes ``to_cvxpy("dual", presolve=True)``
        to the solver if there is a dual form.)
        """
        return plan.to_cvxpy(self, form, presolve)

    def explain(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, route: str | None = None
    ) -> plan.Plan:
        """Return the plan that ``solve`` would follow; print it to see the sizes before and after each reduction."""
        return plan.make_plan(self, Options(solver, form, presolve, route))

    def solve(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, **options: Any
    ) -> Solution:
        """Solve the problem and certify the answer.

        The arguments are those of :class:`~cvxlink.Options`.
        """
        return solve.solve(self, Options.of(solver=solver, form=form, presolve=presolve, **options))

    def prepare(
        self,
        solver: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Compile the program once, to solve it many times with different numbers.

        After ``prepared = problem.prepare(solver="SCS")``, each ``prepared.solve(mu=0.3)`` returns the certified
        solution of the problem with that mu. ``problem.adjustable`` lists the fields that may change. Routes need no
        compiling and are faster still; this is for comparing solvers.
        """
        return Prepared(self, Options(solver, accuracy=accuracy, solver_options=solver_options))

    def export(self, path: Any, form: str | None = None, presolve: bool = True, store_problem: bool = True) -> Path:
        """Write the program that a solver would get to a file, to solve it elsewhere.

        Parameters
        ----------
        path : path
            ``*.dat-s`` for SDPA's sparse format, ``*.cbf`` for the Conic Benchmark Format. A file with ``.lift`` added
            to that name is written next to it; with both, :func:`cvxlink.bring_back` turns a result into a lifted and
            certified solution of this problem.
        form, presolve
            As in :meth:`solve`; by default the dual form if there is one, after the reductions.
        store_problem : bool
            Whether the second file stores this problem. Graphs, links, labels, arrays, numbers and text can be stored;
            without, ``bring_back(…, problem=…)`` takes the problem.
        """
        return exchange.export(self, path, form, presolve, store_problem)


Problem.solve.__signature__ = signature()  # type: ignore[attr-defined]
Problem.solve.__doc__ = f"""Solve the problem and certify the answer.

{cleandoc(Options.__doc__ or "").partition(chr(10) * 2)[2]}

Returns
-------
Solution
"""


def certify(
    problem: Problem | Program, values: Mapping[str, Any], duals: Mapping[str, Any] | None = None
) -> Certificate:
    """Return what a point, and optionally multipliers, prove about a problem.

    Parameters
    ----------
    problem : Problem or Program
    values : dict
        A value for each declared variable.
    duals : dict, optional
        Multipliers by the name of the constraint. For lhs = rhs and lhs ≤ rhs this is the change of the optimum per
        unit of u in rhs + u (CVXPY reads a ≥ b as b ≤ a), for a semidefinite constraint the slack matrix.
    """
    if not isinstance(problem, Program):
        problem = checked_program(as_instance(problem, Formulation, "problem", "a problem or a program"))
    return certify_program(problem, values, duals)
