"""One thread that does all work of a viewer: requests of the browser in order, and the ticks of a clock.

A system must not be used by several threads at once, and a slider sends values faster than a mechanism can follow:
a waiting request is replaced by a newer one of the same kind.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from functools import partial
from typing import Any, TypeVar

from sarrus.base.errors import ViewerError
from sarrus.pictures.browser.style import CLOSING_SECONDS, LOOK_SECONDS, SHORTEST_WAIT, TICK, TIMEOUT
from sarrus.pictures.browser.timeouts import answer_with

T = TypeVar("T")


class WorkerThread:
    """Runs requests one at a time, and ``tick`` (seconds since the last one) while ``ticking`` returns True.

    Error messages call it ``whose``.
    """

    def __init__(
        self, tick: Callable[[float], None], ticking: Callable[[], bool], whose: str = "the viewer"
    ) -> None:
        self._tick, self._ticking, self._whose = tick, ticking, whose
        self._waiting: dict[Hashable, Callable[[], Any]] = {}
        self._change = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._work, name="sarrus viewer", daemon=True)
        self._thread.start()

    def post(self, kind: Hashable, request: Callable[[], Any]) -> None:
        """Schedule a request, in place of a waiting one of the same kind."""
        with self._change:
            self._waiting[kind] = request
            self._change.notify_all()

    def do(self, request: Callable[[], T], timeout: float = TIMEOUT) -> T:
        """Do a request on the thread and return its result, or raise its exception.

        `ViewerError` if the thread has been closed or has ended, and without an answer after ``timeout`` seconds.
        """
        if threading.current_thread() is self._thread:
            return request()
        answer: Future[T] = Future()
        self._raise_if_closed()
        self.post(answer, lambda: answer_with(answer, request))
        end = time.monotonic() + timeout
        while not wait((answer,), LOOK_SECONDS).done:
            self._raise_if_closed()
            if time.monotonic() > end:
                with self._change:
                    self._waiting.pop(answer, None)
                raise ViewerError(
                    f"{self._whose} has not answered for {timeout:g} s: it is busy with an earlier "
                    "request; wait for it, or call stop()"
                )
        return answer.result()

    def close(self) -> None:
        """Stop after the present request."""
        with self._change:
            self._open = False
            self._change.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=CLOSING_SECONDS)

    def _raise_if_closed(self) -> None:
        if not self._open or not self._thread.is_alive():
            raise ViewerError(f"{self._whose} has been stopped: sarrus.view opens another")

    def _work(self) -> None:
        before = time.perf_counter()
        while True:
            with self._change:
                if not self._waiting and self._open:
                    late = time.perf_counter() - before
                    self._change.wait(max(TICK - late, SHORTEST_WAIT) if self._ticking() else None)
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
            logging.getLogger("sarrus.pictures.browser").exception("a request of the viewer failed")
