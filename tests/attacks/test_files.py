"""Full disks, failing calls, kills, damaged files and shared stores, in small numbers; `make attack` does the large."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import damage
import disks
import numpy as np
import pytest
import races
from writers import copy_chunks, motion, study, template

from sarrus.errors import ArgumentError, StoreWarning, WriteError
from sarrus.files.seals import add_seal, check_seal
from sarrus.files.steady import SteadyFile
from sarrus.files.whole import beside, write
from sarrus.trajectory import Trajectory


def test_full_disks(tmp_path: Path) -> None:
    disks.full_disks(tmp_path, 12).check()


def test_failing_calls(tmp_path: Path) -> None:
    disks.errors(tmp_path).check()


def test_kills(tmp_path: Path) -> None:
    disks.kills(tmp_path, 8).check()


def test_flipped_bits(tmp_path: Path) -> None:
    damage.bits(tmp_path, 2000).check()


def test_damaged_trajectories(tmp_path: Path) -> None:
    damage.trajectories(tmp_path, 400).check()


def test_damaged_stores(tmp_path: Path) -> None:
    damage.stores(tmp_path, 24).check()


def test_damaged_study_files(tmp_path: Path) -> None:
    damage.study_files(tmp_path, 150).check()


def test_two_and_four_processes_share_a_store(tmp_path: Path) -> None:
    races.together(tmp_path, 2).check()


def test_claims_of_killed_processes_are_taken_over(tmp_path: Path) -> None:
    races.killed(tmp_path, 1).check()


def test_full_disk_says_how_much_is_missing(tmp_path: Path) -> None:
    with disks.small_disk(tmp_path, 200) as (disk, kind):
        path = motion(1).save(disk / "run.nc")
        old, long = path.read_bytes(), motion(2, samples=2000)
        missing = r"\d+.* kB are needed, .* kB are missing" if kind == "tmpfs" else "file too large"
        with (
            disks.filled(disk, kind, 100_000, {}),
            pytest.raises(
                WriteError, match=f"cannot be written .*{missing}.*still in memory; .*run.nc is as it was"
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


def test_errors_of_the_writer_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), beside(path, kept="all is in memory") as partial:
        partial.write_text(f"new {1 // 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_steady_file_goes_on_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    with SteadyFile(path) as file:
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


def test_unverified_files_are_read_on_demand(tmp_path: Path) -> None:
    import h5py

    path = motion(3).save(tmp_path / "run.nc")
    with h5py.File(path, "r+") as file:
        file["q"][0, 0] = 7.0
    with pytest.raises(ArgumentError, match=r"run\.nc: not a trajectory that sarrus saved, or a damaged one"):
        Trajectory.load(path)
    assert Trajectory.load(path, verify=False).q[0, 0] == 7.0
    add_seal(path)
    check_seal(path, "a trajectory")
    assert Trajectory.load(path).q[0, 0] == 7.0


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path)])
def test_what_is_no_file(make: object, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    make(path)  # type: ignore[operator]
    with pytest.raises(ArgumentError, match="no such file"):
        Trajectory.load(path)
    with pytest.raises(ArgumentError, match="something that is no file"):
        motion(1).save(path)


def test_a_damaged_result_is_made_again_from_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = study(tmp_path / "right")
    copy_chunks(template(tmp_path), tmp_path / "study")
    (tmp_path / "study" / "result.nc").write_bytes((tmp_path / "right" / "result.nc").read_bytes()[:5000])
    monkeypatch.setattr("sarrus.sweeps.study.Study.run", None)  # no run is needed
    with pytest.warns(StoreWarning, match=r"result\.nc is damaged .*kept as damaged-result\.nc"):
        found = study(tmp_path / "study")
    np.testing.assert_array_equal(found.q, right.q)  # type: ignore[attr-defined]
    assert (tmp_path / "study" / "damaged-result.nc").stat().st_size == 5000


def test_a_second_process_says_for_whom_it_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from threading import Timer

    from sarrus.sweeps.claims import claim, owner

    copy_chunks(template(tmp_path), tmp_path / "study")
    lock = tmp_path / "study" / "locks" / "whole"
    held = claim(lock)
    assert held is not None
    assert claim(lock) is None
    said = owner(lock)
    assert said is not None
    assert said.process == os.getpid()
    Timer(1.6, held.release).start()
    study(tmp_path / "study")
    assert f"waiting for process {os.getpid()} on" in caplog.text
