"""The methods, one a file."""

from .kp import KP
from .pcp import PCP
from .spectral_transform import GaussianField, ImprovedOrder

__all__ = ["KP", "PCP", "GaussianField", "ImprovedOrder"]
