"""Native code of the tests: kept in the checkout from run to run, and compiled at the lowest level.

A run after one that compiled everything compiles nothing. The key of an entry holds the digests of its program and of
the generator, so that code of other sources is never used; it only takes room, which `limit_room` gives back. Entries
appear whole or not at all, and one that is missing is compiled again: processes need not know of each other.
"""

from __future__ import annotations

import os
from pathlib import Path

from sarrus.codegen.private import NotPrivateError, open_private

PLACE = Path(__file__).resolve().parent.parent / "build" / "tests" / "native-code"
ROOM = 1 << 30  # bytes that may lie there when a run begins; all tests make about 200 MB
LEFT = 0.5  # of the room, where there was more


def use_kept_code() -> None:
    """Have this process and its children keep native code in the checkout and compile it at level 0.

    What the environment says already stays. A checkout that others may write to keeps no code: then the user's own
    cache is used, as anywhere else.
    """
    os.environ.setdefault("SARRUS_OPTIMIZATION", "0")
    if "SARRUS_CACHE_DIR" not in os.environ:
        try:
            open_private(PLACE).__exit__(None, None, None)
        except (OSError, NotPrivateError):
            return
        os.environ["SARRUS_CACHE_DIR"] = str(PLACE)


def limit_room(place: Path = PLACE, room: int = ROOM) -> int:
    """Where the entries of a directory take more room, remove those used longest ago; return how many.

    When they were used is what the file system says; where it says nothing, when they were written.
    """
    entries = []
    for path in place.glob("*.sarrus"):
        try:
            status = path.stat()
        except FileNotFoundError:  # another run has just removed it
            continue
        entries.append((max(status.st_atime, status.st_mtime), status.st_size, path))
    size, gone = sum(size for _, size, _ in entries), 0
    if size > room:
        for _, freed, path in sorted(entries):
            if size <= LEFT * room:
                break
            path.unlink(missing_ok=True)
            size, gone = size - freed, gone + 1
    return gone
