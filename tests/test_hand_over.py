"""Closures, clutches, brakes, grasps and contacts that switch without a jump of the controls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

sys.path.insert(0, str(Path(__file__).parent / "families"))

import handed_over as family
import lifted_feet

import sarrus as sr
from c_code import Compiled
from sarrus import control
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.impacts.activity import switch_off, switch_on
from sarrus.export import c_code

MASS = {"a": 2.0, "b": 3.0}
Q, V = np.array([0.3, 0.3]), np.array([0.4, 0.4])


def carts(*motors: str, **options: Any) -> sr.System:
    """Two carts of 2 and 3 kg on one track with a clutch between them, motors at those named."""
    m = sr.Mechanism("carts", gravity=(0, 0, 0))
    for name, mass in MASS.items():
        m.add_body(name, mass)
        m.add_joint(name, "prismatic", "world", name, axis=(1, 0, 0))
    for name in motors:
        m.add_actuator(name, name, **options)
    m.add_coupling("clutch", {"a": 1.0, "b": -1.0}, active=True)
    return sr.System(m)


def follow(system: sr.System, **more: Any) -> control.Law:
    """The first cart is at 1 m in the end."""
    return control.ProjectedInverseDynamics(system, ["a"], [1.0], stiffness=30.0, damping=8.0, **more)


def held(system: sr.System, on: bool) -> None:
    (switch_on if on else lambda s, names, q: switch_off(s, names))(system, ["clutch"], Q)


def smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


A = 30.0 * (1.0 - 0.3) - 8.0 * 0.4  # m/s², what the law wants


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("t", [0.0, 0.8, 0.85, 0.93, 1.0, 1.04, 1.2, 2.0])
def test_two_carts_and_a_clutch_in_closed_form(before: bool, t: float):
    system = carts("a", "b")
    law = follow(system, hand_overs=[control.HandOver("clutch", 1.0, 0.2, before_tasks=before)])
    d = smooth(1.0 - abs(t - 1.0) / 0.2)
    # alone each cart carries itself; equal motors share with the clutch, and without it the second one rests
    apart = np.array([2.0, 3.0]) * A
    for on, without in ((True, np.array([2.5, 2.5]) * A), (False, np.array([2.0, 0.0]) * A)):
        held(system, on)
        told = law.solve(Q, V, t)
        assert_allclose(told.u, (1 - d) * without + d * apart, rtol=1e-12, atol=1e-12)
        found = system.forward_dynamics(Q, V, told.u)
        assert abs(found.a[0] - A) < 1e-12
        if on:
            assert_allclose(found.multipliers, (1 - d) * (2.5 - 2.0) * -A, atol=1e-12)
        else:
            assert_allclose(found.a[1], d * A, atol=1e-12)


def test_a_load_that_no_motor_can_take_is_named_and_jumps():
    system = carts("a")
    law = follow(system, hand_overs=[control.HandOver("clutch", 1.0, 0.2)])
    held(system, True)
    closed = law.solve(Q, V, 1.0, throw=False)
    assert closed.missed == ("clutch unloaded",)
    assert closed.status is sr.Status.NOT_ACHIEVABLE
    assert law.solve(Q, V, 0.5).status is sr.Status.OK
    held(system, False)
    opened = law.solve(Q, V, 1.0, throw=False)
    assert opened.missed == ("clutch held",)
    assert_allclose(closed.u - opened.u, 3.0 * A)  # the second cart is let go
    # as first level it has the cart do what needs no force of the clutch
    law = follow(system, hand_overs=[control.HandOver("clutch", 1.0, 0.2, before_tasks=True)])
    for on in (True, False):
        held(system, on)
        told = law.solve(Q, V, 1.0, throw=False)
        assert told.missed == ("motion",)
        assert abs(told.u[0]) < 1e-12


def test_with_limits_in_the_way_the_controls_are_the_same_too():
    system = carts("a", "b", limits=(-30.0, 30.0))
    law = follow(system, hand_overs=[control.HandOver("clutch", 1.0, 0.2, before_tasks=True)])
    u = []
    for on in (True, False):
        held(system, on)
        told = law.solve(Q, V, 1.0, throw=False)
        assert told.missed == ("motion",)
        assert told.outcome == "relaxed"
        u.append(told.u)
    assert_allclose(
        u[0], [20.0, 30.0], atol=1e-7
    )  # both at the same acceleration, the second one at its limit
    assert_allclose(u[0], u[1], atol=1e-9 * 30.0)


def test_a_command_in_the_place_of_times():
    system = carts("a", "b")
    law = follow(system, hand_overs=control.HandOver("clutch"))
    for activity in (0.0, 0.3, 1.0):
        law.settings["clutch.activity"] = activity
        held(system, True)
        d = smooth(activity)
        assert_allclose(law(Q, V), A * np.array([2.5 - 0.5 * d, 2.5 + 0.5 * d]))


@pytest.mark.parametrize("period", [2e-3, 1e-3, 5e-4])
def test_a_pilot_asks_for_a_release_and_waits_for_it(period: float):
    """From sample to sample no control changes by more than the ramp has it, through the release too."""
    system = carts("a", "b")
    law = follow(system, hand_overs=control.HandOver("clutch", ramp=0.1))
    held(system, True)
    law.reset()
    u, released = [], None
    for k in range(round(0.4 / period)):
        law.settings["clutch.on"] = float(k * period >= 0.1 and released is None)
        if released is None and law.settings["clutch.activity"] == 1.0:
            released = k
            held(system, False)
        u.append(law.sample(Q, V, k * period, period))
    assert released is not None
    assert abs(released * period - 0.2) < 3 * period
    assert_allclose(u[released], [2.0 * A, 3.0 * A])
    assert np.abs(np.diff(u, axis=0)).max() < 1.5 * 3.0 * A * period / 0.1 * 1.001  # slope of the smooth step
    assert_allclose(u[-1], [2.0 * A, 0.0], atol=1e-12)


def test_rows_that_still_move_are_brought_to_rest():
    system = carts("a", "b")
    law = follow(system, hand_overs=[control.HandOver("clutch", 1.0, 0.2, rate=40.0)])
    held(system, False)
    told = law(Q, [0.4, 0.1], 1.0)
    found = system.forward_dynamics(Q, [0.4, 0.1], told)
    assert_allclose(found.a[1], A + 40.0 * 0.3)


def test_hand_overs_of_a_schedule_are_those_that_switch_together():
    schedule = {"x": [(0.0, 1.0), (2.0, np.inf)], "y": [(1.0, 2.0)], "z": [(-np.inf, 3.0)]}
    found = control.hand_overs(schedule, 0.05, before_tasks=True)
    assert [(one.names, one.times) for one in found] == [(("x", "y"), (1.0, 2.0)), (("z",), (3.0,))]
    assert all(one.ramp == 0.05 and one.before_tasks for one in found)


def test_errors_name_what_is_wrong():
    system = carts("a")
    with pytest.raises(ArgumentError, match=r"hand_overs: .*'brake'.*'clutch'"):
        follow(system, hand_overs=[control.HandOver("brake")])
    with pytest.raises(ArgumentError, match="hand-over 'clutch': ramp must be positive"):
        control.HandOver("clutch", ramp=0.0)
    with pytest.raises(ArgumentError, match="times must be finite"):
        control.HandOver("clutch", [1.0, np.nan])
    with pytest.raises(ArgumentError, match="must be different names"):
        control.HandOver(["clutch", "clutch"])
    with pytest.raises(ArgumentError, match="must be a list of HandOver"):
        follow(system, hand_overs=["clutch"])
    with pytest.raises(ArgumentError, match="is there twice; give the HandOver another name="):
        follow(system, hand_overs=[control.HandOver("clutch", 1.0), control.HandOver("clutch", 2.0)])
    with pytest.raises(ArgumentError, match=r"schedule of 'x' must be ascending pairs"):
        control.hand_overs({"x": [(2.0, 1.0)]})
    bar = sr.System(sr.load("models/five_bar.xml"))
    with pytest.raises(ArgumentError, match="'tips' always holds"):
        control.Regulator(
            bar, ["left"], [1.0], stiffness=1.0, damping=1.0, hand_overs=control.HandOver("tips")
        )


# --- random states, all laws, least squares as oracle ---------------------------------------------------


@pytest.mark.parametrize("number", range(24))
def test_random_switches_are_continuous_or_named(number: int):
    count = family.Count()
    family.case(number, count)
    assert not count.wrong
    assert not count.needless
    assert count.asked == 7


@pytest.mark.parametrize("number", range(4))
def test_controls_from_sample_to_sample_change_in_proportion_to_the_samples(number: int):
    count = family.Count()
    family.run(number, count)
    assert not count.wrong
    assert count.ratios[0] > 3.5  # T to T/4


@pytest.mark.parametrize("kind", ["force", "operational", "computed", "hierarchy of bounds"])
def test_laws_of_other_kinds(kind: str):
    """A brake comes and goes on a chain whose end is pinned: under laws of forces, points, few motors, and bounds."""
    own = family.machine(2)
    s, given = own.system, {"hand_overs": [control.HandOver("brake", family.AT)]}
    elbow = control.point("l1", (0.5, 0, 0), axes="z")
    laws = {
        "force": lambda: control.HybridMotionForce(s, ["j0"], [1.0], {"pin.x": 5.0}, **given),
        "operational": lambda: control.OperationalSpaceTracking(s, elbow, [0.5], **given),
        "computed": lambda: control.ComputedTorque(s, ["j0", "j1"], [1.0, -0.5], **given),
        "hierarchy of bounds": lambda: control.TaskHierarchy(
            s, [control.Bound("j0", upper=0.9, rate=10.0), control.Task("j0", 1.0)], **given
        ),
    }
    law, rng, continuous = laws[kind](), np.random.default_rng(3), 0
    for _ in range(6):
        family.switch(own, ("pin",), 1.0)
        found = family.state(own, ("pin", "brake"), rng)
        assert found is not None
        told = []
        for on in (1.0, 0.0):
            family.switch(own, ("brake",), on)
            told.append(law.solve(*found, family.AT, throw=False))
        size = 1.0 + np.abs(told[0].u).max()
        same = bool(np.abs(told[0].u - told[1].u).max() <= 1e-9 * size)
        assert same or any(name.startswith("brake") for one in told for name in one.missed)
        continuous += same
    assert continuous == (0 if kind == "computed" else 6)


def test_a_redundant_closure_is_handed_over_at_measured_states():
    """The third crank: one of its rows is redundant, and a state off by encoders makes no brake of it."""
    own = family.machine(5)
    law, rng = own.laws_of(("third",))[0], np.random.default_rng(0)
    found = family.state(own, ("third",), rng)
    assert found is not None
    q, v = found
    for off in (0.0, 1e-9, 1e-6):
        u = []
        for on in (1.0, 0.0):
            family.switch(own, ("third",), on)
            u.append(law(q + off * np.array([1.0, -0.5, 0.3, 0.7, 0.2]), v, family.AT))
        assert np.abs(u[0] - u[1]).max() <= (1e-9 + 30.0 * off) * np.abs(u[0]).max()


# --- contacts -------------------------------------------------------------------------------------------


def test_a_foot_that_lifts_has_no_force_before_and_the_same_torques_after():
    system, q = lifted_feet.biped()
    tasks = [control.Task("base.angle", 0.01, 40.0, 12.0, name="upright")]
    law = control.LeggedController(
        system, tasks, sense=False, largest_force=500.0, hand_overs=[control.HandOver("left", 1.0, 0.2)]
    )
    v = np.zeros(7)
    u, forces = [], []
    for closed in (1.0, 0.0):
        law.settings["left.closed"] = closed
        told = law.solve(q, v, 1.0)
        u.append(told.u)
        forces.append(told.contact_forces)
    assert np.abs(forces[0]["left"]).max() < 1e-9 * forces[0]["right"][0]
    assert forces[0]["right"][0] > 40.0
    assert_allclose(u[0], u[1], atol=1e-9 * np.abs(u[0]).max())
    law.settings["left.closed"] = 1.0
    assert law.solve(q, v, 0.5).contact_forces["left"][0] > 15.0
    # the same by an interior-point program over a, u and the force of the right foot
    least, _ = lifted_feet.least_on_one_foot(system, q, v, {2: 40.0 * 0.01})
    assert_allclose(least, u[0], atol=1e-5 * np.abs(u[0]).max())


@pytest.mark.parametrize("number", range(12))
def test_random_feet_lift_without_a_jump_or_by_name(number: int):
    count = family.Count()
    lifted_feet.feet(number, count)
    assert not count.wrong
    assert not count.needless


def test_a_knee_that_locks_under_a_law_with_contacts():
    system, q = lifted_feet.biped()
    tasks = [control.Task("base.angle", 0.05, 40.0, 12.0, name="upright")]
    given = [control.HandOver("lock", 1.0, 0.2, before_tasks=True)]
    law = control.LeggedController(system, tasks, sense=False, largest_force=500.0, hand_overs=given)
    law.settings["left.closed"] = 0.0
    u = {t: [] for t in (0.5, 1.0)}
    for on in (True, False):
        (switch_on if on else lambda s, names, q: switch_off(s, names))(system, ["lock"], q)
        for t, found in u.items():
            found.append(law.solve(q, np.zeros(7), t, throw=False).u)
    assert np.abs(u[0.5][0] - u[0.5][1]).max() > 0.05
    assert_allclose(*u[1.0], atol=1e-9 * np.abs(u[1.0]).max())


# --- C ----------------------------------------------------------------------------------------------------


def test_exported_laws_hand_over(tmp_path: Path):
    count = family.Count()
    for number in (5,):  # a third crank, of which a part of the load is shared
        own = family.machine(number)
        names = own.switching[-1]
        law = own.laws_of(names)[0]
        export = c_code(law.copy(), tmp_path / f"{number}", name=f"law_{number}", q=own.q)
        own.compiled[(*names, "0")] = Compiled(export, own.system)
        for seed in range(number, 200, len(family.MACHINES)):
            family.case(seed, count, from_c=True)
    assert not count.wrong
    assert count.asked > 200


# --- runs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"dt": 2e-3}, {"dt": 1e-3, "sample_time": 1e-3}])
def test_torques_of_runs_go_on_through_clutch_and_release(how: dict[str, float]):
    system = carts("a", "b")
    schedule = {"clutch": [(0.0, 0.6)]}
    law = control.ServoConstraint(
        system, lambda q, t: ca.vertcat(q[0] - 0.2 * ca.sin(3 * t) - 0.3), alpha=8.0, beta=8.0,
        hand_overs=control.hand_overs(schedule, 0.2),
    )  # fmt: skip
    bare = control.ServoConstraint(
        system, lambda q, t: ca.vertcat(q[0] - 0.2 * ca.sin(3 * t) - 0.3), alpha=8.0, beta=8.0
    )
    jumps = []
    for one in (law, bare):
        run = sr.simulate(system, Q, V, duration=1.0, control=one, switching=sr.Switching(schedule), **how)
        # records before and after the switch, or samples around it
        near = np.abs(run.t[1:] - 0.6) < 1.5e-3 if "sample_time" in how else np.diff(run.t) == 0.0
        jumps.append(float(np.abs(np.diff(run.u, axis=0))[near].max(initial=0.0)))
        assert run.status is sr.Status.OK
    assert jumps[0] < (0.01 if "sample_time" in how else 1e-12)
    assert jumps[1] > 0.3
    assert_array_equal(run.switches[-1].time, 0.6)


def test_the_example_grasps_carries_and_sets_down(example: Any):
    module = example("grasp_carry")
    run = module.run(handed_over=True)
    assert np.abs(run.jumps).max() < 1e-9 * np.abs(run.motion.u).max()
    assert run.loss < 1e-12
    assert run.error < 1e-9
    weight = module.CRATE * 9.81
    # at rest the gripper carries the crate, whose centre of mass is LEVER beside it
    assert_allclose(
        module.grasp_force(run.motion, module.LIFT), [0.0, weight, -weight * module.LEVER], atol=1e-7
    )
    # at the grasp and at the release it exerts nothing
    for t in (module.GRASP + 1e-3, module.RELEASE - 1e-3):
        assert np.abs(module.grasp_force(run.motion, t)).max() < 2e-3 * weight
    assert_allclose(run.motion.q[-1, 4:], [*module.SECOND, 0.0], atol=1e-9)
    assert np.abs(run.motion.v[-1]).max() < 1e-6
