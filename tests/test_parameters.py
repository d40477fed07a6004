"""Parameters of a mechanism: new values give the system that is built with these numbers."""

from __future__ import annotations

import copy
import math
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import close_loops, random_coordinates, random_state, random_tree, three_legs
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.joint import COORDINATE_LABELS, VELOCITY_LABELS, Joint
from sarrus.model.mechanism.pose import Pose

MODELS = Path(__file__).resolve().parent.parent / "models"
QUANTITIES = ("mass_matrix", "bias_force", "passive_force", "position_residual", "velocity_residual", "jacobian",
              "constraint_bias", "kinetic_energy", "potential_energy", "actuation")  # fmt: skip


def assert_same(one: System, two: System, seed: int, *, q: Any = None, tolerance: float = 1e-12) -> None:
    """Compare all quantities and the acceleration of two systems at a random state."""
    random_q, v = random_state(one, seed)
    q = random_q if q is None else q
    u = np.random.default_rng(seed).standard_normal(one.nu)
    for name in QUANTITIES:
        a, b = (s.evaluate(name, q, v, u)[name] for s in (one, two))
        np.testing.assert_allclose(
            a, b, rtol=0, atol=tolerance * (1 + np.abs(b).max(initial=0)), err_msg=name
        )
    np.testing.assert_allclose(one.body_placements(q)[0], two.body_placements(q)[0], rtol=0, atol=tolerance)
    v = one.project_velocity(q, v)
    a, b = one.forward_dynamics(q, v, u).a, two.forward_dynamics(q, v, u).a
    np.testing.assert_allclose(a, b, rtol=0, atol=1e4 * tolerance * (1 + np.abs(b).max()))


def with_everything(seed: int) -> Mechanism:
    """Return a random mechanism that has each kind of element."""
    plan = random_tree(seed, ("revolute", "prismatic", "free", "spherical", "universal", "screw"))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, ("distance", "screw"))
    mechanism.add_body("cap", 0.4, (0.1, 0.0, 0.2), (0.02, 0.03, 0.03))
    mechanism.add_joint(
        "glue", "fixed", "b3", "cap", parent_pose=Pose.of((0.1, 0.2, 0.3), rpy=(0.3, 0.1, 0.5))
    )
    mechanism.add_coordinate_spring(
        "belt", {"j0": 1.0, "j1": -2.0}, stiffness=3.0, damping=0.2, rest_length=0.1
    )
    mechanism.add_actuator("servo", {"j0": 2.0, "j1": 0.5}, gain=4.0, bias=(0.1, -4.0, -0.3))
    mechanism.add_actuator("motor", "j5", gear=3.0)
    mechanism.add_coupling("gear", {"j0": (0.1, 1.0, 0.2), "j1": -2.0}, {"j0": 0.3})
    mechanism.add_force(
        "push", lambda q, v, t: ca.vertcat(1, 2 * q[0], v[1]), body="b1", point=(0.1, 0.2, 0.0)
    )
    mechanism.add_contact("foot", "b3", point=(0.1, 0.0, -0.3), ground="world")
    return mechanism


def moved(pose: Pose, step: Any) -> Pose:
    return Pose(pose.position + step, pose.rotation)


def rebuilt(old: Mechanism, body: Callable[[Any], Any], joint: Callable[[Joint], Joint]) -> Mechanism:
    """Return a copy with new bodies and joints, made by hand."""
    new = old.snapshot()
    for name, one in old.bodies.items():
        new._bodies[name] = replace(body(one), joints=tuple(map(joint, one.joints)))
    return new


STEP = np.array([0.01, -0.02, 0.03])


def test_inertia_of_a_system_with_new_values_is_that_of_one_built_with_them() -> None:
    seed = 1
    mechanism = with_everything(seed)
    spread = np.array([[0.3, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.25]])
    targets: dict[str, Any] = {}
    for name in mechanism.bodies:
        targets[f"{name}_mass"] = f"{name}.mass"
        for letter in "xyz":
            targets[f"{name}_com_{letter}"] = f"{name}.com.{letter}"
        for label in ("xx", "yy", "zz", "xy", "xz", "yz"):
            targets[f"{name}_inertia_{label}"] = f"{name}.inertia.{label}"
    system = System(mechanism, parameters=targets)
    assert_same(system, System(mechanism), seed)
    for name in mechanism.bodies:
        system.parameters[f"{name}_mass"] += 0.7
        for i, letter in enumerate("xyz"):
            system.parameters[f"{name}_com_{letter}"] += STEP[i]
            for j, other in enumerate("xyz"):
                if i <= j:
                    system.parameters[f"{name}_inertia_{letter}{other}"] += spread[i, j]
    direct = rebuilt(
        mechanism,
        lambda b: replace(b, mass=b.mass + 0.7, com=b.com + STEP, inertia=b.inertia + spread),
        lambda j: j,
    )
    assert_same(system, System(direct), seed)
    assert_same(System(system.current_mechanism()), System(direct), seed)


def test_geometry_of_a_system_with_new_values_is_that_of_one_built_with_them() -> None:
    seed = 2
    mechanism = with_everything(seed)
    targets: dict[str, Any] = {}
    for letter in "xyz":
        targets[letter] = (
            [f"{b.name}.placement.{letter}" for b in mechanism.bodies.values() if b.name != "b2"]
            + [f"{j.name}.anchor.{letter}" for j in mechanism.joints() if j.kind not in ("prismatic", "free")]
            + [f"{c}.{end}.{letter}" for c in mechanism.closures for end in ("pose1", "pose2")]
            + [(f"{s}.{end}.{letter}", -1.0) for s in mechanism.springs for end in ("point1", "point2")]
            + [
                f"push.point.{letter}",
                f"foot.point.{letter}",
                (f"foot.origin.{letter}", 2.0),
                f"gravity.{letter}",
            ]
        )
    targets["rod"], targets["lead"] = "c0.length", ["c1.pitch", "j5.pitch"]
    targets["slope"], targets["curve"] = [("gear.j1.1", -1.0)], "gear.j0.2"
    system = System(mechanism, parameters=targets)
    assert_same(system, System(mechanism), seed)
    for i, letter in enumerate("xyz"):
        system.parameters[letter] += STEP[i]
    for name in ("rod", "lead", "slope", "curve"):
        system.parameters[name] += 0.2
    direct = rebuilt(
        mechanism,
        lambda b: b if b.name == "b2" else replace(b, placement=moved(b.placement, STEP)),
        lambda j: replace(j, anchor=j.anchor + STEP, pitch=j.pitch + 0.2 * (j.kind == "screw")),
    )
    direct.gravity = mechanism.gravity + STEP
    for name, c in mechanism.closures.items():
        longer = c.length + 0.2 if c.kind == "distance" else c.length
        direct.closures[name] = replace(
            c, pose1=moved(c.pose1, STEP), pose2=moved(c.pose2, STEP), length=longer,
            pitch=c.pitch + 0.2 * (c.kind == "screw"),
        )  # fmt: skip
    one, two = mechanism.couplings["gear"].terms
    terms = replace(one, coefficients=(0.1, 1.0, 0.4)), replace(two, coefficients=(0.0, -2.2))
    direct.couplings["gear"] = replace(mechanism.couplings["gear"], terms=terms)
    direct.forces["push"] = replace(mechanism.forces["push"], point=mechanism.forces["push"].point + STEP)
    for name, s in mechanism.springs.items():
        direct.springs[name] = replace(s, point1=s.point1 - STEP, point2=s.point2 - STEP)
    foot = mechanism.contacts["foot"]
    direct.contacts["foot"] = replace(foot, point=foot.point + STEP, origin=foot.origin + 2 * STEP)
    built = System(direct)
    for name, value in built.parameters.items():  # contacts are anchored where the old foot was
        if name.startswith("anchor."):
            built.parameters[name] = system.parameters[name]
            assert value != system.parameters[name]
        if name.startswith("active."):
            built.parameters[name] = system.parameters[name] = 1.0
    assert_same(system, built, seed)


def test_forces_of_a_system_with_new_values_are_those_of_one_built_with_them() -> None:
    seed = 3
    mechanism = with_everything(seed)
    joints = list(mechanism.joints())
    targets: dict[str, Any] = {
        "k": [f"{j.name}.stiffness" for j in joints],
        "ks": [],
        "r": "spring0.rest_length",
    }
    targets["c"] = [j.name + ".damping" + label for j in joints for label in VELOCITY_LABELS[j.kind]]
    targets["I"] = [j.name + ".armature" + label for j in joints for label in VELOCITY_LABELS[j.kind]]
    scalar = [j for j in joints if j.kind not in ("spherical", "free")]
    targets["r0"] = [f"{j.name}.spring_reference{x}" for j in scalar for x in COORDINATE_LABELS[j.kind]]
    targets["ks"] = ["spring0.stiffness", "spring1.stiffness", "belt.stiffness"]
    targets["cs"] = ["spring0.damping", "spring1.damping", "belt.damping"]
    targets["upper"], targets["slack"] = "spring1.rest_length.upper", "belt.rest_length"
    targets["kp"] = ["servo.gain", ("servo.bias.length", -1.0)]
    targets["kd"], targets["bias"] = [("servo.bias.rate", -1.0)], "servo.bias.constant"
    targets["g0"], targets["gear"] = "servo.gear.j0", "motor.gear"
    system = System(mechanism, parameters=targets)
    assert system.parameters["kd"] == 0.3
    assert_same(system, System(mechanism), seed)
    for name in targets:
        system.parameters[name] += 0.25

    def joint(j: Joint) -> Joint:
        reference = tuple(x + 0.25 for x in j.spring_reference) if j in scalar else j.spring_reference
        return replace(
            j, stiffness=j.stiffness + 0.25, spring_reference=reference,
            damping=tuple(d + 0.25 for d in j.damping), armature=tuple(d + 0.25 for d in j.armature),
        )  # fmt: skip

    direct = rebuilt(mechanism, lambda b: b, joint)
    zero, one = mechanism.springs["spring0"], mechanism.springs["spring1"]
    belt, servo = mechanism.coordinate_springs["belt"], mechanism.actuators["servo"]
    more = {"stiffness": 7.25, "damping": 0.65}
    direct.springs["spring0"] = replace(zero, **more, rest_length=(0.75, 0.75))
    direct.springs["spring1"] = replace(one, **more, rest_length=(0.1, 0.55))
    direct.coordinate_springs["belt"] = replace(belt, stiffness=3.25, damping=0.45, rest_length=(0.35, 0.35))
    direct.actuators["servo"] = replace(
        servo, transmission=(("j0", 2.25), ("j1", 0.5)), gain=4.25, bias=(0.35, -4.25, -0.55)
    )
    direct.actuators["motor"] = replace(mechanism.actuators["motor"], transmission=(("j5", 3.25),))
    assert_same(system, System(direct), seed)


def four_bar(crank: float = 0.5, rod: float = 1.5, mass: float = 2.0) -> Mechanism:
    m = Mechanism("four_bar")
    for name, length, weight in (("crank", crank, 1.0), ("rod", rod, mass), ("rocker", 1.0, 1.5)):
        inertia = weight * length**2 / 12
        m.add_body(name, weight, (length / 2, 0, 0), (1e-3, inertia, inertia))
    m.add_joint("a", "revolute", "world", "crank", axis=(0, 1, 0))
    m.add_joint("b", "revolute", "crank", "rod", axis=(0, 1, 0), parent_pose=(crank, 0, 0))
    m.add_joint("d", "revolute", "world", "rocker", axis=(0, 1, 0), parent_pose=(1.5, 0, 0))
    m.add_closure("c", "point", "rod", "rocker", pose1=(rod, 0, 0), pose2=(1.0, 0, 0))
    return m


def test_a_length_moves_a_joint_and_a_centre_of_mass_and_loops_close_anew() -> None:
    system = System(
        four_bar(),
        parameters={
            "crank": ["rod.placement.x", ("crank.com.x", 0.5)],
            "rod": ["c.pose1.x", ("rod.com.x", 0.5)],
        },
    )
    assert dict(system.parameters) == {"crank": 0.5, "rod": 1.5}
    q = system.assemble([-0.3, 0.2, -1.0], locked=["a"]).q
    system.forward_dynamics(q, np.zeros(3))
    system.parameters["crank"], system.parameters["rod"] = 0.6, 1.4
    assert np.abs(system.constraint_residual(q)).max() > 0.01
    q = system.assemble(q, locked=["a"]).q
    m = four_bar(0.6, 1.4)
    for name, inertia in (("crank", 0.25 / 12), ("rod", 2.0 * 2.25 / 12)):  # not driven
        m._bodies[name] = replace(m._bodies[name], inertia=np.diag([1e-3, inertia, inertia]))
    assert_same(system, System(m), 3, q=q)
    run, other = (sr.simulate(s, q, duration=0.3, dt=1e-3) for s in (system, System(m)))
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-11)


def test_a_loaded_model_has_parameters_too() -> None:
    mechanism = sr.load(MODELS / "five_bar.xml")
    body, joint = next(iter(mechanism.bodies)), next(mechanism.joints()).name
    system = System(mechanism, parameters={"m": f"{body}.mass", "c": f"{joint}.damping", "g": "gravity.z"})
    assert system.parameters["g"] == mechanism.gravity[2]
    system.parameters["m"], system.parameters["c"], system.parameters["g"] = 3.0, 0.7, -1.62
    direct = rebuilt(
        mechanism,
        lambda b: replace(b, mass=3.0) if b.name == body else b,
        lambda j: replace(j, damping=(0.7,)) if j.name == joint else j,
    )
    direct.gravity = np.array([*mechanism.gravity[:2], -1.62])
    assert_same(
        system, System(direct), 1, q=system.assemble(mechanism.keyframes["symmetric"].q[: system.nq]).q
    )


@pytest.mark.parametrize("name", ["front_loader", "leg_four_bar", "quadruped"])
def test_shipped_mechanisms(name: str) -> None:
    mechanism = load_example(name).build()
    targets = {
        "mass": [f"{b}.mass" for b in mechanism.bodies],
        "end": [f"{c}.pose2.x" for c in mechanism.closures],
    }
    targets["gear"] = [f"{a}.gear" for a in mechanism.actuators]
    system = System(mechanism, parameters=targets)
    for parameter in targets:
        system.parameters[parameter] += 0.03
    direct = rebuilt(mechanism, lambda b: replace(b, mass=b.mass + 0.03), lambda j: j)
    for label, c in mechanism.closures.items():
        direct.closures[label] = replace(c, pose2=moved(c.pose2, np.array([0.03, 0.0, 0.0])))
    for label, a in mechanism.actuators.items():
        ((velocity, gear),) = a.transmission
        direct.actuators[label] = replace(a, transmission=((velocity, gear + 0.03),))
    assert_same(system, System(direct), 1)


def test_the_rank_follows_when_lengths_make_rows_redundant() -> None:
    """The third leg of a parallelogram is redundant; where it is of another length nothing moves."""
    system = System(
        three_legs(), parameters={"l": "middle.pose2.z", "x": "middle.pose1.x", "m": "coupler.mass"}
    )
    q = system.neutral()
    assert system.forward_dynamics(q, np.zeros(4)).rank == 3
    system.parameters["x"], system.parameters["l"] = 0.5, -math.hypot(0.1, 1.0)
    closed = system.assemble([0.0, 0.0, 0.0, -0.1]).q
    assert system.forward_dynamics(closed, np.zeros(4)).rank == 4
    system.parameters["x"], system.parameters["l"] = 0.4, -1.0
    assert system.forward_dynamics(q, np.zeros(4)).rank == 3


def test_the_rank_follows_in_equations_of_ones_own() -> None:
    system = System.from_equations(
        3,
        lambda q, p: ca.SX.eye(3),
        lambda q, v, p: ca.SX.zeros(3),
        velocity=lambda q, v, t, p: ca.vertcat(v[0], v[0] + p["angle"] * v[1]),
        parameters={"angle": 1.0},
    )
    for angle, rank in ((1.0, 2), (0.0, 1), (0.5, 2)):
        system.parameters["angle"] = angle
        solved = system.forward_dynamics(np.zeros(3), np.zeros(3), tau=[1.0, 2.0, 3.0])
        assert (solved.rank, solved.status) == (rank, sr.Status.OK)
        np.testing.assert_allclose(solved.a, [0.0, 2.0 * (rank == 1), 3.0], atol=1e-14)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_keeps_parameters_and_their_values(duplicate: Callable[[System], System]) -> None:
    system = System(four_bar(), parameters={"m": "rod.mass", "l": [("rod.com.x", 0.5), "c.pose1.x"]})
    assert system.parameters["l"] == 1.5
    system.parameters["m"], system.parameters["l"] = 5.0, 1.4
    copied = duplicate(system)
    assert copied.parameters == system.parameters
    assert_same(copied, system, 2)
    copied.parameters["m"] = 1.0
    assert system.parameters["m"] == 5.0


def test_the_mechanism_with_its_present_numbers_can_be_exported(tmp_path: Path) -> None:
    system = System(four_bar(), parameters={"m": "rod.mass", "l": [("rod.com.x", 0.5), "c.pose1.x"]})
    system.parameters.update({"m": 5.0, "l": 1.4})
    system.current_mechanism().to_mjcf(tmp_path / "bar.xml")
    assert_same(system, System(sr.load(tmp_path / "bar.xml")), 3, tolerance=1e-7)
    assert system.mechanism is not None
    assert system.mechanism.bodies["rod"].mass == 2.0


def test_a_number_driven_by_two_parameters_gets_both_shares() -> None:
    system = System(four_bar(), parameters={"one": "rod.mass", "two": [("rod.mass", 2.0), "rocker.mass"]})
    assert dict(system.parameters) == {"one": 2.0, "two": 1.0}
    system.parameters.update({"one": 2.3, "two": 1.1})
    bodies = system.current_mechanism().bodies
    assert bodies["rod"].mass == pytest.approx(2.0 + 0.3 + 2 * 0.1, abs=1e-15)
    assert bodies["rocker"].mass == pytest.approx(1.6, abs=1e-15)


def test_a_damping_that_may_come_makes_a_system_not_conservative() -> None:
    assert System(four_bar()).equations.conservative
    assert System(four_bar(), parameters={"m": "rod.mass"}).equations.conservative
    assert not System(four_bar(), parameters={"c": "a.damping"}).equations.conservative


def test_actuator_limits_follow_the_gain() -> None:
    m = four_bar()
    m.add_actuator("motor", "a", gain=2.0, force_limits=(-4.0, 4.0))
    system = System(m, parameters={"gain": "motor.gain"})
    system.parameters["gain"] = 8.0
    q = system.assemble([-0.3, 0.2, -1.0], locked=["a"]).q
    run = sr.simulate(system, q, duration=0.01, dt=1e-3, control=lambda q, v, t: 100.0)
    assert run.u.max() == 0.5


def test_a_parameter_that_drives_nothing_is_for_functions_of_the_state() -> None:
    """Controls, forces and events of (q, v, t, p), traced and sampled, one run and many; copies have it, too."""
    m = four_bar()
    m.add_actuator("motor", "a")
    system = pickle.loads(pickle.dumps(System(m, parameters={"c": 0.3, "d": "rod.mass"})))
    assert dict(system.parameters) == {"c": 0.3, "d": 2.0}
    q = system.assemble([-0.3, 0.2, -1.0], locked=["a"]).q
    run = {"duration": 0.1, "dt": 1e-3}
    push = lambda q, v, t, p: p.c * np.ones(3)  # noqa: E731
    for c in (0.3, 2.0):
        system.parameters["c"] = c
        plain = sr.simulate(system, q, control=lambda q, v, t, c=c: [c], **run)
        for settings in ({}, {"sample_time": 1e-3}):
            own = sr.simulate(system, q, control=lambda q, v, t, p: [p["c"]], **run, **settings)
            assert_allclose(own.q, plain.q, rtol=0, atol=1e-14)
    forced = sr.simulate(system, q, force=push, **run)
    assert_allclose(
        forced.q, sr.simulate(system, q, force=lambda q, v, t: [2.0] * 3, **run).q, rtol=0, atol=1e-14
    )
    many = sr.rollout(system, q, control=lambda q, v, t, p: [p.c], parameters={"c": [0.3, 2.0]}, **run)
    assert_allclose(many.q[1][-1], plain.q[-1], rtol=0, atol=1e-13)
    met = sr.Event("met", lambda q, v, t, p: t - p.c / 40.0)
    assert_allclose(sr.simulate(system, q, events=[met], **run).events[0].time, 0.05, rtol=0, atol=1e-10)
    with pytest.raises(ArgumentError, match="unknown parameter 'e'"):
        sr.simulate(system, q, control=lambda q, v, t, p: [p.e], **run)


BAD = {
    "unknown number.*Did you mean 'rod.mass'": {"m": "rod.mas"},
    "unknown element 'ro'.*'rod'": {"m": "ro.mass"},
    "unknown element 'mass'": {"m": "mass"},
    "a parameter's name must be an identifier": {"m.x": "rod.mass"},
    "must be the name of a number": {"m": [("rod.mass", 0.0)]},
    "a value must be finite, got inf": {"m": float("inf")},
    "must be the name of a number, such": {"m": True},
    "must be the name of a number, such as": {"m": []},
    "parameters must map names": ["rod.mass"],
}


@pytest.mark.parametrize("message", BAD)
def test_wrong_targets_say_what_would_be_right(message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        System(four_bar(), parameters=BAD[message])  # type: ignore[arg-type]


def test_the_kind_tells_elements_of_one_name_apart() -> None:
    m = four_bar()
    m.add_spring_damper("a", "rod", "world", stiffness=3.0)
    with pytest.raises(ArgumentError, match=re.escape("write joint:a.stiffness or spring:a.stiffness")):
        System(m, parameters={"k": "a.stiffness"})
    assert System(m, parameters={"k": "spring:a.stiffness"}).parameters["k"] == 3.0
    assert System(m, parameters={"k": "joint:a.stiffness"}).parameters["k"] == 0.0


def test_values_out_of_bounds_are_refused_and_nothing_changes() -> None:
    system = System(four_bar(), parameters={"m": "rod.mass", "c": ["a.damping", "b.damping"]})
    with pytest.raises(
        ArgumentError, match=r"mass of body 'rod' would be -1 at m = -1; it must be at least 0"
    ):
        system.parameters["m"] = -1.0
    with pytest.raises(ArgumentError, match=r"damping of joint 'a' would be -0\.1"):
        system.parameters["c"] = -0.1
    with pytest.raises(ArgumentError, match="must be a finite number"):
        system.parameters["m"] = math.nan
    with pytest.raises(ArgumentError, match="unknown parameter 'n'"):
        system.parameters["n"] = 1.0
    assert system.parameters == {"m": 2.0, "c": 0.0}
