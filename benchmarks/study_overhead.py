"""What a study adds to each cell: quick cells of the library beside empty processes, interleaved in one run.

``python benchmarks/study_overhead.py --repeats 3`` prints medians in milliseconds: what starting and ending an empty
process takes, what a cell takes beyond the seconds it reports, the time between one cell and the next that is spent in
no cell, and the difference of these to the empty process, which is the overhead of the engine.
"""

from __future__ import annotations

import argparse
import tempfile
from statistics import median
from time import perf_counter
from typing import Any

from cvxlink.solvers.isolation import Limits, run_isolated
from cvxlink.studies.cells import cells_of
from cvxlink.studies.description import Study
from cvxlink.studies.running import run


def nothing() -> None:
    """Do nothing."""


def empty_process() -> float:
    began = perf_counter()
    run_isolated(nothing, (), Limits(60.0, None, 1), "nothing")
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each of nine quick cells")
    study = Study.of(
        {
            "title": "Overhead",
            "repeats": parser.parse_args().repeats,
            "instances": [{"library": "path_*"}, {"library": "two_components"}],
            "configurations": [{"solver": "SCS"}, {"solver": "CLARABEL"}, {"name": "default"}],
        }
    )
    began = perf_counter()
    cells = cells_of(study)
    listed = perf_counter() - began
    began = perf_counter()
    assert all(cell.key for cell in cells)
    hashed = perf_counter() - began
    empty, beyond, between = [], [], []
    last = None

    def tell(_: Any, record: dict[str, Any]) -> None:
        nonlocal last
        now = perf_counter()
        beyond.append(record["whole_seconds"] - record["seconds"])
        if last is not None:
            between.append(now - last - record["whole_seconds"])
        empty.append(empty_process())
        last = perf_counter()

    empty_process()
    with tempfile.TemporaryDirectory() as folder:
        run(study, folder, tell=tell)
    # The next cell begins while this one is written and told, so the time between cells can be negative.
    start, cell, gap = (1e3 * median(times) for times in (empty, beyond, between))
    print(f"{len(cells)} cells, medians in ms")
    print(f"listing all cells {1e3 * listed:.0f}, hashing one {1e3 * hashed / len(cells):.2f}")
    print(f"an empty process {start:.0f}; a cell beyond its own seconds {cell:.0f}; between cells {max(gap, 0.0):.0f}")
    print(f"the engine beyond an empty process: {cell + max(gap, 0.0) - start:.0f}")


if __name__ == "__main__":
    main()
