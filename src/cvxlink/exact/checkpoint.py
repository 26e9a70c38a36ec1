"""The file of a search: its tree, what is open and the best clustering, as JSON that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.files.atomic import write_whole
from ..errors import InvalidFile, InvalidInput
from .evaluation import Bounding
from .tree import Node

VERSION = 1
FATES = ("open", "branched", "closed", "infeasible")
LARGEST_FILE = 1_000_000_000


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    nodes: tuple[Node, ...]
    labels: np.ndarray | None
    seconds: float


def fingerprint(bounding: Bounding) -> str:
    """Return what a problem is recognised by: a hash of its data and links."""
    digest = hashlib.sha256(type(bounding).__name__.encode())
    for array in (*bounding.arrays, bounding.links.must, bounding.links.cannot):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write(path: Path, bounding: Bounding, saved: Saved) -> None:
    """Write the file."""
    content = {
        "cvxlink": "search",
        "version": VERSION,
        "problem": fingerprint(bounding),
        "seconds": saved.seconds,
        "labels": None if saved.labels is None else saved.labels.tolist(),
        "nodes": [_plain(node) for node in saved.nodes],
    }
    write_whole(path, json.dumps(content) + "\n")


def read(path: Path, bounding: Bounding) -> Saved | None:
    """Read the file of an earlier search for the same problem; None if there is no file."""
    if not path.exists():
        return None
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ValueError("it is too large")
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["cvxlink"] != "search" or content["version"] != VERSION:
            raise ValueError("it is of another kind or version")
        problem, seconds = str(content["problem"]), float(content["seconds"])
        nodes = tuple(_node(number, entry) for number, entry in enumerate(content["nodes"]))
        labels = None if content["labels"] is None else np.array(content["labels"], dtype=int)
        _check(nodes, labels, bounding.links.n)
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidFile(f"{path} is not the file of a search ({error}); remove it, or name another file") from error
    if problem != fingerprint(bounding):
        raise InvalidInput(
            f"{path} belongs to another problem, with other points, links or clusters; name another file",
            "file",
        )
    return Saved(nodes, labels, seconds)


def _plain(node: Node) -> dict[str, Any]:
    entry = asdict(node)
    for name in ("bound", "value"):  # JSON has no infinities
        if entry[name] is not None and not math.isfinite(entry[name]):
            entry[name] = "inf" if entry[name] > 0 else "-inf"
    return entry


def _node(number: int, entry: dict[str, Any]) -> Node:
    link = None if entry["link"] is None else (str(entry["link"][0]), int(entry["link"][1]), int(entry["link"][2]))
    value = None if entry["value"] is None else float(entry["value"])
    parent = None if entry["parent"] is None else int(entry["parent"])
    fate = str(entry["fate"])
    node = Node(
        int(entry["number"]),
        parent,
        link,
        int(entry["depth"]),
        float(entry["bound"]),
        value,
        fate,  # type: ignore[arg-type]
        int(entry["rounds"]),
        float(entry["seconds"]),
    )
    fits = node.number == number and fate in FATES and not math.isnan(node.bound)
    if not fits or (parent is None) != (number == 0) or (parent is not None and not 0 <= parent < number):
        raise ValueError(f"its node {number} makes no sense")
    return node


def _check(nodes: tuple[Node, ...], labels: np.ndarray | None, n: int) -> None:
    """Raise unless the nodes are a tree in which every branch has its two links, and the labels fit."""
    if not nodes:
        raise ValueError("it has no nodes")
    if labels is not None and (labels.shape != (n,) or labels.min() < 0):
        raise ValueError("its labels are not those of the points")
    children: dict[int, list[Node]] = {}
    for node in nodes[1:]:
        if node.link is None or node.parent is None:
            raise ValueError(f"its node {node.number} has no link")
        kind, i, j = node.link
        if kind not in ("must", "cannot") or not (0 <= i < n and 0 <= j < n and i != j):
            raise ValueError(f"its node {node.number} has the link {node.link}")
        children.setdefault(node.parent, []).append(node)
    for node in nodes:
        branches = sorted((child.link or ("", 0, 0)) for child in children.get(node.number, []))
        whole = [kind for kind, *_ in branches] == ["cannot", "must"] and branches[0][1:] == branches[1][1:]
        if (node.fate == "branched") != bool(branches) or (branches and not whole):
            raise ValueError(f"the branches of its node {node.number} are not complete")
