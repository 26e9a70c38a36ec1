"""Variations of a problem: each is the program that it says, solved and certified as such."""

from __future__ import annotations

import pickle
from functools import partial

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms

X, y = cl.datasets.load("iris")
GRAPH, LINKS = cl.Graph.knn(X[::8]), cl.Links.sample(y[::8], n_links=9, random_state=0)
PCP = cl.PCP(GRAPH, LINKS)
N = GRAPH.n


def plain_value(objective, constraints):
    """Return the optimum of a program in one symmetric matrix, by CVXPY alone."""
    K = cp.Variable((N, N), symmetric=True)
    L = PCP.L.toarray()
    smooth = cp.sum(cp.multiply(L, K))
    problem = cp.Problem(cp.Minimize(smooth + objective(K)), [cp.diag(K) == 1, K >> 0, *constraints(K)])
    return problem.solve(solver="CLARABEL")


def on(pairs):
    return tuple(pairs.T)


def test_without_a_group_it_is_the_program_without_it():
    varied = PCP.without("cannot")
    solution = varied.solve()
    fewer = cl.PCP(GRAPH, cl.Links(N, must=LINKS.must)).solve()
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(fewer.value, abs=1e-6) and solution.value < PCP.solve().value - 1e-3
    assert set(solution.certificate.violations) == {"unit", "must", "psd"}
    assert solution.certificate.lower_bound <= fewer.certificate.upper_bound
    assert str(varied).splitlines()[0] == "PCP without 'cannot'"
    assert str(varied.explain()).startswith("PCP without 'cannot': ")


def test_further_constraints_and_terms():
    varied = PCP.without("cannot", "must").with_constraints(
        {"at least": lambda K: K[on(LINKS.must)] >= 0.8},
        cap=partial(terms.cannot_links_at_most, links=LINKS, bound=0.2),
    )
    varied = varied + (lambda K: 0.1 * cp.sum_squares(K)) + terms.trace_penalty
    solution = varied.solve()
    expected = plain_value(
        lambda K: 0.1 * cp.sum_squares(K) + cp.trace(K),
        lambda K: [K[on(LINKS.must)] >= 0.8, K[on(LINKS.cannot)] <= 0.2],
    )
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(expected, rel=1e-4)
    assert solution.certificate.lower_bound <= expected + 1e-4
    title = str(varied).splitlines()[0]
    assert title == "PCP without 'cannot' and 'must', with 'at least' and 'cap', plus 2 terms"


def test_variations_of_variations_are_variations_of_the_original():
    varied = PCP.without("cannot").with_constraints(cap=lambda K: K <= 1).without("cap")
    assert varied.original is PCP and varied.called == "PCP without 'cannot'"
    again = varied.with_constraints(cannot=lambda K: terms.cannot_links(K, LINKS))
    assert again.solve().value == pytest.approx(PCP.solve().value, abs=1e-6)


def test_what_was_said_of_the_original_is_not_said_of_it():
    srcp = cl.SRCP(GRAPH, LINKS)
    varied = srcp + (lambda F: 0.3 * cp.norm1(F))
    assert srcp.routes and not varied.routes and varied.about.citation is None
    assert varied.about.form == "declared" and not PCP.without("cannot").about.hard_links
    solution = varied.solve()
    F = cp.Variable((N, N))
    plain = cp.Problem(cp.Minimize(srcp.objective(F=F).args[0] + 0.3 * cp.norm1(F)))
    assert solution.value == pytest.approx(plain.solve(solver="CLARABEL"), rel=1e-4)
    assert solution.propagated.shape == (N, N)  # what the variables mean is kept
    csc = cl.CSC(GRAPH, LINKS)
    assert not (csc + (lambda **variables: cp.sum_squares(next(iter(variables.values()))))).routes


def test_it_keeps_the_data_and_nothing_that_computes_with_the_original():
    varied = PCP.without("cannot")
    assert varied.graph is GRAPH and varied.links is LINKS and varied.normalized is True
    labels = varied.solve().cluster(3, random_state=0)
    assert labels.shape == (N,) and varied.solve().relaxation_gap(labels).value >= 0
    with pytest.raises(AttributeError):
        varied.solve_resampled()
    other = varied.changed(normalized=False)
    assert other.removed == ("cannot",) and other.original.normalized is False


@pytest.mark.slow
def test_it_can_be_sent_and_stored(tmp_path):
    varied = PCP.without("cannot")
    value = varied.solve().value
    assert pickle.loads(pickle.dumps(varied)).solve().value == pytest.approx(value, abs=1e-6)
    limited = (varied + (lambda K: 2 * cp.trace(K))).solve(time_limit=60)  # the trace is N
    assert limited.value == pytest.approx(value + 2 * N, abs=1e-4)
    assert varied.export(tmp_path / "program.dat-s").exists()


def test_a_maximum_gets_terms_as_well():
    x = cp.Variable(2, name="x")
    wrapped = cl.wrap(cp.Problem(cp.Maximize(cp.sum(x)), [x <= 1, x >= 0]))
    solution = (wrapped + (lambda x: -cp.sum_squares(x))).solve()
    assert solution.value == pytest.approx(0.5, abs=1e-5)  # x = ½
    assert wrapped.without("constraints[0]").solve(strict=False).status is cl.Status.UNBOUNDED
    assert x.value is None  # answers of variations are not those of the problem


PAIR = cp.Variable(2, name="a"), cp.Variable(3, name="b")
TWO = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(PAIR[0] - 1) + cp.sum_squares(PAIR[1] - 2))))


@pytest.mark.parametrize(
    "made",
    [
        lambda b, a: b[2] + a[0] >= 9,
        lambda b, a, least=9: b[2] + a[0] >= least,
        lambda **both: both["b"][2] + both["a"][0] >= 9,
    ],
)
def test_a_function_gets_the_variables_that_it_has_parameters_for(made):
    assert TWO.with_constraints(far=made).solve().value == pytest.approx(18, abs=1e-4)  # both move by 3
    alone = TWO.with_constraints(far=lambda b: b[2] >= 9).solve()
    assert alone.value == pytest.approx(49, abs=1e-4)


@pytest.mark.parametrize(
    "made", [lambda anything: anything[0, 0] >= 0, lambda *one: one[0] >= -2, lambda Z=None: Z >= -2]
)
def test_a_single_variable_may_be_called_anything(made):
    assert PCP.with_constraints(more=made).solve().value == pytest.approx(PCP.solve().value, abs=1e-4)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda: PCP.without("cannots"),
            "PCP has no constraint 'cannots'; there are 'unit', 'must', 'cannot' and 'psd'",
        ),
        (lambda: PCP.without(), "names must name constraints"),
        (lambda: PCP.with_constraints(), "groups must name constraints"),
        (lambda: PCP.with_constraints([1]), "groups must be a dictionary"),
        (lambda: PCP.with_constraints(cannot=lambda K: K >= 0), "has a constraint 'cannot' already"),
        (lambda: PCP.with_constraints(cap=3), "cap must be a function of the variables"),
        (lambda: PCP.with_constraints(cap=lambda K: cp.norm(K) >= 1), "'cap' as convex"),
        (lambda: PCP.with_constraints(cap=lambda K: 3), "not a CVXPY constraint"),
        (lambda: PCP.with_constraints(cap=lambda Z: Z @ np.ones(3) <= 1), "the constraint 'cap' cannot be made from K"),
        (lambda: PCP + 3, "term must be a function of the variables"),
        (lambda: PCP + (lambda K: K), "the term must be one number"),
        (lambda: PCP + (lambda K: -cp.sum_squares(K)), "the objective as convex"),
        (lambda: PCP + (lambda K, F: K), "the term is a function with the parameter 'F'; .* have to be the variable K"),
        (lambda: PCP.with_constraints(cap=lambda: 0), "the constraint 'cap' is a function with no parameters"),
        (lambda: TWO.with_constraints(cap=lambda: 0), "'cap' is a function with no parameters; .* be variables: a, b"),
        (lambda: TWO.with_constraints(cap=lambda Z: Z <= 1), "with the parameter 'Z'; .* have to be variables: a, b"),
        (
            lambda: TWO.with_constraints(cap=lambda Z, b: b <= 1),
            "with the parameter 'Z'; .* have to be variables: a, b",
        ),
        (lambda: TWO + (lambda *both: both[0][0]), "the term is a function with no parameters"),
        (lambda: PCP.changed(normalised=True), "PCP has no field 'normalised'; it has graph, links, normalized"),
    ],
)
def test_mistakes_are_named_where_they_are_made(made, words):
    with pytest.raises((cl.InvalidInput, cl.InvalidProblem), match=words):
        made()
