"""Every block of code in the documentation runs, and every public name is on a page."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import cvxlink as cl
from helpers import page_runner
from helpers.page_runner import ROOT, Block, NotHere, Reader, Untested

pytestmark = pytest.mark.slow

PAGES = page_runner.pages()
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
BLOCKS = [(name, block.line) for name, text in TEXTS.items() for block in page_runner.blocks(text)]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of the blocks of a page, by line; the page is run when the first of them is asked for."""
    known: dict[str, tuple[dict[int, dict], str]] = {}

    def of(name: str) -> tuple[dict[int, dict], str]:
        if name not in known:
            folder = tmp_path_factory.mktemp(re.sub(r"\W", "_", name))
            runner = [sys.executable, page_runner.__file__, str(ROOT / name)]
            done = subprocess.run(runner, cwd=folder, capture_output=True, text=True, timeout=1200)
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            known[name] = {row["line"]: row for row in rows}, done.stderr[-2000:]
        return known[name]

    return of


@pytest.mark.parametrize(("name", "line"), BLOCKS, ids=[f"{name}:{line}" for name, line in BLOCKS])
def test_blocks_run(name, line, outcomes):
    rows, shown = outcomes(name)
    if line not in rows:
        failed = [number for number, row in rows.items() if row["outcome"] == "failed"]
        pytest.fail(f"not reached: line {failed[0]} failed" if failed else f"the page ended before: {shown}")
    if rows[line]["outcome"] == "skipped":
        pytest.skip(rows[line]["words"])
    assert rows[line]["outcome"] == "passed", rows[line]["words"]


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_on_a_page_escapes_the_tests(name):
    assert not page_runner.objections(TEXTS[name], formulas=name.startswith("docs/mathematics"))


@pytest.mark.parametrize("path", sorted((ROOT / "docs/api").glob("*.rst")), ids=lambda path: path.stem)
def test_pages_of_the_api_have_no_blocks(path):
    assert not re.search(
        r"::\s*$|code-block|literalinclude", re.sub(r"\.\. toctree::", "", path.read_text()), re.MULTILINE
    )


@pytest.mark.parametrize("name", [name for name in TEXTS if not name.startswith("docs/")])
def test_links_to_files_lead_somewhere(name):
    inline = [token for token in MarkdownIt().parse(TEXTS[name]) if token.type == "inline"]
    targets = [
        child.attrs.get("href") or child.attrs.get("src")
        for token in inline
        for child in token.children
        if child.type in ("link_open", "image")
    ]
    files = [target.partition("#")[0] for target in targets if not re.match(r"\w+:|#", target)]
    assert [file for file in files if not (ROOT / name).parent.joinpath(file).exists()] == []


@pytest.mark.parametrize("name", sorted(cl.__all__))
def test_public_names_are_documented(name):
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/api").glob("*.rst"))
    assert re.search(rf"^\.\. auto\w+:: (cvxlink\.[\w.]*)?{name}$", pages, re.MULTILINE)


WITH_DOCTESTS = [path for path in sorted((ROOT / "src").rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_DOCTESTS, ids=lambda path: path.stem)
def test_examples_in_docstrings_run(path):
    module = importlib.import_module(".".join(path.relative_to(ROOT / "src").with_suffix("").parts))
    assert doctest.testmod(module).failed == 0


# ---------------------------------------------------------------------- the runner itself


def run(tmp_path: Path, language: str, text: str, title: str = "", names: dict | None = None) -> None:
    Reader(tmp_path / "page.md", tmp_path, {} if names is None else names).does(Block(1, language, title, text))


def test_blocks_are_read_with_line_language_and_file():
    text = (
        "# A\n\n```csv title=data.csv\na,b\n```\n\n- an item\n\n  ```python\n  x = 1\n  ```\n\n```{toctree}\nb\n```\n"
    )
    assert page_runner.blocks(text) == [Block(3, "csv", "data.csv", "a,b\n"), Block(9, "python", "", "x = 1\n")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```ruby\nputs 1\n```\n", "a block of 'ruby'"),
        ("words\n\n    x = 1\n", "an indented block"),
        ("```{code-block} python\nx = 1\n```\n", "code-block"),
        (":::{code-block} python\nx = 1\n:::\n", "code-block"),
        ("```{note}\nwords\n```\n", ":::"),
        ("<pre>\nx\n</pre>\n", "HTML"),
    ],
)
def test_what_would_escape_is_found(text, words):
    (objection,) = page_runner.objections(text)
    assert words in objection


def test_formulas_may_be_indented():
    assert not page_runner.objections("words\n\n    x = 1\n", formulas=True)
    assert not page_runner.objections(":::{note}\nwords\n:::\n\n```{toctree}\na\n```\n\n```text\nout\n```\n")


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("python", "x = 1 / 0\n", "division"),
        ("sh", "rm -rf something\n", "say how to test it"),
        ("sh", "cvxlink version | cat\n", "say how to test it"),
        ("sh", "cvxlink no-such-command\n", "exit code 2"),
        ("sh", "cvxlink version  # exit code 3\n", "exit code 0"),
        ("sh", "make no-such-target\n", "no-such-target"),
        ("sh", "pip install 'cvxlink[nothing]'\n", "no extra nothing"),
        ("sh", "pip install something-else\n", "not this package"),
        ("sh", "python examples/nothing.py\n", "there is no"),
        ("sh", "python benchmarks/pcp_forms.py --nothing 3\n", "no option --nothing"),
        ("text", "as follows:\ncvxlink version\n", "looks like a command"),
        ("csv", "a,b\n1\n", "columns"),
        ("toml", "formulation = 'PCP'\n", "is missing"),
        ("json", "{'a': 1}\n", "property name"),
        ("ruby", "puts 1\n", "say how to test it"),
    ],
)
def test_blocks_that_are_wrong_fail(tmp_path, language, text, words):
    with pytest.raises((AssertionError, ArithmeticError, ValueError, cl.CvxlinkError), match=words):
        run(tmp_path, language, text)


def test_blocks_that_are_right_pass(tmp_path):
    names: dict = {}
    run(tmp_path, "python", "x = 1\n", "x.py", names)
    run(tmp_path, "python", "y = x + 1\n", names=names)
    assert names["y"] == 2 and (tmp_path / "x.py").read_text() == "x = 1\n"
    run(tmp_path, "csv", "i,j,kind\n0,1,must\n", "links.csv")
    assert (tmp_path / "links.csv").exists()
    run(tmp_path, "sh", "cvxlink version  # which one\ncvxlink nothing  # exit code 2\nmake test lint\n")
    run(tmp_path, "console", "A=1 python benchmarks/pcp_forms.py \\\n  --time-limit 600\npip install '.[plot,test]'\n")
    run(tmp_path, "text", "PCP: optimal\n")


def test_a_slow_command_is_replaced_by_its_stand_in(tmp_path, monkeypatch):
    monkeypatch.setitem(page_runner.SLOW, "cvxlink nothing", ("there is no such command", "cvxlink --help"))
    run(tmp_path, "sh", "cvxlink nothing  # for ever")


def test_a_solver_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(page_runner.shutil, "which", lambda name: None)
    with pytest.raises(NotHere, match="CSDP"):
        run(tmp_path, "sh", "cvxlink problems solve strong_ties --solver CSDP\n")


def test_shells_are_not_needed(tmp_path):
    with pytest.raises(Untested):
        run(tmp_path, "sh", "cvxlink version > version.txt\n")
