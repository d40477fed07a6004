"""Fast and stiff problems of the literature, with the digits that their sources give.

Andrews' squeezing mechanism: Hairer and Wanner, Solving Ordinary Differential Equations II, 2nd ed., VII.7. Car axis:
Schwerin's model in Mazzia and Magherini, Test Set for Initial Value Problem Solvers, release 2.4, 2008, which also has
the digits of both.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

import sarrus as sr

ANDREWS_START = np.array(
    [-0.06171389001427645, 0.0, 0.4552798191630704, 0.2226683901658859, 0.48736497954384255, -0.2226683901658859,
     1.2305474445498212]
)  # fmt: skip
ANDREWS_END = np.array(
    [15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226499, 0.5244099658805304,
     0.5347301163226499, 1.048080741042263]
)  # fmt: skip
ANDREWS_DURATION = 0.03


def andrews() -> sr.System:
    """Seven bodies in the plane on seven angles (β, Θ, γ, Φ, δ, Ω, ε), six loop equations."""
    masses = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)
    inertias = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    xa, ya, xb, yb, xc, yc = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
    d, da, e, ea, rr, ra, ss, sa, sb, sc, sd = (
        0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092, 0.035, 0.01874, 0.01043, 0.018, 0.02,
    )  # fmt: skip
    ta, tb, u, ua, ub, zf, zt, fa = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
    stiffness, length, torque = 4530.0, 0.07785, 0.033
    cos, sin = ca.cos, ca.sin

    def centres(q: ca.SX) -> list[tuple[ca.SX, ca.SX, ca.SX]]:
        b, t, g, p, dl, o, ep = (q[k] for k in range(7))
        return [
            (ra * cos(b), ra * sin(b), b),
            (rr * cos(b) - da * cos(b + t), rr * sin(b) - da * sin(b + t), b + t),
            (xb + sa * sin(g) + sb * cos(g), yb - sa * cos(g) + sb * sin(g), g),
            (xa + zt * cos(dl) + (e - ea) * sin(p + dl), ya + zt * sin(dl) - (e - ea) * cos(p + dl), p + dl),
            (xa + ta * cos(dl) - tb * sin(dl), ya + ta * sin(dl) + tb * cos(dl), dl),
            (xa + u * sin(ep) + (zf - fa) * cos(o + ep), ya - u * cos(ep) + (zf - fa) * sin(o + ep), o + ep),
            (xa + ua * sin(ep) - ub * cos(ep), ya - ua * cos(ep) - ub * sin(ep), ep),
        ]

    def lagrangian(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        kinetic = 0
        for mass, inertia, place in zip(masses, inertias, centres(q)):
            x, y, angle = (ca.jtimes(entry, q, v) for entry in place)
            kinetic += 0.5 * mass * (x**2 + y**2) + 0.5 * inertia * angle**2
        g = q[2]
        dx, dy = sd * cos(g) + sc * sin(g) + xb - xc, sd * sin(g) - sc * cos(g) + yb - yc
        return kinetic - 0.5 * stiffness * (ca.sqrt(dx**2 + dy**2) - length) ** 2

    def loops(q: ca.SX, t: ca.SX) -> ca.SX:
        b, th, g, p, dl, o, ep = (q[k] for k in range(7))
        x, y = rr * cos(b) - d * cos(b + th), rr * sin(b) - d * sin(b + th)
        return ca.vertcat(
            x - ss * sin(g) - xb,
            y + ss * cos(g) - yb,
            x - e * sin(p + dl) - zt * cos(dl) - xa,
            y + e * cos(p + dl) - zt * sin(dl) - ya,
            x - zf * cos(o + ep) - u * sin(ep) - xa,
            y - zf * sin(o + ep) + u * cos(ep) - ya,
        )

    return sr.System.from_lagrangian(
        7,
        lagrangian,
        holonomic=loops,
        generalized_force=lambda q, v, t: ca.vertcat(torque, ca.SX.zeros(6)),
        name="andrews",
    )


CAR_START, CAR_SPEED = np.array([0.0, 0.5, 1.0, 0.5]), np.array([-0.5, 0.0, -0.5, 0.0])
CAR_END = np.array([0.04934557842755629, 0.4969894602303324, 1.041742524885400, 0.3739110272652214])
CAR_DURATION = 3.0


def car_axis() -> sr.System:
    """Two wheels on stiff springs, an axis of constant length between them, and a bump under the right one."""
    small, weight, length, rest, height, rate = 1e-2, 10.0, 1.0, 0.5, 0.1, 10.0
    mass = small**2 * weight / 2

    def road(t: ca.SX) -> tuple[ca.SX, ca.SX]:
        y = height * ca.sin(rate * t)
        return ca.sqrt(length**2 - y**2), y

    def force(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        xb, yb = road(t)
        left, right = q[:2], q[2:] - ca.vertcat(xb, yb)
        return ca.vertcat(*((rest - ca.norm_2(x)) * x / ca.norm_2(x) for x in (left, right)))

    def constraints(q: ca.SX, t: ca.SX) -> ca.SX:
        xb, yb = road(t)
        return ca.vertcat(q[0] * xb + q[1] * yb, ca.sumsqr(q[:2] - q[2:]) - length**2)

    return sr.System.from_lagrangian(
        4,
        lambda q, v, t: 0.5 * mass * ca.sumsqr(v) - mass * (q[1] + q[3]),
        holonomic=constraints,
        generalized_force=force,
        name="car axis",
    )


def car_axis_from_bodies() -> sr.System:
    """The same of two masses, springs, a rod, a bump that drives a body, and a plane across it for the left wheel."""
    bump = lambda t: 0.1 * ca.sin(10.0 * t)  # noqa: E731
    turned = lambda t: ca.vertcat(ca.cos(ca.asin(bump(t)) / 2), 0, 0, ca.sin(ca.asin(bump(t)) / 2))  # noqa: E731
    m = sr.Mechanism("car axis", gravity=(0, -1, 0))
    m.add_body("road")
    m.add_joint("road", "fixed", "world", "road", parent_pose=(1, 0, 0))
    m.drive("road", lambda t: (ca.vertcat(ca.sqrt(1 - bump(t) ** 2), bump(t), 0), turned(t)))
    for side in ("left", "right"):
        m.add_body(side, mass=5e-4)
        m.add_joint(f"{side}.x", "prismatic", "world", side, axis=(1, 0, 0))
        m.add_joint(f"{side}.y", "prismatic", "world", side, axis=(0, 1, 0))
        m.add_spring_damper(side, "world" if side == "left" else "road", side, stiffness=1.0, rest_length=0.5)
    m.add_closure("axle", "distance", "left", "right", length=1.0)
    m.add_closure(
        "across", "point_on_plane", "world", "left", axis=(1, 0, 0), motion=lambda t: ([0, 0, 0], turned(t))
    )
    return sr.System(m)


GOVERNOR_SPEED = 10.0


def governor(stiffness: float = 8e5, damping: float = 4e4) -> sr.System:
    """A flyball governor whose collar hangs on stiff spring-dampers: damping acts within a microsecond or so."""
    m = sr.Mechanism("governor")
    m.add_body("shaft", mass=200.0, inertia=(25.0, 25.0, 25.0))
    m.add_joint("spin", "revolute", "world", "shaft")
    m.add_body("collar", mass=15.0, inertia=(0.15, 0.125, 0.15))
    m.add_joint("slide", "prismatic", "shaft", "collar", parent_pose=(0, 0, 0.5))
    for side, sign in (("left", -1.0), ("right", 1.0)):
        m.add_body(side, mass=7.0, com=(sign * 0.8, 0, 0), inertia=(0.1, 0.6, 0.6))
        m.add_joint(
            f"{side} arm", "revolute", "shaft", side, axis=(0, 1, 0),
            parent_pose=sr.Pose((sign * 0.01, 0, 1.0)), child_pose=(0, 0, 0), reference=0.0,
        )  # fmt: skip
        m.add_spring_damper(
            f"{side} spring", side, "collar", point1=(sign * 0.5, 0, 0), point2=(sign * 0.05, 0, 0),
            stiffness=stiffness, damping=damping, rest_length=0.5,
        )  # fmt: skip
    return sr.System(m)
