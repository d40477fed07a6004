"""A progress bar for long runs in a terminal; otherwise it prints nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from sarrus.base.tolerances import PROGRESS_DELAY


class ProgressBar:
    """A bar on stderr from 0 to ``total`` (in ``unit``), which appears after `DELAY` seconds.

    ``enabled``: True, False, or None for "if stderr is a terminal".
    """

    def __init__(self, total: float, enabled: bool | None = None, unit: str = "s") -> None:
        self.total, self.unit = total, unit
        self.enabled = sys.stderr.isatty() if enabled is None else enabled
        self._began = monotonic()
        self._bar: Any = None
        self._task: Any = None

    def update(self, t: float) -> None:
        """Show the progress ``t`` of ``total``."""
        if not self.enabled:
            return
        if self._bar is None:
            if monotonic() - self._began < PROGRESS_DELAY:
                return
            self._show()
        self._bar.update(self._task, completed=t)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        number = ".2f" if self.unit == "s" else ".0f"
        self._bar = Progress(
            TextColumn("simulating"),
            BarColumn(bar_width=40),
            TextColumn(f"{{task.completed:{number}}} of {{task.total:{number}}} {self.unit}"),
            TimeRemainingColumn(),
            console=Console(stderr=True, force_terminal=True),
            transient=True,
        )
        self._task = self._bar.add_task("", total=self.total)
        self._bar.start()


@contextmanager
def progress_bar(total: float, enabled: bool | None = None, unit: str = "s") -> Iterator[ProgressBar]:
    """Yield a `ProgressBar` for the duration of a ``with`` block."""
    bar = ProgressBar(total, enabled, unit)
    try:
        yield bar
    finally:
        bar.close()
