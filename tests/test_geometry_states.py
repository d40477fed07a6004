"""Contacts between geometries without closed form at a state: rows, accelerations, statics, sensors, reactions."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from geometry_scenes import G, add_free, cube, run, scene
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
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
    q[-7:-4] = 0.6 * way / np.linalg.norm(way) if place is None else place  # outside
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
        (("ellipsoid", (0.2, 0.3, 0.1)), ("ellipsoid", (0.1, 0.2, 0.3)), {}, 1e-6),
        (("cylinder", (0.1, 0.4)), ("ellipsoid", (0.1, 0.2, 0.3)), {}, 1e-6),
        (("capsule", (0.1, 0.4)), ("cylinder", (0.2, 0.3)), {}, 1e-6),
    ],
)
def test_biases_are_second_derivatives_of_the_gap(base, geom, more, error):
    system, rng, h = free_on(base, geom, **more), np.random.default_rng(5), 1e-3
    find, count, errors = smallest(system), 0, []
    for _ in range(24):
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


# --- forward dynamics ------------------------------------------------------------------------------


def on_incline(geom, tilt, friction, height, turn=None, *, floor=False, **more):
    """Return a system with a geometry on a plane, or on a large box with its top at z = 0; gravity tilts along x."""
    mechanism = scene("incline", floor=floor, tilt=tilt)
    if not floor:
        mechanism.add_geom("ramp", "world", "box", (5.0, 5.0, 0.5), pose=(0.0, 0.0, -0.5))
    add_free(mechanism, "body", *geom, position=(0.0, 0.0, height), pose=turn, **more)
    mechanism.add_geometry_contacts(friction_coefficient=friction, closed_form=False)
    return sr.System(mechanism)


@pytest.mark.parametrize("geom", [("box", (0.1, 0.2, 0.05)), ("mesh", ())])
def test_a_crate_on_a_ramp_of_boxes(geom):
    tilt, more = 0.3, {"points": cube(0.05)} if geom[0] == "mesh" else {}
    for friction, sliding in ((0.5, False), (0.2, True)):
        system = on_incline(geom, tilt, friction, 0.05, **more)
        found = system.forward_dynamics(system.neutral(), np.zeros(6))
        truth = G * (np.sin(tilt) - friction * np.cos(tilt)) if sliding else 0.0
        assert found.a == pytest.approx(
            [truth, 0, 0, 0, 0, 0], abs=1e-8
        )  # corners of meshes have seven digits
        assert set(found.contacts.modes.values()) == {Mode.SLIDING if sliding else Mode.STICKING}
        assert found.contacts.residual < 1e-10
        assert not found.contacts.determined[::3].any()  # four corners share the weight


def test_a_cylinder_on_its_side_rolls_and_slides():
    tilt = 0.3
    system = on_incline(("cylinder", (0.1, 0.2)), tilt, 0.5, 0.1, ACROSS, floor=True)
    inertia = float(system.mass_matrix(system.neutral())[4, 4])
    for spin in (0.0, 3.0):  # it has the same acceleration while it rolls
        found = system.forward_dynamics(system.neutral(), [0.1 * spin, 0, 0, 0, spin, 0])
        truth = G * np.sin(tilt) / (1.0 + inertia / 0.1**2)
        assert found.a == pytest.approx([truth, 0, 0, 0, truth / 0.1, 0], abs=1e-10)
    system = on_incline(("cylinder", (0.1, 0.2)), tilt, 0.05, 0.1, ACROSS, floor=True)
    found = system.forward_dynamics(system.neutral(), np.zeros(6))
    push = 0.05 * G * np.cos(tilt)
    assert found.a == pytest.approx([G * np.sin(tilt) - push, 0, 0, 0, 0.1 * push / inertia, 0], abs=1e-10)
    assert {mode.name for mode in found.contacts.modes.values()} == {"SLIDING"}


def test_a_coin_that_rolls_on_its_rim_keeps_rolling():
    """Accelerations keep gap and slip at zero and the energy constant."""
    system = on_incline(("cylinder", (0.2, 0.02)), 0.0, 2.0, 0.0, floor=True)
    lean = 0.4
    half, q = 0.5 * (np.pi / 2 - lean), system.neutral()
    q[2] = 0.2 * np.cos(lean) + 0.02 * np.sin(lean)
    q[3:] = np.cos(half), np.sin(half), 0.0, 0.0
    (one,) = GeometryContacts(system, q, 0.0, 1e-6).points
    turn = system.body_placements(q)[1][-1]
    for rates in ((0.0, 7.0, -2.0), (1.5, -4.0, 3.0)):  # leaning over, about its axis, about the vertical
        spin = turn @ np.array([rates[0], 0.0, rates[1]]) + np.array([0.0, 0.0, rates[2]])
        v = np.concatenate([np.cross(spin, q[:3] - one.point), turn.T @ spin])
        found = system.forward_dynamics(q, v)
        assert found.contacts.modes == {one.name: Mode.STICKING}
        after, a = [], np.array(found.a)
        for h in (-1e-5, 1e-5):
            p, w = system.move(q, h * v + 0.5 * h * h * a), v + h * a
            there = GeometryContacts(system, p, 0.0, 1e-4)
            energy = system.kinetic_energy(p, w) + system.potential_energy(p)
            after.append(np.array([*there.motion(w)[0], energy, *there.gaps]))
        assert np.abs(after[1] - after[0]).max() / 2e-5 < 1e-6


def test_accelerations_are_those_of_short_steps():
    """A box that tips over the edge of another one, pulled, and a heap that is not symmetric."""
    mechanism = scene("heap")
    add_free(mechanism, "low", "box", (0.2, 0.2, 0.1), (0.0, 0.0, 0.1), mass=3.0)
    add_free(mechanism, "high", "box", (0.15, 0.1, 0.05), (0.1, 0.02, 0.25))
    add_free(mechanism, "roll", "cylinder", (0.05, 0.08), (0.12, 0.0, 0.35), pose=ACROSS)
    mechanism.add_geometry_contacts(friction_coefficient=0.4)
    system = sr.System(mechanism)
    q, v, tau = system.neutral(), np.zeros(18), np.zeros(18)
    tau[[6, 12]] = 2.5, 0.6
    found = system.forward_dynamics(q, v, tau=tau)
    assert found.contacts.residual < 1e-10
    motion = sr.simulate(
        system, q, v, duration=1e-3, dt=1e-4, force=lambda t, q, v: tau, error_estimate=False
    )
    assert motion.v[1] / 1e-4 == pytest.approx(np.array(found.a), abs=1e-6)


def test_what_a_state_cannot_be_is_said():
    system = on_incline(("box", (0.1, 0.1, 0.1)), 0.0, 0.5, 0.1)
    q = system.neutral()
    with pytest.raises(
        sr.SolveError, match=r"contact 'ramp-body.1' closes with a velocity of 0.1, which takes an imp"
    ):
        system.forward_dynamics(q, [0, 0, -0.1, 0, 0, 0])
    q[2] -= 1e-3
    with pytest.raises(sr.ArgumentError, match=r"geometries 'ramp-body.1' are 0.001 m in each other"):
        system.forward_dynamics(q, np.zeros(6))
    lifted = system.assemble(q, within_limits=True)
    assert lifted.q == pytest.approx(system.neutral(), abs=1e-10)
    q[2] += 0.5
    assert system.forward_dynamics(q, np.zeros(6)).contacts is None


# --- statics ---------------------------------------------------------------------------------------


def test_equilibria_of_boxes_and_cylinders():
    tilt = 0.3
    system = on_incline(("box", (0.1, 0.1, 0.1)), tilt, 0.5, 0.1)
    rest = sr.equilibrium(system, system.neutral())
    assert rest.contacts.friction_needed == pytest.approx(np.tan(tilt) / 0.5, rel=1e-8)
    assert rest.stable
    slippery = on_incline(("box", (0.1, 0.1, 0.1)), tilt, 0.2, 0.1)
    held = slippery.inverse_dynamics(slippery.neutral(), np.zeros(6), np.zeros(6), throw=False)
    assert held.status is sr.Status.INFEASIBLE
    assert "friction coefficients of 0.309" in held.contacts.reason
    # a box that leans on an edge falls on its face; a cylinder on its side may roll
    system = on_incline(("box", (0.1, 0.1, 0.1)), 0.0, 0.5, 0.2)
    q = system.neutral()
    q[3:] = np.cos(0.15), np.sin(0.15), 0.0, 0.0
    rest = sr.equilibrium(system, q)
    assert rest.q[2] == pytest.approx(0.1, abs=1e-12)
    assert rest.q[3:] == pytest.approx([1, 0, 0, 0], abs=1e-9)
    system = on_incline(("cylinder", (0.1, 0.2)), 0.0, 0.5, 0.12, ACROSS, floor=True)
    rest = sr.equilibrium(system, system.neutral())
    assert rest.q[2] == pytest.approx(0.1, abs=1e-12)
    assert rest.neutral == 1


def test_curvature_decides_whether_an_ellipsoid_stands():
    """On a round base of radius R an ellipsoid of radius of curvature r at its end rocks back if h < r R / (r + R)."""
    for height, stable in ((0.1, True), (0.2, False)):  # r = 0.15² / height, R = 1
        mechanism = scene("rocking", floor=False)
        mechanism.add_geom("base", "world", "sphere", (1.0,), pose=(0.0, 0.0, -1.0))
        add_free(mechanism, "egg", "ellipsoid", (0.15, 0.15, height), (0.0, 0.0, height))
        mechanism.add_geometry_contacts(friction_coefficient=2.0)
        system = sr.System(mechanism)
        rest = sr.equilibrium(system, system.neutral())
        radius = 0.15**2 / height
        assert stable == (height < radius / (radius + 1.0))
        truth = G * (radius / (radius + 1.0) - height) / (1.0 + height**2)  # of a motion of unit length
        assert sorted(rest.eigenvalues)[-1 if stable else 0] == pytest.approx(truth, rel=1e-4)


def test_form_closure_in_a_box_of_boxes():
    mechanism = scene("cavity", floor=False)
    add_free(mechanism, "part", "box", (0.1, 0.2, 0.3))
    for axis, half in enumerate((0.1, 0.2, 0.3)):
        for side in (-1, 1):
            size, place = np.full(3, 0.5), np.zeros(3)
            size[axis], place[axis] = 0.05, side * (half + 0.05)
            mechanism.add_geom(f"wall{axis}{side}", "world", "box", size, pose=place)
    mechanism.add_geometry_contacts(friction_coefficient=0.0)
    system = sr.System(mechanism)
    found = sr.mobility(system, system.neutral()).contacts
    assert found.form_closure
    assert len(found.closed) == 24
    assert {name.rpartition(".")[0] for name in found.locked} == set(system.contact_geometries)


# --- forces in joints ------------------------------------------------------------------------------


def scale_and_load(closed_form, load=("sphere", (0.05,))):
    """Return a table on a hinge with a force sensor and a spring, and a load that lies on it."""
    mechanism = scene("table", floor=False)
    mechanism.add_body("table", mass=2.0, inertia=(0.1, 0.1, 0.1), com=(0.3, 0.0, 0.0))
    mechanism.add_joint("hinge", "revolute", "world", "table", axis=(0.0, 1.0, 0.0), stiffness=20.0)
    mechanism.add_geom("top", "table", "box", (0.5, 0.2, 0.02), pose=(0.0, 0.0, 0.0))
    mechanism.add_sensor("force", "force", "table")
    mechanism.add_sensor("torque", "torque", "table")
    height = 0.02 + load[1][-1]
    add_free(mechanism, "load", *load, position=(0.2, 0.05, height), mass=3.0)
    mechanism.add_geometry_contacts(friction_coefficient=0.5, closed_form=closed_form)
    return sr.System(mechanism)


def test_sensors_and_reactions_contain_the_forces_of_contacts():
    closed, other = scale_and_load(True), scale_and_load(False)
    assert other.contact_geometries == ("top-load",)
    q, rng = other.neutral(), np.random.default_rng(1)
    for _ in range(3):
        turn = rng.normal(size=3)  # the ball spins on its place of contact, or rolls
        v = np.concatenate([[0.3], np.zeros(6)])
        v[4:] = turn
        v[1:4] = np.cross([0.0, 0.3, 0.0], q[1:4] - [0, 0, 0.05]) + np.cross(turn, [0.0, 0.0, 0.05])
        readings = [np.concatenate(list(system.sensors(q, v).values())) for system in (closed, other)]
        assert readings[0] == pytest.approx(readings[1], abs=1e-9)
        found = [sr.reactions(system, q, v)["hinge"] for system in (closed, other)]
        assert found[0].force == pytest.approx(found[1].force, abs=1e-9)
        assert found[0].couple == pytest.approx(found[1].couple, abs=1e-9)
        assert readings[1] == pytest.approx([*found[1].force, *found[1].couple], abs=1e-9)
        assert (found[0].determined == found[1].determined).all()


def test_reactions_along_a_run_are_those_of_its_states():
    system = scale_and_load(False, ("box", (0.05, 0.05, 0.05)))
    q = system.neutral()
    still = sr.reactions(system, q)
    assert still["hinge"].determined.all()  # however the corners share the load
    # the hinge carries the mass of both times acceleration and gravity
    a = np.array(system.forward_dynamics(q, np.zeros(7)).a)
    needed = 2.0 * (np.array([0.0, 0.0, G]) + np.cross([0.0, a[0], 0.0], [0.3, 0.0, 0.0]))
    needed += 3.0 * (np.array([0.0, 0.0, G]) + a[1:4])
    assert still["hinge"].force == pytest.approx(needed, abs=1e-9)
    motion = run(system, q, duration=2e-3, dt=1e-4)
    along = sr.reactions_along(motion, frame="table")  # in axes of the sensor
    assert along.force[1, along.names.index("hinge")] == pytest.approx(still["hinge"].force, abs=2e-3)
    assert motion.sensors["force"][1] == pytest.approx(along.force[1, along.names.index("hinge")], abs=1e-9)
    assert not along.left_out.any()


def test_the_log_has_forces_on_the_second_geometry_of_the_pair():
    """Also where MuJoCo has the pair the other way round, and beside contacts in closed form."""
    mechanism = scene("two", floor=False)
    add_free(mechanism, "box", "box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.1))
    add_free(mechanism, "ball", "sphere", (0.1,), (1.0, 0.0, 0.1))
    mechanism.add_geom("floor", "world", "plane")
    mechanism.add_geometry_contacts("box", friction_coefficient=0.5, closed_form=False)
    mechanism.add_geometry_contacts("ball", ["floor"], friction_coefficient=0.5, closed_form=True)
    system = sr.System(mechanism)
    motion = run(system, system.neutral(), duration=5e-3)
    forces = motion.geometry_forces(-1)
    assert forces["box-floor"] == pytest.approx([0.0, 0.0, -G], abs=1e-9)
    assert forces["ball-floor"] == pytest.approx([0.0, 0.0, -G], abs=1e-9)
