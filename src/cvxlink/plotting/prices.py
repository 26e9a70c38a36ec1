"""Which links matter most: their multipliers, by size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.links import Links
from ..engine.solution import Solution
from ..errors import InvalidInput, ReductionRefused
from ..numerics.checks import as_count
from ..reductions import Contraction
from ..reductions.contraction import ContractionLift
from .canvas import CANNOT, MUST, SMALL, as_title, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = {"must": MUST, "cannot": CANNOT}
MEANING = "change of the optimum per unit of the link's right-hand side\n(bars show its size, numbers its sign as well)"


@dataclass(frozen=True)
class Price:
    """The multiplier of a link, or of several that coincide once must-linked points are merged."""

    kind: str
    pair: tuple[int, int]
    multiplier: float
    alike: int = 0

    def __str__(self) -> str:
        more = f" and {self.alike} alike" if self.alike else ""
        return f"{self.kind} {self.pair[0]}–{self.pair[1]}{more}"


def plot_duals(solution: Solution, k: int = 20, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the multipliers of links, the k largest by size, as horizontal bars: which links matter most.

    Parameters
    ----------
    solution : Solution
        Of a program with one constraint per link: PCP, KP, MinKL with bounds, or your own program with constraints
        named "must" and "cannot".
    k : int
        How many links to show, at most.
    ax : matplotlib Axes, optional
    title : str

    Notes
    -----
    A multiplier is the change of the optimum per unit of u in lhs = rhs + u or lhs ≤ rhs + u. Must-links that force two
    points into one place have none: the optimum does not change at a finite rate there, and the large numbers in
    ``solution.duals`` that stand in for them are not prices. They are left out, and the caption says so. Cannot-links
    between the same two groups of merged points coincide, so they share one multiplier.
    """
    if not isinstance(solution, Solution):
        raise InvalidInput(f"plot_duals takes a solution, not {type(solution).__name__}", "solution")
    k = as_count(k, "k", 1)
    prices, forced = _prices(solution)
    ax = axes(ax)
    largest = sorted(prices, key=lambda price: -abs(price.multiplier))[:k]
    lengths = [abs(price.multiplier) for price in largest]
    for kind, colour in KINDS.items():
        at = [r for r, price in enumerate(largest) if price.kind == kind]
        if at:
            ax.barh(at, [lengths[r] for r in at], color=colour, height=0.7, label=f"{kind}-links")
    for r, price in enumerate(largest):
        ax.annotate(
            f"{price.multiplier:+.2g}".replace("-", "−"),
            (lengths[r], r),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(range(len(largest)), [str(price) for price in largest], fontsize=SMALL)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(lengths) or 1.0)
    if len({price.kind for price in largest}) > 1:
        ax.legend(fontsize=SMALL, loc="lower right")
    ax.set_title(as_title(title))
    ax.set_xlabel(_caption(len(largest), prices, forced), fontsize=SMALL)
    return ax


def _caption(shown: int, prices: list[Price], forced: int) -> str:
    lines = [MEANING]
    if shown < len(prices):
        lines.append(f"the {shown} largest of {len(prices)}")
    if any(price.alike for price in prices):
        lines.append("alike: links between the same groups of must-linked points,\nwhich share one multiplier")
    if forced:
        lines.append(f"left out: {forced} must-links, whose points share one place at any cost")
    return "\n".join(lines)


def _prices(solution: Solution) -> tuple[list[Price], int]:
    """Return the multipliers of links, and how many links have none."""
    links = getattr(solution.problem, "links", None)
    duals = solution.duals
    kinds = [kind for kind in KINDS if isinstance(links, Links) and _is_of_links(duals, kind, links)]
    if not kinds:
        raise InvalidInput(
            f"this {type(solution.problem).__name__} solution has no multipliers of links; "
            f"PCP, KP, and MinKL with must_bound and cannot_bound do",
            "solution",
        )
    prices, forced = [], 0
    merged = _merged_rows(solution)
    for kind in kinds:
        pairs, multipliers = getattr(links, kind), duals[kind]
        groups, in_one_place = merged.get(kind, (np.arange(len(pairs)), np.zeros(len(pairs), dtype=bool)))
        forced += int(in_one_place.sum())
        free = np.flatnonzero(~in_one_place)
        for group in np.unique(groups[free]):
            rows = free[groups[free] == group]
            i, j = (int(point) for point in pairs[rows[0]])
            prices.append(Price(kind, (i, j), float(multipliers[rows].sum()), len(rows) - 1))
    if not prices:
        raise InvalidInput(
            "no link has a multiplier: must-links put their points into one place, and there are no others"
        )
    return prices, forced


def _is_of_links(duals: Any, kind: str, links: Links) -> bool:
    return kind in duals and np.shape(duals[kind]) == (len(getattr(links, kind)),) != (0,)


def _merged_rows(solution: Solution) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, by name of the constraints, which rows coincide, and which force two points into one place.

    It makes no difference whether the program was contracted before it was solved: the printed one has no other
    multipliers.
    """
    try:
        lift = Contraction().apply(solution.problem).lift
    except ReductionRefused:
        return {}
    if not isinstance(lift, ContractionLift):
        return {}
    row_map = lift.face.merging.row_map
    forced = (lift.face.stiffening != 0) | (row_map < 0)  # rows below zero have become 0 = 0
    groups, in_one_place = lift.original.split(row_map), lift.original.split(forced)
    return {name: (groups[name], in_one_place[name]) for name in groups}
