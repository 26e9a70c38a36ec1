r"""
Links that contradict one another
=================================

PCP enforces every link, so one wrong link can leave it without a solution. Here links are rewarded instead, each by
a weight of its own:

.. math:: \min_K\ \langle \bar L, K \rangle + \sum_{\mathcal M} w_{ij} (1 - K_{ij})
          + \sum_{\mathcal C} w_{ij} \max(0, K_{ij})
          \quad\text{s.t.}\quad K_{ii} = 1,\quad K \succeq 0.
"""

import os
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

    about = cl.About(takes="soft links")

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
# A hundred links of Iris, a tenth of which are turned around. Together they contradict one another, and PCP says how:


def turned_around(links, share, seed):
    """Return links of which some are turned around, and the wrong ones by kind."""
    rng = np.random.default_rng(seed)
    must, cannot = (rng.random(len(pairs)) < share for pairs in (links.must, links.cannot))
    wrong_must, wrong_cannot = links.cannot[cannot], links.must[must]
    turned = cl.Links(
        links.n, np.vstack([links.must[~must], wrong_must]), np.vstack([links.cannot[~cannot], wrong_cannot])
    )
    return turned, {"must": set(map(tuple, wrong_must.tolist())), "cannot": set(map(tuple, wrong_cannot.tolist()))}


X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
right = cl.Links.sample(y, n_links=100, random_state=0)
links, wrong = turned_around(right, 0.1, seed=4)
try:
    cl.PCP(graph, links)
    raise AssertionError("these links contradict one another")
except cl.InconsistentLinks as error:
    print(error)

# %%
# The soft program has a solution whatever the links say. Its objective is not linear, so contraction has nothing to
# hold on to; but it has a dual with a few unknowns a link, which any solver finds easy.

problem = SoftPCP(graph, links)
print(problem, end="\n\n")
print(problem.explain(), end="\n\n")
solution = problem.solve()
print(solution)

# %%
# Which links were given up? Those with the largest terms left in the objective, and these are the wrong ones: the
# others outvote them.

K = solution.kernel
prices = {
    **{("must", i, j): 1 - K[i, j] for i, j in links.must.tolist()},
    **{("cannot", i, j): max(0.0, K[i, j]) for i, j in links.cannot.tolist()},
}
for (kind, i, j), price in sorted(prices.items(), key=lambda item: -item[1])[:10]:
    print(f"{kind:6} {i:3}–{j:<3} broken by {price:.2f}   {'a wrong one' if (i, j) in wrong[kind] else ''}")

# %%
# A link that is sure can weigh more, one that is doubted less. Here that changes nothing any more.

doubts = (dict.fromkeys(wrong[kind], 0.05) for kind in ("must", "cannot"))
doubted = SoftPCP(graph, links, *doubts).solve()
for name, answer in (("all alike", solution), ("wrong ones doubted", doubted)):
    labels = answer.cluster(3, random_state=0)
    nmi, broken = cl.metrics.nmi(y, labels), right.violated(labels)
    print(f"{name:20} NMI {nmi:.3f}, of the right links broken: {broken:.0%}")

# %%
# What do ever more wrong links cost? The methods that take contradictory links are given the same ones.

shares = (0.0, 0.1, 0.2, 0.3)
repeats = 1 if "CVXLINK_QUICK" in os.environ else 4
means = {name: [] for name in ("SoftPCP", "CCSR", "SRCP", "E2CP")}
for share in shares:
    draws = [
        turned_around(cl.Links.sample(y, n_links=60, random_state=seed), share, seed)[0] for seed in range(repeats)
    ]
    for name in means:
        method = cl.methods()[name]
        answers = [method.make(graph, drawn, None, 3).solve().cluster(3, random_state=0) for drawn in draws]
        means[name].append(np.mean([cl.metrics.nmi(y, labels) for labels in answers]))
print("share wrong  " + "".join(f"{name:>10}" for name in means))
for share, row in zip(shares, zip(*means.values(), strict=True), strict=True):
    print(f"{share:11.0%}  " + "".join(f"{mean:10.2f}" for mean in row))
figure, ax = plt.subplots()
for (name, scores), line in zip(means.items(), ("-o", "-s", "-^", "--v"), strict=True):
    ax.plot(shares, scores, line, label=name)
ax.set(xlabel="share of wrong links", ylabel=f"NMI, mean of {repeats}", title="Iris, 60 links")
ax.legend()
plt.show()
