"""One thread that does all the work of a viewer: what the browser asks for, in order, and the ticks of a clock.

A system is not to be used from several threads at once, and a slider sends its values faster than a mechanism can
follow: requests of one kind replace each other while they wait.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

TICK = 1.0 / 40.0  # seconds between two pictures while something moves by itself


class Desk:
    """Runs requests one at a time, and ``tick`` (seconds since the last one) while ``ticking`` says so."""

    def __init__(self, tick: Callable[[float], None], ticking: Callable[[], bool]) -> None:
        self._tick, self._ticking = tick, ticking
        self._waiting: dict[Hashable, Callable[[], Any]] = {}
        self._change = threading.Condition()
        self._open, self._busy = True, False
        self._thread = threading.Thread(target=self._work, name="sarrus viewer", daemon=True)
        self._thread.start()

    def post(self, kind: Hashable, request: Callable[[], Any]) -> None:
        """Have a request done soon, in place of one of the same kind that still waits."""
        with self._change:
            self._waiting[kind] = request
            self._change.notify_all()

    def do(self, request: Callable[[], Any]) -> Any:
        """Have a request done and return its result; what it raises is raised here."""
        if threading.current_thread() is self._thread:
            return request()
        done, result = threading.Event(), []

        def run() -> None:
            try:
                result.append((True, request()))
            except BaseException as error:
                result.append((False, error))
            finally:
                done.set()

        self.post(object(), run)
        done.wait()
        well, value = result[0]
        if not well:
            raise value
        return value

    def close(self) -> None:
        """Stop after the request at hand."""
        with self._change:
            self._open = False
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10.0)

    def _work(self) -> None:
        before = time.perf_counter()
        while True:
            with self._change:
                if not self._waiting and self._open:
                    late = time.perf_counter() - before
                    self._change.wait(max(TICK - late, 1e-4) if self._ticking() else None)
                if not self._open:
                    break
                requests = list(self._waiting.values())
                self._waiting.clear()
            for request in requests:
                self._run(request)
            now = time.perf_counter()
            if self._ticking():
                if now - before >= TICK:
                    self._run(partial(self._tick, now - before))
                    before = now
            else:
                before = now

    @staticmethod
    def _run(request: Callable[[], Any]) -> None:
        try:
            request()
        except Exception:  # the thread goes on: a request that fails must not end the viewer
            logging.getLogger("sarrus.viewer").exception("a request of the viewer failed")
