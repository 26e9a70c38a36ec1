"""The methods, one a file."""

from .kp import KP
from .pcp import PCP

__all__ = ["KP", "PCP"]
