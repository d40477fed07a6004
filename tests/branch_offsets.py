"""Offsets of driven joints from closed configurations, and an independent continuation that says where they lead.

``python tests/branch_offsets.py 2000`` judges so many offsets of every mechanism and prints a table.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from conftest import load_example
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.closing.manifold import difference, turning
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism

# Length of a step of the judge [rad, m]. It stops where free coordinates run faster than this against the driven ones.
STEP, FASTEST = 0.01, 300.0
SAME = 1e-6  # [rad, characteristic lengths]


def four_bar() -> Mechanism:
    """A plain four-bar: crank 0.4, coupler 1, rocker 0.8, ground 1 m; the crank turns round."""
    mechanism = Mechanism("four_bar", gravity=(0, -9.81, 0))
    parent, at = "world", 0.0
    for name, length in (("crank", 0.4), ("coupler", 1.0), ("rocker", 0.8)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
        parent, at = name, length
    mechanism.add_closure("pin", "point", "world", "rocker", pose1=(1, 0, 0), pose2=(at, 0, 0))
    return mechanism


@dataclass(frozen=True)
class Driven:
    """A mechanism, the joints that are driven, and the largest offset of one [rad, m]."""

    build: Callable[[], Mechanism]
    locked: tuple[str, ...]
    reach: float
    start: Callable[[System], Array]


CASES = {
    "four-bar": Driven(four_bar, ("crank",), np.pi, lambda s: assembled(s, [1.0, -0.5, -1.0])),
    "slider-crank": Driven(
        lambda: load_example("slider_crank").build(), ("crank",), np.pi, lambda s: np.array([0.3, -0.6])
    ),
    "five-bar": Driven(
        lambda: load_example("five_bar").build(),
        ("left", "right"),
        np.pi,
        lambda s: assembled(s, s.neutral()),
    ),
    "stewart": Driven(
        lambda: load_example("stewart").build(),
        tuple(f"cylinder{k}" for k in range(1, 7)),
        0.3,
        lambda s: load_example("stewart").configuration(load_example("stewart").POSE),
    ),
    "bricard": Driven(
        lambda: load_example("bricard").build(),
        ("hinge1",),
        np.pi,
        lambda s: assembled(s, s.move(s.neutral(), 0.3 * np.ones(s.nv))),
    ),
}


def assembled(system: System, guess: Array) -> Array:
    """Return a closed configuration near a guess."""
    return np.array(system.assemble(guess).q)


@cache
def system_of(name: str) -> System:
    """Return the compiled system of a case."""
    return System(CASES[name].build())


def locked_parts(system: System, names: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Return the indices of the driven coordinates and of their velocities."""
    return [system.coordinate_names.index(n) for n in names], [system.velocity_names.index(n) for n in names]


def continued(system: System, q: Array, names: tuple[str, ...], offset: Array) -> Array | None:
    """Follow the driven coordinates along a straight line by RK4 in fine steps; None where they cannot go on."""
    places, driven = locked_parts(system, names)
    free = [i for i in range(system.nv) if i not in driven]
    c = system.characteristic.columns

    def slope(p: Array) -> Array | None:
        rows = system.constraint_jacobian(p)[: system.nh]
        x = np.zeros(system.nv)
        x[driven] = offset
        x[free] = (
            np.linalg.lstsq(rows[:, free] / c[free], -rows[:, driven] @ offset, rcond=1e-10)[0] / c[free]
        )
        return x if np.abs(c * x).max() < FASTEST * np.abs(c[driven] * offset).max() else None

    start, count = q.copy(), int(np.abs(offset).max() / STEP) + 10
    h = 1.0 / count
    for k in range(count):
        slopes: list[Array] = []
        for weight in (0.0, 0.5, 0.5, 1.0):
            p = system.move(q, h * weight * slopes[-1]) if slopes else q
            found = slope(p)
            if found is None:
                return None
            slopes.append(found)
        one, two, three, four = slopes
        q = np.array(system.move(q, h * (one + 2 * two + 2 * three + four) / 6))
        q[places] = start[places] + (k + 1) * h * offset
        for _ in range(2):
            rows, x = system.constraint_jacobian(q)[: system.nh], np.zeros(system.nv)
            x[free] = (
                -np.linalg.lstsq(rows[:, free] / c[free], system.constraint_residual(q), rcond=1e-10)[0]
                / c[free]
            )
            if np.abs(c * x).max() > 1e-3:
                return None
            q = np.array(system.move(q, x))
    return q if np.abs(system.constraint_residual(q)).max() < 1e-9 else None


def same(system: System, p: Array, q: Array) -> bool:
    """Tell whether two configurations are the same, full turns aside."""
    gap = difference(system, p, q, turning(system))
    return bool(np.abs(system.characteristic.columns * gap).max() < SAME)


def judge(name: str, rng: np.random.Generator, q: Array) -> tuple[str, Array]:
    """Judge one random offset from a closed q; return the verdict and a closed configuration to go on from."""
    case, system = CASES[name], system_of(name)
    places, _ = locked_parts(system, case.locked)
    offset = case.reach * rng.uniform(-1.0, 1.0, len(places)) * 10.0 ** -rng.integers(0, 3)
    guess = q.copy()
    guess[places] += offset
    found = system.assemble(guess, locked=case.locked, throw=False)
    expected = continued(system, q, case.locked, offset)
    arrived = found.status is not Status.NOT_CLOSED
    if expected is not None and arrived and same(system, expected, found.q):
        return "followed", np.array(found.q)
    if found.left_branch or found.limits:
        return ("reported" if expected is None else "reported, but there is a way"), q
    if not arrived:
        return ("not closed" if expected is None else "not closed, but there is a way"), q
    if expected is None:
        return "arrived where the judge did not", np.array(found.q)
    return "CHANGED BRANCH", q


def survey(name: str, count: int, seed: int = 0) -> Counter[str]:
    """Return how often each verdict came out."""
    rng, system = np.random.default_rng(seed), system_of(name)
    start = CASES[name].start(system)
    q, verdicts = start, Counter[str]()
    for k in range(count):
        if k % 20 == 0:
            q = start
        verdict, q = judge(name, rng, q)
        verdicts[verdict] += 1
    return verdicts


if __name__ == "__main__":
    for case in CASES:
        print(case, dict(survey(case, int(sys.argv[1]) if len(sys.argv) > 1 else 100)), flush=True)
