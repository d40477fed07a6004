"""Contacts of ellipsoids, cylinders, capsules, balls and boxes against pairs that touch by construction, and against
the largest separation over dense directions."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import add_free, scene
from sarrus.dynamics.contacts.geometry_arrays import GeometryArrays
from support_pairs import largest_separation, random_size, separation, touching

PAIRS = [
    ("ellipsoid", "cylinder"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "box"),
    ("ellipsoid", "capsule"),
    ("sphere", "ellipsoid"),
    ("cylinder", "cylinder"),
    ("capsule", "cylinder"),
    ("cylinder", "box"),
]


def pair_of(kinds, rng):
    """Return sizes, system and arrays of two free bodies."""
    sizes = [random_size(rng, kind) for kind in kinds]
    mechanism = scene("pair", floor=False)
    for name, kind, size in zip("ab", kinds, sizes):
        add_free(mechanism, name, kind, size)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
    system = sr.System(mechanism)
    return sizes, system, GeometryArrays(system)


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def pair(request):
    return request.param, *pair_of(request.param, np.random.default_rng(7))


def contact(system, arrays, q):
    """Return gap, normal from the first body to the second, and point of the deepest contact."""
    found = arrays.look(system.pack(q, np.zeros(12)), 0.01)
    one = min(found, key=lambda each: each.gap)
    sign = -1.0 if arrays.reversed_pairs[0] else 1.0
    return one.gap, sign * np.array([one.nx, one.ny, one.nz]), np.array([one.x, one.y, one.z])


@pytest.mark.parametrize("gap", [1e-3, 1e-6, -1e-6])
def test_gap_normal_and_point_are_those_of_the_construction(pair, gap):
    kinds, sizes, system, arrays = pair
    rng, count = np.random.default_rng(11), 0
    for _ in range(60):
        q, n, point, straight = touching(rng, kinds, sizes, gap)
        if straight > 1:  # a line on a face: more than one point
            continue
        found = contact(system, arrays, q)
        assert found[0] == pytest.approx(gap, abs=1e-13)
        assert found[1] == pytest.approx(n, abs=2e-9)
        assert found[2] == pytest.approx(point, abs=1e-10)
        count += 1
    assert count > 20


@pytest.mark.parametrize("gap", [-1e-3, -3e-2])
def test_overlaps_are_the_least_ones(pair, gap):
    kinds, sizes, system, arrays = pair
    rng = np.random.default_rng(13)
    for k in range(30):
        q, *_, straight = touching(rng, kinds, sizes, gap)
        if straight > 1:
            continue
        own, n, _ = contact(system, arrays, q)
        assert own == pytest.approx(separation(kinds, sizes, q, n[None])[0], abs=1e-12)
        assert own >= gap - 1e-12
        if k < 4:
            assert own >= largest_separation(kinds, sizes, q, 1500, 3) - 1e-12
