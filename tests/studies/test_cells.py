"""What makes two cells the same: content, configuration, accuracy and limits; not places, order or titles."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
import scs

import cvxlink as cl
from cvxlink.solvers.option_names import SCS_SETTINGS
from cvxlink.studies import cells as cells_module
from cvxlink.studies.cells import cells_of, require_usable
from cvxlink.studies.description import Study
from cvxlink.studies.parts import Configuration, InstanceChoice
from cvxlink.studies.recording import computed
from cvxlink.studies.refusals import refused_beforehand
from cvxlink.studies.running import run, standing

MINE = """
import cvxlink as cl
from dataclasses import dataclass
from helping import PRICE

@dataclass(frozen=True, eq=False)
class Mine(cl.PCP):
    pass

def measure(n, price=PRICE):
    return {"twice": 2 * n}
"""
TEXT = """
title = "All kinds of instances"
time_limit = 20
memory_limit = "4GB"

[[instances]]
library = "path_ends_apart"

[[instances]]
file = "programs/*.dat-s"

[[instances]]
data = "points.csv"
truth = "class"
formulation = "mine:Mine"
links = [2]

[[configurations]]
solver = "SCS"
options = { max_iters = 5000 }

[[configurations]]
name = "default"
"""


@pytest.fixture
def home(tmp_path):
    """A folder with a study, and all that it names."""
    folder = tmp_path / "here"
    (folder / "programs").mkdir(parents=True)
    (folder / "mine.py").write_text(MINE)
    (folder / "helping.py").write_text("PRICE = 1\n")
    (folder / "points.csv").write_text("a,b,class\n0,0,x\n0,1,x\n4,4,y\n4,5,y\n5,4,y\n")
    cl.instances.load("path_ends_apart").problem.export(folder / "programs" / "path.dat-s", store_problem=False)
    (folder / "study.toml").write_text(TEXT)
    return folder


def keys(folder, text=None):
    if text is not None:
        (folder / "study.toml").write_text(text)
    return {str(cell): cell.key for cell in cells_of(Study.read(folder / "study.toml"))}


def changed(before, after):
    return {name for name in before if before[name] != after.get(name)}


def test_moving_reordering_and_titles_change_no_key(home, tmp_path, monkeypatch):
    before = keys(home)
    assert len(before) == 6 and len(set(before.values())) == 6
    head, *tables = TEXT.split("\n[[")
    backwards = "\n[[".join([head, *tables[::-1]])
    assert backwards != TEXT and keys(home, backwards) == before
    more = f'{TEXT}[[configurations]]\nsolver = "CLARABEL"\n[[instances]]\nlibrary = "two_components"\n'
    assert not changed(before, keys(home, more))
    other = TEXT.replace("All kinds", "Some kinds").replace("20", "20.0").replace('"4GB"', "4e9")
    assert keys(home, other) == before
    shutil.move(home, tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    assert keys(tmp_path / "there", TEXT) == before
    monkeypatch.chdir(tmp_path / "there")
    assert {str(cell): cell.key for cell in cells_of(Study.read("study.toml"))} == before


@pytest.mark.parametrize(
    ("old", "new", "which"),
    [
        ("time_limit = 20", "time_limit = 30", ""),
        ('memory_limit = "4GB"', "", ""),
        ("time_limit = 20", "time_limit = 20\nthreads = 2", ""),
        ("max_iters = 5000", "max_iters = 5001", "SCS"),
        ('name = "default"', 'name = "default"\npresolve = false', "default"),
        ("links = [2]", "links = [2]\nscale = true\nname = 'mine:Mine on points.csv'", "mine:Mine"),
    ],
)
def test_what_is_asked_changes_the_keys_it_is_about(home, old, new, which):
    text = TEXT.replace("[[configurations]]\nsolver", "[[configurations]]\nname = 'SCS'\nsolver")
    before, after = keys(home, text), keys(home, text.replace(old, new))
    assert before.keys() == after.keys()
    assert changed(before, after) == {name for name in before if which in name} != set()


@pytest.mark.parametrize(
    ("file", "which"),
    [
        ("mine.py", "mine:Mine"),
        ("helping.py", "mine:Mine"),
        ("points.csv", "mine:Mine"),
        ("programs/path.dat-s", "programs"),
    ],
)
def test_changed_content_is_another_cell_and_is_said(home, tmp_path, file, which):
    study = Study.read(home / "study.toml")
    before = keys(home)
    (home / "results").mkdir()
    with (home / "results" / "results.jsonl").open("w") as lines:
        for cell in cells_of(study):
            lines.write(f'{{"key": "{cell.key}", "identity": "{cell.identity}", "instance": "{cell.instance.name}", ')
            lines.write(f'"configuration": "{cell.configuration.name}", "accuracy": {cell.accuracy}, "repeat": 0, ')
            lines.write('"scores": {}}\n')
    assert standing(study, home / "results").finished == 6
    with (home / file).open("a") as content:
        content.write("# a comment is a change, too\n" if file.endswith("py") else "\n" if "dat" in file else "6,4,x\n")
    expected = {name for name in before if name.startswith(which)}
    assert changed(before, keys(home)) == expected and len(expected) == 2
    now = standing(study, home / "results")
    assert (now.finished, now.other_content, now.other_versions) == (4, 2, 0)
    assert "2 are to be computed again because a file, a formulation or the limits have changed" in str(now)


def test_other_versions_are_other_keys_of_the_same_identity(home, monkeypatch):
    study = Study.read(home / "study.toml")
    before = {cell.key: cell.identity for cell in cells_of(study)}
    monkeypatch.setattr(cells_module, "versions_with", lambda solver: {"cvxpy": "0"})
    after = {cell.key: cell.identity for cell in cells_of(study)}
    assert list(after.values()) == list(before.values()) and not after.keys() & before.keys()


# ---------------------------------------------------------------------- said before anything runs


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('solver = "SCS"', 'solver = "SCCS"', "there is no solver 'SCCS'; did you mean 'SCS'"),
        ('name = "default"', 'route = "low-rnk"', "there is no route 'low-rnk'; did you mean 'low-rank'"),
        ('name = "default"', 'form = "duall"', "there is no form 'duall'; did you mean 'dual'"),
        ('"mine:Mine"', '"Pcp2"', "there is no method 'Pcp2'; did you mean 'PCP'"),
        ('"mine:Mine"', '"mien:Mine"', "there is no module mien, .*; did you mean 'mine'"),
        ('"mine:Mine"', '"mine.py:Mine"', "there is no module"),
        ('"mine:Mine"', '"SRCP"\noptions = { mv = 1 }', r"instances\[2\].options cannot .*: SRCP has no option 'mv'"),
        ("programs/*.dat-s", "programs/*.cbf", r"instances\[1\].file cannot be read: no file fits 'programs/\*.cbf'"),
        ("programs/*.dat-s", "programs/pat.dat-s", "there is no file .*; did you mean 'path.dat-s'"),
        ("programs/*.dat-s", "*.csv", r"the name of a program file must be \*.dat-s or \*.cbf"),
        ('"points.csv"', '"pints.csv"', r"instances\[2\].data cannot be read: there is no file 'pints.csv'"),
        ('"points.csv"\ntruth = "class"', '"points.csv"', r"instances\[2\].data is a table; say which column"),
        ('"points.csv"\ntruth = "class"', '"iriss"', "there is no data set 'iriss'; did you mean 'iris'"),
        ('"points.csv"\n', '"iris"\n', r"instances\[2\].truth names a column of a table"),
        ("links = [2]", "links = 2\nname = 'a'\n[[instances]]\ndata = 'iris'\nformulation = 'PCP'\nlinks = 2\nname='a'",
         r"instances\[3\] is another one called 'a, 2 links, draw 1'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_with_the_nearest_name(home, old, new, words):
    text = TEXT if "route" not in new and "form =" not in new else TEXT.replace('"mine:Mine"', '"PCP"')
    assert old in text
    (home / "study.toml").write_text(text.replace(old, new))
    with pytest.raises(cl.CvxlinkError, match=words) as raised:
        cells_of(Study.read(home / "study.toml"))
    assert raised.value.argument is not None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            "import no_such_package\n",
            "formulation = 'mine:Mine' cannot be used: the module mine cannot be imported: .*no_such_pack",
        ),
        ("class Mine: pass\n", "Mine in the module mine is not a subclass of cvxlink.Problem"),
        ("def Mine(\n", "the module mine cannot be imported: SyntaxError"),
        ("import os\nos.abort()\n", "formulation = 'mine:Mine' cannot be used: the process of mine:Mine was ended"),
        ("import sys\nsys.exit('no')\n", "the module mine cannot be imported: SystemExit: no"),
    ],
)
def test_what_cannot_be_imported_by_workers_is_said_before_anything_runs(home, content, words):
    (home / "mine.py").write_text(content)
    study = Study.read(home / "study.toml")
    calls = []
    with pytest.raises(cl.InvalidInput, match=words) as raised:
        run(study, home / "out", tell=lambda *told: calls.append(told))
    assert raised.value.argument == "formulation" and not calls and not (home / "out" / "results.jsonl").exists()


def test_an_error_in_code_of_ones_own_names_file_and_line(home):
    (home / "helping.py").write_text("import json\n\n\nPRICE = json.loads('{')\n")
    with pytest.raises(cl.InvalidInput, match=r"imported: JSONDecodeError: .* \(helping.py, line 4\)$"):
        require_usable(Study.read(home / "study.toml"))


@pytest.mark.parametrize(
    ("solver", "option", "words"),
    [
        ("SCS", "max_iter", r"configurations\[0\].options has 'max_iter', which is no option of SCS; .* 'max_iters'"),
        ("clarabel", "max_itr", r"has 'max_itr', which is no option of CLARABEL; did you mean 'max_iter'"),
    ],
)
def test_options_that_a_solver_does_not_have_are_said_before_anything_runs(tmp_path, solver, option, words):
    def study(name):
        return Study(
            "t", [InstanceChoice(library="path_ends_apart")], [Configuration(solver=solver, options={name: 9})]
        )

    with pytest.raises(cl.InvalidInput, match=words):
        run(study(option), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    for right in ("verbose", "use_quad_obj", "max_iters" if solver == "SCS" else "max_iter"):
        require_usable(study(right))


def test_settings_of_scs_are_those_that_it_takes():
    """Each that is left out here would cost one of its users a refusal, and each too many a failed study."""
    data = {"A": scipy.sparse.csc_matrix([[1.0]]), "b": np.ones(1), "c": np.ones(1)}
    values = {"normalize": True, "adaptive_scale": True, "eps_abs": 1e-3, "eps_rel": 1e-3, "alpha": 1.5}
    for name in set(SCS_SETTINGS) - {
        "gpu",
        "mkl",
        "use_indirect",
        "verbose",
        "log_csv_filename",
        "write_data_filename",
    }:
        scs.SCS(data, {"l": 1}, verbose=False, **{name: values.get(name, 1)})  # raises if there is no such setting


def test_functions_that_do_not_fit_are_said_before_anything_runs(home):
    def study(options, *configurations):
        return Study("t", [InstanceChoice(options=options)], configurations, "functions", folder=home)

    require_usable(study({"n": 1}, Configuration(run="mine:measure")))
    for wrong, words in [
        (study({"m": 1}, Configuration(run="mine:measure")), "mine:measure does not take the option 'm'; there are n"),
        (study({"n": 1}, Configuration(run="mine:mesure")), "mesure .* does not exist; did you mean 'measure'"),
        (study({"n": 1}, Configuration(run="mine:PRICE")), "PRICE in the module mine is not a function, but 1"),
    ]:
        with pytest.raises(cl.InvalidInput, match=words):
            require_usable(wrong)
    with pytest.raises(cl.InvalidInput, match=r"configurations\[0\].options has 'n', which an instance has too"):
        cells_of(study({"n": 1}, Configuration(run="mine:measure", options={"n": 2})))


def test_nothing_of_ones_own_is_imported_where_the_study_is_run(home):
    (home / "mine.py").write_text(
        MINE + "\nimport os\nif os.environ.get('HERE'):\n    raise SystemExit('imported here')\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HERE", "1")
        assert len(cells_of(Study.read(home / "study.toml"))) == 6


def test_solvers_that_nobody_can_use_here_are_refused_without_a_process(home, monkeypatch):
    study = replace(
        Study.read(home / "study.toml"),
        configurations=(Configuration(solver="gurobi"), Configuration(solver="SCS"), Configuration()),
    )
    reasons = refused_beforehand(study)
    assert list(reasons) == ["gurobi"] and "the solver GUROBI is not installed" in reasons["gurobi"]

    def no_process(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr("cvxlink.studies.recording._ended", no_process)
    record = computed(next(cell for cell in cells_of(study) if cell.configuration.name == "gurobi"))
    assert record["refused"] == "solver" and record["reason"] == reasons["gurobi"]


def test_a_missing_licence_is_found_once(monkeypatch):
    from cvxlink.studies import refusals

    tried, words = [], "SCS is installed but has no valid licence"
    monkeypatch.setattr(refusals, "licence_refusal", lambda name: tried.append(name) or words)
    refusals._refusal.cache_clear()
    try:
        found = [refusals.refusal("scs") for _ in range(3)]
    finally:
        refusals._refusal.cache_clear()
    assert tried == ["SCS"] and all(one == found[0] for one in found)
    assert found[0]["refused"] == "licence" and "SCS is installed but has no valid licence" in found[0]["reason"]


def test_a_machine_with_other_files_has_another_cell(home, tmp_path, monkeypatch):
    cells = {cell.instance.name.partition(",")[0]: cell for cell in cells_of(Study.read(home / "study.toml"))}
    assert all(cell.found_here() == cell and cell.found_here().identity == cell.identity for cell in cells.values())
    elsewhere = tmp_path / "elsewhere"  # without the folder of the study, the current one counts
    shutil.move(home, elsewhere)
    monkeypatch.chdir(elsewhere)
    assert all(cell.found_here().identity == cell.identity for cell in cells.values())
    (elsewhere / "helping.py").write_text("PRICE = 2\n")
    other = {name for name, cell in cells.items() if cell.found_here().identity != cell.identity}
    assert other == {"mine:Mine on points.csv"}
