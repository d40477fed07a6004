"""Three fingers hold an object by friction alone, lift and turn it, with the least loss in their motors.

The object is a free body; the fingertips are contacts with its faces, planes that move with it. Nine motors and the
nine contact forces do six motions of the object: three squeezes remain, and the law chooses them inside the cones. Held
upright at rest by fingers that are alike, friction must carry m g/3 at each, so that each presses with n ≥ m g/(3 μ).
Where the motors would rather press less, that is the optimum.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control
from sarrus.control import references

MASS = 0.3  # kg, of the object
RADIUS = 0.04  # m, from its axis to its faces
BASE = 0.12  # m, from its axis to the fingers
LINK = 0.10  # m, of both links of a finger
LEAN = 0.3  # rad, of the first link outwards
GRAVITY = 9.81
FRICTION = 0.5
TORQUE = 0.6  # N m, the most that a motor gives
FINGERS = {"a": 0.0, "b": 2 * np.pi / 3, "c": -2 * np.pi / 3}
MOTORS = ("swing", "lift", "bend")
# Reach inwards and upwards of the second link, and the height of its end.
REACH = BASE + LINK * np.sin(LEAN) - RADIUS
RISE = np.sqrt(LINK**2 - REACH**2) if LINK > REACH else 0.0
HEIGHT = LINK * np.cos(LEAN) + RISE
LOSS = np.tile([8.0, 4.0, 4.0], 3)  # R / K_t² of each motor [W/(N m)²]: 2 Ω, 0.5 and 0.7 N m/A at the joint


def build(mass: float = MASS, slant: float = 0.0) -> sr.Mechanism:
    """Return hand and object: coordinates object (7), then swing, lift and bend of the fingers a, b, c [rad].

    ``slant`` turns the first tangent of the contacts away from the vertical [rad].
    """
    mechanism = sr.Mechanism("three_finger_grasp")
    flat, tall = mass * (RADIUS**2 / 4 + 0.08**2 / 12), mass * RADIUS**2 / 2
    mechanism.add_body("object", mass, inertia=(flat, flat, tall))
    mechanism.add_joint("object", "free", "world", "object", parent_pose=(0, 0, HEIGHT))
    rod = 0.05 * LINK**2 / 12
    for finger, angle in FINGERS.items():
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        around = np.array([-out[1], out[0], 0.0])
        first = LINK * (np.sin(LEAN) * out + [0, 0, np.cos(LEAN)])
        second = -REACH * out + [0, 0, RISE]
        for part, motor, parent, at, axis, along in (
            ("palm", "swing", "world", BASE * out, (0, 0, 1), np.zeros(3)),
            ("link1", "lift", f"{finger}_palm", np.zeros(3), around, first),
            ("link2", "bend", f"{finger}_link1", first, around, second),
        ):
            body = f"{finger}_{part}"
            mechanism.add_body(body, 0.05, com=along / 2, inertia=(rod, rod, rod))
            mechanism.add_joint(f"{finger}_{motor}", "revolute", parent, body, axis=axis, parent_pose=at)
        upwards = np.cos(slant) * np.array([0.0, 0.0, 1.0]) + np.sin(slant) * around
        mechanism.add_contact(
            finger,
            f"{finger}_link2",
            second,
            ground="object",
            normal=out,
            offset=RADIUS,
            tangent=upwards,
            friction_coefficient=FRICTION,
            active=True,
        )
    for finger in FINGERS:
        for motor in MOTORS:
            mechanism.add_actuator(f"{finger}_{motor}", f"{finger}_{motor}", limits=(-TORQUE, TORQUE))
    return mechanism


def tasks(place: control.tasks.Reference, turn: control.tasks.Reference) -> list[list[control.Task]]:
    """Return where the object shall be, and how turned."""
    position = control.Task(control.point("object"), place, 400.0, 40.0, name="position")
    orientation = control.Task(control.orientation("object"), turn, 400.0, 40.0, name="orientation")
    return [[position, orientation]]


def squeeze(
    system: sr.System, coefficient: float, friction: str = "cone"
) -> tuple[NDArray[np.float64], float]:
    """Return the normal forces (3,) [N] with which the fingers hold the object still, and the loss [W]."""
    law = control.LeggedController(
        system,
        tasks((0, 0, HEIGHT), (0, 0, 0)),
        weights=LOSS,
        friction=friction,
        coefficients=dict.fromkeys(FINGERS, coefficient),
        limits=(-100.0, 100.0),
    )
    found = law.solve(system.neutral(), np.zeros(system.nv))
    assert all(known.all() for known in found.determined.values())
    return np.array([force[0] for force in found.contact_forces.values()]), found.cost


def main() -> None:
    """Hold, lift and turn the object; then try one that is too heavy."""
    system = sr.System(build())
    assert (system.nv, system.nc, system.nu) == (15, 9, 9)
    assert np.abs(system.constraint_residual(system.neutral())).max() < 1e-15

    # At rest: by friction alone each finger presses with m g/(3 μ), unless the motors lose less when they press harder.
    free, least = squeeze(system, 1.0, "none")
    presses, error = {}, 0.0
    for coefficient in (0.1, 0.2, 0.5, 0.8, 1.5):
        normals, loss = squeeze(system, coefficient)
        expected = max(MASS * GRAVITY / (3 * coefficient), free[0])
        error = max(error, float(np.abs(normals - expected).max()))
        assert loss >= least * (1 - 1e-9)
        presses[str(coefficient)] = float(normals[0])
    assert error < 1e-6
    assert MASS * GRAVITY / (3 * 0.8) > free[0] > MASS * GRAVITY / (3 * 1.5)

    # A pyramid of four sides inside the cone allows less along its tangents, and as much halfway between them.
    slanted = sr.System(build(slant=np.pi / 4))
    cone = presses["0.5"]
    factors = [float(squeeze(s, 0.5, "pyramid")[0].max()) / cone for s in (system, slanted)]
    np.testing.assert_allclose(factors, [np.sqrt(2.0), 1.0], rtol=1e-6)
    np.testing.assert_allclose(squeeze(slanted, 0.5)[0], cone, rtol=1e-6)

    # Lift and turn: the plant's forces are those of the law, which only its samples keep from the edge of the cones.
    goal, angles = np.array([0.01, -0.01, HEIGHT + 0.03]), np.array([0.1, 0.05, 0.2])
    place = references.minimum_jerk((0, 0, HEIGHT), goal, 0.6, 0.1)
    turn = references.minimum_jerk((0, 0, 0), angles, 0.6, 0.1)
    law = control.LeggedController(system, tasks(place, turn), weights=LOSS)
    run = sr.simulate(system, system.neutral(), duration=1.0, dt=1e-3, control=law, sample_time=1e-3)
    print(run)
    assert len(run.switches) == 1
    forces = np.array([run.multipliers[:, system.closure_rows[finger]] for finger in FINGERS])[:, 1:]
    outside = float((np.hypot(forces[..., 1], forces[..., 2]) - FRICTION * forces[..., 0]).max())
    assert outside < 1e-5
    position_error = float(np.abs(run.q[:, :3] - references.sample(place, run.t)).max())
    assert position_error < 1e-4
    assert run.residual.max() < 1e-13

    # Too heavy: the object is let sink, and the error says which limits are why. With more friction it would sink as
    # fast; the joints that press are at their limits.
    heavy = control.LeggedController(
        sr.System(build(mass=3.0)), tasks((0, 0, HEIGHT), (0, 0, 0)), weights=LOSS
    )
    try:
        heavy.solve(system.neutral(), np.zeros(system.nv))
    except sr.SolveError as refused:
        print(refused)
        told = refused.result
    assert told.outcome == "relaxed"
    assert told.missed == ("position, orientation",)
    assert set(told.conflict) == {f"actuator '{finger}_bend'" for finger in FINGERS}
    assert np.abs(told.u).max() < TORQUE * (1 + 1e-9)
    figures = {
        "squeeze": presses,
        "free_squeeze": float(free[0]),
        "squeeze_error": error,
        "pyramid_factors": factors,
        "position_error": position_error,
        "outside_cones": outside,
        "residual": float(run.residual.max()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
