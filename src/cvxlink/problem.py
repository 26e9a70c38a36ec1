"""What every formulation declares: variables, an objective, named constraints. Nothing about solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import cvxpy as cp
import numpy as np

from . import mathematics
from .citations import Citation
from .declaration import Declaration, Sizes
from .errors import ReductionRefused
from .matrices import Congruence, indicators
from .status import DEFAULT_ACCURACY
from .validation import as_labels

if TYPE_CHECKING:
    from pathlib import Path

    from .backends.base import Progress
    from .linear_sdp import LinearSDP
    from .matrices import Arrays, Matrix
    from .plan import Plan
    from .prepared import Prepared
    from .solution import Solution


class Problem(ABC):
    r"""A convex program, declared.

    A formulation is a subclass with three methods, :meth:`variables`, :meth:`objective` and
    :meth:`constraints`, and usually a frozen dataclass. That is all it has to say: solvers, printing, certificates,
    clustering and the table of methods work from the declaration. :mod:`cvxlink.terms` has parts to build it from.

    Notes
    -----
    What a subclass may add:

    ``tex``
        LaTeX for the objective (key ``"objective"``) and for each constraint by its name, used by
        ``print(problem)`` and in notebooks; without it CVXPY's own wording is shown.
    ``cites``
        The paper and equation.
    ``declared_form``
        What the program is called among ``forms``; "paper" where it is printed in one.
    ``convex``
        False for a program that only a route of its own can solve.
    ``yields_kernel``
        False for a method that yields an affinity or labels and no kernel.
    ``cluster_method``
        How the paper clusters; otherwise k-means on an embedding of its own, or kernel k-means.
    ``program``, ``takes``, ``yields``
        For the table of methods: what kind of program it is, what is known beforehand (labels, hard or soft links), and
        what comes of it.
    ``equivalents``
        Other programs with the same optimum, by the name of the form.
    :meth:`linear_sdp`
        The same program as data, where reading it off the declaration would be slow.
    ``structure``
        The same program as data of another kind that has routes and proofs of its own.
    :meth:`kernel_of`, :meth:`embedding_of`, :meth:`affinity_of`, :meth:`propagated_of`, :meth:`scores_of`
        What is made of the variables for clustering, where it is not simply the one symmetric variable.
    :meth:`measures_of`, ``propagation``
        Further numbers about a solution; what a labeling has to stand still under, for ``stationarity()``.
    ``remarks``
        What ``explain()`` should say besides the plan.
    ``adjustable``, ``quantities``, ``with_quantities``
        For :meth:`prepare`: the fields that may change in a compiled program; the numbers of the declaration that
        follow from them, which it reads by :meth:`quantity`; and a program with the same optimum that has such numbers,
        where this one has not.
    """

    cites: ClassVar[Citation | None] = None
    declared_form: ClassVar[str] = "declared"
    cluster_method: ClassVar[str | None] = None
    program: ClassVar[str] = "declared"
    takes: ClassVar[str] = ""
    yields: ClassVar[str] = "kernel"
    convex: ClassVar[bool] = True
    adjustable: ClassVar[tuple[str, ...]] = ()
    quantities: ClassVar[tuple[str, ...]] = ()
    yields_kernel: ClassVar[bool] = True

    def __init_subclass__(cls, **options: Any) -> None:
        """Forget, in a subclass that declares another program, what was said about the one it inherits."""
        super().__init_subclass__(**options)
        if not {"variables", "objective", "constraints"} & cls.__dict__.keys():
            return
        for name in (
            "cites",
            "tex",
            "equivalents",
            "point_from",
            "structure",
            "linear_sdp",
            "sizes",
            "remarks",
            "measures_of",
            "propagation",
            "adjustable",
            "quantities",
            "with_quantities",
        ):
            if name not in cls.__dict__:
                setattr(cls, name, Problem.__dict__[name])

    @property
    def tex(self) -> Mapping[str, str]:
        """LaTeX for the objective and the constraints, by name."""
        return {}

    @abstractmethod
    def variables(self) -> dict[str, cp.Variable]:
        """Return new CVXPY variables by name."""

    @abstractmethod
    def objective(self, **variables: Any) -> cp.Minimize | cp.Maximize:
        """Return the objective; the arguments are the variables by name."""

    @abstractmethod
    def constraints(self, **variables: Any) -> Mapping[str, Any]:
        """Return the constraints by name: each one constraint, or a list of them."""

    # ------------------------------------------------------------------ what follows from it

    def declare(self) -> Declaration:
        """Return the declared program, checked: well formed, and convex."""
        return Declaration.of(self)

    @property
    def equivalents(self) -> Mapping[str, Problem]:
        """Other programs with the same optimum, by the name of the form.

        Such a program has the variables of this one, under the same names, and may have more; otherwise
        :meth:`point_from` says how to come back.
        """
        return {}

    def point_from(
        self, form: str, values: Mapping[str, Any], duals: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return variables and multipliers of this program from those of an equivalent one: those of the same names."""
        variables = self.variables()
        return _named(values, variables), _named(duals, self.constraints(**variables))

    @property
    def structure(self) -> Any:
        """The program as data of a kind in :mod:`cvxlink.structures`; None for programs of no such kind."""
        return None

    @property
    def sizes(self) -> Sizes:
        """How large the program is."""
        return self.declare().sizes

    @property
    def remarks(self) -> tuple[str, ...]:
        """What ``explain()`` says besides the plan, a sentence each."""
        return ()

    @property
    def with_quantities(self) -> Problem:
        """The program whose quantities may change: this one."""
        return self

    def quantity(self, name: str) -> Any:
        """Return one of the quantities; in a program that is compiled once, the CVXPY parameter that stands for it."""
        return self.__dict__.get("_standing_for", {}).get(name, getattr(self, name))

    def linear_sdp(self) -> LinearSDP:
        """Return the program as data, min ⟨C, K⟩ over A(K) = b, K ⪰ 0; refuse if it is not of that kind."""
        from .reading import read_declaration

        if self.structure is not None:  # known without reading it
            raise ReductionRefused(self.structure.not_linear)
        return read_declaration(self)

    def kernel_of(self, values: Arrays) -> Matrix | None:
        """Return the kernel a solution yields: the value of the one square symmetric variable, if there is one.

        ``values["K"]`` is an array; ``values.stored["K"]`` may be a product that is cheaper to work with.
        """
        square = [name for name, v in self.variables().items() if v.ndim == 2 and v.is_symmetric()]
        return values.stored[square[0]] if len(square) == 1 else None

    def embedding_of(self, values: Arrays) -> np.ndarray | None:
        """Return the embedding a solution yields, one row a point, where the method has one of its own."""
        return None

    def affinity_of(self, values: Arrays, n_clusters: int | None = None) -> np.ndarray | None:
        """Return the affinity a solution yields for spectral clustering, where it is not that of the kernel.

        Where it depends on how many clusters are wanted, None stands for not knowing yet.
        """
        return None

    def propagated_of(self, values: Arrays) -> Any:
        """Return the matrix of propagated links a solution yields, where the method propagates links."""
        return None

    def point_of_clustering(self, labels: Any) -> dict[str, Any] | None:
        """Return the variables that a clustering stands for, where it is a point of the program.

        For a program of no special kind in one symmetric matrix that is the kernel of the clustering, 1 within clusters
        and 0 between.
        """
        (name, variable), *others = self.variables().items()
        if self.structure is not None or others or variable.ndim != 2 or not variable.is_symmetric():
            return None
        H = indicators(as_labels(labels, variable.shape[0]))
        return {name: Congruence(H, np.eye(H.shape[1]))}

    def scores_of(self, values: Arrays) -> np.ndarray | None:
        """Return scores, a row a point and a column a class, where the method propagates labels."""
        return None

    def measures_of(self, values: Arrays) -> dict[str, float]:
        """Return further numbers about a solution, by name."""
        return {}

    @property
    def propagation(self) -> tuple[Any, Any, np.ndarray] | None:
        """Propagation within the graph and into it, P_GG and P_GH, and the null vectors of I − P_GG as columns.

        None where the answer is no labeling that could be stationary.
        """
        return None

    @property
    def point_weights(self) -> np.ndarray | None:
        """What each point weighs in k-means, with a kernel or an embedding; None: all alike."""
        return None

    @property
    def forms(self) -> tuple[str, ...]:
        """The equivalent programs CVXPY can be given."""
        from .plan import forms_of

        return forms_of(self)

    @property
    def routes(self) -> tuple[str, ...]:
        """The algorithms of ours that can solve it without CVXPY."""
        from .plan import routes_of

        return routes_of(self)

    def to_cvxpy(self, form: str | None = None, presolve: bool = False) -> cp.Problem:
        """Return a plain ``cvxpy.Problem``, to look at or to change.

        By default the program as it is declared, or its first equivalent where it is not convex; with ``presolve``
        after the reductions, in the form asked for. (What ``solve(solver=…)`` hands to a solver is
        ``to_cvxpy("dual", presolve=True)`` where there is a dual form.)
        """
        from .plan import make_plan

        default = self.declared_form if self.convex else next(iter(self.equivalents), self.declared_form)
        plan = make_plan(self, solver=None, form=form or default, presolve=presolve)
        return plan.program.declare().to_cvxpy()

    def explain(
        self, solver: str | None = None, form: str | None = None, presolve: bool = True, route: str | None = None
    ) -> Plan:
        """Return the plan ``solve`` would follow, with sizes before and after each reduction; print it."""
        from .plan import make_plan

        return make_plan(self, solver=solver, form=form, presolve=presolve, route=route)

    def solve(
        self,
        solver: str | None = None,
        form: str | None = None,
        presolve: bool = True,
        *,
        route: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        solver_options: Mapping[str, Any] | None = None,
        time_limit: float | None = None,
        memory_limit: float | str | None = None,
        isolate: bool = False,
        threads: int | None = None,
        strict: bool = True,
        verbose: bool = False,
        random_state: Any = 0,
        progress: Callable[[Progress], Any] | None = None,
        start: Any = None,
    ) -> Solution:
        """Solve, lift, certify.

        Parameters
        ----------
        solver : str, optional
            Any SDP solver CVXPY can reach. By default a route of ours where one applies, otherwise the fastest suitable
            solver that is installed; ``explain()`` says which and why.
        form : str, optional
            One of ``forms``, for CVXPY. By default the fastest.
        presolve : bool
            Apply the reductions that are exact for this problem.
        route : str, optional
            One of ``routes``, an algorithm of ours, instead of a solver and a form.
        accuracy : float or None
            What OPTIMAL shall mean: largest violation and certified relative gap. It is also translated into
            tolerances of the solver; None leaves these as the solver has them.
        solver_options : dict, optional
            Passed to the solver as they are; they win over ``accuracy``.
        time_limit : float, optional
            Seconds after which a solver is stopped, whatever it is doing (it runs in a child process); a route stops
            after the iteration it is in.
        memory_limit : float or str, optional
            Bytes, or "4GB": what a solver or route may take, all its processes together, before it is stopped (it runs
            in a child process).
        isolate : bool
            Run the solver or route in a child process in any case: a crash then is an outcome, not the end of Python.
        threads : int, optional
            Pin dense algebra, and solvers that can be told, to so many threads. By default they run on as many as they
            like here, and on one a core in a child process. The number is in ``solution.resources``.
        strict : bool
            Raise :class:`~cvxlink.SolveFailed` on anything but OPTIMAL and INACCURATE, and warn on the latter;
            otherwise return the solution to look at.
        verbose : bool
            Let the solver print.
        random_state : None, int or numpy generator
            Where a route starts at random, everything follows from it: the same number, the same answer.
        progress : function, optional
            Called after each step of an iterative route with a :class:`~cvxlink.Progress`: step, seconds, gap, and
            where there are such, objective, bound and rank. An exception it raises ends the solve.
        start : Solution or array, optional
            An earlier answer on the same points, or a factor with a row for each, to start from; the low-rank route
            does.
        """
        from .solve import solve

        return solve(
            self,
            solver=solver,
            form=form,
            presolve=presolve,
            route=route,
            accuracy=accuracy,
            solver_options=solver_options,
            time_limit=time_limit,
            memory_limit=memory_limit,
            isolate=isolate,
            threads=threads,
            strict=strict,
            verbose=verbose,
            random_state=random_state,
            progress=progress,
            start=start,
        )

    def prepare(
        self,
        solver: str | None = None,
        accuracy: float | None = DEFAULT_ACCURACY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> Prepared:
        """Compile the program once, for solves with other numbers.

        ``prepared = problem.prepare(solver="SCS")``, and then ``prepared.solve(mu=0.3)``, any number of times: each
        is the certified solution of the problem with that mu. What may change is in ``problem.adjustable``. Routes
        of ours need no compiling and are faster still where there is one; this is for comparing solvers.
        """
        from .prepared import Prepared

        return Prepared(self, solver, accuracy, solver_options)

    def export(self, path: Any, form: str | None = None, presolve: bool = True) -> Path:
        """Write the program, as a solver would be given it, to a file for solvers elsewhere.

        Parameters
        ----------
        path : path
            ``*.dat-s`` for SDPA's sparse format, ``*.cbf`` for the Conic Benchmark Format. A file with ``.lift`` added
            to that name is put beside it; with both, :func:`cvxlink.bring_back` makes a solution of this problem,
            lifted and certified, of a result.
        form, presolve
            As in :meth:`solve`; by default the dual form where there is one, after the reductions.
        """
        from .exchange.programs import export

        return export(self, path, form, presolve)

    # ------------------------------------------------------------------ printing

    def __str__(self) -> str:
        declaration, tex = self.declare(), self.tex

        def written(name: str, terms: list) -> str:
            return mathematics.plain(tex[name]) if name in tex else declaration.worded(terms)

        verb = "minimise" if isinstance(declaration.objective, cp.Minimize) else "maximise"
        rows = [(verb, written("objective", [declaration.objective]), "")]
        for name, group in declaration.constraints.items():
            rows.append(("" if len(rows) > 1 else "subject to", written(name, group), name))
        width = max(len(text) for _, text, name in rows if name) if len(rows) > 1 else 0
        lines = [_title(self)]
        lines += [f"  {head:<11} {text:<{width}}   {name}".rstrip() for head, text, name in rows]
        shapes = (f"{n}: {'×'.join(map(str, v.shape)) or 'scalar'}" for n, v in declaration.variables.items())
        lines.append(f"  {'over':<11} {', '.join(shapes)}")
        lines.append(f"  {'size':<11} {declaration.sizes}")
        if self.cites:
            lines.append(f"  {'from':<11} {self.cites}")
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        declaration, tex = self.declare(), self.tex

        def written(name: str, terms: list) -> str:
            return tex.get(name) or declaration.tex(terms)

        verb = r"\min" if isinstance(declaration.objective, cp.Minimize) else r"\max"
        over = ",".join(declaration.variables)
        lines = [rf"{verb}_{{{over}}} \quad & {written('objective', [declaration.objective])}"]
        head = r"\text{s.t.} \quad"
        for name, group in declaration.constraints.items():
            lines.append(f"{head} & {written(name, group)}")
            head = ""
        return "$$\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}$$"


def _named(given: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _title(problem: Problem) -> str:
    summary = (type(problem).__doc__ or "").strip().splitlines()
    # A dataclass without a docstring gets its signature as one: no use to a reader.
    useful = summary and not summary[0].startswith(f"{type(problem).__name__}(")
    return f"{type(problem).__name__}: {summary[0].rstrip('.')}" if useful else type(problem).__name__
