r"""Files of semidefinite programs in SDPA's sparse format (``.dat-s``), and the result files of solvers.

The format holds the pair

.. math:: \min_x\ c^\top x \ \text{ s.t. }\ X = \textstyle\sum_i x_i F_i - F_0 \succeq 0, \qquad
          \max_Y\ \langle F_0, Y\rangle \ \text{ s.t. }\ \langle F_i, Y\rangle = c_i,\ Y \succeq 0,

with matrices in blocks; a negative size marks a diagonal block. A result consists of x, X and Y.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ...data.files.contents import bytes_of
from ...errors import InvalidFile
from .cone_program import ConeProgram
from .listed import LARGEST_COEFFICIENT, ListedProgram, require_orders

# In the first line of files written here, so that truncated files are noticed.
COUNTED = re.compile(r"cvxlink: (\d+) entries; add (\S+) to the objective")
MOST_DIGITS, MOST_SHOWN = 18, 60
BETWEEN = re.compile(r"[\s,{}()]+")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|[-+]?(?:nan|inf)\w*", re.IGNORECASE)


def write_sdpa(program: ConeProgram, path: Path, note: str = "") -> None:
    """Write a program; its offset and a note go into the first line, which solvers treat as a comment."""
    rows, blocks, i, j = program.upper
    F = sp.csc_array(program.A[rows])
    constant = -program.b[rows]
    at = np.flatnonzero(constant)
    matrix = np.concatenate([np.zeros(len(at), int), np.repeat(np.arange(1, F.shape[1] + 1), np.diff(F.indptr))])
    entry = np.concatenate([at, F.indices])
    values = np.concatenate([constant[at], F.data])
    kept = values != 0
    matrix, entry, values = matrix[kept], entry[kept], values[kept]
    sizes = " ".join(str(-order if diagonal else order) for order, diagonal in program.blocks)
    head = [
        f'"cvxlink: {len(values)} entries; add {program.offset:.17g} to the objective{note and f"; {note}"}',
        str(F.shape[1]),
        str(len(program.blocks)),
        sizes,
        " ".join(f"{number:.17g}" for number in program.c),
    ]
    places = (part.tolist() for part in (matrix, blocks[entry] + 1, i[entry] + 1, j[entry] + 1))
    lines = (f"{k} {b} {r} {c} {v:.17g}" for k, b, r, c, v in zip(*places, values.tolist(), strict=True))
    path.write_text("\n".join([*head, *lines, ""]), encoding="ascii")


def read_sdpa(path: Path) -> ListedProgram:
    """Read a program; raise, with the line number, if the file is malformed or truncated."""
    lines = lines_of(path)
    counted = COUNTED.search(lines[0]) if lines else None
    texts = [(k, line) for k, line in enumerate(lines, 1) if line.strip() and line.lstrip()[0] not in '"*']
    if len(texts) < 4:
        raise InvalidFile(
            f"{path.name} ends before the sizes and costs of a program in SDPA's format; is it cut short?"
        )
    m, count = (_integer(path, *texts[k]) for k in range(2))
    sizes = tuple(_whole(path, texts[2][0], word) for word in NUMBER.findall(texts[2][1]))
    if m < 1 or count < 1 or len(sizes) != count or not all(sizes):
        raise _wrong(path, texts[2][0], f"expected the sizes of {_short(count)} blocks, not {_short(texts[2][1])!r}")
    require_orders(path.name, sizes)
    costs, used = _costs(path, texts, m)
    entries = _entries(path, texts[used:], most=m, sizes=sizes)
    if counted and (str(len(entries)) != counted[1] or lines[-1].strip()):
        raise InvalidFile(
            f"{path.name} does not end after the {_short(counted[1])} entries that its first line announces; it is cut "
            f"short or was changed"
        )
    offset = _floats(path, 1, counted[2])[0] if counted else 0.0
    matrix, block, i, j = (entries[:, k].astype(np.int64) for k in range(4))
    values = np.where(matrix == 0, -entries[:, 4], entries[:, 4])
    return ListedProgram(path.name, np.array(costs), sizes, matrix, block - 1, i - 1, j - 1, values, offset)


def _costs(path: Path, texts: list[tuple[int, str]], m: int) -> tuple[list[float], int]:
    """Return the m costs, which may go on over several lines, and the number of lines used so far."""
    costs: list[float] = []
    used = 3
    while len(costs) < m and used < len(texts):
        costs += _floats(path, *texts[used])
        used += 1
    if len(costs) != m:
        raise InvalidFile(f"{path.name} has {len(costs)} costs for {_short(m)} variables; is it cut short?")
    return costs, used


@dataclass(frozen=True, eq=False)
class Result:
    """The content of a result file: x, Y in the rows of the program, and the lines before them."""

    x: np.ndarray
    Z: np.ndarray
    head: str = ""


def read_result(path: Path, program: ConeProgram) -> Result:
    """Read a result of CSDP, DSDP or SDPA; raise if it is malformed, truncated or from another program."""
    lines = lines_of(path)
    texts = [(k, line) for k, line in enumerate(lines, 1) if line.strip()]
    if any(line.startswith("xVec") for _, line in texts):
        return _read_sdpa_result(path, "\n".join(lines), program)
    if not texts:
        raise InvalidFile(f"{path.name} is empty; a result was expected")
    x = np.array(_floats(path, *texts[0]))
    if len(x) != len(program.c):
        raise InvalidFile(
            f"{path.name}, line {texts[0][0]}: {len(x)} numbers for {len(program.c)} variables; "
            f"the result is cut short or from another program"
        )
    sizes = tuple(-order if diagonal else order for order, diagonal in program.blocks)
    entries = _entries(path, texts[1:], most=2, sizes=sizes, least=1)
    if not lines[-1] == "":
        raise InvalidFile(f"{path.name} ends in the middle of line {len(lines)}; the result is cut short")
    Z = np.zeros(len(program.b))
    mine = entries[entries[:, 0] == 2]
    for k, (order, _) in enumerate(program.blocks):
        i, j, values = (mine[mine[:, 1] == k + 1][:, place] for place in (2, 3, 4))
        i, j = i.astype(int) - 1, j.astype(int) - 1
        Z[program.place(k, i, j)] = values
        Z[program.place(k, j, i)] = values
        # Interior-point methods write all diagonal entries, the last one at the end.
        if len(np.unique(i[i == j])) < order:
            raise InvalidFile(f"{path.name} lacks diagonal entries of block {k + 1} of Y; the result is cut short")
    return Result(x, Z)


def _read_sdpa_result(path: Path, text: str, program: ConeProgram) -> Result:
    parts = re.split(r"^(xVec|xMat|yMat) = *$", text, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=False))
    complete = sorted(parts[1::2]) == ["xMat", "xVec", "yMat"] and "time" in found["yMat"]
    if not complete or "phase.value" not in parts[0]:
        raise InvalidFile(f"{path.name} is not a complete SDPA result; it is cut short")
    body = {name: part.split("main loop time")[0] for name, part in found.items()}
    numbers = {
        name: np.array([_number(path, word) for word in BETWEEN.split(part) if word]) for name, part in body.items()
    }
    size = sum(order if diagonal else order**2 for order, diagonal in program.blocks)
    if len(numbers["xVec"]) != len(program.c) or len(numbers["yMat"]) != size or len(numbers["xMat"]) != size:
        raise InvalidFile(
            f"{path.name} does not have as many numbers as the program; it is cut short or from another program"
        )
    Z, done = np.zeros(len(program.b)), 0
    for k, (order, diagonal) in enumerate(program.blocks):
        count = order if diagonal else order**2
        Z[program.starts[k] : program.starts[k] + count] = numbers["yMat"][done : done + count]
        done += count
    return Result(numbers["xVec"], Z, parts[0])


# ------------------------------------------------------------------ lines


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file, or raise if it cannot be read."""
    content = bytes_of(path)
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise InvalidFile(f"{path.name} is not text (line {line} has a zero byte); save it as text in ASCII or UTF-8")
    return content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").split("\n")


def _entries(path: Path, lines: list[tuple[int, str]], most: int, sizes: tuple[int, ...], least: int = 0) -> np.ndarray:
    """Return rows of matrix, block, i, j and value, checked; i ≤ j."""
    # The common case at once, since files can have a million lines.
    try:
        entries = np.array([line.split() for _, line in lines], dtype=float)
    except ValueError:
        entries = np.zeros(0)
    if entries.ndim != 2 or entries.shape[1] != 5:
        entries = np.array([_five(path, *line) for line in lines], dtype=float).reshape(-1, 5)
    matrix, block, i, j = entries[:, :4].T
    whole = (entries[:, :4] == np.floor(entries[:, :4])).all(axis=1)
    size = np.array([0, *sizes])[np.where(whole & (block >= 1) & (block <= len(sizes)), block, 0).astype(int)]
    order, diagonal = abs(size), size < 0
    inside = (matrix >= least) & (matrix <= most) & (order > 0) & (i >= 1) & (j >= 1) & (i <= order) & (j <= order)
    wrong = np.flatnonzero(~(whole & inside & (~diagonal | (i == j)) & np.isfinite(entries[:, 4])))
    if len(wrong):
        number, line = lines[wrong[0]]
        raise _wrong(path, number, f"{_short(line)!r} is not an entry of a matrix of this program")
    huge = np.flatnonzero(abs(entries[:, 4]) > LARGEST_COEFFICIENT)
    if len(huge):
        raise _too_large(path, lines[huge[0]][0], entries[huge[0], 4])
    entries[:, 2], entries[:, 3] = np.minimum(i, j), np.maximum(i, j)
    _, first = np.unique(entries[:, :4], axis=0, return_index=True)
    if len(first) < len(entries):
        number, line = lines[np.setdiff1d(np.arange(len(entries)), first)[0]]
        raise _wrong(path, number, f"{_short(line)!r} gives an entry a second time")
    return entries


def _five(path: Path, number: int, line: str) -> list[float]:
    words = _floats(path, number, line)
    if len(words) != 5:
        raise _wrong(
            path,
            number,
            f"expected matrix, block, row, column and value, not {_short(line)!r}; is the file cut short?",
        )
    return words


def _floats(path: Path, number: int, line: str) -> list[float]:
    words = BETWEEN.split(line)
    try:
        values = [_float(word) for word in words if word]
    except ValueError:
        raise _wrong(path, number, f"{_short(line)!r} should be numbers; is the file cut short?") from None
    for value in values:
        if not abs(value) <= LARGEST_COEFFICIENT:  # NaN is not at most anything
            raise _too_large(path, number, value)
    return values


def _float(word: str) -> float:
    return float(word.replace("d", "e").replace("D", "e"))


def _number(path: Path, word: str) -> float:
    """Return one of the numbers of a result in SDPA's format, in which lines do not matter."""
    try:
        value = _float(word)
    except ValueError:
        raise InvalidFile(f"{path.name}: {_short(word)!r} is not a number; is the file cut short?") from None
    if not abs(value) <= LARGEST_COEFFICIENT:
        raise InvalidFile(f"{path.name} has numbers that are not finite, or beyond {LARGEST_COEFFICIENT:g}")
    return value


def _integer(path: Path, number: int, line: str) -> int:
    found = re.match(r"\s*([-+]?\d+)", line)  # text may follow it
    return _whole(path, number, found[1] if found else line.strip())


def _whole(path: Path, number: int, word: str) -> int:
    try:
        if len(word) > MOST_DIGITS:
            raise ValueError
        return int(word)
    except ValueError:
        raise _wrong(path, number, f"expected a whole number, not {_short(word)!r}") from None


def _too_large(path: Path, number: int, value: float) -> InvalidFile:
    if not np.isfinite(value):
        return _wrong(path, number, "a number is not finite")
    return _wrong(path, number, f"{value:g} is too large; at most {LARGEST_COEFFICIENT:g} is supported")


def _wrong(path: Path, number: int, what: str) -> InvalidFile:
    return InvalidFile(f"{path.name}, line {number}: {what}")


def _short(text: object) -> str:
    """Return the beginning of what a file says, to show."""
    words = str(text).strip()
    return words if len(words) <= MOST_SHOWN else f"{words[:MOST_SHOWN]}…"
