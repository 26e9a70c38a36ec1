"""How a problem is to be solved: one object that travels from ``solve`` to the solver."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import Parameter, Signature
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InvalidInput
from ..numerics.checks import as_count, as_flag
from ..programs.status import DEFAULT_ACCURACY
from ..solvers.isolation import Limits, available_threads
from ..solvers.route import Progress

# Python with CVXPY takes about 200 MB before anything is solved.
LEAST_MEMORY = 3e8
LONGEST_LIMIT = 1e7  # about four months; threads cannot wait much longer


@dataclass(frozen=True)
class Options:
    """How to solve a problem.

    Parameters
    ----------
    solver : str, optional
        Any solver CVXPY can reach that takes the program. By default our own algorithm where one applies, otherwise the
        fastest suitable solver that is installed; ``explain()`` says which and why.
    form : str, optional
        One of ``problem.forms``, for CVXPY. By default the fastest.
    presolve : bool
        Apply the reductions that are exact for this problem.
    route : str, optional
        One of ``problem.routes``, our own algorithms, instead of a solver and a form.
    accuracy : float or None
        What OPTIMAL means: largest violation and certified relative gap. It is also translated into the solver's
        tolerances; None leaves those as the solver has them.
    solver_options : dict, optional
        Passed to the solver as they are; they win over ``accuracy``.
    time_limit : float, optional
        Seconds after which a solver is stopped, whatever it is doing (it runs in a child process). A route stops after
        the iteration it is in.
    memory_limit : float or str, optional
        Bytes, or "4GB": what a solver or route may use, all its processes together, before it is stopped (it runs in a
        child process).
    isolate : bool
        Run the solver or route in a child process in any case: a crash is then an outcome, not the end of Python.
    threads : int, optional
        Limit dense algebra, and solvers that can be told, to this many threads. By default they use as many as they
        like in this process, and one per core in a child process. ``solution.resources`` has the number.
    strict : bool
        Raise :class:`~cvxlink.SolveFailed` on anything but OPTIMAL and INACCURATE, and warn on the latter. Otherwise
        return the solution to look at.
    verbose : bool
        Let the solver print.
    random_state : None, int or numpy generator
        Where a route starts at random, everything follows from it: the same number, the same answer.
    progress : function, optional
        Called after each step of an iterative route with a :class:`~cvxlink.Progress`: step, seconds, gap, and, where
        the route has them, objective, bound and rank. An exception it raises ends the solve.
    start : Solution or array, optional
        An earlier answer on the same points, or a factor with one row per point, to start from; the low-rank route can.
    """

    solver: str | None = None
    form: str | None = None
    presolve: bool = True
    route: str | None = None
    accuracy: float | None = DEFAULT_ACCURACY
    solver_options: Mapping[str, Any] | None = None
    time_limit: float | None = None
    memory_limit: float | str | None = None
    isolate: bool = False
    threads: int | None = None
    strict: bool = True
    verbose: bool = False
    random_state: Any = 0
    progress: Callable[[Progress], Any] | None = None
    start: Any = None

    @classmethod
    def of(cls, **given: Any) -> Options:
        """Return the options by name; one that does not exist is named, with the nearest that does."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1)
                meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
                raise InvalidInput(f"solve() has no argument {name!r}{meant}", name)
        return cls(**given)

    def __post_init__(self) -> None:
        for name in ("presolve", "isolate", "strict", "verbose"):
            as_flag(getattr(self, name), name)
        self._require(self.progress is None or callable(self.progress), "progress", "a function that takes a Progress")
        limited = isinstance(self.time_limit, Real) and 0 < float(self.time_limit) < LONGEST_LIMIT
        self._require(self.time_limit is None or limited, "time_limit", f"seconds between 0 and {LONGEST_LIMIT:g}")
        accurate = isinstance(self.accuracy, int | float) and 0 < self.accuracy < 1
        self._require(self.accuracy is None or accurate, "accuracy", "a number between 0 and 1, or None")
        self._require(isinstance(self.solver_options, Mapping | None), "solver_options", "a dictionary")
        for name in ("solver", "verbose"):
            if name in (self.solver_options or {}):
                raise InvalidInput(
                    f"{name!r} is not a solver option but an argument of its own: solve({name}=…)", "solver_options"
                )

    def _require(self, holds: bool, name: str, what: str) -> None:
        if not holds:
            raise InvalidInput(f"{name} must be {what}, not {getattr(self, name)!r}", name)

    @property
    def limits(self) -> Limits:
        """The limits of time, memory and threads."""
        threads = None if self.threads is None else as_count(self.threads, "threads", most=available_threads())
        return Limits(self.time_limit, in_bytes(self.memory_limit), threads)

    @property
    def is_isolated(self) -> bool:
        """Whether a child process was asked for; nothing else can watch memory."""
        return self.isolate or self.memory_limit is not None


def in_bytes(limit: Any) -> float | None:
    """Return a limit of memory in bytes: a number, or one with a unit."""
    if limit is None:
        return None
    if sys.platform != "linux":
        raise InvalidInput("memory_limit needs Linux, where the memory of a process can be watched", "memory_limit")
    size = limit
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kMGT]?)(i?)B\s*", limit)
        size = (
            None if found is None else float(found[1]) * (1024 if found[3] else 1000) ** " kMGT".index(found[2] or " ")
        )
    if not (isinstance(size, Real) and not isinstance(size, bool) and LEAST_MEMORY <= float(size) < np.inf):
        raise InvalidInput(
            f"memory_limit must be bytes, or a number with a unit such as '4GB', and at least "
            f"{LEAST_MEMORY / 1e6:.0f} MB, which Python and CVXPY take; not {limit!r}",
            "memory_limit",
        )
    return float(size)


def signature() -> Signature:
    """Return the signature of ``solve``, for help() and editors: the fields of :class:`Options`."""
    positional, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    parameters = [Parameter("self", positional)]
    for place, field in enumerate(fields(Options)):
        kind = positional if place < 3 else keyword
        parameters.append(Parameter(field.name, kind, default=field.default, annotation=field.type))
    return Signature(parameters, return_annotation="Solution")
