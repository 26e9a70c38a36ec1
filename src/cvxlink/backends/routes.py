"""The algorithms of our own, in the order in which they are considered."""

from __future__ import annotations

from .base import Route
from .closed_forms import Eigenvectors, Replacement
from .cut import Cheapest, Exact, Stationary
from .fitted_products import InteriorLeastSquares
from .interior_point import InteriorPoint
from .lowrank import LowRank
from .lyapunov import Eigen, Kronecker, Spreading
from .nearness import ClosedForm, DualNewton
from .propagation import Extending, Factored, OneSolve, TwoPasses
from .search import Search

ROUTES: tuple[Route, ...] = (
    LowRank(),
    InteriorPoint(),
    InteriorLeastSquares(),
    Search(),
    Eigen(),
    Spreading(),
    Kronecker(),
    DualNewton(),
    ClosedForm(),
    Extending(),
    OneSolve(),
    TwoPasses(),
    Factored(),
    Eigenvectors(),
    Replacement(),
    Exact(),
    Cheapest(),
    Stationary(),
)
