"""The versions that a result depends on."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from ..numerics.versions import package_versions
from .catalogue import SOLVERS
from .executables import COMMAND_LINE
from .isolation import Limits, run_isolated


def version_of(solver: str) -> str:
    """Return the version of a solver; an executable is asked for it. Empty if it does not say."""
    if solver in COMMAND_LINE:
        path = COMMAND_LINE[solver].path
        return "" if path is None else _said(solver, path, os.stat(path).st_mtime_ns)
    package = SOLVERS[solver].package if solver in SOLVERS else ""
    return _installed(package or solver.lower())


def versions_with(solver: str | None) -> dict[str, str]:
    """Return the versions of Python, of the packages that every solve uses, and of a solver."""
    return dict(package_versions()) if solver is None else {**package_versions(), solver: version_of(solver)}


@cache
def _said(solver: str, path: str, changed: int) -> str:
    """Return the version that an executable prints; it is asked again once it has changed.

    It is asked where it solves, in a process of its own: whatever it does, nothing of it remains.
    """
    return run_isolated(_asked, (solver,), Limits(), solver).answer or ""


def _asked(solver: str) -> str:
    try:
        return COMMAND_LINE[solver].version()
    except OSError:  # it is no program
        return ""


@cache
def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # reached without a package of that name
        return ""
