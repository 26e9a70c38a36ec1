"""Solvers: programs are solved by CVXPY's solvers, by external executables, or by our own algorithms.

``cvxlink.solvers()`` returns the table of solvers.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A package that can be called: ``cvxlink.solvers()`` returns the table of solvers."""

    def __call__(self, check: bool = True) -> Any:
        """Return the table of solvers."""
        return import_module(".table", __name__).solvers(check)


sys.modules[__name__].__class__ = _Room
