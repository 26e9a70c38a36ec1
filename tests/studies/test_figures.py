"""Figures of a study: which there are, and that each says what it shows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from PIL import Image

import cvxlink as cl
from cvxlink.studies.description import Study
from cvxlink.studies.figures import save_figures
from helpers.records import record, scored

SOLVERS = {
    "title": "Two $olvers",
    "accuracy": [1e-4, 1e-6],
    "instances": [{"library": "path_*"}],
    "configurations": [{"solver": "SCS"}, {"solver": "CLARABEL"}],
}
METHODS = {
    "title": "Three methods",
    "kind": "methods",
    "instances": [{"data": "iris", "links": [10, 20], "draws": 3}, {"data": "wine", "links": [10], "draws": 3}],
    "configurations": [{"method": "KP"}, {"method": "PCP"}, {"method": "NCuts"}],
}


def written_in(path):
    """The texts of a picture in SVG, where matplotlib notes them beside the shapes."""
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))


def test_figures_of_solvers_say_what_they_show(tmp_path):
    records = [
        record(name, which, seconds, accuracy=accuracy)
        for accuracy in (1e-4, 1e-6)
        for name, seconds in (("a", 1.0), ("b", 2.0))
        for which in ("SCS", "CLARABEL")
    ]
    records.append(record("a", "OTHER (x)", 0.1, outside=True))
    files = save_figures(Study.of(SOLVERS), records, tmp_path / "figures", format="svg")
    kinds = ("performance-profile", "data-profile", "time-against-gap")
    assert [path.name for path in files] == [f"{kind}-{at}.svg" for at in ("0.0001", "1e-06") for kind in kinds]
    for path in files:
        texts = written_in(path)
        assert "Two $olvers" in texts or r"Two \$olvers" in texts, texts
        assert any("accuracy" in text for text in texts)
        assert any(text.startswith("SCS") for text in texts) and not any("OTHER" in text for text in texts)


def test_figures_of_methods(tmp_path):
    study = Study.of(METHODS)
    rng = np.random.default_rng(0)
    cases = [("iris", 10), ("iris", 20), ("wine", 10)]
    records = [
        scored(f"{data}, {links} links, draw {draw + 1}", name, ari=float(rng.random()))
        for data, links in cases
        for draw in range(3)
        for name in ("KP", "PCP", "NCuts")
    ]
    files = save_figures(study, records, tmp_path, format="png")
    # Wine has one number of links, of which there is no curve.
    assert [path.name for path in files] == ["critical-differences.png", "scores-iris.png"]
    assert all(min(Image.open(path).size) > 700 for path in files)
    (first, _) = save_figures(study, records, tmp_path, format="pdf")
    assert first.read_bytes().startswith(b"%PDF")


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(cl.InvalidInput, match="there is no format 'gif'; there are pdf, png, svg"):
        save_figures(Study.of(SOLVERS), [], tmp_path, format="gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(cl.InvalidInput, match="cannot be made"):
        save_figures(Study.of(SOLVERS), [], tmp_path / "file" / "figures")
