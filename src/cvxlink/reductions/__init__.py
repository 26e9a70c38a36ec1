"""Reductions: a smaller or better-behaved program with the same optimum, and the way back."""

from .base import Reduced, Reduction
from .contraction import Contraction
from .dualisation import Dualisation
from .elimination import Elimination
from .negation import Negation
from .scaling import Scaling

__all__ = ["Contraction", "Dualisation", "Elimination", "Negation", "Reduced", "Reduction", "Scaling"]
