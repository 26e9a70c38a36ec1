"""Kinds of programs, as data: what the routes and the proofs of each kind work on."""

from .lyapunov import Lyapunov
from .nearness import Nearness
from .quadratic import FittedProducts

__all__ = ["FittedProducts", "Lyapunov", "Nearness"]
