r"""
From relaxation to proof
========================

Everybody has run k-means, and nobody knows whether its answer is the best one. Here it
is *proven*: of all ways to put 75 flowers into three clusters that keep 20 links, no
one has smaller squared distances to the means than the one below. There are far too
many ways to list them. Instead the proof has four steps, and each of them is worth
knowing by itself:

1. *relax*: a convex program that no clustering is below;
2. *cut*: inequalities that hold for all clusterings make it tighter;
3. *round*: a clustering near the solution of the program is an upper bound;
4. *branch*: where the two bounds still differ, ask a question that has two answers.
"""

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("iris")
X, y = X[::2], y[::2]
links = cl.Links.sample(y, n_links=20, random_state=1)
problem = cl.KMeans(X, links, n_clusters=3)
print(links.n_blocks, "blocks of must-linked points")
ax = cl.plotting.plot_links(X, links, title="every second flower of Iris, and 20 links")
plt.show()

# %%
# The relaxation
# --------------
# Write a clustering as a matrix: :math:`Z_{ij} = 1/|S|` if i and j are both in the
# cluster :math:`S`, and 0 if they are in different ones. Row i of :math:`ZX` is then
# the mean of the cluster of point i, and the squared distances to the means sum to
# :math:`\langle XX^\top, I - Z\rangle`, which is *linear* in :math:`Z`. All that is
# hard is now in the set of these matrices. They are projections: semidefinite, with
# trace k and :math:`Z\mathbf 1 = \mathbf 1`. Their entries are not negative, and links
# are linear equations. The program of Peng and Wei keeps these properties and forgets
# the rest:

print(problem)

# %%
# Every clustering that keeps the links is a point of the program, so its optimum is a
# lower bound on all of their values. It is not the solver's word that counts here, but
# the certificate. From any multipliers, however they were found, it computes a bound
# with all rounding errors on the safe side.

solution = problem.solve(accuracy=1e-5)
relaxed = solution.certificate.lower_bound
print(solution.certificate)

# %%
# Rounding
# --------
# The solution is not a clustering: its entries should be 0 or :math:`1/|S|`, and some
# lie in between. But its rows nearly tell which points belong together. Clustered by
# k-means they give labels, and *any* labels that keep the links give an upper bound.


def value_of(labels):
    """Return the sum of squared distances to the means."""
    members = (X[labels == k] for k in np.unique(labels))
    return sum(((S - S.mean(axis=0)) ** 2).sum() for S in members)


labels = solution.cluster(random_state=0)
print(f"bound of the relaxation   {relaxed:.4f}")
print(f"rounded clustering        {value_of(labels):.4f}")
print(f"links that it breaks      {links.violated(labels):.0%}")

# %%
# Such labels may break a link, and then their value bounds nothing. The search further
# below rounds with care: blocks of must-linked points are assigned to the nearest mean
# by an integer program that keeps the cannot-links, and then single blocks are moved
# as long as that helps.
#
# Cuts
# ----
# What was forgotten can be remembered bit by bit. Let i be in a cluster with s points.
# Then :math:`Z_{ii} = 1/s`, and :math:`Z_{ij}` is either 0 or :math:`1/s`:
#
# - *pairs*: :math:`Z_{ij} \le Z_{ii}`;
# - *triangles*: :math:`Z_{ij} + Z_{ik} \le Z_{ii} + Z_{jk}`, because if i is with both
#   j and k, then j is with k;
# - *cliques*: of any k + 1 points two are in one cluster, so the sum of
#   :math:`Z_{ij}` over their pairs is at least one over the largest possible size.
#
# There are many triangles on these points, and most of them do not matter. So the
# program is solved, the inequalities that its solution violates most are added, those
# without effect are dropped, and it is solved again.

n = len(X)
print(n * (n - 1) * (n - 2) // 2, "triangles")
stronger = problem.strengthened(rounds=4)
print(stronger)

# %%
# The program with cuts is an ordinary problem again. It can be printed, and solved by
# anyone who does not believe this page.

print(stronger.problem.cuts)

# %%
# Branching
# ---------
# A small gap is left, and now there is nothing more to be had from inequalities: one
# has to ask. Take two points that the solution puts neither together nor apart. In the
# best clustering they are one or the other. Must-linked they give one problem,
# cannot-linked another, and *both are problems of the kind that we started from*: a
# branch is a link. Each gets a bound, which is at least that of its parent. If a bound
# is above the best value that is known, nothing better is in that branch, and it is
# closed.

result = cl.optimal_clustering(problem, gap=1e-4)
print(result)
print()
print(result.tree)

# %%
# How the rounds at the root closed most of the gap:

cl.plotting.plot_rounds(result, title="bound and best clustering at the root")
plt.show()

# %%
# And the tree that closed the rest. The gap at each node is the one to the best value:

cl.plotting.plot_tree(result)
plt.show()

# %%
# The proof in words
# ------------------
# The proof is what the tree says, read from its leaves. Every clustering that keeps the
# links is in exactly one leaf, because at each node two points are either together or
# apart. The bound of each leaf is proven. So no clustering is below the least of them:

leaves = [leaf for leaf in result.tree.leaves if leaf.fate == "closed"]
for leaf in leaves:
    asked = " and ".join(
        f"{kind} ({i}, {j})" for kind, i, j in result.tree.links_of(leaf.number)
    )
    print(f"if {asked or 'nothing is asked'}: at least {leaf.bound:.5f}")
least = min(leaf.bound for leaf in leaves)
print(f"so all clusterings have at least {min(least, result.value):.5f}")
print(f"and this one has                 {value_of(result.labels):.5f}")
print(f"which is at most {result.gap:.1e} more, relative to its value")
print(f"links that it breaks: {links.violated(result.labels):.0%}")

# %%
# Where each step brought us:

steps = {
    "relaxation": relaxed,
    "with cuts at the root": result.tree[0].bound,
    "with branching": result.bound,
    "best clustering": result.value,
}
for name, number in steps.items():
    print(f"{name:22} {number:.5f}   gap {1 - number / result.value:.1e}")

ax = cl.plotting.plot_links(X, links, labels=result.labels, title="the best clustering")
plt.show()

# %%
# What it does not say
# --------------------
# The clustering is the best one *for this objective*, scaled like this, with these
# links. Whether small squared distances are what one wants is another question, and
# scores against the species do not answer it in favour of the optimum alone:

for name, found in (("rounded", labels), ("best", result.labels)):
    scores = cl.metrics.scores(y, found)
    print(name, {score: round(value, 3) for score, value in scores.items()})

# %%
# Exercises
# ---------
# 1. *Fewer links.* Sample 0, 5, 10 links, and see whether the root is enough. Which
#    clusterings do links remove: those near the best one, or others?
# 2. *Other objectives.* Replace ``cl.KMeans(X, links, 3)`` by
#    ``cl.LinkedCut(cl.Graph.knn(X), links, 3)``: the best normalised cut, by the same
#    four steps. Which of the two has the smaller gap at the root?
# 3. *A contradiction.* Cannot-link three points pairwise and ask for two clusters. What
#    is proven then, and is there a tree? *Hint:* a ring of five cannot-links has no
#    three such points, and still needs three clusters.
