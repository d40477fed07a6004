"""A symmetrical five-bar of any lengths, whose singular configurations and workspace are bounded by circles."""

from __future__ import annotations

from functools import cache

import numpy as np

import sarrus as sr
from sarrus.base.arrays import Array

Y = (0.0, 1.0, 0.0)


@cache
def five_bar(near: float, far: float, apart: float, closure: str = "point_on_line") -> sr.System:
    """Return a symmetrical five-bar in the x-z plane: coordinates left, left_elbow, right, right_elbow."""
    mechanism = sr.Mechanism("five_bar")
    for side, x in (("left", 0.0), ("right", apart)):
        for name, parent, length, place in (
            (side, "world", near, x),
            (f"{side}_elbow", side, far, near),
        ):
            mechanism.add_body(name, 1.0, com=(length / 2, 0, 0), inertia=(0.001, 0.1, 0.1))
            mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(place, 0, 0))
    mechanism.add_closure(
        "tip", closure, "left_elbow", "right_elbow", axis=Y, pose1=(far, 0, 0), pose2=(far, 0, 0)
    )
    return sr.System(mechanism)


def start_of(near: float, far: float, apart: float, tip: complex) -> Array:
    """Return the configuration with elbows outside."""
    q = []
    for base, side in ((0.0, 1.0), (apart, -1.0)):
        line = tip - base
        d = abs(line)
        turn = np.arccos((near**2 + d * d - far**2) / (2 * near * d))
        angle = np.angle(line) + side * turn
        rest = line - near * np.exp(1j * angle)
        q += [angle, np.angle(rest) - angle]
    return np.array(q)


ARMS = (1.0, 1.4, 1.2)
TIP = ("left_elbow", (ARMS[1], 0.0, 0.0))
START = start_of(*ARMS, 0.6 + 1.7j)
