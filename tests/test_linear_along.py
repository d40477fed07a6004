"""Linear models along a motion: the compiled loop against the models at single states."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import load_example
from mechanisms import HOLONOMIC
from sarrus.analysis.linear.along import linearize_along
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize_at import linearize_at
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.system import System
from sarrus.motion.simulate import simulate
from test_linearization import Nonlinear, looped, own, pendulum, shipped

MATRICES = ("A", "B", "E", "affine")


def assert_same(models: object, k: int, single: LinearSystem) -> None:
    scale = np.abs(single.A).max()
    for name in MATRICES:
        assert_allclose(getattr(models, name)[k] / scale, getattr(single, name) / scale, atol=1e-11)


@pytest.mark.parametrize(
    "name", [*HOLONOMIC, "five_bar", "bricard free", "stewart", "quadruped", "driven", "friction"]
)
def test_one_state_is_first_order_taylor(name: str) -> None:
    """Redundant rows, quaternions, driven constraints and forces in time, controls."""
    system, q, v, u, t = (
        looped(name) if name in HOLONOMIC else own(name) if name in ("driven", "friction") else shipped(name)
    )
    models = linearize_along(system, [q, q], [v, v], [u, u], t=[t, t])
    single = linearize_at(system, q, v, u, t=t)
    assert len(models) == 2
    assert models.names == single.names
    assert_same(models, 0, single)
    assert_same(models, 1, single)


def test_along_a_simulated_motion() -> None:
    system, q, v, u, _ = shipped("five_bar")
    motion = simulate(system, q, v, duration=0.2, dt=1e-2, control=lambda q, v, t: u)
    names = ["q1", "q2"] if "q1" in system.velocity_names else list(system.velocity_names[:2])
    controls = np.tile(u, (len(motion.t), 1))
    models = linearize_along(system, motion.q, motion.v, controls, t=motion.t, coordinates=names)
    for k in (0, 7, 20):
        assert_same(models, k, linearize_at(system, motion.q[k], motion.v[k], u, coordinates=names))


def test_quaternions_keep_the_coordinates_of_the_first_state() -> None:
    """The model at a later state is the derivative in the chart of the first one."""
    state = looped("quaternions")
    system, q, v, u, t = state
    motion = simulate(system, q, v, duration=0.1, dt=5e-3)
    models = linearize_along(system, motion.q[[0, -1]], motion.v[[0, -1]])
    reference = Nonlinear(state, linearize_at(system, q, v), "partition")
    reference.q = motion.q[-1]
    reference.x = np.concatenate(reference.chart.to_independent(motion.q[-1], motion.v[-1]))
    exact = np.column_stack([models.A[1], models.E[1]])
    scale = np.abs(exact).max()
    assert_allclose(reference.extrapolated() / scale, exact / scale, atol=1e-9)
    assert_allclose(reference(reference.x, u, t), models.affine[1], atol=1e-10 * scale)
    assert np.abs(models.A[1] - linearize_at(system, motion.q[-1], motion.v[-1]).A).max() > 1e-3


def circle(angles: list[float]) -> tuple[Array, Array]:
    q = 2.0 * np.column_stack([np.sin(angles), -np.cos(angles)])
    return q, np.zeros_like(q)


def test_states_that_have_no_model_are_named() -> None:
    q, v = circle([0.1, 0.2, np.pi / 2, 1.7])
    with pytest.raises(SolveError, match=r"at state 2 \(t = 0.5\): x do not determine the others there"):
        linearize_along(pendulum(), q, v, t=[0.0, 0.1, 0.5, 0.6])
    module = load_example("parallelogram")
    system = System(module.build())
    q = np.array([module.closed(0.4, angle) for angle in (0.8, 0.6, 0.4)])
    with pytest.raises(
        SolveError, match=r"parallelogram: no linear model at state 2 \(t = 0\): the rank of the"
    ):
        linearize_along(system, q, np.zeros((3, 4)))


def test_wrong_arrays() -> None:
    system = pendulum()
    q, v = circle([0.1, 0.2])
    with pytest.raises(ArgumentError, match=r"q must have shape \(N, 2\), got \(2,\)"):
        linearize_along(system, q[0], v[0])
    with pytest.raises(
        ArgumentError, match=r"v must be finite numbers of shape \(2, 2\), got shape \(1, 2\)"
    ):
        linearize_along(system, q, v[:1])
    with pytest.raises(ArgumentError, match="leaves the loops open"):
        linearize_along(system, 1.1 * q, v)


def test_a_skate_along_its_circle() -> None:
    """∂(x, y, θ, ẋ, ω)(T)/∂(the same at 0) from the models along the motion is that of the circle in closed form."""
    skate = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        velocity=lambda q, v, t: -ca.sin(q[2]) * v[0] + ca.cos(q[2]) * v[1],
        name="skate",
        coordinate_names=["x", "y", "turn"],
    )

    def state(start: Array, t: Array) -> tuple[Array, Array]:
        x, y, turn, ahead, rate = start
        speed, angle = ahead / np.cos(turn), turn + rate * t
        radius = speed / rate
        q = np.stack(
            [x + radius * (np.sin(angle) - np.sin(turn)), y - radius * (np.cos(angle) - np.cos(turn)), angle]
        )
        return q.T, np.stack([speed * np.cos(angle), speed * np.sin(angle), rate + 0 * t]).T

    steps, duration, start = 100, 0.8, np.array([0.1, -0.2, 0.3, 0.9, 1.1])
    times = np.linspace(0.0, duration, 2 * steps + 1)
    models = linearize_along(skate, *state(start, times), t=times, coordinates=["x", "turn"])
    assert models.names == ("x", "y", "turn", "x.rate", "turn.rate")
    change, h = np.eye(5), duration / steps
    for k in range(0, 2 * steps, 2):
        before, middle, behind = models.A[k : k + 3]
        k1 = before @ change
        k2 = middle @ (change + h / 2 * k1)
        k3 = middle @ (change + h / 2 * k2)
        change = change + h / 6 * (k1 + 2 * k2 + 2 * k3 + behind @ (change + h * k3))

    def end(start: Array) -> Array:
        (q,), (v,) = state(start, times[-1:])
        return np.array([*q, v[0], v[2]])

    step = 1e-3 * np.eye(5)
    once = [[(end(start + h * e) - end(start - h * e)) / (2e-3 * h) for h in (1.0, 0.5)] for e in step]
    assert_allclose(change, np.stack([(4 * b - a) / 3 for a, b in once], axis=1), rtol=0, atol=1e-9)
