"""From raw data to certified labels in ten lines.

Iris, 18 random links, the PCP kernel, kernel k-means.
"""

import cvxlink as cl

X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, per_class=3, random_state=0)

problem = cl.PCP(graph, links)
print(problem, end="\n\n")

solution = problem.solve()
print(solution, end="\n\n")

labels = solution.cluster(n_clusters=3, random_state=0)
print(cl.metrics.scores(y, labels, links))
print(solution.relaxation_gap(labels))
