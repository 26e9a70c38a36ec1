"""Rules for labels of a few blocks, and all labels that keep them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from hypothesis import strategies as st


@st.composite
def rules_of_few_blocks(draw, most_blocks=6):
    n, k = draw(st.integers(1, most_blocks)), draw(st.integers(1, 4))
    pairs = list(combinations(range(n), 2))
    apart = draw(st.lists(st.sampled_from(pairs), max_size=9, unique=True)) if pairs else []
    sizes = draw(st.none() | st.lists(st.integers(1, 3), min_size=n, max_size=n))
    least = draw(st.none() | st.integers(0, 3))
    most = draw(st.none() | st.integers(max(least or 0, 1), 8))
    return {"n": n, "k": k, "apart": apart, "sizes": sizes, "least": least, "most": most}


def all_labels(n, k, apart, sizes, least, most, nonempty=True):
    """Yield every labelling that keeps the rules, straight from their definition."""
    sizes = [1] * n if sizes is None else sizes
    lowest = max(least or 0, 1 if nonempty else 0)
    for labels in product(range(k), repeat=n):
        points = [sum(s for s, label in zip(sizes, labels, strict=True) if label == c) for c in range(k)]
        right_sizes = all(lowest <= p <= (most or np.inf) for p in points)
        if right_sizes and all(labels[a] != labels[b] for a, b in apart):
            yield np.array(labels)


def random_links(rng, n, m):
    return np.array([rng.choice(n, 2, replace=False) for _ in range(m)])


def planted_cannot_links(n, k, share, seed):
    """Return labels, and a share of the pairs of points that have different ones."""
    rng, y = np.random.default_rng(seed), np.arange(n) % k
    return y, np.array([(i, j) for i in range(n) for j in range(i) if y[i] != y[j] and rng.random() < share])
