"""Studies: how scores grow with more links; and comparisons of solvers and methods, for ``cvxlink study``."""

from .curves import LinkCurve, link_curve
from .task import Task

__all__ = ["LinkCurve", "Task", "link_curve"]
