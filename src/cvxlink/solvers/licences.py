"""What is known about missing licences: a solver that has none is asked once, not in every solve."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import SolverUnavailable

# What a solver said when it was refused for want of a licence, and what was known of licences then.
_REFUSED: dict[str, tuple[tuple[str, ...], str]] = {}


def finds_mosek_licence() -> bool:
    """Whether there is a licence where MOSEK looks for one."""
    return "MOSEKLM_LICENSE_FILE" in os.environ or (Path.home() / "mosek" / "mosek.lic").exists()


def remember_refusal(solver: str, words: str) -> None:
    """Note that a solver has no licence, until something that licences depend on changes."""
    _REFUSED[solver] = (_circumstances(), words)


def known_refusal(solver: str) -> str | None:
    """Return why a solver was refused for want of a licence; None if it was not, or if that may have changed."""
    circumstances, words = _REFUSED.get(solver, ((), ""))
    return words if words and circumstances == _circumstances() else None


def require_licence(solver: str) -> None:
    """Raise if a solver is known to have no licence; it is not asked again."""
    words = known_refusal(solver)
    if words is not None:
        raise SolverUnavailable(words, needs_licence=True)


def _circumstances() -> tuple[str, ...]:
    told = sorted(f"{name}={value}" for name, value in os.environ.items() if "LICEN" in name.upper())
    return (*told, str(finds_mosek_licence()))
