"""Attempts in processes of their own, so that one that crashes or never ends is found, counted and gone past."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any

Result = tuple[bool, str, str]  # whether all is well, the outcome, and what is wrong
Attempt = Callable[..., Result]
_AT_ONCE = 2


def run_all(
    attempt: Attempt, tasks: Sequence[tuple[Any, ...]], *, limit: float, at_once: int = _AT_ONCE
) -> Iterator[tuple[tuple[Any, ...], Result]]:
    """Iterate over (task, result of ``attempt(*task)``) as they end; a worker has ``limit`` seconds for each.

    ``attempt`` is a function of a module, which the workers import. A worker that ends or takes too long fails its
    task, and another takes over the rest of its share.
    """
    shares = [list(tasks[i::at_once])[::-1] for i in range(at_once)]
    workers = [_Worker(attempt, share) for share in shares if share]
    while workers:
        ready = wait([worker.results for worker in workers], timeout=0.5)
        for worker in list(workers):
            done = worker.collect(worker.results in ready, limit)
            if done is not None:
                yield done
            if not worker.share:
                worker.stop()
                workers.remove(worker)


class _Worker:
    """A process that does one share of the tasks, last first."""

    def __init__(self, attempt: Attempt, share: list[tuple[Any, ...]]) -> None:
        self._attempt, self.share = attempt, share
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.results, far = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_work, args=(self._attempt, list(self.share), far), daemon=True
        )
        self._process.start()
        far.close()
        self._since = monotonic() + 30.0  # the imports of a new process

    def collect(self, ready: bool, limit: float) -> tuple[tuple[Any, ...], Result] | None:
        """Return a task that ended and its result, or None while it runs; start anew after a crash."""
        try:
            result = self.results.recv() if ready else None
        except EOFError:
            self._process.join()
            result = (False, "crashed", f"the process ended with {self._process.exitcode}")
        if result is None and monotonic() - self._since > limit:
            result = (False, "hung", f"took more than {limit:g} s")
        if result is None:
            return None
        task = self.share.pop()
        self._since = monotonic()
        if result[1] in ("crashed", "hung"):
            self.stop()
            if self.share:
                self._start()
        return task, result

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.results.close()


def _work(attempt: Attempt, share: list[tuple[Any, ...]], results: Connection) -> None:
    while share:
        results.send(attempt(*share.pop()))
