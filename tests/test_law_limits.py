"""Limits of all laws: never broken, whatever the state and the target; where none is reached laws are as without."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from c_code import Compiled
from conftest import load_example
from legged_robots import LEGS, quadruped, slack
from random_levels import Hierarchy, Rows, carts
from sarrus import control, optimize
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status

LIMIT, PERIOD = 20.0, 1e-3


def far(size):
    """A reference that rests at zero and then wanders out of reach."""
    return lambda t: ca.vertcat(*[3.0 * ca.sin((k + 1) * t) ** 3 for k in range(size)])


def seven_laws(system, names, body, axes, force, motors, **limits):
    """Return a law of each kind."""
    place = control.point(body, axes=axes)
    tasks = [control.Task(control.point(body, axes=axis), far(1)) for axis in axes]
    size, picked = len(names), [system.coordinate_names.index(name) for name in names]
    return [
        control.ProjectedInverseDynamics(system, names, far(size), **limits),
        control.OperationalSpaceTracking(system, place, far(len(axes)), **limits),
        control.HybridMotionForce(system, names[:2], far(2), force, **limits),
        control.ServoConstraint(system, lambda q, t: q[picked] - far(size)(t), **limits),
        control.TaskHierarchy(system, tasks, **limits),
        control.Regulator(system, place, np.zeros(len(axes)), stiffness=500.0, damping=5.0, **limits),
        control.ComputedTorque(system, names, far(size), actuators=motors, **limits),
    ]


@pytest.fixture(scope="module")
def platform():
    module = load_example("three_leg_platform")
    system = sr.System(module.build())
    names = ["platform.x", "platform.y", "platform.angle"]
    motors = system.actuator_names
    q = module.pose(system, 0.05, -0.03, 0.2)
    return system, q, (names, "platform", "xy", {"leg1.p1": 5.0}, motors)


@pytest.fixture(scope="module")
def five_bar():
    mechanism = sr.load("models/five_bar.xml")
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    row, body = system.constraint_names[0], list(mechanism.bodies)[-1]
    return system, q, (["left", "right"], body, "xy", {row: 3.0}, system.actuator_names)


def random_states(system, q, count):
    """Yield closed states, near and far, slow and fast; every fourth at a singular configuration or next to one."""
    rng, found = np.random.default_rng(7), 0
    singular = sr.find_singularity(system, q).q
    while found < count:
        near, spread = (
            (singular, rng.choice([0.0, 1e-6, 1e-3])) if found % 4 == 0 else (q, rng.choice([0.02, 0.3]))
        )
        closed = system.assemble(near + spread * rng.normal(size=len(q)), throw=False)
        if not closed.status.ok:
            continue
        v = system.project_velocity(closed.q, rng.normal(size=system.nv) * rng.choice([0.1, 3.0, 20.0]))
        found += 1
        yield closed.q, v, float(rng.choice([0.0, rng.uniform(0.0, 10.0)]))


@pytest.mark.parametrize("which", ["platform", "five_bar"])
def test_no_law_breaks_its_limits(which, request):
    """10,000 states of laws in all, targets out of reach."""
    system, q, about = request.getfixturevalue(which)
    states = list(random_states(system, q, 720))
    free = seven_laws(system, *about, limits=(-np.inf, np.inf))
    limited = seven_laws(system, *about, limits=(-LIMIT, LIMIT))
    inside, outcomes = 0, Counter()
    for without, law in zip(free, limited):
        for q, v, t in states:
            u = law(q, v, t)
            assert np.abs(u).max() <= LIMIT
            outcomes[law.outcome] += 1
            wanted = without(q, v, t)
            # the rest of a hierarchy has nine tenths of the limits, all other levels have all
            if np.abs(wanted).max() <= (0.9 if law.levels[-1].soft else 1.0) * LIMIT:
                assert law.outcome == "exact"
                assert_allclose(u, wanted, rtol=0.0, atol=0.0)
                inside += 1
    assert set(outcomes) == {"exact", "relaxed"}
    assert inside > 100


def test_limits_are_those_of_the_mechanism_by_default():
    mechanism = deepcopy(carts(2).mechanism)  # the system is shared
    for name, limits in (("u0", (-1.0, 2.0)), ("u1", None)):
        mechanism.actuators[name] = replace(mechanism.actuators[name], limits=limits)
    system = sr.System(mechanism)
    law = control.TaskHierarchy(system, [control.Task(["x0", "x1"], [5.0, 5.0], 100.0, 20.0, name="go")])
    told = law.solve([0.0, 0.0], [0.0, 0.0], throw=False)
    assert_allclose(told.u, [2.0, 500.0], rtol=1e-9)
    assert told.outcome == "relaxed"
    assert told.status is Status.NOT_ACHIEVABLE
    assert told.conflict == ("actuator 'u0'",)
    assert told.levels[0].residual == pytest.approx(498.0)
    assert "'go' misses 498 of 707, because of the limits of actuator 'u0'" in told.message
    assert law.solve([4.99, 5.0], [0.0, 0.0]).outcome == "exact"


def test_what_is_preferred_keeps_inside_limits():
    """An actuator that a law does not use has its preferred control, as far as limits allow."""
    system = carts(2)
    law = control.ComputedTorque(system, "x0", 1.0, actuators=["u0"], limits=([-9.0, 3.0], [9.0, 4.0]))
    assert_allclose(law([1.0, 0.0], [0.0, 0.0]), [0.0, 3.0])
    assert_allclose(law([0.0, 0.0], [0.0, 0.0]), [9.0, 3.0], rtol=1e-9)


def test_controls_change_no_faster_than_they_may():
    system = carts(2)
    law = control.TaskHierarchy(system, [control.Task(["x0", "x1"], [5.0, -5.0])], largest_rate=1000.0)
    zero, told = np.zeros(2), [np.zeros(2)]
    law.sample([5.0, -5.0], zero, 0.0, PERIOD)
    told += [law.sample(zero, zero, k * PERIOD, PERIOD) for k in range(1, 800)]
    steps = np.abs(np.diff(told, axis=0))
    assert steps.max() <= 1000.0 * PERIOD * (1.0 + 1e-9)
    assert_allclose(told[-1], [500.0, -500.0], rtol=1e-9)


def test_constraints_of_the_user_hold():
    """Half of 100 N for both, and the length of the rest."""
    system = carts(3)
    rows = optimize.ConeRows(
        np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]),
        np.array([100.0, 30.0, 0.0, 0.0]), 1, (3,),
    )  # fmt: skip
    tasks = [control.Task(f"x{k}", 5.0, name=f"t{k}") for k in range(3)]
    law = control.TaskHierarchy(system, tasks, constraints=rows)
    told = law.solve(np.zeros(3), np.zeros(3), throw=False)
    # the first takes all that there is, the second may push back up to 30 N
    assert told.u[0] == pytest.approx(130.0, rel=1e-7)
    assert told.u[1] == pytest.approx(-30.0, rel=1e-7)
    assert abs(told.u[2]) < 1e-2
    assert (
        told.conflict
        == ("constraint 0", "constraint 1", "constraint 2", "constraint 3")[: len(told.conflict)]
    )


def test_no_controls_inside_all_limits_is_an_error_or_damps():
    system = carts(2)
    rows = optimize.ConeRows(np.array([[-1.0, 0.0]]), np.array([-5.0]), 1)
    task = control.Task(["x0", "x1"], [0.0, 0.0], name="rest")
    law = control.TaskHierarchy(system, [task], limits=(-2, 2), constraints=rows)
    with pytest.raises(SolveError, match=r"no controls lie inside all limits: .*actuator 'u0'"):
        law(np.zeros(2), np.zeros(2))
    damped = control.TaskHierarchy(system, [task], limits=(-2, 2), constraints=rows, hold=True)
    told = damped.solve(np.zeros(2), [0.05, -3.0], throw=False)
    assert_allclose(told.u, [-1.0, 2.0])
    assert told.outcome == "damped"
    assert told.status is Status.INFEASIBLE


def test_damped_joints_lose_their_velocities(platform):
    """Motors that share a loop: the acceleration they agree on is −κ times the velocity."""
    system, q, _ = platform
    n = system.nu
    rows = optimize.ConeRows(np.zeros((1, n)), np.array([-1.0]), 1)  # nothing is inside
    law = control.TaskHierarchy(system, [control.Task("platform.x", 0.0)], constraints=rows, hold=True)
    v = system.project_velocity(q, np.random.default_rng(2).normal(size=system.nv))
    u = law(q, v)
    S = system.actuation_matrix(q)
    a = system.forward_dynamics(q, v, u).a
    assert_allclose(S.T @ a, -20.0 * (S.T @ v), rtol=0.0, atol=1e-5 * np.abs(S.T @ a).max())


def test_singular_directions_are_damped_and_others_are_not():
    """σ / (σ² + ¼(ε² − σ²)) below ε = 0.1, for the singular values 1, 0.5, 0.05, 1e-5; no longer than 1.16 / ε."""
    rng, n = np.random.default_rng(5), 6
    U, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    V, _ = np.linalg.qr(rng.normal(size=(n, n)))
    sigma, d, zero = np.array([1.0, 0.5, 0.05, 1e-5]), rng.normal(size=4), np.zeros(n)
    T = (U * sigma) @ V[:, :4].T
    size = np.linalg.norm(T, axis=1).max()
    law = Hierarchy(carts(n), (4,), 1, singular_damping=0.1 / size, limits=(-1, 1))
    law.take([Rows(T, d, False)], np.full(n, -np.inf), np.full(n, np.inf))
    damping = np.maximum(0.0, 0.25 * (0.1**2 - sigma**2))
    expected = V[:, :4] @ ((sigma / (sigma**2 + damping)) * (U.T @ d))
    assert_allclose(law(zero, zero), expected, rtol=0.0, atol=1e-11)
    assert np.linalg.norm(law(zero, zero)) < 1.16 / 0.1 * np.linalg.norm(d)
    told = law.solve(zero, zero, throw=False)
    assert told.levels[0].residual == pytest.approx(np.linalg.norm(T @ told.u - d))


@pytest.mark.parametrize("epsilon", [1e-3, 1e-2])
def test_the_bound_of_damped_controls(epsilon):
    """Whatever the rows: of one level, in parts of what it demands."""
    n, rng = 5, np.random.default_rng(11)
    law, zero = Hierarchy(carts(n), (3,), 1, singular_damping=epsilon, limits=(-1, 1)), np.zeros(5)
    for _ in range(300):
        T = rng.normal(size=(3, n))
        T[1] = T[0] + 10.0 ** rng.uniform(-12, 0) * rng.normal(size=n)
        d = rng.normal(size=3)
        law.take([Rows(T, d, False)], np.full(n, -np.inf), np.full(n, np.inf))
        size = np.linalg.norm(T, axis=1).max()
        assert np.linalg.norm(law(zero, zero)) <= 1.16 * np.linalg.norm(d) / (epsilon * size)


def test_c_has_the_limits_too(tmp_path):
    """A law without contacts: the same bits as Python, where it is exact and where it is not."""
    system = sr.System(sr.load("models/five_bar.xml"))
    q = system.assemble(system.mechanism.keyframes["symmetric"].q).q
    law = control.ProjectedInverseDynamics(system, ["left", "right"], far(2), limits=(-9.0, 8.0))
    compiled, u = Compiled(sr.export.c_code(law, tmp_path, q=q), system), np.zeros(2)
    outcomes = set()
    for k, speed in enumerate((0.0, 0.1, 0.5, 2.0)):
        v = system.project_velocity(q, speed * np.ones(system.nv))
        expected = law(q, v, 0.3 * k)
        outcomes.add(law.outcome)
        compiled.call("law", q, v, 0.3 * k, u)
        assert_allclose(u, expected, rtol=1e-12, atol=1e-12)
    assert "relaxed" in outcomes


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"limits": (1, 0)}, "lower < upper for every actuator"),
        ({"limits": ([0, 0, 0], 1)}, "numbers or 2 of them"),
        ({"largest_rate": -1.0}, "largest_rate must be at least 0"),
        ({"singular_damping": 1.0}, "singular_damping is relative and must be from 0 to 1"),
        ({"relaxation": [1.0, 2.0, 3.0]}, "relaxation must be None, a positive number or 2 of them"),
        ({"limit": 3.0}, "unknown option 'limit'"),
    ],
)
def test_errors_name_what_is_wrong(given, text):
    system = carts(2)
    with pytest.raises(ArgumentError, match=text):
        control.TaskHierarchy(system, [control.Task("x0", 0.0)], **given)


def test_a_law_with_contacts_keeps_them_in_any_state():
    """Thrown, twisted, fast: forces inside the cones and torques inside their limits, or damped joints inside these."""
    system, stand = quadruped(0.6)
    names = [name for name in system.coordinate_names if name.startswith(LEGS)]
    tasks = [
        control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright"),
        control.Task(control.centre_of_mass(), [3.0, 0.0, 1.0], 200.0, 25.0, name="out of reach"),
    ]
    limits = control.JointLimitBound(coordinates=names, speed=10.0, acceleration=1000.0, rate=30.0)
    law = control.LeggedController(system, tasks, limits=(-LIMIT, LIMIT), bounds=[limits], hold=True)
    rng, outcomes = np.random.default_rng(3), Counter()
    for k in range(1500):
        q = system.normalized(stand + rng.normal(size=len(stand)) * rng.choice([0.02, 0.3, 2.0]))
        v = rng.normal(size=system.nv) * rng.choice([0.0, 0.3, 3.0, 30.0])
        for leg in LEGS:
            law.settings[f"{leg}.closed"] = float(rng.random() < 0.7)
        u = law.sample(q, v, k * PERIOD, PERIOD)
        assert np.abs(u).max() <= LIMIT
        outcomes[law.outcome] += 1
        if law.outcome != "damped":
            scale = max(np.abs(force).max() for force in law.contact_forces.values())
            assert slack(law.contact_forces, 0.6) > -1e-7 * (1.0 + scale)
    assert {"relaxed", "damped"} <= set(outcomes)


@pytest.mark.parametrize("limits", [{}, {"limits": [[-1e3], [1e3]]}], ids=str)
def test_what_no_motor_reaches_is_not_called_exact(limits):
    """One motor, two demands: the second one cannot be met, with limits far away or with none."""
    system = sr.System.from_lagrangian(
        2, lambda q, v, t: 0.5 * (v[0] ** 2 + v[1] ** 2), inputs=lambda q: [1.0, 0.0]
    )
    both = sr.control.ProjectedInverseDynamics(system, ["q1", "q2"], [1.0, 1.0], **limits)
    told = both.solve([0.0, 0.0], [0.0, 0.0], throw=False)
    assert told.status is sr.Status.NOT_ACHIEVABLE
    assert told.outcome == "unreachable"
    one = sr.control.ProjectedInverseDynamics(system, ["q1"], [1.0], **limits)
    assert one.solve([0.0, 0.0], [0.0, 0.0]).outcome == "exact"


@pytest.mark.parametrize("bounds", [(2.0, 50.0), (-50.0, -2.0), (-1.0, 50.0)], ids=str)
@pytest.mark.parametrize("servo", [False, True])
@pytest.mark.parametrize("on_force", [False, True])
def test_limits_that_exclude_zero_do_not_shift_a_law(bounds, servo, on_force):
    """Two motors of one slider, of which one never gives zero: together they give what the law asks for."""
    mechanism = sr.Mechanism("slider", gravity=(0, 0, -9.81))
    mechanism.add_body("cart", 2.0, inertia=(1, 1, 1))
    mechanism.add_joint("z", "prismatic", "world", "cart", axis=(0, 0, 1))
    key = "force_limits" if on_force and not servo else "limits"
    servo_bias = {"bias": (0.0, -30.0, -4.0)} if servo else {}
    mechanism.add_actuator("one", "z", gain=3.0, **{key: bounds}, **servo_bias)
    mechanism.add_actuator("other", "z", gain=-1.0)
    system = sr.System(mechanism)
    law = control.ProjectedInverseDynamics(system, ["z"], [0.1], stiffness=9.0, damping=4.0)
    for q, v in (([0.1], [0.0]), ([0.3], [-0.2])):
        u = law(q, v)
        wanted = 9.0 * (0.1 - q[0]) - 4.0 * v[0]
        assert system.forward_dynamics(q, v, u).a == pytest.approx([wanted], abs=1e-9)
