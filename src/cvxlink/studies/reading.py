"""Studies in files: what is wrong in one is named by line and key. And studies written back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ..data.files.contents import bytes_of, text_in_utf8
from ..errors import InvalidInput
from ..numerics.arguments import as_list, as_mapping, as_path, shown
from .wording import WrongPart, meant

Part = TypeVar("Part")
# A study is described in some lines; a file of this size is something else.
MOST_BYTES = 2**20
SEVERAL_LINES = re.compile(r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'')
HEAD = re.compile(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]")


def content_of(path: Any) -> tuple[dict[str, Any], str]:
    """Return what a TOML file holds, and its text."""
    file = as_path(path)
    text = text_in_utf8(bytes_of(file, MOST_BYTES), file.name)
    try:
        return tomllib.loads(text), text
    except RecursionError as error:
        raise InvalidInput(f"{file.name} is not valid TOML: it has lists within lists without end", "path") from error
    except ValueError as error:  # also for whole numbers of thousands of digits
        raise InvalidInput(f"{file.name} is not valid TOML: {error}; {_hint(str(error))}", "path") from error


def _hint(words: str) -> str:
    """Return what may be wrong, for those who do not know the words of parsers."""
    if any(word in words for word in ("overwrite", "twice", "namespace", "Duplicate")):
        return "is a key or a table given twice?"
    return "is a quotation mark or a bracket missing? Texts need quotation marks, and lists brackets"


class Reader:
    """Makes a study of a description, and says where in it something is wrong; the text serves to name lines."""

    def __init__(self, content: Any, where: str, text: str = "") -> None:
        self.content = as_mapping(content, "content", "what a file of a study holds")
        self.where = where
        # Texts of several lines may hold anything, also what looks like keys.
        self.lines = SEVERAL_LINES.sub(lambda found: "\n" * found[0].count("\n"), text).split("\n")

    def study(self, kind: type[Part], parts: Mapping[str, type], **given: Any) -> Part:
        """Return the study; ``parts`` are its tables."""
        content = {**self.content}
        self.keys(content, kind, "", leave_out=tuple(given))
        for name in ("title", *parts):
            if name not in content:
                how = 'title = "…"' if name == "title" else f"[[{name}]]"
                raise self.wrong("", None, f"there is no {name}; add {how}")
        for name, of in parts.items():
            content[name] = self.tables(name, of)
        return self.made(kind, {**content, **given}, "")

    def tables(self, name: str, kind: type) -> list[Any]:
        """Return what the tables of a name are made of."""
        try:
            tables = as_list(self.content[name], name, "tables")
        except InvalidInput:
            tables = []
        if not tables or not all(isinstance(one, Mapping) for one in tables):
            raise self.wrong("", name, f"{name} must be tables: write [[{name}]] above each")
        for k, one in enumerate(tables):
            self.keys(one, kind, name, k)
        return [self.made(kind, one, name, k) for k, one in enumerate(tables)]

    def keys(
        self, given: Mapping[str, Any], kind: Any, table: str, k: int = 0, leave_out: tuple[str, ...] = ()
    ) -> None:
        """Raise if a key is not known."""
        known = [one.name for one in fields(kind) if one.name not in leave_out]
        for key in given:
            if key not in known:
                raise self.wrong(table, key, f"{_called(table, k, key)} is not known{meant(key, known)}", k)

    def made(self, kind: Callable[..., Part], given: Mapping[str, Any], table: str, k: int = 0) -> Part:
        """Return what is made of a table; its complaints get a file, a line and a key."""
        try:
            return kind(**given)
        except WrongPart as error:
            raise self.wrong(error.table, error.key, str(error), error.k) from error
        except InvalidInput as error:
            name = error.argument or ""
            key = name.partition(".")[0]
            words = error.worded({name: _called(table, k, name)})
            raise self.wrong(table, key if key in given else None, words, k) from error

    def wrong(self, table: str, key: str | None, words: str, k: int = 0) -> InvalidInput:
        """Return an error that names file and line."""
        line = self._line(table, key, k)
        place = f"{self.where}, line {line}: " if line else f"{self.where}: " if self.lines != [""] else ""
        return InvalidInput(f"{place}{words}", "path" if self.lines != [""] else "content")

    def _line(self, table: str, key: str | None, k: int) -> int | None:
        """Return the line of a key of the k-th table of a name, or of its head."""
        current, count, head_at = "", -1, None
        for number, line in enumerate(self.lines, 1):
            head = HEAD.match(line)
            if head:
                current = re.sub(r"[\"'\s]", "", head[1])
                count += current == table
                if current == table and count == k:
                    head_at = number
            if key is None and head_at:
                return number
            inside = current == table and (not table or count == k)
            if key is not None and inside and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
                return number
            # A table of its own, such as [instances.options], belongs to the one before it.
            if key is not None and head and current == f"{table}.{key}".lstrip(".") and (not table or count == k):
                return number
        # Inline tables are all in the lines of their list.
        return head_at or (self._line("", table, 0) if table else None)


def _called(table: str, k: int, key: str) -> str:
    return f"{table}[{k}].{key}" if table else key


# ---------------------------------------------------------------------- writing


def in_toml(value: Any) -> str:
    """Return a value as TOML writes it, tables in one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(name)} = {in_toml(one)}" for name, one in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, int | float):
        return repr(value)  # also inf and nan
    raise InvalidInput(f"{shown(value)} cannot be written to a file of a study")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else in_toml(name)
