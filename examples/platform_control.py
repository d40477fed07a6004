"""The platform on three legs goes to a goal by its three elbows; its orientation is left alone, or comes second.

First the only task is the place of the platform, with K_p = 100 and K_v = 20: it arrives critically damped. The
orientation, which nobody controls, swings on undamped, as that of the same mechanism without motors whose platform is
hinged at the goal. The shoulders have no motors and need no torque. Then the orientation is a second task: it uses
what the first one leaves, and changes nothing in it.

All this happens on one side of the orientation 0, where platform and ground have parallel sides: there the lines along
which the legs push meet in one point, and the elbows reach two of the three motions only.
(De Sapio and Park 2010, Multitask constrained motion control using a mass-weighted orthogonal decomposition, section
4.1.1, figures 5 and 6. Dimensions, start and goal are ours.)
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr
import three_leg_platform
from sarrus import control

Array = NDArray[np.float64]

START = (0.0, 0.0, -0.4)  # m, m, rad
GOAL = np.array([0.05, -0.2])  # m
ANGLE = -0.9  # rad, goal of the second task
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s², 1/s
SETTLED, DURATION = 2.5, 10.0  # s; exp(−10 t) is then below 1e-10
PASSIVE = [0, 2, 4, 6, 7, 8]  # velocities without a motor: the shoulders, and the platform itself
STEP = 0.01  # s, of the output


def main() -> None:
    """Move it with one task, compare what is left with the hinged platform, then move it with two."""
    system, one = goal_motion()
    q = np.array(one.q[0])
    place = place_task()
    turn = control.Task(control.orientation("platform", "z"), ANGLE, STIFFNESS, DAMPING, name="orientation")

    place_error = float(np.abs(one.q[:, 6:8] - GOAL - decay(one.t, q[6:8] - GOAL)).max())
    swing = one.q[one.t >= SETTLED, 8]
    hinged_error = float(np.abs(swing - hinged(one)).max())
    energies = np.array(
        [system.kinetic_energy(*x) + system.potential_energy(x[0]) for x in zip(one.q, one.v)]
    )
    energy_drift = float(np.ptp(energies[one.t >= SETTLED]))
    torques = joint_torques(system, one)
    passive_torque = float((np.abs(torques[:, PASSIVE]).max(axis=1) / np.abs(one.u).max(axis=1)).max())
    print(one)
    print(f"the orientation swings between {swing.min():.4f} and {swing.max():.4f} rad")
    assert place_error < 1e-8
    assert np.ptp(swing) > 0.3
    assert hinged_error < 1e-6
    assert energy_drift < 1e-8
    assert passive_torque < 1e-13
    assert np.abs(one.u).max() < 30.0

    both = control.TaskHierarchy(system, [place, turn])
    parallel = control.controllability(system, three_leg_platform.pose(system, *GOAL))
    assert (parallel.rank, parallel.dof) == (2, 3)
    two = move(system, q, both)
    turn_error = float(np.abs(two.q[:, 8] - ANGLE - decay(two.t, q[8:] - ANGLE)[:, 0]).max())
    disturbed = float(np.abs(two.q[:, 6:8] - one.q[:, 6:8]).max())
    print(two)
    assert not both.solve(q, np.zeros(9)).missed
    assert turn_error < 1e-8
    assert disturbed < 1e-8
    figures = {
        "place_error": place_error,
        "swing": [float(swing.min()), float(swing.max())],
        "hinged_error": hinged_error,
        "energy_drift": energy_drift,
        "passive_torque": passive_torque,
        "largest_torque": float(np.abs(one.u).max()),
        "turn_error": turn_error,
        "disturbed": disturbed,
        "uncontrollable_at_0": parallel.names[0],
    }
    print(json.dumps(figures))


def place_task() -> control.Task:
    """Return the task of the paper: the place of the platform, critically damped."""
    return control.Task(control.point("platform", axes="xy"), GOAL, STIFFNESS, DAMPING, name="place")


def goal_motion() -> tuple[sr.System, sr.Trajectory]:
    """Return the platform and its way to the goal with the orientation left alone: figures 5 and 6."""
    system = sr.System(three_leg_platform.build())
    law = control.TaskHierarchy(system, [place_task()])
    return system, move(system, three_leg_platform.pose(system, *START), law)


def joint_torques(system: sr.System, motion: sr.Trajectory) -> Array:
    """Return τ = M a + h − Aᵀλ of all joints and of the platform (T, 9) [N m, N]: zero where there is no motor."""
    return np.array(
        [
            system.mass_matrix(q) @ a
            + system.bias_force(q, v)
            - system.constraint_jacobian(q).T @ multipliers
            for q, v, a, multipliers in zip(motion.q, motion.v, motion.a, motion.multipliers)
        ]
    )


def move(system: sr.System, q: Array, law: control.Law) -> sr.Trajectory:
    """Start at rest; the law runs in the compiled loop."""
    return sr.simulate(system, q, duration=DURATION, rtol=1e-11, atol=1e-11, dt=STEP, control=law)


def decay(t: Array, start: Array) -> Array:
    """Return the solution of ë + 20 ė + 100 e = 0 from rest, a row for each time."""
    return np.outer((1 + 10 * t) * np.exp(-10 * t), start)


def hinged(motion: sr.Trajectory) -> Array:
    """Return the orientation of the platform hinged at the goal and without motors, from SETTLED on."""
    mechanism = three_leg_platform.build()
    mechanism.add_closure(
        "hinge", "point_on_line", "world", "platform", axis=(0, 0, 1), pose1=(*GOAL, 0.0), pose2=(0, 0, 0)
    )
    system, k = sr.System(mechanism), int(np.searchsorted(motion.t, SETTLED))
    v = system.project_velocity(motion.q[k], motion.v[k])
    rest = sr.simulate(
        system, motion.q[k], v, duration=DURATION - motion.t[k], rtol=1e-11, atol=1e-11, dt=STEP
    )
    return np.array(rest.q[:, 8])


if __name__ == "__main__":
    main()
