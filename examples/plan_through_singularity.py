"""A motion of least torque that a parallelogram makes through its singular configuration, planned with exact gradients.

In 1.2 s the two motors bring the robot from rest to rest, from an elbow on the one side to one on the other. Between
them links 1 and 2 lie on one line and the constraints lose their rank. The torques are polynomials of time; their
coefficients are parameters of the system, and `sr.sensitivity.motion_derivatives` has the derivatives of the end of the
motion by them, across the singular configuration. So a plan is a few gradient steps, as for a robot without loops.
(Dynamic motion planning with loops: Spencer 2004, Applications of the local state-space form of constrained mechanical
systems, section 4.6. Mechanism: section 2.4.1.)
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

import parallelogram
import sarrus as sr

Array = NDArray[np.float64]

START, GOAL = (0.9, 0.2), (-0.1, 0.6)  # angles of links 1 and 2 [rad]
DURATION, STEP = 0.6, 2e-3  # s
TERMS = 5  # of each motor's torque
NAMES = [f"c{motor}{k}" for motor in (1, 2) for k in range(TERMS)]


class Plan(NamedTuple):
    """A plan: coefficients [N m], cost ∫u²dt [N² m² s], the motion, runs that were made."""

    coefficients: Array
    cost: float
    motion: sr.Trajectory
    runs: int


def torques(q: Any, v: Any, t: Any, p: Any) -> list[Any]:
    """Return the torques [N m] at a time: Legendre polynomials of it, with coefficients p."""
    return [sum(p[f"c{motor}{k}"] * value for k, value in enumerate(legendre(t))) for motor in (1, 2)]


def legendre(t: Any) -> list[Any]:
    """Return the first Legendre polynomials over the motion, by their recursion."""
    s = 2.0 * t / DURATION - 1.0
    values = [1.0 + 0.0 * s, s]
    for k in range(1, TERMS - 1):
        values.append(((2 * k + 1) * s * values[k] - k * values[k - 1]) / (k + 1))
    return values


def system() -> sr.System:
    """Return the robot with the coefficients as parameters."""
    return sr.System(parallelogram.build(), parameters=dict.fromkeys(NAMES, 0.0))


def weights() -> Array:
    """Return the cost of each coefficient: Legendre polynomials are orthogonal, ∫P²dt = T / (2k + 1)."""
    return np.tile(DURATION / (2.0 * np.arange(TERMS) + 1.0), 2)


def plan(robot: sr.System) -> Plan:
    """Return the plan of least ∫u²dt that arrives at the goal at rest."""
    begun, scale, goal = parallelogram.closed(*START), 1.0 / np.sqrt(weights()), np.array([*GOAL, 0.0, 0.0])
    known: dict[bytes, tuple[Array, Array]] = {}

    def end(x: Array) -> tuple[Array, Array]:
        if x.tobytes() not in known:
            robot.parameters.update(zip(NAMES, scale * x))
            found = sr.sensitivity.motion_derivatives(
                robot, begun, duration=DURATION, dt=STEP, control=torques, every=10**6
            )
            state = np.concatenate([found.q[-1, :2], found.v[-1, :2]])
            known[x.tobytes()] = state - goal, np.vstack([found.along[-1, :2], found.dv[-1, :2]]) * scale
        return known[x.tobytes()]

    arrives = {"type": "eq", "fun": lambda x: end(x)[0], "jac": lambda x: end(x)[1]}
    found = minimize(
        lambda x: 0.5 * x @ x,
        guess(robot) / scale,
        jac=lambda x: x,
        constraints=[arrives],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 100},
    )
    assert found.success, found.message
    robot.parameters.update(zip(NAMES, scale * found.x))
    motion = sr.simulate(robot, begun, duration=DURATION, dt=STEP, control=torques)
    return Plan(scale * found.x, float(found.x @ found.x), motion, len(known))


def guess(robot: sr.System) -> Array:
    """Return the coefficients nearest to what a smooth path between the angles asks of the motors."""
    nodes, factors = np.polynomial.legendre.leggauss(12)
    times, way = 0.5 * DURATION * (nodes + 1.0), np.subtract(GOAL, START)
    asked = []
    for s in 0.5 * (nodes + 1.0):
        q = parallelogram.closed(*(START + way * (10 - 15 * s + 6 * s**2) * s**3))
        rate = way * 30 * (s * (1 - s)) ** 2 / DURATION
        slope = way * 60 * s * (1 - s) * (1 - 2 * s) / DURATION**2
        q_rates = [np.array([*x, x[0] - x[1], x[1] - x[0]]) for x in (rate, slope)]
        asked.append(robot.inverse_dynamics(q, *q_rates).u)
    values = np.array([legendre(t) for t in times])
    halves = (2 * np.arange(TERMS) + 1) / 2
    return np.array((factors[:, None] * values * halves).T @ np.array(asked)).T.ravel()


def main() -> None:
    """Plan, and tell what it took."""
    robot = system()
    found = plan(robot)
    motion = found.motion
    (passage,) = motion.passages
    error = float(np.abs([*(motion.q[-1, :2] - GOAL), *motion.v[-1]]).max())
    print(motion)
    print(f"∫u²dt = {found.cost:.6f} N² m² s, {found.runs} runs, off the goal by {error:.1e}")
    assert passage.crossed
    assert error < 1e-9, error
    start = guess(robot)
    figures = {
        "cost": found.cost,
        "cost_of_guess": float(start @ (weights() * start)),
        "runs": found.runs,
        "crossing": passage.time,
        "error": error,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
