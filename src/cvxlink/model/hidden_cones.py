"""The cones that CVXPY makes of functions: read from the expressions, before anything is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
from cvxpy.atoms import EXP_ATOMS, PSD_ATOMS


def parts_of(expression: Any) -> Iterator[Any]:
    """Yield an expression, objective or constraint and all that it is made of."""
    yield expression
    for part in getattr(expression, "args", ()):
        yield from parts_of(part)


def log_dets(expression: Any) -> Iterator[int]:
    """Yield the orders of the matrices whose log-determinants are in an expression."""
    return (part.args[0].shape[0] for part in parts_of(expression) if isinstance(part, cp.log_det))


def _order(atom: Any) -> int:
    return atom.args[0].shape[0]


def _both_sides(atom: Any) -> int:
    return sum(atom.args[0].shape)


# The order of the semidefinite block, or of the largest of them, that CVXPY makes of an atom.
ORDERS: dict[type, Callable[[Any], int]] = {
    cp.log_det: lambda atom: 2 * _order(atom),
    cp.normNuc: _both_sides,
    cp.sigma_max: _both_sides,
    cp.MatrixFrac: lambda atom: atom.args[1].shape[0] + (atom.args[0].shape[1] if atom.args[0].ndim == 2 else 1),
    cp.tr_inv: lambda atom: _order(atom) + 1,
    cp.quantum_rel_entr: lambda atom: 2 * _order(atom) ** 2,
}


def semidefinite_orders(expression: Any) -> Iterator[int]:
    """Yield the orders of the semidefinite blocks that functions become: eigenvalues, singular values, determinants."""
    for part in parts_of(expression):
        if isinstance(part, PSD_ATOMS_AS_TUPLE) and not part.is_constant():
            yield ORDERS.get(type(part), _order)(part)


def exponential_atoms(expression: Any) -> Iterator[str]:
    """Yield the names of what needs exponential cones: logarithms, entropies, the cones themselves."""
    for part in parts_of(expression):
        if isinstance(part, cp.constraints.ExpCone):
            yield "ExpCone"
        elif isinstance(part, EXP_ATOMS_AS_TUPLE) and not part.is_constant():
            yield type(part).__name__


PSD_ATOMS_AS_TUPLE, EXP_ATOMS_AS_TUPLE = tuple(PSD_ATOMS), tuple(EXP_ATOMS)
