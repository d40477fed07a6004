"""Mechanisms with several contacts and closed forms: ladders, blocks that rock, cradles, grippers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array

G = 9.81


def ladders(legs: int, angle: float, friction: float) -> tuple[sr.System, Array]:
    """Return a ladder on a smooth wall, or two that lean on each other, and where they stand at an angle [rad]."""
    mechanism = sr.Mechanism("ladder")
    for k in range(legs):
        name = f"rod{k}"
        mechanism.add_body(name, 3.0, inertia=(0.01, 1.0, 1.0))
        mechanism.add_joint(name, "planar", "world", name, axis=(0, -1, 0), axis2=(1, 0, 0))
        foot = ((-1.0, 0, 0), (1.0, 0, 0))[k]
        mechanism.add_contact(f"foot{k}", name, foot, friction="coulomb", friction_coefficient=friction)
    wall = "world" if legs == 1 else "rod1"
    normal = (-1, 0, 0) if legs == 1 else (-np.cos(angle), 0, -np.sin(angle))
    mechanism.add_contact(
        "top", "rod0", (1, 0, 0), ground=wall, normal=normal,
        offset=np.cos(angle) * (-1 if legs == 1 else 1), friction="coulomb", friction_coefficient=0.0,
    )  # fmt: skip
    q = np.array([0.0, np.sin(angle), angle])
    if legs == 2:
        q = np.array([-np.cos(angle), np.sin(angle), angle, np.cos(angle), np.sin(angle), -angle])
    return sr.System(mechanism), q


class RockingBlock(NamedTuple):
    """A slender block of 1 kg in a plane that stands on one edge, leaning by an angle [rad]."""

    system: sr.System
    q: Array
    lean: float
    slenderness: float  # angle between its side and its diagonal [rad]
    radius: float  # half the diagonal [m]
    inertia: float  # about its centre [kg m²]


def rocking_block(
    half_width: float = 0.1, half_height: float = 0.4, lean: float = 0.1, **contact: object
) -> RockingBlock:
    """Return a block with friction enough not to slip; options are those of its contacts."""
    mechanism = sr.Mechanism("rocking")
    square = half_width**2 + half_height**2
    mechanism.add_body("block", 1.0, inertia=(1.0, square / 3.0, 1.0), physical=False)
    mechanism.add_joint("free", "planar", "world", "block", axis=(0, -1, 0), axis2=(1, 0, 0))
    for name, side in (("left", -1), ("right", 1)):
        mechanism.add_contact(
            name, "block", (side * half_width, 0, -half_height), friction="coulomb", friction_coefficient=5.0,
            **contact,
        )  # fmt: skip
    lower = min(np.sin(lean) * x - np.cos(lean) * half_height for x in (-half_width, half_width))
    q = np.array([0.0, -lower, lean])
    slenderness = float(np.arctan2(half_width, half_height))
    return RockingBlock(sr.System(mechanism), q, lean, slenderness, float(np.sqrt(square)), square / 3.0)


def cradle(restitution: tuple[float, float] = (1.0, 1.0), impact_law: str = "newton") -> sr.System:
    """Return three balls in a row that touch, with the restitution of their two contacts."""
    mechanism = sr.Mechanism("cradle", gravity=(0, 0, 0))
    for k in range(3):
        mechanism.add_body(f"b{k}", 1.0)
        mechanism.add_joint(
            f"x{k}", "prismatic", "world", f"b{k}", axis=(1, 0, 0), parent_pose=(0.1 * k, 0, 0)
        )
    for k in range(2):
        mechanism.add_contact(
            f"c{k}", f"b{k}", (0.05, 0, 0), ground=f"b{k + 1}", normal=(-1, 0, 0), offset=0.05,
            friction="coulomb", friction_coefficient=0.0, restitution=restitution[k], impact_law=impact_law,
        )  # fmt: skip
    return sr.System(mechanism)


def gripper(press: float, friction: float) -> tuple[sr.System, Array]:
    """Return two jaws on parallelograms at a peg of 0.4 kg, and torques that press it with so many times what holds."""
    mass, wide = 0.4, 0.03
    mechanism = sr.Mechanism("gripper")
    mechanism.add_body("peg", mass, inertia=(1e-3,) * 3)
    mechanism.add_joint("peg", "prismatic", "world", "peg", axis=(0, 0, 1))
    for name, side in (("left", -1), ("right", 1)):
        for k, at in enumerate((0.0, 0.05)):
            mechanism.add_body(f"{name}{k}", 0.05, com=(0, 0, -0.05), inertia=(1e-4,) * 3)
            mechanism.add_joint(
                f"{name}{k}", "revolute", "world", f"{name}{k}", axis=(0, 1, 0),
                parent_pose=(side * (wide + at), 0, 0.1),
            )  # fmt: skip
        mechanism.add_body(name, 0.1, com=(side * 0.025, 0, 0), inertia=(1e-4,) * 3)
        mechanism.add_joint(name, "revolute", f"{name}0", name, axis=(0, 1, 0), parent_pose=(0, 0, -0.1))
        mechanism.add_closure(
            f"{name}.loop", "revolute", name, f"{name}1",
            pose1=(side * 0.05, 0, 0), pose2=(0, 0, -0.1), axis=(0, 1, 0),
        )  # fmt: skip
        mechanism.add_contact(
            f"{name}.pad", name, (0, 0, 0), ground="peg", normal=(side, 0, 0), offset=wide,
            friction="coulomb", friction_coefficient=friction,
        )  # fmt: skip
        mechanism.add_actuator(name, f"{name}0")
    # cranks that hang straight down: a torque is a horizontal force at the pad
    force = press * mass * G / (2.0 * friction)
    return sr.System(mechanism), np.array([-force * 0.1, force * 0.1])
