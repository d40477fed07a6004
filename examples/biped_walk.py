"""The biped with four-bar knees walks on a floor with friction and is pushed: in this library's plant and in MuJoCo's.

Both plants have eight corners of two flat feet, Coulomb friction and a loop in each knee; nothing tells them the gait.
Here corners touch down with an impact, stick, slide and leave exactly; MuJoCo's contacts and loops are soft. One law
sees q and v every 2 ms: a `Gait` whose feet step by the divergent component of motion (`CaptureSteps`). The trunk is
pushed from both sides, from behind and from the front. First from rest; then from perturbed starts, with pushes at
other phases of the gait, the same in both plants. Planned with μ = 0.5, on a floor of 0.7.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
from biped_four_bar import LEGS, LOSS, MOTORS, TORQUE, build, pose
from sarrus import control
from sarrus.dynamics.impacts.activity import gaps

Array = NDArray[np.float64]

SAMPLE, STEP = 2e-3, 1e-3  # s
MUJOCO_STEP, SOFT, STIFF = (
    2.5e-4,
    0.02,
    0.005,
)  # s: its step, and time constants of its contacts, 0.02 by default
START, DURATION = 1.0, 10.0  # s: shifting the weight until then; all of it
SPEED, HEIGHT = 0.3, 0.79  # m/s, m of the centre of mass
PLANNED, FLOOR = 0.5, 0.7  # coefficients of friction
FORCE = 400.0  # N, of a corner
PUSH, PUSH_LASTS = 60.0, 0.1  # N at the hips, s
CORNERS = {f"{leg}.{k}": offset for leg, offset in (("left", 0.0), ("right", 0.5)) for k in range(1, 5)}


class Push(NamedTuple):
    """A force (x, y) at the trunk [N] from a time on [s]."""

    start: float
    x: float
    y: float


PUSHES = (Push(3.0, 0, PUSH), Push(4.2, PUSH, 0), Push(5.5, 0, -PUSH), Push(7.0, -PUSH, 0))


def plant() -> sr.System:
    """Return the robot on a rough floor."""
    mechanism = build()
    for name, contact in list(mechanism.contacts.items()):
        mechanism.contacts[name] = replace(contact, friction="coulomb", friction_coefficient=FLOOR)
    return sr.System(mechanism)


def walking_law(system: sr.System, speed: float = SPEED, **options: Any) -> control.LeggedController:
    """Return the law of a walk in steps of 0.4 s, 0.06 s of them on both feet."""
    steps = control.CaptureSteps(HEIGHT, play=(0.08, 0.04), inwards=0.2)
    gait = control.Gait(
        "trunk", CORNERS, period=0.8, duty=0.575, velocity=(speed, 0.0), start=START, ramp=0.05, apex=0.1,
        reach=0.5, steps=steps,
    )  # fmt: skip
    height = control.Height(HEIGHT)
    upright = control.Task(
        control.orientation("trunk"), np.zeros(3), 200.0, 25.0, weight=0.03, name="upright"
    )
    return control.LeggedController(
        system, [height, control.SwingFeet(), [control.Balance(), upright]], gait=gait, weights=LOSS,
        **{"coefficients": dict.fromkeys(CORNERS, PLANNED), "largest_force": FORCE, "hold": True} | options,
    )  # fmt: skip


def perturbed(system: sr.System, seed: int) -> tuple[Array, Array]:
    """Return a start with joints off by 0.02 rad, the trunk tilted by 0.02 rad and moving at 0.1 m/s."""
    rng, q, v = np.random.default_rng(seed), pose(system, 0.0, 0.0).copy(), np.zeros(system.nv)
    motors = [f"{leg}_{motor}" for leg in LEGS for motor in MOTORS if motor != "crank"]
    moved = [system.coordinate_names.index(name) for name in (*motors, "left_knee", "right_knee")]
    q[moved] += 0.02 * rng.uniform(-1.0, 1.0, len(moved))
    q[4:7] = 0.01 * rng.uniform(-1.0, 1.0, 3)
    held = [name for name in system.joint_names if not name.endswith(("crank", "rod"))]
    q = system.assemble(system.normalized(q), locked=held).q.copy()
    q[2] -= min(gaps(system, q).values())
    v[:3] = 0.1 * rng.uniform(-1.0, 1.0, 3)
    return q, v


def pushed(pushes: Sequence[Push], t: float, size: int) -> Array:
    """Return the generalized force of pushes at a time: the trunk's velocity is the first entry of v."""
    force = np.zeros(size)
    for push in pushes:
        if push.start <= t < push.start + PUSH_LASTS:
            force[:2] += push.x, push.y
    return force


class Pilot:
    """Samples a law and keeps what it commanded."""

    def __init__(self, law: control.LeggedController) -> None:
        law.reset()
        self.law, self.cones = law, -np.inf
        self.outcomes: list[str] = []

    def __call__(self, q: Array, v: Array, t: float) -> Array:
        """Return the controls."""
        u = self.law.sample(q, v, t, SAMPLE)
        forces = np.array(list(self.law.contact_forces.values()))
        self.cones = max(
            self.cones, float((np.hypot(forces[:, 1], forces[:, 2]) - PLANNED * forces[:, 0]).max())
        )
        self.outcomes.append(self.law.outcome)
        return u


def walk(
    system: sr.System, pilot: Pilot, start: tuple[Array, Array], pushes: Sequence[Push], **how: Any
) -> sr.Trajectory:
    """Walk in this library's plant, in steps of a millisecond unless ``how`` says otherwise."""
    return sr.simulate(
        system, *start, duration=DURATION, control=pilot, sample_time=SAMPLE,
        force=lambda q, v, t: pushed(pushes, t, system.nv), **{"dt": STEP} | how,
    )  # fmt: skip


def walk_in_mujoco(
    system: sr.System,
    pilot: Pilot,
    start: tuple[Array, Array],
    pushes: Sequence[Push],
    softness: float = STIFF,
) -> Array:
    """Walk in MuJoCo, its loops as stiff as its step allows; return q at the samples."""
    mechanism = plant().mechanism
    assert mechanism is not None
    # MJCF has no point on a line; in the plane of the knee a point closure is the same with a dead row
    for name, closure in list(mechanism.closures.items()):
        mechanism.closures[name] = replace(closure, kind="point")
    with tempfile.TemporaryDirectory() as folder:
        mechanism.to_mjcf(Path(folder) / "biped.xml", contacts="geoms")
        model = mujoco.MjModel.from_xml_path(str(Path(folder) / "biped.xml"))
    model.opt.timestep, model.opt.integrator = MUJOCO_STEP, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.eq_solref[:], model.eq_solimp[:, :2] = (2.0 * MUJOCO_STEP, 1.0), 0.9999
    model.pair_solref[:, :2] = softness, 1.0
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start
    positions = [data.qpos.copy()]
    for k in range(round(DURATION / SAMPLE)):
        data.ctrl[:] = pilot(data.qpos, data.qvel, k * SAMPLE)
        data.qfrc_applied[:] = pushed(pushes, k * SAMPLE, model.nv)
        mujoco.mj_step(model, data, round(SAMPLE / MUJOCO_STEP))
        positions.append(data.qpos.copy())
    return np.array(positions)


def fell(q: Array) -> bool:
    """Tell whether the trunk was ever low, or tilted by more than 0.5 rad."""
    return bool(q[:, 2].min() < 0.6 or np.hypot(q[:, 4], q[:, 5]).max() > np.sin(0.25))


def slips(system: sr.System, run: sr.Trajectory) -> Array:
    """Return how far each corner slid while it was on the floor, the most of all times that it was (8,) [m]."""
    mechanism = system.mechanism
    assert mechanism is not None
    contacts, bodies = mechanism.contacts.values(), list(mechanism.bodies)
    places = []
    for q in run.q:
        x, R = system.body_placements(q)
        places.append([x[k] + R[k] @ c.point for c in contacts for k in [bodies.index(c.body)]])
    way = np.linalg.norm(np.diff(np.array(places)[:, :, :2], axis=0), axis=2)
    loaded = run.contact_forces[1:, : 3 * len(contacts) : 3] > 0.0
    total = np.cumsum(np.where(loaded, way, 0.0), axis=0)
    before = np.maximum.accumulate(np.where(loaded, 0.0, total), axis=0)  # up to its last time in the air
    return (total - before).max(axis=0)


def main(runs: int = 10) -> dict[str, Any]:
    """Walk once from rest, and ``runs`` times from perturbed starts, in both plants."""
    model, floor = sr.System(build()), plant()
    law, still = walking_law(model), (pose(model, 0.0, 0.0), np.zeros(model.nv))
    pilot = Pilot(law)
    run = walk(floor, pilot, still, PUSHES)
    print(run)
    figures: dict[str, Any] = {
        "seconds": DURATION,
        "walked": float(run.q[-1, 0]),
        "speed": float((run.q[-1, 0] - run.q[-2001, 0]) / 2.0),
        "aside": float(np.abs(run.q[:, 1]).max()),
        "tilt": 2.0 * float(np.hypot(run.q[:, 4], run.q[:, 5]).max()),
        "residual": float(run.residual.max()),
        "contact_residual": run.contact_residual,
        "slip": float(slips(floor, run).max()),
        "commanded_cone_excess": pilot.cones,
        "peak_torque": float(np.abs(run.u).max()),
        "relaxed": pilot.outcomes.count("relaxed") / len(pilot.outcomes),
        "energy_lost_in_contacts": float(run.contact_loss[-1]),
    }
    assert not fell(run.q)
    assert figures["walked"] > 0.9 * SPEED * (DURATION - START)
    assert 0.95 < figures["speed"] / SPEED < 1.05
    assert figures["aside"] < 0.1
    assert figures["residual"] < 1e-12
    assert figures["contact_residual"] < 1e-8
    assert figures["slip"] < 3e-3
    assert figures["commanded_cone_excess"] < 1e-9
    assert figures["peak_torque"] <= TORQUE + 1e-9
    assert "damped" not in pilot.outcomes

    # The same law in MuJoCo: how far the trunks are from each other in ten seconds.
    for name, softness in (("soft", SOFT), ("stiff", STIFF)):
        other = walk_in_mujoco(floor, Pilot(law), still, PUSHES, softness)
        assert not fell(other)
        figures[f"apart_{name}"] = float(np.abs(other[:, :3] - run.q[::2, :3]).max())
    assert figures["apart_stiff"] < 0.02
    assert figures["apart_soft"] < 0.08

    falls, apart = {"here": 0, "mujoco": 0}, []
    for seed in range(runs):
        start = perturbed(floor, seed)
        pushes = [Push(push.start + 0.04 * seed, push.x, push.y) for push in PUSHES]
        here = walk(floor, Pilot(law), start, pushes)
        there = walk_in_mujoco(floor, Pilot(law), start, pushes)
        falls["here"] += fell(here.q)
        falls["mujoco"] += fell(there)
        apart.append(float(np.abs(there[:, :3] - here.q[::2, :3]).max()))
        print(
            f"start {seed}: {here.q[-1, 0]:.3f} m here, {there[-1, 0]:.3f} m in MuJoCo, {apart[-1]:.3f} m apart at most"
        )
    assert not any(falls.values())
    figures |= {"runs": runs, "falls": falls, "apart_perturbed": max(apart, default=0.0)}
    print(json.dumps(figures))
    return figures


if __name__ == "__main__":
    main()
