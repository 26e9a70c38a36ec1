"""Studies as files: what is right is read, what is wrong is named by line and key."""

from __future__ import annotations

import pickle

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
        ("repeats = 2", "repeats = 0", "line 5: repeats must be between 1 and 100000, not 0"),
        ("draws = 3", "draws = 'three'", r"line 14: instances\[1\].draws must be a whole number"),
        ("links = [10, 20]", "links = ['ten']", r"line 13: instances\[1\].links must be a whole number, not 'ten'"),
        ('formulation = "PCP"', "", r"line 11: instances\[1\].data needs a formulation"),
        ('solver = "SCS"', 'solvr = "SCS"', r"line 17: configurations\[0\].solvr is not known; did you mean 'solver'"),
        ('route = "low-rank"', 'method = "KP"', r"configurations\[1\].method belongs in a study of methods"),
        (
            'route = "low-rank"',
            'solver = "SCS"\nname = "SCS, max_iters=5000"',
            "line 20: configurations.1. is the second",
        ),
        ('title = "Two solvers"', "", "there is no title"),
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


def test_the_same_checks_in_python_name_the_field():
    instance, configuration = InstanceChoice(library="path_*"), Configuration(solver="SCS")
    assert Study("t", [instance], [configuration]).instances == (instance,)
    for make, words in [
        (lambda: Study("", [instance], [configuration]), "title must be a text"),
        (lambda: Study("t", [], [configuration]), "instances must hold one or more"),
        (lambda: Study("t", [instance], ["SCS"]), "configurations must hold Configuration objects, not 'SCS'"),
        (lambda: Study("t", [instance], [configuration], kind="solver"), "kind must be one of .*mean 'solvers'"),
        (lambda: Study("t", [instance], [configuration], accuracy=[1e-4, 2]), "accuracy must be a number between"),
        (lambda: Study("t", [instance], [configuration], accuracy=[]), "accuracy .* the list is empty"),
        (lambda: Study("t", [instance], [configuration], time_limit=None), "time_limit must be seconds"),
        (lambda: Study("t", [instance], [configuration], memory_limit="4 cows"), "memory_limit must be"),
        (lambda: Study("t", [instance], [configuration, configuration]), "configurations.1. is the second one"),
        (lambda: Study("t", [InstanceChoice(data="iris")], [configuration]), "instances.0..data needs a formulation"),
        (lambda: Study("t", [instance], [Configuration(run="m:f")]), "configurations.0..run belongs in a study of fun"),
        (lambda: InstanceChoice(library="a", data="iris"), "data does not go with library"),
        (lambda: InstanceChoice(file="a.cbf", links=[3]), "links goes with data"),
        (lambda: InstanceChoice(links=[3]), "links goes with data; name a data set"),
        (lambda: InstanceChoice(data="iris", wrong=0.2), "wrong is a share of links, and there are none"),
        (lambda: InstanceChoice(data="iris", links=[3], per_class=[1]), "per_class says the same as links"),
        (lambda: InstanceChoice(data="iris", labels=[0.5, -1]), "labels must be"),
        (
            lambda: InstanceChoice(data="iris", links=[3], graph={"neighbors": 3}),
            "graph has no 'neighbors'; did you me",
        ),
        (lambda: InstanceChoice(data="iris", links=[3], graph={"kind": "rbf", "connect": True}), "graph has no 'conn"),
        (lambda: InstanceChoice(data="iris", links=[3], graph={"sigma": "wide"}), "graph.sigma must be"),
        (lambda: InstanceChoice(options={"a": object()}), "options must hold numbers, texts"),
        (lambda: InstanceChoice(options={"a": 1}, over={"a": [1, 2]}), "over has 'a', which options have too"),
        (lambda: InstanceChoice(over={"a": 3}), "over must have a list of values"),
        (lambda: Configuration(solver="SCS", route="low-rank"), "route is an algorithm of its own"),
        (lambda: Configuration(estimator="peers.kmeans"), 'estimator must be "module:function"'),
        (lambda: Configuration(method="KP", run="m:f"), "run does not go with method"),
        (lambda: Configuration(estimator="m:f", form="dual"), "form does not go with estimator"),
    ]:
        with pytest.raises(cl.InvalidInput, match=words) as raised:
            make()
        assert raised.value.argument is not None


def test_errors_of_parts_can_be_sent_to_other_processes():
    with pytest.raises(cl.InvalidInput) as raised:
        Study("t", [InstanceChoice(data="iris")], [Configuration()])
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value) and again.argument == "instances"


def test_what_is_written_back_is_the_same_study(tmp_path):
    study = Study.read(written(tmp_path, GOOD))
    assert Study.read(written(tmp_path, study.to_toml())) == study
    odd = Study(
        'a "title" \\ with ü\n\x7f\t end',
        [InstanceChoice(name="é", options={"a b": [1, 2.5e-300, True, "x"], "t": {"u": {}}}, over={"c": [1e22, -0.0]})],
        [Configuration(run="m:f", options={"n": 10**30})],
        "functions",
        accuracy=0.1,
    )
    assert Study.read(written(tmp_path, odd.to_toml())) == odd


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('title = "a"\ntitle = "b"\n', r"not valid TOML: .*line 2"),
        ('title = "a"\r\nacuracy = 1\r\n', "line 2: acuracy is not known"),
        ('title = """\n[[instances]]\nlinks = 1\n"""\nkind = "x"\n[[instances]]\n[[configurations]]\n', "line 5: kind"),
        ('title = "a"\n"kind" = 3\n[[instances]]\n[[configurations]]\n', "line 2: kind must be one of"),
        ('title = "a"\ninstances = [{ data = "iris", lnks = 3 }]\n[[configurations]]\n', "line 2: .*lnks is not known"),
        ('title = "a"\ninstances = "all"\n[[configurations]]\n', "line 2: instances must be tables"),
        ('title = "a"\n[instances]\ndata = "iris"\n[[configurations]]\n', "line 2: instances must be tables"),
        (
            'title = "a"\n[[instances]]\ndata = "iris"\n[instances.graph]\nsize = 3\n[[configurations]]\n',
            r"line 4: instances\[0\].graph has no 'size'",
        ),
        (
            'title = "a"\n[[instances]]\ndata = "iris"\ngraph.size = 3\n[[configurations]]\n',
            r"line 4: instances\[0\].graph has no 'size'",
        ),
        (
            'title = "a"\n[[instances]]\ndata = "iris"\n[[instances]]\nwrong = "ü"\n[[configurations]]\n',
            r"line 5: instances\[1\].wrong must be a finite number, not 'ü'",
        ),
        (
            'title = "a"\n[[configurations]]\nsolver = "SCS"\n[[instances]]\nlibrary = "x"\ndata = "y"\n',
            r"line 6: instances\[0\].data does not go with library",
        ),
        ('title = "a"\n[[instances]]\nlibrary = 1979-05-27\n[[configurations]]\n', "line 3: .*library must be a text"),
        ("a = " + "[" * 5000, "not valid TOML"),
        ("a = " + "9" * 5000, "not valid TOML"),
        ("title = 'a'\nfolder = '/'\n", "line 2: folder is not known"),
        ("\ufeffkind = 'solvers'\n", "there is no title"),
        ("", "there is no title"),
    ],
)
def test_files_that_are_broken_on_purpose(tmp_path, text, words):
    path = tmp_path / "study.toml"
    path.write_bytes(text.encode())
    with pytest.raises(cl.CvxlinkError, match=words) as raised:
        Study.read(path)
    assert str(raised.value).isprintable() and len(str(raised.value)) < 500


def test_files_that_are_no_text_or_far_too_large_are_refused(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b'title = "\xff\xfe"')
    with pytest.raises(cl.CvxlinkError, match="UTF-8|utf-8"):
        Study.read(path)
    path.write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(cl.CvxlinkError, match="more than 1 MiB"):
        Study.read(path)
    with pytest.raises(cl.CvxlinkError, match="there is no"):
        Study.read(tmp_path / "none.toml")
    with pytest.raises(cl.CvxlinkError, match="path"):
        Study.read(None)
