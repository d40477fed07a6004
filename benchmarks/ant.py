"""Ant of Gymnasium, also with dry friction, and the quadruped of the documentation: steps of many runs on a floor.

Peers are one run after the other, `mujoco.rollout` and Gymnasium's vector environment. Times are processor times, which
other work on the machine changes least, unless a row says wall time. Ants are dropped from 0.75 m, quadrupeds stand on
the floor; random controls are held for five steps. Both sides have the same starts, controls and steps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import mujoco
import mujoco.rollout
import numpy as np

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.activity import gaps

HELD = 5
# Where the file's legs touch: ends of the capsules, by the signs of x and y in the axes of their bodies.
FEET = {
    "left_ankle_geom": (1, 1), "right_ankle_geom": (-1, 1), "third_ankle_geom": (-1, -1), "fourth_ankle_geom": (1, -1),
}  # fmt: skip
# Targets [µs] for a step.
TARGETS = {"limits alone": 2.0, "four points": 4.0, "all geometries": 6.0}
# Dry friction [N m] of the joints of Ant in a row of its own.
DRY = 0.2
QUADRUPED = Path(__file__).parents[1] / "models" / "quadruped.xml"
_FOLDERS: list[TemporaryDirectory[str]] = []  # of files that are read until the end
Clock = Callable[[], float]
Timed = Callable[[], float]


@dataclass(frozen=True)
class Scene:
    """A system and its file, the step [s], and starts and controls of runs: (runs, nq), (runs, nv), (runs, n, nu)."""

    system: sr.System
    path: Path
    dt: float
    q: Array
    v: Array
    u: Array

    @property
    def steps(self) -> int:
        """Number of steps of a run."""
        return HELD * self.u.shape[1]

    @property
    def units(self) -> int:
        """Number of steps of all runs."""
        return len(self.q) * self.steps

    def rollout(self, threads: int = 1, **options: object) -> sr.Rollout:
        """Return the runs; a run that fails is an error."""
        done = sr.rollout(
            self.system, self.q, self.v, u=self.u, duration=self.steps * self.dt, dt=self.dt, every=None,
            progress=False, threads=threads, **options,
        )  # fmt: skip
        if done.failed.size:
            raise RuntimeError(f"{self.system.name}: {done}")
        return done

    def ours(self, clock: Clock, threads: int = 1, *, side_by_side: bool = True) -> float:
        """Return the time of a step of a run [s]."""
        began = clock()
        self.rollout(threads, side_by_side=side_by_side)
        return (clock() - began) / self.units


def rows(quick: bool) -> list[Row]:
    """Return a row for every choice of contacts and every peer; none if Gymnasium is not installed."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        return []
    path = Path(found.origin).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    repeats, runs, many, result = (3, 16, 256, []) if quick else (9, 64, 4096, [])
    for kind, within in TARGETS.items():
        scene = _ant(path, kind, runs)
        alone = partial(scene.ours, process_time, side_by_side=False)
        peers: dict[str, Timed] = {"sarrus, one run after the other": alone}
        if kind == "all geometries":
            peers["MuJoCo rollout, Euler"] = _mujoco(scene, process_time)
        for name, theirs in peers.items():
            note = f"one thread, {runs} runs of {scene.steps} steps; processor time"
            result.append(
                _row(kind, name, partial(scene.ours, process_time), theirs, note, repeats, within=within)
            )
    result += _many(_ant(path, "all geometries", many, intervals=10), "Ant", repeats // 3)
    scenes = {
        "Ant": _ant(path, "all geometries", runs), "Ant with dry friction": _dry(path, runs),
        "quadruped": _quadruped(runs),
    }  # fmt: skip
    result += [_checks(scene, name, repeats) for name, scene in scenes.items()]
    result.append(_rest(scenes["Ant"], "Ant", repeats))
    result += _calls(scenes["Ant"], repeats)
    return result


def _many(scene: Scene, name: str, repeats: int) -> list[Row]:
    """Return rows of many runs in two threads, in processor time and wall time."""
    found = []
    for clock, what in ((process_time, "processor time"), (perf_counter, "wall time")):
        note = f"two threads, {len(scene.q)} runs of {scene.steps} steps; {what}"
        theirs = _mujoco(scene, clock, threads=2)
        found.append(
            _row(
                f"{name}, {what}",
                "MuJoCo rollout, Euler",
                partial(scene.ours, clock, 2),
                theirs,
                note,
                repeats,
            )
        )
    return found


def _checks(scene: Scene, name: str, repeats: int) -> Row:
    """Return a row against MuJoCo with the penetration of both.

    Raises an error if the bits of a run depend on its neighbours or on the number of threads.
    """
    order = np.random.default_rng(1).permutation(len(scene.q))
    mixed = Scene(scene.system, scene.path, scene.dt, *(part[order] for part in (scene.q, scene.v, scene.u)))
    if not np.array_equal(scene.rollout().final_q[order], mixed.rollout(threads=2).final_q):
        raise RuntimeError(f"{name}: a run depends on its neighbours")
    depth, their_depth = _depths(scene)
    note = f"one thread, {len(scene.q)} runs of {scene.steps} steps; processor time; "
    note += f"largest penetration {1e3 * depth:.2g} mm, of MuJoCo {1e3 * their_depth:.2g} mm"
    return _row(
        name,
        "MuJoCo rollout, Euler",
        partial(scene.ours, process_time),
        _mujoco(scene, process_time),
        note,
        repeats,
    )


def _rest(scene: Scene, name: str, repeats: int) -> Row:
    """Return a row of runs at rest against moving ones."""
    still, note = (
        _at_rest(scene),
        f"at rest, without controls; one thread, {len(scene.q)} runs; processor time",
    )
    ours, peer = partial(still.ours, process_time), partial(scene.ours, process_time)
    return _row(f"{name} at rest", "sarrus, moving", ours, peer, note, repeats)


def _calls(scene: Scene, repeats: int) -> list[Row]:
    """Return rows of one step a call, against a step of a rollout and against Gymnasium's vector environment."""
    import gymnasium

    count = len(scene.q)
    ours = sr.gym.make(
        scene.system, q=scene.q[0], num_envs=count, dt=scene.dt, sample_time=scene.dt, duration=1e6, threads=1
    )

    def step() -> float:
        ours.reset(options={"q": scene.q, "v": scene.v})
        began = process_time()
        for number in range(scene.steps):
            ours.step(scene.u[:, number // HELD])
        return (process_time() - began) / scene.units

    theirs = gymnasium.make_vec("Ant-v5", num_envs=count, vectorization_mode="sync", frame_skip=1)

    def their_step() -> float:
        theirs.reset(seed=0)
        began = process_time()
        for number in range(scene.steps):
            theirs.step(scene.u[:, number // HELD])
        return (process_time() - began) / scene.units

    note = f"one thread, {count} copies, one step a call; processor time"
    peers = {
        "sarrus, step of a rollout": partial(scene.ours, process_time),
        "Gymnasium, vector environment": their_step,
    }
    return [_row("Ant, one step a call", name, step, peer, note, repeats) for name, peer in peers.items()]


def _row(
    kind: str, peer: str, ours: Timed, theirs: Timed, note: str, repeats: int, within: float | None = None
) -> Row:
    timed = interleave(ours, theirs, max(repeats, 1))
    return Row(
        name="step on a floor", model=kind, ours_us=timed.ours_us, peer=peer, peer_us=timed.peer_us,
        ratio=timed.ratio, within_us=within, conditions=conditions("mujoco", note=note, repeats=repeats),
    )  # fmt: skip


def _ant(path: Path, kind: str, runs: int, intervals: int = 40) -> Scene:
    with warnings.catch_warnings(action="ignore", category=sr.ModelWarning):
        mechanism = sr.load(path)
    if kind == "all geometries":
        mechanism.add_floor_contacts()
    for name, (x, y) in FEET.items() if kind == "four points" else ():
        body = mechanism.geoms[name].body
        law = {"friction": "coulomb", "friction_coefficient": 1.0}
        mechanism.add_contact(name, body, (0.4 * x, 0.4 * y, 0.0), radius=0.08, **law)
    system, rng = sr.System(mechanism), np.random.default_rng(0)
    q = np.tile(system.neutral(), (runs, 1))
    q[:, 7:] = np.array([0, 1, 0, -1, 0, -1, 0, 1]) + rng.uniform(-0.1, 0.1, (runs, 8))
    v = 0.1 * rng.normal(size=(runs, system.nv))
    return Scene(system, path, 5e-3, q, v, rng.uniform(-1.0, 1.0, (runs, intervals, system.nu)))


def _dry(path: Path, runs: int) -> Scene:
    """Return Ant with dry friction in all its joints."""
    text = path.read_text().replace('<joint armature="1"', f'<joint frictionloss="{DRY}" armature="1"')
    text = text.replace('<joint armature="0"', '<joint frictionloss="0" armature="0"')
    folder = TemporaryDirectory(prefix="sarrus-ant-")
    _FOLDERS.append(folder)
    file = Path(folder.name) / path.name
    file.write_text(text)
    return _ant(file, "all geometries", runs)


def _quadruped(runs: int) -> Scene:
    with warnings.catch_warnings(action="ignore", category=sr.ModelWarning):
        mechanism = sr.load(QUADRUPED)
    mechanism.add_floor_contacts()
    system, rng = sr.System(mechanism), np.random.default_rng(0)
    q = np.tile(mechanism.keyframes["stand"].q, (runs, 1))
    q[:, 2] += 2e-3 - min(gaps(system, q[0]).values())
    v = np.zeros((runs, system.nv))
    v[:, :3] = rng.normal(0.0, 0.3, (runs, 3))
    return Scene(system, QUADRUPED, 2e-3, q, v, rng.uniform(-5.0, 5.0, (runs, 40, system.nu)))


def _at_rest(scene: Scene) -> Scene:
    """Return runs that begin where those of the scene lie after three seconds without controls."""
    system = scene.system
    ends = sr.rollout(system, scene.q, scene.v, duration=3.0, dt=scene.dt, progress=False)
    return Scene(system, scene.path, scene.dt, ends.final_q, ends.final_v, np.zeros_like(scene.u))


def _mujoco(scene: Scene, clock: Clock, threads: int = 0) -> Timed:
    def run() -> float:
        began = clock()
        pool.rollout(model, data, states, control, nstep=scene.steps)
        return (clock() - began) / scene.units

    model, data, states, control = _mujoco_runs(scene)
    pool = mujoco.rollout.Rollout(nthread=threads)
    return run if threads == 0 else _in_threads(pool, model, states, control, scene, clock, threads)


def _in_threads(
    pool: mujoco.rollout.Rollout, model: mujoco.MjModel, states: Array, control: Array, scene: Scene, clock: Clock,
    threads: int,
) -> Timed:  # fmt: skip
    data = [mujoco.MjData(model) for _ in range(threads)]

    def run() -> float:
        began = clock()
        pool.rollout(model, data, states, control, nstep=scene.steps)
        return (clock() - began) / scene.units

    return run


def _mujoco_runs(scene: Scene) -> tuple[mujoco.MjModel, mujoco.MjData, Array, Array]:
    """Return model and data of MuJoCo, the starts, and the controls of every step."""
    model, what = mujoco.MjModel.from_xml_path(str(scene.path)), mujoco.mjtState.mjSTATE_FULLPHYSICS
    model.opt.timestep, model.opt.integrator = scene.dt, mujoco.mjtIntegrator.mjINT_EULER
    data = mujoco.MjData(model)
    states = np.empty((len(scene.q), mujoco.mj_stateSize(model, what)))
    for row, position, velocity in zip(states, scene.q, scene.v):
        data.qpos[:], data.qvel[:] = position, velocity
        mujoco.mj_getState(model, data, row, what)
    return model, data, states, np.repeat(scene.u, HELD, axis=1)


def _depths(scene: Scene, runs: int = 4) -> tuple[float, float]:
    """Return the largest penetration [m] in some runs, of sarrus and of MuJoCo, by the same gaps."""
    system, nq = scene.system, scene.system.nq
    own = sr.rollout(
        system, scene.q[:runs], scene.v[:runs], u=scene.u[:runs], duration=scene.steps * scene.dt, dt=scene.dt,
        every=1, progress=False,
    )  # fmt: skip
    model, data, states, control = _mujoco_runs(scene)
    theirs, _ = mujoco.rollout.Rollout(nthread=0).rollout(
        model, data, states[:runs], control[:runs], nstep=scene.steps
    )
    own_states, their_states = own.q.reshape(-1, nq), theirs[..., 1 : 1 + nq].reshape(-1, nq)
    return _deepest(system, own_states), _deepest(system, their_states)


def _deepest(system: sr.System, states: Array) -> float:
    return max(0.0, *(-min(gaps(system, q).values()) for q in states))
