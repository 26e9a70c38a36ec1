"""The methods, one a file."""

from .ccsr import CCSR
from .kp import KP
from .minkl import MinKL
from .pcp import PCP
from .spectral_transform import GaussianField, ImprovedOrder
from .srcp import SRCP

__all__ = ["CCSR", "KP", "PCP", "SRCP", "GaussianField", "ImprovedOrder", "MinKL"]
