"""Solvers that no cell can use on this machine: not installed, or without a licence. That is found once."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

from ..errors import SolverUnavailable
from ..numerics.arguments import as_instance
from ..solvers.catalogue import require_solver
from ..solvers.table import licence_refusal
from .description import Study

_lock = Lock()


def refused_beforehand(study: Study) -> dict[str, str]:
    """Return the configurations that no cell can use here, with the reason."""
    parts = as_instance(study, Study, "study", "a Study").configurations
    found = {one.name: refusal(one.solver) for one in parts}
    return {name: words["reason"] for name, words in found.items() if words}


def refusal(solver: str | None) -> dict[str, Any]:
    """Return the result of every cell with a solver that cannot be used here, or nothing if it can."""
    with _lock:
        return dict(_refusal(solver.upper())) if solver is not None else {}


@lru_cache
def _refusal(solver: str) -> dict[str, Any]:
    """A commercial solver is tried on small programs, once for each process that computes cells."""
    try:
        name = require_solver(solver)
    except SolverUnavailable as error:
        return {"refused": "licence" if error.needs_licence else "solver", "reason": str(error), "seconds": 0.0}
    reason = licence_refusal(name)
    return {} if reason is None else {"refused": "licence", "reason": reason, "seconds": 0.0}
