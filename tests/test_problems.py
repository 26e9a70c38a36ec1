"""The library of instances: every solver must find the proven optimum."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import cvxlink as cl
from conftest import SOLVERS
from test_contract import NO_LOGARITHMS

FOLDER = Path(__file__).parents[1] / "problems"
FILES = sorted(FOLDER.glob("*.toml"))


def load(path: Path) -> tuple[cl.Problem, dict]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    if "kernel" in content:
        ground = content["kernel"]["entries"]
    else:
        ground = cl.Graph.from_affinity(content["graph"]["affinity"])
    known = []  # links or labels, or nothing
    if "links" in content:
        known = [cl.Links(ground.n if isinstance(ground, cl.Graph) else len(ground), **content["links"])]
    elif "labels" in content:
        known = [content["labels"]["given"]]
    return getattr(cl, content["formulation"])(ground, *known, **content["parameters"]), content["reference"]


@pytest.mark.parametrize("solver", [*SOLVERS, None])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_solver_finds_the_proven_optimum(path, solver):
    problem, reference = load(path)
    if isinstance(problem, cl.MinKL) and solver in NO_LOGARITHMS:
        with pytest.raises(cl.SolverUnavailable, match="cannot take this program"):
            problem.solve(solver=solver)
        return
    solution = problem.solve(solver=solver)
    certificate = solution.certificate
    assert solution.value == pytest.approx(reference["value"], abs=reference["tolerance"])
    assert certificate.lower_bound <= reference["value"] + 1e-9
    # Without constraints the value is an upper bound itself.
    upper = certificate.value if certificate.upper_bound is None else certificate.upper_bound
    assert upper >= reference["value"] - 1e-9


def test_the_library_is_there():
    assert len(FILES) >= 3
