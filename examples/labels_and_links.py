"""
Labels and links are two views of one thing
===========================================

Propagate labels, turn them into links and back, and combine both.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("two_moons", random_state=0)
graph = cl.Graph.knn(X, n_neighbors=8)
labels = cl.sample_labels(y, per_class=2, random_state=0)  # four labels, -1 elsewhere

problems = (
    cl.GFHF(graph, labels),
    cl.LLGC(graph, labels, alpha=0.9),
    cl.CSCGFHF(graph, labels),
)
scores = {}
for problem in problems:
    found = problem.solve().cluster(random_state=0)
    scores[type(problem).__name__] = cl.metrics.scores(y, found)["ari"]
for name, score in scores.items():
    mark = "  * best" if score == max(scores.values()) else ""
    print(f"{name:8s} adjusted Rand index {score:.2f}{mark}")

# %%
# How certain each label is: the share of its class in the scores.

propagated = cl.GFHF(graph, labels).solve()
unsure = propagated.confidence.argmin()
print(f"least certain label: point {unsure}, {propagated.confidence[unsure]:.0%}")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
shades = {"c": propagated.confidence, "cmap": "viridis", "vmin": 0.5, "vmax": 1}
drawn = ax.scatter(*X.T, s=18, **shades)
known = {"s": 90, "facecolors": "none", "edgecolors": "black", "label": "labelled"}
ax.scatter(*X[labels >= 0].T, **known)
ax.set(title="confidence of the propagated labels", xticks=[], yticks=[])
figure.colorbar(drawn, label="confidence")
ax.legend(loc="upper right")
plt.show()

# %%
# Any two labelled points are must-linked or cannot-linked, and the links give the
# labels back.

links = cl.Links.from_labels(labels)
print(links, "and back:", links.to_labels()[labels >= 0])

# %%
# Links and labels have to agree. Where they do not, the error shows the chain that
# proves it.

extra = cl.Links(len(y), must=[(int(np.flatnonzero(labels == 0)[0]), 1)])
print("links and labels agree:", extra.with_labels(labels))
contrary = np.where(np.arange(len(y)) == 1, 1, labels)  # point 1 in the other class
try:
    extra.with_labels(contrary)
except cl.InconsistentLinks as error:
    print(fill(f"they do not agree: {error}", 88))
