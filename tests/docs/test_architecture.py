"""The house is as docs/architecture.md says: rooms, layers, no import upward, and a picture that shows them."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "cvxlink"
ROOMS = {path.stem for path in SOURCES.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} - {
    "__init__",
    "__main__",
}
AGAIN = "run `python docs/architecture.py`"


def script():
    """The script that draws the picture, as a module."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


architecture = script()


@pytest.fixture(scope="module")
def house():
    return architecture.House.real()


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported anywhere in a tree, with the names that are taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


# ---------------------------------------------------------------------- the rooms


def test_every_room_is_described_in_the_order_of_the_layers():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \| \S.*\.[)]? \|$", page, re.MULTILINE)
    assert described == [room for layer in architecture.layers() for room in layer if room in ROOMS]
    assert set(described) == ROOMS


def test_the_package_root_holds_few_modules():
    assert len(list(SOURCES.glob("*.py"))) <= 10


def test_no_import_goes_upward(house):
    assert set(house.modules) == ROOMS
    assert house.upward == []


def test_an_import_upward_or_sideways_would_be_seen():
    house = architecture.House(
        {"engine": 1, "solvers": 1, "certificates": 1},
        {("engine", "solvers"): 1, ("solvers", "engine"): 2, ("certificates", "solvers"): 1},
    )
    assert house.layers == [["engine"], ["certificates", "solvers"]]
    assert house.upward == [("solvers", "engine"), ("certificates", "solvers")]


def test_imports_are_counted_by_the_modules_that_import(house):
    importing = [path for path in (SOURCES / "plotting").glob("*.py") if "..data" in path.read_text(encoding="utf-8")]
    assert house.imports["plotting", "data"] == len(importing) > 0
    assert house.modules["plotting"] == len(list((SOURCES / "plotting").glob("*.py")))


def test_the_picture_shows_the_house_as_it_is(house, tmp_path):
    shown = json.loads(Image.open(architecture.PICTURE).text["Description"])
    assert shown == json.loads(house.to_json()), AGAIN
    architecture.draw(house, tmp_path / "drawn.png")
    assert Image.open(tmp_path / "drawn.png").text == Image.open(architecture.PICTURE).text
    assert architecture.PICTURE.stat().st_size < 150_000


# ---------------------------------------------------------------------- further rules


def test_families_of_methods_do_not_import_each_other():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (contract for contract in settings["contracts"] if contract["type"] == "independence")
    graph = grimp.build_graph("cvxlink", cache_dir=None)
    families = {path.name for path in (SOURCES / "methods").iterdir() if (path / "__init__.py").exists()} - {"shared"}
    family = {m: m.split(".")[2] for m in graph.modules if m.startswith("cvxlink.methods.")}
    crossing = {
        f"{one} -> {other}"
        for one in family
        for other in graph.find_modules_directly_imported_by(one)
        if family.get(other) in families - {family[one]}
    }
    assert len(families) >= 9
    assert crossing <= set(contract["ignore_imports"])


def test_modules_import_at_the_top_except_on_the_command_line():
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inside = {
        (path.relative_to(SOURCES).as_posix(), function.name)
        for path in SOURCES.rglob("*.py")
        for function in ast.walk(parsed(path))
        if isinstance(function, functions) and list(imports(function))
    }
    assert any(path.startswith("cli/") for path, _ in inside)
    assert {where for where in inside if not where[0].startswith("cli/")} == set()


def test_no_test_imports_another_test():
    files = list((ROOT / "tests").rglob("test_*.py"))
    names = {path.stem for path in files}
    assert len(names) > 30
    shared = {path.name: taken for path in files if (taken := _named(path) & names)}
    assert shared == {}


def _named(path: Path) -> set[str]:
    return {part for module in imports(parsed(path)) for part in module.split(".")}
