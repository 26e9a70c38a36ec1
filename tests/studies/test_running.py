"""Runs that are killed, damaged, repeated: nothing is lost, nothing is computed twice."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys

import pytest
from sklearn.metrics import adjusted_rand_score

import cvxlink as cl
from cvxlink.studies.description import Study
from cvxlink.studies.judging import outcome
from cvxlink.studies.results import records as records_of
from cvxlink.studies.running import StudyFailed, run, standing
from cvxlink.studies.store import Store, StudyBusy, merged
from helpers.small_study import MEASURED

STUDY = {
    "title": "Small",
    "accuracy": [1e-4],
    "time_limit": 30,
    "instances": [{"library": "path_*"}, {"library": "two_components"}],
    "configurations": [{"solver": "SCS"}, {"name": "ours"}],
}
BEGUN = """
import sys
from cvxlink.studies.description import Study
from cvxlink.studies.running import run
run(Study.of({study!r}), sys.argv[1], tell=lambda now, record: print(now.finished, flush=True))
"""


def told(record):
    return {key: value for key, value in record.items() if key not in MEASURED}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, run(Study.of(STUDY), folder)


def test_all_are_proven_and_a_second_run_computes_nothing(undisturbed):
    folder, records = undisturbed
    assert len(records) == 6 and {str(outcome(record)) for record in records} == {"proven"}
    content = (folder / "results.jsonl").read_bytes()
    calls = []
    again = run(Study.of(STUDY), folder, tell=lambda now, record: calls.append(now))
    assert not calls and (folder / "results.jsonl").read_bytes() == content
    assert [told(record) for record in again] == [told(record) for record in records]


def test_values_are_the_proven_optima_of_the_library(undisturbed):
    for record in undisturbed[1]:
        reference = cl.instances.load(record["instance"]).reference
        assert reference.off(record["value"]) <= 1e-4
        assert record["claimed"] == "OPTIMAL" and record["proven_to"] <= 1e-4
        assert record["timings"]["solve"] <= record["seconds"] <= record["whole_seconds"]
        assert record["versions"]["cvxlink"] == cl.__version__ and record["megabytes"] > 10


def test_a_run_that_is_killed_goes_on_and_ends_like_an_undisturbed_one(undisturbed, tmp_path):
    script = tmp_path / "begun.py"
    script.write_text(BEGUN.format(study=STUDY))
    for _ in range(2):
        with subprocess.Popen([sys.executable, script, tmp_path / "out"], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()  # at least one more cell is finished
            process.send_signal(signal.SIGKILL)
    so_far = len(Store(tmp_path / "out").records())
    assert so_far >= 2
    finished = []
    records = run(Study.of(STUDY), tmp_path / "out", tell=lambda now, record: finished.append(record["key"]))
    assert len(finished) == 6 - so_far
    assert {r["key"]: told(r) for r in records} == {r["key"]: told(r) for r in undisturbed[1]}


def test_two_runs_on_one_folder_are_refused(tmp_path):
    with Store(tmp_path).writer(), pytest.raises(StudyBusy, match="another run writes"):
        run(Study.of(STUDY), tmp_path)


def test_damaged_lines_are_set_aside_and_computed_again(undisturbed, tmp_path):
    lines = (undisturbed[0] / "results.jsonl").read_text().splitlines()
    lines[2] = lines[2][:40] + "\x00" + lines[2][60:]
    (tmp_path / "results.jsonl").write_text("\n".join(lines)[:-5])  # the last line is cut short, too
    now = standing(Study.of(STUDY), tmp_path)
    assert (now.finished, now.damaged) == (4, 2)
    records = run(Study.of(STUDY), tmp_path)
    assert {r["key"]: told(r) for r in records} == {r["key"]: told(r) for r in undisturbed[1]}
    assert len((tmp_path / "damaged.jsonl").read_bytes().splitlines()) == 2
    assert all(json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines())


def test_other_versions_are_noticed(undisturbed, tmp_path, monkeypatch):
    (tmp_path / "results.jsonl").write_bytes((undisturbed[0] / "results.jsonl").read_bytes())
    monkeypatch.setattr("cvxlink.studies.cells.versions_with", lambda solver: {"cvxpy": "9"})
    now = standing(Study.of(STUDY), tmp_path)
    assert (now.finished, now.other_versions) == (0, 6) and "other versions" in str(now)
    assert {r["key"] for r in records_of(Study.of(STUDY), tmp_path)} == {r["key"] for r in undisturbed[1]}


def test_results_of_two_folders_are_merged_once(undisturbed, tmp_path):
    folder, records = undisturbed
    half = tmp_path / "half"
    half.mkdir()
    (half / "results.jsonl").write_bytes(b"".join((folder / "results.jsonl").read_bytes().splitlines(True)[:3]))
    assert merged([folder, half], tmp_path / "all") == 6
    assert merged([half], tmp_path / "all") == 0
    assert {r["key"] for r in Store(tmp_path / "all").records()} == {r["key"] for r in records}
    with pytest.raises(cl.InvalidInput, match="no results in"):
        merged([tmp_path / "nowhere"], tmp_path / "all")


def test_a_full_disk_ends_the_run_with_what_it_has(tmp_path):
    script = tmp_path / "begun.py"
    script.write_text(BEGUN.format(study=STUDY))

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    ended = subprocess.run(
        [sys.executable, script, tmp_path / "out"], capture_output=True, text=True, preexec_fn=little_room, check=False
    )
    assert ended.returncode == 1 and "what was computed before is kept" in ended.stderr
    kept = Store(tmp_path / "out").records()
    assert kept and (tmp_path / "out" / "results.jsonl").read_bytes().endswith(b"\n")
    assert len(run(Study.of(STUDY), tmp_path / "out")) == 6


def test_limits_refusals_and_crashes_are_results(tmp_path, monkeypatch):
    (tmp_path / "trouble.py").write_text(
        "import os, time\nfrom dataclasses import dataclass\nimport cvxlink as cl\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Slow(cl.PCP):\n"
        "    def constraints(self, K):\n        time.sleep(60)\n        return super().constraints(K)\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Dies(cl.PCP):\n"
        "    def constraints(self, K):\n        os.abort()\n\n"
        "@dataclass(frozen=True, eq=False)\nclass Raises(cl.PCP):\n"
        "    def constraints(self, K):\n        raise KeyError('unit')\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    own = [{"data": "iris", "links": 5, "formulation": f"trouble:{name}"} for name in ("Slow", "Dies", "Raises")]
    study = Study.of(
        {
            "title": "Trouble",
            "time_limit": 3,
            "instances": [*own, {"library": "path_ends_apart"}],
            "configurations": [{"solver": "SCS"}, {"solver": "SCS", "form": "no such form"}],
        }
    )
    found = {
        (r["instance"].split(" on ")[0], r["configuration"]): str(outcome(r)) for r in run(study, tmp_path / "out")
    }
    assert found["trouble:Slow", "SCS"] == "time limit"
    assert found["trouble:Dies", "SCS"] == "crash"
    assert found["trouble:Raises", "SCS"] in ("error", "refused")
    assert found["path_ends_apart", "SCS"] == "proven"
    assert found["path_ends_apart", "SCS, no such form"] == "refused"
    alone = Study.of({"title": "None", "instances": own[2:], "configurations": [{"solver": "SCS"}]})
    with pytest.raises(StudyFailed, match=r"all 1 cells failed; SCS: .*KeyError: 'unit' \(trouble.py, line 19\)"):
        run(alone, tmp_path / "none")


def test_methods_are_scored_on_the_same_links(tmp_path):
    study = Study.of(
        {
            "title": "Methods",
            "kind": "methods",
            "instances": [{"data": "iris", "links": [20], "draws": 2}],
            "configurations": [{"method": "KP"}, {"method": "NCuts"}, {"name": "again", "method": "KP"}],
        }
    )
    records = run(study, tmp_path, jobs=2)
    scores = {(r["instance"], r["configuration"]): r["scores"] for r in records}
    for draw in ("iris, 20 links, draw 1", "iris, 20 links, draw 2"):
        assert scores[draw, "KP"] == scores[draw, "again"]
    X, y = cl.datasets.load("iris")
    links = cl.Links.sample(y, n_links=20, random_state=1)
    labels = cl.ConstrainedClustering(3, method="KP", random_state=1).fit(X, links=links).labels_
    assert scores["iris, 20 links, draw 2", "KP"]["ari"] == pytest.approx(adjusted_rand_score(y, labels))


def test_when_all_fail_each_configuration_has_its_reason(tmp_path):
    (tmp_path / "fails.py").write_text(
        "def one(k):\n    raise ValueError('x' * 1000)\n\n\ndef other(k):\n    raise KeyError('k' if k else 'zero')\n"
    )
    names = [{"run": "fails:one"}, {"run": "fails:other"}, {"run": "fails:other", "name": "same"}]
    study = {"title": "t", "kind": "functions", "instances": [{"over": {"k": [0, 1, 2]}}], "configurations": names}
    begun, told = [], []
    with pytest.raises(StudyFailed) as raised:
        run(
            Study.of(study, tmp_path),
            tmp_path / "out",
            tell=lambda *words: told.append(words),
            begin=lambda now: begun.append((str(now), len(told))),
        )
    said = str(raised.value)
    assert said.startswith("all 9 cells failed; fails:one: ValueError: xxx") and len(said) < 600
    assert "; fails:other, same: KeyError: 'k' (fails.py, line 6)" in said and said.count("KeyError") == 1
    assert begun == [("0 of 9 cells finished", 0)] and len(told) == 9
    assert str(standing(Study.of(study, tmp_path), tmp_path / "out")) == "9 of 9 cells finished, 9 of them failures"


def test_the_command_line_runs_reports_and_exports(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(
        'title = "Small"\n[[instances]]\nlibrary = "path_ends_apart"\n'
        '[[configurations]]\nsolver = "SCS"\n[[configurations]]\nsolver = "CLARABEL"\n'
    )

    def command(*words):
        line = [sys.executable, "-m", "cvxlink", "study", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ), check=False)

    nothing = command("resume", file)
    assert nothing.returncode == 1 and "nothing to resume" in nothing.stderr
    part = command("run", file, "--only", "SCS")
    assert part.returncode == 0 and "1 of 1" in part.stdout and "CLARABEL" not in part.stdout
    assert "1 of 2 cells finished" in command("status", file).stdout
    whole = command("resume", file)
    assert whole.returncode == 0 and "CLARABEL" in whole.stdout
    # What is known of the machine is used by both commands alike.
    results = tmp_path / "small-results" / "results.jsonl"
    records = [json.loads(line) | {"load": [1e4, 1e4]} for line in results.read_text().splitlines()]
    results.write_text("".join(json.dumps(record) + "\n" for record in records))
    for what in ("run", "report"):
        told = " ".join(command(what, file).stdout.split())
        assert "more processes wanted a core than there are cores during 2 of 2 cells" in told
    assert command("export", file, "--out", "cells.csv").returncode == 0
    rows = (tmp_path / "cells.csv").read_text().splitlines()
    assert len(rows) == 3 and rows[0].startswith("instance,configuration,accuracy,repeat,outcome")
    assert "must end in .csv" in command("export", file, "--out", "cells.xls").stderr
    assert "no cell has 'GUROBI'" in command("run", file, "--only", "GUROBI").stderr
