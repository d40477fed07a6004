"""The narrow phase of two boxes against MuJoCo's: depths, normals and points, of random pairs and of faces that lie."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sarrus as sr
from geometry_scenes import add_free, scene
from sarrus.dynamics.contacts import narrow_phase
from sarrus.dynamics.contacts.geometry_arrays import GeometryArrays

BOX = int(narrow_phase.mujoco.mjtGeom.mjGEOM_BOX)
FOUND = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 2, ctypes.c_double)


class Pair:
    """Two free boxes with the narrow phases of both programs."""

    def __init__(self, sizes):
        mechanism = scene("pair", floor=False)
        for name, size in zip("ab", sizes):
            add_free(mechanism, name, "box", size)
        mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=False)
        self.system = sr.System(mechanism)
        self.arrays = GeometryArrays(self.system)
        self.room = np.zeros(narrow_phase.MOST_CONTACTS * narrow_phase.contact_stride())
        own, _ = narrow_phase._table()
        self.peer = FOUND(own[BOX * (narrow_phase._KINDS + 1)])

    def look(self, q, within):
        """Return gap, point and normal of each contact, (n, 7), by this program and by MuJoCo."""
        seen = self.arrays.look(self.system.pack(q, np.zeros(12)), within)
        own = [[p.gap, p.x, p.y, p.z, p.nx, p.ny, p.nz] for p in seen]
        model, data = self.arrays.model._address, self.arrays.data._address
        count = self.peer(model, data, self.room.ctypes.data, 0, 1, within)
        theirs = self.room.reshape(-1, narrow_phase.contact_stride())[:count, :7]
        return np.array(own).reshape(-1, 7), theirs.copy()


def poses(place, turns):
    return np.concatenate(
        [np.zeros(3), turns[0].as_quat(scalar_first=True), place, turns[1].as_quat(scalar_first=True)]
    )


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(1)
    return Pair(rng.uniform(0.05, 0.3, (2, 3)))


def test_depths_and_normals_of_random_pairs(pair):
    """Where the normals differ, that with the smaller overlap is right: it is the largest separation of all axes."""
    rng, same, shallower = np.random.default_rng(2), 0, 0
    for seed in range(400):
        turns = Rotation.random(2, random_state=seed)
        own, theirs = pair.look(poses(rng.normal(scale=0.17, size=3), turns), 0.0)
        assert bool(len(own)) == bool(len(theirs))
        if len(own) == 0:
            continue
        one, other = own[np.argmin(own[:, 0])], theirs[np.argmin(theirs[:, 0])]
        if one[4:] @ other[4:] > 1.0 - 1e-9:
            assert one[0] == pytest.approx(other[0], abs=1e-14)
            assert one[4:] == pytest.approx(other[4:], abs=1e-13)
            same += 1
        else:
            assert one[0] > other[0]
            shallower += 1
    assert same > 200
    assert shallower < 0.2 * same


def test_points_of_boxes_that_overlap_little(pair):
    rng, compared = np.random.default_rng(3), 0
    for seed in range(100):
        turns, way = Rotation.random(2, random_state=seed), rng.normal(size=3)
        way /= np.linalg.norm(way)
        near, far = 0.0, 1.2
        for _ in range(26):
            middle = 0.5 * (near + far)
            own, _ = pair.look(poses(middle * way, turns), 0.0)
            near, far = (middle, far) if own[:, 0].min(initial=0.0) < -1e-3 else (near, middle)
        own, theirs = pair.look(poses(near * way, turns), 0.0)
        if own[0, 4:] @ theirs[0, 4:] < 1.0 - 1e-9:
            continue
        assert len(own) == len(theirs)
        away = np.linalg.norm(own[:, None, 1:4] - theirs[None, :, 1:4], axis=2).min(axis=1)
        assert away.max() < 1e-12
        compared += 1
    assert compared > 95


@pytest.mark.parametrize("yaw", [0.0, 1e-9, 1e-3, 0.4, np.pi / 4])
@pytest.mark.parametrize("gap", [-1e-9, 1e-12, 1e-3])
def test_faces_that_lie_on_each_other_touch_at_the_corners_of_their_overlap(yaw, gap):
    flat = Pair(([0.2, 0.15, 0.1], [0.1, 0.12, 0.05]))
    turns = [Rotation.identity(), Rotation.from_euler("z", yaw)]
    own, _ = flat.look(poses([0.15, 0.02, 0.15 + gap], turns), 2e-3)
    assert own[:, 0] == pytest.approx(np.full(len(own), gap), abs=1e-15)
    assert own[:, 4:] == pytest.approx(np.tile([0.0, 0.0, 1.0], (len(own), 1)), abs=1e-12)
    corners = turns[1].apply([[x, y, 0.0] for x in (0.1, -0.1) for y in (0.12, -0.12)])[:, :2] + [0.15, 0.02]
    inside = corners[(np.abs(corners) <= [0.2, 0.15]).all(axis=1)]
    away = np.linalg.norm(own[:, None, 1:3] - inside[None], axis=2).min(axis=0)
    assert away.max(initial=0.0) < 1e-12
    assert (np.abs(own[:, 1:3]) <= np.array([0.2, 0.15]) + 1e-12).all()
    assert len(own) >= 4
