"""The whole tick of `LeggedController` in the kernel: terms, tasks, hierarchy and friction cones of a quadruped.

The states are those of a robot that stands, then trots, in MuJoCo; the ticks are timed one by one, as they follow each
other, so that warm starts are as good as they are in use.
"""

from __future__ import annotations

from time import perf_counter

import mujoco
import numpy as np

import sarrus as sr
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from sarrus import control
from sarrus.kernels.law_layout import ANSWER_ONLY

MODEL = ROOT / "models" / "quadruped.xml"
LEGS = ("FL", "FR", "RL", "RR")
PERIOD, START, END = 2e-3, 0.4, 2.0  # s


def controller() -> control.LeggedController:
    """Return the controller of the quadruped: it stands, and trots from `START` on."""
    mechanism = sr.load(MODEL)
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=0.5)
    task = control.Task
    trunk = [
        task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="orientation"),
        task(control.centre_of_mass("z"), [0.41], 200.0, 25.0, name="height"),
    ]
    offsets = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
    gait = control.Gait("trunk", offsets, velocity=(0.4, 0.0), start=START)
    tasks = [trunk, control.SwingFeet(), control.Travel()]
    return control.LeggedController(sr.System(mechanism), tasks, gait=gait, largest_force=250.0, hold=True)


def walk(law: control.LeggedController) -> list[np.ndarray]:
    """Return what the kernel gets at each tick, [q | v | u | t]."""
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    states = []
    while data.time < END:
        states.append(np.concatenate([data.qpos, data.qvel, np.zeros(model.nu), [data.time]]))
        data.ctrl[:] = law.sample(data.qpos, data.qvel, data.time, PERIOD)
        mujoco.mj_step(model, data, round(PERIOD / model.opt.timestep))
    if not data.qpos[2] > 0.3:
        raise RuntimeError("the quadruped of the benchmark has fallen")
    return states


def rows(quick: bool) -> list[Row]:
    """Return the medians, standing and trotting."""
    law = controller()
    states = walk(law)
    repeats = 3 if quick else 15
    tick, table, places = law.kernel.entry, law.table.ctypes.data, [state.ctypes.data for state in states]
    times = np.zeros((repeats, len(states)))
    relaxed = np.zeros(len(states), bool)
    for times_of_run in times:
        for k, place in enumerate(places):
            began = perf_counter()
            tick(table, place, ANSWER_ONLY)
            times_of_run[k] = perf_counter() - began
            relaxed[k] = law.outcome != "exact"
    ticks = 1e6 * np.median(times, axis=0)
    trotting = np.array([state[-1] >= START for state in states])
    return [
        _row("tick, four feet standing", ticks[~trotting], relaxed[~trotting], repeats),
        _row("tick, trot", ticks[trotting], relaxed[trotting], repeats),
    ]


def _row(name: str, ticks: np.ndarray, relaxed: np.ndarray, repeats: int) -> Row:
    note = (
        "models/quadruped.xml in MuJoCo, 500 Hz: 18 velocities, 12 actuators, 12 multipliers, cones, limits of "
        f"torques and forces; median of {len(ticks)} ticks in a row, {relaxed.sum()} of them with relaxed tasks"
    )
    return Row(
        name=name,
        model="quadruped",
        ours_us=float(np.median(ticks)),
        conditions=conditions("mujoco", note=note, repeats=repeats),
        within_us=60.0,
        extra={"slowest_us": float(ticks.max()), "relaxed": int(relaxed.sum())},
    )
