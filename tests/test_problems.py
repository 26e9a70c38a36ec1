"""The library of instances: every solver must find the proven optimum."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import cvxlink as cl
from conftest import SOLVERS

FOLDER = Path(__file__).parents[1] / "problems"
FILES = sorted(FOLDER.glob("*.toml"))


def load(path: Path) -> tuple[cl.Problem, dict]:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    graph = cl.Graph.from_affinity(content["graph"]["affinity"])
    links = cl.Links(graph.n, **content["links"])
    return getattr(cl, content["formulation"])(graph, links, **content["parameters"]), content["reference"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_solver_finds_the_proven_optimum(path, solver):
    problem, reference = load(path)
    solution = problem.solve(solver=solver)
    assert solution.value == pytest.approx(reference["value"], abs=reference["tolerance"])
    assert solution.certificate.lower_bound <= reference["value"] + 1e-9
    assert solution.certificate.upper_bound >= reference["value"] - 1e-9


def test_the_library_is_there():
    assert len(FILES) >= 3
