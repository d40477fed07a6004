"""Relations R(q, y) = 0: rank conditions, closed forms, and systems extended by y."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import load_example
from sarrus.analysis.linear.linearize import linearize
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.coordinates.parametrization import parametrize
from sarrus.dynamics.coordinates.relation import Relation, extend
from sarrus.dynamics.model.options import Options
from sarrus.dynamics.system import System
from sarrus.motion.simulate import simulate

POLAR = Relation(
    lambda q, y: [q[0] - y[0] * ca.cos(y[1]), q[1] - y[0] * ca.sin(y[1])], ["r", "angle"], [1.0, 0.0]
)


@lru_cache
def particle() -> System:
    """A particle of 2 kg in the plane on a spring to the origin, pushed by two controls."""
    return System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t, p: ca.sumsqr(v) - p.k * ca.sumsqr(q) / 2,
        inputs=lambda q, p: ca.SX.eye(2),
        parameters={"k": 3.0},
        name="particle",
        coordinate_names=("x", "y"),
    )


def loader_lengths(example: ModuleType, system: System) -> Relation:
    """Lengths of the two cylinders of the loader: of the lift cylinder by Pythagoras, of the other as it is."""
    boom, tilt = (system.coordinate_names.index(name) for name in ("boom", "tilt"))
    (bx, bz), (px, pz) = example.LIFT_BASE, example.LIFT_PIN

    def lengths(q: ca.SX, y: ca.SX) -> list[ca.SX]:
        c, s = ca.cos(q[boom]), ca.sin(q[boom])
        return [(c * px - s * pz - bx) ** 2 + (s * px + c * pz - bz) ** 2 - y[0] ** 2, q[tilt] - y[1]]

    return Relation(lengths, ["lift_length", "tilt_length"], [1.0, 1.0])


@lru_cache
def loader() -> tuple[System, Relation, Array, Array, list[int]]:
    """The front loader in motion, with the lengths of its cylinders, and where these are in q."""
    example = load_example("front_loader")
    system = System(example.build())
    q = example.pose(system, 0.2, 0.5)
    v = system.project_velocity(q, np.random.default_rng(0).standard_normal(8))
    at = [system.coordinate_names.index(name) for name in ("lift", "tilt")]
    return system, loader_lengths(example, system), q, v, at


# --- parametrizations ----------------------------------------------------------------------------------


def test_polar_coordinates() -> None:
    system = particle()
    chart = parametrize(system, [0.0, 2.0], [0.0, 0.0], coordinates=POLAR)
    assert chart.names == ("r", "angle")
    assert_allclose(chart.y0, [2.0, np.pi / 2], atol=1e-15)
    y, ydot = np.array([1.5, 0.7]), np.array([0.4, -0.9])
    (r, angle), (rate, spin) = y, ydot
    out, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    q, v = chart.to_full(y, ydot)
    assert_allclose(q, r * out, atol=1e-14)
    assert_allclose(v, rate * out + r * spin * across, atol=1e-14)
    assert_allclose(np.concatenate(chart.to_independent(q, v)), [*y, *ydot], atol=1e-13)
    assert_allclose(chart.basis(q), np.stack([out, r * across], axis=1), atol=1e-13)
    assert_allclose(chart.basis_bias(q, v), 2 * rate * spin * across - r * spin**2 * out, atol=1e-13)
    push = np.array([0.3, 0.8])
    # r̈ = r ω² − k r / m + F_r / m and r ω̇ = F_φ / m − 2 ṙ ω.
    expected = [
        r * spin**2 - 3 * r / 2 + push @ out / 2,
        (push @ across / 2 - 2 * rate * spin) / r,
    ]
    assert_allclose(chart.reduced_dynamics(y, ydot, push), expected, atol=1e-13)


def test_angle_goes_on_past_a_turn() -> None:
    chart = parametrize(particle(), [1.0, 0.0], coordinates=POLAR)
    q, _ = chart.to_full([1.0, 7.0])
    assert_allclose(q, [np.cos(7.0), np.sin(7.0)], atol=1e-14)
    # From q alone the angle is the one on the straight way from q0: never a turn more.
    assert_allclose(chart.to_independent(q)[0], [1.0, 7.0 - 2 * np.pi], atol=1e-13)


def test_cylinder_lengths_of_the_loader() -> None:
    system, lengths, q, v, at = loader()
    chart = parametrize(system, q, v, coordinates=lengths)
    assert_allclose(chart.y0, q[at], atol=1e-14)
    assert_allclose(chart.to_independent(q, v)[1], v[at], atol=1e-14)
    named = parametrize(system, q, v, coordinates=["lift", "tilt"])
    y, ydot = chart.y0 + np.array([0.1, -0.1]), np.array([0.3, -0.2])
    found, expected = chart.to_full(y, ydot), named.to_full(y, ydot)
    assert_allclose(found, expected, atol=1e-13)
    assert_allclose(found[0][at], y, atol=1e-14)
    assert_allclose(chart.basis(found[0]), named.basis(found[0]), atol=1e-12)
    assert_allclose(chart.basis_bias(*found), named.basis_bias(*found), atol=1e-12)
    u = [3e4, -2e4]
    assert_allclose(chart.reduced_dynamics(y, ydot, u), named.reduced_dynamics(y, ydot, u), rtol=1e-11)


def test_rank_conditions_are_verified() -> None:
    system, lengths, q, _, _ = loader()

    def refused(relation: Relation, text: str) -> None:
        for use in (
            lambda: parametrize(system, q, coordinates=relation),
            lambda: extend(system, q, relation=relation),
        ):
            with pytest.raises(ArgumentError, match=text):
                use()

    zero = Relation(lengths.function, lengths.names)
    refused(
        zero,
        r"q does not determine lift_length, tilt_length at y = \[0. 0.\]: ∂R/∂y has the condition number inf",
    )
    alike = Relation(lambda q, y: [q[0] - y[0], 2 * q[0] - y[1]], ["a", "b"])
    refused(
        alike, r"a, b and the constraints .rank 6. do not determine q here: \[∂R/∂q N; A\] has the condition"
    )
    lost = Relation(lambda q, y: [q[0] - y[0], q[1] - y[0] - 0 * y[1]], ["a", "b"])
    refused(lost, "q does not determine a, b at y")
    few = Relation(lambda q, y: [q[0] - y[0]], ["a"])
    refused(few, r"relation must give 2 independent coordinates .nv − rank = 8 − 6., got 1 .a.")
    taken = Relation(lambda q, y: [q[0] - y[0], q[1] - y[1]], ["boom", "b"])
    refused(taken, "'boom' is a coordinate of the system already")
    short = Relation(lambda q, y: [q[0] - y[0]], ["a", "b"])
    refused(short, "relation must return 2 entries, got 1")
    with pytest.raises(SolveError, match="no solution a, b that follows from y"):
        parametrize(
            system, q, coordinates=Relation(lambda q, y: [y[0] ** 2 + 1, y[1] - q[0]], ["a", "b"], [1, 0])
        )


def test_bad_relations_are_named() -> None:
    with pytest.raises(
        ArgumentError, match=r"relation: guess must be 2 finite numbers \(a, b\), got \[1.0\]"
    ):
        Relation(lambda q, y: y, ["a", "b"], [1.0])
    with pytest.raises(ArgumentError, match="relation: names must be unique"):
        Relation(lambda q, y: y, ["a", "a"])
    with pytest.raises(
        ArgumentError, match=r"particle: relation must be a function of \(q, y\), got one of \(q\)"
    ):
        parametrize(particle(), [1.0, 0.0], coordinates=Relation(lambda q: q, ["a", "b"]))
    assert repr(POLAR) == "Relation(r, angle)"


def test_nonholonomic_systems_are_refused() -> None:
    skate = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v),
        velocity=lambda q, v, t: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0],
        name="skate",
    )
    relation = Relation(lambda q, y: [q[0] - y[0], q[2] - y[1]], ["a", "b"])
    with pytest.raises(
        ArgumentError, match="skate: with nonholonomic constraints positions have more freedom"
    ):
        extend(skate, np.zeros(3), relation=relation)


# --- extended systems ----------------------------------------------------------------------------------


def test_extended_system_is_the_same_mechanism() -> None:
    system, lengths, q, v, at = loader()
    extended, q_more, v_more = extend(system, q, v, relation=lengths)
    assert extended.coordinate_names == (*system.coordinate_names, "lift_length", "tilt_length")
    assert extended.constraint_names[-2:] == ("lift_length", "tilt_length")
    assert (extended.nc, extended.nh) == (system.nc + 2, system.nh + 2)
    assert_allclose(q_more, [*q, *q[at]], atol=1e-14)
    assert_allclose(v_more, [*v, *v[at]], atol=1e-14)
    assert_allclose(extended.velocity_residual(q_more, v_more), 0.0, atol=1e-13)
    u = [3e4, -2e4]
    found, expected = extended.forward_dynamics(q_more, v_more, u), system.forward_dynamics(q, v, u)
    assert found.dof == expected.dof == 2
    assert_allclose(found.a, [*expected.a, *expected.a[at]], rtol=1e-9)
    # Coordinates without mass carry no force.
    assert_allclose(found.multipliers[:-2], expected.multipliers, rtol=1e-9)
    assert_allclose(found.multipliers[-2:], 0.0, atol=1e-8)
    assert extended.kinetic_energy(q_more, v_more) == pytest.approx(system.kinetic_energy(q, v))


def test_nonholonomic_rows_stay_behind_and_parameters_are_kept() -> None:
    system = particle()
    system.parameters["k"] = 5.0
    system.options = Options(singular_cut=1e-9)
    extended, q, v = extend(system, [0.6, 0.8], [1.0, 0.0], relation=POLAR)
    system.parameters["k"], system.options = 3.0, Options()
    assert extended.parameters["k"] == 5.0
    assert extended.options.singular_cut == 1e-9
    assert_allclose(q, [0.6, 0.8, 1.0, np.arctan2(0.8, 0.6)], atol=1e-14)
    assert_allclose(v, [1.0, 0.0, 0.6, -0.8], atol=1e-14)
    # r̈ = r ω² − k r / m, r ω̇ = −2 ṙ ω.
    assert_allclose(extended.forward_dynamics(q, v).a[2:], [0.64 - 2.5, 2 * 0.6 * 0.8], atol=1e-13)


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"rtol": 1e-10, "atol": 1e-10}])
def test_motion_in_cylinder_lengths(method: dict[str, float]) -> None:
    system, lengths, q, v, at = loader()
    slow = 0.3 * v
    extended, q_more, v_more = extend(system, q, slow, relation=lengths)
    motion = simulate(extended, q_more, v_more, duration=0.5, coordinates=lengths.names, **method)
    expected = simulate(system, q, slow, duration=0.5, rtol=1e-12, atol=1e-12)
    assert_allclose(motion.q[-1, :8], expected.q[-1], atol=1e-7 if "dt" in method else 1e-9)
    assert_allclose(motion.q[:, 8:], motion.q[:, at], atol=1e-13)
    assert motion.residual.max() < 1e-12
    assert motion.events == ()


def test_polar_motion() -> None:
    extended, q, v = extend(particle(), [1.0, 0.0], [0.0, 0.5], relation=POLAR)
    motion = simulate(extended, q, v, duration=3.0, coordinates=["r", "angle"], rtol=1e-11, atol=1e-11)
    omega = np.sqrt(1.5)
    exact = np.stack([np.cos(omega * motion.t), 0.5 / omega * np.sin(omega * motion.t)], axis=1)
    assert_allclose(motion.q[:, :2], exact, atol=1e-9)
    assert_allclose(motion.q[:, 2], np.linalg.norm(exact, axis=1), atol=1e-9)
    assert_allclose(motion.q[:, 3], np.unwrap(np.arctan2(exact[:, 1], exact[:, 0])), atol=1e-9)


@pytest.mark.parametrize("method", [{"dt": 1e-3}, {"dt": 1e-2}, {"rtol": 1e-9, "atol": 1e-9}])
def test_relation_that_fails_on_the_way(method: dict[str, float]) -> None:
    """x² instead of x on a spring: no sign of x beyond zero."""
    square = Relation(lambda q, y: [q[0] ** 2 - y[0], q[1] - y[1]], ["square", "height"])
    extended, q, v = extend(particle(), [1.0, 0.3], relation=square)
    fall = simulate(extended, q, v, duration=3.0, coordinates=square.names, throw=False, **method)
    assert fall.status is Status.COORDINATES_FAILED
    assert "the chosen coordinates no longer determine the configuration at t = 1.2" in fall.message
    arrival = np.pi / 2 / np.sqrt(1.5)
    assert arrival - 6 * method.get("dt", 1e-3) < fall.t[-1] < arrival
    # At its end the relation has no bounded rate: a fixed step is of first order there.
    allowed = 1e-3 * method["dt"] if "dt" in method else 10 * method["rtol"]
    assert_allclose(fall.q[-1, 0], np.cos(np.sqrt(1.5) * fall.t[-1]), rtol=0, atol=allowed)


@pytest.mark.parametrize("seed", range(3))
def test_linear_models_take_a_relation(seed: int) -> None:
    """r̈ = r φ̇² − k r / m + u_r / m, r φ̈ = u_φ / m − 2 ṙ φ̇ with the controls turned, by differences of these."""
    rng = np.random.default_rng(seed)
    r, angle, rate, turn, u = 1.5, rng.uniform(-1.0, 1.0), *rng.standard_normal(2), rng.standard_normal(2)

    def motion(x: Array) -> Array:
        c, s = np.cos(x[1]), np.sin(x[1])
        push = np.array([c * u[0] + s * u[1], c * u[1] - s * u[0]]) / 2.0
        return np.array([*x[2:], x[0] * x[3] ** 2 - 1.5 * x[0] + push[0], (push[1] - 2 * x[2] * x[3]) / x[0]])

    x = np.array([r, angle, rate, turn])
    c, s = np.cos(angle), np.sin(angle)
    q, v = r * np.array([c, s]), np.array([rate * c - r * turn * s, rate * s + r * turn * c])
    model = linearize_at(particle(), q, v, u, coordinates=Relation(POLAR.function, POLAR.names, x[:2]))
    assert model.names == ("r", "angle", "r.rate", "angle.rate")
    assert_allclose(model.affine, motion(x), atol=1e-12)
    step = 1e-6
    differences = [(motion(x + step * e) - motion(x - step * e)) / (2 * step) for e in np.eye(4)]
    assert_allclose(model.A, np.transpose(differences), atol=1e-8)
    assert_allclose(model.q, [*q, *x[:2]], atol=1e-12)


def test_linearize_takes_a_relation() -> None:
    """At rest under a push the eigenvalues are those of the Cartesian model: ±i √(k/m), twice."""
    at = ([1.2, 0.0], [3.6, 0.0])
    polar = linearize(particle(), *at, coordinates=POLAR)
    assert polar.coordinates == ("r", "angle")
    assert_allclose(
        np.sort(polar.eigenvalues.imag), np.sort(linearize(particle(), *at).eigenvalues.imag), atol=1e-9
    )


def test_linear_models_refuse_what_is_no_choice() -> None:
    for call in (lambda c: linearize(particle(), [0.0, 0.0], coordinates=c),
                 lambda c: linearize_at(particle(), [1.0, 0.0], coordinates=c)):  # fmt: skip
        for bad in (np.eye(2), [[1.0, 0.0], [0.0, 1.0]], 3, lambda q: q):
            with pytest.raises(
                ArgumentError, match=r"coordinates must be .* names of coordinates, got .*Relation"
            ):
                call(bad)


def test_simulate_takes_a_relation() -> None:
    motion = simulate(particle(), [1.0, 0.0], [0.0, 0.5], duration=0.5, coordinates=POLAR)
    assert motion.coordinate_names == ("x", "y", "r", "angle")
    assert_allclose(motion.q[:, 2], np.linalg.norm(motion.q[:, :2], axis=1), atol=1e-13)
