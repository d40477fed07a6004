"""Designs whose null space M leaves invariant: closed forms, and force control that takes nothing from the motion."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import sarrus as sr
from sarrus import formulations, synthesis
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError

AXES = {"z": ((0, 0, 1), np.eye(3)), "y": ((0, 1, 0), np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))}


def coupling(system: sr.System, q: Array, metric: Array | None = None) -> float:
    """Return the largest entry of P M (I − P), relative to M, in a metric, by the pseudo-inverse."""
    W = np.ones(system.nv) if metric is None else metric
    root = np.diag(W**-0.5)
    M, A = root @ system.mass_matrix(q) @ root, system.constraint_jacobian(q) @ root
    P = np.eye(len(M)) - np.linalg.pinv(A) @ A
    return float(np.abs(P @ M @ (np.eye(len(M)) - P)).max() / np.abs(M).max())


def star(
    rng: np.random.Generator, rods: int, *, axis: str = "z", unit: float = 1.0, kind: str = "point_on_line"
):
    """Return a crank with rods of its own length, each on a slider of its own; first moments and inertias at random.

    ``unit`` is the length unit in metres; all is scaled with it, masses stay. A rod turns by −2 times the crank.
    """
    turn, frame = AXES[axis]
    length = 0.4 / unit
    mechanism = sr.Mechanism("star", gravity=(0, 0, 0))
    big = 5.0 / unit**2

    def inertia(own: float):
        return tuple(own / unit**2 if turn[i] else big for i in range(3))

    numbers = {"crank": (rng.uniform(1, 3), rng.uniform(-0.2, 0.2), rng.uniform(0.1, 0.5))}
    mass, com, own = numbers["crank"]
    mechanism.add_body("crank", mass, tuple(frame.T @ [com / unit, 0, 0]), inertia(own))
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=turn)
    for k, angle in enumerate(rng.permutation(rods) * 2 * np.pi / rods + 0.2):
        name = f"rod{k}"
        along = frame.T @ [np.cos(angle), np.sin(angle), 0]
        numbers[name] = mass, com, own = rng.uniform(0.5, 2), rng.uniform(0.05, 0.2), rng.uniform(0.05, 0.3)
        mechanism.add_body(name, mass, tuple(com / unit * along), inertia(own))
        mechanism.add_joint(name, "revolute", "crank", name, axis=turn, parent_pose=tuple(length * along))
        more = {"axis": tuple(along)} if kind == "point_on_line" else {"axis": tuple(np.cross(turn, along))}
        mechanism.add_closure(f"slider{k}", kind, "world", name, pose2=tuple(length * along), **more)
    return mechanism, numbers


@pytest.mark.parametrize("seed", range(8))
def test_rods_of_a_star_in_closed_form(seed: int) -> None:
    """M [1, −2, …, −2] is a multiple of that where rods are balanced at their pins and have I = 2 S / (1 + 2 n) there,
    S the inertia of the crank with the masses of the rods at their pins."""
    rng = np.random.default_rng(seed)
    rods, axis, unit = 1 + seed % 3, "zy"[seed % 2], (1.0, 1e-3)[seed // 2 % 2]
    kind = ("point_on_line", "point_on_plane")[seed // 4]
    mechanism, numbers = star(rng, rods, axis=axis, unit=unit, kind=kind)
    q = np.array([1.0, *[-2.0] * rods])
    at = synthesis.sweep({"crank": [0.3, 0.6, 0.9, 1.3]}, guess=0.3 * q)
    label, frame = {"z": "zz", "y": "yy"}[axis], AXES[axis][1]
    free, bounds = {}, {}
    for k in range(rods):
        for place, column in zip("xyz", range(3)):
            if abs(frame[2, column]) < 0.5:  # not along the axis
                free[f"com{k}{place}"] = f"rod{k}.com.{place}"
                bounds[f"com{k}{place}"] = (-0.3 / unit, 0.3 / unit)
        free[f"I{k}"], bounds[f"I{k}"] = f"rod{k}.inertia.{label}", (1e-3 / unit**2, 9.0 / unit**2)
    problem = synthesis.Problem(mechanism, free, [synthesis.decoupling(at)], bounds=bounds)
    design = problem.solve()
    assert design.status is sr.Status.OK
    mass, com, own = numbers["crank"]
    S = own + mass * com**2 + sum(numbers[f"rod{k}"][0] for k in range(rods)) * 0.4**2
    for k in range(rods):
        assert_allclose(design.parameters[f"I{k}"] * unit**2, 2 * S / (1 + 2 * rods), rtol=1e-9)
        for name in free:
            if name.startswith("com"):
                assert abs(design.parameters[name] * unit) < 1e-9
    system = sr.System(design.mechanism)
    for crank in (0.3, 0.6, 1.2, 2.5):  # where it was not asked, too
        assert coupling(system, crank * q) < 1e-9
        assert formulations.decouples(system.mass_matrix(crank * q), system.constraint_jacobian(crank * q))
    assert coupling(sr.System(mechanism), 0.3 * q) > 1e-3


def on_a_curve(armature: float = 0.1) -> sr.Mechanism:
    """Return a pen on two slides, one on the other, that stays on an ellipse; friction-free, in space."""
    mechanism = sr.Mechanism("plotter", gravity=(0, 0, 0))
    mechanism.add_body("carriage", 3.0, inertia=(1, 1, 1))
    mechanism.add_joint("x", "prismatic", "world", "carriage", axis=(1, 0, 0), armature=0.5)
    mechanism.add_body("pen", 0.7, inertia=(1, 1, 1))
    mechanism.add_joint("y", "prismatic", "carriage", "pen", axis=(0, 1, 0), armature=armature)
    mechanism.add_coupling("ellipse", {"x": lambda x: 0.25 * x**2, "y": lambda y: y**2 - 1.0})
    return mechanism


def test_a_plotter_whose_slides_are_equally_heavy() -> None:
    """Tangents of all directions are invariant under M ∝ I alone: a flywheel at the slide that carries less."""
    mechanism = on_a_curve()
    at = synthesis.sweep({"x": [0.3, 0.9, 1.4]}, guess=[0.3, 0.9])
    problem = synthesis.Problem(
        mechanism, {"flywheel": "y.armature"}, [synthesis.decoupling(at)], bounds={"flywheel": (0.0, 9.0)}
    )
    design = problem.solve()
    assert_allclose(design.parameters["flywheel"], 3.0 + 0.5, rtol=1e-9)
    weighted = synthesis.Problem(
        mechanism,
        {"flywheel": "y.armature"},
        [synthesis.decoupling(at, metric=[1.0, 2.0])],
        bounds={"flywheel": (0.0, 9.0)},
    ).solve()
    assert_allclose(weighted.parameters["flywheel"], 2.0 * (3.0 + 0.7 + 0.5) - 0.7, rtol=1e-9)
    system = sr.System(weighted.mechanism)
    q = system.assemble([0.5, 0.9], locked=["x"]).q
    assert coupling(system, q, np.array([1.0, 2.0])) < 1e-9 < coupling(system, q)


def pressing(mechanism: sr.Mechanism, reference: float = 8.0) -> tuple[sr.Trajectory, ca.SX]:
    """Return a run of a slider-crank whose motors take the crank to and fro and press the slider on its guide.

    The torques are along the motion, z = [1, −2], by a PD law of the crank, and Aᵀ times the force wanted: nothing of
    the motion is in the force.
    """
    system = sr.System(mechanism)

    def control(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        A = 0.4 * ca.vertcat(ca.cos(q[0]) + ca.cos(q[0] + q[1]), ca.cos(q[0] + q[1]))
        return ca.DM([1.0, -2.0]) / 5.0 * motor(q[0], v[0], t) + A * reference * (1.0 + 0.5 * ca.cos(3.0 * t))

    start = system.assemble([0.6, -1.2]).q
    return sr.simulate(system, start, duration=1.0, dt=5e-3, rtol=1e-10, control=control)


def motor(angle, rate, t):
    return 30.0 * (0.6 + 0.3 * np.sin(4.0 * t) - angle) - 3.0 * rate if isinstance(t, float) else (
        30.0 * (0.6 + 0.3 * ca.sin(4.0 * t) - angle) - 3.0 * rate
    )  # fmt: skip


def slider_crank() -> sr.Mechanism:
    mechanism = sr.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    for name, parent, at, numbers in (
        ("crank", "world", 0.0, (2.0, 0.1, 0.3)),
        ("rod", "crank", 0.4, (1.5, 0.2, 0.15)),
    ):
        mass, com, inertia = numbers
        mechanism.add_body(name, mass, (com, 0, 0), (1, 1, inertia))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
        mechanism.add_actuator(name, name)
    mechanism.add_closure("guide", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(0.4, 0, 0))
    return mechanism


def test_forces_without_feed_forward() -> None:
    """Counterweights for gravity and decoupling: the guide feels what was asked for, whatever the crank does."""
    mechanism = slider_crank()
    rest = synthesis.sweep({"crank": [0.3, 0.8, 1.2]}, guess=[0.3, -0.6])
    problem = synthesis.Problem(
        mechanism,
        {"crank": "crank.com.x", "rod": "rod.com.x", "inertia": "rod.inertia.zz"},
        [synthesis.decoupling(rest), synthesis.drive_force("crank", rest)],
        bounds={"crank": (-0.5, 0.5), "rod": (-0.3, 0.3), "inertia": (0.05, 1.9)},
    )
    design = problem.solve()
    place = -1.5 * 0.4 / 2.0
    assert_allclose(design.parameters["crank"], place, rtol=1e-9)
    assert abs(design.parameters["rod"]) < 1e-9
    S = 0.3 + 2.0 * place**2 + 1.5 * 0.4**2
    assert_allclose(design.parameters["inertia"], 2 * S / 3, rtol=1e-9)
    errors = []
    for each in (mechanism, design.mechanism):
        run = pressing(each)
        wanted = -8.0 * (1.0 + 0.5 * np.cos(3.0 * run.t))
        assert np.ptp(run.q[:, 0]) > 0.3
        errors.append(np.abs(run.multipliers[:, 0] - wanted).max())
    assert errors[0] > 10.0
    assert errors[1] < 1e-8
    inertia = S + 2 * S / 3 * (1 - 4 + 4)  # zᵀM z of [S + I, I; I, I] with z = [1, −2]
    own = solve_ivp(
        lambda t, x: [x[1], motor(x[0], x[1], t) / inertia],
        (0, 1),
        [0.6, 0.0],
        method="DOP853",
        rtol=1e-12,
        atol=1e-12,
        t_eval=run.t,
    )
    assert_allclose(run.q[:, 0], own.y[0], atol=1e-8)


def test_derivatives_are_exact() -> None:
    mechanism = slider_crank()
    at = synthesis.sweep({"crank": [0.3, 0.8]}, guess=[0.3, -0.6])
    problem = synthesis.Problem(
        mechanism,
        {"rod": "rod.com.x", "inertia": "rod.inertia.zz", "length": "rod.placement.x"},
        [synthesis.decoupling(at)],
    )
    here = {"rod": 0.21, "inertia": 0.2, "length": 0.41}
    value = problem.evaluate(here)
    for k, name in enumerate(value.names):
        step = 1e-6
        ahead, behind = (problem.evaluate({**here, name: here[name] + way * step}).cost for way in (1, -1))
        assert_allclose(value.gradient[k], (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-9)


def test_refusals() -> None:
    at = synthesis.sweep({"crank": [0.3]}, guess=[0.3, -0.6])
    free = synthesis.sweep({"crank": [0.3]}, free=["crank"], guess=[0.3, -0.6])
    numbers = {"rod": "rod.com.x"}
    moving = slider_crank()
    moving.add_motion("drive", "rod", lambda t: 0.1 * t)
    loose = sr.Mechanism("loose")
    loose.add_body("rod", 1.0, (0.1, 0, 0), (1, 1, 1))
    loose.add_joint("crank", "revolute", "world", "rod")
    here = synthesis.sweep({"crank": [0.1]})

    def solve(mechanism: sr.Mechanism, goal: synthesis.Goal) -> None:
        synthesis.Problem(mechanism, numbers, [goal]).solve()

    for text, call in (
        ("'crank' is free", lambda: synthesis.decoupling(free)),
        ("with drivers", lambda: synthesis.decoupling(synthesis.Rest([0.0, 0.0]))),
        ("positive", lambda: synthesis.decoupling(at, metric=[1.0, -1.0])),
        ("of the 2 velocities", lambda: solve(slider_crank(), synthesis.decoupling(at, metric=[1.0]))),
        ("prescribe motions in time", lambda: solve(moving, synthesis.decoupling(at))),
        ("decoupling needs constraints", lambda: solve(loose, synthesis.decoupling(here))),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
