"""A robot of somebody else's, as the tutorial on foreign robots has it walk: its blocks of code are run, nothing else.

The file of the robot, ``kangaroo.xml`` of pal_robotics/pal_mjlab (Apache-2.0), is given; in MuJoCo it walks on the
capsules that the file has as feet, with the file's loops.
"""

from __future__ import annotations

import contextlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks.soft_floor import SOFTNESS, put_on_floor
from sarrus.dynamics.impacts.activity import gaps

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))

import outputs  # noqa: E402

Array = NDArray[np.float64]

PAGE = ROOT / "docs" / "tutorials" / "foreign_robot.md"
STEP = 5e-4  # s


@cache
def names(file: Path) -> dict[str, Any]:
    """Return what the page's blocks define, up to the law."""
    known: dict[str, Any] = {"__name__": "page"}
    with contextlib.chdir(file.parent):
        for _ in outputs.run(PAGE.read_text(encoding="utf-8"), str(PAGE), known):
            if "law" in known:
                break
    return known


def law(file: Path) -> Any:
    """Return the law of the page."""
    return names(file)["law"]


def model(file: Path) -> mujoco.MjSpec:
    """Return the robot of the file on a floor, with the page's motors; of its capsules only the feet touch."""
    spec = mujoco.MjSpec.from_file(str(file))
    for geom in spec.geoms:
        geom.contype = int("_foot" in geom.name and "avoidance" not in geom.name)
        geom.conaffinity, geom.solref = 0, SOFTNESS
    put_on_floor(spec, STEP)
    for motor in names(file)["robot"].mechanism.actuators.values():
        spec.add_actuator(name=motor.name, target=motor.transmission[0][0], trntype=mujoco.mjtTrn.mjTRN_JOINT)
    return spec


def start(file: Path, seed: int) -> tuple[Array, Array]:
    """Return the page's stand, tilted by 0.01 rad and moving at 0.1 m/s."""
    known, rng = names(file), np.random.default_rng(seed)
    robot, q, v = known["robot"], known["q"].copy(), np.zeros(known["robot"].nv)
    q[4:7] = 0.005 * rng.uniform(-1.0, 1.0, 3)
    q = robot.normalized(q).copy()
    q[2] -= min(gaps(robot, q).values())
    v[:3] = 0.1 * rng.uniform(-1.0, 1.0, 3)
    return q, v
