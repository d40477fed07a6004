"""Wheels, balls, blades and cones that roll: rows against differences, motions against closed forms, errors by name."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import GRAVITY, ROLLINGS, Blueprint, close_loops, placements, random_coordinates, random_tree
from mechanisms import random_state as state_of
from sarrus.base.arrays import Array
from sarrus.base.errors import ModelError, SimulationError, SolveError
from sarrus.dynamics.impacts.activity import switch_off
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.mechanism.rolling import HEIGHTS, ROLLING_ROWS
from sarrus.pictures.plots.contact_drawing import contact_marks
from sarrus.pictures.scene.drawing import Drawing
from sarrus.pictures.scene.loads import loads_of
from sarrus.pictures.scene.parts import ContactRod
from test_multibody import along, derivative


@lru_cache
def rolling_tree(kind: str) -> tuple[Blueprint, sr.System, Array]:
    """Two free bodies and a hinge, one of which rolls on another, moving one; closed at q."""
    plan = random_tree(5, ("free", "revolute", "free"), forces=False)
    q = random_coordinates(plan)
    return plan, sr.System(close_loops(plan, q, (kind, "distance"))), q


@lru_cache
def on_a_driven_plane(kind: str) -> sr.System:
    """A free body that rolls on a plane that moves and tumbles as a function of time."""
    plan = random_tree(6, ("free",), forces=False)
    mechanism = plan.mechanism
    mechanism.add_body("table")
    mechanism.add_joint("table", "fixed", "world", "table")
    place = lambda t: ca.vertcat(ca.sin(t), t * t, 0.1 * t)  # noqa: E731
    turn = lambda t: ca.vertcat(1 + t, 0.3 * ca.sin(t), 0.2, ca.cos(t))  # noqa: E731
    mechanism.drive("table", lambda t: (place(t), turn(t)))
    angle = 0.4 if kind == "cone" else 0.0
    mechanism.add_rolling(
        "c0", kind, "b0", "table", radius=0.0 if kind == "knife_edge" else 0.3, centre=(0.1, 0.2, 0.05),
        axis=(0.3, 1.0, 0.2), origin=(0.1, 0.0, 0.2), normal=(0.1, 0.2, 1.0), half_angle=angle, roller_angle=0.7,
    )  # fmt: skip
    return sr.System(mechanism)


# --- rows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("kind", ROLLINGS)
def test_rows_against_differences(kind: str, driven: bool) -> None:
    """A = ∂ψ/∂v, ψ = dφ/dt of the heights, γ = dψ/dt at a = 0: off the constraints too."""
    system = on_a_driven_plane(kind) if driven else rolling_tree(kind)[1]
    q, v = state_of(system, 1)
    t = 0.3 if driven else 0.0
    a = system.constraint_jacobian(q, v, t)
    unit = np.eye(system.nv)
    by_v = derivative(lambda h: np.array([system.velocity_residual(q, v + h * e, t) for e in unit]).T)
    assert_allclose(a, by_v, atol=1e-10)
    height = derivative(lambda h: system.constraint_residual(along(system, q, v, h), t + h))
    assert_allclose(system.velocity_residual(q, v, t)[: system.nh], height, atol=1e-9)
    slip = derivative(lambda h: system.velocity_residual(along(system, q, v, h), v, t + h))
    assert_allclose(system.constraint_bias(q, v, t), slip, atol=3e-8)
    heights = [row for row in ROLLING_ROWS[kind] if row in HEIGHTS]
    assert sum(name.rpartition(".")[2] in HEIGHTS for name in system.constraint_names[: system.nh]) == len(
        heights
    )


@pytest.mark.parametrize("kind", ROLLINGS)
def test_slip_is_the_velocity_of_the_material_that_touches(kind: str) -> None:
    """The oracle moves both bodies by poses in plain NumPy, with the material points held."""
    plan, system, q = rolling_tree(kind)
    v = np.random.default_rng(2).standard_normal(system.nv)
    element = plan.mechanism.rollings["c0"]
    found = system.rolling(q, v)["c0"]
    frames = placements(plan, q)
    body, ground = (frames[name].inverse().apply(found.point) for name in (element.body, element.ground))

    def apart(h: float) -> Array:
        moved = placements(plan, along(system, q, v, h))
        return moved[element.body].apply(body) - moved[element.ground].apply(ground)

    slip = derivative(apart)
    assert_allclose(found.slip, slip, atol=1e-10)
    assert_allclose(found.height, 0.0, atol=1e-13)
    psi = dict(zip(system.constraint_names, system.velocity_residual(q, v)))
    rows = {
        "t1": found.longitudinal, "t2": found.lateral, "longitudinal": found.longitudinal, "lateral": found.lateral,
        "roller": np.cos(element.roller_angle) * found.lateral + np.sin(element.roller_angle) * found.longitudinal,
        "longitudinal_rim": found.longitudinal, "n": found.normal, "n_rim": found.normal,
    }  # fmt: skip
    # of a cone the rows without "rim" are at its apex
    for row in set(element.rows) & ({"n_rim", "longitudinal_rim"} if kind == "cone" else set(rows)):
        assert_allclose(psi[f"c0.{row}"], rows[row] @ slip, atol=1e-9, err_msg=row)
    # the circle is nowhere lower, and along the directions is where it is said to be
    assert_allclose(np.cross(found.normal, found.longitudinal), found.lateral, atol=1e-13)
    spin = frames[element.body].rotation @ element.axis
    if kind != "ball":
        assert found.lateral @ spin > 0.0
        assert abs(found.longitudinal @ spin) < 1e-13


@pytest.mark.parametrize("kind", ROLLINGS)
def test_power_of_rolling_is_none(kind: str) -> None:
    """Forces of rows along admissible velocities do no work, and forward after inverse dynamics is the identity."""
    _, system, q = rolling_tree(kind)
    v = system.project_velocity(q, np.random.default_rng(4).standard_normal(system.nv))
    found = system.forward_dynamics(q, v)
    assert abs(v @ found.constraint_force) < 1e-9 * (1.0 + np.abs(found.constraint_force).max())
    residual = system.constraint_jacobian(q, v) @ found.a + system.constraint_bias(q, v)
    assert_allclose(residual, 0.0, atol=1e-9)
    motion = sr.simulate(system, q, v, duration=0.2, rtol=1e-10, atol=1e-12)
    assert motion.energy_drift < 1e-7
    assert motion.residual.max() < 1e-12


def test_multipliers_are_forces_of_the_ground_on_the_body() -> None:
    """A disc that is driven at its axle: the balance of forces and of moments as a free body."""
    mass, radius, inertia, couple = 2.0, 0.3, 0.05, 0.7
    mechanism = sr.Mechanism("wheel")
    mechanism.add_body("wheel", mass, inertia=(0.03, inertia, 0.03))
    mechanism.add_joint("wheel", "free", "world", "wheel", parent_pose=(0, 0, radius))
    mechanism.add_rolling("wheel", "wheel", "wheel", radius=radius)
    system = sr.System(mechanism)
    found = system.forward_dynamics(system.neutral(), np.zeros(6), tau=[0, 0, 0, 0, couple, 0])
    a = couple / (inertia + mass * radius**2) * radius
    rows = dict(zip(system.constraint_names, found.multipliers))
    assert_allclose(found.a, [a, 0, 0, 0, a / radius, 0], atol=1e-13)
    assert_allclose(rows["wheel.n"], mass * 9.81)
    assert_allclose(rows["wheel.longitudinal"], mass * a)
    assert_allclose(rows["wheel.lateral"], 0.0, atol=1e-13)


# --- order, names, and everything that walks over constraints -------------------------------------------


def mixed() -> sr.Mechanism:
    """A closure, a coupling, sticking contacts and what rolls, added in an order that is none of the rows'."""
    mechanism = sr.Mechanism("mixed", gravity=GRAVITY)
    for name in ("cart", "wheel", "other"):
        mechanism.add_body(name, 1.0, (0.01, 0.02, 0.03), (0.1, 0.2, 0.15))
    mechanism.add_joint("cart", "free", "world", "cart", parent_pose=(0, 0, 0.3))
    mechanism.add_joint("wheel", "revolute", "cart", "wheel", axis=(0, 1, 0))
    mechanism.add_joint("other", "revolute", "cart", "other", axis=(0, 1, 0), parent_pose=(0.5, 0, 0))
    mechanism.add_rolling("wheel", "wheel", "wheel", radius=0.3)
    mechanism.add_contact("foot", "cart", (0.2, 0.1, -0.3), active=True)
    mechanism.add_rolling("other", "omni", "other", radius=0.3)
    mechanism.add_coupling("gear", {"wheel": 1.0, "other": -1.0})
    mechanism.add_closure("rod", "distance", "world", "cart", pose1=(0, 1.0, 0.3), length=1.0)
    return mechanism


def test_heights_come_before_contacts_and_slips_behind() -> None:
    system = sr.System(mixed())
    assert system.constraint_names == (
        "rod.length", "gear", "wheel.n", "other.n", "foot.n", "foot.t1", "foot.t2",
        "wheel.longitudinal", "wheel.lateral", "other.roller",
    )  # fmt: skip
    assert (system.nh, system.nc) == (7, 10)
    assert list(system.closure_rows) == ["rod", "gear", "wheel.n", "other.n", "foot", "wheel", "other"]
    (contact,) = system.equations.contacts
    assert (contact.normal, contact.tangential) == (4, (5, 6))
    q = system.neutral()
    assert_allclose(system.constraint_residual(q), 0.0, atol=1e-13)
    for closed in (True, False):
        v = system.project_velocity(q, np.ones(system.nv))
        assert_allclose(system.velocity_residual(q, v), 0.0, atol=1e-12)
        slip = system.rolling(q, v)["wheel"]
        assert_allclose([slip.slip @ slip.longitudinal, slip.slip @ slip.lateral], 0.0, atol=1e-12)
        if closed:
            switch_off(system, ["foot"])
            assert np.all(system.constraint_jacobian(q)[4:7] == 0.0)
            assert np.all(np.abs(system.constraint_jacobian(q)[7:]).max(axis=1) > 0.1)


def test_a_contact_that_lifts_off_leaves_the_rolling_rows() -> None:
    """A board on a wheel tips about its axle: its foot lifts off in the run, and the wheel goes on rolling."""
    mechanism = sr.Mechanism("board")
    mechanism.add_body("board", 1.0, (-0.1, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_body("wheel", 1.0, inertia=(0.05, 0.05, 0.05))
    mechanism.add_joint(
        "board", "planar", "world", "board", axis=(0, -1, 0), axis2=(1, 0, 0), parent_pose=(0, 0, 0.3)
    )
    mechanism.add_joint("wheel", "revolute", "board", "wheel", axis=(0, 1, 0))
    mechanism.add_rolling("wheel", "wheel", "wheel", radius=0.3)
    mechanism.add_contact("foot", "board", (0.5, 0, -0.3), friction="frictionless", active=True)
    system = sr.System(mechanism)
    motion = sr.simulate(system, system.neutral(), duration=0.3)
    names = list(motion.constraint_names)
    assert_allclose(motion.multipliers[-1, names.index("foot.n")], 0.0, atol=1e-12)
    rolled = motion.q[:, list(motion.coordinate_names).index("board.x")]
    turned = motion.q[:, list(motion.coordinate_names).index("wheel")]
    leaned = motion.q[:, list(motion.coordinate_names).index("board.angle")]
    assert np.abs(leaned).max() > 0.1
    assert_allclose(rolled, 0.3 * (turned - leaned), atol=1e-9)


def test_document_round_trip_and_the_numbers_of_parameters() -> None:
    for kind in ROLLINGS:
        plan, system, q = rolling_tree(kind)
        again = from_json(to_json(plan.mechanism))
        assert to_json(again) == to_json(plan.mechanism)
        v = np.random.default_rng(1).standard_normal(system.nv)
        same = sr.System(again)
        assert np.array_equal(same.constraint_jacobian(q), system.constraint_jacobian(q))
        assert np.array_equal(same.constraint_bias(q, v), system.constraint_bias(q, v))
    system = sr.System(mixed(), parameters={"r": "rolling:wheel.radius", "beta": "other.roller_angle"})
    q, v = state_of(system, 3)
    for name in ("r", "beta"):
        other = system.with_parameters({name: system.parameters[name] + 0.1})
        rebuilt = sr.System(other.current_mechanism())
        assert_allclose(other.constraint_jacobian(q), rebuilt.constraint_jacobian(q), atol=1e-14)
        assert_allclose(other.constraint_bias(q, v), rebuilt.constraint_bias(q, v), atol=1e-13)
        assert_allclose(other.rolling(q, v)["wheel"].slip, rebuilt.rolling(q, v)["wheel"].slip, atol=1e-14)
        assert np.abs(other.constraint_bias(q, v) - system.constraint_bias(q, v)).max() > 1e-3


def test_casadi_function_many_runs_and_mjcf(tmp_path) -> None:
    example = load_example("rolling")
    system = sr.System(example.bicycle())
    q, v = example.straight(system, 5.0)
    v = system.project_velocity(q, v + 0.1 * np.eye(system.nv)[3])
    a = system.to_casadi("forward_dynamics")(q, v, np.zeros(0), 0.0, np.zeros(0))
    a = a[0] if isinstance(a, tuple) else a
    assert_allclose(np.array(a).ravel()[: system.nv], system.forward_dynamics(q, v).a, atol=1e-8)
    many = sr.rollout(system, [q] * 3, [v] * 3, duration=0.1, dt=1e-3)
    one = sr.simulate(system, q, v, duration=0.1, dt=1e-3)
    assert_allclose(many.q[1, -1], one.q[-1], atol=1e-11)
    with pytest.raises(Exception, match="rolling 'rear': MJCF has no equality for a disc that rolls"):
        system.mechanism.to_mjcf(tmp_path / "bicycle.xml")


def test_redundant_lateral_rows_are_ordinary() -> None:
    system = sr.System(load_example("rolling").differential_drive())
    assert (system.nh, system.nc) == (0, 4)
    freedom = sr.mobility(system, system.neutral())
    assert (freedom.dof, freedom.rank) == (2, 3)
    found = system.forward_dynamics(system.neutral(), np.zeros(5), tau=[0, 1.0, 0, 0, 0])
    lateral = [system.constraint_names.index(f"{side}.lateral") for side in ("left", "right")]
    assert_allclose(found.multipliers[lateral], -0.5, atol=1e-13)
    assert not found.determined[lateral].any()


@pytest.mark.parametrize("angle", [np.pi / 4, np.pi / 2])
def test_omni_and_mecanum_wheels_go_where_their_rollers_let_them(angle: float) -> None:
    """Four wheels: the inverse kinematics of the platform, r ω = v·x + …, by the textbook."""
    radius, length, width = 0.1, 0.4, 0.3
    cart = sr.Mechanism("mecanum")
    cart.add_body("cart", 10.0, inertia=(0.3, 0.3, 0.5))
    cart.add_joint("cart", "planar", "world", "cart", axis2=(1, 0, 0), parent_pose=(0, 0, radius))
    spots = {"fl": (1, 1, 1), "fr": (1, -1, -1), "rl": (-1, 1, -1), "rr": (-1, -1, 1)}
    for name, (x, y, sign) in spots.items():
        cart.add_body(name, 0.5, inertia=(1e-3, 2e-3, 1e-3))
        cart.add_joint(name, "revolute", "cart", name, axis=(0, 1, 0), parent_pose=(x * length, y * width, 0))
        cart.add_rolling(name, "omni", name, radius=radius, roller_angle=sign * angle, rows=("roller",))
    system = sr.System(cart)
    wanted = np.array([0.3, 0.2, 0.4])
    rates = []
    for x, y, sign in spots.values():
        along = wanted[0] - wanted[2] * y * width
        across = wanted[1] + wanted[2] * x * length
        rates.append((along + across / np.tan(sign * angle)) / radius)
    v = np.array([*wanted, *rates])
    order = [system.velocity_names.index(n) for n in ("cart.x", "cart.y", "cart.angle", *spots)]
    ordered = np.empty(system.nv)
    ordered[order] = v
    assert_allclose(system.velocity_residual(system.neutral(), ordered), 0.0, atol=1e-14)


# --- singular places, wrong input ---------------------------------------------------------------------


def flat(lean: float) -> tuple[sr.System, Array]:
    """A disc whose plane is ``lean`` away from lying flat."""
    mechanism = sr.Mechanism("plate")
    mechanism.add_body("plate", 1.5, inertia=(0.06, 0.12, 0.06))
    mechanism.add_joint("plate", "free", "world", "plate", parent_pose=(0, 0, 0.4))
    mechanism.add_rolling("rim", "disc", "plate", radius=0.4)
    system = sr.System(mechanism)
    q = system.neutral()
    q[2:] = 0.4 * np.sin(lean), *sr.Pose.of(rpy=(np.pi / 2 - lean, 0, 0)).quaternion
    return system, q


@pytest.mark.parametrize("lean", [0.0, 1e-12, 1e-8])
def test_a_disc_that_lies_flat_has_no_lowest_point(lean: float) -> None:
    system, q = flat(lean)
    still = np.zeros(6)
    named = r"rolling 'rim' is along the normal of its plane, so that it has no lowest point"
    for call in (
        lambda: system.rolling(q),
        lambda: system.assemble(q),
        lambda: sr.mobility(system, q),
        lambda: system.project_velocity(q, still),
        lambda: sr.linearize_at(system, q),
        lambda: sr.simulate(system, q, duration=0.1),
    ):
        with pytest.raises(SolveError, match=named):
            call()
    found = system.forward_dynamics(q, still, throw=False)
    assert found.status is sr.Status.NOT_FINITE
    with pytest.raises(SolveError, match="infinite or NaN"):
        system.forward_dynamics(q, still)


def test_a_disc_that_falls_flat_ends_the_run() -> None:
    system, q = flat(0.3)
    for options in ({}, {"dt": 1e-3}):
        run = sr.simulate(system, q, duration=1.0, throw=False, **options)
        assert run.status in (sr.Status.STEP_TOO_SMALL, sr.Status.PROJECTION_FAILED, sr.Status.NOT_FINITE)
        assert np.isfinite(run.q).all()
        assert 0.1 < run.t[-1] < 0.2
        with pytest.raises(SimulationError):
            sr.simulate(system, q, duration=1.0, **options)


def test_wrong_input_is_named() -> None:
    mechanism = sr.Mechanism("wrong")
    mechanism.add_body("body", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("body", "free", "world", "body")
    mechanism.add_closure("taken.n", "point", "world", "body")
    for arguments, text in (
        (("r", "whel", "body"), r"rolling 'r': unknown kind 'whel'"),
        (("r", "disc", "bodi"), r"rolling 'r': unknown body 'bodi'"),
        (("r", "disc", "body", "body"), r"rolling 'r': needs two different bodies"),
        (("r", "disc", "body"), r"rolling 'r': radius must be positive \[m\], got 0"),
        (("taken", "disc", "body"), r"rolling row 'taken.n': the name is already taken"),
    ):
        with pytest.raises(ModelError, match=text):
            mechanism.add_rolling(*arguments)
    for kind, options, text in (
        ("ball", {"radius": -1.0}, "radius must be positive"),
        ("ball", {"radius": np.nan}, "radius"),
        ("knife_edge", {"radius": 0.1}, "a knife_edge has no radius"),
        ("cone", {"radius": 0.1}, "half_angle of a cone must be between 0 and π/2"),
        ("cone", {"radius": 0.1, "half_angle": 1.6}, "half_angle of a cone"),
        ("disc", {"radius": 0.1, "half_angle": 0.2}, "half_angle is for cones, this is a disc"),
        ("omni", {"radius": 0.1, "roller_angle": np.pi}, "rollers are parallel to the axle"),
        ("disc", {"radius": 0.1, "axis": (0, 0, 0)}, "axis"),
        ("disc", {"radius": 0.1, "rows": ("t1",)}, r"unknown row 't1'.*longitudinal"),
        ("disc", {"radius": 0.1, "rows": ()}, "rows must name at least one"),
        ("ball", {"radius": 0.1, "tangent": (0, 0, 1)}, "tangent must be perpendicular"),
    ):
        with pytest.raises(ModelError, match=text):
            mechanism.add_rolling("r", kind, "body", **options)
    assert not mechanism.rollings
    mechanism.add_rolling("r", "disc", "body", radius=0.1)
    with pytest.raises(ModelError, match="the name is already taken"):
        mechanism.add_closure("r.n", "point", "world", "body")


def test_sensors_count_with_the_forces_of_rolling() -> None:
    """What a wheel gets from its frame is what is left of m a after gravity and the forces of the ground."""
    mechanism = sr.Mechanism("cart")
    mechanism.add_body("frame", 3.0, (0.1, 0, 0), (0.1, 0.2, 0.3))
    mechanism.add_joint("frame", "free", "world", "frame", parent_pose=(0, 0, 0.3))
    mechanism.add_body("wheel", 1.0, inertia=(0.03, 0.05, 0.03))
    mechanism.add_joint("wheel", "revolute", "frame", "wheel", axis=(0, 1, 0))
    mechanism.add_rolling("wheel", "wheel", "wheel", radius=0.3)
    mechanism.add_sensor("force", "force", "wheel")
    system = sr.System(mechanism)
    q = system.neutral()
    v = system.project_velocity(q, np.random.default_rng(0).standard_normal(7))
    found = system.forward_dynamics(q, v)
    push, longitudinal, lateral = found.multipliers
    left = found.a[:3] - np.array([longitudinal, lateral, push - 9.81])
    assert_allclose(system.sensors(q, v)["force"], left, atol=1e-12)


@pytest.mark.parametrize("kind", ROLLINGS)
def test_drawings_mark_where_it_touches(kind: str) -> None:
    plan, system, q = rolling_tree(kind)
    touch = system.rolling(q)["c0"]
    drawing = Drawing(system, q)
    (rod,) = (rod for rod in drawing.parts.rods if isinstance(rod, ContactRod))
    poses = drawing.poses(q)
    assert_allclose(rod.ends(poses.positions, poses.rotations)[1], touch.point, atol=1e-12)
    marks = contact_marks(plan.mechanism, system, q[None], drawing.view)
    assert_allclose(marks.points[0, -1], drawing.view.project(touch.point), atol=1e-12)
    v = system.project_velocity(q, np.random.default_rng(4).standard_normal(system.nv))
    found = sr.reactions(system, q, v, frame="joint")
    forces = loads_of(found, names=["c0"])
    rows = dict(zip(system.constraint_names, found.multipliers))
    push = sum(value for name, value in rows.items() if name in ("c0.n", "c0.n_rim"))
    assert_allclose(forces.forces[0] @ touch.normal, push, atol=1e-10)
    along = [rows[name] for name in plan.mechanism.rollings["c0"].row_names if not name.startswith("c0.n")]
    if kind != "cone":
        assert_allclose(np.linalg.norm(forces.forces[0]), np.linalg.norm([push, *along]), atol=1e-10)
        assert_allclose(forces.points[0], touch.point, atol=1e-12)


def test_rows_that_are_no_names_are_an_error() -> None:
    mechanism = sr.Mechanism("disc")
    mechanism.add_body("disc", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("disc", "free", "world", "disc")
    with pytest.raises(sr.SarrusError, match=r"rows must be names of rows, of .*, got 5"):
        mechanism.add_rolling("rolls", "disc", "disc", radius=0.3, rows=5)
