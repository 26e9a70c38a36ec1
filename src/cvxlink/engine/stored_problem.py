"""Problems in files: as JSON and arrays, never as code.

A formulation is stored as the name of its class and its fields. Every value is one of the kinds in the tables below;
reading makes values of these kinds only, and no file can have anything else imported or called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.files.archive import KINDS
from ..data.graph import Graph, Rule
from ..data.link_weights import PairValues
from ..data.links import Links
from ..errors import CvxlinkError, InvalidFile, InvalidInput
from ..programs.linear_sdp import LinearSDP, Rows
from .formulation import Formulation

# Our own values that problems are made of; each checks what it is made from.
VALUES = {value.__name__: value for value in (Graph, Links, Rule, LinearSDP, Rows)}
SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)}
# Modules of this package in which formulations are declared. They are imported when a file names them; no others are.
OWN = re.compile(r"cvxlink\.(methods(\.[a-z_0-9]+)+|engine\.linear_problem)")
NESTED_AT_MOST = 50

Arrays = dict[str, np.ndarray]


# ---------------------------------------------------------------------- writing


def stored(problem: Formulation) -> tuple[dict[str, Any], Arrays]:
    """Return a problem as JSON, and the arrays that the JSON refers to by name.

    Raises
    ------
    InvalidInput
        If a field holds something that cannot be stored; the message names it.
    """
    arrays: Arrays = {}
    return _formulation(problem, type(problem).__name__, arrays), arrays


def _formulation(problem: Formulation, where: str, arrays: Arrays) -> dict[str, Any]:
    kind = type(problem)
    if not is_dataclass(kind):
        raise _cannot_store(where, "is not a dataclass, so its fields are not known")
    return {
        "problem": f"{kind.__module__}:{kind.__qualname__}",
        "fields": _fields(problem, where, arrays),
    }


def _fields(value: Any, where: str, arrays: Arrays) -> dict[str, Any]:
    return {f.name: _value(getattr(value, f.name), f"{where}.{f.name}", arrays) for f in fields(value) if f.init}


def _value(value: Any, where: str, arrays: Arrays) -> Any:
    """Return a value as JSON; ``where`` is how messages call it."""
    kind = type(value)
    if where.count(".") > NESTED_AT_MOST:
        raise _cannot_store(where[:100], "holds values within values within values without end")
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if abs(value) < 2**63 else {"integer": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if kind is list:
        return [_value(item, f"{where}.{k}", arrays) for k, item in enumerate(value)]
    if kind is tuple:
        return {"tuple": [_value(item, f"{where}.{k}", arrays) for k, item in enumerate(value)]}
    if kind is dict:
        return {"dict": [[_value(part, f"{where}.{key}", arrays) for part in (key, value[key])] for key in value]}
    if kind is PairValues:
        pairs = np.array(list(value), dtype=np.int64).reshape(-1, 2)
        return {"numbers by pair": [_array(pairs, where, arrays), _array(np.array([*value.values()]), where, arrays)]}
    if kind is np.ndarray:
        return {"array": _array(value, where, arrays)}
    if isinstance(value, np.generic):
        return {"scalar": _array(np.asarray(value), where, arrays)}
    if kind.__name__ in SPARSE and sp.issparse(value):
        parts = [_array(part, where, arrays) for part in (value.data, value.indices, value.indptr)]
        return {"sparse": kind.__name__, "shape": list(map(int, value.shape)), "arrays": parts}
    if kind in VALUES.values():
        return {"value": kind.__name__, "fields": _fields(value, where, arrays)}
    if isinstance(value, Formulation):
        return _formulation(value, where, arrays)
    raise _cannot_store(where, f"is a {kind.__name__}, which cannot be stored next to the program")


def _array(array: np.ndarray, where: str, arrays: Arrays) -> str:
    if array.dtype.kind not in KINDS or not array.dtype.itemsize:
        raise _cannot_store(where, f"is an array of {array.dtype}, which cannot be stored next to the program")
    name = str(len(arrays))
    arrays[name] = array
    return name


def _cannot_store(where: str, what: str) -> InvalidInput:
    return InvalidInput(
        f"{where} {what}; use export(…, store_problem=False), and later bring_back(…, problem=…)", "problem"
    )


# ---------------------------------------------------------------------- reading


def restored(content: Any, arrays: Arrays) -> Formulation:
    """Return the problem that :func:`stored` made JSON and arrays of.

    Raises
    ------
    InvalidFile
        If it is not such a problem; the message does not name the file.
    """
    try:
        problem = _restored(content, arrays)
    except CvxlinkError as error:
        raise InvalidFile(f"its problem cannot be made again: {error}") from error
    except Exception as error:  # a formulation may say in any way that these are not its fields
        words = str(error) or type(error).__name__
        raise InvalidFile(f"its problem cannot be made again: {words}") from error
    if not isinstance(problem, Formulation):
        raise InvalidFile("it stores no problem")
    return problem


def _restored(content: Any, arrays: Arrays) -> Any:
    if content is None or isinstance(content, bool | int | float | str):
        return content
    if isinstance(content, list):
        return [_restored(item, arrays) for item in content]
    for key, read in READERS.items():
        if key in content:
            return read(content, arrays)
    raise InvalidFile(f"there is no value of the kind {next(iter(content), '')!r}")


def _tuple(content: dict[str, Any], arrays: Arrays) -> tuple:
    return tuple(_restored(item, arrays) for item in content["tuple"])


def _dict(content: dict[str, Any], arrays: Arrays) -> dict:
    return {_restored(key, arrays): _restored(value, arrays) for key, value in content["dict"]}


def _numbers_by_pair(content: dict[str, Any], arrays: Arrays) -> PairValues:
    pairs, values = (arrays[name] for name in content["numbers by pair"])
    if pairs.dtype.kind != "i" or pairs.shape != (len(values), 2) or values.dtype.kind != "f":
        raise InvalidFile("it has numbers by pair without pairs or numbers")
    return PairValues(zip(map(tuple, pairs.tolist()), values.tolist(), strict=True))


def _sparse(content: dict[str, Any], arrays: Arrays) -> Any:
    data, indices, starts = (arrays[name] for name in content["arrays"])
    shape = tuple(content["shape"])
    if data.dtype.kind not in "biuf":
        raise InvalidFile("it has a sparse matrix whose entries are not numbers")
    # An index outside would be an address outside, and SciPy does not look at those of an empty matrix.
    lines, across = shape if content["sparse"].startswith("csr") else shape[::-1]
    are_lists = all(part.ndim == 1 for part in (data, indices, starts))
    are_whole = indices.dtype.kind in "iu" and starts.dtype.kind in "iu"
    inside = are_lists and are_whole and len(starts) == lines + 1 and starts[0] == 0
    inside = inside and starts[-1] == len(indices) == len(data)
    if not (inside and (starts[1:] >= starts[:-1]).all() and ((indices >= 0) & (indices < across)).all()):
        raise InvalidFile("it has a sparse matrix whose entries are not where they can be")
    return SPARSE[content["sparse"]]((data, indices, starts), shape=shape)


def _own_value(content: dict[str, Any], arrays: Arrays) -> Any:
    return VALUES[content["value"]](**_restored_fields(content, arrays))


def _problem(content: dict[str, Any], arrays: Arrays) -> Formulation:
    return class_called(content["problem"])(**_restored_fields(content, arrays))


def _restored_fields(content: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    return {name: _restored(value, arrays) for name, value in content["fields"].items()}


READERS: dict[str, Callable[[dict[str, Any], Arrays], Any]] = {
    "integer": lambda content, arrays: int(content["integer"], 16),
    "float": lambda content, arrays: float(content["float"]),
    "tuple": _tuple,
    "dict": _dict,
    "numbers by pair": _numbers_by_pair,
    "array": lambda content, arrays: arrays[content["array"]],
    "scalar": lambda content, arrays: arrays[content["scalar"]][()],
    "sparse": _sparse,
    "value": _own_value,
    "problem": _problem,
}


def class_called(name: str) -> type[Formulation]:
    """Return a formulation by the name ``module:class``: one of this package, or one that is loaded already.

    A script that exports its own class calls its module ``__main__``; elsewhere the module has its own name.
    """
    module, _, kind = str(name).partition(":")
    if OWN.fullmatch(module):
        found = getattr(import_module(module), kind, None)
        known = [found] if isinstance(found, type) and issubclass(found, Formulation) else []
    else:
        called = [one for one in _subclasses(Formulation) if one.__qualname__ == kind]  # type: ignore[type-abstract]
        known = [one for one in called if one.__module__ == module]
        if not known and module == "__main__":
            known = [one for one in called if not OWN.fullmatch(one.__module__)]
    if not known:
        raise InvalidFile(
            f"it is a {kind[:60]!r} of the module {module[:60]!r}, which is not loaded; import that module first, or "
            f"give the problem: bring_back(…, problem=…)"
        )
    return known[-1]  # of several, as in a notebook, the last


def _subclasses(kind: type[Formulation]) -> Iterator[type[Formulation]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)
