"""The first cases of ``make attack``, a minute of it; what is found fails the test, with the command to see it."""

from __future__ import annotations

import pytest

from attack.cases import CASES, Case, Record
from attack.runner import play_all

# Chunks of each fuzzer, and the number of cases in each; more chunks, so that they are spread over the cores.
CHUNKS = {
    "programs": (2, 130),
    "bounds": (1, 60),
    "certificates": (1, 150),
    "files": (1, 150),
    "command_line": (1, 40),
    "calls": (1, 600),
    "faults": (1, 3),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fuzzer", "chunk"), [(fuzzer, chunk) for fuzzer, (count, _) in CHUNKS.items() for chunk in range(count)]
)
def test_nothing_is_found(fuzzer, chunk):
    size = CHUNKS[fuzzer][1]
    records: list[Record] = []
    play_all((Case(fuzzer, chunk * size + k) for k in range(size)), 1, records.append)
    assert len(records) == size
    found = [
        f"make attack REPLAY={record.case}   {finding['kind']}: {finding['what']}"
        for record in records
        for finding in record.findings
    ]
    assert not found, "\n".join(found)
    assert sum(sum(record.tally.values()) for record in records) or fuzzer not in ("programs", "command_line")


def test_every_fuzzer_is_in_the_tests():
    assert set(CHUNKS) == set(CASES)
