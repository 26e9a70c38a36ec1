"""Hostile files at every door that reads files: no code runs, nothing hangs, and one sentence names the file."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import zipfile

import numpy as np
import pytest

import cvxlink as cl
from attack.files import DOORS, Planted, attack, valid
from cvxlink.data.files.contents import bytes_of

every_door = pytest.mark.parametrize("kind", DOORS)
ours = (cl.CvxlinkError, SystemExit)  # benchmarks end with a sentence


@pytest.fixture
def door(kind, tmp_path):
    """The files of a door in a folder."""
    return put(kind, tmp_path)


def put(kind, folder):
    for name, content in valid()[kind].items():
        (folder / name).write_bytes(content)
    return DOORS[kind], folder / DOORS[kind].names[0]


RESULTS = "results of a study"


@every_door
def test_the_door_is_open_to_good_files(door):
    door, path = door
    assert path.exists()
    door.open(path.parent)


# ---------------------------------------------------------------------- code


def planted(kind, marker):
    """Files that would make another one if their content were run."""
    bomb = Planted(str(marker))
    yield from (pickle.dumps(bomb, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))
    array = io.BytesIO()
    np.save(array, np.array([bomb, bomb], dtype=object), allow_pickle=True)
    yield array.getvalue()
    whole = valid()[kind][DOORS[kind].names[0]]
    if zipfile.is_zipfile(io.BytesIO(whole)):
        for name in zipfile.ZipFile(io.BytesIO(whole)).namelist():
            yield with_member(whole, name, array.getvalue())
            yield with_member(whole, name, pickle.dumps(bomb))
    run = f"open({str(marker)!r}, 'w')"
    for text in (
        run,
        f"__import__('os').system('touch {marker}')",
        f"!!python/object/apply:os.system ['touch {marker}']",
        f"=cmd|' /C touch {marker}'!A0",
        f"$(touch {marker})",
        f"`touch {marker}`",
    ):
        yield text.encode()
        yield whole + b"\n" + text.encode() + b"\n"


def with_member(whole, name, content):
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(packed, "w") as new:
        for other in old.namelist():
            new.writestr(other, content if other == name else old.read(other))
    return packed.getvalue()


@every_door
def test_nothing_in_a_file_is_run(door, kind, tmp_path):
    door, path = door
    marker, opened = tmp_path / "marker", 0
    for content in planted(kind, marker):
        put(kind, tmp_path)
        path.write_bytes(content)
        try:
            found = door.open(tmp_path)
            opened += kind != RESULTS or len(found) > 0  # damaged results are set aside
        except ours as error:
            assert path.stem in str(error)
        assert not marker.exists()
    assert opened < 8, "most of these are no files of this kind"


# ---------------------------------------------------------------------- what is not a file


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    path.symlink_to("/dev/zero")


def make_circle(path):
    path.symlink_to(path.name)


def make_folder(path):
    path.mkdir()


@every_door
@pytest.mark.parametrize("make", [make_pipe, make_device, make_circle, make_folder], ids=lambda make: make.__name__)
def test_what_is_not_a_regular_file_is_refused_and_not_waited_for(door, kind, make):
    door, path = door
    path.unlink()
    make(path)
    try:
        with pytest.raises(ours) as refused:
            door.open(path.parent)
    finally:
        shutil.rmtree(path) if make is make_folder else path.unlink()
    if kind == "npz":  # a data set that is not there may be elsewhere
        assert "protein" in str(refused.value)
    else:
        assert path.stem in str(refused.value)


@every_door
def test_a_file_that_is_not_there_or_empty_is_named(door, kind):
    door, path = door
    for content in (b"", b"\n", b" \n\n"):
        path.write_bytes(content)
        if kind in ("links in csv", "links by name", "pairs", RESULTS):  # no links, and no results yet
            door.open(path.parent)
            continue
        with pytest.raises(ours, match=path.stem):
            door.open(path.parent)
    path.unlink()
    if kind != RESULTS:
        with pytest.raises(ours, match=path.stem):
            door.open(path.parent)


@every_door
def test_other_encodings_are_refused_and_marks_of_byte_order_are_not(door, kind):
    door, path = door
    whole = path.read_bytes()
    if kind in ("lift", "npz"):
        return
    if kind == RESULTS:  # damaged ones are set aside, and counted
        for content in (*map(whole.decode().encode, ("utf-16", "utf-32")), whole[:-2] + b"\0" + whole[-2:]):
            there = len(door.open(path.parent))
            path.write_bytes(content)
            assert len(door.open(path.parent)) < there
            path.write_bytes(whole)
        return
    for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        path.write_bytes(whole.decode().encode(coding))
        with pytest.raises(ours, match=path.stem):
            door.open(path.parent)
    path.write_bytes(whole[:-2] + b"\0" + whole[-2:])
    with pytest.raises(ours, match=path.stem):
        door.open(path.parent)
    if kind != RESULTS:
        path.write_bytes(b"\xef\xbb\xbf" + whole.replace(b"\n", b"\r\n"))
        door.open(path.parent)


# ---------------------------------------------------------------------- sizes


def test_a_file_beyond_the_limit_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(cl.InvalidFile, match="large has more than 1024 MiB, which is the most that is read"):
        bytes_of(path)
    (tmp_path / "small").write_bytes(b"12345")
    assert bytes_of(tmp_path / "small", most=5) == b"12345"
    with pytest.raises(cl.InvalidFile, match="more than 4 bytes"):
        bytes_of(tmp_path / "small", most=4)


def test_a_pipe_that_the_shell_opened_is_read():
    reading, writing = os.pipe()
    try:
        os.write(writing, b"0,1\n2,3\n")
        os.close(writing)
        assert bytes_of(f"/dev/fd/{reading}") == b"0,1\n2,3\n"
    finally:
        os.close(reading)


# ---------------------------------------------------------------------- damage at random


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_files_that_are_damaged_at_random(part, tmp_path):
    for seed in range(50 * part, 50 * (part + 1)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert attack(np.random.default_rng(seed), folder) == []
