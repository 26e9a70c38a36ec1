"""Studies: how scores grow with more links; and comparisons of solvers and methods, for ``cvxlink study``."""

from .curves import LinkCurve, link_curve

__all__ = ["LinkCurve", "link_curve"]
