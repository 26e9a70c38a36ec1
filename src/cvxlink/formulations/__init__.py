"""The methods, one a file."""

from .ccsr import CCSR
from .csc import CSC
from .cscgfhf import CSCGFHF
from .e2cp import E2CP
from .gfhf import GFHF
from .kp import KP
from .llgc import LLGC
from .minkl import MinKL
from .ncuts import NCuts
from .pcp import PCP
from .sl import SL
from .spectral_transform import GaussianField, ImprovedOrder
from .srcp import SRCP
from .sskk import SSKK

__all__ = [
    "CCSR",
    "CSC",
    "CSCGFHF",
    "E2CP",
    "GFHF",
    "KP",
    "LLGC",
    "PCP",
    "SL",
    "SRCP",
    "SSKK",
    "GaussianField",
    "ImprovedOrder",
    "MinKL",
    "NCuts",
]
