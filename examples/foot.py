"""A foot with four contact points is set down flat, and the shank on it topples over the ankle.

The four contacts that stick are twelve rows, six of them redundant. They close at one instant; the kinetic energy that
is lost then is that of the projection onto the motions they leave, in the kinetic metric (Carnot's theorem). The foot
stays flat and its corners share the load until the toppling shank tips it over the toes.
"""

from __future__ import annotations

import json

import numpy as np

import sarrus as sr
from sarrus.dynamics.impacts.activity import gaps, switch_on

FOOT, SHANK = 1.0, 8.0  # kg
LENGTH, WIDTH, HEIGHT = 0.24, 0.1, 0.06  # m, of the foot; the ankle is on its top
TALL = 0.9  # m, of the shank
DROP = 0.02  # m
CORNERS = {"toe_left": (1, 1), "toe_right": (1, -1), "heel_right": (-1, -1), "heel_left": (-1, 1)}


def build() -> sr.Mechanism:
    """Return the robot: coordinates foot (7), then the two angles of the ankle [rad]."""
    mechanism = sr.Mechanism("foot")
    box = FOOT / 12 * np.array([WIDTH**2 + HEIGHT**2, LENGTH**2 + HEIGHT**2, LENGTH**2 + WIDTH**2])
    mechanism.add_body("foot", FOOT, inertia=box)
    mechanism.add_joint("foot", "free", "world", "foot", parent_pose=(0, 0, 0.5 * HEIGHT))
    rod = SHANK * TALL**2 / 12
    mechanism.add_body("shank", SHANK, com=(0, 0, 0.5 * TALL), inertia=(rod, rod, 0.01))
    mechanism.add_joint(
        "ankle",
        "universal",
        "foot",
        "shank",
        axis=(0, 1, 0),
        axis2=(1, 0, 0),
        parent_pose=(0, 0, 0.5 * HEIGHT),
    )
    for name, (front, left) in CORNERS.items():
        mechanism.add_contact(name, "foot", (0.5 * LENGTH * front, 0.5 * WIDTH * left, -0.5 * HEIGHT))
    return mechanism


def main() -> None:
    """Set the foot down while all of it moves forward, and let the shank topple."""
    system = sr.System(build())
    assert (system.nv, system.nc) == (8, 12)
    q = system.neutral()
    q[2] += DROP
    q[7:] = 0.15, 0.05
    v = np.array([0.4, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    run = sr.simulate(system, q, v, duration=0.6, dt=5e-4)
    print(run)
    for switch in run.switches:
        print(switch)

    # The set-down: all corners at the time of free fall, and the loss is what the projection says.
    landing = run.switches[0]
    assert set(landing.closed) == set(CORNERS)
    fall_error = abs(landing.time - np.sqrt(2 * DROP / 9.81))
    before = int(np.searchsorted(run.t, landing.time))
    q, v = run.q[before], run.v[before]
    assert max(map(abs, gaps(system, q).values())) < 1e-8
    switch_on(system, CORNERS, q)
    rows, mass = system.constraint_jacobian(q), system.mass_matrix(q)
    assert np.linalg.matrix_rank(rows, tol=1e-9) == 6
    root = np.linalg.cholesky(mass).T  # ½ |root v|² is the kinetic energy
    weighted = rows @ np.linalg.inv(root)
    lost = np.linalg.pinv(weighted, rcond=1e-9) @ weighted @ root @ v
    loss_error = float(abs(landing.energy_loss - 0.5 * lost @ lost) / (0.5 * lost @ lost))
    assert loss_error < 1e-10
    assert fall_error < 1e-9

    # Until the heel lifts the foot is flat and every corner pushes; energy changes by the losses alone.
    lift = next(switch for switch in run.switches if switch.opened)
    assert set(lift.opened) <= set(CORNERS)
    flat = (run.t > landing.time) & (run.t < lift.time)
    normal = [contact.normal for contact in system.equations.contacts]
    assert (run.multipliers[flat][:, normal] > 0.0).all()
    assert (run.rank[flat] == 6).all()
    balance = float(abs(run.energy[0] - sum(s.energy_loss for s in run.switches) - run.energy[-1]))
    assert balance < 1e-6
    figures = {
        "landing": landing.time,
        "fall_error": fall_error,
        "energy_lost": landing.energy_loss,
        "loss_error": loss_error,
        "heel_lifts": lift.time,
        "lifted": list(lift.opened),
        "energy_balance": balance,
        "residual": float(run.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
