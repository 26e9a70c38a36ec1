"""What commands on data of one's own write: labels and a picture, which appear whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.files.atomic import put_in_place, require_new
from ..data.files.contents import STANDARD_INPUT
from ..data.files.delimited import for_spreadsheet
from ..data.files.names import PointNames
from ..errors import InvalidInput
from ..plotting.canvas import matplotlib
from ..plotting.overview import save


@dataclass(frozen=True)
class Outputs:
    """Where the labels and the picture go; temporary files take what is written until all went well."""

    out: Path | None
    plot: Path | None
    new_out: Path | None
    new_plot: Path | None

    def write_labels(self, table: str) -> None:
        """Write the labels, if there is a file for them."""
        if self.new_out is not None:
            self.new_out.write_text(table, encoding="utf-8")

    def draw(self, figure: Any) -> None:
        """Save the picture."""
        assert self.plot is not None
        save(figure, self.new_plot, self.plot)


@contextmanager
def outputs(
    out: Path | None, plot: Path | None, inputs: Mapping[str, Path | None], file: Path | None = None
) -> Iterator[Outputs]:
    """Yield where to write; raise at once if that cannot be written, or would overwrite an input.

    ``file`` is another file that the command writes, given by ``--file``.
    """
    if plot is not None and not plot.name:
        raise InvalidInput(f"--plot must be the name of a file, such as clusters.png, not {str(plot)!r}")
    plot = plot.with_suffix(".png") if plot is not None and not plot.suffix else plot
    written = {"--out": out, "--plot": plot, "--file": file}
    for option, path in written.items():
        _require_no_loop(path, "written", option)
    for path in inputs.values():
        _require_no_loop(path, "read")
    require_new(written, inputs)
    if plot is not None:
        _require_picture(plot)
    with put_in_place(out) as new_out, put_in_place(plot) as new_plot:
        yield Outputs(out, plot, new_out, new_plot)


def table_of_labels(points: PointNames, labels: np.ndarray, classes: list[str] | None) -> str:
    """Return labels as CSV; a name that a spreadsheet would run as a formula has an apostrophe before it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["point", "cluster"] + (["label"] if classes else []))
    for row, cluster in enumerate(labels.tolist()):
        cells = [str(points[row]), str(cluster)] + ([classes[row]] if classes else [])
        writer.writerow(map(for_spreadsheet, cells))
    return text.getvalue()


def _require_no_loop(path: Path | None, use: str, option: str = "") -> None:
    """Raise if a name leads round in a circle of symbolic links, or cannot be the name of a file at all."""
    try:
        if path is not None:
            path.resolve()
            path.exists()
    except (RuntimeError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a name of a file"
        if isinstance(error, RuntimeError):  # before Python 3.13
            why = "its symbolic links lead round in a circle"
        raise InvalidInput(f"{option} {path} cannot be {use}: {why}; choose another file".lstrip()) from error


def _require_picture(path: Path) -> None:
    """Raise before anything is solved if pictures cannot be drawn, or not in this format."""
    if path.stem == STANDARD_INPUT:
        raise InvalidInput("a picture cannot go to standard output; give --plot the name of a file")
    kinds = matplotlib("backend_bases").FigureCanvasBase.get_supported_filetypes()
    if path.suffix.lstrip(".").lower() not in kinds:
        raise InvalidInput(f"{path} cannot be drawn: pictures end in {', '.join(f'.{kind}' for kind in sorted(kinds))}")
