"""Mechanisms of free bodies with one geometry each, for tests of contacts between geometries."""

from __future__ import annotations

import numpy as np

import sarrus as sr

G = 9.81


def scene(name: str, *, floor: bool = True, tilt: float = 0.0) -> sr.Mechanism:
    """Return a mechanism without bodies; with a tilt the plane z = 0 falls by so many radians along x."""
    mechanism = sr.Mechanism(name, gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    if floor:
        mechanism.add_geom("floor", "world", "plane")
    return mechanism


def add_free(mechanism, name, kind, size=(), position=(0.0, 0.0, 0.0), mass=1.0, **geom):
    """Add a free body with a geometry: the inertia is that of a solid of about its size."""
    half = np.array(size) if len(size) == 3 else np.full(3, size[0] if len(size) else 0.1)
    solid = {"box": 3.0, "mesh": 3.0}.get(kind, 5.0)
    square = half**2
    mechanism.add_body(name, mass=mass, inertia=mass / solid * (square.sum() - square))
    mechanism.add_joint(name, "free", "world", name, parent_pose=position)
    mechanism.add_geom(name, name, kind, size, **geom)


def cube(half: float) -> np.ndarray:
    """Return the corners of a cube."""
    return half * np.array([[x, y, z] for x in (1, -1) for y in (1, -1) for z in (1, -1)], dtype=float)


def run(system, q, v=None, duration=0.3, dt=1e-3, **options):
    """Return a run by steps of a given length."""
    return sr.simulate(system, q, v, duration=duration, dt=dt, error_estimate=False, **options)
