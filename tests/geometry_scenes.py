"""Mechanisms of free bodies with one geometry each, for tests of contacts between geometries."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus.dynamics.contacts.contact_functions import border_functions
from sarrus.dynamics.contacts.contact_state import contact_row_state

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


def turned(place, rotation):
    """Return the coordinates of a free body."""
    return np.concatenate([place, rotation.as_quat(scalar_first=True)])


def check_places(system, rng):
    """Compare rates and biases of all contact places of two free bodies with differences of their gaps, also beyond
    their borders, at random poses; return how many were compared, and of how many.
    """
    step, compared, places, held = 1e-5, 0, 0, border_functions(system)[0]
    for _ in range(6):
        q, v = system.normalized(rng.normal(scale=0.4, size=14)), rng.normal(size=12)
        here = contact_row_state(system, q, v, 0.0)
        assert here.rows @ v == pytest.approx(here.rates, abs=1e-10)
        ends = [system.move(q, sign * step * v) for sign in (1.0, -1.0)]
        ahead, behind = (contact_row_state(system, end, v, 0.0) for end in ends)
        rates, bias = here.rates.reshape(-1, 3), here.bias.reshape(-1, 3)
        gaps = (held(system.pack(ends[0], v)) - held(system.pack(ends[1], v))) / (2 * step)
        turns = (ahead.rates - behind.rates).reshape(-1, 3) / (2 * step)
        tame = np.abs(bias).max(axis=1) < 1e3  # not the lines of parallel edges
        assert gaps[tame] == pytest.approx(rates[tame, 0], abs=1e-5)
        assert turns[tame] == pytest.approx(bias[tame], abs=1e-4 * (1.0 + np.abs(bias[tame]).max()))
        compared, places = compared + int(tame.sum()), places + len(tame)
    return compared, places
