"""Records made small: every text once, every set of keys once, and long texts compressed.

The page unpacks them to what they were (records.js), so what it hands out as JSON lines is what went in. Numbers that
are not finite become null, as JSON has no word for them.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# These are compressed; a browser that cannot unpack them shows the rest of the page.
LONG = ("plan", "log", "reason")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def packed(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return records as tables of texts and shapes, and a row of leaves for each record.

    A shape lists the paths of the leaves of a record. In rows, a number, null, true or false stands for itself, and a
    text for its place in the table ``strings``, written with base 36, or after ``~`` in the table ``texts``.
    """
    strings: dict[str, int] = {}
    texts: dict[str, int] = {}
    shapes: dict[tuple[tuple[str, ...], ...], int] = {}

    def leaf(value: Any, is_long: bool) -> Any:
        if isinstance(value, list | tuple):
            return [leaf(one, is_long) for one in value]
        if isinstance(value, Mapping):
            return {}  # only empty ones come here
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return value if math.isfinite(value) else None
        text = str(value)
        table = texts if is_long else strings
        return "~" * is_long + in_base_36(table.setdefault(text, len(table)))

    rows = []
    for record in records:
        leaves = list(_leaves(record))
        shape = tuple(path for path, _ in leaves)
        rows.append([shapes.setdefault(shape, len(shapes)), *(leaf(value, path[0] in LONG) for path, value in leaves)])
    compressed = gzip.compress(json.dumps(list(texts)).encode("ascii"), 9, mtime=0)
    return {
        "strings": list(strings),
        "shapes": [[list(path) for path in shape] for shape in shapes],
        "rows": rows,
        "texts": base64.b64encode(compressed).decode("ascii"),
    }


def without_long(record: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return a record with its plan cut at the end, and its log, whose last words matter, at the beginning."""
    cut = dict(record)
    for name in ("plan", "log"):
        text = cut.get(name)
        if isinstance(text, str) and len(text) > longest:
            kept = text[len(text) - longest :] if name == "log" else text[:longest]
            cut[name] = f"…{kept}" if name == "log" else f"{kept}…"
    return cut


def in_base_36(number: int) -> str:
    """Return a whole number as JavaScript's ``toString(36)`` does."""
    text = ""
    while True:
        number, digit = divmod(number, 36)
        text = DIGITS[digit] + text
        if not number:
            return text


def _leaves(record: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in record.items():
        here = (*path, str(name))
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, here)
        else:
            yield here, value
