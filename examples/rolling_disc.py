"""Disc that rolls without slipping: upright it is stable above a critical speed, and falls below it.

Two nonholonomic rows: the point of contact rests. Five coordinates and three velocities, so that the linear model has
eight states, of which heading rate, tilt and tilt rate form a block of their own with s (s² + κ) = 0,

    κ = (C (C + m r²) ω² / A − m g r) / (A + m r²),

A about a diameter, C about the axle; κ > 0 where ω² > A m g r / (C (C + m r²)), which is v² > g r / 3 for a
uniform disc.
(Routh, Dynamics of a System of Rigid Bodies, advanced part, §244; Neimark and Fufaev, Dynamics of Nonholonomic Systems,
1972.)
"""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

MASS, RADIUS, GRAVITY = 1.5, 0.4, 9.81
DIAMETER, AXLE = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2  # moments of inertia
BLOCK = ("heading.rate", "tilt", "tilt.rate")
CRITICAL = np.sqrt(DIAMETER * MASS * GRAVITY * RADIUS / (AXLE * (AXLE + MASS * RADIUS**2)))  # rad/s


def build() -> sr.System:
    """Return the disc: x and y of its centre [m], heading, tilt (π/2 upright) and spin [rad]."""
    return sr.System.from_lagrangian(
        nq=5,
        lagrangian=_lagrangian,
        velocity=_rolling,
        name="disc",
        coordinate_names=("x", "y", "heading", "tilt", "spin"),
    )


def _turning(q: ca.SX, v: ca.SX) -> ca.SX:
    """Return the angular velocity along the horizontal diameter, up the disc and along its axle."""
    return ca.vertcat(v[3], v[2] * ca.sin(q[3]), v[2] * ca.cos(q[3]) + v[4])


def _lagrangian(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
    w, rise = _turning(q, v), RADIUS * ca.cos(q[3]) * v[3]
    spin = DIAMETER * (w[0] ** 2 + w[1] ** 2) + AXLE * w[2] ** 2
    height = RADIUS * ca.sin(q[3])
    return MASS / 2 * (v[0] ** 2 + v[1] ** 2 + rise**2) + spin / 2 - MASS * GRAVITY * height


def _rolling(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
    """Return the horizontal velocity of the point of contact; x and y are those of the centre."""
    c, s = ca.cos(q), ca.sin(q)
    up = ca.vertcat(-s[2] * c[3], c[2] * c[3], s[3])  # from the contact to the centre
    axes = ca.horzcat(ca.vertcat(c[2], s[2], 0), up, ca.vertcat(s[2] * s[3], -c[2] * s[3], c[3]))
    return (ca.vertcat(v[:2], 0) + ca.cross(axes @ _turning(q, v), -RADIUS * up))[:2]


def straight(spin: float) -> tuple[Array, Array]:
    """Return q and v of an upright disc that rolls straight on with a spin [rad/s]."""
    return np.array([0.0, 0.0, 0.0, np.pi / 2, 0.0]), np.array([-RADIUS * spin, 0.0, 0.0, 0.0, spin])


def stiffness(spin: float) -> float:
    """Return κ, the square of the frequency at which it sways, negative where it falls."""
    weight = AXLE * (AXLE + MASS * RADIUS**2) * spin**2 / DIAMETER - MASS * GRAVITY * RADIUS
    return float(weight / (DIAMETER + MASS * RADIUS**2))


def block(model: sr.LinearSystem) -> Array:
    """Return the part of A that couples heading rate, tilt and tilt rate."""
    where = [model.names.index(name) for name in BLOCK]
    return model.A[np.ix_(where, where)]


def main() -> None:
    """Compare the linear model with the textbook, and the motion with the linear model."""
    system = build()
    assert np.isclose((CRITICAL * RADIUS) ** 2, GRAVITY * RADIUS / 3)
    error, tilts = 0.0, {}
    for part in (0.5, 0.99, 1.01, 2.0):
        spin = part * CRITICAL
        model = sr.linearize_at(system, *straight(spin), coordinates=["heading", "tilt", "spin"])
        assert model.A.shape == (8, 8)
        error = max(error, float(np.abs(np.poly(block(model)) - [1.0, 0.0, stiffness(spin), 0.0]).max()))
    assert error < 1e-10

    for name, part in (("slow", 0.9), ("fast", 1.3)):
        q, v = straight(part * CRITICAL)
        v = system.project_velocity(q, v + 0.02 * np.eye(5)[3])  # a slight push aside
        motion = sr.simulate(system, q, v, duration=2.0)
        tilts[name] = float(np.abs(motion.q[:, 3] - np.pi / 2).max())
        print(name, motion, f"tilts by {np.degrees(tilts[name]):.2g}°")
        assert motion.energy_drift < 1e-8
    assert tilts["slow"] > 10 * tilts["fast"]
    sway = abs(v[3]) / np.sqrt(stiffness(1.3 * CRITICAL))
    assert np.isclose(tilts["fast"], sway, rtol=0.01)
    figures = {"critical_speed": float(CRITICAL * RADIUS), "model_error": error, "tilts": tilts}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
