"""What an outcome is called: the certificate decides, not the solver."""

from __future__ import annotations

import warnings
from contextlib import suppress

import cvxpy as cp
import numpy as np

from ..certificates import Certificate
from ..certificates.face import Face
from ..certificates.verdicts import Hint, proven_unbounded, proven_verdict
from ..errors import InaccurateWarning, ReductionRefused, SolveFailed
from ..programs.base import Program
from ..programs.declared import SpecialProgram
from ..programs.status import DEFAULT_ACCURACY, Status
from ..reductions import Negation
from ..reductions.standard_form import StandardForm
from ..solvers.route import Attempt
from .formulation import Formulation, checked_program
from .solution import Solution

# An answer with a larger error is not an answer.
HOPELESS = 0.5
# An answer with a larger relative gap is looked at once more.
DOUBTFUL = 1e-3
# Programs with more unknowns or rows are not looked at again: it would take longer than solving them.
LARGEST_LOOKED_AT = 1000
# Outcomes without a point; a dual that is infeasible leaves open which of the other two it is.
VERDICTS = (Status.INFEASIBLE, Status.UNBOUNDED, Status.UNPROVEN)


def is_proven(certificate: Certificate, accuracy: float | None) -> bool:
    """Whether a certificate proves an answer to be as accurate as is asked for."""
    wanted = DEFAULT_ACCURACY if accuracy is None else accuracy
    return certificate.has_bound and certificate.holds(wanted) and certificate.reaches(wanted)


def judged(
    problem: Formulation,
    status: Status,
    reason: str,
    certificate: Certificate | None,
    accuracy: float | None,
    is_heuristic: bool,
    hint: Hint,
) -> tuple[Status, str]:
    """Return the status and its reason: the certificate decides, not the solver."""
    if certificate is None:
        if status in (Status.OPTIMAL, Status.INACCURATE):
            return Status.ERROR, f"{reason}, but without the multipliers from which the answer is computed"
        return _verdict(problem, status, reason, hint) if status in VERDICTS else (status, reason)
    wanted = DEFAULT_ACCURACY if accuracy is None else accuracy
    if is_proven(certificate, accuracy):
        return Status.OPTIMAL, f"{reason}{_far_away(certificate)}"
    if status is not Status.LIMIT:
        usable = certificate.holds(HOPELESS, weigh_violations=False)
        if is_heuristic:
            usable = certificate.largest_violation <= wanted
        is_short = certificate.holds(wanted) and not certificate.reaches(wanted)
        answered = Status.INACCURATE if certificate.has_bound and not is_short else Status.UNPROVEN
        status = answered if usable else Status.ERROR
    if not certificate.has_bound:
        feasible = f"constraints hold to {certificate.largest_violation:.1e}"
        return status, f"{reason}; {feasible}, and nothing proves the value: {certificate.basis}"
    if status is Status.UNPROVEN:
        return status, f"{reason}; what is certified does not reach far beyond the answer: {certificate.basis}"
    if status is Status.INACCURATE and certificate.sensitivity == np.inf and certificate.attained is None:
        return status, f"{reason}; {certificate.missing}, so that tiny violations can change the value by any amount"
    return status, f"{reason}; certified: {certificate.summary}"


def _far_away(certificate: Certificate) -> str:
    """Return a caution where the value is proven, and the point may be another one than the solution all the same."""
    share = 0.0 if not certificate.distance else certificate.distance / certificate.norm
    if share <= HOPELESS:
        return ""
    return f"; the value is proven, but the answer may be {share:.1g} times its own size away from the solution"


def _verdict(problem: Formulation, status: Status, reason: str, hint: Hint) -> tuple[Status, str]:
    """Return what is proven of a program that a solver found infeasible or unbounded."""
    known = refuted(problem, status)
    if known:
        return Status.ERROR, f"{reason}, but {known}"
    program = checked_program(problem)
    if isinstance(program, SpecialProgram) and program.disproves is not None and hint.duals:
        disproof = program.disproves(program.data, hint.duals) if status is Status.INFEASIBLE else ""
        if disproof:
            return Status.INFEASIBLE, f"{reason}; {disproof}"
    if not program.convex:
        return Status.UNPROVEN, f"{reason}, which nothing proves"
    proven = proven_verdict(program.declaration, status, hint)
    if proven is not None:
        return proven[0], f"{reason}; {proven[1]}"
    with suppress(ReductionRefused):
        minimised = Negation().apply(program).program if _maximises(program) else program
        words = proven_unbounded(minimised.linear_sdp())
        if words is not None:
            return Status.UNBOUNDED, f"{reason}; {words}"
    return Status.UNPROVEN, f"{reason}, which nothing proves"


def is_doubtful(status: Status, certificate: Certificate | None, attempt: Attempt) -> bool:
    """Whether an outcome may hide that a program has no feasible point or no finite optimum.

    Where the objective falls ever more slowly, or where points violate the constraints as little as one likes, solvers
    end with a point far away, or give up.
    """
    if certificate is None:
        return status is Status.ERROR and attempt.gave_up
    if attempt.is_heuristic or status not in (Status.UNPROVEN, Status.INACCURATE, Status.ERROR):
        return False
    return not certificate.has_bound or not certificate.holds(DOUBTFUL, weigh_violations=False)


def second_look(
    problem: Formulation, status: Status, reason: str, certificate: Certificate | None
) -> tuple[Status, str]:
    """Return a proven verdict on a program of which a solver found no good answer, or else what was known."""
    program = checked_program(problem)
    try:
        if isinstance(program, SpecialProgram) or not program.convex:
            return status, reason
        StandardForm.of(program.declaration, LARGEST_LOOKED_AT)
    except ReductionRefused:
        return status, reason
    is_off = certificate is None or certificate.largest_violation > DEFAULT_ACCURACY
    verdict, words = _verdict(problem, Status.INFEASIBLE if is_off else Status.UNBOUNDED, reason, Hint())
    is_bounded = certificate is not None and certificate.has_bound and certificate.reach is None
    if verdict is Status.INFEASIBLE or (verdict is Status.UNBOUNDED and not is_bounded):
        return verdict, words
    return status, reason


def _maximises(program: Program) -> bool:
    return not isinstance(program, SpecialProgram) and isinstance(program.declaration.objective, cp.Maximize)


def refuted(problem: Formulation, status: Status) -> str:
    """Return why a verdict without an answer is wrong, or an empty string."""
    program = checked_program(problem)
    if isinstance(program, SpecialProgram) and program.refutes is not None:
        return program.refutes(program.data, status)
    try:
        sdp = Face.of(program.linear_sdp()).sdp
    except ReductionRefused:
        return ""
    if status is Status.INFEASIBLE and sdp.has_evident_point():
        return "the problem has a feasible point"
    if status is Status.UNBOUNDED and sdp.trace_bound() is not None:
        return "the constraints bound the trace and therefore the objective"
    return ""


def raise_or_warn(solution: Solution, wants_proof: bool = True) -> None:
    """Raise an error if there is no answer, and warn if it is less accurate than asked for or not proven."""
    status, route = solution.status, solution.plan.route
    remedy = (route.remedy if route else None) or status.remedy
    if status is Status.LIMIT and route is not None:
        remedy = "raise the limit"
    if status is Status.UNPROVEN and solution.values and not wants_proof:
        return
    if status in (Status.INACCURATE, Status.UNPROVEN) and solution.values:
        warnings.warn(f"{status.sentence}: {solution.reason}; {remedy}", InaccurateWarning, stacklevel=4)
    elif status is not Status.OPTIMAL:
        remedy = status.remedy if status is not Status.LIMIT else remedy
        raise SolveFailed(f"{status.sentence} ({solution.reason}); {remedy}", solution)
