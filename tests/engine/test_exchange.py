"""Programs out to files and results back: nothing is lost on the way, and nothing that is cut short is believed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl
from cvxlink.solvers.executables import COMMAND_LINE
from cvxlink.solvers.files.cbf import read_cbf, write_cbf
from cvxlink.solvers.files.cone_program import ConeProgram, without_equations
from cvxlink.solvers.files.sdpa import read_result, read_sdpa, write_sdpa

# The first example of SDPA's manual, whose optimum is −41.9.
EXAMPLE = """"Example 1: mDim = 3, nBLOCK = 1, {2}"
   3  =  mDIM
   1  =  nBLOCK
   {2}  = bLOCKsTRUCT
{48, -8, 20}
0 1 1 1 -11
0 1 2 2 23
1 1 1 1 10
1 1 1 2 4
2 1 2 2 -8
3 1 1 2 -8
3 1 2 2 -2
"""
needs_csdp = pytest.mark.skipif(shutil.which("csdp") is None, reason="csdp is not on the PATH; make solvers")

on_the_path = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(not solver.path, reason=f"{name} is not on the PATH; make solvers"))
        for name, solver in COMMAND_LINE.items()
    ],
)


def random_program(seed: int) -> ConeProgram:
    rng = np.random.default_rng(seed)
    orders, linear, m = (3, 1, 4), 5, 6
    total = linear + sum(order**2 for order in orders)
    program = ConeProgram(rng.standard_normal(m), sp.csr_array((total, m)), np.zeros(total), linear, orders, 1.5)
    A, b = rng.standard_normal((total, m)) * (rng.random((total, m)) < 0.4), rng.standard_normal(total)
    for k, order in enumerate(orders):
        some = slice(program.starts[k], program.starts[k] + order**2)
        for values in (A, b[:, None]):
            blocks = values[some].reshape(order, order, -1)
            values[some] = ((blocks + blocks.transpose(1, 0, 2)) / 2).reshape(order**2, -1)
    return ConeProgram(program.c, sp.csr_array(A), b, linear, orders, 1.5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("write", "read", "name"), [(write_sdpa, read_sdpa, "x.dat-s"), (write_cbf, read_cbf, "x.cbf")]
)
def test_what_is_written_is_what_is_read(tmp_path, seed, write, read, name):
    program = random_program(seed)
    write(program, tmp_path / name)
    again = read(tmp_path / name).program()
    assert (again.linear, again.orders, again.offset) == (program.linear, program.orders, program.offset)
    np.testing.assert_array_equal(again.c, program.c)
    np.testing.assert_array_equal(again.A.toarray(), program.A.toarray())
    np.testing.assert_array_equal(again.b, program.b)


def test_the_example_of_sdpas_manual_has_its_optimum(tmp_path):
    (tmp_path / "example.dat-s").write_text(EXAMPLE)
    problem = cl.read_program(tmp_path / "example.dat-s")
    # F_0 = diag(−11, 23), F_1 = [[10, 4], [4, 0]], F_2 = diag(0, −8), F_3 = [[0, −8], [−8, −2]]
    np.testing.assert_array_equal(problem.data.C.toarray(), [[11, 0], [0, -23]])
    np.testing.assert_array_equal(problem.data.A.toarray(), [[10, 4, 4, 0], [0, 0, 0, -8], [0, -8, -8, -2]])
    assert problem.solve().value == pytest.approx(41.9, abs=1e-5)


def test_mosek_reads_our_cbf_as_the_same_program(tmp_path):
    mosek = pytest.importorskip("mosek", reason="mosek is not installed")
    program = random_program(0)
    write_cbf(program, tmp_path / "x.cbf")
    with mosek.Env() as env, env.Task() as task:
        task.readdata(str(tmp_path / "x.cbf"))
        assert task.getnumvar() == len(program.c)
        assert task.getnumacc() == 1 + len(program.orders)  # the inequalities are a cone as well
        costs = np.zeros(len(program.c))
        task.getc(costs)
        np.testing.assert_allclose(costs, program.c)
        assert task.getcfix() == program.offset
        # The cones, as svec of the lower triangle, column by column.
        rows, columns, values = task.getaccftrip()
        F = sp.csr_array((values, (rows, columns)), shape=(task.getaccntot(), len(program.c))).toarray()
        g = np.array(task.getaccgvector())
        at = program.linear
        np.testing.assert_allclose(F[:at], program.A[:at].toarray(), atol=1e-12)
        np.testing.assert_allclose(g[:at], program.b[:at], atol=1e-12)
        for k, order in enumerate(program.orders):
            j, i = np.triu_indices(order)  # column by column of the lower triangle
            scale = np.where(i == j, 1.0, np.sqrt(2))
            mine = program.place(k, i, j)
            np.testing.assert_allclose(F[at : at + len(i)], program.A[mine].toarray() * scale[:, None], atol=1e-12)
            np.testing.assert_allclose(g[at : at + len(i)], program.b[mine] * scale, atol=1e-12)
            at += len(i)


# ---------------------------------------------------------------------- equations


@pytest.mark.parametrize("seed", range(20))
def test_equations_are_solved_for_and_their_multipliers_found(seed):
    rng = np.random.default_rng(seed)
    n, order = 9, 3
    E = rng.standard_normal((4, n)) * (rng.random((4, n)) < 0.5)
    E[0] = 0
    E[0, 2] = 2.0  # an equation in one variable
    E = np.vstack([E, E[1] - 2 * E[2], E[0]])  # and two that follow from others
    inside = rng.standard_normal(n)
    e = -E @ inside
    i, j = np.triu_indices(order)
    A = np.zeros((order**2, n))
    for k in range(6):
        A[[i[k] * order + j[k], j[k] * order + i[k]], k] = 1.0
    A[:, 6:] = rng.standard_normal((order**2, 3))
    A = (A + A.reshape(order, order, n).transpose(1, 0, 2).reshape(order**2, n)) / 2
    b = (np.eye(order) * 3).ravel() - A @ inside  # strictly feasible at `inside`
    positive = rng.standard_normal((order, order))
    c = E.T @ rng.standard_normal(len(E)) + A.T @ (positive @ positive.T + np.eye(order)).ravel()  # and so is the dual
    found = without_equations(c, sp.csr_array(E), e, sp.csr_array(A), b, 0, (order,))
    x = cp.Variable(n)
    M = cp.reshape(A @ x + b, (order, order), order="C")
    whole = cp.Problem(cp.Minimize(c @ x), [E @ x + e == 0, M >> 0])
    whole.solve(solver="CLARABEL")
    y = cp.Variable(len(found.free))
    small = found.program
    S = cp.reshape(small.A @ y + small.b, (order, order), order="C")
    reduced = cp.Problem(cp.Minimize(small.c @ y + small.offset), [S >> 0])
    reduced.solve(solver="CLARABEL")
    assert reduced.value == pytest.approx(whole.value, abs=1e-6 * (1 + abs(whole.value)))
    back = found.variables(y.value)
    np.testing.assert_allclose(E @ back + e, 0, atol=1e-9)
    Z = reduced.constraints[0].dual_value.ravel()
    np.testing.assert_allclose(E.T @ found.multipliers(Z) + A.T @ Z, c, atol=1e-5 * (1 + abs(Z).max()))


def test_equations_that_contradict_are_noticed():
    E = sp.csr_array([[1.0, 1.0], [1.0, 1.0]])
    A, b = sp.csr_array(np.eye(2)), np.zeros(2)
    assert without_equations(np.ones(2), E, np.array([1.0, 2.0]), A, b, 2, ()) is None
    assert without_equations(np.ones(2), E, np.array([1.0, 1.0]), A, b, 2, ()) is not None


# ---------------------------------------------------------------------- there and back


@pytest.fixture(scope="module")
def flowers():
    X, y = cl.datasets.load("iris")
    return cl.Graph.knn(X[::5]), cl.Links.sample(y[::5], per_class=3, random_state=0)


RUN = {
    "csdp": lambda name: ["csdp", name, "result"],
    "dsdp5": lambda name: ["dsdp5", name, "-save", "result"],
    "sdpa": lambda name: ["sdpa", "-ds", name, "-o", "result", "-pt", "2"],
}


@pytest.mark.parametrize("program", RUN)
@pytest.mark.parametrize(
    ("make", "form"),
    [(cl.PCP, None), (cl.PCP, "paper"), (cl.KP, None), (lambda g, s: cl.CCSR(g, s, order=3), None)],
)
def test_a_result_from_elsewhere_is_lifted_certified_and_clustered(tmp_path, flowers, program, make, form):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on the PATH; make solvers")
    problem = make(*flowers)
    problem.export(tmp_path / "p.dat-s", form=form)
    subprocess.run(RUN[program]("p.dat-s"), cwd=tmp_path, capture_output=True, check=False)
    # SDPA prints four digits.
    accuracy = 1e-2 if program == "sdpa" else 1e-4
    solution = cl.bring_back(tmp_path / "p.dat-s", tmp_path / "result", accuracy=accuracy)
    best = problem.solve(accuracy=1e-7)
    assert solution.status is cl.Status.OPTIMAL
    assert solution.value == pytest.approx(best.value, abs=accuracy * (1 + abs(best.value)))
    assert solution.certificate.lower_bound <= best.value + 1e-7
    ours, theirs = (s.cluster(3, random_state=0) for s in (best, solution))
    assert cl.metrics.nmi(ours, theirs) == pytest.approx(1)


@needs_csdp
def test_a_result_cut_short_anywhere_is_refused(tmp_path, flowers):
    problem = cl.KP(*flowers)
    path = problem.export(tmp_path / "p.dat-s")
    subprocess.run(RUN["csdp"]("p.dat-s"), cwd=tmp_path, capture_output=True, check=False)
    whole = (tmp_path / "result").read_text()
    cl.bring_back(path, tmp_path / "result")
    for share in np.linspace(0, 1, 60, endpoint=False):
        (tmp_path / "cut").write_text(whole[: int(share * len(whole))])
        with pytest.raises(cl.InvalidFile, match="cut"):
            cl.bring_back(path, tmp_path / "cut")
    lines = whole.splitlines(keepends=True)
    for kept in (1, len(lines) // 2, len(lines) - 1):
        (tmp_path / "cut").write_text("".join(lines[:kept]))
        with pytest.raises(cl.InvalidFile, match="cut"):
            cl.bring_back(path, tmp_path / "cut")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace("1 1 1 1 ", "1 1 1 99 ", 1), "line 2.*not an entry of a matrix"),
        (lambda text: text.replace("1 1 1 1 ", "3 1 1 1 ", 1), "line 2.*not an entry of a matrix"),
        (lambda text: text.replace("1 1 1 1 ", "1 1 1 1 nan ", 1), "line 2"),
        (lambda text: "1.0 " + text, "numbers for"),
        (lambda text: "words\n" + text, "line 1.*should be numbers"),
        (lambda text: "", "empty"),
        (lambda text: re.sub(r"(?m)^(2 .*)e-01 *$", r"\g<1>e+01", text), "does not fit"),
    ],
)
@needs_csdp
def test_a_result_that_is_malformed_is_refused_with_its_line(tmp_path, flowers, change, says):
    path = cl.KP(*flowers).export(tmp_path / "p.dat-s")
    subprocess.run(RUN["csdp"]("p.dat-s"), cwd=tmp_path, capture_output=True, check=False)
    (tmp_path / "changed").write_text(change((tmp_path / "result").read_text()))
    with pytest.raises(cl.InvalidFile, match=says):
        cl.bring_back(path, tmp_path / "changed")


@needs_csdp
def test_a_result_of_another_program_is_refused(tmp_path, flowers):
    graph, links = flowers
    problem = cl.KP(graph, links).export(tmp_path / "p.dat-s")
    other = cl.KP(graph, cl.Links(30, must=[(0, 1)], cannot=[(0, 29), (5, 17)])).export(tmp_path / "q.dat-s")
    subprocess.run(RUN["csdp"](other.name), cwd=tmp_path, capture_output=True, check=False)
    with pytest.raises(cl.InvalidFile, match="another program"):
        cl.bring_back(problem, tmp_path / "result")


@pytest.mark.parametrize("name", ["x.dat-s", "x.cbf"])
def test_a_program_cut_short_anywhere_is_refused(tmp_path, flowers, name):
    cl.KP(*flowers).export(tmp_path / name)
    lines = (tmp_path / name).read_text().splitlines(keepends=True)
    cuts = range(len(lines)) if len(lines) < 200 else np.linspace(0, len(lines) - 1, 150).astype(int)
    for kept in cuts:
        (tmp_path / f"cut{name}").write_text("".join(lines[:kept]))
        with pytest.raises(cl.InvalidFile):
            cl.read_program(tmp_path / f"cut{name}")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("3 1 2 2 -2", "3 1 2", "line 12.*cut short"),
        ("3 1 2 2 -2", "4 1 2 2 -2", "line 12.*not an entry"),
        ("3 1 2 2 -2", "3 2 2 2 -2", "line 12.*not an entry"),
        ("48, -8, 20", "48, -8", "3 variables|costs|numbers"),
        ("48, -8, 20", "48, x, 20", "line 5.*should be numbers"),
        ("   1  =  nBLOCK", "   2  =  nBLOCK", "sizes of 2 blocks"),
        ("   3  =  mDIM", "   many  =  mDIM", "line 2.*whole number"),
    ],
)
def test_a_program_that_is_malformed_is_refused_with_its_line(tmp_path, old, new, says):
    (tmp_path / "bad.dat-s").write_text(EXAMPLE.replace(old, new))
    with pytest.raises(cl.InvalidFile, match=says):
        cl.read_program(tmp_path / "bad.dat-s")


def test_what_cannot_be_exported_or_brought_back_says_why(tmp_path, flowers):
    graph, links = flowers
    with pytest.raises(cl.InvalidInput, match=r"\.dat-s or \*\.cbf"):
        cl.KP(graph, links).export(tmp_path / "x.txt")
    with pytest.raises(cl.InvalidInput, match="cannot be written"):
        cl.KP(graph, links).export(tmp_path / "nowhere" / "x.dat-s")
    with pytest.raises(
        cl.SolverUnavailable, match=r"logarithms or exponentials .*SDPA's format holds .* only; write a .cbf"
    ):
        cl.MinKL(graph.kernel() + np.eye(30), links, must_bound=0.1, cannot_bound=1.0).export(tmp_path / "x.dat-s")
    with pytest.raises(cl.InvalidFile, match="keep the two together"):
        cl.bring_back(tmp_path / "none.dat-s", tmp_path / "result")
    path = cl.KP(graph, links).export(tmp_path / "x.dat-s")
    with pytest.raises(cl.InvalidFile, match="there is no file"):
        cl.bring_back(path, tmp_path / "none")
    lift = tmp_path / "x.dat-s.lift"
    lift.write_bytes(lift.read_bytes()[:50])
    with pytest.raises(cl.InvalidFile, match=r"x\.dat-s\.lift is damaged or cut short"):
        cl.bring_back(path, tmp_path / "none")


# ---------------------------------------------------------------------- solvers on the command line


@on_the_path
def test_command_line_solvers_reproduce_pcp_and_kp(flowers, name):
    for problem in (cl.PCP(*flowers), cl.KP(*flowers)):
        best = problem.solve(accuracy=1e-8).value
        for form in ("dual", "paper"):
            solution = problem.solve(solver=name, form=form, accuracy=1e-6)
            assert solution.status is cl.Status.OPTIMAL
            assert solution.value == pytest.approx(best, abs=1e-6 * (1 + best))
            assert solution.iterations > 3


@on_the_path
def test_verdicts_without_an_answer_are_passed_on(name):
    x = cp.Variable(2)
    block = cp.bmat([[x[0], 1], [1, x[1]]])
    for objective, constraints, status in (
        (x[0] + x[1], [block >> 0, x[0] <= -1], "infeasible"),
        (-x[0], [block >> 0], "unbounded"),
        (x[0] + 2 * x[1], [x == np.array([1.0, 1.0]), block >> 0], "optimal"),  # equations leave nothing free
        (x[0] + x[1], [x == np.array([0.5, 1.0]), block >> 0], "infeasible"),
        (x[0] + x[1], [x[0] == 1, 2 * x[0] == 3, block >> 0], "infeasible"),
    ):
        problem = cp.Problem(cp.Minimize(objective), constraints)
        if (name, status) == ("DSDP", "unbounded"):  # it gives up without a word
            with pytest.raises(cl.CvxlinkError, match="it ended with"):
                problem.solve(solver=COMMAND_LINE[name])
            continue
        problem.solve(solver=COMMAND_LINE[name])
        assert problem.status.removesuffix("_inaccurate") == status, (name, status)


@on_the_path
def test_options_of_command_line_solvers(flowers, name):
    problem = cl.KP(*flowers)
    with pytest.raises(cl.SolveFailed, match=f"{name} has no option 'no_such'"):
        problem.solve(solver=name, solver_options={"no_such": 1})
    most = {"CSDP": "maxiter", "SDPA-CLI": "maxIteration", "DSDP": "maxit"}[name]
    solution = problem.solve(solver=name, solver_options={most: 2}, strict=False)
    assert solution.status in (cl.Status.LIMIT, cl.Status.ERROR, cl.Status.INACCURATE)


def test_a_program_that_dies_or_writes_half_a_result_is_an_error(flowers, tmp_path, monkeypatch):
    problem = cl.KP(*flowers)
    for script, says in (
        ("kill -SEGV $$", "ended by signal SIGSEGV"),
        ("exit 9", "CSDP: it ended with"),
        ("echo 'Success: SDP solved'; echo '1.0 2.0' > result; exit 0", "cut short"),
        ("exit 0", "csdp ended without writing a result"),
    ):
        (tmp_path / "csdp").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "csdp").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        solution = problem.solve(solver="CSDP", strict=False)
        assert solution.status is cl.Status.ERROR and says in solution.reason


def test_a_command_line_solver_that_is_not_there_says_how_to_get_it(flowers, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(cl.SolverUnavailable, match="CSDP is not installed; get it with: apt install coinor-csdp"):
        cl.KP(*flowers).solve(solver="CSDP")
    assert "CSDP" not in cl.installed_sdp_solvers()


@needs_csdp
def test_read_result_wants_the_program_it_is_of(tmp_path):
    (tmp_path / "example.dat-s").write_text(EXAMPLE)
    subprocess.run(RUN["csdp"]("example.dat-s"), cwd=tmp_path, capture_output=True, check=False)
    program = read_sdpa(tmp_path / "example.dat-s").program()
    result = read_result(tmp_path / "result", program)
    assert program.value(result.x) == pytest.approx(-41.9, abs=1e-5)
    np.testing.assert_allclose(program.A.T @ result.Z, program.c, atol=1e-6)


@pytest.mark.parametrize("name", ["x.dat-s", "x.cbf"])
def test_a_program_cut_inside_its_last_number_is_refused(tmp_path, flowers, name):
    cl.KP(*flowers).export(tmp_path / name)
    whole = (tmp_path / name).read_text()
    for missing in range(1, 8):
        (tmp_path / f"cut{name}").write_text(whole[:-missing])
        with pytest.raises(cl.InvalidFile, match="cut short"):
            cl.read_program(tmp_path / f"cut{name}")


@pytest.mark.parametrize("again", ["1 1 2 1 4", "1 1 1 1 10"])
def test_an_entry_given_twice_is_refused(tmp_path, again):
    (tmp_path / "twice.dat-s").write_text(EXAMPLE + again + "\n")
    with pytest.raises(cl.InvalidFile, match="line 13.*a second time"):
        cl.read_program(tmp_path / "twice.dat-s")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("48, -8, 20", "48, inf, 20"),
        ("   {2}  = bLOCKsTRUCT", "   {2000000000}  = bLOCKsTRUCT"),
    ],
)
def test_costs_and_sizes_beyond_all_bounds_are_refused(tmp_path, old, new):
    (tmp_path / "bad.dat-s").write_text(EXAMPLE.replace(old, new))
    with pytest.raises(cl.InvalidFile, match="not finite|order 2000000000"):
        cl.read_program(tmp_path / "bad.dat-s")


def test_words_after_the_sizes_may_stick_to_them(tmp_path):
    (tmp_path / "x.dat-s").write_text("﻿" + EXAMPLE.replace("3  =  mDIM", "3=mDIM").replace("1  =  nBLOCK", "1,"))
    assert cl.read_program(tmp_path / "x.dat-s").solve().value == pytest.approx(41.9, abs=1e-5)


# min x over [[x, 1], [1, x]] ⪰ 0, whose optimum is 1
CBF = """VER
2
OBJSENSE
MIN
VAR
1 1
F 1
PSDCON
1
2
OBJACOORD
1
0 1.0
HCOORD
2
0 0 0 0 1.0
0 0 1 1 1.0
DCOORD
1
0 1 0 1.0
"""


def test_cbf_by_hand(tmp_path):
    (tmp_path / "x.cbf").write_text(CBF)
    assert cl.read_program(tmp_path / "x.cbf").solve().value == pytest.approx(-1, abs=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("0 1.0\nHCOORD", "-1 1.0\nHCOORD", "there is no entry"),
        ("0 1.0\nHCOORD", "0.7 1.0\nHCOORD", "there is no entry"),
        ("0 0 1 1 1.0", "-1 0 1 1 1.0", "there is no entry"),
        ("0 0 1 1 1.0", "0 0 0 0 1.0", "second time"),
        ("0 1 0 1.0", "0 0 1 1.0", "lower triangle"),
        ("HCOORD\n2", "HCOORD\n-1", "between 0 and"),
        ("F 1", "F 5", "1 rows in total"),
        ("1 1\nF 1", "-1 1\nF 1", "do not make a program"),
        ("PSDCON\n1\n2", "PSDCON\n1\n-3", "between 1 and"),
        ("DCOORD", "OBJACOORD\n0\nDCOORD", "OBJACOORD is given a second time"),
        ("MIN", "MAX", "minimise"),
        ("F 1", "EXP 1", "the cone EXP is not supported"),
        ("1.0\nHCOORD", "nan\nHCOORD", "expected 2 numbers"),
        ("DCOORD", "WORDS", "section 'WORDS' is not supported"),
    ],
)
def test_cbf_that_is_malformed_is_refused(tmp_path, old, new, says):
    (tmp_path / "x.cbf").write_text(CBF.replace(old, new, 1))
    with pytest.raises(cl.InvalidFile, match=says):
        cl.read_program(tmp_path / "x.cbf")


def test_a_broken_program_on_the_path_does_not_take_the_table_down(tmp_path, monkeypatch):
    sleep = f"sleep 4321.{os.getpid()}"
    for script in (
        f"#!/bin/sh\n{sleep}\n",
        "#!/bin/sh\nhead -c 300 /dev/urandom\n",
        "no program",
        "#!/no/such/thing\n",
    ):
        (tmp_path / "csdp").write_text(script)
        (tmp_path / "csdp").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        assert cl.solvers(check=False)["CSDP"].version == ""
    assert (
        f"sleep 4321.{os.getpid()}" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    )


def test_squares_that_would_be_large_blocks_are_refused(tmp_path, flowers):
    with pytest.raises(cl.SolverUnavailable, match="dense block of order"):
        cl.SRCP(*flowers).export(tmp_path / "x.dat-s")
    if shutil.which("csdp"):
        with pytest.raises(
            cl.SolverUnavailable, match=r"dense block of order.*try one of CLARABEL, SCS, CVXOPT"
        ) as told:
            cl.SRCP(*flowers).solve(solver="CSDP")
        assert "DSDP" not in str(told.value)


@needs_csdp
def test_a_missing_last_line_is_noticed_even_if_it_hardly_matters(tmp_path):
    # A second block, x_1 ≥ −1000, that does not bind: its multiplier is all but zero, and comes last.
    text = EXAMPLE.replace("1  =  nBLOCK", "2").replace("{2}", "{2, -1}") + "0 2 1 1 -1000\n1 2 1 1 1\n"
    (tmp_path / "example.dat-s").write_text(text)
    program = read_sdpa(tmp_path / "example.dat-s").program()
    subprocess.run(RUN["csdp"]("example.dat-s"), cwd=tmp_path, capture_output=True, check=False)
    lines = (tmp_path / "result").read_text().splitlines(keepends=True)
    assert lines[-1].startswith("2 2 1 1 ") and float(lines[-1].split()[-1]) < 1e-6
    assert program.value(read_result(tmp_path / "result", program).x) == pytest.approx(-41.9, abs=1e-2)
    (tmp_path / "cut").write_text("".join(lines[:-1]))
    with pytest.raises(cl.InvalidFile, match="cut short"):
        read_result(tmp_path / "cut", program)


@pytest.mark.parametrize("suffix", ["cbf", "dat-s"])
@pytest.mark.parametrize("sense", [cp.Minimize, cp.Maximize])
@pytest.mark.parametrize("form", ["declared", "dual"])
def test_a_file_says_if_its_optimum_is_the_negative(tmp_path, suffix, sense, form):
    rng = np.random.default_rng(0)
    C = rng.standard_normal((5, 5))
    K = cp.Variable((5, 5), symmetric=True, name="K")
    problem = cl.wrap(cp.Problem(sense(cp.trace((C + C.T) @ K) + 3), [cp.diag(K) == 1, K >> 0]))
    path = problem.export(tmp_path / f"x.{suffix}", form=form)
    of_file = -cl.read_program(path).solve(accuracy=1e-6).value  # of the program in x, which the file minimises
    says = "the optimum of the problem is minus the optimum of this file" in path.read_text()
    assert problem.solve(accuracy=1e-6).value == pytest.approx(-of_file if says else of_file, abs=1e-4)


@needs_csdp
def test_a_maximisation_comes_back(tmp_path):
    K = cp.Variable((4, 4), symmetric=True, name="K")
    problem = cl.wrap(cp.Problem(cp.Maximize(-cp.sum(K)), [cp.diag(K) == 1, K >> 0]))
    for form in ("declared", "dual"):
        path = problem.export(tmp_path / "x.dat-s", form=form)
        assert "minus the optimum" in path.read_text() or form == "dual"
        subprocess.run(["csdp", "x.dat-s", "x.sol"], cwd=tmp_path, capture_output=True, check=True)
        solution = cl.bring_back(path, tmp_path / "x.sol", problem=problem)
        assert solution.value == pytest.approx(0, abs=1e-4) and solution.certificate.maximises
