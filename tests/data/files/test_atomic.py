"""What is written appears whole or not at all, wherever it is written: on a full disk the old file stays."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import cvxlink as cl
from cvxlink.data.files.atomic import put_in_place, write_whole

# Every writer of the package, and the files it writes.
WRITERS = {
    "links.json": "links.save(folder / 'links.json')",
    "links.csv": "links.save(folder / 'links.csv')",
    "p.dat-s": "problem.export(folder / 'p.dat-s')",
    "p.cbf": "problem.export(folder / 'p.cbf')",
    "picture.png": "cl.plotting.save_overview(folder / 'picture.png', X, links, solution, y)",
    "labels.csv": "command('cluster', folder / 'data.csv', '--clusters', 2, '--out', folder / 'labels.csv')",
    "drawn.png": "command('cluster', folder / 'data.csv', '--clusters', 2, '--plot', folder / 'drawn.png')",
    "report.md": "write_report(folder / 'report.md', '# title ' + 'x' * 500)",
    "figure.png": "save_figure(figure, folder / 'figure.png', 50)",
}
SCRIPT = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from matplotlib.figure import Figure
from typer.testing import CliRunner
import cvxlink as cl
from cvxlink.cli import app
sys.path.insert(0, sys.argv[2])
from pages import save_figure, write_report

folder = Path(sys.argv[1])
X, y = cl.datasets.load("two_moons", n=12, random_state=0)
links = cl.Links.from_labels(y)
problem = cl.KP(cl.Graph.knn(X, 4), cl.Links.sample(y, n_links=5, random_state=0))
solution, figure = problem.solve(), Figure()

def command(*words):
    ran = CliRunner().invoke(app, list(map(str, words)))
    if isinstance(ran.exception, SystemExit) and ran.exit_code == 1:
        raise cl.InvalidInput(ran.output)
    if ran.exception is not None:
        raise ran.exception

WRITERS = {writers!r}
def write(name):
    try:
        eval(WRITERS[name])
        print(name, "written")
    except cl.CvxlinkError as error:
        print(name, "cannot be written" in str(error) and name in str(error).replace("\\n", ""))

for name in WRITERS:  # what is imported or cached on the way must not count
    write(name)
for name in WRITERS:
    for path in (folder / name, folder / (name + ".lift")):
        path.write_text("old")
before = sorted(folder.iterdir())
resource.setrlimit(resource.RLIMIT_FSIZE, (60, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
print("full")
for name in WRITERS:
    write(name)
    kept = all(path.read_text() == "old" for path in (folder / name, folder / (name + ".lift")))
    print(name, "kept" if kept else "LOST")
print("left:", [path.name for path in folder.iterdir() if path not in before])
"""


@pytest.mark.slow
def test_on_a_full_disk_every_old_file_stays_whole(tmp_path):
    rows = "\n".join(f"{k},{k % 2 * 10}" for k in range(12))
    (tmp_path / "data.csv").write_text(f"x,y\n{rows}\n")
    script = SCRIPT.replace("{writers!r}", repr(WRITERS))
    command = [sys.executable, "-c", script, str(tmp_path), str(Path(__file__).parents[3] / "benchmarks")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    good, _, full = ran.stdout.partition("full\n")
    assert good.splitlines() == [f"{name} written" for name in WRITERS]
    said = full.splitlines()
    assert said[-1] == "left: []"
    for name in WRITERS:
        assert f"{name} kept" in said, full
        assert f"{name} True" in said, full


def test_the_disk_may_be_full_only_at_the_end(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(cl.InvalidInput, match=r"x\.csv cannot be written: No space left on device; choose another"):
        write_whole(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_full_device_is_one_sentence():
    with pytest.raises(cl.InvalidInput, match="/dev/full cannot be written: No space left on device"):
        write_whole(Path("/dev/full"), "x" * 10**6)


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), put_in_place(path) as new:
        new.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_the_mode_and_the_owner_of_a_file_stay(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12, 34)
    before = path.stat()
    write_whole(path, "new")
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (0o640, before.st_uid, before.st_gid)


def test_a_new_file_has_the_mode_that_the_user_asked_for(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "x.csv", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x.csv").stat().st_mode) == 0o640


def test_links_are_followed_also_where_nothing_is_yet(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "folder" / "there")
    write_whole(tmp_path / "here", "new")
    assert (tmp_path / "here").is_symlink() and (tmp_path / "folder" / "there").read_text() == "new"
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["there"]


def circle(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    return tmp_path / "circle"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (circle, "links lead in a circle"),
        (lambda tmp_path: tmp_path / ("x" * 300), "cannot be written: File name too long"),
        (lambda tmp_path: tmp_path / "a\0b", "not the name of a file"),
        (lambda tmp_path: tmp_path, "it is a folder; name a file in it"),
        (lambda tmp_path: Path("/"), "it is a folder; name a file in it"),
        (lambda tmp_path: tmp_path / "none" / "x", "there is no folder .*; make it first"),
        (lambda tmp_path: Path("/proc/x"), "cannot be written"),
    ],
    ids=["circle", "long", "zero byte", "folder", "root", "no folder", "not a place for files"],
)
def test_where_nothing_can_be_written_is_one_sentence(tmp_path, name, says):
    path = name(tmp_path)
    with pytest.raises(cl.InvalidInput, match=says):
        write_whole(path, "new")


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("x" * 251 + ".csv")
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_a_read_only_folder_is_one_sentence(tmp_path):
    """Root may write anywhere, so this runs as nobody where it can."""
    (tmp_path / "x.csv").write_text("old")
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    tmp_path.chmod(0o555)
    script = f"""
import os, sys
from pathlib import Path
import cvxlink as cl
from cvxlink.data.files.atomic import write_whole
if os.geteuid() == 0:
    os.setuid(65534)
try:
    write_whole(Path({str(tmp_path / "x.csv")!r}), "new")
except cl.InvalidInput as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    tmp_path.chmod(0o755)
    assert "x.csv cannot be written: " in ran.stdout, ran.stderr
    assert (tmp_path / "x.csv").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
