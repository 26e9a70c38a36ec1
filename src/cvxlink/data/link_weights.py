"""Numbers that belong to links: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidInput
from ..numerics.arguments import shown
from ..numerics.checks import as_matrix, as_number, real_array

# Beyond, squares and products overflow.
LARGEST = 1e50


class PairValues(dict[tuple[int, int], float]):
    """Numbers by pair that have been checked; it may hold more pairs than there are links now."""


LinkValues = float | PairValues


def as_link_values(given: Any, pairs: np.ndarray, n: int, name: str) -> LinkValues:
    """Return a number for all links, or one by pair.

    Parameters
    ----------
    given : number, mapping, matrix or array
        One for all; by pair, ``{(0, 1): 0.5}``, the two in any order; a symmetric n × n matrix, dense or sparse, of
        which only the entries at links are used; or an array in the order of ``pairs``.
    pairs : array
        The links, as ``links.must`` or ``links.cannot`` hold them.
    n : int
        The number of points.
    name : str
        The name of the argument, for messages.
    """
    if isinstance(given, PairValues):
        return given
    if isinstance(given, Mapping):
        return _by_pair(given, pairs, n, name)
    if isinstance(given, Real) or given is None or isinstance(given, str):
        return _number(given, name)
    values = as_matrix(given, name, (n, n)) if sp.issparse(given) else real_array(given, name)
    if not values.ndim:
        return _number(given.item() if isinstance(given, np.ndarray) else given, name)
    if not sp.issparse(given) and np.asarray(given).dtype.kind not in "iuf":
        raise InvalidInput.about(name, "must hold real numbers")
    if not np.isfinite(values.data if sp.issparse(values) else values).all():
        raise InvalidInput.about(name, "holds NaN or infinity; all its numbers must be finite")
    if values.shape == (n, n):
        i, j = pairs.T
        one, other = (np.asarray(values[side]).ravel() for side in ((i, j), (j, i)))
        unequal = np.flatnonzero((one != other) & (one != 0) & (other != 0))
        if len(unequal):
            i, j = pairs[unequal[0]]
            raise InvalidInput.about(name, f"has different entries at ({i}, {j}) and ({j}, {i}); make it symmetric")
        found = np.where(one == 0, other, one)
    elif values.shape == (len(pairs),):
        found = np.asarray(values)
    else:
        raise InvalidInput.about(
            name,
            f"must be a number, numbers by pair {{(i, j): …}}, a matrix of shape {(n, n)}, or {len(pairs)} "
            f"numbers in the order of the links; its shape is {values.shape}",
        )
    return PairValues(zip(map(tuple, pairs.tolist()), found.tolist(), strict=True))


def _number(given: Any, name: str) -> float:
    if isinstance(given, bool | np.bool_) or not isinstance(given, Real):
        raise InvalidInput.about(
            name,
            f"must be a number, numbers by pair {{(i, j): …}}, a matrix or an array, not {shown(given)}",
        )
    return as_number(given, name)


def _by_pair(given: Mapping, pairs: np.ndarray, n: int, name: str) -> PairValues:
    values, links = PairValues(), set(map(tuple, pairs.tolist()))
    for pair, value in given.items():
        whole = isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(end, Integral) for end in pair)
        if not whole or not 0 <= min(pair) < max(pair) < n:
            raise InvalidInput.about(
                name, f"by pair must look like {{(0, 1): 0.5}}, with points 0 … {n - 1}, not {shown(pair)}"
            )
        key = int(min(pair)), int(max(pair))
        if key not in links:
            raise InvalidInput.about(name, f"has a number for {key}, which is not one of these links")
        if values.setdefault(key, _number(value, name)) != float(value):
            raise InvalidInput.about(name, f"has two different numbers for the link {key}")
    return values


def on_links(
    values: LinkValues, pairs: np.ndarray, name: str, positive: bool = True, default: float | None = None
) -> np.ndarray:
    """Return the numbers on some links, in their order; all must be finite, and positive or at least not negative.

    Links that are not named have the default, or must be named where there is none.
    """
    if isinstance(values, float):
        found = np.full(len(pairs), values)
        _require_sign(values, name, positive)  # even where there is no link yet that it applies to
    else:
        missing = next((pair for pair in map(tuple, pairs.tolist()) if pair not in values), None)
        if missing is not None and default is None:
            raise InvalidInput.about(name, f"has no number for the link {missing}; each link needs one")
        found = np.array([values.get(pair, default) for pair in map(tuple, pairs.tolist())], dtype=float)
        for value in found:
            _require_sign(value, name, positive)
    return found


def _require_sign(value: float, name: str, positive: bool) -> None:
    if not value <= LARGEST or value < 0 or (positive and value == 0):
        wanted = "positive" if positive else "zero or more"
        raise InvalidInput.about(name, f"must be {wanted} and finite, at most {LARGEST:g}, not {value:g}")
