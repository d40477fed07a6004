"""Systems and helpers of the tests of invariants: a top, a floating ring of links, and its momenta by sums."""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np

import sarrus as sr

Array = np.ndarray
CHAIN = ("energy", "momentum.x", "momentum.y", "angular_momentum.z")
INERTIA = np.array([1.0, 2.0, 3.0])


def kept(*invariants: str | sr.Invariant, **more: object) -> sr.Stabilization:
    return sr.Stabilization(invariants=invariants, **more)  # type: ignore[arg-type]


def top() -> sr.System:
    m = sr.Mechanism("top", gravity=(0, 0, 0))
    m.add_body("body", mass=1.0, inertia=tuple(INERTIA))
    m.add_joint("pivot", "spherical", "world", "body")
    return sr.System(m)


CASIMIR = sr.Invariant("Casimir", lambda q, v, t: ca.sumsqr(ca.DM(np.diag(INERTIA)) @ v))


def chain(gravity: tuple[float, float, float] = (0, 0, 0), links: int = 5) -> sr.Mechanism:
    """Links in a closed ring that float in a plane."""
    m = sr.Mechanism("ring", gravity=gravity)
    for k in range(links):
        m.add_body(f"link{k}", mass=1.0 + 0.1 * k, com=(0.5, 0.1, 0), inertia=(0.1, 0.1, 0.1 + 0.01 * k))
        if k:
            m.add_joint(
                f"j{k}", "revolute", f"link{k - 1}", f"link{k}", parent_pose=(1, 0, 0), axis=(0, 0, 1)
            )
        else:
            m.add_joint("base", "planar", "world", "link0", axis=(0, 0, 1))
    m.add_closure("ring", "point", f"link{links - 1}", "link0", pose1=(1, 0, 0), pose2=(0, 0, 0))
    return m


def state(system: sr.System, seed: int = 0) -> tuple[Array, Array]:
    q = system.assemble([0, 0, 0, 1.2, 1.2, 1.2, 1.4]).q
    return q, system.project_velocity(q, np.random.default_rng(seed).normal(size=system.nv))


def sums(q: Array, v: Array, links: int = 5) -> Array:
    """Return px, py and Lz about the origin of a chain, from sums over its links."""
    place, speed, angle, turn = np.array(q[:2]), np.array(v[:2]), 0.0, 0.0
    found = np.zeros(3)
    for k in range(links):
        angle, turn = angle + q[2 + k], turn + v[2 + k]
        c, s = np.cos(angle), np.sin(angle)
        arm = np.array([0.5 * c - 0.1 * s, 0.5 * s + 0.1 * c])
        centre, rate = place + arm, speed + turn * np.array([-arm[1], arm[0]])
        p = (1.0 + 0.1 * k) * rate
        found += [p[0], p[1], centre[0] * p[1] - centre[1] * p[0] + (0.1 + 0.01 * k) * turn]
        place, speed = place + np.array([c, s]), speed + turn * np.array([-s, c])
    return found


@cache
def ring() -> sr.System:
    """Return the ring without gravity."""
    return sr.System(chain())


@cache
def heavy_ring() -> sr.System:
    """Return the ring with gravity along −y."""
    return sr.System(chain(gravity=(0, -9.81, 0)))


def momentum_of(q: ca.SX, v: ca.SX) -> ca.SX:
    """Return px and py of the ring over symbols."""
    speed, angle, turn = v[:2], 0, 0
    found = ca.SX.zeros(2)
    for k in range(5):
        angle, turn = angle + q[2 + k], turn + v[2 + k]
        c, s = ca.cos(angle), ca.sin(angle)
        found += (1.0 + 0.1 * k) * (speed + turn * ca.vertcat(-0.5 * s - 0.1 * c, 0.5 * c - 0.1 * s))
        speed = speed + turn * ca.vertcat(-s, c)
    return found
