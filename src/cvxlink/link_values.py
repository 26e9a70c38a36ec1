"""Numbers that go with links: one for all, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import InvalidInput
from .validation import real_array

LinkValues = float | dict[tuple[int, int], float]


def as_link_values(given: Any, pairs: np.ndarray, n: int, name: str) -> LinkValues:
    """Return a number for all links, or one by pair.

    Parameters
    ----------
    given : number, mapping, matrix or array
        One for all; by pair, ``{(0, 1): 0.5}``, the two in any order; a symmetric n × n matrix, dense or sparse, of
        which only the entries at links are looked at; or an array in the order of ``pairs``.
    pairs : array
        The links, as ``links.must`` or ``links.cannot`` hold them.
    n : int
        The number of points.
    name : str
        The name of the argument, for messages.
    """
    if isinstance(given, Real) and not isinstance(given, bool | np.bool_):
        return float(given)
    if isinstance(given, Mapping):
        try:
            return {(min(i, j), max(i, j)): float(value) for (i, j), value in given.items()}
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{name} by pair must look like {{(0, 1): 0.5}}") from error
    values = sp.csr_array(given) if sp.issparse(given) else real_array(given, name)
    if values.shape == (n, n):
        i, j = pairs.T
        one, other = (np.asarray(values[side]).ravel() for side in ((i, j), (j, i)))
        unequal = np.flatnonzero((one != other) & (one != 0) & (other != 0))
        if len(unequal):
            i, j = pairs[unequal[0]]
            raise InvalidInput(f"{name} has different entries at ({i}, {j}) and ({j}, {i}); make it symmetric")
        found = np.where(one == 0, other, one)
    elif values.shape == (len(pairs),):
        found = np.asarray(values)
    else:
        raise InvalidInput(
            f"{name} must be a number, numbers by pair {{(i, j): …}}, a matrix of shape {(n, n)}, or {len(pairs)} "
            f"numbers in the order of the links; its shape is {values.shape}"
        )
    return dict(zip(map(tuple, pairs.tolist()), found.tolist(), strict=True))


def on_links(values: LinkValues, pairs: np.ndarray, name: str, positive: bool = True) -> np.ndarray:
    """Return the numbers on some links, in their order; all must be finite, and positive or at least not negative."""
    if isinstance(values, float):
        found = np.full(len(pairs), values)
        _require_sign(values, name, positive)  # even where there is no link yet that it applies to
    else:
        missing = next((pair for pair in map(tuple, pairs.tolist()) if pair not in values), None)
        if missing is not None:
            raise InvalidInput(f"{name} has no number for the link {missing}")
        found = np.array([values[pair] for pair in map(tuple, pairs.tolist())], dtype=float)
        for value in found:
            _require_sign(value, name, positive)
    return found


def _require_sign(value: float, name: str, positive: bool) -> None:
    if not np.isfinite(value) or value < 0 or (positive and value == 0):
        raise InvalidInput(f"{name} must be {'positive' if positive else 'zero or more'} and finite, not {value:g}")
