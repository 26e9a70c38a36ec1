"""Mean ranks of methods over data sets, and when they differ (Demšar 2006, Journal of Machine Learning Research 7)."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata, studentized_range


def mean_ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mean rank of each column over the rows; 1 is the largest score, and ties share their ranks."""
    return rankdata(-np.asarray(scores), axis=1).mean(axis=0)


def critical_difference(n_methods: int, n_sets: int, level: float = 0.05) -> float:
    r"""Return by how much mean ranks must differ to be significant by Nemenyi's test.

    It is :math:`q_\alpha\sqrt{k(k + 1) / 6N}` for k methods on N data sets, where :math:`q_\alpha` is the quantile of
    the studentised range for infinitely many degrees of freedom, divided by :math:`\sqrt2`.
    """
    q = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))
