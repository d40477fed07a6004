"""The whole tick of `LeggedController` in the kernel: terms, tasks, hierarchy and friction cones of robots that walk.

The states are those of a quadruped that stands, then trots, in MuJoCo, and of a biped with four-bar knees and flat feet
that walks here; the ticks are timed one by one, as they follow each other, so that warm starts are as good as they are
in use. ProxQP gets the quadratic programme that others set up for the same tasks, its terms at no charge.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import mujoco
import numpy as np

import sarrus as sr
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from benchmarks.timing import summarize
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.kernels.memory.law_layout import ANSWER_ONLY

try:
    from benchmarks.proxqp_peer import ProxQPPeer
except ImportError:
    ProxQPPeer = None

sys.path.insert(0, str(ROOT / "examples"))
import biped_walk

MODEL = ROOT / "models" / "quadruped.xml"
LEGS = ("FL", "FR", "RL", "RR")
PERIOD, START, END = 2e-3, 0.4, 2.0  # s
FRICTION, TORQUE, FORCE = 0.5, 40.0, 250.0
# Of hip, thigh and knee: lower and upper limits [rad]; of all, speed [rad/s], deceleration, acceleration [rad/s²].
RANGES, SPEED, BRAKE, ACCELERATION = ((-0.8, 0.8), (-0.5, 2.0), (-2.6, -0.3)), 15.0, 200.0, 2000.0


def controller(**options: Any) -> control.LeggedController:
    """Return the controller of the quadruped: it stands, and trots from `START` on."""
    mechanism = sr.load(MODEL)
    for leg in LEGS:
        mechanism.add_contact(leg, geom=leg, friction_coefficient=FRICTION)
    task = control.Task
    trunk = [
        task(control.orientation("trunk"), np.zeros(3), 200.0, 25.0, name="orientation"),
        task(control.centre_of_mass("z"), [0.41], 200.0, 25.0, name="height"),
    ]
    offsets = {"FL": 0.0, "FR": 0.5, "RL": 0.5, "RR": 0.0}
    gait = control.Gait("trunk", offsets, velocity=(0.4, 0.0), start=START)
    tasks = [trunk, control.SwingFeet(), control.Travel()]
    return control.LeggedController(
        sr.System(mechanism), tasks, gait=gait, largest_force=FORCE, hold=True, **options
    )


def joint_bounds() -> control.Bound:
    """Return limits of place, speed and acceleration of all joints of the quadruped."""
    names = [f"{leg}_{part}" for leg in LEGS for part in ("roll", "pitch", "knee")]
    lower, upper = np.tile(np.array(RANGES).T, 4)
    return control.Bound(
        names, lower, upper, 30.0, deceleration=BRAKE, speed=SPEED, acceleration=ACCELERATION, name="joints"
    )


def walk(law: control.LeggedController) -> list[Array]:
    """Return what the kernel gets at each tick of the quadruped, [q | v | u | t]."""
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
    law.reset()
    return states


def biped(system: sr.System) -> tuple[control.LeggedController, list[Array]]:
    """Return the biped's law, with limits of speed and acceleration of its motors, and its ticks."""
    names = [name for name in system.coordinate_names if name in system.actuator_names]
    bounds = [control.Bound(names, speed=SPEED, acceleration=ACCELERATION, rate=30.0, name="joints")]
    law, states = biped_walk.walking_law(system, bounds=bounds), []

    def sampled(q: Array, v: Array, t: float) -> Array:
        states.append(np.concatenate([q, v, np.zeros(system.nu), [t]]))
        return law.sample(q, v, t, biped_walk.SAMPLE)

    start = biped_walk.pose(system, 0.0, 0.0), np.zeros(system.nv)
    run = sr.simulate(
        biped_walk.plant(), *start, duration=biped_walk.START + 1.6, dt=1e-3, control=sampled,
        sample_time=biped_walk.SAMPLE,
    )  # fmt: skip
    if biped_walk.fell(run.q):
        raise RuntimeError("the biped of the benchmark has fallen")
    law.reset()
    return law, [state for state in states if state[-1] >= biped_walk.START]


def rows(quick: bool) -> list[Row]:
    """Return the medians of the quadruped, standing and trotting, without and with limits of its joints, and of the
    biped on its feet."""
    repeats = 3 if quick else 15
    plain, limited = controller(), controller(bounds=[joint_bounds()])
    states = walk(plain)
    walking, steps = biped(sr.System(biped_walk.build()))
    laws = {"": (plain, states), ", limits of joints": (limited, walk(limited)), "biped": (walking, steps)}
    times: dict[str, list[Array]] = {name: [] for name in laws}
    relaxed = {name: np.zeros(len(ticks), bool) for name, (_, ticks) in laws.items()}
    for _ in range(repeats):
        for name, (law, ticks) in laws.items():
            times[name].append(_times(law, ticks, relaxed[name]))
    medians = {name: 1e6 * np.median(found, axis=0) for name, found in times.items()}
    trotting = np.array([state[-1] >= START for state in states])
    found = []
    for name in ("", ", limits of joints"):
        ticks, some = medians[name], relaxed[name]
        note = "models/quadruped.xml in MuJoCo, 500 Hz: 18 velocities, 12 actuators, 12 multipliers, cones, limits of "
        note += "torques and forces" + (
            ", 48 rows of limits of places, speeds, accelerations" if name else ""
        )
        found.append(
            _row(f"tick, four feet standing{name}", "quadruped", ticks[~trotting], some[~trotting], note)
        )
        found.append(_row(f"tick, trot{name}", "quadruped", ticks[trotting], some[trotting], note))
    note = "examples/biped_four_bar.py walks, 500 Hz: 22 velocities, 4 loop rows, 12 actuators, 24 multipliers, cones, "
    note += "limits of torques, forces, speeds and accelerations"
    found.append(_row("tick, walk on two feet", "biped", medians["biped"], relaxed["biped"], note))
    if ProxQPPeer is not None:
        found.append(
            _against_proxqp(plain, [state for state, trots in zip(states, trotting) if trots], repeats)
        )
    return found


def _times(law: control.LeggedController, states: list[Array], relaxed: np.ndarray) -> Array:
    """Return the seconds of each tick; note which had relaxed tasks."""
    tick, table, found = law.kernel.entry, law.table.ctypes.data, np.zeros(len(states))
    for k, state in enumerate(states):
        place = state.ctypes.data
        began = perf_counter()
        tick(table, place, ANSWER_ONLY)
        found[k] = perf_counter() - began
        relaxed[k] = law.outcome != "exact"
    return found


def _row(name: str, model: str, ticks: Array, relaxed: np.ndarray, note: str) -> Row:
    return Row(
        name=name,
        model=model,
        ours_us=float(np.median(ticks)),
        conditions=conditions(
            "mujoco",
            note=f"{note}; median of {len(ticks)} ticks in a row, {relaxed.sum()} of them with relaxed tasks",
        ),
        within_us=60.0,
        extra={"slowest_us": float(ticks.max()), "relaxed": int(relaxed.sum())},
    )


def _against_proxqp(law: control.LeggedController, states: list[Array], repeats: int) -> Row:
    """Return the tick against ProxQP's solution of the programme at the same states."""
    peer = ProxQPPeer(law, FRICTION, TORQUE, FORCE)
    tick, table = law.kernel.entry, law.table.ctypes.data

    def timed(call: Callable[[], Any]) -> tuple[float, Any]:
        began = perf_counter()
        result = call()
        return perf_counter() - began, result

    ours, theirs, apart = [], [], []
    for _ in range(max(1, repeats // 3)):
        for state in states:
            ours.append(timed(lambda place=state.ctypes.data: tick(table, place, ANSWER_ONLY))[0])
            programme = peer.programme()
            spent, solution = timed(lambda given=programme: peer.solve(given))
            theirs.append(spent)
            forces = law.arrays.answer[law.system.nu : law.unknowns]
            apart.append(float(np.abs(solution[law.system.nv :] - forces).max()))
    if not np.median(apart) < 0.1:
        raise RuntimeError(f"sarrus and ProxQP differ by {np.median(apart):.2g} N")
    result = summarize(ours, theirs)
    note = (
        f"trot, weights 100 to 1 in the place of priorities, pyramids; forces agree to {np.median(apart):.0e} N in the "
        "median; ours is the whole tick, ProxQP's the update and solution alone, its terms are given"
    )
    return Row(
        name="tick, trot, whole-body QP",
        model="quadruped",
        ours_us=result.ours_us,
        peer="ProxQP",
        peer_us=result.peer_us,
        ratio=result.ratio,
        conditions=conditions("proxsuite", note=note),
        at_least=1.0,
    )
