"""The figures of a study as files for papers and slides: each says what it shows, in its title, axes and legend."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import plotting
from ..data.files.atomic import put_in_place
from ..errors import InvalidInput
from ..numerics.arguments import as_path, shown
from ..plotting.canvas import drawn_name, matplotlib
from .description import Study
from .instance import expanded
from .scores import Scores, numbers_in
from .statistics import Times, critical_difference

FORMATS = ("pdf", "png", "svg")
DPI = 200
# Inches. The legend stands beside the axes, and takes room from them.
SIZE = (7.2, 4.0)
LONGEST_TITLE = 90

Record = Mapping[str, Any]
Drawing = Callable[[Any], Any]


def save_figures(
    study: Study, records: Sequence[Record], folder: str | Path, score: str = "ari", format: str = "pdf"
) -> list[Path]:
    """Write the figures of a study to a folder, and return their files.

    Studies of solvers get, at each accuracy, a performance profile, a data profile, and times against certified gaps;
    studies of methods a critical-difference diagram, and curves of scores over the number of links for each data set.
    """
    if format not in FORMATS:
        raise InvalidInput(f"there is no format {shown(format)}; there are {', '.join(FORMATS)}", "format")
    if study.kind == "functions":
        raise InvalidInput(
            "there are no figures for a study of functions; export a table, and draw what you need", "kind"
        )
    folder, made = as_path(folder, "folder"), []
    figures = _of_solvers if study.kind == "solvers" else _of_methods
    own = [record for record in records if not record.get("outside")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {folder} cannot be made: {error.strerror or error}", "folder") from error
    for accuracy in study.accuracy:
        chosen = [record for record in own if record["accuracy"] == accuracy]
        for name, draw in figures(study, chosen, accuracy, score):
            several = f"-{accuracy:g}" if len(study.accuracy) > 1 else ""
            made.append(_saved(draw, folder / f"{name}{several}.{format}"))
    return made


def _saved(draw: Drawing, path: Path) -> Path:
    figure = matplotlib("figure").Figure(figsize=SIZE, layout="constrained")
    draw(figure.subplots())
    with put_in_place(path) as new:
        figure.savefig(new, dpi=DPI, format=path.suffix.lstrip("."))
    return path


def _of_solvers(study: Study, records: Sequence[Record], accuracy: float, score: str) -> Iterator[tuple[str, Drawing]]:
    """Yield names and drawings; profiles compare the instances that all have finished."""
    times = Times.of(records, study.time_limit).common
    seconds = dict(zip(times.configurations, times.seconds.T, strict=True))
    title = _titled(study, f"accuracy {accuracy:g}")
    if len(times.instances):
        yield "performance-profile", lambda ax: plotting.plot_performance_profile(seconds, ax, title)
        yield "data-profile", lambda ax: plotting.plot_data_profile(seconds, ax, title)
    cells: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        if record.get("gap") is not None and record.get("seconds") is not None:
            cells.setdefault(record["configuration"], []).append((record["seconds"], record["gap"]))
    if cells:
        yield "time-against-gap", lambda ax: plotting.plot_time_against_gap(cells, ax, title, accuracy)


def _of_methods(study: Study, records: Sequence[Record], accuracy: float, score: str) -> Iterator[tuple[str, Drawing]]:
    scores = Scores.of(study, records, score)
    at = f"{score}, accuracy {accuracy:g}" if len(study.accuracy) > 1 else score
    if len(scores.blocks) > 1 and len(scores.methods) > 1:
        ranks = dict(zip(scores.methods, scores.ranks.tolist(), strict=True))
        least = critical_difference(len(scores.methods), len(scores.blocks))
        over = _titled(study, f"{at}, {len(scores.blocks)} {scores.unit}")
        yield "critical-differences", lambda ax: plotting.plot_critical_differences(ranks, least, ax, over)
    for data, curve in _curves(study, records, score).items():
        title = _titled(study, f"{drawn_name(data)}")
        yield f"scores-{_as_file(data)}", partial(plotting.plot_scores, curve, title=title, score=at)


def _curves(study: Study, records: Sequence[Record], score: str) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return scores by data set and method, as pairs with the number of links; data with one number has no curve."""
    known = {one.name: one for one in expanded(study)}
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for record in records:
        instance, value = known.get(record["instance"]), numbers_in(record).get(score)
        if instance is None or not instance.links or value is None or not np.isfinite(value):
            continue
        curves = found.setdefault(str(instance.data), {})
        curves.setdefault(drawn_name(record["configuration"]), []).append((instance.links, float(value)))
    return {
        data: curves
        for data, curves in found.items()
        if len({number for pairs in curves.values() for number, _ in pairs}) > 1
    }


def _titled(study: Study, words: str) -> str:
    """Return a title of two lines; names of others must not be read as formulas."""
    title = " ".join(study.title.split())
    return f"{drawn_name(title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1] + '…')}\n{words}"


def _as_file(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "data"
