"""The page in a real browser: it recomputes what Python computes, and hands out what it was given."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from cvxlink.studies.judging import outcome
from cvxlink.studies.measures import solve_seconds
from cvxlink.studies.statistics import SHIFT, Times
from helpers.pages import HOSTILE, move_slider, settled, solver_records, solver_study, summary_of

STUDY = solver_study(accuracy=[1e-4, 1e-6], repeats=3, time_limit=12)
RECORDS = solver_records(STUDY, 20, failing=0.1)
MISSING = {("instance_3", "SCS"), ("instance_7", "SCS"), ("instance_4", "ours")}
RATIOS, SECONDS = [1, 1.5, 2, 10, 1000], [0.01, 0.1, 0.5, 5]


def python_times(asked, judged, hidden=()):
    chosen = [r for r in RECORDS if r["accuracy"] == asked and r["configuration"] not in hidden]
    return Times.of(chosen, STUDY.time_limit, judged)


def assert_agrees(tab, times):
    """The page's times, profiles, means and wins are those of Python."""
    found = tab.evaluate(
        """([ratios, seconds, shift]) => { const times = cvxlinkStudy.times(); return {
        names: times.configurations, means: times.means(shift), profile: times.profile(ratios), solved: times.solved,
        within: times.provenWithin(seconds), wins: times.wins(1), instances: times.instances.length }; }""",
        [RATIOS, SECONDS, SHIFT],
    )
    order = [times.configurations.index(name) for name in found["names"]]
    assert found["instances"] == len(times.instances)
    np.testing.assert_allclose(found["means"], times.means()[order], rtol=1e-12)
    np.testing.assert_allclose(found["profile"], times.profile(RATIOS)[:, order], rtol=1e-12)
    np.testing.assert_allclose(found["within"], times.proven_within(SECONDS)[:, order], rtol=1e-12)
    np.testing.assert_array_equal(found["wins"], times.wins()[np.ix_(order, order)])
    shown = summary_of(tab)
    assert set(shown) == set(times.configurations)
    for k, name in enumerate(times.configurations):
        assert shown[name]["solved"] == times.solved[k]
        assert shown[name]["mean"] == pytest.approx(times.means()[k], rel=1e-12)


def steps_of(tab, figure):
    """The lines of a profile: by name, how often each climbs."""
    lines = tab.evaluate(
        f"() => [...document.querySelectorAll('#{figure} path.line')].map((p) => [p.dataset.name, p.getAttribute('d')])"
    )
    return {name: d.count("V") for name, d in lines}


# ---------------------------------------------------------------------- agreement with Python


def test_the_slider_recomputes_what_python_computes(opened):
    tab = opened(STUDY, RECORDS)
    assert_agrees(tab, python_times(1e-4, None))
    solved = []
    for digits in (2, 4, 5.3, 7, 9.9):
        move_slider(tab, digits)
        accuracy = float(f"{10**-digits:.2e}")
        times = python_times(1e-4, accuracy)
        assert_agrees(tab, times)
        # Each instance that is proven is a step of each of the two profiles.
        expected = dict(zip(times.configurations, times.solved.tolist(), strict=True))
        drawn = expected if any(expected.values()) else {}
        assert steps_of(tab, "performance-profile") == drawn and steps_of(tab, "data-profile") == drawn
        solved.append(sum(expected.values()))
    assert solved == sorted(solved, reverse=True) and solved[0] > solved[-1]
    tab.get_by_role("button", name="as asked").click()
    settled(tab)
    assert_agrees(tab, python_times(1e-4, None))


def test_the_accuracy_that_was_asked_for_is_chosen(opened):
    tab = opened(STUDY, RECORDS)
    tab.locator("input[type=radio]").nth(1).check(force=True)
    settled(tab)
    assert_agrees(tab, python_times(1e-6, None))


def test_times_of_the_solver_alone_are_those_of_python(opened):
    study = solver_study()
    records = solver_records(study, 6, seed=5)
    for k, record in enumerate(records):
        record["timings"] |= {"solve": record["seconds"] * (0.1 + 0.3 * (k % 3)), "lift": 1e-3}
    tab = opened(study, records)
    assert "without certifying" in tab.locator("#summary thead").inner_text()
    tab.get_by_text("solver only").click()
    settled(tab)
    expected, whole = Times.of(records, study.time_limit, None, solve_seconds), Times.of(records, study.time_limit)
    assert_agrees(tab, expected)
    assert not np.allclose(expected.means(), whole.means())
    assert "solver only" in tab.locator("#summary thead").inner_text()
    assert "solver only" in tab.locator("#shown-note").inner_text()
    tab.get_by_text("all of it").click()
    settled(tab)
    assert_agrees(tab, whole)
    del records[0]["timings"]
    records[0] |= {"proven_to": 1e-5, "verdict_is_proven": False}
    assert opened(study, records).get_by_text("solver only").count() == 0


def test_hiding_a_configuration_recomputes_everything(opened):
    tab = opened(STUDY, RECORDS)
    chip = tab.locator(".chip", has_text="SCS")
    chip.press("Enter")
    settled(tab)
    assert chip.get_attribute("aria-pressed") == "false"
    assert_agrees(tab, python_times(1e-4, None, hidden=("SCS",)))
    assert "SCS" not in steps_of(tab, "performance-profile")
    assert "Hidden: SCS" in tab.locator("#shown-note").inner_text()
    for name in ("ours", "CLARABEL"):
        tab.locator(".chip", has_text=name).click()
    settled(tab)
    assert "All configurations are hidden" in tab.locator("#sections").inner_text()
    chip.click()
    settled(tab)
    assert_agrees(tab, python_times(1e-4, None, hidden=("ours", "CLARABEL")))


def test_kinds_of_failure_are_those_of_python(opened):
    tab = opened(STUDY, RECORDS)
    move_slider(tab, 7)
    rows = "[...document.querySelectorAll('#failures tbody tr')]"
    cells = "[...row.querySelectorAll('td')].map((c) => [row.dataset.name, c.dataset.kind, Number(c.dataset.value)])"
    found = [cell for cell in tab.evaluate(f"() => {rows}.flatMap((row) => {cells})") if cell[2]]
    expected = {}
    for record in RECORDS:
        if record["accuracy"] == 1e-4:
            kind = (record["configuration"], str(outcome(record, 1e-7)))
            expected[kind] = expected.get(kind, 0) + 1
    assert {(name, kind): count for name, kind, count in found} == expected
    assert any(kind == "wrong" for _, kind in expected)
    # A count leads to its cells.
    row = tab.locator("#failures tr[data-name=SCS] td[data-kind=wrong]")
    row.get_by_role("button").click()
    assert tab.locator("#all-cells tbody tr").count() == expected["SCS", "wrong"]


def test_stages_are_those_of_python(opened):
    study = solver_study()
    records = solver_records(study, 5, failing=0.0)
    for record in records:
        record |= {"timings": {"reduce": 1.0, "compile": 2.0, "solve": 4.0, "lift": 0.5, "certify": 0.25}}
    tab = opened(study, records)
    move_slider(tab, 1)
    cells = tab.locator("#effort tbody tr").first.locator("td").evaluate_all("(all) => all.map((c) => c.dataset.value)")
    assert [float(value) for value in cells[:3]] == [3.0, 4.5, 0.25]


# ---------------------------------------------------------------------- the table of cells


def column(tab, k):
    read = f"(rows) => rows.map(({{ children: all }}) => all[{k}].dataset.value ?? all[{k}].textContent)"
    return tab.locator("#all-cells tbody tr").evaluate_all(read)


def test_cells_are_sorted_and_filtered(opened):
    tab = opened(STUDY, RECORDS)
    assert "180 of 180 cells" in tab.locator("#counted").inner_text()
    assert tab.locator("#all-cells tbody tr").count() == 100
    tab.get_by_role("button", name="Show all 180 cells").click()
    heads = tab.locator("#all-cells thead th").all_inner_texts()
    time = next(k for k, head in enumerate(heads) if head.startswith("Time"))
    proven = next(k for k, head in enumerate(heads) if head.startswith("Proven to"))
    tab.locator("#all-cells thead button").nth(time).click()
    expected = sorted(record["seconds"] for record in RECORDS if record["accuracy"] == 1e-4)
    assert [float(value) for value in column(tab, time)] == expected
    tab.keyboard.press("Enter")  # the focus stays on the heading
    assert [float(value) for value in column(tab, time)] == expected[::-1]
    assert tab.locator("#all-cells thead th").nth(time).get_attribute("aria-sort") == "descending"
    for _ in range(2):  # what is missing stays at the end, whichever way it is sorted
        tab.locator("#all-cells thead button").nth(proven).click()
        values = column(tab, proven)
        known = [value for value in values if value != "–"]
        assert 0 < len(known) < len(values) and values == known + ["–"] * (len(values) - len(known))
    tab.locator("#query").fill("instance_7")
    assert tab.locator("#all-cells tbody tr").count() == 9
    tab.locator("#query").fill("nothing like it")
    assert "No cell fits" in tab.locator("#all-cells tbody").inner_text()


def test_details_open_by_click_and_by_keyboard(opened):
    study = solver_study(time_limit=12)
    records = solver_records(study, 4, text=900, failing=0.0)
    for record in records:
        record |= {"environment": "abc123", "tolerances": {"eps_abs": 1e-5}, "megahertz": [2400.0, None]}
    tab = opened(
        study, records, {"abc123": {"cpu": "A made-up CPU", "blas": "OpenBLAS", "throttles": True, "cores": 2}}
    )
    index = int(tab.locator("#all-cells tbody tr").first.get_attribute("data-index"))
    record = records[index]
    tab.locator("#all-cells tbody tr").first.locator("td").nth(1).click()
    dialog = tab.locator("dialog[open]")
    dialog.get_by_text("Log, its last words").wait_for()
    text = dialog.inner_text()
    assert dialog.locator("pre").all_inner_texts()[-1].strip() == record["log"].strip()
    assert record["plan"].strip() in text and record["instance"] in text
    assert "0e0" not in text
    for words in (
        "eps_abs",
        "0.1.0",
        "A made-up CPU",
        "OpenBLAS",
        "unknown",
        "DIMACS 1",
        "compile",
        "throttles",
        "CPU",
    ):
        assert words in text
    command = (
        f"cvxlink study run study.toml --only '{record['instance']}, {record['configuration']}, 0.0001' --folder again"
    )
    assert dialog.locator("code").inner_text() == command
    tab.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    second = tab.locator("#all-cells tbody .open").nth(1)
    second.focus()
    tab.keyboard.press("Enter")
    tab.locator("dialog[open] h2").wait_for()
    before = tab.locator("dialog h2").inner_text()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("dialog h2").inner_text() != before
    tab.keyboard.press("ArrowLeft")
    assert tab.locator("dialog h2").inner_text() == before
    tab.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    assert second.evaluate("(button) => button === document.activeElement")
    tab.locator("#scatter .mark").first.dispatch_event("click")
    tab.locator("dialog[open]").wait_for()
    assert "A made-up CPU" in tab.locator("#about").inner_text()


# ---------------------------------------------------------------------- what can be taken away


def saved(tab, click):
    with tab.expect_download() as waiting:
        click()
    return waiting.value.path().read_text(encoding="utf-8")


def test_downloads_are_the_records(opened):
    records = solver_records(STUDY, 6, text=400)
    for record, name in zip(records, HOSTILE, strict=False):
        record["reason"] = name
    tab = opened(STUDY, records)
    move_slider(tab, 6)
    lines = saved(tab, tab.locator("#download-jsonl").click)
    without_nan = json.loads(re.sub(r"\bNaN\b", "null", json.dumps(records)))
    assert [json.loads(line) for line in lines.split("\n") if line] == without_nan
    rows = list(csv.DictReader(io.StringIO(saved(tab, tab.locator("#download-csv").click), newline="")))
    assert [row["key"] for row in rows] == [record["key"] for record in records]
    for row, record in zip(rows, records, strict=True):
        assert float(row["seconds"]) == record["seconds"] and row.get("log") == record["log"]
        assert row["outcome"] == str(outcome(record, 1e-6))
        assert (float(row["proven_to"]) if row["proven_to"] else None) == record.get("proven_to")
        assert row["reason"] == record.get("reason", "")
        assert float(row["timings.solve"]) == record["timings"]["solve"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_saved_with_title_and_legend(opened, scheme):
    tab = opened(STUDY, RECORDS, color_scheme=scheme)
    for figure in ("performance-profile", "data-profile", "means", "scatter"):
        text = saved(tab, tab.locator(f"#{figure} .save").click)
        root = ElementTree.fromstring(text)
        words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert tab.locator(f"#{figure} h3").inner_text() in words
        assert {"ours", "SCS", "CLARABEL"} <= set(words)
        assert "Made up; judged at 1e−4, computed for 1e−4" in words
        assert "var(" not in text and 'fill="#ffffff"' in text


def test_cells_that_are_missing_are_no_failures(opened):
    """Means and profiles compare the instances on which all have a result; counts and wins take what there is."""
    study = solver_study(time_limit=12)
    records = [r for r in solver_records(study, 12, seed=1) if (r["instance"], r["configuration"]) not in MISSING]
    tab = opened(study, records)
    times = Times.of(records, study.time_limit)
    assert 0 < len(times.common.instances) < len(times.instances) and times.solved.min() > 0
    assert_agrees(tab, times)
    row = tab.locator("#summary tr[data-name=SCS] td").first
    assert row.inner_text() == f"{times.solved[times.configurations.index('SCS')]} of 10"
    assert (
        f"{len(times.common.instances)} instances on which all have a result"
        in tab.locator("#means .note").inner_text()
    )
