"""SRCP: one quadratic program, one Lyapunov equation, one process of spreading, and how fast the last one converges."""

import numpy as np

import cvxlink as cl

X, y = cl.datasets.load("four_lines", n=200, noise=0.05, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=120, random_state=0)

problem = cl.SRCP(graph, links, mu=0.2)
print(problem, end="\n\n")
solution = problem.solve()
print(solution, end="\n\n")

# The spreading process of the paper's equation (7) ends at the same matrix, a factor 1/(1 + mu) nearer at each step.
spread = problem.solve(route="spreading")
history = spread.history
print(f"spreading: {spread.reason}, {abs(spread.propagated - solution.propagated).max():.0e} from the other route")
print(f"from one step to the next: {np.exp(np.diff(np.log(history)).mean()):.3f}, at most 1/(1 + mu) = {1 / 1.2:.3f}")

# The eigendecomposition is kept with the graph: other mu and other links cost a few products.
print("\n   mu   strongest link to an unlinked pair   NMI")
unlinked = links.matrix.toarray() == 0
for mu in (0.01, 0.2, 5.0, 100.0):
    other = cl.SRCP(graph, links, mu=mu).solve()
    strongest = abs(other.propagated[unlinked]).max()
    print(f"{mu:5g}   {strongest:32.3f}   {cl.metrics.nmi(y, other.cluster(2, random_state=0)):.3f}")

try:
    ax = cl.plotting.plot_convergence(spread, title="SRCP by spreading")
    ax.figure.savefig("srcp-spreading.png", dpi=130)
    print("\npicture: srcp-spreading.png")
except cl.MissingDependency as error:
    print(f"\nno picture: {error}")
