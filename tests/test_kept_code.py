"""Code that the tests keep takes a bounded room, and who uses it loses nothing by that."""

from __future__ import annotations

import os
from pathlib import Path

from kept_code import limit_room


def test_entries_used_longest_ago_make_room(tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.sarrus" for k in range(8)]
    for k, path in enumerate(paths):
        path.write_bytes(bytes(100))
        os.utime(path, (1000 + k, 1000 + k))
    (tmp_path / "secret").write_bytes(bytes(32))
    os.utime(paths[0], (2000, 1000))  # read again
    assert limit_room(tmp_path, 800) == 0
    assert limit_room(tmp_path, 799) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"0.sarrus", "6.sarrus", "7.sarrus", "secret"}
    assert limit_room(tmp_path / "nothing") == 0
