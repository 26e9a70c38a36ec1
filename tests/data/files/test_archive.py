"""Archives of arrays: what is written is read, and what is claimed is compared with what is there."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.data.files.archive import read_archive, write_archive


def npy(array, **changes):
    """Return an array as numpy writes it, with changes in the text of the header."""
    packed = io.BytesIO()
    np.lib.format.write_array(packed, array, allow_pickle=True)
    content = packed.getvalue()
    for old, new in changes.items():
        grown = len(new) - len(old)
        content = content.replace(old.encode(), new.encode(), 1)
        content = content.replace(b" " * grown + b"\n", b"\n", 1) if grown > 0 else content
    return content


def put(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_what_is_written_is_read(tmp_path):
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "b": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "c": np.array(["x", "yz"]),
        "d": np.zeros((0, 4)),
        "e": np.array(3, dtype=np.int8),
        "f": np.array([1.5, 2.5], dtype=">f8"),
    }
    header = {"text": "ü\x1b", "list": [1, None]}
    write_archive(tmp_path / "x", arrays, header, "header")
    found, texts = read_archive(tmp_path / "x")
    assert texts == {"header": header} and set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype.isnative and found[name].flags.writeable
    before = (tmp_path / "x").read_bytes()
    write_archive(tmp_path / "x", arrays, header, "header")
    assert (tmp_path / "x").read_bytes() == before, "equal content makes equal files"


def test_numpys_own_archives_are_read(tmp_path):
    X = np.random.default_rng(0).standard_normal((5, 2))
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", X=X)
        np.testing.assert_array_equal(read_archive(tmp_path / "x.npz")[0]["X"], X)


SMALL = np.zeros(3)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([("a.npy", npy(SMALL, **{"(3,)": "(99999999999,)"}))], "claims the shape"),
        ([("a.npy", npy(SMALL, **{"(3,)": "(-3,)"}))], "claims the shape"),
        ([("a.npy", npy(SMALL, **{"(3,)": "(2,)"}))], "claims the shape"),
        ([("a.npy", npy(SMALL, **{"<f8": "|O"}))], "damaged|holds object"),
        ([("a.npy", npy(np.array([None, 1, "x"])))], "holds object; only numbers and text"),
        ([("a.npy", npy(SMALL, **{"<f8": "<c16"}))], "holds complex128|claims the shape"),
        ([("a.npy", npy(np.zeros(2, dtype="f8,i4")))], "only numbers and text"),
        ([("a.npy", npy(np.zeros(2, dtype="M8[s]")))], "only numbers and text"),
        ([("a.npy", npy(SMALL)), ("b.pkl", b"x")], r"'b\.pkl' is neither"),
        ([("a.npy", b"\x93NUMPY\x09\x09")], "unknown version"),
        ([("a.npy", b"")], "damaged"),
        ([("h.json", b"{")], "damaged"),
        ([("h.json", b'{"a": 1, "a": 2}')], "a key twice"),
        ([("h.json", b"[" * 100_000)], "damaged"),
        ([("h.json", b"\xff")], "damaged"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_members_that_are_not_as_they_should_be(tmp_path, members, says):
    with pytest.raises(cl.InvalidFile, match=rf"x\.npz.*({says})"):
        read_archive(put(tmp_path / "x.npz", members))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice(tmp_path):
    with pytest.raises(cl.InvalidFile, match=r"'a\.npy' is there twice"):
        read_archive(put(tmp_path / "x.npz", [("a.npy", npy(SMALL))] * 2))


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_ways_of_packing_are_refused(tmp_path, compression):
    with pytest.raises(cl.InvalidFile, match="packed in an unusual way"):
        read_archive(put(tmp_path / "x.npz", [("a.npy", npy(SMALL))], compression))


def test_a_member_that_unpacks_without_end_is_refused_before_it_is_unpacked(tmp_path):
    zeros = npy(np.zeros(10**7))
    path = put(tmp_path / "x.npz", [("a.npy", zeros)], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    del zeros
    tracemalloc.start()
    try:
        with pytest.raises(cl.InvalidFile, match="claim more than 9 MiB, which is the most that is read"):
            read_archive(path, most=10**7)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


def test_a_size_that_is_a_lie_is_found_out(tmp_path):
    path = put(tmp_path / "x.npz", [("a.npy", npy(np.zeros(10**6)))], zipfile.ZIP_DEFLATED)
    content = bytearray(path.read_bytes())
    directory = content.rindex(b"PK\x01\x02")
    for size in (200, 2**31 - 1):
        content[directory + 24 : directory + 28] = struct.pack("<I", size)  # of the member, once it is unpacked
        path.write_bytes(content)
        with pytest.raises(cl.InvalidFile, match=r"x\.npz"):
            read_archive(path)


def test_a_data_set_with_wrong_arrays_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("CVXLINK_DATA", str(tmp_path))
    X, y = np.random.default_rng(0).standard_normal((6, 2)), np.arange(6) % 2
    for arrays, says in (
        ({"X": X}, "no array y"),
        ({"X": X, "y": y[:5]}, "5 labels for 6 points"),
        ({"X": X, "y": y + 0.5}, "whole numbers"),
        ({"X": X, "y": np.where(y, np.nan, 1)}, "NaN"),
        ({"X": X, "y": np.array(["a", "b"] * 3)}, "could not convert|whole"),
        ({"X": X * 1e200, "y": y}, "as large as"),
        ({"X": X[0], "y": y}, "two-dimensional"),
        ({"X": np.array([[None] * 2] * 6), "y": y}, "only numbers and text"),
    ):
        np.savez(tmp_path / "protein.npz", **arrays)
        with pytest.raises(cl.DataUnavailable, match=rf"protein\.npz' cannot be read as a data set.*{says}"):
            cl.datasets.load("protein")
    for kind in (int, float, str, np.uint8):
        np.savez(tmp_path / "protein.npz", X=X, y=y.astype(kind))
        assert cl.datasets.load("protein")[1].tolist() == y.tolist()
    whole = (tmp_path / "protein.npz").read_bytes()
    for kept in range(0, len(whole), 41):
        (tmp_path / "protein.npz").write_bytes(whole[:kept])
        with pytest.raises(cl.DataUnavailable, match=r"protein\.npz"):
            cl.datasets.load("protein")
    os.unlink(tmp_path / "protein.npz")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"n": 3, "must": [], "cannot": [], "n": 4}', "'n' is given twice"),
        ('{"n": 1000000000000, "must": [], "cannot": []}', "claims more than 10000000 points"),
        (f'{{"n": {"9" * 5000}, "must": [], "cannot": []}}', "not a file of links"),
        (f'{{"n": 3, "must": [[0, {"9" * 400}]], "cannot": []}}', "whole numbers"),
        ('{"n": true, "must": [], "cannot": []}', "n must be a whole number"),
        ('{"n": 3, "must": "01", "cannot": []}', "must and cannot must be lists of pairs"),
        ('{"n": 3, "must": {}, "cannot": []}', "must and cannot must be lists of pairs"),
        ("[" * 100_000, "not a file of links"),
        ('{"n": 3, "must": [[0, 1]', "not a file of links.*line 1"),
    ],
    ids=lambda text: text[:30],
)
def test_links_in_json_that_claim_or_hold_what_they_may_not(tmp_path, content, says):
    (tmp_path / "l.json").write_text(content)
    with pytest.raises(cl.InvalidInput, match=rf"l\.json.*{says}"):
        cl.Links.load(tmp_path / "l.json")


def test_an_index_of_many_digits_is_one_sentence(tmp_path):
    for digits in (20, 400, 5000):
        (tmp_path / "l.csv").write_text(f"i,j,kind\n0,1,must\n0,{'9' * digits},must\n")
        with pytest.raises(cl.InvalidInput, match=r"l\.csv") as error:
            cl.Links.load(tmp_path / "l.csv", n=5)
        assert len(str(error.value)) < 500
