"""The results of a study for those who call from Python: what is there, and what it says, with checked arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..engine.options import as_accuracy
from ..errors import InvalidInput
from ..numerics.arguments import as_instance, as_list, as_mapping, as_path, as_text, shown
from .cells import cells_of
from .description import Study
from .judging import Outcome
from .judging import outcome as judged
from .page import save_page as write_page
from .record import is_result
from .store import Store
from .summary import summary as in_words

Record = Mapping[str, Any]


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
    cells = cells_of(study)
    there = Store(where).records()
    by_key = {record["key"]: record for record in there}
    latest = {record.get("identity"): record for record in there}
    found = [by_key.get(cell.key) or latest.get(cell.identity) for cell in cells]
    usable = tuple(record for record in found if record is not None)
    if not usable:
        other = " (what is there was made of other files, other code or other limits)" if there else ""
        words = f"there are no results of this study in {shown(str(where))}{other}; `cvxlink study run` computes them"
        raise InvalidInput(words, "folder")
    return *usable, *(record for record in there if record.get("outside"))


def outcome(record: Record, accuracy: float | None = None) -> Outcome:
    """Return what came of a cell of a study of solvers.

    Parameters
    ----------
    record : dict
        One of those that :func:`run` returns.
    accuracy : float, optional
        At which accuracy it is judged, by default at the one that was asked for. A solver is wrong only where it missed
        the accuracy that it was asked for: at a finer one it has claimed nothing.
    """
    accuracy = as_accuracy(accuracy)
    if _as_result(record, "record").get("accuracy") is None:
        raise InvalidInput.about("record", "has no accuracy that was asked for, so nothing can be said of it")
    return judged(record, accuracy)


def summary(study: Study, records: Sequence[Record], score: str = "ari", folder: str | Path | None = None) -> str:
    """Return what a study found, in words and tables.

    Parameters
    ----------
    study : Study
    records : list of dict
        As :func:`run` returns them.
    score : str
        In studies of methods: what they are compared by, "ari", "nmi", "error", "pairwise" or "violated".
    folder : path, optional
        Where they are kept, which also knows the machines that computed them, and so whether these were busy.
    """
    study, found = as_instance(study, Study, "study", "a Study"), _as_results(records)
    return in_words(study, found, as_text(score, "score"), _machines(folder))


def save_page(path: str | Path, study: Study, records: Sequence[Record], folder: str | Path | None = None) -> Path:
    """Write what a study found as one HTML file that needs no network.

    Parameters
    ----------
    path : path
        The file to write.
    study : Study
    records : list of dict
        As :func:`run` returns them.
    folder : path, optional
        Where they are kept, which also knows the machines that computed them.
    """
    path, study, found = as_path(path), as_instance(study, Study, "study", "a Study"), _as_results(records)
    write_page(path, study, found, _machines(folder))
    return path


def _machines(folder: Any) -> Mapping[str, Mapping[str, Any]]:
    return {} if folder is None else Store(as_path(folder, "folder")).environments()


def _as_results(values: Any) -> list[Record]:
    return [_as_result(value, "records") for value in as_list(values, "records", "results of cells")]


def _as_result(value: Any, name: str) -> Record:
    if not is_result(as_mapping(value, name, "what a cell came to")):
        raise InvalidInput.about(name, f"must be as run() returns them, not {shown(value)}")
    return value
