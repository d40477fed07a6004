"""Derivatives of motions through singular configurations: models without loops, what is refused, a plan across one."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import sarrus as sr
from conftest import load_example
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError

G = 9.81
L1, L2, M1, M2, M3, M4 = 0.4, 0.6, 1.0, 1.5, 1.0, 1.5  # of examples/parallelogram.py
DURATION = 1.5  # s
START = (0.3, -0.6)  # rad
PARAMETERS = {"m3": "link3.mass", "j4": "link4.inertia.zz"}


def slope(x: Array, m3: float = M3, j4: float = M4 * L2**2 / 12, u: Any = (0.0, 0.0)) -> Array:
    """Return ẋ of x = (θ₁, θ₂, ω₁, ω₂), the absolute angles of the parallelogram under two torques."""
    m11 = (M1 + m3) * L1**2 / 3 + M4 * L1**2 - (m3 - M3) * L1**2 / 12
    m22 = M2 * L2**2 / 3 + M4 * L2**2 / 4 + j4 + m3 * L2**2
    m12 = (m3 + M4) * L1 * L2 / 2
    c, s = m12 * np.cos(x[0] - x[1]), m12 * np.sin(x[0] - x[1])
    weights = G * L1 * ((M1 + m3) / 2 + M4), G * L2 * ((M2 + M4) / 2 + m3)
    force = [
        u[0] - weights[0] * np.cos(x[0]) - s * x[3] ** 2,
        u[1] - weights[1] * np.cos(x[1]) + s * x[2] ** 2,
    ]
    return np.concatenate([x[2:], np.linalg.solve([[m11, c], [c, m22]], force)])


def angles(start: Any, times: Array, *masses: float) -> Array:
    """Return x at times (4 × N)."""
    begun = np.concatenate([start, np.zeros(4 - len(start))])
    run = solve_ivp(
        lambda t, x: slope(x, *masses), times[[0, -1]], begun, "DOP853", times, rtol=1e-13, atol=1e-13
    )
    return np.asarray(run.y)


def derivative(function: Callable[[float], Array], h: float = 1e-3) -> Array:
    """Return the derivative at zero by differences, three times extrapolated."""
    found = [(function(h / 2**k) - function(-h / 2**k)) / (2 * h / 2**k) for k in range(4)]
    for j in range(1, 4):
        found = [(4**j * b - a) / (4**j - 1) for a, b in pairwise(found)]
    return found[0]


@lru_cache
def parallelogram() -> tuple[sr.System, Array]:
    """Return the robot, whose third leg has its moment about its middle fixed, and a closed start."""
    module = load_example("parallelogram")
    return sr.System(module.build(), parameters=PARAMETERS), module.closed(*START)


def differences(times: Array) -> tuple[Array, Array]:
    """Return the derivatives of x by x at the start (4 × 4 × N), and by the parameters (4 × 2 × N)."""
    begun = np.array([*START, 0.0, 0.0])
    by_start = [derivative(lambda h, e=e: angles(begun + h * e, times)) for e in np.eye(4)]
    moment = M4 * L2**2 / 12
    by_mass = derivative(lambda h: angles(START, times, M3 + h))
    by_moment = derivative(lambda h: angles(START, times, M3, moment + h), h=1e-4)
    return np.stack(by_start, axis=1), np.stack([by_mass, by_moment], axis=1)


def test_derivatives_across_crossings_are_those_of_the_branch_at_every_record() -> None:
    system, q = parallelogram()
    errors = []
    for dt in (4e-3, 2e-3):
        found = sr.sensitivity.motion_derivatives(system, q, duration=DURATION, dt=dt)
        assert [passage.crossed for passage in found.trajectory.passages] == [True] * 3
        by_start, by_parameters = differences(found.t)
        lift = np.zeros((8, 4))
        lift[:4, :2] = lift[4:, 2:] = [[1, 0], [0, 1], [1, -1], [-1, 1]]
        rows = [0, 1, 4, 5]
        own = np.moveaxis(found.by_start[:, rows] @ lift, 0, -1)
        of_p = np.moveaxis(np.concatenate([found.along, found.dv], axis=1)[:, rows], 0, -1)
        scale = np.abs(by_start).max(), np.abs(by_parameters).max(axis=(0, 2))[None, :, None]
        errors.append(
            max(np.abs(own - by_start).max() / scale[0], (np.abs(of_p - by_parameters) / scale[1]).max())
        )
    assert errors[1] < 1e-7, errors
    assert 8.0 < errors[0] / errors[1] < 40.0, errors  # the order of the method


def test_fewer_records_have_the_same_derivatives() -> None:
    system, q = parallelogram()
    every = sr.sensitivity.motion_derivatives(system, q, duration=0.7, dt=4e-3)
    some = sr.sensitivity.motion_derivatives(system, q, duration=0.7, dt=4e-3, every=7)
    assert_allclose(some.by_start, every.by_start[[*range(0, 175, 7), 175]], rtol=0, atol=0)


def test_a_slider_crank_is_the_pendulum_of_its_branch() -> None:
    module = load_example("slider_crank")
    system = sr.System(module.build(), parameters={"m": "crank.mass", "n": "rod.mass", "g": "gravity.y"})

    def pendulum(start: Any, m: float = 1.0, n: float = 1.0, g: float = -G) -> Array:
        def rate(t: float, x: Array) -> list[float]:
            mass, slope = m + 4 * n * np.sin(x[0]) ** 2, 8 * n * np.sin(x[0]) * np.cos(x[0])
            return [x[1], (m * g * np.cos(x[0]) - 0.5 * slope * x[1] ** 2) / mass]

        return np.asarray(solve_ivp(rate, (0.0, 1.5), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1])

    found = sr.sensitivity.motion_derivatives(
        system, [0.0, 0.0], [8.0, -16.0], duration=1.5, dt=5e-4, every=10**6
    )
    assert len(found.trajectory.passages) == 2
    start = np.array([0.0, 8.0])
    lift = np.array([[1.0, 0], [-2, 0], [0, 1], [0, -2]])
    own = found.by_start[-1][[0, 2]] @ lift
    assert_allclose(
        own,
        np.column_stack([derivative(lambda h, e=e: pendulum(start + h * e)) for e in np.eye(2)]),
        atol=2e-8,
    )
    masses = [derivative(lambda h, e=e: pendulum(start, *([1.0, 1.0, -G] + h * e))) for e in np.eye(3)]
    assert_allclose([found.along[-1, 0], found.dv[-1, 0]], np.column_stack(masses), atol=2e-8)


def test_rows_that_vanish_together_do_not_count() -> None:
    """A chain of two four-bars, whose rank drops by two at once, is a pendulum: θ″ = κ sin θ."""
    module = load_example("four_bar_chain")
    system = sr.System(module.build(2))
    q, v = module.start(system)
    kappa, speed = 3 * 7 / (2 * 9) * G, v[0]

    def pendulum(start: Any) -> Array:
        def rate(t: float, x: Array) -> list[float]:
            return [x[1], kappa * np.sin(x[0])]

        return np.asarray(solve_ivp(rate, (0.0, 2.5), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1])

    found = sr.sensitivity.motion_derivatives(system, q, v, duration=2.5, dt=2e-3, every=10**6)
    assert len(found.trajectory.passages) == 2
    lift = np.kron(np.eye(2), (v / speed)[:, None])
    own = found.by_start[-1][[0, system.nv]] @ lift
    start = np.array([0.0, speed])
    by_start = [derivative(lambda h, e=e: pendulum(start + h * e)) for e in np.eye(2)]
    assert_allclose(own, np.column_stack(by_start), rtol=0, atol=3e-8)


def test_free_bodies_with_redundant_rows_have_the_derivatives_of_joints() -> None:
    """The parallelogram as four free bodies: 28 coordinates, quaternions among them, 25 rows of rank 22."""
    module = load_example("parallelogram")
    m = sr.Mechanism("free", gravity=(0, -G, 0))
    for k, (length, mass) in enumerate(((L1, M1), (L2, M2), (L1, M3), (L2, M4)), start=1):
        moment = mass * length**2 / 12
        m.add_body(f"link{k}", mass, com=(length / 2, 0, 0), inertia=(1e-3, moment, moment))
        m.add_joint(f"base{k}", "free", "world", f"link{k}")
    ends = {"pose1": (L1, 0, 0), "pose2": (L2, 0, 0)}
    pins = (
        ("world", "link1", {}), ("world", "link2", {}), ("link2", "link3", {"pose1": (L2, 0, 0)}),
        ("link3", "link4", {"pose1": (L1, 0, 0)}), ("link1", "link4", ends),
    )  # fmt: skip
    for k, (first, second, poses) in enumerate(pins):
        m.add_closure(f"pin{k}", "revolute", first, second, axis=(0, 0, 1), **poses)
    free = sr.System(m, parameters={"m3": "link3.mass"})
    turns = START[0], START[1], START[0], START[1] + np.pi
    tips = [
        length * np.array([np.cos(turn), np.sin(turn)]) for length, turn in ((L1, START[0]), (L2, START[1]))
    ]
    places = np.zeros(2), np.zeros(2), tips[1], tips[0] + tips[1]
    q = np.concatenate(
        [[*place, 0.0, np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)] for place, turn in zip(places, turns)]
    )
    run = {"duration": 0.5, "dt": 1e-3, "every": 10**6}
    found = sr.sensitivity.motion_derivatives(free, q, **run)
    jointed = sr.sensitivity.motion_derivatives(
        parallelogram()[0], module.closed(*START), parameters=["m3"], **run
    )
    assert len(found.trajectory.passages) == len(jointed.trajectory.passages) == 1
    turning = [free.velocity_names.index(f"base{k}.wz") for k in (1, 2)]
    assert_allclose(found.along[-1][turning], jointed.along[-1][:2], rtol=0, atol=1e-9)
    assert_allclose(found.dv[-1][turning], jointed.dv[-1][:2], rtol=0, atol=1e-9)


def test_what_parts_the_branches_is_refused_by_name() -> None:
    """One link longer, and the two branches are a hyperbola; beside the tip of a cone there is no way through."""
    module = load_example("slider_crank")
    crank = sr.System(module.build(), parameters={"l": "slider.pose2.x", "m": "rod.mass"})
    run = {"duration": 0.5, "dt": 2e-3}
    with pytest.raises(
        SolveError, match=r"by parameter 'l' through the singular configuration at t = 0\.374"
    ) as caught:
        sr.sensitivity.motion_derivatives(crank, [0.0, 0.0], [8.0, -16.0], **run)
    assert caught.value.element == "l"
    found = sr.sensitivity.motion_derivatives(crank, [0.0, 0.0], [8.0, -16.0], parameters=["m"], **run)
    assert np.isfinite(found.by_start).all()
    five_bar = load_example("five_bar")
    with pytest.raises(SolveError, match=r"by the start through the singular configuration at t = 0\.65"):
        sr.sensitivity.motion_derivatives(
            sr.System(five_bar.build()), five_bar.SYMMETRIC, duration=1.0, dt=2e-3
        )
    with pytest.raises(SolveError, match="fewer than two steps of dt lie between"):
        sr.sensitivity.motion_derivatives(
            crank, [0.0, 0.0], [8.0, -16.0], duration=0.375, dt=0.03, parameters=[]
        )


def test_a_record_on_the_crossing_has_derivatives_too() -> None:
    system, q = parallelogram()
    run = sr.simulate(system, q, duration=DURATION, dt=1e-3)
    dt = run.passages[1].time / 300
    found = sr.sensitivity.motion_derivatives(system, q, duration=330 * dt, dt=dt)
    by_start, _ = differences(found.t[[0, 300]])
    lift = np.zeros((8, 4))
    lift[:4, :2] = lift[4:, 2:] = [[1, 0], [0, 1], [1, -1], [-1, 1]]
    assert_allclose(found.by_start[300][[0, 1, 4, 5]] @ lift, by_start[..., 1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("part", [0.05, 0.2, 0.5, 0.7, 0.97])
def test_one_step_through_a_crossing(part: float) -> None:
    """Wherever in the step it lies; a longer side is refused there as along a motion."""
    module, dt = load_example("parallelogram"), 5e-3
    system = sr.System(module.build(), parameters={**PARAMETERS, "side": "corner.pose1.x"})
    q = module.closed(*START)
    time = sr.simulate(system, q, duration=0.4, method="dop853", rtol=1e-11).passages[0].time
    begun = sr.simulate(
        system, q, duration=time - part * dt, method="dop853", rtol=1e-12, every=sr.Recording(every=None)
    )
    q, v = begun.q[-1], begun.v[-1]
    x = np.array([*q[:2], *v[:2]])

    def end(x: Array) -> Array:
        run = solve_ivp(lambda t, x: slope(x), (0.0, dt), x, "DOP853", rtol=1e-13, atol=1e-14)
        return np.asarray(run.y[:, -1])

    lift = np.zeros((8, 4))
    lift[:4, :2] = lift[4:, 2:] = [[1, 0], [0, 1], [1, -1], [-1, 1]]
    found = sr.sensitivity.step_derivatives(system, q, v, dt=dt, parameters=["m3"])
    own = (found.F @ lift)[[0, 1, 4, 5]]
    by_start = [derivative(lambda h, e=e: end(x + h * e)) for e in np.eye(4)]
    assert_allclose(own, np.column_stack(by_start), rtol=0, atol=1e-6)
    with pytest.raises(SolveError, match="by parameter 'side' through the singular configuration"):
        sr.sensitivity.step_derivatives(system, q, v, dt=dt)


def test_a_plan_through_a_singular_configuration_is_that_of_the_robot_without_loops() -> None:
    """Least torque from rest to rest: the same coefficients from the two angles alone, without exact gradients."""
    module = load_example("plan_through_singularity")
    robot = module.system()
    found = module.plan(robot)
    (passage,) = found.motion.passages
    assert passage.crossed
    weights, goal = module.weights(), np.array([*module.GOAL, 0.0, 0.0])

    def end(c: Array) -> Array:
        named = dict(zip(module.NAMES, c))
        run = solve_ivp(
            lambda t, x: slope(x, u=module.torques(None, None, t, named)),
            (0.0, module.DURATION),
            [*module.START, 0.0, 0.0],
            "DOP853",
            rtol=1e-12,
            atol=1e-12,
        )
        return np.asarray(run.y[:, -1])

    assert_allclose(end(found.coefficients), goal, atol=2e-6)  # RK4 at 2 ms
    root = np.sqrt(weights)
    best = minimize(
        lambda x: 0.5 * x @ x,
        module.guess(robot) * root,
        jac=lambda x: x,
        constraints=[{"type": "eq", "fun": lambda x: end(x / root) - goal}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 60},
    )
    assert found.cost == pytest.approx(float(best.x @ best.x), rel=1e-6)
    assert_allclose(found.coefficients, best.x / root, atol=1e-3)
