"""What is loaded before anything is computed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("cvxpy", "sklearn", "matplotlib", "scipy", "numpy")
LOADED = f"import json, sys; print(json.dumps([name for name in {HEAVY} if name in sys.modules]), file=sys.stderr)"


def command(*arguments: str) -> str:
    """Return a script that runs one of our commands and goes on after it."""
    called = (
        f"import sys; sys.argv = {['cvxlink', *arguments]}; from cvxlink.cli import app; app(standalone_mode=False)"
    )
    return f"try:\n    {called}\nexcept SystemExit as end:\n    assert not end.code"


@pytest.mark.parametrize(
    "script",
    [
        "import cvxlink",
        "import cvxlink; cvxlink.METHODS",
        "from cvxlink import InvalidInput",
        command("--help"),
        command("--version"),
        command("cluster", "--help"),
        command("explain", "--help"),
        command("problems", "solve", "--help"),
    ],
    ids=["import", "names", "errors", "help", "version", "cluster", "explain", "problems"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(script):
    done = subprocess.run([sys.executable, "-c", f"{script}\n{LOADED}"], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr) == []


def test_the_scripts_really_run():
    done = subprocess.run([sys.executable, "-c", command("cluster", "--help")], capture_output=True, text=True)
    assert done.returncode == 0 and "--links" in done.stdout
