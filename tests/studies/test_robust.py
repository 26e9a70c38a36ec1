"""Whatever is killed, damaged or full: what is on the disk stays, and nothing is left running."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import cvxlink as cl
from cvxlink.solvers.processes import descendants, processes
from cvxlink.studies.description import Study
from cvxlink.studies.environment import hash_of
from cvxlink.studies.judging import outcome
from cvxlink.studies.running import run, standing
from cvxlink.studies.store import Store, merged
from helpers.processes import alive, until, with_helpers
from helpers.small_study import SMALL, told

OWN = """
import os, subprocess, sys, threading, time
from dataclasses import dataclass
import cvxlink as cl

SEEN = []

@dataclass(frozen=True, eq=False)
class Leaks(cl.PCP):
    def constraints(self, K):
        SEEN.append(K)
        os.environ["LEAKED"] = os.environ.get("LEAKED", "") + "x"
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        started = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        os.write(1, f"call {len(SEEN)}, {os.environ['LEAKED']}, started {started.pid}\\n".encode())
        raise KeyError("it ends here, and leaves all that behind")

@dataclass(frozen=True, eq=False)
class Sleeps(cl.PCP):
    def constraints(self, K):
        time.sleep(1000)

@dataclass(frozen=True, eq=False)
class Prints(cl.PCP):
    def constraints(self, K):
        os.system("echo from a shell")
        print("x" * 5000 + " the end", flush=True)
        os.abort()
"""
RUNS = """
import sys
from cvxlink.studies.description import Study
from cvxlink.studies.running import run
run(Study.of({study!r}), sys.argv[1], jobs=2, tell=lambda now, record: print(now.finished, flush=True))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)

    def study(name, **more):
        instances = [{"data": "iris", "links": 5, "formulation": f"mine:{name}"}]
        return {"title": name, "instances": instances, "configurations": [{"solver": "SCS"}], **more}

    return study


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, run(Study.of(SMALL), folder)


def test_results_name_the_machine_and_merging_keeps_what_it_is(undisturbed, tmp_path):
    folder, records = undisturbed
    ((name, described),) = Store(folder).environments().items()
    assert {record["environment"] for record in records} == {name} == {hash_of(described)}
    assert described["cores"] == len(os.sched_getaffinity(0)) and described["threads"] == 1
    assert described["python"].endswith(".".join(map(str, sys.version_info[:3]))) and described["blas"]
    assert merged([folder], tmp_path / "all") == 4
    assert Store(tmp_path / "all").environments() == {name: described}
    # A damaged line says nothing about a machine.
    lines = (folder / "environments.jsonl").read_text().replace('"cores": ', '"cores": 1')
    (tmp_path / "all" / "environments.jsonl").write_text(lines)
    assert not Store(tmp_path / "all").environments()


def test_lines_that_are_damaged_in_any_way_are_set_aside(undisturbed, tmp_path):
    folder, _ = undisturbed
    good = (folder / "results.jsonl").read_bytes().splitlines()
    twice = json.dumps({**json.loads(good[0]), "value": 7.5}).encode()
    bad = [
        good[1][:50],
        good[1].replace(b'"status"', b'"\x00tatus"', 1).replace(b"}", b"\x00}"),
        good[1].replace(b"OPTIMAL", b"OPT\xff\xfeMAL", 1),
        json.dumps({**json.loads(good[1]), "accuracy": "fine"}).encode(),
        json.dumps({**json.loads(good[1]), "timings": [1]}).encode(),
        json.dumps(list(json.loads(good[1]))).encode(),
        b"[" * 100_000,
    ]
    (tmp_path / "results.jsonl").write_bytes(b"\n".join([good[0], *bad, good[2], twice, good[3][:-1]]))
    bad.append(good[3][:-1])
    store = Store(tmp_path)
    assert store.damaged() == len(bad)
    assert {r["key"]: r["value"] for r in store.records()} == {
        json.loads(good[0])["key"]: 7.5,
        json.loads(good[2])["key"]: json.loads(good[2])["value"],
    }
    with store.writer():
        pass
    assert (tmp_path / "damaged.jsonl").read_bytes().splitlines() == bad
    assert (tmp_path / "results.jsonl").read_bytes().splitlines() == [good[0], good[2], twice]
    now = standing(Study.of(SMALL), tmp_path)
    assert (now.finished, now.remaining, now.damaged) == (2, 2, len(bad)) and f"{len(bad)} damaged lines" in str(now)


@pytest.mark.parametrize("name", ["results.jsonl", "environments.jsonl", "damaged.jsonl", ".lock"])
def test_a_folder_or_a_pipe_in_the_place_of_a_file_is_said(name, tmp_path):
    for make in (os.mkdir, os.mkfifo) if name != ".lock" else (os.mkdir,):
        make(tmp_path / name)
        (tmp_path / "results.jsonl").write_text("damaged\n") if name != "results.jsonl" else None
        with pytest.raises(cl.InvalidInput, match=r"is not a file|Is a directory"), Store(tmp_path).writer():
            pass
        os.rmdir(tmp_path / name) if make is os.mkdir else os.remove(tmp_path / name)


def test_more_memory_than_there_is_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(cl.InvalidInput, match="2 cells at a time may use .* and this machine has .*; use 1 at a time"):
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        run(Study.of({**SMALL, "memory_limit": 0.6 * there}), tmp_path, jobs=2)
    assert not (tmp_path / "results.jsonl").exists()


def test_cells_leave_nothing_to_the_next(own, tmp_path):
    study = own("Leaks", repeats=2)
    study["instances"].append({"library": "path_ends_apart"})
    records = [r for r in run(Study.of(study), tmp_path / "out") if r["instance"].startswith("mine")]
    assert len(records) == 2
    for record in records:
        assert "call 1, x, started" in record["log"]
        started = int(record["log"].split("started ")[1].split()[0])
        assert until(lambda number=started: number not in alive())


def test_the_end_of_what_a_cell_prints_is_kept(own, tmp_path):
    study = own("Prints")
    study["instances"].append({"library": "path_ends_apart"})
    printed = next(r for r in run(Study.of(study), tmp_path / "out") if r["instance"].startswith("mine"))
    assert str(outcome(printed)) == "crash" and len(printed["log"]) == 2000 and "x the end" in printed["log"]


def test_what_solvers_print_is_kept_and_does_not_reach_the_terminal(tmp_path, capfd):
    """Libraries print from Rust and C, executables from processes of their own, our own algorithms from Python."""
    said = {"CLARABEL": "Terminated with status = Solved", "SCS": "status:  solved", "default": "value 1.1715728"}
    if shutil.which("csdp"):
        said["CSDP"] = "Relative dual infeasibility"
    configurations = [{"name": name} | ({"solver": name} if name != "default" else {}) for name in said]
    study = Study.of({"title": "t", "instances": [{"library": "path_ends_apart"}], "configurations": configurations})
    for record in run(study, tmp_path):
        assert said[record["configuration"]] in record["log"] and len(record["log"]) <= 2000
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_a_run_and_leave_no_process_behind(which, own, tmp_path):
    study = own("Sleeps", time_limit=900, instances=[{"library": "path_ends_apart"}, *own("Sleeps")["instances"]])
    (tmp_path / "runs.py").write_text(RUNS.format(study=study))
    command = [sys.executable, "runs.py", "out"]
    with subprocess.Popen(command, cwd=tmp_path, env=with_helpers(), stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # one cell is finished, the other sleeps
        assert until(lambda: len(descendants(process.pid)) >= 3)
        started = set(descendants(process.pid))
        process.send_signal(which)
        assert process.wait(60) != 0
    assert until(lambda: not started & alive())
    (kept,) = Store(tmp_path / "out").records()
    assert kept["instance"] == "path_ends_apart"
    with Store(tmp_path / "out").writer():  # the folder is free again
        pass


@pytest.mark.slow
def test_a_study_that_is_killed_ten_times_at_random_equals_an_undisturbed_one(tmp_path):
    study = {**SMALL, "instances": [{"library": "path_*"}, {"library": "two_components"}], "repeats": 6}
    (tmp_path / "runs.py").write_text(RUNS.format(study=study))
    chance, kills, process = random.Random(0), 0, None
    while kills < 10:
        if process is None or process.poll() is not None:
            assert process is None or process.returncode != 0, f"it ended after {kills} kills; give it more to do"
            command = [sys.executable, "runs.py", "out"]
            process = subprocess.Popen(command, cwd=tmp_path, env=with_helpers(), stdout=subprocess.PIPE)
            process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.2))
        among = processes()
        tree = [n for n in descendants(process.pid, among) if not among[n].has_ended]
        # The run itself a third of the time; otherwise the worker, a guardian or a task, of any depth.
        victim = process.pid if not tree or chance.random() < 1 / 3 else chance.choice(tree)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue
        kills += 1
        if victim == process.pid:
            process.wait()
    process.kill()
    process.wait()
    process.stdout.close()
    assert kills == 10
    records = run(Study.of(study), tmp_path / "out")
    assert told(records) == told(run(Study.of(study), tmp_path / "undisturbed"))
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 36
