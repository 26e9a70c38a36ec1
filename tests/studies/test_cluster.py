"""Studies and ensembles on a real Dask scheduler with workers in processes of their own, over loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

import cvxlink as cl
from cvxlink.studies.description import Study
from cvxlink.studies.running import run
from cvxlink.studies.store import Store
from helpers.processes import alive, until, with_helpers
from helpers.small_study import MEASURED, SMALL, told

pytestmark = pytest.mark.slow
distributed = pytest.importorskip("distributed")
HERE = ("--host", "127.0.0.1")
MEMORY = ("--resources", "memory=4e9")
SLEEPS = """
import os, time
from pathlib import Path

def sleep(seconds):
    Path(__file__).with_name(f"number-{seconds}").write_text(str(os.getpid()))
    time.sleep(seconds)
    return {"slept": seconds}
"""


@contextmanager
def started(module, *words, **variables):
    command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, words)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=with_helpers(**variables), **quiet) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def worker(address, folder, *words, count=1, **variables):
    """Start a worker, and wait until the scheduler has so many."""
    words = (address, *HERE, "--nthreads", 1, "--no-nanny", "--no-dashboard", "--local-directory", folder, *words)
    with started("dask_worker", *words, **variables) as process:
        with distributed.Client(address) as client:
            client.wait_for_workers(count, timeout=120)
        yield process


@contextmanager
def scheduler_with_process(folder):
    file = folder / "scheduler.json"
    with started("dask_scheduler", *HERE, "--port", 0, "--no-dashboard", "--scheduler-file", file) as process:
        assert until(lambda: file.exists() and file.read_text().endswith("}"), 120)
        yield json.loads(file.read_text())["address"], process


@contextmanager
def scheduler(folder):
    with scheduler_with_process(folder) as (address, _):
        yield address


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    with ExitStack() as stack:
        address = stack.enter_context(scheduler(folder))
        workers = [stack.enter_context(worker(address, folder / str(k), *MEMORY, count=k + 1)) for k in range(2)]
        yield address, workers


def test_an_address_without_a_scheduler_is_said(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(cl.InvalidInput, match=f"the Dask scheduler {address} cannot be reached"):
        run(Study.of(SMALL), tmp_path / "out", scheduler=address)
    for other in ("nonsense://here", "tls://127.0.0.1:9"):
        with pytest.raises(cl.InvalidInput, match="cannot be reached"):
            run(Study.of(SMALL), tmp_path / "out", scheduler=other)
    with pytest.raises(cl.InvalidInput, match="must be the address of a Dask scheduler"):
        run(Study.of(SMALL), tmp_path / "out", scheduler="tcp://one\ntwo")
    with pytest.raises(cl.InvalidInput, match="give one of them"):
        run(Study.of(SMALL), tmp_path / "out", jobs=2, scheduler=address)
    assert not Store(tmp_path / "out").records()


def test_no_workers_and_workers_without_memory_are_said(tmp_path):
    with scheduler(tmp_path) as address:
        with pytest.raises(cl.InvalidInput, match="has no workers; start some with `dask worker"):
            run(Study.of(SMALL), tmp_path / "out", scheduler=address)
        limited = Study.of({**SMALL, "memory_limit": "2GB"})
        with worker(address, tmp_path / "0"), pytest.raises(cl.InvalidInput, match="does not say how much memory"):
            run(limited, tmp_path / "out", scheduler=address)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "cvxlink.py",
            "raise ModuleNotFoundError(\"No module named 'cvxlink'\", name='cvxlink')",
            "has no cvxlink; install the same",
        ),
        ("cvxpy-0.1.dist-info/METADATA", "Name: cvxpy\nVersion: 0.1\n", "has other versions: cvxpy 0.1, not "),
    ],
)
def test_workers_that_are_not_alike_are_said_before_anything_runs(name, content, said, tmp_path):
    hidden = tmp_path / "first" / name
    hidden.parent.mkdir(parents=True)
    hidden.write_text(content)
    first = os.pathsep.join([str(tmp_path / "first"), *filter(None, sys.path)])
    with (
        scheduler(tmp_path) as address,
        worker(address, tmp_path / "0", PYTHONPATH=first),
        pytest.raises(cl.InvalidInput, match=f"the worker tcp://.* {said}"),
    ):
        run(Study.of(SMALL), tmp_path / "out", scheduler=address)
    assert not Store(tmp_path / "out").records()


def test_a_formulation_that_workers_cannot_import_is_said(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("import cvxlink as cl\n\nclass Mine(cl.PCP):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    study = Study.of({**SMALL, "instances": [{"data": "iris", "links": 5, "formulation": "only_here:Mine"}]})
    with pytest.raises(cl.InvalidInput, match=r"the worker tcp://.* cannot compute .*there is no module only_here"):
        run(study, tmp_path / "out", scheduler=cluster[0])


def test_an_ensemble_is_the_same_on_a_cluster(cluster):
    X, y = cl.datasets.load("iris")
    problem = cl.KP(cl.Graph.knn(X), cl.Links.sample(y, n_links=40, random_state=0))
    here = problem.solve_resampled(n_subsets=3, n_links=30, random_state=0)
    there = problem.solve_resampled(n_subsets=3, n_links=30, random_state=0, scheduler=cluster[0])
    for one, other in zip(here.members, there.members, strict=True):
        assert len(one.links) == len(other.links) and one.status is other.status
        np.testing.assert_allclose(one.factor @ one.factor.T, other.factor @ other.factor.T, atol=1e-10)
    with pytest.raises(cl.InvalidInput, match="n_jobs counts processes"):
        problem.solve_resampled(n_jobs=2, scheduler=cluster[0])


def test_results_equal_a_local_run_although_a_worker_is_killed(cluster, tmp_path):
    address, workers = cluster
    study = Study.of({**SMALL, "memory_limit": "2GB", "repeats": 3})
    came = []

    def tell(now, record):
        came.append(record["key"])
        if len(came) == 4:
            workers[1].kill()

    there = run(study, tmp_path / "there", tell=tell, scheduler=address)
    workers[1].wait(60)
    here = run(study, tmp_path / "here")
    assert told(there) == told(here) and "environment" not in MEASURED
    assert len(came) == len(set(came)) == 12
    lines = (tmp_path / "there" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 12 and len({json.loads(line)["key"] for line in lines}) == 12


@pytest.mark.parametrize("ended_by", ["Ctrl-C", "the end of the scheduler"])
def test_a_run_that_is_ended_says_so_in_one_sentence_and_keeps_its_results(ended_by, tmp_path):
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    instances, file = [{"options": {"seconds": seconds}} for seconds in (0, 1000)], tmp_path / "study.toml"
    described = {"title": "Sleep", "kind": "functions", "instances": instances, "time_limit": 2000}
    file.write_text(Study.of({**described, "configurations": [{"run": "sleeps:sleep"}]}).to_toml())
    found, number = os.pathsep.join([str(tmp_path), *filter(None, sys.path)]), tmp_path / "number-1000"
    with (
        scheduler_with_process(tmp_path) as (address, scheduling),
        worker(address, tmp_path / "0", "--nthreads", 2, PYTHONPATH=found),
    ):
        command = [sys.executable, "-m", "cvxlink", "study", "run", file, "--folder", tmp_path / "out"]
        words = {"env": with_helpers(), "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen([*command, "--scheduler", address], **words) as process:
            assert until(lambda: number.exists() and number.read_text() and Store(tmp_path / "out").records(), 120)
            process.send_signal(signal.SIGINT) if ended_by == "Ctrl-C" else scheduling.kill()
            said = list(filter(None, process.communicate(timeout=240)[0].splitlines()))
        assert process.returncode == (130 if ended_by == "Ctrl-C" else 1), said
        sentence = said[-1]  # before that it says how far the study has come
        lost = f"cvxlink: the connection to the Dask scheduler {address} was lost; start again when it is back"
        kept = (
            f"interrupted: 1 of 2 cells are kept; `cvxlink study resume {file} --folder {tmp_path / 'out'} --scheduler "
        )
        assert sentence.startswith(kept if ended_by == "Ctrl-C" else lost) and len(said) < 50
        assert until(lambda: int(number.read_text()) not in alive(), 60)
    (kept,) = Store(tmp_path / "out").records()
    assert kept["numbers"] == {"slept": 0}
