"""Friction in sarrus and in MuJoCo: scenes with known truth, and work against error of a quadruped on four feet.

MuJoCo has its defaults, and for every scene and integrator the best of many settings: elliptic cones, Newton's method
to the end, contacts as they come or stiffer, friction stiffer than normals (impratio), sweeps against slip or none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from time import perf_counter

import mujoco
import numpy as np

import sarrus as sr
from benchmarks.models import ROOT
from benchmarks.rows import Row, conditions
from benchmarks.work import Point, comparison
from sarrus.base.arrays import Array

G, DT = 9.81, 1e-3
# Scenes: the box slides with 1 m/s, the slope is so much off the angle of friction, and balls rebound with this part.
FRICTION, EXCESS, BOUNCE = 0.5, 1e-3, 0.8
HALF, RADIUS, MASS = 0.05, 0.1, 2.0
INTEGRATORS, RATIOS, SWEEPS = ("Euler", "implicitfast"), (1, 10, 100), (0, 50)
# Time constants of contacts in steps, None: 20 ms, as they come; of those that rebound ω dt, their stiffness.
STIFF, REBOUNDING = (None, 5.0, 2.0), (0.03, 0.1, 0.3)
EXACTLY = {"cone": "elliptic", "iterations": "200", "tolerance": "1e-15", "ls_iterations": "200"}
# The quadruped: how long [s], steps [s] of both, that of the reference, heights [m], bounds of the error.
DURATION, REFERENCE = 0.15, 1e-5
OURS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4)
THEIRS = (2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
HEIGHTS = {"quadruped that sags": 0.0, "quadruped dropped by 5 mm": 5e-3}
BOUNDS = (1e-2, 1e-3, 1e-4, 1e-5)


Run = Callable[[], tuple[float, dict[str, float]]]


@dataclass(frozen=True)
class Scene:
    """A body on a plane that is tilted by ``slope``: a box on its four corners, or a ball.

    ``figures`` makes numbers of times, places (x, z of the centre) and velocities; all are zero in truth.
    """

    name: str
    ball: bool
    friction: float
    slope: float
    height: float
    speed: float
    bounce: float
    duration: float
    figures: Callable[[Array, Array, Array], dict[str, float]]

    @property
    def moment(self) -> float:
        """Its moment of inertia about every axis."""
        return 0.4 * MASS * RADIUS**2 if self.ball else MASS / 3.0 * (RADIUS**2 + HALF**2)


def scenes() -> list[Scene]:
    """Return the scenes."""
    way, fall = 1.0 / (2.0 * FRICTION * G), np.sqrt(2.0 / G)
    below, above = np.arctan(FRICTION * (1.0 - EXCESS)), np.arctan(FRICTION * (1.0 + EXCESS))
    slid = 0.5 * G * FRICTION * EXCESS * np.cos(above)  # in a second

    def stops(t: Array, places: Array, v: Array) -> dict[str, float]:
        return {"way / m": abs(places[-1, 0] - way), "lift / m": float(places[:, 1].max()) - HALF}

    def rolls(t: Array, places: Array, v: Array) -> dict[str, float]:
        return {"speed, relative": abs(v[-1, 0] * 7.0 / 5.0 - 1.0)}

    def sticks(t: Array, places: Array, v: Array) -> dict[str, float]:
        return {"creep / m": abs(places[-1, 0])}

    def slides(t: Array, places: Array, v: Array) -> dict[str, float]:
        return {"way, relative": abs(places[-1, 0] / slid - 1.0)}

    def bounces(t: Array, places: Array, v: Array) -> dict[str, float]:
        found, start = {}, fall
        for k in (1, 2, 3):
            end = start + 2.0 * fall * BOUNCE**k
            apex = places[(t > start) & (t < end), 1].max() - RADIUS
            found[f"apex {k}, relative"] = abs(apex / BOUNCE ** (2 * k) - 1.0)
            start = end
        return found

    return [
        Scene("box slides and stops", False, FRICTION, 0.0, HALF, 1.0, 0.0, 0.5, stops),
        Scene("ball slips, then rolls", True, 0.3, 0.0, RADIUS, 1.0, 0.0, 0.5, rolls),
        Scene(f"box on a slope, {EXCESS:g} below the limit", False, FRICTION, below, HALF, 0.0, 0.0, 1.0, sticks),
        Scene(f"box on a slope, {EXCESS:g} above the limit", False, FRICTION, above, HALF, 0.0, 0.0, 1.0, slides),
        Scene("ball bounces", True, 0.3, 0.0, 1.0 + RADIUS, 0.0, BOUNCE, 2.2, bounces),
    ]  # fmt: skip


def ours(scene: Scene, dt: float = DT) -> Run:
    """Return a run in sarrus: seconds that it takes, and figures."""
    gravity = G * np.array([np.sin(scene.slope), 0.0, -np.cos(scene.slope)])
    mechanism = sr.Mechanism(scene.name, gravity=tuple(gravity))
    mechanism.add_body("body", MASS, inertia=(scene.moment,) * 3)
    mechanism.add_joint("free", "free", "world", "body")
    law = {"friction": "coulomb", "friction_coefficient": scene.friction, "restitution": scene.bounce}
    if scene.ball:
        mechanism.add_contact("c", "body", radius=RADIUS, **law)
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1)) if not scene.ball else ()):
        mechanism.add_contact(f"c{k}", "body", (RADIUS * x, RADIUS * y, -HALF), **law)
    system = sr.System(mechanism)
    q, v = system.neutral(), np.zeros(6)
    q[2], v[0] = scene.height, scene.speed

    def run() -> tuple[float, dict[str, float]]:
        motion = sr.simulate(
            system, q, v, duration=scene.duration, dt=dt, error_estimate=False, progress=False
        )
        return motion.wall_seconds, scene.figures(motion.t, motion.q[:, [0, 2]], motion.v)

    return run


@dataclass(frozen=True)
class Setting:
    """What MuJoCo is told: options, and solref of all contacts in words and in numbers; none: its defaults."""

    name: str
    options: Mapping[str, str]
    stiffness: str = ""


def settings(scene: Scene, integrator: str, dt: float = DT) -> list[Setting]:
    """Return those that are tried for a scene."""
    found = []
    for number in REBOUNDING if scene.bounce else STIFF:
        stiffness, how = "", "solref 0.02"
        if scene.bounce:
            rate = float(number or 0.0) / dt
            damping = -np.log(scene.bounce) / np.hypot(np.pi, np.log(scene.bounce))
            stiffness, how = f"{-(rate**2)} {-2.0 * damping * rate}", f"ω dt {number}"
        elif number is not None:
            stiffness, how = f"{number * dt} 1", f"solref {number * dt:g}"
        for ratio, sweeps in product(RATIOS, SWEEPS):
            options = {"integrator": integrator, "impratio": str(ratio), "noslip_iterations": str(sweeps)}
            name = f"{integrator}, {how}, impratio {ratio}{', no slip' if sweeps else ''}"
            found.append(Setting(name, EXACTLY | options, stiffness))
    return found


def theirs(scene: Scene, setting: Setting, dt: float = DT) -> Run:
    """Return the same in MuJoCo."""
    shape = f'type="sphere" size="{RADIUS}"' if scene.ball else f'type="box" size="{RADIUS} {RADIUS} {HALF}"'
    stiff = f'solref="{setting.stiffness}" solimp="0.9999 0.9999 0.001 0.5 2"' if setting.stiffness else ""
    told = " ".join(f'{key}="{value}"' for key, value in setting.options.items())
    gravity = f"{G * np.sin(scene.slope)} 0 {-G * np.cos(scene.slope)}"
    contact, moment = f'friction="{scene.friction} 0 0" condim="3" {stiff}', scene.moment
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{dt}" gravity="{gravity}" {told}/><worldbody>
        <geom type="plane" size="9 9 1" {contact}/>
        <body pos="0 0 {scene.height}"><freejoint/><geom {shape} {contact}/>
        <inertial pos="0 0 0" mass="{MASS}" diaginertia="{moment} {moment} {moment}"/></body>
        </worldbody></mujoco>"""
    )
    data, count = mujoco.MjData(model), round(scene.duration / dt)
    places, speeds = np.zeros((count + 1, 2)), np.zeros((count + 1, 6))

    def run() -> tuple[float, dict[str, float]]:
        mujoco.mj_resetData(model, data)
        data.qvel[0], spent = scene.speed, 0.0
        for k in range(count + 1):
            places[k], speeds[k] = data.qpos[[0, 2]], data.qvel
            began = perf_counter()
            mujoco.mj_step(model, data)
            spent += perf_counter() - began
        return spent, scene.figures(dt * np.arange(count + 1), places, speeds)

    return run


def peers(scene: Scene) -> dict[str, Run]:
    """Return MuJoCo's defaults, which have no rebounds, and the best setting of each integrator."""
    found: dict[str, Run] = {} if scene.bounce else {"MuJoCo, default": theirs(scene, Setting("default", {}))}
    for integrator in INTEGRATORS:
        tried = [(setting.name, theirs(scene, setting)) for setting in settings(scene, integrator)]
        name, run = min(tried, key=lambda pair: max(pair[1]()[1].values()))
        found[f"MuJoCo, {name}"] = run
    return found


def rows(quick: bool) -> list[Row]:
    """Return a row for every scene and setting of MuJoCo, and those of work against error of the quadruped."""
    repeats, found = 3 if quick else 9, []
    note = f"steps of {DT:g} s on both sides; MuJoCo's best of 18 settings for each scene and integrator"
    for scene in scenes():
        runs = {"sarrus": ours(scene)} | peers(scene)
        results = [{name: run() for name, run in runs.items()} for _ in range(repeats)]
        times = {name: 1e6 * float(np.median([result[name][0] for result in results])) for name in runs}
        for name in runs:
            if name == "sarrus":
                continue
            found.append(
                Row(
                    name=scene.name,
                    model="",
                    ours_us=times["sarrus"],
                    conditions=conditions("mujoco", note=note, repeats=repeats),
                    peer=name,
                    peer_us=times[name],
                    ratio=times[name] / times["sarrus"],
                    extra={"ours_off": results[-1]["sarrus"][1], "peer_off": results[-1][name][1]},
                )
            )
    note = f"{DURATION:g} s without control; error of the largest coordinate against steps of {REFERENCE:g} s of sarrus"
    told = conditions("mujoco", note=note, repeats=repeats)
    for name, height in HEIGHTS.items():
        found += comparison(points(height, 1 if quick else 5), BOUNDS, "", name, told)
    return found


def points(height: float, repeats: int) -> list[Point]:
    """Return all settings of both programs for the quadruped, let go at a height above the floor."""
    path = ROOT / "models" / "quadruped.xml"
    mechanism = sr.load(path)
    mechanism.add_floor_contacts()
    system, q = sr.System(mechanism), np.array(mechanism.keyframes["stand"].q)
    q[2] += height

    def run(dt: float) -> tuple[float, Array]:
        motion = sr.simulate(
            system, q, duration=DURATION, dt=dt, every=10**9, error_estimate=False, progress=False
        )
        return motion.wall_seconds, motion.q[-1]

    chosen = [("sarrus", dt, lambda dt=dt: run(dt)) for dt in OURS]
    for integrator in (*INTEGRATORS, "RK4"):
        for how in ("as in the file", "stiff"):
            chosen += [
                (f"MuJoCo {integrator}, {how}", dt, _quadruped(str(path), q, integrator, how == "stiff", dt))
                for dt in THEIRS
            ]
    exact = run(REFERENCE)[1]
    results = [[call() for _, _, call in chosen] for _ in range(repeats)]
    times = np.median([[1e6 * seconds for seconds, _ in result] for result in results], axis=0)
    ends = [np.abs(end - exact).max() for _, end in results[-1]]
    return [
        Point(program, f"dt {dt:g}", float(time), float(end) if np.isfinite(end) else np.inf)
        for (program, dt, _), time, end in zip(chosen, times, ends)
    ]


def _quadruped(
    path: str, q: Array, integrator: str, stiff: bool, dt: float
) -> Callable[[], tuple[float, Array]]:
    """Return a run of MuJoCo; ``stiff``: contacts as stiff as the step allows."""
    model = mujoco.MjModel.from_xml_path(path)
    model.opt.timestep = dt
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    model.opt.iterations, model.opt.tolerance = 200, 1e-15
    if stiff:
        model.opt.impratio = 100.0
        model.geom_solref[:], model.geom_solimp[:, :3] = (2.0 * dt, 1.0), (0.9999, 0.9999, 1e-3)
    data, steps = mujoco.MjData(model), round(DURATION / dt)

    def run() -> tuple[float, Array]:
        mujoco.mj_resetData(model, data)
        data.qpos[:] = q
        began = perf_counter()
        mujoco.mj_step(model, data, steps)
        return perf_counter() - began, np.array(data.qpos)

    return run
