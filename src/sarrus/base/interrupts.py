"""Interrupts from the keyboard that lose nothing: held while a result is put together, let through while it is made."""

from __future__ import annotations

import _signal  # what `signal` wraps, without making enumerations: they take longer than a short run
import signal
import threading
from types import FrameType
from typing import Any

_previous: Any = None  # the handler of the program, while interrupts are held
_come = _open = False


class held:
    """Have Ctrl-C wait for the next `allowed`; one that still waits at the end is dropped, as all is done.

    Other threads than the main one, which alone is interrupted, are not affected; nor is what is held already.
    """

    def __enter__(self) -> None:
        global _previous, _come, _open
        self.here = threading.current_thread() is threading.main_thread() and _previous is None
        if self.here:
            previous = _signal.getsignal(signal.SIGINT)
            self.here = previous is not None  # else it is not one of Python's
        if self.here:
            _previous, _come, _open = previous, False, False
            _signal.signal(signal.SIGINT, _note)

    def __exit__(self, *exception: object) -> None:
        global _previous
        if self.here:
            _signal.signal(signal.SIGINT, _previous)
            _previous = None


class allowed:
    """Let Ctrl-C raise KeyboardInterrupt within `held`, one that waited too."""

    def __enter__(self) -> None:
        global _come, _open
        self.here = threading.current_thread() is threading.main_thread() and _previous is not None
        if not self.here:
            return
        try:
            _open = True
            if _come:
                _come = False
                raise KeyboardInterrupt
        except BaseException:
            _open = False
            raise

    def __exit__(self, *exception: object) -> None:
        global _open
        if self.here:
            _open = False


def _note(number: int, frame: FrameType | None) -> None:
    """Do what the program does of an interrupt where it is let through, and remember it elsewhere."""
    global _come
    if not _open:
        _come = True
    elif callable(_previous):
        _previous(number, frame)
    elif _previous == signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
