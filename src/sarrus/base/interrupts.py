"""Keyboard interrupts (Ctrl-C) without loss of results: deferred while a result is built, raised during a run."""

from __future__ import annotations

import _signal  # the C module below `signal`; `signal` makes enumerations, which takes longer than a short run
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_previous: Any = None  # the interrupt handler of the program while interrupts are deferred
_come = _open = False
_delivered = False  # whether an interrupt was passed to the program since interrupts are deferred
_owed: FrameType | None = None  # the caller that received a partial result instead of KeyboardInterrupt
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_OWN = str(Path(__file__).resolve().parent.parent)


class held:
    """Defer Ctrl-C until the next `allowed`. An interrupt that is still pending at the end is dropped.

    Only the main thread is affected, the only one that Python interrupts; nested use changes nothing.
    """

    def __enter__(self) -> None:
        global _previous, _come, _open, _delivered
        self.here = threading.current_thread() is threading.main_thread() and _previous is None
        if self.here:
            if _owed is not None:
                _settle()
            previous = _signal.getsignal(signal.SIGINT)
            self.here = previous is not None  # None: a handler that was not set from Python
        if self.here:
            _previous, _come, _open, _delivered = previous, False, False, False
            _signal.signal(signal.SIGINT, _note)

    def __exit__(self, *exception: object) -> None:
        global _previous
        if self.here:
            _signal.signal(signal.SIGINT, _previous)
            _previous = None


class allowed:
    """Let Ctrl-C raise KeyboardInterrupt within `held`; a pending interrupt is raised at once."""

    def __enter__(self) -> None:
        global _come, _open, _delivered
        self.here = threading.current_thread() is threading.main_thread() and _previous is not None
        if not self.here:
            return
        try:
            _open = True
            if _come:
                _come, _delivered = False, True
                raise KeyboardInterrupt
        except BaseException:
            _open = False
            raise

    def __exit__(self, *exception: object) -> None:
        global _open
        if self.here:
            _open = False


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of compiled code. Interrupts are deferred until `check`: a callback cannot raise through it."""
    global _open
    before, _open = _open, False
    try:
        return function(*arguments)
    finally:
        _open = before


def check() -> None:
    """Pass a pending interrupt to the program if interrupts are allowed."""
    global _come
    if _come and _open:
        _come = False
        _deliver(signal.SIGINT, None)


def owe() -> None:
    """Raise KeyboardInterrupt at the next `held` of the same caller, if an interrupt ended the present run.

    The caller received a partial result instead of the exception; its loop must still end. A caller is the outermost
    frame of the program: a script, a notebook cell, a test.
    """
    global _owed
    if _delivered:
        _owed = _caller()


def _settle() -> None:
    """Raise the owed KeyboardInterrupt if the same caller calls again."""
    global _owed
    owed, _owed = _owed, None
    if owed is _caller():
        raise KeyboardInterrupt


def _caller() -> FrameType | None:
    """Return the outermost frame that belongs to no library."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  Python has no public way
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    found = frame
    while frame is not None and not frame.f_code.co_filename.startswith(("<frozen", *_LIBRARIES)):
        found, frame = frame, frame.f_back
    return found


def _note(number: int, frame: FrameType | None) -> None:
    """Call the interrupt handler of the program if interrupts are allowed, else mark the interrupt as pending."""
    global _come
    if _open:
        _deliver(number, frame)
    else:
        _come = True


def _deliver(number: int, frame: FrameType | None) -> None:
    """Call the interrupt handler of the program."""
    global _delivered
    _delivered = True
    if callable(_previous):
        _previous(number, frame)
    elif _previous == signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
