"""The page as a file: small, whole, closed to the network; what it carries is what it was given."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cvxlink.cli import app
from cvxlink.studies.page import page, save_page
from cvxlink.studies.page.packing import in_base_36, packed, without_long
from cvxlink.studies.store import Store
from helpers.pages import solver_records, solver_study


def data_of(text: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


def unpacked(data: dict) -> list[dict]:
    """Records from tables of texts and shapes, written apart from the script that does it in the page."""
    texts = json.loads(gzip.decompress(base64.b64decode(data["texts"])))

    def leaf(value):
        if isinstance(value, list):
            return [leaf(one) for one in value]
        if not isinstance(value, str):
            return value
        return texts[int(value[1:], 36)] if value.startswith("~") else data["strings"][int(value, 36)]

    records = []
    for shape, *leaves in data["rows"]:
        record: dict = {}
        for path, value in zip(data["shapes"][shape], leaves, strict=True):
            place = record
            for name in path[:-1]:
                place = place.setdefault(name, {})
            place[path[-1]] = leaf(value)
        records.append(record)
    return records


@pytest.mark.parametrize("number", [0, 35, 36, 1295, 1296, 46655, 123456789])
def test_base_36_is_read_back(number):
    assert int(in_base_36(number), 36) == number


def test_packed_records_are_the_records():
    records = [
        {"key": "a", "n": 1, "x": 0.1, "nested": {"deep": {"er": [1, "two", None, {}]}, "empty": {}}, "is": True},
        {"key": "~a", "log": "x" * 99, "n": None, "nothing": ""},
        {"key": "a", "log": "x" * 99, "__proto__": {"a": "</script>"}, "constructor": "\u2028\u202e\ud800"},
    ]
    assert unpacked(packed(records)) == records
    assert len(packed(records)["strings"]) == len({"a", "two", "~a", "", "</script>", "\u2028\u202e\ud800"})


def test_numbers_that_json_cannot_say_are_null():
    text = page(solver_study(), [{**record, "gap": float("inf")} for record in solver_records(solver_study(), 2)])
    records = unpacked(data_of(text))
    assert all(record["gap"] is None and record["load"][1] is None for record in records)


def test_a_page_of_2000_cells_with_logs_and_plans_stays_below_3_mb():
    study = solver_study([f"solver {k}" for k in range(10)])
    records = solver_records(study, 200, text=2000)
    assert len(records) == 2000
    text = page(study, records)
    assert len(text.encode()) < 3_000_000
    data = data_of(text)
    found = unpacked(data)
    assert [record["seconds"] for record in found] == [record["seconds"] for record in records]
    # Of logs the last words are kept, of plans the first ones.
    for given, kept in zip(records, found, strict=True):
        assert given["log"].endswith(kept["log"].lstrip("…")) and len(kept["log"]) >= 250
        assert given["plan"].startswith(kept["plan"].rstrip("…"))


def test_texts_of_small_studies_are_not_cut():
    study = solver_study()
    records = solver_records(study, 30, text=2000)
    text = page(study, records)
    assert [record["log"] for record in unpacked(data_of(text))] == [record["log"] for record in records]


def test_what_is_cut_says_so():
    cut = without_long({"log": "first last", "plan": "first last", "reason": "first last"}, 4)
    assert cut == {"log": "…last", "plan": "firs…", "reason": "first last"}


def test_nothing_in_the_file_names_another_place():
    text = page(solver_study(title='A <b>title</b> & "more"'), solver_records(solver_study(), 3))
    assert "default-src 'none'" in text and "unsafe" not in text
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!data:,|#)""", text)
    places = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert places == {"http://www.w3.org/2000/svg"}
    assert "<b>" not in text and "A &lt;b&gt;title&lt;/b&gt; &amp; &quot;more&quot;" in text


def test_scripts_do_not_make_markup_of_text():
    import cvxlink.studies.page as here

    folder = Path(here.__file__).parent
    scripts = list(folder.glob("*.js"))
    assert len(scripts) > 5
    for script in scripts:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", script.read_text()
        )


def test_the_same_records_make_the_same_page(tmp_path):
    study, records = solver_study(), solver_records(solver_study(), 5, text=300)
    save_page(tmp_path / "one.html", study, records)
    assert (tmp_path / "one.html").read_text(encoding="utf-8") == page(study, records)


# ---------------------------------------------------------------------- from the command line

TWO = """
title = "Two paths"
time_limit = 30
[[instances]]
library = "path_*"
[[configurations]]
solver = "SCS"
[[configurations]]
name = "ours"
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ran")
    (folder / "two.toml").write_text(TWO)
    assert CliRunner().invoke(app, ["study", "run", str(folder / "two.toml")]).exit_code == 0
    return folder


@pytest.mark.slow
def test_the_command_writes_the_page_and_repeats_a_cell(ran):
    done = CliRunner().invoke(app, ["study", "report", str(ran / "two.toml"), "--out", str(ran / "page.html")])
    assert done.exit_code == 0 and "opens in any browser" in done.output
    data = data_of((ran / "page.html").read_text(encoding="utf-8"))
    assert data["file"] == "two.toml" and data["conclusions"] and len(data["rows"]) == 4
    # The words by which the page repeats a cell choose this cell alone.
    record = unpacked(data)[0]
    words = f"{record['instance']}, {record['configuration']}, {data['accuracies'][0][1]}"
    again = ["study", "run", str(ran / "two.toml"), "--only", words, "--folder", str(ran / "again")]
    assert CliRunner().invoke(app, again).exit_code == 0
    (one,) = Store(ran / "again").records()
    assert one["key"] == record["key"] and one["value"] == pytest.approx(record["value"])


@pytest.mark.slow
@pytest.mark.parametrize(("out", "words"), [("page.pdf", "must end in .html"), ("none/page.html", "cannot be written")])
def test_a_page_that_cannot_be_written_is_one_sentence(ran, out, words):
    done = CliRunner().invoke(app, ["study", "report", str(ran / "two.toml"), "--out", str(ran / out)])
    assert done.exit_code == 1 and words in done.output.replace("\n", " ")
