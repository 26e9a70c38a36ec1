r"""Programs as files store them: only cone constraints, no equations.

.. math:: \min_x\ c^\top x + c_0 \quad \text{s.t.} \quad Ax + b \in \mathbb{R}_+^l \times S_+^{n_1} \times \cdots

with the dual

.. math:: \max_Z\ c_0 - \langle b, Z\rangle \quad \text{s.t.} \quad A^\top Z = c, \quad Z \in \text{the same cones}.

CVXPY compiles every semidefinite program to this form plus equations. The equations are solved for some of the
variables beforehand: written as two inequalities each, they would leave the program without an interior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...errors import CvxlinkError

# Equations in several variables are solved by dense elimination, with at most this many entries.
LARGEST_ELIMINATION = 50_000_000
# An equation this close to a combination of others counts as dependent.
DEPENDENT = 1e-11


@dataclass(frozen=True)
class OtherCone:
    """A cone besides inequalities and matrices, in the order of the Conic Benchmark Format.

    "Q": x₀ ≥ ‖(x₁, …)‖; "EXP": x₀ ≥ x₁ exp(x₂/x₁); "POW": x₀^α x₁^(1−α) ≥ |x₂|.
    """

    kind: str
    size: int = 3
    alpha: float | None = None


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """min cᵀx + offset subject to Ax + b in a product of cones.

    The rows of A and b are first the ``linear`` inequalities and then all entries of each symmetric matrix; both
    triangles hold the same numbers. Then come the ``others``, which only some formats can hold.
    """

    c: np.ndarray
    A: sp.csr_array
    b: np.ndarray
    linear: int
    orders: tuple[int, ...]
    offset: float = 0.0
    others: tuple[OtherCone, ...] = ()

    @cached_property
    def blocks(self) -> tuple[tuple[int, bool], ...]:
        """The order of each block and whether it is diagonal; the inequalities come last, as one diagonal block."""
        return tuple((order, False) for order in self.orders) + (((self.linear, True),) if self.linear else ())

    @cached_property
    def starts(self) -> np.ndarray:
        """The first row of each block."""
        ends = self.linear + np.cumsum([0, *(order**2 for order in self.orders)])
        return np.array([*ends[:-1], *([0] if self.linear else [])], dtype=int)

    def place(self, block: int, i: Any, j: Any) -> Any:
        """Return the row of an entry."""
        order, diagonal = self.blocks[block]
        return self.starts[block] + (i if diagonal else i * order + j)

    @cached_property
    def upper(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The rows of the upper triangles, block after block, with the number of the block, i and j."""
        nothing = np.zeros(0, dtype=int)  # a program may have other cones only
        rows, blocks, at_i, at_j = [nothing], [nothing], [nothing], [nothing]
        for k, (order, diagonal) in enumerate(self.blocks):
            i, j = (np.arange(order),) * 2 if diagonal else np.triu_indices(order)
            rows.append(self.place(k, i, j))
            blocks.append(np.full(len(i), k))
            at_i.append(i)
            at_j.append(j)
        return tuple(np.concatenate(part) for part in (rows, blocks, at_i, at_j))  # type: ignore[return-value]

    def value(self, x: np.ndarray) -> float:
        """Return the objective."""
        return float(self.c @ x) + self.offset


@dataclass(frozen=True, eq=False)
class Eliminated:
    """A cone program without equations, and the way back from it.

    With Ex + e = 0 solved for the variables ``bound`` in terms of the ``free`` ones, x_bound = T x_free + t.
    """

    program: ConeProgram
    c: np.ndarray
    A: sp.csr_array
    E: sp.csr_array
    bound: np.ndarray
    free: np.ndarray
    T: Any
    t: np.ndarray
    kept: np.ndarray  # independent equations

    def variables(self, x: np.ndarray) -> np.ndarray:
        """Return all variables from the free ones."""
        whole = np.empty(len(self.c))
        whole[self.free] = x
        whole[self.bound] = self.T @ x + self.t
        return whole

    def multipliers(self, Z: np.ndarray) -> np.ndarray:
        """Return the multipliers of the equations, c = EᵀY + AᵀZ, from those of the cones."""
        y = np.zeros(self.E.shape[0])
        if len(self.bound):
            left = (self.c - self.A.T @ Z)[self.bound]
            square = sp.csc_array(self.E[self.kept][:, self.bound].T)
            y[self.kept] = sp.linalg.splu(square).solve(left)
        return y


def without_equations(
    c: np.ndarray,
    E: sp.csr_array,
    e: np.ndarray,
    A: sp.csr_array,
    b: np.ndarray,
    linear: int,
    orders: tuple[int, ...],
    offset: float = 0.0,
    other_cones: tuple[OtherCone, ...] = (),
) -> Eliminated | None:
    """Return min cᵀx + offset over Ex + e = 0 and Ax + b in the cones as a cone program; None on a contradiction."""
    n, size = len(c), 1 + abs(e).max(initial=0.0)
    # An equation in one variable determines it; the first one counts, the others must agree.
    alone = np.flatnonzero(np.diff(E.indptr) == 1)
    alone = alone[E.data[E.indptr[alone]] != 0]
    columns, first = np.unique(E.indices[E.indptr[alone]], return_index=True)
    single = alone[first]
    given = -e[single] / E.data[E.indptr[single]]
    known = np.zeros(n)
    known[columns] = given
    others = np.setdiff1d(np.arange(E.shape[0]), single)
    unknown = np.setdiff1d(np.arange(n), columns)
    left = e[others] + E[others] @ known
    rest = sp.csr_array(E[others][:, unknown])
    used = np.flatnonzero(np.diff(rest.tocsc().indptr))
    if rest.shape[0] * len(used) > LARGEST_ELIMINATION:
        raise CvxlinkError(
            f"the program has {rest.shape[0]} equations in {len(used)} variables, too many to eliminate; "
            f"use form='dual', which has none"
        )
    dense = rest[:, used].toarray()
    _, R, pivots = scipy.linalg.qr(dense, mode="economic", pivoting=True)
    rank = int((abs(np.diag(R)) > DEPENDENT * max(abs(R[0, 0]) if R.size else 0.0, 1e-300)).sum())
    picked = used[pivots[:rank]]
    # Equations that determine the picked variables: as many independent rows of these columns.
    _, _, independent = scipy.linalg.qr(dense[:, pivots[:rank]].T, mode="economic", pivoting=True)
    rows = np.sort(independent[:rank])
    square = dense[rows][:, pivots[:rank]]
    remaining = np.setdiff1d(np.arange(len(unknown)), picked)
    T = sp.csr_array((len(columns) + rank, len(remaining)))
    t = np.concatenate([given, np.zeros(rank)])
    if rank:
        solved = np.linalg.solve(square, np.column_stack([rest[rows][:, remaining].toarray(), left[rows]]))
        solved[abs(solved) < 1e-15 * abs(solved).max()] = 0.0
        T = sp.csr_array(sp.vstack([sp.csr_array((len(columns), len(remaining))), sp.csr_array(-solved[:, :-1])]))
        t[len(columns) :] = -solved[:, -1]
    bound, free = np.concatenate([columns, unknown[picked]]), unknown[remaining]
    at = np.zeros(n)
    at[bound] = t
    if abs(E @ at + e).max(initial=0.0) > 1e-9 * size:
        return None
    new_A = sp.csr_array(A[:, free] + A[:, bound] @ T)
    new_A.eliminate_zeros()
    costs, constant = c[free] + T.T @ c[bound], offset + float(c @ at)
    program = ConeProgram(costs, new_A, b + A @ at, linear, orders, constant, other_cones)
    return Eliminated(program, c, A, E, bound, free, T, t, np.concatenate([single, others[rows]]))
