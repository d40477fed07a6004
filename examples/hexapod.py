"""A hexapod of 18 motors loses the ground under a foot: in MuJoCo's plant, told late or never.

The plant is MuJoCo's, with soft contacts; nothing tells it the gait. The floor opens under one foot for a while. The
law sees q and v every 2 ms, and is told that the contact is gone after 20 ms, after 100 ms or never. What it does then
with its own senses (`control.ContactSense`) and without them: how far the trunk tilts, how fast joints get, and whether
it stands on six feet again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from sarrus import control

Array = NDArray[np.float64]

SAMPLE, STEP, SOFT = 2e-3, 5e-4, 0.01  # s: of the law, of MuJoCo, time constant of its contacts
COXA, FEMUR, TIBIA = 0.05, 0.14, 0.20  # m
LENGTH, WIDTH = 0.18, 0.09  # m, from the middle of the trunk to the hips in front, and aside
BEND = 0.35  # rad by which the thighs point up
TORQUE, SPEED = 14.0, 20.0  # N m and rad/s, limits of the motors
PLANNED, FLOOR, LARGEST = 0.5, 0.8, 150.0  # friction of the law and of the floor, N of a foot
LEGS = {"L1": (1, 1), "L2": (0, 1), "L3": (-1, 1), "R1": (1, -1), "R2": (0, -1), "R3": (-1, -1)}
TRIPOD = {"L1": 0.0, "L2": 0.5, "L3": 0.0, "R1": 0.5, "R2": 0.0, "R3": 0.5}
WAVE = {"L3": 0.0, "L2": 1 / 6, "L1": 2 / 6, "R3": 3 / 6, "R2": 4 / 6, "R1": 5 / 6}
MOTORS = tuple(f"{leg}_{joint}" for leg in LEGS for joint in ("yaw", "hip", "knee"))


def build(**contact: Any) -> sr.Mechanism:
    """Return the robot: trunk (7), then yaw, hip and knee of each leg [rad], zero as it was built and stands."""
    mechanism = sr.Mechanism("hexapod")
    mechanism.add_body("trunk", 6.0, inertia=(0.04, 0.08, 0.1))
    mechanism.add_joint("trunk", "free", "world", "trunk", parent_pose=(0, 0, height()))
    for leg, (ahead, side) in LEGS.items():
        out = np.array([0.5 * ahead, side, 0.0]) / np.hypot(0.5 * ahead, side)
        axis = np.cross(out, (0.0, 0.0, 1.0))  # by which a leg that points outwards turns up
        thigh = FEMUR * (np.cos(BEND) * out + np.sin(BEND) * np.array([0, 0, 1.0]))
        shank = np.array([0, 0, -TIBIA])
        parent = "trunk"
        for part, joint, about, at, mass, com, size in (
            ("coxa", "yaw", (0, 0, 1), (LENGTH * ahead, WIDTH * side, 0), 0.2, 0.5 * COXA * out, COXA),
            ("thigh", "hip", axis, COXA * out, 0.3, 0.5 * thigh, FEMUR),
            ("shank", "knee", axis, thigh, 0.2, 0.4 * shank, TIBIA),
        ):
            body = f"{leg}_{part}"
            mechanism.add_body(body, mass, com=com, inertia=3 * (mass * size**2 / 12.0,))
            mechanism.add_joint(
                f"{leg}_{joint}", "revolute", parent, body, axis=about, parent_pose=at, armature=2e-3, damping=0.05
            )  # fmt: skip
            parent = body
        mechanism.add_contact(leg, parent, shank, **{"friction_coefficient": PLANNED} | contact)
    for motor in MOTORS:
        mechanism.add_actuator(motor, motor, limits=(-TORQUE, TORQUE))
    return mechanism


def height() -> float:
    """Return the height of the trunk as it was built [m]."""
    return TIBIA - FEMUR * float(np.sin(BEND))


def upright() -> list[control.Task]:
    """Return the first level: the trunk level and at its height."""
    return [
        control.Task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="upright"),
        control.Task(control.point("trunk", (0, 0, 0), "z"), [height()], 200.0, 25.0, name="height"),
    ]


def limits() -> dict[str, Any]:
    """Return what all laws respect: forces of the feet, and the speeds of the motors before all tasks."""
    speeds = control.Bound(list(MOTORS), speed=0.8 * SPEED, rate=50.0, name="speeds")
    return {"largest_force": LARGEST, "bounds": [speeds], "hold": True}


def standing_law(system: sr.System, **options: Any) -> control.LeggedController:
    """Return the law that stands on six feet; options are those of `LeggedController`."""
    place = control.Task(control.point("trunk", (0, 0, 0), "xy"), np.zeros(2), 50.0, 14.0, name="place")
    posture = control.Task(list(MOTORS), np.zeros(18), 50.0, 14.0, name="posture")
    return control.LeggedController(system, [upright(), place, posture], **limits() | options)


def walking_law(
    system: sr.System, offsets: dict[str, float] = WAVE, duty: float = 0.8, **options: Any
) -> control.LeggedController:
    """Return the law of a walk that begins after half a second."""
    gait = control.Gait(
        "trunk", offsets, period=0.8 if duty > 0.6 else 0.5, duty=duty, velocity=(0.1, 0.0), start=0.5, apex=0.04
    )  # fmt: skip
    posture = control.Task(list(MOTORS), np.zeros(18), 0.0, 14.0, name="posture")
    levels = [upright(), control.SwingFeet(), control.Travel(), posture]
    return control.LeggedController(system, levels, gait=gait, **limits() | options)


class Loss(NamedTuple):
    """The floor under a foot falls by ``depth`` [m] at ``start`` and comes back, at 0.3 m/s at last, ``lasts`` [s]
    later; the law is told ``told`` seconds after each, None: never."""

    foot: str = "L2"
    start: float = 1.0
    lasts: float = 1.0
    told: float | None = None
    depth: float = 10.0

    def floor(self, t: float) -> float:
        """Return the height of the floor under the foot [m]."""
        if t < self.start:
            return 0.0
        rises = 0.3 * (t - self.start - self.lasts) - min(self.depth, 0.1)
        return -self.depth if t < self.start + self.lasts else min(rises, 0.0)


class Run(NamedTuple):
    """What became of a run: largest tilt [rad], joint speed [rad/s] and torque [N m]; at each sample the outcome and,
    where one was lost, what the law took its contact for; at the end the forces of the floor on the feet [N], and where
    the trunk is (x, y) [m]."""

    tilt: float
    speed: float
    torque: float
    outcomes: list[str]
    states: list[str]
    loads: Array
    way: Array


@cache
def plant() -> mujoco.MjModel:
    """Return MuJoCo's model of the robot on a rough floor."""
    mechanism = build(friction="coulomb", friction_coefficient=FLOOR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hexapod.xml"
        mechanism.to_mjcf(path, contacts="geoms")
        model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.timestep, model.opt.integrator = STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.pair_solref[:, :2] = SOFT, 1.0
    return model


def run(
    law: control.LeggedController,
    loss: Loss | None,
    duration: float = 3.0,
    noise: tuple[float, float] = (0.0, 0.0),
) -> Run:
    """Let a law see MuJoCo's robot, with normal noise of positions [m, rad] and velocities [m/s, rad/s]."""
    model = plant()
    model.pair_margin[:] = 0.0
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    law.reset()
    tilt, speed, torque, outcomes, states = 0.0, 0.0, 0.0, [], []
    feet = list(LEGS)
    for k in range(round(duration / SAMPLE)):
        t = k * SAMPLE
        if loss is not None:
            model.pair_margin[feet.index(loss.foot)] = loss.floor(t)  # where MuJoCo has the surface
            if loss.told is not None:
                knows = loss.start + loss.told <= t < loss.start + loss.lasts + loss.told
                law.settings[f"{loss.foot}.closed"] = 0.0 if knows else 1.0
        q, v = data.qpos.copy(), data.qvel + noise[1] * rng.standard_normal(model.nv)
        mujoco.mj_integratePos(model, q, noise[0] * rng.standard_normal(model.nv), 1.0)
        data.ctrl[:] = law.sample(q, v, t, SAMPLE)
        outcomes.append(law.outcome)
        if loss is not None:
            states.append(law.contact_states[loss.foot])
        mujoco.mj_step(model, data, round(SAMPLE / STEP))
        tilt = max(tilt, float(np.arccos(np.clip(data.xmat[1][8], -1.0, 1.0))))
        speed, torque = (
            max(speed, float(np.abs(data.qvel[6:]).max())),
            max(torque, float(np.abs(data.ctrl).max())),
        )
    return Run(tilt, speed, torque, outcomes, states, loads(model, data), data.qpos[:2].copy())


def loads(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Return the normal forces of the floor on the feet [N]."""
    found, force = np.zeros(len(LEGS)), np.zeros(6)
    bodies = [model.body(f"{leg}_shank").id for leg in LEGS]
    for k, contact in enumerate(data.contact):
        mujoco.mj_contactForce(model, data, k, force)
        owners = {int(model.geom_bodyid[contact.geom1]), int(model.geom_bodyid[contact.geom2])}
        for foot, body in enumerate(bodies):
            found[foot] += force[0] * (body in owners)
    return found


def summary(name: str, runs: list[Run]) -> dict[str, float]:
    """Print a row of the table; return its figures."""
    found = {
        "runs": len(runs),
        "tumbled": sum(run.tilt > 0.3 for run in runs),
        "tilt": max(run.tilt for run in runs),
        "speed": max(run.speed for run in runs),
        "torque": max(run.torque for run in runs),
        "damped": sum(run.outcomes.count("damped") for run in runs),
    }
    print(f"{name:32}" + "".join(f"{value:9.3g}" for value in found.values()))
    return found


def main(feet: Sequence[str] = tuple(LEGS)) -> dict[str, dict[str, float]]:
    """Lose the ground under each of ``feet``, with the law's senses and without."""
    system, figures = sr.System(build()), {}
    print(f"{'':32}" + "".join(f"{name:>9}" for name in ("runs", "tumbled", "rad", "rad/s", "N m", "damped")))
    for name, options in (("", {}), (", without senses", {"sense": False})):
        stand = standing_law(system, **options)
        for told, when in ((0.02, "told after 20 ms"), (0.1, "after 100 ms"), (None, "never")):
            runs = [run(stand, Loss(foot, told=told)) for foot in feet]
            figures[f"stands, {when}{name}"] = summary(f"stands, {when}{name}", runs)
    for row, found in figures.items():
        assert found["torque"] <= TORQUE
        if "without" not in row:
            assert found["tilt"] < 0.3
            assert found["speed"] < SPEED
            assert found["damped"] == 0
    print(json.dumps(figures))
    return figures


if __name__ == "__main__":
    main()
