"""The studies of the repository: each can be run, and what the cells of functions compute is right."""

from __future__ import annotations

import json
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

from cells import formulations, kp_tables, link_scores, scale, uci_curves
from cvxlink.studies.cells import cells_of, require_usable
from cvxlink.studies.description import Study

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "studies").glob("*.toml"))


@pytest.mark.parametrize("path", STUDIES, ids=[path.stem for path in STUDIES])
def test_every_study_has_cells_and_is_in_the_list(path):
    study = Study.read(path)
    assert cells_of(study)
    assert f"`{path.name}`" in (ROOT / "studies" / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", STUDIES, ids=[path.stem for path in STUDIES])
def test_what_a_study_calls_is_there_and_takes_its_options(path):
    require_usable(Study.read(path))


def test_links_at_no_points_leave_the_graph_alone():
    """Without links, all draws are spectral clustering of the same graph."""
    found = [link_scores.scored("iris", "mean", 25, trial, link_scores.BASELINE)["ari"] for trial in (0, 1)]
    X, y = link_scores.load("iris")
    expected = cl.clustering.spectral(cl.Graph.knn(X, sigma="mean", **link_scores.SETTINGS["graph"]).W, 3, 0)
    assert found[0] == found[1] == pytest.approx(cl.metrics.scores(y, expected)["ari"], abs=1e-4)


def test_shares_of_labels_are_counted_and_the_exact_cut_is_no_dearer():
    paper, exact = (
        uci_curves.scored("labels", "iris", "unit variance", 0.1, 0, f"CSC, {how}") for how in ("paper", "exact")
    )
    assert paper["count"] == exact["count"] == 10  # of the 100 flowers without setosa
    assert exact["value"] <= paper["value"] * (1 + 1e-6) and exact["bound"] <= exact["value"] + 1e-9


def test_kp_has_the_rank_of_its_links_and_pcp_the_better_value():
    kp, pcp = (kp_tables.scored("VII", 1, 0, 60.0, method) for method in ("KP", "PCP"))
    assert kp["gap"] < 1e-3 and pcp["gap"] < 1e-3 and 0 < kp["nmi"] <= 1
    assert kp["rank"] <= kp["machine_rank"] <= 2 * 6  # no more than the linked points


def test_a_solver_is_not_asked_for_more_points_than_can_be_written_down(monkeypatch):
    monkeypatch.delenv("CVXLINK_DATA", raising=False)
    with pytest.raises(cl.InvalidInput, match="9298 points"):
        scale.pcp(9298, 10.0, "SCS")
    found = scale.pcp(60, 10.0, scale.LOW_RANK)
    assert found["status"].startswith("OPTIMAL") and found["gap"] <= 1e-5
    assert found["value"] == pytest.approx(scale.pcp(60, 30.0, "CLARABEL")["value"], rel=1e-4)


def test_methods_find_the_blobs():
    assert scale.methods(200, "KP")["nmi"] > 0.9


@pytest.mark.slow
def test_plain_cvxpy_and_cvxlink_are_measured_on_the_same_program(monkeypatch):
    monkeypatch.setattr(formulations, "REPEATS", 1)
    found = formulations.measured(next(iter(formulations.CATALOGUE)), "small", 30.0)
    assert found["ratio"] == pytest.approx(found["ours_seconds"] / found["plain_seconds"])
    assert all(isinstance(value, int | float | str | bool | np.generic | None) for value in found.values())


PUBLISHED = sorted((ROOT / "docs" / "_static" / "studies").glob("*.html"))


@pytest.mark.parametrize("path", PUBLISHED, ids=[path.stem for path in PUBLISHED])
def test_a_published_page_is_of_the_study_that_is_here(path):
    study = Study.read(ROOT / "studies" / f"{path.stem}.toml")
    page = path.read_text(encoding="utf-8")
    assert len(page.encode()) < 500_000 and f"<title>{study.title}</title>" in unescape(page)
    assert f"{len(cells_of(study))} cells" in page
    names = {cell.instance.name for cell in cells_of(study)} if study.kind == "solvers" else set()
    assert all(json.dumps(name) in page for name in names | {one.name for one in study.configurations})
    for linked in ("studies.md", "results/index.md"):
        assert f"_static/studies/{path.name}" in (ROOT / "docs" / linked).read_text(encoding="utf-8")
