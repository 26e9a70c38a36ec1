"""What the cells of a study of methods say together: means over draws, ranks and tests over data sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from .description import Study
from .instance import expanded
from .statistics import friedman, holm, interval, mean_ranks, signed_rank

# Scores of which less is better; of any other score of a method, more is better.
LESS_IS_BETTER = ("error", "violated")
LEVEL = 0.05

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """Two methods compared: the mean difference over the blocks, and p-values of Wilcoxon's test."""

    first: str
    second: str
    difference: float
    p: float
    adjusted: float

    @property
    def is_significant(self) -> bool:
        """Whether they differ at the level of 5 %, after Holm's adjustment."""
        return bool(self.adjusted < LEVEL)


@dataclass(frozen=True, eq=False)
class Scores:
    """One score of all methods, on the data and links that all have scored, so that they are paired.

    Attributes
    ----------
    methods : tuple of str
    score : str
    values : array
        A row for each data set, number of links and draw that all methods have scored; a column for each method.
    data, cases, draws : tuples
        The data set of each row, all that it is except its draw, such as the number of links, and the draw.
    rows : int
        How many rows there would be if all methods had scored everything.
    """

    methods: tuple[str, ...]
    score: str
    values: np.ndarray
    data: tuple[str, ...]
    cases: tuple[str, ...]
    draws: tuple[int, ...]
    rows: int

    @classmethod
    def of(cls, study: Study, records: Sequence[Record], score: str = "ari") -> Scores:
        """Collect the records of one accuracy."""
        methods = tuple(one.name for one in study.configurations)
        found: dict[tuple[str, str], list[float]] = {}
        for record in records:
            value = numbers_in(record).get(score)
            value = np.nan if value is None else float(value)
            found.setdefault((record["instance"], record["configuration"]), []).append(value)
        names = list(dict.fromkeys(record["instance"] for record in records))
        table = [[float(np.mean(found.get((name, one), [np.nan]))) for one in methods] for name in names]
        values = np.array(table, dtype=float).reshape(len(names), len(methods))
        whole = np.isfinite(values).all(axis=1)
        known = {one.name: one for one in expanded(study)}
        placed = [known.get(name) for name, kept in zip(names, whole, strict=True) if kept]
        kept = [name for name, is_whole in zip(names, whole, strict=True) if is_whole]
        return cls(
            methods,
            score,
            values[whole],
            tuple(str(one.data) if one else name for name, one in zip(kept, placed, strict=True)),
            tuple(repr(replace(one, name="", draw=0)) if one else name for name, one in zip(kept, placed, strict=True)),
            tuple(one.draw if one else 0 for one in placed),
            len(names),
        )

    @property
    def sign(self) -> int:
        """1 where more is better, −1 where less is."""
        return -1 if self.score in LESS_IS_BETTER else 1

    @property
    def unit(self) -> str:
        """What a block of the tests is: a data set, or a draw of links if there is only one data set."""
        return "data sets" if len(set(self.data)) > 1 else "draws of links"

    @cached_property
    def blocks(self) -> np.ndarray:
        """A row for each data set: means over its draws and numbers of links.

        Draws of one data set are no independent evidence on how methods compare on others. If there is only one data
        set, each draw is a row, and what is found holds for this data set.
        """
        return _means_by(self.data, self.values) if self.unit == "data sets" else self.by_draw

    @cached_property
    def by_draw(self) -> np.ndarray:
        """A row for each draw: means over data sets and numbers of links, of which each draw has the same ones."""
        everywhere = {draw for draw in self.draws if self.draws.count(draw) == len(set(self.cases))}
        chosen = np.array([draw in everywhere for draw in self.draws], dtype=bool)
        return _means_by([draw for draw in self.draws if draw in everywhere], self.values[chosen])

    @property
    def means(self) -> np.ndarray:
        """The mean of each method over all rows."""
        return self.values.mean(axis=0) if len(self.values) else np.full(len(self.methods), np.nan)

    @property
    def ranks(self) -> np.ndarray:
        """The mean rank of each method over the blocks; the best has the least."""
        return mean_ranks(self.sign * self.blocks) if len(self.blocks) else np.full(len(self.methods), np.nan)

    @property
    def halves(self) -> np.ndarray:
        """Half the widths of 95 % confidence intervals of the means, over draws."""
        return np.array([interval(column)[1] for column in self.by_draw.T])

    @property
    def best(self) -> int:
        """The method with the best mean."""
        return int(np.argmax(self.sign * self.means))

    def behind(self, method: int) -> tuple[float, float]:
        """Return by how much a method is behind the best one, and half the 95 % interval of it, paired over draws."""
        differences = self.sign * (self.by_draw[:, self.best] - self.by_draw[:, method])
        return float(self.sign * (self.means[self.best] - self.means[method])), interval(differences)[1]

    def friedman(self) -> float:
        """Return the p-value of Friedman's test that all methods rank alike; NaN for fewer than two blocks."""
        if len(self.blocks) < 2 or len(self.methods) < 2:
            return float("nan")
        return friedman(self.blocks)

    def pairs(self) -> list[Pair]:
        """Compare all methods two by two, by Wilcoxon's signed-rank test with Holm's adjustment for their number."""
        if len(self.blocks) < 2 or len(self.methods) < 2:
            return []
        pairs = list(combinations(range(len(self.methods)), 2))
        differences = [self.blocks[:, a] - self.blocks[:, b] for a, b in pairs]
        p = [signed_rank(one) for one in differences]
        return [
            Pair(self.methods[a], self.methods[b], float(difference.mean()), p_value, float(adjusted))
            for (a, b), difference, p_value, adjusted in zip(pairs, differences, p, holm(p), strict=True)
        ]

    @property
    def least_p(self) -> float:
        """The least p-value after Holm's adjustment that so few blocks allow, whatever the scores are."""
        count = len(self.methods) * (len(self.methods) - 1) // 2
        return min(1.0, count * 2.0 ** (1 - len(self.blocks)))


def numbers_in(record: Record) -> Mapping[str, Any]:
    """Return the scores of a cell, or the numbers that a function of one's own returned; empty if it failed."""
    return record.get("scores") or record.get("numbers") or {}


def _means_by(keys: Sequence[Any], values: np.ndarray) -> np.ndarray:
    """Return means of the rows with the same key, in the order of the keys."""
    order = list(dict.fromkeys(keys))
    of_key = np.array([order.index(key) for key in keys], dtype=int)
    rows = [values[of_key == k].mean(axis=0) for k in range(len(order))]
    return np.array(rows).reshape(len(order), values.shape[1])
