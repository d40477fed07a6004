"""Lines and flat feet as groups of contacts: shares of the load, wrenches, centres of pressure, rocking."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import sarrus as sr
from mechanisms import placements, random_coordinates, random_pose, random_tree, rotation_about, unit
from sarrus.base.errors import ArgumentError, ModelError
from sarrus.dynamics.impacts import activity

MASS, GRAVITY = 2.0, 9.81
LONG, WIDE, TALL = 0.12, 0.05, 0.04  # half sizes of the foot, height of its frame above the ground


def box(com: tuple[float, float, float] = (0, 0, 0), **patch: object) -> sr.Mechanism:
    """Return a free box that rests on a patch, with its frame at the middle and its mass at ``com``."""
    mechanism = sr.Mechanism("box")
    mechanism.add_body("box", MASS, com, inertia=(0.004, 0.006, 0.008))
    mechanism.add_joint("box", "free", "world", "box", parent_pose=(0, 0, TALL))
    options = {"extent": (LONG, WIDE), "friction_coefficient": 0.6, "active": True} | patch
    mechanism.add_contact_patch("foot", "box", (0, 0, -TALL), **options)
    return mechanism


# --- the record, and the contacts -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_contacts_are_at_the_corners_in_order_around_the_patch(seed):
    rng = np.random.default_rng(seed)
    mechanism, pose, normal = sr.Mechanism("foot"), random_pose(rng), unit(rng)
    mechanism.add_body("foot", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("foot", "free", "world", "foot")
    patch = mechanism.add_contact_patch(
        "sole", "foot", pose, extent=(0.1, 0.04), normal=normal, offset=0.3, restitution=0.2
    )
    assert mechanism.patches == {"sole": patch}
    assert patch.contacts == tuple(mechanism.contacts) == ("sole.1", "sole.2", "sole.3", "sole.4")
    assert (patch.body, patch.ground, patch.half_sizes) == ("foot", "world", (0.1, 0.04))
    np.testing.assert_allclose(np.cross(patch.normal, patch.along), patch.across, atol=1e-14)
    corners = np.array([mechanism.contacts[name].point for name in patch.contacts])
    offsets = (corners - patch.centre) @ np.column_stack([patch.along, patch.across, patch.normal])
    np.testing.assert_allclose(
        offsets, [[0.1, 0.04, 0], [-0.1, 0.04, 0], [-0.1, -0.04, 0], [0.1, -0.04, 0]], atol=1e-14
    )
    for contact in mechanism.contacts.values():
        np.testing.assert_allclose(contact.normal, normal, atol=1e-14)
        assert (contact.restitution, contact.friction_coefficient) == (0.2, None)


def test_a_line_has_a_contact_at_each_end():
    mechanism = box(extent=LONG, friction="frictionless", friction_coefficient=None)
    assert mechanism.patches["foot"].half_sizes == (LONG,)
    assert mechanism.patches["foot"].contacts == ("foot.1", "foot.2")
    points = [contact.point for contact in mechanism.contacts.values()]
    np.testing.assert_array_equal(points, [[LONG, 0, -TALL], [-LONG, 0, -TALL]])
    assert [contact.row_names for contact in mechanism.contacts.values()] == [("foot.1.n",), ("foot.2.n",)]


# --- statics -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("com", [(0, 0, 0), (0.03, 0, 0.2), (-0.05, 0.02, 0.1), (LONG, -WIDE, 0.3)])
def test_a_resting_box_shares_its_weight_by_the_minimum_norm(com):
    system = sr.System(box(com))
    answer = system.forward_dynamics(system.neutral(), np.zeros(6))
    assert (answer.rank, answer.status) == (6, sr.Status.OK)
    np.testing.assert_allclose(answer.a, 0.0, atol=1e-12)
    weight = MASS * GRAVITY
    corners = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    # Min ‖n‖ with Σn, Σnx, Σny given is affine in the place of the corner.
    expected = weight / 4 * (1 + corners @ np.divide(com[:2], (LONG, WIDE)))
    rows = answer.multipliers.reshape(4, 3)
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rows[:, 1:], 0.0, atol=1e-11)
    wrench = sr.contact_wrench(system, system.neutral(), answer.multipliers, "foot")
    np.testing.assert_allclose(wrench.force, [weight, 0, 0], atol=1e-11)
    np.testing.assert_allclose(wrench.moment, [0, weight * com[1], -weight * com[0]], atol=1e-11)
    np.testing.assert_allclose(wrench.centre_of_pressure, com[:2], atol=1e-12)


def test_which_corner_carries_what_is_reported_as_undetermined():
    system = sr.System(box((0.02, 0.01, 0.1)))
    answer = system.forward_dynamics(system.neutral(), np.zeros(6))
    assert not answer.determined.any()
    assert answer.redundant == tuple(system.constraint_names)
    assert sr.mobility(system, system.neutral()).dof == 0
    # Of a line the normal forces are determined, and of the friction only what is across it.
    line = sr.System(box(extent=LONG))
    answer = line.forward_dynamics(line.neutral(), np.zeros(6))
    assert answer.rank == 5
    assert answer.redundant == ("foot.1.t1", "foot.2.t1")


def test_friction_and_torsion_of_an_accelerated_box():
    system = sr.System(box((0.02, 0.01, 0.03)))
    q, push = system.neutral(), np.array([3.0, -2.0, 1.0, 0.1, 0.2, 0.4])
    answer = system.forward_dynamics(q, np.zeros(6), tau=push)
    wrench = sr.contact_wrench(system, q, answer.multipliers, "foot")
    # The box stays, so the wrench balances weight and push: forces along x, y, moments about the patch's centre.
    weight = MASS * GRAVITY
    np.testing.assert_allclose(wrench.force, [weight - push[2], -push[0], -push[1]], atol=1e-11)
    moment = (
        -push[3:] - np.cross((0.02, 0.01, 0.03 + TALL), (0, 0, -weight)) - np.cross((0, 0, TALL), push[:3])
    )
    np.testing.assert_allclose(wrench.moment, moment[[2, 0, 1]], atol=1e-11)
    x, y = wrench.centre_of_pressure
    np.testing.assert_allclose([y, -x], wrench.moment[1:] / wrench.force[0], atol=1e-12)


# --- wrenches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_wrench_does_the_work_of_the_multipliers(seed):
    plan = random_tree(seed, ("free", "revolute", "spherical", "free", "universal"))
    q = random_coordinates(plan)
    ground, half = ("b3", "world")[seed % 2], ((0.1, 0.3), (0.2,))[seed // 2]
    patch = plan.mechanism.add_contact_patch(
        "sole", "b2", random_pose(plan.rng), extent=half if len(half) > 1 else half[0], normal=unit(plan.rng),
        ground=ground, offset=0.2, active=True,
    )  # fmt: skip
    system = sr.System(plan.mechanism)
    given = plan.rng.standard_normal(system.nc)
    wrench = sr.contact_wrench(system, q, given, "sole")
    frames, contact = placements(plan, q), plan.mechanism.contacts["sole.1"]
    axes = (frames[ground].rotation @ np.column_stack([contact.normal, contact.tangent1, contact.tangent2])).T
    # Virtual power: of the centre and the turn of the body, minus those of the ground's point that is there.
    centre = frames["b2"].apply(patch.centre)
    force, moment = axes.T @ wrench.force, axes.T @ wrench.moment
    power = system.constraint_jacobian(q).T @ given
    for k, rate in enumerate(np.eye(system.nv)):
        step = 1e-6
        ahead, behind = (placements(plan, system.move(q, s * step * rate)) for s in (1, -1))
        total = 0.0
        for body, sign in (("b2", 1.0), (ground, -1.0)):
            there = frames[body].inverse().apply(centre)
            way = (ahead[body].apply(there) - behind[body].apply(there)) / (2 * step)
            turn = (ahead[body].rotation - behind[body].rotation) @ frames[body].rotation.T / (2 * step)
            spin = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
            total += sign * (force @ way + moment @ spin)
        assert total == pytest.approx(power[k], abs=1e-7)


def test_the_centre_of_pressure_is_along_the_tangents_of_the_ground_whatever_the_foot_does():
    com = (0.03, 0.02, 0.1)
    mechanism = box(com, active=False)
    system = sr.System(mechanism)
    yaw = 0.7
    q = np.array([0.4, -0.3, TALL, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
    activity.switch_on(system, mechanism.patches["foot"].contacts, q)
    answer = system.forward_dynamics(q, np.zeros(6))
    wrench = sr.contact_wrench(system, q, answer.multipliers, "foot")
    turned = rotation_about((0, 0, 1), yaw) @ com
    np.testing.assert_allclose(wrench.centre_of_pressure, turned[:2], atol=1e-12)


def test_a_patch_without_load_has_no_centre_of_pressure():
    system = sr.System(box())
    for nothing in (np.zeros(12), np.tile([0.0, 1.0, 2.0], 4), np.tile([1e-12, 1.0, 2.0], 4)):
        wrench = sr.contact_wrench(system, system.neutral(), nothing, "foot")
        assert wrench.centre_of_pressure is None
        np.testing.assert_allclose(wrench.force[1:], 4 * nothing[1:3])


def test_the_impulse_of_a_landing_is_a_wrench_too():
    system = sr.System(box((0.02, 0.01, 0.0), active=False))
    v = np.array([0.3, -0.2, -1.0, 0.0, 0.0, 0.0])
    jump = sr.impact(system, system.neutral(), v, closing=system.mechanism.patches["foot"].contacts)
    wrench = sr.contact_wrench(system, system.neutral(), jump.impulse, "foot")
    np.testing.assert_allclose(wrench.force, MASS * np.array([1.0, -0.3, 0.2]), atol=1e-12)
    np.testing.assert_allclose(jump.v, 0.0, atol=1e-12)


def test_parameters_move_the_corners_and_the_centre_with_them():
    system = sr.System(box((0.05, 0, 0)), parameters={"toe": ["foot.1.point.x", "foot.4.point.x"]})
    system.parameters["toe"] = LONG + 0.1
    answer = system.forward_dynamics(system.neutral(), np.zeros(6))
    wrench = sr.contact_wrench(system, system.neutral(), answer.multipliers, "foot")
    np.testing.assert_allclose(
        wrench.centre_of_pressure, (0.0, 0.0), atol=1e-12
    )  # the mass is over the new centre


# --- motion --------------------------------------------------------------------------------------------


def test_a_line_rocks_about_itself_as_a_pendulum():
    system = sr.System(box(extent=LONG))
    assert system.forward_dynamics(system.neutral(), np.zeros(6)).dof == 1
    tilt = 0.1
    q = np.array([0, 0, 0, np.cos(tilt / 2), np.sin(tilt / 2), 0, 0])
    q[:3] = rotation_about((1, 0, 0), tilt) @ (0, 0, TALL)
    run = sr.simulate(system, q, duration=0.3, dt=1e-3)
    assert not run.switches[0].slipping
    about_line = 0.004 + MASS * TALL**2
    angle = 2 * np.arctan2(run.q[:, 4], run.q[:, 3])
    rate = np.sqrt(2 * MASS * GRAVITY * TALL * (np.cos(tilt) - np.cos(angle)) / about_line)
    np.testing.assert_allclose(run.v[:, 3], rate, atol=1e-6)
    assert angle[-1] > 2 * tilt
    wrench = sr.contact_wrench(system, run.q[-1], run.multipliers[-1], "foot")
    np.testing.assert_allclose(wrench.centre_of_pressure, 0.0, atol=1e-12)
    np.testing.assert_allclose(wrench.moment, 0.0, atol=1e-10)


def test_a_foot_tips_over_its_edge_when_the_mass_is_beyond_it():
    system = sr.System(box((LONG + 0.03, 0.01, 0), active=False))
    run = sr.simulate(system, system.neutral(), duration=0.1, dt=1e-3)
    assert run.switches[0].closed == ("foot.1", "foot.4")
    wrench = sr.contact_wrench(system, run.q[-1], run.multipliers[-1], "foot")
    tilt = 2 * np.arctan2(run.q[-1, 5], run.q[-1, 3])
    assert tilt > 0.01
    assert wrench.centre_of_pressure[0] == pytest.approx(LONG * np.cos(tilt), abs=1e-10)
    assert abs(wrench.centre_of_pressure[1]) < WIDE


# --- names, copies, errors -----------------------------------------------------------------------------


def test_copies_keep_their_patches():
    mechanism = box()
    system = sr.System(mechanism)
    mechanism.add_contact_patch("more", "box", extent=0.1)
    for copied in (system, copy.deepcopy(system), pickle.loads(pickle.dumps(system))):
        assert tuple(copied.mechanism.patches) == ("foot",)
    assert tuple(mechanism.snapshot().patches) == ("foot", "more")


def test_names_are_unique_with_all_constraints():
    mechanism = box()
    for add in (
        lambda: mechanism.add_contact("foot", "box"),
        lambda: mechanism.add_closure("foot", "point", "world", "box"),
        lambda: mechanism.add_contact_patch("foot", "box", extent=0.1),
        lambda: mechanism.add_contact_patch("foot.1", "box", extent=0.1),
    ):
        with pytest.raises(ModelError, match=r"'foot.*': the name is already taken"):
            add()
    mechanism.add_closure("heel.2", "point", "world", "box")
    with pytest.raises(ModelError, match=r"contact 'heel.2': the name is already taken"):
        mechanism.add_contact_patch("heel", "box", extent=0.1)
    assert "heel" not in mechanism.patches
    assert "heel.1" not in mechanism.contacts


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"body": "hand"}, "contact patch 'p': unknown body 'hand'"),
        ({"ground": "box"}, "contact patch 'p': needs two different bodies, got 'box' twice"),
        ({"extent": None}, "contact patch 'p': extent: give a half length, or two half sizes"),
        ({"extent": 0.0}, "contact patch 'p': extent must be a positive half length"),
        ({"extent": (0.1, 0.2, 0.3)}, "contact patch 'p': extent must be a positive half length"),
        ({"extent": (0.1, np.nan)}, "contact patch 'p': extent must be finite"),
        ({"extent": "wide"}, "contact patch 'p': extent must be a number"),
        ({"pose": (1, 2)}, "contact patch 'p': pose must be 3 numbers"),
        ({"friction": "rough"}, "contact patch 'p': unknown friction 'rough'"),
        ({"friction_coefficient": -1}, "contact patch 'p': friction_coefficient must not be negative"),
        ({"body": None}, "contact patch 'p': give one of body, site and geom, got none"),
        ({"site": "sole"}, "contact patch 'p': give one of body, site and geom, got body and site"),
    ],
)
def test_a_wrong_patch_is_one_clear_error(wrong, sentence):
    mechanism = box()
    with pytest.raises(ModelError, match=sentence) as caught:
        mechanism.add_contact_patch("p", **({"body": "box", "extent": 0.1} | wrong))
    assert caught.value.element
    assert tuple(mechanism.patches) == ("foot",)
    assert len(mechanism.contacts) == 4


def test_a_wrench_needs_a_patch_and_a_multiplier_for_every_row():
    system = sr.System(box())
    with pytest.raises(ArgumentError, match=r"unknown contact patch 'feet'. Known: 'foot'"):
        sr.contact_wrench(system, system.neutral(), np.zeros(12), "feet")
    with pytest.raises(ArgumentError, match=r"multipliers must have 12 entries \(foot.1.n, "):
        sr.contact_wrench(system, system.neutral(), np.zeros(3), "foot")
