"""Solvers: from a program to an attempt at solving it, by CVXPY's solvers, by executables, or by our own algorithms.

``cvxlink.solvers()`` returns the table of solvers.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A package that can be called: ``cvxlink.solvers()`` is the table of what is in it."""

    def __call__(self, check: bool = True) -> Any:
        """Return the table of solvers."""
        return import_module(".table", __name__).solvers(check)


sys.modules[__name__].__class__ = _Room
