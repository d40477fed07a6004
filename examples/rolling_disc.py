"""Disc that rolls without slipping: upright it is stable above a critical speed, and falls below it.

Built from one body on six joints in series, which rolls: the point of contact rests. The height follows from the tilt,
and two rows are nonholonomic, so that there are five coordinates and three velocities. Of the eight states of the
linear model heading rate, tilt and tilt rate form a block of their own with s (s² + κ) = 0,

    κ = (C (C + m r²) ω² / A − m g r) / (A + m r²),

A about a diameter, C about the axle; κ > 0 where ω² > A m g r / (C (C + m r²)), which is v² > g r / 3 for a
uniform disc.
(Routh, Dynamics of a System of Rigid Bodies, advanced part, §244; Neimark and Fufaev, Dynamics of Nonholonomic Systems,
1972.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

MASS, RADIUS, GRAVITY = 1.5, 0.4, 9.81
DIAMETER, AXLE = MASS * RADIUS**2 / 4, MASS * RADIUS**2 / 2  # moments of inertia
BLOCK = ("heading.rate", "tilt", "tilt.rate")
CRITICAL = np.sqrt(DIAMETER * MASS * GRAVITY * RADIUS / (AXLE * (AXLE + MASS * RADIUS**2)))  # rad/s


def build() -> sr.System:
    """Return the disc: x, y and height of its centre [m], heading, tilt (π/2 upright) and spin [rad]."""
    disc = sr.Mechanism("disc", gravity=(0, 0, -GRAVITY))
    disc.add_body("disc", MASS, inertia=(DIAMETER, AXLE, DIAMETER))
    for name, kind, axis, reference in (
        ("x", "prismatic", (1, 0, 0), 0.0),
        ("y", "prismatic", (0, 1, 0), 0.0),
        ("height", "prismatic", (0, 0, 1), RADIUS),
        ("heading", "revolute", (0, 0, 1), 0.0),
        ("tilt", "revolute", (1, 0, 0), np.pi / 2),
        ("spin", "revolute", (0, -1, 0), 0.0),
    ):
        start = (0, 0, RADIUS) if name == "x" else None
        disc.add_joint(name, kind, "world", "disc", axis=axis, parent_pose=start, reference=reference)
    disc.add_rolling("rim", "disc", "disc", axis=(0, -1, 0), radius=RADIUS)
    return sr.System(disc)


def straight(spin: float) -> tuple[Array, Array]:
    """Return q and v of an upright disc that rolls straight on with a spin [rad/s]."""
    return np.array([0.0, 0.0, RADIUS, 0.0, np.pi / 2, 0.0]), np.array([-RADIUS * spin, 0, 0, 0, 0, spin])


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
        v = system.project_velocity(q, v + 0.02 * np.eye(6)[4])  # a slight push aside
        motion = sr.simulate(system, q, v, duration=2.0)
        tilts[name] = float(np.abs(motion.q[:, 4] - np.pi / 2).max())
        print(name, motion, f"tilts by {np.degrees(tilts[name]):.2g}°")
        assert motion.energy_drift < 1e-8
    assert tilts["slow"] > 10 * tilts["fast"]
    sway = abs(v[4]) / np.sqrt(stiffness(1.3 * CRITICAL))
    assert np.isclose(tilts["fast"], sway, rtol=0.01)
    figures = {"critical_speed": float(CRITICAL * RADIUS), "model_error": error, "tilts": tilts}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
