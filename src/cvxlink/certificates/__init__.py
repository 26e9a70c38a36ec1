"""Certificates: from a program, a point and multipliers to what is proven. No algorithm is imported here."""

from .certificate import Certificate
from .certify import certify_program

__all__ = ["Certificate", "certify_program"]
