"""Parametrizations: identities of the local state-space form on random mechanisms, closed forms, bad input."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.linalg import null_space

from mechanisms import HOLONOMIC, random_loop
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.coordinates.parametrization import Parametrization, parametrize
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.motion.simulate import simulate

AUTOMATIC = ("partition", "tangent-space", "null-space")


# Trees with loops: angles, quaternions, several joint kinds; what closes them. All leave some freedom.
@lru_cache
def looped(kind: str) -> tuple[System, Array, Array]:
    """A random system closed at q, with an admissible velocity; "redundant" has every closure twice."""
    mechanism, q = random_loop(kind)
    system = System(mechanism)
    v = system.project_velocity(q, np.random.default_rng(5).standard_normal(system.nv))
    return system, q, v


def pendulum(**arguments: object) -> System:
    """A particle of 1 kg on a circle of 1 m."""
    return System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - 9.81 * q[1],
        name="pendulum",
        coordinate_names=("x", "y"),
        **{"holonomic": lambda q, t: ca.sumsqr(q) - 1} | arguments,  # type: ignore[arg-type]
    )


def acceleration(chart: Parametrization, q: Array, v: Array, **arguments: object) -> Array:
    """v̇ = K ÿ + K̇ ẏ by the reduced equations."""
    y, ydot = chart.to_independent(q, v)
    found = chart.reduced_dynamics(y, ydot, **arguments)  # type: ignore[arg-type]
    return chart.basis(q, v) @ found + chart.basis_bias(q, v)


# --- identities ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("kind", HOLONOMIC)
def test_there_and_back(kind: str, coordinates: str) -> None:
    system, q0, v0 = looped(kind)
    chart = parametrize(system, q0, v0, coordinates=coordinates)
    assert chart.dof == len(chart.names) == system.nv - system.forward_dynamics(q0, v0).rank > 0
    y0, _ = chart.to_independent(q0, v0)
    assert_allclose(y0, chart.y0, atol=1e-15)
    rng = np.random.default_rng(1)
    for _ in range(3):
        y, ydot = y0 + 0.05 * rng.standard_normal(chart.dof), rng.standard_normal(chart.dof)
        q, v = chart.to_full(y, ydot)
        assert_allclose(system.constraint_residual(q), 0.0, atol=1e-13)
        assert_allclose(system.velocity_residual(q, v), 0.0, atol=1e-12)
        again, rate = chart.to_independent(q, v)
        assert_allclose(again, y, atol=1e-13)
        assert_allclose(rate, ydot, atol=1e-12)
        assert_allclose(system.normalized(q), q, atol=1e-15)


@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("kind", HOLONOMIC)
def test_basis_is_the_derivative_of_the_parametrization(kind: str, coordinates: str) -> None:
    system, q0, v0 = looped(kind)
    chart = parametrize(system, q0, v0, coordinates=coordinates)
    y0, ydot = chart.to_independent(q0, v0)
    q, v = chart.to_full(y0 + 0.03, ydot)
    y, _ = chart.to_independent(q, v)
    basis = chart.basis(q)
    assert_allclose(system.constraint_jacobian(q) @ basis, 0.0, atol=1e-12)
    assert_allclose(basis @ ydot, v, atol=1e-12)
    step = 1e-5
    for k, direction in enumerate(np.eye(chart.dof)):
        after, before = (chart.to_full(y + sign * step * direction, guess=q)[0] for sign in (1, -1))
        assert_allclose((after - before) / (2 * step), system.coordinate_rate(q, basis[:, k]), atol=1e-8)
    # v̇ at ÿ = 0: the velocity at y + s ẏ with the same ẏ.
    after, before = (chart.to_full(y + sign * step * ydot, ydot, guess=q)[1] for sign in (1, -1))
    scale = 1.0 + np.abs(chart.basis_bias(q, v)).max()
    assert_allclose(chart.basis_bias(q, v) / scale, (after - before) / (2 * step * scale), atol=1e-7)


@pytest.mark.parametrize("coordinates", AUTOMATIC)
@pytest.mark.parametrize("kind", HOLONOMIC)
def test_reduced_dynamics_are_those_of_the_system(kind: str, coordinates: str) -> None:
    system, q0, v0 = looped(kind)
    chart = parametrize(system, q0, v0, coordinates=coordinates)
    y0, ydot = chart.to_independent(q0, v0)
    q, v = chart.to_full(y0 - 0.04, 0.7 * ydot)
    tau = np.random.default_rng(3).standard_normal(system.nv)
    expected = system.forward_dynamics(q, v, tau=tau).a
    size = np.abs(expected).max()
    assert_allclose(acceleration(chart, q, v, tau=tau) / size, expected / size, atol=1e-11)


def test_basis_by_complementary_coordinates() -> None:
    """K = R̄ − S̄ (A S̄)⁻¹ A R̄ and K̇ ẏ = −S̄ (A S̄)⁻¹ γ, Spencer 2004, equations (2.46) and (2.47)."""
    system, q, v = looped("hinges")
    chart = parametrize(system, q, v, coordinates="partition")
    chosen = [system.velocity_names.index(name) for name in chart.names]
    rest = np.setdiff1d(np.arange(system.nv), chosen)
    r, s = np.eye(system.nv)[:, chosen], np.eye(system.nv)[:, rest]
    a = system.constraint_jacobian(q)
    assert_allclose(chart.basis(q), r - s @ np.linalg.lstsq(a @ s, a @ r, rcond=1e-10)[0], atol=1e-12)
    drift = -s @ np.linalg.lstsq(a @ s, system.constraint_bias(q, v), rcond=1e-10)[0]
    assert_allclose(chart.basis_bias(q, v), drift, atol=1e-11)


@pytest.mark.parametrize("coordinates", ["tangent-space", ["bucket", "lift"]])
def test_integrating_the_reduced_equations_gives_the_motion(example, coordinates) -> None:
    loader = example("front_loader")
    system = System(loader.build())
    q0 = loader.pose(system, 0.2, 0.5)
    chart = parametrize(system, q0, coordinates=coordinates)

    def rate(t: float, x: Array) -> Array:
        y, ydot = np.split(x, 2)
        return np.concatenate([ydot, chart.reduced_dynamics(y, ydot)])

    start = np.concatenate(chart.to_independent(q0))
    end = solve_ivp(rate, (0.0, 0.1), start, method="DOP853", rtol=1e-9, atol=1e-11).y[:, -1]
    q, v = chart.to_full(*np.split(end, 2))
    expected = simulate(system, q0, duration=0.1, rtol=1e-12, atol=1e-12)
    assert_allclose(q, expected.q[-1], atol=1e-9)
    assert_allclose(v, expected.v[-1], atol=1e-8)


# --- closed forms --------------------------------------------------------------------------------------


def test_parallelogram(example) -> None:
    """Ψ = (q1, q2, q1 − q2, q2 − q1 − π), Spencer 2004, section 2.4.1."""
    robot = example("parallelogram")
    system = System(robot.build())
    chart = parametrize(system, robot.closed(0.4, 1.5), coordinates=["q1", "q2"])
    assert_allclose(chart.to_full([1.1, 2.4])[0], robot.closed(1.1, 2.4), atol=1e-14)
    q, v = chart.to_full([0.9, 1.7], [0.3, -0.2])
    assert_allclose(v, [0.3, -0.2, 0.5, -0.5], atol=1e-14)
    assert_allclose(chart.basis(q), [[1, 0], [0, 1], [1, -1], [-1, 1]], atol=1e-13)
    assert_allclose(chart.basis_bias(q, v), 0.0, atol=1e-13)


def test_pendulum_by_its_abscissa() -> None:
    system, x = pendulum(), 0.6
    chart = parametrize(system, [0.0, -1.0], coordinates=["x"])
    q, v = chart.to_full([x], [2.0])
    assert_allclose(q, [x, -np.sqrt(1 - x**2)], atol=1e-15)
    assert_allclose(v, [2.0, 2.0 * x / np.sqrt(1 - x**2)], atol=1e-14)
    assert_allclose(chart.basis_bias(q, v), [0.0, 4.0 / (1 - x**2) ** 1.5], rtol=1e-13)
    # The branch stays that of the guess, close to the end of the chart too.
    assert chart.to_full([0.9999])[0][1] == pytest.approx(-np.sqrt(1 - 0.9999**2), rel=1e-10)
    upper = chart.to_full([-0.99], guess=[0.1, np.sqrt(0.99)])[0]
    assert_allclose(upper, [-0.99, np.sqrt(1 - 0.99**2)], atol=1e-13)


def test_outside_the_chart() -> None:
    chart = parametrize(pendulum(), [0.0, -1.0], coordinates=["x"])
    with pytest.raises(
        SolveError, match=r"pendulum: x = \[1\.2\] lie outside the chart: the chosen coord"
    ) as caught:
        chart.to_full([1.2])
    reached = caught.value.result
    assert reached.status is Status.COORDINATES_FAILED
    assert 0.8 < reached.part <= 1 / 1.2
    assert_allclose(np.linalg.norm(reached.q), 1.0, atol=1e-12)
    assert reached.condition > 10.0
    assert_allclose(reached.y, reached.q[:1], atol=1e-12)
    with pytest.raises(
        SolveError, match=r"x do not determine the motion at q = \[1\. 0\.\]: condition number"
    ):
        chart.basis([1.0, 0.0])


def test_ball_joint_turns_by_twice_the_vector_part() -> None:
    mechanism = Mechanism("top")
    mechanism.add_body("top", 1.0, inertia=(0.1, 0.2, 0.25))
    mechanism.add_joint("ball", "spherical", "world", "top")
    system = System(mechanism)
    chart = parametrize(system, system.neutral(), coordinates="partition")
    y = np.array([0.3, -0.4, 0.2])
    q, v = chart.to_full(y, [1.0, 2.0, 3.0])
    assert_allclose(q, [np.sqrt(1 - y @ y / 4), *(y / 2)], atol=1e-14)
    # ẏ = 2 d/dt (vector part) = (w + [y/2]×) ω for angular velocity in body axes.
    skew = np.cross(y / 2, np.eye(3)).T
    assert_allclose((q[0] * np.eye(3) + skew) @ v, [1.0, 2.0, 3.0], atol=1e-13)
    assert_allclose(acceleration(chart, q, v), system.forward_dynamics(q, v).a, atol=1e-11)


def test_no_constraints_at_all() -> None:
    system = System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - q[0] ** 2, coordinate_names=("a", "b")
    )
    chart = parametrize(system, [0.1, 0.2], [1.0, 2.0])
    assert chart.names == ("a", "b")
    assert_allclose(chart.to_full([0.5, 0.6], [1.0, 2.0]), [[0.5, 0.6], [1.0, 2.0]])
    assert_allclose(chart.reduced_dynamics([0.5, 0.6], [1.0, 2.0]), [-1.0, 0.0], atol=1e-15)


def test_no_freedom_at_all() -> None:
    system = System.from_lagrangian(
        nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: q - ca.sin(t)
    )
    chart = parametrize(system, [0.0], [1.0])
    assert (chart.names, chart.dof) == ((), 0)
    assert_allclose(chart.to_full([], [], t=0.5), [[np.sin(0.5)], [np.cos(0.5)]], atol=1e-15)
    assert chart.basis([0.0]).shape == (1, 0)
    assert_allclose(chart.basis_bias([np.sin(0.5)], [np.cos(0.5)], t=0.5), [-np.sin(0.5)], atol=1e-15)
    assert chart.reduced_dynamics([], []).shape == (0,)


# --- driven, nonholonomic, massless, non-ideal ---------------------------------------------------------


def test_driven_constraints() -> None:
    """A circle that grows: its rate and its acceleration are in v and in K̇ ẏ."""
    system = pendulum(holonomic=lambda q, t: ca.sumsqr(q) - (1 + t**2) ** 2)
    t = 0.5
    q0 = [0.0, -1.25]
    v0 = system.project_velocity(q0, [1.0, 0.0], t)
    chart = parametrize(system, q0, v0, t, coordinates=["x"])
    q, v = chart.to_full([0.4], [1.5])
    assert_allclose(np.linalg.norm(q), 1.25, atol=1e-14)
    assert q @ v == pytest.approx(1.25 * 2 * t)
    assert_allclose(chart.to_independent(q, v)[1], [1.5], atol=1e-14)
    expected = system.forward_dynamics(q, v, t=t).a
    assert_allclose(acceleration(chart, q, v), expected, rtol=1e-12)
    later = 0.8
    q, v = chart.to_full([0.4], [1.5], t=later)
    assert np.linalg.norm(q) == pytest.approx(1.64)
    assert q @ v == pytest.approx(1.64 * 2 * later)
    with pytest.raises(ArgumentError, match="q leaves the loops open by"):
        chart.to_independent(q, v)


def sleigh(**arguments: object) -> System:
    """Chaplygin's sleigh: a blade with heading phi, centre of mass ahead of it."""

    def lagrangian(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        vx, vy = v[0] - 0.4 * ca.sin(q[2]) * v[2], v[1] + 0.4 * ca.cos(q[2]) * v[2]
        return vx**2 + vy**2 + 0.15 * v[2] ** 2

    return System.from_lagrangian(
        nq=3, lagrangian=lagrangian, name="sleigh", coordinate_names=("x", "y", "phi"), **arguments
    )  # type: ignore[arg-type]


@pytest.mark.parametrize("coordinates", AUTOMATIC)
def test_nonholonomic_velocities_are_fewer(coordinates: str) -> None:
    system = sleigh(velocity=lambda q, v, t: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0])
    q0 = np.array([0.1, 0.2, 0.5])
    v0 = system.project_velocity(q0, [1.0, 0.0, 0.3])
    chart = parametrize(system, q0, v0, coordinates=coordinates)
    assert (len(chart.names), chart.dof) == (3, 2)
    y, ydot = chart.to_independent(q0, v0)
    aim = y + np.array([0.3, -0.2, 0.4])
    q, v = chart.to_full(aim, 2 * ydot)
    assert_allclose(system.velocity_residual(q, v), 0.0, atol=1e-14)
    assert_allclose(chart.to_independent(q, v)[0], aim, atol=1e-14)
    assert_allclose(chart.basis(q) @ chart.to_independent(q, v)[1], v, atol=1e-13)
    assert_allclose(acceleration(chart, q, v), system.forward_dynamics(q, v).a, atol=1e-12)
    with pytest.raises(
        ArgumentError, match="sleigh: with nonholonomic constraints positions have more freedom"
    ):
        parametrize(system, q0, v0, coordinates=["x", "phi"])


def test_nonholonomic_constraint_nonlinear_in_velocity() -> None:
    """|v| = 1: velocities from the tangent at v0 back to the sphere."""
    system = sleigh(velocity=lambda q, v, t: ca.sumsqr(v) - 1)
    v0 = np.array([0.6, 0.0, 0.8])
    chart = parametrize(system, np.zeros(3), v0, coordinates="tangent-space")
    ydot = np.array([0.2, -0.3])
    q, v = chart.to_full([0.0, 0.0, 0.0], ydot)
    basis = null_space(v0[None])
    assert_allclose(np.linalg.norm(v), 1.0, atol=1e-14)
    assert_allclose(basis.T @ (v - np.sqrt(1 - ydot @ ydot) * v0), basis.T @ v, atol=1e-13)
    assert v @ v0 == pytest.approx(np.sqrt(1 - ydot @ ydot))
    assert_allclose(acceleration(chart, q, v), system.forward_dynamics(q, v).a, atol=1e-11)
    with pytest.raises(SolveError, match=r"with the rates \[2. 0.\] belong to no velocity near v0"):
        chart.to_full([0.0, 0.0, 0.0], [2.0, 0.0])


def test_massless_and_ill_posed() -> None:
    def build(mass: float) -> System:
        return System.from_lagrangian(
            nq=3,
            lagrangian=lambda q, v, t: v[0] ** 2 / 2 + mass * v[1] ** 2 / 2 - q[2] ** 2,
            holonomic=lambda q, t: q[2] - q[0] ** 2,
            name="wire",
        )

    system, q, v = build(1.0), np.array([0.5, 0.0, 0.25]), np.array([1.0, 2.0, 1.0])
    chart = parametrize(system, q, v, coordinates=["q1", "q2"])
    assert_allclose(acceleration(chart, q, v), system.forward_dynamics(q, v).a, atol=1e-13)
    chart = parametrize(build(0.0), q, v, coordinates=["q1", "q2"])
    with pytest.raises(SolveError, match="wire: the mass matrix is not positive definite on the motions"):
        chart.reduced_dynamics([0.5, 0.0], [1.0, 2.0])


def test_controls_and_non_ideal_force() -> None:
    system = pendulum(
        inputs=lambda q: ca.vertcat(-q[1], q[0]), non_ideal=lambda q, v, t: -0.3 * v * ca.norm_2(v) + t
    )
    q, v = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    chart = parametrize(system, q, v, 0.7, coordinates="tangent-space")
    expected = system.forward_dynamics(q, v, [2.0], 0.7).a
    assert_allclose(acceleration(chart, q, v, u=[2.0]), expected, atol=1e-13)


# --- input that is redundant, singular or wrong --------------------------------------------------------


def test_rows_given_twice_change_nothing() -> None:
    twice = pendulum(holonomic=lambda q, t: ca.vertcat(ca.sumsqr(q) - 1, 3 * ca.sumsqr(q) - 3, 0 * q[0]))
    one, two = (parametrize(system, [0.6, -0.8], coordinates=["x"]) for system in (pendulum(), twice))
    for chart in (one, two):
        assert chart.dof == 1
    states = [chart.to_full([0.3], [2.0]) for chart in (one, two)]
    assert_allclose(states[0], states[1], atol=1e-14)
    assert_allclose(one.basis(states[0][0]), two.basis(states[0][0]), atol=1e-14)
    accelerations = [chart.reduced_dynamics([0.3], [2.0]) for chart in (one, two)]
    assert_allclose(accelerations[0], accelerations[1], rtol=1e-13)


def test_redundant_rows_that_disagree_by_printed_digits() -> None:
    """The second row misses by 2e-8: q lies between, y is met exactly."""
    system = pendulum(holonomic=lambda q, t: ca.vertcat(ca.sumsqr(q) - 1, ca.sumsqr(q) - 1 - 2e-8))
    chart = parametrize(system, [0.6, -0.8], coordinates=["x"])
    assert chart.dof == 1
    q, v = chart.to_full([0.3], [2.0])
    assert q[0] == pytest.approx(0.3, abs=1e-15)
    assert_allclose(system.constraint_residual(q), [1e-8, -1e-8], atol=1e-15)
    assert_allclose(q @ v, 0.0, atol=1e-14)


def test_singular_configurations_are_refused(example) -> None:
    five_bar = example("five_bar")
    system = System(five_bar.build())
    for coordinates in ("partition", "tangent-space"):
        with pytest.raises(ArgumentError, match="this configuration is singular, or next to one"):
            parametrize(system, five_bar.COLLINEAR, coordinates=coordinates)
    with pytest.raises(ArgumentError, match="left, right do not determine the other coordinates here"):
        parametrize(system, five_bar.COLLINEAR, coordinates=["left", "right"])
    near = parametrize(system, five_bar.SYMMETRIC, coordinates=["left", "right"])
    assert near.condition(five_bar.SYMMETRIC) < 20.0
    assert near.condition(five_bar.COLLINEAR) > 1e12
    with pytest.raises(SolveError, match="left, right do not determine the motion at q"):
        near.basis(five_bar.COLLINEAR)
    with pytest.raises(
        ArgumentError, match=r"x do not determine the other coordinates here .condition number"
    ):
        parametrize(pendulum(), [1.0, 0.0], coordinates=["x"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"q": [1.1, 0.0]},
            "pendulum: q leaves the loops open by 0.21 (row 'phi1'); close them",
        ),
        ({"v": [1.0, 0.0]}, "pendulum: v violates the constraints by 2 (row 'phi1'); make it admissible"),
        ({"q": [1.0]}, "pendulum: q must have 2 entries"),
        ({"coordinates": ["z"]}, "unknown coordinate 'z'"),
        ({"coordinates": "partitoin"}, "Did you mean 'partition'"),
        ({"coordinates": ["x", "y"]}, "must name 1 different independent coordinates"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parametrize(pendulum(), **{"q": [1.0, 0.0]} | arguments)  # type: ignore[arg-type]
    assert text in str(caught.value)


def test_bad_arguments_of_methods() -> None:
    chart = parametrize(pendulum(), [0.0, -1.0], coordinates=["x"])
    for y in ([0.1, 0.2], [np.nan], 0.3):
        with pytest.raises(ArgumentError, match=r"pendulum: y must be 1 finite numbers \(x\), got"):
            chart.to_full(y)
    with pytest.raises(ArgumentError, match="ydot must be 1 finite numbers"):
        chart.to_full([0.1], [1.0, 2.0])
    with pytest.raises(ArgumentError, match="v violates the constraints by"):
        chart.to_independent([0.0, -1.0], [0.0, 1.0])
    with pytest.raises(ArgumentError, match="some velocities change no coordinate"):
        parametrize(
            System.from_equations(
                nq=1,
                nv=2,
                mass_matrix=lambda q: np.eye(2),
                bias=lambda q, v: np.zeros(2),
                rate=lambda q, v: v[0],
            ),
            [0.0],
        )
    assert repr(chart) == "Parametrization('pendulum': x)"


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("coordinates", [["slide"], ["crank"], "partition", "null-space"])
def test_conditions_are_the_same_in_all_units(coordinates: str | list[str], unit: float) -> None:
    """Of a slider-crank in multiples of a metre: radians and lengths are weighed in characteristic units."""
    found = []
    for size in (1.0, unit):
        mechanism = Mechanism("slider crank", gravity=(0, 0, -9.81 * size))
        for name, parent, place, length in (
            ("crank", "world", 0.0, 0.2),
            ("rod", "crank", 0.2 * size, 0.6),
        ):
            inertia = 0.1 * (length * size) ** 2 * np.eye(3)
            mechanism.add_body(name, 1.0, (0.5 * length * size, 0, 0), inertia)
            mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(place, 0, 0))
        mechanism.add_body("piston", 1.0)
        mechanism.add_joint("slide", "prismatic", "world", "piston", axis=(1, 0, 0))
        mechanism.add_closure("pin", "point", "rod", "piston", pose1=(0.6 * size, 0, 0))
        system = System(mechanism)
        q = system.assemble([1.0, -1.3, 0.7 * size], locked=["crank"]).q
        found.append(parametrize(system, q, coordinates=coordinates).condition(q))
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert found[0] < 20.0
