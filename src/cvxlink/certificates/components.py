r"""A semidefinite program whose rows leave groups of points unconnected, as one system per group.

If every row is about points of one group, then a feasible K stays feasible when its entries between groups are set to
zero, and feasible matrices of the groups make one of all points: feasibility and the least relaxation can be decided
group by group. A row about one entry that zero satisfies, as a cannot-link or :math:`K_{ij} \ge 0`, connects nothing.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ..errors import ReductionRefused
from ..model.declared import Declaration
from ..model.expressions import is_linear
from ..programs.declared import body_of, semidefinite_names, semidefinite_variable
from ..reductions.cones import Block, triangle
from ..reductions.standard_form import StandardForm
from ..reductions.standard_reading import Triples
from .conic_system import ConicSystem
from .ownership import LINEAR, OwnedSystem

# Larger programs are not read, even if they fall into small parts.
LARGEST_READ = 50_000


def systems_of(declaration: Declaration, most: int) -> tuple[OwnedSystem, ...]:
    """Return a declaration as one system, or as several where it falls apart; refuse it if one has more than ``most``.

    The objective of a program that falls apart plays no part.
    """
    if not _may_fall_apart(declaration):
        return (OwnedSystem.of(declaration, most),)
    if not is_linear(declaration.objective.args[0]):
        declaration = Declaration(declaration.variables, cp.Minimize(0), declaration.constraints)
    form = StandardForm.as_declared(declaration, LARGEST_READ)
    parts = _parts(declaration, form)
    for part in parts:
        if max(part.system.M.shape) > most:
            raise ReductionRefused(f"it has more than {most} unknowns that constraints connect")
    return parts


def _may_fall_apart(declaration: Declaration) -> bool:
    """Whether the constraints are equations and inequalities on one semidefinite matrix."""
    if len(declaration.variables) != 1 or not semidefinite_names(declaration):
        return False
    (K,) = declaration.variables.values()
    special = {key for key, value in K.attributes.items() if value is not None and value is not False}
    if K.ndim != 2 or K.shape[0] < 2 or not K.is_symmetric() or not special <= {"symmetric", "PSD"}:
        return False
    rows = cp.constraints.Equality | cp.constraints.Inequality | cp.constraints.Zero
    return all(
        is_linear(body_of(term)) if isinstance(term, rows) else semidefinite_variable(term, declaration.variables)
        for term in declaration.terms
    ) and (is_linear(declaration.objective.args[0]) or not declaration.objective.args[0].domain)


def _parts(declaration: Declaration, form: StandardForm) -> tuple[OwnedSystem, ...]:
    (name,) = form.matrices
    cone = form.matrices[name]
    i, j = triangle(cone.order)
    if len(form.cost) != len(i) or any(b.kind not in LINEAR and b != cone for b in form.blocks):
        return (OwnedSystem(declaration, form, ConicSystem.of(form)),)
    group = _groups(form, cone, i, j)
    within = np.where(group[i] == group[j], group[i], -1)  # of each unknown
    of_row = _of_rows(form, cone, within)
    parts = []
    for k in range(int(group.max()) + 1):
        part = _restricted(form, name, of_row == k, within == k)
        parts.append(OwnedSystem(declaration, part, ConicSystem.of(part), np.flatnonzero(group == k)))
    return tuple(parts)


def _groups(form: StandardForm, cone: Block, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the number of the group of each point."""
    m, n = form.M.shape[0], cone.order
    M = sp.coo_array(form.M)
    used = (M.data != 0) & ((M.row < cone.rows.start) | (M.row >= cone.rows.stop))
    row, column = M.row[used], M.col[used]
    counts = np.bincount(row, minlength=m)
    idle = (counts == 1) & np.where(form.is_free, form.a == 0, form.a >= 0)
    connects = ~idle[row]
    row, column = row[connects], column[connects]
    ends = (np.concatenate([row, row]), np.concatenate([m + i[column], m + j[column]]))
    graph = sp.coo_array((np.ones(len(ends[0])), ends), shape=(m + n, m + n))
    labels = connected_components(graph, directed=False)[1][m:]
    return np.unique(labels, return_inverse=True)[1]


def _of_rows(form: StandardForm, cone: Block, within: np.ndarray) -> np.ndarray:
    """Return the group of each row; −1 for what zero satisfies between groups. Rows without unknowns are in the first.

    The rows of the cone are the unknowns, in the same order.
    """
    of_row = np.full(len(form.a), -2)
    M = sp.coo_array(form.M)
    used = M.data != 0
    of_row[M.row[used]] = within[M.col[used]]
    of_row[of_row == -2] = 0
    of_row[cone.rows] = within
    return of_row


def _restricted(form: StandardForm, name: str, rows: np.ndarray, columns: np.ndarray) -> StandardForm:
    """Return the form with some of its rows and unknowns."""
    new = np.cumsum(rows) - 1
    blocks: list[Block] = []
    matrices: dict[str, Block] = {}
    ends = np.cumsum([0, *(int(rows[block.rows].sum()) for block in form.blocks)]).tolist()
    for block, (start, end) in zip(form.blocks, pairwise(ends), strict=True):
        if end > start:
            order = round((8 * (end - start) + 1) ** 0.5 - 1) // 2 if block.kind == "semidefinite" else 0
            blocks.append(replace(block, rows=slice(start, end), order=order))
            if order:
                matrices[name] = blocks[-1]
    owners = {}
    for key, own in form.owners.items():
        kept = rows[own.rows]
        owners[key] = Triples(
            new[own.rows[kept]], own.columns[kept], own.numbers[kept], (int(rows.sum()), own.shape[1])
        )
    return replace(
        form,
        M=sp.csr_array(form.M[rows][:, columns]),
        a=form.a[rows],
        cost=form.cost[columns],
        blocks=tuple(blocks),
        spread=sp.csr_array(form.spread[:, columns]),
        columns={name: slice(0, int(columns.sum()))},
        matrices=matrices,
        owners=owners,
        domains=dict.fromkeys(form.domains, (matrices[name].rows,)),
    )
