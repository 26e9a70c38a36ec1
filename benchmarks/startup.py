"""How long it takes to start: the help of the command line, and the import of the package.

    python benchmarks/startup.py              # half a minute
    python benchmarks/startup.py --runs 21

Each measurement starts a fresh interpreter. The two sides of a comparison take turns, so a busy machine slows both; the
medians are compared. The help is compared with that of a typer application of the same shape whose commands are empty,
the import with that of NumPy and scipy.sparse, which everything in the package needs sooner or later.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median

WATCHED = ("cvxpy", "sklearn", "scipy", "numpy", "matplotlib")

HELP = """
import sys
from cvxlink.cli import app
sys.argv = ["cvxlink", "--help"]
try:
    app()
except SystemExit:
    pass
"""

EMPTY_HELP = '''
import sys
import typer

app = typer.Typer(help="An application with nothing in it.", no_args_is_help=True, add_completion=False)
problems = typer.Typer(help="A group of commands.", no_args_is_help=True)
app.add_typer(problems, name="problems")

@app.callback()
def main(version: bool = False) -> None:
    """An application with nothing in it."""

def command(group, name):
    @group.command(name)
    def empty(first: int = 0, second: str = "") -> None:
        """Do nothing, but say in a sentence of some length what it would be that is not done."""

for name in ("cluster", "explain", "version", "demo", "solvers", "methods", "bring-back"):
    command(app, name)
for name in ("list", "show", "solve", "verify", "export"):
    command(problems, name)
sys.argv = ["empty", "--help"]
try:
    app()
except SystemExit:
    pass
'''


@dataclass(frozen=True)
class Comparison:
    """Two scripts, and how many times as long as the second the first may take."""

    name: str
    script: str
    other: str
    other_script: str
    limit: float


COMPARISONS = (
    Comparison("cvxlink --help", HELP, "an empty typer application", EMPTY_HELP, 1.5),
    Comparison("import cvxlink", "import cvxlink", "import numpy, scipy.sparse", "import numpy, scipy.sparse", 2.0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11, help="interpreters for each script, at least 7")
    runs = max(parser.parse_args().runs, 7)
    kept = [compared(comparison, runs) for comparison in COMPARISONS]
    sys.exit(0 if all(kept) else 1)


def compared(comparison: Comparison, runs: int) -> bool:
    """Measure and print one comparison; return whether its limit is kept."""
    scripts = {comparison.name: comparison.script, comparison.other: comparison.other_script}
    seconds: dict[str, list[float]] = {name: [] for name in scripts}
    for run in range(runs + 1):
        for name, script in scripts.items():
            taken = time_of(script)
            if run:  # the first run of each fills caches, and writes bytecode
                seconds[name].append(taken)
    ours, others = (median(taken) for taken in seconds.values())
    width = max(map(len, scripts))
    for name, script in scripts.items():
        loaded = ", ".join(loaded_by(script)) or "none"
        print(f"{name:<{width}}  {1000 * median(seconds[name]):6.0f} ms   of {', '.join(WATCHED)} it loads: {loaded}")
    kept = ours <= comparison.limit * others
    verdict = "kept" if kept else "NOT KEPT"
    print(f"{'ratio':<{width}}  {ours / others:6.2f}      at most {comparison.limit:g} is required: {verdict}\n")
    return kept


def time_of(script: str) -> float:
    """Return the seconds that a fresh interpreter takes for a script."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def loaded_by(script: str) -> list[str]:
    """Return the watched packages that are loaded after a script."""
    watch = f"\nimport sys; print(*(name for name in {WATCHED} if name in sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script + watch], capture_output=True, text=True, check=True)
    return done.stderr.split()


if __name__ == "__main__":
    main()
