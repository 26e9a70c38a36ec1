"""
Many points, many links, a small cone
=====================================

CCSR on handwritten digits: a semidefinite program whose size depends neither on the points nor on the links.

The paper prints it with a matrix inequality of order m² + 1 (form "schur"). On the upper triangle of M it is least
squares over the cone (form "compact"), which an interior-point method of ours solves in milliseconds.
"""

import matplotlib.pyplot as plt

import cvxlink as cl

X, y = cl.datasets.load("digits")
graph = cl.Graph.knn(X, n_neighbors=20)
links = cl.Links.sample(y, n_links=1000, random_state=0)

problem = cl.CCSR(graph, links, order=15)
print(problem, end="\n\n")
print(problem.explain())

# %%
# One optimum, whichever way it is written down:

solution = problem.solve()
for form in problem.forms:
    other = problem.solve(solver="CLARABEL", form=form)
    print(f"form {form:8} {other.timings.total:6.3f} s   value {other.value:.6f}   {other.plan.program.sizes}")
print(f"route         {solution.timings.total:6.3f} s   value {solution.value:.6f}")

# %%
# What the links are worth. A link that is known to be certain can weigh more than one that is only likely.

labels = solution.cluster(10, random_state=0)
free = cl.clustering.spectral(graph.W, 10, random_state=0)
trusted = cl.CCSR(graph, links, must_weight=10.0, cannot_weight=1.0).solve().cluster(10, random_state=0)
print(f"without links:      error {cl.metrics.error(y, free):.1%}")
print(f"with links:         error {cl.metrics.error(y, labels):.1%}")
print(f"must-links tenfold: error {cl.metrics.error(y, trusted):.1%}")

# %%
# The answer is an embedding: the smoothest vectors of the graph, turned and stretched by M.

cl.plotting.plot_embedding(solution, labels, title="1797 digits in CCSR's embedding")
plt.show()
