"""Second-order, exponential and power cones in CBF files, as MOSEK reads them."""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import cvxlink as cl

C = np.array([3.0, -1.0, 2.0])


@dataclass(frozen=True, eq=False)
class Mixed(cl.Problem):
    """One cone of each kind."""

    kind: str

    def variables(self):
        return {"x": cp.Variable(3), "t": cp.Variable()}

    def objective(self, x, t):
        return cp.Minimize(t + C @ x)

    def constraints(self, x, t):
        cones = {
            "second-order": cp.SOC(t / 5, x - np.array([1.0, 2.0, 3.0])),
            "exponential": cp.constraints.ExpCone(-x[0] - x[1], cp.Constant(2.0), t + x[2]),
            "power": cp.PowCone3D(x[0] + 10, t + 1, x[2] - 7, 0.3),
            "two powers": [
                cp.PowCone3D(x[0] + 10, t + 1, x[2] - 7, 0.3),
                cp.PowCone3D(cp.Constant(3.0), t, x[1], 0.6),
                cp.SOC(t, x[:2]),
            ],
        }
        return {
            "cone": cones[self.kind],
            "box": cp.abs(x) <= 5,
            "sum": x[0] + x[1] - x[2] == 0.5,
            "psd": cp.bmat([[t, x[0]], [x[0], 4]]) >> 0,
        }


def distance_outside(kind: str, alpha: list[float], values: np.ndarray) -> float:
    """Return by how much the inequality of a cone is violated, by MOSEK's definitions."""
    if kind == "quadratic_cone":
        return np.linalg.norm(values[1:]) - values[0]
    if kind == "primal_exp_cone":
        return values[1] * np.exp(values[2] / values[1]) - values[0]
    if kind == "primal_power_cone":
        a = np.array(alpha) / sum(alpha)
        return abs(values[2]) - np.prod(values[:2] ** a)
    if kind == "rplus":
        return -values.min()
    assert kind == "svec_psd_cone"
    order = round((np.sqrt(8 * len(values) + 1) - 1) / 2)
    matrix, (j, i) = np.zeros((order, order)), np.triu_indices(order)
    matrix[i, j] = matrix[j, i] = values / np.where(i == j, 1, np.sqrt(2))
    return -np.linalg.eigvalsh(matrix)[0]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("second-order", {"quadratic_cone": 1}),
        ("exponential", {"primal_exp_cone": 1}),
        ("power", {"primal_power_cone": 1}),
        ("two powers", {"primal_power_cone": 2, "quadratic_cone": 1}),
    ],
)
def test_mosek_reads_the_same_program(tmp_path, kind, expected):
    mosek = pytest.importorskip("mosek", reason="mosek is not installed")
    problem = Mixed(kind)
    path = problem.export(tmp_path / "p.cbf", form="declared", presolve=False)
    assert path.read_text().splitlines()[1:3] == ["VER", "3"]
    domains = {
        getattr(mosek.domaintype, name): name for name in (*expected, "rplus", "svec_psd_cone", "primal_power_cone")
    }
    with mosek.Env() as env, env.Task() as task:
        task.readdata(str(path))
        n, total = task.getnumvar(), task.getaccntot()
        costs = np.zeros(n)
        task.getc(costs)
        rows, columns, values = task.getaccftrip()
        F, g = sp.csr_array((values, (rows, columns)), shape=(total, n)).toarray(), np.array(task.getaccgvector())
        parts, start = [], 0
        for k in range(task.getnumacc()):
            domain, size = task.getaccdomain(k), task.getaccn(k)
            name, alpha = domains[task.getdomaintype(domain)], []
            if name == "primal_power_cone":
                alpha = list(task.getpowerdomainalpha(domain))
            parts.append((name, alpha, F[start : start + size], g[start : start + size]))
            start += size
        offset = task.getcfix()
    for name, count in expected.items():
        assert sum(part[0] == name for part in parts) == count
    # The program that MOSEK read, written down again from its definitions, has the optimum of the declaration.
    y, constraints = cp.Variable(n), []
    for name, alpha, A, b in parts:
        v = A @ y + b
        if name == "quadratic_cone":
            constraints.append(cp.norm(v[1:]) <= v[0])
        elif name == "primal_exp_cone":
            constraints.append(cp.constraints.ExpCone(v[2], v[1], v[0]))
        elif name == "primal_power_cone":
            constraints.append(cp.PowCone3D(v[0], v[1], v[2], alpha[0] / sum(alpha)))
        elif name == "rplus":
            constraints.append(v >= 0)
        else:
            constraints.append(cp.bmat([[v[0], v[1] / np.sqrt(2)], [v[1] / np.sqrt(2), v[2]]]) >> 0)
    again = cp.Problem(cp.Minimize(costs @ y + offset), constraints)
    again.solve(solver="CLARABEL")
    declared = problem.to_cvxpy()
    declared.solve(solver="CLARABEL")
    assert again.value == pytest.approx(declared.value, abs=1e-5)
    # And the binding cone is on its boundary, in MOSEK's own terms.
    outside = [distance_outside(name, alpha, A @ y.value + b) for name, alpha, A, b in parts]
    assert max(outside) < 1e-5
    assert max(o for o, part in zip(outside, parts, strict=True) if part[0] in expected) > -1e-4


def test_logarithms_and_quadratics_go_into_cbf(tmp_path):
    X, y = cl.datasets.load("iris")
    graph, links = cl.Graph.knn(X[::15], 5), cl.Links.sample(y[::15], n_links=4, random_state=0)
    minkl = cl.MinKL(graph.kernel() + np.eye(10), links, must_bound=0.5, cannot_bound=1.0)
    text = minkl.export(tmp_path / "minkl.cbf").read_text()
    assert "EXP 3" in text and "PSDCON" in text
    with pytest.raises(cl.SolverUnavailable, match=r"has .*only; write a \.cbf instead"):
        minkl.export(tmp_path / "minkl.dat-s")
    text = cl.SRCP(graph, links).export(tmp_path / "srcp.cbf", form="quadratic").read_text()
    assert "\nQ " in text and "PSDCON" not in text


def test_files_with_other_cones_are_written_and_not_read(tmp_path):
    path = Mixed("second-order").export(tmp_path / "p.cbf", form="declared")
    with pytest.raises(cl.InvalidFile, match="the cone Q is not supported here.*written, but not read"):
        cl.read_program(path)
    (tmp_path / "result").write_text("1 2 3\n")
    with pytest.raises(cl.InvalidFile, match="no results for these are read; export the problem as .dat-s"):
        cl.bring_back(path, tmp_path / "result")
