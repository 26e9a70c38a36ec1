"""Classes that lie in several clusters: why kernels that keep the graph's eigenvectors do not profit from links.

Four parallel lines A, B, C, D; A and C are one class, B and D the other (figure 5 of the KP paper). PCP and KP move the
lines of a class together. Improved-order and Gaussian-field can only reweigh eigenvectors, none of which tells A and C
from B and D.
"""

import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("four_lines", n=200, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
methods = (cl.KP, cl.PCP, cl.ImprovedOrder, cl.GaussianField)

print("NMI, mean of 3 draws of links")
print("links " + "".join(f"{method.__name__:>15}" for method in methods))
for per_class in (1, 3, 6, 10):
    draws = [cl.Links.sample(y, per_class=per_class, random_state=seed) for seed in range(3)]
    scores = [
        np.mean([cl.metrics.nmi(y, method(graph, links).solve().cluster(2, random_state=0)) for links in draws])
        for method in methods
    ]
    print(f"{3 * per_class:5} " + "".join(f"{score:15.2f}" for score in scores))
