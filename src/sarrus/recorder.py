"""`Recorder`: the memory that the time loop writes its records to, in blocks that grow as the loop proves fast."""

from __future__ import annotations

import numpy as np

from sarrus.mechanism.pose import Array

# A call of the kernel takes about this long, so that interrupts and progress bars have their turn.
_CALL_SECONDS = 0.1
# Rows that a block has at first, at least and at most; with fewer left than the last number a new one begins.
_FIRST, _LEAST, _MOST, _LEFT = 256, 64, 65536, 16


class Recorder:
    """Rows of one width, the time of a record first, of which the last block has so many ``filled``."""

    def __init__(self, width: int) -> None:
        self._width, self._rows = width, _FIRST
        self._blocks: list[Array] = []
        self.filled = 0

    @property
    def nothing(self) -> Array:
        """No row at all."""
        return np.empty((0, self._width))

    def begin_block(self) -> Array:
        """Return rows to write to; those without a time count as empty, as an interrupt leaves them."""
        self._blocks.append(np.empty((self._rows, self._width)))
        self._blocks[-1][:, 0] = np.nan
        self.filled = 0
        return self._blocks[-1]

    def room(self, most: float) -> Array | None:
        """Return rows to write to; None where another block would exceed ``most`` bytes."""
        if self._blocks and len(self._blocks[-1]) - self.filled >= _LEFT:
            return self._blocks[-1][self.filled :]
        return None if sum(block.nbytes for block in self._blocks) >= most else self.begin_block()

    def enlarge(self) -> None:
        """Have a larger block begin next: what one step is to record did not fit in."""
        self._rows *= 4
        self.filled = len(self._blocks[-1])

    def note(self, rows: int, seconds: float) -> None:
        """Count rows that a call wrote to its room; by how long it took the next blocks are larger or smaller."""
        full = rows >= len(self._blocks[-1]) - self.filled - 2
        self.filled += rows
        if full and seconds < 0.5 * _CALL_SECONDS:
            self._rows = max(self._rows, min(4 * self._rows, _MOST))
        elif seconds > 2 * _CALL_SECONDS:
            self._rows = max(self._rows // 4, _LEAST)

    def all_rows(self) -> Array:
        """Return what was recorded."""
        rows = np.concatenate(self._blocks) if self._blocks else self.nothing
        return rows[~np.isnan(rows[:, 0])]

    def at(self, times: Array, close: float) -> Array:
        """Return the rows at ascending times, to within ``close``; NaN where there is none."""
        rows = self.all_rows()
        if len(rows) == 0:
            return np.full((len(times), self._width), np.nan)
        index = np.minimum(np.searchsorted(rows[:, 0], times - close), len(rows) - 1)
        found = np.abs(rows[index, 0] - times) <= close
        return np.where(found[:, None], rows[index], np.nan)
