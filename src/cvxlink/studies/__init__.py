"""Studies: what more links bring, method by method."""

from .curves import LinkCurve, link_curve

__all__ = ["LinkCurve", "link_curve"]
