"""
Constrained spectral clustering three ways
==========================================

The paper's procedure, the exact search, and the relaxation in CVXPY.
"""

import warnings
from textwrap import fill

import matplotlib.pyplot as plt

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("iris")
X, y = X[y != 0], y[y != 0]  # without setosa, as in the paper: two overlapping classes
graph = cl.Graph.rbf(X, sigma=1.0)
labels = cl.sample_labels(y, n_labels=20, random_state=0)
problem = cl.CSC(graph, cl.Links.from_labels(labels), fraction=0.5)
show(problem, 14)
print()
show(problem.explain(), 3)

# %%
# The paper's procedure does not reach the optimum of the program that the paper states,
# and a warning says so. The exact search does, and so does the relaxation: its matrix
# has rank one. The lowest cost is marked.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", cl.InaccurateWarning)
    ways = {
        "paper": problem.solve(route="paper"),
        "exact": problem.solve(route="exact"),
        "sdp": problem.solve(form="sdp", solver="SCS"),
    }
lowest = min(solution.value for solution in ways.values())
print("            cost    certified satisfaction  largest   ARI")
for name, solution in ways.items():
    satisfied, most = (solution.measures[m] for m in ("satisfaction", "largest_beta"))
    score = cl.metrics.scores(y, solution.cluster())["ari"]
    bound, best = solution.certificate.lower_bound, solution.value < lowest + 1e-6
    print(
        f"{name:6} {solution.value:9.6f} {'*' if best else ' '} ≥ {bound:8.6f} "
        f"{satisfied:12.4f} {most:8.4f} {score:5.2f}"
    )
relaxation = problem.equivalents["sdp"].solve(solver="SCS")
print(f"rank of the relaxation's X: {relaxation.rank}")

# %%
figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
for ax, name in zip(axes, ("paper", "exact"), strict=True):
    title = f"{name}: cost {ways[name].value:.3f}"
    cl.plotting.plot_clusters(X, ways[name].cluster(), ax, title)
plt.show()

# %%
# The classes, for comparison:

figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
cl.plotting.plot_clusters(X, y, ax, "classes")
plt.show()
