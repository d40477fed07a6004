"""Control laws against the published formulas, closed forms, and each other."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import sarrus as sr
from mechanisms import random_loop
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status
from sarrus.control import references

State = tuple[sr.System, Array, Array]


def driven(kind: str) -> State:
    """A random loop with a motor on every joint of one degree of freedom."""
    mechanism, q = random_loop(kind)
    for joint in mechanism.joints():
        if joint.nv == 1:
            mechanism.add_actuator(f"{joint.name}_motor", joint.name)
    system = sr.System(mechanism)
    v = system.project_velocity(q, np.random.default_rng(5).standard_normal(system.nv))
    return system, q, v


def five_bar(every_joint: bool = False) -> State:
    mechanism = sr.load("models/five_bar.xml")
    if every_joint:
        for joint in ("left_elbow", "right_elbow"):
            mechanism.add_actuator(f"{joint}_motor", joint)
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    return system, q, system.project_velocity(q, np.array([0.4, -0.7, 0.3, 0.2]))


def platform(example: Callable[[str], object]) -> State:
    module = example("three_leg_platform")
    system = sr.System(module.build())
    q = module.pose(system, 0.05, -0.03, 0.2)
    return system, q, system.project_velocity(q, np.random.default_rng(1).standard_normal(9))


def swing(t):
    return ca.vertcat(0.3 + 0.2 * ca.sin(t), -0.1 + 0.3 * ca.cos(2 * t))


def projected_force(system: sr.System, q: Array, v: Array, names: list[str], target: Array) -> Array:
    """f∥ = h∥ + P M (Λ̇ θ̇ + Λ target): Aghili 2005, eqs. (45), (46), where Λ̇ θ̇ solves A x = −γ, Θ x = 0."""
    jacobian = system.constraint_jacobian(q, v)
    projector = np.eye(system.nv) - np.linalg.pinv(jacobian, 1e-10) @ jacobian
    rows = np.array([np.eye(system.nv)[system.velocity_names.index(name)] for name in names])
    full = np.vstack([jacobian, rows])
    right = np.concatenate([-system.constraint_bias(q, v), target])
    motion = np.linalg.pinv(full, 1e-10) @ right
    force = system.bias_force(q, v) - system.passive_force(q, v)
    return projector @ (force + system.mass_matrix(q) @ motion)


def test_projected_inverse_dynamics_is_the_projected_force() -> None:
    """With a motor on every joint the generalized force is f∥ itself, the least one."""
    system, q, v = five_bar(every_joint=True)
    names = ["left", "right"]
    law = control.ProjectedInverseDynamics(system, names, swing, stiffness=64.0, damping=16.0)
    t = 0.4
    theta, rate = q[[0, 2]], v[[0, 2]]
    wanted, slope, curve = (references.sample(swing, [t], k)[0] for k in range(3))
    target = curve + 16.0 * (slope - rate) + 64.0 * (wanted - theta)
    expected = projected_force(system, q, v, names, target)
    assert_allclose(
        system.actuation_matrix(q) @ law(q, v, t), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
    )
    a = system.forward_dynamics(q, v, law(q, v, t), t).a
    assert_allclose(a[[0, 2]], target, atol=1e-10)


def test_passive_joints_get_the_force_of_the_paper() -> None:
    """f = (I + H) f∥, H = −(I − P) Q⁺ (I − B), Q = I − B − P + BP (Aghili 2005, eqs. (57) to (62))."""
    system, q, v = five_bar()
    law = control.ProjectedInverseDynamics(system, ["left", "right"], [0.3, -0.1])
    target = 20.0 * -v[[0, 2]] + 100.0 * (np.array([0.3, -0.1]) - q[[0, 2]])
    along = projected_force(system, q, v, ["left", "right"], target)
    jacobian, eye = system.constraint_jacobian(q), np.eye(4)
    p = eye - np.linalg.pinv(jacobian) @ jacobian
    b = np.diag([1.0, 0.0, 1.0, 0.0])
    h = -(eye - p) @ np.linalg.pinv(eye - b - p + b @ p, 1e-10) @ (eye - b)
    expected = (eye + h) @ along
    force = system.actuation_matrix(q) @ law(q, v)
    assert_allclose(force, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    assert np.abs(force[[1, 3]]).max() <= 1e-12 * np.abs(force).max()


@pytest.mark.parametrize("kind", ["hinges", "mixed"])
def test_least_weighted_norm_on_random_loops(kind: str) -> None:
    """The law's u is inverse dynamics for the acceleration that it asks for."""
    system, q, v = driven(kind)
    free = sr.mobility(system, q).dof
    reach = control.controllability(system, q)
    names = [n for n in system.velocity_names if n in system.coordinate_names][:free]
    weights = np.random.default_rng(2).uniform(0.3, 3.0, system.nu)
    law = control.ProjectedInverseDynamics(system, names, [0.1] * len(names), weights=weights)
    result = law.solve(q, v, throw=False)
    a = system.forward_dynamics(q, v, result.u).a
    if reach.controllable:
        inverse = system.inverse_dynamics(q, v, a, weights=weights)
        assert inverse.u @ (weights * inverse.u) <= result.u @ (weights * result.u) * (1 + 1e-9) + 1e-24
    if result.status is Status.OK:
        indices = [system.velocity_names.index(name) for name in names]
        places = [system.coordinate_names.index(name) for name in names]
        assert_allclose(a[indices], -20.0 * v[indices] + 100.0 * (0.1 - q[places]), atol=1e-7)


def test_units_do_not_matter_with_weights(example) -> None:
    """The two arms have redundant motors: weighting all alike changes nothing, weighting one moves the load."""
    module = example("two_arms")
    system = sr.System(module.build())
    q, v, _ = module.lift(0.7)
    names = ["joint1", "joint2", "joint3"]
    hold = control.ProjectedInverseDynamics(system, names, q[:3], stiffness=0.0, damping=0.0)
    heavy = control.ProjectedInverseDynamics(
        system, names, q[:3], stiffness=0.0, damping=0.0, weights=[1e6, 1, 1, 1, 1, 1]
    )
    alike = control.ProjectedInverseDynamics(
        system, names, q[:3], stiffness=0.0, damping=0.0, weights=[7.0] * 6
    )
    assert_allclose(hold(q, v), alike(q, v), atol=1e-12)
    assert abs(heavy(q, v)[0]) < 1e-4 < abs(hold(q, v)[0])
    same = [system.forward_dynamics(q, v, law(q, v)).a for law in (hold, heavy)]
    assert_allclose(same[0], same[1], atol=1e-10)


def test_servo_constraint_on_two_masses(example) -> None:
    """F = −(1 + m₁/m₂) k (x₂ − x₁ − l) keeps the distance of the masses (Liu et al. 2015, section IV)."""
    module = example("two_mass_spring")
    mechanism = module.build()
    system = sr.System(mechanism)
    m1, m2 = (body.mass for body in mechanism.bodies.values())
    q = system.neutral() + np.array([0.0, 0.15])
    law = control.ServoConstraint(system, holonomic=lambda q, t: q[1] - q[0], alpha=0.0, beta=0.0)
    pull = system.passive_force(q, np.zeros(2))[1]  # −k (x₂ − x₁ − l) on the second mass
    assert abs(pull) > 0.01
    assert_allclose(law(q, np.zeros(2)), (1 + m1 / m2) * pull, rtol=1e-12)


def object_is_lifted(q, t):
    """The object is level, its middle at x = 1.5 m and y = (1 − cos t)/2."""
    first, second = q[0], q[0] + q[1]
    x, y = ca.cos(first) + ca.cos(second), ca.sin(first) + ca.sin(second)
    return ca.vertcat(x - 1.0, y - 0.5 * (1 - ca.cos(t)), second + q[2])


def test_servo_constraint_of_the_two_arms(example) -> None:
    """The specified motion holds to 1e-6, the closure to 1e-12, with the controls of the consistent law."""
    module = example("two_arms")
    system = sr.System(module.build())

    law = control.ServoConstraint(system, holonomic=object_is_lifted, alpha=10.0, beta=10.0)
    q0, v0, _ = module.lift(0.0)
    motion = sr.simulate(system, q0, v0, duration=2 * np.pi, dt=1e-3, control=law)
    assert motion.status is Status.OK
    exact = np.array([module.lift(t)[0] for t in motion.t])
    assert np.abs(motion.q - exact).max() < 1e-6
    assert motion.residual.max() < 1e-12
    lowest, highest = motion.u.min(axis=0), motion.u.max(axis=0)
    # printed with two decimals, further ones cut off
    assert_allclose(lowest, [0, 0, -8.22, 4.46, -4.48, -8.22], rtol=0, atol=0.01)
    assert_allclose(highest, [8.22, 4.48, -4.46, 8.22, 0, 0], rtol=0, atol=0.01)


def test_the_printed_servo_law_opens_the_closure(example) -> None:
    """Eq. (35) of Liu et al.: controls near those of the paper's figures, and a closure that accelerates apart."""
    module = example("two_arms")
    system = sr.System(module.build())
    law = control.ServoConstraint(system, holonomic=object_is_lifted, alpha=10.0, beta=10.0)
    printed = law.printed(module.lift(1.0)[0])
    states = [(*module.lift(t)[:2], t) for t in np.linspace(0.0, 2 * np.pi, 201)]
    u = np.array([np.array(printed(q, v, t))[:, 0] for q, v, t in states])
    # read from the figures to a tenth
    assert_allclose(u.min(axis=0), [1.8, 4.2, -8.8, 5.5, -5.3, -6.6], rtol=0, atol=0.06)
    assert_allclose(u.max(axis=0), [11.5, 5.1, -5.1, 12.6, 1.1, 0.7], rtol=0, atol=0.06)
    q, v, t = states[0]
    jacobian = system.constraint_jacobian(q)
    free = system.forward_dynamics(q, v)
    reaction = jacobian.T @ free.multipliers
    force = reaction + system.actuation_matrix(q) @ u[0] - system.bias_force(q, v)
    opening = jacobian @ np.linalg.solve(system.mass_matrix(q), force) + system.constraint_bias(q, v)
    print(opening)
    assert_allclose(np.abs(opening).max(), 3.4, atol=0.05)
    consistent = law(q, v, t)
    assert (
        np.abs(jacobian @ system.forward_dynamics(q, v, consistent).a + system.constraint_bias(q, v)).max()
        < 1e-12
    )


def test_error_decays_as_asked(example) -> None:
    """ë + G_D ė + G_P e = 0: the fitted rate of a critically damped law, within 1 %."""
    system, q, _ = platform(example)
    names = ["platform.x", "platform.y", "platform.angle"]
    law = control.ProjectedInverseDynamics(system, names, [0.0, 0.05, -0.1], stiffness=100.0, damping=20.0)
    motion = sr.simulate(system, q, duration=1.0, dt=1e-3, control=law)
    e = motion.q[:, 6:] - [0.0, 0.05, -0.1]
    exact = (1 + 10 * motion.t[:, None]) * np.exp(-10 * motion.t[:, None]) * e[0]
    assert np.abs(e - exact).max() < 1e-6


def test_tracking_through_singular_configurations(example) -> None:
    """Slider-crank with both joints driven: the crank turns through four folds and the law stays bounded."""
    mechanism = example("slider_crank").build()
    mechanism.add_actuator("crank_motor", "crank")
    mechanism.add_actuator("rod_motor", "rod")
    system = sr.System(mechanism)

    def turn(t):
        return 0.3 + 2.0 * t

    projected = control.ProjectedInverseDynamics(system, ["crank"], turn, stiffness=25.0, damping=10.0)
    motion = sr.simulate(system, [0.2, -0.4], [0.0, 0.0], duration=4.0, dt=1e-3, control=projected)
    assert motion.status is Status.OK
    assert len(motion.passages) >= 2
    e = motion.q[:, 0] - (0.3 + 2.0 * motion.t)
    t = motion.t
    # e(0) = −0.1, ė(0) = −2, critically damped at 5 1/s
    exact = (-0.1 + (-2.0 - 0.5) * t) * np.exp(-5 * t)
    assert np.abs(e - exact).max() < 1e-5
    classical = control.ComputedTorque(system, "crank", turn, stiffness=25.0, damping=10.0)
    for k in range(0, len(t), 40):
        force = np.linalg.norm(projected(motion.q[k], motion.v[k], t[k]))
        assert force <= np.linalg.norm(classical(motion.q[k], motion.v[k], t[k])) * (1 + 1e-9)


def test_critically_damped_position_and_free_orientation(example) -> None:
    """De Sapio and Park's platform: its place goes to the goal, what is left moves as without actuators."""
    system, q, _ = platform(example)
    task = control.Task(control.point("platform", axes="xy"), [0.0, 0.06], 100.0, 20.0, name="place")
    law = control.TaskHierarchy(system, [task])
    assert law.solve(q, np.zeros(9)).missed == ()
    motion = sr.simulate(system, q, duration=1.0, dt=1e-3, control=law)
    e = motion.q[:, 6:8] - [0.0, 0.06]
    exact = (1 + 10 * motion.t[:, None]) * np.exp(-10 * motion.t[:, None]) * e[0]
    assert np.abs(e - exact).max() < 1e-6
    assert np.abs(motion.q[-1, 8] - motion.q[0, 8]) > 1e-3
    passive = [k for k in range(9) if k not in (1, 3, 5)]
    force = system.actuation_matrix(q) @ law(q, motion.v[0])
    assert np.abs(force[passive]).max() <= 1e-14 * np.abs(force).max()


@pytest.mark.parametrize("kind", ["hinges", "mixed", "quaternions"])
def test_lower_tasks_never_disturb_higher_ones(kind: str) -> None:
    system, q, v = driven(kind)
    bodies = list(system.mechanism.bodies)
    rng = np.random.default_rng(0)
    goals = rng.standard_normal((2, 3))
    first = control.Task(control.point(bodies[-1], axes="x"), goals[0, :1], name="first")
    second = control.Task(control.point(bodies[-2], [0.1, 0.0, 0.0], "yz"), goals[1, :2], name="second")
    third = control.Task(control.centre_of_mass("xy"), goals[1, 1:], name="third")
    alone = control.TaskHierarchy(system, [first]).solve(q, v, throw=False)
    everything = control.TaskHierarchy(system, [first, second, third]).solve(q, v, throw=False)
    both = control.TaskHierarchy(system, [first, second]).solve(q, v, throw=False)
    size = 1.0 + alone.levels[0].demanded
    assert abs(everything.levels[0].residual - alone.levels[0].residual) < 1e-10 * size
    assert abs(everything.levels[1].residual - both.levels[1].residual) < 1e-9 * (1 + both.levels[1].demanded)
    # a task that repeats one above it loses its rank, and nothing else happens
    twice = control.TaskHierarchy(
        system, [first, control.Task(first.quantity, goals[0, :1] + 1.0, name="again"), second]
    ).solve(q, v, throw=False)
    assert twice.levels[1].rank == 0
    if alone.status is Status.OK:
        assert "again" in twice.missed
    assert_allclose(twice.u, both.u, atol=1e-8 * (1 + np.abs(both.u).max()))


def test_hierarchy_is_the_recursive_null_space(example) -> None:
    """Algorithm 2 of De Sapio and Park on a fully actuated loop: τ = Σ Qᵢᵀ(Λᵢ ẍᵢ + …) in the metric of M."""
    system, q, v = five_bar(every_joint=True)
    one = control.Task(control.point("link2", [1.5, 0.0, 0.0], "x"), [0.4], 50.0, 8.0, name="one")
    law = control.TaskHierarchy(system, [one])
    mass, jacobian = system.mass_matrix(q), system.constraint_jacobian(q)
    inverse = np.linalg.inv(mass)
    # constrained inverse mass, and acceleration without actuators
    theta = (
        inverse
        - inverse @ jacobian.T @ np.linalg.pinv(jacobian @ inverse @ jacobian.T, 1e-10) @ jacobian @ inverse
    )
    free = system.forward_dynamics(q, v).a
    level = law.levels[0]
    e = system.equations
    f = ca.Function("task", [e.q, e.v, e.t, *law_symbols(law)], [level.jacobian, level.wanted])
    rows, wanted = (np.array(x) for x in f(q, v, 0.0, *law.settings.values()))
    expected = theta @ rows.T @ np.linalg.solve(rows @ theta @ rows.T, wanted[:, 0] - rows @ free)
    a = system.forward_dynamics(q, v, law(q, v)).a
    assert_allclose(a - free, expected, atol=1e-9 * np.abs(expected).max())


def law_symbols(law: control.Law) -> list[ca.SX]:
    known = {s.element_hash() for s in ca.symvar(ca.vertcat(law.system.equations.q, law.system.equations.v))}
    level = law.levels[0]
    found = {s.name(): s for s in ca.symvar(level.wanted) if s.element_hash() not in known}
    return [found[name] for name in law.settings]


def test_regulator_comes_to_rest_at_its_target(example) -> None:
    system, q, _ = platform(example)
    names = ["platform.x", "platform.y", "platform.angle"]
    law = control.Regulator(system, names, [0.0, 0.05, -0.1], stiffness=[300.0, 300.0, 40.0], damping=1.5)
    motion = sr.simulate(system, q, duration=6.0, dt=1e-3, control=law)
    energy = np.array([system.kinetic_energy(a, b) for a, b in zip(motion.q[::50], motion.v[::50])])
    e = motion.q[::50, 6:] - [0.0, 0.05, -0.1]
    lyapunov = energy + 0.5 * (e**2 @ [300.0, 300.0, 40.0])
    assert np.all(np.diff(lyapunov) <= 1e-9 * lyapunov[0])
    assert np.abs(e[-1]).max() < 1e-4
    law.settings["target[1]"] = 0.0
    again = sr.simulate(system, motion.q[-1], motion.v[-1], duration=6.0, dt=1e-3, control=law)
    assert abs(again.q[-1, 7]) < 1e-4


def test_the_loop_runs_what_python_computes(example) -> None:
    system, q, v = platform(example)
    law = control.ProjectedInverseDynamics(system, ["platform.x", "platform.y"], swing)
    motion = sr.simulate(system, q, v, duration=0.1, dt=1e-3, control=law)
    for k in (0, 37, 100):
        assert_allclose(motion.u[k], law(motion.q[k], motion.v[k], motion.t[k]), rtol=1e-9)


def test_a_model_may_differ_from_the_plant(example) -> None:
    """With a platform heavier than the law believes, it sags by what the missing force is over the stiffness."""
    module = example("three_leg_platform")
    model = sr.System(module.build())
    module.PLATFORM_MASS *= 1.5
    plant = sr.System(module.build())
    q = module.pose(plant, 0.0, 0.0, 0.2)  # turned: at an angle of zero the motors cannot turn it
    names = ["platform.x", "platform.y", "platform.angle"]
    exact, mistaken = (
        control.Regulator(system, names, [0.0, 0.0, 0.2], stiffness=400.0, damping=4.0)
        for system in (plant, model)
    )
    runs = [sr.simulate(plant, q, duration=5.0, dt=2e-3, control=law).q[:, 7] for law in (exact, mistaken)]
    assert abs(runs[0][-1]) < 1e-12
    missing = (module.PLATFORM_MASS - module.PLATFORM_MASS / 1.5) * 9.81
    moving = np.ptp(runs[1][-500:])  # in the last second: more than what is left of the transient
    assert moving < 1e-7
    assert_allclose(runs[1][-1], -missing / 400.0, rtol=0, atol=moving)
    other = sr.System(sr.load("models/five_bar.xml"))
    with pytest.raises(ArgumentError, match="coordinate names"):
        sr.simulate(other, other.mechanism.keyframes["symmetric"].q, control=mistaken, duration=0.1)


def test_orientation_task_turns_a_free_body() -> None:
    """A rotation vector is reached along the shortest way, with the error dynamics of its angle."""
    mechanism = sr.Mechanism("satellite", gravity=(0, 0, 0))
    mechanism.add_body("base", 2.0, inertia=(0.3, 0.4, 0.5))
    for k, axis in enumerate(np.eye(3)):
        parent = "world" if k == 0 else f"gimbal{k}"
        body = "base" if k == 2 else f"gimbal{k + 1}"
        if k < 2:
            mechanism.add_body(body, 0.1, inertia=(0.01, 0.01, 0.01))
        mechanism.add_joint(f"axis{k}", "revolute", parent, body, axis=axis)
        mechanism.add_actuator(f"motor{k}", f"axis{k}")
    system = sr.System(mechanism)
    goal = np.array([0.3, -0.5, 0.4])
    law = control.OperationalSpaceTracking(
        system, control.orientation("base"), goal, stiffness=25.0, damping=10.0
    )
    motion = sr.simulate(system, np.zeros(3), duration=4.0, dt=2e-3, control=law)
    _, rotations = system.body_placements(motion.q[-1])
    turned = Rotation.from_matrix(rotations[list(mechanism.bodies).index("base")]).as_rotvec()
    assert_allclose(turned, goal, atol=1e-5)


def test_a_task_that_no_motor_moves_has_no_rank(example: Callable[[str], object]) -> None:
    """Unturned, the elbows push the platform through its centre: nothing turns it, rounding is not taken for it."""
    module = example("three_leg_platform")
    system = sr.System(module.build())  # type: ignore[attr-defined]
    place = control.Task(["platform.x", "platform.y"], [0.1, 0.0], 25.0, 10.0, name="place")
    turn = control.Task(["platform.angle"], [0.2], 25.0, 10.0, name="turn")
    law = control.TaskHierarchy(system, [place, turn])
    for angle, rank in ((0.0, 0), (1e-15, 0), (1e-3, 1)):
        q = system.assemble(module.pose(system, 0.0, 0.0, angle)).q  # type: ignore[attr-defined]
        found = law.solve(q, np.zeros(9), throw=False)
        assert [level.rank for level in found.levels[:2]] == [2, rank]
        assert found.missed == (() if rank else ("turn",))
        assert np.abs(found.u).max() < (1e3 if rank else 30.0)


def test_a_motor_that_moves_nothing_has_no_part() -> None:
    """Loops hold its joint: the motions that they leave have 1e-16 there, which is nothing."""
    mechanism, q = random_loop("quaternions")
    held = next(joint.name for joint in mechanism.joints() if joint.kind == "revolute")
    mechanism.add_actuator("motor", held)
    system = sr.System(mechanism)
    found = control.TaskHierarchy(system, [control.Task(held, 0.5, 10.0, 5.0, name="turn")]).solve(
        q, np.zeros(system.nv), throw=False
    )
    assert found.u == 0.0
    assert found.missed == ("turn",)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: control.ProjectedInverseDynamics(s, ["lef"], [0.0]), "left"),
        (lambda s: control.ProjectedInverseDynamics(s, ["left"], [0.0, 1.0]), "reference"),
        (lambda s: control.ProjectedInverseDynamics(s, ["left"], lambda t: float(t)), "NaN"),
        (lambda s: control.ProjectedInverseDynamics(s, ["left"], [0.0], weights=[1.0, -1.0]), "positive"),
        (lambda s: control.TaskHierarchy(s, []), "at least one task"),
        (lambda s: control.ServoConstraint(s), "holonomic= or velocity="),
        (lambda s: control.TaskHierarchy(s, [control.Task(control.point("link9"), [0, 0, 0])]), "link9"),
        (lambda s: control.ComputedTorque(s, ["left_elbow"], [0.0]), "actuators"),
    ],
)
def test_bad_input_is_named(build, message: str) -> None:
    system, _, _ = five_bar()
    with pytest.raises(ArgumentError, match=message):
        build(system)
