"""
Kernel propagation, and points that come later
==============================================

KP on half of the handwritten digits 0 to 3, carried over to the other half. The semidefinite program only sees the
linked points; the others, and points that come later, follow by harmonic extension.
"""

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("digits")
few = np.flatnonzero(y < 4)
old, new = few[::2], few[1::2]
graph = cl.Graph.knn(X[old], n_neighbors=10, symmetrize="mutual")
links = cl.Links.sample(y[old], per_class=4, random_state=0)

problem = cl.KP(graph, links)
print(problem, end="\n\n")
print(problem.explain())

# %%
solution = problem.solve()
print(solution, end="\n\n")
print(f"kernel of {graph.n} points as a factor of shape {solution.factor.shape}, rank {solution.rank}")

# %%
# New points find their places without anything being learnt again, all at once or one after the other.

labels = solution.cluster(n_clusters=4, random_state=0)
print(f"in-sample          NMI {cl.metrics.nmi(y[old], labels):.3f}")
for online in (False, True):
    extended = solution.extend(X[new], online=online)
    how = "one by one" if online else "all at once"
    print(f"new, {how:12}  NMI {cl.metrics.nmi(y[new], extended.predict(labels)):.3f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
cl.plotting.plot_links(X[old], links, left, "digits and links, principal components")
cl.plotting.plot_embedding(solution, labels, links, right, "where KP puts them")
plt.show()
