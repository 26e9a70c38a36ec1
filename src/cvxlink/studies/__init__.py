"""Studies: how scores grow with more links, method by method."""

from .curves import LinkCurve, link_curve

__all__ = ["LinkCurve", "link_curve"]
