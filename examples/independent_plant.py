"""The same control laws drive the same mechanisms in two simulators: this one and MuJoCo.

The laws are evaluated a thousand times a second and held in between, in both. MuJoCo is an independent implementation
of the dynamics, and another kind of plant: its loops are springs and dampers, made as stiff as its time step allows
(`solref`, `solimp`), so that they stand open by a little, and the laws see coordinates that are not on their
constraints. The mechanisms are handed over by `Mechanism.to_mjcf`, with q and v as they are.

Each law follows a smooth reference that comes to rest at a goal, from a start that is off the reference; the regulator
is given the goal alone. The other laws ask for the same accelerations and are as near to each other as rounding lets
them.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
import three_leg_platform
from sarrus import control
from sarrus.control import references

Array = NDArray[np.float64]

FIVE_BAR = Path(__file__).resolve().parent.parent / "models" / "five_bar.xml"
SAMPLE_TIME, DURATION, TRAVEL = 1e-3, 2.0, 1.2  # s
MUJOCO_STEP = 2.5e-4  # s
GAINS = {"stiffness": 100.0, "damping": 20.0}


class Bench(NamedTuple):
    """A mechanism with its start, what is compared, and the reference of that."""

    mechanism: sr.Mechanism
    system: sr.System
    start: Array
    quantity: Any
    rows: list[int]
    path: Callable[[Any], Any]
    goal: Array
    laws: dict[str, control.Law]


def five_bar() -> Bench:
    """The two driven cranks turn by 25° and −20°."""
    mechanism = sr.load(FIVE_BAR)
    system = sr.System(mechanism)
    q = np.array(system.assemble(mechanism.keyframes["symmetric"].q).q)
    cranks, goal = ["left", "right"], q[[0, 2]] + np.deg2rad([25.0, -20.0])
    path = references.minimum_jerk(q[[0, 2]] + np.array([0.02, -0.01]), goal, TRAVEL)
    laws = {
        "ProjectedInverseDynamics": control.ProjectedInverseDynamics(system, cranks, path, **GAINS),
        "TaskHierarchy": control.TaskHierarchy(
            system,
            [
                control.Task([name], lambda t, k=k: path(t)[k], **GAINS, name=name)
                for k, name in enumerate(cranks)
            ],
        ),
        "Regulator": control.Regulator(system, cranks, goal, stiffness=2000.0, damping=120.0),
        "ComputedTorque": control.ComputedTorque(system, cranks, path, **GAINS),
    }
    return Bench(mechanism, system, q, cranks, [0, 2], path, goal, laws)


def platform() -> Bench:
    """The platform moves by (5, −10) cm and turns by −0.2 rad."""
    mechanism = three_leg_platform.build()
    # MJCF has no point on a line; in the plane a point closure is the same with a dead row
    for name, closure in mechanism.closures.items():
        mechanism.closures[name] = replace(closure, kind="point")
    system = sr.System(mechanism)
    q = np.array(three_leg_platform.pose(system, 0.0, 0.0, -0.4))
    pose, goal = ["platform.x", "platform.y", "platform.angle"], np.array([0.05, -0.1, -0.6])
    path = references.minimum_jerk(q[6:] + np.array([0.005, -0.005, 0.01]), goal, TRAVEL)
    tasks = [
        control.Task(control.point("platform", axes="xy"), lambda t: path(t)[:2], **GAINS, name="place"),
        control.Task(control.orientation("platform", "z"), lambda t: path(t)[2], **GAINS, name="orientation"),
    ]
    laws = {
        "ProjectedInverseDynamics": control.ProjectedInverseDynamics(system, pose, path, **GAINS),
        "TaskHierarchy": control.TaskHierarchy(system, tasks),
        "Regulator": control.Regulator(system, pose, goal, stiffness=[900.0, 900.0, 60.0], damping=8.0),
        "ComputedTorque": control.ComputedTorque(
            system, pose, path, **GAINS, actuators=system.actuator_names
        ),
    }
    return Bench(mechanism, system, q, pose, [6, 7, 8], path, goal, laws)


def in_mujoco(bench: Bench, law: control.Law, *, stiff: bool) -> tuple[Array, float]:
    """Return q at the samples, and the largest gap of the loops [m]; ``stiff`` or as MuJoCo closes them by default."""
    with tempfile.TemporaryDirectory() as folder:
        bench.mechanism.to_mjcf(Path(folder) / "plant.xml")
        model = mujoco.MjModel.from_xml_path(str(Path(folder) / "plant.xml"))
    model.opt.timestep, model.opt.integrator = SAMPLE_TIME, mujoco.mjtIntegrator.mjINT_RK4
    if stiff:
        model.opt.timestep = MUJOCO_STEP
        model.opt.tolerance = 1e-14
        model.eq_solref[:] = 2.0 * MUJOCO_STEP, 1.0
        model.eq_solimp[:, :2] = 0.9999
    data = mujoco.MjData(model)
    data.qpos[:] = bench.start
    positions, gap = [bench.start], 0.0
    for _ in range(round(DURATION / SAMPLE_TIME)):
        data.ctrl[:] = law(data.qpos, data.qvel, data.time)
        mujoco.mj_step(model, data, round(SAMPLE_TIME / model.opt.timestep))
        positions.append(data.qpos.copy())
        gap = max(gap, float(np.abs(bench.system.constraint_residual(data.qpos)).max()))
    return np.array(positions), gap


def in_sarrus(bench: Bench, law: control.Law) -> Array:
    """Return q at the samples, the loops closed to rounding."""
    motion = sr.simulate(
        bench.system, bench.start, duration=DURATION, dt=SAMPLE_TIME, control=law, sample_time=SAMPLE_TIME
    )
    return np.array(motion.q)


def compare(bench: Bench, law: control.Law) -> dict[str, float]:
    """Return errors, of tracking or for a regulator at the end, and how far the motions are apart."""
    t = SAMPLE_TIME * np.arange(round(DURATION / SAMPLE_TIME) + 1)
    wanted = bench.goal
    if not isinstance(law, control.Regulator):
        wanted = references.sample(bench.path, t)
        wanted = wanted + np.outer((1 + 10 * t) * np.exp(-10 * t), bench.start[bench.rows] - wanted[0])
    stiff, gap = in_mujoco(bench, law, stiff=True)
    soft, soft_gap = in_mujoco(bench, law, stiff=False)
    here, stiff, soft = (q[:, bench.rows] for q in (in_sarrus(bench, law), stiff, soft))
    first = 0 if wanted.ndim == 2 else -1
    ours, theirs, loose = (float(np.abs(q - wanted)[first:].max()) for q in (here, stiff, soft))
    apart = float(np.abs(here - stiff).max())
    return {"sarrus": ours, "mujoco": theirs, "apart": apart, "gap": gap, "soft": loose, "soft_gap": soft_gap}


def main() -> None:
    """Compare the errors of every law in both plants."""
    figures: dict[str, dict[str, float]] = {}
    for name, bench in (("five_bar", five_bar()), ("platform", platform())):
        for title, law in bench.laws.items():
            figures[f"{name}, {title}"] = compare(bench, law)
    columns = next(iter(figures.values()))
    print("largest error from ë + 20 ė + 100 e = 0; of a regulator: at the end [m, rad]")
    print(f"{'':36}" + "".join(f"{column:>10}" for column in columns))
    for title, row in figures.items():
        print(f"{title:36}" + "".join(f"{value:10.1e}" for value in row.values()))
    for row in figures.values():
        assert row["gap"] < 1e-8
        assert row["apart"] < 1e-7
        assert abs(row["mujoco"] - row["sarrus"]) < 1e-2 * row["sarrus"]
        assert row["sarrus"] < 1e-3
        assert row["soft"] < 5e-3
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
