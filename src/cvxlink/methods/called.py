"""Formulations of one's own by the name ``module:Class``, on the command line and in studies."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from sysconfig import get_paths
from types import ModuleType
from typing import Any

from ..engine.problem import Problem
from ..errors import CvxlinkError, InvalidInput

# Where the code of Python, of installed packages and of this one is.
OF_OTHERS = (
    *(Path(get_paths()[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    Path(__file__).parents[1],
)
EXAMPLE = "write --method module:Class, such as soft:SoftPCP for the class SoftPCP in soft.py"


def is_own(method: str) -> bool:
    """Whether a method is named by its module and class."""
    return ":" in method


def formulation_called(name: str) -> type[Problem]:
    """Return the class of the name ``module:Class``, from the current folder or from what is installed.

    Importing the module runs its code.
    """
    where, _, kind = name.partition(":")
    if where.endswith(".py") or os.sep in where:
        raise InvalidInput(f"{where!r} is the name of a file, not of a module; {EXAMPLE}", "method")
    if not all(part.isidentifier() for part in (*where.split("."), *kind.split("."))):
        raise InvalidInput(f"{name!r} does not name a module and a class; {EXAMPLE}", "method")
    module = module_called(where)
    found: Any = module
    for part in kind.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, Problem)):
        what = f"is not a subclass of cvxlink.Problem, but {_kind(found)}" if found is not None else "does not exist"
        raise InvalidInput(f"{kind} in the module {where} {what}; {_has(module)}", "method")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise InvalidInput(f"{kind} in the module {where} is not complete; it has to define {missing}", "method")
    return found


@contextmanager
def errors_of(formulation: type[Problem] | None) -> Iterator[None]:
    """Say whose error it is where the code of a formulation of one's own raises one."""
    try:
        yield
    except CvxlinkError:
        raise
    except Exception as error:
        if formulation is None or not _passed_through(error, inspect.getsourcefile(formulation)):
            raise
        name = f"{formulation.__module__}:{formulation.__qualname__}"
        raise InvalidInput(f"{name} raised {worded(error)}", "method") from error


def module_called(where: str) -> ModuleType:
    """Return a module; the current folder comes first, as for ``python -m``."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # and stays there, for what the module imports later and for solvers in processes
    try:
        return import_module(where)
    except ModuleNotFoundError as error:
        # The module itself or one of the packages it is in; otherwise it is there, and something it imports is not.
        if error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            raise InvalidInput(f"there is no module {where}, neither in this folder nor installed", "method") from error
        raise InvalidInput(f"the module {where} cannot be imported: {worded(error)}", "method") from error
    except (Exception, SystemExit) as error:
        raise InvalidInput(f"the module {where} cannot be imported: {worded(error)}", "method") from error


def _has(module: ModuleType) -> str:
    """Return which formulations a module declares, in words."""
    own = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Problem) and value.__module__ == module.__name__
    ]
    return f"the module has {', '.join(own)}" if own else "the module has no formulations"


def _kind(value: Any) -> str:
    return "another class" if isinstance(value, type) else f"a {type(value).__name__}"


def worded(error: BaseException) -> str:
    """Return an error in one line, with the file and line of one's own code that raised it."""
    words, line = " ".join(str(error).split()), _line(error)
    return type(error).__name__ + (f": {words}" if words else "") + (f" ({line})" if line else "")


def _line(error: BaseException) -> str:
    """Return the innermost line of an error that is in nobody's package; errors of syntax say it themselves."""
    trace, found = error.__traceback__, ""
    while trace is not None and not isinstance(error, SyntaxError):
        path = Path(trace.tb_frame.f_code.co_filename)
        if path.is_file() and not any(path.is_relative_to(home) for home in OF_OTHERS):
            found = f"{path.name}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _passed_through(error: BaseException, file: str | None) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if file is not None and trace.tb_frame.f_code.co_filename == file:
            return True
        trace = trace.tb_next
    return False
