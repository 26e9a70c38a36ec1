"""The problem beside an exported program: stored whole, read back the same, and never run as code."""

from __future__ import annotations

import json
import pickle
import zipfile
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import cvxlink as cl
from attack.files import Planted
from cvxlink.cli import app
from cvxlink.data.link_weights import PairValues
from cvxlink.engine.stored_problem import class_called, restored, stored
from cvxlink.methods.table import method, own_methods
from helpers.formulations import SoftCorrelation

GRAPH = cl.Graph.from_affinity(0.2 + 0.6 * np.kron(np.eye(2), np.ones((3, 3))))
LINKS = cl.Links(6, must=[(0, 1), (3, 4)], cannot=[(0, 3), (2, 5)])


@dataclass(frozen=True, eq=False)
class Holding(cl.Problem):
    """min x² over x ≥ 1, with a field that can hold anything."""

    held: Any = None
    counted: int = field(init=False, default=3)

    def variables(self):
        return {"x": cp.Variable()}

    def objective(self, x):
        return cp.Minimize(cp.square(x))

    def constraints(self, x):
        return {"least": x >= 1}


def again(problem: cl.Problem) -> cl.Problem:
    """Return a problem after a journey through JSON."""
    content, arrays = stored(problem)
    return restored(json.loads(json.dumps(content, allow_nan=False)), arrays)


@pytest.fixture
def exported(tmp_path):
    """A program, its problem, and its header to be changed."""
    path = cl.KP(GRAPH, LINKS).export(tmp_path / "p.dat-s")
    return Exported(path)


class Exported:
    def __init__(self, path):
        self.path, self.lift = path, path.with_name(path.name + ".lift")

    def change(self, **entries):
        with zipfile.ZipFile(self.lift) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        header = json.loads(members["header.json"])
        members["header.json"] = json.dumps(header | entries).encode()
        self.write(members)

    def write(self, members):
        with zipfile.ZipFile(self.lift, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    def refused(self, says):
        with pytest.raises(cl.InvalidFile, match=rf"p\.dat-s\.lift.*{says}"):
            cl.bring_back(self.path, self.path.with_name("result"))


@pytest.mark.parametrize("formulation", own_methods(), ids=lambda one: one.__name__)
def test_every_method_comes_back_with_the_same_program(formulation):
    points = np.arange(12.0).reshape(6, 2) ** 2  # for methods that cluster points, not a graph
    graph = cl.Graph.knn(points, 3) if "X" in method(formulation).needs else GRAPH
    problem = method(formulation).make(graph, LINKS, [0, -1, -1, 1, -1, -1], 2)
    found = again(problem)
    assert type(found) is formulation and str(found) == str(problem)
    rng = np.random.default_rng(0)
    variables = problem.declaration.variables
    point = {name: rng.standard_normal(variable.shape) for name, variable in variables.items()}
    point = {name: (x + x.T) / 2 if variables[name].is_symmetric() and x.ndim == 2 else x for name, x in point.items()}

    def value(one):
        for name, variable in one.declaration.variables.items():
            variable.project_and_assign(point[name])
        return one.declaration.objective.value

    assert value(found) == value(problem)


@pytest.mark.parametrize(
    "held",
    [
        None,
        True,
        7,
        -(10**30),
        0.1 + 0.2,
        float("inf"),
        "text with \x1b and ü",
        (1, (2.5, None)),
        [1, "two"],
        {"a": (1, 2), 3: {"b": None}},
        np.float32(1.5),
        np.int8(3),
    ],
    ids=repr,
)
def test_plain_values_come_back_exactly(held):
    found = again(Holding(held)).held
    assert found == held and type(found) is type(held)


@pytest.mark.parametrize(
    "held",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.array(["a", "bcd"]),
        np.zeros((0, 3), dtype=np.int32),
        np.array([True, False]),
        np.array(2.5),
        np.arange(3, dtype=">f8"),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_exactly(held, tmp_path):
    path = Holding(held).export(tmp_path / "p.dat-s")
    with np.load(tmp_path / "p.dat-s.lift", allow_pickle=False) as arrays:  # numpy can read them too
        np.testing.assert_array_equal(arrays["0"], held)
    found = again(Holding(held)).held
    np.testing.assert_array_equal(found, held, strict=held.dtype.isnative)
    assert path.exists()


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
def test_sparse_matrices_come_back_exactly(kind):
    held = kind(np.array([[0, 1.5], [0, 0], [2.5, -1]]))
    found = again(Holding(held)).held
    assert type(found) is kind and found.shape == (3, 2)
    np.testing.assert_array_equal(found.toarray(), held.toarray())


def test_graphs_links_numbers_by_pair_and_problems_within_problems_come_back():
    X = np.random.default_rng(0).standard_normal((8, 2))
    graph, weights = cl.Graph.knn(X, 3), PairValues({(0, 1): 0.5, (2, 5): 2.0})
    found = again(Holding((graph, LINKS, weights, cl.NCuts(GRAPH, 2)))).held
    assert abs(found[0].W - graph.W).nnz == 0 and found[0].rule == graph.rule and found[0].recipe == graph.recipe
    np.testing.assert_array_equal(found[0].points, X)
    assert found[1] == LINKS
    assert found[2] == weights and type(found[2]) is PairValues
    assert type(found[3]) is cl.NCuts and found[3].n_clusters == 2


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (object(), r"Holding\.held is a object"),
        ({"inner": [1, {2}]}, r"Holding\.held\.inner\.1 is a set"),
        (np.array([object()]), r"Holding\.held is an array of object"),
        (np.array([1j]), r"Holding\.held is an array of complex"),
        (lambda: 1, r"Holding\.held is a function"),
    ],
    ids=["object", "set", "object array", "complex", "function"],
)
def test_what_cannot_be_stored_is_named_before_anything_is_written(tmp_path, held, says):
    with pytest.raises(cl.InvalidInput, match=says + r".*store_problem=False.*problem=") as refused:
        Holding(held).export(tmp_path / "p.dat-s")
    assert refused.value.argument == "problem" and list(tmp_path.iterdir()) == []


def test_a_problem_that_is_not_stored_can_be_given(tmp_path):
    problem = Holding(lambda: 1)
    path = problem.export(tmp_path / "p.dat-s", store_problem=False)
    (tmp_path / "result").write_text("")
    with pytest.raises(cl.InvalidFile, match=r"without its problem; give it: bring_back\(…, problem=…\)"):
        cl.bring_back(path, tmp_path / "result")
    with pytest.raises(cl.InvalidFile, match="result is empty"):  # so the problem is accepted
        cl.bring_back(path, tmp_path / "result", problem=problem)
    with pytest.raises(cl.InvalidFile, match="belongs to another problem"):
        cl.bring_back(path, tmp_path / "result", problem=cl.KP(GRAPH, LINKS))
    with pytest.raises(cl.InvalidInput, match="problem must be the problem that was exported") as refused:
        cl.bring_back(path, tmp_path / "result", problem="KP")
    assert refused.value.argument == "problem"


# ---------------------------------------------------------------------- what a file may not do


def test_only_formulations_that_are_ours_or_loaded_are_made():
    assert class_called("cvxlink.methods.kernels.kp:KP") is cl.KP
    assert class_called(f"{SoftCorrelation.__module__}:SoftCorrelation") is SoftCorrelation
    assert class_called(f"{__name__}:Holding") is Holding
    for name in (
        "os:system",
        "cvxlink.methods.kernels.kp:np",
        "cvxlink.methods.nowhere:KP",
        "cvxlink.cli.commands:app",
        "this:that",
        "",
        "cvxlink.engine.problem:Problem.solve",
    ):
        with pytest.raises((cl.InvalidFile, ImportError)):
            class_called(name)


def test_a_module_is_not_imported_because_a_file_names_it(exported, tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text(f"open({str(tmp_path / 'marker')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    exported.change(problem={"problem": "stranger:Formulation", "fields": {}})
    exported.refused(r"'Formulation' of the module 'stranger', which is not loaded; import that module first, or")
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_not_opened(exported, tmp_path, protocol):
    exported.lift.write_bytes(pickle.dumps(Planted(str(tmp_path / "marker")), protocol))
    exported.refused("older version of cvxlink.*export the problem again" if protocol >= 2 else "not a zip file")
    shown = CliRunner().invoke(app, ["bring-back", str(exported.path), str(tmp_path / "result")])
    assert shown.exit_code == 1 and "p.dat-s.lift" in shown.output
    assert not (tmp_path / "marker").exists()


# ---------------------------------------------------------------------- damaged files


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"version": 2}, "version 2 of its format, but 1 is read; export it again"),
        ({"version": None}, "version None"),
        ({"format": "something"}, "not the file that export"),
        ({"digest": 5}, "its digest is missing or of the wrong kind"),
        ({"digest": "0" * 64}, "another version of cvxlink or CVXPY; export it again"),
        ({"form": 3}, "its form is missing or of the wrong kind"),
        ({"form": "nonsense"}, "no such program.*nonsense"),
        ({"presolve": "yes"}, "its presolve is missing or of the wrong kind"),
        ({"problem": [1]}, "its problem is missing or of the wrong kind"),
        ({"problem": {"value": "Graph", "fields": {}}}, "cannot be made again"),
        ({"problem": {"unheard of": 1}}, "no value of the kind 'unheard of'"),
        ({"problem": {"problem": "cvxlink.methods.kernels.kp:KP", "fields": {"links": 3}}}, "cannot be made again"),
        ({"problem": {"tuple": []}}, "it stores no problem"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_header_that_is_not_as_it_should_be_is_one_sentence(exported, entries, says):
    exported.change(**entries)
    exported.refused(says)


def test_indices_outside_a_sparse_matrix_are_refused(exported):
    with zipfile.ZipFile(exported.lift) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with np.load(exported.lift) as arrays:
        indices = arrays["1"]
    for wrong in (10**6, -5):
        header = members["1.npy"][: -indices.nbytes]
        changed = indices.copy()
        changed[0] = wrong
        exported.write(members | {"1.npy": header + changed.tobytes()})
        exported.refused("not where they can be")


@pytest.mark.parametrize("change", [(-1, 0), (-1, -(2**31)), (2, 10**9), (0, 1), (1, -3)])
def test_starts_of_rows_that_lead_outside_are_refused(exported, change):
    """SciPy's own check leaves out a matrix whose last start is not positive; Python then crashes later."""
    with zipfile.ZipFile(exported.lift) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with np.load(exported.lift) as arrays:
        starts = arrays["2"].copy()
    place, wrong = change
    starts[2], starts[place] = 10**9 if wrong == 0 else starts[2], wrong
    exported.write(members | {"2.npy": members["2.npy"][: -starts.nbytes] + starts.tobytes()})
    exported.refused("not where they can be")


def test_every_cut_and_every_missing_member_is_refused(exported):
    whole = exported.lift.read_bytes()
    for kept in range(0, len(whole), 37):
        exported.lift.write_bytes(whole[:kept])
        exported.refused("")
    exported.lift.write_bytes(whole)
    with zipfile.ZipFile(exported.lift) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for name in members:
        exported.write({other: content for other, content in members.items() if other != name})
        exported.refused("")
