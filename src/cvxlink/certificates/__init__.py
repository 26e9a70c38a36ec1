"""Certificates: what a point and multipliers prove about a program. No algorithm is imported here."""

from .certificate import Certificate
from .certify import best_answer, certify_program, measured

__all__ = ["Certificate", "best_answer", "certify_program", "measured"]
