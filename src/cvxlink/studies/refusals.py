"""Solvers that no cell can use on this machine: not installed, or without a licence. That is found once."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Any

from ..errors import SolverUnavailable
from ..numerics.arguments import as_instance
from ..solvers.catalogue import SOLVERS, require_solver
from ..solvers.table import try_out
from .description import Study

COMMERCIAL = "commercial"
NO_LICENCE = "no licence"
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
        return {"refused": "solver", "reason": str(error), "seconds": 0.0}
    notes = SOLVERS.get(name)
    if notes is None or notes.licence != COMMERCIAL:
        return {}
    verdicts = set(try_out(name).values())
    if verdicts != {NO_LICENCE}:
        return {}
    reason = f"{name} is installed but has no valid licence; {notes.get_licence}"
    return {"refused": "licence", "reason": reason, "seconds": 0.0}
