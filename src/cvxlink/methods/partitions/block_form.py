"""The program on blocks of must-linked points and on the complement of w, where it has an interior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np

from ... import terms
from ...engine.problem import Problem
from ...model.about import About
from ...model.linear_maps import at_least, inner_products
from ...numerics.eigenpairs import Complement
from ...numerics.matrices import Congruence, as_dense
from .linked_fantope import LinkedFantope


@dataclass(frozen=True, eq=False)
class BlockForm(Problem):
    r"""A Fantope with links on blocks.

    .. math::

        \min_{M,s}\ w^\top C w + \langle U^\top CU, M\rangle + \sum c_{ab}|s_{ab}| \quad\text{s.t.}\quad
        \operatorname{tr} M = k - 1,\quad 0 \preceq M \preceq I,\quad w_a w_b + u_a^\top M u_b = s_{ab},

    where the columns of U are an orthonormal basis of the complement of w, C is the cost on blocks, and
    :math:`Z = T(ww^\top + UMU^\top)T^\top`. The printed program has no interior, as Z = w wᵀ + … always has the
    eigenvalue 1 and equal rows; this one does.
    """

    data: LinkedFantope

    about = About("shi2000", form="blocks")

    def variables(self) -> dict[str, cp.Variable]:
        """M, and what is left of each soft cannot-link."""
        order = self.data.partition.order - 1
        variables = {"M": cp.Variable((order, order), symmetric=True, name="M")}
        if self.data.is_soft:
            variables["s"] = cp.Variable(len(self.data.block_pairs), name="s")
        return variables

    def objective(self, M: cp.Variable, s: cp.Variable | None = None) -> cp.Minimize:  # type: ignore[override]
        """The cut, and what broken links cost."""
        C, w = as_dense(self.data.partition.block_C), self.data.block_w
        cost = float(w @ C @ w) + terms.smoothness(M, self.U.T @ C @ self.U, "C")
        if s is not None:
            cost = cost + terms.stands_for(self.data.block_prices @ cp.abs(s), r"\sum c_{ab} |@_{ab}|", s)
        return cp.Minimize(cost)

    def constraints(self, M: cp.Variable, s: cp.Variable | None = None) -> dict[str, Any]:  # type: ignore[override]
        """A convex combination of projections of rank k − 1 that keeps the links."""
        constraints, w = terms.fantope(M, self.data.k - 1), self.data.block_w
        a, b = self.data.block_pairs.T
        if len(a):
            entries = inner_products([self._entry(i, j) for i, j in zip(a, b, strict=True)], M)
            tex = r"w_a w_b + u_a^\top @ u_b = " + ("0" if s is None else "s_{ab}")
            constraints["cannot"] = terms.stands_for(entries + w[a] * w[b] == (0 if s is None else s), tex, M)
        if self.data.nonnegative:
            i, j = np.triu_indices(len(w))
            entries = inner_products([self._entry(p, q) for p, q in zip(i, j, strict=True)], M)
            tex = r"w_a w_b + u_a^\top @ u_b \ge 0"
            constraints["nonnegative"] = terms.stands_for(at_least(entries, -w[i] * w[j]), tex, M)
        return constraints

    @cached_property
    def U(self) -> np.ndarray:
        """An orthonormal basis of the complement of w, as columns."""
        space = Complement(self.data.partition.order, self.data.block_w)
        return space.lift(np.eye(space.dimension))

    def _entry(self, a: Any, b: Any) -> np.ndarray:
        """The matrix whose inner product with M is u_aᵀ M u_b."""
        half = np.outer(self.U[a], self.U[b]) / 2
        return half + half.T

    def lifted(self, M: np.ndarray) -> Congruence:
        """Return Z."""
        return self.data.lifted(self.U, (M + M.T) / 2)
