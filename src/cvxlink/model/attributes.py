"""What variables are declared to be, such as ``nonneg=True``: how it is printed, and how many unknowns are left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from . import typesetting


def unknowns_of(variable: cp.Variable) -> int:
    """Return how many numbers determine a variable: half of a symmetric matrix, and nothing that is always zero."""
    if variable.sparse_idx is not None:
        return len(variable.sparse_idx[0])
    if variable.attributes["diag"]:
        return variable.shape[0]
    order = variable.shape[0] if variable.ndim == 2 else 0
    return order * (order + 1) // 2 if order > 1 and variable.is_symmetric() else variable.size


def worded(name: str, variable: cp.Variable, is_matrix: bool = False) -> list[str]:
    """Return what a variable is declared to be, in plain characters; ``is_matrix`` as in :func:`tex`."""
    symbol = typesetting.plain(variable.written_as) if hasattr(variable, "written_as") else name
    return [typesetting.plain(one).replace("@", symbol) for one in _statements(variable, is_matrix)]


def tex(name: str, variable: cp.Variable, is_matrix: bool = False) -> list[str]:
    """Return the same as LaTeX.

    ``is_matrix`` is whether the program says elsewhere that the variable is a semidefinite matrix; that it is symmetric
    then goes without saying.
    """
    symbol = getattr(variable, "written_as", name)
    return [one.replace("@", symbol) for one in _statements(variable, is_matrix)]


# In LaTeX, with @ for the variable. CVXPY passes "pos" to solvers as "nonneg", and "neg" as "nonpos".
_WORDS: dict[str, Callable[[cp.Variable], str]] = {
    "nonneg": lambda variable: r"@ \ge 0",
    "pos": lambda variable: r"@ \ge 0",
    "nonpos": lambda variable: r"@ \le 0",
    "neg": lambda variable: r"@ \le 0",
    "PSD": lambda variable: r"@ \succeq 0",
    "NSD": lambda variable: r"@ \preceq 0",
    "diag": lambda variable: r"@\text{ diagonal}",
    "sparsity": lambda variable: (
        rf"@ = 0\text{{ outside {len(variable.sparse_idx[0])} of its {variable.size} entries}}"
    ),
    "bounds": lambda variable: _between(*map(np.asarray, variable.bounds)),
}


def _statements(variable: cp.Variable, is_matrix: bool) -> list[str]:
    attributes = variable.attributes
    said = [r"@ = @^\top"] if attributes["symmetric"] and not is_matrix else []
    for name, word in _WORDS.items():
        value = attributes[name]
        if value is not None and value is not False:
            said.append(word(variable))
    return list(dict.fromkeys(one for one in said if one))


def _between(lower: Any, upper: Any) -> str:
    """Return bounds; one that is not there is left out, and one that differs between entries is named by its shape."""
    below = "" if np.all(lower == -np.inf) else rf"{_number(lower)} \le "
    above = "" if np.all(upper == np.inf) else rf" \le {_number(upper)}"
    if below and not above:
        return rf"@ \ge {_number(lower)}"
    if below and _number(lower) == _number(upper) and np.array_equal(lower, upper):
        return f"@ = {_number(lower)}"
    return f"{below}@{above}" if below or above else ""


def _number(bound: np.ndarray) -> str:
    first = bound.flat[0]
    if not np.all(bound == first):
        return f"[{'×'.join(map(str, bound.shape))}]"
    return r"\infty" if first == np.inf else r"-\infty" if first == -np.inf else f"{first:.6g}"
