"""The base class of formulations: a declared program that can be explained, solved, exported and prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from inspect import cleandoc
from pathlib import Path
from typing import Any

import cvxpy as cp

from ..certificates import Certificate
from ..certificates.diagnosis import Diagnosis
from ..programs.status import DEFAULT_ACCURACY
from ..reductions.base import Reduced
from . import diagnosis, exchange, plan, solve, variation
from .compiled import Prepared
from .formulation import Formulation
from .given_points import certified
from .options import Options, signature
from .path import SolutionPath, solve_path
from .reduced import reduced
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
    :meth:`cautions`
        Sentences that ``solve()`` warns with before it solves: what will go wrong with these data, and the remedy.
    ``adjustable``
        The fields that may change in a program compiled by :meth:`prepare`; the declaration must read numbers that
        depend on them with :meth:`parameter`.

    These members describe one program. A subclass or a mixin that changes variables, objective or constraints
    therefore does not inherit ``tex``, ``program``, ``equivalents``, ``prefers``, ``point_from``, ``remarks``,
    ``cautions`` and ``adjustable``, nor the paper and the kind of program in ``about``.
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
        self,
        solver: str | None = None,
        form: str | None = None,
        presolve: bool = True,
        route: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
    ) -> plan.Plan:
        """Return the plan that ``solve`` would follow; print it to see the sizes before and after each reduction.

        If the program has no strictly feasible point after the reductions, and is small enough to find out, what is
        printed names the constraints that leave none. It also says where the accuracy asks for more than the tolerances
        of the solver allow.
        """
        options = Options(solver, form, presolve, route, accuracy)
        return replace(plan.make_plan(self, options), is_explained=True)

    def solve(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, **options: Any
    ) -> Solution:
        """Solve the problem and certify the answer.

        The arguments are those of :class:`~cvxlink.Options`.
        """
        return solve.solve(self, Options.of(solver=solver, form=form, presolve=presolve, **options))

    def why_infeasible(self, time_limit: float | None = None) -> Diagnosis:
        """Return which constraints contradict one another and by how much to relax them; print it to read it.

        Nothing is believed without a check: multipliers prove the contradiction; the rows that are blamed still
        contradict one another without all others, and without any one of them there is a feasible point; and with the
        relaxation there is one as well. For an objective without a finite optimum it returns the direction in which
        it improves without limit, and for any other program that it is feasible.

        Parameters
        ----------
        time_limit : float, optional
            Seconds after which no further subset of the constraints is tested.

        Returns
        -------
        Diagnosis
        """
        return diagnosis.why_infeasible(self, time_limit)

    def certify(
        self, values: Mapping[str, Any], duals: Mapping[str, Any] | None = None, seconds: float | None = None
    ) -> Certificate:
        """Return what a point, and optionally multipliers, prove about this problem; see :func:`cvxlink.certify`."""
        return certified(self, values, duals, seconds)

    def reduce(self, form: str | None = None) -> Reduced:
        """Return the program after the reductions, the way back, and what was done in words.

        ``reduced.program`` is the smaller program, ``reduced.lift.point(values, duals)`` leads from its answer to one
        of this problem. ``form`` selects another form than the declared one, for example "dual".
        """
        return reduced(self, form)

    def without(self, *names: str) -> Varied:
        """Return this problem without some of its constraints, ``problem.without("cannot")``: another program.

        It keeps the data and what the variables mean for clustering; what is known of this program only (a fast path,
        a proof, a paper) is left behind. Variations can be varied further.
        """
        return Varied.of(variation.without(self, names))

    def with_constraints(self, groups: Mapping[str, Any] | None = None, /, **named: Any) -> Varied:
        """Return this problem with further constraints, given by name as functions of the variables.

        A function is called with the variables that it has parameters for:
        ``problem.with_constraints(balance=lambda K: terms.balance(K, 3))``. ``groups`` is a dictionary, for names with
        spaces. The rest is as in :meth:`without`.
        """
        return Varied.of(variation.with_constraints(self, groups, named))

    def __add__(self, term: Any) -> Varied:
        """Return this problem with a term added to its objective: ``problem + (lambda K: 0.1 * cp.trace(K))``.

        The term is a function of the variables, as in :meth:`with_constraints`.
        """
        return Varied.of(variation.plus(self, term))

    def prepare(
        self,
        solver: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Compile the program once, to solve it many times with different numbers.

        After ``prepared = problem.prepare(solver="SCS")``, each ``prepared.solve(mu=0.3)`` returns the certified
        solution of the problem with that mu. ``problem.adjustable`` lists the fields that may change. What is compiled
        is the dual or reduced program that :meth:`solve` would give to that solver, or the declared one if no
        reduction applies; ``print(prepared)`` says which. Routes need no compiling and are faster still.
        """
        return Prepared(self, Options(solver, accuracy=accuracy, solver_options=solver_options))

    def path(self, name: str, values: Any, **options: Any) -> SolutionPath:
        """Solve the problem for several values of one of its numbers, for example along a regularisation path.

        Parameters
        ----------
        name : str
            The field that changes; for a wrapped CVXPY problem, the name of a parameter.
        values : list of numbers
            In the order in which they are solved; for a parameter that is a vector or a matrix, a list of arrays of its
            shape. Neighbours should be close, as each solve starts from the answer
            before it where a route or solver can. Compiling once needs the field in ``adjustable``.
        **options
            Passed on to :meth:`solve`, except ``strict``: a value without an answer, or one that makes the program not
            convex, is a row that says so.
        """
        return solve_path(self, name, values, options)

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


class Varied(variation.Variation, Problem):
    """A problem that differs from another one by some constraints or terms; see :meth:`Problem.without`."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Varied:
        """Return a variation that is checked at once, where it is written; an error names the part that is wrong."""
        varied = cls(**fields)
        _ = varied.declaration
        return varied
