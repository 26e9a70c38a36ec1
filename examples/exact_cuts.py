"""
Constrained spectral clustering three ways
==========================================

The papers' procedure, the exact search, and the relaxation in CVXPY.
"""

import warnings

import matplotlib.pyplot as plt

import cvxlink as cl

X, y = cl.datasets.load("iris")
X, y = X[y != 0], y[y != 0]  # without setosa, as in the paper: two classes that overlap
graph = cl.Graph.rbf(X, sigma=1.0)
labels = cl.sample_labels(y, n_labels=20, random_state=0)
problem = cl.CSC(graph, cl.Links.from_labels(labels), fraction=0.5)
print(problem, end="\n\n")
print(problem.explain())

# %%
# The paper's procedure is not optimal for the program that the paper states, and warns that it is not. The exact search
# is, and so is the relaxation: its matrix has rank one.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", cl.InaccurateWarning)
    ways = {
        "paper": problem.solve(route="paper"),
        "exact": problem.solve(route="exact"),
        "sdp": problem.solve(form="sdp", solver="SCS"),
    }
for name, solution in ways.items():
    measures = solution.measures
    score = cl.metrics.scores(y, solution.cluster())["ari"]
    print(
        f"{name:6s} cost {solution.value:.6f}, certified at least {solution.certificate.lower_bound:.6f}, "
        f"satisfaction {measures['satisfaction']:.4f} of {measures['largest_beta']:.4f}, ARI {score:.2f}"
    )
relaxation = problem.equivalents["sdp"].solve(solver="SCS")
print(f"rank of the relaxation's X: {relaxation.rank}")

# %%
figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.4), layout="constrained")
cl.plotting.plot_clusters(X, y, axes[0], "classes")
for ax, name in zip(axes[1:], ("paper", "exact"), strict=True):
    cl.plotting.plot_clusters(X, ways[name].cluster(), ax, f"{name}: cost {ways[name].value:.3f}")
plt.show()
