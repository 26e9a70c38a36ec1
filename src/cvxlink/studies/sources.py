"""Code of one's own in a study, by the name ``module:Something``: where it is, whether it has changed, and what it is.

Only processes with limits import it. The process that runs a study reads it as text.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..engine.problem import Problem
from ..errors import CvxlinkError, InvalidInput
from ..methods.called import formulation_called, module_called
from ..methods.table import require_options
from ..numerics.arguments import shown
from ..solvers.isolation import Limits, run_isolated
from .wording import meant

IMPORT_SECONDS = 120.0
# A module of one's own is made of so many files at most.
MOST_FILES = 1000


# ---------------------------------------------------------------------- in the processes of cells


def formulation_in(name: str, folder: str) -> type[Problem]:
    """Return a formulation by the name ``module:Class``; the folder of the study comes first."""
    _put_first(folder)
    return formulation_called(name)


def function_in(name: str, folder: str) -> Callable[..., Any]:
    """Return a function by the name ``module:function``; the folder of the study comes first."""
    _put_first(folder)
    where, _, what = name.partition(":")
    module = module_called(where)
    found: Any = module
    for part in what.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        problem = "does not exist" if found is None else f"is not a function, but {shown(found)}"
        raise InvalidInput(f"{what} in the module {where} {problem}{meant(what, known)}", "run")
    return found


def _put_first(folder: str) -> None:
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)  # and stays there, for what the module imports later


# ---------------------------------------------------------------------- before anything runs


def require_importable(wanted: Sequence[tuple[str, str, tuple[str, ...]]], folder: str) -> None:
    """Raise if code of one's own cannot be imported in a process of its own, as the cells are computed.

    ``wanted`` has the key that names it, its name, and the options that it has to take.
    """
    for key, name, options in dict.fromkeys(wanted):
        ended = run_isolated(_trouble, (key, name, options, folder), Limits(IMPORT_SECONDS), name)
        words = ended.limit or ended.failure if ended.answer is None else ended.answer
        if words:
            raise InvalidInput(f"{key} = {shown(name)} cannot be used: {words}", key)


def _trouble(key: str, name: str, options: tuple[str, ...], folder: str) -> str:
    """Return why something cannot be used, in the words of its error; or ""."""
    try:
        if key in ("formulation", "method"):
            require_options(formulation_in(name, folder), options)
        else:
            _require_takes(function_in(name, folder), name, options)
    except CvxlinkError as error:
        return str(error)
    return ""


def _require_takes(function: Callable[..., Any], name: str, options: tuple[str, ...]) -> None:
    """Raise if a function does not take some options."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some that are written in C do not say
        return
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            raise InvalidInput(f"{name} does not take the option {shown(option)}{meant(option, list(parameters))}")


# ---------------------------------------------------------------------- without importing


def hash_of_source(name: str, folder: str, key: str) -> str:
    """Return a hash of the files that a module of one's own is made of: itself, and what it imports from beside it."""
    where = name.partition(":")[0]
    path = _file_of(where, folder, key)
    found: dict[Path, bytes] = {}
    todo = [] if path is None else [path]
    while todo and len(found) < MOST_FILES:
        path = todo.pop()
        if path not in found:
            found[path] = path.read_bytes()
            todo += _imported_from_beside(path, found[path], folder)
    whole = hashlib.sha256()
    for content in sorted(hashlib.sha256(content).digest() for content in found.values()):
        whole.update(content)
    return whole.hexdigest()


def _file_of(module: str, folder: str, key: str) -> Path | None:
    """Return the file of a module; None if it is installed as something else."""
    if not all(part.isidentifier() for part in module.split(".")):
        words = f"{key} must name a module, as in module:Class, and {shown(module)} is none"
        raise InvalidInput(words, key)
    for home in (folder, os.getcwd(), *sys.path):
        found = next(_files_of(Path(home), module.split(".")), None)
        if found is not None:
            return found
    with suppress(ImportError, ValueError):
        if find_spec(module.partition(".")[0]) is not None:
            return None
    there = sorted(path.stem for path in Path(folder).glob("*.py"))
    words = f"there is no module {module}, neither beside the study, nor in this folder, nor installed"
    raise InvalidInput(f"{words}{meant(module, there, 0)}", key)


def _files_of(home: Path, parts: list[str]) -> Iterator[Path]:
    for path in (home.joinpath(*parts[:-1], f"{parts[-1]}.py"), home.joinpath(*parts, "__init__.py")):
        if path.is_file():
            yield path.resolve()


def _imported_from_beside(path: Path, content: bytes, folder: str) -> list[Path]:
    """Return the files that a file imports from the folder of the study, from this folder, or from its package."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError):
        return []
    homes = [Path(folder), Path.cwd()]
    if not any(path.is_relative_to(home.resolve()) for home in homes) or "site-packages" in path.parts:
        return []
    found: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found += _all_files_of(homes, alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            places = homes if not node.level else [path.parents[min(node.level, len(path.parents)) - 1]]
            parts = node.module.split(".") if node.module else []
            for names in ([], *([alias.name] for alias in node.names)):
                found += _all_files_of(places, [*parts, *names])
    return found


def _all_files_of(homes: list[Path], parts: list[str]) -> list[Path]:
    """Return the files of a module and of the packages it is in."""
    return [path for k in range(len(parts)) for home in homes for path in _files_of(home, parts[: k + 1])]


def options_wanted(*tables: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the options in some tables."""
    return tuple(name for table in tables for name in table)
