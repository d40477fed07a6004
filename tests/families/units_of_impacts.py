"""Generated motions with impacts, written in metres and kilograms and in other units: they must be the same.

``python tests/families/units_of_impacts.py --cases 60 --seed 0`` prints how many motions in millimetres, centimetres or
decimetres, and in grams or tonnes, are those in metres and kilograms, to 1e-7 of their sizes: by events, in steps of
time, and of several runs at once, with the speed of rest that `sarrus.Switching` has where nothing is said.

Balls that bounce and roll, boxes that fall on their corners, slides and arms between stops, a pendulum that swings
against a stop, a point over a plane. The motions are long enough for their bounces to come to rest, but those without
losses.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import sarrus as sr
from sarrus.base.errors import SarrusError
from sarrus.dynamics.model.units import coordinate_units, velocity_units

SCENES = ("ball", "smooth ball", "point", "box", "slide", "pendulum", "arm", "stacked slides")
METHODS = ("events", "events", "rk4", "moreau-jean", "rollout")
SAME = 1e-7


@dataclass
class Case:
    """A motion, as numbers without units: lengths and masses are those of metres and kilograms."""

    scene: str
    method: str
    length: float
    mass: float
    numbers: np.ndarray


def draw(rng: np.random.Generator) -> Case:
    """Return a case."""
    length = float(rng.choice([1e3, 1e2, 10.0]))
    mass = float(rng.choice([1.0, 1e3, 1e-3]))
    return Case(
        str(rng.choice(SCENES)), str(rng.choice(METHODS)), length, mass, rng.uniform(0.0, 1.0, size=12)
    )


def built(case: Case, L: float, M: float) -> tuple[sr.System, dict[str, float], dict[str, float]]:
    """Return the system where a metre is L units of length and a kilogram M of mass, coordinates and velocities."""
    r = case.numbers
    m = sr.Mechanism(case.scene.replace(" ", "_"), gravity=(0, 0, -9.81 * L))
    mass, size, bounce = (0.2 + r[0]) * M, (0.05 + 0.3 * r[1]) * L, 0.2 + 0.6 * r[2]
    inertia = np.array([1.0, 1.2, 1.5]) * 0.3 * mass * size**2
    q, v = dict[str, float](), dict[str, float]()
    if case.scene in ("ball", "smooth ball", "point", "box"):
        m.add_body("body", mass, inertia=inertia if case.scene != "ball" else (inertia[0],) * 3)
        m.add_joint("free", "free", "world", "body")
        friction: dict[str, Any] = {"friction": "coulomb", "friction_coefficient": 0.1 + 0.5 * r[3]}
        if case.scene == "smooth ball":
            friction = {"friction": "frictionless"}
            if case.method in ("moreau-jean", "rollout"):  # which know Coulomb's law alone
                friction = {"friction": "coulomb", "friction_coefficient": 0.0}
        if case.scene == "ball":
            friction["radius"] = size
        points = [(0.0, 0.0, 0.0)]
        if case.scene == "box":
            points = [(x * size, y * size, -0.5 * size) for x in (-1, 1) for y in (-1, 1)]
            bounce = 0.2 * r[2]
        for k, point in enumerate(points):
            m.add_contact(f"c{k}", "body", point, restitution=bounce, **friction)
        q = {"free.z": (1.0 + r[4]) * size + 0.2 * r[5] * L, "free.qw": 1.0}
        v = {"free.vx": 0.5 * r[6] * L, "free.vz": -0.2 * r[7] * L}
        if case.scene == "box":
            turn = 0.3 * (r[8] - 0.5)
            q |= {"free.qw": np.cos(turn), "free.qy": np.sin(turn)}
            v["free.vx"] *= 0.2
    elif case.scene == "slide":
        m.add_body("body", mass)
        m.add_joint(
            "x", "prismatic", "world", "body", axis=(np.cos(r[8]), 0, np.sin(r[8])),
            limits=(0.0, (0.5 + r[4]) * L), limit_restitution=bounce, friction=mass * L * r[5] * (r[6] > 0.5),
        )  # fmt: skip
        q, v = {"x": 0.4 * L}, {"x": (r[7] - 0.3) * 3.0 * L}
    elif case.scene in ("pendulum", "arm"):
        m.add_body("link", mass, com=(0, 0, -size), inertia=inertia)
        m.add_joint(
            "h", "revolute", "world", "link", axis=(0, 1, 0), limits=(-0.3 - r[4], 0.1 * r[5]),
            limit_restitution=bounce, damping=0.1 * mass * size**2 * r[6],
        )  # fmt: skip
        q, v = {"h": -0.2}, {"h": 4.0 * (r[7] - 0.5)}
        if case.scene == "arm":
            m.add_body("fore", 0.5 * mass, com=(0, 0, -0.5 * size), inertia=0.3 * inertia)
            m.add_joint(
                "e", "revolute", "link", "fore", axis=(0, 1, 0), parent_pose=(0, 0, -2.0 * size), limits=(-2.0, 0.2),
                limit_restitution=0.5 * bounce, damping=0.1 * mass * size**2,
            )  # fmt: skip
    else:
        m.add_body("lift", mass)
        m.add_joint(
            "z", "prismatic", "world", "lift", axis=(0, 0, 1), limits=(0.0, 2.0 * L), limit_restitution=bounce
        )
        m.add_body("rider", 0.3 * mass)
        m.add_joint(
            "x", "prismatic", "lift", "rider", axis=(0.6, 0, 0.8), limits=(-0.1 * L, 0.3 * L),
            limit_restitution=0.3 + 0.5 * r[3], friction=0.2 * mass * L * r[4],
        )  # fmt: skip
        q, v = {"z": 0.3 * L * r[5], "x": 0.1 * L}, {"x": 0.5 * L * (r[6] - 0.5)}
    return sr.System(m), q, v


def moved(case: Case, L: float, M: float) -> tuple[np.ndarray, bool]:
    """Return coordinates and velocities of the motion at some times, in metres, and whether it ended well."""
    system, q, v = built(case, L, M)
    start, speed, duration = system.neutral(), np.zeros(system.nv), 1.5
    for names, values, given in ((system.coordinate_names, start, q), (system.velocity_names, speed, v)):
        for name, value in given.items():
            values[names.index(name)] = value
    how: dict[str, Any] = {"duration": duration, "progress": False}
    if case.method == "rollout":
        runs = sr.rollout(
            system, np.stack([start, start]), np.stack([speed, speed]), dt=2e-3, every=50, **how
        )
        places, speeds, good = runs.q[1], runs.v[1], bool(runs.success.all())
    else:
        if case.method == "events":
            how |= {"every": sr.Recording(at=tuple(np.linspace(0.1, duration, 15)))}
        else:
            how |= {"method": case.method, "dt": 2e-3, "every": 50}
        motion = sr.simulate(system, start, speed, throw=False, error_estimate=False, **how)
        good = motion.status.ok
        places, speeds = motion.q[[0, -1]], motion.v[[0, -1]]
        if case.method != "rk4":
            at = np.searchsorted(motion.t, np.linspace(0.1, duration, 15) - 1e-6)
            places, speeds = motion.q[at], motion.v[at]
    lengths = np.array([L if unit == "m" else 1.0 for unit in coordinate_units(system)])
    paces = np.array([L if unit == "m/s" else 1.0 for unit in velocity_units(system)])
    return np.concatenate([places / lengths, speeds / paces], axis=1), good


def outcome(case: Case) -> tuple[str, float]:
    """Return "same", "other" or "refused", and by how much the motions differ."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one, other = moved(case, 1.0, 1.0), moved(case, case.length, case.mass)
    except SarrusError as error:
        return f"refused: {type(error).__name__}: {error}"[:200], np.inf
    if not (one[1] and other[1]):
        return f"refused: {one[1]}, {other[1]}", np.inf
    apart = float(np.abs(one[0] - other[0]).max() / np.maximum(np.abs(one[0]).max(), 1.0))
    return ("same" if apart <= SAME else "other"), apart


def cases(count: int, seed: int = 0) -> list[Case]:
    """Return seeded cases."""
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


def main() -> None:
    """Run cases and print how many are the same."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, largest = Counter[str](), 0.0
    for k, case in enumerate(cases(given.cases, given.seed)):
        what, apart = outcome(case)
        found[what.split(":")[0]] += 1
        if what == "same":
            largest = max(largest, apart)
        else:
            print(k, what, f"{apart:.3g}", case.scene, case.method, case.length, case.mass, flush=True)
    print(dict(found), f"apart by {largest:.2g} at most where they are the same")
    sys.exit(1 if found["other"] else 0)


if __name__ == "__main__":
    main()
