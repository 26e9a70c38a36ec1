"""What a study found, in words: every number in them is the one that the records have."""

from __future__ import annotations

import re

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.studies.conclusions import conclusions
from cvxlink.studies.description import Study
from cvxlink.studies.phrases import counted, failed, listed, power
from cvxlink.studies.scores import Scores
from cvxlink.studies.statistics import holm, interval, signed_rank
from cvxlink.studies.summary import summary
from helpers.records import record, scored

SOLVERS = Study.of(
    {
        "title": "Two solvers",
        "instances": [{"library": "path_*"}],
        "configurations": [{"solver": "SCS"}, {"solver": "CLARABEL"}],
        "time_limit": 10,
    }
)


def of_methods(draws=3, methods=("KP", "PCP", "NCuts"), data=("iris",)):
    return Study.of(
        {
            "title": "Methods",
            "kind": "methods",
            "instances": [{"data": name, "links": [10, 20], "draws": draws} for name in data],
            "configurations": [{"method": name} for name in methods],
        }
    )


def sentence(found, words):
    (one,) = [line for line in found if words in line]
    return one


def both(name, first, second, **more):
    return [
        record(name, which, seconds or 1.0, seconds is not None, **more)
        for which, seconds in (("SCS", first), ("CLARABEL", second))
    ]


# ---------------------------------------------------------------------- solvers


def test_of_many_configurations_those_that_prove_the_most_are_named():
    names = ["A", "B, as printed", "C", "D", "E", "F", "G"]
    study = Study.of(
        {
            "title": "Many",
            "instances": [{"library": "path_*"}],
            "configurations": [
                {"name": name, "solver": "SCS", "options": {"alpha": k}} for k, name in enumerate(names)
            ],
        }
    )
    solved = {"a": "A B, as printed C D", "b": "A B, as printed"}
    records = [record(one, name, 1.0, name in solved[one]) for one in solved for name in names]
    assert conclusions(study, records)[0] == (
        "To an accuracy of 1e-4, 2 of 2 instances are proven by A / B, as printed; 1 by C / D; 3 other configurations "
        "prove fewer."
    )


def test_who_proves_what_and_how_fast():
    records = [*both("a", 1.0, 0.25), *both("b", 4.0, 1.0), *both("c", None, 0.5)]
    found = conclusions(SOLVERS, records)
    assert found[0] == ("To an accuracy of 1e-4, CLARABEL proves 3 of 3 instances and SCS proves 2 of 3 instances.")
    mean = ((0.25 + 0.1) * 1.1 * 0.6) ** (1 / 3) - 0.1
    assert f"CLARABEL takes {mean:.3g} s" in sentence(found, "shifted geometric mean")
    assert "CLARABEL on 3" in sentence(found, "fastest") and "SCS on" not in sentence(found, "fastest")
    assert "SCS claims optimality on 1 instance where its certificate does not" in sentence(found, "claims optimality")
    assert sentence(found, "Failures by kind") == "Failures by kind at 1e-4: SCS: 1 wrong."
    assert sentence(found, "little about others") == "Caution: 3 instances say little about others."


def test_nothing_is_said_where_there_is_nothing_to_say():
    assert conclusions(SOLVERS, []) == ["Nothing is computed yet."]
    records = [one for k in range(12) for one in both(str(k), 1.0, 1.0)]
    found = conclusions(SOLVERS, records)
    assert len(found) == 2 and "about the same" in found[1]


def test_a_refuted_certificate_comes_first_and_loud():
    known = {"reference": {"value": 5.0, "tolerance": 1e-6}}
    found = conclusions(SOLVERS, [*both("a", 1.0, 1.0), *both("b", 1.0, 1.0, **known)])
    assert len([line for line in found if line.startswith("A certificate is refuted")]) == 2
    assert found[0].startswith("A certificate is refuted: SCS on b: 1 is certified to 1e-06, but the optimum is 5")
    assert "proves 1 of 2" in found[2]


def test_what_nobody_proves_is_named():
    records = [one for k in range(6) for one in both(f"hard {k}", None, None)]
    found = conclusions(SOLVERS, [*records, *both("easy", 1.0, None)])
    assert "No configuration proves hard 0, hard 1, hard 2 and 3 more to 1e-4." in found


def test_rows_of_other_tools_do_not_count():
    records = both("a", 1.0, 1.0)
    outside = record("a", "GUROBI", 0.001, outside=True)
    assert conclusions(SOLVERS, [*records, outside]) == conclusions(SOLVERS, records)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"versions": {"numpy": "3"}}, r"different versions of numpy (2, 3)"),
        ({"environment": "other"}, "computed in 2 environments"),
        ({"throttled": 3}, "slowed down by heat during 1 cell,"),
    ],
)
def test_what_weakens_the_findings_is_said(change, words):
    usual = {"load": [1.0, 1.1], "versions": {"numpy": "2"}, "environment": "here"}
    records = [one for k in range(12) for one in both(str(k), 1.0, 1.0, **usual)]
    assert not [line for line in conclusions(SOLVERS, records) if "Caution" in line]
    found = conclusions(SOLVERS, [*records[:-1], records[-1] | change])
    assert words in sentence(found, "Caution")


def test_what_is_known_of_the_machines_is_used():
    usual = {"load": [2.2, 2.4], "environment": "here"}
    records = [one for k in range(12) for one in both(str(k), 1.0, 1.0, **usual)]
    assert not conclusions(SOLVERS, records, environments={"here": {"cores": 4}})[2:]
    (busy,) = conclusions(SOLVERS, records, environments={"here": {"cores": 1}})[2:]
    assert "more processes wanted a core than there are cores during 24 of 24 cells" in busy
    records[0] |= {"environment": "there"}
    machines = {"here": {"cores": 4, "cpu": "A"}, "there": {"cores": 4, "cpu": "B"}}
    (differ,) = conclusions(SOLVERS, records, environments=machines)[2:]
    assert "2 environments, which differ in cpu;" in differ


def test_missing_cells_and_a_load_that_is_unknown():
    found = conclusions(SOLVERS, [*both("a", 1.0, 1.0, load=[float("nan"), None]), *both("b", 1.0, 1.0)[:1]])
    assert "1 of 4 cells on these instances are not computed yet" in sentence(found, "not computed")
    assert not [line for line in found if "processes" in line]


def test_without_the_number_of_cores_nothing_is_said_about_them():
    records = [one for k in range(12) for one in both(str(k), 1.0, 1.0, load=[1.0, 1.0], environment="here")]
    records[0] |= {"load": [50.0, 50.0]}
    records[1] |= {"load": [50.0, 50.0], "environment": "there"}
    for machines in ({}, {"here": {"cores": None}, "there": {}}):
        assert not [line for line in conclusions(SOLVERS, records, environments=machines) if "processes" in line]
    found = conclusions(SOLVERS, records, environments={"here": {"cores": 4}})
    assert "during 1 of 23 cells" in sentence(found, "processes wanted a core")


# ---------------------------------------------------------------------- methods


def drawn(values, data=("iris",), links=(10, 20)):
    """Records with values[method][data set, number of links, draw]."""
    return [
        scored(f"{name}, {number} links, draw {draw + 1}", method, ari=float(table[i, j, draw]))
        for method, table in values.items()
        for i, name in enumerate(data)
        for j, number in enumerate(links)
        for draw in range(table.shape[2])
    ]


def test_means_and_intervals_are_paired_over_draws():
    rng = np.random.default_rng(0)
    base = rng.random((1, 2, 8))
    values = {"KP": base + 0.5, "PCP": base, "NCuts": rng.random((1, 2, 8)) - 1}
    scores = Scores.of(of_methods(8), drawn(values))
    assert scores.unit == "draws of links" and scores.values.shape == (16, 3) and scores.by_draw.shape == (8, 3)
    np.testing.assert_allclose(scores.means, [table.mean() for table in values.values()])
    np.testing.assert_allclose(scores.by_draw[:, 1], base.mean(axis=(0, 1)))
    assert scores.halves[1] == pytest.approx(interval(base.mean(axis=(0, 1)))[1])
    # The draws vary much, and KP is ahead by the same in each of them: what is paired is certain.
    behind, half = scores.behind(1)
    assert behind == pytest.approx(0.5) and half == pytest.approx(0, abs=1e-12) and scores.halves[1] > 0.05


def test_data_sets_are_the_blocks_where_there_are_several():
    rng = np.random.default_rng(1)
    study = of_methods(4, data=("iris", "wine", "wdbc"))
    values = {name: rng.random((3, 2, 4)) for name in ("KP", "PCP", "NCuts")}
    scores = Scores.of(study, drawn(values, ("iris", "wine", "wdbc")))
    assert scores.unit == "data sets"
    np.testing.assert_allclose(scores.blocks, np.transpose([table.mean(axis=(1, 2)) for table in values.values()]))
    found = conclusions(study, drawn(values, ("iris", "wine", "wdbc")))
    assert "3 data sets are too few for Wilcoxon's test to find a difference between two methods." in found
    # Three pairs and three blocks: 3 · 2/8, so nothing could come out below 5 %.
    assert scores.least_p == pytest.approx(0.75)


def test_differences_are_called_significant_when_they_are():
    rng = np.random.default_rng(2)
    base = rng.random((1, 2, 12))
    values = {"KP": base + 0.3, "PCP": base, "NCuts": base + 0.01 * rng.normal(size=(1, 2, 12))}
    study = of_methods(12)
    found = conclusions(study, drawn(values))
    scores = Scores.of(study, drawn(values))
    columns = scores.by_draw.T
    p = holm([signed_rank(columns[a] - columns[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
    assert f"KP beats PCP (p = {p[0]:.2g}) and KP beats NCuts (p = {p[1]:.2g})" in sentence(found, "Significant")
    assert f"PCP and NCuts (p = {p[2]:.2g})" in sentence(found, "not significant")
    friedman = sentence(found, "Friedman")
    assert "the ranks of the methods differ significantly (p = " in friedman
    assert friedman.endswith("; this says nothing about other data than iris.")
    assert sentence(found, "best mean").startswith("KP has the best mean ari")


def test_less_is_better_for_errors():
    base = np.random.default_rng(3).random((1, 2, 12))
    values = {"KP": base, "PCP": base + 0.2, "NCuts": base + 0.4}
    records = [{**one, "scores": {"error": one["scores"]["ari"]}} for one in drawn(values)]
    found = conclusions(of_methods(12), records, "error")
    assert sentence(found, "best mean").startswith("KP has") and "0.200 ± 0.000 behind" in sentence(found, "best mean")
    assert "KP beats PCP" in sentence(found, "Significant")
    np.testing.assert_allclose(Scores.of(of_methods(12), records, "error").ranks, [1, 2, 3])


def test_only_what_all_have_scored_is_compared():
    values = {name: np.full((1, 2, 3), level) for name, level in (("KP", 0.9), ("PCP", 0.5), ("NCuts", 0.1))}
    records = drawn(values)
    records[0] = scored(records[0]["instance"], "KP")  # it fails on the first draw with ten links
    scores = Scores.of(of_methods(3), records)
    assert (len(scores.values), scores.rows, len(scores.by_draw)) == (5, 6, 2)
    found = conclusions(of_methods(3), records)
    assert "KP fails on 1 cell of iris: it failed." in found
    assert "leaves out 1 of 6 instances of iris, where not all" in sentence(found, "Caution: the ranking")
    nothing = [one for one in records if one["configuration"] != "PCP"]
    found = conclusions(of_methods(3), nothing)
    assert "No instance is scored by all methods" in found[0] and not any("the ranking" in line for line in found)
    assert "KP" in summary(of_methods(3), nothing)


def test_data_on_which_nothing_works_are_said_once_with_the_reason():
    study = of_methods(3, data=("iris", "wine"))
    values = {name: np.full((2, 2, 3), level) for name, level in (("KP", 0.9), ("PCP", 0.5), ("NCuts", 0.1))}
    records = drawn(values, ("iris", "wine"))
    for k, one in enumerate(records):
        if one["instance"].startswith("wine"):
            records[k] = scored(one["instance"], one["configuration"]) | {"reason": f"row {k} of wine has no class"}
    found = conclusions(study, records)
    (line,) = [line for line in found if "no class" in line]
    assert re.fullmatch(r"wine: no method could be scored \(6 cells each\): row \d+ of wine has no class.", line)
    assert not [line for line in found if "fail" in line]
    assert sentence(found, "the ranking") == (
        "Caution: the ranking leaves out 6 of 6 instances of wine, where not all methods could be scored."
    )


def test_reasons_that_methods_share_are_said_once():
    records = drawn({name: np.full((1, 2, 3), level) for name, level in (("KP", 0.9), ("PCP", 0.5), ("NCuts", 0.1))})
    for k, why in ((0, "seed 3 is odd"), (6, "seed 4 is odd"), (7, "seed 5 is odd"), (12, "no eigenvalues")):
        records[k] = scored(records[k]["instance"], records[k]["configuration"]) | {"reason": why}
    found = [line for line in conclusions(of_methods(3), records) if "fail" in line]
    assert found == [
        "KP (1) and PCP (2) fail on cells of iris: seed 3 is odd.",
        "NCuts fails on 1 cell of iris: no eigenvalues.",
    ]


def test_words_for_limits_accuracies_and_scores():
    found = conclusions(SOLVERS, [*both("a", 1.0, 1.0), record("b", "SCS", 10.0, False, stopped_by="time", value=None)])
    assert sentence(found, "Failures by kind") == "Failures by kind at 1e-4: SCS: 1 stopped at the time limit."
    assert "On the one instance on which all have a result" in sentence(found, "shifted geometric mean")
    assert failed(2, "memory limit") == "2 stopped at the memory limit" and failed(3, "wrong") == "3 wrong"
    assert [power(value) for value in (1e-4, 2.5e-7, 1e-10, 0.0, 20.0)] == ["1e-4", "2.5e-7", "1e-10", "0", "2e1"]
    of_three = drawn({name: np.full((1, 2, 3), 0.5) for name in ("KP", "PCP", "NCuts")})
    assert "mean ari (adjusted Rand index): 0.5" in sentence(conclusions(of_methods(3), of_three), "best mean")


def test_a_score_that_is_not_there_is_named():
    records = drawn({name: np.full((1, 2, 3), 0.5) for name in ("KP", "PCP", "NCuts")})
    with pytest.raises(cl.InvalidInput, match="there is no score 'nmi'; there are ari"):
        summary(of_methods(3), records, "nmi")


# ---------------------------------------------------------------------- the report


def test_the_report_begins_with_the_conclusions_and_has_the_numbers():
    records = [*both("a", 1.0, 0.25, dimacs=[2e-7], megabytes=64.2), *both("b", 4.0, 1.0), *both("c", None, 0.5)]
    text = summary(SOLVERS, records)
    lines = text.splitlines()
    assert lines[0] == "Two solvers" and lines[2].startswith("• To an accuracy of 1e-4, CLARABEL proves 3 of 3")
    (row,) = [
        line.split()
        for line in lines
        if line.startswith("CLARABEL") and "3 of 3 " in line and "%" not in line and "–" not in line
    ]
    assert row[1:4] == ["3", "of", "3"]
    assert any("2e-7" in line and "64" in line and "1 of 3" in line for line in lines)
    assert max(map(len, lines)) <= 160 and not any(line != line.rstrip() for line in lines)


def test_time_that_is_not_solving_is_told_apart():
    fast = {"timings": {"reduce": 0.1, "compile": 0.7, "solve": 0.1, "lift": 0.1, "certify": 9.0}}
    slow = {"timings": {"reduce": 0.1, "compile": 0.1, "solve": 1.8, "lift": 0.0}}
    records = [record(name, "SCS", 1.0, **fast) for name in "ab"] + [record(x, "CLARABEL", 2.0, **slow) for x in "ab"]
    found = sentence(conclusions(SOLVERS, records), "is not solving")
    assert found.startswith("Caution: at 1e-4, more than half of the median time of SCS is not solving but reducing")
    text = summary(SOLVERS, records)
    (row,) = [line.split() for line in text.splitlines() if line.startswith("SCS") and "2 of 2" in line]
    assert row[:6] == ["SCS", "2", "of", "2", "1", "0.2"]
    assert "mean wall seconds" in text and "mean solve seconds" in text and "reduce + compile / solve / certify" in text
    assert "from the declared program to the answer, without certifying" in " ".join(text.split())
    del records[0]["timings"]
    assert "mean solve seconds" not in summary(SOLVERS, records)


def test_names_of_others_do_not_steer_the_terminal():
    text = summary(SOLVERS, [record("a", "[red]\x1b[31mSCS[/red]", 1.0), record("a", "CLARABEL", 2.0)])
    assert "\x1b" not in text and "[red]\\x1b[31mSCS[/red]" in text


def test_lists_and_counts():
    assert listed(["a"]) == "a" and listed(["a", "b"]) == "a and b"
    assert listed(list("abcde"), 3) == "a, b, c and 2 more" and listed(list("abcd"), 3) == "a, b, c and d"
    assert counted(1, "cell") == "1 cell" and counted(0, "cell") == "0 cells"
