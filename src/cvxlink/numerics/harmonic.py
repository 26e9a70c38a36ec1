r"""The harmonic extension: known values on some points of a graph, the smoothest values on the others.

For a Laplacian L (either one), known points l and unknown points u,

.. math:: \min_f \langle f, L f\rangle \ \text{ s.t. } f_l \text{ given}
          \qquad\Longleftrightarrow\qquad f = Q f_l,\quad Q = \begin{pmatrix} I \\ -L_{uu}^{-1} L_{ul}\end{pmatrix}.

With L = D − W, each unknown value is the weighted mean of its neighbours' values: f is harmonic. The same Q extends a
seed kernel to all points (KP: :math:`K = Q K_{ll} Q^\top`), a kernel to points that come later (batch and online
extension) and labels to unlabelled points (Gaussian fields, label propagation).
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import InvalidInput
from .arguments import as_choice
from .checks import LARGEST_COORDINATE, as_numbers_of_points, as_square, real_array
from .eigenpairs import InOrder
from .least_eigenvalue import least_eigenvalue
from .matrices import positive_definite_factors
from .rounding import Ball, gamma, terms_per_row
from .star_mesh import Mesh, carries_to_zero, eliminated

Method = Literal["factorisation", "conjugate gradients"]

# Up to this many unknown points a sparse factorisation takes at most a second or two on any graph. Beyond that it
# depends: the factors of a neighbour graph in many dimensions fill up, but conjugate gradients need few iterations
# there; in two or three dimensions it is the other way round. So one column is tried first.
MOST_FACTORISED = 10_000
TRIAL_ITERATIONS = 300

# Columns per block of conjugate gradients: wide enough for fast products, narrow enough for memory.
WIDTH = 32
RELATIVE_RESIDUAL = 1e-11
# Steps of a walk from an unknown point to a known one: a factorisation loses as many digits as this number has. Beyond,
# points are eliminated from the weights themselves, where that is possible.
LONGEST_WALK = 1e8
# A factorisation usually leaves only rounding errors; a residual above this is removed by a second solve.
REFINED_ABOVE = 1e-12
MOST_ITERATIONS = 20_000


class HarmonicExtension:
    """The map Q from values on known points to values on all points.

    Parameters
    ----------
    L : sparse matrix, n × n
        A Laplacian, or any symmetric matrix that is positive definite on the unknown points.
    known : array of int
        The known points, in the order in which values will be given, without repetition.
    method : "factorisation" or "conjugate gradients", optional
        How systems with L_uu are solved. By default a sparse factorisation up to 10 000 unknown points; beyond
        that, conjugate gradients if a trial shows that they converge fast on this graph, otherwise a factorisation.
        Where weights differ too much for a factorisation to keep its digits, up to 5000 points are eliminated one by
        one instead, from the weights themselves.
    null_vector : array, optional
        A positive vector that L takes to zero: D^{1/2}1 for a normalised Laplacian; ones by default, for L = D − W.
    """

    def __init__(self, L: Any, known: Any, method: Method | None = None, null_vector: np.ndarray | None = None) -> None:
        self.L = _as_symmetric(L)
        self.null_vector = np.ones(self.n) if null_vector is None else null_vector
        self.known = _as_points(known, self.n)
        self.unknown = np.setdiff1d(np.arange(self.n), self.known)
        if method is not None:
            as_choice(method, "method", ("factorisation", "conjugate gradients"))
        self._asked_for = method
        require_reached(connected_components(self.L, directed=False)[1], self.known, "known")

    @property
    def n(self) -> int:
        """The number of points."""
        return int(self.L.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        # The factors cannot be pickled; a copy computes them again if they are needed.
        return {name: value for name, value in self.__dict__.items() if name != "_factors"}

    @cached_property
    def method(self) -> Method:
        """How systems with L_uu are solved: as requested, or chosen by size and a trial."""
        if self._asked_for is not None:
            return self._asked_for
        if len(self.unknown) <= MOST_FACTORISED:
            return "factorisation"
        trial = np.random.default_rng(0).standard_normal((len(self.unknown), 1))
        converges = self._conjugate_gradients(trial, TRIAL_ITERATIONS) is not None
        return "conjugate gradients" if converges else "factorisation"

    def __call__(self, values: Any) -> np.ndarray:
        """Extend values, one row per known point, to all n points; each column is extended separately.

        The known points keep their values exactly.
        """
        given = real_array(values, "values")
        if not np.isfinite(given).all():
            raise InvalidInput(
                "values hold NaN or infinity; leave points without a value out of the known points", "values"
            )
        if given.shape[:1] != self.known.shape or given.ndim > 2 or abs(given).max(initial=0.0) > LARGEST_COORDINATE:
            raise InvalidInput(
                f"values must have one row for each of the {len(self.known)} known points, with numbers of at most "
                f"{LARGEST_COORDINATE:g}",
                "values",
            )
        if self.mesh is not None:
            return np.asarray(self.mesh.extension @ given)
        extended = np.empty((self.n, *given.shape[1:]))
        extended[self.known] = given
        if len(self.unknown):
            extended[self.unknown] = self._solve(-(self.L[self.unknown][:, self.known] @ given))
        return extended

    @cached_property
    def matrix(self) -> np.ndarray:
        """Q itself, n × number of known points."""
        return self(np.eye(len(self.known)))

    @cached_property
    def schur_complement(self) -> np.ndarray:
        """L_ll − L_lu L_uu⁻¹ L_ul: the cost on the known points if the others follow.

        Computed as QᵀLQ, in which an error of ε in Q counts only as ε² and never makes the cost too small.
        """
        if self.mesh is not None:
            return self.mesh.cost
        complement = self.matrix.T @ (self.L @ self.matrix)
        return (complement + complement.T) / 2

    @cached_property
    def mesh(self) -> Mesh | None:
        """The extension computed from the weights, where a factorisation of L_uu fails or loses digits; or None."""
        if not len(self.unknown) or self.method != "factorisation":
            return None
        if self._factors is not None and self._walk_is_short:
            return None
        mesh = eliminated(self.L, self.null_vector, self.known)
        if mesh is None and self._factors is None:
            raise InvalidInput(
                "L is not positive definite on the unknown points: some are joined to known points by weights too "
                "small for double precision (Graph.knn with connect=True avoids that), or L is not a Laplacian"
            )
        return mesh

    @cached_property
    def walk(self) -> tuple[np.ndarray, np.ndarray] | None:
        r"""A positive vector x and a positive lower bound on :math:`L_{uu}x`, entry by entry; None if none is found.

        For L = D − W and :math:`L_{uu}x = d_u`, x is the mean number of steps of a walk from each unknown point to a
        known one. If no entry of L off the diagonal is positive, :math:`L_{uu}^{-1}` has no negative entry, so

        .. math:: |L_{uu}^{-1}r| \ \le\ x\,\max_i \frac{|r_i|}{(L_{uu}x)_i} ,

        a bound that small weights at single points do not harm: it is relative to the degrees.
        """
        if not len(self.unknown):
            return np.zeros(0), np.zeros(0)
        system = self._system
        beside = system.tocoo()
        if (beside.data[beside.row != beside.col] > 0).any() or (system - system.T).data.any():
            return None
        right = system.diagonal() * self.null_vector[self.unknown]
        x = self._solve(right[:, None]).ravel()
        below = system @ x - gamma(2 * terms_per_row(system) + 4) * (abs(system) @ abs(x))
        return (x, below) if np.isfinite(x).all() and (x >= 0).all() and (below > 0).all() else None

    @property
    def _walk_is_short(self) -> bool:
        if self.walk is None:
            return not carries_to_zero(self.L, self.null_vector)
        return bool((self.walk[0] <= LONGEST_WALK * self.null_vector[self.unknown]).all())

    def inverse_norm(self) -> float:
        """Return a proven bound on the norm of L_uu⁻¹; infinity if rounding prevents a proof.

        If no entry off the diagonal is positive, as in a Laplacian, L_uu⁻¹ has no negative entry where there is x > 0
        with L_uu x ≥ c > 0; then x ≥ c L_uu⁻¹1, and max x / c bounds its row sums. Otherwise the least eigenvalue of
        L_uu is bounded from below.
        """
        if not len(self.unknown):
            return 0.0
        if self.mesh is not None:
            return np.inf
        system = self._system
        beside = system.tocoo()
        if (beside.data[beside.row != beside.col] > 0).any() or (system - system.T).data.any():
            least = least_eigenvalue(sp.csr_array((system + system.T) / 2)).lower
            return (1 / Ball(least)).upper if least > 0 else np.inf
        x = self._solve(np.ones((len(self.unknown), 1))).ravel()
        rounding = gamma(2 * terms_per_row(system) + 4) * (abs(system) @ abs(x))
        least = float((system @ x - rounding).min())
        return (Ball(float(x.max())) / least).upper if least > 0 and x.min() >= 0 else np.inf

    # ------------------------------------------------------------------ systems with L_uu

    @cached_property
    def _system(self) -> sp.csr_array:
        return sp.csr_array(self.L[self.unknown][:, self.unknown])

    @cached_property
    def _in_order(self) -> InOrder:
        return InOrder(self._system)

    @cached_property
    def _factors(self) -> Any | None:
        """The factors of L_uu with unit diagonal, None if it is not positive definite beyond rounding."""
        diagonal = self._system.diagonal()
        if not (diagonal > 0).all():
            return None
        scale = sp.diags_array(1 / np.sqrt(diagonal))
        return positive_definite_factors(scale @ self._system @ scale)

    def _by_factors(self, right: np.ndarray) -> np.ndarray:
        root = np.sqrt(self._system.diagonal())[:, None]
        assert self._factors is not None
        return np.asarray(self._factors.solve(right / root) / root)

    def _solve(self, right: np.ndarray) -> np.ndarray:
        columns = right.reshape(len(right), -1)
        if self.method == "factorisation":
            solution = self._by_factors(columns)
            residual = columns - self._system @ solution
            if abs(residual).max(initial=0.0) > REFINED_ABOVE * abs(columns).max(initial=0.0):
                solution += self._by_factors(residual)
        else:
            solution = np.empty_like(columns)
            self._in_order  # noqa: B018 — once, before the threads ask for it

            def solve(k: int) -> None:
                part = self._conjugate_gradients(columns[:, k : k + WIDTH], MOST_ITERATIONS)
                if part is None:
                    raise InvalidInput(
                        f"conjugate gradients did not converge in {MOST_ITERATIONS} iterations because the weights "
                        f"differ too much; try method='factorisation'"
                    )
                solution[:, k : k + WIDTH] = part

            with ThreadPoolExecutor(os.cpu_count()) as threads:  # sparse products leave the other cores free
                list(threads.map(solve, range(0, columns.shape[1], WIDTH)))
        return solution.reshape(right.shape)

    def _conjugate_gradients(self, B: np.ndarray, most: int) -> np.ndarray | None:
        """Solve L_uu X = B for all columns at once, preconditioned by the diagonal; None if that takes too long."""
        inside = self._in_order
        A = inside.matrix
        diagonal = A.diagonal()
        if (diagonal <= 0).any():
            raise InvalidInput("L has a diagonal entry that is not positive on the unknown points")
        B = B[inside.order]
        X, R = np.zeros_like(B), B.copy()
        target = RELATIVE_RESIDUAL * np.linalg.norm(B, axis=0)
        Z = R / diagonal[:, None]
        P, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
        for _ in range(most):
            active = np.linalg.norm(R, axis=0) > target
            if not active.any():
                return inside.outer(X)
            AP = A @ P
            curvature = np.einsum("ij,ij->j", P, AP)
            if (curvature[active] <= 0).any():
                raise InvalidInput("L is not positive definite on the unknown points; give a Laplacian")
            step = np.divide(rz, curvature, out=np.zeros_like(rz), where=active)
            X += step * P
            R -= step * AP
            Z = R / diagonal[:, None]
            previous, rz = rz, np.einsum("ij,ij->j", R, Z)
            P = Z + np.divide(rz, previous, out=np.zeros_like(rz), where=active) * P
        return None


def require_reached(components: np.ndarray, known: np.ndarray, argument: str = "links") -> None:
    """Raise, naming the component, if a connected component has no known point to determine its values."""
    unreached = np.setdiff1d(components, components[known])
    if len(unreached):
        members = np.flatnonzero(components == unreached[0])
        shown = ", ".join(map(str, members[:5])) + (", …" if len(members) > 5 else "")
        who = f"the {len(members)} points {shown}" if len(members) > 1 else f"the point {shown}"
        others = f" ({len(unreached)} components have none)" if len(unreached) > 1 else ""
        raise InvalidInput(
            f"the component of the graph with {who} has no known or linked point{others}; "
            f"link one of its points, or join the components, as Graph.knn(connect=True) does",
            argument,
        )


def _as_symmetric(L: Any) -> sp.csr_array:
    L = sp.csr_array(as_square(L, "L"))
    if abs(L.data).max(initial=0.0) > LARGEST_COORDINATE:
        raise InvalidInput(f"L has entries above {LARGEST_COORDINATE:g}; divide it by the largest", "L")
    if L.nnz and abs(L - L.T).max() > 1e-8 * abs(L).max():
        raise InvalidInput("L is not symmetric; use (L + L.T) / 2 if that is meant", "L")
    return L


def _as_points(known: Any, n: int) -> np.ndarray:
    try:
        array = as_numbers_of_points(known, n, "known")
    except InvalidInput:
        array = np.zeros(())
    if array.size == 0:
        raise InvalidInput("there is no known point to extend from; give at least one", "known")
    if array.ndim != 1:
        raise InvalidInput(
            f"known must be a list of point numbers between 0 and {n - 1}; for a mask give np.flatnonzero(mask)",
            "known",
        )
    if len(np.unique(array)) < len(array):
        raise InvalidInput("known lists a point twice", "known")
    return array
