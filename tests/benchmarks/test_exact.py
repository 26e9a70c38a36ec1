"""What the benchmark of exact clustering computes: on instances small enough for enumeration."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import exact
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
    problems = exact.instances(exact.folder() / "small.npz")
    assert list(problems) == ["a", "b"] and problems["a"].links == links
    best = min(squared_distances_to_means(X, labels) for labels in partitions(8, 3) if keep(links, labels))
    cell = exact.measured(problems["a"], 60, 1)
    assert cell["status"] == "OPTIMAL" and cell["kept"] and cell["order"] == links.n_blocks
    assert cell["bound"] <= best * (1 + 1e-9) and cell["value"] == pytest.approx(best, rel=1e-4)
    assert cell["gap"] <= exact.GAP and cell["root_gap"] <= cell["relaxation_gap"] + 1e-9


def test_the_page_is_written_and_finished_instances_are_not_solved_again(folder, monkeypatch, capsys):
    home, _, _ = folder
    words = ["exact.py", "--jobs", "1", "--cells", str(home / "cells.jsonl"), "--save", str(home / "exact.md")]
    monkeypatch.setattr(sys, "argv", [*words, "--instances", "1"])
    exact.main()
    assert (home / "exact.md").read_text().count("OPTIMAL") == 1
    solved = []
    measured = exact.measured
    monkeypatch.setattr(exact, "measured", lambda *given: solved.append(given) or measured(*given))
    monkeypatch.setattr(sys, "argv", words)
    exact.main()
    assert len(solved) == 1 and (home / "exact.md").read_text().count("OPTIMAL") == 2
    monkeypatch.delenv("CVXLINK_DATA")
    exact.main()
    assert "are left out" in capsys.readouterr().out


def test_solvers_find_the_bound_of_the_route():
    for problem in exact.root_problems(24).values():
        ours, clarabel, _ = exact.against_solvers(problem, 60, ("CLARABEL",))
        assert float(clarabel[3]) == pytest.approx(float(ours[3]), rel=1e-3)
        assert ours[5] == clarabel[5] == "OPTIMAL"
