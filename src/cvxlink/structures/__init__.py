"""Kinds of programs, as data: what the routes and the proofs of each kind work on."""

from .cut import ConstrainedCut, StationaryCuts
from .fantope import Fantope
from .fixed_entries import FixedEntries
from .harmonic import Harmonic
from .lyapunov import Lyapunov
from .nearness import Nearness
from .propagation import Smoothing, TwoSided
from .quadratic import FittedProducts

__all__ = [
    "ConstrainedCut",
    "Fantope",
    "FittedProducts",
    "FixedEntries",
    "Harmonic",
    "Lyapunov",
    "Nearness",
    "Smoothing",
    "StationaryCuts",
    "TwoSided",
]
