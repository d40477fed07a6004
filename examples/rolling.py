"""Rolling without slip, from bodies: a bicycle, a differential drive, a ball on a turntable, a sleigh and a cone.

Every one is compared with its closed form:

- bicycle: M q̈ + v C₁ q̇ + (g K₀ + v² K₂) q = 0 for lean and steer (Meijaard, Papadopoulos, Ruina, Schwab: Linearized
  dynamics equations for the balance and steer of a bicycle, Proceedings of the Royal Society A 463, 2007), with the
  eigenvalues that are printed there. Axes of bodies are those of the paper: x forward, z down.
- drive: two driven wheels on one axle go on a circle. Both keep the axle from moving along itself: a row is redundant.
- ball on a turntable that turns at Ω: its centre goes on a circle at 2 Ω / 7.
- Chaplygin's sleigh: it turns until it runs straight, with its centre of mass ahead (Neimark and Fufaev, 1972).
- cone: it rolls round its apex at a constant rate.

The disc is in examples/rolling_disc.py.
"""

from __future__ import annotations

import json

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr

Array = NDArray[np.float64]

GRAVITY = 9.81
BASE, TRAIL, TILT = 1.02, 0.08, np.pi / 10  # of the bicycle: wheelbase, trail [m], tilt of the steer axis
# Eigenvalues by speed [m/s] as printed in table 2 of the paper: castering, weave, capsize.
PUBLISHED: dict[float, tuple[complex, ...]] = {
    0.0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    5.0: (
        -14.07838969279822,
        -0.77534188219585 - 4.46486771378823j,
        -0.77534188219585 + 4.46486771378823j,
        -0.32286642900409,
    ),
    10.0: (
        -24.62459635017404,
        -3.72016840437287 - 10.90681139476287j,
        -3.72016840437287 + 10.90681139476287j,
        0.16105338653172,
    ),
}
WEAVE, CAPSIZE = 4.292382536, 6.024262015  # speeds between which it is stable by itself [m/s]


def bicycle() -> sr.Mechanism:
    """Return the benchmark bicycle, rolling on the plane z = 0."""
    bike = sr.Mechanism("bicycle")
    bike.add_body("frame", 85.0, (0.3, 0, -0.9), (9.2, 11.0, 2.8, 0, 2.4, 0))
    bike.add_body("fork", 4.0, (0.9, 0, -0.7), (0.05892, 0.06, 0.00708, 0, -0.00756, 0))
    bike.add_body("rear", 2.0, inertia=(0.0603, 0.12, 0.0603))
    bike.add_body("front", 3.0, inertia=(0.1405, 0.28, 0.1405))
    bike.add_joint("frame", "free", "world", "frame", parent_pose=sr.Pose.of(rpy=(np.pi, 0, 0)))
    at, steer = (BASE + TRAIL - 0.9 * np.tan(TILT), 0, -0.9), (np.sin(TILT), 0, np.cos(TILT))
    bike.add_joint("steer", "revolute", "frame", "fork", axis=steer, parent_pose=at, child_pose=at)
    bike.add_joint("rear", "revolute", "frame", "rear", axis=(0, 1, 0), parent_pose=(0, 0, -0.3))
    bike.add_joint("front", "revolute", "fork", "front", axis=(0, 1, 0), parent_pose=(BASE, 0, -0.35))
    bike.add_rolling("rear", "wheel", "rear", radius=0.3)
    bike.add_rolling("front", "wheel", "front", radius=0.35)
    return bike


def straight(system: sr.System, speed: float) -> tuple[Array, Array]:
    """Return q and v of the bicycle that runs straight on."""
    v = np.zeros(system.nv)
    for name, rate in (("frame.vx", speed), ("rear", -speed / 0.3), ("front", -speed / 0.35)):
        v[system.velocity_names.index(name)] = rate
    return system.neutral(), v


def differential_drive() -> sr.Mechanism:
    """Return a cart in the plane on two wheels of radius 0.1 m, 0.5 m apart."""
    cart = sr.Mechanism("drive")
    cart.add_body("chassis", 10.0, inertia=(0.2, 0.4, 0.5))
    cart.add_joint("chassis", "planar", "world", "chassis", axis2=(1, 0, 0), parent_pose=(0, 0, 0.1))
    for name, side in (("left", 0.25), ("right", -0.25)):
        cart.add_body(name, 1.0, inertia=(0.003, 0.005, 0.003))
        cart.add_joint(name, "revolute", "chassis", name, axis=(0, 1, 0), parent_pose=(0, side, 0))
        cart.add_rolling(name, "wheel", name, radius=0.1, rows=("longitudinal", "lateral"))
    return cart


def ball_on_turntable(turning: float, radius: float = 0.05) -> sr.Mechanism:
    """Return a uniform ball on a table that turns about the vertical [rad/s]."""
    plate = sr.Mechanism("turntable")
    plate.add_body("table")
    plate.add_joint("bearing", "fixed", "world", "table")
    turn = lambda t: ca.vertcat(0, 0, 0, ca.cos(turning * t / 2), 0, 0, ca.sin(turning * t / 2))  # noqa: E731
    plate.drive("table", turn)
    plate.add_body("ball", 0.3, inertia=3 * [0.4 * 0.3 * radius**2])
    plate.add_joint("ball", "free", "world", "ball", parent_pose=(0.4, 0, radius))
    plate.add_rolling("ball", "ball", "ball", "table", radius=radius)
    return plate


def sleigh(mass: float = 3.0, inertia: float = 0.2, ahead: float = 0.3) -> sr.Mechanism:
    """Return Chaplygin's sleigh: a blade under its origin, its centre of mass ``ahead`` of it."""
    sled = sr.Mechanism("sleigh")
    sled.add_body("sled", mass, (ahead, 0, 0), (inertia, inertia, inertia))
    sled.add_joint("sled", "planar", "world", "sled", axis2=(1, 0, 0))
    sled.add_rolling("blade", "knife_edge", "sled", rows=("lateral",))
    return sled


def cone(radius: float = 0.2, half_angle: float = 0.4, mass: float = 1.5) -> sr.Mechanism:
    """Return a uniform cone, its apex at the origin of the body and its axis along x."""
    height = radius / np.tan(half_angle)
    across = 3 / 80 * mass * (4 * radius**2 + height**2)
    toy = sr.Mechanism("cone")
    toy.add_body("cone", mass, (0.75 * height, 0, 0), (0.3 * mass * radius**2, across, across))
    lies = sr.Pose.of(rpy=(0, -half_angle, 0))
    toy.add_joint("cone", "free", "world", "cone", parent_pose=lies)
    toy.add_rolling("cone", "cone", "cone", axis=(1, 0, 0), radius=radius, half_angle=half_angle)
    return toy


def eigenvalues(system: sr.System, speed: float) -> tuple[np.ndarray, sr.LinearSystem]:
    """Return the four eigenvalues of lean and steer, by their real parts, and the linear model."""
    model = sr.linearize_at(system, *straight(system, speed))
    moving = np.delete(model.eigenvalues, model.neutral)
    return moving[np.lexsort((moving.imag, np.round(moving.real, 9)))], model


def check_bicycle() -> float:
    """Return the largest difference from the printed eigenvalues; it is stable between weave and capsize."""
    system = sr.System(bicycle())
    assert (system.nc, system.nh, system.nv) == (6, 2, 9)
    error = 0.0
    for speed, printed in PUBLISHED.items():
        found, model = eigenvalues(system, speed)
        error = max(error, float(np.abs(found - np.array(printed)).max()))
        print(f"bicycle at {speed:4.1f} m/s: {np.array2string(found, precision=6)}, stable: {model.stable}")
    for speed, stable in (
        (WEAVE - 1e-6, False),
        (WEAVE + 1e-6, True),
        (CAPSIZE - 1e-6, True),
        (CAPSIZE + 1e-6, False),
    ):
        assert eigenvalues(system, speed)[1].stable is stable
    return error


def check_drive() -> float:
    """Return how far the cart is from its circle after 4 s [m]."""
    system = sr.System(differential_drive())
    left, right = 5.0, 7.0  # rad/s
    forward, turning = 0.05 * (left + right), 0.1 * (right - left) / 0.5
    v = system.project_velocity(system.neutral(), [forward, 0, turning, left, right])
    assert np.allclose(v, [forward, 0, turning, left, right], atol=1e-14)
    motion = sr.simulate(system, system.neutral(), v, duration=4.0, rtol=1e-11, atol=1e-13)
    assert motion.rank.max() == 3 < system.nc
    angle = turning * motion.t
    exact = forward / turning * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=1)
    return float(np.abs(motion.q[:, :2] - exact).max())


def check_turntable(turning: float = 3.0) -> float:
    """Return how far the ball is from its circle in 5 s [m]."""
    system = sr.System(ball_on_turntable(turning))
    v = np.zeros(system.nv)
    v[1] = 0.4  # m/s across
    start = system.project_velocity(system.neutral(), v)
    motion = sr.simulate(system, system.neutral(), start, duration=5.0, rtol=1e-12, atol=1e-14)
    rate, slip = 2j / 7 * turning, start[0] + 1j * start[1]
    exact = 0.4 + slip * (np.exp(rate * motion.t) - 1) / rate
    return float(np.abs(motion.q[:, 0] + 1j * motion.q[:, 1] - exact).max())


def check_sleigh(ahead: float = 0.3, mass: float = 3.0, inertia: float = 0.2) -> float:
    """Return how far speed, rate of turn and heading are from the closed form in 4 s."""
    system = sr.System(sleigh(mass, inertia, ahead))
    gyration = np.sqrt(inertia / mass + ahead**2)
    speed, start = 1.2, -1.5  # of the energy [m/s]; where on its way
    along = lambda t: ahead * speed * t / gyration**2 + start  # noqa: E731
    v = [speed * np.tanh(start), 0.0, speed / np.cosh(start) / gyration]
    motion = sr.simulate(system, system.neutral(), v, duration=4.0, rtol=1e-12, atol=1e-14)
    s = along(motion.t)
    turned = 2 * gyration / ahead * (np.arctan(np.exp(s)) - np.arctan(np.exp(start)))
    heading = motion.q[:, 2]
    forward = motion.v[:, 0] * np.cos(heading) + motion.v[:, 1] * np.sin(heading)
    errors = heading - turned, forward - speed * np.tanh(s), motion.v[:, 2] - speed / np.cosh(s) / gyration
    return float(np.abs(errors).max())


def check_cone(rate: float = 2.0, radius: float = 0.2, half_angle: float = 0.4) -> float:
    """Return how far the axis of the cone is from its steady way round in 3 s, and check its forces."""
    system = sr.System(cone(radius, half_angle))
    turns = np.array([-rate / np.tan(half_angle), 0.0, 0.0])  # about the generator, which lies along x
    lies = sr.Pose.of(rpy=(0, -half_angle, 0)).rotation
    v = np.concatenate([np.zeros(3), lies.T @ turns])
    motion = sr.simulate(system, system.neutral(), v, duration=3.0, rtol=1e-12, atol=1e-14)
    angle = rate * motion.t
    exact = np.stack(
        [
            np.cos(half_angle) * np.cos(angle),
            np.cos(half_angle) * np.sin(angle),
            0 * angle + np.sin(half_angle),
        ],
        axis=1,
    )
    axes = np.array([system.body_placements(q)[1][0][:, 0] for q in motion.q])
    push = motion.multipliers[:, :2].sum(axis=1)
    assert np.allclose(push, 1.5 * GRAVITY, rtol=1e-9)  # the two ends of the generator carry the weight
    return float(np.abs(axes - exact).max())


def main() -> None:
    """Compare all with their closed forms."""
    figures = {
        "bicycle": check_bicycle(),
        "drive": check_drive(),
        "turntable": check_turntable(),
        "sleigh": check_sleigh(),
        "cone": check_cone(),
    }
    assert max(figures.values()) < 1e-10, figures
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
