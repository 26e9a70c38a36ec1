"""
Classes that lie in several clusters
====================================

Four parallel lines A, B, C, D; A and C are one class, B and D the other (figure 5 of the KP paper). PCP and KP move the
lines of a class together. Improved-order and Gaussian-field can only reweigh eigenvectors of the graph, none of which
tells A and C from B and D, so they do not profit from links.
"""

import os

import matplotlib.pyplot as plt

import cvxlink as cl

quick = "CVXLINK_QUICK" in os.environ
X, y = cl.datasets.load("four_lines", n=80 if quick else 200, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
cl.plotting.plot_links(X, cl.Links.sample(y, per_class=3, random_state=0), title="four lines, and nine links")
plt.show()

# %%
# Scores are means over draws of the links: a single draw is luck.

methods = (cl.KP, cl.PCP, cl.ImprovedOrder, cl.GaussianField)
curves = {method.__name__: [] for method in methods}
for per_class in (1, 6) if quick else (1, 3, 6, 10):
    for seed in range(1 if quick else 3):
        links = cl.Links.sample(y, per_class=per_class, random_state=seed)
        for method in methods:
            labels = method(graph, links).solve().cluster(2, random_state=0)
            curves[method.__name__].append((len(links), cl.metrics.nmi(y, labels)))

for name, scores in curves.items():
    print(f"{name:14}", "  ".join(f"{number:2} links: {score:.2f}" for number, score in scores))
cl.plotting.plot_scores(curves, title="four lines, two classes", score="NMI")
plt.show()
