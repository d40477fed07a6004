"""Robots that walk where nobody told them what the ground is like: how often they fall, in MuJoCo.

One law for each robot, with the defaults of the library: the trot of ``examples/quadruped_gaits.py`` and the biped of
``examples/biped_walk.py``, whose soles are boxes here. The law sees q and v every 2 ms and nothing else: not the boxes,
the slope, the stairs, the friction of the floor, the delay, the noise, nor the push. ``python -m benchmarks.walking``
prints the table; names of robots and conditions choose among them, ``--runs 10`` says how often; ``--kangaroo FILE``
adds the robot of the tutorial on foreign robots.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from benchmarks import foreign_walker
from benchmarks.soft_floor import SOFTNESS, put_on_floor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import biped_walk as biped
import quadruped_gaits as quadruped

Array = NDArray[np.float64]
Terrain = Callable[[mujoco.MjSpec, np.random.Generator], None]

SAMPLE = 2e-3  # s
ROUGH = 0.7  # coefficient of friction, where a condition has no other
FIRST, LAST, WIDTH = 0.5, 6.0, 1.0  # m: where obstacles begin and end, and how far to each side
CELLS = (301, 101)  # of a height field, along and across


@dataclass(frozen=True, eq=False)
class Condition:
    """What the world does: the ground, its coefficient of friction, the delay of the controls [s], the deviations of
    the measured positions [m, rad] and velocities [m/s, rad/s], a force at the trunk [N] for 0.1 s.
    """

    terrain: Terrain | None = None
    friction: float = ROUGH
    delay: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)
    push: tuple[float, float] = (0.0, 0.0)


def boxes(height: float) -> Terrain:
    """Return a floor with boxes of a height [m] on a quarter of it, turned at random."""

    def build(spec: mujoco.MjSpec, rng: np.random.Generator) -> None:
        for _ in range(round(0.25 * (LAST - FIRST) * 2.0 * WIDTH / 0.04)):
            half, angle = 0.5 * rng.uniform(0.1, 0.3, 2), rng.uniform(0.0, np.pi)
            at = rng.uniform((FIRST, -WIDTH), (LAST, WIDTH))
            solid(
                spec,
                (*at, 0.5 * height),
                (*half, 0.5 * height),
                (np.cos(0.5 * angle), 0, 0, np.sin(0.5 * angle)),
            )

    return build


def stairs(rise: float, tread: float = 0.3) -> Terrain:
    """Return stairs [m] that go up."""

    def build(spec: mujoco.MjSpec, rng: np.random.Generator) -> None:
        for k in range(round((LAST - FIRST) / tread)):
            begins = FIRST + k * tread
            middle, half = 0.5 * (LAST + begins), 0.5 * (LAST - begins)
            solid(spec, (middle, 0.0, (k + 0.5) * rise), (half, WIDTH, 0.5 * rise))

    return build


def slope(degrees: float, towards: str) -> Terrain:
    """Return a floor that is level at the start and rises "up", falls "down" or leans "across" within half a metre."""
    steep = np.tan(np.radians(degrees))

    def height(x: Array, y: Array) -> Array:
        way = np.clip(x - FIRST, 0.0, None)
        along = np.where(way < 0.5, way**2, way - 0.25)
        part = np.clip(way / 0.5, 0.0, 1.0)
        return {"up": along, "down": -along, "across": part * part * (3.0 - 2.0 * part) * y}[towards] * steep

    def build(spec: mujoco.MjSpec, rng: np.random.Generator) -> None:
        columns, rows = CELLS
        x, y = np.linspace(-1.5, LAST, columns), np.linspace(-1.25, 1.25, rows)
        z = height(*np.meshgrid(x, y))
        low, size = float(z.min()), float(np.ptp(z))
        spec.add_hfield(
            name="ground", size=[0.5 * (x[-1] - x[0]), 1.25, size, 0.1], nrow=rows, ncol=columns,
            userdata=((z - low) / size).ravel(),
        )  # fmt: skip
        spec.worldbody.add_geom(
            name="ground", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="ground",
            pos=[0.5 * (x[-1] + x[0]), 0.0, low], conaffinity=1, contype=0, condim=3, solref=SOFTNESS,
        )  # fmt: skip
        spec.geom("floor").pos = [0.0, 0.0, low - 1.0]

    return build


def solid(
    spec: mujoco.MjSpec, at: Sequence[float], half: Sequence[float], turn: Sequence[float] = (1, 0, 0, 0)
) -> None:
    """Add a box to the ground."""
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=at, quat=turn, contype=0, conaffinity=1, condim=3,
        solref=SOFTNESS,
    )  # fmt: skip


CONDITIONS = {
    "level": Condition(),
    **{f"boxes of {h} mm": Condition(boxes(1e-3 * h)) for h in (5, 10, 20, 30)},
    **{f"8° {way}": Condition(slope(8.0, way)) for way in ("up", "down", "across")},
    "stairs of 30 mm": Condition(stairs(0.03)),
    "friction 0.3": Condition(friction=0.3),
    "10 ms late": Condition(delay=0.01),
    "noise": Condition(noise=(3e-3, 0.1)),
    "150 N sideways": Condition(push=(0.0, 150.0)),
    "150 N along": Condition(push=(150.0, 0.0)),
    "20 mm, late, noise": Condition(boxes(0.02), delay=0.01, noise=(3e-3, 0.1)),
}


class Robot(NamedTuple):
    """A robot: its law for a speed, its model on a bare floor, a start (q, v) by seed; when it begins to walk and how
    long all lasts [s], its speed [m/s], the height of the trunk below which it has fallen [m], and which body that is.
    """

    law: Callable[[], Any]
    model: Callable[[], mujoco.MjSpec]
    start: Callable[[int], tuple[Array, Array]]
    begins: float
    lasts: float
    speed: float
    low: float
    trunk: str = "trunk"


@cache
def _quadruped() -> Any:
    return quadruped.robot()


@cache
def _quadruped_law() -> Any:
    return quadruped.walking_law(_quadruped(), 0.4, quadruped.SPEED)


def _quadruped_model() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_file(str(quadruped.MODEL))


def _quadruped_start(seed: int) -> tuple[Array, Array]:
    """Return the stand with joints off by 0.05 rad, moving at 0.1 m/s."""
    system, rng = _quadruped(), np.random.default_rng(seed)
    q, v = np.array(system.mechanism.keyframes["stand"].q), np.zeros(system.nv)
    q[7:] += 0.05 * rng.uniform(-1.0, 1.0, 12)
    q[2] -= min(quadruped.gaps(system, q).values())
    v[:3] = 0.1 * rng.uniform(-1.0, 1.0, 3)
    return q, v


@cache
def _biped() -> Any:
    return biped.plant()


@cache
def _biped_law() -> Any:
    return biped.walking_law(biped.sr.System(biped.build()))


def _biped_model() -> mujoco.MjSpec:
    """Return the biped with boxes as soles, its loops as stiff as the step allows."""
    mechanism = biped.build()
    for name, closure in list(mechanism.closures.items()):
        mechanism.closures[name] = replace(closure, kind="point")
    with tempfile.TemporaryDirectory() as folder:
        mechanism.to_mjcf(Path(folder) / "biped.xml", contacts="ignore")
        spec = mujoco.MjSpec.from_file(str(Path(folder) / "biped.xml"))
    put_on_floor(spec, biped.MUJOCO_STEP)
    for leg in biped.LEGS:
        spec.body(f"{leg}_foot").add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.11, 0.05, 0.01], pos=[0, 0, -0.05], contype=1, conaffinity=0,
            condim=3, mass=0.0, solref=SOFTNESS,
        )  # fmt: skip
    return spec


ROBOTS = {
    "quadruped": Robot(
        _quadruped_law, _quadruped_model, _quadruped_start, 0.4, 6.4, quadruped.SPEED, 0.2
    ),
    "biped": Robot(
        _biped_law, _biped_model, lambda seed: biped.perturbed(_biped(), seed), biped.START, 9.0, biped.SPEED, 0.6
    ),
}  # fmt: skip


def kangaroo(file: Path) -> Robot:
    """Return the robot of a file as the tutorial has it walk."""
    return Robot(
        partial(foreign_walker.law, file), partial(foreign_walker.model, file), partial(foreign_walker.start, file),
        1.0, 7.0, 0.3, 0.6, "base_link",
    )  # fmt: skip


class Walk(NamedTuple):
    """What became of a run: when it fell [s], how far it came of the way it was to go, how far aside [m], how much of
    the samples the law called relaxed or damped."""

    fell: float | None
    way: float
    aside: float
    relaxed: float
    damped: float


def trial(robot: str, condition: str, seed: int) -> Walk:
    """Walk once."""
    who, world = ROBOTS[robot], CONDITIONS[condition]
    rng, spec = np.random.default_rng(1000 + seed), who.model()
    if world.terrain is not None:
        world.terrain(spec, rng)
    for geom in spec.geoms:
        geom.friction[0] = world.friction
    model = spec.compile()
    data, law = mujoco.MjData(model), who.law()
    law.reset()
    data.qpos[:], data.qvel[:] = who.start(seed)
    trunk, waiting = model.body(who.trunk).id, deque[Array]()
    pushed = who.begins + 1.5 + 0.08 * seed
    force = np.array(world.push) * (-1.0 if seed % 2 else 1.0)
    outcomes, start, fell = [], data.qpos[:2].copy(), None
    feet, count = [k for k in range(model.ngeom) if model.geom_contype[k]], round(SAMPLE / model.opt.timestep)
    for k in range(round(who.lasts / SAMPLE)):
        t = k * SAMPLE
        waiting.append(law.sample(*measured(data, world.noise, rng), t, SAMPLE))
        outcomes.append(law.outcome)
        data.ctrl[:] = waiting.popleft() if len(waiting) > round(world.delay / SAMPLE) else waiting[0]
        data.xfrc_applied[trunk, :2] = force if pushed <= t < pushed + 0.1 else 0.0
        mujoco.mj_step(model, data, count)
        height = data.qpos[2] - min(data.geom_xpos[feet, 2])
        if height < who.low or data.xmat[trunk][8] < np.cos(0.8) or not np.isfinite(height):
            fell = t
            break
    way = (data.qpos[0] - start[0]) / (who.speed * (who.lasts - who.begins))
    shares = [outcomes.count(name) / len(outcomes) for name in ("relaxed", "damped")]
    return Walk(fell, float(way), float(data.qpos[1] - start[1]), *shares)


def measured(
    data: mujoco.MjData, noise: tuple[float, float], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return q and v as they are measured."""
    q, v = data.qpos.copy(), data.qvel.copy()
    if any(noise):
        q[:3] += noise[0] * rng.standard_normal(3)
        mujoco.mju_quatIntegrate(q[3:7], noise[0] * rng.standard_normal(3), 1.0)
        q[7:] += noise[0] * rng.standard_normal(len(q) - 7)
        v += noise[1] * rng.standard_normal(len(v))
    return q, v


def row(robot: str, condition: str, walks: Sequence[Walk]) -> str:
    """Return a line of the table."""
    falls = [walk.fell for walk in walks if walk.fell is not None]
    stood = [walk for walk in walks if walk.fell is None]
    way = [walk.way for walk in stood]
    ways = f"{min(way):5.2f} {np.mean(way):5.2f}" if stood else f"{'':11}"
    relaxed, damped = (100 * np.mean([getattr(walk, k) for walk in walks]) for k in ("relaxed", "damped"))
    first = f"{min(falls):6.2f}" if falls else f"{'':6}"
    return f"{robot:10} {condition:20} {len(falls):3}/{len(walks):<3} {first} {ways} {relaxed:6.1f} {damped:6.2f}"


def main(names: Sequence[str], runs: int) -> None:
    """Print a line for each robot and condition."""
    robots = [name for name in ROBOTS if name in names] or list(ROBOTS)
    conditions = [c for c in CONDITIONS if any(n in c for n in names if n not in ROBOTS)] or list(CONDITIONS)
    print(f"{'':31} falls  first   way: ≥ mean  relaxed damped %")
    for name in robots:
        for condition in conditions:
            walks = [trial(name, condition, seed) for seed in range(runs)]
            print(row(name, condition, walks), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walking", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="robots, and parts of the names of conditions; all by default"
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kangaroo", type=Path, help="the file of that robot")
    given = parser.parse_args()
    if given.kangaroo is not None:
        ROBOTS["kangaroo"] = kangaroo(given.kangaroo.resolve())
    main(given.names, given.runs)
