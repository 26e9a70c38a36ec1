"""
Kernel propagation, and points that come later
==============================================

KP on half of the handwritten digits 0 to 3, extended to the other half. The
semidefinite program contains only the linked points. All other points, including those
that come later, follow by harmonic extension.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("digits")
few = np.flatnonzero(y < 4)
old, new = few[::2], few[1::2]
graph = cl.Graph.knn(X[old], n_neighbors=10, symmetrize="mutual")
links = cl.Links.sample(y[old], per_class=4, random_state=0)

problem = cl.KP(graph, links)
show(problem, 14)
print()
show(problem.explain(), 3)

# %%
solution = problem.solve()
show(solution, 15)
print()
shape = "{} × {}".format(*solution.factor.shape)
print(f"kernel of {graph.n} points, kept as a {shape} factor, rank {solution.rank}")

# %%
# New points find their places without learning anything again, all at once or one by
# one.

labels = solution.cluster(n_clusters=4, random_state=0)
print(f"old points         NMI {cl.metrics.nmi(y[old], labels):.3f}")
for online in (False, True):
    predicted = solution.extend(X[new], online=online).predict(labels)
    how = "one by one" if online else "all at once"
    print(f"new, {how:12}  NMI {cl.metrics.nmi(y[new], predicted):.3f}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.6), layout="constrained")
cl.plotting.plot_links(X[old], links, left, "digits and links")
cl.plotting.plot_embedding(solution, labels, ax=right, title="where KP puts them")
plt.show()
