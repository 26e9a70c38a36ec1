"""Another solver where the one that was chosen automatically proves nothing: solvers fail on different programs."""

from __future__ import annotations

from dataclasses import replace

from ..errors import CvxlinkError
from ..programs.status import Status
from ..solvers.capacity import fits
from ..solvers.catalogue import require_cones
from .options import Options
from .plan import GENERAL_ROUTES, Plan
from .solution import Solution

# These come with cvxlink; one is accurate, the other robust.
SOLVERS = ("CLARABEL", "SCS")
NOT_PROVEN = (Status.INACCURATE, Status.UNPROVEN, Status.ERROR)
# Clarabel would take minutes for larger dense blocks.
LARGEST_BLOCK = 80
# A first-order method that needs more iterations for such a block takes as long as Clarabel would.
MOST_ITERATIONS = 20_000


def another_solver(solution: Solution, options: Options) -> str | None:
    """Return the solver to ask next, or None if the outcome is proven or the user has decided who is asked."""
    plan = solution.plan
    is_free = options.solver is None and options.route is None and options.form is None
    if not is_free or options.certify is False or not _is_general(plan):
        return None
    gave_up = solution.status is Status.LIMIT and options.time_limit is None and options.memory_limit is None
    if solution.status not in NOT_PROVEN and not gave_up:
        return None
    return next((name for name in SOLVERS if name != plan.solver and _can(name, plan)), None)


def better_of(first: Solution, again: Solution) -> Solution:
    """Return the second outcome if it is proven, otherwise the first; its reason tells of the other one."""
    if again.status in (*NOT_PROVEN, Status.LIMIT):
        return replace(first, reason=f"{first.reason}; {again.plan.solver} was asked as well and ended {again.status}")
    who = f"the route {first.plan.route.name!r}" if first.plan.route else first.plan.solver
    return replace(again, reason=f"{again.reason}; it was asked because {who} ended {first.status}")


def limited_iterations(plan: Plan) -> dict[str, int]:
    """Return the options with which a first-order method gives up where Clarabel can be asked next."""
    order = max(plan.program.sizes.psd, default=0)
    return {"max_iters": MOST_ITERATIONS} if plan.solver == "SCS" and 0 < order <= LARGEST_BLOCK else {}


def _is_general(plan: Plan) -> bool:
    """Whether a program was solved as CVXPY or the routes for any linear semidefinite program take it."""
    return plan.problem.convex and (plan.solver is not None or plan.route in GENERAL_ROUTES)


def _can(name: str, plan: Plan) -> bool:
    sizes = plan.program.sizes
    if max((*sizes.psd, *sizes.hidden_psd), default=0) > LARGEST_BLOCK or not fits(name, plan.program):
        return False
    try:
        require_cones(name, sizes)
    except CvxlinkError:
        return False
    return True
