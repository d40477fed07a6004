"""`Recorder`: the blocks of memory to which the time loop writes its records; faster loops get larger blocks.

Blocks above a total size go to a temporary file without a name, which is deleted with the arrays that map it.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from sarrus.base.arrays import Array
from sarrus.motion.loop.tolerances import CALL_SECONDS, FIRST_BLOCK_SHARE, RECORDS_IN_MEMORY

# Rows that a block has at first, at least and at most; with fewer left than the last number a new one begins.
_FIRST, _LEAST, _MOST, _LEFT = 256, 64, 65536, 16


class Recorder:
    """Blocks of rows of one width, with the time of a record first; ``filled`` rows of the last block are in use."""

    def __init__(self, width: int, expected: float = 0.0, most: float = np.inf) -> None:
        """Allocate for rows of this width: for all ``expected`` rows at once if they fit in ``most`` bytes."""
        self.width, self._rows = width, _FIRST
        self._expected = (
            int(expected) if 8 * width * expected <= min(most, FIRST_BLOCK_SHARE * RECORDS_IN_MEMORY) else 0
        )
        self._blocks: list[Array] = []
        self._file: BinaryIO | None = None
        self._in_file = 0  # rows
        self.filled = 0

    @property
    def nothing(self) -> Array:
        """An array without rows."""
        return np.empty((0, self.width))

    def begin_block(self) -> Array:
        """Return the rows of a new block; rows without a time count as empty, as an interrupt leaves them."""
        rows = self._expected + _LEFT if self._expected else self._rows
        self._blocks.append(np.empty((rows, self.width)))
        self._expected = 0
        self._blocks[-1][:, 0] = np.nan
        self.filled = 0
        return self._blocks[-1]

    def room(self, most: float) -> Array | None:
        """Return rows to write to; None if another block would exceed ``most`` bytes or the disk is full."""
        if self._blocks and len(self._blocks[-1]) - self.filled >= _LEFT:
            return self._blocks[-1][self.filled : self.filled + self._rows]
        in_memory = sum(block.nbytes for block in self._blocks)
        if in_memory + 8 * self.width * self._in_file >= most or (
            in_memory >= RECORDS_IN_MEMORY and not self._spill()
        ):
            return None
        return self.begin_block()[: self._rows]

    def _spill(self) -> bool:
        """Move all blocks to the file; return False if the disk is full."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="sarrus-")  # noqa: SIM115
            rows = self._rows_in_memory()
            self._file.write(rows.data)
            self._file.flush()
        except OSError:
            if self._file is not None:
                with suppress(OSError):
                    self._file.seek(8 * self.width * self._in_file)
            return False
        self._in_file += len(rows)
        self._blocks.clear()
        return True

    def _rows_in_memory(self) -> Array:
        """Return the rows of the blocks; a single block that is mostly full is not copied."""
        full = [block[: block[:, 0].searchsorted(np.nan)] for block in self._blocks]
        if len(full) == 1:
            return full[0] if 2 * len(full[0]) >= len(self._blocks[0]) else full[0].copy()
        return np.concatenate(full) if full else self.nothing

    def enlarge(self) -> None:
        """Make the next block larger, because the records of one step did not fit."""
        self._rows *= 4
        self.filled = len(self._blocks[-1])

    def note(self, rows: int, seconds: float) -> None:
        """Count the rows that a call has written; its duration sets the size of the next blocks."""
        full = rows >= min(len(self._blocks[-1]) - self.filled, self._rows) - 2
        self.filled += rows
        if full and seconds < 0.5 * CALL_SECONDS:
            self._rows = max(self._rows, min(4 * self._rows, _MOST))
        elif seconds > 2 * CALL_SECONDS:
            self._rows = max(self._rows // 4, _LEAST)

    @property
    def last(self) -> Array:
        """The rows of the last block, of which ``filled`` are in use."""
        return self._blocks[-1][self.filled - 1]

    def all_rows(self) -> Array:
        """Return all records: in memory, or mapped from the file, to which the rest is moved if the disk has room."""
        if self._in_file == 0:
            return self._rows_in_memory()
        rest = self.nothing if self._spill() else self._rows_in_memory()
        assert self._file is not None
        filed = np.memmap(self._file, np.float64, "r", shape=(self._in_file, self.width))
        return np.concatenate([filed, rest]) if len(rest) else filed

    def at(self, times: Array, close: float) -> Array:
        """Return the rows at ascending times, to within ``close`` [s]; NaN for times without a record."""
        rows = self.all_rows()
        if len(rows) == 0:
            return np.full((len(times), self.width), np.nan)
        index = np.minimum(np.searchsorted(rows[:, 0], times - close), len(rows) - 1)
        found = np.abs(rows[index, 0] - times) <= close
        return np.where(found[:, None], rows[index], np.nan)
