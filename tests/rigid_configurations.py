"""Configurations out of which there is no motion, although the constraints allow velocities there.

Second-order rigid: Connelly and Whiteley, Second-order rigidity and prestress stability for tensegrity frameworks, SIAM
Journal on Discrete Mathematics 9(3), 1996. Every case: a system with gravity, and q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import casadi as ca
import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array

Case = tuple[sr.System, Array]
G = 9.81


def framework(
    name: str, points: Array, edges: Sequence[tuple[int, int]], pinned: Sequence[int]
) -> tuple[sr.System, Array]:
    """Return particles of 1 kg at points (n × 2 or 3) joined by rods, some of them pinned; gravity along the last axis.

    Every coordinate can be pushed.
    """
    points = np.asarray(points, dtype=float)
    size = points.shape[1]
    free = [k for k in range(len(points)) if k not in pinned]

    def place(q: ca.SX, k: int) -> ca.SX | ca.DM:
        if k not in free:
            return ca.DM(points[k])
        start = size * free.index(k)
        return q[start : start + size]

    def lengths(q: ca.SX, t: ca.SX) -> ca.SX:
        rows = []
        for i, j in edges:
            length = float(np.linalg.norm(points[i] - points[j]))
            rows.append((ca.sumsqr(place(q, i) - place(q, j)) / length**2 - 1) * length / 2)
        return ca.vertcat(*rows)

    system = sr.System.from_lagrangian(
        nq=size * len(free),
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - G * ca.sum1(q[size - 1 :: size]),
        holonomic=lengths,
        inputs=lambda q: ca.SX.eye(size * len(free)),
        name=name,
    )
    return system, points[free].ravel()


def two_rods() -> Case:
    """A mass between two rods in one line."""
    return framework("two_rods", [(-1, 0), (0, 0), (1.5, 0)], [(0, 1), (1, 2)], [0, 2])


def cable_of_rods() -> Case:
    """Four rods of different lengths in one line between two walls: three velocities across, no motion."""
    line = np.array([(0, 0), (0.4, 0), (1.1, 0), (1.3, 0), (2.0, 0)])
    return framework("cable_of_rods", line, list(pairwise(range(5))), [0, 4])


def rods_and_body() -> Case:
    """A body in space held at its centre by two rods in one line: it turns, and goes nowhere."""
    mechanism = sr.Mechanism("rods_and_body", gravity=(0, 0, -G))
    mechanism.add_body("body", 2.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("body", "free", "world", "body")
    for name, x in (("left", -1.0), ("right", 1.0)):
        mechanism.add_closure(name, "distance", "world", "body", pose1=(x, 0, 0), length=1.0)
    system = sr.System(mechanism)
    return system, system.neutral()


def bars(name: str, lengths: Sequence[float], ground: float) -> sr.System:
    """Return a chain of bars of 1 kg/m in the x–y plane whose end is pinned at x = ground; gravity −y; a motor."""
    mechanism = sr.Mechanism(name, gravity=(0, -G, 0))
    parent, at = "world", 0.0
    for k, length in enumerate(lengths, start=1):
        body, moment = f"bar{k}", length**3 / 12
        mechanism.add_body(body, length, com=(length / 2, 0, 0), inertia=(moment, moment, moment))
        mechanism.add_joint(body, "revolute", parent, body, parent_pose=(at, 0, 0))
        parent, at = body, length
    mechanism.add_closure("end", "point_on_line", "world", parent, pose1=(ground, 0, 0), pose2=(at, 0, 0))
    mechanism.add_actuator("motor", "bar1")
    return sr.System(mechanism)


def flat_triangle() -> Case:
    """Two bars between pivots as far apart as they are long together."""
    return bars("flat_triangle", (1.0, 0.5), 1.5), np.zeros(2)


def stretched_four_bar() -> Case:
    """A four-bar whose ground link is as long as the other three together: it closes in one way only."""
    return bars("stretched_four_bar", (0.5, 0.8, 0.3), 1.6), np.zeros(3)


def hinges(name: str, axes: Sequence[Array], places: Sequence[Array]) -> Case:
    """Return a loop of hinges about given lines as it stands: bodies between them, the last hinge a closure."""
    mechanism = sr.Mechanism(name, gravity=(0, 0, -G))
    parent = "world"
    for k, (axis, place) in enumerate(zip(axes[:-1], places[:-1]), start=1):
        body = f"link{k}"
        mechanism.add_body(body, 1.0, com=place, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(
            f"hinge{k}",
            "revolute",
            parent,
            body,
            axis=axis,
            parent_pose=tuple(place),
            child_pose=tuple(place),
        )
        parent = body
    mechanism.add_closure(
        "last", "revolute", "world", parent, pose1=tuple(places[-1]), pose2=tuple(places[-1]), axis=axes[-1]
    )
    mechanism.add_actuator("motor", "hinge1")
    system = sr.System(mechanism)
    return system, np.zeros(system.nq)


def stretched_spherical_four_bar() -> Case:
    """Four hinges through one point, in one plane: the arc of the ground is the sum of the other three."""
    angles = np.cumsum([0.0, 0.4, 0.7, 0.3])
    axes = [np.array([np.cos(a), np.sin(a), 0.0]) for a in angles]
    return hinges("stretched_spherical_four_bar", axes, [1.0 * axis for axis in axes])


def four_generators() -> Case:
    """Four hinges along generators of one hyperboloid: dependent screws as in Bennett's linkage, which this is not."""
    axes, places = [], []
    for angle in (0.3, 1.2, 2.9, 4.6):
        places.append(np.array([np.cos(angle), 0.8 * np.sin(angle), 0.0]))
        axis = np.array([-np.sin(angle), 0.8 * np.cos(angle), 0.7])
        axes.append(axis / np.linalg.norm(axis))
    return hinges("four_generators", axes, places)


def bipartite_on_a_conic() -> Case:
    """Six joints on an ellipse, each of three joined to each of the others (Bolker and Roth 1980); two are pinned."""
    angles = np.array([0.2, 2.1, 4.0, 1.1, 3.0, 5.3])
    points = np.stack([2.0 * np.cos(angles), 1.2 * np.sin(angles)], axis=1)
    edges = [(i, j) for i in range(3) for j in range(3, 6) if (i, j) != (0, 3)]
    return framework("bipartite_on_a_conic", points, edges, [0, 3])


def concurrent_legs() -> Case:
    """A plate in the plane on three rods of different lengths whose lines meet in one point."""
    mechanism = sr.Mechanism("concurrent_legs", gravity=(0, -G, 0))
    mechanism.add_body("plate", 1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("plate", "planar", "world", "plate")
    for name, angle, near, far in (("a", 0.3, 0.5, 1.4), ("b", 2.2, 0.4, 1.1), ("c", 4.4, 0.6, 1.9)):
        way = np.array([np.cos(angle), np.sin(angle), 0.0])
        mechanism.add_closure(
            name,
            "distance",
            "world",
            "plate",
            pose1=tuple(far * way),
            pose2=tuple(near * way),
            length=far - near,
        )
    for name in mechanism.velocity_names:
        mechanism.add_actuator(f"push.{name}", name)
    system = sr.System(mechanism)
    return system, np.zeros(3)


def flat_net() -> Case:
    """A plane triangulated net in space between six pinned points: joints inside can only begin to leave the plane."""
    angles = np.linspace(0.0, 2 * np.pi, 7)[:-1]
    rim = np.stack([2.0 * np.cos(angles), 1.7 * np.sin(angles), 0 * angles], axis=1)
    inside = np.array([(0.5, 0.1, 0), (-0.4, 0.5, 0), (-0.3, -0.5, 0)])
    edges = [(6, 7), (7, 8), (6, 8), (6, 0), (6, 1), (6, 5), (7, 1), (7, 2), (7, 3), (8, 3), (8, 4), (8, 5)]
    return framework("flat_net", np.vstack([rim, inside]), edges, range(6))


def platform(yaw: float, height: float = 1.0) -> Case:
    """A Gough platform on six rods of fixed length, at a yaw angle; at 90° the rods do not hold it (Fichter 1986)."""
    base = np.deg2rad([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
    top = np.deg2rad([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
    base_points = np.stack([np.cos(base), np.sin(base), 0 * base], axis=1)
    top_points = 0.6 * np.stack([np.cos(top), np.sin(top), 0 * top], axis=1)
    place = sr.Pose.of((0.0, 0.0, height), rpy=(0, 0, yaw))
    mechanism = sr.Mechanism("platform", gravity=(0, 0, -G))
    mechanism.add_body("platform", 10.0, inertia=(1.0, 1.0, 2.0))
    mechanism.add_joint("platform", "free", "world", "platform")
    for k, (p1, p2) in enumerate(zip(base_points, top_points), start=1):
        length = float(np.linalg.norm(place.apply(p2) - p1))
        mechanism.add_closure(
            f"leg{k}", "distance", "world", "platform", pose1=tuple(p1), pose2=tuple(p2), length=length
        )
    return sr.System(mechanism), np.concatenate([place.position, place.quaternion])


def gough_platform() -> Case:
    """At a yaw of 90°: the platform may begin to turn, and cannot."""
    return platform(np.pi / 2)


def gough_platform_with_legs() -> Case:
    """The same with legs that are bodies, on universal joints: 18 velocities, 18 rows of rank 17."""
    system, q = platform(np.pi / 2)
    pose = sr.Pose.of(q[:3], quaternion=q[3:])
    assert system.mechanism is not None
    mechanism = sr.Mechanism("gough_platform_with_legs", gravity=(0, 0, -G))
    mechanism.add_body("platform", 10.0, inertia=(1.0, 1.0, 2.0))
    mechanism.add_joint("platform", "free", "world", "platform")
    angles = []
    for k, rod in enumerate(system.mechanism.closures.values(), start=1):
        foot, head = rod.pose1.position, rod.pose2.position
        along = pose.apply(head) - foot
        mechanism.add_body(f"leg{k}", 1.0, com=(0, 0, 0.5 * rod.length), inertia=(0.1, 0.1, 0.01))
        mechanism.add_joint(
            f"hip{k}",
            "universal",
            "world",
            f"leg{k}",
            axis=(1, 0, 0),
            axis2=(0, 1, 0),
            parent_pose=tuple(foot),
        )
        mechanism.add_closure(
            f"ball{k}", "point", f"leg{k}", "platform", pose1=(0, 0, rod.length), pose2=tuple(head)
        )
        angles += [-np.arctan2(along[1], along[2]), np.arcsin(along[0] / rod.length)]
    return sr.System(mechanism), np.concatenate([q, angles])


def fourth_order() -> Case:
    """x² + y⁴ = 0: a particle that only the fourth order holds."""
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - G * q[1],
        holonomic=lambda q, t: q[0] ** 2 + q[1] ** 4,
        inputs=lambda q: ca.SX.eye(2),
        name="fourth_order",
    )
    return system, np.zeros(2)


ISOLATED: dict[str, Callable[[], Case]] = {
    case.__name__: case
    for case in (
        two_rods, cable_of_rods, flat_triangle, stretched_four_bar, stretched_spherical_four_bar, four_generators,
        bipartite_on_a_conic, concurrent_legs, flat_net, gough_platform, gough_platform_with_legs, fourth_order,
    )
}  # fmt: skip


def turned(case: Case, seed: int) -> Array:
    """Return a unit velocity that A allows, at random."""
    system, q = case
    _, values, right = np.linalg.svd(system.constraint_jacobian(q))
    kernel = right[int(np.count_nonzero(values > 1e-9 * max(values.max(initial=0.0), 1e-300))) :]
    x = kernel.T @ np.random.default_rng(seed).standard_normal(len(kernel))
    return np.asarray(x / np.linalg.norm(x))
