"""Redundant closures are ordinary: a planar four-bar closed with dead rows moves like the minimal model."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.4, 0.9, 0.8
# closure: kind, generic rank, names of the redundant rows. The mechanism lies in the x-z plane.
CLOSURES = {
    "point_on_line": (2, ()),
    "point": (2, ("pin.y",)),
    "revolute": (2, ("pin.y", "pin.n1", "pin.n2")),
    "weld": (3, ("pin.y", "pin.rx", "pin.rz")),
}


def four_bar(kind: str) -> sr.Mechanism:
    """Return a four-bar of uniform rods; the weld joins the two halves of its coupler."""
    mechanism = sr.Mechanism(f"four_bar_{kind}")
    halves = kind == "weld"

    def add(name: str, joint: str, parent: str, at: float, length: float) -> None:
        moment = 3 * length**3 / 12
        mechanism.add_body(name, 3 * length, com=(length / 2, 0, 0), inertia=(0.0, moment, moment))
        mechanism.add_joint(joint, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(at, 0, 0))

    add("crank", "crank", "world", 0.0, CRANK)
    add("coupler", "coupler", "crank", CRANK, COUPLER / 2 if halves else COUPLER)
    add("rocker", "rocker", "world", GROUND, ROCKER)
    if halves:
        add("half", "half", "rocker", ROCKER, COUPLER / 2)
        turned = sr.Pose.of((COUPLER / 2, 0, 0), rpy=(0, np.pi, 0))
        mechanism.add_closure("pin", "weld", "coupler", "half", pose1=(COUPLER / 2, 0, 0), pose2=turned)
    else:
        ends = {"pose1": (COUPLER, 0, 0), "pose2": (ROCKER, 0, 0)}
        mechanism.add_closure("pin", kind, "coupler", "rocker", axis=(0, 1, 0), **ends)
    return mechanism


def closed(system: sr.System, crank: float = 1.0) -> np.ndarray:
    """Return q with the coupler above the ground link."""
    tip = CRANK * np.array([np.cos(crank), np.sin(crank)])
    reach = np.hypot(GROUND - tip[0], tip[1])
    slope = np.arctan2(-tip[1], GROUND - tip[0])
    coupler = slope + np.arccos((COUPLER**2 + reach**2 - ROCKER**2) / (2 * COUPLER * reach))
    end = tip + COUPLER * np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(end[1], end[0] - GROUND)
    return np.array([crank, coupler - crank, rocker, coupler + np.pi - rocker])[: system.nq]


@pytest.fixture(scope="module")
def minimal():
    system = sr.System(four_bar("point_on_line"))
    v = system.project_velocity(closed(system), [2.0, 0.0, 0.0])
    return system, v, sr.simulate(system, closed(system), v, duration=2.0, dt=5e-4)


@pytest.mark.parametrize("kind", CLOSURES)
def test_same_motion_as_the_minimal_model(kind, minimal):
    _, v0, expected = minimal
    system = sr.System(four_bar(kind))
    q = closed(system)
    assert np.abs(system.constraint_residual(q)).max() < 1e-14
    v = np.array([*v0, v0[0] + v0[1] - v0[2]])[: system.nv]
    motion = sr.simulate(system, q, v, duration=2.0, dt=5e-4)
    assert np.abs(motion.q[:, :3] - expected.q).max() < 1e-9
    assert np.abs(motion.v[:, :3] - expected.v).max() < 1e-8
    assert np.abs(motion.energy - expected.energy).max() < 1e-9
    assert set(motion.dof) == {1}
    assert motion.residual.max() < 1e-13


@pytest.mark.parametrize("kind", CLOSURES)
def test_rank_and_redundant_rows_are_reported(kind):
    system = sr.System(four_bar(kind))
    rank, redundant = CLOSURES[kind]
    forward = system.forward_dynamics(
        closed(system), system.project_velocity(closed(system), np.ones(system.nv))
    )
    assert forward.status is sr.Status.OK
    assert (forward.rank, forward.dof) == (rank, 1)
    assert forward.redundant == redundant
    assert [name for name, sure in zip(system.constraint_names, forward.determined) if not sure] == list(
        redundant
    )
    assert forward.residual < 1e-12
    dead = [name in redundant for name in system.constraint_names]
    assert np.abs(forward.multipliers[dead]).max(initial=0.0) == 0.0


@pytest.mark.parametrize("kind", ["point", "revolute"])
def test_same_constraint_force_as_the_minimal_model(kind, minimal):
    base, v, _ = minimal
    system = sr.System(four_bar(kind))
    expected = base.forward_dynamics(closed(base), v)
    found = system.forward_dynamics(closed(system), v)
    assert np.allclose(found.a, expected.a, rtol=0, atol=1e-11)
    assert np.allclose(found.constraint_force, expected.constraint_force, rtol=0, atol=1e-11)


def test_a_closure_given_twice_halves_its_multipliers(minimal):
    base, v, _ = minimal
    mechanism = four_bar("point_on_line")
    first = mechanism.closures["pin"]
    mechanism.add_closure(
        "twin", first.kind, first.body1, first.body2, pose1=first.pose1, pose2=first.pose2, axis=first.axis1
    )
    system = sr.System(mechanism)
    found = system.forward_dynamics(closed(system), v)
    single = base.forward_dynamics(closed(base), v)
    assert (system.nc, found.rank, found.status) == (4, 2, sr.Status.OK)
    assert not found.determined.any()
    assert np.allclose(found.multipliers, np.tile(single.multipliers / 2, 2), rtol=0, atol=1e-11)
    assert np.allclose(found.a, single.a, rtol=0, atol=1e-11)


def test_redundant_closure_that_misses_by_printed_digits_still_moves(minimal):
    """The second pin sits 1e-8 m beside the first one, as in files with printed digits."""
    _, v, expected = minimal
    mechanism = four_bar("point_on_line")
    ends = {"pose1": (COUPLER + 1e-8, 0, 0), "pose2": (ROCKER, 0, 0)}
    mechanism.add_closure("twin", "point_on_line", "coupler", "rocker", axis=(0, 1, 0), **ends)
    system = sr.System(mechanism)
    assembled = system.assemble(closed(system))
    assert assembled.status is sr.Status.OK
    assert 1e-10 < assembled.residual < 1e-7
    motion = sr.simulate(system, assembled.q, v, duration=2.0, dt=5e-4)
    assert set(motion.rank) == {2}
    assert np.abs(motion.q - expected.q).max() < 1e-6
    assert motion.energy_drift < 1e-6
