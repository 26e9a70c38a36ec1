"""
From raw data to certified labels
=================================

Iris, 18 random links, the PCP kernel and kernel k-means, in ten lines.
"""

from textwrap import fill

import matplotlib.pyplot as plt

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, per_class=3, random_state=0)

# %%
# A method is a program. Printed, it reads like the mathematics in its paper.

problem = cl.PCP(graph, links)
show(problem, 14)

# %%
# ``solve`` chooses a route that needs no solver. The certificate is computed
# afterwards, for the problem as it was printed: the largest violation of each
# constraint, and two bounds that enclose the optimum.

solution = problem.solve()
show(solution, 15)

# %%
# The learnt kernel is clustered by kernel k-means. The clustering is itself a feasible
# point of the program, so the bound tells how far it can be from the best one.

labels = solution.cluster(n_clusters=3, random_state=0)
for name, score in cl.metrics.scores(y, labels, links).items():
    print(f"{name:9} {score:.3f}")
print(solution.relaxation_gap(labels))

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
cl.plotting.plot_links(X, links, left, "data and links")
cl.plotting.plot_clusters(X, labels, right, "clusters")
plt.show()

# %%
# The kernel, with the points ordered by cluster:

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
cl.plotting.plot_kernel(solution.kernel, labels, ax, "learnt kernel")
plt.show()
