"""What variables are declared to be is part of the program, so it is printed and counted."""

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl

SYMMETRIC = cp.Variable((3, 3), symmetric=True, name="x")
CASES = [
    (cp.Variable(3, name="x", nonneg=True), "x ≥ 0", r"x \ge 0", 3),
    (cp.Variable(3, name="x", pos=True), "x ≥ 0", r"x \ge 0", 3),
    (cp.Variable(3, name="x", nonpos=True), "x ≤ 0", r"x \le 0", 3),
    (cp.Variable(3, name="x", neg=True), "x ≤ 0", r"x \le 0", 3),
    (cp.Variable(3, name="x", bounds=[-1, 1]), "-1 ≤ x ≤ 1", r"-1 \le x \le 1", 3),
    (cp.Variable(3, name="x", bounds=[None, 0.5]), "x ≤ 0.5", r"x \le 0.5", 3),
    (cp.Variable(3, name="x", bounds=[2, None]), "x ≥ 2", r"x \ge 2", 3),
    (cp.Variable(3, name="x", bounds=[np.arange(3), None]), "x ≥ [3]", r"x \ge [3]", 3),
    (cp.Variable(3, name="x", nonneg=True, bounds=[None, 2]), "x ≥ 0,  x ≤ 2", r"x \ge 0,\quad x \le 2", 3),
    (cp.Variable((3, 3), name="x", PSD=True), "x ⪰ 0", r"x \succeq 0", 6),
    (cp.Variable((3, 3), name="x", NSD=True), "x ⪯ 0", r"x \preceq 0", 6),
    (cp.Variable((3, 3), name="x", diag=True), "x diagonal", r"x\text{ diagonal}", 3),
    (
        cp.Variable((3, 3), name="x", sparsity=[(0, 1, 2), (1, 2, 2)]),
        "x = 0 outside 3 of its 9 entries",
        r"x = 0\text{ outside 3 of its 9 entries}",
        3,
    ),
    (SYMMETRIC, "x = xᵀ", r"x = x^\top", 6),
]


@pytest.mark.parametrize(("x", "words", "latex", "unknowns"), CASES, ids=[case[1] for case in CASES])
def test_a_declared_attribute_is_printed_and_counted(x, words, latex, unknowns):
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) <= 5]))
    (line,) = (line for line in str(problem).splitlines() if line.endswith("(as x is declared)"))
    assert line.removesuffix("(as x is declared)").strip() == words
    assert f" & {latex}" in problem._repr_latex_()
    assert problem.program.sizes.unknowns == unknowns
    assert list(problem.declaration.constraints) == ["constraints[0]"]


def test_a_program_without_constraints_says_so_by_its_first_attribute():
    x = cp.Variable(name="x", nonneg=True)
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.square(x + 1))))
    assert "  subject to  x ≥ 0   (as x is declared)\n" in str(problem)
    assert r"\text{s.t.} \quad & x \ge 0" in problem._repr_latex_()
    assert "  size        1 unknown\n" in f"{problem}\n"


@pytest.mark.parametrize("says", [SYMMETRIC >> 0, -cp.log_det(SYMMETRIC) <= 1], ids=["semidefinite", "log det"])
def test_that_a_semidefinite_matrix_is_symmetric_goes_without_saying(says):
    problem = cl.wrap(cp.Problem(cp.Minimize(cp.trace(SYMMETRIC)), [says]))
    assert "is declared" not in str(problem)


def test_a_free_variable_has_no_further_line():
    x = cp.Variable(2, name="x", bounds=[-np.inf, np.inf])
    assert "is declared" not in str(cl.wrap(cp.Problem(cp.Minimize(cp.sum_squares(x)))))
