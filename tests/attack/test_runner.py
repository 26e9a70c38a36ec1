"""The runner: what a case does to its process is a finding, and a run that was interrupted goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from attack.__main__ import _Store
from attack.cases import Case, Record, play
from attack.findings import FALSE_CLAIM, HANG, RAW_ERROR
from attack.runner import play_all
from helpers.misbehaving import WAYS

FUZZER = "helpers.misbehaving"


def numbers_by_way() -> dict[int, int]:
    """The first case of each way to misbehave."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < len(WAYS):
        found.setdefault(int(Case(FUZZER, number).rng().integers(len(WAYS))), number)
        number += 1
    return found


@pytest.mark.slow
def test_what_a_case_does_to_its_process_is_a_finding_and_the_others_go_on():
    numbers = numbers_by_way()
    records: list[Record] = []
    play_all((Case(FUZZER, numbers[way]) for way in range(len(WAYS))), 1, records.append)
    found = {record.case: [(f["kind"], f["what"]) for f in record.findings] for record in records}
    by_way = [found[f"{FUZZER}:{numbers[way]}"] for way in range(len(WAYS))]
    assert by_way[0] == []
    assert [kinds[0][0] for kinds in by_way[1:]] == [RAW_ERROR, RAW_ERROR, RAW_ERROR, HANG, FALSE_CLAIM]
    assert "ZeroDivisionError" in by_way[1][0][1]
    assert "exit code 0" in by_way[2][0][1] and "SIGSEGV" in by_way[3][0][1]
    assert records[0].tally == {WAYS[0]: 1} and records[5].tally == {WAYS[5]: 1}


def test_a_case_follows_from_seed_name_and_number():
    def draw(case: Case) -> float:
        return float(case.rng().random())

    assert draw(Case("programs", 3, 1)) == draw(Case("programs", 3, 1))
    others = [Case("programs", 4, 1), Case("programs", 3, 2), Case("files", 3, 1)]
    assert len({draw(case) for case in [Case("programs", 3, 1), *others]}) == 4


def test_a_record_that_was_cut_short_is_played_again(tmp_path):
    store = _Store(tmp_path, 0)
    store.add(Record("programs:0", tally={"OPTIMAL": 1}))
    store.add(Record("programs:1"))
    with open(store.path, "a") as file:
        file.write('{"case": "programs:2", "find')
    again = _Store(tmp_path, 0)
    assert list(again.records) == ["programs:0", "programs:1"] and again.records["programs:0"].tally == {"OPTIMAL": 1}
    again.add(Record("programs:2"))
    assert [json.loads(line)["case"] for line in again.path.read_text().splitlines()][-1] == "programs:2"


def test_findings_are_one_line():
    record = Record("programs:0").found(FALSE_CLAIM, "two\nlines " + "x" * 5000)
    assert "\n" not in record.findings[0]["what"] and len(record.findings[0]["what"]) < 1000


def test_what_a_case_draws_does_not_depend_on_the_one_before():
    first = play(Case(FUZZER, 0)).tally
    np.random.random(100)
    assert play(Case(FUZZER, 0)).tally == first


@pytest.mark.slow
def test_a_run_goes_on_and_its_exit_code_tells(tmp_path):
    def attack(count: int) -> subprocess.CompletedProcess:
        words = ["--only", "programs", "--programs", str(count), "--jobs", "1", "--out", str(tmp_path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [sys.executable, "-m", "attack", *words], env=environment, capture_output=True, text=True, timeout=600
        )

    done = attack(2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "programs: 2 cases" in done.stdout and "claimed: " in done.stdout
    with open(tmp_path / "seed-0.jsonl", "a") as file:  # an earlier finding counts
        file.write(json.dumps({"case": "programs:2", "findings": [{"kind": FALSE_CLAIM, "what": "planted"}]}) + "\n")
    done = attack(4)
    assert done.returncode == 1 and "3 of 4 cases were played before" in done.stdout
    assert f"{FALSE_CLAIM} 1" in done.stdout and "REPLAY=programs:2" in done.stdout
