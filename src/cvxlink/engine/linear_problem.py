"""Problems given as data: in files, or as a linear semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import scipy.sparse as sp

from ..numerics.arguments import as_instance, as_path
from ..programs.linear_sdp import LinearSDP, Rows
from ..solvers.files.cbf import read_cbf
from ..solvers.files.sdpa import read_sdpa
from .exchange import format_of
from .problem import Problem

READERS = {".dat-s": read_sdpa, ".cbf": read_cbf}


@dataclass(frozen=True, eq=False)
class LinearProblem(Problem):
    """A linear semidefinite program given as data.

    Parameters
    ----------
    data : LinearSDP
    """

    data: LinearSDP

    def __post_init__(self) -> None:
        as_instance(self.data, LinearSDP, "data", "a LinearSDP")

    def variables(self) -> dict[str, cp.Variable]:
        """One symmetric matrix."""
        return self.data.declaration.variables

    def objective(self, /, **variables: Any) -> cp.Minimize:
        """⟨C, Y⟩."""
        return self.data.declaration.objective

    def constraints(self, /, **variables: Any) -> dict[str, Any]:
        """The equations, and Y ⪰ 0."""
        return self.data.declaration.constraints

    @cached_property
    def program(self) -> LinearSDP:
        """The data, from which the declaration is made."""
        return self.data


def read_program(path: Any) -> LinearProblem:
    r"""Read a program in SDPA's sparse format or in CBF as a problem that can be solved and certified like any other.

    It is the program in Y, :math:`\min -\langle F_0, Y\rangle` over :math:`\langle F_i, Y\rangle = c_i` and
    :math:`Y \succeq 0`, with all blocks in one matrix; entries between the blocks do not matter. Its optimum is the
    negative of that of the program in x, :math:`\min c^\top x`. CBF files are read if they hold the kind of program
    that cvxlink writes.
    """
    path = as_path(path)
    listed = READERS[format_of(path)](path)
    n, m = listed.linear + sum(listed.orders), len(listed.c)
    matrix, i, j, values = listed.in_one_matrix()
    constant = matrix == 0
    C = sp.csr_array((values[constant], (i[constant], j[constant])), shape=(n, n))
    C.eliminate_zeros()
    places = (matrix[~constant] - 1, i[~constant] * n + j[~constant])
    rows = sp.csr_array((values[~constant], places), shape=(m, n * n))
    return LinearProblem(LinearSDP(C, (Rows("equations", rows, listed.c),), -listed.offset, "Y"))
