"""Five-bar whose long links are hydraulic cylinders with closed valves: stiff oil columns inside a closed loop.

Each of the two struts is a barrel and a rod on a prismatic joint; the oil between them is a spring of k = 10⁴ to
10⁸ N/m with a damper of k/100 N s/m. An explicit method must follow the decay of the oil's motion, at rates up to
10⁶ 1/s, long after it has died out. The implicit method (RODAS5P in local coordinates) takes steps as long as the
motion of the mechanism allows, whatever k is, and the stiffer the oil, the closer this is to the motion with rigid
links.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sarrus as sr

CRANK, STRUT = 1.0, 1.5  # m
ELBOW = np.arctan2(
    np.sqrt(5) / 2, 1.0
)  # of a strut to the horizontal, with the cranks at 120° and the tip at x = 0.5
START = {"left": 2 * np.pi / 3, "left_elbow": ELBOW - 2 * np.pi / 3, "right": np.pi / 3}
START |= {"right_elbow": 2 * np.pi / 3 - ELBOW}
DURATION = 0.5  # s; the struts come into line at 0.65 s
STIFFNESSES = (1e4, 1e5, 1e6, 1e7, 1e8)  # N/m


def build(stiffness: float | None) -> sr.Mechanism:
    """Return the mechanism, with rigid struts for None. Strokes of the oil are zero where it is not compressed."""
    mechanism = sr.Mechanism("stiff_five_bar")
    for side, x in (("left", 0.0), ("right", 1.0)):
        mechanism.add_body(f"{side}_crank", 2.0, com=(CRANK / 2, 0, 0), inertia=(0.1, 1.0, 1.0))
        mechanism.add_body(f"{side}_barrel", 2.0, com=(0.4, 0, 0), inertia=(0.1, 0.3, 0.3))
        mechanism.add_body(f"{side}_rod", 1.0, com=(1.1, 0, 0), inertia=(0.1, 0.2, 0.2))
        hinge = partial(mechanism.add_joint, kind="revolute", axis=(0, -1, 0))
        hinge(side, parent="world", child=f"{side}_crank", parent_pose=(x, 0, 0))
        hinge(f"{side}_elbow", parent=f"{side}_crank", child=f"{side}_barrel", parent_pose=(CRANK, 0, 0))
        oil = {"parent": f"{side}_barrel", "child": f"{side}_rod"}
        if stiffness is None:
            mechanism.add_joint(f"{side}_oil", "fixed", **oil)
        else:
            spring = {"stiffness": stiffness, "damping": 1e-2 * stiffness}
            mechanism.add_joint(f"{side}_oil", "prismatic", axis=(1, 0, 0), **oil, **spring)
    mechanism.add_closure(
        "tips",
        "point_on_line",
        "left_rod",
        "right_rod",
        axis=(0, 1, 0),
        pose1=(STRUT, 0, 0),
        pose2=(STRUT, 0, 0),
    )
    return mechanism


def start(system: sr.System) -> NDArray[np.float64]:
    """Return q with the oil at rest length."""
    return np.array([START.get(name, 0.0) for name in system.coordinate_names])


def radau(system: sr.System) -> tuple[NDArray[np.float64], int, float]:
    """Integrate minimal coordinates by SciPy's Radau IIA of order 5: (q at the end, steps, seconds)."""
    names = ["left", "right", "left_oil", "right_oil"]
    chart = sr.parametrize(system, start(system), coordinates=names)
    independent = [system.velocity_names.index(name) for name in names]

    def rates(t: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        q, v = chart.to_full(state[:4], state[4:])
        return np.concatenate([state[4:], system.forward_dynamics(q, v, t=t).a[independent]])

    y, ydot = chart.to_independent(start(system), np.zeros(system.nv))
    began = perf_counter()
    run = solve_ivp(rates, (0, DURATION), np.concatenate([y, ydot]), "Radau", rtol=1e-6, atol=1e-8)
    return chart.to_full(run.y[:4, -1], run.y[4:, -1])[0], len(run.t) - 1, perf_counter() - began


def main() -> None:
    """Release it from rest with ever stiffer oil, by an implicit and an explicit method; compare with rigid links."""
    runs: dict[str, dict[float, sr.Trajectory]] = {"rodas5p": {}, "dop853": {}}
    for stiffness in STIFFNESSES:
        system = sr.System(build(stiffness))
        for method, done in runs.items():
            if method == "rodas5p" or stiffness < 1e8:
                done[stiffness] = sr.simulate(
                    system, start(system), duration=DURATION, method=method, rtol=1e-6, atol=1e-8
                )
        cells = [f"{name}: {r[stiffness].steps} steps, {1e3 * r[stiffness].wall_seconds:.1f} ms"
                 for name, r in runs.items() if stiffness in r]  # fmt: skip
        print(f"k = {stiffness:.0e} N/m  ", "   ".join(cells))
    implicit, explicit = runs["rodas5p"], runs["dop853"]
    assert max(run.residual.max() for done in runs.values() for run in done.values()) < 1e-12
    difference = max(float(np.abs(implicit[k].q[-1] - explicit[k].q[-1]).max()) for k in explicit)
    assert difference < 2e-6, difference
    steps = [implicit[k].steps for k in STIFFNESSES]
    assert max(steps) < 200, steps
    assert steps[-1] <= steps[1], steps
    assert explicit[1e7].steps > 8 * explicit[1e6].steps
    assert explicit[1e7].steps > 50 * implicit[1e7].steps

    system = sr.System(build(1e6))
    q, radau_steps, radau_seconds = radau(system)
    print(
        f"k = 1e+06 N/m   scipy's Radau in minimal coordinates: {radau_steps} steps, {1e3 * radau_seconds:.0f} ms"
    )
    radau_difference = float(np.abs(q - implicit[1e6].q[-1]).max())
    assert radau_difference < 1e-5, radau_difference

    rigid = sr.System(build(None))
    exact = sr.simulate(rigid, start(rigid), duration=DURATION, rtol=1e-12, atol=1e-12).q[-1]
    kept = [system.coordinate_names.index(name) for name in rigid.coordinate_names]
    compliance = [float(np.abs(implicit[k].q[-1][kept] - exact).max()) for k in STIFFNESSES]
    print("distance from the motion with rigid links:", ", ".join(f"{d:.1e} rad" for d in compliance))
    assert all(later < 0.2 * earlier for earlier, later in pairwise(compliance[:-1]))
    assert compliance[-1] < 2e-6
    figures = {
        "steps_implicit": {f"{k:.0e}": count for k, count in zip(STIFFNESSES, steps)},
        "steps_explicit": {f"{k:.0e}": run.steps for k, run in explicit.items()},
        "milliseconds_implicit_1e7": 1e3 * implicit[1e7].wall_seconds,
        "milliseconds_explicit_1e7": 1e3 * explicit[1e7].wall_seconds,
        "steps_radau_1e6": radau_steps,
        "milliseconds_radau_1e6": 1e3 * radau_seconds,
        "difference": difference,
        "difference_radau": radau_difference,
        "distance_from_rigid": compliance,
        "residual": float(max(run.residual.max() for run in implicit.values())),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
