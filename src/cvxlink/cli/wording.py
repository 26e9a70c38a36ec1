"""The library's errors and warnings in the words of the command line, which has options instead of arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import AboutArgument, ClusterWarning, SolveFailed
from ..programs.status import Status

if TYPE_CHECKING:
    from ..engine.solution import Solution

# Answers to be used with care: the warning is shown, and the exit code is 4.
TO_BE_WARNED_OF = (Status.INACCURATE, Status.UNPROVEN)

# The option for each argument.
OPTIONS = {
    "links": "--links (or --must and --cannot)",
    "must_link": "--must",
    "cannot_link": "--cannot",
    "y": "--label-column",
    "method": "--method",
    "method_options": "--option",
    "n_clusters": "--clusters",
    "n_classes": "--clusters",
    "n_neighbors": "--neighbors",
    "sigma": "--sigma",
    "symmetrize": "--symmetrize",
    "solver": "--solver",
    "form": "--form",
    "route": "--route",
    "accuracy": "--accuracy",
    "time_limit": "--time-limit",
    "memory_limit": "--memory-limit",
    "random_state": "--seed",
    "gap": "--gap",
    "n_jobs": "--jobs",
    "file": "--file",
    "size_min": "--size-min",
    "size_max": "--size-max",
}


def sentence(error: BaseException | str) -> str:
    """Return what an error or a warning says, with options instead of arguments."""
    if isinstance(error, SolveFailed) and error.solution is not None:
        return f"{error.solution.status.sentence} ({error.solution.reason}); {remedy(error.solution)}"
    if isinstance(error, ClusterWarning) and error.argument == "X":  # features in different units
        return f"{str(error).partition(';')[0]}; leave out --no-standardize".replace("X has", "the data have", 1)
    if isinstance(error, AboutArgument):
        return error.worded(OPTIONS)
    return _about_file(error) if isinstance(error, OSError) else str(error)


def _about_file(error: OSError) -> str:
    """Return what is wrong with a file; an error that names none is about standard output."""
    return f"{error.filename or 'standard output'}: {error.strerror or error}; choose another file"


def inaccuracy(solution: Solution) -> str:
    """Return the warning about an answer that is less accurate than asked for, or not proven."""
    return f"{solution.status.sentence}: {solution.reason}; {remedy(solution)}"


def remedy(solution: Solution) -> str:
    """Return what to do about a solve that ended without an accurate answer."""
    match solution.status:
        case Status.INACCURATE | Status.UNPROVEN:
            less = ", or ask for less, --accuracy 1e-3 for example" if solution.status is Status.INACCURATE else ""
            return f"try {_another_way(solution)}{less}"
        case Status.INFEASIBLE:
            return "relax or remove constraints; `cvxlink explain` shows whether links contradict one another"
        case Status.LIMIT:
            return "raise the limit" if solution.plan.route else "raise the limit, or leave out --solver and --form"
        case Status.ERROR:
            return "try another --solver, --form or --route, or less extreme parameters"
    return solution.status.remedy


def _another_way(solution: Solution) -> str:
    from ..engine.plan import routes_of

    used = solution.plan.route
    others = [name for name in routes_of(solution.problem) if used is not None and name != used.name]
    return f"--route {' or '.join(others)}" if others else "another --solver"
