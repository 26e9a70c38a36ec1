"""The algorithms of our own, in the order in which they are considered."""

from __future__ import annotations

from .base import Route
from .interior_point import InteriorPoint
from .search import Search

ROUTES: tuple[Route, ...] = (InteriorPoint(), Search())
