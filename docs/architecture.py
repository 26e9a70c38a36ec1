"""Draw the rooms of the package and the imports between them, as they are: docs/architecture.png.

python docs/architecture.py

The layers are those of the import linter in pyproject.toml, the imports those that grimp finds in the sources.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path

import grimp
import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).with_suffix(".png")
PACKAGE = "cvxlink"
DOOR = "__main__"  # of ``python -m cvxlink``, which is not a room
BLUE, GREY, RED = "#0072B2", "#8a8a8a", "#D55E00"
BELOW_ALL = ("numerics", "errors")  # almost every room imports these: drawn in grey
ROW, COLUMN, BOX = 0.42, 0.44, 1.58  # inches
LEGEND = """a band is a layer, a box a room with its number of modules;
an arrow goes from a room to one that it imports, and
says how many modules of the first do; grey: to the
two rooms that stand below all others"""


def layers() -> list[list[str]]:
    """Return the rooms of each layer, top to bottom, as the import linter has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = (contract for contract in settings["contracts"] if contract["type"] == "layers")
    return [[room.strip(" ()") for room in layer.split("|")] for layer in contract["layers"] if layer != DOOR]


@dataclass(frozen=True)
class House:
    """The rooms with their numbers of modules, and for each two rooms how many modules of one import the other."""

    modules: dict[str, int]
    imports: dict[tuple[str, str], int]

    @classmethod
    def real(cls) -> House:
        """Read the sources."""
        graph = grimp.build_graph(PACKAGE, cache_dir=None)
        room = {module: module.split(".")[1] for module in graph.modules if "." in module and DOOR not in module}
        pairs = {
            (module, room[module], room[imported])
            for module in room
            for imported in graph.find_modules_directly_imported_by(module)
            if imported in room and room[imported] != room[module]
        }
        return cls(dict(Counter(room.values())), dict(Counter((one, other) for _, one, other in pairs)))

    @cached_property
    def layers(self) -> list[list[str]]:
        """The layers, with the rooms that there are."""
        return [there for layer in layers() if (there := [room for room in layer if room in self.modules])]

    @property
    def upward(self) -> list[tuple[str, str]]:
        """The imports that the rule forbids: into a room of the same layer, or of one above."""
        height = {room: number for number, layer in enumerate(self.layers) for room in layer}
        return [(one, other) for one, other in self.imports if height[other] <= height[one]]

    def to_json(self) -> str:
        """Return the rooms and the arrows, which the picture carries along."""
        return json.dumps({"rooms": sorted(self.modules), "arrows": sorted(self.imports)})


def draw(house: House, path: Path = PICTURE) -> None:
    """Draw a stair of boxes: an arrow leaves a room to the right, and comes down on the room that is imported."""
    rooms = [room for layer in house.layers for room in layer]
    width, height = BOX + COLUMN * (len(rooms) - 1.1), ROW * (len(rooms) + 0.3)
    figure, ax = plt.subplots(figsize=(width, height))
    figure.subplots_adjust(0, 0, 1, 1)
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    y = {room: ROW * (number + 0.65) for number, room in enumerate(rooms)}
    x = {room: BOX + COLUMN * (number - 0.35) for number, room in enumerate(rooms)}
    for number, layer in enumerate(house.layers):
        if number % 2 == 0:
            ax.axhspan(y[layer[0]] - ROW / 2, y[layer[-1]] + ROW / 2, color="#f1f4f7", lw=0, zorder=0)
    by_weight = sorted(house.imports.items(), key=lambda item: (item[0][1] not in BELOW_ALL, item[1], item[0]))
    for (one, other), number in by_weight:
        _arrow(ax, (x[one], y[one]), (x[other], y[other]), number, _colour(house, one, other))
    for room in rooms:
        _box(ax, x[room], y[room], room, house.modules[room])
    ax.text(0.1, height - 0.2, LEGEND, fontsize=11, va="bottom", linespacing=1.35)
    drawn, said = BytesIO(), PngInfo()
    figure.savefig(drawn, dpi=130, facecolor="white")
    plt.close(figure)
    said.add_text("Description", house.to_json())
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True, pnginfo=said)  # a third of the size


def _colour(house: House, one: str, other: str) -> str:
    if (one, other) in house.upward:
        return RED
    return GREY if other in BELOW_ALL else BLUE


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], number: int, colour: str) -> None:
    line = 0.5 + 0.9 * number**0.5
    column = end[0] - 0.2
    tip = end[1] - 0.15
    ax.plot([start[0], column, column], [start[1], start[1], tip], color=colour, lw=line, alpha=0.35, zorder=1)
    ax.annotate("", (column, tip + 0.02), (column, tip - 0.09), arrowprops={"arrowstyle": "-|>", "color": colour})
    ax.text(
        column,
        start[1],
        str(number),
        color="white",
        fontsize=8.5,
        ha="center",
        va="center_baseline",
        zorder=3,
        bbox={"boxstyle": f"circle,pad={0.16 if number > 9 else 0.24}", "facecolor": colour, "edgecolor": "none"},
    )


def _box(ax: Axes, right: float, middle: float, room: str, modules: int) -> None:
    style = {"boxstyle": "round,pad=0,rounding_size=0.06", "facecolor": "white", "edgecolor": "black", "lw": 0.9}
    ax.add_patch(FancyBboxPatch((right - BOX + 0.18, middle - 0.145), BOX - 0.18, 0.29, zorder=4, **style))
    ax.text(right - BOX + 0.26, middle, room, fontsize=11, weight="bold", va="center_baseline", zorder=5)
    ax.text(right - 0.08, middle, str(modules), fontsize=9.5, ha="right", va="center_baseline", zorder=5)


if __name__ == "__main__":
    draw(House.real())
