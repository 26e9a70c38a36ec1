"""A formulation outside the package can bring data, routes, proofs, reductions and a preferred form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cvxlink as cl
from helpers.fast_paths import EqualRows, Ironed, Nearest, OwnRows, Twins


@pytest.fixture(scope="module")
def given():
    X, y = cl.datasets.load("two_moons", n=20, random_state=0)
    return cl.Graph.knn(X, n_neighbors=4), cl.Links.sample(y, n_links=8, random_state=1)


def test_a_strangers_route_and_proof_are_used_like_ours(given):
    problem = Ironed(*given)
    assert problem.routes == ("explicit",) and "route 'explicit'" in str(problem.explain())
    fast, slow = problem.solve(route="explicit"), problem.solve(solver="CLARABEL", accuracy=1e-6)
    assert fast.status is cl.Status.OPTIMAL and fast.certificate.basis == "strong convexity"
    assert slow.certificate.basis == "strong convexity"  # the proof is of the program, whoever solved it
    np.testing.assert_allclose(fast.propagated, slow.propagated, atol=1e-4)
    row = cl.methods()["Ironed"]
    assert row.routes == ("explicit",) and row.yields == "spread links"
    with pytest.raises(cl.FormUnavailable, match="no route 'magic'; for this problem there is explicit"):
        problem.solve(route="magic")


def test_a_lying_route_is_not_believed(given, monkeypatch):
    problem = Ironed(*given)
    (route,) = problem.program.routes
    honest = problem.solve()
    wrong = lambda data, settings: cl.Attempt(cl.Status.OPTIMAL, "trust me", {"F": data.Y})  # noqa: E731
    monkeypatch.setattr(type(route), "run", lambda self, data, settings: wrong(data, settings))
    solution = Ironed(*given).solve(strict=False)
    assert solution.status is not cl.Status.OPTIMAL
    assert solution.certificate.lower_bound <= honest.value < solution.value


def test_a_preferred_form_is_the_default_goes_through_presolve_and_keeps_its_bound(given):
    problem, pcp = EqualRows(*given), cl.PCP(*given).solve(accuracy=1e-7)
    assert problem.forms[:2] == ("declared", "pcp")
    for how in ({}, {"solver": "CLARABEL"}):
        solution = problem.solve(accuracy=1e-6, **how)
        assert [step.name for step in solution.plan.steps][:2] == ["rewriting", "contraction"]
        assert solution.plan.steps[1].after.sizes.psd == (given[1].n_blocks,)
        assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(pcp.value, rel=1e-6)
        certificate = solution.certificate
        assert set(certificate.violations) >= {"unit", "rows", "cannot", "psd"}  # those of the declared program
        assert certificate.lower_bound <= pcp.certificate.upper_bound + 1e-9
        assert certificate.relative_gap < 1e-6 and "the form 'pcp'" in certificate.basis
    declared = problem.solve(form="declared", solver="SCS", strict=False)
    assert declared.plan.form == "declared" and "rewriting" not in [step.name for step in declared.plan.steps]


def test_an_equivalent_that_is_none_proves_nothing(given):
    class Wrong(EqualRows):
        prefers = "pcp"

        @property
        def equivalents(self):
            without = cl.Links(self.links.n, cannot=self.links.cannot)
            return {"pcp": cl.PCP(self.graph, without)}

    solution = Wrong(*given).solve(strict=False)
    assert solution.status is not cl.Status.OPTIMAL and solution.certificate.violations["rows"] > 1e-3


def test_a_preferred_form_that_is_missing_is_named(given):
    class Lost(EqualRows):
        prefers = "nowhere"

    for how in ({}, {"solver": "CLARABEL"}):
        with pytest.raises(cl.InvalidProblem, match="Lost prefers the form 'nowhere', which is not among.*: pcp"):
            Lost(*given).solve(**how)


def test_a_reduction_of_ones_own_comes_first_and_its_lift_is_certified():
    half = np.array([0.2, 1.0, -0.7])
    problem = Twins(np.tile(half, 2), np.ones(6))
    solution = problem.solve()
    assert "pairing: the second half repeats the first" in str(problem.explain())
    assert solution.plan.steps[0].after.sizes.unknowns == 3
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(2 * 0.25, abs=1e-6)
    np.testing.assert_allclose(solution.values["x"], np.tile(np.minimum(half, 0.5), 2), atol=1e-4)
    assert solution.certificate.lower_bound == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(solution.duals["box"], np.tile([0, -1, 0], 2), atol=1e-3)
    plain = Nearest(np.tile(half, 2), np.ones(6)).solve()
    assert plain.value == pytest.approx(solution.value, abs=1e-6)
    other = Twins(np.append(half, half + 1), np.ones(6))
    assert "pairing: left out, the second half differs" in str(other.explain())


def test_rows_and_a_route_of_ones_own_work_on_what_the_reductions_leave(given):
    problem, pcp = OwnRows(*given), cl.PCP(*given).solve()
    assert problem.routes == ("borrowed", "low-rank", "interior-point")
    solution = problem.solve()
    assert solution.plan.route.name == "borrowed" and solution.plan.data.n == given[1].n_blocks
    assert solution.status is cl.Status.OPTIMAL and solution.value == pytest.approx(pcp.value, rel=1e-4)
    assert problem.solve(route="interior-point").value == pytest.approx(pcp.value, rel=1e-6)


def test_the_data_travel_to_a_process_of_their_own(given):
    solution = OwnRows(*given).solve(route="interior-point", isolate=True)
    assert solution.resources.isolated and solution.status is cl.Status.OPTIMAL


def test_a_changed_field_makes_new_data(given):
    graph, links = given
    problem = Ironed(graph, links)
    problem.solve()
    fewer = replace(problem, links=cl.Links(links.n, links.must))
    assert fewer.program.data.Y.min() == 0 and problem.program.data.Y.min() == -1
    assert fewer.solve().propagated.min() > problem.solve().propagated.min()
