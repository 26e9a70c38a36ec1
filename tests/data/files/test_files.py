from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.data.files.atomic import put_in_place, require_new
from cvxlink.data.files.links import read_links, read_pairs
from cvxlink.data.files.names import PointNames
from cvxlink.data.files.points import PointFile, Roles, read_points

EXPECTED = np.array([[1.5, -2.0], [0.25, 4e3], [7.0, 0.5]])


@pytest.fixture
def read(tmp_path):
    def read(text: str | bytes, has_header: bool | None = None, **roles) -> PointFile:
        path = tmp_path / "d.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_points(str(path), Roles(**roles), has_header)

    return read


@pytest.fixture
def file(tmp_path):
    def file(name: str, text: str):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return file


# ---------------------------------------------------------------------- points


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1.5,-2\n0.25,4e3\n7,.5\n",
        "1.5,-2\n0.25,4e3\n7,.5\n",
        "1.5,-2\n0.25,4e3\n7,.5",
        "a;b\n1.5;-2\n0.25;4e3\n7;.5\n",
        "a\tb\n1.5\t-2\n0.25\t4E+3\n7\t.5\n",
        "  1.5   -2\n0.25\t 4e3\n\n7 0.5\n",
        '"a, in cm" b\n1.5 -2\n0.25 4e3\n7 .5\n',
        '"a, in cm",b\r\n"1.5", -2\r\n\r\n0.25 ,"4e3"\r\n,\r\n7,.5\r\n',
        "\ufeffa,b\n1.5,-2\n0.25,4e3\n7,.5\n",
        "a,b\r1.5,-2\r0.25,4e3\r7,.5\r",
        "a,2020\n1.5,-2\n0.25,4e3\n7,.5\n",
        ",a,b\n0,1.5,-2\n1,0.25,4e3\n2,7,.5\n",
    ],
)
def test_the_same_points_however_they_are_written(read, text):
    np.testing.assert_array_equal(read(text).X, EXPECTED)


def test_features_are_called_as_in_the_header_or_by_number(read):
    assert read("a,b\n1,2\n").features == ("a", "b")
    assert read("1,2\n").features == ("1", "2")
    assert read(",a\n0,5\n1,5\n").features == ("a",)
    assert "column 1 has no name" in read(",a\n0,5\n1,5\n").notes[0]
    assert read(",a\n3,5\n1,5\n").features == ("1", "a"), "it does not count the lines"


def test_columns_have_roles(read):
    text = "name,x,kind,y,class\nanna,1.5,u,-2,A\nbert,0.25,,4e3,B\ncleo,7,v,.5,?\n"
    got = read(text, names="name", labels="kind", truth="class")
    np.testing.assert_array_equal(got.X, EXPECTED)
    assert got.features == ("x", "y") and got.names == ("anna", "bert", "cleo")
    assert got.labels.tolist() == ["u", "-1", "v"] and got.truth.tolist() == ["A", "B", "-1"]
    np.testing.assert_array_equal(read(text, features=("y", "x")).X, EXPECTED[:, ::-1])
    np.testing.assert_array_equal(read(text, features=("2", "4")).X, EXPECTED)
    ignoring = read(text, names="name", ignored=("kind", "5"))
    np.testing.assert_array_equal(ignoring.X, EXPECTED)
    assert ignoring.labels is None and ignoring.truth is None


@pytest.mark.parametrize("unknown", ["", "?", "NA", "-1", "-1.0"])
def test_labels_that_are_unknown(read, unknown):
    assert read(f"x,l\n1,3\n2,{unknown}\n3,0\n", labels="l").labels.tolist() == [3, -1, 0]
    assert read(f"x,l\n1,3.0\n2,{unknown}\n3,0.0\n", labels="l").labels.tolist() == [3, -1, 0]
    assert read(f"x,l\n1,3\n2,{unknown}\n3,b\n", labels="l").labels.tolist() == ["3", "-1", "b"]


def test_a_first_line_that_may_be_a_header_or_a_point_is_not_guessed(read):
    text = "5.1,3.5,setosa\n4.9,3.0,setosa\n"
    with pytest.raises(cl.InvalidInput, match=r"d.csv, line 1, column 3: .*--header or --no-header"):
        read(text, truth="3")
    assert len(read(text, has_header=False, truth="3").X) == 2
    assert len(read(text, has_header=True, truth="setosa").X) == 1
    with pytest.raises(cl.InvalidInput, match="line 1, column 2: 'NA' is not a number"):
        read("1,NA\n2,3\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b\n1,2\n3,x4\n", r"line 3, column 2 \(b\): 'x4' is not a number; correct it"),
        ("1,2\n3,x4\n", r"line 2, column 2: 'x4' is not a number"),
        ("a,b\n1,2\n\n3,1_000\n", r"line 4, column 2 \(b\): '1_000' is not a number"),
        ("a,b\n1,2\n3,\n", r"line 3, column 2 \(b\): the cell is empty; fill it in"),
        ("a,b\n1,2\nNA,3\n", r"line 3, column 1 \(a\): 'NA' stands for a missing number"),
        ("a,b\n1,2\n3,nan\n", r"line 3, column 2 \(b\): nan is not finite"),
        ("a,b\n1,2\n-inf,1\n", r"line 3, column 1 \(a\): -inf is not finite"),
        ("a,b\n1,2\n1e999,1\n", r"line 3, column 1 \(a\): inf is not finite"),
        ("a,b\n1,2\n1e200,1\n", r"line 3, column 1 \(a\): 1e\+200 is too large"),
        ("a;b\n1;2\n3,5;4\n", r"line 3, column 1 \(a\): '3,5' has a decimal comma"),
        ("3,5;4\n1,5;2,5\n", r"line 1, column 1.*--header"),
        ("a;b\n1;2\n-0,125;4\n", r"'-0,125' has a decimal comma; .* decimal point: -0\.125"),
        ('a,b\n1,2\n"1,000",4\n', r"'1,000' has a comma: if it separates thousands, write 1000; if decimals, 1\.000"),
        ('a,b\n1,2\n"12,345,678.5",4\n', r"'12,345,678\.5' has commas between thousands; .* 12345678\.5"),
        ("a;b\n1;2\n1.000,5;4\n", r"'1\.000,5' has points between thousands; .*: 1000\.5"),
        ("a;b\n1;2\n1.000.000;4\n", r"'1\.000\.000' has points between thousands; .*: 1000000"),
        ("a;b\n1;2\n1.2.3;4\n", r"'1\.2\.3' is not a number"),
        ("a,b\n1,2\n3\n", r"line 3, no column 2 \(b\): 1 cell where the header has 2"),
        ("1,2\n1,2,3\n", r"line 2, column 3: 3 cells where the first line has 2; remove"),
        ("a,b,c\n1,x,u\n2,y,v\n", r"line 2, column 2 \(b\): the column holds text \(as does column 3 \(c\)\)"),
        (
            "a,b\n1,x\n2,y\n",
            r"'x' here; say what it is with --label-column, --truth-column or --id-column, leave it out with "
            r"--ignore-column, or name the features with --columns",
        ),
        ("a,b,\n1,2,\n3,4,\n", r"line 2, column 3: the column is empty in every line"),
        ('a,b\n1,2\n"3,4\n5,6\n', r"line 3: quotes do not match"),
        ('a b\n1 2\n"3 4\n5 6\n', r"line 3: quotes do not match"),
        ("", r"d.csv is empty"),
        ("\n \n", r"d.csv is empty"),
        ("a,b\n", r"holds a header and no points"),
        ("a,b\n1,2\nä,3\n".encode("latin-1"), r"is not text in UTF-8 \(line 3\)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_line_and_column(read, text, says):
    with pytest.raises(cl.InvalidInput, match=says) as caught:
        read(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        (
            {"labels": "z"},
            r"no column 'z', which --label-column asks for; there are n, a, a, l, or a number from 1 to 4",
        ),
        ({"features": ("a",)}, r"columns 2 and 3 are called 'a'; give --columns the number"),
        ({"features": ("2", "2")}, r"column 2 \(a\) is named twice"),
        ({"labels": "l", "truth": "4"}, r"column 4 \(l\) cannot be both --label-column and --truth-column"),
        ({"labels": "l", "features": ("2", "4")}, r"column 4 \(l\) is --label-column, so it cannot be among --columns"),
        ({"labels": "l", "ignored": ("4",)}, r"column 4 \(l\) cannot be both --label-column and --ignore-column"),
        ({"ignored": ("2",)}, r"column 2 \(a\) cannot be both in --columns and --ignore-column"),
        ({"ignored": ("z",)}, r"no column 'z', which --ignore-column asks for"),
        ({"names": "n"}, r"line 4, column 1 \(n\): 'p' is also the name of line 2"),
        ({"names": "l"}, r"line 3, column 4 \(l\): the point has no name"),
    ],
)
def test_columns_that_cannot_be_so(read, roles, says):
    with pytest.raises(cl.InvalidInput, match=says):
        read("n,a,a,l\np,1,2,u\nq,3,4,\np,5,6,v\n", **({"features": ("2",)} | roles))


def test_labels_are_needed_where_they_are_announced(read):
    with pytest.raises(cl.InvalidInput, match=r"d.csv, column 2 \(l\) holds no label"):
        read("x,l\n1,?\n2,NA\n", labels="l")
    with pytest.raises(cl.InvalidInput, match="no column of numbers to cluster by"):
        read("x,l\n1,a\n2,b\n", labels="l", names="x")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(cl.InvalidInput, match="there is no file"):
        read_points(str(tmp_path / "none.csv"))
    with pytest.raises(cl.InvalidInput, match="cannot be read"):
        read_points(str(tmp_path))


def test_many_points_keep_their_numbers(read):
    X = np.random.default_rng(0).standard_normal((20_000, 10)) * 10.0 ** np.arange(-5, 5)
    lines = [",".join(map(repr, row)) for row in X.tolist()]
    np.testing.assert_array_equal(read("\n".join(lines)).X, X)
    lines[19_998] = lines[19_998].replace(",", ",oops", 1)
    with pytest.raises(cl.InvalidInput, match="line 19999, column 2: 'oops"):
        read("\n".join(lines))


# ---------------------------------------------------------------------- links

PEOPLE = PointNames(4, ("anna", "bert", "cleo", "dora"))
MUST, CANNOT = [(0, 1)], [(1, 3), (2, 3)]


@pytest.mark.parametrize(
    "text",
    [
        "i,j,kind\n0,1,must\n1,3,cannot\n2,3,cannot\n",
        "0,1,must\n1,3,cannot\n2,3,cannot\n",
        "0;1;ML\n1;3;cl\n\n2;3;CL\n",
        "0 1 +1\n1 3 -1\n2 3 -1\n",
        "first\tsecond\ttype\n0\t1\t1\n1\t3\t-1\n2\t3\t-1\n",
        "0,1,must-link\n1,3,Cannot_Link\n2,3,cannot link\n",
        "kind,i,j\nmust,0,1\ncannot,1,3\ncannot,2,3\n",
        "J;Kind;I\n1;1;0\n3;-1;1\n3;-1;2\n",
    ],
)
def test_the_same_links_however_they_are_written(file, text):
    expected = cl.Links(4, MUST, CANNOT)
    path = file("links.csv", text)
    assert read_links(path, PointNames(4)) == (MUST, CANNOT)
    assert read_links(path, PEOPLE) == (MUST, CANNOT), "no name is a number, so numbers are rows"
    assert cl.Links.load(path, n=4) == expected
    assert cl.Links(4, *read_links(expected.save(path.with_suffix(".json")), PointNames(4))) == expected


def test_points_by_name_and_counted_from_one(file):
    named = file("named.csv", "i,j,kind\nanna,bert,ml\nbert,dora,cl\ncleo,dora,cl\n")
    assert read_links(named, PEOPLE) == (MUST, CANNOT)
    assert read_links(file("one.txt", "1,2,ml\n2,4,cl\n3,4,cl\n"), PointNames(4, one_based=True)) == (MUST, CANNOT)
    assert read_pairs(file("cannot.csv", "bert dora\ncleo dora\n"), PEOPLE) == CANNOT
    assert read_pairs(file("cannot.csv", "i,j\n1,3\n2,3\n"), PointNames(4)) == CANNOT
    spaced = PointNames(2, ("Ann Lee", "Bob Ray"))
    assert read_links(file("spaced.csv", "Ann Lee,Bob Ray,ml\n"), spaced) == ([(0, 1)], [])
    letters = PointNames(3, ("i", "j", "k"))
    assert read_links(file("letters.csv", "kind,j,i\nml,j,k\n"), letters) == ([(2, 1)], []), "a header by all its names"
    assert read_pairs(file("letters.csv", "i,j\nj,k\n"), letters) == [(0, 1), (1, 2)], "i and j are points here"
    numbered = PointNames(4, ("3", "2", "1", "0"))
    assert read_pairs(file("cannot.csv", "2,0\n1,0\n"), numbered) == CANNOT, "names that are numbers are names"


@pytest.mark.parametrize(
    ("text", "points", "says"),
    [
        ("i,j,kind\n0,1,must\n0,x,must\n", PointNames(4), r"line 3, column 2 \(j\): 'x' is not a whole number"),
        (
            "kind,i,j\nmust,0,abc\n",
            PointNames(4),
            r"line 2, column 3 \(j\): 'abc' is not a whole number; points have names only with --id-column",
        ),
        ("kind,J,i\nmust,9,0\n", PointNames(4), r"line 2, column 2 \(j\): 9 is outside the points"),
        ("kind,i,j\nmaybe,0,1\n", PointNames(4), r"line 2: kind must be .* not 'maybe' as in column 1"),
        ("kind,i,j\nml,2,2\n", PointNames(4), r"line 2, columns 2 and 3 \(i, j\): the link joins point 2 to itself"),
        ("0,1,must\n0,4,must\n", PointNames(4), r"line 2, column 2 \(j\): 4 is outside the points 0 … 3; .*from 0"),
        ("1,2,must\n0,4,must\n", PointNames(4, one_based=True), r"line 2, column 1 \(i\): 0 is outside .* 1 … 4"),
        ("0,1,must\n1,2,maybe\n", PointNames(4), r"line 2: kind must be must or cannot .* not 'maybe' as in column 3"),
        ("0,1,mst\n", PointNames(4), r"line 1: kind must be"),
        ("0,1,must\n0,1\n", PointNames(4), r"line 2: expected three cells i,j,kind, found 2 cells"),
        ("0,1\n", PointNames(4), r"line 1: expected a header or three cells"),
        ("0,1,must\n2,2,must\n", PointNames(4), r"line 2, columns 1 and 2 \(i, j\): the link joins point 2 to itself"),
        ("anna,bert,ml\nanna,brt,ml\n", PEOPLE, r"line 2, column 2 \(j\): 'brt' is not the name of a point"),
        ("ana,brt,ml\n", PEOPLE, r"line 1, column 1 \(i\): 'ana' is not the name"),
        ("9,3,ml\n", PointNames(2, ("3", "5")), r"line 1, column 1 \(i\): '9' is not the name of a point"),
    ],
)
def test_what_is_wrong_with_links_is_said_with_line_and_column(file, text, points, says):
    with pytest.raises(cl.InvalidInput, match=r"links.csv, " + says):
        read_links(file("links.csv", text), points)


def test_counting_from_one_where_nothing_is_counted(file):
    with pytest.raises(cl.InvalidInput, match="leave out --one-based"):
        PointNames(2, ("1", "2"), one_based=True)
    content = json.dumps({"n": 2, "must": [[0, 1]], "cannot": []})
    with pytest.raises(cl.InvalidInput, match="JSON are counted from 0"):
        read_links(file("links.json", content), PointNames(2, one_based=True))
    with pytest.raises(cl.InvalidInput, match="links on 2 points, not 3"):
        read_links(file("links.json", content), PointNames(3))


# ---------------------------------------------------------------------- new files


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), put_in_place(path) as new:
        new.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    with put_in_place(path) as new:
        new.write_text("whole")
        assert path.read_text() == "old"
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_file_stays_one(tmp_path):
    (tmp_path / "there").write_text("old")
    (tmp_path / "here").symlink_to(tmp_path / "there")
    with put_in_place(tmp_path / "here") as new:
        new.write_text("new")
    assert (tmp_path / "here").is_symlink() and (tmp_path / "there").read_text() == "new"


def test_where_no_file_can_be_is_found_out_at_once(tmp_path):
    for path, says in ((tmp_path, "it is a folder"), (tmp_path / "none" / "x.csv", "there is no folder")):
        with pytest.raises(cl.InvalidInput, match=says), put_in_place(path):
            raise AssertionError("too late")


def test_what_is_read_is_not_written(tmp_path):
    (tmp_path / "data.csv").write_text("kept")
    (tmp_path / "soft").symlink_to(tmp_path / "data.csv")
    (tmp_path / "hard").hardlink_to(tmp_path / "data.csv")
    for same in ("data.csv", "soft", "hard"):
        with pytest.raises(cl.InvalidInput, match=f"--out would overwrite .*{same}, which holds the points; choose"):
            require_new({"--out": tmp_path / same}, {"holds the points": tmp_path / "data.csv", "--links names": None})
    with pytest.raises(cl.InvalidInput, match="--plot would overwrite .*new.png, which --out names too"):
        require_new({"--out": tmp_path / "new.png", "--plot": tmp_path / "new.png"}, {})
    require_new({"--out": tmp_path / "new", "--plot": None}, {"holds the points": tmp_path / "data.csv"})
    require_new({"--out": Path("/dev/null")}, {"holds the points": Path("/dev/null")})
