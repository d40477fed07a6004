"""Damaged, exchanged and forged files: errors by name, or the right numbers; `make attack` does more of each."""

from __future__ import annotations

import os
from pathlib import Path

import damage
import numpy as np
import pytest
from writers import copy_chunks, motion, study, template

from sarrus.base.errors import ArgumentError, StoreWarning
from sarrus.base.files.seals import add_seal, check_seal
from sarrus.motion.records.trajectory import Trajectory


def test_flipped_bits(tmp_path: Path) -> None:
    damage.bits(tmp_path, 2000).check()


def test_damaged_trajectories(tmp_path: Path) -> None:
    damage.trajectories(tmp_path, 400).check()


def test_damaged_stores(tmp_path: Path) -> None:
    damage.stores(tmp_path, 24).check()


def test_damaged_study_files(tmp_path: Path) -> None:
    damage.study_files(tmp_path, 150).check()


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


def test_files_of_before_are_read_on_demand(tmp_path: Path) -> None:
    import h5py

    path = motion(3).save(tmp_path / "run.nc")
    with h5py.File(path, "r+") as file:
        del file.attrs["determined_until"], file.attrs["switches"]
    old = Trajectory.load(path, verify=False)
    assert old.determined_until == np.inf
    assert old.switches == ()


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: os.mkfifo(path)])
def test_what_is_no_file(make: object, tmp_path: Path) -> None:
    path = tmp_path / "run.nc"
    make(path)  # type: ignore[operator]
    with pytest.raises(ArgumentError, match="no such file"):
        Trajectory.load(path)
    with pytest.raises(ArgumentError, match="exists and is not a file"):
        motion(1).save(path)


def test_a_damaged_result_is_made_again_from_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = study(tmp_path / "right")
    copy_chunks(template(tmp_path), tmp_path / "study")
    (tmp_path / "study" / "result.nc").write_bytes((tmp_path / "right" / "result.nc").read_bytes()[:5000])
    monkeypatch.setattr("sarrus.runs.studies.specification.Study.run", None)  # no run is needed
    with pytest.warns(StoreWarning, match=r"result\.nc is damaged .*kept as damaged-result\.nc"):
        found = study(tmp_path / "study")
    np.testing.assert_array_equal(found.q, right.q)  # type: ignore[attr-defined]
    assert (tmp_path / "study" / "damaged-result.nc").stat().st_size == 5000


def test_forged_mechanisms() -> None:
    damage.mechanisms(150).check()
