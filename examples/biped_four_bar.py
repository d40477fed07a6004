"""A biped whose knees are four-bars stands, squats and shifts its weight over one foot, with the least copper loss.

Each leg has six motors: yaw, roll and pitch of the hip, the crank that drives the knee through a rod, pitch and roll of
the ankle. Rod and knee are passive, held by a closed loop. The feet lie flat, each a patch of four contacts: 24 rows of
rank 12, and twelve motors for six motions of the trunk, so that six torques are free to choose. The law chooses them by
what the motors lose, while every corner pushes inside its true friction cone, which is what keeps the centres of
pressure inside the feet.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control
from sarrus.control import references
from sarrus.dynamics.impacts.activity import switch_on

THIGH, SHANK, SOLE = 0.40, 0.42, 0.06  # m; the sole is below the ankle
CRANK, ROCKER, DROP = 0.05, 0.04, 0.08  # m, as in the leg with a four-bar knee
MIDDLE = -1.0  # rad, knee angle at which crank and rocker are parallel
ROD = float(np.hypot(THIGH - DROP, CRANK - ROCKER))
ROCKER_PIN = (-ROCKER * np.cos(MIDDLE), 0.0, ROCKER * np.sin(MIDDLE))  # on the shank
STANCE = 0.12  # m, half the distance between the hips
HALF_LENGTH, HALF_WIDTH = 0.11, 0.05  # m, of the feet
FRICTION = 0.15  # a wet floor
HIP_HEIGHT = 0.82  # m
STRIDE, SPLAY = 0.12, 0.10  # m, from the hips to the ankles: the left foot ahead, both outwards
LEGS = {"left": 1.0, "right": -1.0}
# R [Ω] and K_t, with the gear [N m/A], of the motors: of hips and cranks, and smaller ones at the ankles
MOTORS = {
    "yaw": (0.4, 1.0),
    "roll": (0.2, 1.6),
    "pitch": (0.2, 1.6),
    "crank": (0.2, 1.6),
    "ankle_pitch": (0.6, 1.2),
    "ankle_roll": (0.8, 0.8),
}
LOSS = np.array([resistance / constant**2 for resistance, constant in MOTORS.values()] * 2)
TORQUE = 200.0  # N m
SQUAT = 0.10  # m
OVER = (
    0.10,
    0.17,
    -0.06,
)  # m, where the weight goes, and how low; the left foot has its centre at (0.12, 0.22)
DURATION = 2.9  # s


def build() -> sr.Mechanism:
    """Return the robot: trunk (7), then yaw, roll, pitch, crank, rod, knee and two ankle angles of each leg [rad].

    Pitch, crank, rod, knee and ankle pitch are positive where a hanging link swings forwards.
    """
    mechanism = sr.Mechanism("biped_four_bar")
    mechanism.add_body("trunk", 25.0, com=(0, 0, 0.2), inertia=(1.0, 0.9, 0.3))
    mechanism.add_joint("trunk", "free", "world", "trunk", parent_pose=(0, 0, THIGH + SHANK + SOLE))
    for leg, side in LEGS.items():
        parent = "trunk"
        for part, joint, axis, at, mass, com, moment in (
            ("hip1", "yaw", (0, 0, 1), (0, STANCE * side, 0), 0.8, (0, 0, 0), 2e-3),
            ("hip2", "roll", (1, 0, 0), (0, 0, 0), 0.8, (0, 0, 0), 2e-3),
            ("thigh", "pitch", (0, -1, 0), (0, 0, 0), 4.0, (0, 0, -0.4 * THIGH), 0.06),
            ("crank", "crank", (0, -1, 0), (0, 0, -DROP), 0.15, (-0.5 * CRANK, 0, 0), 1e-4),
            ("rod", "rod", (0, -1, 0), (-CRANK, 0, 0), 0.2, (0, 0, -0.5 * ROD), 2e-3),
            ("shank", "knee", (0, -1, 0), (0, 0, -THIGH), 2.5, (0, 0, -0.4 * SHANK), 0.04),
            ("ankle", "ankle_pitch", (0, -1, 0), (0, 0, -SHANK), 0.3, (0, 0, 0), 5e-4),
            ("foot", "ankle_roll", (1, 0, 0), (0, 0, 0), 1.0, (0, 0, -0.03), 4e-3),
        ):
            if part == "shank":
                parent = f"{leg}_thigh"
            body = f"{leg}_{part}"
            mechanism.add_body(body, mass, com=com, inertia=(moment, moment, 0.5 * moment))
            mechanism.add_joint(f"{leg}_{joint}", "revolute", parent, body, axis=axis, parent_pose=at)
            parent = body
        mechanism.add_closure(
            f"{leg}_loop",
            "point_on_line",
            f"{leg}_shank",
            f"{leg}_rod",
            axis=(0, 1, 0),
            pose1=ROCKER_PIN,
            pose2=(0, 0, -ROD),
        )
        mechanism.add_contact_patch(
            leg, f"{leg}_foot", (0, 0, -SOLE), extent=(HALF_LENGTH, HALF_WIDTH), friction_coefficient=FRICTION
        )
    for leg in LEGS:
        for motor in MOTORS:
            mechanism.add_actuator(f"{leg}_{motor}", f"{leg}_{motor}", limits=(-TORQUE, TORQUE))
    return mechanism


def pose(system: sr.System, stride: float, splay: float) -> NDArray[np.float64]:
    """Return q with the trunk level and the feet flat: the left one ahead and both outwards of the hips by so much."""
    q = system.neutral()
    q[2] = HIP_HEIGHT
    for leg, side in LEGS.items():
        down = HIP_HEIGHT - SOLE
        reach = np.hypot(down, splay)  # from hip to ankle in the plane of the leg, and its angle
        far = np.hypot(reach, stride)
        knee = -np.arccos((far**2 - THIGH**2 - SHANK**2) / (2 * THIGH * SHANK))
        pitch = np.arctan2(side * stride, reach) - np.arctan2(
            SHANK * np.sin(knee), THIGH + SHANK * np.cos(knee)
        )
        roll = side * np.arctan2(splay, down)
        first = system.coordinate_names.index(f"{leg}_yaw")
        crank, rod = knee - MIDDLE, MIDDLE - knee  # a guess
        q[first : first + 8] = 0.0, roll, pitch, crank, rod, knee, -pitch - knee, -roll
    held = [name for name in system.joint_names if not name.endswith(("crank", "rod"))]
    return system.assemble(q, locked=held).q


def standing(system: sr.System) -> NDArray[np.float64]:
    """Return q with the trunk level, one foot ahead and the legs apart, the feet flat; anchor them where they are."""
    q = pose(system, STRIDE, SPLAY)
    switch_on(system, [f"{leg}.{k}" for leg in LEGS for k in range(1, 5)], q)
    return q


def centre_of_mass(system: sr.System, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the centre of mass of the robot in the world [m]."""
    bodies = list(system.mechanism.bodies.values())
    masses = np.array([body.mass for body in bodies])
    places, turns = system.body_placements(q)
    centres = places + np.einsum("kij,kj->ki", turns, [body.com for body in bodies])
    return masses @ centres / masses.sum()


def path(start: NDArray[np.float64]) -> references.Path:
    """Return where the centre of mass shall be: down, up again, and over the left foot."""
    low, over = start - [0, 0, SQUAT], np.array([OVER[0], OVER[1], start[2] + OVER[2]])
    down = references.minimum_jerk(start, low, 0.6, 0.1)
    up = references.minimum_jerk(0 * start, start - low, 0.6, 0.7)
    across = references.minimum_jerk(0 * start, over - start, 1.4, 1.3)
    return lambda t: down(t) + up(t) + across(t)


def controller(system: sr.System, start: NDArray[np.float64], **options: object) -> control.LeggedController:
    """Return the law: the centre of mass on its path and the trunk upright."""
    balance = control.Task(control.centre_of_mass(), path(start), 200.0, 28.0, name="balance")
    upright = control.Task(control.orientation("trunk"), (0.0, 0.0, 0.0), 200.0, 28.0, name="upright")
    return control.LeggedController(system, [[balance, upright]], **options)


def main() -> None:
    """Squat and shift the weight; compare what the motors lose."""
    system = sr.System(build())
    assert (system.nv, system.nc, system.nu) == (22, 4 + 24, 12)
    q = standing(system)
    mobility = sr.mobility(system, q)
    assert (mobility.rank, mobility.dof) == (16, 6)
    start = centre_of_mass(system, q)
    law = controller(system, start, weights=LOSS)
    run = sr.simulate(system, q, duration=DURATION, dt=1e-3, control=law, sample_time=1e-3, switching=False)
    print(run)
    tracking_error = max(
        float(np.abs(centre_of_mass(system, run.q[k]) - aim).max())
        for k, aim in enumerate(references.sample(path(start), run.t))
    )
    assert tracking_error < 1e-4
    assert run.residual.max() < 1e-13

    # What the law says and what the plant does, and what the motors would lose by other choices.
    others = {
        "pyramid": controller(system, start, weights=LOSS, friction="pyramid"),
        "none": controller(system, start, weights=LOSS, friction="none"),
        "least_norm": controller(system, start),
    }
    losses: dict[str, list[float]] = {"cone": [], **{name: [] for name in others}}
    wrench_error, margin, farthest, load = 0.0, np.inf, 0.0, np.inf
    for k in range(50, len(run.t), 150):
        state = run.q[k], run.v[k], float(run.t[k])
        found = law.solve(*state)
        assert found.outcome == "exact"
        assert not any(known.any() for known in found.determined.values())
        losses["cone"].append(found.cost)
        for name, other in others.items():
            u = other.solve(*state).u
            losses[name].append(float(u @ (LOSS * u)))
        for n, *along in found.contact_forces.values():
            margin = min(margin, n, FRICTION * n - float(np.hypot(*along)))
        for leg in LEGS:
            asked = sr.contact_wrench(system, run.q[k], found, leg)
            done = sr.contact_wrench(system, run.q[k], run.multipliers[k], leg)
            wrench_error = max(wrench_error, *abs(asked.force - done.force), *abs(asked.moment - done.moment))
            farthest = max(farthest, *abs(done.centre_of_pressure / [HALF_LENGTH, HALF_WIDTH]))
            load = min(load, done.force[0])
    assert wrench_error < 1e-4  # of 440 N
    assert margin > -1e-6
    assert farthest < 1.0 + 1e-6  # it is cheapest to stand on the edge of a foot for a while
    for none, cone, pyramid, least in zip(*(losses[n] for n in ("none", "cone", "pyramid", "least_norm"))):
        assert none < cone * (1 + 1e-9)
        assert cone < pyramid * (1 + 1e-9)
        assert cone < least

    # Rods and knees have no torque of their own.
    passive = [k for k, name in enumerate(system.velocity_names) if name.endswith(("rod", "knee"))]
    assert len(passive) == 4
    assert not system.actuation_matrix(q)[passive].any()
    figures = {
        "residual": float(run.residual.max()),
        "tracking_error": tracking_error,
        "centre_of_pressure": farthest,
        "least_load": load,
        "wrench_error": wrench_error,
        "cone_margin": float(margin),
        "losses": {name: float(np.mean(values)) for name, values in losses.items()},
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
