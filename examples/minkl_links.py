"""
What a link costs
=================

A kernel is the covariance of a Gaussian; links bound the variance of differences and sums of its values, and the
nearest such Gaussian is wanted (MinKL). A multiplier says what a link costs: those of zero hold by themselves.
"""

import matplotlib.pyplot as plt

import cvxlink as cl

X, y = cl.datasets.load("iris")
kernel = cl.Graph.rbf(X, sigma=0.5).kernel()
links = cl.Links.sample(y, n_links=40, random_state=0)

# %%
# Two of the flowers are alike to the millimetre, so this kernel is singular:

try:
    cl.MinKL(kernel, links, must_bound=0.1, cannot_bound=0.5)
except cl.InvalidInput as error:
    print(error)

# %%
problem = cl.MinKL(kernel, links, must_bound=0.1, cannot_bound=0.5, jitter="smallest")
print(problem, end="\n\n")
solution = problem.solve()
print(solution)

# %%
# The dearest links, and those that cost nothing.

prices = []
for kind in ("must", "cannot"):
    for dual, pair in zip(solution.duals[kind], getattr(links, kind), strict=True):
        prices.append((-dual, kind, pair))
prices.sort(key=lambda row: -row[0])

print("the five dearest links, and what a hundredth more would save")
for price, kind, (i, j) in prices[:5]:
    print(f"  {kind:6} {i:3} {j:3}   {0.01 * price:.3f}")
idle = sum(price < 1e-6 for price, *_ in prices)
print(f"{idle} of {len(links)} links hold by themselves")

cl.plotting.plot_duals(solution, k=12, title="the dearest links")
plt.show()

# %%
# "Not the same" means "the opposite" for two classes only: algorithm B takes cannot-links one at a time.

for algorithm in ("A", "B"):
    soft = cl.MinKL(kernel, links, must_noise=0.1, cannot_noise=0.1, jitter="smallest", algorithm=algorithm).solve()
    print(f"algorithm {algorithm}, three classes: NMI {cl.metrics.nmi(y, soft.cluster(3, random_state=0)):.3f}")
