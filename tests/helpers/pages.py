"""Studies made up for tests of their page, and the browser that shows them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from cvxlink.studies.description import Study

# As root Chromium needs the first; nothing else leaves this machine.
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
KINDS = (
    {"status": "LIMIT"},
    {"stopped_by": "time"},
    {"stopped_by": "memory"},
    {"stopped_by": "crash"},
    {"refused": "licence"},
    {"status": "OPTIMAL", "claimed": "OPTIMAL", "value": 1.0, "gap": 0.3},
    {"status": "INACCURATE", "claimed": "INACCURATE", "value": 1.0, "gap": 0.3},
    {"status": "OPTIMAL", "claimed": "OPTIMAL", "value": 1.0},
)

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "quotes \" ' ` & &lt; \\",
    "line\u2028paragraph\u2029end",
    "\u202eright to left \u05d0\u05d1",
    "__proto__",
    "<!-- <script x",
    "a" * 300,
)


@contextmanager
def chromium() -> Iterator:
    """A browser; where there is none, the tests that need it are skipped."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    where = shutil.which("chromium")
    if where is None:
        pytest.skip("Chromium is not installed; `make browser` installs it")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=where, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def solver_study(names=("ours", "SCS", "CLARABEL"), **more) -> Study:
    configurations = [{"name": name, "solver": "SCS"} for name in names]
    instances = [{"library": "path_ends_apart"}]
    return Study.of({"title": "Made up", "instances": instances, "configurations": configurations, **more})


def solver_records(study: Study, instances: int, seed: int = 0, text: int = 0, failing: float = 0.2) -> list[dict]:
    """Cells with times, accuracies and failures of all kinds, drawn at random; log and plan of so many characters."""
    random = np.random.default_rng(seed)
    digits = list("0123456789. e-|\n")
    records = []
    for i in range(instances):
        for configuration in study.configurations:
            for accuracy in study.accuracy:
                for repeat in range(study.repeats):
                    solved = random.random() > failing
                    seconds = float(np.round(10 ** random.uniform(-2.5, 1.0), 6))
                    record = {
                        "key": f"{len(records):016x}",
                        "instance": f"instance_{i}",
                        "configuration": configuration.name,
                        "accuracy": accuracy,
                        "repeat": repeat,
                        "seconds": seconds,
                        "load": [float(random.uniform(0, 2)), float("nan")],
                        "versions": {"cvxlink": "0.1.0", "numpy": "2.0"},
                        "started": "2026-11-18T20:00:00+00:00",
                        "megabytes": float(random.uniform(100, 300)),
                        "timings": {"compile": seconds / 4, "solve": seconds / 2, "certify": seconds / 4},
                    }
                    if solved:
                        proven_to = float(10 ** random.uniform(-10, -3))
                        errors = [proven_to, None, 0.0, 1e-12, -proven_to, proven_to]
                        record |= {"proven_to": proven_to, "status": "OPTIMAL", "claimed": "OPTIMAL", "value": 1.5}
                        record |= {"gap": proven_to, "violation": 0.0, "dimacs": errors, "verdict_is_proven": False}
                    else:
                        record |= KINDS[int(random.integers(len(KINDS)))] | {"reason": "it failed"}
                    if text:
                        record["log"] = "".join(random.choice(digits, text))
                        record["plan"] = f"{configuration.name} on instance_{i}: " + "reduce, solve, certify; " * (
                            text // 24
                        )
                    records.append(record)
    return [records[k] for k in random.permutation(len(records))]


def method_study(
    names=("KP", "SRCP", "NCuts", "SL"), data=("iris", "wine", "two_moons"), links=(5, 10), draws=3
) -> Study:
    return Study.of(
        {
            "title": "Methods made up",
            "kind": "methods",
            "instances": [{"data": one, "links": list(links), "draws": draws} for one in data],
            "configurations": [{"method": name} for name in names],
        }
    )


def method_records(study: Study, instances: list[str], seed: int = 0, failing: float = 0.0) -> list[dict]:
    random = np.random.default_rng(seed)
    records = []
    for instance in instances:
        for k, configuration in enumerate(study.configurations):
            named = {"instance": instance, "configuration": configuration.name, "accuracy": 1e-4, "repeat": 0}
            record = named | {"key": f"{len(records):016x}", "seconds": float(random.uniform(0.1, 1))}
            if random.random() >= failing:
                ari = float(np.clip(0.7 + 0.05 * k + random.normal(0, 0.1), 0, 1))
                record |= {
                    "scores": {"ari": ari, "error": 1 - ari, "violated": None},
                    "by": "route",
                    "status": "OPTIMAL",
                }
            else:
                record |= {"reason": "it failed"}
            records.append(record)
    return records


# ---------------------------------------------------------------------- what a tab shows


def settled(tab):
    """Wait until the page has drawn what was asked for last."""
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def move_slider(tab, digits):
    tab.locator("#accuracy").fill(str(digits))
    settled(tab)


def summary_of(tab):
    """What the first table says, in full precision."""
    rows = "[...document.querySelectorAll('#summary tbody tr')]"
    cells = "[...row.querySelectorAll('td')].map((cell) => [cell.dataset.key, Number(cell.dataset.value)])"
    return tab.evaluate(
        f"() => Object.fromEntries({rows}.map((row) => [row.dataset.name, Object.fromEntries({cells})]))"
    )
