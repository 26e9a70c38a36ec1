"""Our interior-point route against CVXPY's solvers, and against what is known."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import cvxlink as cl
from cvxlink.programs.linear_sdp import LinearSDP, Rows
from cvxlink.solvers import interior_point
from helpers.formulations import Boxed, MaxCut
from helpers.graphs import path_graph, random_graph, star_graph
from helpers.limits import stopped_at_once
from helpers.links import consistent_links

ROUTE = "interior-point"


@settings(max_examples=30)
@given(consistent_links(), st.integers(0, 1000))
def test_it_finds_what_clarabel_finds(links, seed):
    problem = cl.PCP(random_graph(links.n, np.random.default_rng(seed)), links)
    ours, theirs = problem.solve(route=ROUTE), problem.solve(solver="CLARABEL", form="dual")
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    assert ours.certificate.relative_gap < 1e-6 and ours.certificate.largest_violation < 1e-7


def test_known_optima():
    path = cl.PCP(path_graph(3), cl.Links(3, cannot=[(0, 2)]), normalized=False).solve(route=ROUTE)
    assert path.value == pytest.approx(4 - 2 * np.sqrt(2), abs=1e-7)
    leaves = [(i, j) for i in range(1, 6) for j in range(i + 1, 6)]
    star = cl.PCP(star_graph(5), cl.Links(6, cannot=leaves), normalized=False).solve(route=ROUTE)
    assert star.value == pytest.approx(10 - 2 * np.sqrt(5), abs=1e-7)


def test_max_cut_of_the_pentagon():
    angles = np.arange(5)
    W = (abs(angles[:, None] - angles[None, :]) % 3 == 1).astype(float)
    solution = MaxCut(W).solve(route=ROUTE)
    assert solution.value == pytest.approx(MaxCut(W).solve(solver="CLARABEL").value, abs=1e-6)


class Loose(Boxed):
    """Bounds that leave room for a strictly feasible kernel."""

    def constraints(self, K):
        (i, j), (a, b) = self.must.T, self.cannot.T
        return {"unit": cp.diag(K) == 1, "near": K[i, j] >= 0.3, "far": K[a, b] <= 0.1, "low": K[0, 1:] >= -0.2}


def test_inequalities_and_their_multipliers(small_pcp):
    loose = Loose(small_pcp.L.toarray(), small_pcp.links.must, small_pcp.links.cannot)
    ours, theirs = loose.solve(route=ROUTE), loose.solve(solver="CLARABEL")
    assert ours.value == pytest.approx(theirs.value, abs=1e-6)
    assert (ours.duals["far"] < -1e-2).any()  # some bind
    for name in ("near", "far", "low"):
        np.testing.assert_allclose(ours.duals[name], theirs.duals[name], atol=1e-3)
    np.testing.assert_allclose(ours.kernel, theirs.kernel, atol=1e-3)


def test_more_links_than_a_first_attempt_may_widen_the_gap_and_still_converge():
    X, y = cl.datasets.load("digits")
    X, y = X[:300], y[:300]
    links = cl.Links.sample(y, n_links=250, random_state=0)
    solution = cl.KP(cl.Graph.knn(X, symmetrize="mutual"), links).solve()
    assert solution.plan.route.name == ROUTE and solution.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-5])
def test_the_accuracy_asked_for_is_reached(small_pcp, accuracy):
    solution = small_pcp.solve(route=ROUTE, accuracy=accuracy)
    assert solution.status is cl.Status.OPTIMAL and solution.certificate.relative_gap <= accuracy


def test_a_time_limit_stops_it_and_leaves_bounds_to_look_at():
    X, y = cl.datasets.load("digits")
    problem = cl.PCP(cl.Graph.knn(X[:300]), cl.Links.sample(y[:300], per_class=1, random_state=0))
    solution = stopped_at_once(problem, ROUTE)
    assert solution.status is cl.Status.LIMIT and "stopped after" in solution.reason
    assert solution.certificate.lower_bound < solution.certificate.upper_bound


def test_too_few_iterations_are_no_optimum(small_pcp, monkeypatch):
    monkeypatch.setattr(interior_point, "MOST_ITERATIONS", 3)
    solution = small_pcp.solve(route=ROUTE, strict=False)
    assert solution.status in (cl.Status.INACCURATE, cl.Status.ERROR)
    assert solution.certificate.relative_gap > 1e-4 and "stopped after 3 iterations" in solution.reason


class Unbounded(cl.Problem):
    """No constraint bounds the trace."""

    def variables(self):
        return {"K": cp.Variable((3, 3), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(cp.trace(K))

    def constraints(self, K):
        return {"entry": K[0, 1] == 1, "psd": K >> 0}


class Touching(Unbounded):
    """Feasible at one singular matrix only."""

    def constraints(self, K):
        return {"unit": cp.diag(K) == 1, "ones": [K[0, 1] == 1, K[1, 2] == -1], "psd": K >> 0}


def test_it_refuses_what_it_cannot_start_from(small_pcp):
    with pytest.raises(cl.FormUnavailable, match="no constraint bounds the trace of K"):
        Unbounded().solve(route=ROUTE)
    assert Unbounded().routes == () and Unbounded().explain().solver is not None
    with pytest.raises(cl.FormUnavailable, match="no strictly feasible point"):
        Touching().solve(route=ROUTE, presolve=False)
    assert Unbounded().solve().value == pytest.approx(2, abs=1e-3)


def test_a_route_is_not_a_solver(small_pcp):
    for other in ({"solver": "SCS"}, {"form": "dual"}):
        with pytest.raises(cl.InvalidInput, match="give either a route"):
            small_pcp.solve(route=ROUTE, **other)
    with pytest.raises(cl.FormUnavailable, match="no route 'magic'; for this problem there is low-rank, inter"):
        small_pcp.solve(route="magic")
    with pytest.raises(cl.InvalidInput, match="takes no solver options; name the solver"):
        small_pcp.solve(solver_options={"eps": 1})
    assert small_pcp.routes == ("low-rank", ROUTE)
    assert small_pcp.solve().plan.solver is None


def test_verbose_shows_the_iterations(small_pcp, capsys):
    small_pcp.solve(verbose=True)
    assert "gap" in capsys.readouterr().out


@pytest.mark.parametrize("count", [2, 30])
def test_the_schur_complement_is_what_it_is_called(count):
    rng, n = np.random.default_rng(0), 4
    halves = rng.standard_normal((count, n, n))
    A = halves + halves.transpose(0, 2, 1)
    rows = (Rows("rows", sp.csr_array(A.reshape(count, -1) * (rng.random((count, 1)) > 0.1)), np.ones(count)),)
    sdp = LinearSDP(sp.csr_array(np.eye(n)), rows)
    A = sdp.A.toarray().reshape(count, n, n)
    X, Z = (B @ B.T + np.eye(n) for B in rng.standard_normal((2, n, n)))
    at = interior_point._Iterate(X, np.zeros(0), np.zeros(count), Z, np.zeros(0))
    M = interior_point._Path(sdp).schur(at, np.linalg.inv(Z))
    expected = np.array([[np.trace(A_r @ np.linalg.inv(Z) @ A_s @ X) for A_s in A] for A_r in A])
    np.testing.assert_allclose(M, (expected + expected.T) / 2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("small", [0, 100])
def test_dense_and_sparse_slacks_give_the_same_answer(small, monkeypatch):
    monkeypatch.setattr(interior_point, "SMALL_ORDER", small)
    path = cl.PCP(path_graph(3), cl.Links(3, cannot=[(0, 2)]), normalized=False).solve(route=ROUTE)
    assert path.value == pytest.approx(4 - 2 * np.sqrt(2), abs=1e-7)
