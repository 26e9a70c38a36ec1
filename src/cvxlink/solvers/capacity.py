"""How much memory solvers need for dense semidefinite blocks, as measured, and how much there is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..programs.base import Program
from ..programs.declared import semidefinite_names
from ..programs.linear_sdp import LinearSDP
from .executables import COMMAND_LINE

GIGABYTE = 2.0**30
# Less is not worth a line.
WORTH_TELLING = 1.0 * GIGABYTE
# Clarabel factorises a block of order w as a dense matrix of order d = w(w + 1)/2. Measured at orders 40, 60 and 80:
# 57, 54 and 53 bytes times d².
CLARABEL_BYTES = 53.0
# What CVXPY makes of log det, a block of twice the order, is half empty, and Clarabel splits it. Measured at orders 30
# and 40: as much memory as a dense block of 1.5 times the order.
LOG_DET_SHARE = 0.75
NUMBER = 8.0
AS_CLARABEL = ("CLARABEL", "MOREAU")
WITH_DENSE_BLOCKS = ("COPT", "MOSEK")
# Limits of containers, where there are any.
CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def _orders(program: Program) -> list[float]:
    """Return the orders of the dense blocks of a program; sparse slacks count with their largest clique."""
    sizes = program.sizes
    doubled = [2 * n for n in sizes.log_det]
    hidden = [LOG_DET_SHARE * order if order in doubled else float(order) for order in sizes.hidden_psd]
    clique = program.largest_clique if sizes.psd else None
    if clique is not None:
        return [min(float(order), float(clique)) for order in sizes.psd] + hidden
    return [float(order) for order in _dense_orders(program)] + hidden


def _dense_orders(program: Program) -> list[int]:
    """Return the orders of semidefinite variables, which are dense; other matrix inequalities may be sparse."""
    if isinstance(program, LinearSDP):
        return [program.n]
    declaration = program.declaration
    return [declaration.variables[name].shape[-1] for name in semidefinite_names(declaration)]


def memory_needed(solver: str, program: Program) -> float | None:
    """Return about how many bytes a solver needs for the dense blocks of a program, or None if that is not known.

    SDPA keeps a dense matrix of the order of the unknowns m, measured as 8m² bytes. CVXOPT keeps that too, and the rows
    of every block as a dense matrix, measured as 8m(m + Σw²) bytes. Executables eliminate the equations first. Moreau
    works as Clarabel does. Of other interior-point codes it is only known that the entries of a dense block make a
    dense matrix, of order w(w + 1)/2.
    """
    sizes = program.sizes
    unknowns, blocks = sizes.unknowns, (*sizes.psd, *sizes.hidden_psd)
    if solver in AS_CLARABEL:
        return sum(CLARABEL_BYTES * _entries(w) ** 2 for w in _orders(program))
    if not blocks:
        return None
    if solver == "SDPA":
        return NUMBER * unknowns**2
    if solver in COMMAND_LINE:
        return NUMBER * max(unknowns - sizes.equations, 0) ** 2
    if solver == "CVXOPT":
        return NUMBER * unknowns * (unknowns + sum(w**2 for w in blocks))
    if solver in WITH_DENSE_BLOCKS:
        return sum(NUMBER * _entries(w) ** 2 for w in _orders(program))
    return None


def _entries(order: float) -> float:
    """Return the number of entries in half a symmetric matrix."""
    return order * (order + 1) / 2


def memory_there_is() -> float:
    """Return the bytes of memory of this machine, or of the container; infinity if the system does not say."""
    found = [float("inf")]
    with suppress(AttributeError, OSError, ValueError):
        found.append(float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))
    for path in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):
            found.append(float(path.read_text()))
    return min(found)


def fits(solver: str, program: Program) -> bool:
    """Whether the memory that a solver is known to need is there."""
    needed = memory_needed(solver, program)
    return needed is None or needed <= memory_there_is()


def is_worth_telling(solver: str, program: Program) -> bool:
    """Whether a solver needs so much memory that the plan says so."""
    return (memory_needed(solver, program) or 0.0) >= WORTH_TELLING


def memory_in_words(solver: str, program: Program) -> str:
    """Return the memory that a solver needs, and for what."""
    needed, order = memory_needed(solver, program), max(_orders(program), default=0.0)
    what = f"a dense semidefinite block of order {order:.0f}"
    if solver not in (*AS_CLARABEL, *WITH_DENSE_BLOCKS):
        what = f"{what} and {program.sizes.unknowns} unknowns"
    about = "at least" if solver in (*COMMAND_LINE, *WITH_DENSE_BLOCKS) else "about"
    size = (needed or 0.0) / GIGABYTE
    return f"{about} {f'{size:.2g}' if size < 100 else f'{size:.0f}'} GB for {what}"
