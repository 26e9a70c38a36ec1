"""Solvers that misbehave: executables that take CSDP's place, each with one fault."""

from __future__ import annotations

import shutil
from pathlib import Path

CSDP = shutil.which("csdp")
SIGNALS = ("SEGV", "ABRT", "BUS", "FPE", "ILL", "KILL", "TERM", "HUP", "PIPE", "XCPU")
# An answer in the right format with all numbers the same; CSDP's exit code 0 claims that it is optimal.
LIE = r"""
awk -v value={value} 'NR == 2 {{ m = $1 }} NR == 4 {{
  for (k = 1; k <= m; k++) printf "%s ", value; print ""
  for (b = 1; b <= NF; b++) {{ n = $b < 0 ? -$b : $b; for (i = 1; i <= n; i++) print 2, b, i, i, value }}
}}' program.dat-s > result
exit 0
"""
FAKES: dict[str, str] = {
    **{f"dies of SIG{name}": f"kill -{name} $$" for name in SIGNALS},
    "hangs": "exec sleep {marker}",
    "hangs and ignores signals": "trap '' TERM INT HUP; while :; do sleep 0.1; done",
    "writes garbage": "head -c 5000 /dev/urandom > result; exit 0",
    "prints garbage": "head -c 5000 /dev/urandom; exit 0",
    "writes words": "echo these are no numbers > result; exit 0",
    "claims zero": LIE.format(value="0.0"),
    "claims one": LIE.format(value="1.0"),
    "claims nan": LIE.format(value="nan"),
    "claims infinity": LIE.format(value="inf"),
    "claims huge numbers": LIE.format(value="1e300"),
    "claims infeasibility": "exit 2",
    "claims unboundedness": "exit 1",
    "ends without an answer": "exit 0",
    "ends with an unknown code": "exit 77",
    "cuts the answer short": "{csdp} program.dat-s whole > /dev/null; head -c 300 whole > result; exit 0",
    "cuts a line short": "{csdp} program.dat-s whole > /dev/null; head -c -3 whole > result; exit 0",
    "prints without end": "exec yes",
    "prints much, then solves": "yes | head -c 3000000; exec {csdp} program.dat-s result",
    "forks": "sleep {marker} & exec {csdp} program.dat-s result",
    "forks and dies": "sleep {marker} & kill -SEGV $$",
    "leaves a daemon": "(setsid sleep {marker} > /dev/null 2>&1 &); exec {csdp} program.dat-s result",
    "leaves a daemon that holds its output": "(setsid sleep {marker} &); exec {csdp} program.dat-s result",
    "leaves a daemon and hangs": "(setsid sleep {marker} &); exec sleep {marker}",
    "cannot be run": "",
}
# These solve the program; everything else must not be called optimal.
HONEST = ("prints much, then solves", "forks", "leaves a daemon", "leaves a daemon that holds its output")
# These end by being stopped.
ENDLESS = ("hangs", "hangs and ignores signals", "prints without end", "leaves a daemon and hangs")


def install(folder: Path, fault: str, marker: str) -> None:
    """Write an executable ``csdp`` with a fault into a folder; processes it leaves have the marker in their command."""
    path = folder / "csdp"
    script = FAKES[fault].replace("{csdp}", str(CSDP)).replace("{marker}", marker)
    path.write_text(f"#!/bin/sh\n{script}\n" if script else "no program\n")
    path.chmod(0o755)


def commands() -> str:
    """Return the command lines of all processes."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has ended meanwhile
    return "\n".join(lines)
