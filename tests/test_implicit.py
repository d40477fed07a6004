"""Implicit integration: Rosenbrock–Wanner methods in local coordinates, on every kind of system, stiff and not."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import random_state
from sarrus.kernels.integrate.rosenbrock_tableau import (
    IMPLICIT_METHODS,
    RosenbrockTableau,
    rosenbrock_tableau,
)
from test_simulate import exact_angle, pendulum, spinning

Tree = tuple["Tree", ...]
Case = tuple[sr.System, Any, Any, dict[str, Any]]


# --- the coefficients ---------------------------------------------------------------------------------


def rooted_trees(size: int, largest: int | None = None) -> set[Tree]:
    """All rooted trees with ``size`` vertices, each the sorted tuple of the trees on its root."""

    def forests(left: int, largest: int) -> list[Tree]:
        if left == 0:
            return [()]
        return [
            (tree, *rest)
            for first in range(min(left, largest), 0, -1)
            for tree in rooted_trees(first)
            for rest in forests(left - first, first)
        ]

    return {tuple(sorted(forest)) for forest in forests(size - 1, size - 1)}


def vertices(tree: Tree) -> int:
    return 1 + sum(map(vertices, tree))


def density(tree: Tree) -> int:
    return vertices(tree) * int(np.prod([density(branch) for branch in tree]))


def untransformed(method: RosenbrockTableau) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """α, β = α + Γ, and the weights b of the method and of the one embedded in it."""
    s = len(method.m)
    gammas = np.linalg.inv(np.eye(s) / method.gamma - method.c)
    embedded = method.m - np.eye(s)[-1]
    return method.a @ gammas, (method.a + np.eye(s)) @ gammas, method.m @ gammas, embedded @ gammas


def elementary_weight(tree: Tree, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Φ of Hairer and Wanner II, IV.7: β where one branch leaves a vertex, α where several do."""
    weight = np.ones(len(alpha))
    for branch in tree:
        weight = weight * ((beta if len(tree) == 1 else alpha) @ elementary_weight(branch, alpha, beta))
    return weight


@pytest.mark.parametrize("name", IMPLICIT_METHODS)
def test_order_conditions(name):
    method = rosenbrock_tableau(name)
    alpha, beta, b, embedded = untransformed(method)
    counts = [len(rooted_trees(size)) for size in range(1, 6)]
    assert counts == [1, 1, 2, 4, 9]
    for weights, order in ((b, method.order), (embedded, method.error_order)):
        errors = [
            max(abs(weights @ elementary_weight(t, alpha, beta) - 1 / density(t)) for t in rooted_trees(p))
            for p in range(1, order + 2)
        ]
        assert max(errors[:-1]) < 1e-13, errors
        assert errors[-1] > 1e-3, "the order is exactly the one claimed"


@pytest.mark.parametrize("name", IMPLICIT_METHODS)
def test_l_stability_and_stiff_accuracy(name):
    alpha, beta, b, embedded = untransformed(rosenbrock_tableau(name))
    ones, eye = np.ones(len(b)), np.eye(len(b))
    assert abs(alpha[-1].sum() - 1) < 1e-13
    assert_allclose(beta[-1], b, atol=1e-13)
    for weights in (b, embedded):
        assert abs(1 - weights @ np.linalg.solve(beta, ones)) < 1e-12  # R(∞) = 0
        # With poles in the right half plane alone, |R| ≤ 1 on the imaginary axis is A-stability.
        z = 1j * np.logspace(-3, 6, 2000)
        growth = [abs(1 + x * weights @ np.linalg.solve(eye - x * beta, ones)) for x in z]
        assert max(growth) < 1 + 1e-12
    assert np.all(np.diag(beta) > 0)


# --- the order ----------------------------------------------------------------------------------------


def double_pendulum() -> Case:
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: (
            v[0] ** 2 + ca.cos(q[0] - q[1]) * v[0] * v[1] + v[1] ** 2 / 2
            + 9.81 * (2 * ca.cos(q[0]) + ca.cos(q[1]))
        ),
        inputs=lambda q: ca.vertcat(1, 0),
        name="double_pendulum",
    )  # fmt: skip
    control = {"control": lambda q, v, t: 5 * ca.sin(3 * t) - v[1] * q[0]}
    return system, [0.5, 0.3], [0.0, 1.0], control


def redundant_pendulum() -> Case:
    return pendulum(True), [1, 0], [0, 2], {}


def four_bar_with_dead_rows() -> Case:
    system = stiff_four_bar(50.0, 1.0)
    return system, *closed(system), {}


def floating() -> Case:
    system = spinning()
    q = system.assemble(random_state(system, 1)[0]).q
    return system, q, system.project_velocity(q, random_state(system, 2)[1]), {}


def moving_constraint() -> Case:
    system = sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t: ca.sumsqr(q) - (1 + 0.2 * ca.sin(3 * t)) ** 2,
        name="moving",
    )
    return system, [1.0, 0.0], system.project_velocity([1.0, 0.0], [0.0, 3.0]), {}


def rolling() -> Case:
    """A knife edge on a slope whose blade yields in time: one nonholonomic row."""
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: (v[0] ** 2 + v[1] ** 2 + 0.3 * v[2] ** 2) / 2 - 2 * q[1],
        velocity=lambda q, v, t: v[0] * ca.sin(q[2]) - v[1] * ca.cos(q[2]) + 0.1 * ca.sin(t) * ca.cos(q[0]),
        name="knife_edge",
    )
    return system, [0, 0, 0.3], system.project_velocity([0, 0, 0.3], [1, 0, 4.0]), {}


def pushed() -> Case:
    return pendulum(), [1, 0], [0, 2], {"force": lambda q, v, t: [ca.cos(5 * t) * q[1], -0.3 * v[1]]}


CASES = {
    "unconstrained, control law": double_pendulum,
    "redundant loop": redundant_pendulum,
    "loop with dead rows": four_bar_with_dead_rows,
    "floating base": floating,
    "constraint moving in time": moving_constraint,
    "nonholonomic": rolling,
    "force in time": pushed,
}


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
@pytest.mark.parametrize("case", CASES)
def test_order_of_fixed_steps(case, method):
    system, q, v, options = CASES[case]()
    dt = 0.02 if case == "floating base" else 0.01  # slow, with errors near rounding
    run = partial(sr.simulate, system, q, v, duration=20 * dt, **options)
    exact = run(rtol=1e-13, atol=1e-14, dt=dt)
    parts, errors = np.array([1, 2, 3, 4] if method == "rodas5p" else [3, 4, 6, 8]), []
    for part in parts:
        mine = run(method=method, dt=dt / part, rtol=np.inf, every=int(part))
        assert mine.steps == 20 * part
        assert mine.residual.max() < 1e-14
        errors.append(max(np.abs(mine.q - exact.q).max(), np.abs(mine.v - exact.v).max()))
    order = -np.polyfit(np.log(parts), np.log(errors), 1)[0]
    assert order == pytest.approx(rosenbrock_tableau(method).order, abs=0.2), errors


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
def test_error_follows_the_tolerance(method):
    tolerances, errors = 10.0 ** np.arange(-5, -12, -2), []
    for tol in tolerances:
        x, y = sr.simulate(
            pendulum(), [1, 0], [0, 6], duration=1.0, method=method, rtol=tol, atol=tol
        ).q[-1]  # fmt: skip
        difference = np.arctan2(y, x) - exact_angle(6.0, 1.0)
        errors.append(abs((difference + np.pi) % (2 * np.pi) - np.pi))
    assert all(error < 200 * tol for error, tol in zip(errors, tolerances)), errors
    assert 0.6 < np.polyfit(np.log(tolerances), np.log(errors), 1)[0] < 1.4, errors


# --- stiffness ----------------------------------------------------------------------------------------


@lru_cache
def stiff_four_bar(stiffness: float, damping: float) -> sr.System:
    """A four-bar, its last pin a revolute closure (three dead rows), with a bob on a spring along the coupler."""
    mechanism = sr.Mechanism("four_bar", gravity=(0, 0, -9.81))
    for name, length in (("crank", 0.4), ("coupler", 0.9), ("rocker", 0.7)):
        inertia = length**2 / 12
        mechanism.add_body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-4, inertia, inertia))
    mechanism.add_body("bob", mass=0.5)
    hinge: dict[str, Any] = {"kind": "revolute", "axis": (0, -1, 0)}
    mechanism.add_joint("crank", parent="world", child="crank", **hinge)
    mechanism.add_joint("coupler", parent="crank", child="coupler", parent_pose=(0.4, 0, 0), **hinge)
    mechanism.add_joint("rocker", parent="world", child="rocker", parent_pose=(1, 0, 0), **hinge)
    mechanism.add_joint(
        "slide", "prismatic", "coupler", "bob", axis=(1, 0, 0), parent_pose=(0.3, 0, 0), stiffness=stiffness,
        damping=damping,
    )  # fmt: skip
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(0.9, 0, 0), pose2=(0.7, 0, 0), axis=(0, -1, 0)
    )
    return sr.System(mechanism)


def closed(system: sr.System) -> tuple[np.ndarray, np.ndarray]:
    """The four-bar with the crank at 60°, turning with 0.4 rad/s, the spring relaxed and at rest."""
    q = np.zeros(4)
    q[list(system.coordinate_names).index("crank")] = np.pi / 3
    q[list(system.coordinate_names).index("rocker")] = 2.0
    q = system.assemble(q, locked=["crank", "slide"]).q
    at_rest = np.array([name == "slide" for name in system.velocity_names])
    _, _, right = np.linalg.svd(np.vstack([system.constraint_jacobian(q), np.diag(1.0 * at_rest)]))
    return q, 0.4 * right[-1] / right[-1][list(system.velocity_names).index("crank")]


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
def test_number_of_steps_does_not_depend_on_the_stiffness(method):
    def steps(stiffness: float, name: str) -> tuple[int, sr.Trajectory]:
        system = stiff_four_bar(stiffness, 1e-3 * stiffness)
        run = sr.simulate(system, *closed(system), duration=1.0, method=name, rtol=1e-6, atol=1e-6)
        print(f"{name} k = {stiffness:.0e} N/m: {run.steps} steps, {1e3 * run.wall_seconds:.2f} ms")
        assert run.residual.max() < 1e-12
        return run.steps, run

    stiffnesses = (1e4, 1e5, 1e6, 1e7, 1e8)
    runs = [steps(k, method) for k in stiffnesses]
    assert max(count for count, _ in runs) == runs[0][0] < 300  # 1e4 swings, and is followed
    assert runs[-1][0] < 1.1 * runs[-2][0]
    explicit = [steps(k, "dop853") for k in stiffnesses[:4]]
    assert explicit[-1][0] > 4 * explicit[-2][0]  # projections move the light bob, which 1e6 N/m throw back
    assert explicit[-1][0] > 20 * runs[-2][0]
    for (_, run), (_, reference) in zip(runs, explicit):
        assert_allclose(run.q[-1], reference.q[-1], atol=5e-6)


def forced_spring() -> sr.System:
    """A mass of 1 kg on a spring of 1e8 N/m and a damper of 1e5 N s/m to a support at sin t; at rest on it exactly."""
    return sr.System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t: v[0] ** 2 / 2 - 1e8 * (q[0] - ca.sin(t)) ** 2 / 2,
        generalized_force=lambda q, v, t: -1e5 * (v[0] - ca.cos(t)) - ca.sin(t),
        name="forced_spring",
    )


def stiff_run(displacement: float, method: str) -> sr.Trajectory:
    """Twenty steps with h √(k/m) = 1000."""
    return sr.simulate(
        forced_spring(), [displacement], [1.0], duration=2.0, method=method, dt=0.1, rtol=np.inf
    )


@pytest.mark.parametrize(("method", "error"), [("rodas4", 3e-6), ("rodas5p", 1e-8)])
def test_stiff_closed_form(method, error):
    run = stiff_run(0.0, method)
    assert run.steps == 20
    assert_allclose(run.q[:, 0], np.sin(run.t), atol=error)
    assert_allclose(run.v[:, 0], np.cos(run.t), atol=1e3 * error)


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
def test_a_disturbance_dies_as_the_stability_function_says(method):
    disturbance, still = stiff_run(1e-3, method), stiff_run(0.0, method)
    _, beta, b, _ = untransformed(rosenbrock_tableau(method))
    s, matrix = len(b), 0.1 * np.array([[0.0, 1.0], [-1e8, -1e5]])
    inner = np.eye(2 * s) - np.kron(beta, matrix)
    step = np.eye(2) + np.kron(b, matrix) @ np.linalg.solve(inner, np.kron(np.ones((s, 1)), np.eye(2)))
    left = np.array([1e-3, 0.0])
    for k in range(1, 6):
        left = step @ left
        assert_allclose(disturbance.q[k] - still.q[k], left[:1], atol=1e-12)
    assert abs(left[0]) < 1e-8


# --- agreement ----------------------------------------------------------------------------------------


def shipped(name: str) -> tuple[sr.System, Any, Any, float]:
    module = load_example(name)
    if name == "bricard":
        system = sr.System(module.build(True))
        return system, system.neutral(), None, 0.3
    system = sr.System(module.build())
    if name == "front_loader":
        return system, module.pose(system, 0.2, 0.5), None, 0.5
    if name == "quadruped":
        return system, module.standing(system), None, 0.1
    if name == "five_bar":
        return system, module.SYMMETRIC, None, 0.6
    q = module.configuration(module.POSE)
    return system, q, system.project_velocity(q, np.eye(system.nv)[5]), 0.1


@pytest.mark.parametrize("name", ["front_loader", "bricard", "quadruped", "five_bar", "stewart"])
def test_same_motion_as_the_explicit_method(name):
    system, q, v, duration = shipped(name)
    dt = duration / 10
    exact = sr.simulate(system, q, v, duration=duration, rtol=1e-12, atol=1e-12, dt=dt)
    run = sr.simulate(system, q, v, duration=duration, rtol=1e-10, atol=1e-10, dt=dt, method="rodas5p")
    assert_allclose(run.t, exact.t, atol=1e-15)
    assert_allclose(run.q, exact.q, atol=1e-8)
    scale = np.abs(exact.multipliers).max()
    assert_allclose(run.multipliers, exact.multipliers, atol=1e-7 * (1.0 + scale))
    assert run.residual.max() < 1e-12
    assert run.energy_drift < 1e-8 * max(1.0, np.abs(run.energy).max())
    assert np.array_equal(run.rank, exact.rank)


def test_motion_goes_on_through_singular_configurations():
    """With long fixed steps rounding, divided by σ at three passages, decides what energy is lost.

    Starts moved by 1e-15 lose 1.7e-4 to 1.6e-3 (26 runs): the bound is three times that. With an error estimate they
    lose 1.8e-6, whatever the rounding.
    """
    module = load_example("five_bar")
    system = sr.System(module.build())
    for options, bound in (({"rtol": 1e-9, "atol": 1e-9}, 1e-5), ({"dt": 1e-2, "rtol": np.inf}, 5e-3)):
        run = sr.simulate(system, module.SYMMETRIC, duration=5.0, method="rodas5p", **options)
        assert [round(p.time, 2) for p in run.passages] == [0.65, 1.85, 3.91]
        assert run.residual.max() < 1e-13
        assert run.energy_drift < bound


def test_a_start_in_a_singular_configuration_is_refused():
    module = load_example("five_bar")
    system = sr.System(module.build())
    with pytest.raises(sr.SarrusError, match=r"starts in a singular configuration \(rank 1, nearby 2\)"):
        sr.simulate(system, module.COLLINEAR, duration=1.0, method="rodas5p")


# --- what the loop offers -----------------------------------------------------------------------------


def limited(q: Any, v: Any, t: Any) -> Any:
    return 2e5 * (0.8 - ca.atan2(q[1], q[0])) - 2e3 * (q[0] * v[1] - q[1] * v[0])


def test_a_stiff_control_law_is_differentiated_with_the_equations():
    implicit, explicit = (
        sr.simulate(pendulum(), [1, 0], duration=0.5, control=limited, method=m, rtol=1e-6, atol=1e-7)
        for m in ("rodas5p", "dop853")
    )
    assert_allclose(implicit.q[-1], explicit.q[-1], atol=1e-6)
    assert implicit.steps < 0.5 * explicit.steps
    for k in range(len(implicit.t)):
        u = float(limited(implicit.q[k], implicit.v[k], implicit.t[k]))
        assert implicit.u[k, 0] == pytest.approx(u, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("method", IMPLICIT_METHODS)
def test_laws_with_a_kernel_keep_the_order(method):
    module = load_example("three_leg_platform")
    system = sr.System(module.build())
    q = module.pose(system, 0.05, -0.03, 0.2)
    law = sr.control.Regulator(
        system, ["platform.x", "platform.y", "platform.angle"], [0.0, 0.05, -0.1], stiffness=[3e3, 3e3, 400.0],
        damping=20.0,
    )  # fmt: skip
    run = partial(sr.simulate, system, q, duration=0.2, dt=0.02, control=law)
    exact = run(rtol=1e-13, atol=1e-14)
    parts, errors = np.array([1, 2, 3, 4] if method == "rodas5p" else [3, 4, 6, 8]), []
    for part in parts:
        mine = run(method=method, dt=0.02 / part, rtol=np.inf, every=int(part))
        assert_allclose(mine.u[-1], law(mine.q[-1], mine.v[-1], 0.2), rtol=1e-12)
        errors.append(np.abs(mine.q - exact.q).max())
    order = -np.polyfit(np.log(parts), np.log(errors), 1)[0]
    assert order == pytest.approx(rosenbrock_tableau(method).order, abs=0.2), errors


def test_a_control_law_at_its_limit_does_not_depend_on_the_state():
    mechanism = sr.Mechanism("arm", gravity=(0, 0, -9.81))
    mechanism.add_body("arm", 1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("arm", "revolute", "world", "arm", axis=(0, -1, 0))
    mechanism.add_actuator("motor", "arm", limits=(-6.0, 6.0))
    system = sr.System(mechanism)
    options: dict[str, Any] = {"duration": 0.4, "control": lambda q, v, t: 1e4 * (1 - q[0]) - 10 * v[0]}
    exact = sr.simulate(system, [0.0], **options, rtol=1e-13, atol=1e-13)
    errors = []
    for dt in (0.02, 0.01):
        run = sr.simulate(system, [0.0], **options, method="rodas5p", dt=dt, rtol=np.inf)
        assert set(run.u[:, 0]) == {6.0}
        errors.append(abs(run.q[-1, 0] - exact.q[-1, 0]))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5.0, abs=0.2)


def test_events_are_located():
    module = load_example("five_bar")
    system = sr.System(module.build())
    level = sr.Event("level", lambda q, v, t: q[0] - 2.6, terminal=True)
    counted = sr.Event("counted", lambda q, v, t: v[0] - 1.0)
    runs = [
        sr.simulate(system, module.SYMMETRIC, duration=1.0, events=[level, counted], method=m, rtol=1e-11, atol=1e-11)
        for m in ("rodas5p", "dop853")
    ]  # fmt: skip
    assert [r.status for r in runs] == [sr.Status.EVENT] * 2
    assert [e.name for e in runs[0].events] == [e.name for e in runs[1].events]
    for mine, reference in zip(runs[0].events, runs[1].events):
        assert mine.time == pytest.approx(reference.time, abs=2e-9)
    assert runs[0].q[-1, 0] == pytest.approx(2.6, abs=1e-9)


def test_records_on_a_grid_do_not_change_the_steps():
    case: dict[str, Any] = {"method": "rodas5p", "rtol": 1e-8, "atol": 1e-8, "duration": 1.0}
    plain = sr.simulate(pendulum(), [1, 0], [0, 6], **case)
    grid = sr.simulate(pendulum(), [1, 0], [0, 6], dt=0.01, **case)
    assert_allclose(grid.t, np.linspace(0, 1, 101), atol=1e-12)
    assert_allclose(grid.q[-1], plain.q[-1], atol=1e-13)
    assert grid.steps == plain.steps
    assert grid.residual.max() < 1e-14
    angle = np.arctan2(grid.q[50, 1], grid.q[50, 0])
    assert abs((angle - exact_angle(6.0, 0.5) + np.pi) % (2 * np.pi) - np.pi) < 1e-6


def test_sampled_control_is_held():
    def law(q: Any, v: Any, t: float) -> list[float]:
        return [3.0 * np.sin(8 * t) - v[0]]

    runs = [
        sr.simulate(
            pendulum(), [1, 0], duration=0.5, control=law, sample_time=0.02, method=m, rtol=1e-10, atol=1e-10
        )
        for m in ("rodas5p", "dop853")
    ]
    assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)


def test_closures_that_come_and_go():
    mechanism = sr.Mechanism("rotor", gravity=(0, 0, 0))
    for name in ("a", "b"):
        mechanism.add_body(name, 1.0, inertia=(0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", "world", name, axis=(0, 0, 1), stiffness=5.0)
    mechanism.add_coupling("clutch", {"a": 1.0, "b": -1.0}, active=False)
    system = sr.System(mechanism)
    plan = sr.Switching({"clutch": [(0.25, 0.5)]})
    runs = [
        sr.simulate(system, [0, 0], [2, 0], duration=1.0, switching=plan, method=m, rtol=1e-10, atol=1e-10)
        for m in ("rodas5p", "dop853")
    ]
    assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-8)
    assert [s.closed + s.opened for s in runs[0].switches] == [("clutch",), ("clutch",)]


def test_energy_is_kept_if_asked_for():
    case: dict[str, Any] = {"duration": 2.0, "method": "rodas5p", "dt": 0.05, "rtol": np.inf}
    free = sr.simulate(pendulum(), [1, 0], [0, 2], **case)
    kept = sr.simulate(pendulum(), [1, 0], [0, 2], stabilization="energy", **case)
    assert kept.energy_drift < 1e-12 < free.energy_drift


@pytest.mark.parametrize("options", [{"coordinates": "partition"}, {"stabilization": "baumgarte"}])
def test_other_coordinates_are_refused(options):
    with pytest.raises(sr.SarrusError, match="integrates local coordinates"):
        sr.simulate(pendulum(), [1, 0], duration=1.0, method="rodas5p", **options)


def test_unknown_methods_list_the_known_ones():
    with pytest.raises(sr.SarrusError, match="'rk4', 'dopri5', 'dop853', 'rodas4', 'rodas5p'"):
        sr.simulate(pendulum(), [1, 0], duration=1.0, method="radau")


def test_a_fixed_step_that_cannot_be_taken_ends_the_run():
    run = sr.simulate(
        pendulum(), [1, 0], [0, 60], duration=1.0, method="rodas5p", dt=0.2, rtol=np.inf, throw=False
    )
    assert run.status is sr.Status.PROJECTION_FAILED
    assert run.residual.max() < 1e-14
