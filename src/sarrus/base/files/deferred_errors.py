"""`DeferredErrorFile`: a file for HDF5, which ends the process when the disk is full."""

from __future__ import annotations

import io
import os
from pathlib import Path


class DeferredErrorFile(io.RawIOBase):
    """A file whose writes do not raise, for HDF5, which ends the process when the disk is full.

    The first error of the disk is kept as ``error``; later content stays in memory, so that HDF5 can close its file.
    The writer calls ``check`` between large pieces and at the end.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("r+b", buffering=0)
        self._place = 0
        self._late: list[tuple[int, bytes]] = []  # (place, content) written after the error
        self.error: OSError | None = None

    def check(self) -> None:
        """Raise the error of the disk, if there was one."""
        if self.error is not None:
            raise self.error

    def seekable(self) -> bool:
        """Return True."""
        return True

    readable = writable = seekable

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position and return it."""
        self._place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size}[whence]
        return self._place

    def tell(self) -> int:
        """Return the position."""
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what was written; zeros beyond."""
        self._file.seek(self._place)
        data = bytearray(self._file.read(len(buffer)).ljust(len(buffer), b"\0"))
        for place, late in self._late:
            first, last = max(place, self._place), min(place + len(late), self._place + len(data))
            if first < last:
                data[first - self._place : last - self._place] = late[first - place : last - place]
        buffer[:] = data
        self._place += len(data)
        return len(data)

    def write(self, data: memoryview) -> int:  # type: ignore[override]
        """Write all bytes, to the disk or, after an error of the disk, to memory."""
        try:
            if self.error is None:
                self._file.seek(self._place)
                left = memoryview(data)
                while left:
                    left = left[self._file.write(left) :]
        except OSError as error:
            self.error = error
        if self.error is not None:
            self._late.append((self._place, bytes(data)))
        self._place += len(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Set the size of the file."""
        size = self._place if size is None else size
        try:
            if self.error is None:
                self._file.truncate(size)
        except OSError as error:
            self.error = error
        return size

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    @property
    def _size(self) -> int:
        late = max((place + len(data) for place, data in self._late), default=0)
        return max(os.fstat(self._file.fileno()).st_size, late)
