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

    A result that was made with other versions counts until its cell is computed again.

    Parameters
    ----------
    study : Study
    folder : path
        As in :func:`run`.
    """
    where = as_path(folder, "folder")
    cells = cells_of(as_instance(study, Study, "study", "a Study"))
    there = Store(where).records()
    by_key = {record["key"]: record for record in there}
    latest = {record.get("identity"): record for record in there}
    found = [by_key.get(cell.key) or latest.get(cell.identity) for cell in cells]
    usable = tuple(record for record in found if record is not None)
    if not usable:
        other = " (what is there was made of other files, other code or other limits)" if there else ""
        words = f"there are no results of this study in {where}{other}; `cvxlink study run` computes them"
        raise InvalidInput(words, "folder")
    return *usable, *(record for record in there if record.get("outside"))
