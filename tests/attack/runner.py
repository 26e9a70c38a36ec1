"""Cases in worker processes: one that crashes or hangs is a finding, and the others go on."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from attack.cases import Case, Record, module_of, play
from attack.findings import HANG, RAW_ERROR

# Seconds for one case; a fuzzer's own LIMIT takes precedence.
LIMIT = 120.0
STARTING = 120.0
# A worker is renewed after this many cases, so that no memory piles up.
MOST_CASES = 1000
LAST_WORDS = 300
MOST_MEMORY = 6 << 30  # bytes of address space, so that a case that takes everything fails alone


def serve(requests: int, answers: int) -> None:
    """Play the cases that arrive as lines, until there are no more; the work of a worker process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with os.fdopen(requests) as asked, os.fdopen(answers, "w") as told:
        print("{}", file=told, flush=True)
        for line in asked:
            print(json.dumps(asdict(play(Case(**json.loads(line))))), file=told, flush=True)


def _end_with(parent: int) -> None:
    """End this process and all of its session when its parent is gone, whatever they are doing."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.killpg(0, signal.SIGKILL)


class Worker:
    """A process that plays one case at a time, in a session and a folder for temporary files of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="attack-worker-", ignore_cleanup_errors=True)
        self._said = Path(self._folder.name) / "said"
        self._process: subprocess.Popen | None = None
        self._played = 0

    def play(self, case: Case) -> Record:
        """Play a case; the end of the process, or of its time, is a finding."""
        if self._process is None or self._played >= MOST_CASES:
            self._start()
        self._played += 1
        began, limit = time.perf_counter(), float(getattr(module_of(case.fuzzer), "LIMIT", LIMIT))
        with suppress(BrokenPipeError):
            self._asked.write(json.dumps(asdict(case)) + "\n")
            self._asked.flush()
        line = self._answer(limit)
        if line.endswith("\n"):
            return Record(**json.loads(line))
        record = Record(case.key, seconds=round(time.perf_counter() - began, 4))
        if record.seconds >= limit:
            record.found(HANG, f"no end after {limit:g} s")
        else:
            assert self._process is not None
            code = self._process.wait()
            ended = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            record.found(RAW_ERROR, f"the process ended with {ended}: {self._last_words()}")
        self.stop()
        return record

    def stop(self) -> None:
        """End the process and everything that it started in its session."""
        if self._process is None:
            return
        with suppress(OSError):
            self._asked.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2 if self._played else 0)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._answers)
        self._process = None

    def close(self) -> None:
        self.stop()
        self._folder.cleanup()

    def _start(self) -> None:
        self.stop()
        (read_requests, write_requests), (read_answers, write_answers) = os.pipe(), os.pipe()
        with open(self._said, "wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "attack", "--serve", str(read_requests), str(write_answers)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=(read_requests, write_answers),
                start_new_session=True,
                env={**os.environ, **self._environment()},
            )
        os.close(read_requests)
        os.close(write_answers)
        self._asked, self._answers, self._played = os.fdopen(write_requests, "w"), read_answers, 0
        if not self._answer(STARTING).endswith("\n"):
            raise RuntimeError(f"a worker did not start: {self._last_words()}")

    def _environment(self) -> dict[str, str]:
        found = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        return {"PYTHONPATH": os.pathsep.join(found), "TMPDIR": self._folder.name, **threads}

    def _answer(self, seconds: float) -> str:
        """Return a line, or what there is of it when the process or its time ends."""
        until, line = time.monotonic() + seconds, b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                break
            part = os.read(self._answers, 1 << 16)
            if not part:
                break
            line += part
        return line.decode()

    def _last_words(self) -> str:
        return self._said.read_text(errors="replace")[-LAST_WORDS:].strip() or "no last words"


def play_all(cases: Iterable[Case], jobs: int, done: Callable[[Record], None]) -> None:
    """Play cases on several workers; ``done`` is called with each record, from one thread at a time."""
    lock, remaining, stopped = threading.Lock(), iter(cases), threading.Event()
    failures: list[BaseException] = []

    def work() -> None:
        worker = Worker()
        try:
            while not stopped.is_set():
                with lock:
                    case = next(remaining, None)
                if case is None:
                    return
                record = worker.play(case)
                with lock:
                    done(record)
        except BaseException as error:
            failures.append(error)
            stopped.set()
        finally:
            worker.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)
    except KeyboardInterrupt:
        stopped.set()
        print("stopping after the cases that are being played; the same command goes on from here", file=sys.stderr)
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise failures[0]
