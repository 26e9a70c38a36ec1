r"""
Links that contradict one another
=================================

PCP enforces every link, so one wrong link can leave it without a solution. Here broken
links are penalised instead, each with its own weight:

.. math:: \min_K\ \langle \bar L, K \rangle + \sum_{\mathcal M} w_{ij} (1 - K_{ij})
          + \sum_{\mathcal C} w_{ij} \max(0, K_{ij})
          \quad\text{s.t.}\quad K_{ii} = 1,\quad K \succeq 0.
"""

import os
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from cvxlink import terms


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


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
            terms.smoothness(K, self.graph.laplacian(), r"\bar L")
            + terms.soft_must_links(K, self.links, self.must_weight)
            + terms.soft_cannot_links(K, self.links, self.cannot_weight)
        )

    def constraints(self, K):
        return {"unit": terms.unit_diagonal(K), "psd": terms.semidefinite(K)}


# %%
# A hundred links on Iris, of which a tenth are reversed. Together they contradict one
# another, and PCP says how:


def reversed_in_part(links, share, seed):
    """Return links of which a share is reversed, and the wrong ones by kind."""
    rng = np.random.default_rng(seed)
    must = rng.random(len(links.must)) < share
    cannot = rng.random(len(links.cannot)) < share
    wrong_must, wrong_cannot = links.cannot[cannot], links.must[must]
    all_must = np.vstack([links.must[~must], wrong_must])
    all_cannot = np.vstack([links.cannot[~cannot], wrong_cannot])
    wrong = {
        "must": set(map(tuple, wrong_must.tolist())),
        "cannot": set(map(tuple, wrong_cannot.tolist())),
    }
    return cl.Links(links.n, all_must, all_cannot), wrong


X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
right = cl.Links.sample(y, n_links=100, random_state=0)
links, wrong = reversed_in_part(right, 0.1, seed=4)
try:
    cl.PCP(graph, links)
    raise AssertionError("these links contradict one another")
except cl.InconsistentLinks as error:
    show(error, 0)

# %%
# The soft program has a solution whatever the links say. Its objective is not linear,
# so contraction does not apply. But its dual has only a few unknowns per link, which is
# easy for any solver.

problem = SoftPCP(graph, links)
show(problem, 14)
print()
show(problem.explain(), 3)
print()
solution = problem.solve()
show(solution, 15)

# %%
# Which links were given up? The links with the largest terms in the objective. Most of
# them are the wrong ones: the others outvote them.

K = solution.kernel
prices = {
    **{("must", i, j): 1 - K[i, j] for i, j in links.must.tolist()},
    **{("cannot", i, j): max(0.0, K[i, j]) for i, j in links.cannot.tolist()},
}
for (kind, i, j), price in sorted(prices.items(), key=lambda item: -item[1])[:10]:
    note = "   a wrong link" if (i, j) in wrong[kind] else ""
    print(f"{kind:6} {i:3}–{j:<3} broken by {price:.2f}{note}")

# %%
# A certain link can weigh more, and a doubtful one less. Here that makes no difference.

doubts = (dict.fromkeys(wrong[kind], 0.05) for kind in ("must", "cannot"))
doubted = SoftPCP(graph, links, *doubts).solve()
for name, answer in (("equal weights", solution), ("wrong ones doubted", doubted)):
    labels = answer.cluster(3, random_state=0)
    nmi, broken = cl.metrics.nmi(y, labels), right.violated(labels)
    print(f"{name:20} NMI {nmi:.3f}, {broken:.0%} of the correct links broken")

# %%
# What do more wrong links cost? All methods that accept contradictory links get the
# same ones. The best mean NMI in each row is marked.

shares = (0.0, 0.1, 0.2, 0.3)
repeats = 1 if "CVXLINK_QUICK" in os.environ else 4
means = {name: [] for name in ("SoftPCP", "CCSR", "SRCP", "E2CP")}
for share in shares:
    samples = [cl.Links.sample(y, n_links=60, random_state=r) for r in range(repeats)]
    draws = [reversed_in_part(drawn, share, r)[0] for r, drawn in enumerate(samples)]
    for name in means:
        method = cl.methods()[name]
        answers = [method.make(graph, drawn, None, 3).solve() for drawn in draws]
        found = [answer.cluster(3, random_state=0) for answer in answers]
        mean = np.mean([cl.metrics.nmi(y, labels) for labels in found])
        means[name].append(round(float(mean), 2))
print("share wrong  " + "".join(f"{name:>9} " for name in means).rstrip())
for share, row in zip(shares, zip(*means.values(), strict=True), strict=True):
    cells = (f"{mean:9.2f}{'*' if mean == max(row) else ' '}" for mean in row)
    print(f"{share:11.0%}  " + "".join(cells).rstrip())
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, scores), line in zip(means.items(), ("-o", "-s", "-^", "--v"), strict=True):
    ax.plot(shares, scores, line, label=name)
ax.set(xlabel="share of wrong links", ylabel="mean NMI", title="Iris, 60 links")
ax.legend()
plt.show()
