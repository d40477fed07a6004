"""Derivatives about closed contacts, stops and dry friction: with modes held, and refused at borders of modes."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from contact_phases import FAMILIES, Scene, error_of, step_error
from sarrus.analysis.sensitivity.phase_flow import PhaseFlow, flow_of
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.closing.manifold import difference
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.impacts.activity import gaps, switch_on
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.local_layout import local_sizes
from sarrus.kernels.memory.record import view_fields
from sarrus.motion.loop.local_model import LocalModel
from test_implicit_phases import CASES

# Of differences of the held phase, extrapolated three times.
EXACT = 1e-8


# --- linear models ------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_linear_models_are_differences_of_the_phase(case: str) -> None:
    system, q, v, _ = CASES[case]()
    if case == "gears that mesh":  # not at the angle at which A is zero
        q = [0.4, -0.2]
    tau = np.zeros(system.nv)
    tau[0] = 300.0 if case == "a stop under load" else 0.0
    error, model = error_of(
        Scene(system, np.array(q, float), np.array(v, float), np.zeros(system.nu), tau=tau)
    )
    assert error < EXACT
    assert model.contacts is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_linear_models_are_differences_of_the_phase(family: str) -> None:
    for seed in range(2):
        scene = FAMILIES[family](np.random.default_rng([7, seed]))
        if (
            scene is None
            or scene.system.forward_dynamics(scene.q, scene.v, scene.u, scene.t).contacts is None
        ):
            continue
        reach = (
            0.2 if family == "rolling friction slides" else 0.03
        )  # ω l slips, of the size of lengths of friction
        error, model = error_of(scene, reach=reach)
        assert error < EXACT, (seed, model)


def crate(corners: int = 4, **free: object) -> sr.System:
    mechanism = sr.Mechanism("crate")
    mechanism.add_body("crate", mass=2.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("float", "free", "world", "crate", **free)
    for k, (x, y) in enumerate([(0.2, 0.2), (-0.2, 0.2), (-0.2, -0.2), (0.2, -0.2)][:corners]):
        mechanism.add_contact(f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=0.5)
    return sr.System(mechanism)


AT_REST = np.array([0, 0, 0.1, 1, 0, 0, 0])


def test_friction_of_a_sliding_crate_turns_with_its_slip() -> None:
    """A velocity aside of a crate that slides decays at μ g / v, its turn at μ m g (x² − μ² h²) / (v I).

    The corners at ±x and the height h of the mass share the load as springs do; they slip across by ω x.
    """
    mu, weight, speed, x, h, inertia = 0.5, 2.0 * 9.81, 2.0, 0.2, 0.1, 0.1
    model = sr.linearize_at(crate(), AT_REST, [speed, 0, 0, 0, 0, 0])
    assert model.dof == 3
    aside, turn = (model.dof + model.velocities.index(name) for name in ("float.vy", "float.wz"))
    np.testing.assert_allclose(model.A[aside, aside], -mu * 9.81 / speed, rtol=1e-12)
    np.testing.assert_allclose(
        model.A[turn, turn], -mu * weight * (x**2 - mu**2 * h**2) / (speed * inertia), rtol=1e-9
    )
    assert model.contacts is not None
    assert model.contacts.ambiguous == ()  # all shares that statics allows have this sum of x²


def test_models_name_contacts_whose_shares_they_depend_on() -> None:
    """Friction that turns with the slip of each corner depends on a share of the load that statics leaves open."""
    slides = [2.0, 1.0, 0, 0, 0, 0]
    four, three = (sr.linearize_at(crate(n), AT_REST, slides, tau=[0, 0, 0, 1.0, -1.0, 0]) for n in (4, 3))
    assert four.contacts is not None
    assert four.contacts.ambiguous == ("c0", "c1", "c2", "c3")
    assert three.contacts is not None
    assert three.contacts.ambiguous == ()
    for corners in (4, 3):
        system, tau = crate(corners), np.array([0, 0, 0, 1.0, -1.0, 0])
        step = sr.sensitivity.step_derivatives(system, AT_REST, slides, tau=tau)
        assert step.ambiguous == (("c0", "c1", "c2", "c3") if corners == 4 else ())
    motion = sr.sensitivity.motion_derivatives(
        crate(4), AT_REST, slides, duration=2e-3, force=lambda q, v, t: ca.DM(tau)
    )
    assert motion.ambiguous == ("c0", "c1", "c2", "c3")
    straight = sr.sensitivity.step_derivatives(crate(4), AT_REST, [2.0, 0, 0, 0, 0, 0])
    assert straight.ambiguous == ()  # all shares that statics allows have the same derivatives


def test_what_sticks_is_no_state() -> None:
    assert sr.linearize_at(crate(), AT_REST).names == ()
    model = sr.linearize(crate(), AT_REST)
    assert model.A.shape == (0, 0)
    assert model.stable


def standing_leg(hinges: dict[str, object] | None = None) -> sr.System:
    """Return a leg on toe and heel, with a slide on its stop and one held by dry friction; or on hinges and welds."""
    mechanism = sr.Mechanism("leg")
    for name in ("x rail", "z rail"):
        mechanism.add_body(name, 0.1)
    for name, mass, com in (
        ("trunk", 5.0, (0.03, 0, 0.1)),
        ("thigh", 1.0, (0, 0, -0.15)),
        ("shank", 1.0, (0.01, 0, -0.1)),
        ("foot", 0.5, (0.02, 0, -0.03)),
        ("slide", 1.0, (0, 0, 0)),
        ("brake", 1.0, (0, 0, 0)),
    ):
        mechanism.add_body(name, mass, com=com, inertia=(0.02,) * 3)
    mechanism.add_joint("x", "prismatic", "world", "x rail", axis=(1, 0, 0))
    mechanism.add_joint("z", "prismatic", "x rail", "z rail", axis=(0, 0, 1))
    mechanism.add_joint("pitch", "revolute", "z rail", "trunk", axis=(0, 1, 0))
    for name, parent, child, height, reference in (
        ("hip", "trunk", "thigh", 0.0, 0.35), ("knee", "thigh", "shank", -0.4, -0.6),
        ("ankle", "shank", "foot", -0.4, 0.3),
    ):  # fmt: skip
        mechanism.add_joint(
            name, "revolute", parent, child, axis=(0, 1, 0), parent_pose=(0, 0, height),
            stiffness=800.0, spring_reference=reference,
        )  # fmt: skip
    for name in ("hip", "knee"):
        mechanism.add_actuator(name, name)
    for name, law in (("slide", {"limits": (0.0, 1.0)}), ("brake", {"friction": 30.0})):
        mechanism.add_joint(name, "prismatic", "trunk", name, axis=(0, 0, 1), **({} if hinges else law))
        if hinges:
            mechanism.add_closure(f"{name} held", "weld", name, "trunk", pose2=(0, 0, hinges[name]))
    for name, x in FEET.items():
        if hinges:
            mechanism.add_closure(name, "point", "foot", "world", pose1=(x, 0, -0.06), pose2=hinges[name])
        else:
            mechanism.add_contact(name, "foot", (x, 0, -0.06), friction="coulomb", friction_coefficient=0.9)
    z = "pose1.z" if hinges else "point.z"
    targets = {
        "k": "knee.stiffness",
        "m": "trunk.mass",
        "l": "ankle.anchor.z",
        "soles": [f"{n}.{z}" for n in FEET],
    }
    return sr.System(mechanism, targets)


FEET = {"toe": 0.15, "heel": -0.1}


def test_what_stands_has_the_derivatives_of_what_is_on_hinges() -> None:
    """Linear model and derivatives of the equilibrium are those with closures and welds in place of contacts."""
    system, u = standing_leg(), np.array([1.0, 2.0])
    start = system.assemble([0, 0.83, 0, 0.35, -0.6, 0.25, 0, 0], within_limits=True).q.copy()
    start[1] -= contact_row_state(system, start, np.zeros(system.nv), 0.0).gaps[:2].min()
    q = sr.equilibrium(system, start, u).q
    places, turns = system.body_placements(q)
    k = list(system.mechanism.bodies).index("foot")
    hinges: dict[str, object] = {n: tuple(places[k] + turns[k] @ [x, 0, -0.06]) for n, x in FEET.items()}
    hinged = standing_leg(hinges | {"slide": q[-2], "brake": q[-1]})
    ours, theirs = (sr.linearize(s, q, u, outputs=["pitch", "z.rate"]) for s in (system, hinged))
    assert ours.names == theirs.names
    for name in ("A", "B", "C"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-8)
    here, there = (sr.sensitivity.equilibrium_derivatives(s, q, u) for s in (system, hinged))
    for name in ("dq", "dq_du", "constraint_force"):
        np.testing.assert_allclose(getattr(here, name), getattr(there, name), rtol=1e-10, atol=1e-11)
    with pytest.raises(SolveError, match="derivatives of eigenvalues do not know 'toe'"):
        sr.sensitivity.eigenvalue_derivatives(system, q, u)


def on_stop(force: float) -> tuple[sr.System, Array]:
    mechanism = sr.Mechanism("lift")
    mechanism.add_body("cabin", mass=1.0)
    mechanism.add_joint("height", "prismatic", "world", "cabin", axis=(0, 0, 1), limits=(0.0, 1.0))
    mechanism.add_actuator("winch", "height")
    return sr.System(mechanism), np.array([force])


UP = [0, 0, 2 * 9.81, 0, 0, 0]


@pytest.mark.parametrize(
    ("corners", "tau", "said"),
    [
        (1, UP, "contact 'c0' is closed without a force"),
        (4, [9.81, 0, 0, 0, 0, 0], "contact 'c.' sticks with all the friction"),
        (4, [12, 0, 0, 0, 0, 0], "contact 'c0' begins to slip"),
        (0, [9.81], "'height.lower stop' is closed without a force"),
    ],
)
def test_at_a_border_of_modes_there_is_no_derivative(corners: int, tau: list[float], said: str) -> None:
    system, q = (crate(corners), AT_REST) if corners else (on_stop(0.0)[0], np.zeros(1))
    with pytest.raises(SolveError, match=f"no derivatives, where {said}.*one-sided"):
        sr.linearize_at(system, q, tau=tau)
    assert sr.linearize_at(system, q, tau=tau, contacts=False).contacts is None


def test_what_lifts_off_is_free() -> None:
    """A contact without gap that opens with an acceleration is open: the model is that of the free body."""
    lifted = sr.linearize_at(crate(1), AT_REST, tau=[0, 0, 3 * 9.81, 0, 0, 0])
    free = sr.linearize_at(crate(1), AT_REST, tau=[0, 0, 3 * 9.81, 0, 0, 0], contacts=False)
    np.testing.assert_array_equal(lifted.A, free.A)
    np.testing.assert_array_equal(lifted.affine, free.affine)


def test_models_along_a_motion_are_those_at_its_states() -> None:
    scene = FAMILIES["quadruped"](np.random.default_rng([7, 3]))
    assert scene is not None
    q, v, u = (np.array([part, part]) for part in (scene.q, scene.v, scene.u))
    along, at = (
        sr.linearize_along(scene.system, q, v, u),
        sr.linearize_at(scene.system, scene.q, scene.v, scene.u),
    )
    np.testing.assert_array_equal(along.A[1], at.A)
    np.testing.assert_array_equal(along.B[0], at.B)
    with pytest.raises(
        SolveError, match=r"at state 1 .*the mode of 'c0' is SLIDING, unlike at the first state"
    ):
        sr.linearize_along(crate(), [AT_REST, AT_REST], [np.zeros(6), [1, 0, 0, 0, 0, 0]])


def test_relations_describe_motions_of_the_mechanism_alone() -> None:
    system, u = on_stop(0.0)
    relation = sr.coordinates.Relation(lambda q, y: [q[0] - y[0]], ["h"])
    with pytest.raises(SolveError, match=r"height\.lower stop leave fewer"):
        sr.linearize_at(system, [0.0], [0.0], u, coordinates=relation)
    up = sr.linearize_at(system, [0.5], [0.0], u, coordinates=relation)
    assert up.coordinates == ("h",)


def test_relations_keep_the_friction_of_joints_that_slide() -> None:
    mechanism = sr.Mechanism("slide")
    mechanism.add_body("block", mass=2.0)
    mechanism.add_joint("z", "prismatic", "world", "block", axis=(0, 0, 1), friction=30.0)
    system = sr.System(mechanism)
    half = sr.coordinates.Relation(lambda q, y: [q[0] - 2.0 * y[0]], ["y"])
    both = sr.coordinates.Relation(
        lambda q, y: [q[0] - 2.0 * y[0]],
        ["y"],
        velocity=lambda q, v, y, z: [v[0] - 2.0 * z[0]],
        velocity_names=["w"],
    )
    for relation in (half, both):
        model = sr.linearize_at(system, [0.0], [-0.5], coordinates=relation)
        np.testing.assert_allclose(model.affine, [-0.25, (15.0 - 9.81) / 2.0], atol=1e-14)
        assert model.contacts is not None
        with pytest.raises(SolveError, match=r"z\.friction leave fewer"):
            sr.linearize(system, [0.0], coordinates=relation)


def on_a_string(along: float) -> tuple[sr.System, Array, Array]:
    """Return a sledge on a floor and on a string with dry friction, with a slide that rubs, and a state of it."""
    mechanism = sr.Mechanism("sledge")
    for name, mass in (("rail", 0.5), ("sledge", 1.0), ("slide", 0.7)):
        mechanism.add_body(name, mass, inertia=(0.1,) * 3)
    mechanism.add_joint("x", "prismatic", "world", "rail", axis=(1, 0, 0))
    mechanism.add_joint("z", "prismatic", "rail", "sledge", axis=(0, 0, 1))
    mechanism.add_joint("slide", "prismatic", "world", "slide", axis=(0, 1, 0), friction=0.5)
    mechanism.add_tendon("string", [("world", (0, 0, 1)), ("sledge", (0.3, 0, 0))], friction=2.0)
    mechanism.add_contact("floor", "sledge", (0, 0, 0), friction="coulomb", friction_coefficient=0.1)
    lifted = 0.2 * (along > 1.0)
    return sr.System(mechanism), np.array([0.1, lifted, 0.0]), np.array([along, lifted, 0.3])


@pytest.mark.parametrize("along", [0.5, -0.5, 1.5])
def test_dry_friction_of_a_tendon_turns_with_it(along: float) -> None:
    """On the floor and above it: a tendon that slides pulls with a constant force along its path."""
    system, q, v = on_a_string(along)
    on_floor = q[1] == 0.0
    model = sr.linearize_at(system, q, v)
    assert model.names == (("x", "slide", "x.rate", "slide.rate") if on_floor else model.names)
    free = [system.coordinate_names.index(name) for name in model.coordinates]
    assert len(free) == (2 if on_floor else 3)

    def rates(x: Array) -> Array:
        p, w = q.copy(), v.copy()
        p[free], w[free] = np.split(x, 2)
        return np.concatenate([w[free], system.forward_dynamics(p, w).a[free]])

    x, columns = np.concatenate([q[free], v[free]]), []
    for unit in np.eye(len(x)):
        near, far = ((rates(x + h * unit) - rates(x - h * unit)) / (2.0 * h) for h in (1e-4, 2e-4))
        columns.append((4.0 * near - far) / 3.0)
    np.testing.assert_allclose(model.A, np.array(columns).T, rtol=0, atol=EXACT)
    apart, error = step_error(Scene(system, q, v, np.zeros(0)), 1e-3, np.random.default_rng(0))
    assert apart < 1e-12
    assert error < EXACT


def test_relations_know_no_dry_friction_of_tendons() -> None:
    system, q, v = on_a_string(1.5)
    half = sr.coordinates.Relation(lambda q, y: [q[i] - 2.0 * y[i] for i in range(3)], ["a", "b", "c"])
    with pytest.raises(SolveError, match=r"the dry friction of string\.friction turns with the tendon"):
        sr.linearize_at(system, q, v, coordinates=half)


# --- steps and motions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        ("crate slides", 0), ("crate sticks", 1), ("quadruped", 0), ("balls roll", 1), ("leg slides", 1),
        ("standing", 1), ("loop", 0), ("gears", 1),
    ],
)  # fmt: skip
def test_steps_are_those_of_the_simulator_and_their_differences(family: str, seed: int) -> None:
    scene = FAMILIES[family](np.random.default_rng([7, seed]))
    assert scene is not None
    apart, error = step_error(scene, 1e-3, np.random.default_rng(seed))
    assert apart < 1e-12
    assert error < EXACT


def with_parameters() -> tuple[sr.System, Array, Array]:
    mechanism = sr.Mechanism("crate")
    mechanism.add_body("crate", mass=2.0, inertia=(0.1, 0.12, 0.14))
    mechanism.add_joint("float", "free", "world", "crate")
    mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
    mechanism.add_joint(
        "neck", "revolute", "crate", "bob", axis=(1, 2, 0), parent_pose=(0, 0.02, 0.05), stiffness=2.0
    )
    for k, (x, y) in enumerate([(0.2, 0.2), (-0.2, 0.2), (0.0, -0.2)]):
        mechanism.add_contact(f"c{k}", "crate", (x, y, -0.1), friction="coulomb", friction_coefficient=0.3)
    targets = {
        "m": "bob.mass",
        "k": "neck.stiffness",
        "h": [f"c{k}.point.z" for k in range(3)],
        "x": "c0.point.x",
    }
    return (
        sr.System(mechanism, targets),
        np.array([0, 0, 0.1, 1, 0, 0, 0, 0.2]),
        np.array([1.0, 0.5, 0, 0, 0, 1.0, 2.0]),
    )


def test_steps_follow_parameters_that_move_contacts() -> None:
    system, q, v = with_parameters()
    found, dt = sr.sensitivity.step_derivatives(system, q, v, dt=2e-3), 2e-3
    phase = flow_of(system.workspace().copy(), system.pack(q, v), [], True).phase
    for k, name in enumerate(found.parameter_names):
        size, ends = 1e-3 * max(0.1, abs(system.parameters[name])), []
        for sign in (2.0, 1.0, -1.0, -2.0):
            work = system.with_parameters({name: system.parameters[name] + sign * size}).workspace().copy()
            flow = PhaseFlow(
                work, work.pack(q, v), [], replace(phase, state=replace(phase.state, system=work))
            )
            end = flow.step(flow.start(work.pack(q, v)), dt)
            ends.append(np.concatenate([difference(system, q, end.x[system.parts.q]), end.x[system.parts.v]]))
        far, near = (ends[0] - ends[3]) / (4.0 * size), (ends[1] - ends[2]) / (2.0 * size)
        exact = (4.0 * near - far) / 3.0
        np.testing.assert_allclose(found.P[:, k], exact, rtol=0, atol=EXACT * max(1.0, np.abs(exact).max()))


def test_motions_within_a_phase_have_derivatives() -> None:
    """A crate that slides and turns with its bob: differences of runs, by a start that the floor allows and by m."""
    system, q, v = with_parameters()
    options = {"duration": 0.05, "dt": 1e-3}
    found = sr.sensitivity.motion_derivatives(system, q, v, **options, parameters=["m", "k"])
    way = np.array([0.3, -0.2, 0, 0, 0, 0.4, 0.5, 0.2, 0.3, 0, 0, 0, -0.3, 0.6])

    def end(s: sr.System, size: float) -> Array:
        run = sr.simulate(
            s,
            system.move(q, size * way[:7]),
            v + size * way[7:],
            **options,
            method="rk4",
            error_estimate=False,
        )
        return np.concatenate([difference(system, found.q[-1], run.q[-1]), run.v[-1]])

    far, near = ((end(system, h) - end(system, -h)) / (2.0 * h) for h in (2e-4, 1e-4))
    np.testing.assert_allclose(found.by_start[-1] @ way, (4.0 * near - far) / 3.0, rtol=0, atol=EXACT)
    for k, name in enumerate(("m", "k")):
        value = system.parameters[name]
        there, back = (end(system.with_parameters({name: value + h}), 0.0) for h in (1e-4, -1e-4))
        ours = np.concatenate([found.along[-1], found.dv[-1]])[:, k]
        np.testing.assert_allclose(ours, (there - back) / 2e-4, rtol=0, atol=1e-7)
    with pytest.raises(SolveError, match=r"or a joint meets its limit, at t = .* s: c"):
        sr.sensitivity.motion_derivatives(system, q, v, duration=1.0, dt=1e-3)
    with pytest.raises(SolveError, match=r"from t = 0 to 0\.7 s, in which the mode of 'c.' changes"):
        sr.sensitivity.step_derivatives(system, q, v, dt=0.7)
    free = sr.sensitivity.step_derivatives(system, q, v, contacts=False)
    assert free.v[2] < 0.0


@pytest.mark.parametrize(("friction", "active"), [("stick", True), ("stick", False), ("frictionless", False)])
def test_motions_on_contacts_that_are_constraints_have_derivatives(friction: str, active: bool) -> None:
    """A rod on the end that touches, with an end that is in the air; differences of runs, by start and by mass."""
    mechanism = sr.Mechanism("rod")
    mechanism.add_body("rod", 1.0, inertia=(0.1, 0.12, 0.14))
    mechanism.add_joint("free", "planar", "world", "rod", axis=(0, -1, 0), axis2=(1, 0, 0))
    mechanism.add_body("bob", 0.5, com=(0.05, 0, 0.1), inertia=(3e-3, 2e-3, 1e-3))
    mechanism.add_joint("neck", "revolute", "rod", "bob", axis=(0, 1, 0), stiffness=2.0)
    for name, x in (("left", -0.5), ("right", 0.5)):
        mechanism.add_contact(name, "rod", (x, 0, 0), friction=friction, active=active and name == "left")
    system = sr.System(mechanism, {"m": "bob.mass"})
    q, v = np.array([0.1, 0.5 * np.sin(0.4), 0.4, 0.2]), np.array([0.0, 0.0, 0.3, 0.5])
    q[1] -= gaps(system, q)["left"]
    closed = system.varied()
    switch_on(closed, ["left"], q)
    rows = closed.constraint_jacobian(q)
    v -= np.linalg.pinv(rows) @ (rows @ v)
    options = {"duration": 0.04, "dt": 1e-3}
    found = sr.sensitivity.motion_derivatives(system, q, v, **options)
    assert found.trajectory.switches[0].closed == ("left",)
    way = found.by_start[0] @ np.array([0.3, 0.2, 0.4, 0.5, 0.2, 0.1, 0.3, -0.6])  # on what is closed

    def end(s: sr.System, size: float) -> Array:
        p, w = q + size * way[:4], v + size * way[4:]
        run = sr.simulate(s, p, w, **options, method="rk4", error_estimate=False)
        return np.concatenate([run.q[-1], run.v[-1]])

    far, near = ((end(system, h) - end(system, -h)) / (2.0 * h) for h in (2e-4, 1e-4))
    np.testing.assert_allclose(found.by_start[-1] @ way, (4.0 * near - far) / 3.0, rtol=0, atol=EXACT)
    there, back = (end(system.with_parameters({"m": 0.5 + h}), 0.0) for h in (1e-4, -1e-4))
    ours = np.concatenate([found.along[-1], found.dv[-1]])[:, 0]
    np.testing.assert_allclose(ours, (there - back) / 2e-4, rtol=0, atol=1e-7)
    with pytest.raises(SolveError, match=r"contacts or closures switch .* at t = 0\..* s: right"):
        sr.sensitivity.motion_derivatives(system, q, v, duration=1.0, dt=1e-3)
    with pytest.raises(SolveError, match=r"contacts or closures switch .* at t = 0 s: left"):
        sr.sensitivity.motion_derivatives(system, q, v - [0, 1.0, 0, 0], **options)


def test_a_step_in_which_a_stop_is_met_is_refused() -> None:
    system, u = on_stop(0.0)
    with pytest.raises(SolveError, match=r"the mode of 'height\.lower stop' changes"):
        sr.sensitivity.step_derivatives(system, [1e-3], [-1.0], u, dt=2e-3)
    bounces = sr.Mechanism("bounce", gravity=(0, 0, 0))
    bounces.add_body("cabin", mass=1.0)
    bounces.add_joint(
        "height",
        "prismatic",
        "world",
        "cabin",
        axis=(0, 0, 1),
        limits=(0.0, 1.0),
        stiffness=1e4,
        spring_reference=0.1,
    )
    with pytest.raises(
        SolveError, match=r"the mode of 'height\.lower stop' changes"
    ):  # below zero in between
        sr.sensitivity.step_derivatives(sr.System(bounces), [2e-3], [-9.85], dt=2.2e-2)


# --- implicit methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_implicit_methods_step_with_the_same_model(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerations of the kernel's linear model along the states of the phase are those of `linearize_at`."""
    seen: list[tuple[LocalModel, la.Table]] = []
    attach = LocalModel.attach
    monkeypatch.setattr(
        LocalModel, "attach", lambda self, table, x: (seen.append((self, table)), attach(self, table, x))[1]
    )
    system, q, v, _ = CASES[case]()
    force = np.zeros(system.nv)
    force[0] = 300.0 if case == "a stop under load" else 0.0
    push = None if not force.any() else lambda q, v, t: ca.DM(force)
    q, v = np.array(q, float), np.array(v, float)
    if case == "gears that mesh":  # flanks that have met
        run = sr.simulate(system, q, v, duration=1e-3, error_estimate=False)
        q, v = run.q[-1], run.v[-1]
    h = 1e-7
    sr.simulate(
        system, q, v, duration=h, dt=h, method="rodas5p", force=push, error_estimate=False, throw=False
    )
    kernel, table = seen[0]
    local = view_fields(kernel.array, local_sizes(table))
    nv, ny, dof = system.nv, system.nv - int(table.holonomic_rank), system.nv - int(table.generic_rank)
    n = ny + dof
    model = sr.linearize_at(system, q, v, tau=force)
    place, motions = local.place[: ny * nv].reshape(ny, nv), local.motions[: dof * nv].reshape(dof, nv)
    of_kernel = local.model[: n * (n + 1)].reshape(n, n + 1)[ny:, :n]
    along = np.vstack([place @ model.tangent[:nv], motions @ model.tangent[nv:]])
    ours = motions @ model.tangent_rates[nv:]
    np.testing.assert_allclose(of_kernel @ along, ours, rtol=0, atol=1e-9 * max(1.0, np.abs(ours).max()))
