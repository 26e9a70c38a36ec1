"""The results of a study that are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..numerics.arguments import as_instance, as_path
from .cells import cells_of
from .description import Study
from .store import Store


def records(study: Study, folder: str | Path) -> tuple[dict[str, Any], ...]:
    """Return the results of a study that are in a folder: one for each finished cell, then rows of other tools.

    Parameters
    ----------
    study : Study
    folder : path
        As in :func:`run`.
    """
    where = as_path(folder, "folder")
    known = {record["key"]: record for record in Store(where).records()}
    found = tuple(
        known[cell.key] for cell in cells_of(as_instance(study, Study, "study", "a Study")) if cell.key in known
    )
    if not found:
        words = f"there are no results of this study in {where}; `cvxlink study run` computes them"
        raise InvalidInput(words, "folder")
    return *found, *(record for record in known.values() if record.get("outside"))
