"""How to solve a problem: one object that is passed from ``solve`` to the solver."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import Parameter, Signature
from typing import Any

from ..errors import InvalidInput
from ..numerics.arguments import as_mapping, shown
from ..numerics.checks import as_count, as_flag, as_number, require_random_state
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
        Any solver that CVXPY can call and that accepts the program. By default our own algorithm if one applies,
        otherwise the fastest suitable installed solver; ``explain()`` says which and why.
    form : str, optional
        One of ``problem.forms``, to be passed to CVXPY. By default the fastest.
    presolve : bool
        Apply the reductions that are exact for this problem.
    route : str, optional
        One of ``problem.routes``, our own algorithms, instead of a solver and a form.
    accuracy : float or None
        What OPTIMAL means: the largest violation and the certified relative gap allowed. It is also translated into the
        tolerances of the solver; None keeps the solver's own.
    solver_options : dict, optional
        Passed to the solver unchanged; they take precedence over ``accuracy``.
    certify : "cheap", "full" or False
        How much a proof may cost. "cheap": whatever can be read off the answer, and searches that together take no
        longer than compiling and solving did. "full": searches as long as they need. False: only the violations are
        computed, nothing is proven, and the status is UNPROVEN at best.
    time_limit : float, optional
        Seconds for the whole solve, from the reductions to the certificate. It runs in a child process, which is
        stopped whatever it is doing. An iterative route stops by itself after the step it is in and returns its best
        point, which is certified within another second, or a tenth of the limit.
    memory_limit : float or str, optional
        Bytes, or a string such as "4GB": the memory that the whole solve may use, over all its processes, before it is
        stopped (it runs in a child process).
    isolate : bool, optional
        Run the solver or route in a child process, so that a crash becomes an outcome and does not end Python. By
        default these do so: SDPA, which can end Python, COPT, executables (CSDP, SDPA-CLI, DSDP), and on large programs
        Clarabel and CVXOPT, which Ctrl-C could not interrupt. False runs all but the executables in this process.
    threads : int, optional
        Limit dense linear algebra, and solvers with such an option, to this many threads. By default they choose
        themselves; a child process gets as many as this one uses. ``solution.resources`` has the number.
    strict : bool
        Raise :class:`~cvxlink.SolveFailed` if there is no answer, and warn if the answer is INACCURATE or UNPROVEN. If
        False, return the solution in any case.
    verbose : bool
        Let the solver print its progress.
    random_state : None, int or numpy generator
        Seed for routes with a random start: the same number gives the same answer.
    progress : function, optional
        Called after each step of an iterative route with a :class:`~cvxlink.Progress`: step, seconds, gap, and, where
        the route has them, objective, bound and rank. An exception it raises ends the solve.
    start : Solution or array, optional
        An earlier answer on the same points, or a factor with one row per point, as the starting point of the low-rank
        route.
    """

    solver: str | None = None
    form: str | None = None
    presolve: bool = True
    route: str | None = None
    accuracy: float | None = DEFAULT_ACCURACY
    solver_options: Mapping[str, Any] | None = None
    certify: str | bool = "cheap"
    time_limit: float | None = None
    memory_limit: float | str | None = None
    isolate: bool | None = None
    threads: int | None = None
    strict: bool = True
    verbose: bool = False
    random_state: Any = 0
    progress: Callable[[Progress], Any] | None = None
    start: Any = None

    @classmethod
    def of(cls, /, **given: Any) -> Options:
        """Return options given by name; raise on an unknown name, and suggest the nearest one."""
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1)
                meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
                raise InvalidInput(f"solve() has no argument {name!r}{meant}", name)
        return cls(**given)

    def __post_init__(self) -> None:
        for name in ("presolve", "isolate", "strict", "verbose"):
            if name != "isolate" or self.isolate is not None:
                as_flag(getattr(self, name), name)
        for name in ("solver", "form", "route"):
            value = getattr(self, name)
            self._require(value is None or (isinstance(value, str) and value != ""), name, "a name or None")
        chosen = self.certify is False or (isinstance(self.certify, str) and self.certify in ("cheap", "full"))
        self._require(chosen, "certify", "'cheap', 'full' or False")
        require_random_state(self.random_state)
        self._require(self.progress is None or callable(self.progress), "progress", "a function that takes a Progress")
        if self.time_limit is not None:
            seconds = as_number(self.time_limit, "time_limit")
            self._require(0 < seconds < LONGEST_LIMIT, "time_limit", f"seconds between 0 and {LONGEST_LIMIT:g}")
            object.__setattr__(self, "time_limit", seconds)
        object.__setattr__(self, "accuracy", as_accuracy(self.accuracy))
        if self.threads is not None:
            as_count(self.threads, "threads")
        if self.solver_options is not None:
            as_mapping(self.solver_options, "solver_options", "options by name")
        for name in ("solver", "verbose"):
            if name in (self.solver_options or {}):
                raise InvalidInput(f"{name!r} is not a solver option; pass it as solve({name}=…)", "solver_options")

    def _require(self, holds: bool, name: str, what: str) -> None:
        if not holds:
            raise InvalidInput.about(name, f"must be {what}, not {shown(getattr(self, name))}")

    @property
    def limits(self) -> Limits:
        """The limits of time, memory and threads."""
        threads = None if self.threads is None else as_count(self.threads, "threads", most=available_threads())
        return Limits(self.time_limit, in_bytes(self.memory_limit), threads)

    @property
    def is_isolated(self) -> bool:
        """Whether a child process is asked for."""
        return bool(self.isolate)


def as_accuracy(accuracy: Any) -> float | None:
    """Return an accuracy, a number between 0 and 1, or None."""
    if accuracy is None:
        return None
    number = as_number(accuracy, "accuracy")
    if not 0 < number < 1:
        raise InvalidInput.about("accuracy", f"must be a number between 0 and 1, or None, not {shown(accuracy)}")
    return number


def in_bytes(limit: Any) -> float | None:
    """Return a memory limit in bytes, from a number or a string with a unit."""
    if limit is None:
        return None
    if sys.platform != "linux":
        raise InvalidInput("memory_limit works on Linux only; leave it out", "memory_limit")
    size = limit
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kMGT]?)(i?)B\s*", limit)
        size = (
            None if found is None else float(found[1]) * (1024 if found[3] else 1000) ** " kMGT".index(found[2] or " ")
        )
    if size is None or not as_number(size, "memory_limit") >= LEAST_MEMORY:
        raise InvalidInput(
            f"memory_limit must be a number of bytes or a string such as '4GB', at least "
            f"{LEAST_MEMORY / 1e6:.0f} MB, which Python and CVXPY need; not {shown(limit)}",
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
