"""What result files say about a run is believed only as far as it goes: real runs of CSDP, SDPA and DSDP."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import cvxlink as cl

RUN = {
    "csdp": lambda name: ["csdp", name, "result"],
    "dsdp5": lambda name: ["dsdp5", name, "-save", "result"],
    "sdpa": lambda name: ["sdpa", "-ds", name, "-o", "result", "-pt", "2"],
}
SDPA_OPTIONS = (
    "{}\tmaxIteration;\n1e-7\tepsilonStar;\n1e2\tl;\n2\to;\n-1e5\tl;\n1e5\tu;\n.1\tb;\n.2\tb;\n.9\tg;\n1e-7\te;\n"
)


@dataclass(frozen=True, eq=False)
class Correlated(cl.Problem):
    """Two lengths of at most 1 and a product of at least ``product``, which exists up to 1."""

    product: float
    reward: float = 0.0

    def variables(self):
        return {"K": cp.Variable((3, 3), symmetric=True)}

    def objective(self, K):
        return cp.Minimize(cp.trace(K) - self.reward * K[2, 2])

    def constraints(self, K):
        return {"lengths": cp.diag(K)[:2] <= 1, "product": K[0, 1] >= self.product, "psd": K >> 0}


class Apart(Correlated):
    """Three vectors of length 1 with products of at most −product, which exist up to 1/2."""

    def constraints(self, K):
        products = [K[0, 1] <= -self.product, K[0, 2] <= -self.product, K[1, 2] <= -self.product]
        return {"lengths": cp.diag(K) <= 1, "product": products, "psd": K >> 0}


@pytest.fixture(scope="module")
def kernel():
    X, y = cl.datasets.load("iris")
    return cl.KP(cl.Graph.knn(X[::10]), cl.Links.sample(y[::10], per_class=2, random_state=0))


def run(command, folder):
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not on the PATH; make solvers")
    subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)


@pytest.mark.parametrize("program", RUN)
@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (Correlated(0.5), cl.Status.OPTIMAL),
        (Apart(0.6), cl.Status.INFEASIBLE),
        (Correlated(0.5, reward=2.0), cl.Status.UNBOUNDED),
    ],
    ids=["optimal", "infeasible", "unbounded"],
)
def test_a_run_without_an_answer_is_brought_back_as_that(tmp_path, program, problem, status):
    path = problem.export(tmp_path / "p.dat-s", form="declared")
    run(RUN[program](path.name), tmp_path)
    solution = cl.bring_back(path, tmp_path / "result", accuracy=1e-2, strict=False)
    assert solution.status is status, solution.reason
    assert bool(solution.values) == (status is cl.Status.OPTIMAL)
    if status is cl.Status.OPTIMAL:
        assert solution.value == pytest.approx(2 * problem.product, abs=1e-2)
    else:
        with pytest.raises(cl.SolveFailed, match="proven"):
            cl.bring_back(path, tmp_path / "result")


def test_a_run_of_sdpa_that_was_stopped_is_a_limit(tmp_path, kernel):
    path = kernel.export(tmp_path / "p.dat-s")
    (tmp_path / "options").write_text(SDPA_OPTIONS.format(5))
    run(["sdpa", "-ds", path.name, "-o", "result", "-p", "options"], tmp_path)
    solution = cl.bring_back(path, tmp_path / "result", strict=False)
    assert solution.status is cl.Status.LIMIT
    assert "'pdFEAS' after 5 iterations" in solution.reason and solution.iterations == 5
    assert solution.certificate.lower_bound <= kernel.solve().value


@pytest.mark.parametrize("most", [2, 4, 6, 8])
def test_a_run_of_csdp_that_was_stopped_is_never_optimal(tmp_path, kernel, most):
    path = kernel.export(tmp_path / "p.dat-s")
    (tmp_path / "param.csdp").write_text(f"maxiter={most}\n")
    run(["csdp", path.name, "result"], tmp_path)
    try:
        solution = cl.bring_back(path, tmp_path / "result", accuracy=1e-6, strict=False)
    except cl.InvalidFile as error:
        assert "a run that did not finish" in str(error)
        return
    assert solution.status in (cl.Status.INACCURATE, cl.Status.ERROR)
    assert "does not say how the run ended" in solution.reason


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        ("noINFO", cl.Status.ERROR),  # nothing is known
        ("pINF_dFEAS", cl.Status.UNPROVEN),  # of the dual, so one of two things, and neither is true
        ("pFEAS_dINF", cl.Status.ERROR),  # refuted: KP has a feasible point
        ("pFEAS", cl.Status.OPTIMAL),  # the certificate proves what the solver does not claim
        ("unheard of", cl.Status.ERROR),
    ],
)
def test_a_phase_is_a_claim_that_the_certificate_judges(tmp_path, kernel, phase, status):
    path = kernel.export(tmp_path / "p.dat-s")
    run(RUN["sdpa"](path.name), tmp_path)
    text = (tmp_path / "result").read_text()
    stated = next(line for line in text.splitlines() if line.startswith("phase.value"))
    (tmp_path / "changed").write_text(text.replace(stated, f"phase.value  = {phase}"))
    solution = cl.bring_back(path, tmp_path / "changed", accuracy=1e-2, strict=False)
    assert solution.status is status, solution.reason
    assert phase.split()[0] in solution.reason
    (tmp_path / "changed").write_text(text.replace(stated, ""))
    with pytest.raises(cl.InvalidFile, match="not a complete SDPA result"):
        cl.bring_back(path, tmp_path / "changed")


def test_numbers_of_another_program_are_neither_an_answer_nor_a_proof(tmp_path):
    path = Correlated(0.5).export(tmp_path / "p.dat-s", form="declared")
    run(RUN["csdp"](path.name), tmp_path)
    lines = (tmp_path / "result").read_text().splitlines(keepends=True)
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal(len(lines[0].split()))
        (tmp_path / "changed").write_text(" ".join(map(str, 100 * x)) + "\n" + "".join(lines[1:]))
        with pytest.raises(cl.InvalidFile, match="does not fit the program"):
            cl.bring_back(path, tmp_path / "changed")
