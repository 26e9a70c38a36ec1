"""Every error says what is wrong and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Self

# Characters that steer a terminal instead of being shown: control characters except the end of a line and the
# tabulator, marks that reverse the order of what follows, and the bytes of file names that are no text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# Longer than the name of any file.
_ENDLESS = re.compile(r"([^\s/]{60})[^\s/]{240,}")


def visible(text: str, written: str | None = None) -> str:
    r"""Return text with the characters that steer a terminal written out.

    They are written as in Python, ``\x1b``, or as ``written`` says, which is formatted with the number of a character.
    """

    def shown(found: re.Match) -> str:
        return written.format(ord(found[0])) if written else found[0].encode("unicode_escape").decode("ascii")

    return _UNSEEN.sub(shown, text)


def _in_a_message(text: str) -> str:
    """Return text for a message: nothing in it steers a terminal, and words of any length are cut short."""
    return _ENDLESS.sub(r"\1…", visible(text))


class AboutArgument(Exception):
    """An error or a warning that knows which argument it is about.

    The command line has options instead of arguments, and gets its sentences from :meth:`worded`.

    Attributes
    ----------
    argument : str or None
        The argument, where it is about one.
    """

    argument: str | None = None
    # The arguments that the message names, and what it says before and after them.
    _named: tuple[str, ...] = ()
    _around: tuple[str, str] = ("", "")

    @classmethod
    def about(cls, argument: str, problem: str) -> Self:
        """Return an error that begins with an argument: "sigma must be positive"."""
        return cls._naming((argument,), "", f" {problem}")

    @classmethod
    def asking_for(cls, problem: str, *arguments: str, instead: str = "") -> Self:
        """Return an error that asks for one of some arguments: "the links contradict one another; give n_clusters".

        ``instead`` is another remedy, which comes first.
        """
        return cls._naming(arguments, f"{problem}; {instead and f'{instead}, or '}give ", "")

    @classmethod
    def _naming(cls, arguments: tuple[str, ...], before: str, after: str) -> Self:
        error = cls(f"{before}{' or '.join(arguments)}{after}")
        error.argument, error._named, error._around = arguments[0], arguments, (before, after)
        return error

    def __str__(self) -> str:
        # Names of points, columns and files are part of messages, and come from files that others wrote.
        return _in_a_message(super().__str__())

    def worded(self, names: Mapping[str, str]) -> str:
        """Return the message with other names for the arguments it names, where ``names`` has any.

        Where ``argument`` has been set to another one that holds the named one, its name comes first: "--option mu".
        """
        if not self._named:
            return str(self)
        called = [names.get(name, name) for name in self._named]
        if self.argument is not None and self.argument not in self._named:
            called = [f"{names.get(self.argument, '')} {name}".lstrip() for name in self._named]
        return _in_a_message(" or ".join(called).join(self._around))


class CvxlinkError(AboutArgument):
    """The root of every error this package raises."""


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
        super().__init__(f"points {pair[0]} and {pair[1]} {wrong}, but {links} join them: {chain}; {remedy}", "links")

    def __reduce__(self) -> tuple:
        return type(self), (self.pair, self.path, self.labels)


class InvalidProblem(CvxlinkError):
    """A declared program is not one CVXPY can take: not convex, or not well formed."""


class InfeasibleProblem(CvxlinkError):
    """The constraints contradict one another, as shown without any solver."""


class ReductionRefused(CvxlinkError):
    """A reduction was asked to touch a problem for which it is not exact."""


class FormUnavailable(CvxlinkError):
    """The problem has no form of that name; the message lists the forms it has."""


class SolverUnavailable(CvxlinkError):
    """The solver is not installed, has no licence, or cannot take this kind of program."""

    argument = "solver"

    def __init__(self, message: str, needs_licence: bool = False) -> None:
        super().__init__(message)
        self.needs_licence = needs_licence


class InvalidFile(CvxlinkError):
    """A file is malformed, cut short or not there; the message names the line where it can."""


class DataUnavailable(CvxlinkError):
    """A data set is not available here; the message says where to get it."""


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


class InaccurateWarning(AboutArgument, UserWarning):
    """An answer was returned, and its certificate shows it is less accurate than asked for."""


class LinkWarning(AboutArgument, UserWarning):
    """A clustering cannot, or does not, respect all links."""


class ClusterWarning(AboutArgument, UserWarning):
    """Clusters are probably not what was meant, because of the points: their scales, or outliers among them."""


class ClippedWarning(AboutArgument, UserWarning):
    """Some numbers were outside the range a formula is meant for, and were moved to its end."""
