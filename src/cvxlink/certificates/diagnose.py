"""Why a declared program has no feasible point or no finite optimum: the proof, who is to blame, and a remedy."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ..errors import ReductionRefused
from ..model.declared import Declaration
from .alternatives import Alternative, decided
from .blame import Search, blamed_row, irreducible_items, multipliers_by_group, shares
from .certify import ONE_AT_A_TIME
from .diagnosis import MOST_LISTED, BlamedRow, Diagnosis, Relaxation
from .elastic import MORE, relaxation
from .ownership import OBJECTIVE, Item, OwnedSystem
from .verdicts import LARGEST, contradiction_in_words, declared_ray, ray_in_words
from .violations import violations_of

# Subsets are tested up to this many times, unless there is a time limit instead.
MOST_SOLVES = 200


def diagnose(declaration: Declaration, time_limit: float | None = None) -> Diagnosis:
    """Return why a program has no answer, or that it has a feasible point."""
    until = float("inf") if time_limit is None else perf_counter() + time_limit
    try:
        with ONE_AT_A_TIME:
            owned = OwnedSystem.of(declaration, LARGEST)
    except ReductionRefused as refusal:
        return Diagnosis(
            "unknown",
            False,
            f"it was not searched for a contradiction, because {refusal}; "
            f"the same formulation on fewer points may show the reason",
        )
    found = decided(owned.system)
    if found.is_contradiction:
        return _infeasible(owned, found, until)
    values = None if found.point is None else owned.values(found.point)
    falling = declared_ray(declaration)
    if falling is not None:
        proof = ray_in_words(declaration, *falling)
        return Diagnosis("unbounded", True, proof, direction=falling[1], values=values or {})
    return _undecided(owned, found) if values is None else _feasible(declaration, values)


def _infeasible(owned: OwnedSystem, found: Alternative, until: float) -> Diagnosis:
    assert found.multipliers is not None
    search = Search(owned, MOST_SOLVES if np.isinf(until) else np.inf, until)
    kept, is_irreducible = irreducible_items(search, found.multipliers)
    # Of the many contradictions in a program, shares and multipliers describe the one that is blamed.
    w = search.multipliers(kept, found.multipliers)
    blamed: dict[str, tuple[BlamedRow, ...]] = {}
    for k in np.flatnonzero(kept):
        item = owned.items[k]
        blamed[item.group] = (*blamed.get(item.group, ()), blamed_row(owned, item))
    remarks = []
    if search.is_over:
        remarks.append(
            f"The search for the smallest contradiction ended after {search.solves} solves, so fewer rows may be "
            f"enough; a larger time_limit lets it go on."
        )
    elif search.undecided:
        words = "; ".join(owned.words(item) for item in search.undecided[:MOST_LISTED])
        remarks.append(f"It could not be decided whether these are needed: {words}.")
    relaxed, remark = _relaxed(owned, kept) if perf_counter() < until else (None, "There was no time for a relaxation.")
    return Diagnosis(
        "infeasible",
        True,
        contradiction_in_words(found.excluded),
        shares(owned, w),
        multipliers_by_group(owned, w),
        blamed,
        is_irreducible,
        relaxed,
        remarks=(*remarks, *([remark] if remark else [])),
    )


def _relaxed(owned: OwnedSystem, kept: np.ndarray) -> tuple[Any, str]:
    """Return the least relaxation of equations and inequalities, or of more where that is not enough; and a remark."""
    declared = owned.declaration.constraints
    every = [item for item in owned.items if item.group != OBJECTIVE]
    blamed = [item for item, is_kept in zip(owned.items, kept, strict=True) if is_kept and item.group != OBJECTIVE]
    preferred = {id(item) for item in blamed}
    ladder = (
        ([item for item in every if item.group in declared and owned.is_row(item)], ""),
        ([item for item in every if item.group in declared], ""),
        (every, "Relaxing constraints is not enough; what the variables declare by themselves is relaxed as well."),
    )
    for items, remark in ladder:
        found = relaxation(owned, items, preferred) if items else None
        if found is not None and found.is_checked:
            own = [item for item in items if id(item) in preferred]
            return found, remark or _other_rows(owned, found, own)
    return None, "No relaxation of right-hand sides was found that makes it feasible."


def _other_rows(owned: OwnedSystem, found: Relaxation, blamed: list[Item]) -> str:
    """Return what relaxing the blamed rows alone would take, if the least relaxation is not among them."""
    rows = {(row.group, row.number, row.place) for row in found.rows}
    if rows <= {(item.group, item.number, item.place) for item in blamed}:
        return ""
    alone = relaxation(owned, blamed) if blamed else None
    if alone is None or not alone.is_checked:
        return "Relaxing the rows above is not enough, as there are further contradictions."
    if alone.total > found.total * (1 + 10 * MORE):
        return f"Relaxing only the rows that are needed for the contradiction takes {alone.total:.4g} in total."
    return ""


def _feasible(declaration: Declaration, values: dict[str, np.ndarray]) -> Diagnosis:
    """Return that a program is feasible."""
    with ONE_AT_A_TIME, np.errstate(all="ignore"):
        violation = max(0.0, *violations_of(declaration, values)[0].values(), 0.0)
    exactly = f"up to {violation:.1e}" if violation else "exactly"
    proof = f"a point satisfies all constraints {exactly}, and no ray was found along which the objective is unlimited"
    return Diagnosis("feasible", violation <= 1e-6, proof, values=values)


def _undecided(owned: OwnedSystem, found: Alternative) -> Diagnosis:
    """Return what is known if neither a contradiction nor a point was found."""
    if found.multipliers is None:
        return Diagnosis("unknown", False, "neither a feasible point nor a contradiction was found")
    proof = (
        f"there is no proof, only constraints that nearly contradict one another: no point smaller than about "
        f"{found.excluded:.1e} satisfies them, and no larger one was found"
    )
    return Diagnosis(
        "unknown", False, proof, shares(owned, found.multipliers), multipliers_by_group(owned, found.multipliers)
    )
