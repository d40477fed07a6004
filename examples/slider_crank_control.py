"""The slider-crank with links of equal length, controlled through its singular configurations.

The crank turns once along a path. With the rod folded back over the crank the constraint loses its rank: there the
mechanism has two degrees of freedom, and a motor at the crank alone drives one of them. The law does not care: on the
branch q₂ = −2 q₁ the direction of A does not turn, C = 0, and the mechanism is a pendulum, T = ½ (3 − 2 cos 2q₁) q̇₁²
and V = g sin q₁, so that a motor at the crank needs

    τ = (3 − 2 cos 2q₁) q̈₁ + 2 sin 2q₁ q̇₁² + g cos q₁,

on both sides of the singular configuration and in the limit. With a second motor at the rod, the projected inverse
dynamics shares it out as the least force that does the same, u = [1, −2] τ / 5, f∥ = P f with P of eq. (70); with the
rod passive all comes from the crank. Errors die out critically damped through it all.
(Aghili 2005, section 8: mechanism and equations; path, gains and error at the start are ours, the text has none.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr
import slider_crank
from sarrus import control, references

Array = NDArray[np.float64]

GRAVITY = 9.81
START, TURN = 0.3, 2 * np.pi  # rad
OFFSET = -0.05  # rad, error at the start
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s², 1/s
STEP, DURATION = 1e-3, 5.0  # s
SINGULAR = np.array([np.pi / 2, -np.pi])
PATH = references.minimum_jerk([START], [START + TURN], duration=4.0)
SHARES = {"crank": np.array([1.0, 0.0]), "both": np.array([0.2, -0.4])}  # of τ


def with_motors(motors: str) -> sr.Mechanism:
    """Return the mechanism with a motor at the crank, or at "both" joints."""
    mechanism = slider_crank.build()
    mechanism.add_actuator("crank_motor", "crank")
    if motors == "both":
        mechanism.add_actuator("rod_motor", "rod")
    return mechanism


def follow(motors: str) -> sr.Trajectory:
    """Follow the path from rest, beside it."""
    system = sr.System(with_motors(motors))
    law = control.ProjectedInverseDynamics(system, ["crank"], PATH, stiffness=STIFFNESS, damping=DAMPING)
    q = np.array([1.0, -2.0]) * (START + OFFSET)
    return sr.simulate(system, q, duration=DURATION, dt=STEP, control=law)


def crank_torque(motion: sr.Trajectory) -> Array:
    """Return τ of the pendulum along a motion (T,) [N m]."""
    q, v, a = motion.q[:, 0], motion.v[:, 0], motion.a[:, 0]
    return (3 - 2 * np.cos(2 * q)) * a + 2 * np.sin(2 * q) * v**2 + GRAVITY * np.cos(q)


def tracking_error(motion: sr.Trajectory) -> Array:
    """Return q₁ less its path (T,) [rad]."""
    return motion.q[:, 0] - references.sample(PATH, motion.t)[:, 0]


def main() -> None:
    """Follow the path with one motor and with two; compare with the pendulum."""
    figures: dict[str, float] = {}
    for motors, shares in SHARES.items():
        motion = follow(motors)
        t = motion.t
        decay = OFFSET * (1 + 10 * t) * np.exp(-10 * t)
        u = np.zeros((len(t), 2))
        u[:, : motion.u.shape[1]] = motion.u
        wrong = np.abs(u - np.outer(crank_torque(motion), shares)).max(axis=1)
        print(motion)
        assert motion.residual.max() < 1e-13
        assert len(motion.passages) == 2
        assert all(passage.crossed for passage in motion.passages)
        assert np.abs(motion.q[:, 1] + 2 * motion.q[:, 0]).max() < 1e-9  # the branch
        assert np.abs(tracking_error(motion) - decay).max() < 1e-8
        assert wrong.max() < 1e-5  # of 20 N m, at the passages too
        figures |= {
            f"{motors}_tracking_error": float(np.abs(tracking_error(motion) - decay).max()),
            f"{motors}_torque_error": float(wrong.max()),
            f"{motors}_largest_torque": float(np.abs(motion.u).max()),
        }
    reach = [control.controllability(sr.System(with_motors(motors)), SINGULAR) for motors in SHARES]
    assert [(r.rank, r.dof) for r in reach] == [(1, 2), (2, 2)]
    away = control.controllability(sr.System(with_motors("crank")), [1.0, -2.0])
    assert (away.rank, away.dof) == (1, 1)
    assert figures["both_largest_torque"] < 0.5 * figures["crank_largest_torque"]
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
