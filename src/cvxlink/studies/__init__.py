"""Studies: comparisons of solvers and of methods, the same as ``cvxlink study`` runs, and scores against links.

A :class:`Study` says what is compared with what. :func:`run` computes it, each cell in a process of its own, and goes
on where an earlier run ended. What counts as solved is decided by certificates: :func:`outcome`.
"""

from .curves import LinkCurve, link_curve
from .description import Study
from .judging import Outcome
from .parts import Configuration, InstanceChoice
from .refusals import refused_beforehand
from .results import outcome, records, save_page, summary
from .running import Standing, StudyFailed, run, standing
from .store import StudyBusy
from .task import Task

__all__ = [
    "Configuration",
    "InstanceChoice",
    "LinkCurve",
    "Outcome",
    "Standing",
    "Study",
    "StudyBusy",
    "StudyFailed",
    "Task",
    "link_curve",
    "outcome",
    "records",
    "refused_beforehand",
    "run",
    "save_page",
    "standing",
    "summary",
]
