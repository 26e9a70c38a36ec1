"""Files that are damaged, inflated or hostile, at every door that reads files.

A case takes a valid file of some kind, changes it, and opens it through the public door. Whatever is in it: an error is
one of cvxlink's and names the file, no code runs, memory stays within the size of small files, and the file stays.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import resource
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cvxpy as cp
import numpy as np

import cvxlink as cl
from cvxlink.data.files.links import read_links, read_pairs
from cvxlink.data.files.names import PointNames
from cvxlink.data.files.points import Roles, read_points
from cvxlink.solvers.files.sdpa import read_sdpa
from cvxlink.studies.store import Store

from .findings import HANG, LEAK, LOST, RAW_ERROR, UNCLEAR, Finding

MOST_MEMORY = 300 * 2**20
MOST_SECONDS = 20.0
MARKER = "marker"


class Planted:
    """Would make a file if it were unpickled."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return open, (self.marker, "w")


@dataclass(frozen=True)
class Door:
    """Where a file comes in.

    Attributes
    ----------
    names : tuple of str
        The files that belong together; the first is changed.
    open : function
        Opens the files in a folder as a user would.
    """

    names: tuple[str, ...]
    open: Callable[[Path], object]


# ---------------------------------------------------------------------- doors


def _bring_back(folder: Path) -> object:
    return cl.bring_back(folder / "p.dat-s", folder / "result", strict=False)


def _data_set(folder: Path) -> object:
    before = os.environ.get("CVXLINK_DATA")
    os.environ["CVXLINK_DATA"] = str(folder)
    try:
        return cl.datasets.load("protein")
    finally:
        del os.environ["CVXLINK_DATA"]
        if before is not None:
            os.environ["CVXLINK_DATA"] = before


def _points(folder: Path) -> object:
    return read_points(str(folder / "points.csv"), Roles(names="name", labels="kind", truth="class"))


NAMED = PointNames(6, ("anna", "bert", "=1+1", "dora", "emil", "\x1b[31m"))

DOORS = {
    "lift": Door(("p.dat-s.lift", "p.dat-s", "result"), _bring_back),
    "result": Door(("result", "p.dat-s", "p.dat-s.lift"), _bring_back),
    "sdpa result": Door(("result", "p.dat-s", "p.dat-s.lift"), _bring_back),
    "dat-s": Door(("p.dat-s",), lambda folder: cl.read_program(folder / "p.dat-s")),
    "cbf": Door(("p.cbf",), lambda folder: cl.read_program(folder / "p.cbf")),
    "npz": Door(("protein.npz",), _data_set),
    "toml": Door(("triangle.toml",), lambda folder: cl.instances.load("triangle", folder).problem),
    "toml of data": Door(("moons.toml",), lambda folder: cl.instances.load("moons", folder).problem),
    "points": Door(("points.csv",), _points),
    "links in csv": Door(("links.csv",), lambda folder: cl.Links.load(folder / "links.csv", n=6)),
    "links by name": Door(("named.csv",), lambda folder: read_links(folder / "named.csv", NAMED)),
    "pairs": Door(("pairs.csv",), lambda folder: read_pairs(folder / "pairs.csv", NAMED)),
    "links in json": Door(("links.json",), lambda folder: cl.Links.load(folder / "links.json")),
    "results of a study": Door(("results.jsonl",), lambda folder: Store(folder).records()),
}

TRIANGLE = """title = "Triangle, two corners apart"
formulation = "PCP"
why = "Solvable by hand."
[graph]
kind = "complete"
size = 3
[links]
cannot = [[0, 1]]
[parameters]
normalized = false
[reference]
value = 3.1715728752538097
tolerance = 1e-6
by = "hand"
proof = "so 6 - 2 sqrt 2"
"""
MOONS = """title = "Two moons"
formulation = "KP"
why = "Sampled."
[data]
set = "two_moons"
n = 20
random_state = 0
[graph]
kind = "knn"
n_neighbors = 4
[links]
n_links = 5
random_state = 1
[parameters]
[reference]
value = 1.0
tolerance = 1e-3
by = "solvers"
solvers = ["CLARABEL", "SCS"]
proof = "they agree"
"""
POINTS = 'name,x,y,kind,class\nanna,1.5,-2,u,A\nbert,.25,4e3,,B\n"=1+1",7,.5,v,A\ndora,1,2,?,B\nemil,0,0,u,A\n'


@cache
def valid() -> dict[str, dict[str, bytes]]:
    """Return the files of each door, made by cvxlink itself where it writes them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        links = cl.Links(6, must=[(0, 1)], cannot=[(0, 4), (2, 5)])
        affinity = 0.2 + 0.6 * np.kron(np.eye(2), np.ones((3, 3)))
        problem = cl.KP(cl.Graph.from_affinity(affinity), links)
        problem.export(folder / "p.dat-s")
        problem.export(folder / "p.cbf", store_problem=False)
        for ending in ("csv", "json"):
            links.save(folder / f"links.{ending}")
        rng = np.random.default_rng(0)
        np.savez(folder / "protein.npz", X=rng.standard_normal((6, 3)), y=np.arange(6) % 2)
        with Store(folder).writer() as writer:
            for k in range(4):
                writer.add({"key": f"{k}", "instance": "iris", "configuration": "KP", "scores": {"ari": 0.5}})
        texts = {
            "triangle.toml": TRIANGLE,
            "moons.toml": MOONS,
            "points.csv": POINTS,
            "named.csv": "i,j,kind\nanna,bert,must\n'=1+1,dora,cannot\n",
            "pairs.csv": "i,j\nanna,bert\nemil,dora\n",
        }
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        csdp, sdpa = _results(folder)
        found = {}
        for kind, door in DOORS.items():
            (folder / "result").write_bytes(sdpa if kind == "sdpa result" else csdp)
            found[kind] = {file: (folder / file).read_bytes() for file in door.names}
        return found


def _results(folder: Path) -> tuple[bytes, bytes]:
    """Return a result of the exported program in the formats of CSDP and SDPA."""
    program = read_sdpa(folder / "p.dat-s").program()
    x = cp.Variable(len(program.c))
    slack, cones = program.A @ x + program.b, []
    for k, (order, diagonal) in enumerate(program.blocks):
        start = int(program.starts[k])
        one = slack[start : start + (order if diagonal else order**2)]
        cones.append(one >= 0 if diagonal else cp.reshape(one, (order, order), order="C") >> 0)
    cp.Problem(cp.Minimize(program.c @ x), cones).solve(solver="CLARABEL")
    Z = [np.diag(cone.dual_value) if cone.dual_value.ndim == 1 else cone.dual_value for cone in cones]
    entries = [
        f"2 {k + 1} {i + 1} {j + 1} {one[i, j]:.17g}"
        for k, one in enumerate(Z)
        for i, j in zip(*np.triu_indices(len(one)), strict=True)
        if i == j or not program.blocks[k][1]
    ]
    numbers = "\n".join(
        str((np.diag(one) if diagonal else one).tolist()).replace("[", "{").replace("]", "}")
        for one, (_, diagonal) in zip(Z, program.blocks, strict=True)
    )
    vector = ", ".join(map(str, x.value.tolist()))
    phase = "phase.value  = pdOPT     \n   Iteration = 9\n"
    sdpa = f"{phase}xVec = \n{{{vector}}}\nxMat = \n{{{numbers}}}\nyMat = \n{{{numbers}}}\n    main loop time = 0.1\n"
    return "\n".join([" ".join(f"{one:.17g}" for one in x.value), *entries, ""]).encode(), sdpa.encode()


# ---------------------------------------------------------------------- changes

Rng = np.random.Generator
NUMBERS = [
    b"-1", b"0", b"1e160", b"1e400", b"-1e400", b"nan", b"inf", b"9" * 400, b"9" * 5000, b"1." + b"3" * 400, b"1e-400",
    b"12000", b"2000000000", b"99999999999999999999", b"0.5", b"1_000", b"0x10", "٣".encode(), b"true", b'"text"',
    b"[]", b"{}", b"null", b"[[[[1]]]]", b"1979-05-27", b"-0.0", b"1d5", b"1e", b"--", b"",
]  # fmt: skip
STUFF = [
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\x1b[31m", b"=cmd|' /C calc'!A0", b'"', b"'", b",", b";", b"\t", b"{",
    b"[[", b"#", b"\\", b"\xe4", b"\xed\xa0\x80", b"__import__('os')", b"!!python/object/apply:os.system",
    "\u202e".encode(),
]  # fmt: skip
NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def _flipped(rng: Rng, content: bytes) -> bytes:
    changed = bytearray(content)
    for at in rng.integers(len(content), size=rng.integers(1, 6)):
        changed[at] ^= 1 << rng.integers(8)
    return bytes(changed)


def _random_bytes(rng: Rng, content: bytes) -> bytes:
    at = rng.integers(len(content))
    return content[:at] + rng.bytes(rng.integers(1, 9)) + content[at + rng.integers(9) :]


def _cut(rng: Rng, content: bytes) -> bytes:
    return content[: rng.integers(len(content))]


def _lines_moved(rng: Rng, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    i, j = rng.integers(len(lines), size=2)
    how = rng.integers(4)
    if how == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 1:
        lines.insert(j, lines[i])
    elif how == 2:
        del lines[i]
    else:
        lines[i] = lines[i].rstrip(b"\n") + b" " + lines[j]
    return b"".join(lines)


def _number_replaced(rng: Rng, content: bytes) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return _flipped(rng, content)
    for _ in range(rng.integers(1, 4)):
        one = found[rng.integers(len(found))]
        new = NUMBERS[rng.integers(len(NUMBERS))]
        content = content[: one.start()] + new + content[one.end() :]
        found = list(NUMBER.finditer(content)) or found
        if found[-1].end() > len(content):
            break
    return content


def _stuff_inserted(rng: Rng, content: bytes) -> bytes:
    at = rng.integers(len(content) + 1)
    return content[:at] + STUFF[rng.integers(len(STUFF))] * int(rng.integers(1, 4)) + content[at:]


def _word_replaced(rng: Rng, content: bytes) -> bytes:
    words = list(re.finditer(rb"[A-Za-z_]{2,}", content))
    if not words:
        return _stuff_inserted(rng, content)
    one, other = (words[k] for k in rng.integers(len(words), size=2))
    new = other[0] if rng.integers(2) else NUMBERS[rng.integers(len(NUMBERS))]
    return content[: one.start()] + new + content[one.end() :]


def _recoded(rng: Rng, content: bytes) -> bytes:
    coding = ["utf-16", "utf-16-le", "utf-32", "cp037", "utf-8-sig"][rng.integers(5)]
    return content.decode("utf-8", "replace").encode(coding, "replace")


def _nested(rng: Rng, content: bytes) -> bytes:
    found = list(re.finditer(rb"[0-9.]+|\[", content))
    at = found[rng.integers(len(found))].start() if found else 0
    deep = int(rng.choice([30, 3000, 100_000]))
    return content[:at] + b"[" * deep + b"]" * int(deep * rng.integers(2)) + content[at:]


def _pickled(rng: Rng, content: bytes, marker: str = "") -> bytes:
    return pickle.dumps(Planted(marker), protocol=int(rng.integers(6)))


TEXT = [
    _flipped, _random_bytes, _cut, _lines_moved, _lines_moved, _number_replaced, _number_replaced, _number_replaced,
    _stuff_inserted, _word_replaced, _recoded, _nested,
]  # fmt: skip


def _archive_changed(rng: Rng, content: bytes, marker: str) -> bytes:
    """Take an archive apart, change a member or the list of members, and put it together again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    k, other = (int(number) for number in rng.integers(len(members), size=2))
    name, inside = members[k]
    how = rng.integers(9)
    if how == 0:
        members[k], members[other] = (name, members[other][1]), (members[other][0], inside)
    elif how == 1:
        members.append(members[k])
    elif how == 2:
        del members[k]
    elif how == 3:
        members[k] = name, _pickled_array(marker)
    elif how == 4:
        members[k] = name, _claiming(rng, inside)
    elif how == 5:
        members[k] = f"../{name}", inside
    elif how == 6:
        members[k] = name, bytes(10**6) * int(rng.integers(1, 40))
    else:
        change = TEXT[rng.integers(len(TEXT))]
        members[k] = name, change(rng, inside) if inside else b""
    packed = io.BytesIO()
    kinds = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2]
    with zipfile.ZipFile(packed, "w", kinds[rng.integers(4)] if rng.integers(3) == 0 else kinds[0]) as archive:
        for name, inside in members:
            archive.writestr(zipfile.ZipInfo(name), inside)
    return packed.getvalue()


def _pickled_array(marker: str) -> bytes:
    packed = io.BytesIO()
    np.save(packed, np.array([Planted(marker)], dtype=object), allow_pickle=True)
    return packed.getvalue()


def _claiming(rng: Rng, member: bytes) -> bytes:
    """Let the header of an array claim another shape or type; the length of the header stays."""
    shapes = [b"(99999999999,)", b"(-1,)", b"(2, 99999999)", b"(0,)", b"()", b"(1,) * 9**9", b"(True,)"]
    kinds = [b"|O", b"<U9", b">f8", b"<f4", b"|V8", b"<M8[s]", b"<c16", b"<i8"]
    if rng.integers(2):
        changed = re.sub(rb"'shape': \([^)]*\)", b"'shape': " + shapes[rng.integers(len(shapes))], member, count=1)
    else:
        changed = re.sub(rb"'descr': '[^']*'", b"'descr': '" + kinds[rng.integers(len(kinds))] + b"'", member, count=1)
    grown = len(changed) - len(member)
    return changed.replace(b" " * max(grown, 0) + b"\n", b"\n", 1) if grown > 0 else changed


def changed(rng: Rng, kind: str, content: bytes, marker: str) -> bytes:
    """Return a file of a kind after one change, or after several."""
    if rng.integers(12) == 0:
        return _pickled(rng, content, marker)
    if rng.integers(40) == 0:
        return b""
    is_archive = kind in ("lift", "npz")
    for _ in range(rng.integers(1, 4)):
        if not content:
            break
        if is_archive and rng.integers(3):
            try:
                content = _archive_changed(rng, content, marker)
            except Exception:  # the change before it has left no archive
                content = _flipped(rng, content)
        else:
            content = TEXT[rng.integers(len(TEXT))](rng, content)
    return content


# ---------------------------------------------------------------------- the attack


def attack(rng: Rng, folder: Path) -> list[Finding]:
    """Open one file that is not as it should be."""
    kind = list(DOORS)[rng.integers(len(DOORS))]
    door, files = DOORS[kind], dict(valid()[kind])
    name, marker = door.names[0], folder / MARKER
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile's, about members that are there twice on purpose
        files[name] = changed(rng, kind, files[name], str(marker))
    for file, content in files.items():
        (folder / file).write_bytes(content)
    watched = rng.integers(8) == 0  # tracing makes everything several times slower
    if watched:
        tracemalloc.start()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, found = time.monotonic(), []
    said = f"{kind}, {_shown(files[name])}"
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            door.open(folder)
    except (cl.CvxlinkError, SystemExit) as error:
        if not str(error).strip() or Path(name).stem not in str(error):
            found.append(Finding(UNCLEAR, f"{said}: {error}"))
        if "\x1b" in str(error):
            found.append(Finding(UNCLEAR, f"{said}: an escape sequence in {error!r}"))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        found.append(Finding(RAW_ERROR, f"{said}: {type(error).__name__}: {str(error)[:200]}"))
    finally:
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) * 1024
        if watched:
            grown = max(grown, tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    if grown > MOST_MEMORY:
        found.append(Finding(LEAK, f"{said}: {grown >> 20} MiB"))
    if time.monotonic() - began > MOST_SECONDS:
        found.append(Finding(HANG, said))
    if marker.exists():
        found.append(Finding(LEAK, f"{said}: code ran"))
    return found + _lost(folder, files, said)


def _lost(folder: Path, files: dict[str, bytes], said: str) -> list[Finding]:
    """Return which files are not as they were."""
    found = []
    for file, content in files.items():
        now = (folder / file).read_bytes() if (folder / file).exists() else b""
        if now != content:
            found.append(Finding(LOST, f"{said}: {file} was changed"))
    return found


def _shown(content: bytes) -> str:
    return json.dumps(content[:300].decode("latin-1"))
