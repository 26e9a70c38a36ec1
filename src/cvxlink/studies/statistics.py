"""What the cells of a study say together: means, profiles, wins, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from .judging import outcome

# Seconds that are added before the geometric mean and taken away after it, so that milliseconds do not decide.
SHIFT = 0.1
# Critical values of the studentised range at infinitely many degrees of freedom are divided by this (Demšar 2006).
ROOT_OF_TWO = float(np.sqrt(2))


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds by instance and configuration; infinite where a cell is a failure.

    Attributes
    ----------
    instances, configurations : tuples of str
    seconds : array
        A row for each instance, a column for each configuration: medians over the repeats.
    limit : float
        What a failure counts as in means.
    """

    instances: tuple[str, ...]
    configurations: tuple[str, ...]
    seconds: np.ndarray
    limit: float

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]], limit: float, accuracy: float | None = None) -> Times:
        """Collect records of one accuracy asked for, judged at it or at another one.

        A cell counts as solved if all its repeats are.
        """
        rows = tuple(dict.fromkeys(record["instance"] for record in records))
        columns = tuple(dict.fromkeys(record["configuration"] for record in records))
        several: dict[tuple[str, str], list[float]] = {}
        for record in records:
            solved = outcome(record, accuracy).is_success
            seconds = float(record["seconds"]) if solved else np.inf
            several.setdefault((record["instance"], record["configuration"]), []).append(seconds)
        found = np.full((len(rows), len(columns)), np.inf)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                if times := several.get((row, column)):
                    found[i, j] = np.inf if np.isinf(times).any() else np.median(times)
        return cls(rows, columns, found, limit)

    @property
    def solved(self) -> np.ndarray:
        """The number of instances that each configuration solves."""
        return np.isfinite(self.seconds).sum(axis=0)

    def means(self, shift: float = SHIFT) -> np.ndarray:
        """Return shifted geometric means; failures count as the limit."""
        return shifted_geometric_mean(np.minimum(self.seconds, self.limit), shift)

    def profile(self, ratios: Any) -> np.ndarray:
        """Return performance profiles (Dolan & Moré 2002), a column for each configuration.

        An entry is the share of instances on which it takes at most so many times as long as the fastest one.
        """
        fastest = self.seconds.min(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            times_as_long = np.where(np.isfinite(self.seconds), self.seconds / np.maximum(fastest, 1e-12), np.inf)
        return np.array([(times_as_long <= ratio * (1 + 1e-12)).mean(axis=0) for ratio in np.atleast_1d(ratios)])

    def proven_within(self, seconds: Any) -> np.ndarray:
        """Return data profiles: the share of instances that each configuration proves within so many seconds."""
        return np.array([(self.seconds <= limit).mean(axis=0) for limit in np.atleast_1d(seconds)])

    def wins(self) -> np.ndarray:
        """Return on how many instances the configuration of the row is strictly faster than that of the column."""
        count = len(self.configurations)
        faster = [[int((self.seconds[:, a] < self.seconds[:, b]).sum()) for b in range(count)] for a in range(count)]
        return np.array(faster)


def shifted_geometric_mean(seconds: np.ndarray, shift: float = SHIFT) -> np.ndarray:
    """Return exp(mean(log(t + s))) − s over the rows."""
    return np.exp(np.log(np.asarray(seconds) + shift).mean(axis=0)) - shift


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mean rank of each column over the rows; the highest score ranks first, and ties share their ranks."""
    return scipy.stats.rankdata(-np.asarray(scores), axis=1).mean(axis=0)


def critical_difference(count: int, rows: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks from which on two of so many methods differ (Nemenyi; Demšar 2006)."""
    studentised = scipy.stats.studentized_range.ppf(1 - level, count, np.inf) / ROOT_OF_TWO
    return float(studentised * np.sqrt(count * (count + 1) / (6 * rows)))


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the mean and half the width of its confidence interval (Student's t); NaN for fewer than two values."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    half = scipy.stats.t.ppf((1 + level) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted for their number by Holm's method."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    steps = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    adjusted = np.empty_like(p)
    adjusted[order] = steps
    return adjusted
