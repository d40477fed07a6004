"""Ant of Gymnasium on a floor: a step of many runs side by side, one after the other, and in `mujoco.rollout`.

Processor time, which other work on the machine changes least. Runs are dropped from 0.75 m with random controls that
are held for five steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import mujoco
import mujoco.rollout
import numpy as np

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave
from sarrus.base.arrays import Array

DT, STEPS, HELD = 5e-3, 200, 5
# Where the file's legs touch: ends of the capsules, by the signs of x and y in the axes of their bodies.
FEET = {
    "left_ankle_geom": (1, 1), "right_ankle_geom": (-1, 1), "third_ankle_geom": (-1, -1), "fourth_ankle_geom": (1, -1),
}  # fmt: skip
# Targets [µs] for a step.
TARGETS = {"limits alone": 2.0, "four points": 4.0, "all geometries": 6.0}


def rows(quick: bool) -> list[Row]:
    """Return a row for every choice of contacts and every peer; none if Gymnasium is not installed."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        return []
    path = Path(found.origin).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    repeats, runs, result = (3, 16, []) if quick else (9, 64, [])
    note = f"one thread, {runs} runs of {STEPS} steps of 5 ms, controls held for {HELD}; processor time"
    for kind, within in TARGETS.items():
        system = _system(path, kind)
        ours = _sarrus(system, runs, side_by_side=True)
        peers = {"sarrus, one run after the other": _sarrus(system, runs, side_by_side=False)}
        if kind == "all geometries":
            peers["MuJoCo rollout, Euler"] = _mujoco(path, system, runs)
        for name, theirs in peers.items():
            timed = interleave(ours, theirs, repeats)
            row = Row(
                name="step of Ant on a floor", model=kind, ours_us=timed.ours_us, peer=name, peer_us=timed.peer_us,
                ratio=timed.ratio, within_us=within, conditions=conditions("mujoco", note=note, repeats=repeats),
            )  # fmt: skip
            result.append(row)
    return result


def _system(path: Path, kind: str) -> sr.System:
    with warnings.catch_warnings(action="ignore", category=sr.ModelWarning):
        mechanism = sr.load(path)
    if kind == "all geometries":
        mechanism.add_floor_contacts()
    for name, (x, y) in FEET.items() if kind == "four points" else ():
        body = mechanism.geoms[name].body
        law = {"friction": "coulomb", "friction_coefficient": 1.0}
        mechanism.add_contact(name, body, (0.4 * x, 0.4 * y, 0.0), radius=0.08, **law)
    return sr.System(mechanism)


def _starts(system: sr.System, runs: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    q = np.tile(system.neutral(), (runs, 1))
    q[:, 7:] = np.array([0, 1, 0, -1, 0, -1, 0, 1]) + rng.uniform(-0.1, 0.1, (runs, 8))
    v = 0.1 * rng.normal(size=(runs, system.nv))
    return q, v, rng.uniform(-1.0, 1.0, (runs, STEPS // HELD, system.nu))


def _sarrus(system: sr.System, runs: int, *, side_by_side: bool) -> Callable[[], float]:
    q, v, u = _starts(system, runs)

    def run() -> float:
        began = process_time()
        done = sr.rollout(
            system, q, v, u=u, duration=STEPS * DT, dt=DT, every=None, threads=1, side_by_side=side_by_side,
            progress=False,
        )  # fmt: skip
        seconds = process_time() - began
        if done.failed.size:
            raise RuntimeError(f"Ant: {done}")
        return seconds / (runs * STEPS)

    return run


def _mujoco(path: Path, system: sr.System, runs: int) -> Callable[[], float]:
    q, v, u = _starts(system, runs)
    model, what = mujoco.MjModel.from_xml_path(str(path)), mujoco.mjtState.mjSTATE_FULLPHYSICS
    model.opt.timestep, model.opt.integrator = DT, mujoco.mjtIntegrator.mjINT_EULER
    data = mujoco.MjData(model)
    states = np.empty((runs, mujoco.mj_stateSize(model, what)))
    for row, position, velocity in zip(states, q, v):
        data.qpos[:], data.qvel[:] = position, velocity
        mujoco.mj_getState(model, data, row, what)
    control, pool = np.repeat(u, HELD, axis=1), mujoco.rollout.Rollout(nthread=0)

    def run() -> float:
        began = process_time()
        pool.rollout(model, data, states, control, nstep=STEPS)
        return (process_time() - began) / (runs * STEPS)

    return run
