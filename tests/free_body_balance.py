"""Free bodies in arithmetic of 50 digits: motion of bodies of a random mechanism by differences, and what is missing.

Nothing of the library takes part: poses follow from what `Mechanism.add_joint` was told, accelerations from poses a
small time before and after, and forces of springs from the places of their ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from mechanisms import GRAVITY, Blueprint, JointSpec
from sarrus.model.mechanism.joint import COORDINATE_LABELS, VELOCITY_LABELS

mp.dps = 50
H = mpf(10) ** -16
EYE = np.array([[mpf(i == j) for j in range(3)] for i in range(3)], dtype=object)
Frame = tuple[np.ndarray, np.ndarray]


def exact(values: Any) -> np.ndarray:
    """Return floats as numbers of 50 digits."""
    array = np.asarray(values)
    return np.array([mpf(float(x)) for x in array.ravel()], dtype=object).reshape(array.shape)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: np.ndarray) -> np.ndarray:
    zero = mpf(0)
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def turned_about(axis: np.ndarray, angle: Any) -> np.ndarray:
    k = skew(axis)
    return EYE + mp.sin(angle) * k + (1 - mp.cos(angle)) * (k @ k)


def turned_by(vector: np.ndarray) -> np.ndarray:
    """Return the rotation of a rotation vector."""
    angle = mp.sqrt(sum(x * x for x in vector))
    return EYE if angle == 0 else turned_about(vector / angle, angle)


def turn_of(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion / mp.sqrt(sum(c * c for c in quaternion))
    v = np.array([x, y, z])
    return (w * w - v @ v) * EYE + 2 * np.outer(v, v) + 2 * w * skew(v)


def after(one: Frame, two: Frame) -> Frame:
    return one[0] + one[1] @ two[0], one[1] @ two[1]


def inverse(one: Frame) -> Frame:
    return -(one[1].T @ one[0]), one[1].T


@dataclass
class Moving:
    """A tree on a path q(t) with q, v and a at t = 0."""

    plan: Blueprint
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray

    def __post_init__(self) -> None:
        self.joints = {joint.child: joint for joint in self.plan.joints}
        self.places: dict[str, tuple[slice, slice]] = {}
        iq = iv = 0
        for body in self.plan.mechanism.bodies:
            kind = self.joints[body].kind
            nq, nv = len(COORDINATE_LABELS[kind]), len(VELOCITY_LABELS[kind])
            self.places[body] = slice(iq, iq + nq), slice(iv, iv + nv)
            iq, iv = iq + nq, iv + nv
        self.now, self.before, self.later = (self.frames(time) for time in (mpf(0), -H, H))

    def motion(self, body: str, time: Any, more: np.ndarray | None = None) -> Frame:
        """Return the pose of the joint frame in the child in that in the parent; ``more`` is a displacement."""
        joint, (iq, iv) = self.joints[body], self.places[body]
        q, v, a = exact(self.q[iq]), exact(self.v[iv]), exact(self.a[iv])
        step = v * time + a * time**2 / 2
        if more is not None:
            step = step + more
        return moved(joint, q, step)

    def frames(self, time: Any) -> dict[str, Frame]:
        found = {"world": (exact(np.zeros(3)), EYE)}
        for body in self.plan.mechanism.bodies:
            joint = self.joints[body]
            parent = pose(joint.parent_pose)
            own = after(after(parent, self.motion(body, time)), inverse(pose(joint.child_pose)))
            found[body] = after(found[joint.parent], own)
        return found

    def point(self, body: str, place: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return place, velocity and acceleration of a point of a body."""
        here, back, ahead = (
            at[body][0] + at[body][1] @ exact(place) for at in (self.now, self.before, self.later)
        )
        return here, (ahead - back) / (2 * H), (ahead - 2 * here + back) / H**2

    def turning(self, body: str) -> tuple[np.ndarray, np.ndarray]:
        """Return angular velocity and acceleration in the world."""
        here, back, ahead = (at[body][1] for at in (self.now, self.before, self.later))
        rate, second = (ahead - back) / (2 * H) @ here.T, (ahead - 2 * here + back) / H**2 @ here.T
        return unskew(rate), unskew(second - rate @ rate)

    def joint_twists(self, body: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return of every velocity of a joint the turn and the shift of the child, as it carries it, at its anchor."""
        joint, (_, iv) = self.joints[body], self.places[body]
        out, place = [], exact(joint.child_pose.position)
        base = after(self.now[joint.parent], pose(joint.parent_pose))
        for k in range(iv.stop - iv.start):
            more = exact(np.eye(iv.stop - iv.start)[k]) * H
            one, two = (
                after(after(base, self.motion(body, mpf(0), sign * more)), inverse(pose(joint.child_pose)))
                for sign in (1, -1)
            )
            turn = unskew((one[1] - two[1]) / (2 * H) @ self.now[body][1].T)
            shift = ((one[0] + one[1] @ place) - (two[0] + two[1] @ place)) / (2 * H)
            out.append((turn, shift, self.now[body][0] + self.now[body][1] @ place))
        return out


def moved(joint: JointSpec, q: np.ndarray, step: np.ndarray) -> Frame:
    """Return the pose of the joint frame in the child in that in the parent, a step from q."""
    u, w, zero = exact(joint.axis), exact(joint.axis2), exact(np.zeros(3))
    u, w = (x / mp.sqrt(x @ x) for x in (u, w))
    if joint.kind == "free":
        return q[:3] + step[:3], turn_of(q[3:]) @ turned_by(step[3:])
    if joint.kind == "spherical":
        axes = exact(joint.child_pose.rotation)
        return zero, axes.T @ turn_of(q) @ turned_by(step) @ axes
    d = q + step - mpf(float(joint.reference))
    match joint.kind:
        case "revolute":
            return zero, turned_about(u, d[0])
        case "prismatic":
            return d[0] * u, EYE
        case "screw":
            return mpf(joint.pitch) * d[0] / (2 * mp.pi) * u, turned_about(u, d[0])
        case "cylindrical":
            return d[0] * u, turned_about(u, d[1])
        case "universal":
            return zero, turned_about(u, d[0]) @ turned_about(w, d[1])
    return d[0] * w + d[1] * cross(u, w), turned_about(u, d[2])


def pose(given: Any) -> Frame:
    return exact(given.position), exact(given.rotation)


def unskew(m: np.ndarray) -> np.ndarray:
    return np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


def missing(moving: Moving, loads: Mapping[str, Any], more: Mapping[str, list[Any]] | None = None) -> float:
    """Return the largest force, or couple, that lacks in the balance of a body, over the largest one there is.

    ``loads`` are reactions in the world, by name: what each exerts on ``body`` at ``point``, ``on`` gets the opposite.
    ``more`` are other forces on bodies: (force, point), or (force, point, couple), in the world.
    """
    plan = moving.plan
    sums = {body: [exact(np.zeros(3)), exact(np.zeros(3))] for body in ("world", *plan.mechanism.bodies)}
    largest = mpf(0)

    def push(body: str, force: np.ndarray, point: np.ndarray, couple: Any = 0) -> None:
        nonlocal largest
        sums[body][0] = sums[body][0] + force
        sums[body][1] = sums[body][1] + cross(point, force) + couple
        largest = max(largest, *(abs(x) for x in force))

    for one in loads.values():
        force, couple, point = exact(one.force), exact(one.couple), exact(one.point)
        push(one.body, force, point, couple)
        push(one.on, -force, point, -couple)
    for spring in plan.mechanism.springs.values():
        one, two = moving.point(spring.body1, spring.point1), moving.point(spring.body2, spring.point2)
        way, rate = two[0] - one[0], two[1] - one[1]
        length = mp.sqrt(way @ way)
        lower, upper = map(mpf, spring.rest_length)
        stretch = max(length - upper, 0) + min(length - lower, 0)
        tension = mpf(spring.stiffness) * stretch + mpf(spring.damping) * (way @ rate) / length
        push(spring.body1, tension * way / length, one[0])
        push(spring.body2, -tension * way / length, two[0])
    for body, forces in (more or {}).items():
        for entry in forces:
            push(body, *map(exact, entry))
    worst = mpf(0)
    for body in plan.mechanism.bodies:
        mass, com, inertia = plan.inertias[body]
        centre, _, acceleration = moving.point(body, com)
        spin, turning = moving.turning(body)
        axes = moving.now[body][1]
        about = axes @ exact(inertia) @ axes.T
        force = mpf(mass) * (acceleration - exact(GRAVITY))
        couple = about @ turning + cross(spin, about @ spin)
        left = [*(sums[body][0] - force), *(sums[body][1] - cross(centre, force) - couple)]
        worst = max(worst, *map(abs, left))
    return float(worst / largest)
