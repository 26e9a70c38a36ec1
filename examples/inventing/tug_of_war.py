r"""
A formulation of your own, with a fast path and a proof
=======================================================

Two teams pull at a rope. One cannot-link is the anchor: its ends are pulled to
:math:`+1` and :math:`-1`. Every other point goes where its neighbours and its links
pull it:

.. math:: \min_f\ f^\top \bar L f
          + w \sum_{\mathcal{M}} (f_i - f_j)^2 + w \sum_{\mathcal{C}} (f_i + f_j)^2
          + \mu \|f - a\|^2 .

This program is not in any paper. CVXPY can solve it as it stands. It is also a linear
system, and a formulation may bring that along: its data, an algorithm and a proof.
Nothing in the package has to be edited for it.
"""

from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from time import perf_counter

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import cvxlink as cl
from cvxlink import terms

# %%
# First the data: what the algorithm and the proof work on. With one column of U for
# each link, :math:`e_i - e_j` or :math:`e_i + e_j`, the objective is
# :math:`f^\top A f + \mu\|f - a\|^2` with :math:`A = \bar L + wUU^\top`. ``value`` and
# ``violations`` say what the program is. They are compared with the declaration at
# sampled points before anything is solved, so a slip here is an error, not a wrong
# answer.


@dataclass(frozen=True, eq=False)
class Pull:
    """The program as data: A, the anchors a, and the strength of the ropes."""

    A: sp.csr_array
    a: np.ndarray
    mu: float

    def value(self, point):
        f = point["f"]
        return float(f @ (self.A @ f)) + self.mu * float(((f - self.a) ** 2).sum())

    def violations(self, point):
        return {}


# %%
# Then the algorithm. A route gets the data and settings, and returns an attempt. It
# never says that its answer is right.


class OneSolve(cl.Route):
    """The gradient vanishes where (A + μI) f = μ a."""

    name = "linear-system"
    why = "the objective is quadratic: one sparse linear system"

    def run(self, data, settings):
        start = perf_counter()
        system = sp.csc_array(data.A + data.mu * sp.eye_array(len(data.a)))
        f = spsolve(system, data.mu * data.a)
        seconds = perf_counter() - start
        reason = "solved a linear system"
        return cl.Attempt(cl.Status.OPTIMAL, reason, {"f": f}, solve_seconds=seconds)


# %%
# And the proof. The objective is :math:`2\mu`-strongly convex. For *any* f, whoever
# computed it, with gradient :math:`g` there, the optimum is at most
# :math:`\|g\|^2/4\mu` lower.


def proof(data, point, duals):
    f = point["f"]
    g = 2 * (data.A @ f + data.mu * (f - data.a))
    value = data.value(point)
    return cl.Certificate(
        value,
        data.violations(point),
        lower_bound=value - float(g @ g) / (4 * data.mu),
        basis="value − ‖gradient‖²/4μ, as the objective is 2μ-strongly convex",
        distance=float(np.linalg.norm(g)) / (2 * data.mu),
        norm=max(float(np.linalg.norm(f)), 1e-300),
    )


# %%
# The formulation declares the program, as any other does. ``program`` brings the fast
# path, and ``learnt`` says what the answer means: places on a line.


@dataclass(frozen=True, eq=False)
class TugOfWar(cl.Problem):
    """Links that pull points to two ends of a rope."""

    graph: cl.Graph
    links: cl.Links
    weight: float = 1.0
    mu: float = 0.1

    about = cl.About(
        program="quadratic",
        takes="soft links",
        yields="cut",
        kernel=False,
        embedding=True,
        cluster="cut",
    )
    n_clusters = 2

    def variables(self):
        return {"f": cp.Variable(self.graph.n, name="f")}

    def objective(self, f):
        (i, j), (k, m) = self.links.must.T, self.links.cannot.T
        pull = terms.stands_for(
            cp.sum_squares(f[i] - f[j]) + cp.sum_squares(f[k] + f[m]),
            r"\sum_{\mathcal{M}} (@_i - @_j)^2 + \sum_{\mathcal{C}} (@_i + @_j)^2",
            f,
        )
        smooth = terms.smooth_columns(f, self.graph.incidence(), r"\bar L")
        fit = terms.fit(f, self.anchors, "a")
        return cp.Minimize(smooth + self.weight * pull + self.mu * fit)

    def constraints(self, f):
        return {}

    @cached_property
    def anchors(self):
        """The ends of the first cannot-link, pulled apart."""
        a = np.zeros(self.graph.n)
        a[self.links.cannot[0]] = 1.0, -1.0
        return a

    @cached_property
    def program(self):
        """The same program as data, with its route and its proof."""
        D = sp.diags_array(np.asarray(abs(self.links.matrix).sum(axis=1)).ravel())
        A = self.graph.laplacian() + self.weight * (D - self.links.matrix)
        data = Pull(sp.csr_array(A), self.anchors, self.mu)
        return cl.SpecialProgram(self, data, routes=(OneSolve(),), proof=proof)

    def learnt(self, values):
        return cl.Learnt(embedding=values["f"][:, None])


X, y = cl.datasets.load("two_moons", n=400, random_state=0)
graph = cl.Graph.knn(X, n_neighbors=8)
links = cl.Links.sample(y, n_links=30, random_state=0)
problem = TugOfWar(graph, links)
print(problem)

# %%
# The plan takes the new route. The formulation is in the table of methods, and any
# solver can still be chosen: the same proof certifies both answers.

for line in str(problem.explain()).splitlines():
    print(fill(line, 88, subsequent_indent="   "))
print()
fast, slow = problem.solve(), problem.solve(solver="CLARABEL")
print(f"by the route      {fast.value:.9f} in {fast.timings.total:.4f} s")
print(f"by Clarabel       {slow.value:.9f} in {slow.timings.total:.4f} s")
print(f"distance to the solution at most {fast.certificate.distance:.1e}", end="\n\n")
assert fast.status is slow.status is cl.Status.OPTIMAL
assert abs(fast.value - slow.value) < 1e-5
print(cl.methods()["TugOfWar"].routes, cl.methods()["TugOfWar"].program)

# %%
# A subclass that changes the program loses the data, the route and the proof, and is
# solved and certified as what it declares.


class Bounded(TugOfWar):
    """The same on a short rope."""

    def constraints(self, f):
        return {"rope": cp.abs(f) <= 0.1}


short = Bounded(graph, links).solve()
print(short.plan.solver, f"{short.value:.6f}")
assert short.plan.route is None and short.value > fast.value

# %%
# How well does it cluster? Scores against the classes, beside KP on the same links.

scores = {}
for method in (problem, cl.KP(graph, links)):
    labels = method.solve().cluster(2, random_state=0)
    scores[type(method).__name__] = cl.metrics.scores(y, labels, links)["ari"]
for name, score in scores.items():
    print(
        f"{name:9} ARI {score:.3f}{'  * best' if score == max(scores.values()) else ''}"
    )
