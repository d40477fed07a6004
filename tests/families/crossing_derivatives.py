"""Derivatives of random parallelograms through their singular configurations, against the robot of two angles.

Lengths, masses, starts and steps are random; the model is compiled once. Derivatives by the start and by a mass are
those of the two absolute angles alone; one by the length of one side must be refused, since the branches part.
`python tests/families/crossing_derivatives.py --cases 200` prints what is wrong and what is refused.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from conftest import load_example
from sarrus.base.arrays import Array

G = 9.81
# Derivatives are wrong that are off by more than this part of the largest, unless half the step has a share of it.
WRONG, SHARE = 1e-6, 0.2
LENGTHS = {
    "a": ["corner.pose1.x", "link4.placement.x", ("link1.com.x", 0.5), ("link3.com.x", 0.5)],
    "b": ["corner.pose2.x", "link3.placement.x", ("link2.com.x", 0.5), ("link4.com.x", 0.5)],
    "side": "corner.pose1.x",
}
MASSES = {f"m{k}": f"link{k}.mass" for k in (1, 2, 3, 4)}
MOMENTS = {f"j{k}": f"link{k}.inertia.zz" for k in (1, 2, 3, 4)}
LIFT = np.zeros((8, 4))
LIFT[:4, :2] = LIFT[4:, 2:] = [[1, 0], [0, 1], [1, -1], [-1, 1]]
PLACES = [0, 1, 4, 5]


@lru_cache
def model() -> tuple[sr.System, object]:
    """Return the system and the example it is of."""
    module = load_example("parallelogram")
    return sr.System(module.build(), parameters={**LENGTHS, **MASSES, **MOMENTS}), module


def slope(x: Array, p: dict[str, float]) -> Array:
    """Return ẋ of (θ₁, θ₂, ω₁, ω₂)."""
    a, b = p["a"], p["b"]
    m11 = p["j1"] + p["j3"] + (p["m1"] + p["m3"]) * a**2 / 4 + p["m4"] * a**2
    m22 = p["j2"] + p["j4"] + (p["m2"] + p["m4"]) * b**2 / 4 + p["m3"] * b**2
    m12 = (p["m3"] + p["m4"]) * a * b / 2
    g1, g2 = G * a * ((p["m1"] + p["m3"]) / 2 + p["m4"]), G * b * ((p["m2"] + p["m4"]) / 2 + p["m3"])
    c, s = m12 * np.cos(x[0] - x[1]), m12 * np.sin(x[0] - x[1])
    force = [-g1 * np.cos(x[0]) - s * x[3] ** 2, -g2 * np.cos(x[1]) + s * x[2] ** 2]
    return np.concatenate([x[2:], np.linalg.solve([[m11, c], [c, m22]], force)])


def end(x: Array, p: dict[str, float], duration: float) -> Array:
    """Return where a motion from x ends."""
    run = solve_ivp(lambda t, x: slope(x, p), (0.0, duration), x, "DOP853", rtol=1e-13, atol=1e-13)
    return np.asarray(run.y[:, -1])


def derivatives(found: sr.sensitivity.MotionSensitivity) -> Array:
    """Return the derivatives of x at the end by x at the start and by the parameter (4 × 5)."""
    return np.column_stack([found.by_start[-1][PLACES] @ LIFT, [*found.along[-1, :2], *found.dv[-1, :2]]])


def case(seed: int) -> str:
    """Return what became of a case."""
    rng = np.random.default_rng(seed)
    system, module = model()
    a, b = rng.uniform(0.2, 1.0, 2)
    p = {"a": a, "b": b, "side": system.parameters["side"]}
    for k, length in zip((1, 2, 3, 4), (a, b, a, b)):
        mass = rng.uniform(0.5, 3.0)
        p |= {f"m{k}": mass, f"j{k}": mass * length**2 * rng.uniform(0.05, 0.3)}
    p["side"] = a  # a driven number is its value + what both add
    robot = system.with_parameters(p | {"side": 0.4})
    x = np.array([*rng.uniform(-1.5, 1.0, 2), *rng.uniform(-3.0, 3.0, 2)])
    duration, dt = float(rng.uniform(0.5, 1.5)), float(rng.choice([5e-4, 1e-3, 2e-3]))
    arguments = robot, module.closed(*x[:2]), LIFT[4:, 2:] @ x[2:]
    settings = {"duration": duration, "dt": dt, "every": 10**6}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = sr.sensitivity.motion_derivatives(*arguments, parameters=["m3"], **settings)
        except sr.SolveError as error:
            return f"refused: {error}"
    run = found.trajectory
    if not run.passages or not any(passage.crossed for passage in run.passages):
        return "no crossing"
    truth = end(x, p, duration)
    own = np.array([*run.q[-1, :2], *run.v[-1, :2]])
    got = derivatives(found)

    def ahead(k: int, h: float) -> Array:
        return end(x + h * np.eye(4)[k], p, duration) if k < 4 else end(x, p | {"m3": p["m3"] + h}, duration)

    columns = []
    for k in range(5):
        found_at = [(ahead(k, h) - ahead(k, -h)) / (2 * h) for h in (4e-4, 2e-4, 1e-4)]
        once = [(4 * s - t) / 3 for t, s in pairwise(found_at)]
        columns.append((16 * once[1] - once[0]) / 15)
    reference = np.column_stack(columns)
    size = np.abs(reference).max()
    error, motion = (
        np.abs(got - reference).max() / size,
        np.abs(own - truth).max() / max(np.abs(truth).max(), 1.0),
    )
    verdict = "right"
    if error > WRONG:
        finer = sr.sensitivity.motion_derivatives(*arguments, parameters=["m3"], **settings | {"dt": dt / 2})
        verdict = "right" if np.abs(derivatives(finer) - reference).max() / size < SHARE * error else "wrong"
    try:
        sr.sensitivity.motion_derivatives(*arguments, parameters=["side"], **settings)
        verdict = "wrong: a longer side is not refused"
    except sr.SolveError as refused:
        if "'side'" not in str(refused):
            verdict = f"wrong: {refused}"
    return f"{verdict} ({error:.1e}, motion {motion:.1e}, {len(run.passages)} passages, {run.status.name})"


def main() -> None:
    """Print what became of the cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    count: dict[str, int] = {}
    for seed in range(options.first, options.first + options.cases):
        found = case(seed)
        kind = found.split(" (")[0].split(":")[0]
        count[kind] = count.get(kind, 0) + 1
        if kind != "no crossing":
            print(seed, found, flush=True)
    print(count)


if __name__ == "__main__":
    main()
