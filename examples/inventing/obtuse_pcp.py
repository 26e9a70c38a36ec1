r"""
Cannot-links at right angles, or further apart
==============================================

PCP puts cannot-linked points at right angles, :math:`K_{ij} = 0`. Two classes would
rather be opposite, and three 120 degrees apart. Here they may be: :math:`K_{ij} \le 0`,
and everything else is as in PCP.
"""

from dataclasses import dataclass
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np

import cvxlink as cl
from cvxlink import terms


def show(result, indent):
    """Print in lines of at most 88 characters."""
    for line in str(result).splitlines():
        print(fill(line, 88, subsequent_indent=indent * " "))


# %%
# One line changes. A subclass that declares other constraints inherits nothing that was
# known about PCP's program.


@dataclass(frozen=True, eq=False)
class ObtusePCP(cl.PCP):
    """PCP with cannot-linked points at right angles or further apart."""

    def constraints(self, K):
        return {
            **super().constraints(K),
            "cannot": terms.cannot_links_at_most(K, self.links),
        }


X, y = cl.datasets.load("iris")
graph = cl.Graph.knn(X, n_neighbors=10)
links = cl.Links.sample(y, n_links=80, random_state=0)
problem = ObtusePCP(graph, links)
show(problem, 14)

# %%
# The reductions read the constraints and not the name of the class: must-linked points
# are merged as for PCP, and one of our own routes handles the inequalities.

show(problem.explain(), 3)

# %%
# The feasible set is larger than PCP's, so the optimum can only be lower. That checks
# both.

solution, pcp = problem.solve(accuracy=1e-7), cl.PCP(graph, links).solve(accuracy=1e-7)
show(solution.certificate, 15)
assert solution.certificate.upper_bound < pcp.certificate.lower_bound
print(f"\noptimum {solution.value:.4f}, PCP's {pcp.value:.4f}")

# %%
# PCP's multipliers tell in advance whether the optimum falls. The multiplier of
# :math:`K_{ij} = 0` is the change of the optimum per unit by which the entry may grow.
# Where it is negative, the points would like to be nearer, and "at most" is as good as
# "equal". Where it is positive, they are held back from drifting further apart. With
# few links none are held back, and PCP's solution solves both programs.

held_back = np.asarray(pcp.duals["cannot"]) > 1e-4
angles = np.degrees(np.arccos(np.clip(solution.kernel[tuple(links.cannot.T)], -1, 1)))
print(f"{held_back.sum()} of {len(held_back)} cannot-links are held back")
print(f"released, they reach up to {angles.max():.0f} degrees")
few = cl.PCP(graph, cl.Links.sample(y, n_links=20, random_state=0)).solve(accuracy=1e-7)
tight = (np.asarray(few.duals["cannot"]) > 1e-4).sum()
print(f"with 20 links, {tight} are held back")

# %%
# Does it cluster better? Both methods get the same draws of links, and on Iris there is
# no visible difference.

study = {"n_links": (20, 40, 80), "repeats": 4, "random_state": 0}
curve = cl.studies.link_curve(graph, y, methods=(cl.PCP, ObtusePCP), **study)
print(curve)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
cl.plotting.plot_scores(curve, ax, "Iris", score="NMI")
plt.show()
