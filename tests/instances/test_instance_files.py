"""Instances in files: names stay inside the folder, claims are bounded, and what is wrong is said with the file."""

from __future__ import annotations

import tracemalloc

import pytest
from typer.testing import CliRunner

import cvxlink as cl
from attack.files import MOONS, TRIANGLE
from cvxlink.cli import app


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "triangle.toml").write_text(TRIANGLE)
    (tmp_path / "outside.toml").write_text(TRIANGLE)
    return inside


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "triangle/", "a\0b"])
def test_names_do_not_lead_out_of_the_folder(folder, name):
    with pytest.raises(cl.InvalidInput, match="is not the name of an instance|there is no instance"):
        cl.instances.load(name, folder)
    if "\0" not in name:
        for command in ("show", "solve", "export"):
            shown = CliRunner().invoke(app, ["problems", command, name, "--folder", str(folder)])
            assert shown.exit_code == 1 and "instance" in shown.output


def test_absolute_paths_and_links_do_not_lead_out_either(folder, tmp_path):
    with pytest.raises(cl.InvalidInput, match="a name has no folders in it; choose a folder of your own"):
        cl.instances.load(str(tmp_path / "outside"), folder)
    (folder / "linked.toml").symlink_to(tmp_path / "outside.toml")
    with pytest.raises(cl.InvalidInput, match="'linked' is a link to a file outside .*; copy the file there"):
        cl.instances.load("linked", folder)
    (folder / "same.toml").symlink_to(folder / "triangle.toml")
    assert cl.instances.load("same", folder).problem.graph.n == 3


@pytest.mark.parametrize("name", ["x" * 300, "x" * 100_000, 3, None])
def test_names_that_no_file_can_have(folder, name):
    with pytest.raises(cl.InvalidInput, match="instance") as error:
        cl.instances.load(name, folder)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("size = 3", "size = 2000000000"),
        ("size = 3", f"size = {'9' * 400}"),
        ("size = 3", "size = 5001"),
        ("size = 3", "size = 1e12"),
        ('kind = "complete"\nsize = 3', 'kind = "grid"\nrows = 100000\ncolumns = 100000'),
        ('kind = "complete"\nsize = 3', 'kind = "path"\nsize = 100001'),
        ('kind = "complete"\nsize = 3', 'kind = "ring"\nsize = -100000000000'),
    ],
)
def test_claims_of_a_graph(folder, old, new):
    refused(folder, TRIANGLE, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n = 20", "n = 1000000000"),
        ("n = 20", f"n = {'9' * 400}"),
        ("n = 20", "n = 1e11"),
        ('set = "two_moons"\nn = 20', 'set = "blobs"\nn = 20\ndimension = 1000000000'),
        ('set = "two_moons"\nn = 20', 'set = "blobs"\nn = 20\nn_classes = 1000000000'),
        ('set = "two_moons"\nn = 20', 'set = "control"\nper_class = 1000000000'),
        ("n_neighbors = 4", "n_neighbors = 1000000000"),
        ("n_links = 5", "n_links = 1000000000"),
        ("n_links = 5", f"per_class = {'9' * 400}"),
    ],
)
def test_claims_of_data_and_links(folder, old, new):
    refused(folder, MOONS, old, new)


def refused(folder, text, old, new):
    assert old in text
    (folder / "bad.toml").write_text(text.replace(old, new))
    tracemalloc.start()
    try:
        with pytest.raises(cl.InvalidFile, match="bad.toml: .*(claims more than|must be)"):
            cl.instances.load("bad", folder).problem  # noqa: B018 — it is built here
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("value = 3.1715728752538097", f"value = {'9' * 400}", "reference.value"),
        ("value = 3.1715728752538097", f"value = {'9' * 5000}", "cannot be read"),
        ("value = 3.1715728752538097", "value = nan", "reference.value"),
        ("value = 3.1715728752538097", "value = true", "reference.value"),
        ("size = 3", f"size = {'[' * 3000}{']' * 3000}", "cannot be read: it has lists within lists"),
        ("size = 3", "size = 3\nsize = 4", "cannot be read: .*line 7"),
        ("[parameters]\nnormalized = false", "", "'parameters' is missing"),
        ('why = "Solvable by hand."', 'why = "x"\nparameters = 3', "cannot be read|parameters"),
        ("[graph]", "[[graph]]", "graph"),
        ('title = "Triangle, two corners apart"', "title = 1979-05-27", "title must be text"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_wrong_with_an_instance_is_said_with_its_file(folder, old, new, says):
    assert old in TRIANGLE
    (folder / "bad.toml").write_text(TRIANGLE.replace(old, new, 1))
    with pytest.raises(cl.InvalidFile, match=f"bad.toml.*{says}"):
        cl.instances.load("bad", folder).problem  # noqa: B018 — it is built here
