"""Servo constraints on the level of velocities, integrable or not, and controls that are preferred."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from c_code import Compiled
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Status


def particle(push: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> sr.System:
    """A mass of 2 kg with a motor along each axis, and a force that a law may not know."""
    return sr.System.from_lagrangian(
        3,
        lambda q, v, t: ca.dot(v, v),
        generalized_force=lambda q, v, t: ca.DM(push),
        inputs=lambda q: ca.SX.eye(3),
    )


def contact_form(q, v, t):
    """ẏ − z ẋ − cos t: of no function of q and t the rate."""
    return v[1] - q[2] * v[0] - ca.cos(t)


def slip(q: Array, v: Array, t: Array) -> Array:
    return v[:, 1] - q[:, 2] * v[:, 0] - np.cos(t)


Q0, V0 = [0.1, 0.2, 0.7], [0.5, -0.4, 0.9]


def five_bar(every_joint: bool = True) -> tuple[sr.System, Array, Array]:
    mechanism = sr.load("models/five_bar.xml")
    if every_joint:
        for joint in ("left_elbow", "right_elbow"):
            mechanism.add_actuator(f"{joint}_motor", joint)
    system = sr.System(mechanism)
    q = system.assemble(mechanism.keyframes["symmetric"].q).q
    return system, q, system.project_velocity(q, np.array([0.4, -0.7, 0.3, 0.2]))


def test_what_is_not_integrable_dies_out_to_first_order() -> None:
    system = particle()
    law = control.ServoConstraint(system, velocity=contact_form, alpha=3.0)
    motion = sr.simulate(system, Q0, V0, duration=2.0, rtol=1e-10, atol=1e-12, control=law)
    left = slip(motion.q, motion.v, motion.t)
    assert_allclose(left, left[0] * np.exp(-3.0 * motion.t), rtol=0, atol=1e-8)


def test_least_norm_of_a_nonholonomic_servo() -> None:
    """u = Aᵀ(A Aᵀ)⁻¹ m (b − ψ gain), the closed form of one row, (35)."""
    law = control.ServoConstraint(particle(), velocity=contact_form, alpha=3.0)
    z, (vx, vy, vz), t = Q0[2], V0, 0.4
    row = np.array([-z, 1.0, 0.0])
    wanted = vz * vx - np.sin(t) - 3.0 * (vy - z * vx - np.cos(t))
    assert_allclose(law(Q0, V0, t), 2.0 * row * wanted / (row @ row), atol=1e-12)


def test_the_integral_takes_away_what_an_unknown_force_leaves() -> None:
    """ψ̇ + α ψ + κ ∫ψ = d: without the integral d / α is left, with it nothing."""
    believed, plant = particle(), particle((0.0, 3.0, 0.0))
    left = {}
    for integral in (0.0, 9.0):
        law = control.ServoConstraint(believed, velocity=contact_form, alpha=6.0, integral=integral)
        motion = sr.simulate(plant, Q0, V0, duration=6.0, dt=1e-3, control=law, sample_time=1e-3)
        left[integral] = slip(motion.q, motion.v, motion.t)
    assert left[0.0][-1] == pytest.approx(1.5 / 6.0, rel=2e-3)
    assert np.abs(left[9.0][-1000:]).max() < 2e-3
    # the double root −3: ψ = (ψ₀ + (d − 3 ψ₀) t) exp(−3 t), up to the sample time
    t = motion.t
    start = left[9.0][0]
    assert_allclose(left[9.0], (start + (1.5 - 3.0 * start) * t) * np.exp(-3.0 * t), rtol=0, atol=5e-3)


def test_beside_a_holonomic_row_on_a_loop() -> None:
    """Five-bar with redundant motors: one crank on its course, the other turns at a rate that depends on the state."""
    system, q, v = five_bar()

    def phi(q, t):
        return q[0] - 2.0 - 0.1 * ca.sin(t)

    def psi(q, v, t):
        return v[2] - 0.3 * ca.cos(q[0] - q[2]) + 0.2 * v[0] ** 2

    law = control.ServoConstraint(system, phi, psi, alpha=[4.0, 2.0], beta=4.0)
    motion = sr.simulate(system, q, v, duration=1.5, rtol=1e-10, atol=1e-12, control=law)
    Q, V, t = motion.q, motion.v, motion.t
    slips = V[:, 2] - 0.3 * np.cos(Q[:, 0] - Q[:, 2]) + 0.2 * V[:, 0] ** 2
    assert_allclose(slips, slips[0] * np.exp(-2.0 * t), rtol=0, atol=1e-8)
    error = Q[:, 0] - 2.0 - 0.1 * np.sin(t)
    rate = V[0, 0] - 0.1
    assert_allclose(error, (error[0] + (rate + 4 * error[0]) * t) * np.exp(-4 * t), rtol=0, atol=1e-8)
    assert motion.residual.max() < 1e-12


@pytest.mark.parametrize("weights", [None, (1.0, 4.0, 0.5, 2.0)])
def test_preferred_controls_as_a_function(weights: tuple[float, ...] | None) -> None:
    """u = (C B̄)⁺ b̄ + (I − (C B̄)⁺ C B̄) s in the weighted norm: the same as numbers, at every state."""
    system, q, v = five_bar()

    def phi(q, t):
        return q[0] - 2.0

    def preferred(q, v, t):
        return ca.vertcat(5.0 * ca.sin(t), -2.0 * v[0], 1.0, q[2])

    t = 0.7
    s = np.array([5.0 * np.sin(t), -2.0 * v[0], 1.0, q[2]])
    moving = control.ServoConstraint(system, phi, preferred=preferred, weights=weights)
    fixed = control.ServoConstraint(system, phi, preferred=s, weights=weights)
    assert_allclose(moving(q, v, t), fixed(q, v, t), atol=1e-9)
    found = moving.solve(q, v, t)  # s itself is not reached, and is not missed
    assert found.status is Status.OK
    assert np.abs(found.u - s).max() > 0.1
    assert abs(system.forward_dynamics(q, v, found.u).a[0] + 20 * v[0] + 100 * (q[0] - 2.0)) < 1e-8


def test_in_c_too(tmp_path: Path) -> None:
    system, q, v = five_bar()
    law = control.ServoConstraint(
        system, lambda q, t: q[0] - 2.0, preferred=lambda q, v, t: -3.0 * v, weights=[1.0, 2.0, 3.0, 4.0]
    )
    compiled = Compiled(sr.export.c_code(law, tmp_path, q=q), system)
    got = np.zeros(4)
    assert compiled.call("law", q, v, 0.3, got) == Status.OK
    assert_allclose(got, law(q, v, 0.3), rtol=0, atol=1e-12)


def test_rows_that_vanish_lose_rank() -> None:
    """At z = 0 along x there is nothing to push with: the row is missed and says so, with finite controls."""
    system = particle()
    law = control.ServoConstraint(system, velocity=lambda q, v, t: q[2] * v[0] - 1.0, alpha=2.0)
    found = law.solve([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], throw=False)
    assert found.status is Status.NOT_ACHIEVABLE
    assert found.levels[0].rank == 0
    assert_allclose(found.u, 0.0)


def test_errors_name_what_is_wrong() -> None:
    system = particle()
    with pytest.raises(ArgumentError, match="integral= is about the rows of velocity="):
        control.ServoConstraint(system, lambda q, t: q[0], integral=1.0)
    with pytest.raises(ArgumentError, match="preferred: must return 3 entries, got 2"):
        control.ServoConstraint(system, lambda q, t: q[0], preferred=lambda q, v, t: v[:2])
    law = control.ServoConstraint(system, velocity=contact_form, integral=1.0)
    with pytest.raises(ArgumentError, match="needs samples"):
        sr.simulate(system, Q0, V0, duration=0.1, control=law)
