"""How errors about studies are worded."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Any

from ..errors import InvalidInput

# A longer word is not searched for similar ones.
LONGEST_WORD = 100


class WrongPart(InvalidInput):
    """One of the instances or configurations of a study does not suit it.

    Attributes
    ----------
    table, k, key : str, int, str or None
        Which of them, and what in it.
    words : str
    """

    def __init__(self, table: str, k: int, key: str | None, words: str) -> None:
        self.table, self.k, self.key, self.words = table, k, key, words
        super().__init__(f"{table}[{k}]{f'.{key}' if key else ''} {words}", table)

    def __reduce__(self) -> tuple:
        return type(self), (self.table, self.k, self.key, self.words)


def meant(word: Any, known: Collection[str], most: int = 30) -> str:
    """Return which of the known words was meant, or which there are, to end a message with."""
    found = get_close_matches(word[:LONGEST_WORD], list(known), 1) if isinstance(word, str) else []
    if found:
        return f"; did you mean {found[0]!r}?"
    return f"; there are {', '.join(known)}" if 0 < len(known) <= most else ""
