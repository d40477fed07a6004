"""Full disks, calls of the system that fail, kills while files are written; `make attack` does more of each."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import disks
import pytest
from writers import motion

from sarrus.base.errors import WriteError
from sarrus.base.files.atomic import replacing, write
from sarrus.base.files.deferred_errors import DeferredErrorFile


def test_full_disks(tmp_path: Path) -> None:
    disks.full_disks(tmp_path, 12).check()


@pytest.mark.slow
def test_failing_calls(tmp_path: Path) -> None:
    disks.errors(tmp_path).check()


def test_kills(tmp_path: Path) -> None:
    disks.kills(tmp_path, 8).check()


def test_full_disk_says_how_much_is_missing(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path, 200) as (disk, kind):
        path = motion(1).save(disk / "run.nc")
        old, long = path.read_bytes(), motion(2, samples=2000)
        missing = r"\d+.* kB are needed, .* kB are missing" if kind == "tmpfs" else "file too large"
        with (
            disks.filled(disk, kind, 100_000, {}),
            pytest.raises(
                WriteError, match=f"cannot be written .*{missing}.*still in memory; .*run.nc is unchanged"
            ),
        ):
            long.save(path)
        assert path.read_bytes() == old
        assert [file.name for file in disk.iterdir()] == ["run.nc"]


def test_write_errors_are_errors_of_the_system_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="not a directory"):
        write(tmp_path / "file" / "run.nc", [b""], kept="all is in memory")


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    motion(1).to_csv(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_text().startswith("t [s],")


def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 251 + ".csv")
    assert motion(1).to_csv(path).is_file()


def test_errors_of_the_writer_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path, kept="all is in memory") as partial:
        partial.write_text(f"new {1 // 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_steady_file_goes_on_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with DeferredErrorFile(path) as file:
        file.write(memoryview(b"0123456789"))

        def fails(data: object) -> int:
            raise OSError(errno.ENOSPC, "no space")

        file._file = type(
            "Full", (), {"write": staticmethod(fails), "__getattr__": lambda _, n: getattr(own, n)}
        )()  # type: ignore[assignment]
        own = path.open("r+b", buffering=0)
        file.seek(5)
        file.write(memoryview(b"abcdefgh"))
        file.seek(-8, os.SEEK_END)
        buffer = bytearray(10)
        file.readinto(memoryview(buffer))
        assert bytes(buffer) == b"abcdefgh\0\0"
        with pytest.raises(OSError, match="no space"):
            file.check()
    assert path.read_bytes() == b"0123456789"
