"""Trajectories: labels, exact round trips through files, interpolation, errors."""

from __future__ import annotations

import csv
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.motion.records.records import EventRecord, LimitCrossing, Passage
from sarrus.motion.records.trajectory import Trajectory


def made_up(
    nq: int = 3, nv: int = 2, nu: int = 1, nc: int = 2, samples: int = 7, seed: int = 0
) -> Trajectory:
    """Return a trajectory of random numbers, with an infinity, a denormal and a negative zero among them."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal((samples, nq))
    if q.size > 3:
        q.flat[:3] = np.nextafter(0.0, 1.0), -0.0, 1 / 3
    condition = rng.uniform(1, 1e5, samples)
    condition[:1] = np.inf
    return Trajectory(
        name="made up, größer",
        t=np.sort(rng.uniform(0, 5, samples)),
        q=q,
        v=rng.standard_normal((samples, nv)),
        a=rng.standard_normal((samples, nv)),
        u=rng.standard_normal((samples, nu)),
        multipliers=rng.standard_normal((samples, nc)),
        energy=rng.standard_normal(samples),
        rank=rng.integers(0, 3, samples),
        condition=condition,
        residual=rng.uniform(0, 1e-12, samples),
        status=Status.PROJECTION_FAILED,
        message="a message; with 'quotes'",
        passages=(Passage(1 / 3, 1e-17, ("left", "right"), True), Passage(2.0, float("inf"))),
        limit_crossings=(LimitCrossing("q0", 0.1, 2.0, 1.9),),
        events=(EventRecord("touch", 0.7, True),),
        coordinate_names=tuple(f"q{k}" for k in range(nq)),
        velocity_names=tuple(f"q{k}" for k in range(nv)),
        actuator_names=tuple(f"motor{k}" for k in range(nu)),
        constraint_names=tuple(f"loop.{k}" for k in range(nc)),
        coordinate_units=("rad",) * nq,
        velocity_units=("",) * nv,
        steps=6,
        rejected=2,
        wall_seconds=0.1,
    )


def assert_same(one: Trajectory, other: Trajectory) -> None:
    """Compare every field but system and mechanism, numbers bit for bit."""
    for f in fields(Trajectory):
        mine, theirs = getattr(one, f.name), getattr(other, f.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, f.name
            assert mine.shape == theirs.shape, f.name
            assert mine.tobytes() == theirs.tobytes(), f.name
        elif f.name not in ("system", "mechanism"):
            assert mine == theirs, f.name
            assert type(mine) is type(theirs), f.name


@pytest.mark.parametrize(
    "sizes",
    [{}, {"nu": 0}, {"nc": 0}, {"nu": 0, "nc": 0}, {"samples": 1}, {"samples": 0}, {"nq": 0, "nv": 0}],
)
def test_files_keep_every_bit(sizes: dict[str, int], tmp_path: Path) -> None:
    trajectory = made_up(**sizes)
    path = trajectory.save(tmp_path / "run.nc")
    assert_same(trajectory, Trajectory.load(path))


def test_a_file_keeps_ten_thousand_passages(tmp_path: Path) -> None:
    many = tuple(Passage(k / 7, 1e-9 * k, ("a long name of a closure",), k % 2 == 0) for k in range(10_000))
    trajectory = replace(made_up(), passages=many)
    assert Trajectory.load(trajectory.save(tmp_path / "run.nc")).passages == many


def test_xarray_reads_what_save_wrote(tmp_path: Path) -> None:
    import xarray as xr

    trajectory = made_up()
    dataset = trajectory.to_xarray()
    assert dataset["q"].dims == ("time", "coordinate")
    assert dataset["energy"].attrs["units"] == "J"
    np.testing.assert_array_equal(dataset["q"].sel(coordinate="q1"), trajectory.q[:, 1])
    with xr.open_dataset(trajectory.save(tmp_path / "run.nc"), engine="h5netcdf") as stored:
        xr.testing.assert_identical(stored.load().reset_coords(drop=True), dataset.reset_coords(drop=True))


def test_csv_holds_all_columns_in_full_precision(tmp_path: Path) -> None:
    trajectory = made_up()
    with open(trajectory.to_csv(tmp_path / "run.csv"), encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["t [s]", "q q0 [rad]", "q q1 [rad]"]
    assert {"v q1", "u motor0", "multipliers loop.1", "energy [J]", "rank"} <= set(rows[0])
    values = np.array(rows[1:], dtype=float)
    assert values.shape == (7, 1 + 3 + 2 + 2 + 1 + 2 + 5)
    assert values[:, 1:4].tobytes() == trajectory.q.tobytes()


def test_arrays_are_read_only_and_shapes_are_checked() -> None:
    trajectory = made_up()
    with pytest.raises(ValueError, match="read-only"):
        trajectory.q[0, 0] = 1.0
    with pytest.raises(ArgumentError, match=r"u has shape \(7, 2\), expected \(7, 1\)"):
        replace(trajectory, u=np.zeros((7, 2)))


def test_figures_and_summary() -> None:
    trajectory = replace(made_up(), energy=np.array([1.0, 1.5, 0.0, 1, 1, 1, 1]), rank=np.full(7, 1))
    assert trajectory.energy_drift == 1.0
    assert trajectory.dof.tolist() == [1] * 7
    assert "7 samples" in repr(trajectory)
    assert "PROJECTION_FAILED" in repr(trajectory)
    assert "2 singular passages" in repr(trajectory)


@pytest.mark.parametrize("path", ["run.txt", "run", "run.nc.gz"])
def test_wrong_suffix(path: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"must end in \.nc"):
        made_up().save(tmp_path / path)


def test_missing_folder_and_files(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="no such folder"):
        made_up().save(tmp_path / "nowhere" / "run.nc")
    with pytest.raises(ArgumentError, match=r"run\.nc: no such file"):
        Trajectory.load(tmp_path / "run.nc")


def test_foreign_and_damaged_files(tmp_path: Path) -> None:
    import xarray as xr

    foreign = tmp_path / "foreign.nc"
    xr.Dataset({"x": ("time", np.arange(3.0))}).to_netcdf(foreign, engine="h5netcdf")
    with pytest.raises(ArgumentError, match="not a trajectory that sarrus saved"):
        Trajectory.load(foreign)
    path = made_up().save(tmp_path / "run.nc")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ArgumentError, match="damaged"):
        Trajectory.load(path)
    path.write_text("hello")
    with pytest.raises(ArgumentError, match="not a trajectory that sarrus saved, or a damaged one"):
        Trajectory.load(path)


def test_a_file_without_a_field_is_foreign(tmp_path: Path) -> None:
    import h5netcdf

    path = made_up().save(tmp_path / "run.nc")
    with h5netcdf.File(path, "a") as file:
        del file.attrs["steps"]
    with pytest.raises(ArgumentError, match="damaged"):
        Trajectory.load(path)


def free_turn(samples: int) -> Trajectory:
    """Return q = sin t and a quaternion turning about z, both with exact velocities and accelerations."""
    t = np.linspace(0.0, 2.0, samples)
    still = np.zeros_like(t)
    return replace(
        made_up(nq=5, nv=4, nu=0, nc=0, samples=samples),
        t=t,
        q=np.stack([np.sin(t), np.cos(t / 2), still, still, np.sin(t / 2)], axis=1),
        v=np.stack([np.cos(t), still, still, np.ones_like(t)], axis=1),
        a=np.stack([-np.sin(t), still, still, still], axis=1),
        coordinate_names=("slide", "ball.qw", "ball.qx", "ball.qy", "ball.qz"),
        velocity_names=("slide", "ball.wx", "ball.wy", "ball.wz"),
    )


def test_interpolation_is_of_sixth_order_and_keeps_quaternions_unit() -> None:
    times = np.linspace(0.0, 2.0, 301)
    errors = []
    for samples in (21, 41):
        q = free_turn(samples).at(times)
        errors.append(np.abs(q[:, 0] - np.sin(times)).max())
        np.testing.assert_allclose(np.linalg.norm(q[:, 1:], axis=1), 1.0, atol=1e-15)
        # Quaternions go along chords of half the angle, scaled: off by the cube of half of it, over 9√3.
        half = 2.0 / (samples - 1) / 2
        np.testing.assert_allclose(q[:, 4], np.sin(times / 2), rtol=0, atol=half**3 / 9 / 3**0.5)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(6.0, abs=0.2)


def test_interpolation_meets_the_samples_and_refuses_other_times() -> None:
    trajectory = free_turn(11)
    np.testing.assert_allclose(trajectory.at(trajectory.t), trajectory.q, atol=1e-15)
    assert trajectory.at(0.3).shape == (5,)
    with pytest.raises(ArgumentError, match="covers 0 to 2 s"):
        trajectory.at(2.1)
    with pytest.raises(ArgumentError, match="empty"):
        made_up(samples=0).at(0.0)


def test_a_simulated_motion_survives_its_file(tmp_path: Path) -> None:
    mechanism = sr.load(Path(__file__).parent.parent / "models" / "five_bar.xml")
    system = sr.System(mechanism)
    trajectory = sr.simulate(system, mechanism.keyframes["symmetric"].q, duration=0.8, dt=1e-3)
    loaded = Trajectory.load(trajectory.save(tmp_path / "run.nc"))
    assert_same(trajectory, loaded)
    assert loaded.system is None
    assert loaded.coordinate_units == ("rad",) * 4
    assert [round(p.time, 2) for p in loaded.passages] == [0.65]
