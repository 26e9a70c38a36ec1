"""Labels and links are two views of one thing: propagate labels, turn them into links, and back; combine both."""

import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("two_moons", random_state=0)
graph = cl.Graph.knn(X, n_neighbors=8)
labels = cl.sample_labels(y, per_class=2, random_state=0)  # four labels, -1 elsewhere

for problem in (cl.GFHF(graph, labels), cl.LLGC(graph, labels, alpha=0.9), cl.CSCGFHF(graph, labels)):
    solution = problem.solve()
    score = cl.metrics.scores(y, solution.cluster(random_state=0))["ari"]
    print(f"{type(problem).__name__:8s} adjusted Rand index {score:.2f}")

unsure = cl.GFHF(graph, labels).solve().confidence
print(f"least sure of its label: point {unsure.argmin()}, {unsure.min():.0%}")

links = cl.Links.from_labels(labels)  # every two labelled points: must-linked or cannot-linked
print(links, "and back:", links.to_labels()[labels >= 0])

extra = cl.Links(len(y), must=[(int(np.flatnonzero(labels == 0)[0]), 1)], cannot=[])
try:
    both = extra.with_labels(labels)
    print("links and labels agree:", both)
    wrong = extra.with_labels(np.where(np.arange(len(y)) == 1, 1, labels))  # say that point 1 is of the other class
except cl.InconsistentLinks as error:
    print("they do not agree:", error)
