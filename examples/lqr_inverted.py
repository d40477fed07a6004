"""A platform on two parallel legs, balanced on a cart by a linear regulator.

An inverted pendulum with a closed loop: cart, two legs of 1 m, and a platform on top which the legs keep level. One
force, on the cart; the four joints of the parallelogram are passive. The last joint is a revolute closure in space,
whose five rows have rank two. `sr.linearize` makes of it the minimal model ẋ = A x + B u with four states, the
Riccati equation the gain, and `LinearSystem.deviation` is the way from the state of the whole mechanism to x.

A and B are known in closed form: legs of mass m and length l and a platform of mass M swing like one pendulum with
first moment s = (m + M) l and moment of inertia i = (2 m / 3 + M) l².
"""

from __future__ import annotations

import json
from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, solve_continuous_are

import sarrus as sr

Array = NDArray[np.float64]
Law = Callable[[ca.SX, ca.SX, ca.SX], ca.SX]

GRAVITY = 9.81
CART, LEG, PLATFORM = 3.0, 0.8, 2.0  # kg
LENGTH, WIDTH = 1.0, 0.6  # m
LIMIT = 80.0  # N
STATE_WEIGHTS, EFFORT = np.diag([1.0, 10.0, 1.0, 1.0]), 1e-3  # of cart, tilt and their rates; of u²
DIRECTIONS = 16  # of the disturbance, in the plane of tilt and its rate


def build() -> sr.Mechanism:
    """Return the mechanism in the x-z plane: cart [m]; left, right and platform [rad], zero when upright."""
    mechanism = sr.Mechanism("platform_on_cart", gravity=(0, 0, -GRAVITY))
    mechanism.add_body("cart", CART, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("cart", "prismatic", "world", "cart", axis=(1, 0, 0))
    for name, x in (("left", -WIDTH / 2), ("right", WIDTH / 2)):
        moment = LEG * LENGTH**2 / 12
        mechanism.add_body(name, LEG, com=(0, 0, LENGTH / 2), inertia=(moment, moment, 1e-3))
        mechanism.add_joint(name, "revolute", "cart", name, axis=(0, 1, 0), parent_pose=(x, 0, 0))
    mechanism.add_body("platform", PLATFORM, com=(WIDTH / 2, 0, 0), inertia=(0.01, 0.06, 0.06))
    mechanism.add_joint(
        "platform", "revolute", "left", "platform", axis=(0, 1, 0), parent_pose=(0, 0, LENGTH)
    )
    mechanism.add_closure(
        "pin", "revolute", "platform", "right", axis=(0, 1, 0), pose1=(WIDTH, 0, 0), pose2=(0, 0, LENGTH)
    )
    mechanism.add_actuator("drive", "cart")
    return mechanism


def closed_form() -> tuple[Array, Array]:
    """Return A and B for x = (cart, left, cart.rate, left.rate)."""
    total, first = CART + 2 * LEG + PLATFORM, (LEG + PLATFORM) * LENGTH
    inertia = np.array([[total, first], [first, (2 * LEG / 3 + PLATFORM) * LENGTH**2]])
    A, B = np.zeros((4, 4)), np.zeros((4, 1))
    A[:2, 2:] = np.eye(2)
    A[2:, 1] = np.linalg.solve(inertia, [0.0, first * GRAVITY])
    B[2:, 0] = np.linalg.solve(inertia, [1.0, 0.0])
    return A, B


def law(model: sr.LinearSystem, gain: Array) -> Law:
    """Return u = −K δx within the limit, to be compiled into the simulation."""
    own = list(model.coordinate_indices)  # q̇ = v, so that these are the indices of coordinates and of rates

    def control(q: ca.SX, v: ca.SX, t: ca.SX) -> ca.SX:
        deviation = ca.vertcat(q[own] - model.q[own], v[own] - model.v[own])
        return ca.fmin(ca.fmax(-gain @ deviation, -LIMIT), LIMIT)

    return control


def disturbed(tilt: float, rate: float) -> tuple[Array, Array]:
    """Return q and v with the legs at an angle [rad] and at a rate [rad/s], and the cart at rest."""
    legs = np.array([0.0, 1.0, -1.0, 1.0])  # cart, left, platform on the left leg, right
    return tilt * legs, rate * legs


def returns(system: sr.System, tilt: float, rate: float, control: Law) -> bool:
    """Tell whether it is upright again, with the cart back, after ten seconds, and never upside down."""
    motion = sr.simulate(system, *disturbed(tilt, rate), duration=10.0, dt=4e-3, control=control, throw=False)
    upright = np.abs(motion.q[:, 1]).max() < np.pi / 2
    return motion.status.ok and bool(upright and np.abs(motion.q[-1]).max() < 1e-2)


def region(system: sr.System, control: Law) -> list[tuple[float, float]]:
    """Return the largest disturbances (tilt, rate) from which it comes back, all round."""
    edge = []
    for angle in 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS:
        direction = np.array([np.cos(angle), 3.0 * np.sin(angle)])
        inside, outside = 0.0, 1.5
        while outside - inside > 0.01:
            middle = (inside + outside) / 2
            back = returns(system, *(middle * direction), control)
            inside, outside = (middle, outside) if back else (inside, middle)
        edge.append((float(inside * direction[0]), float(inside * direction[1])))
    return edge


def prediction_error(system: sr.System, model: sr.LinearSystem, gain: Array, size: float) -> float:
    """Return how far the linear closed loop is from the simulated one after a second, for a small tilt."""
    q, v = disturbed(size, 0.0)
    motion = sr.simulate(system, q, v, duration=1.0, control=law(model, gain))
    expected = expm(model.A - model.B @ gain) @ model.deviation(q, v)
    return float(np.abs(model.deviation(motion.q[-1], motion.v[-1]) - expected).max())


def main() -> None:
    """Let it fall, catch it, push it, and find out from how far it comes back."""
    system = sr.System(build())
    upright, still = disturbed(0.0, 0.0)
    model = sr.linearize(system, upright, coordinates=["cart", "left"])
    exact = closed_form()
    model_error = max(float(np.abs(model.A - exact[0]).max()), float(np.abs(model.B - exact[1]).max()))
    print(model, model.eigenvalues.real)
    assert model_error < 1e-12
    assert system.forward_dynamics(upright, still).rank == 2 < system.nc

    tilt, rate = 0.2, 0.5
    fall = sr.simulate(system, *disturbed(tilt, rate), duration=2.0)
    fallen = float(np.abs(fall.q[:, 1]).max())
    assert fallen > np.pi / 2

    cost = solve_continuous_are(model.A, model.B, STATE_WEIGHTS, [[EFFORT]])
    gain = model.B.T @ cost / EFFORT
    control = law(model, gain)
    poles = np.linalg.eigvals(model.A - model.B @ gain)
    assert poles.real.max() < -0.5
    caught = sr.simulate(system, *disturbed(tilt, rate), duration=10.0, control=control)
    end = float(np.abs(model.deviation(caught.q[-1], caught.v[-1])).max())
    print(caught, f"fell without control; with it {end:.1e} from upright after 10 s")
    assert end < 1e-3
    assert np.abs(caught.u).max() <= LIMIT
    assert caught.residual.max() < 1e-12

    coarse, fine = (prediction_error(system, model, gain, size) for size in (2e-2, 1e-2))
    assert 6.0 < coarse / fine < 10.0  # the model is exact to first order, and by symmetry there is no second
    edge = np.abs(region(system, control))
    print(
        f"comes back from tilts up to {np.degrees(edge[0, 0]):.0f}° and from {edge[4, 1]:.1f} rad/s upright"
    )
    assert edge[0, 0] > 0.3
    assert np.allclose(edge[: DIRECTIONS // 2], edge[DIRECTIONS // 2 :], atol=0.05)  # left as well as right
    figures = {
        "model_error": model_error,
        "growth": float(model.eigenvalues.real.max()),
        "poles": sorted(poles.real),
        "largest_force": float(np.abs(caught.u).max()),
        "end": end,
        "largest_tilt_deg": float(np.degrees(edge[0, 0])),
        "largest_rate": float(edge[DIRECTIONS // 4, 1]),
        "residual": float(caught.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
