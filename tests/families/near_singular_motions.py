"""Four-bars that near a flat pose: whether they pass or turn back, when and how near, against an own integration.

Angles are absolute, one moment of inertia each, no gravity: the motion runs along the curve φ = 0 with constant kinetic
energy, along the cross product of the two rows of A. Flat poses of all kinds (links stretched or folded); the lengths
miss one by a defect, zero or 1e-5 to 1e-2, of either sign. More are run by
``python tests/families/near_singular_motions.py --cases 200``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import sarrus as sr

Array = NDArray[np.float64]
# Relative errors of time and nearest σ, over the distance to the flat pose, that the quadric may have.
ALLOWED = 1.5


@lru_cache
def system() -> sr.System:
    """Return the four-bar; lengths and moments of inertia are parameters."""
    names = dict.fromkeys("abcdijk", 1.0)
    return sr.System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t, p: (p["i"] * v[0] ** 2 + p["j"] * v[1] ** 2 + p["k"] * v[2] ** 2) / 2,
        holonomic=lambda q, t, p: ca.vertcat(
            p["a"] * ca.cos(q[0]) + p["b"] * ca.cos(q[1]) - p["c"] * ca.cos(q[2]) - p["d"],
            p["a"] * ca.sin(q[0]) + p["b"] * ca.sin(q[1]) - p["c"] * ca.sin(q[2]),
        ),
        parameters=names,
        name="four-bar",
    )


@dataclass(frozen=True, eq=False)
class Case:
    """Lengths a, b, c, d, moments of inertia, what the lengths miss, a start q and its speed √(2 T)."""

    lengths: Array
    inertias: Array
    defect: float
    distance: float
    q: Array
    v: Array

    def rows(self, q: Array) -> Array:
        """Return A (2 × 3)."""
        size = self.lengths[:3] * [1.0, 1.0, -1.0]
        return np.array([-size * np.sin(q), size * np.cos(q)])

    def sigma(self, q: Array) -> float:
        """Return the smaller singular value of A."""
        return float(np.linalg.svd(self.rows(q))[1][1])


def draw(rng: np.random.Generator) -> Case:
    """Return a case."""
    while True:
        a, b, c = rng.uniform(0.5, 1.5, 3)
        pose = np.pi * rng.integers(0, 2, 3)
        defect = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-5, -2)) if rng.random() < 0.65 else 0.0
        d = a * np.cos(pose[0]) + b * np.cos(pose[1]) - c * np.cos(pose[2])
        if d < 0.2:
            continue
        lengths, inertias = np.array([a, b, c, d + defect]), rng.uniform(0.3, 3.0, 3)
        distance = rng.uniform(0.03, 0.25)
        q = _closed(lengths, pose, distance * rng.choice([-1.0, 1.0]), rng.choice([-1.0, 1.0]))
        if q is None or np.linalg.norm(q - pose) > 0.3:
            continue
        made = Case(lengths, inertias, defect, float(np.linalg.norm(q - pose)), q, np.zeros(3))
        tangent = np.cross(*made.rows(q))
        v = rng.uniform(0.5, 5.0) * tangent / np.sqrt(inertias @ tangent**2)
        if made.sigma(q + 1e-6 * v) > made.sigma(q - 1e-6 * v):
            v = -v
        return Case(lengths, inertias, defect, made.distance, q, v)


def _closed(lengths: Array, pose: Array, crank: float, way: float) -> Array | None:
    """Return the angles with the crank so far from a flat pose; None where that does not close near it."""
    a, b, c, d = lengths
    q0 = pose[0] + crank
    end = np.array(
        [d - a * np.cos(q0), -a * np.sin(q0)]
    )  # from the pin of the crank to the ground of the rocker
    size, angle = np.hypot(*end), np.arctan2(end[1], end[0])
    cosine = (b**2 + size**2 - c**2) / (2 * b * size)
    if not -1.0 < cosine < 1.0:
        return None
    q1 = angle + way * np.arccos(cosine)
    tip = np.array([np.cos(q1), np.sin(q1)]) * b - end
    q = np.array([q0, q1, np.arctan2(tip[1], tip[0])])
    return np.asarray(pose + (q - pose + np.pi) % (2 * np.pi) - np.pi)


def truth(case: Case) -> tuple[bool, float, float]:
    """Return whether the motion passes, the time of the smallest σ and that σ."""
    size = np.sqrt(case.inertias @ case.v**2)
    start = np.cross(*case.rows(case.q))
    way = float(np.sign(start @ (case.inertias * case.v)))

    def slope(t: float, q: Array) -> Array:
        tangent = np.cross(*case.rows(q))
        return np.asarray(way * size * tangent / np.sqrt(case.inertias @ tangent**2))

    def rate(t: float, q: Array) -> float:
        h = 1e-6 * max(case.sigma(q), 1e-3)
        ahead = slope(t, q) * h / size
        return case.sigma(q + ahead) - case.sigma(q - ahead)

    def there(t: float, q: Array) -> float:
        return case.sigma(q) - 1e-5

    rate.terminal = there.terminal = True
    passes = case.defect == 0.0
    event = there if passes else rate
    run = solve_ivp(
        slope,
        (0.0, 4.0 / size),
        case.q,
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
        events=event,
        dense_output=True,
    )
    time = float(run.t_events[0][0])
    if passes:
        before = case.sigma(run.sol(0.999 * time))
        return True, time + 1e-5 * 0.001 * time / (before - 1e-5), 0.0
    return False, time, case.sigma(run.y[:, -1])


def outcome(case: Case) -> tuple[str, float]:
    """Return "right", "wrong" or "undecided", and the largest error over what is allowed."""
    s = system()
    s.parameters.update(zip("abcd", map(float, case.lengths)))
    s.parameters.update(zip("ijk", map(float, case.inertias)))
    found = sr.forecast_singularity(s, case.q, case.v)
    passes, time, least = truth(case)
    if found.outcome == "undecided":
        return "undecided", np.inf
    if found.outcome == "leads away" and least > 0.85 * case.sigma(case.q):
        return "right", 0.0  # it is as near as it will be
    if found.outcome != ("passes" if passes else "turns back"):
        return f"wrong: {found.outcome}", np.inf
    errors = [abs(found.time - time) / time, 0.0 if passes else abs(found.least - least) / least]
    error = max(errors) / (ALLOWED * case.distance)
    return ("right" if error < 1.0 else "wrong: far off"), error


def cases(count: int, seed: int = 0) -> list[Case]:
    """Return seeded cases."""
    rng = np.random.default_rng(seed)
    return [draw(rng) for _ in range(count)]


def main() -> None:
    """Run cases and print how many are right."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found, errors = Counter[str](), []
    for k, case in enumerate(cases(given.cases, given.seed)):
        what, error = outcome(case)
        found[what.split(":")[0]] += 1
        errors.append(error)
        if what != "right":
            print(k, what, f"{error:.3g}", case.defect, case.distance, flush=True)
    print(
        dict(found), f"errors over what is allowed: median {np.median(errors):.2g}, largest {max(errors):.2g}"
    )
    sys.exit(1 if found["wrong"] else 0)


if __name__ == "__main__":
    main()
