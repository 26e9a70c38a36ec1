"""Files of cone programs in the Conic Benchmark Format (``.cbf``), as MOSEK and others read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np

from ...errors import InvalidFile
from .cone_program import ConeProgram, OtherCone
from .listed import LARGEST_COEFFICIENT, SMALL, ListedProgram, require_orders
from .sdpa import lines_of

VERSION = 2
# The first version with power cones.
VERSION_OF_OTHERS = 3
LARGEST_COUNT = 10**9
# In the first line of files written here, so that truncated files are noticed.
COUNTED = re.compile(r"cvxlink: (\d+) lines")


def write_cbf(program: ConeProgram, path: Path, note: str = "") -> None:
    """Write a program: free variables, inequalities as one cone, other cones, and semidefinite constraints.

    ``note`` is a line for those who read the file, which solvers treat as a comment.
    """
    m, linear = len(program.c), program.linear
    version = VERSION_OF_OTHERS if program.others else VERSION
    parts = [f"VER\n{version}\n", *_powers(program.others), f"OBJSENSE\nMIN\n\nVAR\n{m} 1\nF {m}\n"]
    plain = np.concatenate([np.arange(linear), _rows_of_others(program)])
    if len(plain):
        cones = ([f"L+ {linear}"] if linear else []) + _named(program.others)
        parts.append("\n".join([f"CON\n{len(plain)} {len(cones)}", *cones]) + "\n")
    if program.orders:
        parts.append("\n".join(["PSDCON", str(len(program.orders)), *map(str, program.orders)]) + "\n")
    parts.append(_section("OBJACOORD", np.flatnonzero(program.c), values=program.c[program.c != 0]))
    parts.append(f"OBJBCOORD\n{program.offset:.17g}\n")
    A, b = program.A[plain].tocoo(), program.b[plain]
    if len(plain):
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
    comment = f"# {note}\n" if note else ""
    path.write_text(f"# cvxlink: {_count(text.splitlines())} lines\n{comment}{text}", encoding="ascii")


def _rows_of_others(program: ConeProgram) -> np.ndarray:
    return np.arange(len(program.b) - sum(cone.size for cone in program.others), len(program.b))


def _powers(cones: tuple[OtherCone, ...]) -> list[str]:
    """Return the section with the exponents of the power cones."""
    alphas = [cone.alpha for cone in cones if cone.alpha is not None]
    lines = [f"2\n{alpha:.17g}\n{1 - alpha:.17g}" for alpha in alphas]
    return ["\n".join([f"POWCONES\n{len(alphas)} {2 * len(alphas)}", *lines]) + "\n"] if alphas else []


def _named(cones: tuple[OtherCone, ...]) -> list[str]:
    """Return the lines that name the cones; a power cone refers to its exponents by number."""
    number = count()
    return [f"{f'@{next(number)}:' if cone.kind == 'POW' else ''}{cone.kind} {cone.size}" for cone in cones]


def _count(lines: list[str]) -> int:
    """Return the number of lines that are neither empty nor comments."""
    return sum(map(_holds_something, lines))


def _holds_something(line: str) -> bool:
    return bool(line.strip()) and line.strip()[0] != "#"


def _section(name: str, *places: np.ndarray, values: np.ndarray) -> str:
    entries = zip(*(p.tolist() for p in places), values.tolist(), strict=True)
    lines = (" ".join(map(str, (*at, f"{value:.17g}"))) for *at, value in entries)
    return "\n".join([name, str(len(values)), *lines]) + "\n"


def read_cbf(path: Path) -> ListedProgram:
    """Read a program of the kind that :func:`write_cbf` writes; refuse other kinds and truncated files."""
    return _Reader(path).program()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        lines = lines_of(path)
        counted = COUNTED.search(lines[0])
        if counted and (str(_count(lines)) != counted[1] or lines[-1].strip()):
            raise InvalidFile(
                f"{path.name} does not end after the {counted[1][:20]} lines that its first line announces; is it cut "
                f"short?"
            )
        self.lines = [(k, line.strip()) for k, line in enumerate(lines, 1) if _holds_something(line)]
        self.at = 0

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
        if len(values) != count or any(value != value for value in values):
            raise self.fail(f"expected {count} number{'s' if count > 1 else ''}, not {' '.join(words)[:60]!r}")
        if max(map(abs, values)) > LARGEST_COEFFICIENT:
            raise self.fail(f"{' '.join(words)[:60]!r} is too large; at most {LARGEST_COEFFICIENT:g} is supported")
        return values

    def count(self, least: int = 0) -> int:
        number = int(self.numbers(1, int)[0])
        if not least <= number <= LARGEST_COUNT:
            raise self.fail(f"expected a number between {least} and {LARGEST_COUNT}, not {number:g}")
        return number

    def coordinates(self, sizes: list[int]) -> list[list[float]]:
        """Read index tuples, each index below its size, with a value; no tuple may occur twice."""
        found, seen = [], set()
        for _ in range(self.count()):
            *places, value = self.numbers(len(sizes) + 1)
            at = tuple(places)
            if any(place != int(place) or not 0 <= place < size for place, size in zip(places, sizes, strict=True)):
                raise self.fail(f"there is no entry {' '.join(f'{place:g}' for place in places)} in this program")
            if at in seen:
                raise self.fail("this entry is given a second time")
            seen.add(at)
            found.append([*places, value])
        return found

    def cones(self, allowed: str) -> int:
        size, kinds = (int(number) for number in self.numbers(2, int))
        if not (0 <= size <= LARGEST_COUNT and 0 <= kinds <= max(size, 1)):
            raise self.fail(f"{size:g} rows in {kinds:g} cones do not make a program")
        total = 0
        for _ in range(kinds):
            name, *count = self.next().split()
            if name != allowed:
                raise self.fail(
                    f"the cone {name[:30]} is not supported here; only {allowed} is; files with other "
                    f"cones are written, but not read"
                )
            total += int(count[0]) if len(count) == 1 and re.fullmatch(r"[0-9]{1,18}", count[0]) else -1
        if total != size:
            raise self.fail(f"the cones do not have {size} rows in total")
        return size

    def program(self) -> ListedProgram:
        m, linear, offset, orders = 0, 0, 0.0, tuple[int, ...]()
        found: dict[str, list[list[float]]] = {}
        seen = set()
        while self.at < len(self.lines):
            name = self.next()
            if name in seen:
                raise self.fail(f"the section {name[:30]} is given a second time")
            seen.add(name)
            order = max(orders, default=0)
            places = {
                "OBJACOORD": [m],
                "ACOORD": [linear, m],
                "BCOORD": [linear],
                "HCOORD": [len(orders), m, order, order],
                "DCOORD": [len(orders), order, order],
            }
            if name == "VER":
                self.numbers(1)
            elif name == "OBJSENSE":
                if self.next() != "MIN":
                    raise self.fail("only programs that minimise are supported")
            elif name == "VAR":
                m = self.cones("F")
            elif name == "CON":
                linear = self.cones("L+")
            elif name == "PSDCON":
                orders = tuple(self.count(1) for _ in range(self.count()))
            elif name == "OBJBCOORD":
                (offset,) = self.numbers(1)
            elif name in places:
                found[name] = self.coordinates(places[name])
            else:
                raise self.fail(f"the section {name[:30]!r} is not supported")
        if not m or not (linear or orders):
            raise InvalidFile(f"{self.path.name} has no variables or no constraints; is it cut short?")
        require_orders(self.path.name, (*orders, linear))
        return self.listed(m, linear, orders, offset, found)

    def listed(
        self, m: int, linear: int, orders: tuple[int, ...], offset: float, found: dict[str, list[list[float]]]
    ) -> ListedProgram:
        # Matrix, block, i, j and value of each entry; the inequalities are the last block.
        last = len(orders)
        entries = [[k + 1, last, row, row, value] for row, k, value in found.get("ACOORD", [])]
        entries += [[0, last, row, row, value] for row, value in found.get("BCOORD", [])]
        entries += [[k + 1, block, j, i, value] for block, k, i, j, value in found.get("HCOORD", [])]
        entries += [[0, block, j, i, value] for block, i, j, value in found.get("DCOORD", [])]
        table = np.array(entries, dtype=float).reshape(-1, 5)
        matrix, block, i, j = (table[:, k].astype(np.int64) for k in range(4))
        order = np.array([*orders, linear])[block]
        outside = np.flatnonzero((i > j) | (j >= order))
        if len(outside):
            at = outside[0]
            raise InvalidFile(
                f"{self.path.name}: entry {j[at]} {i[at]} of block {block[at]} is not in its lower triangle"
            )
        costs = found.get("OBJACOORD", [])
        if m > max(SMALL, len(entries) + len(costs)):
            raise InvalidFile(f"{self.path.name} claims {m} variables and says nothing about most; is it cut short?")
        c = np.zeros(m)
        for variable, value in costs:
            c[int(variable)] = value
        sizes = (*orders, -linear) if linear else orders
        return ListedProgram(self.path.name, c, sizes, matrix, block, i, j, table[:, 4], offset)
