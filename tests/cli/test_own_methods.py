"""Formulations of one's own from the command line, by module and class."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import cvxlink as cl
from cvxlink.cli import app

SOURCE = '''
from dataclasses import dataclass

import cvxpy as cp
import cvxlink as cl
from cvxlink import terms


@dataclass(frozen=True, eq=False)
class {name}(cl.Problem):
    """PCP with links that may be broken, at a price."""

    graph: cl.Graph
    links: cl.Links
    weight: float = 1.0

    def __post_init__(self):
        if self.weight == 13:
            raise ValueError("13 is bad luck")

    def variables(self):
        return {{"K": cp.Variable((self.graph.n, self.graph.n), symmetric=True)}}

    def objective(self, K):
        soft = terms.soft_must_links(K, self.links) + terms.soft_cannot_links(K, self.links)
        return cp.Minimize(terms.smoothness(K, self.graph.laplacian()) + self.weight * soft)

    def constraints(self, K):
        return {{"unit": terms.unit_diagonal(K), "psd": terms.semidefinite(K)}}


class Unfinished(cl.Problem):
    def variables(self):
        return {{}}


answer = 42
'''


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with points in two groups, links, and a module; what is imported from there is forgotten again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    X = np.random.default_rng(0).standard_normal((16, 2)) * 0.1 + np.repeat([[0, 0], [2, 2]], 8, axis=0)
    np.savetxt("points.csv", X, delimiter=",")
    cl.Links(16, must=[(0, 1), (8, 9)], cannot=[(0, 8), (2, 12)]).save("links.csv")
    (tmp_path / "softlinks.py").write_text(SOURCE.format(name="SoftLinks"))
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "inner.py").write_text(SOURCE.format(name="InnerSoftLinks"))
    (tmp_path / "broken.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "typo.py").write_text("def f(:\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)\n")
    yield tmp_path
    for name in ("softlinks", "package", "package.inner", "broken", "typo", "leaves"):
        sys.modules.pop(name, None)


def test_a_class_of_ones_own_clusters_and_takes_its_options(folder):
    data = ("points.csv", "--links", "links.csv", "--clusters", 2)
    labels = run("cluster", *data, "--method", "softlinks:SoftLinks").stdout.splitlines()[1:]
    clusters = [line.split(",")[1] for line in labels]
    assert len(set(clusters[:8])) == len(set(clusters[8:])) == 1 and clusters[0] != clusters[8]
    values = []
    for weight in (1, 5):
        how = ("--method", "package.inner:InnerSoftLinks", "--option", f"weight={weight}", "--json")
        values.append(json.loads(run("cluster", *data, *how).stdout)["certificate"]["value"])
    assert values[0] < values[1]  # broken links cost more
    text = run("explain", *data, "--method", "softlinks:SoftLinks", "--option", "weight=2").stdout
    assert "SoftLinks" in text and "+ 2 (Σ𝓜" in text


def test_a_time_limit_runs_it_in_a_process_that_finds_the_module(folder):
    data = ("points.csv", "--links", "links.csv", "--clusters", 2, "--time-limit", 120)
    run("cluster", *data, "--method", "softlinks:SoftLinks")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("softlinks:Soft", "Soft in the module softlinks does not exist; the module has SoftLinks, Unfinished"),
        ("softlinks:answer", "is not a subclass of cvxlink.Problem, but a int"),
        ("softlinks:dataclass", "is not a subclass of cvxlink.Problem"),
        ("softlinks:Unfinished", "is not complete; it has to define constraints, objective"),
        ("softlinks:", "does not name a module and a class; write --method module:Class"),
        (":SoftLinks", "does not name a module and a class"),
        ("softlinks:SoftLinks:again", "does not name a module and a class"),
        ("softlinks.py:SoftLinks", "'softlinks.py' is the name of a file, not of a module"),
        ("./softlinks:SoftLinks", "is the name of a file, not of a module"),
        ("nowhere:SoftLinks", "there is no module nowhere, neither in this folder nor installed"),
        ("package.nowhere:SoftLinks", "there is no module package.nowhere"),
        ("broken:SoftLinks", "the module broken cannot be imported: ModuleNotFoundError"),
        ("typo:SoftLinks", "the module typo cannot be imported: SyntaxError"),
        ("leaves:SoftLinks", "the module leaves cannot be imported: SystemExit: 3"),
    ],
)
def test_a_class_that_cannot_be_used_is_refused_in_one_sentence(folder, method, words):
    for command in ("cluster", "explain"):
        done = run(command, "points.csv", "--links", "links.csv", "--method", method, code=1)
        assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_its_own_errors_are_called_its_own(folder):
    how = ("points.csv", "--links", "links.csv", "--method", "softlinks:SoftLinks", "--option")
    for command in ("cluster", "explain"):
        assert "softlinks:SoftLinks raised ValueError: 13 is bad luck" in run(command, *how, "weight=13", code=1).stderr
        done = run(command, *how, "heavy=1", code=1)
        assert "SoftLinks has no option 'heavy'; it has weight" in done.stderr


@pytest.mark.skipif(shutil.which("csdp") is None, reason="csdp is not on the PATH; make solvers")
def test_a_result_of_ones_own_class_is_brought_back(folder):
    script = f"{SOURCE.format(name='ExportedLinks')}\nlinks = cl.Links(6, must=[(0, 1)], cannot=[(0, 3)])\n" + (
        "graph = cl.Graph.from_affinity([[float(i != j) / (1 + abs(i - j)) for i in range(6)] for j in range(6)])\n"
        "if __name__ == '__main__':\n    ExportedLinks(graph, links).export('p.dat-s')\n"
    )
    (folder / "exporting.py").write_text(script)
    for command in ([sys.executable, "exporting.py"], ["csdp", "p.dat-s", "result"]):
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    refused = run("bring-back", "p.dat-s", "result", code=1)
    assert "'ExportedLinks' of the module '__main__', which is not loaded" in refused.stderr
    brought = run("bring-back", "p.dat-s", "result", "--method", "exporting:ExportedLinks", "--clusters", 2)
    assert "OPTIMAL" in brought.stdout
    sys.modules.pop("exporting")
