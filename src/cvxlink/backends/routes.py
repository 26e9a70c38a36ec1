"""The algorithms of our own, in the order in which they are considered."""

from __future__ import annotations

from .base import Route
from .fitted_products import InteriorLeastSquares
from .interior_point import InteriorPoint
from .lyapunov import Eigen, Kronecker, Spreading
from .nearness import ClosedForm, DualNewton
from .search import Search

ROUTES: tuple[Route, ...] = (
    InteriorPoint(),
    InteriorLeastSquares(),
    Search(),
    Eigen(),
    Spreading(),
    Kronecker(),
    DualNewton(),
    ClosedForm(),
)
