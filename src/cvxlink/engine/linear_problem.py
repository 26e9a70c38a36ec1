"""Problems given as data: in files, or as a linear semidefinite program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
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

    def objective(self, **variables: Any) -> cp.Minimize:
        """⟨C, Y⟩."""
        return self.data.declaration.objective

    def constraints(self, **variables: Any) -> dict[str, Any]:
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
    program = READERS[format_of(path)](path)
    ends = np.cumsum([0, *(order for order, _ in program.blocks)])
    n, entries = int(ends[-1]), np.zeros(len(program.b), dtype=np.int64)
    for k, (order, diagonal) in enumerate(program.blocks):
        i, j = (np.arange(order),) * 2 if diagonal else np.divmod(np.arange(order**2), order)
        entries[program.place(k, i, j)] = (ends[k] + i) * n + ends[k] + j
    A = program.A.T.tocoo()
    rows = sp.csr_array((A.data, (A.row, entries[A.col])), shape=(len(program.c), n * n))
    C = sp.csr_array((program.b, (entries // n, entries % n)), shape=(n, n))
    C.eliminate_zeros()
    return LinearProblem(LinearSDP(C, (Rows("equations", rows, program.c),), -program.offset, "Y"))
