"""What commands on data of one's own read: points and links, with the names that the files give them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from ..data.files.contents import STANDARD_INPUT
from ..data.files.links import Pairs, read_links, read_pairs
from ..data.files.names import PointNames
from ..data.files.points import PointFile, Roles, read_points
from ..data.links import Links
from ..errors import InaccurateWarning, InconsistentLinks, InvalidInput
from .streams import require_end
from .wording import sentence


@dataclass(frozen=True)
class DataChoices:
    """Where the points and links are, and how to read them."""

    source: str
    roles: Roles = field(default_factory=Roles)
    has_header: bool | None = None
    standardize: bool = True
    links: Path | None = None
    must: Path | None = None
    cannot: Path | None = None
    one_based: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of all inputs."""
        return tuple(str(path) for path in (self.source, self.links, self.must, self.cannot))

    @property
    def files(self) -> dict[str, Path | None]:
        """The input files, each with the words that describe it in messages."""
        return {
            "holds the points": Path("/dev/stdin" if self.source == STANDARD_INPUT else self.source),
            "--links names": self.links,
            "--must names": self.must,
            "--cannot names": self.cannot,
        }


@dataclass(frozen=True, eq=False)
class PointsAndLinks:
    """Points and links as they were read.

    Attributes
    ----------
    file : PointFile
    X : array, n × d
        The features, standardised if asked for.
    points : PointNames
    links : Links
    standardized : bool
    constant : tuple of str
        The features that could not be scaled because they are constant.
    """

    file: PointFile
    X: np.ndarray
    points: PointNames
    links: Links
    standardized: bool
    constant: tuple[str, ...]

    @classmethod
    def read(cls, choices: DataChoices) -> PointsAndLinks:
        """Read the files."""
        if choices.sources.count(STANDARD_INPUT) > 1:
            raise InvalidInput("standard input can be read only once; put the points or the links into a file")
        if not choices.source:
            raise InvalidInput("the name of the file with the points is empty; give a file, or - for standard input")
        for name in choices.sources:
            require_end(name)
        if sys.stdin is None and STANDARD_INPUT in choices.sources:
            raise InvalidInput("standard input is closed; give the name of a file instead of -")
        file = read_points(choices.source, choices.roles, choices.has_header)
        if len(file.X) == 1:
            raise InvalidInput(f"{file.where} has one point; clustering needs at least two")
        points = PointNames(len(file.X), file.names, choices.one_based)
        links = _read_links(choices, points, len(file.X))
        if not choices.standardize:
            return cls(file, file.X, points, links, False, ())
        spreads = np.ptp(file.X, axis=0)
        constant = tuple(name for name, spread in zip(file.features, spreads, strict=True) if spread == 0)
        return cls(file, StandardScaler().fit_transform(file.X), points, links, True, constant)


@contextmanager
def recorded_warnings(points: PointNames) -> Iterator[list[str]]:
    """Yield a list that holds the warnings as sentences in the end; contradictions name points as the files do."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield said
        except InconsistentLinks as error:
            raise points.reworded(error) from error
    # Warnings of other kinds are about numbers or versions within libraries, and users cannot act on them. How accurate
    # the answer is, the solution tells.
    own = [w for w in caught if issubclass(w.category, UserWarning) and not issubclass(w.category, InaccurateWarning)]
    said += dict.fromkeys(sentence(warning.message) for warning in own)


def _read_links(choices: DataChoices, points: PointNames, n: int) -> Links:
    """Return the links of all files together."""
    must: Pairs = []
    cannot: Pairs = []
    if choices.links is not None:
        must, cannot = read_links(choices.links, points)
    if choices.must is not None:
        must = must + read_pairs(choices.must, points)
    if choices.cannot is not None:
        cannot = cannot + read_pairs(choices.cannot, points)
    return Links(n, must, cannot)
