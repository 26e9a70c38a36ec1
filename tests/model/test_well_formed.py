"""Declarations that cannot be taken are refused in one sentence, which names what is wrong."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl
from cvxlink import terms


def declared(variables, objective, constraints=lambda self, **variables: {}):
    methods = {"variables": lambda self: variables, "objective": objective, "constraints": constraints}
    return type("Own", (cl.Problem,), methods)()


def least_squares(self, **variables):
    return cp.Minimize(sum(cp.sum_squares(x - 1) for x in variables.values()))


def test_one_variable_under_two_names_is_refused():
    x = cp.Variable(2)
    with pytest.raises(cl.InvalidProblem, match="one variable under two names, 'a' and 'b'"):
        str(declared({"a": x, "b": x}, least_squares))


@pytest.mark.parametrize("name", [3, "", None])
def test_names_are_text(name):
    with pytest.raises(cl.InvalidProblem, match="must name each variable with text"):
        str(declared({name: cp.Variable(2)}, least_squares))


def test_a_variable_may_be_called_self_only_if_it_can_be_passed():
    with pytest.raises(cl.InvalidProblem, match="cannot be called 'self', the name of the first parameter"):
        str(declared({"self": cp.Variable(2)}, least_squares))

    def objective(this, /, **variables):
        return least_squares(this, **{f"{name}_": x for name, x in variables.items()})

    problem = declared({"self": cp.Variable(2)}, objective, lambda this, /, **variables: {})
    assert problem.solve().values["self"] == pytest.approx(np.ones(2), abs=1e-5)


@pytest.mark.parametrize("name", ["self", "cls", "problem", "names", "a b", "for", "variables", "strict", "name"])
def test_a_wrapped_variable_may_have_any_name(name):
    x = cp.Variable(2, name=name)
    plain = cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [x >= 2])
    solution = cl.wrap(plain).solve()
    assert solution.values[name] == pytest.approx(2 * np.ones(2), abs=1e-5)
    assert cl.certify(plain).relative_gap < 1e-6
    varied = cl.wrap(plain).with_constraints(more=lambda **variables: variables[name] >= 3)
    assert varied.solve().values[name] == pytest.approx(3 * np.ones(2), abs=1e-5)


def test_a_method_without_a_parameter_for_a_variable_is_named():
    words = r"Own.objective\(\) must have a parameter for each of the variables x, by name: .*'y'"
    with pytest.raises(cl.InvalidProblem, match=words):
        str(declared({"x": cp.Variable(2)}, lambda self, y: cp.Minimize(cp.sum_squares(y))))


def test_the_part_of_a_sum_that_is_not_convex_is_named():
    K = cp.Variable((3, 3), symmetric=True, name="K")

    def objective(self, K):
        return cp.Minimize(cp.trace(K) + 2 * terms.smoothness(K, np.eye(3)) - cp.sum_squares(K))

    with pytest.raises(cl.InvalidProblem, match=r"the objective as convex because of “-\(?sum_squares\(K\)\)?”"):
        str(declared({"K": K}, objective))
    with pytest.raises(cl.InvalidProblem, match=r"as concave because of “sum_squares\(K\)”"):
        str(declared({"K": K}, lambda self, K: cp.Maximize(cp.trace(K) + cp.sum_squares(K))))
    with pytest.raises(cl.InvalidProblem, match=r"'far' as convex because of “1.0 <= sum_squares\(K\)”"):
        str(
            declared(
                {"K": K}, lambda self, K: cp.Minimize(cp.trace(K)), lambda self, K: {"far": cp.sum_squares(K) >= 1}
            )
        )
    with pytest.raises(cl.InvalidProblem, match=r"because of its objective: “-\(?sum_squares\(K\)\)?”"):
        cl.wrap(cp.Problem(cp.Minimize(cp.trace(K) - cp.sum_squares(K))))
