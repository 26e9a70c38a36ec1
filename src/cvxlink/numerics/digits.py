"""Numbers in messages, with as many digits as it takes to see what they are."""

from __future__ import annotations

# So many digits are shown, unless they hide that a number is not the round one it looks like.
FEW, MANY = 6, 12
# A number with at most so many digits looks round.
ROUND = 4


def shown(number: float) -> str:
    """Return a number with six digits; with twelve if six look like a round number that it is not.

    1/3 is 0.333333, but 1 + 1e-9 is 1.000000001.
    """
    short = f"{number + 0.0:.{FEW}g}"
    digits = short.lstrip("-").split("e")[0].replace(".", "").strip("0")
    return f"{number + 0.0:.{MANY}g}" if len(digits) <= ROUND else short


def shown_apart(*numbers: float) -> tuple[str, ...]:
    """Return different numbers with so many digits that they look different."""
    texts = tuple(map(shown, numbers))
    for digits in (9, MANY, 15, 17):
        if len(set(texts)) == len(set(numbers)):
            break
        texts = tuple(f"{number + 0.0:.{digits}g}" for number in numbers)
    return texts
