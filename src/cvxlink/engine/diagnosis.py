"""Why a problem has no feasible point or no finite optimum."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ..certificates.diagnose import diagnose
from ..certificates.diagnosis import BlamedRow, Diagnosis
from ..certificates.plain_contradictions import PlainContradiction
from ..errors import CvxlinkError, FormUnavailable, InfeasibleProblem
from ..numerics.checks import as_positive
from ..programs.status import Status
from .contradictions import contradiction_of
from .formulation import Formulation, checked_program
from .judging import refuted
from .options import Options
from .plan import make_plan


def why_infeasible(problem: Formulation, time_limit: float | None = None) -> Diagnosis:
    """Return why a problem has no answer; see :meth:`cvxlink.Problem.why_infeasible`."""
    if time_limit is not None:
        time_limit = as_positive(time_limit, "time_limit")
    program = checked_program(problem)
    if not program.convex:
        raise FormUnavailable(
            f"{type(problem).__name__} is not convex, so a contradiction between its constraints cannot be proven in "
            f"this way; " + _ask_instead(problem)
        )
    found, plain = diagnose(program.declaration, time_limit), contradiction_of(program)
    if plain is not None:
        return _with_plain(found, plain)
    if found.verdict in ("unknown", "feasible"):
        return _with_what_is_known(found, problem)
    return found


def _ask_instead(problem: Formulation) -> str:
    forms = ", ".join(f"problem.equivalents[{form!r}].why_infeasible()" for form in problem.equivalents)
    return f"ask {forms}" if forms else "solve() says what its own algorithm finds"


def _with_plain(found: Diagnosis, plain: PlainContradiction) -> Diagnosis:
    """Return a diagnosis that has the plain contradiction as its proof."""
    proof = f"proven without a solver: {plain}"
    if found.is_infeasible:
        return replace(found, proof=proof)
    blamed: dict[str, tuple[BlamedRow, ...]] = {}
    for row in plain.rows:
        blamed[row.group] = (*blamed.get(row.group, ()), row)
    # The largest weight is 1, so changes u remove this contradiction only if Σ|w|u ≥ gap, where Σ|w|u ≤ Σu.
    least = (
        f"At least {abs(plain.gap):.4g} in total must change to remove this contradiction: for instance "
        f"{plain.heaviest.words} by {abs(plain.gap):.4g}."
    )
    return replace(
        found,
        verdict="infeasible",
        is_proven=True,
        proof=proof,
        blamed=blamed,
        is_irreducible=True,
        remarks=(*found.remarks, least),
    )


def _with_what_is_known(found: Diagnosis, problem: Formulation) -> Diagnosis:
    """Return a diagnosis with what the reductions and the program itself know: more than multipliers can prove."""
    with suppress(CvxlinkError):
        try:
            make_plan(problem, Options())
        except InfeasibleProblem as contradiction:
            # A point that nearly satisfies the constraints is none, and multipliers that nearly prove it prove nothing.
            near = (f"tiny violations are enough: {found.proof}",) if found.verdict == "feasible" else ()
            proof = f"proven without a solver: {contradiction}"
            return Diagnosis("infeasible", is_proven=True, proof=proof, remarks=(*found.remarks, *near))
    known = refuted(problem, Status.INFEASIBLE) if found.verdict == "unknown" else ""
    return replace(found, verdict="feasible", is_proven=True, proof=known) if known else found
