"""Links that some clustering satisfies."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

import cvxlink as cl


@st.composite
def consistent_links(draw):
    """Random links that some hidden clustering satisfies."""
    n = draw(st.integers(2, 9))
    hidden = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    pairs = draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=12))
    must = [(i, j) for i, j in pairs if hidden[i] == hidden[j]]
    cannot = [(i, j) for i, j in pairs if hidden[i] != hidden[j]]
    return cl.Links(n, must, cannot)
