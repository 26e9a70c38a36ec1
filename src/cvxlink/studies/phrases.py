"""Lists, counts, small numbers and names as sentences about studies write them."""

from __future__ import annotations

from collections.abc import Sequence

from .judging import Outcome

# Which time is compared unless something else is said.
RANKED = "wall time from the declared program to the answer, without certifying"
# What scores are called in full.
SCORES = {
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "error": "share of points in a wrong cluster",
    "pairwise": "share of pairs without a link that are rightly together or apart",
    "violated": "share of links that are violated",
}
# How failures are counted in sentences: "2 stopped at the time limit".
FAILED = {
    Outcome.NO_BOUND: "without a bound",
    Outcome.TIME: "stopped at the time limit",
    Outcome.MEMORY: "stopped at the memory limit",
    Outcome.ITERATIONS: "stopped at the iteration limit",
    Outcome.CRASH: "crashed",
    Outcome.NO_LICENCE: "without a licence",
    Outcome.ERROR: "ended in an error",
}


def listed(words: Sequence[str], most: int | None = None) -> str:
    """Return "a, b and c"; beyond ``most``, how many more there are."""
    shown = list(words if most is None or len(words) <= most + 1 else words[:most])
    if len(shown) < len(words):
        shown.append(f"{len(words) - len(shown)} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(count: int, what: str) -> str:
    """Return "1 instance" or "3 instances"."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def power(value: float, digits: int = 3) -> str:
    """Return an accuracy or an error as "1e-4", with at most so many digits."""
    if value == 0:
        return "0"
    number, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number}e{int(exponent)}"


def in_full(score: str) -> str:
    """Return a score with its name in full: "ari (adjusted Rand index)"."""
    return f"{score} ({SCORES[score]})" if score in SCORES else score


def failed(count: int, kind: str) -> str:
    """Return "2 stopped at the time limit"."""
    return f"{count} {FAILED.get(Outcome(kind), kind)}"


def at_limit(counts: Sequence[tuple[str, int]], limit: float) -> str:
    """Say for how many rows of other tools the limit of the study stands; nothing if for none."""
    if not counts:
        return ""
    rows = listed([f"{counted(count, 'instance')} of {name}" for name, count in counts])
    stands = f"{limit:g} s, the limit of this study, stands for {rows}"
    return f"{stands}, where no optimum is claimed, whatever the limit there was."
