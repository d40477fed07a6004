"""Interrupts from the keyboard that lose nothing: held while a result is put together, let through while it is made."""

from __future__ import annotations

import _signal  # what `signal` wraps, without making enumerations: they take longer than a short run
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_previous: Any = None  # the handler of the program, while interrupts are held
_come = _open = False
_delivered = False  # whether an interrupt has been handed to the program since they are held
_owed: FrameType | None = None  # the caller to whom a result was returned instead of an interrupt
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_OWN = str(Path(__file__).resolve().parent.parent)


class held:
    """Have Ctrl-C wait for the next `allowed`; one that still waits at the end is dropped, as all is done.

    Other threads than the main one, which alone is interrupted, are not affected; nor is what is held already.
    """

    def __enter__(self) -> None:
        global _previous, _come, _open, _delivered
        self.here = threading.current_thread() is threading.main_thread() and _previous is None
        if self.here:
            if _owed is not None:
                _settle()
            previous = _signal.getsignal(signal.SIGINT)
            self.here = previous is not None  # else it is not one of Python's
        if self.here:
            _previous, _come, _open, _delivered = previous, False, False, False
            _signal.signal(signal.SIGINT, _note)

    def __exit__(self, *exception: object) -> None:
        global _previous
        if self.here:
            _signal.signal(signal.SIGINT, _previous)
            _previous = None


class allowed:
    """Let Ctrl-C raise KeyboardInterrupt within `held`, one that waited too."""

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
    """Return what compiled code returns. An interrupt waits for `check`: a callback of it could not raise it."""
    global _open
    before, _open = _open, False
    try:
        return function(*arguments)
    finally:
        _open = before


def check() -> None:
    """Hand an interrupt that waited to the program, where it is allowed."""
    global _come
    if _come and _open:
        _come = False
        _deliver(signal.SIGINT, None)


def owe() -> None:
    """Have the next `held` of the same caller raise KeyboardInterrupt, if an interrupt ended the present one.

    What has been done was returned to the caller, whose loop is to end all the same. A caller is the outermost frame of
    the program that called: a script, a cell of a notebook, a test.
    """
    global _owed
    if _delivered:
        _owed = _caller()


def _settle() -> None:
    """Raise the interrupt that a caller is owed, if it is that caller who calls again."""
    global _owed
    owed, _owed = _owed, None
    if owed is _caller():
        raise KeyboardInterrupt


def _caller() -> FrameType | None:
    """Return the outermost of the frames around this package's that are not of libraries."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  Python has no public way
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    found = frame
    while frame is not None and not frame.f_code.co_filename.startswith(("<frozen", *_LIBRARIES)):
        found, frame = frame, frame.f_back
    return found


def _note(number: int, frame: FrameType | None) -> None:
    """Do what the program does of an interrupt where it is let through, and remember it elsewhere."""
    global _come
    if _open:
        _deliver(number, frame)
    else:
        _come = True


def _deliver(number: int, frame: FrameType | None) -> None:
    """Do what the program does of an interrupt."""
    global _delivered
    _delivered = True
    if callable(_previous):
        _previous(number, frame)
    elif _previous == signal.SIG_DFL:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
