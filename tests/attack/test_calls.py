"""The generator of wrong calls: it reaches everything public, and it sees what is wrong with a call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cvxlink as cl
from attack.calls import attack, played
from attack.doors import Door, doors
from attack.findings import RAW_ERROR, UNCLEAR
from attack.wrong_values import CATALOGUE


@pytest.mark.slow
def test_every_public_callable_has_a_valid_call():
    """Walking the package opens each door once, and says which parameter nobody knows a value for."""
    names = {door.name for door in doors()}
    missing = {name for name in cl.methods.__all__ if name not in names}
    assert not missing
    returned = ("Prepared.solve", "Extension.predict", "LearntKernel.cluster", "ConstrainedClustering.predict")
    assert names.issuperset(returned)  # methods of objects that calls return


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_wrong_calls_end_in_one_sentence(seed: int, tmp_path: Path):
    found = []
    for case in range(300):
        folder = tmp_path / str(case)
        folder.mkdir()
        found += attack(np.random.default_rng([seed, case]), folder)
    assert not found


def _door(error: Exception) -> Door:
    def call(value: object) -> None:
        raise error

    return Door("call", call, {}, ("value",))


@pytest.mark.parametrize(
    "error, kind",
    [
        (TypeError("inside"), RAW_ERROR),
        (RecursionError("inside"), RAW_ERROR),
        (cl.InvalidInput("something is wrong"), UNCLEAR),
        (cl.InvalidInput("value is " + "long " * 1000, "value"), UNCLEAR),
        (cl.FormUnavailable("there is none"), UNCLEAR),
        (cl.InvalidInput("value must be positive"), None),
        (cl.InvalidInput("it must be positive", "value"), None),
        (cl.SolveFailed("no answer"), None),
    ],
)
def test_what_counts_as_a_finding(error: Exception, kind: str | None, tmp_path: Path):
    assert [finding.kind for finding in played(_door(error), {"value": "None"}, tmp_path)] == [kind] * (
        kind is not None
    )


def test_a_case_depends_on_its_random_numbers_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cases = []

    def note(door: Door, wrong: dict[str, str], folder: Path) -> list:
        cases.append((door.name, wrong))
        return []

    monkeypatch.setattr("attack.calls.played", note)
    monkeypatch.setattr("attack.calls.doors", lambda: tuple(_door(TypeError()) for _ in range(5)))
    for _ in range(2):
        for seed in range(20):
            attack(np.random.default_rng(seed), tmp_path)
    assert cases[:20] == cases[20:] and len({str(case) for case in cases}) > 10


def test_the_catalogue_makes_new_values_each_time():
    for name, make in CATALOGUE.items():
        if "list" in name or "generator" in name:
            assert make() is not make(), name
