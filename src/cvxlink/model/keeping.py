"""Values that do not change keep what was made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Where they keep it; copies for other processes leave it out.
KEPT = "_kept"


def once(value: Any, name: str, make: Callable[[], Any]) -> Any:
    """Return what ``make`` makes of a value, which keeps it under a name."""
    kept = value.__dict__.setdefault(KEPT, {})
    if name not in kept:
        kept[name] = make()
    return kept[name]
