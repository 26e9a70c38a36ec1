"""What a solve returns: values, multipliers, a certificate, timings and the plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..certificates import Certificate, certify_program
from ..certificates.comparable import Errors, comparable_errors
from ..clustering import best_class
from ..errors import CvxlinkError, InvalidInput
from ..model.declared import is_said_of
from ..numerics.checks import as_numbers_of_points
from ..numerics.matrices import Arrays, as_dense, class_shares
from ..numerics.separable import entries_of
from ..numerics.stationarity import stationarity
from ..programs.status import Status
from ..solvers.route import Resources
from .extension import ExtendableKernel
from .formulation import Formulation, Learnt, checked_program
from .plan import Plan


@dataclass(frozen=True)
class Timings:
    """Seconds spent in each stage."""

    reduce: float = 0.0
    compile: float = 0.0
    solve: float = 0.0
    lift: float = 0.0
    certify: float = 0.0

    @property
    def total(self) -> float:
        """The sum without certifying, for comparison with tools that do not certify."""
        return self.reduce + self.compile + self.solve + self.lift

    def __str__(self) -> str:
        stages = ("reduce", "compile", "solve", "lift", "certify")
        return ", ".join(f"{name} {getattr(self, name):.3f} s" for name in stages)


@dataclass(frozen=True)
class RelaxationGap:
    """How far a clustering is from the bound of the relaxation.

    ``value`` is the objective at the kernel of the clustering (1 within clusters, 0 between them), ``bound`` the
    certified lower bound. The gap is meaningful only if the clustering is feasible: ``violated`` is the largest
    violation of a constraint by its kernel.
    """

    value: float
    bound: float
    violated: float

    @property
    def gap(self) -> float:
        """Value minus bound; never negative for a feasible clustering."""
        return self.value - self.bound

    @property
    def feasible(self) -> bool:
        """Whether the clustering satisfies every constraint of the program."""
        return self.violated <= 1e-9

    def __str__(self) -> str:
        text = f"clustering {self.value:.6g}, bound {self.bound:.6g}, gap {self.gap:.3g}"
        return text if self.feasible else f"{text} (the clustering breaks a constraint by {self.violated:.3g})"


@dataclass(frozen=True, eq=False)
class Solution(ExtendableKernel):
    """The outcome of a solve.

    Attributes
    ----------
    problem, status, reason
        The problem, how the solve ended, and why.
    values : Arrays
        The declared variables by name; a large matrix is built when it is accessed.
    duals : Arrays
        Multipliers by the name of the constraint. For lhs = rhs and lhs ≤ rhs this is the change of the optimum per
        unit of u in rhs + u (CVXPY reads a ≥ b as b ≤ a), for ``psd`` the slack matrix.
    certificate : Certificate or None
        What is proven about the answer.
    timings, plan, iterations, options
        The time of each stage, what was done, the number of iterations, and the solver options.
    history : tuple of floats
        For routes that iterate, the error after each iteration: a bound on the distance to the solution for the route
        "spreading", the relative gap for the others. Draw it with ``plotting.plot_convergence``.
    resources : Resources or None
        Threads, whether it ran in its own process, the peak memory of the process it ran in, and what stopped it.
    claimed : Status or None
        What the solver or route said of its answer, before anything was certified. OPTIMAL here and another status
        above is a claim that did not hold.
    tolerances : dict
        The tolerances that the solver was asked for, by the names of its options: what ``accuracy`` or
        ``solver_options`` became. Empty if it kept its own; for a route, the accuracy it was told.
    versions : dict
        The versions of Python, cvxlink, the packages that every solve uses, and the solver.
    """

    problem: Formulation
    status: Status
    reason: str
    plan: Plan
    timings: Timings
    values: Arrays = field(default_factory=Arrays)
    duals: Arrays = field(default_factory=Arrays)
    certificate: Certificate | None = None
    iterations: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    history: tuple[float, ...] = ()
    resources: Resources | None = None
    claimed: Status | None = None
    tolerances: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The declared objective at the solution; NaN if there is none."""
        return self.certificate.value if self.certificate else float("nan")

    @cached_property
    def errors(self) -> Errors | None:
        """Errors that mean the same for all solvers and programs: primal, dual, gap and complementarity.

        They are computed when they are first asked for; None without an answer.
        """
        if self.certificate is None or not self.values:
            return None
        return comparable_errors(checked_program(self.problem), self.values, self.duals, self.certificate)

    @cached_property
    def learnt(self) -> Learnt:
        """What the formulation derives from its variables.

        Measures and stationarity belong to one program: they are left out if a subclass declares another one.
        """
        learnt = self.problem.learnt(self._present())
        if is_said_of(type(self.problem), "learnt"):
            return learnt
        return replace(learnt, measures={}, propagation=None)

    @property
    def propagated(self) -> np.ndarray:
        """The propagated links F, n × n: positive for must, negative for cannot; the size is the strength."""
        return as_dense(self._propagated)

    @property
    def _propagated(self) -> Any:
        propagated = self.learnt.get("propagated")
        if propagated is None:
            raise CvxlinkError(f"{type(self.problem).__name__} does not propagate links to pairs; SRCP and E2CP do")
        return propagated

    def propagated_at(self, i: Any, j: Any) -> np.ndarray:
        """Return the propagated links between points i and j (numbers or arrays) without building the whole matrix."""
        F = self._propagated
        i, j = (as_numbers_of_points(points, F.shape[0], name) for points, name in ((i, "i"), (j, "j")))
        try:
            i, j = np.broadcast_arrays(i, j)
        except ValueError:
            raise InvalidInput(
                f"i and j must have equal lengths, or one of them must be a single point; not {i.size} and {j.size}"
            ) from None
        return entries_of(F, i, j)[()]

    @property
    def labels(self) -> np.ndarray:
        """The class with the largest score at each point, named as in the labels that were given."""
        best = best_class(self.scores)
        return best if self.learnt.classes is None else self.learnt.classes[best]

    @property
    def confidence(self) -> np.ndarray:
        """The confidence in the label of each point: the share of its class in the scores, from 1/classes to 1."""
        return class_shares(self.scores).max(axis=1)

    @property
    def measures(self) -> dict[str, float]:
        """Further numbers about the solution, by name.

        For CSC these are the cost of the cut, how well it satisfies the constraints (the mean over its columns), the
        threshold and the largest feasible threshold, and ``above_optimum``: an upper bound on the cost minus the
        optimum.
        """
        measures = dict(self.learnt.get("measures"))
        certificate = self.certificate
        if "cost" in measures and certificate is not None and certificate.lower_bound is not None:
            measures["above_optimum"] = max(measures["cost"] - certificate.lower_bound, 0.0)
        return measures

    def stationarity(self) -> float:
        """Return how far the answer is from a stationary labeling: 0 if it is one, at most 1.

        See Definition 1 of Wang, Qian & Davidson (2012) and :func:`cvxlink.stationarity`, with S and Q̄ for CSC and
        CSCGFHF, and αS and I for LLGC.
        """
        propagation = self.learnt.get("propagation")
        if propagation is None:
            raise CvxlinkError(
                f"{type(self.problem).__name__} has no labeling that could be stationary; CSC, CSCGFHF and LLGC do"
            )
        return stationarity(self._present()["f"], *propagation)

    def relaxation_gap(self, labels: Any) -> RelaxationGap:
        """Return how far a clustering is from the bound that this solution certifies."""
        if self.certificate is None or self.certificate.lower_bound is None or self.certificate.maximises:
            raise CvxlinkError("there is no certified lower bound to compare a clustering with")
        point = self.problem.point_of_clustering(labels)
        if point is None:
            raise CvxlinkError(
                f"a clustering is no point of {type(self.problem).__name__}; it is one of PCP, KP, NCuts, SSKK, "
                f"LinkedCut and KMeans"
            )
        own = certify_program(checked_program(self.problem), point)
        return RelaxationGap(own.value, self.certificate.lower_bound, own.largest_violation)

    def _present(self) -> Arrays:
        if not self.values:
            raise CvxlinkError(f"there is no answer to look at: {self.status} ({self.reason})")
        return self.values

    def __str__(self) -> str:
        lines = [f"{self.problem.called}: {self.status}, {self.status.sentence} ({self.reason})"]
        if self.certificate is not None:
            lines.append(str(self.certificate))
        if self.values and self.status.has_answer:
            lines += [f"measure        {number:.6g}   {name}" for name, number in self.measures.items()]
        if self.tolerances:
            lines.append("asked for      " + ", ".join(f"{name} {size:g}" for name, size in self.tolerances.items()))
        lines.append(f"timings        {self.timings}")
        if self.resources is not None:
            lines.append(f"ran in         {self.resources}")
        return "\n".join(lines)

    __repr__ = __str__
