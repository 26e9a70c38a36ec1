"""In which order the gallery shows its pages: those to begin with first, the others by name."""

from __future__ import annotations

FIRST = ("quickstart.py", "kernel_propagation.py", "ccsr_digits.py", "labels_and_links.py", "watch_it_fail.py")


class Order:
    """The place of a script in its section."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return what to sort by."""
        return FIRST.index(filename) if filename in FIRST else len(FIRST), filename
