"""How our accuracy becomes the tolerances of a solver, and how far down they can go.

Solvers measure their own residuals, each in its own way, while ``accuracy`` is about the certified gap. So each solver
has a *share*, the tolerance per unit of accuracy with which it reaches a certified gap of that accuracy, and a *floor*:
with smaller tolerances it gives up, returns nothing, or returns the same answer. Both were measured on ``kp_iris`` and
``pcp_iris``, ``gfhf_iris`` where it takes no matrices; where a maker documents a limit, the floor keeps to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Options = dict[str, Any]

# With larger tolerances an answer may be none, even where little accuracy is asked for.
CEILING = 1e-5


@dataclass(frozen=True)
class Tolerances:
    """The tolerances of a solver.

    Attributes
    ----------
    names : tuple of str
        The options that set them; all get the same number.
    share : float
        The tolerance per unit of accuracy.
    floor : float
        The least tolerance that is asked for.
    within : str
        The option that holds them as a table; "" if they are options themselves.
    others : mapping
        Further options that go with them.
    """

    names: tuple[str, ...]
    share: float = 1e-4
    floor: float = 1e-10
    within: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)

    def at(self, accuracy: float) -> float:
        """Return the tolerance for an accuracy."""
        return max(self.floor, min(CEILING, float(f"{self.share * accuracy:.3g}")))

    @property
    def finest(self) -> float:
        """The accuracy below which the tolerances stay at their floor."""
        return float(f"{self.floor / self.share:.3g}")

    def options(self, accuracy: float) -> Options:
        """Return the options for an accuracy."""
        chosen: Options = dict.fromkeys(self.names, self.at(accuracy))
        return {**({self.within: chosen} if self.within else chosen), **self.others}

    def asked(self, options: Mapping[str, Any]) -> dict[str, float]:
        """Return the tolerances among the options that a solver was told, whoever chose them."""
        there = options.get(self.within, {}) if self.within else options
        found = {name: there[name] for name in self.names if name in there} if isinstance(there, Mapping) else {}
        return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def interior(*names: str, share: float = 1e-4, floor: float = 1e-10, within: str = "", **others: Any) -> Tolerances:
    """Return the tolerances of an interior-point code, which gains three digits in a few iterations."""
    return Tolerances(names, share, floor, within, others)


def first_order(*names: str, **others: Any) -> Tolerances:
    """Return the tolerances of a first-order method, for which every digit costs iterations.

    Its residuals enter the certified gap multiplied by the order of the matrix.
    """
    return Tolerances(names, 1e-3, 1e-12, others=others)
