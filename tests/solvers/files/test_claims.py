"""What files of programs and results claim is compared with what they hold, before memory is taken for it."""

from __future__ import annotations

import tracemalloc

import pytest

import cvxlink as cl
from attack.files import valid

PROGRAM = "2\n1\n2\n1 1\n0 1 1 1 1\n1 1 1 1 1\n2 1 2 2 1\n"
CBF = (
    "VER\n2\nOBJSENSE\nMIN\nVAR\n1 1\nF 1\nPSDCON\n1\n2\nOBJACOORD\n1\n0 1\nHCOORD\n1\n0 0 0 0 1\nDCOORD\n1\n0 1 0 1\n"
)
LONG = "9" * 400
LONGER = "9" * 5000  # more digits than Python takes


def refused(path, text, says):
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(cl.InvalidFile, match=rf"{path.name}.*{says}") as error:
            cl.read_program(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2\n1 1\n", "12000\n1 1\n", "claims a block of order 12000, but has only 3 entries of it"),
        ("2\n1 1\n", "-12000\n1 1\n", "not an entry|claims a block of order 12000"),
        ("2\n1 1\n", "20001\n1 1\n", "order 20001; at most 20000"),
        ("2\n1 1\n", f"{'9' * 18}\n1 1\n", "more than 10¹²; at most 20000"),
        ("2\n1 1\n", f"{LONG}\n1 1\n", "line 3: expected a whole number, not '9{60}…'"),
        ("2\n1 1\n", f"{LONGER}\n1 1\n", "line 3: expected a whole number"),
        ("2\n1\n", f"{LONG}\n1\n", "line 1: expected a whole number"),
        ("2\n1\n", "1000000000\n1\n", "costs for 1000000000 variables|not an entry|should be"),
        ("1 1 1 1 1\n", "1 1 1 1 1e160\n", r"line 6: 1e\+160 is too large; at most 1e\+100"),
        ("1 1 1 1 1\n", "1 1 1 1 1e400\n", "line 6: '1 1 1 1 1e400' is not an entry"),
        ("1 1 1 1 1\n", f"1 1 1 1 {LONG}\n", "line 6"),
        ("1 1 1 1 1\n", f"1 {LONG} 1 1 1\n", "line 6"),
        ("1 1 1 1 1\n", f"1 1 {LONGER} 1 1\n", "line 6"),
        ("1 1 1 1 1\n", "1 1 1 1 1 2 1 1 2 1\n", "line 6: expected matrix, block, row, column and value"),
        ("1 1\n0", "1 1e400\n0", "line 4: a number is not finite"),
        ("1 1\n0", "1 1e160\n0", "line 4: 1e.160 is too large"),
        ("2\n1\n2", f'"cvxlink: {LONGER} entries; add 0 to the objective\n2\n1\n2', "does not end after the 9"),
        ("2\n1\n2", '"cvxlink: 3 entries; add nonsense to the objective\n2\n1\n2', "line 1: 'nonsense' should be numb"),
        ("2\n1\n2", '"cvxlink: 3 entries; add inf to the objective\n2\n1\n2', "line 1: a number is not finite"),
    ],
    ids=lambda text: text[:25].replace("\n", " "),
)
def test_claims_of_a_program_in_sdpas_format(tmp_path, old, new, says):
    assert old in PROGRAM
    refused(tmp_path / "p.dat-s", PROGRAM.replace(old, new, 1), says)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("PSDCON\n1\n2", "PSDCON\n1\n12000", "claims a block of order 12000, but has only 2 entries"),
        ("PSDCON\n1\n2", "PSDCON\n1000000000\n2", "expected|cut short"),
        ("PSDCON\n1\n2", f"PSDCON\n1\n{LONG}", "line 10"),
        ("1 1\nF 1", "900000000 1\nF 900000000", "claims 900000000 variables and says nothing about most"),
        ("1 1\nF 1", f"{LONG} 1\nF {LONG}", "line 6"),
        ("1 1\nF 1", f"1 1\nF {LONGER}", "1 rows in total"),
        ("HCOORD\n1", "HCOORD\n900000000", "expected 5 numbers"),
        ("0 0 0 0 1", "0 0 0 0 1e160", "is too large; at most"),
        ("0 0 0 0 1", f"0 0 {LONG} 0 1", "too large|no entry"),
        ("0 0 0 0 1", "0 0 0 0 1e400", "line 16"),
        ("VER\n2", f"# cvxlink: {LONGER} lines\nVER\n2", "does not end after the 9"),
    ],
    ids=lambda text: text[:25].replace("\n", " "),
)
def test_claims_of_a_program_in_cbf(tmp_path, old, new, says):
    assert old in CBF
    refused(tmp_path / "p.cbf", CBF.replace(old, new, 1), says)


def test_memory_follows_the_entries_of_a_large_program(tmp_path):
    n = 12_000  # as in max-cut: one equation for each diagonal entry, and few costs
    equations = "\n".join(f"{i} 1 {i} {i} 1" for i in range(1, n + 1))
    (tmp_path / "p.dat-s").write_text(f"{n}\n1\n{n}\n{'1 ' * n}\n0 1 1 2 1\n{equations}\n")
    tracemalloc.start()
    try:
        problem = cl.read_program(tmp_path / "p.dat-s")
        assert tracemalloc.get_traced_memory()[1] < 100e6  # one matrix of that order would be 1152e6
    finally:
        tracemalloc.stop()
    assert problem.data.n == n and problem.data.A.nnz == n and problem.data.C[0, 1] == problem.data.C[1, 0] == -1


@pytest.mark.parametrize("kind", ["result", "sdpa result"])
@pytest.mark.parametrize("number", [LONG, LONGER, "1e160", "1e400", "nan", "-inf", "1e", "info", "1_0"])
def test_numbers_of_a_result(tmp_path, kind, number):
    files = valid()[kind]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    text = files["result"].decode()
    start = text.index("{") + 1 if kind == "sdpa result" else 0
    end = text.index("," if kind == "sdpa result" else " ", start)
    (tmp_path / "result").write_text(text[:start] + number + text[end:])
    with pytest.raises(cl.InvalidFile, match="result") as error:
        cl.bring_back(tmp_path / "p.dat-s", tmp_path / "result")
    assert len(str(error.value)) < 300


def test_parts_of_an_sdpa_result_are_there_once(tmp_path):
    for name, content in valid()["sdpa result"].items():
        (tmp_path / name).write_bytes(content)
    text = (tmp_path / "result").read_text()
    (tmp_path / "result").write_text(text + text)
    with pytest.raises(cl.InvalidFile, match="result is not a complete SDPA result"):
        cl.bring_back(tmp_path / "p.dat-s", tmp_path / "result")
