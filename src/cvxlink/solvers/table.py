"""The table of solvers: what they accept, and whether they work on this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import cvxpy as cp
import numpy as np

from ..errors import SolverUnavailable
from ..model.declared import Declaration
from ..model.tables import Table
from ..numerics.checks import as_flag
from ..programs.status import DEFAULT_ACCURACY
from .catalogue import (
    LINEAR,
    LOGARITHMS,
    QUADRATIC,
    SEMIDEFINITE,
    SOLVERS,
    SolverNotes,
    cones_of,
    installed_solvers,
    kinds_of,
    known_solvers,
    solver_options,
)
from .isolation import Limits, run_isolated
from .licences import known_refusal, remember_refusal
from .through_cvxpy import call_cvxpy, interpreted
from .versions import version_of

N = 10
SMOKE_SECONDS = 60.0
# The allowed difference between a value and the optimum.
SMOKE_TOLERANCE = 1e-4
# Solvers that were asked whether they have a licence.
_ASKED: set[str] = set()


def _equal_steps() -> tuple[Declaration, float]:
    """Unit vectors on a path between two orthogonal directions; the optimum takes equal steps."""
    K = cp.Variable((N, N), symmetric=True, name="K")
    i = np.arange(N)
    roughness = cp.Minimize(cp.sum([K[k, k] + K[k + 1, k + 1] - 2 * K[k, k + 1] for k in range(N - 1)]))
    groups = {"unit": [K[i, i] == 1], "cannot": [K[0, N - 1] == 0], "psd": [K >> 0]}
    return Declaration({"K": K}, roughness, groups), 2 * (N - 1) * (1 - np.cos(np.pi / 2 / (N - 1)))


def _two_that_agree() -> tuple[Declaration, float]:
    """Independent values, two of which must nearly agree; the one multiplier is 1/0.5 − 1/2."""
    K = cp.Variable((N, N), symmetric=True, name="K")
    groups = {"must": [K[0, 0] + K[1, 1] - 2 * K[0, 1] <= 0.5]}
    return Declaration({"K": K}, cp.Minimize(cp.trace(K) - cp.log_det(K)), groups), N + np.log(4) - 0.75


def _from_0_to_1() -> tuple[Declaration, float]:
    """The smoothest values on a path from 0 to 1, for two classes; the optimum takes equal steps."""
    f = cp.Variable((N, 2), name="f")
    ends = {"labels": [f[[0, N - 1]] == np.eye(2)]}
    return Declaration({"f": f}, cp.Minimize(cp.sum_squares(f[1:] - f[:-1])), ends), 2 / (N - 1)


def _shares() -> tuple[Declaration, float]:
    """Shares of at most 1/2 that add up to one, with costs 1, 2, …; the optimum takes the two cheapest."""
    x = cp.Variable(N, name="x")
    groups = {"shares": [x >= 0], "half": [x <= 0.5], "whole": [cp.sum(x) == 1]}
    return Declaration({"x": x}, cp.Minimize(np.arange(1.0, N + 1) @ x), groups), 1.5


# A program of each kind on ten points, with its optimum computed by hand.
SMOKE: dict[str, Callable[[], tuple[Declaration, float]]] = {
    SEMIDEFINITE: _equal_steps,
    LOGARITHMS: _two_that_agree,
    QUADRATIC: _from_0_to_1,
    LINEAR: _shares,
}


@dataclass(frozen=True)
class SolverInfo:
    """A row of the table.

    Attributes
    ----------
    name, installed, version
    kind : str
        The type of algorithm; "" if unknown.
    licence, get, limits : str
        Its licence, how to install it, and what is known about the sizes it can handle.
    cones, takes : tuple of str
        The cones it accepts, and the kinds of programs that it can therefore solve: semidefinite, logarithms (and
        semidefinite), quadratic, linear.
    reports : tuple of str
        What CVXPY passes on about a run: iterations, time.
    warm_start : bool
        Whether it can start from an earlier answer.
    tolerances : bool
        Whether ``accuracy`` is translated into its options; otherwise it keeps its own tolerances.
    finest : float or None
        The accuracy below which its tolerances do not get smaller, because it gives up or gets no nearer.
    works : dict
        For each kind of program it accepts, whether it solved a small test program correctly just now: "yes", or what
        went wrong. Empty if it is not installed or was not tested.
    """

    name: str
    installed: bool
    version: str
    kind: str
    licence: str
    get: str
    limits: str
    cones: tuple[str, ...]
    takes: tuple[str, ...]
    reports: tuple[str, ...]
    warm_start: bool
    tolerances: bool
    finest: float | None = None
    works: dict[str, str] = field(default_factory=dict)

    @property
    def usable(self) -> tuple[str, ...]:
        """The kinds of programs that it solved correctly."""
        return tuple(kind for kind, verdict in self.works.items() if verdict == "yes")

    def cells(self) -> tuple[str, ...]:
        """Return the text of each column."""
        here = self.version or "yes" if self.installed else f"no: {self.get}"
        works = "; ".join(f"{kind}: {verdict}" for kind, verdict in self.works.items()) or ", ".join(self.takes)
        reports = ", ".join(self.reports) or "nothing"
        return (
            self.name,
            here,
            self.kind,
            self.licence,
            works,
            reports,
            "yes" if self.warm_start else "no",
            self.limits,
        )


class SolverTable(Table[SolverInfo]):
    """The solvers, one per row; print the table to read it."""

    columns = ("name", "installed", "kind", "licence", "takes; works", "reports", "warm start", "limits")
    noun = "solver"


def solvers(check: bool = True) -> SolverTable:
    """Return the table of solvers that CVXPY or this toolkit can call for convex problems.

    Parameters
    ----------
    check : bool
        Test each installed solver, in its own process, on a problem of order ten with known optimum, for every kind it
        accepts. This finds solvers that have no licence, crash or return wrong results. It takes a second or two per
        solver.
    """
    check = as_flag(check, "check")
    names, here = known_solvers(), installed_solvers()
    verdicts: dict[str, dict[str, str]] = {}
    if check:
        with ThreadPoolExecutor(2) as pool:
            verdicts = dict(zip(here, pool.map(try_out, here), strict=True))
    return SolverTable(_info(name, name in here, verdicts.get(name, {})) for name in names)


def _info(name: str, installed: bool, works: dict[str, str]) -> SolverInfo:
    unknown = SolverNotes("see CVXPY's list of solvers", "", "", reports=())
    notes = SOLVERS.get(name, unknown)
    return SolverInfo(
        name,
        installed,
        version_of(name) if installed else "",
        notes.kind,
        notes.licence,
        notes.get,
        notes.limits,
        cones_of(name),
        kinds_of(name),
        notes.reports,
        notes.warm_start,
        notes.tolerances is not None,
        notes.tolerances.finest if notes.tolerances is not None else None,
        works,
    )


def licence_refusal(name: str) -> str | None:
    """Return why a solver cannot be used for want of a licence, or None; found out once, in a process of its own.

    A study asks this before its cells run. Solvers that are free, or not installed, are not asked.
    """
    notes = SOLVERS.get(name)
    if notes is None or notes.licence != "commercial" or name not in installed_solvers():
        return None
    if name not in _ASKED:
        _ASKED.add(name)
        ended = run_isolated(_refusal, (name,), Limits(SMOKE_SECONDS, threads=1), name)
        if ended.answer:
            remember_refusal(name, ended.answer)
    return known_refusal(name)


def _refusal(name: str) -> str | None:
    with suppress(SolverUnavailable):
        interpreted(call_cvxpy(_shares()[0], name, {}, verbose=False), name)
    return known_refusal(name)


def try_out(name: str) -> dict[str, str]:
    """Return, for each kind of program a solver accepts, "yes" if it solves a small one, or what went wrong."""
    ended = run_isolated(_verdicts, (name,), Limits(SMOKE_SECONDS, threads=1), name)
    if ended.answer is None:
        return dict.fromkeys(kinds_of(name), ended.limit or ended.failure or "no answer")
    return ended.answer


def _verdicts(name: str) -> dict[str, str]:
    return {kind: _verdict(name, *SMOKE[kind]()) for kind in kinds_of(name)}


def _verdict(name: str, declaration: Declaration, optimum: float) -> str:
    options = solver_options(name, DEFAULT_ACCURACY, None, {})
    try:
        attempt = interpreted(call_cvxpy(declaration, name, options, verbose=False), name)
    except SolverUnavailable as error:
        return "no licence" if error.needs_licence else str(error)
    if not attempt.status.has_answer:
        return f"wrong: {attempt.reason.removeprefix(name).strip(': ')}"
    value = float(declaration.objective.value)
    return "yes" if abs(value - optimum) <= SMOKE_TOLERANCE else f"wrong: {value:.6g} instead of {optimum:.6g}"
