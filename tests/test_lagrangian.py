"""Derived and given equations: terms against hand calculation, energies, parameters, names, and bad input."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

import sarrus as sr
from sarrus.base.errors import ArgumentError
from sarrus.codegen import cache_info

G = 9.81


def kinetic(q, v, t):
    return ca.sumsqr(v) / 2


def identity(q):
    return np.eye(2)


def no_bias(q, v):
    return [0, 0]


def double_pendulum(**arguments):
    """Point masses m1, m2 on massless links l1, l2; absolute angles from the vertical."""

    def lagrangian(q, v, t, p):
        cosine = ca.cos(q[0] - q[1])
        return (
            (p.m1 + p.m2) / 2 * (p.l1 * v[0]) ** 2
            + p["m2"] / 2 * (p.l2 * v[1]) ** 2
            + p.m2 * p.l1 * p.l2 * v[0] * v[1] * cosine
            + (p.m1 + p.m2) * G * p.l1 * ca.cos(q[0])
            + p.m2 * G * p.l2 * ca.cos(q[1])
        )

    parameters = {"m1": 1.0, "m2": 0.5, "l1": 0.8, "l2": 1.1}
    return sr.System.from_lagrangian(nq=2, lagrangian=lagrangian, parameters=parameters, **arguments)


def double_pendulum_terms(q, v, m1=1.0, m2=0.5, l1=0.8, l2=1.1):
    c, s = np.cos(q[0] - q[1]), np.sin(q[0] - q[1])
    coupling = m2 * l1 * l2
    mass = np.array([[(m1 + m2) * l1**2, coupling * c], [coupling * c, m2 * l2**2]])
    bias = [
        coupling * s * v[1] ** 2 + (m1 + m2) * G * l1 * np.sin(q[0]),
        -coupling * s * v[0] ** 2 + m2 * G * l2 * np.sin(q[1]),
    ]
    return mass, np.array(bias)


# --- terms -------------------------------------------------------------------------------------------


def test_lagrangian_gives_the_terms_of_the_double_pendulum():
    system = double_pendulum()
    rng = np.random.default_rng(0)
    for q, v in rng.normal(size=(5, 2, 2)):
        mass, bias = double_pendulum_terms(q, v)
        np.testing.assert_allclose(system.mass_matrix(q), mass, rtol=1e-13)
        np.testing.assert_allclose(system.bias_force(q, v), bias, rtol=1e-12)
        np.testing.assert_allclose(system.kinetic_energy(q, v), v @ mass @ v / 2, rtol=1e-13)
        a = system.forward_dynamics(q, v).a
        np.testing.assert_allclose(a, np.linalg.solve(mass, -bias), rtol=1e-11)
    assert system.equations.conservative


def test_given_matrices_equal_the_lagrangian():
    derived = double_pendulum()

    def mass_matrix(q):
        c = 0.44 * ca.cos(q[0] - q[1])
        return [[0.96, c], [c, 0.605]]

    def bias(q, v):
        s = 0.44 * ca.sin(q[0] - q[1])
        return [
            s * v[1] ** 2 + 1.2 * G * ca.sin(q[0]),
            -s * v[0] ** 2 + 0.55 * G * ca.sin(q[1]),
        ]

    given = sr.System.from_equations(
        2, mass_matrix, bias, potential_energy=lambda q: -1.2 * G * ca.cos(q[0]) - 0.55 * G * ca.cos(q[1])
    )
    rng = np.random.default_rng(1)
    for q, v in rng.normal(size=(3, 2, 2)):
        np.testing.assert_allclose(
            given.forward_dynamics(q, v).a, derived.forward_dynamics(q, v).a, rtol=1e-11
        )
        np.testing.assert_allclose(given.potential_energy(q), derived.potential_energy(q), rtol=1e-13)
    assert given.equations.conservative
    assert not sr.System.from_equations(2, mass_matrix, bias).equations.conservative


def test_terms_linear_in_velocity_are_gyroscopic_and_carry_no_energy():
    field = 1.7
    system = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 + field * (q[0] * v[1] - q[1] * v[0]) - q[0] ** 2
    )
    q, v = np.array([0.3, -0.4]), np.array([1.1, 0.7])
    np.testing.assert_allclose(system.bias_force(q, v), [-2 * field * v[1] + 2 * q[0], 2 * field * v[0]])
    np.testing.assert_allclose(system.potential_energy(q), q[0] ** 2)
    assert system.equations.conservative
    assert np.ptp(sr.simulate(system, q, v, duration=2.0, dt=1e-3).energy) < 1e-10


def test_constraint_rows_are_differentiated_along_the_motion():
    system = sr.System.from_lagrangian(
        nq=3,
        lagrangian=kinetic,
        holonomic=lambda q, t: [q[0] * q[1] - ca.sin(t), q[2] - q[0] ** 2],
        velocity=lambda q, v, t: v[0] * v[1] + t * q[2],
    )
    assert (system.nh, system.nc) == (2, 3)
    assert system.constraint_names == ("phi1", "phi2", "psi1")
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, 3))
    t, h = 0.8, 1e-5
    before, after = (system.constraint_residual(q + s * v, t + s) for s in (-h, h))
    np.testing.assert_allclose(system.velocity_residual(q, v, t)[:2], (after - before) / (2 * h), atol=1e-8)
    before, after = (system.velocity_residual(q + s * v + s * s / 2 * a, v + s * a, t + s) for s in (-h, h))
    rate = system.constraint_jacobian(q, v, t) @ a + system.constraint_bias(q, v, t)
    np.testing.assert_allclose(rate, (after - before) / (2 * h), atol=1e-8)


@pytest.mark.parametrize(
    "arguments",
    [
        {"generalized_force": lambda q, v, t: -0.1 * v},
        {"non_ideal": lambda q, v, t: -0.1 * v},
        {"holonomic": lambda q, t: q[0] - t},
        {"velocity": lambda q, v, t: v[0] - 1},
        {"velocity": lambda q, v, t: ca.sumsqr(v) - 1},
        {"lagrangian": lambda q, v, t: ca.sumsqr(v) / 2 + t * q[0]},
    ],
)
def test_what_does_work_is_not_conservative(arguments):
    system = sr.System.from_lagrangian(**({"nq": 2, "lagrangian": kinetic} | arguments))
    assert not system.equations.conservative
    with pytest.raises(ArgumentError, match="conservative"):
        sr.simulate(system, [0.0, 0.0], duration=1.0, stabilization="energy")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"holonomic": lambda q, t: ca.sumsqr(q) - 1},
        {"velocity": lambda q, v, t: ca.cos(q[0]) * v[0] + v[1]},
        {"inputs": lambda q: [1, 0]},
    ],
)
def test_what_does_no_work_is_conservative(arguments):
    assert sr.System.from_lagrangian(2, kinetic, **arguments).equations.conservative


# --- parameters --------------------------------------------------------------------------------------


def test_parameters_change_without_compiling():
    system = double_pendulum()
    q, v = np.array([0.4, -0.9]), np.array([1.0, 2.0])
    system.forward_dynamics(q, v)
    sr.simulate(system, q, v, duration=0.1, dt=1e-3)
    native, misses = system.compiled.function("dynamics"), cache_info().misses
    system.parameters["m2"] = 1.75
    system.parameters["l1"] = 0.3
    mass, bias = double_pendulum_terms(q, v, m2=1.75, l1=0.3)
    np.testing.assert_allclose(system.forward_dynamics(q, v).a, np.linalg.solve(mass, -bias), rtol=1e-11)
    trajectory = sr.simulate(system, q, v, duration=0.1, dt=1e-3)
    np.testing.assert_allclose(trajectory.energy[0], trajectory.energy[-1], atol=1e-8)
    assert system.compiled.function("dynamics") is native
    assert cache_info().misses == misses


def test_parameters_reach_every_function():
    system = sr.System.from_equations(
        nq=2,
        mass_matrix=lambda q, p: p.m * np.eye(2),
        bias=lambda q, v, p: [0, p.m * p.g],
        rate=lambda q, v, p: p.scale * v,
        holonomic=lambda q, t, p: ca.sumsqr(q) - p.r**2,
        velocity=lambda q, v, t, p: 0 * p.m * v[0],
        generalized_force=lambda q, v, t, p: -p.c * v,
        inputs=lambda q, p: [p.k, 0],
        non_ideal=lambda q, v, t, p: -p.d * v,
        potential_energy=lambda q, p: p.m * p.g * q[1] / p.scale,
        parameters={"m": 2.0, "g": 9.0, "scale": 0.5, "r": 1.0, "c": 0.1, "k": 3, "d": 0.2},
    )
    assert system.parameters == {"m": 2.0, "g": 9.0, "scale": 0.5, "r": 1.0, "c": 0.1, "k": 3.0, "d": 0.2}
    system.parameters["r"] = 2.0
    np.testing.assert_allclose(system.constraint_residual([2.0, 0.0]), [0.0])
    np.testing.assert_allclose(system.constraint_jacobian([2.0, 0.0])[0], [2.0, 0.0])
    result = system.forward_dynamics([2.0, 0.0], [0.0, 1.0], [1.0])
    np.testing.assert_allclose(result.a[1], -(18.0 + 0.1 + 0.2) / 2.0)


# --- names and values --------------------------------------------------------------------------------


def test_names_are_kept_and_have_defaults():
    named = sr.System.from_lagrangian(
        2,
        kinetic,
        holonomic=lambda q, t: q[0],
        velocity=lambda q, v, t: v[1],
        inputs=lambda q: np.eye(2),
        name="bead",
        coordinate_names=("x", "y"),
        constraint_names=("wall", "brake"),
        actuator_names=("push", "lift"),
    )
    assert named.name == "bead"
    assert (named.coordinate_names, named.velocity_names) == (("x", "y"), ("x", "y"))
    assert (named.constraint_names, named.actuator_names) == (("wall", "brake"), ("push", "lift"))
    plain = sr.System.from_equations(2, identity, no_bias, inputs=identity)
    assert (plain.coordinate_names, plain.velocity_names) == (("q1", "q2"), ("q1", "q2"))
    assert plain.actuator_names == ("u1", "u2")
    quasi = sr.System.from_equations(1, identity, no_bias, nv=2, rate=lambda q, v: v[0] - v[1])
    assert quasi.velocity_names == ("v1", "v2")


@pytest.mark.parametrize(
    "value",
    [
        lambda q: ca.vertcat(q[0], 2.0),
        lambda q: ca.horzcat(q[0], 2.0),
        lambda q: [q[0], 2],
        lambda q: (q[0], ca.DM(2)),
        lambda q: np.array([q[0], 2.0], dtype=object),
        lambda q: [[q[0]], [np.float64(2.0)]],
    ],
)
def test_functions_may_return_columns_of_many_kinds(value):
    system = sr.System.from_lagrangian(2, kinetic, generalized_force=lambda q, v, t: value(q))
    np.testing.assert_array_equal(system.passive_force([3.0, 0.0], [0.0, 0.0]), [3.0, 2.0])


# --- bad input ---------------------------------------------------------------------------------------

STRAY = ca.SX.sym("stray")

BAD_LAGRANGIAN = [
    ({"nq": 0}, "nq", "nq must be a whole number ≥ 1, got 0"),
    ({"nq": 2.0}, "nq", "got 2.0"),
    ({"lagrangian": 3.0}, "lagrangian", "must be a function of (q, v, t), got float"),
    ({"lagrangian": lambda q, v: q[0]}, "lagrangian", "must be a function of (q, v, t), got one of (q, v)"),
    ({"lagrangian": lambda q, v, t: q}, "lagrangian", "must return 1 entry, got 2"),
    ({"lagrangian": lambda q, v, t: None}, "lagrangian", "got NoneType"),
    ({"lagrangian": lambda q, v, t: ca.MX.sym("x")}, "lagrangian", "must return CasADi SX expressions"),
    ({"lagrangian": lambda q, v, t: q[7]}, "lagrangian", "could not be traced"),
    ({"lagrangian": lambda q, v, t: STRAY * v[0] ** 2}, "lagrangian", "not its arguments: stray"),
    ({"lagrangian": lambda q, v, t: v[0] ** 4}, "lagrangian", "at most quadratic in v"),
    ({"lagrangian": lambda q, v, t: float("nan")}, "lagrangian", "finite values, got nan"),
    ({"holonomic": lambda q, v, t: q[0]}, "holonomic", "must be a function of (q, t)"),
    ({"holonomic": lambda q, t: np.eye(2)}, "holonomic", "must return a column, got shape (2, 2)"),
    ({"velocity": lambda q, v, t: STRAY}, "velocity", "stray"),
    ({"generalized_force": lambda q, v, t: 1.0}, "generalized_force", "must return 2 entries, got 1"),
    ({"non_ideal": lambda q, v, t: [1, 2, 3]}, "non_ideal", "must return 2 entries, got 3"),
    ({"inputs": lambda q: [1, 2, 3]}, "inputs", "a matrix of 2 rows, got shape (3, 1)"),
    ({"parameters": ["m"]}, "parameters", "must map names to numbers"),
    ({"parameters": {"2m": 1.0}}, "parameters", "'2m' is no name"),
    ({"parameters": {"m": np.inf}}, "m", "'m' must be a finite number, got inf"),
    ({"parameters": {"m": 1.0}}, "lagrangian", "must be a function of (q, v, t, p), got one of (q, v, t)"),
    (
        {"parameters": {"mass": 1.0}, "lagrangian": lambda q, v, t, p: p.mas},
        "lagrangian",
        "unknown parameter 'mas'. Did you mean 'mass'?",
    ),
    (
        {"parameters": {"mass": 1.0}, "lagrangian": lambda q, v, t, p: p["m"]},
        "lagrangian",
        "unknown parameter 'm'. Known: 'mass'",
    ),
    ({"coordinate_names": ("x",)}, "coordinate_names", "must have 2 entries, got 1"),
    ({"holonomics": lambda q, t: q[0]}, "holonomics", "unknown argument 'holonomics'"),
    ({"rate": lambda q, v: v}, "rate", "unknown argument 'rate'"),
    ({"coordinate_names": "xy"}, "coordinate_names", "must be a sequence of names"),
    ({"coordinate_names": ("x", "x")}, "coordinate_names", "must be unique"),
    ({"constraint_names": ("a", "b")}, "constraint_names", "must have 0 entries, got 2"),
    (
        {"actuator_names": ("a", "b"), "inputs": lambda q: [1, 0]},
        "actuator_names",
        "must have 1 entry, got 2",
    ),
]


@pytest.mark.parametrize(("arguments", "element", "message"), BAD_LAGRANGIAN)
def test_bad_arguments_of_a_lagrangian_are_named(arguments, element, message):
    with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
        sr.System.from_lagrangian(**({"nq": 2, "lagrangian": kinetic, "name": "toy"} | arguments))
    assert caught.value.element == element
    assert str(caught.value).startswith("toy: ")


def flying_sand(**functions) -> sr.System:
    """A cart in the plane that loses its load at rest relative to it: M = m e^(−kt), pushed by a jet that turns."""
    mass, lost, turning = 3.0, 0.4, 1.5
    given = {
        "mass_matrix": lambda q, t: mass * ca.exp(-lost * t) * ca.SX.eye(2),
        "bias": lambda q, v: [0.0, 0.0],
        "inputs": lambda q, t: [[ca.cos(turning * t)], [ca.sin(turning * t)]],
    }
    return sr.System.from_equations(2, **(given | functions))


def test_mass_and_inputs_of_given_equations_may_depend_on_time():
    system, growth, end, u = flying_sand(), 0.4 + 1.5j, 1.7, 2.0
    exact = u / 3.0 * ((np.exp(growth * end) - 1.0) / growth - end) / growth  # x + i y, twice integrated
    for options in ({}, {"method": "rodas5p"}, {"dt": 1e-3}):
        run = sr.simulate(system, [0.0, 0.0], control=lambda q, v, t: [u], duration=end, **options)
        assert abs(complex(*run.q[-1]) - exact) < 1e-7
    s = np.array([np.cos(1.5 * end), np.sin(1.5 * end)])
    a = s * u * np.exp(0.4 * end) / 3.0
    rest = np.zeros(2)
    assert np.allclose(system.actuation_matrix(rest, t=end)[:, 0], s, atol=1e-15)
    assert np.allclose(system.forward_dynamics(rest, rest, [u], end).a, a, atol=1e-14)
    assert np.allclose(system.inverse_dynamics(rest, rest, a, end).u, [u], atol=1e-13)
    assert np.allclose(sr.linearize_at(system, rest, rest, [u], t=end).B[2:, 0], a / u, atol=1e-13)
    assert np.allclose(
        np.array(system.to_casadi("actuation_matrix")(rest, rest, end, [])).ravel(), s, atol=1e-15
    )


def test_laws_follow_inputs_that_depend_on_time():
    def turned(q, t):
        return [[ca.cos(t), -ca.sin(t)], [ca.sin(t), ca.cos(t)]]

    system = flying_sand(inputs=turned)
    law = sr.control.ProjectedInverseDynamics(system, ["q1", "q2"], [0.3, -0.2], stiffness=25.0, damping=10.0)
    q, v = np.array([0.1, 0.4]), np.array([-0.5, 0.2])
    for t in (0.0, 0.8, 2.1):
        found = system.forward_dynamics(q, v, law(q, v, t), t).a
        assert np.allclose(found, 25.0 * (np.array([0.3, -0.2]) - q) - 10.0 * v, atol=1e-12)


def test_functions_take_p_where_there_are_no_parameters_and_keep_their_own_defaults():
    plain = flying_sand()
    for functions in (
        {
            "mass_matrix": lambda q, t, p: 3.0 * ca.exp(-0.4 * t) * ca.SX.eye(2),
            "bias": lambda q, v, t, p: [0.0, 0.0],
        },
        {"bias": lambda q, v, weight=0.0: [weight, weight]},
        {"bias": lambda q, v, t=0.0: [0.0 * t, 0.0]},
        {"generalized_force": lambda q, v, t, p: [0.0, 0.0]},
    ):
        same = flying_sand(**functions)
        a, b = (x.forward_dynamics([0.1, 0.2], [1.0, 2.0], [0.7], 0.9).a for x in (plain, same))
        assert np.array_equal(a, b)
    lagrangian = sr.System.from_lagrangian(1, lambda q, v, t, p: v[0] ** 2)
    assert lagrangian.mass_matrix([0.0])[0, 0] == 2.0


BAD_EQUATIONS = [
    ({"mass_matrix": lambda q: np.eye(3)}, "mass_matrix", "must return shape (2, 2), got (3, 3)"),
    ({"mass_matrix": lambda q: [[1, q[0]], [0, 1]]}, "mass_matrix", "must be symmetric"),
    ({"bias": lambda q, v: [1]}, "bias", "must return 2 entries, got 1"),
    ({"nv": 1}, "rate", "rate is needed"),
    ({"lagrangian": kinetic}, "lagrangian", "unknown argument 'lagrangian'"),
    (
        {"mass_matrix": lambda q, t, p, more: identity(q)},
        "mass_matrix",
        "must be a function of (q, t), got one of",
    ),
    ({"nv": 0}, "nv", "nv must be a whole number"),
    ({"rate": lambda q, v: v[0]}, "rate", "must return 2 entries, got 1"),
    ({"rate": lambda q, v: v * v}, "rate", "must be linear in v"),
    ({"rate": lambda q, v: v + 1}, "rate", "must be linear in v"),
    ({"potential_energy": lambda q: q}, "potential_energy", "must return 1 entry, got 2"),
    ({"quaternions": (0,)}, "quaternions", "separate groups of four in 0 … 1"),
    ({"nq": 4, "nv": 3, "quaternions": (0,)}, "rate", "rate is needed"),
    ({"velocity_names": ("a",)}, "velocity_names", "must have 2 entries, got 1"),
]


@pytest.mark.parametrize(("arguments", "element", "message"), BAD_EQUATIONS)
def test_bad_arguments_of_given_equations_are_named(arguments, element, message):
    with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
        sr.System.from_equations(**({"nq": 2, "mass_matrix": identity, "bias": no_bias} | arguments))
    assert caught.value.element == element


def test_a_lagrangian_without_inertia_is_ill_posed_when_solved():
    system = sr.System.from_lagrangian(2, lambda q, v, t: v[0] ** 2 - q[1] ** 2)
    with pytest.raises(sr.SarrusError, match="mass matrix is not positive definite"):
        system.forward_dynamics([0.0, 1.0], [0.0, 0.0])
