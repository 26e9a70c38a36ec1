"""Little programs of all kinds of cones: clear verdicts are proven, and near misses get none."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink.certificates.verdicts import Hint, proven_verdict

INFEASIBLE, UNBOUNDED = cl.Status.INFEASIBLE, cl.Status.UNBOUNDED
FACTOR = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])


def infeasible_programs():
    x, K = cp.Variable(3, name="x"), cp.Variable((3, 3), PSD=True, name="K")
    S = cp.Variable((3, 3), symmetric=True, name="S")
    yield "squares", cp.Minimize(cp.sum_squares(x)), [cp.sum(x) >= 3, x <= 0.9]
    yield "a quadratic form", cp.Minimize(cp.quad_form(x, FACTOR)), [x[:2] >= 1, x[0] + x[1] <= 1]
    yield "least squares", cp.Minimize(cp.sum_squares(FACTOR @ x - 1)), [cp.norm(x) <= 1, x[0] >= 2]
    yield "squares of a kernel", cp.Minimize(cp.sum_squares(K)), [cp.diag(K) == 1, K[0, 1] == 2]
    yield "logarithms of a sum", cp.Maximize(cp.sum(cp.log(x))), [cp.sum(x) <= -1]
    yield "a logarithm", cp.Maximize(cp.log(x[0])), [x[0] <= -1]
    yield "a root", cp.Maximize(cp.sqrt(x[0])), [x[0] <= -1]
    yield "a power", cp.Minimize(x[0]), [cp.power(x[0], 3) <= 1, x[0] >= 2]
    yield "entropies", cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1, x[0] >= 2]
    yield "a sum of exponentials", cp.Minimize(x[0]), [cp.log_sum_exp(x) <= 0, x[0] >= 0, x[1] >= -1]
    yield "a geometric mean", cp.Minimize(x[0]), [cp.geo_mean(x[:2]) >= 2, x[0] + x[1] <= 3]
    yield "a reciprocal", cp.Minimize(x[0]), [cp.inv_pos(x[0]) <= 0.1, x[0] <= 9]
    yield "a determinant", cp.Maximize(cp.log_det(S)), [cp.trace(S) <= -1]
    yield "a completion", cp.Minimize(cp.trace(K)), [cp.diag(K) == 1, K[0, 1] == 0.9, K[1, 2] == 0.9, K[0, 2] == 0]
    yield "large multipliers", cp.Minimize(x[0]), [1e-4 * x[0] + x[1] >= 1, x[1] <= 0, x[0] <= 100]
    yield "a chain", cp.Minimize(x[0]), [x[0] <= 1, x[1:] <= 10 * x[:-1], x[2] >= 101]


def weakly_infeasible_programs():
    """There are points that violate these as little as one likes."""
    x = cp.Variable(2, name="x")
    yield "a hyperbola", cp.Minimize(x[0]), [cp.norm(cp.hstack([x[0], 1])) <= x[0]]
    yield "an exponential", cp.Minimize(x[0]), [cp.exp(x[0]) <= 0]
    yield "a reciprocal", cp.Minimize(x[0]), [cp.quad_over_lin(1, x[0]) <= 0]
    yield "a matrix", cp.Minimize(x[0]), [cp.bmat([[0, 1], [1, x[0]]]) >> 0]


def unbounded_programs():
    x, K = cp.Variable(3, name="x"), cp.Variable((3, 3), PSD=True, name="K")
    yield "an equation", cp.Minimize(x[0]), [x[0] + x[1] == 1]
    yield "a square and a line", cp.Minimize(cp.square(x[0]) - x[1]), [x[1] >= 0]
    yield "a steep cone", cp.Minimize(cp.norm(x) - 2 * x[0]), []
    yield "an exponential and a line", cp.Minimize(cp.exp(x[0]) + x[0]), []
    yield "a sum of exponentials", cp.Minimize(cp.log_sum_exp(x)), []
    yield "a small slope", cp.Minimize(x[0] - 1.0001 * x[1]), [x[0] >= x[1]]
    yield "an eigenvalue", cp.Maximize(cp.lambda_min(K)), []


def slowly_unbounded_programs():
    """The slope of the objective tends to zero, so that there is no ray of negative slope."""
    x, K = cp.Variable(3, name="x"), cp.Variable((3, 3), PSD=True, name="K")
    S = cp.Variable((3, 3), symmetric=True, name="S")
    yield "a logarithm", cp.Minimize(-cp.log(x[0])), []
    yield "a logarithm of two", cp.Minimize(x[0] - cp.log(x[1])), [x[0] >= 0]
    yield "one of two logarithms", cp.Minimize(x[0] - cp.log(x[0]) - cp.log(x[1])), []
    yield "a logarithm in a cone", cp.Maximize(cp.log(x[0])), [cp.norm(x) <= 10 + x[1]]
    yield "a logarithm of a logarithm", cp.Maximize(cp.log(x[0])), [x[0] <= cp.log(x[1]), x[1] <= x[2]]
    yield "a root", cp.Maximize(cp.sqrt(x[0])), [x[0] >= 1]
    yield "a power", cp.Maximize(cp.power(x[0], 0.25)), [x[0] >= 1]
    yield "a parabola", cp.Maximize(x[0]), [cp.square(x[0]) <= x[1]]
    yield "a geometric mean", cp.Maximize(cp.geo_mean(x)), [x[0] <= 1]
    yield "a determinant", cp.Minimize(-cp.log_det(S)), [S[0, 0] == 1]
    yield "an entry of a kernel", cp.Maximize(K[0, 1]), [K[0, 0] == 1]
    yield "an inverse and a logarithm", cp.Minimize(cp.tr_inv(S) - cp.log(S[0, 0])), []


def near_misses():
    """All of these have a feasible point and a finite infimum."""
    x = cp.Variable(3, name="x")
    for slope in (1e-8, 1e-12, 1e-15):
        yield f"a logarithm and a slope of {slope}", cp.Minimize(slope * x[0] - cp.log(x[0])), []
    yield "a root and a small slope", cp.Maximize(cp.sqrt(x[0]) - 1e-7 * x[0]), []
    yield "a parabola and a small slope", cp.Maximize(x[0] - 1e-9 * x[1]), [cp.square(x[0]) <= x[1]]
    yield "a reciprocal", cp.Minimize(cp.inv_pos(x[0])), []
    yield "an exponential", cp.Minimize(cp.exp(x[0])), []
    yield "a nearly steep cone", cp.Maximize(x[0]), [cp.norm(cp.hstack([x[0], 1])) <= (1 - 1e-12) * x[0] + 5]
    for tiny in (1e-6, 1e-12):
        matrix = cp.bmat([[x[0], tiny * x[0]], [tiny * x[0], 1]])
        yield f"a matrix with {tiny}", cp.Maximize(x[0]), [matrix >> 0]
    yield "a nearly singular matrix", cp.Minimize(x[0]), [cp.bmat([[1e-8, 1], [1, x[0]]]) >> 0]
    yield "a nearly flat hyperbola", cp.Minimize(x[0]), [cp.norm(cp.hstack([x[0], 1])) <= x[0] * (1 + 1e-9)]
    yield "a small exponential", cp.Maximize(x[0]), [cp.exp(x[0]) <= 1e-12]
    yield "a thin slab", cp.Minimize(cp.sum_squares(x)), [x[0] + x[1] >= 1, x[0] + x[1] <= 1 + 1e-12]
    yield "a chain", cp.Minimize(cp.sum(x)), [x[0] >= 1, x[1:] >= 1e7 * x[:-1]]
    yield "one point of a disc", cp.Minimize(x[0]), [cp.norm(x) <= 1, x[0] >= 1]


def named(programs):
    return [pytest.param(cp.Problem(aim, terms), id=name) for name, aim, terms in programs]


def solved(problem):
    return cl.wrap(problem).solve(strict=False)


@pytest.mark.parametrize("problem", named([*infeasible_programs(), *weakly_infeasible_programs()]))
def test_contradictions_are_proven(problem):
    solution = solved(problem)
    assert solution.status is INFEASIBLE and not solution.values


@pytest.mark.parametrize("problem", named(unbounded_programs()))
def test_rays_are_proven(problem):
    solution = solved(problem)
    assert solution.status is UNBOUNDED and "feasible ray" in solution.reason


@pytest.mark.parametrize("problem", named(slowly_unbounded_programs()))
def test_curves_along_which_the_objective_falls_ever_more_slowly_are_proven(problem):
    solution = solved(problem)
    assert solution.status is UNBOUNDED and "curve" in solution.reason
    assert not solution.values and solution.certificate is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("problem", named(near_misses()))
def test_near_misses_get_no_verdict(problem):
    assert solved(problem).status not in (INFEASIBLE, UNBOUNDED)
    declaration = cl.wrap(problem).declaration
    for claimed in (INFEASIBLE, UNBOUNDED):
        assert proven_verdict(declaration, claimed) is None


class Proximity(cl.Problem):
    """max Σ log f, f_0 + f_1 ≤ 1: nothing holds f_2."""

    def variables(self):
        return {"f": cp.Variable(3, name="f")}

    def objective(self, f):
        return cp.Maximize(cp.sum(cp.log(f)))

    def constraints(self, f):
        return {"budget": f[0] + f[1] <= 1}


class TooPoor(Proximity):
    """The same with a budget that leaves no logarithm defined."""

    def constraints(self, f):
        return {"budget": f[0] + f[1] <= -1}


def test_declared_problems_get_the_same_verdicts_and_their_names():
    assert "f[2] grows" in Proximity().solve(strict=False).reason
    solution = TooPoor().solve(strict=False)
    assert solution.status is INFEASIBLE and "'budget'" in solution.reason
    assert Proximity().why_infeasible().verdict == "unbounded"
    assert TooPoor().why_infeasible().is_infeasible


# ---------------------------------------------------------------------- whatever a solver returned


def test_what_a_solver_returned_is_checked_and_not_believed():
    x = cp.Variable(2, name="x")
    has_optimum = cl.wrap(cp.Problem(cp.Minimize(x[0]), [x >= 1, cp.sum(x) <= 3])).declaration
    rng = np.random.default_rng(0)
    for _ in range(20):
        hint = Hint(rng.random(3), rng.standard_normal(2))
        assert proven_verdict(has_optimum, INFEASIBLE, hint) is None
        assert proven_verdict(has_optimum, UNBOUNDED, hint) is None


def test_what_a_solver_returned_saves_the_search(monkeypatch):
    x = cp.Variable(2, name="x")
    contradictory = cl.wrap(cp.Problem(cp.Minimize(x[0]), [x >= 1, cp.sum(x) <= 1])).declaration
    falling = cl.wrap(cp.Problem(cp.Minimize(x[0]), [x[1] >= x[0], x <= 0])).declaration
    for name in ("alternatives", "recession"):
        monkeypatch.setattr(f"cvxlink.certificates.{name}.search", lambda *given, **more: None)
    assert proven_verdict(contradictory, INFEASIBLE) is None
    # 1 ≤ x_0, 1 ≤ x_1 and x_0 + x_1 ≤ 1 add up to 2 ≤ 1
    assert proven_verdict(contradictory, INFEASIBLE, Hint(np.ones(3) * (1 + 1e-9)))[0] is INFEASIBLE
    assert proven_verdict(falling, UNBOUNDED, Hint(direction=np.array([-1.0, 1e-9])))[0] is UNBOUNDED


# ---------------------------------------------------------------------- random programs that have an optimum


def random_linear_program(rng):
    """A feasible point and feasible multipliers, with numbers of very different sizes."""
    n, m = rng.integers(1, 6), rng.integers(1, 9)
    A = rng.integers(-3, 4, size=(m, n)) * 10.0 ** rng.uniform(-5, 5, size=(m, 1)) * 10.0 ** rng.uniform(-5, 5, size=n)
    if m > 1:
        A[1] = -A[0] * (1 + rng.choice([0, 1e-6, -1e-9, 1e-12]))
    inside, y = rng.integers(-2, 3, size=n) * 10.0 ** rng.uniform(-3, 3, size=n), rng.random(m)
    b = A @ inside + 1e-15 * abs(A) @ abs(inside) + (rng.random(m) < 0.4)
    x = cp.Variable(n, name="x")
    return cp.Problem(cp.Minimize(-(A.T @ y) @ x), [A @ x <= b])


def random_conic_program(rng):
    """Each constraint holds at the same point, most of them just so, and adds to the costs what bounds them."""
    n = int(rng.integers(2, 5))
    x, cost, rest, terms = cp.Variable(n, name="x"), np.zeros(n), 0.0, []
    inside = rng.integers(-2, 3, size=n).astype(float)
    for _ in range(rng.integers(1, 4)):
        d, room = rng.integers(-2, 3, size=n).astype(float), rng.choice([0, 1e-6, 1e-3])
        kind = rng.choice(["cone", "matrix", "exponential", "equation", "logarithm"])
        if kind == "cone":
            B, u = rng.integers(-2, 3, size=(2, n)) * 10.0 ** rng.uniform(-3, 3, size=n), rng.standard_normal(2)
            terms.append(cp.norm(B @ x) <= d @ (x - inside) + np.linalg.norm(B @ inside) * (1 + 1e-15) + room)
            cost += d - B.T @ u / np.linalg.norm(u)
        elif kind == "matrix":
            parts = [part + part.T for part in rng.integers(-1, 2, size=(n, 3, 3))]
            V, Y = rng.integers(-1, 2, size=(3, 2)), rng.standard_normal((3, 2))
            terms.append(sum((x[k] - inside[k]) * parts[k] for k in range(n)) + V @ V.T + room * np.eye(3) >> 0)
            cost += [np.sum(Y @ Y.T * part) for part in parts]
        elif kind == "exponential":
            a = rng.integers(-2, 3, size=n)
            terms.append(cp.exp(a @ x) <= d @ (x - inside) + np.exp(a @ inside) * (1 + 1e-15) + room)
            cost += d - rng.random() * a
        elif kind == "equation":
            terms.append(d @ x == d @ inside)
        else:
            rest = rest - cp.log(d @ (x - inside) + 1) + 10.0 ** rng.uniform(-12, -2) * (d @ x)
    return cp.Problem(cp.Minimize(cost @ x + rest), terms)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("make", [random_linear_program, random_conic_program])
def test_no_verdict_on_a_program_with_a_point_and_multipliers(make, seed):
    declaration = cl.wrap(make(np.random.default_rng(seed))).declaration
    for claimed in (INFEASIBLE, UNBOUNDED):
        assert proven_verdict(declaration, claimed) is None


@pytest.mark.parametrize("seed", range(24))
def test_random_inequalities_that_add_up_to_a_contradiction(seed):
    """Aᵀy = 0 with y > 0, and Ax ≤ −0.1; the columns have different units, and the objective is not linear."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    A, y = rng.standard_normal((2 * n, n)) * 10.0 ** rng.uniform(-2, 2, size=n), rng.random(2 * n)
    A -= np.outer(np.ones(2 * n), A.T @ y / y.sum())
    x = cp.Variable(n, name="x")
    aim = [cp.Minimize(cp.sum_squares(x)), cp.Minimize(cp.norm1(x)), cp.Maximize(cp.sum(cp.sqrt(x + 5)))][seed % 3]
    assert solved(cp.Problem(aim, [A @ x <= -0.1])).status is INFEASIBLE
