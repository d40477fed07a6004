"""Linkages with redundant rows whose numbers are rounded to printed digits, and the exact ones that were meant."""

from __future__ import annotations

import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array

GRAVITY = 9.81
# Corners of planar linkages, from one pivot on the ground along the bars to the other [m].
CORNERS = {
    "four-bar": [(0.0, 0.0), (0.13, 0.31), (0.62, 0.42), (0.51, 0.04)],
    "parallelogram": [(0.0, 0.0), (0.2, 0.3), (0.7, 0.3), (0.5, 0.0)],
    "five-bar": [(0.0, 0.0), (-0.17, 0.28), (0.21, 0.55), (0.6, 0.3), (0.45, 0.0)],
}


def linkage(kind: str, digits: int | None, seed: int = 0) -> sr.System:
    """Return a planar linkage in a tilted plane, closed by two points on its last pin: six rows, of which two count.

    Axes, joints, centres of mass and points are rounded to ``digits`` decimals.
    """
    tilt, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    tilt *= np.sign(np.linalg.det(tilt))
    corners = [tilt @ (*corner, 0.0) for corner in CORNERS[kind]]
    mechanism = sr.Mechanism(kind, gravity=tuple(tilt @ (0.0, -GRAVITY, 0.0)))

    def printed(numbers: Array) -> Array:
        return numbers if digits is None else np.round(numbers, digits)

    def add(bar: str, parent: str, start: Array, end: Array, origin: Array) -> None:
        along, length = end - start, float(np.linalg.norm(end - start))
        inertia = 1e-4 * np.eye(3) + (length**2 * np.eye(3) - np.outer(along, along)) / 12
        mechanism.add_body(bar, 1.0, com=printed(along / 2), inertia=inertia)
        axis, place = printed(tilt[:, 2]), tuple(printed(start - origin))
        mechanism.add_joint(bar, "revolute", parent, bar, axis=axis, parent_pose=place)

    parent, origin = "world", corners[0]
    for k in range(len(corners) - 2):
        add(f"bar{k}", parent, corners[k], corners[k + 1], origin)
        parent, origin = f"bar{k}", corners[k]
    add("last", "world", corners[-1], corners[-2], corners[0])
    for name, aside in (("pin", 0.0), ("pin beside", 0.1)):
        ends = [corners[-2] - corners[-3], corners[-2] - corners[-1]]
        poses = [tuple(printed(end + aside * tilt[:, 2])) for end in ends]
        mechanism.add_closure(name, "point", parent, "last", pose1=poses[0], pose2=poses[1])
    return sr.System(mechanism)


def coupled_cranks(connect: str = "") -> str:
    """Return MJCF of a head on two rods that hold a plate parallel to the ground, on cranks opposite to each other.

    The rods differ by 5e-5 m in length, so the four rows of a loop in its plane disagree by 1e-8 m and the more the
    flatter the linkage is; all is printed to 8 digits. ``connect``: attributes of the closures.
    """

    def point(x: float, z: float, y: float = 0.0) -> str:
        return f"{round(x, 8)} {y} {round(z, 8)}"

    below, above = (0.0075 * np.array([np.cos(angle), np.sin(angle)]) for angle in (0.2618, 0.2655))
    plate = np.array([-0.027, 0.0326157])
    rods, sites, closures = "", "", ""
    for name, sign in (("front", 1.0), ("back", -1.0)):
        start, reach = sign * above, sign * below - plate - sign * above
        rods += (
            f'<body name="{name}" pos="{point(*start)}"><joint name="{name}" axis="0 -1 0"/>'
            f'<inertial pos="{point(*(reach / 2))}" mass="0.003" diaginertia="1e-6 1e-6 1e-6"/>'
        )
        for label, aside in (("", 0.0), ("_beside", 0.1)):
            rods += f'<site name="{name}_end{label}" pos="{point(*reach, aside)}"/>'
            sites += f'<site name="{name}_pin{label}" pos="{point(*(sign * below), aside)}"/>'
            closures += f'<connect site1="{name}_end{label}" site2="{name}_pin{label}" {connect}/>'
        rods += "</body>"
    return f"""<mujoco><compiler angle="radian"/><worldbody>{sites}
      <body name="head"><joint name="pitch" axis="0 1 0" damping="0.01"/>
        <inertial pos="-0.01 0 0.045" mass="0.14" diaginertia="1.1e-4 1.2e-4 1e-4"/>
        <body name="plate" pos="{point(*plate)}"><joint name="plate" axis="0 -1 0" damping="0.001" armature="0.0048"/>
          <inertial pos="0 0 0" mass="0.002" diaginertia="6e-8 6e-8 1e-7"/>{rods}</body></body>
      </worldbody><equality>{closures}</equality></mujoco>"""
