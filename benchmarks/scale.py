"""How far it goes: PCP by the low-rank route against solvers, and all methods for many points.

    CVXLINK_DATA=… cvxlink study run studies/scale_pcp.toml
    cvxlink study run studies/scale_methods.toml
    python benchmarks/scale.py

The first two compute what is missing, the third makes the page and its pictures of what is there. PCP: MNIST0123 (300,
1000 and all 3000 points) and USPS (9298) from the folder that CVXLINK_DATA names, blobs otherwise; 10 nearest
neighbours, 50 links. Methods: five blobs, 10 nearest neighbours, 300 links (100 labels for label propagation); seconds
are split into graph, solve (with reductions and certificate) and clustering.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from pages import RESULTS, Finished, arguments_of, bold_least, made_by, require_cells, save_figure, table, write_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells.scale import CLASSES, DIMENSION, LABELS, LINKS, LOW_RANK, METHODS, SOLVERS


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the slope of log(seconds) over log(n) between the last two sizes."""
    return float(np.log(seconds[-1] / seconds[-2]) / np.log(sizes[-1] / sizes[-2]))


def ended(cell: dict) -> str:
    """Return how a solve ended, without the name of the solver."""
    status, _, reason = cell["status"].partition(": ")
    reason = re.sub(rf"^(the process of )?{cell['how']}(:| was) ", "", reason)
    return reason.partition(":")[0] if reason else status


def pcp_tables(cells: Finished) -> str:
    """Return the table of all ways, and what the low-rank route needed."""
    rows, details = [], []
    for n in sorted({cell["n"] for cell in cells.of("pcp")}):
        fast = cells.done.get(("pcp", n, LOW_RANK))
        of_size = []
        for cell in sorted(cells.of("pcp", n), key=lambda cell: (LOW_RANK, *SOLVERS).index(cell["how"])):
            stopped = "> " if cell["status"].startswith("LIMIT") else ""
            known = "seconds" in cell and "ERROR" not in cell["status"]
            ratio = known and fast and f"{stopped}{cell['seconds'] / fast['seconds']:.0f}"
            of_size.append(
                [
                    f"{n}",
                    cell["how"],
                    f"{stopped}{cell['seconds']:.2f}" if known else "",
                    ratio or "",
                    f"{cell['gap']:.0e}" if cell.get("gap") is not None else "",
                    f"{cell['megabytes']:.0f}" if "megabytes" in cell else "",
                    ended(cell),
                ]
            )
        rows += bold_least(of_size, 2)
        if fast is not None and "product" in fast:
            per = f"{fast['seconds'] / fast['product']:.0f}"
            details.append([f"{n}", fast["data"], f"{fast['rank']}", f"{fast['products']}", per])
    head = ("n", "how", "seconds", "ratio", "certified gap", "peak MB", "ended")
    return f"""{table(head, rows)}

What the low-rank route found and needed; "seconds ÷ one product" is the time divided by that of one sparse product L·V
with as many columns as the answer has:

{table(("n", "data", "rank", "products L·V", "seconds ÷ one product"), details)}"""


def method_table(cells: Finished) -> str:
    """Return the table of methods."""
    rows = []
    for how in METHODS:
        done = sorted(cells.of("methods"), key=lambda cell: cell["n"])
        mine = [cell for cell in done if cell["how"] == how]
        whole = [cell for cell in mine if "solve" in cell]
        for cell in mine:
            last = len(whole) > 1 and cell is whole[-1]
            grown = f"{exponent([c['n'] for c in whole], [c['solve'] for c in whole]):.2f}" if last else ""
            split = [f"{cell[stage]:.1f}" if stage in cell else "" for stage in ("graph", "solve", "cluster")]
            gap = f"{cell['gap']:.0e}" if cell.get("gap") is not None else ""
            rest = [f"{cell['megabytes']:.0f}", f"{cell['nmi']:.3f}"] if "solve" in cell else ["", ""]
            rows.append([how, f"{cell['n']:,}", *split, *rest, gap, grown, cell["status"]])
    head = ("method", "n", "graph s", "solve s", "cluster s", "peak MB", "NMI", "gap", "growth", "status")
    return table(head, rows)


def plots(cells: Finished, path: Path) -> None:
    """Draw seconds over n for both parts."""
    for part, key, names in (("pcp", "seconds", (LOW_RANK, *SOLVERS)), ("methods", "solve", METHODS)):
        figure, axes = plt.subplots(figsize=(7, 4.5))
        for name in names:
            mine = sorted(
                (c for c in cells.of(part) if c["how"] == name and key in c and "ERROR" not in c["status"]),
                key=lambda c: c["n"],
            )
            if not mine:
                continue
            n, seconds = [c["n"] for c in mine], [c[key] for c in mine]
            (line,) = axes.loglog(n, seconds, "o-", label=name)
            stopped = [c["status"].startswith("LIMIT") for c in mine]
            axes.plot(np.array(n)[stopped], np.array(seconds)[stopped], "^", color=line.get_color(), markersize=10)
        axes.set_xlabel("points")
        axes.set_ylabel("seconds" if part == "pcp" else "seconds to solve and certify")
        axes.set_title("PCP (triangles: stopped for time or memory)" if part == "pcp" else "Methods at many points")
        axes.grid(True, which="both", alpha=0.3)
        if axes.lines:
            axes.legend()
        figure.tight_layout()
        save_figure(figure, path.with_name(f"{path.stem}_{part}.png"), dpi=110)
        plt.close(figure)


def report(cells: Finished, path: Path) -> str:
    """Return the page."""
    packages = ("numpy", "scipy", "scikit-learn", "cvxpy", "clarabel", "scs", "cvxopt", "sdpa-python")
    return f"""# How far it goes: up to 100 000 points, in seconds and memory

{made_by("scale", "scale_pcp", "scale_methods", packages=packages)}
Every cell ran in a process of its own; its peak memory includes about 200 MB of imported packages.

## PCP: the low-rank route and the dual form on solvers

10 nearest neighbours, 50 links; the low-rank route was asked for a certified relative gap of 1e-5. Seconds are the wall
time of `solve` with reductions, compiling and certificate; a solver that was stopped counts with the limit. Ratios are
to the low-rank route. The fastest of each size is bold.

{pcp_tables(cells)}

![Seconds to solve PCP against the number of points]({path.stem}_pcp.png)

## Methods at many points

{CLASSES} blobs in {DIMENSION} dimensions, 10 nearest neighbours, {LINKS} links ({LABELS} labels for GFHF and LLGC).
Solving includes reductions and certificate. The gap is certified and relative. "Growth" is the slope of log(seconds)
over log(n) between the two largest sizes, for solving.

{method_table(cells)}

![Seconds to solve and certify against the number of points]({path.stem}_methods.png)
"""


def cells_in(folder: Path) -> Finished:
    """Return the cells by part, number of points, and solver or method; those that failed say why in their status."""
    done = {}
    for part in ("pcp", "methods"):
        found = Finished.in_studies([f"scale_{part}"], ("n", "how"), folder)
        lost = [cell for cell in found.lost if cell["refused"] != "InvalidInput"]
        failed = {(cell["n"], cell["how"]): cell | {"status": f"failed: {cell['reason'][:200]}"} for cell in lost}
        done |= {(part, *key): cell for key, cell in (found.done | failed).items()}
    return Finished(done)


def main() -> None:
    """Write the page."""
    asked = arguments_of(__doc__, RESULTS / "scale.md")
    cells = cells_in(asked.folder)
    require_cells(cells, "scale_pcp", "scale_methods")
    plots(cells, asked.save)
    write_report(asked.save, report(cells, asked.save))


if __name__ == "__main__":
    main()
