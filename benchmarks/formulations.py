"""Formulations that are in no paper: plain CVXPY, and the same solver through cvxlink, certificate included.

    cvxlink study run studies/formulations.toml
    python benchmarks/formulations.py

The first computes what is missing, about twelve minutes in all; the second makes the page of what is there.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from pages import RESULTS, Finished, arguments_of, made_by, require_cells, table, write_report

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "studies"))

from cells.formulations import REPEATS, STAGES

HEAD_MODERATE = (
    "formulation",
    "n",
    "hard links",
    "solver",
    "ours s",
    "plain s (its status)",
    "times faster",
    "plain Clarabel s",
    "times faster",
    "status",
    "lower",
    "upper",
)
HEAD = ("formulation", "n", "solver", "plain s", "ours s", "ratio", "status", "lower", "upper", "most time in")


def row(cell: dict) -> list[str]:
    """Return a measured cell as it is printed."""
    longest = max(STAGES, key=lambda stage: cell[f"{stage}_seconds"])
    stage = f"{longest} {cell[f'{longest}_seconds']:.3f}" if cell["ratio"] > 1 else ""
    bounds = ["" if cell[side] is None else f"{cell[side]:.6g}" for side in ("lower", "upper")]
    head = [cell["formulation"], f"{cell['n']:.0f}", cell["solver"], f"{cell['plain_seconds']:.3f}"]
    return [*head, f"{cell['ours_seconds']:.3f}", f"{cell['ratio']:.2g}", cell["status"], *bounds, stage]


def report(cells: list[dict]) -> str:
    """Return the page."""
    small, moderate = ([c for c in cells if c["is_moderate"] == which] for which in (False, True))
    ratios = [cell["ratio"] for cell in small]
    text = f"""# Formulations that are in no paper, beside plain CVXPY

{made_by("formulations", "formulations", packages=("cvxpy", "clarabel", "scs"))}

plain s: CVXPY and the same solver, with the same tolerances. ours s: reading, reducing, solving, the certificate and
an exactly feasible point. Both are the best of {REPEATS} turns in one process.

## {len(small)} small programs

Ratios: median {statistics.median(ratios):.1f}, at most 2 for {sum(r <= 2 for r in ratios)} of {len(ratios)}.

{table(HEAD, map(row, small))}
"""
    if moderate:
        text += f"""
## 60 to 100 points

{table(HEAD_MODERATE, map(moderate_row, moderate))}
"""
    return text


def moderate_row(cell: dict) -> list[str]:
    """Return a cell of moderate size as it is printed: beside plain CVXPY with the same solver, and with Clarabel."""
    clarabel = cell["plain_clarabel_seconds"]
    links = "yes" if cell["has_hard_links"] else ""
    faster = [f"{seconds / cell['ours_seconds']:.2g}" for seconds in (cell["plain_seconds"], clarabel)]
    bounds = ["" if cell[side] is None else f"{cell[side]:.6g}" for side in ("lower", "upper")]
    head = [cell["formulation"], f"{cell['n']:.0f}", links, cell["solver"], f"{cell['ours_seconds']:.2f}"]
    plain_words = f"{cell['plain_seconds']:.2f} ({cell['plain_status']})"
    return [*head, plain_words, faster[0], f"{clarabel:.2f}", faster[1], cell["status"], *bounds]


def main() -> None:
    """Write the page."""
    asked = arguments_of(__doc__, RESULTS / "formulations.md")
    cells = Finished.in_studies(["formulations"], ("formulation", "size"), asked.folder)
    require_cells(cells, "formulations")
    write_report(asked.save, report([cells.done[key] for key in sorted(cells.done)]))
    print(f"written: {asked.save}")


if __name__ == "__main__":
    main()
