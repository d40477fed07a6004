"""Random mechanisms from a seed, closed by construction, and their kinematics in plain NumPy as an oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.system import System
from sarrus.kernels.memory import layout as la
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.joint import COORDINATE_LABELS
from sarrus.model.mechanism.pose import Pose, clean, perpendicular_to

KINDS = tuple(COORDINATE_LABELS)
CLOSURES = (
    "weld", "point", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "distance",
    "point_on_line", "point_on_plane",
)  # fmt: skip
ROLLINGS = ("disc", "ball", "knife_edge", "omni", "cone")
GRAVITY = (0.6, -1.1, -9.4)
MODES = {"traced": la.TRACED, "cholesky": la.CHOLESKY, "null_space": la.NULL_SPACE}


@dataclass
class JointSpec:
    """What `Mechanism.add_joint` was told, to compute with it independently."""

    kind: str
    parent: str
    child: str
    axis: Array
    axis2: Array
    parent_pose: Pose
    child_pose: Pose
    pitch: float
    reference: float = 0.0


@dataclass
class Blueprint:
    """A random tree: the mechanism, its joints, and the random numbers that go on from there."""

    mechanism: Mechanism
    rng: np.random.Generator
    joints: list[JointSpec] = field(default_factory=list)
    inertias: dict[str, tuple[float, Array, Array]] = field(default_factory=dict)


def rotation_about(axis: Array, angle: float) -> Array:
    """Return the rotation by ``angle`` about the unit vector ``axis`` (Rodrigues)."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return clean(np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k))


def unit(rng: np.random.Generator, size: int = 3) -> Array:
    x = rng.standard_normal(size)
    return x / np.linalg.norm(x)


def random_pose(rng: np.random.Generator, scale: float = 0.5) -> Pose:
    return Pose.of(scale * rng.standard_normal(3), quaternion=unit(rng, 4))


def random_inertia(rng: np.random.Generator) -> Array:
    """A full matrix that a rigid body can have: that of a cloud of points."""
    points = 0.4 * rng.standard_normal((5, 3))
    return (points**2).sum() * np.eye(3) - points.T @ points


def random_tree(
    seed: int,
    kinds: tuple[str, ...] = KINDS,
    *,
    forces: bool = True,
    damping: bool = True,
    massless: float = 1.0,
) -> Blueprint:
    """One body per kind, hung at random on the world or on an earlier body; free ones on the world.

    ``forces``: joint springs, armature, reference angles and point-to-point springs as well, dampers with
    ``damping``. Masses and inertias are multiplied by ``massless``.
    """
    rng = np.random.default_rng(seed)
    plan = Blueprint(Mechanism(f"random{seed}", gravity=GRAVITY), rng)
    names = ["world"]
    for k, kind in enumerate(kinds):
        child = f"b{k}"
        inertia = (
            massless * rng.uniform(0.5, 2.0),
            0.3 * rng.standard_normal(3),
            massless * random_inertia(rng),
        )
        plan.inertias[child] = inertia
        plan.mechanism.add_body(child, *inertia)
        axis = unit(rng)
        across = rotation_about(axis, rng.uniform(0, 6)) @ perpendicular_to(axis)
        parent = "world" if kind == "free" else str(rng.choice(names))
        joint = JointSpec(
            kind,
            parent,
            child,
            axis,
            across,
            random_pose(rng),
            random_pose(rng),
            float(rng.uniform(0.2, 1.0)),
        )
        if kind == "free":
            joint.parent_pose = joint.child_pose = Pose()
        extras: dict[str, Any] = {}
        if forces:
            joint.reference = float(rng.uniform(-0.5, 0.5)) if kind not in ("spherical", "free") else 0.0
            extras = {
                "stiffness": rng.uniform(1, 5),
                "armature": rng.uniform(0.1, 0.3),
                "reference": joint.reference,
            }
            extras["damping"] = damping * rng.uniform(0.1, 0.5)
        plan.mechanism.add_joint(
            f"j{k}", kind, parent, child, axis=axis, axis2=across, parent_pose=joint.parent_pose,
            child_pose=joint.child_pose, pitch=joint.pitch, **extras,
        )  # fmt: skip
        plan.joints.append(joint)
        names.append(child)
    if forces:
        for k in range(2):
            one, two = rng.choice(names, 2, replace=False)
            plan.mechanism.add_spring_damper(
                f"spring{k}", str(one), str(two), point1=rng.standard_normal(3),
                point2=rng.standard_normal(3), stiffness=7.0, damping=0.4 * damping,
                rest_length=(0.1, 0.3) if k else 0.5,
            )  # fmt: skip
    return plan


def close_loops(plan: Blueprint, q: Array, kinds: tuple[str, ...] = CLOSURES) -> Mechanism:
    """Add closures of these kinds, or `ROLLINGS`, between random bodies, such that all of them are closed at q."""
    frames = placements(plan, q)
    for k, kind in enumerate(kinds):
        one, two = (str(name) for name in plan.rng.choice(list(frames), 2, replace=False))
        if kind in ROLLINGS:
            roll(plan, f"c{k}", kind, two, one, frames)
            continue
        pose1, axis, pitch = random_pose(plan.rng), unit(plan.rng), 0.7
        displaced, across = displacement(kind, axis, pitch, plan.rng)
        pose2 = frames[two].inverse() @ frames[one] @ pose1 @ displaced
        plan.mechanism.add_closure(
            f"c{k}", kind, one, two, pose1=pose1, pose2=pose2, axis=axis, axis2=across, pitch=pitch,
            length=float(np.linalg.norm(displaced.position)),
        )  # fmt: skip
    return plan.mechanism


def roll(plan: Blueprint, name: str, kind: str, body: str, ground: str, frames: dict[str, Pose]) -> None:
    """Let a body roll on another: a random plane through the point where it touches."""
    rng = plan.rng
    centre, axis, radius, half_angle = 0.4 * rng.standard_normal(3), unit(rng), rng.uniform(0.2, 0.6), 0.0
    if kind == "knife_edge":
        radius = 0.0
    lean = rng.uniform(-0.6, 0.6)
    if kind == "cone":
        half_angle = rng.uniform(0.3, 1.0)
        lean = np.sin(half_angle)
    up = rotation_about(axis, rng.uniform(0, 6)) @ perpendicular_to(axis)  # in the plane of the circle
    normal = lean * axis + np.sqrt(1 - lean**2) * up
    low = centre - radius * (normal if kind == "ball" else up)
    if kind == "cone":
        low = centre
    carried = frames[ground].inverse() @ frames[body]
    along = carried.rotation @ perpendicular_to(normal)
    plan.mechanism.add_rolling(
        name, kind, body, ground, radius=radius, centre=centre, axis=axis, half_angle=half_angle,
        origin=carried.apply(low + rng.uniform(-1, 1) * np.cross(normal, axis)), normal=carried.rotation @ normal,
        tangent=along, roller_angle=rng.uniform(0.3, 1.5),
    )  # fmt: skip


LOOPS = {
    "hinges": (("revolute", "revolute", "prismatic", "revolute", "revolute"), ("point", "distance")),
    "quaternions": (("free", "spherical", "revolute", "spherical"), ("point", "universal", "point_on_line")),
    "mixed": (("planar", "cylindrical", "screw", "universal", "spherical"), ("cylindrical", "distance")),
    "redundant": (("free", "spherical", "revolute"), ("point", "point", "distance")),
    "rolling": (("free", "revolute", "free", "spherical"), ("distance", "disc", "ball", "omni")),
}


HOLONOMIC = tuple(kind for kind in LOOPS if kind != "rolling")


def random_loop(kind: str) -> tuple[Mechanism, Array]:
    """One of `LOOPS`, closed at q; "redundant" has every closure twice."""
    joints, closures = LOOPS[kind]
    plan = random_tree(11, joints)
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, closures)
    if kind == "redundant":
        for closure in list(mechanism.closures.values()):
            mechanism.add_closure(
                f"{closure.name}_again", closure.kind, closure.body1, closure.body2,
                pose1=closure.pose1, pose2=closure.pose2, axis=closure.axis1, length=closure.length,
            )  # fmt: skip
    return mechanism, q


def displacement(kind: str, axis: Array, pitch: float, rng: np.random.Generator) -> tuple[Pose, Array | None]:
    """Return a random pose of frame 2 in frame 1 that a closure of this kind allows, and its second axis."""
    across = rotation_about(axis, rng.uniform(0, 6)) @ perpendicular_to(axis)
    angle, shift = rng.uniform(-2, 2), rng.uniform(-1, 1)
    turn, anything = rotation_about(axis, angle), random_pose(rng).rotation
    match kind:
        case "weld":
            return Pose(), None
        case "point":
            return Pose(np.zeros(3), anything), None
        case "revolute":
            return Pose(np.zeros(3), turn), None
        case "prismatic":
            return Pose(shift * axis), None
        case "screw":
            return Pose(pitch * angle / (2 * np.pi) * axis, turn), None
        case "cylindrical":
            return Pose(shift * axis, turn), None
        case "universal":
            return Pose(np.zeros(3), turn @ rotation_about(across, rng.uniform(-1, 1))), across
        case "planar":
            return Pose(shift * across, turn), None
        case "point_on_line":
            return Pose(shift * axis, anything), None
        case "point_on_plane":
            return Pose(shift * across, anything), None
    return random_pose(rng, 1.0), None


def random_state(system: System, seed: int) -> tuple[Array, Array]:
    """Return random coordinates with unit quaternions and random velocities."""
    rng = np.random.default_rng(seed)
    q = system.normalized(system.neutral() + rng.uniform(-1, 1, system.nq))
    return q, rng.standard_normal(system.nv)


def random_coordinates(plan: Blueprint) -> Array:
    """Return random coordinates of the tree, without compiling it."""
    blocks = {}
    for joint in plan.joints:
        values = plan.rng.uniform(-1, 1, len(COORDINATE_LABELS[joint.kind]))
        if joint.kind in ("spherical", "free"):
            values[-4:] /= np.linalg.norm(values[-4:])
        blocks[joint.child] = values
    return np.concatenate([blocks[name] for name in plan.mechanism.bodies])


def joint_motion(joint: JointSpec, q: Array) -> Pose:
    """Return the pose of the joint frame in the child relative to that in the parent."""
    d = q - joint.reference if joint.kind not in ("spherical", "free") else q
    u, w = joint.axis, joint.axis2
    match joint.kind:
        case "revolute":
            return Pose(np.zeros(3), rotation_about(u, d[0]))
        case "prismatic":
            return Pose(d[0] * u)
        case "screw":
            return Pose(joint.pitch * d[0] / (2 * np.pi) * u, rotation_about(u, d[0]))
        case "cylindrical":
            return Pose(d[0] * u, rotation_about(u, d[1]))
        case "universal":
            return Pose(np.zeros(3), rotation_about(u, d[0]) @ rotation_about(w, d[1]))
        case "planar":
            return Pose(d[0] * w + d[1] * np.cross(u, w), rotation_about(u, d[2]))
        case "spherical":
            axes = joint.child_pose.rotation  # the quaternion is in body axes, as in MuJoCo
            return Pose(np.zeros(3), axes.T @ Pose.of(quaternion=d).rotation @ axes)
    return Pose.of(d[:3], quaternion=d[3:])


def placements(plan: Blueprint, q: Array) -> dict[str, Pose]:
    """Return the pose of every body in the world at the tree coordinates q."""
    joints = {joint.child: joint for joint in plan.joints}
    frames, at = {"world": Pose()}, 0
    for name in plan.mechanism.bodies:
        joint = joints[name]
        size = len(COORDINATE_LABELS[joint.kind])
        motion = joint_motion(joint, q[at : at + size])
        frames[name] = frames[joint.parent] @ joint.parent_pose @ motion @ joint.child_pose.inverse()
        at += size
    return frames


def all_loops(plan: Blueprint) -> Mechanism:
    """Return the same tree with every body free and every joint a closure of the joint's own kind."""
    loose = Mechanism(plan.mechanism.name + "_loose", gravity=GRAVITY)
    for name in plan.mechanism.bodies:
        loose.add_body(name, *plan.inertias[name])
        loose.add_joint(name, "free", "world", name)
    for joint in plan.joints:
        if joint.kind != "free":
            loose.add_closure(
                f"to_{joint.child}", joint.kind, joint.parent, joint.child, pose1=joint.parent_pose,
                pose2=joint.child_pose, axis=joint.axis, pitch=joint.pitch,
                axis2=joint.axis2 if joint.kind == "universal" else None,
            )  # fmt: skip
    return loose


def system_in_mode(mechanism: Mechanism, mode: str) -> System:
    """Compile a mechanism with a chosen elimination of the mass matrix."""
    with patch.object(CompiledEquations, "_elimination_mode", return_value=MODES[mode]):
        return System(mechanism)


def four_bar() -> Mechanism:
    """Return a planar four-bar in the x-z plane, closed by a 3-D point, which is redundant there; a motor turns it."""
    mechanism = Mechanism("four-bar")
    parent, at = "world", (0.0, 0.0, 0.0)
    for name, length in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.6)):
        mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.01, 0.02, 0.03))
        mechanism.add_joint(name, "revolute", parent, name, axis=(0, 1, 0), parent_pose=at)
        parent, at = name, (length, 0.0, 0.0)
    mechanism.add_closure("pin", "point", "world", "rocker", pose1=(0.7, 0, 0), pose2=(0.6, 0, 0))
    mechanism.add_actuator("motor", "crank", limits=(-2.0, 2.0))
    return mechanism


def three_legs() -> Mechanism:
    """Return a coupler on three parallel legs, one of them redundant, in the x-z plane."""
    mechanism = Mechanism("parallelogram")
    for name, x in (("one", 0.0), ("two", 1.0), ("three", 0.4)):
        mechanism.add_body(name, 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", "world", name, axis=(0, 1, 0), parent_pose=(x, 0, 0))
    mechanism.add_body("coupler", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_joint("top", "revolute", "one", "coupler", axis=(0, 1, 0), parent_pose=(0, 0, -1))
    mechanism.add_closure("end", "point", "coupler", "two", pose1=(1, 0, 0), pose2=(0, 0, -1))
    mechanism.add_closure("middle", "point", "coupler", "three", pose1=(0.4, 0, 0), pose2=(0, 0, -1))
    return mechanism
