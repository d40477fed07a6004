"""State × level: what a block on a plane and a joint with dry friction do, by every level, against closed forms.

``python tests/families/states_by_level.py --cases 1500``: gaps, slips and rates around each tolerance of
`sarrus.kernels.contact.tolerances`, static and sliding coefficients, loads, tilted axes, metres and millimetres.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import sarrus as sr
from sarrus.kernels.contact.tolerances import ARRIVED, AT_BOUND, STILL

G, DURATION = 9.81, 0.02
MEASURED = {"forward_dynamics": {}, "events": {}, "rk4": {"method": "rk4", "dt": 1e-3}}
STEPS = {"moreau-jean": {"method": "moreau-jean", "dt": 1e-3}}
GAPS = [
    0.0,
    1e-5,
    3e-6,
    5e-7,
    -5e-7,
    9e-7,
    -9e-7,
    *(sign * 10.0**-k for k in range(7, 11) for sign in (1, -1)),
]
SLIPS = [0.0, 5e-8, 5e-9, 5e-10, *(10.0**-k for k in (5, 6, 7, 9, 10, 11, 12))]
RATES = [0.0, 0.0, 0.0, 1e-9, -1e-9, 1e-10, 1e-12, 1e-5]


def rotation(rng: np.random.Generator) -> np.ndarray:
    """Return axes turned at random."""
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


def sliding(slip: float, load: float, friction: float, static: float, still: float) -> tuple[float, float]:
    """Return the acceleration, and the speed after `DURATION`, of what slides along a line; loads over masses."""
    begins = 0.0 if abs(load) <= static else load - friction * np.sign(load)
    a = load - friction * np.sign(slip) if abs(slip) > still else begins
    if abs(slip) <= still and a == 0.0:
        return a, 0.0
    if slip * a < 0.0 and -slip / a < DURATION:
        return a, begins * (DURATION + slip / a)
    return a, slip + a * DURATION


@dataclass
class Case:
    """A state, the acceleration there, and the velocity after `DURATION` (None: not asked), both along ``way``."""

    text: str
    system: sr.System
    q: list[float]
    v: list[float]
    force: Any
    a: np.ndarray
    speed: float | None
    way: np.ndarray
    size: float


def blocks(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield states of one block on a tilted plane, which its weight loads along and across that."""
    unit = float(rng.choice([1.0, 1e3]))
    friction, static = [(0.3, 0.5), (0.3, 0.3), (0.0, 0.0), (0.6, 0.9)][rng.integers(4)]
    push, angle = float(rng.choice([0.0, 0.4, -0.4, 0.2, 0.7, -1.1, 0.55])), rng.uniform(0.0, 2.0 * np.pi)
    axes, way, g = rotation(rng) if rng.random() < 0.5 else np.eye(3), np.zeros(3), G * unit
    way[:2] = np.cos(angle), np.sin(angle)
    block = sr.Mechanism("block", gravity=tuple(axes @ (g * (push * way - [0, 0, 1.0]))))
    for before, name, k in (("world", "bx", 0), ("bx", "by", 1), ("by", "bz", 2)):
        last = k == 2
        block.add_body(name, 2.0 if last else 0.0, inertia=(0.2 * unit**2 if last else 0.0,) * 3)
        block.add_joint("xyz"[k], "prismatic", before, name, axis=tuple(axes[:, k]))
    more = {"static_coefficient": static} if static > friction else {}
    block.add_contact(
        "c", "bz", normal=tuple(axes[:, 2]), friction="coulomb", friction_coefficient=friction, **more
    )
    system = sr.System(block)
    size = system.characteristic.length
    for _ in range(count):
        gap, rate = float(rng.choice(GAPS)), float(rng.choice(RATES))
        slip = float(rng.choice(SLIPS)) * float(rng.choice([-1, 1]))
        still = STILL * (1.0 + max(abs(rate), abs(slip)))
        a, speed = np.array([*(push * g * way[:2]), -g]), None
        if not (gap > AT_BOUND or rate > still or (rate < -still and gap > ARRIVED)):
            along, speed = sliding(size * slip, push * g, friction * g, static * g, size * still)
            a = along * way
        text = (
            f"unit {unit:g} mu {friction} {static} push {push} gap {gap:.2g} slip {slip:.2g} rate {rate:.2g}"
        )
        v = size * (slip * way + [0, 0, rate])
        yield Case(text, system, [0.0, 0.0, size * gap], v.tolist(), None, a, speed, way, g)


def joints(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Yield states of one joint with dry friction, of either kind, under a constant load."""
    unit, kind = float(rng.choice([1.0, 1e3])), str(rng.choice(["revolute", "prismatic"]))
    turns = kind == "revolute"
    limit, inertia = 3.0 * (unit**2 if turns else unit), 0.2 * unit**2 if turns else 2.0
    hinge = sr.Mechanism("joint", gravity=(0, 0, 0))
    hinge.add_body("b", 2.0, inertia=(0.2 * unit**2,) * 3)
    hinge.add_body("far", 1.0, com=(0.3 * unit, 0, 0), inertia=(0.1 * unit**2,) * 3)
    hinge.add_joint("j", kind, "world", "b", axis=tuple(rotation(rng)[:, 0]), friction=limit)
    hinge.add_joint("o", "prismatic", "world", "far")
    system = sr.System(hinge)
    size, load = (
        1.0 if turns else system.characteristic.length,
        float(rng.choice([0, 0.5, -0.5, 0.999, 1.3, -1.3])),
    )
    way = np.array([1.0, 0.0])
    for _ in range(count):
        slip = float(rng.choice(SLIPS)) * float(rng.choice([-1, 1]))
        still, most = size * STILL * (1.0 + abs(slip)), limit / inertia
        along, speed = sliding(size * slip, load * most, most, most, still)
        text = f"{kind} unit {unit:g} load {load} slip {slip:.2g}"
        tau = np.array([load * limit, 0.0])
        yield Case(text, system, [0.0, 0.0], [size * slip, 0.0], tau, along * way, speed, way, most)


def wrong_levels(case: Case) -> list[str]:
    """Return the levels that do something else, with what they do."""
    force = None if case.force is None else lambda q, v, t: case.force
    bad = []
    fd = case.system.forward_dynamics(case.q, case.v, tau=case.force)
    found: list[tuple[str, Any, Any, float]] = [("forward_dynamics", fd.a, None, 0.0)]
    for name, more in {**MEASURED, **STEPS}.items():
        if name != "forward_dynamics":
            run = sr.simulate(
                case.system, case.q, case.v, duration=DURATION, force=force, error_estimate=False, **more
            )
            found.append((name, run.a[0], run.v[-1], 2e-3 if name in STEPS else 1e-4))
    if force is None:
        many = sr.rollout(case.system, [case.q], [case.v], duration=DURATION, dt=1e-3, progress=False)
        found.append(("rollout", None, many.v[0, -1], 2e-3))
    for name, a, v, tolerance in found:
        if a is not None and not np.abs(a - case.a).max() <= 1e-7 * case.size:
            bad.append(f"{name}: {case.text}: a = {a}, right {case.a}")
        if v is not None and case.speed is not None:
            speed = float(np.asarray(v) @ case.way)
            if not abs(speed - case.speed) <= tolerance * case.size * DURATION:
                bad.append(f"{name}: {case.text}: v = {speed}, right {case.speed}")
    return bad


def family(cases: int, seed: int, each: int = 12) -> tuple[int, list[str]]:
    """Return how many states were looked at and what is wrong."""
    rng, done, bad = np.random.default_rng(seed), 0, list[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.AccuracyWarning)
        while done < cases:
            kind = blocks if rng.random() < 0.75 else joints
            for case in kind(rng, each):
                bad += wrong_levels(case)
                done += 1
    return done, bad


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    done, bad = family(options.cases, options.seed)
    print(*bad, f"{done} states, {len(bad)} wrong", sep="\n")
