"""The best clustering of data of one's own, from the command line: proven, stopped, resumed and refused."""

from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink.cli import app
from helpers.clusterings import keep, partitions, squared_distances_to_means
from helpers.processes import until, with_helpers

NAMES = [f"p{k}" for k in range(8)]
LINKS = cl.Links(8, must=[(0, 1)], cannot=[(0, 2), (4, 7)])
X = np.random.default_rng(2).standard_normal((8, 2)) + np.repeat([[0, 0], [2, 1]], 4, axis=0)


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Eight points with names, and links by name."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{name},{x!r},{y!r}" for name, (x, y) in zip(NAMES, X.tolist(), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["name,x,y", *rows]) + "\n")
    pairs = [(i, j, kind) for kind in ("must", "cannot") for i, j in getattr(LINKS, kind).tolist()]
    (tmp_path / "links.csv").write_text("".join(f"{NAMES[i]},{NAMES[j]},{kind}\n" for i, j, kind in pairs))
    return tmp_path


OPTIMAL = ("optimal", "data.csv", "--id-column", "name", "--links", "links.csv")


def test_it_is_what_enumeration_finds(folder):
    best = min(squared_distances_to_means(X, labels) for labels in partitions(8, 3) if keep(LINKS, labels))
    printed = run(*OPTIMAL, "--clusters", 3, "--no-standardize", "--json")
    told = json.loads(printed.stdout)
    assert told["status"] == "OPTIMAL" and told["gap"] <= 1e-4 and told["bound"] <= best * (1 + 1e-9)
    assert told["value"] == pytest.approx(best, rel=1e-4)
    assert squared_distances_to_means(X, np.array(told["labels"])) == pytest.approx(told["value"])
    assert told["points"] == NAMES and told["tree"][0]["parent"] is None and told["settings"]["n_clusters"] == 3


def test_sizes_files_and_a_picture(folder):
    arguments = ("--clusters", 2, "--no-standardize", "--size-min", 4, "--size-max", 4)
    said = run(*OPTIMAL, *arguments, "--out", "labels.csv", "--plot", "picture", "--file", "search.json").stdout
    kept = [one for one in partitions(8, 2) if keep(LINKS, one) and one.sum() == 4]
    best = min(squared_distances_to_means(X, labels) for labels in kept)
    assert f"value       {best:.6g}"[:17] in said and "proven" in said and "picture.png" in said
    rows = list(csv.DictReader(io.StringIO((folder / "labels.csv").read_text())))
    assert [row["point"] for row in rows] == NAMES
    labels = np.array([int(row["cluster"]) for row in rows])
    assert squared_distances_to_means(X, labels) == pytest.approx(best, rel=1e-4)
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "search.json").read_text())["labels"] is not None


def test_labels_are_links_and_name_the_clusters(folder):
    known = ["a", "b", "", "", "", "", "", "a"]
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "known.csv").write_text(
        "\n".join(f"{line},{k}" for line, k in zip(lines, ["known", *known], strict=True))
    )
    done = run("optimal", "known.csv", "--id-column", "name", "--label-column", "known", "--clusters", 2)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["label"] == rows[7]["label"] == "a" and rows[1]["label"] == "b"
    assert {row["label"] for row in rows} == {"a", "b"}


def test_the_cut_is_that_of_the_declared_problem(folder):
    told = json.loads(run(*OPTIMAL, "--clusters", 2, "--cut", "--neighbors", 4, "--no-standardize", "--json").stdout)
    problem = cl.LinkedCut(cl.Graph.knn(X, 4), LINKS, 2)
    values = [problem.certify(problem.point_of_clustering(one)).value for one in partitions(8, 2) if keep(LINKS, one)]
    assert told["value"] == pytest.approx(min(values), rel=1e-4) and told["bound"] <= min(values) + 1e-9


def test_links_that_no_clustering_keeps_are_named_as_in_the_file(folder):
    (folder / "links.csv").write_text("p3,p5,cannot\np5,p6,cannot\np3,p6,cannot\n")
    said = run(*OPTIMAL, "--clusters", 2, code=3).stderr
    assert "point p3, point p5 and point p6 are all kept apart" in said and said.count("\n") == 1
    # Two points each, and one of four of which each is apart from all others, is a contradiction of sizes.
    said = run(*OPTIMAL, "--clusters", 3, "--size-min", 3, code=1).stderr
    assert "--size-min" in said or "3 clusters of at least 3" in said
    (folder / "links.csv").write_text("p3,p5,cannot\np3,p5,must\n")
    assert "p3" in run(*OPTIMAL, "--clusters", 2, code=1).stderr


def test_what_makes_no_sense_is_refused(folder):
    assert "--cut" in run(*OPTIMAL, "--clusters", 2, "--cut", "--size-min", 2, code=1).stderr
    assert "--clusters" in run(*OPTIMAL, code=2).stderr
    assert "--file would overwrite data.csv" in run(*OPTIMAL, "--clusters", 2, "--file", "data.csv", code=1).stderr
    (folder / "search.json").write_text("{}")
    assert (
        "search.json is not the file of a search"
        in run(*OPTIMAL, "--clusters", 2, "--file", "search.json", code=1).stderr
    )
    assert (folder / "search.json").read_text() == "{}"


def hard(folder) -> list[str]:
    """Points without clusters, for which a proof takes minutes."""
    np.savetxt(folder / "hard.csv", np.random.default_rng(0).random((60, 4)), delimiter=",")
    return ["optimal", "hard.csv", "--clusters", "8", "--file", "search.json", "--out", "labels.csv"]


def test_a_time_limit_says_what_is_proven(folder):
    said = run(*hard(folder), "--time-limit", 0.5, code=4).stdout
    assert "not proven to be the best (the time is up)" in said and "goes on from search.json" in said
    assert len((folder / "labels.csv").read_text().splitlines()) == 61


@pytest.mark.slow
def test_ctrl_c_tells_what_is_known_and_saves_it(folder):
    # The first node alone takes far longer than it takes to save a first clustering.
    np.savetxt(folder / "large.csv", np.random.default_rng(0).random((400, 6)), delimiter=",")
    arguments = ["optimal", "large.csv", "--clusters", "10", "--file", "search.json", "--out", "labels.csv"]
    command = [sys.executable, "-c", "from cvxlink.cli import app; app()", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=with_helpers()
    ) as search:
        saved = folder / "search.json"

        def is_under_way() -> bool:
            return (saved.exists() and '"labels": [' in saved.read_text()) or search.poll() is not None

        assert until(is_under_way, 60)
        search.send_signal(signal.SIGINT)
        printed, errors = search.communicate(timeout=60)
    assert search.returncode == 130, errors
    assert "interrupted" in printed and "Traceback" not in errors
    assert len((folder / "labels.csv").read_text().splitlines()) == 401
    assert json.loads(saved.read_text())["labels"] is not None


@pytest.mark.slow
def test_ctrl_c_again_and_again_never_leaves_half_a_step(folder):
    """Signals in quick succession, at moments that differ from run to run: every file is whole, and goes on."""
    points = np.random.default_rng(1).random((24, 3))
    np.savetxt(folder / "points.csv", points, delimiter=",")
    arguments = ["optimal", "points.csv", "--clusters", "5", "--no-standardize", "--file", "search.json"]
    command = [sys.executable, "-c", "from cvxlink.cli import app; app()", *arguments]
    saved, problem = folder / "search.json", cl.KMeans(points, cl.Links(24), 5)
    for number in range(5):
        before = saved.read_text() if saved.exists() else ""
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=with_helpers()
        ) as search:
            # The file appears before the work; from then on the signals fall into nodes, steps and saves.
            assert until(lambda: search.poll() is not None or (saved.exists() and saved.stat().st_size > 0), 60)
            until(lambda: search.poll() is not None, 0.3 + 0.37 * number)
            for _ in range(20):
                if search.poll() is None:
                    search.send_signal(signal.SIGINT)
            _, errors = search.communicate(timeout=120)
        assert search.returncode in (0, 130), errors
        assert "Traceback" not in errors
        assert search.returncode == 0 or len(saved.read_text()) >= len(before) * 0.9
        # Reading it checks that every branch has both its links; a resumed search must not have lost a node.
        found = (
            cl.optimal_clustering(problem, time_limit=0.01, file=saved) if '"labels": [' in saved.read_text() else None
        )
        assert found is None or found.bound <= found.value
    resumed = cl.optimal_clustering(problem, file=saved)
    afresh = cl.optimal_clustering(problem)
    assert resumed.status is afresh.status is cl.Status.OPTIMAL
    assert resumed.value == pytest.approx(afresh.value, rel=2e-4)
    assert resumed.bound <= afresh.value * (1 + 1e-9) and afresh.bound <= resumed.value * (1 + 1e-9)
