"""Studies: which solver proves what in which time, which method scores what, and how scores grow with more links."""

from .curves import LinkCurve, link_curve
from .description import Configuration, InstanceChoice, Study
from .judging import Outcome, outcome
from .running import Standing, StudyFailed, run, standing
from .statistics import Times
from .store import StudyBusy
from .summary import summary

__all__ = [
    "Configuration",
    "InstanceChoice",
    "LinkCurve",
    "Outcome",
    "Standing",
    "Study",
    "StudyBusy",
    "StudyFailed",
    "Times",
    "link_curve",
    "outcome",
    "run",
    "standing",
    "summary",
]
