"""Gough–Stewart platform: six legs of universal, prismatic and spherical joints.

The tree holds the free platform and six legs of two massless halves; six ball joints close the loops: 24
velocities, 18 closure rows, 6 degrees of freedom. The forces of the six cylinders that hold 100 N at the
platform's origin follow from Σ fₖ lₖ = W, Σ fₖ rₖ × lₖ = 0 with the legs' directions lₖ.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr

WEIGHT = 100.0  # N
GRAVITY = 9.81
BASE = np.deg2rad([-10.0, 10.0, 110.0, 130.0, 230.0, 250.0])
TOP = np.deg2rad([-50.0, 50.0, 70.0, 170.0, 190.0, 290.0])
BASE_POINTS = np.stack([np.cos(BASE), np.sin(BASE), 0 * BASE], axis=1)
TOP_POINTS = 0.6 * np.stack([np.cos(TOP), np.sin(TOP), 0 * TOP], axis=1)
POSE = sr.Pose.of((0.05, -0.08, 1.1), rpy=(0.1, -0.2, 0.3))
# At this pose: lengths of the legs [m], pushing forces [N] and determinant of the rows [l, (R v) × l].
LENGTHS = (
    1.231980409854062,
    1.446584288617969,
    1.333914955991942,
    1.356909747560444,
    1.07176680972992,
    1.380748272936653,
)
PUSH = (
    25.1039139293236,
    17.5396316671842,
    19.4252916525094,
    11.3341606432489,
    31.3399450706504,
    10.156339477801,
)
DETERMINANT = -0.781310757772818


def build() -> sr.Mechanism:
    """Return the platform: coordinates platform (7), then hip (2) and cylinder (1) of every leg.

    A leg points along its own z; its hip angles are zero where it points straight up. cylinder k is the
    length of leg k, and push k the force that lengthens it [N].
    """
    mechanism = sr.Mechanism("stewart", gravity=(0.0, 0.0, -GRAVITY))
    mass = WEIGHT / GRAVITY
    mechanism.add_body("platform", mass, inertia=0.6**2 * mass * np.array([0.25, 0.25, 0.5]))
    mechanism.add_joint("platform", "free", "world", "platform", parent_pose=(0, 0, 1))
    for k, (base, top) in enumerate(zip(BASE_POINTS, TOP_POINTS), start=1):
        mechanism.add_body(f"barrel{k}")
        mechanism.add_joint(
            f"hip{k}", "universal", "world", f"barrel{k}", axis=(1, 0, 0), axis2=(0, 1, 0), parent_pose=base
        )
        mechanism.add_body(f"rod{k}")
        mechanism.add_joint(f"cylinder{k}", "prismatic", f"barrel{k}", f"rod{k}")
        mechanism.add_closure(f"ball{k}", "point", f"rod{k}", "platform", pose2=top)
    for k in range(1, 7):
        mechanism.add_actuator(f"push{k}", f"cylinder{k}")
    return mechanism


def configuration(pose: sr.Pose) -> NDArray[np.float64]:
    """Return q with the platform at a pose, from the closed form of each leg."""
    legs = []
    for base, top in zip(BASE_POINTS, TOP_POINTS):
        x, y, z = pose.apply(top) - base
        length = np.sqrt(x * x + y * y + z * z)
        legs += [-np.arctan2(y, z), np.arcsin(x / length), length]
    return np.concatenate([pose.position, pose.quaternion, legs])


def determinant(pose: sr.Pose) -> float:
    """Return the determinant of the rows [l, (R v) × l], zero where the platform cannot be held."""
    arms = TOP_POINTS @ pose.rotation.T
    legs = arms + pose.position - BASE_POINTS
    legs /= np.linalg.norm(legs, axis=1)[:, None]
    return float(np.linalg.det(np.hstack([legs, np.cross(arms, legs)])))


def main() -> None:
    """Hold the platform, meet a pose that cannot be held, and let the platform fall."""
    system = sr.System(build())
    assert (system.nv, system.nc, system.nu) == (24, 18, 6)
    q = configuration(POSE)
    assert np.abs(system.constraint_residual(q)).max() < 1e-14
    assert np.abs(q[9::3] - LENGTHS).max() < 1e-14
    assert abs(determinant(POSE) - DETERMINANT) < 1e-14
    rest = np.zeros(system.nv)
    hold = system.inverse_dynamics(q, rest, rest)
    force_error = float(np.abs(hold.u - PUSH).max())
    assert hold.rank == 18
    assert force_error < 1e-10, force_error
    still = system.forward_dynamics(q, rest, hold.u)
    assert np.abs(still.a).max() < 1e-10

    # At a yaw of 90° the determinant vanishes (Fichter): the cylinders cannot resist every load.
    singular = sr.Pose.of((0, 0, 1), rpy=(0, 0, np.pi / 2))
    load = np.zeros(system.nv)
    load[5] = 1.0  # a moment about the vertical
    lost = system.inverse_dynamics(configuration(singular), rest, rest, tau=load, throw=False)
    assert abs(determinant(singular)) < 1e-15
    assert lost.actuation_rank == 5
    assert lost.status is sr.Status.NOT_ACHIEVABLE

    # Massless legs without friction do not hinder the platform: its centre falls on a parabola.
    rate = np.zeros(system.nv)
    rate[5] = 1.0
    fall = sr.simulate(system, q, system.project_velocity(q, rate), duration=0.4, dt=1e-3)
    print(fall)
    start = fall.v[0]
    drop = POSE.position + np.outer(fall.t, start[:3]) - np.outer(fall.t**2, (0, 0, GRAVITY / 2))
    fall_error = float(np.abs(fall.q[:, :3] - drop).max())
    figures = {
        "force_error": force_error,
        "push": hold.u.tolist(),
        "fall_error": fall_error,
        "energy_drift": fall.energy_drift,
        "residual": float(fall.residual.max()),
    }
    assert fall_error < 1e-9
    assert fall.energy_drift < 1e-7
    assert fall.residual.max() < 1e-13
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
