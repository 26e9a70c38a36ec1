"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp

from ...errors import InvalidInput

_unfinished: set[Path] = set()


def require_new(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None]) -> None:
    """Raise if an output file is also an input file, or is named twice.

    Parameters
    ----------
    outputs : dict
        Files by the option that names them.
    inputs : dict
        Files by the words that describe them in messages, such as "holds the points".
    """
    taken = {what: path for what, path in inputs.items() if path is not None}
    for option, path in outputs.items():
        if path is None:
            continue
        for what, other in taken.items():
            if _is_same(path, other):
                raise InvalidInput(f"{option} would overwrite {path}, which {what}; choose another name")
        taken[f"{option} names too"] = path


def _is_same(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file; a terminal may well be read and written."""
    if path.exists() and other.exists():
        return path.is_file() and path.samefile(other)
    return path.resolve() == other.resolve()


@contextmanager
def put_in_place(path: Path | None) -> Iterator[Path | None]:
    """Yield a temporary file to write to; it replaces ``path`` if all goes well, and is removed otherwise.

    An error is raised at once if no file can be written there. Special files such as ``/dev/stdout`` are written to
    directly. Without a path there is nothing to do.
    """
    if path is None or (path.exists() and not path.is_file() and not path.is_dir()):
        yield path
        return
    target = path.resolve()
    temporary = _beside(path, target)
    _unfinished.add(temporary)
    try:
        yield temporary
        temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
        _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files that are being written, because this process is about to end at once."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def _beside(path: Path, target: Path) -> Path:
    """Return a new empty file in the folder of another."""
    if target.is_dir():
        raise InvalidInput(f"{path} cannot be written: it is a folder; name a file in it")
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidInput(f"{path} cannot be written: it is protected; choose another name")
    if not target.parent.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}; make it first")
    try:
        handle, name = mkstemp(prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}; choose another folder") from error
    os.close(handle)
    return Path(name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
