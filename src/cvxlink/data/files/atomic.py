"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
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
    try:
        if path.exists() and other.exists():
            return path.is_file() and path.samefile(other)
        return path.resolve() == other.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, or no name of a file: refused when it is opened
        return False


@contextmanager
def put_in_place(path: Path | None) -> Iterator[Path | None]:
    """Yield a temporary file to write to; it replaces ``path`` if all goes well, and is removed otherwise.

    An error is raised at once if no file can be written there. A link leads to the file it names, which keeps its mode
    and its owner. Special files such as ``/dev/stdout`` are written to directly. Without a path there is nothing to do.
    """
    if path is None:
        yield path
        return
    with _one_sentence(path):
        is_special = path.exists() and not path.is_file() and not path.is_dir()
        target = path if is_special else _target(path)
        temporary = path if is_special else _beside(path, target)
    if not is_special:
        _unfinished.add(temporary)
    try:
        with _one_sentence(path):
            yield temporary
            if not is_special:
                _replace(target, temporary)
    finally:
        if not is_special:
            temporary.unlink(missing_ok=True)
            _unfinished.discard(temporary)


def remove_unfinished() -> None:
    """Remove the temporary files that are being written, because this process is about to end at once."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file that appears whole or not at all; text is written in UTF-8."""
    with put_in_place(path) as new:
        assert new is not None
        new.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # whoever read the output has seen enough
        raise
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror or error}; choose another path", "path"
        ) from error


def _target(path: Path) -> Path:
    """Return the file that a path leads to, through links."""
    try:
        return path.resolve()
    except RuntimeError:  # Python before 3.13 says so in this way
        raise InvalidInput(
            f"{path} cannot be written: its links lead in a circle; choose another path", "path"
        ) from None
    except ValueError:
        raise InvalidInput(f"{str(path)!r} cannot be written: it is not the name of a file", "path") from None


def _beside(path: Path, target: Path) -> Path:
    """Return a new empty file in the folder of another."""
    if target.is_dir():
        raise InvalidInput(f"{path} cannot be written: it is a folder; name a file in it", "path")
    if target.is_symlink():
        raise InvalidInput(f"{path} cannot be written: its links lead in a circle; name another", "path")
    if target.exists() and not os.access(target, os.W_OK):
        raise InvalidInput(f"{path} cannot be written: it is protected; choose another name", "path")
    if not target.parent.is_dir():
        raise InvalidInput(f"{path} cannot be written: there is no folder {path.parent}; make it first", "path")
    # A name that is as long as names may be has room for no more.
    handle, name = mkstemp(prefix=f".{target.stem[:40]}-", suffix=target.suffix[-20:], dir=target.parent)
    os.close(handle)
    return Path(name)


def _replace(target: Path, temporary: Path) -> None:
    """Put a file in the place of another, on the disk too, with its mode and owner."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if target.exists():
        old = target.stat()
        with suppress(PermissionError):  # only root may give files away
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(old.st_mode)
    else:
        temporary.chmod(0o666 & ~_umask())
    temporary.replace(target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
