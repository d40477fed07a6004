"""Constraints that come and go: contacts, closures and couplings that are switched on and off."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sarrus as sr
from mechanisms import (
    CLOSURES,
    Blueprint,
    close_loops,
    placements,
    random_coordinates,
    random_pose,
    random_state,
    random_tree,
    unit,
)
from sarrus.base.errors import ArgumentError, ModelError, UnsupportedElementError
from sarrus.dynamics.impacts import activity
from sarrus.dynamics.model.units import constraint_units
from sarrus.dynamics.solve.ranks import generic_rank

CORNERS = ((0.1, 0.05), (0.1, -0.05), (-0.1, -0.05), (-0.1, 0.05))


def foot(**contact: object) -> sr.Mechanism:
    """Return a block on four point contacts with the ground, its centre of mass 5 cm above them."""
    mechanism = sr.Mechanism("foot")
    mechanism.add_body("foot", 2.0, inertia=(0.01, 0.02, 0.025))
    mechanism.add_joint("foot", "free", "world", "foot", parent_pose=(0, 0, 0.05))
    for k, (x, y) in enumerate(CORNERS):
        mechanism.add_contact(f"corner{k}", "foot", (x, y, -0.05), **contact)
    return mechanism


def touching(seed: int) -> tuple[Blueprint, np.ndarray]:
    """Return a random tree with contacts that touch at q, between bodies and with the world."""
    plan = random_tree(seed, ("free", "revolute", "spherical", "universal", "free"))
    q = random_coordinates(plan)
    frames = placements(plan, q)
    for k, (body, ground) in enumerate((("b1", "world"), ("b2", "b4"), ("world", "b3"))):
        point, normal = plan.rng.standard_normal(3), unit(plan.rng)
        there = frames[ground].inverse().apply(frames[body].apply(point))
        friction = "frictionless" if k == 0 else "stick"
        plan.mechanism.add_contact(
            f"k{k}", body, point, ground=ground, normal=normal, offset=normal @ there, friction=friction
        )
    return plan, q


# --- rows of a contact -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_rows_measure_the_point_in_the_frame_of_the_plane(seed):
    plan, q = touching(seed)
    system = sr.System(plan.mechanism)
    q, _ = random_state(system, seed)
    frames = placements(plan, q)
    anchors = {name: value for name, value in system.parameters.items() if name.startswith("anchor")}
    for name in activity.active(system):
        system.parameters[f"active.{name}"] = 1.0
    expected = []
    for contact in plan.mechanism.contacts.values():
        point = frames[contact.ground].inverse().apply(frames[contact.body].apply(contact.point))
        for row, axis in zip(
            contact.row_names, (contact.normal, contact.tangent1, contact.tangent2), strict=False
        ):
            expected.append(axis @ (point - contact.origin) - anchors.get(f"anchor.{row}", 0.0))
    np.testing.assert_allclose(system.constraint_residual(q), expected, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_jacobian_and_bias_are_the_derivatives_of_the_residual(seed):
    plan, q = touching(seed)
    system = sr.System(plan.mechanism)
    activity.switch_on(system, plan.mechanism.contacts, q)
    _, v = random_state(system, seed)
    step = 1e-5
    ahead, behind = system.move(q, step * v), system.move(q, -step * v)
    rate = (system.constraint_residual(ahead) - system.constraint_residual(behind)) / (2 * step)
    np.testing.assert_allclose(system.constraint_jacobian(q) @ v, rate, atol=1e-8)
    # γ is the rate of A v along the motion with a = 0; a free or spherical joint's v stays as it is in its axes.
    turn = (system.velocity_residual(ahead, v) - system.velocity_residual(behind, v)) / (2 * step)
    np.testing.assert_allclose(system.constraint_bias(q, v), turn, atol=1e-7)


def test_contacts_are_recorded_with_their_rows():
    mechanism = foot(friction_coefficient=0.6, restitution=0.3)
    mechanism.add_contact("slide", "foot", (0, 0, -0.05), friction="frictionless")
    system = sr.System(mechanism)
    assert constraint_units(system) == ("N",) * 13
    for record, contact in zip(system.equations.contacts, mechanism.contacts.values(), strict=True):
        rows = [record.normal, *record.tangential]
        assert record.name == contact.name
        assert tuple(system.constraint_names[j] for j in rows) == contact.row_names
    assert system.equations.contacts[0].friction_coefficient == 0.6
    assert system.equations.contacts[0].restitution == 0.3
    assert system.equations.contacts[4].friction_coefficient is None
    assert "4 closures" not in repr(mechanism)
    assert "5 contacts" in repr(mechanism)


def test_units_of_couplings_between_closures_and_contacts():
    mechanism = foot()
    mechanism.add_body("arm", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("arm", "revolute", "foot", "arm")
    mechanism.add_coupling("brake", {"arm": 1.0}, active=False)
    mechanism.add_closure("pin", "revolute", "world", "arm")
    units = constraint_units(sr.System(mechanism))
    assert units == ("N",) * 3 + ("N m",) * 2 + ("",) + ("N",) * 12


# --- on and off --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closures() -> tuple[sr.System, sr.System, sr.System, np.ndarray, np.ndarray]:
    """Return a tree, the same with closures of every kind, these as closures that come and go, and a state."""

    def plan() -> tuple[Blueprint, np.ndarray]:
        tree = random_tree(5, ("free", "revolute", "spherical", "revolute"))
        return tree, random_coordinates(tree)

    tree, q = plan()
    free = sr.System(tree.mechanism)
    always = close_loops(*plan())
    switched = plan()[0].mechanism
    for k, c in enumerate(always.closures.values()):
        switched.add_closure(
            c.name, c.kind, c.body1, c.body2, pose1=c.pose1, pose2=c.pose2, axis=c.pose1.rotation.T @ c.axis1,
            axis2=c.pose2.rotation.T @ c.axis2, pitch=c.pitch, length=c.length, active=k % 2 == 0,
        )  # fmt: skip
    return free, sr.System(always), sr.System(switched), q, random_state(free, 2)[1]


@pytest.mark.parametrize("kind", CLOSURES)
def test_a_closure_that_is_off_is_not_there_and_one_that_is_on_is_as_if_it_always_held(kind, closures):
    free, always, system, q, v = closures
    assert dict(always.parameters) == {}
    name = f"c{CLOSURES.index(kind)}"
    activity.switch_off(system, activity.active(system))
    activity.switch_on(system, [name], q)
    assert activity.active(system) == {f"c{k}": k == CLOSURES.index(kind) for k in range(len(CLOSURES))}
    on = np.zeros(system.nc)
    on[system.closure_rows[name]] = 1.0
    here = system.move(q, 0.1 * v)
    rows = on[:, None] * always.constraint_jacobian(q)
    v = v - np.linalg.pinv(rows, rcond=1e-9) @ rows @ v
    bias = on * always.constraint_bias(q, v)
    np.testing.assert_allclose(system.constraint_jacobian(q), rows, atol=1e-14)
    np.testing.assert_allclose(system.constraint_bias(q, v), bias, atol=1e-13)
    np.testing.assert_allclose(
        system.constraint_residual(here), on * always.constraint_residual(here), atol=1e-14
    )
    # M a = f + Aᵀλ, A a = −γ with the rows of the closure that is on alone; some are redundant with the joints: λ is
    # the shortest in characteristic units.
    even = system.characteristic.rows[on > 0]
    mass, rows, bias = free.mass_matrix(q), even[:, None] * rows[on > 0], even * bias[on > 0]
    force = free.passive_force(q, v) - free.bias_force(q, v)
    problem = np.block([[mass, -rows.T], [rows, np.zeros((len(rows), len(rows)))]])
    expected = np.linalg.lstsq(problem, np.concatenate([force, -bias]))[0]
    answer = system.forward_dynamics(q, v)
    assert (answer.status, answer.rank) == (sr.Status.OK, np.linalg.matrix_rank(rows, 1e-6))
    np.testing.assert_allclose(answer.a, expected[: system.nv], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(answer.multipliers[on > 0], even * expected[system.nv :], rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(answer.multipliers[on == 0], 0.0)


def test_with_everything_off_the_tree_is_free(closures):
    free, _, system, q, v = closures
    activity.switch_off(system, activity.active(system))
    answer = system.forward_dynamics(q, v)
    assert (answer.status, answer.rank, answer.redundant) == (sr.Status.OK, 0, system.constraint_names)
    np.testing.assert_array_equal(answer.multipliers, 0.0)
    np.testing.assert_allclose(answer.a, free.forward_dynamics(q, v).a, rtol=1e-11, atol=1e-11)


def test_a_closure_is_on_or_off_at_the_start_as_it_was_added(closures):
    mechanism = closures[2].mechanism
    assert [c.active for c in mechanism.closures.values()] == [k % 2 == 0 for k in range(len(CLOSURES))]
    assert activity.active(sr.System(mechanism)) == {c.name: c.active for c in mechanism.closures.values()}


def test_the_rank_follows_every_switch():
    system = sr.System(foot())
    q, rest = system.neutral(), np.zeros(6)
    names = tuple(activity.active(system))
    assert names == ("corner0", "corner1", "corner2", "corner3")
    for count, rank in ((0, 0), (1, 3), (2, 5), (3, 6), (4, 6), (2, 5), (0, 0), (4, 6)):
        activity.switch_off(system, names)
        activity.switch_on(system, names[:count], q)
        generic_rank(system.workspace(), q, renew=True)
        answer = system.forward_dynamics(q, rest)
        assert (answer.rank, answer.status) == (rank, sr.Status.OK)
        off = [not name.startswith(names[:count]) if count else True for name in system.constraint_names]
        np.testing.assert_array_equal(answer.multipliers[off], 0.0)
        assert not answer.determined[off].any()
    weight = [answer.closure_force(name)[f"{name}.n"] for name in names]
    np.testing.assert_allclose(weight, 2.0 * 9.81 / 4, rtol=1e-12)


def test_an_assignment_to_a_parameter_is_enough_for_the_next_solve():
    system = sr.System(foot())
    q, rest = system.neutral(), np.zeros(6)
    assert system.forward_dynamics(q, rest).rank == 0
    for k in range(4):
        system.parameters[f"active.corner{k}"] = 1.0
    answer = system.forward_dynamics(q, rest)
    assert (answer.rank, answer.status) == (6, sr.Status.OK)
    np.testing.assert_allclose(answer.a, 0.0, atol=1e-12)
    system.parameters["active.corner0"] = system.parameters["active.corner1"] = 0.0
    answer = system.forward_dynamics(q, rest)
    assert (answer.rank, answer.status) == (5, sr.Status.OK)
    assert answer.a[4] > 1.0  # it tips over the edge of the other two


def test_a_stick_contact_is_a_point_closure_and_a_frictionless_one_a_point_on_a_plane():
    for friction, kind in (("stick", "point"), ("frictionless", "point_on_plane")):
        plan = random_tree(8, ("free", "revolute", "revolute"))
        q = random_coordinates(plan)
        touch = placements(plan, q)["b2"].apply((0.1, 0.2, 0.3))
        twin = random_tree(8, ("free", "revolute", "revolute")).mechanism
        normal = unit(plan.rng)
        twin.add_closure("foot", kind, "world", "b2", pose1=touch, pose2=(0.1, 0.2, 0.3), axis=normal)
        plan.mechanism.add_contact(
            "foot", "b2", (0.1, 0.2, 0.3), normal=normal, offset=normal @ touch, friction=friction
        )
        system, closed = sr.System(plan.mechanism), sr.System(twin)
        activity.switch_on(system, ["foot"], q)
        v = closed.project_velocity(q, random_state(closed, 1)[1])
        one, two = system.forward_dynamics(q, v), closed.forward_dynamics(q, v)
        np.testing.assert_allclose(one.a, two.a, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(one.constraint_force, two.constraint_force, rtol=1e-9, atol=1e-10)


def test_simulation_with_everything_off_is_free_flight():
    system = sr.System(foot())
    q, v = system.neutral(), np.array([1.0, -0.5, 3.0, 0.4, 0.3, -0.2])
    run = sr.simulate(system, q, v, duration=0.5, dt=1e-3)
    fall = q[:3] + v[:3] * 0.5 + 0.5 * np.array([0, 0, -9.81]) * 0.25
    np.testing.assert_allclose(run.q[-1, :3], fall, atol=1e-12)
    assert run.energy_drift < 1e-11
    assert run.condition.max() == 1.0
    np.testing.assert_array_equal(run.multipliers, 0.0)


def test_a_sticking_point_stays_where_it_touched_down():
    system = sr.System(foot())
    q = system.neutral()
    q[:3] += 0.4, -0.7, 0.0
    activity.switch_on(system, ["corner2"], q)
    assert system.parameters["anchor.corner2.t1"] == pytest.approx(0.3, abs=1e-15)
    assert system.parameters["anchor.corner2.t2"] == pytest.approx(-0.75, abs=1e-15)
    assert np.abs(system.constraint_residual(q)).max() < 1e-15
    run = sr.simulate(system, q, duration=0.3, dt=1e-3)
    position, rotation = (x[0] for x in system.body_placements(run.q[-1]))
    np.testing.assert_allclose(position + rotation @ (-0.1, -0.05, -0.05), (0.3, -0.75, 0.0), atol=1e-13)
    assert run.energy_drift < 1e-9
    # Switching on what is on already leaves the anchor alone.
    activity.switch_on(system, ["corner2"], run.q[-1])
    assert system.parameters["anchor.corner2.t1"] == pytest.approx(0.3, abs=1e-15)


def test_a_contact_added_as_active_holds_where_it_is_in_the_reference_pose():
    mechanism = sr.Mechanism("puck")
    mechanism.add_body("puck", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("puck", "free", "world", "puck", parent_pose=(0.3, 0.2, 0.5))
    mechanism.add_contact("pin", "puck", (0, 0, -0.5), active=True, normal=(0, 0, 2), offset=0.0)
    system = sr.System(mechanism)
    assert activity.active(system) == {"pin": True}
    assert np.abs(system.constraint_residual(system.neutral())).max() < 1e-16
    assert system.forward_dynamics(system.neutral(), np.zeros(6)).rank == 3


def test_a_brake_holds_the_angle_at_which_it_was_closed():
    mechanism = sr.Mechanism("brake")
    mechanism.add_body("rotor", 2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("hinge", "revolute", "world", "rotor", axis=(0, 1, 0))
    mechanism.add_coupling("brake", {"hinge": 1.0}, active=False)
    system = sr.System(mechanism)
    q = np.array([0.7])
    activity.switch_on(system, ["brake"], q)
    assert system.parameters["anchor.brake"] == 0.7
    answer = system.forward_dynamics(q, [0.0])
    assert answer.a[0] == pytest.approx(0.0, abs=1e-14)
    assert answer.multipliers[0] == pytest.approx(-2.0 * 9.81 * 0.3 * np.cos(0.7))


# --- gaps ----------------------------------------------------------------------------------------------


def test_gaps_are_measured_whether_contacts_are_on_or_off():
    system = sr.System(foot())
    q, v = random_state(system, 3)
    position, rotation = (x[0] for x in system.body_placements(q))
    expected = [(position + rotation @ (x, y, -0.05))[2] for x, y in CORNERS]
    off = activity.gaps(system, q)
    np.testing.assert_allclose(list(off.values()), expected, atol=1e-14)
    step = 1e-6
    later = activity.gaps(system, system.move(q, step * v))
    for name, rate in activity.gap_rates(system, q, v).items():
        assert rate == pytest.approx((later[name] - off[name]) / step, abs=1e-5)
    system.parameters["active.corner1"] = 1.0
    assert activity.gaps(system, q) == off


def test_a_mechanism_without_contacts_has_no_gaps():
    mechanism = sr.Mechanism("bead")
    mechanism.add_body("bead", 1.0)
    mechanism.add_joint("slide", "prismatic", "world", "bead")
    system = sr.System(mechanism)
    assert activity.gaps(system, [0.1]) == activity.gap_rates(system, [0.1], [1.0]) == {}
    assert activity.active(system) == {}


# --- what is refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"body": "hand"}, "contact 'c': unknown body 'hand'"),
        ({"ground": "floor"}, "contact 'c': unknown body 'floor'"),
        ({"ground": "foot"}, "contact 'c': needs two different bodies, got 'foot' twice"),
        (
            {"friction": "sticky"},
            "contact 'c': unknown friction 'sticky'. Did you mean 'stick'\\? Known: 'stick', 'frictionless'",
        ),
        ({"restitution": 1.5}, "contact 'c': restitution must be between 0 and 1, got 1.5"),
        ({"normal": (0, 0, 0)}, "contact 'c'.*normal"),
        ({"tangent": (1, 0, 1)}, "contact 'c': tangent must be perpendicular to normal"),
        ({"friction_coefficient": -0.1}, "contact 'c': friction_coefficient must not be negative"),
        (
            {"friction": "frictionless", "friction_coefficient": 0.1},
            "contact 'c': a frictionless contact has no friction_coefficient",
        ),
        ({"active": 1}, "contact 'c': active must be True, False or None, got 1"),
        ({"offset": np.nan}, "contact 'c': offset must be"),
        ({"point": (1, 2)}, "contact 'c': point must"),
    ],
)
def test_a_wrong_contact_is_one_clear_error(wrong, sentence):
    with pytest.raises(ModelError, match=sentence):
        foot().add_contact("c", **{"body": "foot", **wrong})


def test_names_are_unique_among_closures_couplings_and_contacts():
    mechanism = foot()
    with pytest.raises(ModelError, match="closure 'corner0': the name is already taken"):
        mechanism.add_closure("corner0", "point", "world", "foot")
    mechanism.add_closure("pin", "point", "world", "foot", active=False)
    with pytest.raises(ModelError, match="contact 'pin': the name is already taken"):
        mechanism.add_contact("pin", "foot")
    with pytest.raises(ModelError, match="closure 'weld': active must be True, False or None, got 'no'"):
        mechanism.add_closure("weld", "weld", "world", "foot", active="no")
    mechanism.add_body("arm", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("arm", "revolute", "foot", "arm")
    mechanism.add_coupling("corner0.t1", {"arm": 1.0}, active=False)
    with pytest.raises(
        ModelError, match=r"two constraints would have the parameter 'anchor.corner0.t1': rename"
    ):
        sr.System(mechanism)


def test_switching_names_what_it_cannot_switch():
    mechanism = foot()
    mechanism.add_closure("always", "distance", "world", "foot", length=0.05)
    mechanism.add_closure("pin", "point", "world", "foot", active=False)
    system = sr.System(mechanism)
    q = system.neutral()
    with pytest.raises(ArgumentError, match="foot: 'always' always holds; add it with active=True or False"):
        activity.switch_off(system, ["always"])
    with pytest.raises(ArgumentError, match=r"unknown switchable constraint 'corner'\. Did you mean 'corner"):
        activity.switch_on(system, ["corner"], q)
    with pytest.raises(ArgumentError, match=r"names must be a sequence of names, such as \['pin'\]"):
        activity.switch_on(system, "pin", q)
    before = dict(system.parameters)
    with pytest.raises(
        ArgumentError, match=r"'pin' cannot be switched on, it is open by 0.05 in row 'pin.z'"
    ):
        activity.switch_on(system, ["corner0", "pin"], q)
    q[2] += 0.01
    with pytest.raises(ArgumentError, match=r"'corner1' cannot be .* open by 0.01 in row 'corner1.n'"):
        activity.switch_on(system, ["corner1"], q)
    assert dict(system.parameters) == before


# --- files ---------------------------------------------------------------------------------------------


def test_mjcf_refuses_contacts_and_keeps_what_is_off(tmp_path):
    path = tmp_path / "foot.xml"
    with pytest.raises(UnsupportedElementError, match="contact 'corner0': MJCF has no contact of a point"):
        foot().to_mjcf(path)
    assert not path.exists()
    plan = random_tree(3, ("free", "revolute", "prismatic"))
    for name, kind, on in (
        ("a", "point", False),
        ("b", "weld", True),
        ("c", "revolute", False),
        ("d", "distance", False),
        ("e", "point", None),
    ):
        plan.mechanism.add_closure(
            name, kind, "world", "b2", pose2=random_pose(plan.rng), length=1.0, active=on
        )
    plan.mechanism.add_coupling("f", {"j1": 1.0, "j2": 2.0}, active=False)
    plan.mechanism.to_mjcf(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    on = {model.equality(i).name: bool(model.eq_active0[i]) for i in range(model.neq)}
    assert on == {"a": False, "b": True, "c": False, "c.axis": False, "d": False, "e": True, "f": False}
    assert sorted(sr.load(path).closures) == ["b", "e"]
