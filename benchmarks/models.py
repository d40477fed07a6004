"""The mechanisms that are compared, each with a closed configuration and admissible velocities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from examples import front_loader, quadruped, three_leg_platform

import sarrus as sr
from sarrus.base.arrays import Array

ROOT = Path(__file__).parent.parent
FIVE_BAR = ROOT / "models" / "five_bar.xml"


@dataclass(frozen=True)
class Model:
    """A way to make a mechanism and a configuration near which its loops close."""

    build: Callable[[], sr.Mechanism]
    guess: Callable[[sr.System], Array]


@dataclass(frozen=True)
class Case:
    """A system with a state on its constraints."""

    mechanism: sr.Mechanism
    system: sr.System
    q: Array
    v: Array


MODELS: dict[str, Model] = {
    # 4 coordinates, a point closure of 3 rows and rank 2
    "five_bar": Model(lambda: sr.load(FIVE_BAR), lambda system: system.neutral()),
    # 9 coordinates, 6 loop equations
    "platform": Model(
        three_leg_platform.build, lambda system: three_leg_platform.pose(system, 0.05, -0.03, 0.2)
    ),
    # a free base and 12 joints, four feet pinned by 12 rows
    "quadruped": Model(quadruped.build, quadruped.standing),
}

# further ones for linear models
LINEAR_MODELS = MODELS | {
    # 8 coordinates, 6 loop equations in three loops
    "front_loader": Model(front_loader.build, lambda system: front_loader.pose(system, -0.55, 0.7)),
}


@cache
def case(name: str) -> Case:
    """Return a mechanism assembled, with seeded random velocities projected on its constraints."""
    model = LINEAR_MODELS[name]
    mechanism = model.build()
    system = sr.System(mechanism)
    q = np.array(system.assemble(model.guess(system)).q)
    v = np.array(system.project_velocity(q, np.random.default_rng(1).normal(size=system.nv)))
    return Case(mechanism, system, q, v)
