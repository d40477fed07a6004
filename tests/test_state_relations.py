"""Linear models in relations R(x, y) = 0 with velocities: momenta, quasi-velocities, time, parameters, levels coupled.

Linear models are compared with differences in 50 digits of equations written here: Hamilton's for the five-bar, those
of the sleigh and of the pendulum on a moving pivot in closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from conftest import load_example
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.coordinates import Momenta, Relation

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
DRIVE, PACE, GRAVITY = 0.3, 2.0, 9.81


@lru_cache
def five_bar(closures: int = 1) -> sr.System:
    """The five-bar; with more closures the same loop is closed again by points, with a dead row each."""
    mechanism = load_example("five_bar").build()
    for k in range(1, closures):
        ends = {"pose1": (1.5, 0, 0), "pose2": (1.5, 0, 0)}
        mechanism.add_closure(f"again{k}", "point", "link2", "link3", **ends)
    return sr.System(mechanism)


@lru_cache
def sleigh() -> sr.System:
    """A knife-edged sleigh, its centre of mass a before the edge."""
    return sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t, p: (
            p.m * ca.sumsqr(v[:2]) / 2
            + p.m * p.a * v[2] * (ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0])
            + (p.J + p.m * p.a**2) * v[2] ** 2 / 2
        ),
        velocity=lambda q, v, t, p: ca.cos(q[2]) * v[1] - ca.sin(q[2]) * v[0],
        inputs=lambda q, p: ca.vertcat(0, 0, 1),
        parameters={"m": 2.0, "J": 0.5, "a": 0.3},
        coordinate_names=("x", "y", "yaw"),
        name="sleigh",
    )


QUASI = Relation(
    lambda q, y, p: [q[0] + p.a * ca.cos(q[2]) - y[0], q[1] + p.a * ca.sin(q[2]) - y[1], q[2] - y[2]],
    ["com.x", "com.y", "heading"],
    velocity=lambda q, v, y, z: [ca.cos(y[2]) * v[0] + ca.sin(y[2]) * v[1] - z[0], v[2] - z[1]],
    velocity_names=["speed", "spin"],
)


@lru_cache
def swing() -> sr.System:
    """A pendulum of length and mass one in x and y, whose pivot moves as s = 0.3 sin 2t."""
    return sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 - GRAVITY * q[1],
        holonomic=lambda q, t: (q[0] - DRIVE * ca.sin(PACE * t)) ** 2 + q[1] ** 2 - 1,
        name="swing",
    )


MOVING = Relation(
    lambda q, y, t: q[0] - DRIVE * ca.sin(PACE * t) - ca.sin(y[0]),
    ["angle"],
    [0.4],
    velocity=lambda q, v, y, z: v[0] * ca.cos(y[0]) + v[1] * ca.sin(y[0]) - z[0],
    velocity_names=["momentum"],
)


@lru_cache
def particle() -> sr.System:
    """A particle of 2 kg in the plane on a spring of stiffness k to the origin."""
    return sr.System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t, p: ca.sumsqr(v) - p.k * ca.sumsqr(q) / 2,
        parameters={"k": 3.0},
        inputs=lambda q, p: ca.SX.eye(2),
        name="particle",
    )


def amplitudes(q: ca.SX, v: ca.SX, y: ca.SX, z: ca.SX, p: object) -> list[ca.SX]:
    """Amplitude and phase of each direction: q = A sin θ, v = ω A cos θ."""
    omega = ca.sqrt(p.k / 2)  # type: ignore[attr-defined]
    return [q[k] - y[k] * ca.sin(z[k]) for k in (0, 1)] + [v[k] - omega * y[k] * ca.cos(z[k]) for k in (0, 1)]


PHASES = Relation(
    amplitudes, ["A1", "A2"], [1.0, 1.0], velocity_names=["phase1", "phase2"], velocity_guess=[0.3, 0.2]
)


def bar_state(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    system, near = five_bar(), load_example("five_bar").SYMMETRIC
    q = system.assemble(near + 0.1 * rng.standard_normal(4)).q
    return q, system.project_velocity(q, rng.standard_normal(4))


def sleigh_state(seed: int) -> tuple[Array, Array]:
    x, y, yaw, speed, spin = np.random.default_rng(seed).standard_normal(5)
    return np.array([x, y, yaw]), np.array([speed * np.cos(yaw), speed * np.sin(yaw), spin])


def swing_state(angle: float, rate: float, t: float) -> tuple[Array, Array]:
    place, speed = DRIVE * np.sin(PACE * t), DRIVE * PACE * np.cos(PACE * t)
    c, s = np.cos(angle), np.sin(angle)
    return np.array([place + s, -c]), np.array([speed + c * rate, s * rate])


# --- linear models against differences in 50 digits ------------------------------------------------------


def slopes(function: Callable[..., list[mp.mpf]], at: list[float]) -> tuple[Array, Array]:
    """Return the value of a function and its derivatives by differences in 50 digits."""
    with mp.workdps(50):
        x, h = [mp.mpf(value) for value in at], mp.mpf(10) ** -15
        columns = []
        for k in range(len(x)):
            ahead, behind = (function(*x[:k], x[k] + s * h, *x[k + 1 :]) for s in (1, -1))
            columns.append([(a - b) / (2 * h) for a, b in zip(ahead, behind)])
        return np.array(function(*x), dtype=float), np.array(columns, dtype=float).T


def hamiltonian(start: Array) -> Callable[..., mp.mpf]:
    """Return H(left, right, p_left, p_right) of the five-bar in high precision, elbows near ``start``."""
    links = (("link1", "link2"), ("link4", "link3"))
    example = load_example("five_bar")
    length, mass, inertia = example.LENGTH, example.MASS, example.INERTIA

    def chain(
        names: tuple[str, str], q: tuple[mp.mpf, mp.mpf]
    ) -> tuple[mp.matrix, mp.mpf, mp.matrix, list[mp.mpf]]:
        """Inertia of a chain of two links, its potential energy, the Jacobian of its tip, and the tip."""
        (l1, l2), (m1, m2), (j1, j2) = (
            [mp.mpf(table[name]) for name in names] for table in (length, mass, inertia)
        )
        a, b = q[0], q[0] + q[1]
        coupling = m2 * l1 * l2 / 2 * mp.cos(q[1])
        inner = j2 + m2 * l2**2 / 4
        m = mp.matrix(
            [
                [j1 + m1 * l1**2 / 4 + m2 * l1**2 + inner + 2 * coupling, inner + coupling],
                [inner + coupling, inner],
            ]
        )
        height = m1 * l1 / 2 * mp.sin(a) + m2 * (l1 * mp.sin(a) + l2 / 2 * mp.sin(b))
        jacobian = mp.matrix(
            [
                [-l1 * mp.sin(a) - l2 * mp.sin(b), -l2 * mp.sin(b)],
                [l1 * mp.cos(a) + l2 * mp.cos(b), l2 * mp.cos(b)],
            ]
        )
        return (
            m,
            mp.mpf(GRAVITY) * height,
            jacobian,
            [l1 * mp.cos(a) + l2 * mp.cos(b), l1 * mp.sin(a) + l2 * mp.sin(b)],
        )

    def energy(left: mp.mpf, right: mp.mpf, p1: mp.mpf, p2: mp.mpf) -> mp.mpf:
        elbows = mp.matrix([start[1], start[3]])
        for _ in range(12):
            one, other = chain(links[0], (left, elbows[0])), chain(links[1], (right, elbows[1]))
            gap = mp.matrix([one[3][0] - other[3][0] - 1, one[3][1] - other[3][1]])
            slope = mp.matrix([[one[2][i, 1], -other[2][i, 1]] for i in range(2)])
            elbows -= mp.lu_solve(slope, gap)
        free = mp.matrix([[one[2][i, 0], -other[2][i, 0]] for i in range(2)])
        bound = -(slope**-1) * free
        k = mp.matrix([[1, 0], [bound[0, 0], bound[0, 1]], [0, 1], [bound[1, 0], bound[1, 1]]])
        m = mp.zeros(4)
        m[0:2, 0:2], m[2:4, 2:4] = one[0], other[0]
        p = mp.matrix([p1, p2])
        return (p.T * mp.lu_solve(k.T * m * k, p))[0] / 2 + one[1] + other[1]

    return energy


def canonical(energy: Callable[..., mp.mpf]) -> Callable[..., list[mp.mpf]]:
    """Return Hamilton's equations (∂H/∂p, −∂H/∂y), by differences in 50 digits."""

    def rates(*x: mp.mpf) -> list[mp.mpf]:
        h = mp.mpf(10) ** -12
        gradient = []
        for k in range(4):
            ahead, behind = (energy(*x[:k], x[k] + s * h, *x[k + 1 :]) for s in (1, -1))
            gradient.append((ahead - behind) / (2 * h))
        return [gradient[2], gradient[3], -gradient[0], -gradient[1]]

    return rates


@pytest.mark.parametrize("closures", [1, 2])
def test_five_bar_in_momenta_is_hamiltonian(closures: int) -> None:
    q, v = bar_state(0)
    momenta = Momenta(["left", "right"])
    model = sr.linearize_at(five_bar(closures), q, v, coordinates=momenta)
    y, p = sr.parametrize(five_bar(closures), q, v, coordinates=momenta).to_independent(q, v)
    assert_allclose(y, q[[0, 2]], rtol=0, atol=1e-15)
    assert model.names == ("y.left", "y.right", "p.left", "p.right")
    rates, matrix = slopes(canonical(hamiltonian(q)), [*y, *p])
    assert_allclose(model.affine, rates, rtol=0, atol=1e-9)
    assert_allclose(model.A, matrix, rtol=0, atol=1e-9 * np.abs(matrix).max())
    turn = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert_allclose(model.A.T @ turn + turn @ model.A, 0.0, atol=1e-11)  # A is Hamiltonian


def test_sleigh_in_quasi_velocities() -> None:
    """m (u̇ − a ω²) = 0, (J + m a²) ω̇ + m a u ω = τ; the centre of mass goes with (u, a ω) in the body."""
    q, v = sleigh_state(1)
    tau, m, a, moment = 0.7, 2.0, 0.3, 0.5 + 2.0 * 0.09

    def motion(x: mp.mpf, y: mp.mpf, yaw: mp.mpf, u: mp.mpf, w: mp.mpf, torque: mp.mpf) -> list[mp.mpf]:
        c, s = mp.cos(yaw), mp.sin(yaw)
        side = mp.mpf(a) * w
        return [c * u - s * side, s * u + c * side, w, side * w, (torque - m * mp.mpf(a) * u * w) / moment]

    model = sr.linearize_at(sleigh(), q, v, [tau], coordinates=QUASI)
    chart = sr.parametrize(sleigh(), q, v, coordinates=QUASI)
    y, z = chart.to_independent(q, v)
    rates, matrix = slopes(motion, [*y, *z, tau])
    assert model.names == ("com.x", "com.y", "heading", "speed", "spin")
    assert_allclose(model.affine, rates, rtol=0, atol=1e-12)
    assert_allclose(model.A, matrix[:, :5], rtol=0, atol=1e-9)
    assert_allclose(model.B, matrix[:, 5:], rtol=0, atol=1e-9)
    rate, change = chart.state_rate(y, z, [tau])
    assert_allclose([*rate, *change], rates, rtol=0, atol=1e-12)
    assert_allclose(chart.reduced_dynamics(y, z, [tau]), rates[3:], rtol=0, atol=1e-12)
    beside = chart.to_full(y + 1e-3, z - 1e-3)
    assert_allclose(model.deviation(*beside), [1e-3] * 3 + [-1e-3] * 2, atol=1e-12)


def test_pendulum_on_a_moving_pivot() -> None:
    """p = ∂L/∂θ̇ = θ̇ + ṡ cos θ, ṗ = −ṡ sin θ θ̇ − g sin θ; E is the derivative by time at given θ and p."""
    t = 0.4
    q, v = swing_state(0.5, 0.7, t)

    def motion(angle: mp.mpf, momentum: mp.mpf, time: mp.mpf) -> list[mp.mpf]:
        speed = mp.mpf(DRIVE) * PACE * mp.cos(PACE * time)
        rate = momentum - speed * mp.cos(angle)
        return [rate, -(speed * rate + mp.mpf(GRAVITY)) * mp.sin(angle)]

    model = sr.linearize_at(swing(), q, v, t=t, coordinates=MOVING)
    rates, matrix = slopes(motion, [0.5, 0.7 + DRIVE * PACE * np.cos(PACE * t) * np.cos(0.5), t])
    assert_allclose(model.affine, rates, rtol=0, atol=1e-12)
    assert_allclose(model.A, matrix[:, :2], rtol=0, atol=1e-9)
    assert_allclose(model.E, matrix[:, 2], rtol=0, atol=1e-9)
    plain = Relation(MOVING.function, ["angle"], [0.4])
    rate = sr.linearize_at(swing(), q, v, t=t, coordinates=plain)
    assert_allclose(rate.affine, [0.7, rates[1] + DRIVE * PACE**2 * np.sin(PACE * t) * np.cos(0.5) + DRIVE * PACE
                                  * np.cos(PACE * t) * np.sin(0.5) * 0.7], rtol=0, atol=1e-12)  # fmt: skip


def test_both_levels_coupled() -> None:
    """Amplitudes stay, phases turn with ω; under a force they move as the derivatives say."""
    q, v, omega = [0.3, 0.5], [0.7, -0.2], np.sqrt(1.5)
    chart = sr.parametrize(particle(), q, v, coordinates=PHASES)
    y, z = chart.to_independent(q, v)
    assert_allclose(y, np.hypot(q, np.array(v) / omega), atol=1e-14)
    rate, change = chart.state_rate(y, z)
    assert_allclose(rate, 0.0, atol=1e-14)
    assert_allclose(change, omega, atol=1e-14)
    full = chart.to_full(y + 0.2, z + 2.5)
    assert_allclose(full[0], (y + 0.2) * np.sin(z + 2.5), atol=1e-14)
    assert_allclose(full[1], omega * (y + 0.2) * np.cos(z + 2.5), atol=1e-14)
    assert_allclose(
        chart.tangent(*full)[0], [np.sin(z[0] + 2.5), 0, (y[0] + 0.2) * np.cos(z[0] + 2.5), 0], atol=1e-13
    )
    with pytest.raises(
        ArgumentError, match="basis is for velocities only, and the relation of A1, A2 and phase1"
    ):
        chart.basis(q, v)
    model = sr.linearize_at(particle(), q, v, [0.4, -0.1], coordinates=PHASES)

    def motion(*x: mp.mpf) -> list[mp.mpf]:
        w = mp.sqrt(mp.mpf(3) / 2)
        pushes = [f / 2 for f in x[4:]]
        return [pushes[k] * mp.cos(x[2 + k]) / w for k in (0, 1)] + [
            w - pushes[k] * mp.sin(x[2 + k]) / (w * x[k]) for k in (0, 1)
        ]

    rates, matrix = slopes(motion, [*y, *z, 0.4, -0.1])
    assert_allclose(model.affine, rates, rtol=0, atol=1e-12)
    assert_allclose(np.hstack([model.A, model.B]), matrix, rtol=0, atol=1e-9)


def test_momentum_of_a_lagrangian_with_terms_linear_in_v() -> None:
    """A charge in a magnetic field: p = v + A(q)."""
    charge = sr.System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2 + 0.8 * (q[0] * v[1] - q[1] * v[0]), name="charge"
    )
    q, v = np.array([0.3, -0.4]), np.array([1.0, 0.5])
    chart = sr.parametrize(charge, q, v, coordinates=Momenta(["q1", "q2"]))
    y, p = chart.to_independent(q, v)
    assert_allclose(p, v + 0.8 * np.array([-q[1], q[0]]), atol=1e-15)
    rate, change = chart.state_rate(y, p)
    assert_allclose(rate, v, atol=1e-14)
    assert_allclose(change, 0.8 * np.array([v[1], -v[0]]), atol=1e-14)  # −∂H/∂q


def test_equilibrium_in_momenta() -> None:
    """Eigenvalues at rest are those of any other choice."""
    system = five_bar()
    q = sr.equilibrium(system, system.assemble([-2.0, 0.9, -1.1, -0.9]).q).q
    found, plain = (sr.linearize(system, q, coordinates=c).eigenvalues for c in (Momenta(), "partition"))
    assert_allclose(np.sort(found.imag), np.sort(plain.imag), atol=1e-9)
