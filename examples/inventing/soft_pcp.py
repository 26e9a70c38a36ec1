r"""
Links that contradict one another
=================================

PCP enforces every link, so one wrong link can leave it without a solution. Here links are rewarded instead, each by
a weight of its own:

.. math:: \min_K\ \langle \bar L, K \rangle + \sum_{\mathcal M} w_{ij} (1 - K_{ij})
          + \sum_{\mathcal C} w_{ij} \max(0, K_{ij})
          \quad\text{s.t.}\quad K_{ii} = 1,\quad K \succeq 0.
"""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from cvxlink import terms


@dataclass(frozen=True, eq=False)
class SoftPCP(cl.Problem):
    """PCP with links that may be broken, at a price."""

    graph: cl.Graph
    links: cl.Links
    must_weight: Any = 1.0  # one for all, or by pair: {(0, 1): 0.5}
    cannot_weight: Any = 1.0

    takes = "soft links"

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(
            terms.smoothness(K, self.graph.laplacian())
            + terms.soft_must_links(K, self.links, self.must_weight)
            + terms.soft_cannot_links(K, self.links, self.cannot_weight)
        )

    def constraints(self, K):
        return {"unit": terms.unit_diagonal(K), "psd": terms.semidefinite(K)}


# %%
# Eighteen links of Iris, five of which are turned around. Together they contradict one another, and PCP says how:

X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
right = cl.Links.sample(y, per_class=3, random_state=0)
wrong = cl.Links(
    150,
    must=np.vstack([right.must[2:], right.cannot[:3]]),
    cannot=np.vstack([right.cannot[3:], right.must[:2]]),
)
try:
    cl.PCP(graph, wrong)
except cl.InconsistentLinks as error:
    print(error)

# %%
# The soft program has a solution whatever the links say. Its objective is not linear, so contraction has nothing to
# hold on to; but it has a dual with a few unknowns a link, which any solver finds easy.

problem = SoftPCP(graph, wrong)
print(problem, end="\n\n")
print(problem.explain(), end="\n\n")
solution = problem.solve()
print(solution)

# %%
# Which links were given up? Those with the largest terms left in the objective.

K = solution.kernel
prices = {
    **{("must", i, j): 1 - K[i, j] for i, j in wrong.must.tolist()},
    **{("cannot", i, j): max(0.0, K[i, j]) for i, j in wrong.cannot.tolist()},
}
turned_must = set(map(tuple, right.cannot[:3].tolist()))
turned_cannot = set(map(tuple, right.must[:2].tolist()))
for (kind, i, j), price in sorted(prices.items(), key=lambda item: -item[1])[:8]:
    remark = "a wrong one" if (i, j) in turned_must | turned_cannot else ""
    print(f"{kind:6} {i:3}–{j:<3} broken by {price:.2f}   {remark}")

# %%
# A link that is sure can weigh more, one that is doubted less.

doubted = SoftPCP(graph, wrong, dict.fromkeys(turned_must, 0.05), dict.fromkeys(turned_cannot, 0.05)).solve()
for name, answer in (("all alike", solution), ("wrong ones doubted", doubted)):
    labels = answer.cluster(3, random_state=0)
    print(f"{name:20} NMI {cl.metrics.nmi(y, labels):.3f}, of the right links broken: {right.violated(labels):.0%}")

# %%
# What do ever more wrong links cost? A share of 60 links is turned around, and the methods that take contradictory
# links are given the same ones.

shares = (0.0, 0.1, 0.2, 0.3)
methods = ("SoftPCP", "CCSR", "SRCP", "E2CP")
scores = {name: [] for name in methods}
for share in shares:
    for seed in range(3):
        drawn, rng = cl.Links.sample(y, n_links=60, random_state=seed), np.random.default_rng(seed)
        turn_must, turn_cannot = (rng.random(len(pairs)) < share for pairs in (drawn.must, drawn.cannot))
        links = cl.Links(
            150,
            must=np.vstack([drawn.must[~turn_must], drawn.cannot[turn_cannot]]),
            cannot=np.vstack([drawn.cannot[~turn_cannot], drawn.must[turn_must]]),
        )
        for name in methods:
            labels = cl.methods()[name].make(graph, links, None, 3).solve().cluster(3, random_state=0)
            scores[name].append((share, cl.metrics.nmi(y, labels)))
print("share wrong  " + "  ".join(f"{name:>8}" for name in methods))
for share in shares:
    row = (np.mean([score for s, score in scores[name] if s == share]) for name in methods)
    print(f"{share:11.0%}  " + "  ".join(f"{mean:8.2f}" for mean in row))
figure, ax = plt.subplots()
for name in methods:
    means = [np.mean([score for s, score in scores[name] if s == share]) for share in shares]
    ax.plot(shares, means, marker="o", label=name)
ax.set(xlabel="share of wrong links", ylabel="NMI, mean of 3", title="Iris, 60 links")
ax.legend()
plt.show()
