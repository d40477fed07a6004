"""Rotation vectors as independent coordinates: runs, linear models to many digits, errors by name."""

from __future__ import annotations

from functools import lru_cache

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.coordinates import RotationVector

MASS, COM, INERTIA = 1.3, (0.05, 0.02, 0.2), (0.03, 0.04, 0.02, 0.001, 0.002, -0.001)
GRAVITY = (0.3, -0.4, -9.81)


@lru_cache
def top() -> sr.System:
    """A body without symmetry on a spherical joint."""
    mechanism = sr.Mechanism("top", gravity=GRAVITY)
    mechanism.add_body("top", MASS, COM, INERTIA)
    mechanism.add_joint("ball", "spherical", "world", "top")
    return sr.System(mechanism)


def state(seed: int) -> tuple[Array, Array]:
    """Return a random orientation and a fast angular velocity."""
    rng = np.random.default_rng(seed)
    q = rng.standard_normal(4)
    return q / np.linalg.norm(q), 3.0 * rng.standard_normal(3)


class Exact:
    """ẋ of x = (θ, θ̇) of the top with 50 digits: Euler's equations, θ̇ = J(θ)⁻¹ ω, J the right Jacobian of SO(3)."""

    def __init__(self, reference: Array) -> None:
        mp = mpmath.mp
        xx, yy, zz, xy, xz, yz = INERTIA
        c = mp.matrix(COM)
        about_com = mp.matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        self.com, self.gravity = c, mp.matrix(GRAVITY)
        self.inertia = about_com + MASS * ((c.T * c)[0] * mp.eye(3) - c * c.T)
        w, x, y, z = (mp.mpf(float(k)) for k in reference)
        size = mp.sqrt(w * w + x * x + y * y + z * z)
        w, v = w / size, mp.matrix([x, y, z]) / size
        self.reference = mp.eye(3) + 2 * w * skew(v) + 2 * skew(v) ** 2

    def rates(self, x: list) -> list:
        """Return ẋ."""
        mp = mpmath.mp
        theta, rate = mp.matrix(x[:3]), mp.matrix(x[3:])
        jacobian = right_jacobian(theta)
        turning = mp.matrix(3, 3)
        h = mp.mpf(10) ** -25
        turning = (right_jacobian(theta + h * rate) - right_jacobian(theta - h * rate)) / (2 * h)
        w = jacobian * rate
        down = (self.reference * expm(theta)).T * self.gravity
        moment = MASS * cross(self.com, down) - cross(w, self.inertia * w)
        accelerated = mp.lu_solve(self.inertia, moment)
        return [*rate, *mp.lu_solve(jacobian, accelerated - turning * rate)]

    def derivative(self, x: Array) -> Array:
        """Return ∂ẋ/∂x by central differences in 50 digits."""
        mp, h, columns = mpmath.mp, mpmath.mpf(10) ** -12, []
        for k in range(6):
            ends = []
            for sign in (1, -1):
                place = [mp.mpf(float(v)) for v in x]
                place[k] += sign * h
                ends.append(self.rates(place))
            columns.append([float((a - b) / (2 * h)) for a, b in zip(*ends)])
        return np.array(columns).T


def skew(a):
    """Return the matrix of a ×."""
    return mpmath.matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def cross(a, b):
    """Return a × b."""
    return skew(a) * b


def expm(theta):
    """Return the rotation of a rotation vector (Rodrigues)."""
    size = mpmath.sqrt((theta.T * theta)[0]) or mpmath.mpf(10) ** -45
    k = skew(theta) / size
    return mpmath.eye(3) + mpmath.sin(size) * k + (1 - mpmath.cos(size)) * k * k


def right_jacobian(theta):
    """Return J with ω = J θ̇ in axes of the body."""
    size = mpmath.sqrt((theta.T * theta)[0])
    k = skew(theta)
    if size < mpmath.mpf(10) ** -8:
        return mpmath.eye(3) - k / 2 + k * k / 6
    return mpmath.eye(3) - (1 - mpmath.cos(size)) / size**2 * k + (size - mpmath.sin(size)) / size**3 * k * k


@pytest.mark.parametrize("seed", range(6))
def test_linear_models_against_many_digits(seed: int) -> None:
    """About the orientation itself, and about another one, to 1e-9 of the largest entry."""
    q, v = state(seed)
    other = state(seed + 50)[0]
    with mpmath.workdps(50):
        for reference in (None, other if seed % 2 else q):
            model = sr.linearize_at(top(), q, v, coordinates=RotationVector("ball", reference=reference))
            chart = sr.parametrize(top(), q, v, coordinates=RotationVector("ball", reference=reference))
            y, rate = chart.to_independent(q, v)
            exact = Exact(q if reference is None else reference)
            found = exact.derivative(np.concatenate([y, rate]))
            assert_allclose(model.A, found, atol=1e-9 * np.abs(found).max())
            assert model.names == tuple(f"ball.r{a}{b}" for b in ("", ".rate") for a in "xyz")


def test_plain_linear_model_is_the_one_in_twice_the_vector_part() -> None:
    """At rest it is that in rotation vectors, too: they are equal to second order."""
    system = top()
    q, v = state(3)
    rest = [sr.linearize_at(system, q, coordinates=c).A for c in ("partition", RotationVector("ball"))]
    assert_allclose(rest[0], rest[1], atol=1e-12)
    moving = [sr.linearize_at(system, q, v, coordinates=c).A for c in ("partition", RotationVector("ball"))]
    # y = 2 sin(|θ|/2) θ/|θ| = θ − |θ|² θ/24: ÿ differs from θ̈ by −(|θ̇|² θ + 2 (θ̇·θ) θ̇)/12
    change = -(v @ v * np.eye(3) + 2 * np.outer(v, v)) / 12
    assert_allclose(moving[0][3:, :3] - moving[1][3:, :3], change, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", [{}, {"method": "rk4", "dt": 2e-4}, {"method": "dopri5"}])
def test_runs_equal_plain_ones(seed: int, method: dict) -> None:
    """With exchanges of charts on the way; θ stays below π."""
    q, v = state(seed)
    options = (
        {"duration": 2.0, **method}
        if "dt" in method
        else {"duration": 2.0, "rtol": 1e-12, "atol": 1e-13, **method}
    )
    plain = sr.simulate(top(), q, v, **options)
    found = sr.simulate(top(), q, v, coordinates=RotationVector("ball"), **options)
    assert found.status is sr.Status.OK
    side = np.sign(found.q[-1] @ plain.q[-1])
    assert_allclose(side * found.q[-1], plain.q[-1], atol=1e-10)
    assert_allclose(found.v[-1, :3], plain.v[-1], atol=1e-9)
    theta = np.linalg.norm(found.v[:, 3:6], axis=1)
    assert theta.max() < np.pi
    assert len(found.events) >= 1
    assert found.velocity_names[3:] == ("ball.rx", "ball.ry", "ball.rz", *(f"ball.r{a}.rate" for a in "xyz"))


def test_free_spin_of_many_turns() -> None:
    """A free body turns about a principal axis: 40 turns, no step gets lost at π however long it may be."""
    mechanism = sr.Mechanism("spin", gravity=(0, 0, 0))
    mechanism.add_body("body", 1.0, inertia=(0.1, 0.2, 0.3))
    mechanism.add_joint("body", "free", "world", "body")
    system = sr.System(mechanism)
    places = ["body.x", "body.y", "body.z"]
    v = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 25.0])
    for options in ({}, {"rtol": 1e-3}, {"method": "dopri5", "rtol": 1e-10}, {"dt": 5e-3}):
        found = sr.simulate(
            system, system.neutral(), v, duration=10.0, coordinates=RotationVector("body", places), **options
        )
        turned = np.array([np.cos(125.0), 0, 0, np.sin(125.0)])
        off = min(np.abs(found.q[-1, 3:] - s * turned).max() for s in (1, -1))
        plain = sr.simulate(system, system.neutral(), v, duration=10.0, **options)
        usual = min(np.abs(plain.q[-1, 3:] - s * turned).max() for s in (1, -1))
        assert off < 10 * usual + 1e-9
        assert_allclose(found.q[-1, :3], [1.0, 2.0, 3.0], atol=1e-9)


@lru_cache
def in_a_loop() -> sr.System:
    """A body on a spherical joint, held by a rod to a slider: one closure, three freedoms left of four."""
    mechanism = sr.Mechanism("loop")
    mechanism.add_body("arm", 1.0, (0.1, 0.05, 0.0), (0.02, 0.03, 0.04))
    mechanism.add_joint("ball", "spherical", "world", "arm")
    mechanism.add_body("slider", 0.5, inertia=(0.01, 0.01, 0.01))
    mechanism.add_joint("slide", "prismatic", "world", "slider", axis=(1, 0, 0), parent_pose=(0, 0.5, 0))
    mechanism.add_closure("rod", "distance", "arm", "slider", pose1=(0.3, 0, 0), length=0.6)
    return sr.System(mechanism)


def test_in_a_loop_and_with_others() -> None:
    system = in_a_loop()
    q = system.assemble([1, 0.1, 0.2, 0.05, 0.1]).q
    v = system.project_velocity(q, [2.0, -1.0, 1.0, 0.5])
    options = {"duration": 0.25, "rtol": 1e-12, "atol": 1e-13}
    plain = sr.simulate(system, q, v, **options)
    found = sr.simulate(system, q, v, coordinates=RotationVector("ball"), **options)
    assert_allclose(found.q[-1], plain.q[-1], atol=1e-10)
    both = [
        sr.linearize_at(system, q, coordinates=c)
        for c in (["ball.wx", "ball.wy", "ball.wz"], RotationVector("ball"))
    ]
    assert_allclose(both[0].A, both[1].A, atol=1e-9)
    assert both[1].names[0] == "ball.rx"


def test_rolling_ball_with_velocities_of_its_own() -> None:
    """A nonholonomic system: five positions, three velocities."""
    mechanism = sr.Mechanism("ball")
    mechanism.add_body("ball", 0.4, inertia=(1e-3, 1e-3, 1e-3))
    mechanism.add_joint("ball", "free", "world", "ball", parent_pose=(0, 0, 0.1))
    mechanism.add_rolling(
        "rolls", "ball", "ball", radius=0.1, surface=sr.surfaces.Sphere(0.7, inside=True), origin=(0, 0, 0.7)
    )
    system = sr.System(mechanism)
    q = system.assemble([0.2, 0.1, 0.1, 1, 0, 0, 0]).q
    v = system.project_velocity(q, [0.5, 1.0, 0.0, 2.0, -1.0, 7.0])
    chosen = RotationVector("ball", ["ball.x", "ball.y"], velocities=["ball.wx", "ball.wy", "ball.wz"])
    options = {"duration": 1.0, "rtol": 1e-12, "atol": 1e-13}
    plain, found = (
        sr.simulate(system, q, v, **options),
        sr.simulate(system, q, v, coordinates=chosen, **options),
    )
    side = np.sign(found.q[-1, 3:] @ plain.q[-1, 3:])
    assert_allclose(found.q[-1, :3], plain.q[-1, :3], atol=1e-10)
    assert_allclose(side * found.q[-1, 3:], plain.q[-1, 3:], atol=1e-10)
    model = sr.linearize_at(system, q, v, coordinates=chosen)
    assert model.names == (
        "ball.rx",
        "ball.ry",
        "ball.rz",
        "y.ball.x",
        "y.ball.y",
        *(f"z.ball.w{a}" for a in "xyz"),
    )
    with pytest.raises(ArgumentError, match=r"3 independent velocities \(nv − rank"):
        sr.linearize_at(system, q, v, coordinates=RotationVector("ball", ["ball.x", "ball.y"]))


def test_wrong_input_is_named() -> None:
    system = top()
    q, v = state(1)
    with pytest.raises(ArgumentError, match=r"spherical or free joint 'bal'.*ball"):
        sr.parametrize(system, q, coordinates=RotationVector("bal"))
    with pytest.raises(ArgumentError, match="joints must name one joint at least"):
        RotationVector([])
    with pytest.raises(ArgumentError, match="the reference of 'ball' must be a wxyz quaternion, got"):
        RotationVector("ball", reference=[0, 0, 0, 0])
    with pytest.raises(ArgumentError, match="must give 3 independent coordinates"):
        sr.parametrize(system, q, coordinates=RotationVector("ball", ["ball.qx"]))
    ended = sr.simulate(
        system, q, 8 * v, duration=3.0, coordinates=RotationVector("ball", reference=q), throw=False
    )
    assert ended.status is sr.Status.COORDINATES_FAILED
    assert "the rotation vector of 'ball' has come to" in ended.message
    assert "renews it" in ended.message
