"""Random inputs that begin after long rests, against piecewise integration of the same oscillator.

``python tests/families/inputs_after_rests.py --cases 300 --seed 1`` prints how many are right to 1e-6 of the largest
travel, flagged and wrong with status OK.

A mass on a spring and a damper is pushed by a force or an actuator, or carried by a slide that is driven, by its joint
or by a distance. Schedules have one to three pulses, ramps, bumps or peaks of widths from 1e-4 to 1 s after rests of up
to 100 natural periods, written in several ways.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import sarrus as sr

PLACES = ("force", "control", "motion", "closure", "stopped", "rollout")
METHODS = (None, None, "dop853", "dopri5", "rodas4", "rodas5p", "local")
SHAPES = ("pulse", "ramp", "bump", "peak", "table")
# What is carried by a driven slide has to follow it: these have no jump.
CONTINUOUS = ("ramp", "bump", "peak", "step")


@dataclass(frozen=True)
class Feature:
    """One course of the input from ``begin`` on: its expression, and its pieces for the reference."""

    shape: str
    begin: float
    width: float
    size: float
    way: int

    @property
    def support(self) -> tuple[float, float]:
        return (self.begin - 6.0 * self.width, self.begin + 6.0 * self.width) if self.shape == "peak" else (
            self.begin, self.begin + self.width)  # fmt: skip

    @property
    def breaks(self) -> list[float]:
        a, w = self.begin, self.width
        if self.shape in ("ramp", "table"):
            return [a, a + 0.25 * w, a + 0.75 * w, a + w]
        return list(self.support)

    def gate(self, t):
        a, b = self.support
        return [
            lambda: ca.if_else(ca.logic_and(t >= a, t < b), 1.0, 0.0),
            lambda: (t > a) * (t <= b),
            lambda: 0.5 * (ca.sign(t - a) - ca.sign(t - b)),
            lambda: ca.heaviside(t - a) - ca.heaviside(t - b),
            lambda: ca.if_else(t < a, 0.0, ca.if_else(t < b, 1.0, 0.0)),
            lambda: ca.if_else(ca.fabs(t - 0.5 * (a + b)) < 0.5 * (b - a), 1.0, 0.0),
            lambda: ca.if_else((t - a) * (t - b) < 0.0, 1.0, 0.0),
        ][self.way % 7]()

    def expression(self, t):
        a, w, s = self.begin, self.width, (t - self.begin) / self.width
        match self.shape:
            case "pulse":
                return self.size * self.gate(t)
            case "bump":
                return 0.5 * self.size * (1.0 - ca.cos(2.0 * np.pi * s)) * self.gate(t)
            case "peak":
                return self.size * (ca.exp(-s * s) if self.way % 2 else 1.0 - ca.tanh(3.0 * s) ** 2)
            case "step":
                own = ca.fmin(ca.fmax(s, 0.0), 1.0)
                return self.size * own**3 * (10.0 - 15.0 * own + 6.0 * own**2)
            case "ramp" if self.way % 2:
                return self.size * ca.fmax(0.0, ca.fmin(1.0, ca.fmin(4.0 * s, 4.0 * (1.0 - s))))
            case _:
                x = np.array([a - 1.0, a, a + 0.25 * w, a + 0.75 * w, a + w, a + w + 1.0])
                return sr.Spline.through(x, self.size * np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0]), degree=1)(
                    t
                )[0]


class Course:
    """The sum of features as numbers: value, slope and curvature between breaks, by their own expressions."""

    def __init__(self, features: list[Feature]) -> None:
        t = ca.SX.sym("t")
        value = sum(feature.expression(t) for feature in features)
        slope = ca.jacobian(value, t)
        self.all = ca.Function("course", [t], [value, slope, ca.jacobian(slope, t)])

    def at(self, t: float) -> list[float]:
        return [float(x) for x in self.all(t)]


def reference(features, times, rates, driven: bool) -> tuple[float, float]:
    """Return q at the end of ``times`` and the largest |q| at breaks and ends of pieces.

    q'' + d q' + w² q = f, or minus the second derivative of the course that carries the mass, with a step of −Δẏ in q'
    where that has a kink.
    """
    stiffness, damping, begin, end = *rates, *times
    a = np.array([[0.0, 1.0], [-stiffness, -damping]])
    course = Course(features)
    cuts = sorted({begin, end, *(b for f in features for b in f.breaks if begin < b < end)})
    supports = [f.support for f in features]
    widths = [f.width for f in features]
    state, largest = np.zeros(2), 0.0
    for low, high in pairwise(cuts):
        near = 2e-15 * max(high, 1.0)
        inside = 0.5 * (low + high)
        touching = [w for (s, e), w in zip(supports, widths) if s < inside < e]
        if driven and low > begin:
            # Slopes at the cut itself, by the curvature on each side: a bump of 0.5 ms has 2.4e6 m/s².
            after, before = course.at(low + near), course.at(low - near)
            state = state - [0.0, after[1] - near * after[2] - before[1] - near * before[2]]
        if not touching:
            state = expm(a * (high - low)) @ state
        else:

            def rate(t, x, low=low, high=high, near=near):
                value, _, curvature = course.at(min(max(t, low + near), high - near))
                return a @ x + [0.0, -curvature if driven else value]

            step = min(min(touching) / 8.0, 0.05 / np.sqrt(stiffness))
            found = solve_ivp(rate, (low, high), state, "DOP853", rtol=1e-12, atol=1e-17, max_step=step)
            state = found.y[:, -1]
            largest = max(largest, float(np.abs(found.y[0]).max()))
        largest = max(largest, abs(state[0]), abs(state[1]) / np.sqrt(stiffness))
    return float(state[0]), largest


def system_of(
    place: str, stiffness: float, damping: float, features: list[Feature]
) -> tuple[sr.System, list[float]]:
    def course(t):
        return sum(feature.expression(t) for feature in features)

    mechanism = sr.Mechanism("oscillator", gravity=(0, 0, 0))
    carried = place in ("motion", "closure")
    if carried:
        mechanism.add_body("carrier", mass=1.0, inertia=(1, 1, 1))
        mechanism.add_joint("drive", "prismatic", "world", "carrier", axis=(1, 0, 0))
        if place == "motion":
            mechanism.add_motion("driven", "drive", course)
        else:
            mechanism.add_closure(
                "driven", "distance", "world", "carrier", pose1=(-5.0, 0, 0), motion=lambda t: 5.0 + course(t)
            )
    mechanism.add_body("mass", mass=1.0, inertia=(1, 1, 1))
    limits = {"limits": (-1e3, 1e3)} if place == "stopped" else {}
    mechanism.add_joint(
        "slide", "prismatic", "carrier" if carried else "world", "mass", axis=(1, 0, 0), stiffness=stiffness,
        damping=damping, **limits,
    )  # fmt: skip
    if place in ("control", "rollout"):
        mechanism.add_actuator("push", "slide")
    system = sr.System(mechanism)
    return system, [0.0] * system.nq


def case(rng: np.random.Generator) -> dict:
    place = str(rng.choice(PLACES))
    period = 10.0 ** rng.uniform(-1.0, 0.3)
    omega = 2.0 * np.pi / period
    damping = 2.0 * omega * 10.0 ** rng.uniform(-3.5, -1.5)
    shapes = CONTINUOUS if place in ("motion", "closure") else SHAPES
    features, time = [], 0.0
    for _ in range(int(rng.integers(1, 4))):
        width = 10.0 ** rng.uniform(-4.0, 0.0)
        shape = str(rng.choice(shapes))
        time += period * 10.0 ** rng.uniform(0.0, 2.0) + (6.0 * width if shape == "peak" else 0.0)
        size = 0.05 * rng.uniform(0.5, 1.0) if place in ("motion", "closure") else rng.uniform(1.0, 400.0)
        features.append(Feature(shape, time, width, size, int(rng.integers(0, 14))))
        time += width * (6.0 if shape == "peak" else 1.0)
    method = METHODS[int(rng.integers(len(METHODS)))]
    if place in ("stopped",) and method == "local":
        method = None
    return {
        "place": place,
        "features": features,
        "end": time + period * rng.uniform(0.1, 3.0),
        "method": method,
        "rates": (omega**2, damping),
    }


def run(place, features, end, method, rates) -> tuple[str, float]:
    """Return "right", "flagged" or "wrong" and the error in the largest travel."""
    system, q = system_of(place, *rates, features)

    def push(q, v, t):
        return sum(feature.expression(t) for feature in features)

    options = {"coordinates": "partition"} if method == "local" else {"method": method}
    expected, size = reference(features, (0.0, end), rates, place in ("motion", "closure"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if place == "rollout":
            method = method if method in ("dop853", "dopri5", "rodas4", "rodas5p") else "dop853"
            found = sr.rollout(system, [q], duration=end, control=push, method=method, rtol=1e-9)
            last, ok = float(found.q[0, -1, -1]), bool(found.status[0] == 0)
        else:
            options |= {"force": push} if place in ("force", "stopped") else {}
            options |= {"control": push} if place == "control" else {}
            found = sr.simulate(system, q, duration=end, throw=False, rtol=1e-9, **options)
            last, ok = float(found.q[-1, -1]), found.status.name == "OK"
    error = abs(last - expected) / size
    return ("right" if error < 1e-6 else "wrong" if ok else "flagged"), error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts = {"right": 0, "flagged": 0, "wrong": 0, "refused": 0}
    worst = 0.0
    for number in range(given.cases):
        own = case(np.random.default_rng([given.seed, number]))
        try:
            verdict, error = run(**own)
        except sr.SarrusError as problem:
            verdict, error = "refused", np.nan
            print(number, type(problem).__name__, str(problem)[:200], flush=True)
        counts[verdict] += 1
        if verdict == "right":
            worst = max(worst, error)
        else:
            print(number, verdict, f"{error:.3g}", own, flush=True)
    print(counts, f"largest error of those that are right: {worst:.2g}")


if __name__ == "__main__":
    main()
