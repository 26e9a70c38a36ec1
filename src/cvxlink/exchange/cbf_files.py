"""Files of cone programs in the Conic Benchmark Format (``.cbf``), as MOSEK and others read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..errors import InvalidFile
from .cone_program import ConeProgram
from .sdpa_files import lines_of

VERSION = 2
# In the first line of files written here, so that one that was cut short is noticed.
COUNTED = re.compile(r"cvxlink: (\d+) lines")


def write_cbf(program: ConeProgram, path: Path) -> None:
    """Write a program down: free variables, inequalities as one cone, and semidefinite constraints."""
    m, linear = len(program.c), program.linear
    parts = [f"VER\n{VERSION}\n\nOBJSENSE\nMIN\n\nVAR\n{m} 1\nF {m}\n"]
    if linear:
        parts.append(f"CON\n{linear} 1\nL+ {linear}\n")
    if program.orders:
        parts.append("\n".join(["PSDCON", str(len(program.orders)), *map(str, program.orders)]) + "\n")
    parts.append(_section("OBJACOORD", np.flatnonzero(program.c), values=program.c[program.c != 0]))
    parts.append(f"OBJBCOORD\n{program.offset:.17g}\n")
    A, b = program.A[:linear].tocoo(), program.b[:linear]
    if linear:
        parts.append(_section("ACOORD", A.row, A.col, values=A.data))
        parts.append(_section("BCOORD", np.flatnonzero(b), values=b[b != 0]))
    # The lower triangles of the matrices.
    rows, blocks, i, j = program.upper
    inside = rows >= linear
    rows, blocks, i, j = (part[inside] for part in (rows, blocks, i, j))
    H, D = program.A[rows].tocoo(), program.b[rows]
    if len(rows):
        parts.append(_section("HCOORD", blocks[H.row], H.col, j[H.row], i[H.row], values=H.data))
        at = np.flatnonzero(D)
        parts.append(_section("DCOORD", blocks[at], j[at], i[at], values=D[at]))
    text = "\n".join(parts)
    path.write_text(f"# cvxlink: {_count(text.splitlines())} lines\n{text}", encoding="ascii")


def _count(lines: list[str]) -> int:
    """Return how many lines hold something."""
    return sum(1 for line in lines if line.strip() and line[0] != "#")


def _section(name: str, *places: np.ndarray, values: np.ndarray) -> str:
    entries = zip(*(p.tolist() for p in places), values.tolist(), strict=True)
    lines = (" ".join(map(str, (*at, f"{value:.17g}"))) for *at, value in entries)
    return "\n".join([name, str(len(values)), *lines]) + "\n"


def read_cbf(path: Path) -> ConeProgram:
    """Read a program of the kind :func:`write_cbf` writes; other kinds are refused, and so are files cut short."""
    return _Reader(path).program()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        lines = lines_of(path)
        counted = COUNTED.search(lines[0])
        if counted and _count(lines) != int(counted[1]):
            raise InvalidFile(f"{path.name} has {_count(lines)} lines and says it has {counted[1]}; is it cut short?")
        self.lines = [(k, line.strip()) for k, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
        self.at = 0
        self.found: dict[str, list[list[float]]] = {}

    def fail(self, what: str) -> InvalidFile:
        number = self.lines[min(self.at, len(self.lines)) - 1][0] if self.lines else 1
        return InvalidFile(f"{self.path.name}, line {number}: {what}")

    def next(self) -> str:
        if self.at >= len(self.lines):
            raise self.fail("the file ends in the middle of a section; it is cut short")
        self.at += 1
        return self.lines[self.at - 1][1]

    def numbers(self, count: int, kind: Callable[[str], float] = float) -> list[float]:
        words = self.next().split()
        try:
            values = [kind(word) for word in words]
        except ValueError:
            values = []
        if len(values) != count or not np.isfinite(values).all():
            raise self.fail(f"expected {count} number{'s' if count > 1 else ''}, not {' '.join(words)[:60]!r}")
        return values

    def count(self) -> int:
        return int(self.numbers(1, int)[0])

    def coordinates(self, places: int) -> list[list[float]]:
        return [self.numbers(places + 1) for _ in range(self.count())]

    def cones(self, allowed: str) -> int:
        size, kinds = (int(number) for number in self.numbers(2, int))
        for _ in range(kinds):
            name = self.next().split()[0]
            if name != allowed:
                raise self.fail(f"the cone {name} is not read here; programs with {allowed} are")
        return size

    def program(self) -> ConeProgram:
        sections = {"OBJACOORD": 1, "ACOORD": 2, "BCOORD": 1, "HCOORD": 4, "DCOORD": 3}
        found: dict[str, list[list[float]]] = {name: [] for name in sections}
        m, linear, offset, orders = 0, 0, 0.0, tuple[int, ...]()
        while self.at < len(self.lines):
            name = self.next()
            if name == "VER":
                self.numbers(1)
            elif name == "OBJSENSE":
                if self.next() != "MIN":
                    raise self.fail("only programs that minimise are read here")
            elif name == "VAR":
                m = self.cones("F")
            elif name == "CON":
                linear = self.cones("L+")
            elif name == "PSDCON":
                orders = tuple(self.count() for _ in range(self.count()))
            elif name == "OBJBCOORD":
                (offset,) = self.numbers(1)
            elif name in sections:
                found[name] = self.coordinates(sections[name])
            else:
                raise self.fail(f"the section {name[:30]!r} is not read here")
        if not m or not (linear or orders):
            raise InvalidFile(f"{self.path.name} has no variables or no constraints; is it cut short?")
        return _assembled(self, m, linear, orders, offset, found)


def _assembled(
    reader: _Reader, m: int, linear: int, orders: tuple[int, ...], offset: float, found: dict[str, list[list[float]]]
) -> ConeProgram:
    program = ConeProgram(np.zeros(m), sp.csr_array((0, m)), np.zeros(0), linear, orders)
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    c, b = np.zeros(m), np.zeros(linear + sum(order**2 for order in orders))

    def places(block: int, i: int, j: int) -> Iterator[int]:
        yield from {program.place(block, i, j), program.place(block, j, i)}

    try:
        for variable, value in found["OBJACOORD"]:
            c[int(variable)] = value
        for row, variable, value in found["ACOORD"]:
            _within(row, linear)
            rows.append(int(row))
            columns.append(int(variable))
            values.append(value)
        for row, value in found["BCOORD"]:
            _within(row, linear)
            b[int(row)] = value
        for block, variable, i, j, value in found["HCOORD"]:
            _within(i, orders[int(block)])
            _within(j, orders[int(block)])
            for place in places(int(block), int(i), int(j)):
                rows.append(place)
                columns.append(int(variable))
                values.append(value)
        for block, i, j, value in found["DCOORD"]:
            _within(i, orders[int(block)])
            _within(j, orders[int(block)])
            for place in places(int(block), int(i), int(j)):
                b[place] = value
        A = sp.csr_array((values, (rows, columns)), shape=(len(b), m))
    except (IndexError, ValueError):
        raise InvalidFile(f"{reader.path.name} has an entry outside its variables and constraints") from None
    return ConeProgram(c, A, b, linear, orders, offset)


def _within(place: float, size: int) -> None:
    if not 0 <= place < size:
        raise IndexError
