"""Interrupts from the keyboard that lose nothing: held while a result is put together, let through while it is made."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_previous: signal.Handlers | object | None = None  # the handler of the program, while interrupts are held
_come = False


@contextmanager
def held() -> Iterator[None]:
    """Have Ctrl-C wait for the next `allowed`; one that still waits at the end is dropped, as all is done.

    Other threads than the main one, which alone is interrupted, are not affected; nor is what is held already.
    """
    global _previous, _come
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or _previous is not None or previous is None:
        yield
        return
    _previous, _come = previous, False
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        _previous = None


@contextmanager
def allowed() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt within `held`, one that waited too."""
    global _come
    if threading.current_thread() is not threading.main_thread() or _previous is None:
        yield
        return
    signal.signal(signal.SIGINT, _previous)  # type: ignore[arg-type]
    try:
        if _come:
            _come = False
            raise KeyboardInterrupt
        yield
    finally:
        signal.signal(signal.SIGINT, _note)


def _note(number: int, frame: FrameType | None) -> None:
    global _come
    _come = True
