"""One row of a constraint in words: "K[3, 7] == 1", or "must-link (3, 7)" where the term knows its links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np

from ..model.declared import Declaration
from ..numerics.digits import shown

# More terms than this are counted, not written out.
MOST_TERMS = 6


def in_words(
    term: Any,
    place: int,
    declaration: Declaration,
    row: tuple[np.ndarray, np.ndarray, float] | None = None,
    is_equation: bool = False,
) -> str:
    """Return one row of a constraint as mathematics with its numbers.

    Parameters
    ----------
    term : CVXPY constraint
    place : int
        The number of the row within the constraint, column by column.
    declaration : Declaration
    row : two arrays and a number, optional
        If the row is affine, lhs − rhs: the unknowns by number, all variables one after another, their coefficients,
        and the constant.
    is_equation : bool
        Whether an affine row is an equation.
    """
    if row is None:
        return _of_cone(term, place, declaration)
    written = linear_row(*row, declaration.variables, is_equation)
    kind, pairs = getattr(term, "on_links", (None, ()))
    if kind is not None and place < len(pairs):
        i, j = (int(point) for point in pairs[place])
        return f"{kind}-link ({i}, {j}): {written}"
    return written


def linear_row(
    columns: np.ndarray, factors: np.ndarray, constant: float, variables: dict[str, cp.Variable], is_equation: bool
) -> str:
    """Return Σ coefficient · entry == or <= a number."""
    parts = list(_entries(columns, factors, variables))
    side, sense = -constant, "==" if is_equation else "<="
    if parts and all(factor < 0 for factor, _ in parts):
        parts, side = [(-factor, entry) for factor, entry in parts], -side
        sense = "==" if is_equation else ">="
    listed = parts if len(parts) <= MOST_TERMS else parts[: MOST_TERMS // 2]
    text = " ".join(_signed(factor, entry) for factor, entry in listed) or "0"
    more = f" + … ({len(parts)} terms)" if len(listed) < len(parts) else ""
    return f"{text.removeprefix('+ ')}{more} {sense} {shown(side)}"


def _signed(factor: float, entry: str) -> str:
    size = "" if abs(factor) == 1 else f"{abs(factor):.4g} "
    return f"{'-' if factor < 0 else '+'} {size}{entry}"


def _entries(
    columns: np.ndarray, factors: np.ndarray, variables: dict[str, cp.Variable]
) -> Iterator[tuple[float, str]]:
    """Yield coefficients and entries of variables; the two places of an entry of a symmetric matrix are one."""
    start, negligible = 0, 1e-12 * float(abs(factors).max(initial=0.0))
    for name, variable in variables.items():
        own = np.flatnonzero((columns >= start) & (columns < start + variable.size))
        places: dict[tuple[int, ...], float] = {}
        for column, factor in zip(columns[own], factors[own], strict=True):
            place = tuple(int(k) for k in np.unravel_index(int(column) - start, variable.shape, order="F"))
            if variable.ndim == 2 and variable.is_symmetric():
                place = tuple(sorted(place))
            places[place] = places.get(place, 0.0) + float(factor)
        start += variable.size
        for place, factor in sorted(places.items()):
            if abs(factor) > negligible:
                yield _rounded(factor), entry_of(name, place)


def entry_of(name: str, place: Any) -> str:
    """Return an entry of a variable as it is written in Python."""
    return f"{name}[{', '.join(str(int(k)) for k in place)}]" if len(place) else name


def _rounded(number: float) -> float:
    """Return a number without what scaling it back and forth has done to its last digits."""
    return float(f"{number:.12g}")


def _of_cone(term: Any, place: int, declaration: Declaration) -> str:
    """Return a constraint that is not affine, or one of its entries."""
    written = declaration.worded([term])
    if isinstance(term, cp.constraints.PSD):
        return written
    several = cp.constraints.SOC | cp.constraints.ExpCone | cp.constraints.PowCone3D
    shape = term.args[0].shape if isinstance(term, several) else term.shape
    if np.prod(shape) <= 1:
        return written
    where = np.unravel_index(place, shape, order="F")
    return f"{written} at {', '.join(str(int(k)) for k in where)}"
