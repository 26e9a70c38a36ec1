"""Constrained spectral clustering three ways: the papers' procedure, the exact search, and the relaxation in CVXPY."""

import warnings

import cvxlink as cl

X, y = cl.datasets.load("iris")
X, y = X[y != 0], y[y != 0]  # without setosa, as in the paper: two classes that overlap
graph = cl.Graph.rbf(X, sigma=1.0)
labels = cl.sample_labels(y, n_labels=20, random_state=0)
problem = cl.CSC(graph, cl.Links.from_labels(labels), fraction=0.5)
print(problem)
print(problem.explain())

with warnings.catch_warnings():
    warnings.simplefilter("ignore", cl.InaccurateWarning)  # the paper's procedure is not optimal, which is the point
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
