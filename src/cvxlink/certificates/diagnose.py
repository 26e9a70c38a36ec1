"""Why a declared program has no feasible point or no finite optimum: the proof, who is to blame, and a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np

from ..errors import ReductionRefused
from ..model.declared import Declaration
from .alternatives import Alternative, decided
from .blame import Search, blamed_row, irreducible_items, multipliers_by_group, shares
from .certify import ONE_AT_A_TIME
from .components import systems_of
from .diagnosis import MOST_LISTED, BlamedRow, Diagnosis, Relaxation
from .elastic import MORE, relaxation
from .facial_contradiction import facial_contradiction
from .merged_points import MergedPoints
from .ownership import OBJECTIVE, Item, OwnedSystem
from .verdicts import IN_STEPS, LARGEST, contradiction_in_words, declared_ray, ray_in_words
from .violations import violations_of

# Subsets are tested up to this many times, unless there is a time limit instead.
MOST_SOLVES = 200


def diagnose(declaration: Declaration, time_limit: float | None = None) -> Diagnosis:
    """Return why a program has no answer, or that it has a feasible point."""
    until = float("inf") if time_limit is None else perf_counter() + time_limit
    try:
        with ONE_AT_A_TIME:
            parts = systems_of(declaration, LARGEST)
            merged = MergedPoints(declaration)
    except ReductionRefused as refusal:
        return _not_searched(refusal)
    found = [_decided(part, merged) for part in parts]
    if any(each.is_contradiction for each in found):
        return _infeasible(parts, found, merged, until)
    if any(each.point is None for each in found):
        values = None
    else:
        points = zip(parts, found, strict=True)
        values = _together(part.values(each.point) for part, each in points if each.point is not None)
    try:
        falling = declared_ray(declaration)
    except ReductionRefused as refusal:
        return _not_searched(refusal)
    if falling is not None:
        proof = ray_in_words(declaration, *falling)
        return Diagnosis("unbounded", True, proof, direction=falling[1], values=values or {})
    if values is not None:
        return _feasible(declaration, values)
    return _undecided(*next(pair for pair in zip(parts, found, strict=True) if pair[1].point is None))


def _not_searched(refusal: ReductionRefused) -> Diagnosis:
    proof = (
        f"it was not searched for a contradiction, because {refusal}; the same formulation on fewer points may show "
    )
    return Diagnosis("unknown", False, f"{proof}the reason")


def _decided(owned: OwnedSystem, merged: MergedPoints) -> Alternative:
    """Return a contradiction, if need be one that no multipliers prove, or a point."""
    found = decided(owned.system)
    if found.is_contradiction:
        return found
    if merged.contradict(owned.items):
        return Alternative(is_exact=True)
    return facial_contradiction(owned.system, found.point) or found


def _together(values: Iterable[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return the sum of points, each of which is zero where the others are not."""
    total: dict[str, np.ndarray] = {}
    for own in values:
        total = {name: value + total.get(name, 0.0) for name, value in own.items()}
    return total


def _infeasible(
    parts: Sequence[OwnedSystem], found: Sequence[Alternative], merged: MergedPoints, until: float
) -> Diagnosis:
    # A contradiction with multipliers says more than one without, and one among few points more than one among many.
    wrong = [k for k, each in enumerate(found) if each.is_contradiction]
    own = min(wrong, key=lambda k: (not _has_multipliers(found[k]), len(parts[k].items)))
    owned, first = parts[own], found[own]
    search = Search(owned, MOST_SOLVES if np.isinf(until) else np.inf, until, merged)
    known = first.multipliers if _has_multipliers(first) else None
    kept, is_irreducible = irreducible_items(search, known)
    # Of the many contradictions in a program, shares and multipliers describe the one that is blamed.
    w = search.multipliers(kept, known)
    sizes = w if w is not None else search.steps(kept)
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
    if w is None:
        remarks.append(
            "There are no multipliers, and there is no least change: points with large values violate these "
            "constraints as little as you like."
        )
    pairs = [(part, each) for part, each in zip(parts, found, strict=True)]
    broken = [part for part, each in pairs if each.point is None]
    known_point = _together(part.values(each.point) for part, each in pairs if each.point is not None)
    relaxed, remark = None, "There was no time for a relaxation."
    if perf_counter() < until:
        relaxed, remark = _relaxed(
            broken, {id(owned.items[k]) for k in np.flatnonzero(kept)}, known_point, w is not None
        )
    proof = contradiction_in_words(first.excluded)
    return Diagnosis(
        "infeasible",
        True,
        proof if _has_multipliers(first) else IN_STEPS,
        {} if sizes is None else shares(owned, sizes),
        {} if w is None else multipliers_by_group(owned, w),
        blamed,
        is_irreducible,
        relaxed,
        remarks=(*remarks, *([remark] if remark else [])),
    )


def _has_multipliers(found: Alternative) -> bool:
    """Whether multipliers prove a contradiction in one step."""
    return found.is_contradiction and not found.is_exact and not found.is_facial


def _relaxed(
    parts: Sequence[OwnedSystem], blamed: set[int], known: dict[str, np.ndarray], is_least: bool
) -> tuple[Relaxation | None, str]:
    """Return the least relaxation of equations and inequalities, or of more where that is not enough; and a remark."""

    def rows(owned: OwnedSystem) -> list[Item]:
        return [item for item in declared(owned) if owned.is_row(item)]

    def declared(owned: OwnedSystem) -> list[Item]:
        return [item for item in every(owned) if item.group in owned.declaration.constraints]

    def every(owned: OwnedSystem) -> list[Item]:
        return [item for item in owned.items if item.group != OBJECTIVE]

    beyond = "Relaxing constraints is not enough; what the variables declare by themselves is relaxed as well."
    for choose, remark in ((rows, ""), (declared, ""), (every, beyond)):
        chosen = [(part, choose(part)) for part in parts]
        found = relaxation(chosen, blamed, known, is_least) if all(items for _, items in chosen) else None
        if found is not None and found.is_checked:
            own = [(part, [item for item in items if id(item) in blamed]) for part, items in chosen]
            return found, remark or (_other_rows(found, own, known) if is_least else "")
    return None, "No relaxation of right-hand sides was found that makes it feasible."


def _other_rows(found: Relaxation, blamed: list[tuple[OwnedSystem, list[Item]]], known: dict[str, np.ndarray]) -> str:
    """Return what relaxing the blamed rows alone would take, if the least relaxation is not among them."""
    rows = {(row.group, row.number, row.place) for row in found.rows}
    if rows <= {(item.group, item.number, item.place) for _, items in blamed for item in items}:
        return ""
    alone = relaxation(blamed, (), known) if all(items for _, items in blamed) else None
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
