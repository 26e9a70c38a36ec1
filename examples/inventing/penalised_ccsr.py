r"""
CCSR that prefers few directions, or many
=========================================

CCSR fits the products :math:`u_i^\top M u_j` of points to what the links say. With few
links many M fit equally well. A penalty chooses among them: the trace prefers few
directions, and :math:`\operatorname{tr}(M \log M)` many.
"""

from dataclasses import dataclass
from textwrap import fill

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from cvxlink import terms


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


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
        return super().objective(M) + cp.Minimize(
            self.weight * terms.entropy_penalty(M)
        )


X, y = cl.datasets.load("wine")
X = (X - X.mean(axis=0)) / X.std(axis=0)
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=20, random_state=0)
problem = LowRankCCSR(graph, links, order=10, weight=1.0)
show(problem, 14)
print()
show(problem.solve(), 15)

# %%
# The class does not say how to certify the answer. The bound comes from the multiplier
# of :math:`M \succeq 0` and from CVXPY's conic form of the rest, which includes
# logarithms of matrices.

show(SpreadCCSR(graph, links, order=10).solve().certificate, 15)

# %%
# The eigenvalues of M as the weight grows: the trace sends them to zero one after
# another, and the entropy brings them together. The best score of each method is
# marked.

weights = (0.01, 0.1, 0.5, 1.0, 1.5)
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.6), sharey=True, layout="constrained")
for ax, formulation in zip(axes, (LowRankCCSR, SpreadCCSR), strict=True):
    rows = []
    for weight in weights:
        problem = formulation(graph, links, order=10, weight=weight)
        solution = problem.solve(solver="CLARABEL", accuracy=1e-6)
        eigenvalues = np.linalg.eigvalsh(solution.values["M"])[::-1]
        rank = int((eigenvalues > 1e-4 * eigenvalues[0]).sum())
        nmi = cl.metrics.nmi(y, solution.cluster(3, random_state=0))
        rows.append((weight, rank, eigenvalues.sum(), nmi))
        drawn = np.maximum(eigenvalues, 1e-6)
        ax.semilogy(range(1, 11), drawn, marker="o", markersize=4, label=f"{weight:g}")
    best = max(nmi for *_, nmi in rows)
    for weight, rank, trace, nmi in rows:
        row = f"weight {weight:4g}: rank {rank:2}, tr M {trace:6.1f}, NMI {nmi:.3f}"
        print(f"{formulation.__name__:12} {row}{' *' if nmi == best else ''}")
    ax.set(title=formulation.__doc__.rstrip("."), xlabel="number of the eigenvalue")
axes[0].set(ylabel="eigenvalue of M")
axes[0].legend(title="weight", fontsize=8, title_fontsize=8)
plt.show()
