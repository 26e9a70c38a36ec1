"""The page in a real browser: it recomputes what Python computes, and can be read by everyone."""

from __future__ import annotations

import csv
import io
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.pages import chromium, method_records, method_study, solver_records, solver_study

from cvxlink.studies.cells import expanded
from cvxlink.studies.judging import outcome
from cvxlink.studies.page import save_page
from cvxlink.studies.statistics import SHIFT, Times, critical_difference, interval, mean_ranks

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "quotes \" ' ` & &lt; \\",
    "line\u2028paragraph\u2029end",
    "\u202eright to left \u05d0\u05d1",
    "__proto__",
    "a" * 300,
)


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Open pages, which must not complain, nor ask for anything."""
    contexts, complaints, requests = [], [], []

    def open_page(study, records, environments=None, width=1280, **options):
        path = tmp_path / "report.html"
        save_page(path, study, records, environments)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(dialog.message))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(path.as_uri())
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []


def settled(tab):
    """Wait until the page has drawn what was asked for last."""
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move_slider(tab, digits):
    tab.locator("#accuracy").fill(str(digits))
    settled(tab)


def summary_of(tab):
    """What the first table says, in full precision."""
    return tab.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('#summary tbody tr')].map((row) => [row.dataset.name,
        Object.fromEntries([...row.querySelectorAll('td')].map((cell) => [cell.dataset.key, Number(cell.dataset.value)]))]))"""
    )


STUDY = solver_study(accuracy=[1e-4, 1e-6], repeats=2, time_limit=12)
RECORDS = solver_records(STUDY, 25, failing=0.1)
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
    lines = tab.evaluate(f"() => [...document.querySelectorAll('#{figure} path.line')].map((p) => [p.dataset.name, p.getAttribute('d')])")
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
        assert steps_of(tab, "performance-profile") == expected and steps_of(tab, "data-profile") == expected
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
    found = tab.evaluate(
        """() => [...document.querySelectorAll('#failures tbody tr')].flatMap((row) => [...row.querySelectorAll('td')]
        .filter((cell) => Number(cell.dataset.value)).map((cell) => [row.dataset.name, cell.dataset.kind, Number(cell.dataset.value)]))"""
    )
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


# ---------------------------------------------------------------------- the table of cells


def column(tab, k):
    return tab.evaluate(f"() => [...document.querySelectorAll('#all-cells tbody tr')].map((row) => row.children[{k}].dataset.value ?? row.children[{k}].textContent)")


def test_cells_are_sorted_and_filtered(opened):
    tab = opened(STUDY, RECORDS)
    assert "150 of 150 cells" in tab.locator("#counted").inner_text()
    assert tab.locator("#all-cells tbody tr").count() == 100
    tab.get_by_role("button", name="Show all 150 cells").click()
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
    assert tab.locator("#all-cells tbody tr").count() == 6
    tab.locator("#query").fill("nothing like it")
    assert "No cell fits" in tab.locator("#all-cells tbody").inner_text()


def test_details_open_by_click_and_by_keyboard(opened):
    study = solver_study(time_limit=12)
    records = solver_records(study, 4, text=900, failing=0.0)
    for record in records:
        record |= {"environment": "abc123", "tolerances": {"eps_abs": 1e-5}, "megahertz": [2400.0, None]}
    tab = opened(study, records, {"abc123": {"cpu": "A made-up CPU", "blas": "OpenBLAS", "throttles": True, "cores": 2}})
    index = int(tab.locator("#all-cells tbody tr").first.get_attribute("data-index"))
    record = records[index]
    tab.locator("#all-cells tbody tr").first.locator("td").nth(1).click()
    dialog = tab.locator("dialog[open]")
    dialog.get_by_text("Log, its last words").wait_for()
    text = dialog.inner_text()
    assert dialog.locator("pre").all_inner_texts()[-1].strip() == record["log"].strip()
    assert record["plan"].strip() in text and record["instance"] in text
    for words in ("eps_abs", "0.1.0", "A made-up CPU", "OpenBLAS", "unknown", "DIMACS 1", "compile", "throttles"):
        assert words in text
    command = f"cvxlink study run study.toml --only '{record['instance']}, {record['configuration']}, 0.0001' --folder again"
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


# ---------------------------------------------------------------------- for everyone


@pytest.mark.parametrize("study", ["solvers", "methods"])
def test_a_narrow_screen_needs_no_sideways_scrolling(opened, study):
    if study == "solvers":
        tab = opened(STUDY, RECORDS, width=360)
    else:
        described = method_study()
        tab = opened(described, method_records(described, [one.name for one in expanded(described)]), width=360)
    assert tab.evaluate("() => document.documentElement.scrollWidth") == 360
    tab.locator("#all-cells .open").first.click()
    assert tab.evaluate("() => document.querySelector('dialog').scrollWidth") <= 360


def test_figures_follow_the_width(opened):
    tab = opened(STUDY, RECORDS)
    wide = tab.locator("#means svg").bounding_box()["width"]
    tab.set_viewport_size({"width": 500, "height": 900})
    settled(tab)
    narrow = tab.locator("#means svg").bounding_box()["width"]
    assert tab.locator("#means svg").get_attribute("width") == str(int(narrow)) and narrow < wide


def test_print_is_light_and_without_controls(opened):
    tab = opened(STUDY, RECORDS, color_scheme="dark")
    colour = "() => getComputedStyle(document.body).backgroundColor"
    assert tab.evaluate(colour) != "rgb(255, 255, 255)"
    tab.emulate_media(media="print")
    assert tab.evaluate(colour) == "rgb(255, 255, 255)"
    for hidden in ("#accuracy", ".downloads", ".save"):
        assert not tab.locator(hidden).first.is_visible()
    for shown in ("#summary", "#performance-profile svg", "#failures", "#all-cells", "#accuracy-shown", "#about"):
        assert tab.locator(shown).is_visible()
    assert tab.pdf(format="A4").startswith(b"%PDF")


def test_everything_has_a_name_for_those_who_do_not_see_it(opened):
    tab = opened(STUDY, RECORDS)
    unnamed = """() => [...document.querySelectorAll('button, input, select, svg[role=img], table')].filter((element) =>
      !(element.getAttribute('aria-label') || element.textContent.trim() || element.labels?.length)).map((e) => e.outerHTML)"""
    assert tab.evaluate(unnamed) == []
    assert "ours: fastest on" in tab.locator("#performance-profile svg").get_attribute("aria-label")
    assert tab.locator("#accuracy").get_attribute("aria-valuetext") == "1e-4"
    tab.locator("#accuracy").focus()
    tab.keyboard.press("ArrowRight")
    settled(tab)
    assert tab.evaluate("() => cvxlinkStudy.state.judged") == pytest.approx(10**-4.1, rel=5e-3)


def test_lines_differ_without_their_colours(opened):
    names = [f"configuration {k}" for k in range(12)]
    study = solver_study(names)
    tab = opened(study, solver_records(study, 3))
    looks = tab.evaluate(
        """() => [...document.querySelectorAll('.chip')].map((chip) => [chip.querySelector('line').getAttribute('stroke-dasharray'),
        chip.querySelector('path').getAttribute('d'), chip.querySelector('line').getAttribute('stroke')].join('|'))"""
    )
    assert len(set(looks)) == 12 and len({look.rsplit("|", 1)[0] for look in looks}) == 12


# ---------------------------------------------------------------------- whatever the records are


def test_hostile_names_are_words(opened):
    study = solver_study(HOSTILE, title="</title><script>alert(0)</script>")
    records = solver_records(study, 2)
    for record, name in zip(records, HOSTILE * 2, strict=False):
        record |= {"instance": name, "reason": name, "log": name * 2, "plan": name, "versions": {name: name}}
    tab = opened(study, records, {name: {name: name} for name in HOSTILE})
    assert tab.title() == "</title><script>alert(0)</script>"
    shown = set(tab.locator(".chip bdi").evaluate_all("(all) => all.map((one) => one.textContent)"))
    assert shown == set(HOSTILE)
    instances = tab.locator("#all-cells tbody th bdi").evaluate_all("(all) => all.map((one) => one.textContent)")
    assert set(instances) == set(HOSTILE)
    for row in range(len(HOSTILE)):
        tab.locator("#all-cells tbody .open").nth(row).click()
        tab.locator("dialog[open]").wait_for()
        tab.keyboard.press("Escape")
    assert tab.locator("img").count() == 0 and tab.locator("script").count() == 2
    assert tab.evaluate("() => document.documentElement.scrollWidth") == 1280


@pytest.mark.parametrize("kind", ["none", "one", "all failed", "one proven", "bare"])
def test_small_and_sad_studies(opened, kind):
    study = solver_study()
    records = {
        "none": [],
        "one": solver_records(study, 1)[:1],
        "all failed": solver_records(study, 3, failing=1.0),
        "one proven": solver_records(study, 3, failing=1.0)[:5] + solver_records(study, 4, failing=0.0)[:1],
        "bare": [{"key": "k", "instance": "a", "configuration": "SCS", "accuracy": 1e-4, "reason": "lost"}],
    }[kind]
    tab = opened(study, records)
    for digits in (1, 12):
        move_slider(tab, digits)
    assert f"{len(records)} of {len(records)} cell" in tab.locator("#counted").inner_text()
    assert not re.search(r"NaN|undefined|Infinity|\[object", tab.locator("body").inner_text())
    assert not tab.evaluate("() => [...document.querySelectorAll('svg *')].filter((e) => [...e.attributes].some((a) => /NaN|undefined|Infinity/.test(a.value))).length")
    if records:
        tab.locator("#all-cells .open").first.click()
        tab.locator("dialog[open]").wait_for()


# ---------------------------------------------------------------------- studies of methods, and of functions


def test_scores_of_methods_are_those_of_python(opened):
    study = method_study()
    instances = expanded(study)
    records = method_records(study, [one.name for one in instances])
    tab = opened(study, records)
    names = [configuration.name for configuration in study.configurations]
    data = sorted({one.data for one in instances})
    for score, sign in (("ari", 1), ("error", -1)):
        tab.locator("#score").select_option(score)
        settled(tab)
        table = {(r["instance"], r["configuration"]): r["scores"][score] for r in records}
        values = np.array([[table[one.name, name] for name in names] for one in instances])
        blocks = np.array([values[[one.data == which for one in instances]].mean(axis=0) for which in data])
        draws = np.array([values[[one.draw == k for one in instances]].mean(axis=0) for k in range(3)])
        found = tab.evaluate(
            """(score) => { const s = cvxlinkStudy.scores(score); return { names: s.configurations, ranks: s.ranks(),
            intervals: s.intervals(), cd: s.criticalDifference }; }""",
            score,
        )
        assert found["names"] == names
        np.testing.assert_allclose(found["ranks"], mean_ranks(sign * blocks))
        assert found["cd"] == pytest.approx(critical_difference(len(names), len(data)))
        for k, one in enumerate(found["intervals"]):
            assert one["mean"] == pytest.approx(values[:, k].mean())
            assert one["half"] == pytest.approx(interval(draws[:, k])[1])
            assert summary_of(tab)[names[k]][score] == pytest.approx(values[:, k].mean())
        assert score in tab.locator("#ranks svg").get_attribute("aria-label")
        assert tab.locator("figure[id^=links-]").count() == 3


def test_hidden_methods_leave_the_ranking(opened):
    study = method_study()
    tab = opened(study, method_records(study, [one.name for one in expanded(study)]))
    tab.locator(".chip", has_text="NCuts").click()
    settled(tab)
    found = tab.evaluate("() => { const s = cvxlinkStudy.scores('ari'); return [s.configurations, s.ranks(), s.criticalDifference]; }")
    assert "NCuts" not in found[0] and sum(found[1]) == pytest.approx(6)
    assert found[2] == pytest.approx(critical_difference(3, 3))
    assert "NCuts" not in tab.locator("#ranks svg").text_content()


def test_methods_that_fail_are_counted_and_not_compared(opened):
    study = method_study(draws=2)
    records = method_records(study, [one.name for one in expanded(study)], failing=0.2)
    assert any("scores" not in record for record in records)
    tab = opened(study, records)
    shown = summary_of(tab)
    for name in shown:
        mine = [record for record in records if record["configuration"] == name]
        assert shown[name]["failures"] == sum("scores" not in record for record in mine)
    whole = len({r["instance"] for r in records}) - len({r["instance"] for r in records if "scores" not in r})
    assert f"the {whole} instance" in tab.locator("#intervals .note").inner_text()
    assert not re.search(r"NaN|undefined|Infinity", tab.locator("body").inner_text())
