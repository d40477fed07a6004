"""Generated mechanisms with something stiff and something that rubs, stops or touches, by implicit methods.

Each motion is done with `rodas4`, `rodas5p` or the default, and again with `dop853` and tolerances a thousand times
tighter; so the equations of implicit methods and the times of their events are compared with those of explicit ones.
`python tests/families/implicit_phases.py --cases 300` prints what is wrong with OK, what is refused and what it costs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr

METHODS = ("rodas4", "rodas5p", None)
# A motion is wrong that differs by more than this, in units of the sizes of its coordinates; steps that are no end.
WRONG, MOST_STEPS = 1e-5, 30_000


@dataclass
class Case:
    """A mechanism with its start; ``size`` are those of its coordinates."""

    system: sr.System
    q: np.ndarray
    v: np.ndarray
    duration: float
    size: np.ndarray
    method: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


def turned(rng: np.random.Generator) -> np.ndarray:
    """Return a random rotation."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0.0 else q[:, [1, 0, 2]]


@dataclass
class Units:
    """Lengths, masses and axes in which a mechanism is written; torques are in mass × gravity × length."""

    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.length = float(self.rng.choice([1.0, 1e-2, 1e3]))
        self.mass = float(self.rng.choice([1.0, 1e-3, 1e3]))
        self.gravity = 9.81 * (1e3 if self.length == 1e3 else 1.0)
        self.turn = turned(self.rng)

    @property
    def torque(self) -> float:
        """Mass × gravity × length."""
        return self.mass * self.gravity * self.length

    def at(self, *place: float) -> np.ndarray:
        """Return a place in the units and axes."""
        return self.length * (self.turn @ np.array(place))

    def along(self, *way: float) -> np.ndarray:
        """Return a direction in the axes."""
        return self.turn @ np.array(way)

    def mechanism(self, name: str) -> sr.Mechanism:
        """Return an empty mechanism with gravity."""
        return sr.Mechanism(name, gravity=self.gravity * self.along(0, 0, -1))

    def body(
        self, mechanism: sr.Mechanism, name: str, mass: float, com: tuple[float, ...], turn: float
    ) -> None:
        """Add a body with moments of inertia about ``turn`` × mass, in the units."""
        mechanism.add_body(
            name, mass * self.mass, com=self.at(*com), inertia=(turn * self.mass * self.length**2,) * 3
        )


def stiff(rng: np.random.Generator, units: Units, inertia: float) -> dict[str, float]:
    """Return a damper, or a spring with one, with rates of 1e3 to 3e4 times those of gravity for this inertia."""
    rate, unit = 10.0 ** rng.uniform(3.0, 4.5), inertia * units.torque
    per_second = np.sqrt(units.gravity / units.length)
    if rng.random() < 0.6:
        return {"damping": rate * unit / per_second}
    frequency = 0.3 * rate
    return {
        "stiffness": frequency**2 * unit,
        "damping": 2.0 * rng.uniform(0.2, 2.0) * frequency * unit / per_second,
    }


def chain(rng: np.random.Generator) -> Case:
    """A chain of links in a plane, one joint of which has something stiff, others dry friction or limits."""
    units, n = Units(rng), int(rng.integers(2, 4))
    mechanism = units.mechanism("chain")
    links = [f"link{k}" for k in range(n)]
    for k in rng.permutation(n).tolist():
        units.body(mechanism, links[k], 1.0 if k < n - 1 else 0.2, (0.5, 0, 0), 0.05 if k < n - 1 else 2e-3)
    special, limited = int(rng.integers(1, n)), []
    for k in range(n):
        own: dict[str, Any] = {}
        if k == special:
            own |= stiff(rng, units, 0.02)
        if k != special or rng.random() < 0.3:
            if rng.random() < 0.6:
                own["friction"] = rng.uniform(0.02, 0.3) * units.torque
            if rng.random() < 0.5:
                own["limits"] = tuple(np.sort(rng.uniform((-1.2, 0.2), (-0.2, 1.2))))
                own["limit_restitution"] = float(rng.choice([0.0, 0.4]))
        limited.append(own.get("limits", (-1.0, 1.0)))
        parent = "world" if k == 0 else links[k - 1]
        pose = (0, 0, 0) if k == 0 else tuple(units.at(1.0, 0, 0))
        mechanism.add_joint(
            f"j{k}", "revolute", parent, links[k], axis=units.along(0, 1, 0), parent_pose=pose, **own
        )
    system = sr.System(mechanism)
    q = np.array([rng.uniform(lo + 0.05, hi - 0.05) for lo, hi in limited])
    if rng.random() < 0.3:
        k = int(rng.integers(0, n))
        q[k] = limited[k][1]
    v = rng.normal(size=n) * np.sqrt(units.gravity / units.length) * 0.7
    v[special] *= 0.1
    return Case(system, q, v, 1.0 * np.sqrt(9.81 * units.length / units.gravity), np.ones(n))


def standing(rng: np.random.Generator) -> Case:
    """A body that falls on, slides and tips over a floor, with a bob on something stiff."""
    units = Units(rng)
    mechanism = units.mechanism("standing")
    units.body(mechanism, "block", 1.0, (0, 0, 0), 0.05)
    units.body(mechanism, "bob", 0.1, (0.1, 0, 0.1), 1e-3)
    mechanism.add_joint("free", "free", "world", "block")
    kind = str(rng.choice(["revolute", "spherical"]))
    own = stiff(rng, units, 3e-3)
    if kind == "spherical":
        own = {"damping": own["damping"]}
    axis = {"axis": units.along(0, 1, 0)} if kind == "revolute" else {}
    mechanism.add_joint("neck", kind, "block", "bob", parent_pose=tuple(units.at(0, 0, 0.1)), **axis, **own)
    corners = [(0.3, 0.2, -0.2), (0.3, -0.2, -0.2), (-0.3, 0.0, -0.2)][: int(rng.integers(1, 4))]
    if len(corners) == 1:
        corners = [(0.0, 0.0, -0.2)]
    friction = float(rng.choice([0.0, 0.2, 0.5, 0.9]))
    bounce = float(rng.choice([0.0, 0.4]))
    for k in rng.permutation(len(corners)).tolist():
        mechanism.add_contact(
            f"c{k}", "block", units.at(*corners[k]), normal=units.along(0, 0, 1), tangent=units.along(1, 0, 0),
            friction="coulomb", friction_coefficient=friction, restitution=bounce,
        )  # fmt: skip
    system = sr.System(mechanism)
    q = system.neutral()
    q[:3] = units.at(0, 0, 0.2 + (0.0 if rng.random() < 0.5 else rng.uniform(0.01, 0.1)))
    v = np.zeros(system.nv)
    speed = np.sqrt(units.gravity * units.length)
    v[:3] = units.along(*(rng.normal(size=3) * (0.4, 0.4, 0.0))) * speed
    v[3:6] = units.along(0, 0, 1) * rng.normal() * 0.5 * speed / units.length
    size = np.ones(system.nq)
    size[:3] = units.length
    return Case(system, q, v, 0.4 * np.sqrt(9.81 * units.length / units.gravity), size)


def loop(rng: np.random.Generator) -> Case:
    """A slider-crank with dry friction or a stop in its slider, and something stiff in the joint of the rod."""
    units = Units(rng)
    mechanism = units.mechanism("loop")
    lengths = 0.4, 0.9
    for name, length in zip(("crank", "rod"), lengths):
        units.body(mechanism, name, 0.5, (length / 2, 0, 0), 0.02)
    units.body(mechanism, "slider", 0.5, (0, 0, 0), 0.02)
    own: dict[str, Any] = {"friction": rng.uniform(0.05, 0.5) * units.torque / units.length}
    if rng.random() < 0.5:
        own |= {"limits": (0.6 * units.length, 1.2 * units.length), "limit_restitution": 0.3}
    mechanism.add_joint("crank", "revolute", "world", "crank", axis=units.along(0, 1, 0))
    mechanism.add_joint(
        "rod", "revolute", "crank", "rod", axis=units.along(0, 1, 0),
        parent_pose=tuple(units.at(lengths[0], 0, 0)), damping=stiff(rng, units, 5e-3)["damping"],
    )  # fmt: skip
    mechanism.add_joint("slider", "prismatic", "world", "slider", axis=units.along(1, 0, 0), **own)
    mechanism.add_closure("pin", "point", "rod", "slider", pose1=tuple(units.at(lengths[1], 0, 0)))
    system = sr.System(mechanism)
    angle = rng.uniform(0.7, 1.3)
    rod = -angle - np.arcsin(lengths[0] * np.sin(angle) / lengths[1])
    q = np.array([-angle, -rod, units.length])
    q = system.assemble(q, locked=["crank"]).q
    v = system.project_velocity(q, np.array([rng.normal(), 0.0, 0.0]))
    size = np.array([1.0, 1.0, units.length])
    return Case(system, q, v, 0.8 * np.sqrt(9.81 * units.length / units.gravity), size)


def gears(rng: np.random.Generator) -> Case:
    """A gear pair with losses and play, whose second wheel drives a load through a stiff shaft."""
    units = Units(rng)
    mechanism = units.mechanism("gears")
    for k, name in enumerate(("one", "two", "load")):
        units.body(mechanism, name, 0.2, (0.3 * (k != 1), 0, 0), (0.02, 0.02, 0.1)[k])
    axis = units.along(0, 1, 0)
    mechanism.add_joint("j0", "revolute", "world", "one", axis=axis)
    mechanism.add_joint("j1", "revolute", "world", "two", axis=axis, parent_pose=tuple(units.at(0.4, 0, 0)))
    mechanism.add_joint("shaft", "revolute", "two", "load", axis=axis, **stiff(rng, units, 0.02))
    mechanism.add_gear_pair(
        "mesh", "j0", "j1", float(rng.choice([-1.5, -0.7, 2.0])), efficiency=rng.uniform(0.8, 0.98),
        backlash=float(rng.choice([0.0, 0.02])), radius=0.1 * units.length,
    )  # fmt: skip
    system = sr.System(mechanism)
    return Case(
        system, np.zeros(3), np.zeros(3), 0.6 * np.sqrt(9.81 * units.length / units.gravity), np.ones(3)
    )


def rope(rng: np.random.Generator) -> Case:
    """A pendulum with dry friction whose bob, on a stiffly damped joint, comes to pull a rope that was slack."""
    units = Units(rng)
    mechanism = units.mechanism("rope")
    units.body(mechanism, "arm", 1.0, (0.5, 0, 0), 0.05)
    units.body(mechanism, "bob", 0.2, (0.1, 0, 0), 2e-3)
    axis = units.along(0, 1, 0)
    mechanism.add_joint(
        "arm", "revolute", "world", "arm", axis=axis, friction=rng.uniform(0.02, 0.2) * units.torque
    )
    mechanism.add_joint(
        "bob", "revolute", "arm", "bob", axis=axis, parent_pose=tuple(units.at(1, 0, 0)),
        damping=stiff(rng, units, 5e-3)["damping"],
    )  # fmt: skip
    mechanism.add_spring_damper(
        "rope", "world", "arm", point1=units.at(0.0, 0.0, 1.0), point2=units.at(1.0, 0, 0),
        stiffness=rng.uniform(10.0, 200.0) * units.torque / units.length**2,
        rest_length=(0.0, 1.7 * units.length),
    )  # fmt: skip
    system = sr.System(mechanism)
    q = np.array([rng.uniform(-0.2, 0.2), 0.0])
    return Case(system, q, np.zeros(2), 0.9 * np.sqrt(9.81 * units.length / units.gravity), np.ones(2))


KINDS: dict[str, Callable[[np.random.Generator], Case]] = {
    "chain": chain,
    "standing": standing,
    "loop": loop,
    "gears": gears,
    "rope": rope,
}


@lru_cache(maxsize=2)
def mechanism(number: int) -> tuple[str, Case]:
    """Return the name of a kind and a case of it, which others share with other speeds and methods."""
    kind = tuple(KINDS)[number % len(KINDS)]
    return kind, KINDS[kind](np.random.default_rng([40, 16, number]))


def make(seed: int) -> tuple[str, Case]:
    """Return the name of a kind and a case of it."""
    kind, case = mechanism(seed // len(METHODS))
    speed = np.random.default_rng([40, 17, seed]).uniform(0.3, 1.2)
    return kind, replace(case, v=case.v * speed, method=METHODS[seed % len(METHODS)])


@dataclass
class Verdict:
    """What became of a case: its status, the difference from the reference, steps and those of `dop853`."""

    kind: str
    method: str | None
    status: str
    difference: float
    error: float
    steps: int
    explicit: int
    wall: tuple[float, float]
    events: int

    @property
    def wrong(self) -> bool:
        return self.status == "OK" and not self.difference <= WRONG


def judge(seed: int) -> Verdict:
    """Do a case and its reference."""
    kind, case = make(seed)
    options = {"duration": case.duration, "throw": False}
    limits = {"max_steps": MOST_STEPS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = sr.simulate(case.system, case.q, case.v, method=sr.Stepping(case.method, **limits), **options)
        plain = sr.simulate(
            case.system,
            case.q,
            case.v,
            method=sr.Stepping("dop853", **limits),
            error_estimate=False,
            **options,
        )
        fine = sr.simulate(
            case.system, case.q, case.v, method=sr.Stepping("dop853", rtol=1e-12, atol=1e-14, max_steps=4 * MOST_STEPS),
            error_estimate=False, **options,
        )  # fmt: skip
    difference = np.abs(mine.q[-1] - fine.q[-1]) / case.size
    status = str(mine.status.name)
    if fine.status.name != "OK":
        status = f"reference {fine.status.name}"
    return Verdict(
        kind, case.method, status, float(difference.max()), float(np.max(mine.error)), int(mine.steps),
        int(plain.steps), (mine.wall_seconds, plain.wall_seconds), len(mine.switches),
    )  # fmt: skip


def main() -> None:
    """Print what became of many cases."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, default=0, help="say so after every so many cases")
    given = parser.parse_args()
    verdicts = []
    for seed in range(given.first, given.first + given.cases):
        try:
            one = judge(seed)
        except sr.SarrusError as error:
            print(seed, make(seed)[0], type(error).__name__, error)
            one = Verdict(make(seed)[0], "", type(error).__name__, np.nan, np.nan, 0, 0, (0.0, 0.0), 0)
        verdicts.append(one)
        if given.every and seed % given.every == 0:
            print(seed, one.kind, flush=True)
        if one.status != "OK" or one.wrong:
            print(seed, one, flush=True)
    good = [v for v in verdicts if v.status == "OK"]
    print(
        f"{len(verdicts)} cases, {sum(v.wrong for v in verdicts)} wrong with OK, {len(verdicts) - len(good)} not OK"
    )
    for kind in KINDS:
        for method in METHODS:
            own = [v for v in good if v.kind == kind and v.method == method]
            if own:
                ratios = [v.explicit / max(1, v.steps) for v in own]
                print(
                    f"{kind:10} {method!s:8} {len(own):4} cases, {np.median([v.steps for v in own]):6.0f} steps, dop853"
                    f" {np.median([v.explicit for v in own]):7.0f}, ratio {np.median(ratios):6.2f}, events "
                    f"{np.median([v.events for v in own]):4.0f}, difference {max(v.difference for v in own):.1e}"
                )


if __name__ == "__main__":
    main()
