"""Attack everything that the package promises: ``make attack``, or ``PYTHONPATH=tests python -m attack``.

All fuzzers are run, with the numbers of cases below, on all cores. Each case follows from the seed, the name of its
fuzzer and its number. What came of it is stored as a line of JSON, so a run that was interrupted goes on where it
stopped. ``--replay programs:17`` plays one case again and shows everything.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from joblib import cpu_count

from attack.cases import CASES, Case, Record, play
from attack.runner import play_all, serve

SHOWN = 20
EVERY = 10.0  # seconds between reports of progress


def main() -> int:
    """Run what the arguments ask for; return 1 if anything was found."""
    arguments = _parser().parse_args()
    if arguments.serve:
        serve(*arguments.serve)
        return 0
    if arguments.replay:
        return _replay(arguments.replay, arguments.seed)
    numbers = {name: getattr(arguments, name) for name in CASES}
    store = _Store(arguments.out, arguments.seed)
    wanted = [Case(name, number, arguments.seed) for name in arguments.only for number in range(numbers[name])]
    keys = {case.key for case in wanted}
    earlier = sum(key in keys for key in store.records)
    if earlier:
        print(f"{earlier} of {len(wanted)} cases were played before, in {store.path}; remove it to begin anew")
    try:
        play_all((case for case in wanted if case.key not in store.records), arguments.jobs, _Progress(store, wanted))
    except KeyboardInterrupt:
        return 130
    records = [store.records[case.key] for case in wanted]
    _report(records, arguments.only, arguments.seed)
    return 1 if any(record.findings for record in records) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="attack", description="Attack everything that cvxlink promises.")
    for name, count in CASES.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=count, metavar="N", help=f"cases of this fuzzer ({count})")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="some fuzzers instead of all")
    parser.add_argument("--seed", type=int, default=0, help="everything random follows from it (0)")
    parser.add_argument("--jobs", type=int, default=cpu_count(), help="processes (one per core)")
    parser.add_argument("--out", type=Path, default=Path("attack-out"), help="folder for the state (attack-out)")
    parser.add_argument("--replay", metavar="FUZZER:CASE", help="play one case again and show everything")
    parser.add_argument("--serve", nargs=2, type=int, help=argparse.SUPPRESS)
    return parser


class _Store:
    """The records of a seed, in a file of JSON lines; a last line that is cut short is dropped."""

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.records = folder / f"seed-{seed}.jsonl", {}
        content = self.path.read_bytes() if self.path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            os.truncate(self.path, len(whole))
        for line in whole.splitlines():
            record = Record(**json.loads(line))
            self.records[record.case] = record

    def add(self, record: Record) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(record)) + "\n")
        self.records[record.case] = record


class _Progress:
    """Stores each record, shows its findings, and says now and then how far it is."""

    def __init__(self, store: _Store, wanted: list[Case]) -> None:
        self._store, self._wanted = store, len(wanted)
        self._played = sum(case.key in store.records for case in wanted)
        self._found = Counter[str]()
        self._last = time.monotonic()

    def __call__(self, record: Record) -> None:
        self._store.add(record)
        self._played += 1
        fuzzer = record.case.partition(":")[0]
        for finding in record.findings:
            self._found[fuzzer, finding["kind"]] += 1
            if self._found[fuzzer, finding["kind"]] <= SHOWN:
                print(f"{record.case:<20} {finding['kind']}: {finding['what']}", flush=True)
        if time.monotonic() - self._last > EVERY:
            self._last = time.monotonic()
            print(f"… {self._played} of {self._wanted}, now {record.case}", file=sys.stderr, flush=True)


def _report(records: list[Record], fuzzers: list[str], seed: int) -> None:
    for fuzzer in fuzzers:
        own = [record for record in records if record.case.partition(":")[0] == fuzzer]
        if not own:
            continue
        claimed, found = Counter[str](), Counter[str]()
        for record in own:
            claimed.update(record.tally)
            found.update(finding["kind"] for finding in record.findings)
        seconds = sum(record.seconds for record in own)
        slowest = max(own, key=lambda record: record.seconds)
        print(f"\n{fuzzer}: {len(own)} cases, {seconds:.0f} s; the slowest, {slowest.case}, {slowest.seconds:.1f} s")
        print(f"  claimed: {_counts(claimed)}")
        print(f"  found:   {_counts(found)}")
    found_in = [record for record in records if record.findings]
    print(f"\n{len(records)} cases, findings in {len(found_in)}")
    if found_in:
        print(f"play one again with: make attack {f'SEED={seed} ' if seed else ''}REPLAY={found_in[0].case}")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "nothing"


def _replay(key: str, seed: int) -> int:
    fuzzer, _, number = key.partition(":")
    if fuzzer not in CASES or not number.isdigit():
        print(f"--replay takes FUZZER:CASE, such as programs:17, not {key!r}; fuzzers are {', '.join(CASES)}")
        return 2
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("attack").setLevel(logging.DEBUG)
    record = play(Case(fuzzer, int(number), seed), show=print)
    print(f"claimed: {_counts(Counter(record.tally))}; {record.seconds:.2f} s")
    for finding in record.findings:
        print(f"{finding['kind']}: {finding['what']}")
    return 1 if record.findings else 0


if __name__ == "__main__":
    sys.exit(main())
