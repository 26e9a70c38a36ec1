"""What the library says, as a user of the command needs it: its arguments are options there."""

from __future__ import annotations

import re

# What the library says, and what stands for it on the command line; later ones see what earlier ones have left.
REWORDINGS = (
    (
        r"\bgive must_link and cannot_link, links, or y with -1 for unknown",
        "give --links, or --must and --cannot, or --label-column",
    ),
    (r"\bgive y, or cannot-links", "give --label-column, or cannot-links"),
    (r"\bgive n_clusters\b", "give --clusters"),
    (r"\bgive sigma as a number", "give --sigma a number"),
    (r"\bn_(?:clusters|classes) (?=is |must be )", "--clusters "),
    (r"\bn_neighbors (?=is |must be )", "--neighbors "),
    (r"\bsigma (?=must be 'mean')", "--sigma "),
    (r", and any subclass of cvxlink\.Problem", "; `cvxlink methods` lists them"),
    (r"\bmethod='kp'", "--method kp"),
    (r", presolve=True(?: if it is off)?(?=,)", ""),
    (r"\blook at Links\.contradiction\(\)", "`cvxlink explain` says whether they contradict one another"),
    (r"(?:\bsolve\()?\b(accuracy|form|route|solver)=(['\"]?)([\w.+-]+)\2\)?", r"--\1 \3"),
)


def as_options(text: str) -> str:
    """Return a sentence of the library's with options of the command in place of arguments."""
    for pattern, words in REWORDINGS:
        text = re.sub(pattern, words, text)
    return text
