"""Results on disk: one line of JSON per cell, added as it comes, by one writer at a time.

A line is written whole and forced to the disk before the next cell counts as done. Whatever is killed, at most the
cells in work are lost. A line that was cut short or damaged is set aside, in a file beside the results, and its cell is
computed again. What the machines are, on which cells were computed, is written once for each, in a file of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import CvxlinkError, InvalidInput
from ..numerics.arguments import as_path
from .environment import hash_of
from .record import is_result

RESULTS, ENVIRONMENTS, DAMAGED, LOCK = "results.jsonl", "environments.jsonl", "damaged.jsonl", ".lock"


class StudyBusy(CvxlinkError):
    """Another process writes to the folder of this study."""


class Store:
    """The results of a study in a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = as_path(folder, "folder")
        self.path = self.folder / RESULTS

    def records(self) -> tuple[dict[str, Any], ...]:
        """Return the results, the newest of each key; lines that cannot be read are left out."""
        return tuple({record["key"]: record for record in _good(_lines(self.path), _record)}.values())

    def environments(self) -> dict[str, dict[str, Any]]:
        """Return what the machines are that computed the cells, by the hashes in the results."""
        lines = _lines(self.folder / ENVIRONMENTS)
        return {line["environment"]: line["is"] for line in _good(lines, _environment)}

    def damaged(self) -> int:
        """Return how many lines cannot be read, or were set aside before."""
        now = sum(_record(line) is None for line in _lines(self.path))
        return now + len(_lines(self.folder / DAMAGED))

    @contextmanager
    def writer(self) -> Iterator[Writer]:
        """Yield the one writer; raise :class:`StudyBusy` if another process has it."""
        with self._usable():
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK).open("a")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyBusy(
                    f"another run writes to {self.folder}; wait for it, stop it, or choose another folder with --folder"
                ) from None
            except OSError as error:
                words = f"the folder {self.folder} cannot be locked ({error.strerror}); choose one on another disk"
                raise InvalidInput(words, "folder") from error
            with self._usable():
                _mend(self.path, _record, self.folder / DAMAGED)
                _mend(self.folder / ENVIRONMENTS, _environment)
                # Without a buffer, a line that could not be written is not written later, behind another one.
                results = self.path.open("ab", buffering=0)
                environments = (self.folder / ENVIRONMENTS).open("ab", buffering=0)
            with results, environments:
                yield Writer(results, environments, self)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            words = f"the folder {self.folder} cannot be used: {error.strerror or error}; choose another one"
            raise InvalidInput(words, "folder") from error


class Writer:
    """Adds results to the file of a study."""

    def __init__(self, results: Any, environments: Any, store: Store) -> None:
        self.results, self.environments, self.folder = results, environments, store.folder
        self.known = set(store.environments())

    def add(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write one result, to the disk, and return it as it is written: it names its environment by a hash."""
        described = record.get("environment")
        if isinstance(described, dict):
            name = hash_of(described)
            if name not in self.known:
                self._write(self.environments, {"environment": name, "is": described})
                self.known.add(name)
            record = {**record, "environment": name}
        self._write(self.results, record)
        return dict(record)

    def _write(self, file: Any, content: Mapping[str, Any]) -> None:
        """Write a line; one that was cut short is set aside by the next run if it cannot be taken back now."""
        end, left = os.fstat(file.fileno()).st_size, json.dumps(content, default=_plain).encode() + b"\n"
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError as error:
            with_what = f"{self.folder}: {error.strerror or error}"
            with suppress(OSError):
                os.truncate(file.fileno(), end)
            raise InvalidInput(
                f"the results cannot be written to {with_what}; what was computed before is kept. Make room, then "
                f"`cvxlink study resume` goes on",
                "folder",
            ) from error


def merged(folders: list[Path], into: Path) -> int:
    """Put the results of several folders into one; return how many are new there."""
    for folder in folders:
        if not (folder / RESULTS).exists():
            raise InvalidInput(f"there are no results in {folder}: it has no {RESULTS}", "folders")
    target, added = Store(into), 0
    with target.writer() as writer:
        known = {record["key"] for record in target.records()}
        for folder in folders:
            source = Store(folder)
            environments = source.environments()
            for record in source.records():
                if record["key"] not in known:
                    known.add(record["key"])
                    name = record.get("environment")
                    writer.add({**record, "environment": environments.get(name, name)} if name else record)
                    added += 1
    return added


# ---------------------------------------------------------------------- lines


def _plain(value: Any) -> Any:
    """Return a number of numpy's as Python's, and anything else that JSON does not know as text."""
    return value.item() if hasattr(value, "item") else str(value)


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file that are not empty; no lines if there is no such file."""
    try:
        # Asked first: to read a pipe, for example, would wait for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is not a file; move it away, or choose another folder", "folder")
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        words = f"{path} cannot be read: {error.strerror or error}; make it readable, or choose another folder"
        raise InvalidInput(words, "folder") from error
    return [line for line in content.split(b"\n") if line.strip()]


def _good(lines: list[bytes], read: Callable[[bytes], dict[str, Any] | None]) -> Iterator[dict[str, Any]]:
    return (content for content in map(read, lines) if content is not None)


def _mend(path: Path, read: Callable[[bytes], dict[str, Any] | None], aside: Path | None = None) -> None:
    """Set damaged lines aside, so that the file ends in a whole line."""
    lines = _lines(path)
    bad = [line for line in lines if read(line) is None]
    whole = b"".join(line + b"\n" for line in lines if read(line) is not None)
    if not bad and (not path.exists() or path.read_bytes() == whole):
        return
    if aside is not None and bad:
        _lines(aside)  # raises if it is not a file
        with aside.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in bad))
            os.fsync(file.fileno())
    new = path.with_suffix(".new")
    with new.open("wb") as file:
        file.write(whole)
        os.fsync(file.fileno())
    new.replace(path)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _environment(line: bytes) -> dict[str, Any] | None:
    """Return a line that says what a machine is, or None if it is damaged."""
    content = _object(line)
    right = content is not None and isinstance(content.get("is"), dict)
    return content if right and content and content.get("environment") == hash_of(content["is"]) else None


def _record(line: bytes) -> dict[str, Any] | None:
    """Return the result in a line, or None if it is damaged."""
    record = _object(line)
    return record if record is not None and is_result(record) and isinstance(record.get("key"), str) else None
