"""
One program, three ways to solve it
===================================

SRCP is a quadratic program, a Lyapunov equation, and where a process of spreading comes to rest. Here is how fast the
last one gets there.
"""

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("four_lines", n=200, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=120, random_state=0)

problem = cl.SRCP(graph, links, mu=0.2)
print(problem, end="\n\n")
solution = problem.solve()
print(solution)

# %%
# The spreading process of the paper's equation (7) ends at the same matrix, each step at least 1 + μ times nearer.

spread = problem.solve(route="spreading")
print(f"spreading: {spread.reason}, {abs(spread.propagated - solution.propagated).max():.0e} from the other route")
factor = np.exp(np.diff(np.log(spread.history)).mean())
print(f"from one step to the next: {factor:.3f}, at most 1/(1 + mu) = {1 / 1.2:.3f}")
cl.plotting.plot_convergence(spread, title="SRCP by spreading")
plt.show()

# %%
# The eigendecomposition is kept with the graph: other μ and other links cost a few products.

print("   mu   strongest link to an unlinked pair   NMI")
unlinked = links.matrix.toarray() == 0
for mu in (0.01, 0.2, 5.0, 100.0):
    other = cl.SRCP(graph, links, mu=mu).solve()
    strongest = abs(other.propagated[unlinked]).max()
    print(f"{mu:5g}   {strongest:32.3f}   {cl.metrics.nmi(y, other.cluster(2, random_state=0)):.3f}")

# %%
# What 120 links say about all 19 900 pairs: red where two points belong together, blue where they do not.

F = solution.propagated
cl.plotting.plot_kernel(F / abs(F[unlinked]).max(), y, title="propagated links, ordered by class")
plt.show()
