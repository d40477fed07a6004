"""Contacts between geometries without closed form at a state: rows, accelerations, statics, sensors, reactions."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import G, add_free, cube, run, scene
from sarrus.dynamics.contacts.contact_state import Mode, contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.geometry_state import GeometryContacts

ACROSS = sr.Pose.of(quaternion=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0))  # turns z to −y


def free_on(base, geom, *, closed_form=False, joint=(1.0, 2.0, 0.5), **more):
    """Return a system with a free geometry, and a base on a hinge, or a plane for base None."""
    mechanism = scene("pair", floor=base is None)
    if base is not None:
        mechanism.add_body("carrier", mass=1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint("hinge", "revolute", "world", "carrier", axis=joint)
        mechanism.add_geom("base", "carrier", *base, condim=6)
    add_free(mechanism, "body", *geom, condim=6, friction=0.5, torsion=0.02, rolling=0.01, **more)
    mechanism.add_geometry_contacts(closed_form=closed_form)
    return sr.System(mechanism)


def posed(system, rng, place=None):
    """Return a random pose of the last free body, and a velocity."""
    q, turn = system.neutral(), rng.normal(size=4)
    q[:-7] = rng.normal(size=len(q) - 7)
    way = rng.normal(size=3)
    q[-7:-4] = way / np.linalg.norm(way) if place is None else place  # outside
    q[-4:] = turn / np.linalg.norm(turn)
    return q, rng.normal(size=system.nv)


def brought_together(system, q, find):
    """Return q with the last body moved along the normal until the smallest gap is zero; ``find`` has gap and row."""
    for _ in range(80):
        gap, row = find(q)
        if abs(gap) < 1e-13:
            break
        q = q.copy()
        q[-7:-4] -= row[-6:-3] * gap
    return q


def smallest(system, within=2.0):
    """Return the function of q for the smallest gap of a narrow phase and the row of its rate."""

    def find(q):
        found = GeometryContacts(system, q, 0.0, within)
        one = min(found.points, key=lambda point: point.gap)
        return one.gap, found.rows[one.rows.start]

    return find


# --- rows and biases -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "geom"),
    [
        (None, ("capsule", (0.1, 0.2))),
        (None, ("box", (0.1, 0.2, 0.3))),
        (None, ("ellipsoid", (0.1, 0.2, 0.3))),
        (("capsule", (0.2, 0.3)), ("capsule", (0.1, 0.3))),
        (("box", (0.2, 0.3, 0.1)), ("sphere", (0.1,))),
        (("cylinder", (0.2, 0.3)), ("sphere", (0.1,))),
    ],
)
def test_rows_and_biases_are_those_of_the_closed_form(base, geom):
    closed, other = (free_on(base, geom, closed_form=which) for which in (True, False))
    rng, gaps, motion = np.random.default_rng(3), contact_gaps(closed), contact_motion_function(closed)
    starts = np.cumsum([0, *(len(contact.row_names) for contact in closed.equations.friction_contacts)])

    def find(q):
        x = closed.pack(q)
        k = int(np.argmin(gaps(x)))
        return gaps(x)[k], motion.evaluate(x)["rows"][starts[k]]

    for _ in range(12):
        q, v = posed(closed, rng)
        q = brought_together(closed, q, find)
        x = closed.pack(q, v)
        row = starts[int(np.argmin(gaps(x)))]
        truth, found = motion.evaluate(x), GeometryContacts(other, q, 0.0, 1e-6)
        one = next(point for point in found.points if abs(point.gap) < 1e-10)
        rates, bias = found.motion(v)
        np.testing.assert_allclose(found.rows[one.rows] @ v, rates[one.rows], atol=1e-12)
        assert rates[one.rows.start] == pytest.approx(truth["rates"][row, 0], abs=1e-12)
        assert bias[one.rows.start] == pytest.approx(truth["bias"][row, 0], abs=1e-11)
        # tangents may differ: compare what does not depend on them
        slips = [np.linalg.norm(part[1:3]) for part in (rates[one.rows], truth["rates"][row : row + 6, 0])]
        rolls = [np.linalg.norm(part[4:6]) for part in (bias[one.rows], truth["bias"][row : row + 6, 0])]
        assert slips[0] == pytest.approx(slips[1], abs=1e-11)
        assert bias[one.rows][3] == pytest.approx(truth["bias"][row + 3, 0], abs=1e-11)
        assert rolls[0] == pytest.approx(rolls[1], rel=1e-6) or base is not None


@pytest.mark.parametrize(
    ("base", "geom", "more", "error"),
    [
        (None, ("cylinder", (0.2, 0.1)), {}, 1e-6),  # its rim
        (("box", (0.2, 0.3, 0.1)), ("box", (0.1, 0.2, 0.3)), {}, 1e-6),  # corners and edges
        (("box", (0.2, 0.3, 0.1)), ("mesh", ()), {"points": cube(0.15) * [1.0, 1.5, 0.7]}, 1e-6),
        (("capsule", (0.1, 0.4)), ("box", (0.2, 0.3, 0.1)), {}, 1e-6),
        # MuJoCo's normals of these are right to 1e-5
        (("ellipsoid", (0.2, 0.3, 0.1)), ("ellipsoid", (0.1, 0.2, 0.3)), {}, 1e-4),
        (("cylinder", (0.1, 0.4)), ("ellipsoid", (0.1, 0.2, 0.3)), {}, 1e-4),
        (("capsule", (0.1, 0.4)), ("cylinder", (0.2, 0.3)), {}, 1e-4),
    ],
)
def test_biases_are_second_derivatives_of_the_gap(base, geom, more, error):
    system, rng, h = free_on(base, geom, **more), np.random.default_rng(5), 1e-3
    find, count, errors = smallest(system), 0, []
    for _ in range(12):
        q, v = posed(system, rng, (0.0, 0.0, 0.5) if base is None else None)
        q = brought_together(system, q, find)
        found = GeometryContacts(system, q, 0.0, 1e-6)
        if len(found.points) != 1:
            continue
        rates, bias = found.motion(v)
        gaps = {k: find(system.move(q, k * h * v))[0] for k in (-2, -1, 0, 1, 2)}
        first = (gaps[-2] - 8 * gaps[-1] + 8 * gaps[1] - gaps[2]) / (12 * h)
        second = (-gaps[-2] + 16 * gaps[-1] - 30 * gaps[0] + 16 * gaps[1] - gaps[2]) / (12 * h * h)
        if abs(gaps[1] - 2 * gaps[0] + gaps[-1] - h * h * second) > 1e-3 * h * h * (1 + abs(second)):
            continue  # another feature within the differences
        count += 1
        errors.append((abs(first - rates[0]), abs(second - bias[0]) / (1.0 + abs(second))))
    assert count >= 4
    assert np.max(errors) < error
