"""Formulations that bring more than their declaration: data, a route, a proof, a reduction, a preferred form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import cvxlink as cl
from cvxlink import terms


@dataclass(frozen=True, eq=False)
class Flat:
    """‖F − Y‖² + ⟨L, F⟩ as data."""

    L: np.ndarray
    Y: np.ndarray

    def value(self, point):
        F = point["F"]
        return float(((F - self.Y) ** 2).sum() + (self.L * F).sum())

    def violations(self, point):
        return {}


class Explicit(cl.Route):
    """The gradient 2(F − Y) + L vanishes."""

    name = "explicit"
    why = "the solution is known"

    def run(self, data, settings):
        return cl.Attempt(cl.Status.OPTIMAL, "written down", {"F": data.Y - data.L / 2})


def strongly_convex(data, point, duals):
    """The objective is 2-strongly convex."""
    gradient = 2 * (point["F"] - data.Y) + data.L
    value, norm = data.value(point), float(np.linalg.norm(gradient))
    return cl.Certificate(
        value,
        {},
        lower_bound=value - norm**2 / 4,
        basis="strong convexity",
        distance=norm / 2,
        norm=float(np.linalg.norm(point["F"])),
    )


@dataclass(frozen=True, eq=False)
class Ironed(cl.Problem):
    """Links, ironed along the graph."""

    graph: cl.Graph
    links: cl.Links

    about = cl.About(yields="spread links", kernel=False, cluster="spectral")

    def variables(self):
        return {"F": cp.Variable((self.graph.n, self.graph.n), name="F")}

    def objective(self, F):
        return cp.Minimize(terms.fit(F, self.links.matrix) + terms.smoothness(F, self.graph.laplacian()))

    def constraints(self, F):
        return {}

    @cached_property
    def program(self):
        data = Flat(self.graph.laplacian().toarray(), self.links.matrix.toarray())
        return cl.SpecialProgram(self, data, (Explicit(),), strongly_convex)

    def learnt(self, values):
        F = values["F"]
        return cl.Learnt(propagated=F, affinity=lambda n_clusters: np.maximum(F + F.T, 0))


@dataclass(frozen=True, eq=False)
class EqualRows(cl.Problem):
    """PCP with must-links as equal rows of the kernel; it prefers to be solved as PCP."""

    graph: cl.Graph
    links: cl.Links

    prefers = "pcp"

    def variables(self):
        return {"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True, name="K")}

    def objective(self, K):
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()))

    def constraints(self, K):
        i, j = self.links.must.T
        return {
            "unit": terms.unit_diagonal(K),
            "rows": [K[i] == K[j]],
            "cannot": terms.cannot_links(K, self.links),
            "psd": terms.semidefinite(K),
        }

    @property
    def equivalents(self):
        return {"pcp": cl.PCP(self.graph, self.links)}


# ---------------------------------------------------------------------- a reduction of one's own


@dataclass(frozen=True, eq=False)
class Nearest(cl.Problem):
    """The vector with these weights that is nearest to a, in a box."""

    a: np.ndarray
    weights: np.ndarray

    about = cl.About(kernel=False)

    def variables(self):
        return {"x": cp.Variable(len(self.a))}

    def objective(self, x):
        return cp.Minimize(self.weights @ cp.square(x - self.a))

    def constraints(self, x):
        return {"box": x <= 0.5}


class Pairing(cl.Reduction):
    """Twins become one, of twice the weight."""

    name = "pairing"

    def reduce(self, program):
        a = program.data.a
        half = a[: len(a) // 2]
        if not np.array_equal(half, a[len(a) // 2 :]):
            raise cl.ReductionRefused("the second half differs from the first")
        smaller = Nearest(half, np.full(len(half), 2.0))
        return cl.Reduced(smaller.program, Unpaired(), "the second half repeats the first")


class Unpaired(cl.Lift):
    def point(self, values, duals):
        return {"x": np.tile(values["x"], 2)}, {name: np.tile(dual, 2) / 2 for name, dual in duals.items()}


@dataclass(frozen=True, eq=False)
class Twins(Nearest):
    """The same with a reduction of its own, and no proof: the general bound is taken."""

    @cached_property
    def program(self):
        return cl.SpecialProgram(self, self, reductions=(Pairing(),))


# ---------------------------------------------------------------------- a route of one's own for linear programs


class Borrowed(cl.Route):
    """An algorithm of a stranger's for linear semidefinite programs; it asks CVXPY."""

    name = "borrowed"
    why = "it was here first"

    def run(self, data, settings):
        problem = data.declaration.to_cvxpy()
        problem.solve(solver=cp.CLARABEL)
        K = data.declaration.variables[data.variable].value
        duals = {name: -np.atleast_1d(group[0].dual_value) for name, group in data.declaration.constraints.items()}
        duals[data.cone] = -duals[data.cone]
        return cl.Attempt(cl.Status.OPTIMAL, "borrowed", {data.variable: K}, duals)


@dataclass(frozen=True, eq=False)
class OwnRows(cl.PCP):
    """PCP whose author brings the rows himself, and a route."""

    def variables(self):
        return super().variables()

    @cached_property
    def program(self):
        everyone = np.arange(self.graph.n)
        entries = {
            "unit": (np.column_stack([everyone, everyone]), 1.0),
            "must": (self.links.must, 1.0),
            "cannot": (self.links.cannot, 0.0),
        }
        rows = cl.LinearSDP.with_fixed_entries(sp.csr_array(self.L), entries)
        return cl.SpecialProgram(self, rows, routes=(Borrowed(),))
