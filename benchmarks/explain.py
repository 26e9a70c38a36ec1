"""How long a stranger's program waits before it is solved: reading its declaration, `explain()` and `solve()`.

    python benchmarks/explain.py
    python benchmarks/explain.py --points 200 --links 20 --repeat 1

The program is plain CVXPY, linear in one semidefinite matrix, with a constraint for every link. The slow way of reading
it asks CVXPY for the gradient of every expression. All ways start from a fresh problem, in one process; ratios are to
the slow way.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy as cp

import cvxlink as cl
from pages import table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from helpers.gradients import by_gradient


@dataclass(frozen=True, eq=False)
class Stranger(cl.Problem):
    """Unit length, must-links at 1, cannot-links at −0.1 or below."""

    graph: cl.Graph
    links: cl.Links

    def variables(self) -> dict[str, cp.Variable]:
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K: cp.Variable) -> cp.Minimize:
        return cp.Minimize(cp.sum(cp.multiply(self.graph.laplacian(), K)))

    def constraints(self, K: cp.Variable) -> dict[str, Any]:
        return {
            "unit": cp.diag(K) == 1,
            "must": [K[i, j] == 1 for i, j in self.links.must],
            "cannot": [K[i, j] <= -0.1 for i, j in self.links.cannot],
            "psd": K >> 0,
        }


def read_slowly(problem: cl.Problem) -> None:
    """Ask CVXPY for the gradient of the objective and of every linear constraint."""
    (K,) = problem.variables().values()
    by_gradient(problem.objective(K).args[0], K)
    for group in problem.constraints(K).values():
        for term in group if isinstance(group, list) else [group]:
            if not isinstance(term, cp.constraints.PSD):
                by_gradient(term.expr, K)


WAYS: dict[str, Callable[[cl.Problem], Any]] = {
    "reading by gradients": read_slowly,
    "reading": lambda problem: problem.program.linear_sdp(),
    "explain()": lambda problem: problem.explain(),
    "solve()": lambda problem: problem.solve(),
}


def seconds(way: Callable[[cl.Problem], Any], fresh: Callable[[], cl.Problem], repeat: int) -> float:
    """Return the median wall time on fresh problems."""
    times = []
    for _ in range(repeat):
        problem = fresh()
        start = time.perf_counter()
        way(problem)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=600)
    parser.add_argument("--links", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    X, y = cl.datasets.blobs(arguments.points, 3, dimension=5, random_state=0)
    graph, links = cl.Graph.knn(X), cl.Links.sample(y, n_links=arguments.links, random_state=0)
    Stranger(cl.Graph.knn(X[:30]), cl.Links(30, must=[(0, 1)])).explain()  # the first call also loads libraries
    slow = None
    rows = []
    for name, way in WAYS.items():
        taken = seconds(way, lambda: Stranger(graph, links), arguments.repeat)
        slow = slow or taken
        rows.append([name, f"{taken:.3f}", f"{taken / slow:.3g}"])
    print(f"{graph.n} points, {len(links.must)} must-links, {len(links.cannot)} cannot-links\n")
    print(table(("what", "seconds", "ratio"), rows))


if __name__ == "__main__":
    main()
