"""What users hold: a declared program that can be explained, solved, exported and prepared for many solves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cvxpy as cp

from ..certificates import Certificate, certify_program
from ..programs.base import Program
from ..programs.status import DEFAULT_ACCURACY
from . import exchange, plan, solve
from .compiled import Prepared
from .formulation import Formulation, checked_program
from .options import Options, signature
from .solution import Solution


class Problem(Formulation):
    r"""A convex program, declared.

    A formulation is a subclass with three methods, :meth:`variables`, :meth:`objective` and :meth:`constraints`, and
    usually a frozen dataclass. That is all it has to say: solvers, printing, certificates, clustering and the table of
    methods work from the declaration. :mod:`cvxlink.terms` has parts to build it from.

    Notes
    -----
    What a subclass may add:

    ``about``
        An :class:`~cvxlink.About`: the paper, the kind of program, what it takes and yields, how it is clustered.
    ``tex``
        LaTeX for the objective and for constraints by name, where the terms do not know it.
    ``convex``
        False for a program that only a route of its own, or an equivalent program, can solve.
    :meth:`learnt`
        What the variables mean for clustering, where it is not simply the one symmetric variable.
    ``program``
        The same program as data, with routes and a proof of its own: a :class:`~cvxlink.SpecialProgram`.
    ``equivalents``, ``prefers``, :meth:`point_from`
        Other programs with the same optimum, the one that is solved unless another is asked for, and the way back.
    ``remarks``
        What ``explain()`` should say besides the plan.
    ``adjustable``
        The fields that may change in a program compiled once by :meth:`prepare`; the declaration reads the numbers that
        follow from them by :meth:`parameter`.

    What is said about one program is not true of another: a subclass or a mixin that changes variables, objective or
    constraints inherits none of ``tex``, ``program``, ``equivalents``, ``prefers``, ``point_from``, ``remarks`` and
    ``adjustable``, and neither the paper nor the kind of program from ``about``.
    """

    @property
    def forms(self) -> tuple[str, ...]:
        """The equivalent programs CVXPY can be given."""
        return plan.forms_of(self)

    @property
    def routes(self) -> tuple[str, ...]:
        """The algorithms that can solve it without CVXPY."""
        return plan.routes_of(self)

    def to_cvxpy(self, form: str | None = None, presolve: bool = False) -> cp.Problem:
        """Return a plain ``cvxpy.Problem``, to look at or to change.

        By default the program as it is declared, or its first equivalent where it is not convex; with ``presolve``
        after the reductions, in the form asked for. (What ``solve(solver=…)`` hands to a solver is
        ``to_cvxpy("dual", presolve=True)`` where there is a dual form.)
        """
        return plan.to_cvxpy(self, form, presolve)

    def explain(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, route: str | None = None
    ) -> plan.Plan:
        """Return the plan ``solve`` would follow, with sizes before and after each reduction; print it."""
        return plan.make_plan(self, Options(solver, form, presolve, route))

    def solve(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, **options: Any
    ) -> Solution:
        """Solve, lift, certify.

        The arguments are those of :class:`~cvxlink.Options`.
        """
        return solve.solve(self, Options.of(solver=solver, form=form, presolve=presolve, **options))

    def prepare(
        self,
        solver: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Compile the program once, for solves with other numbers.

        ``prepared = problem.prepare(solver="SCS")``, and then ``prepared.solve(mu=0.3)``, any number of times: each is
        the certified solution of the problem with that mu. ``problem.adjustable`` names what may change. Routes need no
        compiling and are faster still where there is one; this is for comparing solvers.
        """
        return Prepared(self, Options(solver, accuracy=accuracy, solver_options=solver_options))

    def export(self, path: Any, form: str | None = None, presolve: bool = True) -> Path:
        """Write the program, as a solver would be given it, to a file for solvers elsewhere.

        Parameters
        ----------
        path : path
            ``*.dat-s`` for SDPA's sparse format, ``*.cbf`` for the Conic Benchmark Format. A file with ``.lift`` added
            to that name is put beside it; with both, :func:`cvxlink.bring_back` makes a solution of this problem,
            lifted and certified, from a result.
        form, presolve
            As in :meth:`solve`; by default the dual form where there is one, after the reductions.
        """
        return exchange.export(self, path, form, presolve)


Problem.solve.__signature__ = signature()  # type: ignore[attr-defined]
Problem.solve.__doc__ = f"Solve, lift, certify.\n{(Options.__doc__ or '').split('.', 1)[1]}"


def certify(
    problem: Problem | Program, values: Mapping[str, Any], duals: Mapping[str, Any] | None = None
) -> Certificate:
    """Return what a point, and multipliers if there are any, prove about a problem.

    Parameters
    ----------
    problem : Problem or Program
    values : dict
        A value for each declared variable.
    duals : dict, optional
        Multipliers by the name of the constraint: for lhs = rhs and lhs ≤ rhs the change of the optimum per unit of u
        in rhs + u (CVXPY reads a ≥ b as b ≤ a), for a semidefinite one the slack matrix.
    """
    program = problem if isinstance(problem, Program) else checked_program(problem)
    return certify_program(program, values, duals)
