"""
Many points, many links, a small cone
=====================================

CCSR on handwritten digits: a semidefinite program whose size depends neither on the
number of points nor on the number of links.

The paper prints it with a matrix inequality of order m² + 1 (form "schur"). On the
upper triangle of M it is a least-squares problem over the cone (form "compact"), which
our own interior-point method solves in milliseconds.
"""

from textwrap import fill

import matplotlib.pyplot as plt

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("digits")
graph = cl.Graph.knn(X, n_neighbors=20)
links = cl.Links.sample(y, n_links=1000, random_state=0)

problem = cl.CCSR(graph, links, order=15)
show(problem, 14)
print()
show(problem.explain(), 3)

# %%
# Every form has the same optimum. The fastest way is marked.

ways = {
    f"form {form!r}": {"form": form, "solver": "CLARABEL"} for form in problem.forms
}
answers = {name: problem.solve(**options) for name, options in ways.items()}
answers["our own route"] = solution = problem.solve()
fastest = min(answers, key=lambda name: answers[name].timings.total)
print(f"{'':15} {'seconds':>8} {'value':>12} {'unknowns':>9}")
for name, s in answers.items():
    unknowns = s.plan.program.sizes.unknowns
    mark = "  *" if name == fastest else ""
    print(f"{name:15} {s.timings.total:8.3f} {s.value:12.6f} {unknowns:9}{mark}")

# %%
# What are the links worth? A link that is certain can weigh more than one that is only
# likely. The smallest error is marked.

labels = solution.cluster(10, random_state=0)
free = cl.clustering.spectral(graph.W, 10, random_state=0)
trusting = cl.CCSR(graph, links, order=15, must_weight=10.0, cannot_weight=1.0).solve()
errors = {
    "without links": cl.metrics.error(y, free),
    "with links": cl.metrics.error(y, labels),
    "must-links tenfold": cl.metrics.error(y, trusting.cluster(10, random_state=0)),
}
for name, error in errors.items():
    print(
        f"{name:18} error {error:6.1%}{'  *' if error == min(errors.values()) else ''}"
    )

# %%
# The answer is an embedding: the smoothest vectors of the graph, rotated and stretched
# by M.

figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
title = "1797 digits in CCSR's embedding"
cl.plotting.plot_embedding(solution, labels, ax=ax, title=title)
plt.show()
