"""Ant-v5 of Gymnasium as a vector environment: a step of 64 copies here, and by `gymnasium.make_vec`.

The task is Gymnasium's: its file and floor, an action held for 50 ms, in steps of 5 ms on both sides, starts drawn
anew when the torso leaves 0.2 to 1 m, observation without contact forces, reward without their cost. Here the forward
speed is that at the end of a step, there the mean over it; starts are 0.35 m higher here, because feet that begin in
the floor are refused. "sync" is one thread: its processor time is compared as well, which other work on the machine
changes least. "async" works in processes.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import casadi as ca
import numpy as np

import sarrus as sr
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave

COPIES, DT, HELD = 64, 5e-3, 10
# The file's init_qpos, 0.35 m higher.
START = np.array([0.0, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0])


def rows(quick: bool) -> list[Row]:
    """Return a row for each vectorization of Gymnasium; none if it is not installed."""
    found = find_spec("gymnasium")
    if found is None or found.origin is None:
        return []
    path = Path(found.origin).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    repeats, steps, result = (3, 5, []) if quick else (9, 20, [])
    ours = ant(path)
    clocks = (
        ("sync", process_time, "processor time"),
        ("sync", perf_counter, "time"),
        ("async", perf_counter, "time"),
    )
    for mode, clock, kind in clocks:
        with tempfile.TemporaryDirectory() as folder:
            theirs = _gymnasium(path, Path(folder), mode)
            timed = interleave(_steps(ours, steps, clock), _steps(theirs, steps, clock), repeats)
            theirs.close()
        note = f"a thread for each core; action held for {HELD} steps of {1e3 * DT:g} ms; {kind} of a copy"
        row = Row(
            name="step of Ant-v5", model=f"{COPIES} copies", ours_us=timed.ours_us, peer_us=timed.peer_us,
            peer=f'Gymnasium, "{mode}", {kind}', ratio=timed.ratio, at_least=8.0,
            conditions=conditions("gymnasium", "mujoco", note=note, repeats=repeats),
        )  # fmt: skip
        result.append(row)
    ours.close()
    return result


def ant(path: Path, copies: int = COPIES, **options: Any) -> Any:
    """Return Ant-v5 as a vector environment of `sarrus.gym.make`, with compiled functions."""
    with warnings.catch_warnings(action="ignore", category=sr.ModelWarning):
        mechanism = sr.load(path)
    mechanism.add_floor_contacts()
    system = sr.System(mechanism)

    def reset(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        noise = rng.uniform(-0.1, 0.1, (n, system.nq)), 0.1 * rng.standard_normal((n, system.nv))
        noise[0][:, 2] *= 0.5
        return START + noise[0], noise[1]

    return sr.gym.make(
        system, q=START, num_envs=copies, sample_time=HELD * DT, dt=DT, duration=50.0, reset=reset, traced=True,
        observation=lambda q, v, u, t: ca.vertcat(q[2:], v),
        reward=lambda q, v, u, t: 1.0 + v[0] - 0.5 * ca.sumsqr(u),
        terminated=lambda q, v, u, t: ca.logic_or(q[2] < 0.2, q[2] > 1.0),
        **options,
    )  # fmt: skip


def _gymnasium(path: Path, folder: Path, mode: str) -> Any:
    import gymnasium

    text = path.read_text(encoding="utf-8")
    own = folder / "ant.xml"
    own.write_text(text.replace('timestep="0.01"', f'timestep="{DT}"'), encoding="utf-8")
    return gymnasium.make_vec(
        "Ant-v5", num_envs=COPIES, vectorization_mode=mode, xml_file=str(own), frame_skip=HELD,
        include_cfrc_ext_in_observation=False, contact_cost_weight=0.0,
    )  # fmt: skip


def _steps(environment: Any, steps: int, clock: Callable[[], float]) -> Callable[[], float]:
    """Return a function that takes some steps with random actions and returns the seconds of a step of a copy."""
    environment.reset(seed=0)
    rng = np.random.default_rng(0)

    def run() -> float:
        actions = rng.uniform(-1.0, 1.0, (steps, COPIES, 8)).astype(np.float32)
        began = clock()
        for action in actions:
            environment.step(action)
        return (clock() - began) / (steps * COPIES)

    return run
