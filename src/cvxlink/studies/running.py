"""Run the cells of a study that are missing, several at a time, and keep each result at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from joblib import Parallel, delayed

from ..errors import CvxlinkError, InvalidInput
from ..numerics.arguments import as_instance, shown
from ..numerics.checks import as_count
from .cells import Cell, cells_of, place_of, require_usable
from .description import Study
from .judging import Outcome, outcome
from .recording import computed
from .store import Store

# Each job waits in a thread of its own.
MOST_JOBS = 512


class StudyFailed(CvxlinkError):
    """No cell of a study came to anything."""


@dataclass(frozen=True)
class Standing:
    """How far a study has come.

    Attributes
    ----------
    total, finished, failed : int
        Cells in all, those with a result, and those of them that are failures.
    other_versions : int
        Cells whose only results were made with other versions; they count as missing.
    damaged : int
        Lines of the file that could not be read.
    other_content : int
        Cells whose only results were made of something else of that name; they count as missing.
    seconds_left : float or None
        Estimated from the cells of this run; None before the first.
    """

    total: int
    finished: int
    failed: int
    other_versions: int = 0
    damaged: int = 0
    seconds_left: float | None = None
    other_content: int = 0

    def __str__(self) -> str:
        words = [f"{self.finished} of {self.total} cells finished, {self.failed} of them failures"]
        if self.other_versions:
            words.append(f"{self.other_versions} were made with other versions and are to be computed again")
        if self.other_content:
            why = "because a file, a formulation or the limits have changed"
            words.append(f"{self.other_content} are to be computed again {why}")
        if self.damaged:
            words.append(f"{self.damaged} damaged lines were set aside")
        if self.seconds_left is not None and self.finished < self.total:
            words.append(f"about {self.seconds_left:.0f} s left")
        return "; ".join(words)


def standing(study: Study, folder: str | Path) -> Standing:
    """Return how far a study has come, from the results in its folder."""
    store, cells = Store(folder), cells_of(study)
    records = {record["key"]: record for record in store.records()}
    made = {record.get("identity") for record in records.values()}
    places = {place_of(record) for record in records.values()}
    done = [records[cell.key] for cell in cells if cell.key in records]
    missing = [cell for cell in cells if cell.key not in records]
    others = sum(cell.identity in made for cell in missing)
    content = sum(cell.place in places and cell.identity not in made for cell in missing)
    return Standing(len(cells), len(done), sum(map(is_failure, done)), others, store.damaged(), other_content=content)


def run(
    study: Study,
    folder: str | Path,
    jobs: int = 1,
    only: Callable[[Cell], bool] | None = None,
    tell: Callable[[Standing, dict[str, Any]], Any] | None = None,
) -> tuple[dict[str, Any], ...]:
    """Compute what is missing in a folder, and return all results of the study.

    Each result is on the disk before the next one counts, so a run can be ended in any way at any time; the same call
    goes on from there. Each cell runs in its own process, with the limits of the study.
    """
    jobs = as_count(jobs, "jobs", 1, MOST_JOBS)
    for name, function in (("only", only), ("tell", tell)):
        if function is not None and not callable(function):
            raise InvalidInput.about(name, f"must be a function, or None, not {shown(function)}")
    require_usable(as_instance(study, Study, "study", "a Study"))
    cells, store = [cell for cell in cells_of(study) if only is None or only(cell)], Store(folder)
    with store.writer() as writer:
        known = {record["key"]: record for record in store.records()}
        missing = [cell for cell in cells if cell.key not in known]
        began, finished = perf_counter(), len(cells) - len(missing)
        failed = sum(is_failure(known[cell.key]) for cell in cells if cell.key in known)
        for number, record in enumerate(_results(missing, jobs), 1):
            writer.add(record)
            known[record["key"]] = record
            failed += is_failure(record)
            if tell is not None:
                left = (perf_counter() - began) / number * (len(missing) - number)
                tell(Standing(len(cells), finished + number, failed, seconds_left=left), record)
    records = tuple(known[cell.key] for cell in cells)
    if records and all(map(is_failure, records)):
        reasons = sorted({str(record.get("reason")) for record in records})
        raise StudyFailed(f"all {len(records)} cells of the study failed; the first reason is: {reasons[0]}")
    return records


def is_failure(record: dict[str, Any]) -> bool:
    """Whether a cell came to nothing: not proven, or without scores or numbers."""
    if "scores" in record or "numbers" in record:
        return False
    return outcome(record) is not Outcome.PROVEN


def _results(cells: list[Cell], jobs: int) -> Iterable[dict[str, Any]]:
    """Yield results as they come. Threads only wait: the work is done in processes with limits."""
    return Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered")(
        delayed(computed)(cell) for cell in cells
    )
