"""Checks on arguments that are not numbers: words, paths and objects; and how any value is shown in a message."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from scipy.sparse import issparse

from ..errors import InvalidInput, visible

T = TypeVar("T")


def shown(value: Any, most: int = 80) -> str:
    """Return a value as text for a message: one short line that can be printed, whatever the value is."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # it may be nested too deeply, too long a number, or an object that raises anything
        text = f"an object of type {type(value).__name__}"
    text = visible(text)
    return text if len(text) <= most else f"{text[:most]}…"


def as_choice(value: Any, name: str, choices: Collection[str]) -> str:
    """Return one of some words."""
    if not isinstance(value, str) or value not in choices:
        *some, last = (repr(choice) for choice in choices)
        wanted = f"{', '.join(some)} or {last}" if some else last
        raise InvalidInput.about(name, f"must be {wanted}, not {shown(value)}")
    return value


def as_text(value: Any, name: str) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise InvalidInput.about(name, f"must be a text, not {shown(value)}")
    return value


def as_path(value: Any, name: str = "path") -> Path:
    """Return a path that can be the name of a file, whether there is one or not."""
    try:
        path = Path(value if isinstance(value, str) else os.fspath(value))
        text = os.fspath(path)
        good = isinstance(value, str | os.PathLike) and value != ""
    except Exception:  # numbers, None, bytes, and objects whose code raises anything
        good = False
    if not good:
        raise InvalidInput.about(name, f"must be a path, not {shown(value)}")
    try:
        os.lstat(text)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # whoever opens it says so
    except (OSError, ValueError) as error:  # too long, with a NUL, or not to be written in the names of files here
        reason = getattr(error, "strerror", None) or "it has characters that names of files cannot have"
        raise InvalidInput.about(name, f"cannot be the path {shown(text)}: {reason}") from error
    return path


def as_mapping(value: Any, name: str, what: str = "values by name") -> Mapping[str, Any]:
    """Return a mapping whose keys are names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput.about(name, f"must be a dictionary of {what}, not {shown(value)}")
    return value


def as_list(values: Any, name: str, what: str) -> list:
    """Return the items of something that has some; a text or a mapping is not a list of items."""
    try:
        if isinstance(values, str | bytes | Mapping) or issparse(values):
            raise TypeError
        return list(values)
    except Exception:  # reading objects runs their code, which may raise anything
        raise InvalidInput.about(name, f"must be a list of {what}, not {shown(values)}") from None


def as_instance(value: Any, kind: type[T] | tuple[type[T], ...], name: str, wanted: str) -> T:
    """Return an object of a certain kind; ``wanted`` says in words what to give instead."""
    if not isinstance(value, kind):
        raise InvalidInput.about(name, f"must be {wanted}, not {shown(value)}")
    return value
