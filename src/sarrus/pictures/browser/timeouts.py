"""Waiting that ends: work that may hang is done on a thread of its own and waited for as long as it is worth."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from sarrus.base.errors import ViewerError

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], late: str, undo: Callable[[T], object] | None = None) -> T:
    """Return what ``work`` returns, or raise what it raises.

    A `ViewerError` that says ``late`` where it takes more than ``seconds``; what comes later is handed to ``undo``.
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
    """Do work, with what it returns or raises for an answer."""
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)
