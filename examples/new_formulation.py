"""
Your own formulation in a dozen lines
=====================================

It is solved, certified and clustered like any other.

PCP puts cannot-linked points at right angles. Here they may come as close as 45
degrees, must-linked points have to be within 25 degrees, and otherwise the kernel is as
smooth as the graph allows.
"""

from dataclasses import dataclass
from textwrap import fill

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl


@dataclass(frozen=True, eq=False)
class AnglePropagation(cl.Problem):
    """Smoothest unit-diagonal kernel with bounded angles on links."""

    graph: cl.Graph
    links: cl.Links
    near: float = np.cos(np.radians(25))
    far: float = np.cos(np.radians(45))

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(cp.sum(cp.multiply(self.graph.laplacian(), K)))

    def constraints(self, K):
        must, cannot = self.links.must.T, self.links.cannot.T
        return {
            "unit": cp.diag(K) == 1,
            "must": K[must[0], must[1]] >= self.near,
            "cannot": K[cannot[0], cannot[1]] <= self.far,
            "psd": K >> 0,
        }


# %%
# That is all. It prints itself, and says how it is going to be solved:


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("two_moons", n=80, random_state=0)
links = cl.Links.sample(y, per_class=3, random_state=0)
problem = AnglePropagation(cl.Graph.knn(X, 6), links)
show(problem, 14)
print()
show(problem.explain(), 3)

# %%
solution = problem.solve()
show(solution, 15)

# %%
# The multipliers are the prices of the links.

print("how much the optimum would fall if a cannot-link's entry could be 0.01 larger")
for (i, j), price in zip(links.cannot, solution.duals["cannot"], strict=True):
    print(f"  {i:2}–{j:<2}  {max(0.0, -0.01 * price):.5f}")

# %%
labels = solution.cluster(2, random_state=0)
for name, score in cl.metrics.scores(y, labels, links).items():
    print(f"{name:9} {score:.3f}")
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
title = "no entry of a cannot-link above cos 45°"
cl.plotting.plot_kernel(solution.kernel, labels, ax, title)
plt.show()
