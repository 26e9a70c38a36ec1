"""Put the page together: template, styles, scripts and data become one file that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...data.files.atomic import write_whole
from ..description import Study
from .content import content
from .packing import packed, without_long

# In the order in which they are read: each uses what stands before it.
SCRIPTS = (
    *("records.js", "statistics.js", "svg.js", "curves.js", "marks.js", "tables.js", "details.js", "about.js"),
    *("controls.js", "page.js"),
)
# A page that is mailed around stays below 3 MB; logs and plans are cut to the longest of these that allows it.
MOST_BYTES = 2_900_000
LONGEST = (2000, 1000, 500, 250, 100, 0)


def save_page(
    path: str | Path,
    study: Study,
    records: Sequence[Mapping[str, Any]],
    environments: Mapping[str, Mapping[str, Any]] | None = None,
    file: str = "study.toml",
    score: str = "ari",
) -> None:
    """Write a study as one HTML file; the arguments are those of :func:`page`."""
    write_whole(Path(path), page(study, records, environments, file, score))


def page(
    study: Study,
    records: Sequence[Mapping[str, Any]],
    environments: Mapping[str, Mapping[str, Any]] | None = None,
    file: str = "study.toml",
    score: str = "ari",
) -> str:
    """Return a study as one HTML page that needs no network.

    Parameters
    ----------
    study : Study
    records : sequence of dict
        Results of its cells, as :func:`cvxlink.studies.running.run` returns them.
    environments : dict, optional
        The machines the cells ran on, by the name that records have for them.
    file : str
        The name of the study's file, for the commands that repeat a cell.

    score : str
        In studies of methods: what they are compared by first; the page lets its reader choose another one.

    Returns
    -------
    str
        The page. It stays below 3 MB for 2000 cells: logs and plans are cut if they have to be, and the page
        says so.
    """
    about = content(study, records, environments or {}, file, score)
    for longest in LONGEST:
        kept = [without_long(record, longest) for record in records]
        text = _assembled(study.title, about | {"longest": longest} | packed(kept))
        if len(text.encode("utf-8")) <= MOST_BYTES:
            break
    return text


def _assembled(title: str, data: Mapping[str, Any]) -> str:
    """Fill the template. Scripts and styles are allowed by their hashes, and nothing may be loaded."""
    style = _source("page.css")
    script = "(() => {\n'use strict';\n" + "\n".join(map(_source, SCRIPTS)) + "\n})();\n"
    parts = {
        "TITLE": html.escape(title.encode("utf-8", "replace").decode("utf-8")),
        "STYLE": style,
        "SCRIPT": script,
        "STYLE_HASH": _hash(style),
        "SCRIPT_HASH": _hash(script),
        "DATA": _in_script(data),
    }
    pieces = _source("page.html").split("@@")
    return "".join(parts[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def _source(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _in_script(data: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
