"""
From raw data to certified labels
=================================

Iris, 18 random links, the PCP kernel, kernel k-means: ten lines.
"""

import matplotlib.pyplot as plt

import cvxlink as cl

X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, per_class=3, random_state=0)

# %%
# A method is a program. Printed, it is the mathematics of the paper it is from.

problem = cl.PCP(graph, links)
print(problem)

# %%
# Solving it takes a route that needs no solver. The certificate is computed afterwards, on the problem as it was
# printed: the largest violation of each constraint, and bounds between which the optimum lies.

solution = problem.solve()
print(solution)

# %%
# The kernel is learnt, so clusters are a matter of k-means. The clustering is itself a point of the program, which
# tells how far it can be from the best one.

labels = solution.cluster(n_clusters=3, random_state=0)
print(cl.metrics.scores(y, labels, links))
print(solution.relaxation_gap(labels))

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.4), layout="constrained")
cl.plotting.plot_links(X, links, left, "data and links")
cl.plotting.plot_kernel(solution.kernel, labels, middle, "learnt kernel, ordered by cluster")
cl.plotting.plot_clusters(X, labels, right, "clusters")
plt.show()
