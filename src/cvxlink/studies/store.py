"""Results on disk: one line of JSON per cell, added as it comes, by one writer at a time.

A line is written whole and forced to the disk before the next cell counts as done. Whatever is killed, at most the
cells in work are lost. A line that was cut short or damaged is set aside, in a file beside the results, and its cell is
computed again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import CvxlinkError, InvalidInput
from ..numerics.arguments import as_path

RESULTS, DAMAGED, LOCK = "results.jsonl", "damaged.jsonl", ".lock"


class StudyBusy(CvxlinkError):
    """Another process writes to the folder of this study."""


class Store:
    """The results of a study in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = as_path(folder, "folder")
        self.path = self.folder / RESULTS

    def records(self) -> tuple[dict[str, Any], ...]:
        """Return the results, the newest of each key; lines that cannot be read are left out."""
        return tuple({record["key"]: record for record in self._good_lines()}.values())

    def damaged(self) -> int:
        """Return how many lines cannot be read, or were set aside before."""
        aside = self.folder / DAMAGED
        before = len(aside.read_bytes().splitlines()) if aside.exists() else 0
        return before + sum(_record(line) is None for line in self._lines())

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Yield the one writer; raise :class:`StudyBusy` if another process has it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK).open("a")
        except OSError as error:
            words = f"the folder {self.folder} cannot be used: {error.strerror or error}; choose another one"
            raise InvalidInput(words, "folder") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyBusy(
                    f"another run writes to {self.folder}; wait for it, stop it, or choose another folder with --folder"
                ) from None
            self._mend()
            # Without a buffer, a line that could not be written is not written later, behind another one.
            with self.path.open("ab", buffering=0) as file:
                yield Writer(file, self.folder)

    def _lines(self) -> list[bytes]:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        return [line for line in content.split(b"\n") if line.strip()]

    def _good_lines(self) -> Iterator[dict[str, Any]]:
        for line in self._lines():
            record = _record(line)
            if record is not None:
                yield record

    def _mend(self) -> None:
        """Set damaged lines aside, so that the file ends in a whole line."""
        lines = self._lines()
        bad = [line for line in lines if _record(line) is None]
        whole = b"".join(line + b"\n" for line in lines if _record(line) is not None)
        if not bad and (not self.path.exists() or self.path.read_bytes() == whole):
            return
        with (self.folder / DAMAGED).open("ab") as aside:
            aside.write(b"".join(line + b"\n" for line in bad))
            os.fsync(aside.fileno())
        new = self.path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(whole)
            os.fsync(file.fileno())
        new.replace(self.path)


class Writer:
    """Adds results to the file of a study."""

    def __init__(self, file: Any, folder: Path) -> None:
        self.file, self.folder = file, folder

    def add(self, record: dict[str, Any]) -> None:
        """Write one result, to the disk."""
        end, left = os.fstat(self.file.fileno()).st_size, json.dumps(record).encode() + b"\n"
        try:
            while left:
                left = left[self.file.write(left) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            with_what = f"{self.folder}: {error.strerror or error}"
            with suppress(OSError):  # a line that was cut short is set aside by the next run
                os.truncate(self.file.fileno(), end)
            raise InvalidInput(
                f"the results cannot be written to {with_what}; what was computed before is kept. Make room, then "
                f"`cvxlink study resume` goes on",
                "folder",
            ) from error


def merged(folders: list[Path], into: Path) -> int:
    """Put the results of several folders into one; return how many are new there."""
    target = Store(into)
    with target.writer() as writer:
        known = {record["key"] for record in target.records()}
        added = 0
        for folder in folders:
            if not (folder / RESULTS).exists():
                raise InvalidInput(f"there are no results in {folder}: it has no {RESULTS}", "folders")
            for record in Store(folder).records():
                if record["key"] not in known:
                    known.add(record["key"])
                    writer.add(record)
                    added += 1
    return added


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the result in a line, or None if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    named = isinstance(record, dict) and isinstance(record.get("key"), str)
    return record if named and isinstance(record.get("instance"), str) and "configuration" in record else None
