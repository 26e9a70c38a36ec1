"""Other variables in the place of an expression's own."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from cvxlink.model.substitution import Substitution


def test_values_are_those_of_the_new_variables():
    x, y = cp.Variable(3), cp.Variable(3)
    z = cp.Variable(3)
    x.value, y.value, z.value = np.ones(3), np.full(3, 2.0), np.full(3, 5.0)
    replaced = Substitution([(x, z)])
    expression = replaced(cp.sum_squares(x) + cp.norm1(x - y))
    assert expression.value == 75 + 9 and {variable.id for variable in expression.variables()} == {y.id, z.id}
    constraint = x <= y
    copied = replaced(constraint)
    assert copied.id != constraint.id and copied.violation().max() == 3 and not constraint.violation().any()


def test_expressions_that_are_gone_are_not_taken_for_others():
    x, z = cp.Variable(), cp.Variable(value=3.0)
    replaced = Substitution([(x, z)])
    for k in range(200):  # Python gives the place of one to the next
        assert replaced(x + k).value == 3 + k


def test_an_expression_that_occurs_twice_is_copied_once():
    x, y = cp.Variable(), cp.Variable()
    nested = x
    for _ in range(12):
        nested = cp.maximum(nested, nested)
    part, depth = Substitution([(x, y)])(nested), 0
    while part.args:
        assert part.args[0] is part.args[1]
        part, depth = part.args[0], depth + 1
    assert part is y and depth == 12
