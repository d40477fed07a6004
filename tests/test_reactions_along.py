"""Reactions along runs: those of every state, peaks, files, pictures, contacts, and what comes and goes."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
import xarray as xr

import sarrus as sr
from mechanisms import four_bar


@pytest.fixture(scope="module")
def run() -> sr.Trajectory:
    system = sr.System(four_bar())
    q = system.assemble([1.0, -0.5, -1.0]).q
    return sr.simulate(system, q, duration=1.0, dt=1e-2, control=lambda q, v, t: [1.5 * ca.sin(5 * t)])


def test_they_are_those_of_every_state(run: sr.Trajectory) -> None:
    stiffness = {"crank": (1e6, 1e6, 2e6, 1e3, 1e3, 0), "pin": 1e6}
    found = run.reactions(frame="joint", stiffness=stiffness, points={"pin": (0.1, 0, 0)})
    assert found.force.shape == (len(run.t), 4, 3)
    assert found.determined.shape == (len(run.t), 4, 6)
    assert len(found) == 4
    assert found.undetermined == ("crank", "coupler", "rocker", "pin")
    for k in (0, 17, 100):
        one = sr.reactions(
            run.system, run.q[k], run.v[k], run.u[k], run.t[k], frame="joint", stiffness=stiffness,
            points={"pin": (0.1, 0, 0)},
        )  # fmt: skip
        scale = np.abs(one.force).max()
        for part in ("force", "couple", "bearing_force", "bearing_couple", "points", "multipliers"):
            here, there = getattr(found, part)[k], getattr(one, part)
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-8 * scale, err_msg=part)
        np.testing.assert_array_equal(found.determined[k], one.determined)
        np.testing.assert_array_equal(found.settled[k], one.settled)
    crank = found["crank"]
    np.testing.assert_allclose(crank.drive_couple[:, 2], run.u[:, 0], atol=1e-8)
    np.testing.assert_allclose(found.part("drive")[1][:, 0], crank.drive_couple)
    with pytest.raises(ValueError, match="read-only"):
        found.force[0, 0, 0] = 1.0


def test_peaks_are_the_first_of_equal_ones(run: sr.Trajectory) -> None:
    found = run.reactions()
    peaks = found.maxima()
    sizes = np.linalg.norm(found.force, axis=2)
    assert peaks["crank"].force == pytest.approx(sizes[:, 0].max(), rel=1e-9)
    assert run.t[np.argmax(sizes[:, 0])] == peaks["crank"].force_time
    assert not peaks["crank"].force_determined
    assert peaks["pin"].couple == 0.0
    assert [peak.name for peak in peaks] == list(found.names)
    text = str(found.maxima("bearing"))
    assert "~" in text
    assert "bearing" in text
    with pytest.raises(sr.ArgumentError, match="unknown part 'half'"):
        found.maxima("half")
    with pytest.raises(sr.ArgumentError, match=r"unknown joint 'pins'. Did you mean 'pin'"):
        peaks["pins"]
    # a pendulum that swings evenly: its peaks are at the lowest points, the first of these counts
    bob = sr.Mechanism("bob")
    bob.add_body("bob", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    bob.add_joint("pin", "revolute", "world", "bob", axis=(0, 1, 0), damping=0.0)
    system = sr.System(bob)
    still = sr.simulate(system, [np.pi / 2], duration=1.0, dt=0.1).reactions().maxima()
    assert (still["pin"].force_time, still["pin"].couple_time) == (0.0, 0.0)
    assert still["pin"].force == pytest.approx(9.81)
    assert still["pin"].couple == 0.0


def test_files_and_pictures(run: sr.Trajectory, tmp_path: Path) -> None:
    found = run.reactions(frame="joint")
    data = xr.open_dataset(found.save(tmp_path / "loads.nc"))
    np.testing.assert_array_equal(data.force.sel(joint="crank").values, found["crank"].force)
    assert data.couple.units == "N m"
    assert data.attrs["frame"] == "joint"
    assert data.determined.sel(joint="crank", component="fz").values.sum() == 0
    assert found.to_xarray().identical(found.to_xarray())
    for name, draw in (
        ("over_time.png", lambda path: found.plot(path)),
        ("chosen.svg", lambda path: found.plot(path, names=["pin"], part="bearing")),
        ("tip.png", lambda path: found.hodograph("crank", path)),
        ("plane.png", lambda path: found.hodograph("crank", path, plane="yz")),
        ("arrows.png", lambda path: sr.reactions(run.system, run.q[3], run.v[3]).draw(path)),
    ):
        draw(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 5000
    figure = found.hodograph("crank")
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(np.column_stack(line.get_data()), found["crank"].force[:, :2])
    with pytest.raises(sr.ArgumentError, match="unknown joint 'cranks'"):
        found.plot(names=["cranks"])
    # from a file, the system is made again
    path = run.save(tmp_path / "run.nc")
    again = sr.Trajectory.load(path).reactions(frame="joint")
    np.testing.assert_array_equal(again.force, found.force)


def test_a_crate_that_lands_and_slides() -> None:
    """The load at the foot of its mast is that of its acceleration, whatever the corners do."""
    m = sr.Mechanism("crate")
    m.add_body("crate", 3.0, (0, 0, 0.2), (0.2, 0.2, 0.2))
    m.add_joint("loose", "free", "world", "crate", reference=(0, 0, 0.05, 1, 0, 0, 0))
    m.add_body("mast", 1.0, (0, 0, 0.3), (0.05, 0.05, 0.01))
    m.add_joint("foot", "fixed", "crate", "mast", parent_pose=(0, 0, 0.4))
    corners = [(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]
    for k, (x, y) in enumerate(corners):
        m.add_contact(f"c{k}", "crate", (x, y, 0), friction="coulomb", friction_coefficient=0.2)
    system = sr.System(m)
    run = sr.simulate(system, system.neutral(), [0.8, 0, 0, 0, 0, 0], duration=0.6)
    found = run.reactions()
    loads = found["mast"].force
    np.testing.assert_allclose(loads, run.a[:, :3] + [0, 0, 9.81], atol=1e-7)
    feet = sum(found[f"c{k}"].force for k in range(4))
    np.testing.assert_allclose(feet, 4 * (run.a[:, :3] + [0, 0, 9.81]), atol=1e-6)
    closed = np.abs(feet[:, 2]) > 1e-6
    assert closed.any()
    assert not closed.all()
    assert found["c0"].determined[~closed].all()
    settled = closed & (
        run.t != run.switches[-1].time
    )  # where it comes to rest, each corner slides its own way
    assert not found["c0"].determined[settled, 2].any()
    assert found["mast"].determined.all()


def test_what_is_off_shares_nothing() -> None:
    """Two hinges of one door, of which the upper is on or off: then the lower one holds it alone."""
    m = sr.Mechanism("door")
    m.add_body("leaf", 20.0, (0.4, 0, 1.0), (2, 3, 1.5))
    m.add_joint("lower", "revolute", "world", "leaf")
    m.add_closure("upper", "point", "world", "leaf", pose1=(0, 0, 2), pose2=(0, 0, 2), active=True)
    system = sr.System(m)
    held = sr.simulate(system, [0.0], duration=0.1, dt=0.05).reactions()
    free = sr.simulate(
        system.with_parameters({"active.upper": 0.0}), [0.0], duration=0.1, dt=0.05
    ).reactions()
    assert not held["lower"].determined[:, 2].any()
    assert free["lower"].determined.all()
    np.testing.assert_allclose(free["upper"].force, 0.0)
    np.testing.assert_allclose(free["lower"].force, [[0, 0, 20 * 9.81]] * 3, atol=1e-9)
    np.testing.assert_allclose(free["lower"].couple, [[0, -20 * 9.81 * 0.4, 0]] * 3, atol=1e-9)


def test_runs_that_know_no_joints_say_so() -> None:
    system = sr.System.from_lagrangian(1, lambda q, v, t: v[0] ** 2 / 2 - q[0])
    run = sr.simulate(system, [0.0], [1.0], duration=0.1, dt=0.05)
    with pytest.raises(sr.ArgumentError, match="only a system made from a Mechanism has joints"):
        sr.reactions_along(run)


def test_steps_in_time_leave_out_what_does_not_balance() -> None:
    """Means of contact forces with impacts in them go with no acceleration: NaN, and it says where."""
    m = sr.Mechanism("crate")
    m.add_body("crate", 3.0, (0, 0, 0.2), (0.2, 0.2, 0.2))
    m.add_joint("loose", "free", "world", "crate", reference=(0, 0, 0.05, 1, 0, 0, 0))
    m.add_body("mast", 1.0, (0, 0, 0.3), (0.05, 0.05, 0.01))
    m.add_joint("hinge", "revolute", "crate", "mast", axis=(0, 1, 0), parent_pose=(0, 0, 0.4), stiffness=50.0)
    for k, (x, y) in enumerate([(0.3, 0.2), (-0.3, 0.2), (-0.3, -0.2), (0.3, -0.2)]):
        m.add_contact(f"c{k}", "crate", (x, y, 0), friction="coulomb", friction_coefficient=0.2)
    system = sr.System(m)
    start = system.neutral(), [0.8, 0, 0, 0, 0.3, 0, 0]
    run = sr.simulate(system, *start, duration=0.4, dt=1e-3, method="moreau-jean")
    found = run.reactions()
    assert 0 < found.left_out.sum() < 10
    np.testing.assert_array_equal(np.isnan(found.force).any(axis=(1, 2)), found.left_out)
    np.testing.assert_allclose(found["loose"].force[~found.left_out], 0.0, atol=0.01 * 4 * 9.81)
    assert np.isfinite([peak.force for peak in found.maxima()]).all()
    assert "samples at impacts" in repr(found)
    assert len(found.hodograph("hinge").axes) == len(found.plot().axes) - 1
    events = sr.simulate(system, *start, duration=0.4).reactions()
    assert not events.left_out.any()
    np.testing.assert_allclose(events["loose"].force, 0.0, atol=1e-9)
