"""What a solve returns: values, multipliers, a certificate, timings and the plan that was followed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .certificate import Certificate
from .errors import CvxlinkError, InvalidInput
from .graph import Graph
from .matrices import Arrays, Congruence, Matrix, as_dense, class_shares
from .plan import Plan
from .problem import Problem
from .propagated import LARGEST_ARRAY, entries_of
from .status import Status

if TYPE_CHECKING:
    from .backends.base import Resources
    from .extension import Extension


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
        """Everything but certifying, which no peer does."""
        return self.reduce + self.compile + self.solve + self.lift

    def __str__(self) -> str:
        stages = ("reduce", "compile", "solve", "lift", "certify")
        return ", ".join(f"{name} {getattr(self, name):.3f} s" for name in stages)


@dataclass(frozen=True)
class RelaxationGap:
    """How far a clustering is from the bound of the relaxation.

    ``value`` is the objective at the clustering's own kernel (1 within clusters, 0 between), ``bound`` the
    certified lower bound. The gap says something only if the clustering is feasible: ``violated`` is the largest
    violation of a constraint by its kernel.
    """

    value: float
    bound: float
    violated: float

    @property
    def gap(self) -> float:
        """Value − bound; never negative for a feasible clustering."""
        return self.value - self.bound

    @property
    def feasible(self) -> bool:
        """Whether the clustering satisfies every constraint of the program."""
        return self.violated <= 1e-9

    def __str__(self) -> str:
        text = f"clustering {self.value:.6g}, bound {self.bound:.6g}, gap {self.gap:.3g}"
        return text if self.feasible else f"{text} (the clustering breaks a constraint by {self.violated:.3g})"


class LearntKernel(ABC):
    """A kernel on points of a graph, learnt by some method: what it offers for clustering and for new points.

    The kernel is kept as a product where it came as one; the n × n array is built when ``kernel`` is asked for.
    """

    problem: Problem

    @abstractmethod
    def _learnt(self) -> Matrix:
        """Return the kernel, an array or a product."""

    def _embedded(self) -> np.ndarray | None:
        """Return the embedding of a method that has one of its own."""
        return None

    @cached_property
    def _kernel(self) -> Matrix:
        return self._learnt()

    @property
    def _graph(self) -> Graph | None:
        graph = getattr(self.problem, "graph", None)
        return graph if isinstance(graph, Graph) else None

    @cached_property
    def kernel(self) -> np.ndarray:
        """The learnt kernel K, n × n; refused where it would take gigabytes."""
        n = self._kernel.shape[0]
        if isinstance(self._kernel, Congruence) and n > LARGEST_ARRAY:
            raise InvalidInput(
                f"the kernel of {n} points would take {8 * n * n / 1e9:.0f} GB as an array; with B = solution.factor "
                f"it is B @ B.T, and (B[i] * B[j]).sum(axis=-1) are entries of it"
            )
        return as_dense(self._kernel)

    @cached_property
    def factor(self) -> np.ndarray:
        """A factor B, n × r, with K = BBᵀ, its columns in order of decreasing eigenvalue; negligible ones are dropped.

        Where the kernel is kept as a product, this never forms it.
        """
        from .clustering import kernel_factor

        return kernel_factor(self._kernel)

    @property
    def rank(self) -> int:
        """The numerical rank of the kernel: eigenvalues above 1e-6 of the largest."""
        eigenvalues = np.linalg.svd(self.factor, compute_uv=False) ** 2
        return int((eigenvalues > 1e-6 * eigenvalues.max(initial=0)).sum())

    @property
    def embedding(self) -> np.ndarray:
        """The points in feature space, one row each: the method's own embedding, or the factor of its kernel."""
        own = self._embedded()
        return self.factor if own is None else own

    @property
    def affinity(self) -> np.ndarray:
        """What spectral clustering works on: the method's own affinity, or the kernel without its negative entries."""
        return self.affinity_for(None)

    def affinity_for(self, n_clusters: int | None) -> np.ndarray:
        """Return the affinity for so many clusters, where the method makes a difference (MinKL does)."""
        own = self._own_affinity(n_clusters)
        if own is None and not self.problem.yields_kernel:
            raise InvalidInput(
                f"{type(self.problem).__name__} yields {self.problem.yields} and no affinity of its own; "
                f"that of the graph is graph.W, and NCuts clusters it"
            )
        return np.maximum(self.kernel, 0) if own is None else own

    def _own_affinity(self, n_clusters: int | None) -> np.ndarray | None:
        """Return the affinity of a method that has one of its own."""
        return None

    @property
    def _weights(self) -> np.ndarray | None:
        """What points weigh in k-means."""
        return self.problem.point_weights

    @property
    def scores(self) -> np.ndarray:
        """What speaks for each class at each point, n × classes, where labels were propagated."""
        raise InvalidInput(f"{type(self.problem).__name__} has no scores for classes; GFHF and LLGC have")

    def cluster(
        self, n_clusters: int | None = None, method: str | None = None, random_state: Any = None, n_init: int = 20
    ) -> np.ndarray:
        """Return labels 0 … n_clusters − 1.

        The number may be left out where the problem knows it: NCuts, SSKK, CSC, and the methods that start from labels.

        ``method`` is "kernel-kmeans", "spectral", "kmeans" (on the embedding), "cut" (the sign of the one column of an
        embedding; k-means if it has more) or "argmax" (the class with the largest score); by default the paper's own,
        and k-means where the method has an embedding of its own.
        """
        from .clustering import cluster

        return cluster(self, n_clusters, method, random_state, n_init)

    def extend(self, X_new: Any, online: bool = False, unit_length: bool = False, *, alone: bool = False) -> Extension:
        """Carry the kernel over to new points, without learning it again; the old points stay where they are.

        Parameters
        ----------
        X_new : array, m × d
            New points, in the coordinates of the old ones.
        online : bool
            Let the points come one at a time, each seeing only those before it (Table II of Hu et al. 2010), instead
            of all at once (equations (9) and (10)).
        unit_length : bool
            Scale the new points to unit length in feature space; the paper does not.
        alone : bool
            Let each point come as the only one, so that its place depends neither on the other new points nor on their
            order; not together with ``online``.
        """
        from .extension import extend

        return extend(self, X_new, online, unit_length, alone)


@dataclass(frozen=True, eq=False)
class Solution(LearntKernel):
    """The outcome of a solve.

    Attributes
    ----------
    problem, status, reason
        What was solved, how it ended, and in whose words.
    values : Arrays
        The declared variables by name; a large matrix is built when it is asked for.
    duals : Arrays
        Multipliers by the name of the constraint: for lhs = rhs and lhs ≤ rhs the change of the optimum per unit of u
        in rhs + u (CVXPY reads a ≥ b as b ≤ a), for ``psd`` the slack matrix.
    certificate : Certificate or None
        What is proven about it.
    timings, plan, iterations, options
        What was done, and with which solver options.
    history : tuple of floats
        How far off each iteration was, for routes that iterate: for spreading a bound on the distance to the solution,
        for the others the relative gap. Draw it with ``plotting.plot_convergence``.
    resources : Resources or None
        What it ran on: threads, whether in a process of its own, and the most memory that used.
    """

    problem: Problem
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

    @property
    def value(self) -> float:
        """The declared objective at the solution; NaN if there is none."""
        return self.certificate.value if self.certificate else float("nan")

    def _learnt(self) -> Matrix:
        name = type(self.problem).__name__
        if not self.problem.yields_kernel:
            raise CvxlinkError(
                f"{name} yields {self.problem.yields} and no kernel; cluster() without a method is its own way"
            )
        kernel = self.problem.kernel_of(self._present())
        if kernel is None:
            raise CvxlinkError(
                f"{name} yields no kernel: it has no single symmetric matrix variable; "
                f"override kernel_of(values) or embedding_of(values) to say what to cluster"
            )
        return kernel

    def _own_affinity(self, n_clusters: int | None) -> np.ndarray | None:
        return self.problem.affinity_of(self._present(), n_clusters)

    @property
    def propagated(self) -> np.ndarray:
        """The propagated links F, n × n: the sign says must or cannot, the size how strongly."""
        return as_dense(self._propagated)

    @property
    def _propagated(self) -> Any:
        propagated = self.problem.propagated_of(self._present())
        if propagated is None:
            raise CvxlinkError(f"{type(self.problem).__name__} does not propagate links to pairs; SRCP and E2CP do")
        return propagated

    def propagated_at(self, i: Any, j: Any) -> np.ndarray:
        """Return the propagated links between points i and j, numbers or arrays of them; never the whole matrix."""
        F, (i, j) = self._propagated, (np.asarray(points, dtype=None if np.size(points) else int) for points in (i, j))
        n = F.shape[0]
        for points in (i, j):
            if points.size and (points.dtype.kind not in "iu" or not 0 <= points.min() <= points.max() < n):
                raise InvalidInput(f"points are numbers from 0 to {n - 1}; give one, or an array of them, for i and j")
        try:
            i, j = np.broadcast_arrays(i, j)
        except ValueError:
            raise InvalidInput(f"as many points i as j, or one of either; not {i.size} and {j.size}") from None
        return entries_of(F, i, j)[()]

    def _embedded(self) -> np.ndarray | None:
        return self.problem.embedding_of(self._present())

    @property
    def scores(self) -> np.ndarray:
        """What speaks for each class at each point, where labels were propagated; columns are ``problem.classes``."""
        scores = self.problem.scores_of(self._present())
        if scores is None:
            return super().scores
        return scores

    @property
    def labels(self) -> np.ndarray:
        """The class with the largest score at each point, named as in the labels that were given."""
        from .clustering import best_class

        best = best_class(self.scores)
        return self.problem.classes[best]  # type: ignore[attr-defined]

    @property
    def confidence(self) -> np.ndarray:
        """How sure the label of each point is: the share of its class in the scores, from 1/classes to 1."""
        return class_shares(self.scores).max(axis=1)

    @property
    def measures(self) -> dict[str, float]:
        """Further numbers about the solution, by name.

        For CSC what the cut costs, how well it satisfies the constraints (the mean over its columns), the threshold and
        the largest feasible one, and ``above_optimum``: by how much at most the cost is above the optimum.
        """
        measures = self.problem.measures_of(self._present())
        certificate = self.certificate
        if "cost" in measures and certificate is not None and certificate.lower_bound is not None:
            measures["above_optimum"] = max(measures["cost"] - certificate.lower_bound, 0.0)
        return measures

    def stationarity(self) -> float:
        """Return how far the answer is from a stationary labeling: 0 if it is one, at most 1.

        Definition 1 of Wang, Qian & Davidson (2012), see :func:`cvxlink.stationarity`: with S and Q̄ for CSC and
        CSCGFHF, αS and I for LLGC.
        """
        from .stationary import stationarity

        propagation = self.problem.propagation
        if propagation is None:
            raise CvxlinkError(
                f"{type(self.problem).__name__} has no labeling that could be stationary; CSC, CSCGFHF and LLGC have"
            )
        return stationarity(self._present()["f"], *propagation)

    def relaxation_gap(self, labels: Any) -> RelaxationGap:
        """Return how far a clustering is from the bound this solution certifies."""
        from .proofs import certify

        if self.certificate is None or self.certificate.lower_bound is None:
            raise CvxlinkError("there is no certified bound to compare a clustering with")
        point = self.problem.point_of_clustering(labels)
        if point is None:
            raise CvxlinkError(
                f"a clustering is no point of {type(self.problem).__name__}, as it is of PCP, KP, NCuts and SSKK"
            )
        own = certify(self.problem, point)
        return RelaxationGap(own.value, self.certificate.lower_bound, own.largest_violation)

    def _present(self) -> Arrays:
        if not self.values:
            raise CvxlinkError(f"there is no answer to look at: {self.status} ({self.reason})")
        return self.values

    def __str__(self) -> str:
        lines = [f"{type(self.problem).__name__}: {self.status}, {self.status.sentence} ({self.reason})"]
        if self.certificate is not None:
            lines.append(str(self.certificate))
        if self.values and self.status.has_answer:
            lines += [f"measure        {number:.6g}   {name}" for name, number in self.measures.items()]
        lines.append(f"timings        {self.timings}")
        if self.resources is not None:
            lines.append(f"ran in         {self.resources}")
        return "\n".join(lines)

    __repr__ = __str__
