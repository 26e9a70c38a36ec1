"""
A formulation of one's own in a dozen lines
===========================================

Solved, certified and clustered like any other.

Cannot-linked points at right angles is a matter of taste. Here they may come as close as 45 degrees, must-linked
points have to be within 25 degrees, and the kernel is otherwise as smooth as the graph allows.
"""

from dataclasses import dataclass

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

X, y = cl.datasets.load("two_moons", n=80, random_state=0)
problem = AnglePropagation(cl.Graph.knn(X, 6), cl.Links.sample(y, per_class=3, random_state=0))
print(problem, end="\n\n")
print(problem.explain())

# %%
solution = problem.solve()
print(solution)

# %%
# The multipliers are the prices of the links.

for (i, j), price in zip(problem.links.cannot, solution.duals["cannot"], strict=True):
    print(f"cannot-link {i}–{j}: allowing its kernel entry 0.01 more would lower the optimum by {-0.01 * price:.5f}")

# %%
labels = solution.cluster(2, random_state=0)
print(cl.metrics.scores(y, labels, problem.links))
cl.plotting.plot_kernel(solution.kernel, labels, title="no entry of a cannot-link above cos 45°")
plt.show()
