"""What :meth:`cvxlink.Problem.why_infeasible` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np

from ..model.tables import WIDTH

# More rows than this are counted in the printed form, not listed.
MOST_LISTED = 12


@dataclass(frozen=True)
class BlamedRow:
    """One row of a constraint.

    Attributes
    ----------
    group : str
        The name of the constraint, or of the variable that declares it by itself.
    words : str
        The row as mathematics with its numbers; where it is about a link, the link.
    number, place : int
        The number of the constraint within its group, and that of the row within the constraint, column by column.
    """

    group: str
    words: str
    number: int = 0
    place: int = 0

    def __str__(self) -> str:
        return f"{self.words}   ({self.group})"


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The least total change of right-hand sides after which there is a feasible point.

    Equations and inequalities are relaxed, in the units in which they are declared. Cones and what variables declare by
    themselves are relaxed only where there is no feasible point otherwise.

    Attributes
    ----------
    rows : tuple of BlamedRow
        The rows to relax.
    amounts : tuple of floats
        By how much, in the units of the constraint: ``lhs ≤ rhs + amount``, or ``|lhs − rhs| ≤ amount`` for an
        equation; for a semidefinite constraint, how negative its eigenvalues may be.
    values : dict
        A point that satisfies the relaxed constraints.
    violation : float
        By how much this point violates them, according to the declared constraints themselves.
    is_checked : bool
        Whether, with slightly more than these amounts, a feasible point was found anew and satisfies them.
    is_least : bool
        Whether no smaller change is enough. It is not where any change is, however small, with values that grow.
    """

    rows: tuple[BlamedRow, ...]
    amounts: tuple[float, ...]
    values: dict[str, np.ndarray]
    violation: float
    is_checked: bool
    is_least: bool = True

    @property
    def total(self) -> float:
        """The sum of the amounts."""
        return float(sum(self.amounts))

    @property
    def by_group(self) -> dict[str, float]:
        """The sum of the amounts in each group."""
        found: dict[str, float] = {}
        for row, amount in zip(self.rows, self.amounts, strict=True):
            found[row.group] = found.get(row.group, 0.0) + amount
        return found

    def __str__(self) -> str:
        pairs = sorted(zip(self.rows, self.amounts, strict=True), key=lambda pair: -pair[1])
        lines = [f"relax {row.words} by {amount:.4g}   ({row.group})" for row, amount in pairs[:MOST_LISTED]]
        if len(pairs) > MOST_LISTED:
            lines.append(f"… and {len(pairs) - MOST_LISTED} more, in all by {self.total:.4g}")
        said = "checked: there is then a feasible point" if self.is_checked else "not confirmed by solving again"
        return "\n".join([*lines, said])


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Why a program has no feasible point or no finite optimum, or that it has one. Print it to read it.

    Attributes
    ----------
    verdict : str
        ``"infeasible"``, ``"unbounded"``, ``"feasible"`` or ``"unknown"``.
    is_proven : bool
        Whether the verdict is proven; for ``"feasible"``, whether a point satisfies all constraints up to 1e-6.
    proof : str
        The proof in words, or what is known without one.
    weights : dict
        The share of each group in the contradiction; the shares add up to 1.
    multipliers : dict
        Multipliers by group, for each of its constraints in the shape it is declared in. For every point, the sum of
        multipliers times violations (lhs − rhs, or minus a matrix that should be semidefinite) is at least 1. So rows
        relaxed by u admit a feasible point only if the multipliers times u add up to at least 1.
    blamed : dict
        An irreducible set of groups, and for each its rows that matter: without any one of them, the others have a
        feasible point.
    is_irreducible : bool
        Whether this was shown for every one of the rows. ``remarks`` say what was not.
    relaxation : Relaxation or None
        By how much to relax which rows.
    direction : dict
        If the objective has no finite optimum, a direction in which it improves without limit, by variable.
    values : dict
        If there is a feasible point, one of them.
    remarks : tuple of str
        What else there is to know, such as a search that was cut short.
    """

    verdict: str
    is_proven: bool
    proof: str
    weights: dict[str, float] = field(default_factory=dict)
    multipliers: dict[str, list[Any]] = field(default_factory=dict)
    blamed: dict[str, tuple[BlamedRow, ...]] = field(default_factory=dict)
    is_irreducible: bool = False
    relaxation: Relaxation | None = None
    direction: dict[str, np.ndarray] = field(default_factory=dict)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def is_infeasible(self) -> bool:
        """Whether it is proven that no point satisfies all constraints."""
        return self.verdict == "infeasible" and self.is_proven

    def __str__(self) -> str:
        lines = wrap(f"{_HEADINGS[self.verdict]}: {self.proof}.", WIDTH)
        if self.weights:
            shares = ", ".join(f"{name} {share:.0%}" for name, share in largest(self.weights))
            lines += wrap(f"shares in the contradiction: {shares}", WIDTH, subsequent_indent="  ")
        if self.blamed:
            whole = "Each of these is needed" if self.is_irreducible else "These are enough"
            lines.append(f"{whole} for the contradiction:")
            rows = [row for group in self.blamed.values() for row in group]
            lines += [f"  {row}" for row in rows[:MOST_LISTED]]
            if len(rows) > MOST_LISTED:
                lines.append(f"  … and {len(rows) - MOST_LISTED} more")
        if self.relaxation is not None:
            change = "The least change" if self.relaxation.is_least else "A change"
            lines.append(f"{change} of right-hand sides that makes it feasible, {self.relaxation.total:.4g} in total:")
            lines += [f"  {line}" for line in str(self.relaxation).split("\n")]
        for remark in self.remarks:
            lines += wrap(remark, WIDTH)
        return "\n".join(lines)

    __repr__ = __str__


_HEADINGS = {
    "infeasible": "Infeasible",
    "unbounded": "Unbounded",
    "feasible": "Feasible",
    "unknown": "Not decided",
}


def largest(weights: dict[str, float], least: float = 0.005) -> list[tuple[str, float]]:
    """Return the groups that matter, largest first."""
    return sorted(((name, share) for name, share in weights.items() if share >= least), key=lambda pair: -pair[1])
