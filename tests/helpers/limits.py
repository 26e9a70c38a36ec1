"""Routes that are stopped as soon as they have begun."""

from __future__ import annotations

from cvxlink.engine.finishing import finished
from cvxlink.solvers.route import Settings


def stopped_at_once(problem, route=None):
    """Return what a route leaves that has no time for another step; a limit of a whole solve would stop it before."""
    plan = problem.explain(route=route)
    attempt = plan.route.run(plan.data, Settings(time_limit=1e-9))
    return finished(plan, attempt, 1e-4, {}, strict=False)
