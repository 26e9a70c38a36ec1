"""What all pictures share: matplotlib, imported only when needed, axes, colours and legends."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import Any

from ..errors import InvalidInput, MissingDependency, visible
from ..numerics.arguments import as_text, shown

# Okabe & Ito's colours, which most colour-blind readers can distinguish; black is kept for must-links.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
CANNOT = "#D62728"
MUST = "black"
UNKNOWN = "#BBBBBB"
# With more clusters than colours, the marker distinguishes clusters of one colour.
CLUSTER_STYLES = tuple((colour, marker) for marker, colour in product("o^sDvP*", COLOURS))
SMALL = 8
LONGEST_TITLE = 1000


def cluster_style(k: int) -> tuple[str, str]:
    """Return colour and marker of the k-th cluster; they repeat after all combinations are used."""
    return CLUSTER_STYLES[k % len(CLUSTER_STYLES)]


def drawn_name(name: Any) -> str:
    """Return a name from a file as matplotlib shows it: dollar signs are no formulas, control characters are shown."""
    return visible(str(name)).replace("$", r"\$")


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib."""
    try:
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise MissingDependency("pictures need matplotlib; get it with: pip install 'cvxlink[plot]'") from error


def axes(ax: Any) -> Any:
    """Return the axes to draw into: the given ones, or new ones from pyplot."""
    if ax is None:
        return matplotlib("pyplot").subplots(layout="constrained")[1]
    if not isinstance(ax, matplotlib("axes").Axes):
        raise InvalidInput.about(
            "ax", f"must be matplotlib Axes, not {type(ax).__name__}; give other arguments by their names"
        )
    return ax


def as_title(title: Any, name: str = "title") -> str:
    """Return a text that matplotlib can draw."""
    text = as_text(title, name)
    if len(text) > LONGEST_TITLE or not text.replace("\n", "").isprintable():
        raise InvalidInput.about(name, f"must be printable, and at most {LONGEST_TITLE} characters, not {shown(title)}")
    return text


def bare(ax: Any, title: str, x: str = "", y: str = "") -> Any:
    """Set the texts and remove the ticks, as coordinates mean nothing here."""
    ax.set(title=as_title(title), xticks=[], yticks=[])
    ax.set_xlabel(x, fontsize=SMALL)
    ax.set_ylabel(y, fontsize=SMALL)
    return ax


def count_on_x(ax: Any) -> None:
    """Put ticks at whole numbers only, as for iterations."""
    ax.xaxis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))


def legend_beside(ax: Any) -> None:
    """Put the legend to the right of the axes, where it hides nothing; in two columns if it is long."""
    handles, names = ax.get_legend_handles_labels()
    if names:
        legend = ax.legend(
            handles,
            names,
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            fontsize=SMALL,
            frameon=False,
            ncols=1 + (len(names) > 16),
            borderaxespad=0.2,
            handletextpad=0.4,
        )
        for handle in legend.legend_handles:
            if hasattr(handle, "set_sizes"):  # dots of many points are too small to show their colours
                handle.set_sizes([24])
