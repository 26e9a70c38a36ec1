"""What the benchmark of exact clustering computes: on instances small enough for enumeration."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

import cvxlink as cl
import exact
from cells import exact as cells
from helpers.clusterings import drawn, keep, partitions, squared_distances_to_means


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one set of two instances on eight points."""
    X, links = drawn(0)
    pairs = {f"{kind}_{name}": getattr(links, kind) for name in ("a", "b") for kind in ("must", "cannot")}
    (tmp_path / "exact").mkdir()
    np.savez(tmp_path / "exact" / "small.npz", X=X, k=3, **pairs)
    monkeypatch.setenv("CVXLINK_DATA", str(tmp_path))
    return tmp_path, X, links


def test_an_instance_is_measured_by_the_definition(folder):
    _, X, links = folder
    problems = cells.instances(cells.folder() / "small.npz")
    assert list(problems) == ["a", "b"] and problems["a"].links == links
    best = min(squared_distances_to_means(X, labels) for labels in partitions(8, 3) if keep(links, labels))
    cell = cells.searched("small", "a", 60, 1)
    assert cell["status"] == "OPTIMAL" and cell["kept"] and cell["order"] == links.n_blocks
    assert cell["bound"] <= best * (1 + 1e-9) and cell["value"] == pytest.approx(best, rel=1e-4)
    assert cell["gap"] <= cells.GAP and cell["root_gap"] <= cell["relaxation_gap"] + 1e-9


def test_the_page_has_a_row_for_each_instance(folder, monkeypatch):
    home, _, _ = folder
    found = {("small", name): {"set": "small", "name": name, **cells.searched("small", name, 60, 1)} for name in "ab"}
    monkeypatch.setattr(exact.Finished, "in_studies", lambda *asked: exact.Finished(found))
    monkeypatch.setattr(sys, "argv", ["exact.py", "--save", str(home / "exact.md")])
    exact.main()
    page = (home / "exact.md").read_text(encoding="utf-8")
    assert page.count("OPTIMAL") == 2 and "| small | 8, 3 | 2 | 2 |" in page


def test_without_the_data_the_reason_is_said(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)
    with pytest.raises(cl.DataUnavailable, match="CVXLINK_DATA"):
        cells.searched("small", "a", 60, 1)


def test_solvers_find_the_bound_of_the_route():
    for problem in exact.root_problems(24).values():
        ours, clarabel, _ = exact.against_solvers(problem, 60, ("CLARABEL",))
        assert float(clarabel[3]) == pytest.approx(float(ours[3]), rel=1e-3)
        assert ours[5] == clarabel[5] == "OPTIMAL"
