r"""The resampling ensemble: many links, a few at a time.

A program that enforces links grows with their number. The KP paper suggests drawing bootstrap subsets of the links,
solving for each, and combining the results. Here the kernels are averaged through their factors:

.. math:: K = \frac1S \sum_s B_s B_s^\top = B B^\top, \qquad B = \frac{1}{\sqrt S} (B_1, \dots, B_S).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..certificates.certificate import Certificate
from ..data.links import Links
from ..errors import InaccurateWarning, InvalidInput, SolveFailed
from ..numerics.checks import MOST_POINTS, MOST_REPEATS, as_count, as_generator
from ..numerics.matrices import Congruence
from ..numerics.threads import threads_for
from ..programs.status import Status
from .extension import ExtendableKernel
from .formulation import Formulation, Learnt
from .options import Options
from .sharing import shared_out

# Draws before giving up on finding a subset that the formulation accepts.
MOST_DRAWS = 100


@dataclass(frozen=True, eq=False)
class Member:
    """A subset of the links and the kernel learnt from it."""

    links: Links
    status: Status
    value: float
    certificate: Certificate | None
    factor: np.ndarray


@dataclass(frozen=True, eq=False)
class Ensemble(ExtendableKernel):
    """The average of kernels learnt from subsets of the links; it clusters and extends like a solution."""

    problem: Formulation
    members: tuple[Member, ...]

    @cached_property
    def learnt(self) -> Learnt:
        """The average kernel."""
        stacked = np.hstack([member.factor for member in self.members])
        return Learnt(kernel=Congruence(stacked, np.eye(stacked.shape[1]) / len(self.members)))

    def __str__(self) -> str:
        sizes = [len(member.links) for member in self.members]
        gaps = [m.certificate.relative_gap for m in self.members if m.certificate and m.certificate.relative_gap]
        largest = f", largest certified relative gap {max(gaps):.1e}" if gaps else ""
        return (
            f"Ensemble of {len(sizes)} {type(self.problem).__name__} kernels, "
            f"{min(sizes)} to {max(sizes)} links each{largest}"
        )

    __repr__ = __str__


def solve_resampled(
    problem: Any,
    n_subsets: int,
    n_links: int,
    random_state: Any,
    n_jobs: int | None,
    options: dict[str, Any],
    scheduler: str | None = None,
) -> Ensemble:
    """Solve on bootstrap subsets of the links; see :meth:`LinkedGraphProblem.solve_resampled`."""
    count = as_count(n_subsets, "n_subsets", 1, MOST_REPEATS)
    n_links = as_count(n_links, "n_links", 1, MOST_POINTS)
    Options.of(**options)
    if not problem.about.kernel:
        raise InvalidInput(
            f"{type(problem).__name__} yields no kernels to average; use solve(), which takes all links at once"
        )
    if not len(problem.links):
        raise InvalidInput("there are no links to draw from")
    if scheduler is not None and n_jobs is not None:
        raise InvalidInput("n_jobs counts processes on this machine, and scheduler names a cluster; give one", "n_jobs")
    if n_jobs is not None and not as_count(n_jobs, "n_jobs", -MOST_REPEATS, MOST_REPEATS):
        raise InvalidInput.about("n_jobs", "must be None or a whole number other than 0")
    rng = as_generator(random_state)
    # Everything random is drawn here, so the result does not depend on how the work is shared.
    problems = [_subproblem(problem, n_links, rng) for _ in range(count)]
    jobs = None if n_jobs is None else min(int(n_jobs), count)
    tasks = [(subproblem, options) for subproblem in problems]
    with closing(shared_out(_member, tasks, jobs, scheduler)) as results:
        found = dict(results)
    members = [found[number] for number in range(count)]
    if any(member is None for member in members):
        raise SolveFailed("the workers of the cluster that solved for a subset of the links died, one after the other")
    short = sum(member.status is not Status.OPTIMAL for member in members)
    if short:
        warnings.warn(f"{short} of {count} kernels are less accurate than requested", InaccurateWarning, stacklevel=3)
    return Ensemble(problem, tuple(members))


def _subproblem(problem: Any, n_links: int, rng: np.random.Generator) -> Any:
    """Draw links until the formulation accepts them: KP needs one in every component of the graph."""
    refusal = None
    for _ in range(MOST_DRAWS):
        try:
            return replace(problem, links=problem.links.bootstrap(n_links, rng))
        except InvalidInput as error:
            refusal = error
    raise InvalidInput(f"subsets of {n_links} links are too small; raise n_links: {refusal}", "n_links") from refusal


def _member(task: tuple[Any, dict[str, Any]], is_unwanted: Callable[[], bool]) -> Member:
    problem, options = task
    # One thread each, so that sums are computed in the same order whether or not members are solved in parallel.
    with warnings.catch_warnings(), threads_for(1):
        warnings.simplefilter("ignore", InaccurateWarning)  # one warning for all of them
        solution = problem.solve(**options)
        return Member(problem.links, solution.status, solution.value, solution.certificate, solution.factor)
