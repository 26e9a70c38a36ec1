"""The page on narrow screens, on paper, for those who do not see it, with hostile names, and for studies of methods."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cvxlink.studies.cells import expanded
from cvxlink.studies.description import Study
from cvxlink.studies.statistics import critical_difference, interval, mean_ranks
from helpers.pages import (
    HOSTILE,
    method_records,
    method_study,
    move_slider,
    settled,
    solver_records,
    solver_study,
    summary_of,
)

STUDY = solver_study(accuracy=[1e-4, 1e-6])
RECORDS = solver_records(STUDY, 12)


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


def test_many_sentences_are_folded_and_all_are_printed(opened):
    study = solver_study([f"configuration {k}" for k in range(9)])
    records = [
        r | {"gap": 0.3, "claimed": "OPTIMAL", "value": 1.0, "proven_to": None} for r in solver_records(study, 2)
    ]
    tab = opened(study, records)
    folded = tab.locator("#findings details li")
    assert folded.count() > 2 and not folded.first.is_visible()
    assert tab.locator("#findings > ul > li", has_text="Caution").first.is_visible()
    tab.locator("#findings summary").press("Enter")
    assert folded.first.is_visible()
    tab.locator("#findings summary").press("Enter")
    assert not folded.first.is_visible()
    tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert folded.last.is_visible()


def test_everything_has_a_name_for_those_who_do_not_see_it(opened):
    tab = opened(STUDY, RECORDS)
    unnamed = """(all) => all.filter((one) => !one.getAttribute('aria-label') && !one.textContent.trim()
      && !one.labels?.length).map((one) => one.outerHTML)"""
    assert tab.locator("button, input, select, svg[role=img], table").evaluate_all(unnamed) == []
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
    look = "[line.getAttribute('stroke-dasharray'), marker.getAttribute('d'), line.getAttribute('stroke')].join('|')"
    parts = "const [line, marker] = ['line', 'path'].map((tag) => chip.querySelector(tag));"
    looks = tab.locator(".chip").evaluate_all(f"(chips) => chips.map((chip) => {{ {parts} return {look}; }})")
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
    broken = "(all) => all.some((one) => [...one.attributes].some((a) => /NaN|undefined|Infinity/.test(a.value)))"
    assert not tab.locator("svg *").evaluate_all(broken)
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
    found = tab.evaluate(
        "() => { const s = cvxlinkStudy.scores('ari'); return [s.configurations, s.ranks(), s.criticalDifference]; }"
    )
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


def test_charts_without_anything_in_them_are_left_out(opened):
    study = method_study(draws=2)
    records = method_records(study, [one.name for one in expanded(study)])
    lost = {one.name for one in expanded(study) if str(one.data) == "wine"}
    assert lost
    for record in records:
        if record["instance"] in lost:
            del record["scores"]
    tab = opened(study, records)
    assert tab.locator("#links-wine").count() == 0 and tab.locator("figure[id^=links-]").count() == 2
    for record in records:
        if record["configuration"] == "KP":
            record.pop("scores", None)
    tab = opened(study, records)
    assert (
        tab.locator("#intervals").count() == 0 and "There is no instance with ari" in tab.locator("body").inner_text()
    )
    study = solver_study()
    tab = opened(study, solver_records(study, 3, failing=1.0))
    assert tab.locator("#performance-profile, #data-profile, #means").count() == 0
    assert "Nothing is proven to this accuracy" in tab.locator("#sections").inner_text()


def test_ties_and_scores_are_named(opened):
    study = method_study(data=("iris",), draws=4)
    records = method_records(study, [one.name for one in expanded(study)])
    for record in records[:8]:
        record["scores"]["ari"] = 0.5
    tab = opened(study, records)
    table = {(r["instance"], r["configuration"]): r["scores"]["ari"] for r in records}
    names = [one.name for one in study.configurations]
    same = [[sum(table[o.name, a] == table[o.name, b] for o in expanded(study)) for b in names] for a in names]
    assert same[0][1] >= 1
    shown = tab.locator("#wins tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.querySelectorAll('td')].map((cell) => cell.dataset.ties ?? null))"
    )
    assert shown == [[None if a == b else str(same[a][b]) for b in range(4)] for a in range(4)]
    assert "= 2" in tab.locator("#wins").inner_text()
    assert "share of links that are violated" in tab.locator("#summary thead").inner_text()
    assert "ari (adjusted Rand index)" in tab.locator("#score").inner_text()


def test_long_names_show_their_ends(opened):
    beginning = "a family of instances and configurations with the same beginning, which is long, number"
    study = solver_study([f"{beginning} {k}" for k in (1, 2)], accuracy=[1e-4, 1e-6])
    tab = opened(study, solver_records(study, 3))
    assert tab.locator("#asked-for").inner_text() == "At the accuracies asked for:"
    for text in tab.locator("#means svg text", has_text="…").all_text_contents():
        assert text.startswith("a fam") and text.endswith(("1", "2"))
    assert tab.locator("#means svg text", has_text="…").count() == 2
    # What a table shows of a name is all of it.
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert tab.locator("#summary bdi, #all-cells bdi, .chip bdi").evaluate_all(cut) == 0


def test_numbers_of_functions_are_all_there(opened):
    study = Study.of(
        {
            "title": "Functions",
            "kind": "functions",
            "instances": [{"name": f"n {n}", "options": {"n": n}} for n in (1, 2, 3)],
            "configurations": [{"name": name, "run": "helpers.pages:solver_study"} for name in ("quick", "slow")],
        }
    )
    random = np.random.default_rng(3)
    records = [
        {"key": f"{name}{n}", "instance": f"n {n}", "configuration": name, "accuracy": 1e-4, "repeat": 0}
        | {"seconds": n, "scores": {"cost": random.normal(), "<b>": -float(n)}, "words": {"kind": "text <i>"}}
        for n in (1, 2, 3)
        for name in ("quick", "slow")
    ]
    del records[0]["scores"]
    tab = opened(study, records)
    shown = summary_of(tab)
    for name in shown:
        mine = [record["scores"] for record in records if record["configuration"] == name and "scores" in record]
        assert shown[name]["cost"] == pytest.approx(np.mean([scores["cost"] for scores in mine]))
        assert shown[name]["<b>"] == pytest.approx(np.mean([scores["<b>"] for scores in mine]))
    assert shown["quick"]["failures"] == 1 and shown["slow"]["failures"] == 0
    heads = tab.locator("#all-cells thead th").all_inner_texts()
    assert [any(head.startswith(name) for head in heads) for name in ("cost", "<b>")] == [True, True]
    assert tab.locator("#ranks").count() == 0
    assert tab.locator("#links-n h3").inner_text() == "cost by n"
    tab.locator("#all-cells tbody tr", has_text="slow").first.locator(".open").click()
    assert "text <i>" in tab.locator("dialog[open]").inner_text()


def test_rows_of_other_tools_are_claims_and_in_no_figure(opened):
    outside = {"key": "o", "instance": "instance_0", "configuration": "OTHER", "accuracy": None, "seconds": 1e-3}
    outside |= {"claimed": "OPTIMAL", "outside": True}
    tab = opened(STUDY, [*RECORDS, outside])
    first = tab.locator(".claims tbody tr").first.inner_text()
    assert "OTHER" in first and "another tool" in first and tab.locator(".claims tbody tr").count() == 4
    assert "OTHER" not in summary_of(tab)
    assert tab.locator("#performance-profile path.line").count() == 3
    assert "4 of 4" not in first and "1 of 1" in first
    facts = tab.locator("#facts").inner_text()
    assert f"{len(STUDY.configurations)} configurations" in facts and f"{len(RECORDS)} cells" in facts
    assert "1 row of other tools" in facts
    tab.locator("#query").fill("other")
    assert tab.locator("#all-cells tbody tr .outcome").inner_text() == "claims optimal"
