"""Random command lines over random files: in this process, and now and then in a process of its own in an odd world.

A command ends with one of the documented exit codes and, if something is wrong, with one sentence that names what:
never with a traceback. Files that are read stay as they are; files that are written are whole, or not there.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from pathlib import Path

import numpy as np

import cvxlink as cl
from attack.findings import HANG, LOST, ORPHAN, RAW_ERROR, UNCLEAR, Finding, note, tally
from attack.instances import coin, pick
from attack.worlds import WORLDS, Ended, Line, here, in_process
from cvxlink.errors import visible

LIMIT = 180.0
IN_PROCESSES = 0.05
CODES = (0, 1, 2, 3, 4)

NASTY = (
    *(
        "",
        " ",
        "-",
        "--",
        ".",
        "..",
        "/",
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
        "loop",
        "folder",
        "nothing/there",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "0",
        "-1",
        "1e400",
        "9" * 400,
        "1e-400",
        "0x10",
        "1_000",
        "٣",
        "½",
        "True",
        "None",
        "1,2",
        "=1",
    ),
    *(
        "\x1b[31mred\x1b[0m",
        "a\rb",
        "line\nbreak",
        "\u202eabc",
        "\udcff\udcfe",
        "é" * 300,
        "x" * 300,
        "%s%n",
        "{0}",
        "[bold]",
    ),
)
METHODS = (
    "pcp",
    "kp",
    "ccsr",
    "srcp",
    "e2cp",
    "minkl",
    "csc",
    "sl",
    "sskk",
    "ncuts",
    "improvedorder",
    "gaussianfield",
    "linkedcut",
    "kmeans",
)
SANE = {
    "--clusters": ("1", "2", "3"),
    "--method": METHODS,
    "--option": ("mu=0.5", "normalized=false", "order=2", "nothing=1", "fraction=0.5"),
    "--neighbors": ("1", "2", "3", "100"),
    "--sigma": ("mean", "0.5", "1e3"),
    "--symmetrize": ("union", "mean", "mutual"),
    "--solver": ("CLARABEL", "scs", "CVXOPT"),
    "--form": ("paper", "dual"),
    "--route": ("interior-point", "eigen"),
    "--accuracy": ("1e-3", "1e-6"),
    "--time-limit": ("60",),
    "--seed": ("0", "7"),
    "--columns": ("x", "x,y", "1"),
    "--ignore-column": ("y", "3"),
    "--id-column": ("name",),
    "--label-column": ("known",),
    "--truth-column": ("known",),
}
# What ``cvxlink optimal`` has instead of some of them.
SANE_OF_SEARCHES = {
    **{name: SANE[name] for name in ("--neighbors", "--sigma", "--symmetrize", "--time-limit", "--seed", "--columns")},
    "--clusters": ("1", "2", "3"),
    "--gap": ("1e-4", "0.1"),
    "--jobs": ("1",),
    "--size-min": ("1", "2", "4"),
    "--size-max": ("2", "4", "8"),
}
FLAGS = ("--json", "--one-based", "--no-header", "--header", "--no-standardize", "--standardize")
INSTANCES = ("path_ends_apart", "triangle_one_apart", "nothing_of_that_name")


def attack(rng: np.random.Generator, folder: Path) -> list[Finding]:
    """Play one command line."""
    _write_files(rng, folder)
    line = pick(rng, (_cluster, _cluster, _explain, _explain, _optimal, _optimal, _problems, _bring_back, _others))(
        rng, folder
    )
    before = _fingerprints(folder)
    world = pick(rng, tuple(WORLDS.items())) if coin(rng, IN_PROCESSES) else None
    note(f"{line.words}\nin {world[0] if world else 'this process'}; wrong on purpose: {line.wrong}")
    ended = in_process(world[1], line, folder) if world else here(line, folder)
    note(f"exit code {ended.code}\n{ended.stdout.decode(errors='replace')[:3000]}\n{ended.stderr[:3000]}")
    tally(f"{line.words[0] if line.words else 'nothing'} {ended.code}")
    if world:
        tally(world[0])
    shown = f"{' '.join(map(repr, line.words))[:300]}{f' in {world[0]}' if world else ''}: "
    return [Finding(kind, shown + what) for kind, what in _judged(line, ended, folder, before)]


# ---------------------------------------------------------------------- what is run


def _write_files(rng: np.random.Generator, folder: Path) -> None:
    n = int(rng.integers(2, 9))
    X = rng.standard_normal((n, 2)).round(3)
    names = [f"p{k}" for k in range(n)]
    known = rng.choice(["a", "b", "?"], n)
    rows = [f"{name},{x},{y},{k}" for name, (x, y), k in zip(names, X.tolist(), known, strict=True)]
    (folder / "data.csv").write_text("name,x,y,known\n" + "\n".join(rows) + "\n")
    (folder / "plain.csv").write_text("x,y\n" + "\n".join(f"{x},{y}" for x, y in X.tolist()) + "\n")
    pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(int(rng.integers(1, 4)))}
    kinds = [pick(rng, ("must", "cannot")) for _ in pairs]
    (folder / "links.csv").write_text(
        "i,j,kind\n" + "".join(f"{i},{j},{k}\n" for (i, j), k in zip(pairs, kinds, strict=True))
    )
    (folder / "pairs.csv").write_text("".join(f"{i},{j}\n" for i, j in pairs))
    (folder / "old.csv").write_text("what was there before\n")
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")


def _damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Damage a text file in one way."""
    match int(rng.integers(10)):
        case 0:
            return b""
        case 1:
            return content[: int(rng.integers(len(content)))]
        case 2:
            where = int(rng.integers(len(content)))
            return content[:where] + bytes([int(rng.integers(256))]) + content[where + 1 :]
        case 3:
            return content + b"\xff\xfe\x00"
        case 4:
            return content.replace(b",", b";;")
        case 5:
            return content.replace(b"0", b"9" * 400)
        case 6:
            return content.replace(b"1", b"nan").replace(b"2", b"1e400")
        case 7:
            return content.replace(b"must", b"\x1b[31mmust").replace(b"p", b"=cmd()\x1b]0;")
        case 8:
            return b"\x93NUMPY" + content
    return bytes(rng.integers(0, 256, int(rng.integers(1, 200)), dtype=np.uint8))


def _cluster(rng: np.random.Generator, folder: Path, command: str = "cluster") -> Line:
    data = pick(rng, ("plain.csv", "data.csv"))
    words = [command, str(folder / data)]
    if data == "data.csv":
        words += ["--ignore-column", "known,name"] if coin(rng) else ["--id-column", "name", "--label-column", "known"]
    if coin(rng, 0.8) and "--id-column" not in words:
        words += pick(rng, (["--links", str(folder / "links.csv")], ["--cannot", str(folder / "pairs.csv")]))
    line = Line(words)
    sane = SANE_OF_SEARCHES if command == "optimal" else SANE
    few = {"explain": 9, "cluster": 12, "optimal": len(sane)}[command]
    for option in rng.choice(list(sane)[:few], int(rng.integers(0, 4)), replace=False):
        words += [str(option), pick(rng, sane[str(option)])]
    words += [flag for flag in FLAGS if coin(rng, 0.08)]
    if command == "optimal":
        words += ["--clusters", "2"] * ("--clusters" not in words) + ["--cut"] * coin(rng, 0.3)
        words += ["--file", str(folder / "new.json")] * coin(rng, 0.2)
    if command != "explain" and coin(rng, 0.4):
        line.out = folder / pick(rng, ("old.csv", "new.csv"))
        words += ["--out", str(line.out)]
    if command != "explain" and coin(rng, 0.03):
        words += ["--plot", str(folder / "new.png")]
    if coin(rng, 0.6):
        _spoil(rng, folder, line)
    return line


def _explain(rng: np.random.Generator, folder: Path) -> Line:
    return _cluster(rng, folder, "explain")


def _optimal(rng: np.random.Generator, folder: Path) -> Line:
    return _cluster(rng, folder, "optimal")


def _spoil(rng: np.random.Generator, folder: Path, line: Line) -> None:
    """Make one thing wrong: an option, a file, or the content of a file."""
    what = rng.random()
    if what < 0.4:
        name = pick(rng, ("data.csv", "plain.csv", "links.csv", "pairs.csv"))
        (folder / name).write_bytes(_damaged(rng, (folder / name).read_bytes()))
        line.wrong = (name,)
    elif what < 0.5:
        line.words[1] = pick(rng, NASTY)
        line.wrong, line.stdin = (line.words[1],), b"1,2\n3,4\n"
    else:
        options = [*(SANE_OF_SEARCHES if line.words[0] == "optimal" else SANE), "--links", "--must", "--cannot"]
        options += ["--out", "--plot"] if line.words[0] != "explain" else []
        options += ["--file"] if line.words[0] == "optimal" else []
        option, value = pick(rng, options), pick(rng, NASTY)
        if option == "--option" and coin(rng):
            value = f"{pick(rng, ('mu', 'order', 'normalized', 'fraction'))}={value}"
        line.words += [f"{option}={value}"] if coin(rng, 0.3) else [option, value]
        line.wrong, line.stdin = (option, value), b"0,1\n"
        line.out = None if option == "--out" else line.out


def _problems(rng: np.random.Generator, folder: Path) -> Line:
    name = pick(rng, (*INSTANCES, *NASTY)) if coin(rng, 0.4) else pick(rng, INSTANCES)
    command = pick(rng, ("list", "show", "solve", "export", "verify"))
    words = ["problems", command, *([name] if command != "list" else [])]
    if command in ("verify", "list") or coin(rng, 0.2):
        (folder / "own").mkdir()
        text = (Path(cl.__file__).parents[2] / "problems" / "path_ends_apart.toml").read_bytes()
        (folder / "own" / "path_ends_apart.toml").write_bytes(_damaged(rng, text) if coin(rng) else text)
        words += ["--folder", str(folder / "own")]
    if command == "solve" and coin(rng, 0.5):
        words += [pick(rng, ("--solver", "--form", "--route", "--memory-limit", "--time-limit", "--accuracy"))]
        words += [pick(rng, NASTY)]
    out = folder / pick(rng, ("new.dat-s", "new.cbf", "new.txt", "old.csv"))
    return Line([*words, *(["--out", str(out)] if command == "export" else [])], wrong=())


def _bring_back(rng: np.random.Generator, folder: Path) -> Line:
    words = ["bring-back", str(folder / "program.dat-s"), str(folder / "result")]
    (folder / "result").write_bytes(rng.bytes(50) if coin(rng) else b"1 2 3\n1 1 1 1 1.0\n")
    if coin(rng):
        cl.instances.load("path_ends_apart").problem.export(folder / "program.dat-s")
        if coin(rng):
            name = pick(rng, ("program.dat-s.lift", "program.dat-s"))
            (folder / name).write_bytes(_damaged(rng, (folder / name).read_bytes()))
    if coin(rng, 0.2):
        words[int(rng.integers(1, 3))] = pick(rng, NASTY)
    return Line(words + (["--clusters", pick(rng, ("2", "0", "9" * 400))] if coin(rng, 0.3) else []))


def _others(rng: np.random.Generator, folder: Path) -> Line:
    lines = (["methods"], ["methods", "--json"], ["solvers", "--no-check"], ["solvers", "--no-check", "--json"])
    lines += (["version"], ["--version"], ["--help"], ["cluster", "--help"], [], ["problems"], ["nothing"], ["cluster"])
    lines += (["optimal", "--help"], ["optimal"])
    words = list(pick(rng, lines))
    return Line(words + ([pick(rng, NASTY)] if coin(rng, 0.4) else []))


# ---------------------------------------------------------------------- what is promised


def _judged(line: Line, ended: Ended, folder: Path, before: dict[str, str]):
    """Yield the kind of each broken promise, and what happened."""
    said = ended.stderr
    if ended.trouble or "Traceback (most recent call last)" in said or ended.code == 70:
        kind = HANG if ended.trouble.startswith("no end") else RAW_ERROR
        yield kind, ended.trouble or " ".join(said.split())[-300:]
        return
    if "left a process behind" in said:
        yield ORPHAN, "a process is left behind"
    if ended.code not in CODES:
        yield RAW_ERROR, f"exit code {ended.code}: {said[-200:]}"
    hidden = {c for c in ended.stdout.decode(errors="replace") + said if _is_control(c)}
    if hidden and not (line.words and line.words[0] in ("cluster", "optimal") and ended.code in (0, 4)):
        yield UNCLEAR, f"control characters reach the terminal: {sorted(hidden)!r}"
    if ended.code in (1, 2) and ended.output_is_seen and line.words and line.words[0] != "problems":
        yield from _about_message(line, said)
    if "--json" in line.words and ended.code in (0, 4) and ended.output_is_seen and "--help" not in line.words:
        yield from _about_json(ended.stdout)
    yield from _about_files(line, ended, folder, before)


def _is_control(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) == "Cc"


def _about_message(line: Line, said: str):
    sentences = [text for text in said.split("cvxlink: ") if text.strip()]
    if "Usage:" in said or not line.words[1:]:  # the help, where there are no arguments
        return
    if (
        len(sentences) != 1
        or not said.startswith("cvxlink: ")
        or len(said.strip().splitlines()) > 1 + said.count("\\n")
    ):
        if not any("\n" in word for word in line.words):
            yield UNCLEAR, f"not one sentence: {said[:300]!r}"
    elif line.wrong and line.wrong[-1].strip():
        named = [visible(repr(word)[1:-1]) for word in line.wrong if word.strip()] + [
            visible(word).strip()[:40] for word in line.wrong if word.strip()
        ]
        # What a damaged file or a strange value leads to may show elsewhere: in the links, the points or the method.
        about = (
            "--",
            "point",
            "column",
            "line",
            "standard input",
            "method",
            "links",
            "label",
            "cluster",
            "option",
            "solver",
            "route",
            "form",
        )
        if not any(word in said for word in (*named, *about)):
            yield UNCLEAR, f"names neither option nor file: {said[:300]!r}"


def _about_json(printed: bytes):
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        json.loads(printed.decode("utf-8"), parse_constant=refuse)
    except ValueError as error:
        yield RAW_ERROR, f"invalid JSON: {error}"


def _about_files(line: Line, ended: Ended, folder: Path, before: dict[str, str]):
    after = _fingerprints(folder)
    writes = {"new.csv", "new.png", "new.dat-s", "new.cbf", "new.dat-s.lift", "new.cbf.lift"}
    written = {line.out.name} if line.out is not None and ended.code in (0, 4) else set()
    if line.words and line.words[0] == "problems":
        written |= {"old.csv"} if ended.code == 0 else set()
    for name in before:
        if after.get(name) != before[name] and name not in written:
            yield LOST, f"{name} was {'changed' if name in after else 'removed'}, with exit code {ended.code}"
    if line.out is not None and ended.code in (0, 4) and not ended.is_odd:
        lines = line.out.read_text().splitlines() if line.out.exists() else []
        if not lines or not lines[0].startswith("point,cluster") or not line.out.read_bytes().endswith(b"\n"):
            yield LOST, f"{line.out.name} is not whole: {lines[:2]}"
    hidden = [name for name in set(after) - set(before) if Path(name).name.startswith(".")]
    if hidden:
        yield ORPHAN, f"temporary files are left: {sorted(hidden)}"
    if ended.code in (1, 2) and (partial := (set(after) - set(before)) & writes) and not ended.is_odd:
        yield LOST, f"{sorted(partial)} written, with exit code {ended.code}"


def _fingerprints(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if not path.is_symlink() and path.is_file()
    }
