"""The methods, one a file."""

from .pcp import PCP

__all__ = ["PCP"]
