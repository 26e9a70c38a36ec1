"""A catalogue of values that are wrong for most arguments. Each entry makes a new one, as a call may use it up."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pandas as pd
import scipy.sparse as sp

import cvxlink as cl


class Unhelpful:
    """An object all of whose protocols raise an error of its own, even the one that shows it."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise LookupError("this object does not want to be used")

    __array__ = __len__ = __iter__ = __float__ = __int__ = __index__ = __bool__ = __repr__ = __str__ = _refuse
    __getitem__ = __fspath__ = __lt__ = __eq__ = __add__ = __radd__ = __mul__ = __rmul__ = __hash__ = _refuse  # type: ignore[assignment]


class RaisingArray:
    """An object that cannot be made an array."""

    shape = (8, 2)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("there is no array")


class RaisingNumber(float):
    """A number that cannot be read."""

    def __float__(self) -> float:
        raise RuntimeError("there is no number")


class RaisingInteger(int):
    """A whole number that cannot be read."""

    def __int__(self) -> int:
        raise RuntimeError("there is no number")

    __index__ = __int__


class RaisingLength(list):
    """A list that does not know its length."""

    def __len__(self) -> int:
        raise RuntimeError("there is no length")


class RaisingItems(list):
    """A list that cannot be read."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("there are no items")


class AnyCall:
    """A class that can be called with anything."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def _anything(*_: Any, **__: Any) -> None:
    return None


def _nested(kind: type, depth: int = 3000) -> Any:
    value: Any = kind()
    for _ in range(depth):
        value = kind([value])
    return value


def _itself() -> list:
    value: list = []
    value.append(value)
    return value


def _mapping_of_itself() -> dict:
    value: dict = {}
    value["K"] = value
    return value


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


@cache
def _points() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((8, 2))


def _damaged(place: tuple[int, ...], value: float) -> np.ndarray:
    points = _points().copy()
    points[place] = value
    return points


def _sparse_nan() -> sp.csr_array:
    return sp.csr_array(np.diag([np.nan] * 8))


SIMPLE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "np.True_": lambda: np.True_,
    "b'abc'": lambda: b"abc",
    "bytearray": lambda: bytearray(8),
    "memoryview": lambda: memoryview(b"12345678"),
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "dict by number": lambda: {0: 1, 1: 2},
    "dict by pair": lambda: {(0, 1): "x"},
    "set": lambda: {1, 2},
    "frozenset": frozenset,
    "object()": object,
    "a class": lambda: AnyCall,
    "type": lambda: type,
    "int, the class": lambda: int,
    "np.ndarray, the class": lambda: np.ndarray,
    "a function": lambda: _anything,
    "a generator": lambda: (i for i in range(8)),
    "a module": lambda: math,
    "Ellipsis": lambda: Ellipsis,
    "NotImplemented": lambda: NotImplemented,
    "slice": lambda: slice(0, 3),
    "range": lambda: range(8),
    "an exception": lambda: ValueError("no"),
    "a date": lambda: datetime.date(2020, 1, 1),
    "Unhelpful()": Unhelpful,
    "RaisingArray()": RaisingArray,
    "RaisingNumber()": lambda: RaisingNumber(1.0),
    "RaisingInteger()": lambda: RaisingInteger(2),
    "RaisingLength()": lambda: RaisingLength([1, 2]),
    "RaisingItems()": lambda: RaisingItems([1, 2]),
    "nested list": lambda: _nested(list),
    "nested tuple": lambda: _nested(tuple),
    "a list in itself": _itself,
    "a dict in itself": _mapping_of_itself,
}
NUMBERS: dict[str, Callable[[], Any]] = {
    repr(number): lambda number=number: number
    for number in (0, 1, -1, 2, 3, 7, 8, 9, 10**9, -(10**9), 2**63, -(2**64), 0.5, -0.5, 1.5, 1e308, -1e308, 1e-320)
} | {
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "-inf": lambda: -math.inf,
    "complex": lambda: 1 + 2j,
    "complex nan": lambda: complex(math.nan, 0),
    "Decimal": lambda: Decimal("0.5"),
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 3),
    "large Fraction": lambda: Fraction(10**400, 3),
    "np.float16": lambda: np.float16(0.5),
    "np.int8": lambda: np.int8(-3),
    "np.uint64": lambda: np.uint64(2**64 - 1),
    "np.longdouble": lambda: np.longdouble(10) ** 400,
    "np.nan": lambda: np.float64(np.nan),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "np.timedelta64": lambda: np.timedelta64(3, "s"),
    "np.complex64": lambda: np.complex64(1j),
}
STRINGS: dict[str, Callable[[], Any]] = {
    "''": str,
    "' '": lambda: " ",
    "'abc'": lambda: "abc",
    "'0'": lambda: "0",
    "'nan'": lambda: "nan",
    "'mean'": lambda: "mean",
    "100 000 letters": lambda: "a" * 10**5,
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "escape": lambda: "\x1b[31mred",
    "newline": lambda: "one\ntwo",
    "braces": lambda: "{0} {x} %s %(y)d $z$ \\frac",
    "np.str_": lambda: np.str_("abc"),
    "no such path": lambda: "/no/such/folder/file.csv",
    "a folder": lambda: "/",
    "Path": lambda: Path("/no/such/folder/file.dat-s"),
}
ARRAYS: dict[str, Callable[[], Any]] = {
    "empty list": list,
    "empty tuple": tuple,
    "empty array": lambda: np.zeros(0),
    "empty rows": lambda: np.zeros((0, 2)),
    "empty columns": lambda: np.zeros((8, 0)),
    "0-d": lambda: np.array(1.0),
    "0-d object": lambda: np.array(None, dtype=object),
    "3-d": lambda: np.zeros((2, 2, 2)),
    "ten dimensions": lambda: np.ones((1,) * 10),
    "ragged": lambda: [[1, 2], [3]],
    "ragged deeper": lambda: [[1, [2, 3]], [4, 5]],
    "object": lambda: np.array([object()] * 8, dtype=object),
    "object rows": lambda: np.array([[None, "x"]] * 8, dtype=object),
    "objects that refuse": lambda: np.array([RaisingNumber(1.0)] * 8, dtype=object),
    "list of objects that refuse": lambda: [Unhelpful()] * 8,
    "complex array": lambda: np.full((8, 8), 1j),
    "complex vector": lambda: np.full(8, 1j),
    "masked": lambda: np.ma.masked_array(np.zeros((8, 2)), mask=True),
    "masked vector": lambda: np.ma.masked_array(np.arange(8), mask=[True] + [False] * 7),
    "np.ma.masked": lambda: np.ma.masked,
    "matrix": lambda: np.matrix(np.eye(2)),
    "matrix of 8": lambda: np.matrix(np.eye(8)),
    "float16": lambda: np.linspace(0, 1, 16, dtype=np.float16).reshape(8, 2),
    "longdouble": lambda: np.full((8, 8), np.longdouble(10) ** 400),
    "bools": lambda: np.array([True, False] * 4),
    "bool matrix": lambda: np.eye(8, dtype=bool),
    "strings": lambda: np.array(["a", "b"] * 4),
    "bytes": lambda: np.array([b"a", b"b"] * 4),
    "string list": lambda: ["a"] * 8,
    "structured": lambda: np.zeros(8, dtype=[("a", float), ("b", int)]),
    "record": lambda: np.rec.array([(1, 2.0)] * 8),
    "dates": lambda: np.array(["2020-01-01"] * 8, dtype="datetime64[D]"),
    "durations": lambda: np.arange(8).astype("timedelta64[s]"),
    "void": lambda: np.zeros(8, dtype="V3"),
    "read-only": lambda: _read_only(_points().copy()),
    "read-only ints": lambda: _read_only(np.arange(8)),
    "every other": lambda: np.repeat(_points(), 2, axis=0)[::2],
    "reversed": lambda: _points()[::-1, ::-1],
    "Fortran": lambda: np.asfortranarray(_points()),
    "huge": lambda: np.full((8, 2), 1e308),
    "huge matrix": lambda: np.full((8, 8), 1e308),
    "tiny": lambda: np.full((8, 2), 1e-320),
    "NaN entry": lambda: _damaged((0, 0), np.nan),
    "inf entry": lambda: _damaged((3, 1), np.inf),
    "NaN vector": lambda: np.full(8, np.nan),
    "NaN matrix": lambda: np.full((8, 8), np.nan),
    "wrong length": lambda: np.arange(5),
    "one element": lambda: np.ones(1),
    "one by one": lambda: np.ones((1, 1)),
    "wrong shape": lambda: np.ones((3, 5)),
    "another square": lambda: np.eye(5),
    "all the same": lambda: np.zeros((8, 2)),
    "zero matrix": lambda: np.zeros((8, 8)),
    "zero vector": lambda: np.zeros(8),
    "not symmetric": lambda: np.triu(np.ones((8, 8))),
    "negative": lambda: -np.ones((8, 8)),
    "singular": lambda: np.ones((8, 8)),
    "indefinite": lambda: np.diag([1.0, -1.0] * 4),
    "labels": lambda: [0, 1] * 4,
    "one class": lambda: [0] * 8,
    "unknown only": lambda: [-1] * 8,
    "large labels": lambda: [10**20] * 4 + [10**400] * 4,
    "point outside": lambda: [(0, 100)],
    "negative point": lambda: [(-1, 2)],
    "half a point": lambda: [(0.5, 1)],
    "itself": lambda: [(1, 1)],
    "triples": lambda: [(0, 1, 2)],
    "huge point": lambda: [(0, 10**400)],
    "uint64": lambda: np.array([2**64 - 1] * 8, dtype=np.uint64),
    "int8": lambda: np.array([100, -100] * 4, dtype=np.int8),
    "set of pairs": lambda: {(0, 1)},
    "list of None": lambda: [None] * 8,
    "list of dicts": lambda: [{}] * 8,
    "list of nested": lambda: [_nested(list)] * 8,
}
OTHERS: dict[str, Callable[[], Any]] = {
    "sparse coo": lambda: sp.coo_array(np.eye(8)),
    "sparse matrix": lambda: sp.csr_matrix(np.eye(8)),
    "sparse lil": lambda: sp.lil_array(np.eye(8)),
    "sparse dia": lambda: sp.dia_array(np.eye(8)),
    "sparse int": lambda: sp.csr_array(np.eye(8, dtype=int)),
    "sparse bool": lambda: sp.csr_array(np.eye(8, dtype=bool)),
    "sparse complex": lambda: sp.csr_array(np.eye(8) * 1j),
    "sparse longdouble": lambda: sp.coo_array(np.full((8, 8), np.longdouble(10) ** 400)),
    "sparse NaN": _sparse_nan,
    "sparse huge": lambda: sp.csr_array(np.full((8, 8), 1e308)),
    "sparse wrong shape": lambda: sp.csr_array((3, 5)),
    "sparse enormous": lambda: sp.csr_array((10**6, 10**6)),
    "sparse empty": lambda: sp.csr_array((0, 0)),
    "sparse 1-d": lambda: sp.coo_array(np.arange(8)),
    "Series": lambda: pd.Series(range(8)),
    "Series of names": lambda: pd.Series(list("aabbaabb"), dtype="category"),
    "Series with NA": lambda: pd.Series([1, None] * 4, dtype="Int64"),
    "DataFrame": lambda: pd.DataFrame({"a": range(8), "b": range(8)}),
    "DataFrame of text": lambda: pd.DataFrame({"a": ["x"] * 8}),
    "empty DataFrame": pd.DataFrame,
    "pd.NA": lambda: pd.NA,
    "pd.NaT": lambda: pd.NaT,
    "Index": lambda: pd.Index(range(8)),
    "Links": lambda: cl.Links(8, must=[(0, 1)], cannot=[(2, 3)]),
    "Links, the class": lambda: cl.Links,
    "Links on others": lambda: cl.Links(5, must=[(0, 1)], cannot=[(2, 3)]),
    "contradictory Links": lambda: cl.Links(8, must=[(0, 1)], cannot=[(0, 1)]),
    "no Links": lambda: cl.Links(8),
    "Graph": lambda: cl.Graph.knn(_points(), 3),
    "Graph of others": lambda: cl.Graph.knn(_points()[:5], 3),
    "Graph without points": lambda: cl.Graph.from_affinity(np.ones((8, 8))),
    "Graph without edges": lambda: cl.Graph.from_affinity(np.zeros((8, 8))),
    "Problem": lambda: cl.NCuts(cl.Graph.knn(_points(), 3)),
    "Problem, the class": lambda: cl.NCuts,
    "Options": cl.Options,
    "Status": lambda: cl.Status.OPTIMAL,
    "Variable": lambda: cp.Variable(),
    "Variable of 3": lambda: cp.Variable(3, name="v"),
    "Variable of 3 × 5": lambda: cp.Variable((3, 5), name="V"),
    "Variable of 8 × 8": lambda: cp.Variable((8, 8), name="V"),
    "Parameter": lambda: cp.Parameter(nonneg=True),
    "Parameter of 3": lambda: cp.Parameter(3),
    "Constant": lambda: cp.Constant(np.eye(8)),
    "constraint": lambda: cp.Variable() >= 0,
    "Minimize": lambda: cp.Minimize(0),
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "SeedSequence": lambda: np.random.SeedSequence(0),
    "np.random": lambda: np.random,
}
CATALOGUE: dict[str, Callable[[], Any]] = {**SIMPLE, **NUMBERS, **STRINGS, **ARRAYS, **OTHERS}
