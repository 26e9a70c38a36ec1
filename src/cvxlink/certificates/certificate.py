"""What is proven about an answer; the proofs are in :mod:`cvxlink.certificates` and in the folders of the methods."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..numerics.checks import as_flag, as_positive
from .search import Attained

# How many times as large as the answer other points must be allowed to be.
FAR_ENOUGH = 1000.0


@dataclass(frozen=True)
class Certificate:
    """What is proven about an answer.

    Attributes
    ----------
    value : float
        The declared objective at the point.
    lower_bound, upper_bound : float or None
        The optimum is between them. One of them is proven by duality or the like (``bound``): for a minimisation no
        feasible point goes below the lower bound, for a maximisation none goes above the upper bound. The other is the
        value of an exactly feasible point near the answer (``attained``), if one could be constructed.
    maximises : bool
        Whether the program is a maximisation.
    gap, relative_gap : float or None
        upper_bound − lower_bound, with the value in place of a bound that no feasible point gives, and that divided by
        ``1 + |value|``; None if nothing is proven about other points.
    violations : dict
        The largest violation in each named group of constraints: absolute for rows, −λ_min for matrices.
    relative_violations : dict or None
        The same, each relative to the size of the terms of its own constraint: ``Σ|aᵢxᵢ| + |b|`` for a row.
        None if they were not computed; then violations are relative to ``scale``.
    min_eigenvalue : float or None
        The least eigenvalue over the semidefinite constraints.
    dimacs : tuple of six floats or None
        The DIMACS errors of the original problem, with largest absolute entries in the denominators.
    basis : str
        What the bound is based on, or why there is none.
    conditions : dict
        Further optimality conditions by description: at the solution each number is zero or has the right sign.
    distance : float or None
        A proven bound on the distance between the answer and the solution, in the Frobenius norm.
    scale, cost_scale, norm : float
        The largest entry of the point, that of the costs (at most 1), and the norm of the point: violations without
        relative ones, gap and distance are judged relative to them.
    sensitivity : float or None
        How much the violations can change the value, according to the multipliers, on blocks:
        ``Σ|y_r||residual_r|`` − min(0, λ_min(K)) tr S, plus the change from averaging over blocks. It is used where
        there is no exactly feasible point; infinite if no point is strictly inside the constraints, because then
        tiny violations can be worth anything.
    rounding : float or None
        How much rounding errors can change value and bounds. Bounds include it: they hold for exact numbers.
    rounding_is_proven : bool
        False where ``rounding`` is an estimate: the bounds then hold up to about that much.
    reach : float or None
        Where nothing limits the variables of a program, how many times as large as the answer (or as 1) other points
        may be for the bound to hold; None if it holds for all.
    missing : str
        Why there is no exactly feasible point near the answer, where that is known.
    better : Attained or None
        Where no point is strictly inside the constraints, tiny violations can move an answer far. This is then the best
        point that satisfies them up to rounding, if it was computed: the one with the value ``attained``.
    """

    value: float
    violations: dict[str, float]
    lower_bound: float | None = None
    upper_bound: float | None = None
    min_eigenvalue: float | None = None
    dimacs: tuple[float, ...] | None = None
    basis: str = ""
    scale: float = field(default=1.0, repr=False)
    cost_scale: float = field(default=1.0, repr=False)
    sensitivity: float | None = field(default=None, repr=False)
    conditions: dict[str, float] = field(default_factory=dict)
    distance: float | None = None
    norm: float = field(default=1.0, repr=False)
    maximises: bool = field(default=False, repr=False)
    rounding: float | None = None
    rounding_is_proven: bool = True
    reach: float | None = None
    missing: str = ""
    relative_violations: dict[str, float] | None = field(default=None, repr=False)
    better: Attained | None = field(default=None, repr=False, compare=False)

    @property
    def bound(self) -> float | None:
        """What no feasible point can improve on: the lower bound of a minimisation, the upper one of a maximisation."""
        return self.upper_bound if self.maximises else self.lower_bound

    @property
    def attained(self) -> float | None:
        """The value of an exactly feasible point: the upper bound of a minimisation, the lower bound otherwise."""
        return self.lower_bound if self.maximises else self.upper_bound

    @property
    def has_bound(self) -> bool:
        """Whether anything is proven about how far the answer is from the optimum."""
        return self.gap is not None or self.distance is not None

    @property
    def gap(self) -> float | None:
        """The difference between the bounds on the optimum; negative only if the point is not feasible."""
        if self.bound is None:
            return None
        reached = self.value if self.attained is None else self.attained
        return self.bound - reached if self.maximises else reached - self.bound

    @property
    def relative_gap(self) -> float | None:
        """The gap divided by ``1 + |value|``."""
        return None if self.gap is None else self.gap / (1 + abs(self.value))

    @property
    def largest_violation(self) -> float:
        """The largest of the violations."""
        return float(np.max([0.0, *self.violations.values()]))  # NaN stays NaN

    @property
    def largest_relative_violation(self) -> float:
        """The largest of the violations relative to their own constraints, or to the largest entry of the point."""
        if self.relative_violations is None:
            return self.largest_violation / max(self.scale, 1e-6)
        return float(np.max([0.0, *self.relative_violations.values()]))

    def holds(self, accuracy: float, weigh_violations: bool = True) -> bool:
        """Whether violations, and the gap if there is a bound, are at most ``accuracy``.

        Violations are relative to the sizes of their own constraints. The gap is relative to ``|value|`` plus the
        largest cost (or plus one, if that is less), so that tiny weights do not let everything pass. It is taken
        from the value to the bound; an exactly feasible point must be as near to the value, or without one the
        ``sensitivity`` must be as small, unless ``weigh_violations`` is off. The distance to the solution decides only
        where there is no bound, relative to the norm of the point: it grows like the root of the gap, so asking it to
        be at most 1e-4 would be asking for a gap of 1e-8.
        """
        accuracy, weigh_violations = as_positive(accuracy, "accuracy"), as_flag(weigh_violations, "weigh_violations")
        feasible = self.largest_relative_violation <= accuracy
        # Absolute values: a value below the bound is as wrong as one above it, since the point is then not feasible.
        size, slips = self._size, []
        if self.bound is not None:
            slips.append(abs(self.value - self.bound) / size)
        # What the violations are worth: as an exactly feasible point has it, or else the multipliers.
        if weigh_violations and self.attained is not None:
            slips.append(abs(self.attained - self.value) / size)
        elif weigh_violations and self.sensitivity is not None:
            slips.append(self.sensitivity / size)
        if self.distance is not None and (self.bound is None or np.isnan(self.distance)):
            slips.append(self.distance / self.norm if self.distance else 0.0)
        return bool(feasible and np.max([0.0, *slips]) <= accuracy and np.isfinite(self.value))

    @property
    def _size(self) -> float:
        """What a gap is judged relative to; without any cost all that counts is zero."""
        return (self.cost_scale + abs(self.value)) or 1.0

    def reaches(self, accuracy: float) -> bool:
        """Whether no point of any size, or up to a thousand times that of the answer, is better by more than accuracy.

        Beyond the points that a bound is for, values can fall in proportion to the size at most, by convexity.
        """
        if self.reach is None or self.gap is None:
            return True
        share = accuracy * (self.cost_scale + abs(self.value)) / max(abs(self.gap), 1e-300)
        return self.reach * share >= FAR_ENOUGH

    @property
    def summary(self) -> str:
        """Violation, gap and distance, in one line."""
        text = f"largest violation {self.largest_violation:.1e}"
        if self.relative_violations is not None:
            text += f" (relative {self.largest_relative_violation:.1e})"
        if self.gap is not None:
            share = f"relative gap {self.relative_gap:.1e}"
            if self.cost_scale < 1:  # one plus the value would hide it
                share = f"gap {self.gap / self._size:.1e} of the value and the largest cost"
            text += f", {share} (gap {self.gap:.1e}, value {self.value:.1e})"
        if self.distance is not None:
            text += f", at most {self.distance:.1e} from the solution"
        if self.attained is None and self.missing:
            text += f", {self.missing}"
        elif self.attained is None and self.sensitivity is not None:
            text += f", violations worth up to {self.sensitivity:.1e} according to the multipliers"
        return text

    def __str__(self) -> str:
        lines = [f"value          {self.value:.10g}"]
        proven, other = ("upper", "lower") if self.maximises else ("lower", "upper")
        if self.attained is not None:
            lines.append(f"{other} bound    {self.attained:.10g}   (the answer made exactly feasible)")
        if self.bound is not None:
            lines.append(f"{proven} bound    {self.bound:.10g}   ({self.basis})")
            lines.append(f"gap            {self.gap:.2e}   relative {self.relative_gap:.2e} = gap / (1 + |value|)")
            if self.attained is None and self.distance is None:
                why = self.missing or "no exactly feasible point was computed"
                lines.append(f"               measured from the value: {why}")
        else:
            lines.append(f"{proven} bound    none: {self.basis}")
        if self.distance is not None:
            lines.append(
                f"distance       {self.distance:.2e}   to the solution, at most; the answer has norm {self.norm:.4g}"
            )
        if self.rounding is not None:
            size, note = f"{self.rounding:.1e}", "included in the bounds"
            if not self.rounding_is_proven:
                size, note = f"about {size}", "an estimate: the bounds hold up to that much"
            lines.append(f"rounding       {size}   {note}")
        for name, number in self.conditions.items():
            lines.append(f"condition      {number:.2e}   {name}")
        for name, violation in self.violations.items():
            lines.append(f"violation      {violation:.2e}   {name}")
        if self.min_eigenvalue is not None:
            lines.append(f"least eigenvalue {self.min_eigenvalue:.2e}")
        if self.dimacs is not None:
            lines.append("DIMACS errors  " + "  ".join(f"{e:.1e}" for e in self.dimacs) + "   (max-norms)")
        return "\n".join(lines)
