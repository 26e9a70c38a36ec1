"""Archives of arrays: zip files of ``.npy`` members, as numpy writes them, and at most one member of JSON.

Nothing in them is ever run. What a member claims to hold is compared with its size before memory is taken for it, and
the sizes of all members together with a limit.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InvalidFile
from .contents import require_readable

# Of the archive, and of its members once they are unpacked.
MOST_BYTES = 2**31
MOST_BYTES_OF_JSON = 2**26
MOST_MEMBERS = 100_000
JSON = ".json"
ARRAY = ".npy"
# Truth values, whole numbers, floats and text; in particular no objects, which would have to be unpickled.
KINDS = "biufUS"
# Versions of numpy's format: that of the header alone differs between them.
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def write_archive(path: Path, arrays: Mapping[str, np.ndarray], header: Mapping[str, Any], name: str) -> None:
    """Write arrays and a header, which becomes the JSON member ``name``; nothing is compressed.

    Members have no time of writing, so that equal content makes equal files.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        text = json.dumps(header, ensure_ascii=False, allow_nan=False, indent=1)
        archive.writestr(zipfile.ZipInfo(name + JSON), text.encode())
        for key, array in arrays.items():
            packed = io.BytesIO()
            np.lib.format.write_array(packed, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(key + ARRAY), packed.getbuffer())


def read_archive(path: Path, most: int = MOST_BYTES) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the JSON members of an archive by their names, without their endings.

    Raises
    ------
    InvalidFile
        If the file is damaged, claims more than it holds or more than ``most`` bytes, or has members of other kinds.
    """
    require_readable(path, most)
    arrays: dict[str, np.ndarray] = {}
    texts: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for member in _checked(archive, most):
                stem, _, ending = member.filename.rpartition(".")
                if f".{ending}" == JSON:
                    texts[stem] = json.loads(archive.read(member), object_pairs_hook=_without_repetition)
                else:
                    arrays[stem] = _array(archive, member)
    except _Wrong as wrong:
        raise InvalidFile(f"{path}: {wrong}") from None
    except zipfile.BadZipFile as error:
        raise InvalidFile(f"{path} is damaged or cut short: {error}") from error
    except Exception as error:  # zipfile, zlib, json and numpy have errors of many kinds for damaged bytes
        words = str(error) or type(error).__name__
        raise InvalidFile(f"{path} is damaged: {words}") from error
    return arrays, texts


class _Wrong(Exception):
    """What is wrong with an archive, without its name."""


def _checked(archive: zipfile.ZipFile, most: int) -> list[zipfile.ZipInfo]:
    """Return the members, after a look at their names and sizes."""
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise _Wrong(f"it has {len(members)} members; at most {MOST_MEMBERS} are read")
    if sum(member.file_size for member in members) > most:
        raise _Wrong(f"its members claim more than {most >> 20} MiB, which is the most that is read")
    seen = set()
    for member in members:
        name = member.filename
        if name in seen:
            raise _Wrong(f"the member {name!r} is there twice")
        seen.add(name)
        if not name.endswith((JSON, ARRAY)):
            raise _Wrong(f"the member {name[:60]!r} is neither an array ({ARRAY}) nor {JSON}")
        if name.endswith(JSON) and member.file_size > MOST_BYTES_OF_JSON:
            raise _Wrong(f"the member {name!r} claims more than {MOST_BYTES_OF_JSON >> 20} MiB")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _Wrong(f"the member {name!r} is packed in an unusual way; write it with numpy.savez")
    return members


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version not in HEADERS:
            raise _Wrong(f"the member {member.filename!r} has the unknown version {version}")
        shape, by_columns, dtype = HEADERS[version](file)
        if dtype.kind not in KINDS or dtype.hasobject:
            raise _Wrong(f"the member {member.filename!r} holds {dtype}; only numbers and text are read")
        claimed, left = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
        if any(size < 0 for size in shape) or claimed != left:
            raise _Wrong(f"the member {member.filename!r} claims the shape {shape}, which is not what it holds")
        content = file.read(left + 1)
    if len(content) != claimed:
        raise _Wrong(f"the member {member.filename!r} does not hold the {claimed} bytes that it claims")
    if not dtype.itemsize:
        raise _Wrong(f"the member {member.filename!r} holds entries of no size")
    array = np.frombuffer(content, dtype).reshape(shape, order="F" if by_columns else "C")
    return array.astype(dtype.newbyteorder("="))  # a copy that may be written to


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Wrong("its JSON has a key twice")
    return found
