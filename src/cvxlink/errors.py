"""Every error says what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class CvxlinkError(Exception):
    """The root of every error this package raises.

    Attributes
    ----------
    argument : str or None
        The argument the error is about, where it is about one.
    """

    argument: str | None = None


class InvalidInput(CvxlinkError, ValueError):
    """An argument cannot be used as it is."""

    def __init__(self, message: str, argument: str | None = None) -> None:
        super().__init__(message)
        self.argument = argument


class InconsistentLinks(InvalidInput):
    """A cannot-link joins two points that the must-links put together.

    Attributes
    ----------
    pair : tuple of int
        The cannot-link.
    path : tuple of int
        A shortest chain of must-links from one end of the pair to the other.
    labels : dict
        The labels of points on the path, where labels are involved.
    """

    def __init__(self, pair: tuple[int, int], path: tuple[int, ...], labels: Mapping[int, Any] | None = None) -> None:
        self.pair, self.path, self.labels = pair, path, dict(labels or {})
        apart = len({self.labels.get(point) for point in pair} - {None}) == 2
        named = [f"{point} (label {self.labels[point]})" if point in self.labels else str(point) for point in path]
        shown = [*named[:5], "… (all in .path)", *named[-5:]] if len(named) > 12 else named
        chain = " – ".join(shown)
        wrong = "have different labels" if apart else "are cannot-linked"
        links, remedy = "must-links", "remove the cannot-link or one of these must-links"
        if self.labels:
            links, remedy = "must-links and equal labels", "one of these links or labels is wrong"
        super().__init__(f"points {pair[0]} and {pair[1]} {wrong}, but {links} join them: {chain}; {remedy}")

    def __reduce__(self) -> tuple:
        return type(self), (self.pair, self.path, self.labels)


class InvalidProblem(CvxlinkError):
    """A declared program is not one CVXPY can take: not convex, or not well formed."""


class InfeasibleProblem(CvxlinkError):
    """The constraints contradict one another, as shown without any solver."""


class ReductionRefused(CvxlinkError):
    """A reduction was asked to touch a problem for which it is not exact."""


class FormUnavailable(CvxlinkError):
    """The problem has no form of that name; the message lists those it has."""


class SolverUnavailable(CvxlinkError):
    """The solver is not installed, has no licence, or cannot take this kind of program."""

    def __init__(self, message: str, needs_licence: bool = False) -> None:
        super().__init__(message)
        self.needs_licence = needs_licence


class InvalidFile(CvxlinkError):
    """A file is malformed, cut short or not there; the message names the line where it can."""


class DataUnavailable(CvxlinkError):
    """A data set is not at hand; the message says where it can be had."""


class MissingDependency(CvxlinkError, ImportError):
    """An optional package is needed; the message says how to install it."""


class SolveFailed(CvxlinkError):
    """The solver came back without a usable answer.

    Attributes
    ----------
    solution : Solution
        What there is to look at: status, reason, plan and timings.
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution


class InaccurateWarning(UserWarning):
    """An answer was returned, and its certificate shows it is less accurate than asked for."""


class LinkWarning(UserWarning):
    """A clustering cannot, or does not, respect all links."""


class ClippedWarning(UserWarning):
    """Some numbers were outside the range a formula is meant for, and were moved to its end."""
