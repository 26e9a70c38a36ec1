"""Run the cells of a study that are missing, several at a time, and keep each result at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from ..engine.options import in_bytes
from ..engine.sharing import shared_out
from ..errors import CvxlinkError, InvalidInput
from ..numerics.arguments import as_instance, as_text, shown
from ..numerics.checks import as_count
from ..numerics.versions import differences
from ..solvers.capacity import memory_there_is
from .cells import Cell, cells_of, place_of, require_usable
from .description import Study
from .judging import Outcome, outcome
from .recording import computed, lost, unfitness
from .store import Store

# Each job waits in a thread of its own.
MOST_JOBS = 512
# Where every cell failed: so many reasons are said, and so many characters of each.
MOST_REASONS, LONGEST_REASON = 5, 300


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
    which_versions : tuple of str
        Which versions have changed since, in words.
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
    which_versions: tuple[str, ...] = ()

    @property
    def remaining(self) -> int:
        """How many cells have no result yet."""
        return self.total - self.finished

    def __str__(self) -> str:
        failures = f", {self.failed} of them failures" if self.failed else ""
        words = [f"{self.finished} of {self.total} cells finished{failures}"]
        if self.other_versions:
            which = f" ({'; '.join(self.which_versions)})" if self.which_versions else ""
            words.append(f"{self.other_versions} were made with other versions{which} and are to be computed again")
        if self.other_content:
            why = "because a file, a formulation or the limits have changed"
            words.append(f"{self.other_content} are to be computed again {why}")
        if self.damaged:
            words.append(f"{self.damaged} damaged lines were set aside")
        if self.seconds_left is not None and self.remaining:
            words.append(f"about {self.seconds_left:.0f} s left")
        return "; ".join(words)


def standing(study: Study, folder: str | Path, only: Callable[[Cell], bool] | None = None) -> Standing:
    """Return how far a study has come, or some of its cells, from the results in its folder."""
    store, cells = Store(folder), _chosen(study, only)
    records = {record["key"]: record for record in store.records()}
    made = {record.get("identity"): record for record in records.values()}
    places = {place_of(record) for record in records.values()}
    done = [records[cell.key] for cell in cells if cell.key in records]
    missing = [cell for cell in cells if cell.key not in records]
    others = [cell for cell in missing if cell.identity in made]
    differ = {
        f"{name} {before} then, {now} now"
        for cell in others
        for name, before, now in differences(made[cell.identity].get("versions") or {}, cell.versions)
    }
    return Standing(
        len(cells),
        len(done),
        sum(map(is_failure, done)),
        len(others),
        store.damaged(),
        other_content=sum(cell.place in places and cell.identity not in made for cell in missing),
        which_versions=tuple(sorted(differ)),
    )


def run(
    study: Study,
    folder: str | Path,
    jobs: int = 1,
    only: Callable[[Cell], bool] | None = None,
    tell: Callable[[Standing, dict[str, Any]], Any] | None = None,
    scheduler: str | None = None,
    begin: Callable[[Standing], Any] | None = None,
) -> tuple[dict[str, Any], ...]:
    """Compute what is missing in a folder, and return all results of the study.

    Each result is on the disk before the next one counts, so a run can be ended in any way at any time; the same call
    goes on from there. Each cell runs in its own process, with the limits of the study.

    Parameters
    ----------
    study : Study
    folder : path
        Where results are kept.
    jobs : int
        How many cells are computed at a time on this machine.
    only : callable, optional
        Says of a cell whether it is to be computed; by default all are.
    tell : callable, optional
        Is called with the standing and the record after each cell.
    scheduler : str, optional
        The address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers compute the cells instead of this
        machine; they need the extra ``cvxlink[cluster]``. This process still writes the results.
    begin : callable, optional
        Is called with the standing once all is checked, before the first cell.
    """
    as_instance(study, Study, "study", "a Study")
    jobs, memory = as_count(jobs, "jobs", 1, MOST_JOBS), in_bytes(study.memory_limit)
    _require_function(tell, "tell")
    _require_function(begin, "begin")
    if scheduler is None:
        _require_memory(memory, jobs)
    else:
        as_text(scheduler, "scheduler")
        if jobs > 1:
            words = "jobs counts cells on this machine, and scheduler names a cluster; give one of them"
            raise InvalidInput(words, "jobs")
    require_usable(study)
    cells, store = _chosen(study, only), Store(folder)
    with store.writer() as writer:
        known = {record["key"]: record for record in store.records()}
        missing = [cell for cell in cells if cell.key not in known]
        if begin is not None:
            begin(standing(study, folder, only))
        began, finished = perf_counter(), len(cells) - len(missing)
        failed = sum(is_failure(known[cell.key]) for cell in cells if cell.key in known)
        found = shared_out(
            computed, missing, jobs, scheduler if missing else None, unfitness, _samples(missing), memory, waits=True
        )
        with closing(found) as results:
            for count, (number, result) in enumerate(results, 1):
                record = writer.add(lost(missing[number]) if result is None else result)
                known[record["key"]] = record
                failed += is_failure(record)
                if tell is not None:
                    left = (perf_counter() - began) / count * (len(missing) - count)
                    tell(Standing(len(cells), finished + count, failed, seconds_left=left), record)
    records = tuple(known[cell.key] for cell in cells)
    if records and all(map(is_failure, records)):
        raise StudyFailed(f"all {len(records)} cells failed; {_reasons(records)}")
    return records


def _reasons(records: tuple[dict[str, Any], ...]) -> str:
    """Return why configurations failed: the most frequent reason of each, and each reason once."""
    by_name: dict[str, Counter] = {}
    for record in records:
        words = str(record.get("reason") or outcome(record))
        by_name.setdefault(record["configuration"], Counter())[words] += 1
    by_reason: dict[str, list[str]] = {}
    for name in sorted(by_name):
        by_reason.setdefault(by_name[name].most_common(1)[0][0], []).append(name)
    said = [f"{', '.join(names)}: {_shortened(words)}" for words, names in by_reason.items()]
    more = len(said) - MOST_REASONS
    return "; ".join(said[:MOST_REASONS]) + (f"; and {more} more reasons, in the report" if more > 0 else "")


def _shortened(words: str) -> str:
    """Return the beginning of a long reason."""
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]} …"


def is_failure(record: dict[str, Any]) -> bool:
    """Whether a cell came to nothing: not proven, or without scores or numbers."""
    if "scores" in record or "numbers" in record:
        return False
    return outcome(record) is not Outcome.PROVEN


def _require_function(function: Any, name: str) -> None:
    if function is not None and not callable(function):
        raise InvalidInput.about(name, f"must be a function, or None, not {shown(function)}")


def _chosen(study: Study, only: Callable[[Cell], bool] | None) -> list[Cell]:
    _require_function(only, "only")
    return [cell for cell in cells_of(study) if only is None or only(cell)]


def _samples(cells: list[Cell]) -> list[Cell]:
    """Return cells among which is every instance and every configuration."""
    by_instance = {cell.instance.name: cell for cell in cells}
    by_configuration = {cell.configuration.name: cell for cell in cells}
    return list({cell.key: cell for cell in (*by_instance.values(), *by_configuration.values())}.values())


def _require_memory(memory: float | None, jobs: int) -> None:
    """Raise if cells that stay within their limit can use more memory together than this machine has."""
    there = memory_there_is()
    if memory is not None and memory * jobs > there:
        most = int(there // memory)
        advice = f"use {most} at a time, or a smaller memory_limit" if most else "choose a smaller memory_limit"
        cells = "one cell" if jobs == 1 else f"{jobs} cells at a time"
        raise InvalidInput(
            f"{cells} may use {memory * jobs / 1e9:.3g} GB, and this machine has {there / 1e9:.3g} GB; {advice}",
            "memory_limit",
        )
