"""The examples run, and say what they should."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import cvxlink as cl

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.filterwarnings("ignore:.*is non-interactive, and thus cannot be shown")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(ROOT / "examples").as_posix())
def test_examples_run(path, capsys, monkeypatch, tmp_path):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CVXLINK_QUICK", "1")  # where a script is slow, fewer points, solvers or repeats
    plt.switch_backend("agg")
    runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out
    assert not list(tmp_path.iterdir())  # pictures are shown, not left behind


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.relative_to(ROOT / "examples").as_posix())
def test_examples_are_pages_of_the_gallery(path):
    title, line = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "\n").splitlines()[:2]
    assert title and line == "=" * len(title)
    assert (path.parent / "GALLERY_HEADER.rst").exists()


def test_switching_the_reductions_off_costs_the_certificate(small_pcp):
    for solver in ("CLARABEL", "CVXOPT", "SDPA"):
        on = small_pcp.solve(solver=solver, form="dual")
        off = small_pcp.solve(solver=solver, form="paper", presolve=False, strict=False)
        assert on.status is cl.Status.OPTIMAL
        if off.certificate is not None:  # CVXOPT does not even come back with an answer
            assert off.certificate.relative_gap > 100 * on.certificate.relative_gap


def test_the_command_line(tmp_path):
    cvxlink = [sys.executable, "-c", "from cvxlink.cli import app; app()"]
    shown = subprocess.run([*cvxlink, "version"], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == cl.__version__
    wrong = subprocess.run([*cvxlink, "demo", "--time-limit", "-1"], capture_output=True, text=True)
    assert wrong.returncode == 2


def test_the_demo(tmp_path, monkeypatch):
    from rich.console import Console

    from cvxlink.cli import demo

    # Two solvers and a short limit: the whole of it is `make demo`.
    monkeypatch.setattr(demo, "installed_sdp_solvers", lambda: ["CLARABEL", "MOSEK", "SDPA"])
    monkeypatch.setenv("MOSEKLM_LICENSE_FILE", str(tmp_path / "none.lic"))
    console = Console(record=True, width=120)
    demo.run(tmp_path / "out", 1.0, console)
    text = console.export_text()
    assert len(re.findall(r"reduced .* 6\.1327\d\d .* 0\.901", text)) == 2
    assert text.count("stopped") == 2 and "no licence" in text
    assert re.search(r"KP .* interior-point .* s .* 0\.\d+ .* 0%", text)
    for method, route in (("CCSR", "interior-point"), ("SRCP", "eigen"), ("MinKL", "closed-form")):
        assert re.search(rf"{method} .* {route} .* s .* 0\.\d+ .* \d+%", text)
    picture = (tmp_path / "out" / "pcp-iris.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 20_000


def test_pictures_without_matplotlib_say_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(cl.MissingDependency, match=r"cvxlink\[plot\]"):
        cl.plotting.save_overview(tmp_path / "x.png", [[0.0, 1.0]], cl.Links(1), [[1.0]], [0])


def test_pictures_of_data_in_one_and_many_dimensions():
    X, y = cl.datasets.load("iris")
    assert cl.plotting.projected(X).shape == (150, 2)
    assert cl.plotting.projected(X[:, :1]).shape == (150, 2)
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    cl.plotting.plot_clusters(X, y, ax)
    assert len(ax.collections) == 3
    cl.plotting.plot_links(X, cl.Links(150, must=[(0, 1)], cannot=[(0, 99), (1, 98)]), ax)
    assert len(ax.lines) == 3
