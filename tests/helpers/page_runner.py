"""Run a page of documentation: its blocks in order, in one namespace and one folder, as a reader would.

As a script, ``python page_runner.py PAGE``, it prints a line of JSON for each block. A page has a process of its own,
so that the formulations it declares are nobody else's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MADE = ("_build", "gallery")  # folders of docs that Sphinx makes
HOW = "say how to test it in tests/helpers/page_runner.py"

# Commands that take minutes, why, and what is run in their place.
SLOW = {
    "cvxlink demo": ("every installed solver, minutes", "cvxlink demo --help"),
    "cvxlink problems verify": ("proves 57 instances", "cvxlink problems verify kp_path"),
    "cvxlink solvers": ("tries every solver out", "cvxlink solvers --no-check"),
}
# Lines that set a reader up, and are nothing of ours.
SETTING_UP = ("python -m venv ", "python3 -m venv ", ". .venv/bin/activate", "source .venv/bin/activate")
# Solvers that are programs of their own, and what these are called.
PROGRAMS = {"CSDP": "csdp", "SDPA-CLI": "sdpa", "DSDP": "dsdp5"}
# Packages whose scripts need machines that nobody has here, and which machines.
CLUSTERS = {"dask_jobqueue": "SLURM", "dask_kubernetes": "Kubernetes"}
# What Sphinx makes of a fence in braces: nothing that a reader would run.
DIRECTIVES = {"toctree", "image", "figure", "math"}
# Text around which ::: stands, so that blocks within it are seen as blocks.
SURROUNDINGS = {"dropdown", "important", "note", "seealso", "tip", "warning"}
SURROUNDINGS |= {"grid", "grid-item", "grid-item-card", "tab-item", "tab-set"}


class Untested(AssertionError):
    """Something stands in a page that is not known how to test."""


class NotHere(Exception):
    """A program that a command needs is not installed."""


@dataclass(frozen=True)
class Block:
    """A block of a page: the line it begins at, its language, the file it is to be written to, and what it says."""

    line: int
    language: str
    title: str
    text: str


# ---------------------------------------------------------------------- reading


def pages() -> list[Path]:
    """Return the pages with blocks to test."""
    written = [path for path in (ROOT / "docs").rglob("*.md") if path.relative_to(ROOT / "docs").parts[0] not in MADE]
    others = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "problems/README.md")]
    return [path for path in [*others, *sorted(written)] if path.exists()]


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page that are not directives."""
    return [block for block in _fences(text) if not block.language.startswith("{")]


def objections(text: str, formulas: bool = False) -> list[str]:
    """Return what a page has that would not be tested; formulas may be set as indented text where there are such."""
    found = []
    for token in MarkdownIt().parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "code_block" and not formulas:
            found.append(f"line {line}: an indented block; fence it, and name its language")
        if token.type == "html_block" and "<pre" in token.content:
            found.append(f"line {line}: a block in HTML; fence it, and name its language")
    for block in _fences(text):
        name = block.language.strip("{}")
        if block.language.startswith("{") and name not in DIRECTIVES:
            found.append(f"line {block.line}: {{{name}}} in backticks; with ::: blocks in it would be tested")
        elif not block.language.startswith("{") and block.language not in LANGUAGES:
            found.append(f"line {block.line}: a block of {block.language!r}; {HOW}")
    for match in re.finditer(r"^\s*:{3,}\s*\{([\w-]+)\}", text, re.MULTILINE):
        if match[1] not in SURROUNDINGS:
            line = text.count("\n", 0, match.start(1)) + 1
            found.append(f"line {line}: ::: {{{match[1]}}}; {HOW}")
    return found


def _fences(text: str) -> Iterator[Block]:
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            language, _, rest = token.info.strip().partition(" ")
            title = re.search(r"title=\"?([^\s\"]+)", rest)
            yield Block(token.map[0] + 1, language, title[1] if title else "", token.content)


# ---------------------------------------------------------------------- running


@dataclass
class Reader:
    """Somebody who works through a page in a folder."""

    page: Path
    folder: Path
    names: dict[str, Any]

    def does(self, block: Block) -> None:
        """Write the block to its file, if it has one, and run it."""
        if block.language not in LANGUAGES:
            raise Untested(f"a block of {block.language!r}: {HOW}")
        if block.title:
            (self.folder / block.title).write_text(block.text, encoding="utf-8")
        LANGUAGES[block.language](self, block)

    def python(self, block: Block) -> None:
        """Run it in the namespace of the page; line numbers of errors are those of the page."""
        code = compile("\n" * block.line + block.text, str(self.page), "exec")
        needed = [name for package, name in CLUSTERS.items() if f"from {package}" in block.text]
        if needed:
            raise NotHere(f"no cluster of {needed[0]}")
        exec(code, self.names)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")

    def commands(self, block: Block) -> None:
        """Run the commands, a line each."""
        missing = []
        for line in re.sub(r"\\\n\s*", "", block.text).splitlines():
            try:
                self._command(line)
            except NotHere as error:
                missing.append(str(error))
        if missing:
            raise NotHere("; ".join(missing))

    def text(self, block: Block) -> None:
        """Output, which commands must not hide in."""
        hidden = re.search(r"^\s*(>>>|\$|cvxlink|make|pip|python3?) .*", block.text, re.MULTILINE)
        if hidden:
            raise Untested(f"{hidden[0]!r} in a block of text looks like a command: put it into one of its own")

    def csv(self, block: Block) -> None:
        """Rows of equally many columns."""
        assert len({row.count(",") for row in block.text.splitlines()}) == 1, "rows differ in their number of columns"

    def json(self, block: Block) -> None:
        """Well formed."""
        json.loads(block.text)

    def toml(self, block: Block) -> None:
        """An instance for the library, of which a problem can be made, or anything else that is well formed."""
        from cvxlink import library

        if "formulation" in tomllib.loads(block.text):
            (self.folder / "instances").mkdir(exist_ok=True)
            (self.folder / "instances/shown.toml").write_text(block.text, encoding="utf-8")
            print(library.load("shown", self.folder / "instances").problem)

    def bibtex(self, block: Block) -> None:
        """Entries, with as many braces opened as closed."""
        assert block.text.startswith("@") and block.text.count("{") == block.text.count("}"), "no entry of BibTeX"

    def _command(self, line: str) -> None:
        said = re.search(r"#.*exit code (\d+)", line)
        words = shlex.split(line, comments=True)
        while words and re.match(r"\w+=", words[0]):  # an environment variable, for this command alone
            words.pop(0)
        if not words or shlex.join(words).startswith(SETTING_UP):
            return
        if {"|", "||", "&&", ">", "<", ";"} & set(words):
            raise Untested(f"{line!r}: {HOW}, or do without the shell")
        known = {"cvxlink": self._cvxlink, "make": _make, "pip": _pip, "python": self._script, "dask": _dask}
        if words[0] not in known:
            raise Untested(f"{line!r}: {HOW}")
        known[words[0]](words, *([int(said[1]) if said else 0] if words[0] == "cvxlink" else []))

    def _cvxlink(self, words: list[str], code: int) -> None:
        _, stand_in = SLOW.get(shlex.join(words), ("", None))
        words = shlex.split(stand_in) if stand_in else words
        solver = words[words.index("--solver") + 1].upper() if "--solver" in words else ""
        if solver in PROGRAMS and not shutil.which(PROGRAMS[solver]):
            raise NotHere(f"{solver} is not on the PATH; `make solvers` gets it")
        if "--scheduler" in words:  # the tests of studies run these on a real one
            return _has_options([str(BIN / words[0]), *words[1:3]], words)
        done = _run([str(BIN / words[0]), *words[1:]], self.folder)
        assert done.returncode == code, f"{shlex.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"

    def _script(self, words: list[str]) -> None:
        """Run a script that the page wrote; examples are run elsewhere, benchmarks need the options that are named."""
        path, options = words[1], [word.split("=")[0] for word in words[2:] if word.startswith("--")]
        if (self.folder / path).exists():
            done = _run([sys.executable, *words[1:]], self.folder)
            assert done.returncode == 0, f"{path}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
            return
        assert (ROOT / path).is_file(), f"there is no {path}"
        if path.startswith("examples/"):
            assert not words[2:], f"{path} takes no arguments"
        elif path.startswith("benchmarks/"):
            known = _run([sys.executable, str(ROOT / path), "--help"], self.folder).stdout if options else ""
            unknown = [option for option in options if not re.search(rf"{option}\b", known)]
            assert not unknown, f"{path} has no option {unknown[0]}"
        else:
            raise Untested(f"python {path}: {HOW}")


LANGUAGES: dict[str, Callable[[Reader, Block], None]] = {
    "python": Reader.python,
    "console": Reader.commands,
    "sh": Reader.commands,
    "": Reader.commands,
    "text": Reader.text,
    "csv": Reader.csv,
    "json": Reader.json,
    "toml": Reader.toml,
    "bibtex": Reader.bibtex,
}


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


def _dask(words: list[str]) -> None:
    _has_options([sys.executable, "-m", "distributed.cli.dask_" + words[1]], words)


def _has_options(command: list[str], words: list[str]) -> None:
    """Require that the help of a command names the options that are given."""
    known = _run([*command, "--help"], ROOT).stdout
    unknown = [word for word in words if word.startswith("--") and not re.search(rf"{word}\b", known)]
    assert known and not unknown, f"{shlex.join(command)} has no option {', '.join(unknown)}"


def _make(words: list[str]) -> None:
    targets = [word for word in words[1:] if "=" not in word]
    assert targets, "make what?"
    done = _run(["make", "-n", *targets], ROOT)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr.strip()}"


def _pip(words: list[str]) -> None:
    assert words[1:2] == ["install"], f"{shlex.join(words)}: {HOW}"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for word in words[2:]:
        match = re.fullmatch(r"(?:\.|cvxlink|(?:dist/)?cvxlink\S*\.whl)(?:\[([\w,-]+)\])?", word)
        assert match or word.startswith("-"), f"pip install {word}: not this package"
        unknown = set(match[1].split(",")) - set(extras) if match and match[1] else set()
        assert not unknown, f"there is no extra {', '.join(sorted(unknown))}"


def main(page: Path) -> None:
    """Run the blocks of a page here, and report each; what comes after one that fails is not run."""
    os.environ["MPLBACKEND"] = "agg"
    reader = Reader(page, Path.cwd(), {"__name__": "__main__"})
    report = sys.stdout
    for block in blocks(page.read_text(encoding="utf-8")):
        outcome, words = "passed", ""
        try:
            with redirect_stdout(sys.stderr):
                reader.does(block)
        except NotHere as error:
            outcome, words = "skipped", str(error)
        except BaseException:
            outcome, words = "failed", traceback.format_exc()
        print(json.dumps({"line": block.line, "outcome": outcome, "words": words}), file=report, flush=True)
        if outcome == "failed":
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
