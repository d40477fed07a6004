"""Two bipeds with loops in their legs, in the manner of Cassie and Digit, and servos that have them stand.

Thigh, shin, tarsus and a rod from the hip to the tarsus are nearly a parallelogram: the knee turns, the tarsus follows
the thigh. One has leaf springs in shin and heel, and line feet moved by a crank and a rod in the plane of the leg:
that loop has a dead row. The other has stiff legs, and flat feet that two cranks and rods turn about two axes. All is
given in the pose in which they stand, where all joints are at zero. Dimensions and masses are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array

SIDES = {"left": 1.0, "right": -1.0}
# x, z [m] of the joints of a leg; the crank turns on the tarsus.
HIP, KNEE, HOCK, HEEL, ANKLE, CRANK = np.array(
    [(0.0, 0.8), (0.08, 0.71), (-0.25, 0.40), (-0.316, 0.488), (0.0, 0.07), (-0.19, 0.32)]
)
SPRINGS = {"shin": 1500.0, "heel": 1250.0}  # N m/rad
FRICTION = 0.8
BACK, FORWARD, UP = (0, -1, 0), (1, 0, 0), (0, 0, 1)


@dataclass(frozen=True)
class Stander:
    """A robot above a floor, the pose in which it stands, what its motors do there, and servos about that.

    ``stiffness`` and ``damping`` of each motor [N m/rad, N m s/rad]; the motors at ``leaning`` also have ``lean``
    [N s] times the forward velocity of the trunk.
    """

    system: sr.System
    q: Array
    hold: Array
    stiffness: Array
    damping: Array
    leaning: tuple[int, ...] = ()
    lean: float = 0.0

    @property
    def mass(self) -> float:
        """Mass of the robot [kg]."""
        assert self.system.mechanism is not None
        return float(sum(body.mass for body in self.system.mechanism.bodies.values()))

    @property
    def places(self) -> tuple[list[int], list[int]]:
        """Places of the motors among coordinates and velocities."""
        s, motors = self.system, self.system.actuator_names
        return [s.coordinate_names.index(x) for x in motors], [s.velocity_names.index(x) for x in motors]

    def law(self) -> Callable[[Any, Any, Any], Any]:
        """Return u(q, v, t)."""
        at, of = self.places
        leans = np.zeros(self.system.nu)
        leans[list(self.leaning)] = self.lean
        return lambda q, v, t: (
            self.hold + self.stiffness * (self.q[at] - q[at]) - self.damping * v[of] + leans * v[0]
        )

    def work(self, motion: sr.Trajectory) -> Array:
        """Return the work of the motors up to each record [J]: Hermite's rule, as power and its rate are known."""
        _, of = self.places
        v, a, u = motion.v[:, of], motion.a[:, of], motion.u
        rate = -self.stiffness * v - self.damping * a
        rate[:, list(self.leaning)] += self.lean * motion.a[:, :1]
        power, change = (u * v).sum(axis=1), (rate * v + u * a).sum(axis=1)
        h = np.diff(motion.t)
        parts = h / 2 * (power[1:] + power[:-1]) + h**2 / 12 * (change[:-1] - change[1:])
        return np.concatenate([[0.0], np.cumsum(parts)])


class _Builder:
    """A trunk and two legs, all frames parallel to the world's, each at its joint."""

    def __init__(self, name: str, half: float) -> None:
        self.mechanism, self.half = sr.Mechanism(name), half
        self.at = {"trunk": np.array([0.0, 0.0, HIP[1]])}
        self.mechanism.add_body("trunk", 12.0, com=(0.03, 0, 0.1), inertia=(0.2, 0.15, 0.1))
        self.mechanism.add_joint("trunk", "free", "world", "trunk", parent_pose=self.at["trunk"])

    def bar(
        self,
        leg: str,
        part: str,
        kind: str,
        parent: str,
        at: Any,
        to: Any,
        mass: float,
        *,
        aside: float = 0.0,
        motor: bool = False,
        **joint: Any,
    ) -> None:
        """Add a bar between two points, in the plane of the leg or ``aside`` of it, that turns about the first."""
        parent, body = parent if parent == "trunk" else f"{leg}_{parent}", f"{leg}_{part}"
        here, reach = self.place(leg, at, aside), self.place(leg, to, aside) - self.place(leg, at, aside)
        square = float(np.add.reduce(reach * reach))
        turn = mass * (square / 12.0 + 1e-3)
        if kind == "universal":  # it does not turn about itself
            joint["axis2"] = np.array([-reach[2], 0.0, reach[0]]) / np.sqrt(square)
        self.mechanism.add_body(body, mass, com=0.5 * reach, inertia=(turn, turn, turn))
        pose = here - self.at[parent]
        self.mechanism.add_joint(body, kind, parent, body, parent_pose=pose, **{"axis": BACK} | joint)
        self.at[body] = here
        if motor:
            self.mechanism.add_actuator(body, body)

    def place(self, leg: str, at: Any, aside: float = 0.0) -> Array:
        """Return a point in the plane of a leg, or beside it, in the world."""
        return np.array([at[0], SIDES[leg] * self.half + aside, at[1]])

    def pin(self, leg: str, name: str, one: str, other: str, at: Any, aside: float = 0.0) -> None:
        """Hold two parts together at a point."""
        one, other, point = f"{leg}_{one}", f"{leg}_{other}", self.place(leg, at, aside)
        self.mechanism.add_closure(
            f"{leg}_{name}", "point", one, other, pose1=point - self.at[one], pose2=point - self.at[other]
        )

    def leg(self, leg: str, **springs: dict[str, Any]) -> None:
        """Add what is above the ankle; ``springs`` at ``shin`` and ``heel``, which are stiff where there are none."""
        for part, parent, axis, mass in (("roll", "trunk", FORWARD, 1.8), ("yaw", "roll", UP, 1.2)):
            self.bar(leg, part, "revolute", parent, HIP, HIP, mass, axis=axis, motor=True, armature=0.04)
        self.bar(leg, "pitch", "revolute", "yaw", HIP, KNEE, 4.0, motor=True, armature=0.09)
        self.bar(leg, "knee", "revolute", "pitch", KNEE, KNEE, 0.8, motor=True, armature=0.09)
        for part, parent, at, to, mass in (
            ("shin", "knee", KNEE, HOCK, 0.6),
            ("tarsus", "shin", HOCK, ANKLE, 0.8),
            ("heel", "tarsus", HOCK, HEEL, 0.13),
        ):
            kind, spring = "revolute" if part in (*springs, "tarsus") else "fixed", springs.get(part, {})
            self.bar(leg, part, kind, parent, at, to, mass, **spring)
        self.bar(leg, "rod", "universal", "pitch", HIP, HEEL, 0.16)
        self.pin(leg, "achilles", "heel", "rod", HEEL)


def _with_springs(half: float, rest: Array, extra: bool = False) -> sr.Mechanism:
    """Return the robot with leaf springs, which rest at these angles; ``extra``: and with motors at them."""
    robot, numbers = _Builder("springs", half), iter(rest)
    for leg in SIDES:
        springs = {
            part: {"stiffness": k, "spring_reference": float(next(numbers))} for part, k in SPRINGS.items()
        }
        robot.leg(leg, **springs)
        horn = np.array([0.0, -0.055])
        robot.bar(leg, "crank", "revolute", "tarsus", CRANK, CRANK + horn, 0.13)
        robot.bar(leg, "plantar", "revolute", "crank", CRANK + horn, ANKLE + horn, 0.12)
        robot.bar(leg, "foot", "revolute", "tarsus", ANKLE, ANKLE + 2 * horn, 0.2, motor=True, armature=0.012)
        robot.pin(leg, "plantar_pin", "plantar", "foot", ANKLE + horn)
        for end, x in (("toe", 0.08), ("sole", -0.08)):
            robot.mechanism.add_contact(
                f"{leg}_{end}", f"{leg}_foot", (x, 0, 0.02 - ANKLE[1]), radius=0.02, friction="coulomb",
                friction_coefficient=FRICTION,
            )  # fmt: skip
    for name in (f"{leg}_{part}" for leg in SIDES for part in SPRINGS if extra):
        robot.mechanism.add_actuator(f"{name}_spring", name)
    return robot.mechanism


def with_springs() -> Stander:
    """Return the biped with leaf springs and line feet.

    Its springs carry it in the pose in which all joints are at zero: what they have to do there comes from statics, as
    if they were motors.
    """
    half = 0.22
    statics = sr.System(_with_springs(half, np.zeros(4), extra=True))
    u = sr.equilibrium(statics, statics.neutral(), hold=True).u
    stiff = np.array([*SPRINGS.values()] * 2)
    system = sr.System(_with_springs(half, u[-4:] / stiff))
    kp, kd = [800.0, 300.0, 800.0, 2000.0, 400.0] * 2, [30.0, 10.0, 30.0, 60.0, 15.0] * 2
    return Stander(system, system.neutral(), u[:10], np.array(kp), np.array(kd), leaning=(4, 9), lean=-60.0)


def with_flat_feet() -> Stander:
    """Return the biped with stiff legs whose flat feet are turned by two cranks each."""
    robot = _Builder("flat_feet", 0.1)
    for leg in SIDES:
        robot.leg(leg)
        horn = np.array([-0.05, 0.0])
        robot.bar(leg, "cross", "revolute", "tarsus", ANKLE, ANKLE, 0.05)
        robot.bar(leg, "foot", "revolute", "cross", ANKLE, np.array([0.0, 0.0]), 0.4, axis=FORWARD)
        for name, aside in (("inner", -0.03), ("outer", 0.03)):
            y = aside * SIDES[leg]
            robot.bar(
                leg, name, "revolute", "tarsus", CRANK, CRANK + horn, 0.05, aside=y, motor=True, armature=1e-3
            )
            robot.bar(leg, f"{name}_rod", "universal", name, CRANK + horn, ANKLE + horn, 0.03, aside=y)
            robot.pin(leg, f"{name}_pin", f"{name}_rod", "foot", ANKLE + horn, y)
        robot.mechanism.add_contact_patch(
            leg, f"{leg}_foot", (0, 0, -ANKLE[1]), extent=(0.1, 0.036), friction="coulomb",
            friction_coefficient=FRICTION,
        )  # fmt: skip
    system = sr.System(robot.mechanism)
    q = system.neutral()
    kp, kd = [400.0, 400.0, 400.0, 400.0, 150.0, 150.0] * 2, [30.0, 12.0, 30.0, 30.0, 2.0, 2.0] * 2
    hold = sr.equilibrium(system, q, hold=True).u
    return Stander(system, q, hold, np.array(kp), np.array(kd), leaning=(4, 5, 10, 11), lean=-30.0)
