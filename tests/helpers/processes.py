"""Processes that a test started."""

from __future__ import annotations

import os


def children() -> list[str]:
    """Processes started by this one that still run."""
    found = []
    for process in os.listdir("/proc"):
        if process.isdigit():
            try:
                with open(f"/proc/{process}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == os.getpid():
                found.append(process)
    return found
