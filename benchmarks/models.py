"""The mechanisms that are compared, each with a closed configuration and admissible velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import sarrus as sr
from examples import three_leg_platform
from sarrus.mechanism.pose import Array

ROOT = Path(__file__).parent.parent
FIVE_BAR = ROOT / "models" / "five_bar.xml"


@dataclass(frozen=True)
class Case:
    """A system with a state on its constraints."""

    name: str
    mechanism: sr.Mechanism
    system: sr.System
    q: Array
    v: Array


def five_bar() -> tuple[sr.Mechanism, Array]:
    """The planar five-bar from its MJCF file: 4 coordinates, a point closure of 3 rows and rank 2."""
    mechanism = sr.load(FIVE_BAR)
    return mechanism, mechanism.keyframes["symmetric"]


def platform() -> tuple[sr.Mechanism, Array]:
    """The planar platform on three legs of the examples: 9 coordinates, 6 loop equations."""
    mechanism = three_leg_platform.build()
    return mechanism, three_leg_platform.pose(sr.System(mechanism), 0.05, -0.03, 0.2)


def quadruped() -> tuple[sr.Mechanism, Array]:
    """A quadruped with its four point feet pinned: free base and 12 joints, 12 rows."""
    mechanism = sr.Mechanism("quadruped")
    mechanism.add_body("base", 10.0, inertia=(0.1, 0.3, 0.35))
    mechanism.add_joint("base", "free", "world", "base")
    q = [0.0, 0.0, 0.45, 1.0, 0.0, 0.0, 0.0]
    for k, (fore, left) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        for part, parent, axis, at, mass, com in (
            ("hip", "base", (1, 0, 0), (0.2 * fore, 0.1 * left, 0), 1.0, (0, 0.03 * left, 0)),
            ("thigh", f"hip{k}", (0, 1, 0), (0, 0.08 * left, 0), 1.0, (0, 0, -0.1)),
            ("shank", f"thigh{k}", (0, 1, 0), (0, 0, -0.25), 0.3, (0, 0, -0.12)),
        ):
            name = f"{part}{k}"
            mechanism.add_body(name, mass, com=com, inertia=(0.005, 0.005, 0.002))
            mechanism.add_joint(name, "revolute", parent, name, axis=axis, parent_pose=at)
        ground = (0.2 * fore + 0.02, 0.18 * left, 0.02)
        mechanism.add_closure(f"foot{k}", "point", "world", f"shank{k}", pose1=ground, pose2=(0, 0, -0.25))
        q += [0.05 * left, 0.6, -1.2]
    return mechanism, np.array(q)


BUILDERS: dict[str, Callable[[], tuple[sr.Mechanism, Array]]] = {
    "five_bar": five_bar,
    "platform": platform,
    "quadruped": quadruped,
}


@cache
def case(name: str) -> Case:
    """Return a mechanism assembled, with seeded random velocities projected on its constraints."""
    mechanism, guess = BUILDERS[name]()
    system = sr.System(mechanism)
    q = np.array(system.assemble(guess).q)
    v = np.array(system.project_velocity(q, np.random.default_rng(1).normal(size=system.nv)))
    return Case(name, mechanism, system, q, v)
