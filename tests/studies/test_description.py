"""Studies as files: what is right is read, what is wrong is named by line and key."""

from __future__ import annotations

import pytest

import cvxlink as cl
from cvxlink.studies.cells import cells_of
from cvxlink.studies.description import Configuration, InstanceChoice, Study

GOOD = """
title = "Two solvers"
accuracy = [1e-4, 1e-6]
time_limit = 5
repeats = 2

[[instances]]
library = "path_*"

[[instances]]
data = "iris"
formulation = "PCP"
links = [10, 20]
draws = 3

[[configurations]]
solver = "SCS"
options = { max_iters = 5000 }

[[configurations]]
route = "low-rank"
"""


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_a_file_says_the_same_as_an_object(tmp_path):
    study = Study.read(written(tmp_path, GOOD))
    assert study == Study(
        "Two solvers",
        (InstanceChoice(library="path_*"), InstanceChoice(data="iris", formulation="PCP", links=(10, 20), draws=3)),
        (Configuration(solver="SCS", options={"max_iters": 5000}), Configuration(route="low-rank")),
        accuracy=(1e-4, 1e-6),
        time_limit=5,
        repeats=2,
    )
    assert [one.name for one in study.configurations] == ["SCS, max_iters=5000", "route low-rank"]


def test_every_combination_is_one_cell_and_the_order_follows_from_the_seed(tmp_path):
    study = Study.read(written(tmp_path, GOOD))
    cells = cells_of(study)
    paths = sum(name.startswith("path_") for name in cl.instances.names())
    assert len(cells) == (paths + 2 * 3) * 2 * 2 * 2
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.key for cell in cells] == [cell.key for cell in cells_of(study)]
    other = Study.read(written(tmp_path, GOOD.replace("repeats = 2", "repeats = 2\nseed = 1")))
    assert [cell.identity for cell in cells_of(other)] != [cell.identity for cell in cells]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("accuracy = [1e-4, 1e-6]", "acuracy = 1", "line 3: acuracy is not known; did you mean 'accuracy'"),
        ("accuracy = [1e-4, 1e-6]", "accuracy = 2", "line 3: accuracy must be a number between 0 and 1"),
        ("time_limit = 5", "time_limit = -5", "line 4: time_limit must be seconds"),
        ("repeats = 2", "repeats = 0", "line 5: repeats must be a whole number, at least 1, not 0"),
        ("draws = 3", "draws = 'three'", r"line 14: instances\[1\].draws must be a whole number"),
        ("links = [10, 20]", "links = ['ten']", r"line 13: instances\[1\].links must be numbers of links"),
        ('formulation = "PCP"', "", r"line 11: instances\[1\].data needs a formulation"),
        ('solver = "SCS"', 'solvr = "SCS"', r"line 17: configurations\[0\].solvr is not known; did you mean 'solver'"),
        ('route = "low-rank"', 'method = "KP"', r"configurations\[1\].method belongs in a study of methods"),
        (
            'route = "low-rank"',
            'solver = "SCS"\nname = "SCS, max_iters=5000"',
            "line 20: configurations.1. is the second",
        ),
        ('title = "Two solvers"', "", "has no title"),
        ('title = "Two solvers"', "title = ", "is not valid TOML"),
        (
            'title = "Two solvers"',
            'title = "x"\nkind = "solver"',
            "kind must be one of .*did you mean 'solvers'",
        ),
    ],
)
def test_what_is_wrong_is_named_by_line_and_key(tmp_path, old, new, words):
    with pytest.raises(cl.InvalidInput, match=words):
        Study.read(written(tmp_path, GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('library = "path_*"', 'library = "pcp_irs"', "did you mean 'pcp_iris'"),
        ('library = "path_*"', 'library = "nothing*"', "no instance of the library fits"),
        ('data = "iris"', 'data = "irs"', "did you mean 'iris'"),
        ('formulation = "PCP"', 'formulation = "PPC"', "there is no method 'PPC'"),
        ('formulation = "PCP"', 'formulation = "no_such_module:Mine"', "there is no module no_such_module"),
        ('solver = "SCS"', 'solver = "CLARABELL"', "did you mean 'CLARABEL'"),
    ],
)
def test_names_that_do_not_exist_are_said_before_anything_runs(tmp_path, old, new, words):
    study = Study.read(written(tmp_path, GOOD.replace(old, new, 1)))
    with pytest.raises(cl.CvxlinkError, match=words):
        cells_of(study)


def test_changed_content_and_versions_are_another_cell(tmp_path, monkeypatch):
    (tmp_path / "own_study.py").write_text(
        "import cvxpy as cp\nfrom dataclasses import dataclass\nimport cvxlink as cl\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Mine(cl.PCP):\n    pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    text = GOOD.replace('"PCP"', '"own_study:Mine"').replace('library = "path_*"', 'library = "path_ends_apart"')
    study = Study.read(written(tmp_path, text))
    before = {str(cell): cell.key for cell in cells_of(study)}
    monkeypatch.setattr("cvxlink.studies.cells.inspect.getsource", lambda _: "something else")
    after = {str(cell): cell.key for cell in cells_of(study)}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.startswith("own_study:Mine")}
    monkeypatch.setattr("cvxlink.studies.cells.versions", lambda solver=None: {"cvxpy": "0"})
    assert not {cell.key for cell in cells_of(study)} & set(after.values())
