"""Who is to blame for a contradiction: checked against plain CVXPY and closed forms."""

from itertools import chain

import cvxpy as cp
import numpy as np
import pytest

from cvxlink.certificates.diagnose import diagnose
from cvxlink.certificates.diagnosis import BlamedRow
from cvxlink.model.declared import Declaration


def declared(variables, constraints, objective=None):
    groups = {name: term if isinstance(term, list) else [term] for name, term in constraints.items()}
    return Declaration(variables, objective or cp.Minimize(0), groups)


def is_feasible(declaration, groups):
    """Ask a solver, through plain CVXPY, whether some groups have a feasible point."""
    terms = list(chain.from_iterable(declaration.constraints[name] for name in groups))
    return cp.Problem(cp.Minimize(0), terms).solve(cp.CLARABEL) < np.inf


def two_lines():
    x = cp.Variable(2, name="x")
    groups = {"above": cp.sum(x) >= 2, "below": cp.sum(x) <= 1, "idle": x[0] <= 7, "box": cp.abs(x) <= 9}
    return declared({"x": x}, groups), {"above", "below"}


def a_triangle_of_differences():
    x = cp.Variable(4, name="x")
    groups = {"a": x[0] >= x[1] + 1, "b": x[1] >= x[2] + 1, "c": x[2] >= x[0] + 1, "d": x[3] >= x[0]}
    return declared({"x": x}, groups), {"a", "b", "c"}


def a_disc():
    x = cp.Variable(2, name="x")
    return declared({"x": x}, {"disc": cp.norm(x) <= 1, "line": cp.sum(x) >= 2, "idle": x >= -5}), {"disc", "line"}


def an_exponential():
    x = cp.Variable(3, name="x")
    groups = {"small": cp.exp(x[0]) <= 0.5, "positive": x[0] + x[1] >= 0, "other": x[1] <= 0, "idle": cp.exp(x[2]) <= 1}
    return declared({"x": x}, groups), {"small", "positive", "other"}


def a_matrix():
    K = cp.Variable((3, 3), symmetric=True, name="K")
    groups = {"unit": cp.diag(K) == 1, "off": K[0, 1] == 2, "psd": K >> 0, "idle": K[1, 2] <= 0.5}
    return declared({"K": K}, groups), {"unit", "off", "psd"}


CASES = [two_lines, a_triangle_of_differences, a_disc, an_exponential, a_matrix]


@pytest.mark.parametrize("case", CASES)
def test_the_blamed_groups_contradict_one_another_and_each_is_needed(case):
    declaration, expected = case()
    found = diagnose(declaration)
    assert found.is_infeasible and found.is_irreducible and set(found.blamed) == expected
    assert not is_feasible(declaration, found.blamed)
    for left_out in found.blamed:
        assert is_feasible(declaration, [name for name in found.blamed if name != left_out])


@pytest.mark.parametrize("case", CASES)
def test_shares_add_up_and_idle_groups_have_none(case):
    declaration, expected = case()
    weights = diagnose(declaration).weights
    assert abs(sum(weights.values()) - 1) < 1e-9
    assert {name for name, share in weights.items() if share > 1e-6} == expected


@pytest.mark.parametrize("case", CASES)
def test_multipliers_times_violations_are_at_least_one_everywhere(case):
    declaration, _ = case()
    multipliers = diagnose(declaration).multipliers
    rng = np.random.default_rng(0)
    for _ in range(20):
        for variable in declaration.variables.values():
            value = 3 * rng.standard_normal(variable.shape)
            variable.save_value((value + value.T) / 2 if variable.is_symmetric() else value)
        total = 0.0
        for name, group in declaration.constraints.items():
            for term, multiplier in zip(group, multipliers[name], strict=True):
                is_matrix = isinstance(term, cp.constraints.PSD)
                body = -term.args[0].value if is_matrix else term.expr.value
                assert np.shape(multiplier) == np.shape(body)
                if is_matrix:
                    assert np.linalg.eigvalsh(multiplier)[0] > -1e-9
                elif isinstance(term, cp.constraints.Inequality):
                    assert np.min(multiplier) >= 0
                total += float(np.sum(multiplier * body))
        assert total >= 1 - 1e-6


def test_only_the_rows_that_matter_are_blamed():
    x = cp.Variable(20, name="x")
    least, most = np.zeros(20), np.ones(20)
    least[13] = 1.5
    found = diagnose(declared({"x": x}, {"least": x >= least, "most": x <= most}))
    assert [(row.words, row.place) for row in found.blamed["least"]] == [("x[13] >= 1.5", 13)]
    assert [(row.words, row.place) for row in found.blamed["most"]] == [("x[13] <= 1", 13)]


def test_an_irreducible_set_of_rows_is_one():
    """Random inequalities, of which a few rows contradict one another; every proper subset is asked of plain CVXPY."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((40, 5))
    b = A @ rng.standard_normal(5) - 0.3 + 0.5 * rng.random(40)
    x = cp.Variable(5, name="x")
    found = diagnose(declared({"x": x}, {"rows": A @ x <= b}))
    places = [row.place for row in found.blamed["rows"]]
    assert found.is_irreducible and 2 <= len(places) <= 6  # by Helly
    assert cp.Problem(cp.Minimize(0), [A[places] @ x <= b[places]]).solve(cp.CLARABEL) == np.inf
    for left_out in places:
        others = [place for place in places if place != left_out]
        assert cp.Problem(cp.Minimize(0), [A[others] @ x <= b[others]]).solve(cp.CLARABEL) < np.inf


def test_constraints_in_one_group_are_told_apart():
    x = cp.Variable(name="x")
    found = diagnose(declared({"x": x}, {"all": [x >= 5, x <= 3, x <= 4]}))
    assert [(row.words, row.number) for row in found.blamed["all"]] in (
        [("x >= 5", 0), ("x <= 3", 1)],
        [("x >= 5", 0), ("x <= 4", 2)],
    )


@pytest.mark.parametrize(
    ("attributes", "constrained", "words"),
    [
        ({"nonneg": True}, lambda x: cp.sum(x) <= -1, {"x[0] >= 0", "x[1] >= 0"}),
        ({"bounds": [-1, 2]}, lambda x: cp.sum(x) >= 5, {"x[0] <= 2", "x[1] <= 2"}),
        ({"nonpos": True}, lambda x: x[1] >= 1, {"x[1] <= 0"}),
    ],
)
def test_what_a_variable_declares_by_itself_is_blamed(attributes, constrained, words):
    x = cp.Variable(2, name="x", **attributes)
    found = diagnose(declared({"x": x}, {"other": constrained(x)}))
    assert {row.words for row in found.blamed["x domain"]} == words


@pytest.mark.parametrize(("attribute", "sign"), [("PSD", "positive"), ("NSD", "negative")])
def test_a_semidefinite_variable_is_blamed_by_name(attribute, sign):
    K = cp.Variable((2, 2), name="K", **{attribute: True})
    term = K[0, 0] == (-1 if attribute == "PSD" else 1)
    found = diagnose(declared({"K": K}, {"corner": term}))
    assert [row.words for row in found.blamed["K domain"]] == [f"K is {sign} semidefinite"]


def test_the_domain_of_the_objective_is_blamed():
    x = cp.Variable(name="x")
    found = diagnose(declared({"x": x}, {"negative": x <= -1}, cp.Maximize(cp.log(x))))
    assert set(found.blamed) == {"negative", "objective domain"} and found.is_infeasible
    # the objective of another program has no part in it
    found = diagnose(declared({"x": x}, {"negative": x <= -1, "positive": x >= 1}, cp.Minimize(cp.exp(x))))
    assert set(found.blamed) == {"negative", "positive"}


def test_removing_a_constraint_removes_its_domain():
    """Without log(x) ≥ −9, x may be negative: the definition of the logarithm must not stay behind."""
    x = cp.Variable(2, name="x")
    found = diagnose(declared({"x": x}, {"log": cp.log(x) >= -9, "low": x <= -1}))
    assert set(found.blamed) == {"log", "low"} and found.is_irreducible
    assert sorted(len(rows) for rows in found.blamed.values()) == [1, 1]


@pytest.mark.parametrize("axis", [0, 1])
def test_one_of_several_cones_is_blamed(axis):
    X = cp.Variable((3, 3), name="X")
    lengths = np.array([9.0, 1.0, 9.0])
    corner = X[0, 1] if axis == 0 else X[1, 0]
    found = diagnose(declared({"X": X}, {"cones": cp.SOC(lengths, X, axis=axis), "far": corner >= 2}))
    assert [row.place for row in found.blamed["cones"]] == [1]


def test_one_of_several_exponential_and_power_cones_is_blamed():
    x, one = cp.Variable(3, name="x"), np.ones(3)
    found = diagnose(declared({"x": x}, {"cones": cp.ExpCone(x, one, 2 * one), "far": x[2] >= 1}))
    assert [row.place for row in found.blamed["cones"]] == [2]
    powers = cp.PowCone3D(x, one, 2 * one, np.array([0.5, 0.4, 0.3]))  # x₁ must be at least 2^(1/0.4) = 5.7
    found = diagnose(declared({"x": x}, {"cones": powers, "near": x[1] <= 5}))
    assert [row.place for row in found.blamed["cones"]] == [1]


# ---------------------------------------------------------------------- the least relaxation


def relaxation(variables, constraints, objective=None):
    found = diagnose(declared(variables, constraints, objective)).relaxation
    assert found.is_checked
    return found


def test_the_gap_between_two_bounds():
    x = cp.Variable(name="x")
    found = relaxation({"x": x}, {"least": x >= 2, "most": x <= 1})
    assert abs(found.total - 1) < 1e-6 and len(found.rows) == 1


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_changes_are_counted_in_the_units_of_the_declaration(unit):
    """Growing the disc to (2, 2) takes √8 − 2; moving both bounds to the disc takes 2 (2 − √2) times their unit."""
    x = cp.Variable(2, name="x")
    groups = {"first": unit * x[0] >= 2 * unit, "second": unit * x[1] >= 2 * unit, "disc": cp.norm(x) <= 2}
    found = relaxation({"x": x}, groups)
    assert abs(found.total - min(np.sqrt(8) - 2, 2 * (2 - np.sqrt(2)) * unit)) < 1e-5
    assert found.by_group.keys() == ({"first", "second"} if unit < 0.1 else {"disc"})


def test_rows_outside_the_contradiction_are_relaxed_where_that_takes_less():
    """Two of x ≤ 0, x ≥ 1 and (x + y)/2 ≥ 1.5 with y ≤ 0: x = 1 and a mean of 1/2 take 2, and x ≤ 3 alone takes 3."""
    x, y = cp.Variable(name="x"), cp.Variable(name="y")
    groups = {"most": x <= 0, "least": x >= 1, "other": y <= 0, "mean": 0.5 * (x + y) >= 1.5}
    found = diagnose(declared({"x": x, "y": y}, groups))
    assert abs(found.relaxation.total - 2) < 1e-6 and "takes 3 in total" in str(found.remarks)
    assert "2 in total" in str(found) and "0.5 x + 0.5 y >= 1.5" in str(found.relaxation)


def random_rows(rng):
    x, A = cp.Variable(4, name="x"), rng.standard_normal((10, 4)) * rng.choice([0.3, 1, 3], (10, 1))
    b = -0.5 * abs(rng.standard_normal(10))
    return declared({"x": x}, {"one": A[:6] @ x <= b[:6], "other": A[6:] @ x <= b[6:], "sum": cp.sum(x) == 1})


def random_discs(rng):
    x, a = cp.Variable(4, name="x"), 2 * rng.standard_normal(4)
    rows = rng.standard_normal((2, 4)) @ x == 1
    return declared({"x": x}, {"far": cp.norm(x - a) <= 0.7, "near": cp.norm(x) <= 0.5, "low": x >= -1, "rows": rows})


def random_entries(rng):
    K = cp.Variable((4, 4), symmetric=True, name="K")
    i = rng.integers(0, 4, 4)
    j = (i + 1 + rng.integers(0, 3, 4)) % 4
    entries = K[i.tolist(), j.tolist()] == rng.uniform(-1.3, 1.3, 4)
    return declared({"K": K}, {"unit": cp.diag(K) == 1, "off": entries, "sums": cp.sum(K, 1) <= 1, "psd": K >> 0})


def least_total(declaration):
    """Ask plain CVXPY for the least total change of the right-hand sides of all equations and inequalities."""
    terms, slacks = [], []
    for term in declaration.terms:
        if isinstance(term, cp.constraints.PSD):
            terms.append(term)
            continue
        slack = cp.Variable(term.shape, nonneg=True)
        slacks.append(cp.sum(slack))
        terms.append(term.expr <= slack)
        if isinstance(term, cp.constraints.Equality):
            terms.append(-term.expr <= slack)
    return cp.Problem(cp.Minimize(sum(slacks)), terms).solve(cp.CLARABEL)


def by_rows(declaration, rows, more=None):
    """Return some rows of a declaration as CVXPY constraints, relaxed by the amounts in ``more``."""
    terms = []
    for row in rows:
        term, allowed = declaration.constraints[row.group][row.number], (more or {}).get((row.group, row.place), 0.0)
        if isinstance(term, cp.constraints.PSD):
            terms.append(term)
            continue
        body = cp.vec(term.expr, order="F")[row.place]
        terms += [body <= allowed] + [-body <= allowed] * isinstance(term, cp.constraints.Equality)
    return terms


def has_point(terms):
    return cp.Problem(cp.Minimize(0), terms).solve(cp.CLARABEL) < np.inf


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("case", [random_rows, random_discs, random_entries])
def test_the_relaxation_is_the_least_and_the_blamed_rows_are_irreducible(case, seed):
    declaration = case(np.random.default_rng(seed))
    least = least_total(declaration)
    found = diagnose(declaration)
    assert found.is_infeasible == (least > 1e-6)
    if not found.is_infeasible:
        return
    assert found.relaxation.is_checked and abs(found.relaxation.total - least) < 1e-4 * (1 + least)
    # with these amounts there is a feasible point, with 99 % of them there is none
    amounts = {
        (row.group, row.place): a for row, a in zip(found.relaxation.rows, found.relaxation.amounts, strict=True)
    }
    everything = [
        BlamedRow(group, "", k, place)
        for group, terms in declaration.constraints.items()
        for k, term in enumerate(terms)
        for place in range(1 if isinstance(term, cp.constraints.PSD) else term.size)
    ]
    for share, expected in ((1 + 1e-5, True), (0.99, False)):
        assert has_point(by_rows(declaration, everything, {k: share * a for k, a in amounts.items()})) == expected
    blamed = list(chain.from_iterable(found.blamed.values()))
    assert found.is_irreducible and not has_point(by_rows(declaration, blamed))
    for left_out in blamed:
        assert has_point(by_rows(declaration, [row for row in blamed if row is not left_out]))


@pytest.mark.parametrize("side", [-3.0, 3.0])
def test_an_equation_is_relaxed_in_either_direction(side):
    x = cp.Variable(name="x", bounds=[-1, 1])
    found = relaxation({"x": x}, {"fixed": x == side})
    assert found.by_group.keys() == {"fixed"} and abs(found.total - 2) < 1e-5


def test_an_entry_that_the_diagonal_does_not_allow():
    K = cp.Variable((2, 2), symmetric=True, name="K")
    found = relaxation({"K": K}, {"unit": cp.diag(K) == 1, "off": K[0, 1] == 2, "psd": K >> 0})
    assert found.by_group.keys() == {"off"} and abs(found.total - 1) < 1e-5
    assert [row.words for row in found.rows] == ["K[0, 1] == 2"]


def test_a_disc_and_a_line():
    """‖x‖ ≤ 1 + u reaches x₀ + x₁ = 2 from u = √2 − 1 on; moving the line takes 2 − √2, which is more."""
    x = cp.Variable(2, name="x")
    found = relaxation({"x": x}, {"disc": cp.norm(x) <= 1, "line": cp.sum(x) >= 2})
    assert found.by_group.keys() == {"disc"} and abs(found.total - (np.sqrt(2) - 1)) < 1e-5


def test_two_separate_contradictions_are_both_relaxed():
    x = cp.Variable(2, name="x")
    found = diagnose(declared({"x": x}, {"least": x >= [2, 3], "most": x <= [1, 1]}))
    assert sum(len(rows) for rows in found.blamed.values()) == 2  # one contradiction is shown
    assert abs(found.relaxation.total - 3) < 1e-5  # 1 + 2
    assert any("further contradictions" in remark for remark in found.remarks)


def test_cones_are_relaxed_where_nothing_else_can_be():
    x = cp.Variable(2, name="x", nonneg=True)
    found = relaxation({"x": x}, {"cone": cp.SOC(cp.Constant(1.0), x + np.array([3.0, 0.0]))})
    assert abs(found.total - 2) < 1e-5  # |x + (3, 0)| ≥ 3


def test_the_relaxed_point_satisfies_the_relaxed_constraints():
    declaration, _ = a_matrix()
    found = diagnose(declaration).relaxation
    K = found.values["K"]
    assert np.linalg.eigvalsh(K)[0] > -1e-6 and abs(K.diagonal() - 1).max() < 1e-3 and abs(K[0, 1] - 1) < 1e-3


# ---------------------------------------------------------------------- programs that are not infeasible


def test_a_feasible_program_is_said_to_be_feasible_with_a_point():
    x = cp.Variable(3, name="x")
    found = diagnose(declared({"x": x}, {"sum": cp.sum(x) == 1, "sign": x >= 0}, cp.Minimize(x[0])))
    assert found.verdict == "feasible" and found.is_proven and not found.is_infeasible
    assert abs(found.values["x"].sum() - 1) < 1e-9 and found.values["x"].min() > -1e-9
    assert str(found).startswith("Feasible") and not found.blamed


def test_without_constraints_everything_is_feasible():
    x = cp.Variable(2, name="x")
    assert diagnose(declared({"x": x}, {}, cp.Minimize(cp.sum_squares(x)))).verdict == "feasible"
    assert diagnose(declared({"x": x}, {}, cp.Minimize(x[0]))).verdict == "unbounded"


def test_the_direction_of_an_unbounded_program():
    x = cp.Variable(3, name="x")
    groups = {"wedge": x[1] >= 0.5 * x[0], "still": x[2] <= 3, "first": x[0] >= 1}
    found = diagnose(declared({"x": x}, groups, cp.Minimize(x[2] - x[0])))
    d = found.direction["x"]
    assert found.verdict == "unbounded" and found.is_proven
    assert d[1] - 0.5 * d[0] > -1e-9 and d[2] <= 1e-9 and d[0] >= -1e-9 and d[2] - d[0] < 0


def test_which_variables_run_away_and_what_would_stop_them():
    K = cp.Variable((3, 3), symmetric=True, name="K")
    found = diagnose(declared({"K": K}, {"one": K[0, 0] == 1, "psd": K >> 0}, cp.Maximize(K[2, 2])))
    assert found.direction["K"][2, 2] > 0 and np.linalg.eigvalsh(found.direction["K"])[0] > -1e-9
    assert "K[2, 2] grows" in found.proof and "K[2, 2] <= a number" in found.proof


def an_infinitesimal(*more):
    """√2 K₀₀ + x = 0 ≤ x and K₀₁ = 1 contradict K ⪰ 0, but K₁₁ → ∞ comes as near as one likes; √2 is not exact."""
    K, x = cp.Variable((2, 2), symmetric=True, name="K"), cp.Variable(name="x")
    groups = {"zero": np.sqrt(2) * K[0, 0] + x == 0, "sign": x >= 0, "one": K[0, 1] == 1, "psd": K >> 0}
    return declared({"K": K, "x": x}, groups | {f"more{k}": term(K) for k, term in enumerate(more)})


def test_without_a_proof_nothing_is_claimed():
    found = diagnose(an_infinitesimal())
    assert found.verdict == "unknown" and not found.is_proven and "no proof" in found.proof


def test_what_could_not_be_decided_is_said():
    """Without K₁₁ ≤ 5 the others contradict one another by an infinitesimal only."""
    found = diagnose(an_infinitesimal(lambda K: K[1, 1] <= 5))
    assert found.is_infeasible and not found.is_irreducible
    assert "could not be decided" in str(found) and "K[1, 1] <= 5" in str(found.remarks)


def test_a_contradiction_without_multipliers_has_rows_and_a_relaxation():
    """K₀₀ = 0 and K₀₁ = 1: with K₀₀ ≤ u there is K₁₁ = 1/u, so that there is no least u."""
    K = cp.Variable((3, 3), symmetric=True, name="K")
    groups = {"zero": K[0, 0] == 0, "one": K[0, 1] == 1, "psd": K >> 0, "idle": K[2, 2] == 1}
    found = diagnose(declared({"K": K}, groups))
    assert found.is_infeasible and found.is_irreducible and set(found.blamed) == {"zero", "one", "psd"}
    assert not found.multipliers and abs(sum(found.weights.values()) - 1) < 1e-9
    assert found.relaxation.is_checked and not found.relaxation.is_least and "The least change" not in str(found)
    u = found.relaxation.by_group
    slack = [cp.abs(K[0, 0]) <= 1.001 * u.get("zero", 0), cp.abs(K[0, 1] - 1) <= 1.001 * u.get("one", 0)]
    assert has_point([*slack, K >> 0, K[2, 2] == 1])


@pytest.mark.parametrize("more", [-5, 5])
def test_rows_that_only_keep_points_near_are_not_needed(more):
    """No x has exp(x) ≤ 0, although x = −14 nearly does; a bound on x gives multipliers, but is not needed."""
    x = cp.Variable(2, name="x")
    groups = {"small": cp.exp(x[0]) <= x[1], "zero": x[1] <= 0, "low": x[0] >= more}
    found = diagnose(declared({"x": x}, groups))
    assert found.is_infeasible and found.is_irreducible and set(found.blamed) == {"small", "zero"}


def test_parts_that_no_row_connects_are_relaxed_each_by_itself():
    """Two triangles of links that contradict themselves; the least change is twice that of one, and others stay."""
    K = cp.Variable((9, 9), symmetric=True, name="K")
    ones, zeros = ([0, 1, 3, 4, 7], [1, 2, 4, 5, 8]), ([0, 3, 0, 6], [2, 5, 4, 7])
    groups = {"unit": cp.diag(K) == 1, "one": K[ones] == 1, "zero": K[zeros] == 0, "psd": K >> 0, "sign": K >= 0}
    declaration = declared({"K": K}, groups)
    found = diagnose(declaration)
    assert found.is_infeasible and found.is_irreducible and found.relaxation.is_checked
    assert abs(found.relaxation.total - least_total(declaration)) < 1e-4
    blamed = list(chain.from_iterable(found.blamed.values()))
    assert sorted(row.group for row in blamed) == ["one", "one", "psd", "unit", "unit", "zero"]
    assert "further contradictions" in str(found.remarks)
    # the multipliers are those of the whole program
    rng = np.random.default_rng(0)
    for _ in range(20):
        V = rng.standard_normal((9, 9))
        K.save_value(V @ V.T * rng.random() + rng.standard_normal() * (V + V.T))
        bodies = {name: term.expr.value for name, term in groups.items() if name != "psd"} | {"psd": -K.value}
        total = sum(float(np.sum(found.multipliers[name][0] * bodies[name])) for name in groups)
        assert total >= 1 - 1e-6 and np.linalg.eigvalsh(found.multipliers["psd"][0])[0] > -1e-9


def test_a_search_without_time_says_so():
    declaration, _ = a_matrix()
    found = diagnose(declaration, time_limit=1e-9)
    assert found.is_infeasible and not found.is_irreducible and found.relaxation is None
    assert "time_limit" in str(found)


def test_programs_that_are_too_large_are_not_searched():
    x = cp.Variable(6000, name="x")
    found = diagnose(declared({"x": x}, {"least": x >= 1, "most": x <= 0}))
    assert found.verdict == "unknown" and "5000 unknowns" in found.proof
