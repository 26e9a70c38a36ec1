r"""
CCSR with a preference for few directions, or for many
======================================================

CCSR fits the products :math:`u_i^\top M u_j` of points to what the links say. With few links many M fit equally
well. A penalty says which to take: the trace prefers few directions, :math:`\operatorname{tr}(M \log M)` spreads
over many.
"""

from dataclasses import dataclass

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from cvxlink import terms

# %%
# A penalty is one more term. ``super().objective`` is CCSR's own sum of squares.


@dataclass(frozen=True, eq=False)
class LowRankCCSR(cl.CCSR):
    """CCSR with a trace penalty."""

    weight: float = 1.0

    def objective(self, M):
        return super().objective(M) + cp.Minimize(self.weight * terms.trace_penalty(M))


@dataclass(frozen=True, eq=False)
class SpreadCCSR(cl.CCSR):
    """CCSR with an entropy penalty."""

    weight: float = 1.0

    def objective(self, M):
        return super().objective(M) + cp.Minimize(self.weight * terms.entropy_penalty(M))


X, y = cl.datasets.load("wine")
X = (X - X.mean(axis=0)) / X.std(axis=0)
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=20, random_state=0)
problem = LowRankCCSR(graph, links, order=10, weight=1.0)
print(problem, end="\n\n")
print(problem.solve())

# %%
# Nothing was said about how to certify it. The bound comes from the multiplier of :math:`M \succeq 0` and from the
# cones CVXPY makes of the rest, logarithms of matrices among them.

print(SpreadCCSR(graph, links, order=10).solve().certificate)

# %%
# The eigenvalues of M as the weight grows: the trace brings them to zero one after another, the entropy brings them
# together.

weights = (0.01, 0.1, 0.5, 1.0, 1.5)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, formulation in zip(axes, (LowRankCCSR, SpreadCCSR), strict=True):
    for weight in weights:
        solution = formulation(graph, links, order=10, weight=weight).solve(solver="CLARABEL", accuracy=1e-6)
        eigenvalues = np.linalg.eigvalsh(solution.values["M"])[::-1]
        rank = int((eigenvalues > 1e-4 * eigenvalues[0]).sum())
        nmi = cl.metrics.nmi(y, solution.cluster(3, random_state=0))
        print(
            f"{formulation.__name__:12} weight {weight:4g}: rank {rank:2}, tr M {eigenvalues.sum():6.1f}, NMI {nmi:.3f}"
        )
        ax.semilogy(range(1, 11), np.maximum(eigenvalues, 1e-6), marker="o", label=f"weight {weight:g}")
    ax.set(title=formulation.__doc__.rstrip("."), xlabel="eigenvalue of M")
axes[0].legend()
plt.show()
