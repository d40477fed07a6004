"""Time limits: work that may hang is done on a thread of its own and waited for a limited time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from sarrus.base.errors import ViewerError

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], late: str, undo: Callable[[T], object] | None = None) -> T:
    """Return the result of ``work``, or raise its exception.

    A `ViewerError` with the text ``late`` if it takes more than ``seconds``; a later result is passed to ``undo``.
    """
    answer: Future[T] = Future()
    threading.Thread(
        target=answer_with, args=(answer, work), name="sarrus viewer: starting", daemon=True
    ).start()
    if not wait((answer,), seconds).done:
        if undo is not None:
            answer.add_done_callback(lambda done: None if done.exception() else undo(done.result()))
        raise ViewerError(f"{late} within {seconds:g} s")
    return answer.result()


def answer_with(answer: Future[T], work: Callable[[], T]) -> None:
    """Do work, with its result or exception as the answer."""
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)
