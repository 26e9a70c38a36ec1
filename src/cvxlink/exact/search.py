"""Best-first branch and bound, on one or several processes."""

from __future__ import annotations

import heapq
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import CvxlinkError
from ..numerics.interruption import WHOLE_STEP
from ..numerics.threads import on_threads
from . import checkpoint
from .evaluation import Bounding, Evaluation, Task, with_link
from .tree import Node

# Seconds between two saves, and between two looks at the clock while processes work.
SAVED_EVERY = 5.0
WAITING = 0.2
# So many open nodes keep where their parent ended; others start anew.
KEPT_WARM = 500


def undisturbed(step: Callable[..., Any]) -> Callable[..., Any]:
    """Let a step end before Ctrl-C is obeyed: half a step would leave a tree with a hole."""

    @wraps(step)
    def whole(*arguments: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            with WHOLE_STEP:  # the thread that sees Ctrl-C waits for it
                return step(*arguments)
        pending: list[Any] = []
        before = signal.signal(signal.SIGINT, lambda *call: pending.append(call))
        try:
            return step(*arguments)
        finally:
            signal.signal(signal.SIGINT, before)
            if pending:  # whoever handles Ctrl-C does so now
                signal.raise_signal(signal.SIGINT)

    return whole


@dataclass(frozen=True)
class SearchProgress:
    """How far a search is.

    Attributes
    ----------
    bound, value : float
        The proven bound and the value of the best clustering.
    gap : float
        Their relative difference.
    nodes, open : int
        Nodes evaluated, and nodes still to be evaluated.
    seconds : float
    """

    bound: float
    value: float
    gap: float
    nodes: int
    open: int
    seconds: float


class Search:
    """The state of a search: the tree, the open nodes, the best clustering."""

    def __init__(
        self,
        bounding: Bounding,
        gap: float,
        time_limit: float,
        seed: int,
        file: Path | None,
        progress: Callable[[SearchProgress], Any] | None,
    ) -> None:
        self.bounding, self.gap, self.seed, self.file, self.progress = bounding, gap, seed, file, progress
        self.began, self.time_limit = perf_counter(), time_limit
        self.nodes: list[Node] = [Node(0)]
        self.warm: dict[int, Any] = {}
        self.links = {0: bounding.links}
        self.labels: np.ndarray | None = None
        self.value, self.spent = np.inf, 0.0
        self.rounding, self.trouble, self.history = bounding.rounding, "", ()
        self.saved_at = perf_counter()
        self.open: list[tuple[float, int]] = [(-np.inf, 0)]
        self.working: dict[int, float] = {}
        if file is not None:
            saved = checkpoint.read(file, bounding)
            if saved is not None:
                self._resume(saved)
            self.save()  # a file that cannot be written is found out before the work

    def _resume(self, saved: checkpoint.Saved) -> None:
        self.nodes, self.spent = list(saved.nodes), saved.seconds
        if saved.labels is not None and self.bounding.admits(saved.labels):
            # A value in a file is not believed.
            self.labels, self.value = saved.labels, self.bounding.value(saved.labels)
        for node in self.nodes[1:]:
            assert node.parent is not None and node.link is not None
            self.links[node.number] = with_link(self.links[node.parent], node.link)
        # Nodes that were closed with another gap, or by a clustering that the file no longer has, are opened again.
        self.open = []
        for node in self.nodes:
            is_open = node.fate == "open" or (node.fate == "closed" and not self.closes(node.bound))
            if node.fate == "infeasible" and not self.bounding.without_clustering(self.links[node.number]):
                is_open, node = True, replace(node, bound=self._bound_above(node))
            if is_open:
                self.nodes[node.number] = replace(node, fate="open")
                heapq.heappush(self.open, (node.bound, node.number))

    # ------------------------------------------------------------------ what is known

    @property
    def seconds(self) -> float:
        """Seconds of all runs."""
        return self.spent + perf_counter() - self.began

    @property
    def seconds_left(self) -> float:
        """Seconds of this run."""
        return self.time_limit - (perf_counter() - self.began)

    @property
    def bound(self) -> float:
        """What no clustering is below: the least bound of all leaves, and never more than the best value."""
        leaves = (node.bound for node in self.nodes if node.fate in ("open", "closed"))
        return min(min(leaves, default=np.inf), self.value)

    def relative(self, difference: float) -> float:
        """Return a difference of values relative to the best value; what may be rounding counts as zero."""
        if difference <= self.rounding:
            return 0.0
        return difference / abs(self.value) if self.value and np.isfinite(difference) else np.inf

    def closes(self, bound: float) -> bool:
        """Whether a bound shows that nothing better by more than the gap is in a node."""
        return bool(np.isfinite(self.value) and self.relative(self.value - bound) <= self.gap) or bound == np.inf

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return all(node.fate != "open" for node in self.nodes)

    # ------------------------------------------------------------------ steps

    @undisturbed
    def next_node(self) -> int | None:
        """Take the open node with the least bound; those that need no more work are closed."""
        while self.open:
            bound, number = heapq.heappop(self.open)
            if self.closes(bound):
                self.nodes[number] = replace(self.nodes[number], fate="closed")
                self.warm.pop(number, None)
                continue
            self.working[number] = bound
            return number
        return None

    def _bound_above(self, node: Node) -> float:
        """Return the bound of the parent of a node."""
        return -np.inf if node.parent is None else self.nodes[node.parent].bound

    def task(self, number: int) -> Task:
        """Return what a process needs to evaluate a node."""
        warm = self.warm.pop(number, None)
        seconds = self.seconds_left
        return Task(
            self.links[number], warm, self.labels, self.value, self.gap, seconds, number == 0, self.seed + number
        )

    @undisturbed
    def end(self) -> None:
        """Open the nodes again whose evaluation did not end, and save."""
        for number in list(self.working):
            heapq.heappush(self.open, (self.working.pop(number), number))
        self.save()

    @undisturbed
    def take_in(self, number: int, found: Evaluation) -> None:
        """Record what was found out about a node, and branch on it unless that closes it."""
        self.working.pop(number, None)
        if found.labels is not None and found.value < self.value:
            self.labels, self.value = found.labels, found.value
        node = self.nodes[number]
        bound = max(node.bound, found.bound)
        node = replace(node, bound=bound, value=_or_none(self.value), rounds=found.rounds, seconds=found.seconds)
        if number == 0:
            self.trouble, self.history = found.trouble, found.history
        if found.bound == np.inf:
            self.nodes[number] = replace(node, fate="infeasible")
            return
        if self.closes(bound) or found.pair is None:
            self.nodes[number] = replace(node, fate="closed")
            return
        if self.seconds_left <= 0:  # the evaluation was cut short; a later run goes on here
            self.nodes[number] = node
            heapq.heappush(self.open, (bound, number))
            return
        children: list[Node] = []
        for kind in ("must", "cannot"):
            child = Node(len(self.nodes) + len(children), number, (kind, *found.pair), node.depth + 1, bound)
            assert child.link is not None
            self.links[child.number] = with_link(self.links[number], child.link)
            if found.warm is not None and len(self.warm) < KEPT_WARM:
                self.warm[child.number] = found.warm
            children.append(child)
        self.nodes[number] = replace(node, fate="branched")
        self.nodes.extend(children)
        for child in children:
            heapq.heappush(self.open, (bound, child.number))

    def hear(self, bound: float, labels: np.ndarray | None, value: float) -> None:
        """Take in what the evaluation of the root has found so far: a clustering is kept if it is interrupted."""
        if labels is not None and value < self.value:
            self.labels, self.value = labels, value
        self.report(bound)

    def report(self, bound: float | None = None) -> None:
        """Say how far the search is, and save it now and then."""
        if self.progress is not None:
            bound, value = self.bound if bound is None else max(bound, self.bound), self.value
            gap = self.relative(value - bound)
            done = sum(node.fate != "open" for node in self.nodes)
            open_nodes = len(self.open) + len(self.working)
            self.progress(SearchProgress(bound, value, gap, done, open_nodes, self.seconds))
        if perf_counter() - self.saved_at > SAVED_EVERY:
            self.save()

    def save(self) -> None:
        """Write the file, if there is one."""
        self.saved_at = perf_counter()
        if self.file is not None:
            saved = checkpoint.Saved(tuple(self.nodes), self.labels, self.seconds)
            checkpoint.write(self.file, self.bounding, saved)


def run(search: Search, n_jobs: int) -> str:
    """Go on until nothing is left or the time is up; return why it ended, empty if nothing is left."""
    try:
        if n_jobs == 1:
            return _run_here(search)
        return _run_in_processes(search, n_jobs)
    except KeyboardInterrupt:
        return "interrupted"
    finally:
        search.end()


def _run_here(search: Search) -> str:
    while True:
        if search.seconds_left <= 0 and (search.open or search.working):
            return "the time is up"
        number = search.next_node()
        if number is None:
            return ""
        report = search.hear if number == 0 else None
        search.take_in(number, search.bounding.evaluated(search.task(number), report))
        search.report()


def _run_in_processes(search: Search, n_jobs: int) -> str:
    # The root is alone, so it may use all cores, and reports its rounds.
    root = search.next_node() if len(search.nodes) == 1 else None
    if root is not None:
        search.take_in(root, search.bounding.evaluated(search.task(root), search.hear))
        search.report()
    if search.is_done:
        return ""
    with _pool(search.bounding, n_jobs) as pool:
        futures: dict[Future, int] = {}
        while True:
            while len(futures) < n_jobs and search.seconds_left > 0:
                number = search.next_node()
                if number is None:
                    break
                futures[pool.submit(_evaluated, search.task(number))] = number
            if not futures:
                return "" if search.is_done else "the time is up"
            ended, _ = wait(futures, WAITING, FIRST_COMPLETED)
            for future in ended:
                search.take_in(futures.pop(future), future.result())
            search.report()


@contextmanager
def _pool(bounding: Bounding, n_jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes that know the problem; they are ended at once if something goes wrong."""
    pool = ProcessPoolExecutor(n_jobs, get_context("spawn"), _begin, (bounding,))
    try:
        yield pool
    except BaseException as error:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            raise CvxlinkError(
                "a process of the search was ended from outside, perhaps for lack of memory; ask for fewer by n_jobs. "
                "With file=…, the search goes on from what was proven"
            ) from error
        raise
    pool.shutdown()


_bounding: Bounding | None = None


def _begin(bounding: Bounding) -> None:
    """Let a new process know the problem, and leave Ctrl-C to the one that asked."""
    global _bounding
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _bounding = bounding


def _evaluated(task: Task) -> Evaluation:
    assert _bounding is not None
    with on_threads(1):
        return _bounding.evaluated(task)


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None
