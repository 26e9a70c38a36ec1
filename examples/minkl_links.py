"""
What a link costs
=================

A kernel is the covariance of a Gaussian. Links bound the variance of differences and
sums of its values, and MinKL finds the nearest Gaussian that satisfies them. A
multiplier tells what a link costs. Where it is zero, the link holds by itself.
"""

from textwrap import fill

import matplotlib.pyplot as plt

import cvxlink as cl


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


X, y = cl.datasets.load("iris")
kernel = cl.Graph.rbf(X, sigma=0.5).kernel()
links = cl.Links.sample(y, n_links=40, random_state=0)

# %%
# Two of the flowers have the same measurements, so this kernel is singular:

try:
    cl.MinKL(kernel, links, must_bound=0.1, cannot_bound=0.5)
except cl.InvalidInput as error:
    show(error, 0)

# %%
bounds = {"must_bound": 0.1, "cannot_bound": 0.5}
problem = cl.MinKL(kernel, links, **bounds, jitter="smallest")
show(problem, 14)
print()
solution = problem.solve()
show(solution, 15)

# %%
# The most expensive links, and the links that cost nothing:

prices = []
for kind in ("must", "cannot"):
    for dual, pair in zip(solution.duals[kind], getattr(links, kind), strict=True):
        prices.append((-dual, kind, pair))
prices.sort(key=lambda row: -row[0])

print("the five most expensive links, and what a bound larger by 0.01 would save")
for price, kind, (i, j) in prices[:5]:
    print(f"  {kind:6} {i:3} {j:3}   {0.01 * price:.3f}")
idle = sum(price < 1e-6 for price, *_ in prices)
print(f"{idle} of {len(links)} links hold by themselves")

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
cl.plotting.plot_duals(solution, k=12, ax=ax, title="the most expensive links")
plt.show()

# %%
# "Not the same" means "the opposite" only for two classes. For more, algorithm B takes
# the cannot-links one at a time.

noise = {"must_noise": 0.1, "cannot_noise": 0.1, "jitter": "smallest"}
scores = {}
for algorithm in ("A", "B"):
    soft = cl.MinKL(kernel, links, **noise, algorithm=algorithm).solve()
    scores[algorithm] = cl.metrics.nmi(y, soft.cluster(3, random_state=0))
for algorithm, score in scores.items():
    mark = "  * best" if score == max(scores.values()) else ""
    print(f"algorithm {algorithm}, three classes: NMI {score:.3f}{mark}")
