"""Ctrl-C, SIGTERM and SIGHUP: commands and solves end at once, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from helpers.fakes import CSDP, commands, install
from helpers.processes import alive, until, with_helpers

pytestmark = pytest.mark.slow
# A second is promised; a busy machine may take some more until it even notices. The work itself takes minutes.
AT_ONCE = 30.0

SOLVE = """
import cvxlink as cl
X, y = cl.datasets.load({data})
problem = cl.{method}(cl.Graph.knn(X), cl.Links.sample(y, n_links=50, random_state=0))
print("go", flush=True)
problem.solve({options})
print("it was too quick")
"""
PAPER = "form='paper', presolve=False, accuracy=1e-8"


@pytest.mark.parametrize(
    ("data", "method", "options"),
    [
        ("'iris'", "PCP", f"solver='CLARABEL', {PAPER}"),
        ("'iris'", "PCP", f"solver='SCS', {PAPER}"),
        ("'iris'", "PCP", f"solver='CVXOPT', {PAPER}"),
        ("'two_moons', n=3000, random_state=0", "SRCP", "route='eigen'"),
    ],
    ids=["Clarabel", "SCS", "CVXOPT", "eigen"],
)
def test_ctrl_c_in_a_script_is_seen_at_once(data, method, options):
    script = [sys.executable, "-c", SOLVE.format(data=data, method=method, options=options)]
    with subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=with_helpers()) as run:
        assert run.stdout.readline() == "go\n"
        time.sleep(4)
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        printed, errors = run.communicate(timeout=120)
        assert time.monotonic() - began < AT_ONCE
    assert "quick" not in printed and "KeyboardInterrupt" in errors


@pytest.fixture
def files(tmp_path):
    """Points and links that keep a solver busy."""
    rng = np.random.default_rng(0)
    np.savetxt(tmp_path / "points.csv", rng.standard_normal((60, 3)), delimiter=",")
    (tmp_path / "links.csv").write_text("".join(f"{i},{i + 30},cannot\n" for i in range(20)))
    return tmp_path


@pytest.mark.skipif(CSDP is None, reason="csdp is not on the PATH; make solvers")
@pytest.mark.parametrize(("which", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_command_and_nothing_is_left(files, which, code):
    marker = f"{time.time_ns() % 10**6 + 10**5}.{os.getpid()}"
    (files / "bin").mkdir()
    (files / "temporary").mkdir()
    (files / "out").mkdir()
    install(files / "bin", "leaves a daemon and hangs", marker)
    environment = with_helpers(PATH=f"{files / 'bin'}:{os.environ['PATH']}", TMPDIR=str(files / "temporary"))
    arguments = ["cluster", "points.csv", "--links", "links.csv", "--method", "PCP", "--clusters", "2"]
    arguments += ["--solver", "CSDP", "--out", "out/labels.csv"]
    command = [sys.executable, "-c", "from cvxlink.cli import app; app()", *arguments]
    with subprocess.Popen(command, cwd=files, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        try:
            assert until(lambda: commands().count(marker) >= 2 or run.poll() is not None, 120)
            assert run.poll() is None, run.communicate()
            began = time.monotonic()
            run.send_signal(getattr(signal, which))
            assert run.wait(60) == code
            assert time.monotonic() - began < AT_ONCE
        finally:
            run.kill()
    assert until(lambda: marker not in commands() and run.pid not in alive(), 30)
    assert until(lambda: not list((files / "temporary").iterdir()), 30)
    assert list((files / "out").iterdir()) == []
