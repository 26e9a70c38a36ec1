"""
One program, three ways to solve it
===================================

SRCP is a quadratic program. It is also a Lyapunov equation, and the state at which a
spreading process comes to rest. This page shows how fast the process gets there.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("four_lines", n=200, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=120, random_state=0)

problem = cl.SRCP(graph, links, mu=0.2)
show(problem, 14)
print()
solution = problem.solve()
show(solution, 15)

# %%
# The spreading process, equation (7) of the paper, ends at the same matrix. Every step
# divides the distance to it by at least 1 + μ.

spread = problem.solve(route="spreading")
difference = abs(spread.propagated - solution.propagated).max()
print(f"spreading: {spread.reason}, {difference:.0e} from the other route")
factor = np.exp(np.diff(np.log(spread.history)).mean())
print(f"factor per step: {factor:.3f}, at most 1/(1 + mu) = {1 / 1.2:.3f}")
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
cl.plotting.plot_convergence(spread, ax, "SRCP by spreading")
plt.show()

# %%
# The eigendecomposition is kept with the graph, so another μ or other links cost only a
# few products.

unlinked = links.matrix.toarray() == 0
print("   mu   strongest entry of an unlinked pair     NMI")
for mu in (0.01, 0.2, 5.0, 100.0):
    other = cl.SRCP(graph, links, mu=mu).solve()
    strongest = abs(other.propagated[unlinked]).max()
    nmi = cl.metrics.nmi(y, other.cluster(2, random_state=0))
    print(f"{mu:5g}   {strongest:35.3f}   {nmi:.3f}")

# %%
# What 120 links say about all 19 900 pairs: red where two points belong together, blue
# where they do not.

F = solution.propagated
figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
scaled = F / abs(F[unlinked]).max()
cl.plotting.plot_kernel(scaled, y, ax, "propagated links, ordered by class")
plt.show()
