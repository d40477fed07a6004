"""Sensitivities of places of rest, eigenvalues and motions: closed forms, differences, and what is refused."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from mechanisms import close_loops, random_coordinates, random_tree
from sarrus.analysis.sensitivity.equilibrium_derivatives import EigenvalueSensitivity
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.manifold import difference, rate_matrix
from sarrus.dynamics.system import System
from test_linearization import looped, shipped


def hanging(m: float = 2.0, k: float = 50.0, c: float = 0.6) -> System:
    """A mass on a spring and a damper: q = −m g / k at rest, m s² + c s + k = 0."""
    return System.from_lagrangian(
        nq=1,
        lagrangian=lambda q, v, t, p: p.m * v[0] ** 2 / 2 - p.m * 9.81 * q[0] - p.k * q[0] ** 2 / 2,
        generalized_force=lambda q, v, t, p: -p.c * v,
        inputs=lambda q, p: 1.0,
        parameters={"m": m, "k": k, "c": c},
    )


def test_mass_on_a_spring() -> None:
    m, k, c, g = 2.0, 50.0, 0.6, 9.81
    system = hanging()
    found = sr.sensitivity.eigenvalue_derivatives(system, [-m * g / k])
    rest = found.equilibrium
    assert rest.parameter_names == ("m", "k", "c")
    assert_allclose(rest.dq, [[-g / k, m * g / k**2, 0.0]], rtol=1e-14)
    assert_allclose(rest.dq_du, [[1 / k]], rtol=1e-14)
    s = found.eigenvalues
    assert_allclose(m * s**2 + c * s + k, 0.0, atol=1e-12)
    for derivative, of_m, of_k, of_c in zip(s, *found.ds.T):
        slope = -1 / (2 * m * derivative + c)
        assert_allclose([of_m, of_k, of_c], [slope * derivative**2, slope, slope * derivative], rtol=1e-13)
    assert_allclose(found.natural_frequencies, np.sqrt(k / m), rtol=1e-14)
    of_frequency = [-np.sqrt(k / m) / (2 * m), 1 / (2 * np.sqrt(k * m)), 0.0]
    assert_allclose(found.natural_frequency_derivatives, [of_frequency] * 2, rtol=1e-12, atol=1e-15)


LOOPS = {
    "loop": (("revolute", "universal", "spherical", "free"), ("distance",)),
    "free": (("free", "spherical", "revolute"), ("point", "distance")),
    "redundant": (("free", "spherical", "revolute"), ("point",)),
}


@lru_cache
def resting(kind: str) -> tuple[System, Array, Array]:
    """A random system with loops, springs and dampers at rest; "redundant" has its closure twice."""
    joints, closures = LOOPS[kind]
    plan = random_tree(11, joints)
    q = random_coordinates(plan)
    m = close_loops(plan, q, closures)
    if kind == "redundant":
        for c in list(m.closures.values()):
            m.add_closure(f"{c.name}_again", c.kind, c.body1, c.body2, pose1=c.pose1, pose2=c.pose2)
    m.add_actuator("motor", next(j.name for j in m.joints() if j.kind == "revolute"))
    damping = "j1.damping.wx" if joints[1] == "spherical" else "j1.damping.angle1"
    system = System(
        m,
        parameters={
            "m": "b1.mass", "com": "b0.com.x", "I": "b1.inertia.xx", "k": "j2.stiffness", "rest": "spring0.rest_length",
            "c": damping, "g": "gravity.x", "anchor": "j1.anchor.x", "gear": "motor.gear",
            "end": [f"{name}.pose2.z" for name in m.closures if name.startswith("c0")],
        },
    )  # fmt: skip
    u = np.array([0.3])
    lower = sr.equilibrium(system, q, u, stable=True).q
    return system, sr.equilibrium(system, lower, u).q, u


@lru_cache
def sled() -> tuple[System, Array, Array]:
    """A sled with a blade and springs to the origin: a nonholonomic row."""
    system = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t, p: (
            p.m * ca.sumsqr(v[:2]) / 2 + 0.3 * v[2] ** 2
            - p.k * ca.sumsqr(q[:2] - ca.vertcat(1, 0.2)) / 2 - 2 * (q[2] - 0.1 - 0.2 * q[0]) ** 2
        ),
        velocity=lambda q, v, t, p: -ca.sin(q[2]) * v[0] + ca.cos(q[2]) * v[1] - p.b * v[2],
        generalized_force=lambda q, v, t, p: -0.3 * v,
        parameters={"m": 1.5, "k": 4.0, "b": 0.2},
        name="sled",
    )  # fmt: skip
    return system, sr.equilibrium(system, np.array([0.9, 0.1, 0.2])).q, np.zeros(0)


def solved(system: System, near: Array, u: Array) -> tuple[Array, np.ndarray, Array]:
    """Return the place of rest near a configuration, its eigenvalues, and the force of the constraints."""
    rest = sr.equilibrium(system, system.assemble(near).q, u)
    force = system.constraint_jacobian(rest.q).T @ rest.multipliers
    return rest.q, sr.linearize(system, rest.q, u).eigenvalues, force


def by_differences(
    state: tuple[System, Array, Array],
    name: str,
    found: EigenvalueSensitivity,
    ds: np.ndarray,
    ahead: Array | float = 0.0,
) -> tuple[Any, ...]:
    """Return changes of q along velocities, of the eigenvalues and of the force of the constraints by a parameter."""
    (system, q, u), value, slopes = state, state[0].parameters[name], []
    for relative in (2e-3, 1e-3):
        h, ends = relative * max(1.0, abs(value)), []
        for sign in (1.0, -1.0):
            system.parameters[name] = value + sign * h
            start = system.move(q, sign * h * ahead * np.ones(system.nv))
            place, values, force = solved(system, start, u)
            expected = found.eigenvalues + sign * h * ds
            near = np.array([values[np.abs(values - s).argmin()] for s in expected])
            ends.append((difference(system, q, place), near, force))
        slopes.append([(a - b) / (2 * h) for a, b in zip(*ends)])
    system.parameters[name] = value
    return tuple((4 * b - a) / 3 for a, b in zip(*slopes))


@pytest.mark.parametrize("kind", LOOPS)
def test_rest_and_eigenvalues_against_differences(kind: str) -> None:
    state = resting(kind)
    system, q, u = state
    found = sr.sensitivity.eigenvalue_derivatives(system, q, u)
    rest = found.equilibrium
    model = sr.linearize(system, q, u)
    assert found.simple.all()
    assert_allclose(np.sort_complex(found.eigenvalues), np.sort_complex(model.eigenvalues), atol=1e-11)
    assert set(rest.parameter_names) == set(system.parameters)
    for k, name in enumerate(rest.parameter_names):
        along, ds, force = by_differences(state, name, found, found.ds[:, k])
        scale = 1.0 + np.abs(rest.along[:, k]).max()
        assert_allclose(rest.along[:, k], along, rtol=0, atol=1e-9 * scale, err_msg=name)
        assert_allclose(found.ds[:, k], ds, rtol=0, atol=1e-8 * scale, err_msg=name)
        assert_allclose(rest.constraint_force[:, k], force, rtol=0, atol=1e-8 * scale, err_msg=name)
    moved = [sr.equilibrium(system, q, u + h).q for h in (1e-3, -1e-3, 5e-4, -5e-4)]
    one, two = (difference(system, q, a) - difference(system, q, b) for a, b in (moved[:2], moved[2:]))
    assert_allclose(rest.along_du[:, 0], (4 * two / 1e-3 - one / 2e-3) / 3, rtol=0, atol=1e-9)
    a = system.constraint_jacobian(q)
    assert_allclose(a @ rest.along[:, [rest.parameter_names.index("g")]], 0.0, atol=1e-12)
    assert_allclose(rest.dq, rate_matrix(system, q) @ rest.along, rtol=0, atol=1e-14)


def test_nonholonomic_rows() -> None:
    state = sled()
    system, q, _ = state
    found = sr.sensitivity.eigenvalue_derivatives(system, q)
    values = sr.linearize(system, q).eigenvalues
    assert len(found.eigenvalues) == 4
    assert len(values) == 5
    assert_allclose(found.eigenvalues, values[np.abs(values) > 1e-9], atol=1e-12)
    rest = found.equilibrium
    assert np.abs(rest.along).max() > 1e-2
    for k, name in enumerate(found.parameter_names):
        along, ds, _ = by_differences(state, name, found, found.ds[:, k], ahead=rest.along[:, k])
        assert_allclose(along, rest.along[:, k], rtol=0, atol=1e-8, err_msg=name)
        assert_allclose(ds, found.ds[:, k], rtol=0, atol=1e-7, err_msg=name)


def test_only_the_parameters_that_are_asked_for() -> None:
    system, q, u = resting("free")
    every = sr.sensitivity.equilibrium_derivatives(system, q, u)
    some = sr.sensitivity.equilibrium_derivatives(system, q, u, parameters=["g", "m"])
    places = [every.parameter_names.index(name) for name in ("g", "m")]
    assert_allclose(some.dq, every.dq[:, places], rtol=0, atol=1e-14)
    with pytest.raises(ArgumentError, match=r"unknown parameter 'mass'.*'m'"):
        sr.sensitivity.equilibrium_derivatives(system, q, u, parameters=["mass"])
    with pytest.raises(ArgumentError, match="parameters must be a sequence of names"):
        sr.sensitivity.equilibrium_derivatives(system, q, u, parameters="m")


def test_systems_without_parameters_or_motions() -> None:
    system = System(load_example("front_loader").build())
    q = system.assemble(system.neutral()).q
    u = sr.equilibrium(system, q, hold=True, within_limits=False).u
    found = sr.sensitivity.eigenvalue_derivatives(system, q, u)
    assert found.ds.shape == (len(found.eigenvalues), 0)
    assert found.equilibrium.dq.shape == (system.nq, 0)
    assert found.equilibrium.dq_du.shape == (system.nq, system.nu)
    held = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t, p: ca.sumsqr(v) / 2 - p.g * q[1],
        holonomic=lambda q, t, p: q - ca.vertcat(p.x, 2 * p.x),
        parameters={"g": 9.81, "x": 0.5},
    )
    rigid = sr.sensitivity.eigenvalue_derivatives(held, [0.5, 1.0])
    assert len(rigid.eigenvalues) == 0
    assert_allclose(rigid.equilibrium.dq, [[0, 1], [0, 2]], atol=1e-14)
    assert_allclose(rigid.equilibrium.constraint_force, [[0, 0], [1, 0]], atol=1e-14)


def test_repeated_and_defective_eigenvalues_are_flagged() -> None:
    pairs = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t, p: (
            ca.sumsqr(v) / 2 - (p.k * q[0] ** 2 + 4 * q[1] ** 2 + 9 * q[2] ** 2) / 2
        ),
        parameters={"k": 4.0},
    )
    found = sr.sensitivity.eigenvalue_derivatives(pairs, np.zeros(3))
    assert_allclose(np.abs(found.eigenvalues), [2, 2, 2, 2, 3, 3], atol=1e-12)
    assert found.simple.tolist() == [False] * 4 + [True] * 2
    assert np.isnan(found.ds[:4]).all()
    assert_allclose(found.ds[4:], 0.0, atol=1e-12)
    critical = sr.sensitivity.eigenvalue_derivatives(hanging(1.0, 4.0, 4.0), [-9.81 / 4])
    assert not critical.simple.any()
    assert np.isnan(critical.ds).all()


def test_places_that_do_not_follow_are_refused() -> None:
    ball = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t, p: p.m * ca.sumsqr(v) / 2 - q[0] ** 2,
        parameters={"m": 1.0},
        name="ball",
    )
    with pytest.raises(SolveError, match="ball: the equilibrium is not isolated"):
        sr.sensitivity.equilibrium_derivatives(ball, [0.0, 0.3])
    with pytest.raises(ArgumentError, match="q is no equilibrium"):
        sr.sensitivity.equilibrium_derivatives(ball, [0.1, 0.3])


def three_legs(*targets: Any) -> System:
    """A table on three parallel legs with a spring: the third leg is redundant."""
    m = sr.Mechanism("table")
    m.add_body("top", 2.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    for name, x in (("one", 0.0), ("two", 1.0), ("three", 0.4)):
        m.add_body(name, 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1))
        stiffness = 20.0 if name == "one" else 0.0
        m.add_joint(name, "revolute", "world", name, axis=(0, 1, 0), parent_pose=(x, 0, 0), stiffness=stiffness,
                    spring_reference=0.5)  # fmt: skip
    m.add_joint("hinge", "revolute", "one", "top", axis=(0, 1, 0), parent_pose=(0, 0, -1))
    m.add_closure("right", "point", "top", "two", pose1=(1, 0, 0), pose2=(0, 0, -1))
    m.add_closure("middle", "point", "top", "three", pose1=(0.4, 0, 0), pose2=(0, 0, -1))
    return System(m, parameters={"l": list(targets), "k": "one.stiffness"})


def test_redundant_rows_follow_where_all_of_them_do() -> None:
    """All legs longer: still a parallelogram. One leg longer: the rows would open, and the parameter is named."""
    legs = [("top.placement.z", -1.0), ("right.pose2.z", -1.0), ("middle.pose2.z", -1.0)]
    system = three_legs(*legs)
    assert system.parameters["l"] == 1.0
    q = sr.equilibrium(system, system.assemble([0.3, -0.3, 0.3, 0.3]).q).q
    found = sr.sensitivity.equilibrium_derivatives(system, q)
    angle = q[system.coordinate_names.index("one")]
    # −k (ϑ − ½) = (3 m_leg l_com + m_top l) g sin ϑ, differentiated by l and by k
    g, k = 9.81, 20.0
    torque = (3 * 0.5 + 2.0) * g
    stiffness = k + torque * np.cos(angle)
    expected = np.array([-2.0 * g * np.sin(angle), 0.5 - angle]) / stiffness
    assert_allclose(k * (0.5 - angle), torque * np.sin(angle), rtol=1e-10)
    assert_allclose(found.dq[system.coordinate_names.index("one")], expected, rtol=1e-10)
    signs = {"one": 1.0, "two": 1.0, "three": 1.0, "hinge": -1.0}
    for name, sign in signs.items():
        assert_allclose(found.dq[system.coordinate_names.index(name)], sign * expected, rtol=1e-10)
    with pytest.raises(SolveError, match="the redundant constraints cannot follow 'l': they would open"):
        sr.sensitivity.equilibrium_derivatives(three_legs(legs[2]), q)


# --- motions -------------------------------------------------------------------------------------------


def test_motion_of_an_oscillator() -> None:
    """x = −g m/k (1 − cos ω t): by k, m at t, to the error of the method."""
    m, k, g, t = 2.0, 50.0, 9.81, 1.0
    found = sr.sensitivity.motion_derivatives(hanging(c=0.0), [0.0], duration=t, dt=1e-3, every=250)
    assert_allclose(found.t, [0.0, 0.25, 0.5, 0.75, 1.0])
    w = np.sqrt(k / m)
    for i, time in enumerate(found.t):
        c, s = np.cos(w * time), np.sin(w * time)
        of_w = -g / w**2 * (time * s - 2 / w * (1 - c))
        assert_allclose(found.q[i], -g / w**2 * (1 - c), rtol=0, atol=1e-11)
        assert_allclose(found.dq[i, 0, :2], [of_w * -w / (2 * m), of_w * w / (2 * k)], rtol=0, atol=1e-10)
        assert_allclose(found.by_start[i], [[c, s / w], [-w * s, c]], rtol=0, atol=1e-9)
    assert_allclose(found.along, found.dq)


@lru_cache
def swinging() -> tuple[System, Array]:
    """A free body with a quaternion that drags a loop, with parameters, released at rest."""
    system, q, _ = resting("redundant")
    return system, system.assemble(system.move(q, 0.2 * np.ones(system.nv))).q


def law(q: Any, v: Any, t: Any) -> Any:
    return 0.5 * ca.sin(3 * t) - 0.2 * v[-1]


def test_motion_against_differences() -> None:
    """Of the motion that the simulator computes, with a control law, dependent rows and quaternions."""
    system, q = swinging()
    found = sr.sensitivity.motion_derivatives(system, q, duration=0.4, dt=4e-3, control=law, every=100)
    names = found.parameter_names
    for name in ("m", "k", "anchor", "end", "gear"):
        start, slopes = system.parameters[name], []
        for relative in (2e-3, 1e-3):
            h, ends = relative * max(1.0, abs(start)), []
            for sign in (1.0, -1.0):
                system.parameters[name] = start + sign * h
                x = system.pack(q)
                system.workspace().project(x)
                run = sr.simulate(system, x[: system.nq], x[system.nq : system.nq + system.nv], duration=0.4, dt=4e-3,
                                  control=law)  # fmt: skip
                ends.append(np.concatenate([run.q[-1], run.v[-1]]))
            slopes.append((ends[0] - ends[1]) / (2 * h))
        system.parameters[name] = start
        expected = (4 * slopes[1] - slopes[0]) / 3
        derivative = np.concatenate([found.dq[-1], found.dv[-1]])[:, names.index(name)]
        assert_allclose(derivative, expected, rtol=0, atol=1e-8 * (1 + np.abs(expected).max()), err_msg=name)


@pytest.mark.parametrize("name", ["quaternions", "bricard free", "five_bar"])
def test_motion_by_its_start_against_differences(name: str) -> None:
    """Rows that are dependent on the constraints alone have `simulate` project the stages from the second step on."""
    system, q, v, _, _ = looped(name) if name == "quaternions" else shipped(name)
    found = sr.sensitivity.motion_derivatives(system, q, v, duration=0.1, dt=5e-3, every=20)
    way = system.project_velocity(q, np.random.default_rng(2).standard_normal(system.nv))
    kick, slopes = system.project_velocity(q, np.random.default_rng(4).standard_normal(system.nv)), []
    for h in (4e-4, 2e-4):
        ends = []
        for sign in (1.0, -1.0):
            x = system.pack(system.move(q, sign * h * way), v + sign * h * kick)
            system.workspace().project(x)
            run = sr.simulate(
                system, x[: system.nq], x[system.nq : system.nq + system.nv], duration=0.1, dt=5e-3
            )
            ends.append((run.q[-1], run.v[-1]))
        slopes.append([(a - b) / (2 * h) for a, b in zip(*ends)])
    along, turned = ((4 * b - a) / 3 for a, b in zip(*slopes))
    expected = np.concatenate([np.linalg.pinv(rate_matrix(system, found.q[-1])) @ along, turned])
    assert_allclose(found.by_start[-1] @ np.concatenate([way, kick]), expected, rtol=0, atol=1e-9)


def test_the_motion_by_its_start_is_the_product_of_steps() -> None:
    system, q = swinging()
    found = sr.sensitivity.motion_derivatives(system, q, duration=0.02, dt=4e-3)
    product = np.eye(2 * system.nv)
    for k in range(5):
        step = sr.sensitivity.step_derivatives(system, found.q[k], found.v[k], dt=4e-3)
        product = step.F @ product
        assert_allclose(found.by_start[k + 1], product, rtol=0, atol=1e-11)
    assert found.by_start.shape == (6, 2 * system.nv, 2 * system.nv)
    assert found.names == sr.sensitivity.step_derivatives(system, q).names


def test_a_motion_that_starts_at_rest_and_stays_follows_the_place_of_rest() -> None:
    """dx/dp = (along, dv) + by_start · (dϑ₀/dp, 0) is the constant change of the place of rest."""
    system, q, u = resting("free")
    rest = sr.sensitivity.equilibrium_derivatives(system, q, u)
    found = sr.sensitivity.motion_derivatives(system, q, duration=0.1, dt=5e-3, control=lambda q, v, t: 0.3)
    start = np.vstack([rest.along, np.zeros_like(rest.along)])
    change = np.concatenate([found.along, found.dv], axis=1) + found.by_start @ start
    # at the start itself the given q is projected on constraints that follow p: that part is in `start` already
    own = np.concatenate([found.along[0], found.dv[0]])
    total = change - found.by_start @ own
    for k in (0, 5, -1):
        assert_allclose(total[k], start, rtol=0, atol=1e-9)


def test_motions_that_have_no_derivative_are_refused() -> None:
    m = sr.Mechanism("arm")
    m.add_body("arm", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    m.add_joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0))
    m.add_actuator("motor", "hinge", limits=(-1.0, 1.0))
    arm = System(m, parameters={"m": "arm.mass"})
    with pytest.raises(SolveError, match="no derivatives where 'motor' reaches its limit, at t = "):
        sr.sensitivity.motion_derivatives(arm, [0.0], duration=0.5, dt=0.01, control=lambda q, v, t: 4 * t)
    m.add_contact("tip", "arm", (2, 0, 0), offset=-1.0)
    with pytest.raises(SolveError, match="closures switch or a joint meets its limit, at t = "):
        sr.sensitivity.motion_derivatives(System(m), [0.0], duration=1.5, dt=0.01)
    for option, why in (
        ({"limits": (-0.1, 0.1)}, "a joint meets its limit"),
        ({"friction": 0.1}, "begins to slip"),
    ):
        stopped = sr.Mechanism("arm")
        stopped.add_body("arm", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
        stopped.add_joint("hinge", "revolute", "world", "arm", axis=(0, 1, 0), **option)
        with pytest.raises(SolveError, match=why):
            sr.sensitivity.motion_derivatives(System(stopped), [0.0], duration=0.5, dt=0.01)
