"""Rolling on given surfaces: the golfer's dilemma, a wheel in a trough, and a ball that runs round a bowl.

Each is compared with its closed form:

- pipe: a ball that is rolled into a vertical pipe goes down and comes up again,
  z = −5g/(2Ω²) (1 − cos √(2/7) Ω t), where Ω is the rate at which it goes round (Neimark and Fufaev, *Dynamics of
  Nonholonomic Systems*, 1972). A golf ball that had dropped into the hole leaves it by itself.
- trough: a solid wheel in a circular trough is a pendulum of 3/2 of its length, 3/2 (R − r) θ̈ = −g sin θ.
- bowl: small oscillations of a ball have the rate √(5 g / 7 (R − r)), and its spin about the normal stays.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from scipy.special import ellipj, ellipk

import sarrus as sr
from sarrus import surfaces

Array = NDArray[np.float64]

GRAVITY, RADIUS, AROUND, MASS = 9.81, 0.1, 0.6, 2.0  # m/s², radii of what rolls and of its ground [m], kg


def ball(name: str, surface: surfaces.Surface, start: tuple[float, float, float]) -> sr.Mechanism:
    """Return a uniform ball that rolls on a surface about the origin."""
    mechanism = sr.Mechanism(name)
    mechanism.add_body("ball", MASS, inertia=3 * [0.4 * MASS * RADIUS**2])
    mechanism.add_joint("ball", "free", "world", "ball", parent_pose=start)
    mechanism.add_rolling("rolls", "ball", "ball", radius=RADIUS, surface=surface, normal=(0, 0, 1))
    return mechanism


def pipe() -> sr.Mechanism:
    """Return a ball in a vertical pipe."""
    return ball("pipe", surfaces.Cylinder(AROUND, axis=(0, 0, 1), inside=True), (AROUND - RADIUS, 0, 0))


def bowl() -> sr.Mechanism:
    """Return a ball in a spherical bowl, which it touches at the bottom."""
    return ball("bowl", surfaces.Sphere(AROUND, inside=True), (0, 0, RADIUS - AROUND))


def trough() -> sr.Mechanism:
    """Return a solid wheel, a planar mechanism, on a curve that is an arc."""
    mechanism = sr.Mechanism("trough")
    across = MASS * RADIUS**2 / 4
    mechanism.add_body("wheel", MASS, inertia=(across, 2 * across, across))
    mechanism.add_joint("wheel", "planar", "world", "wheel", axis=(0, -1, 0), axis2=(1, 0, 0))
    arc = surfaces.Cylinder(AROUND, axis=(0, 1, 0), inside=True)
    rows = ("n", "longitudinal")
    mechanism.add_rolling("rolls", "wheel", "wheel", radius=RADIUS, surface=arc, rows=rows)
    return mechanism


def round_the_pipe(system: sr.System, turning: float) -> tuple[Array, Array]:
    """Return q and v of the ball in the pipe that goes round at a rate [rad/s], level."""
    q = system.neutral()
    spin = -turning * (AROUND - RADIUS) / RADIUS
    return q, np.array([0, turning * (AROUND - RADIUS), 0, 0, 0, spin])


def check_pipe(turning: float = 6.0) -> float:
    """Return how far the ball is from its closed form in 5 s [m]."""
    system = sr.System(pipe())
    q, v = round_the_pipe(system, turning)
    motion = sr.simulate(system, q, v, duration=5.0, rtol=1e-12, atol=1e-14)
    height = -5 * GRAVITY / (2 * turning**2) * (1 - np.cos(np.sqrt(2 / 7) * turning * motion.t))
    reach = AROUND - RADIUS
    exact = reach * np.cos(turning * motion.t), reach * np.sin(turning * motion.t), height
    return float(np.abs(motion.q[:, :3] - np.stack(exact, axis=1)).max())


def check_trough(start: float = 1.2) -> float:
    """Return how far the wheel is from the pendulum in 5 s [rad]."""
    system = sr.System(trough())
    reach = AROUND - RADIUS
    q = system.assemble([reach * np.sin(start), -reach * np.cos(start), 0.0]).q
    motion = sr.simulate(system, q, duration=5.0, rtol=1e-12, atol=1e-14)
    rate, k = np.sqrt(2 * GRAVITY / (3 * reach)), np.sin(start / 2)
    exact = 2 * np.arcsin(k * ellipj(ellipk(k * k) - rate * motion.t, k * k)[0])
    return float(np.abs(np.arctan2(motion.q[:, 0], -motion.q[:, 1]) - exact).max())


def check_bowl() -> float:
    """Return how far the rate of small oscillations is from its closed form, relatively."""
    system = sr.System(bowl())
    model = sr.linearize(system, system.neutral())
    rate = np.sqrt(5 * GRAVITY / (7 * (AROUND - RADIUS)))
    return float(np.abs(model.eigenvalues.imag).max() / rate - 1.0)


def main() -> None:
    """Compare all with their closed forms."""
    figures = {"pipe": check_pipe(), "trough": check_trough(), "bowl": check_bowl()}
    assert max(map(abs, figures.values())) < 1e-9, figures
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
