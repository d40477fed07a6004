"""The platform on three legs is told to turn through its singular configurations, and a bound keeps it away from them.

Where platform and ground have parallel sides, at the orientation 0, the three elbow motors do not hold the platform
(a singularity of type 2: Gosselin and Angeles 1990). The command turns it from −0.5 rad through 0 to 0.2 rad and back
while its place goes round a loop. Without a bound the motors need thousands of newton metres at both passages. With
`control.Bound` of `control.singularity_measure`, as first level, it stays at a tenth of the measure that it has at the
start; what that costs is the orientation near the crossing, which is the last level. (Aghili 2022, Optimal control of
legged-robots subject to friction cone constraints, section 3.2.3, has avoidance of singularities as additional task.)
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import sarrus as sr
import three_leg_platform
from sarrus import control

Array = NDArray[np.float64]

ELBOWS = ("q2", "q4", "q6")
START = (0.0, 0.0, -0.5)  # m, m, rad
SHARE = 0.1  # of the measure at the start that is kept
PERIOD, SAMPLE = 4.0, 1e-3  # s
STIFFNESS, DAMPING = 100.0, 20.0  # 1/s², 1/s
RATE, DECELERATION = 20.0, 4.0  # 1/s, 1/s²


class Run(NamedTuple):
    """A run: measure at the start and its least, largest errors [m, rad], torque [N m], work of the motors [J]."""

    motion: sr.Trajectory
    measure: Array
    regular: float
    least: float
    place_error: float
    turn_error: float
    turn_rms: float
    largest_torque: float
    work: float


def place_at(t: Any) -> Any:
    """Return the commanded place [m]: a loop that begins and ends at rest."""
    s = _smooth(t)
    return ca.vertcat(0.06 * ca.sin(s), 0.03 * (1 - ca.cos(s)))


def turn_at(t: Any) -> Any:
    """Return the commanded orientation [rad]: −0.5 to 0.2 and back."""
    return START[2] + 0.35 * (1 - ca.cos(_smooth(t)))


def _smooth(t: Any) -> Any:
    """Return an angle from 0 to 2π, at rest at both ends."""
    x = ca.fmin(t / PERIOD, 1.0)
    return 2 * np.pi * x**3 * (10 - 15 * x + 6 * x**2)


def measure_of(system: sr.System) -> control.Part:
    """Return how far the elbows are from losing the platform."""
    return control.singularity_measure(driven=ELBOWS, q=three_leg_platform.pose(system, *START))


def law_of(*, bounded: bool) -> tuple[sr.System, control.TaskHierarchy, Array]:
    """Return the platform, its law with or without the bound, and where it starts."""
    system = sr.System(three_leg_platform.build())
    q = three_leg_platform.pose(system, *START)
    part = measure_of(system)
    regular = float(control.TaskSpace(system, part).kinematics(q).value[0])
    tasks: list[Any] = [
        control.Task(control.point("platform", axes="xy"), place_at, STIFFNESS, DAMPING, name="place"),
        control.Task(["platform.angle"], turn_at, STIFFNESS, DAMPING, name="turn"),
    ]
    if bounded:
        tasks.insert(
            0, control.Bound(part, SHARE * regular, rate=RATE, deceleration=DECELERATION, name="away")
        )
    return system, control.TaskHierarchy(system, tasks), q


def run(bounded: bool) -> Run:
    """Move it for one period, the law sampled at 1 kHz."""
    system, law, q = law_of(bounded=bounded)
    motion = sr.simulate(system, q, duration=PERIOD, control=law, sample_time=SAMPLE)
    seen = control.TaskSpace(system, measure_of(system))
    measure = np.array([seen.kinematics(place).value[0] for place in motion.q])
    t = ca.SX.sym("t")
    told = ca.Function("told", [t], [place_at(t), turn_at(t)])
    place, turn = (np.array(x) for x in told(motion.t[None]))
    off = np.abs(motion.q[:, 8] - turn[0])
    power = np.abs(motion.u * motion.v[:, [1, 3, 5]]).sum(axis=1)
    return Run(
        motion,
        measure,
        float(measure[0]),
        float(measure.min()),
        float(np.linalg.norm(motion.q[:, 6:8] - place.T, axis=1).max()),
        float(off.max()),
        float(np.sqrt(np.trapezoid(off**2, motion.t) / PERIOD)),
        float(np.abs(motion.u).max()),
        float(np.trapezoid(power, motion.t)),
    )


def main() -> None:
    """Run both, print what the bound costs and saves."""
    bare, kept = run(False), run(True)
    print(f"{'':34}{'without':>10}{'bound':>10}")
    rows = (
        ("least share of the measure", bare.least / bare.regular, kept.least / kept.regular),
        ("largest error of place [mm]", 1e3 * bare.place_error, 1e3 * kept.place_error),
        ("largest error of turn [rad]", bare.turn_error, kept.turn_error),
        ("rms error of turn [rad]", bare.turn_rms, kept.turn_rms),
        ("largest torque [N m]", bare.largest_torque, kept.largest_torque),
        ("work of the motors [J]", bare.work, kept.work),
    )
    for name, one, other in rows:
        print(f"{name:34}{one:10.4g}{other:10.4g}")
    assert bare.least < 0.01 * bare.regular
    assert kept.least > 0.999 * SHARE * kept.regular
    assert kept.place_error < 5e-5
    figures = {
        run_name: {key: value for key, value in one._asdict().items() if isinstance(value, float)}
        for run_name, one in (("without", bare), ("bound", kept))
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
