"""Work shared out: to processes or threads of this machine by joblib, or to the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from threading import Event, Lock, Semaphore
from typing import Any

from joblib import Parallel, delayed

from .cluster import Cluster

# What tasks that are stopped may take to end, before they are left alone.
SECONDS_TO_END = 15.0


def fits_always(task: Any) -> None:
    """Have nothing against any task."""


def shared_out(
    function: Callable[..., Any],
    tasks: Sequence[Any],
    jobs: int | None = 1,
    scheduler: str | None = None,
    check: Callable[[Any], str | None] = fits_always,
    samples: Sequence[Any] | None = None,
    memory: float | None = None,
    waits: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """Yield number and result of each task, as they come.

    Parameters
    ----------
    function : callable
        Is called with a task, and with a function that says whether its result is still wanted.
    tasks : sequence
        What it is called with.
    jobs : int, optional
        How many at a time on this machine, as joblib takes it.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers do the work instead of this machine.
    check : callable
        Returns in words why a worker cannot do a task, or None; it is called on every worker before anything runs.
    samples : sequence, optional
        Tasks that workers are checked for before anything runs; by default all. Each task is also checked in its turn.
    memory : float, optional
        Bytes that a task may use. On a cluster the workers must say how many they have, and never get more work than
        fits into them.
    waits : bool
        Whether the function only waits for processes of its own, for which threads are enough.
    """
    if scheduler is not None:
        with Cluster(scheduler) as cluster:
            cluster.require_fit(check, tasks if samples is None else samples, memory)
            yield from cluster.results(function, check, tasks, memory)
    elif waits:
        yield from _in_threads(function, tasks, jobs)
    else:
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_numbered)(function, number, task) for number, task in enumerate(tasks)
        )


def _in_threads(
    function: Callable[..., Any], tasks: Sequence[Any], jobs: int | None
) -> Generator[tuple[int, Any], None, None]:
    """Yield results of threads; whatever ends this ends what they wait for."""
    lock, stopped, ended, begun = Lock(), Event(), Semaphore(0), 0

    def done(number: int, task: Any) -> tuple[int, Any]:
        nonlocal begun
        with lock:
            if stopped.is_set():
                return number, None
            begun += 1
        try:
            return number, function(task, stopped.is_set)
        finally:
            ended.release()

    results = Parallel(n_jobs=jobs, backend="threading", return_as="generator_unordered")(
        delayed(done)(number, task) for number, task in enumerate(tasks)
    )
    try:
        yield from results
    finally:
        with lock:
            stopped.set()
        for _ in range(begun):
            ended.acquire(timeout=SECONDS_TO_END)


def _numbered(function: Callable[..., Any], number: int, task: Any) -> tuple[int, Any]:
    return number, function(task, _wanted)


def _wanted() -> bool:
    return False
