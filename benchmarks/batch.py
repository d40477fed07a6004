"""Many runs at once on all processors: `sr.rollout` against MuJoCo's batches, and lanes against one after the other."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import mujoco
import mujoco.batch
import mujoco.rollout
import numpy as np

import sarrus as sr
from benchmarks.models import FIVE_BAR, Case, case
from benchmarks.mujoco_peer import MujocoPeer
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave
from sarrus.base.arrays import Array
from sarrus.motion.many.workers import default_threads

DT = 1e-3
# model: number of runs, number of steps, least ratio against MuJoCo
SIZES = {"five_bar": (256, 500, 8.0), "platform": (128, 250, None), "quadruped": (64, 250, 3.0)}


def rows(quick: bool) -> list[Row]:
    """Return the time of a step of one run."""
    repeats = 3 if quick else 9
    found = []
    for name, (runs, steps, at_least) in SIZES.items():
        ours = _sarrus(name, runs, steps, side_by_side=True)
        for peer, theirs in _peers(name, runs, steps).items():
            result = interleave(ours, theirs, repeats)
            note = f"{default_threads()} threads, {runs} runs of {steps} steps of 1 ms, RK4, the end of each kept"
            found.append(
                Row(
                    name="step of a batch",
                    model=name,
                    ours_us=result.ours_us,
                    peer=peer,
                    peer_us=result.peer_us,
                    ratio=result.ratio,
                    conditions=conditions("mujoco", note=note, repeats=repeats),
                    at_least=at_least if peer.startswith("MuJoCo") else None,
                )
            )
    return found


def _starts(name: str, runs: int) -> tuple[Case, Array, Array, Array | None]:
    """Return closed states, scattered, and what holds the quadruped up: four feet pinned, twelve motors."""
    made = case(name)
    system, rng = made.system, np.random.default_rng(0)
    middle = np.array(made.mechanism.keyframes["symmetric"].q) if name == "five_bar" else made.q
    q = np.array([system.assemble(middle + 0.02 * rng.normal(size=system.nq)).q for _ in range(runs)])
    v = np.array([system.project_velocity(row, 0.1 * rng.normal(size=system.nv)) for row in q])
    held = (
        system.inverse_dynamics(middle, np.zeros(system.nv), np.zeros(system.nv)).u
        if name == "quadruped"
        else None
    )
    return made, q, v, held


def _sarrus(name: str, runs: int, steps: int, *, side_by_side: bool) -> Callable[[], float]:
    made, q, v, u = _starts(name, runs)

    def run() -> float:
        done = sr.rollout(
            made.system, q, v, u=u, duration=steps * DT, dt=DT, side_by_side=side_by_side, switching=False,
            progress=False,
        )  # fmt: skip
        if done.failed.size:
            raise RuntimeError(f"{name}: {done}")
        return done.wall_seconds / (runs * steps)

    return run


def _peers(name: str, runs: int, steps: int) -> dict[str, Callable[[], float]]:
    """Return MuJoCo's two batches with the settings of the file and with its fastest, and sarrus without lanes."""
    made, q, v, u = _starts(name, runs)
    peers = {}
    for tuned in (False, True):
        if name == "five_bar":
            model = mujoco.MjModel.from_xml_path(str(FIVE_BAR))
        else:
            model = MujocoPeer(made.mechanism, made.system, made.q, made.v).model
        model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, DT
        model.opt.solver = mujoco.mjtSolver.mjSOL_PGS if tuned else mujoco.mjtSolver.mjSOL_NEWTON
        if tuned:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        how = ", tuned" if tuned else ""
        peers[f"MuJoCo rollout{how}"] = _mujoco_rollout(model, q, v, u, steps)
        peers[f"MuJoCo batch{how}"] = _mujoco_batch(model, q, v, u, steps)
    peers["sarrus, one run after the other"] = _sarrus(name, runs, steps, side_by_side=False)
    return peers


def _mujoco_rollout(
    model: mujoco.MjModel, q: Array, v: Array, u: Array | None, steps: int
) -> Callable[[], float]:
    threads, what = default_threads(), mujoco.mjtState.mjSTATE_FULLPHYSICS
    data = [mujoco.MjData(model) for _ in range(threads)]
    states = np.empty((len(q), mujoco.mj_stateSize(model, what)))
    for row, position, velocity in zip(states, q, v):
        data[0].qpos[:], data[0].qvel[:] = position, velocity
        mujoco.mj_getState(model, data[0], row, what)
    control = None if u is None else np.broadcast_to(u, (len(q), steps, len(u))).copy()
    pool = mujoco.rollout.Rollout(nthread=threads)

    def run() -> float:
        began = perf_counter()
        pool.rollout(model, data, states, control, nstep=steps)
        return (perf_counter() - began) / (len(q) * steps)

    return run


def _mujoco_batch(
    model: mujoco.MjModel, q: Array, v: Array, u: Array | None, steps: int
) -> Callable[[], float]:
    batch = mujoco.batch.Batch(model, nsim=len(q), nthread=default_threads())

    def run() -> float:
        batch.qpos[:], batch.qvel[:] = q, v
        if u is not None:
            batch.ctrl[:] = u
        began = perf_counter()
        batch.step(nstep=steps)
        return (perf_counter() - began) / (len(q) * steps)

    return run
