"""A Dask cluster: tasks go to its workers, on whatever machines they are, and results come back, each once.

Dask decides which worker computes what, and gives the tasks of a worker that dies to others. Here is what it leaves
open: whether the workers have the same versions, how a worker notices that nobody wants a result any more, and errors
in one sentence.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import Any

from ..errors import CvxlinkError, InvalidInput, MissingDependency
from ..numerics.versions import differences_in_words, package_versions

CONNECT_SECONDS = 5.0
# How often it is looked whether the scheduler is still there.
LOOK_SECONDS = 0.2
# What it takes, without any worker, until the work is given up.
WAIT_SECONDS = 300.0
# Tasks that wait on the workers, for each that is computed: so that no worker has to wait for its next one.
IN_ADVANCE = 2
# How often a task is handed out again after Dask has given it up: it does so once four workers have died with it, be it
# the task that killed them or not.
MOST_TIMES = 3
# What workers call the resource that is their memory.
MEMORY = "memory"
GONE = ("cancelled", "released", "forgotten")


class ClusterFailed(CvxlinkError):
    """A cluster cannot do the work; the message says why."""


@dataclass(frozen=True)
class Unfit:
    """What a worker answers instead of a result if it must not compute it: why, in words."""

    why: str


class Cluster:
    """A scheduler of Dask with its workers; used in a ``with`` statement.

    Parameters
    ----------
    address : str
        The address of the scheduler, such as ``"tcp://127.0.0.1:8786"``.
    """

    def __init__(self, address: str) -> None:
        if not isinstance(address, str) or not address.strip() or not address.isprintable():
            raise InvalidInput.about("scheduler", "must be the address of a Dask scheduler, such as 'tcp://host:8786'")
        self.address = address
        self._dask = _distributed()
        self._levels = {name: logging.getLogger(name).level for name in ("distributed", "distributed.client")}

    def __enter__(self) -> Cluster:
        for name in self._levels:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what it would log is said in one sentence
        try:
            # A client that finds no scheduler waits again when it is deleted, and prints; so it is looked for first,
            # except by protocols such as TLS, for which only the client knows what is set up.
            if "://" not in self.address or self.address.startswith("tcp://"):
                with ThreadPoolExecutor(1) as pool:  # this thread may have a loop that runs, as in notebooks
                    pool.submit(asyncio.run, self._found()).result()
            self.client = self._dask.Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False, name="cvxlink")
        except (OSError, ValueError, TypeError, ImportError) as error:  # a connection, an address, TLS not set up
            self._restore_levels()
            words = f"the Dask scheduler {self.address} cannot be reached; start it with `dask scheduler`"
            raise InvalidInput(f"{words}, or correct the address", "scheduler") from error
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(Exception):  # it may be gone
            self.client.close(timeout=CONNECT_SECONDS)
        self._restore_levels()

    async def _found(self) -> None:
        """Raise if there is no scheduler at the address."""
        connection = await self._dask.comm.connect(self.address, timeout=CONNECT_SECONDS)
        connection.abort()

    def _restore_levels(self) -> None:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return what the scheduler knows of its workers, by address."""
        return self.client.sync(self.client.scheduler.identity)["workers"]

    def require_fit(self, check: Callable[[Any], str | None], tasks: Sequence[Any], memory: float | None) -> None:
        """Raise unless every worker has this version of everything, and enough memory; ``check`` may refuse tasks."""
        workers = self.workers()
        if not workers:
            words = f"has no workers; start some with `dask worker {self.address}`, and wait until they are there"
            raise InvalidInput(f"the Dask scheduler {self.address} {words}", "scheduler")
        for worker, known in workers.items() if memory is not None else ():
            there = known.get("resources", {}).get(MEMORY)
            if there is None or there < memory:
                words = f"says it has {there:g} bytes of memory" if there else "does not say how much memory it has"
                raise InvalidInput(
                    f"the worker {worker} {words}, and tasks may use {memory:g} bytes each; start it with "
                    f'`dask worker --resources "{MEMORY}=NUMBER_OF_BYTES"`',
                    "scheduler",
                )
        answers = self.client.run(_complaint, check, tasks, package_versions(), on_error="return")
        for worker, answer in answers.items():
            if answer is not None:
                raise InvalidInput(f"the worker {worker} {_in_words(answer)}", "scheduler")

    def results(
        self,
        function: Callable[..., Any],
        check: Callable[[Any], str | None],
        tasks: Sequence[Any],
        memory: float | None,
    ) -> Iterator[tuple[int, Any]]:
        """Yield number and result of each task as they come; None is the result if worker after worker died with it."""
        resources = None if memory is None else {MEMORY: memory}
        waiting = deque((number, 1) for number in range(len(tasks)))
        under_way: dict[str, tuple[int, int, Any]] = {}
        ended: SimpleQueue[Any] = SimpleQueue()
        name = f"cvxlink-{token_hex(8)}"
        try:
            seen = time.monotonic()
            while waiting or under_way:
                threads = self._threads()
                seen = time.monotonic() if threads else seen
                if time.monotonic() - seen > WAIT_SECONDS:
                    raise ClusterFailed(
                        f"the Dask scheduler {self.address} has had no workers for {WAIT_SECONDS:g} s; start again "
                        f"when there are some"
                    )
                while waiting and len(under_way) < max(IN_ADVANCE * threads, 1):
                    number, time_ = waiting.popleft()
                    key = f"{name}-{number}-{time_}"
                    future = self.client.submit(
                        _done_there,
                        *(function, check, tasks[number], package_versions()),
                        key=key,
                        pure=False,
                        resources=resources,
                    )
                    under_way[key] = number, time_, future
                    future.add_done_callback(ended.put)
                try:
                    key = ended.get(timeout=LOOK_SECONDS).key
                except Empty:
                    continue
                number, time_, future = under_way.pop(key)
                if future.status in ("lost", "pending"):  # the worker that had the result is gone; another computes it
                    under_way[key] = number, time_, future
                    future.add_done_callback(ended.put)
                    continue
                if isinstance(error := self._error_of(future), self._dask.KilledWorker) and time_ < MOST_TIMES:
                    waiting.append((number, time_ + 1))
                    continue
                result = None if error is not None else self._result(future)
                future.release()
                yield number, result
        finally:
            with suppress(Exception):  # it may be gone
                self.client.cancel([future for _, _, future in under_way.values()], force=True)

    def _threads(self) -> int:
        """Return how many tasks the workers compute at a time."""
        try:
            return sum(self.client.nthreads().values())
        except Exception:  # the connection is lost, which the tasks will tell
            return 0

    def _error_of(self, future: Any) -> BaseException | None:
        """Return the error of a task whose workers died; raise any other."""
        if future.status == "finished":
            return None
        error = future.exception() if future.status == "error" else None
        if isinstance(error, self._dask.KilledWorker):
            return error
        if isinstance(error, CvxlinkError):
            raise error
        if error is not None:
            raise ClusterFailed(f"a worker of {self.address} failed: {type(error).__name__}: {error}") from error
        raise self._lost()

    def _result(self, future: Any) -> Any:
        try:
            result = future.result()
        except (self._dask.CancelledError, OSError) as error:
            raise self._lost() from error
        if isinstance(result, Unfit):
            raise ClusterFailed(f"a worker of {self.address} {result.why}")
        return result

    def _lost(self) -> ClusterFailed:
        return ClusterFailed(
            f"the connection to the Dask scheduler {self.address} was lost; start again when it is back"
        )


# ---------------------------------------------------------------------- on the worker


def _done_there(function: Callable[..., Any], check: Callable[[Any], str | None], task: Any, versions: dict) -> Any:
    """Do a task on a worker, unless the worker is unfit for it; it may have joined after all others were checked."""
    complaint = _complaint(check, [task], versions)
    if complaint is not None:
        return Unfit(complaint)
    worker = _distributed().get_worker()
    key, tasks = worker.get_current_task(), worker.state.tasks

    def is_unwanted() -> bool:
        state = tasks.get(key)
        return state is None or state.state in GONE

    return function(task, is_unwanted)


def _complaint(check: Callable[[Any], str | None], tasks: Sequence[Any], versions: dict[str, str]) -> str | None:
    """Return in words why this worker cannot do tasks, or None."""
    different = differences_in_words(versions, package_versions())
    if different is not None:
        return different
    return next((complaint for complaint in map(check, tasks) if complaint is not None), None)


def _in_words(answer: Any) -> str:
    """Return what a worker answered to being checked: a complaint, or an error on the way."""
    # Dask may send an error as its text, so the name of a missing module has to be read from there.
    found = re.search(r"No module named \\?['\"]([\w.]+)", str(answer)) if isinstance(answer, Exception) else None
    if found is not None:
        missing = found[1]
        if missing == "cvxlink":
            return "has no cvxlink; install the same version there"
        if missing.startswith("cvxlink."):
            return "has another version of cvxlink; install the same version there"
        return f"cannot import {missing}; install it there, or put its folder on PYTHONPATH"
    return f"failed: {type(answer).__name__}: {answer}" if isinstance(answer, BaseException) else str(answer)


def _distributed() -> Any:
    """Return Dask's package for clusters."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise MissingDependency("a cluster needs Dask; get it with: pip install 'cvxlink[cluster]'") from error
