"""
Labels and links are two views of one thing
===========================================

Propagate labels, turn them into links, and back; combine both.
"""

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("two_moons", random_state=0)
graph = cl.Graph.knn(X, n_neighbors=8)
labels = cl.sample_labels(y, per_class=2, random_state=0)  # four labels, -1 elsewhere

for problem in (cl.GFHF(graph, labels), cl.LLGC(graph, labels, alpha=0.9), cl.CSCGFHF(graph, labels)):
    solution = problem.solve()
    score = cl.metrics.scores(y, solution.cluster(random_state=0))["ari"]
    print(f"{type(problem).__name__:8s} adjusted Rand index {score:.2f}")

# %%
# How sure each label is: the share of its class in the scores.

propagated = cl.GFHF(graph, labels).solve()
unsure = propagated.confidence.argmin()
print(f"least sure of its label: point {unsure}, {propagated.confidence[unsure]:.0%}")

figure, ax = plt.subplots()
drawn = ax.scatter(*X.T, c=propagated.confidence, s=18, cmap="viridis", vmin=0.5, vmax=1)
ax.scatter(*X[labels >= 0].T, s=90, facecolors="none", edgecolors="black", label="labelled")
figure.colorbar(drawn, label="confidence")
ax.legend()
plt.show()

# %%
# Every two labelled points are must-linked or cannot-linked, and the labels can be had back from that.

links = cl.Links.from_labels(labels)
print(links, "and back:", links.to_labels()[labels >= 0])

# %%
# Links and labels together have to agree. Where they do not, the error shows the chain that proves it.

extra = cl.Links(len(y), must=[(int(np.flatnonzero(labels == 0)[0]), 1)])
print("links and labels agree:", extra.with_labels(labels))
try:
    extra.with_labels(np.where(np.arange(len(y)) == 1, 1, labels))  # say that point 1 is of the other class
except cl.InconsistentLinks as error:
    print("they do not agree:", error)
