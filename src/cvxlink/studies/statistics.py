"""What the cells of a study say together: means, profiles, wins, ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.stats

from .judging import outcome

# Seconds that are added before the geometric mean and taken away after it, so that milliseconds do not decide.
SHIFT = 0.1
# Times that differ by less than this factor are a tie in the report: they change as much from run to run.
TIE = 1.1
# Critical values of the studentised range at infinitely many degrees of freedom are divided by this (Demšar 2006).
ROOT_OF_TWO = float(np.sqrt(2))
# Scores are compared to this many digits, so that rounding in a mean does not break a tie.
DIGITS = 12
# Up to this many differences, all choices of their signs are looked at.
MOST_SIGNS = 13
# Relative rounding of a quotient of times.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Times:
    """Seconds by instance and configuration: infinite where a cell is a failure, NaN where it is not computed yet.

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
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        limit: float,
        accuracy: float | None = None,
        seconds_of: Callable[[Mapping[str, Any]], float | None] | None = None,
    ) -> Times:
        """Collect records of one accuracy asked for, judged at it or at another one.

        A cell counts as solved if all its repeats are. Its time is that from the declared program to the answer, or the
        part of it that ``seconds_of`` returns.
        """
        if seconds_of is None:
            seconds_of = whole_seconds
        rows = tuple(dict.fromkeys(record["instance"] for record in records))
        columns = tuple(dict.fromkeys(record["configuration"] for record in records))
        several: dict[tuple[str, str], list[float]] = {}
        for record in records:
            solved = outcome(record, accuracy).is_success
            taken = seconds_of(record) if solved else None
            seconds = np.inf if taken is None else float(taken)
            several.setdefault((record["instance"], record["configuration"]), []).append(seconds)
        found = np.full((len(rows), len(columns)), np.nan)
        for (row, column), times in several.items():
            median = np.inf if np.isinf(times).any() else np.median(times)
            found[rows.index(row), columns.index(column)] = median
        return cls(rows, columns, found, limit)

    @property
    def common(self) -> Times:
        """The instances that all configurations have finished, be it in failure: only these compare fairly."""
        whole = ~np.isnan(self.seconds).any(axis=1)
        names = tuple(name for name, kept in zip(self.instances, whole, strict=True) if kept)
        return Times(names, self.configurations, self.seconds[whole], self.limit)

    @property
    def solved(self) -> np.ndarray:
        """The number of instances that each configuration solves."""
        return np.isfinite(self.seconds).sum(axis=0)

    @property
    def finished(self) -> np.ndarray:
        """The number of instances that each configuration has finished, be it in failure."""
        return (~np.isnan(self.seconds)).sum(axis=0)

    def means(self, shift: float = SHIFT) -> np.ndarray:
        """Return shifted geometric means over the common instances; failures count as the limit."""
        return shifted_geometric_mean(np.minimum(self.common.seconds, self.limit), shift)

    def profile(self, ratios: Any) -> np.ndarray:
        """Return performance profiles (Dolan & Moré 2002), a column for each configuration.

        An entry is the share of the common instances on which it takes at most so many times as long as the fastest.
        """
        seconds = self.common.seconds
        if not len(seconds):
            return np.full((np.size(ratios), len(self.configurations)), np.nan)
        fastest = np.maximum(seconds.min(axis=1, keepdims=True), 1e-12)
        with np.errstate(invalid="ignore"):
            times_as_long = np.where(np.isfinite(seconds), np.maximum(seconds, 1e-12) / fastest, np.inf)
        return np.array([(times_as_long <= ratio * (1 + ROUNDING)).mean(axis=0) for ratio in np.atleast_1d(ratios)])

    def proven_within(self, seconds: Any) -> np.ndarray:
        """Return data profiles: the share of the common instances proven within so many seconds."""
        common = self.common.seconds
        if not len(common):
            return np.full((np.size(seconds), len(self.configurations)), np.nan)
        return np.array([(common <= limit).mean(axis=0) for limit in np.atleast_1d(seconds)])

    def wins(self, tie: float = 1.0) -> np.ndarray:
        """Return on how many instances the configuration of the row beats that of the column.

        It does if it takes less than a ``tie``-th of the time, or proves what the other does not. Instances count that
        both have finished; where neither proves anything, nobody wins.
        """
        first, second = self.seconds[:, :, None], self.seconds[:, None, :]
        return (first * tie < second).sum(axis=0)

    def fastest(self, tie: float = 1.0) -> np.ndarray:
        """Return on how many of the common instances each configuration is the fastest, or ties with the fastest."""
        seconds = self.common.seconds
        if not len(seconds):
            return np.zeros(len(self.configurations), dtype=int)
        best = seconds.min(axis=1, keepdims=True)
        return (np.isfinite(seconds) & (seconds <= best * tie)).sum(axis=0)


def whole_seconds(record: Mapping[str, Any]) -> float:
    """Return the seconds from the declared program to the answer, without certifying."""
    return float(record["seconds"])


def shifted_geometric_mean(seconds: np.ndarray, shift: float = SHIFT) -> np.ndarray:
    """Return exp(mean(log(t + s))) − s over the rows; NaN without rows."""
    seconds = np.asarray(seconds, dtype=float)
    if not len(seconds):
        return np.full(seconds.shape[1:], np.nan)
    return np.exp(np.log(seconds + shift).mean(axis=0)) - shift


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mean rank of each column over the rows; the highest score ranks first, and ties share their ranks."""
    return scipy.stats.rankdata(-np.asarray(scores, dtype=float).round(DIGITS), axis=1).mean(axis=0)


def critical_difference(count: int, rows: int, level: float = 0.05) -> float:
    """Return the difference of mean ranks from which on two of so many methods differ (Nemenyi; Demšar 2006)."""
    studentised = scipy.stats.studentized_range.ppf(1 - level, count, np.inf) / ROOT_OF_TWO
    return float(studentised * np.sqrt(count * (count + 1) / (6 * rows)))


def friedman(scores: np.ndarray) -> float:
    """Return the p-value of Friedman's test that all columns rank alike; with two columns, that of Wilcoxon's."""
    scores = np.asarray(scores, dtype=float).round(DIGITS)
    if scores.shape[1] == 2:
        return signed_rank(scores[:, 0] - scores[:, 1])
    if (scores == scores[:, :1]).all():
        return 1.0
    return float(scipy.stats.friedmanchisquare(*scores.T).pvalue)


def signed_rank(differences: np.ndarray) -> float:
    """Return the p-value of Wilcoxon's signed-rank test; zeros are split between the signs (Demšar 2006)."""
    differences = np.asarray(differences, dtype=float).round(DIGITS)
    if not differences.any():
        return 1.0
    if len(differences) > MOST_SIGNS:
        return float(scipy.stats.wilcoxon(differences, zero_method="zsplit").pvalue)
    # The same test with all choices of signs, also where there are ties; SciPy ranks anew for each, which is slow.
    signed = np.sign(differences) * scipy.stats.rankdata(abs(differences))
    return float(scipy.stats.permutation_test((signed,), np.sum, permutation_type="samples", vectorized=True).pvalue)


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Return the mean and half the width of its confidence interval (Student's t); NaN for fewer than two values."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return (float(values.mean()) if len(values) else float("nan")), float("nan")
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
