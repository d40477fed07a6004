"""Quadrupeds and bipeds of random sizes that nobody tuned, and the walks of a few lines that a user would write."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

import sarrus as sr
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.activity import gaps

PLANNED, FLOOR = 0.5, 0.7  # coefficients of friction


class Walker(NamedTuple):
    """A robot to plan with, the same one on a rough floor, where it stands, and its offsets by contact."""

    system: sr.System
    plant: sr.System
    q: Array
    offsets: dict[str, float]

    @property
    def height(self) -> float:
        """Height of the centre of mass where it stands [m]."""
        return float(self.system.centroidal(self.q).centre[2])


def quadruped(seed: int) -> Walker:
    """Return a quadruped of 5 to 200 kg with three motors in each leg, whose knees point one way or the other."""
    rng = np.random.default_rng(seed)
    thigh, ratio = rng.uniform(0.15, 0.4), rng.uniform(0.85, 1.15)
    shank, mass = thigh * ratio, rng.uniform(8.0, 20.0) * (thigh / 0.2) ** 3
    ahead, aside, out = (
        thigh * rng.uniform(0.8, 1.4),
        thigh * rng.uniform(0.25, 0.5),
        thigh * rng.uniform(0.1, 0.4),
    )
    bend, knees = rng.uniform(0.5, 0.9), rng.choice([-1.0, 1.0], 2)
    first = rng.random() < 0.5  # roll before pitch, or a leg that pitches first
    build = sr.Mechanism("quadruped")
    squares = np.array([ahead, aside, 0.3 * thigh]) ** 2
    build.add_body("trunk", mass, (0.0, 0.0, 0.0), mass / 3.0 * (squares.sum() - squares))
    build.add_joint("trunk", "free", "world", "trunk", parent_pose=(0, 0, 1.0))
    pose, offsets = {}, {}
    for k, leg in enumerate(("FL", "FR", "RL", "RR")):
        front, side = 1.0 if k < 2 else -1.0, 1.0 if k % 2 == 0 else -1.0
        knee = knees[0 if k < 2 else 1]
        light = 0.04 * mass
        axes = [((1, 0, 0), (0, 0, 0)), ((0, 1, 0), (0, side * out, 0))]
        axes = axes if first else axes[::-1]
        parent, at = "trunk", np.array([front * ahead, side * aside, 0.0])
        for part, (axis, way), own, com, size in (
            ("hip", axes[0], 0.5 * light, (0, 0, 0), 0.3 * thigh),
            ("thigh", axes[1], light, (0, 0, -0.4 * thigh), thigh),
            ("shank", ((0, 1, 0), (0, 0, -thigh)), 0.4 * light, (0, 0, -0.4 * shank), shank),
        ):
            at = at + way if part == "hip" else np.array(way, float)
            moment = own * size**2 / 10.0
            build.add_body(f"{leg}_{part}", own, com, (moment, moment, 0.3 * moment))
            build.add_joint(
                f"{leg}_{part}", "revolute", parent, f"{leg}_{part}", axis=axis, parent_pose=tuple(at)
            )
            parent = f"{leg}_{part}"
            torque = 9.81 * 2.0 * mass * thigh
            build.add_actuator(f"{leg}_{part}", f"{leg}_{part}", limits=(-torque, torque))
        pitch = np.arctan2(shank * np.sin(2 * bend), thigh + shank * np.cos(2 * bend))
        pose |= {f"{leg}_{'thigh' if first else 'hip'}": -knee * pitch, f"{leg}_shank": knee * 2 * bend}
        offsets[leg] = 0.0 if front * side > 0 else 0.5
    contacts = [(leg, f"{leg}_shank", (0, 0, -shank), None) for leg in offsets]
    return _walker(build, contacts, pose, offsets)


def biped(seed: int) -> Walker:
    """Return a biped of 5 to 80 kg with six motors in each leg and flat feet."""
    rng = np.random.default_rng(seed)
    thigh = rng.uniform(0.2, 0.45)
    shank, mass = thigh * rng.uniform(0.85, 1.15), rng.uniform(0.7, 1.4) * 25.0 * (thigh / 0.4) ** 3
    aside, ankle, up = (
        thigh * rng.uniform(0.2, 0.35),
        thigh * rng.uniform(0.1, 0.2),
        thigh * rng.uniform(0.3, 0.8),
    )
    foot = thigh * rng.uniform(0.2, 0.3), thigh * rng.uniform(0.1, 0.15)
    bend = rng.uniform(0.25, 0.5)
    order = list(rng.permutation(3))
    build = sr.Mechanism("biped")
    build.add_body("trunk", mass, (0, 0, up), mass * thigh**2 * np.array([0.25, 0.22, 0.08]))
    build.add_joint("trunk", "free", "world", "trunk", parent_pose=(0, 0, 1.0))
    pose, offsets, contacts = {}, {}, []
    hips = [("yaw", (0, 0, 1)), ("roll", (1, 0, 0)), ("pitch", (0, 1, 0))]
    for leg, side, offset in (("left", 1.0, 0.0), ("right", -1.0, 0.5)):
        parent, parts = "trunk", []
        for k, index in enumerate(order):
            name, axis = hips[index]
            weight = 0.16 * mass if k == 2 else 0.03 * mass
            parts.append(
                (
                    name,
                    axis,
                    (0, side * aside, 0) if k == 0 else (0, 0, 0),
                    weight,
                    -0.4 * thigh if k == 2 else 0.0,
                )
            )
        parts += [
            ("knee", (0, 1, 0), (0, 0, -thigh), 0.1 * mass, -0.4 * shank),
            ("ankle_pitch", (0, 1, 0), (0, 0, -shank), 0.012 * mass, 0.0),
            ("ankle_roll", (1, 0, 0), (0, 0, 0), 0.04 * mass, -0.5 * ankle),
        ]
        for name, axis, at, own, com in parts:
            moment = own * (thigh**2 if own > 0.05 * mass else (0.3 * thigh) ** 2) / 10.0
            build.add_body(f"{leg}_{name}", own, (0, 0, com), (moment, moment, 0.5 * moment))
            build.add_joint(f"{leg}_{name}", "revolute", parent, f"{leg}_{name}", axis=axis, parent_pose=at)
            torque = 9.81 * 1.5 * mass * thigh
            build.add_actuator(f"{leg}_{name}", f"{leg}_{name}", limits=(-torque, torque))
            parent = f"{leg}_{name}"
        pitch = np.arctan2(shank * np.sin(2 * bend), thigh + shank * np.cos(2 * bend))
        pose |= {f"{leg}_pitch": -pitch, f"{leg}_knee": 2 * bend, f"{leg}_ankle_pitch": pitch - 2 * bend}
        contacts.append((leg, f"{leg}_ankle_roll", (0.2 * foot[0], 0, -ankle), foot))
        offsets |= {f"{leg}.{k}": offset for k in range(1, 5)}
    return _walker(build, contacts, pose, offsets)


def _walker(
    build: sr.Mechanism, contacts: list[Any], pose: dict[str, float], offsets: dict[str, float]
) -> Walker:
    systems = []
    for friction in (
        {"friction_coefficient": PLANNED},
        {"friction": "coulomb", "friction_coefficient": FLOOR},
    ):
        mechanism = deepcopy(build)
        for name, body, at, extent in contacts:
            if extent is None:
                mechanism.add_contact(name, body, at, **friction)
            else:
                mechanism.add_contact_patch(name, body, at, extent=extent, **friction)
        systems.append(sr.System(mechanism))
    system = systems[0]
    q = system.neutral().copy()
    for name, angle in pose.items():
        q[system.coordinate_names.index(name)] = angle
    q[2] -= min(gaps(system, q).values())
    return Walker(*systems, q, offsets)


def trot(walker: Walker) -> control.LeggedController:
    """Return a law with the library's defaults but for what scales with the size of the robot."""
    scale = walker.height / 0.4
    gait = control.Gait(
        "trunk", walker.offsets, period=0.4 * np.sqrt(scale), velocity=(0.3 * np.sqrt(scale), 0.0), start=0.2,
        apex=0.06 * scale, reach=0.15 * scale, pose=walker.q,
    )  # fmt: skip
    upright = control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright")
    height = control.Height(walker.height)
    joints = list(walker.system.coordinate_names[7:])
    calm = control.Task(joints, np.zeros(len(joints)), 0.0, 20.0, name="posture")
    levels = [[upright, height], control.SwingFeet(), control.Travel(), calm]
    return control.LeggedController(walker.system, levels, gait=gait, hold=True)


def walk(walker: Walker) -> control.LeggedController:
    """Return the law of a walk on two feet."""
    scale = walker.height / 0.8
    steps = control.CaptureSteps(walker.height, play=(0.06 * scale, 0.02 * scale), inwards=0.1 * scale)
    gait = control.Gait(
        "trunk", walker.offsets, period=0.8 * np.sqrt(scale), duty=0.575, velocity=(0.3 * np.sqrt(scale), 0.0),
        start=0.8, ramp=0.05, apex=0.08 * scale, reach=0.5 * scale, steps=steps, pose=walker.q,
    )  # fmt: skip
    upright = control.Task(
        control.orientation("trunk"), np.zeros(3), 200.0, 25.0, weight=0.03, name="upright"
    )
    levels = [control.Height(walker.height), control.SwingFeet(), [control.Balance(), upright]]
    return control.LeggedController(walker.system, levels, gait=gait, hold=True)
