"""One RK4 step of the five-bar: hard loop, projected on position and velocity, against MuJoCo's soft loop."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import mujoco

import sarrus as sr
from benchmarks.models import FIVE_BAR, case
from benchmarks.rows import Row, conditions
from benchmarks.timing import interleave

DT = 1e-3


def rows(quick: bool) -> list[Row]:
    """Return the time of a step on a regular stretch and through three singular configurations."""
    repeats = 7 if quick else 41
    found = []
    for name, duration in (("step", 0.5), ("step, 3 singular passages", 5.0)):
        steps = round(duration / DT)
        for peer, settings in (
            ("MuJoCo RK4", "as in the model file"),
            ("MuJoCo RK4, tuned", "PGS, no contacts"),
        ):
            theirs = _mujoco_batch(steps, tuned=peer.endswith("tuned"))
            result = interleave(_sarrus_batch(duration, steps), theirs, repeats)
            note = (
                f"dt 1 ms, {steps} steps in one call, from rest at 'symmetric': "
                f"sr.simulate with every={steps}, mj_step with nstep={steps}, its fastest way "
                f"(mujoco.rollout alike, a Python loop slower); MuJoCo options: {settings}"
            )
            found.append(
                Row(
                    name=name,
                    model="five_bar",
                    ours_us=result.ours_us,
                    peer=peer,
                    peer_us=result.peer_us,
                    ratio=result.ratio,
                    conditions=conditions("mujoco", note=note, repeats=repeats),
                    at_least=4.0,
                )
            )
    return found


def _sarrus_batch(duration: float, steps: int) -> Callable[[], float]:
    system = case("five_bar").system
    start = case("five_bar").mechanism.keyframes["symmetric"].q

    def run() -> float:
        motion = sr.simulate(system, start, duration=duration, dt=DT, every=steps, progress=False)
        return motion.wall_seconds / motion.steps

    return run


def _mujoco_batch(steps: int, *, tuned: bool) -> Callable[[], float]:
    model = mujoco.MjModel.from_xml_path(str(FIVE_BAR))
    if tuned:
        model.opt.solver = mujoco.mjtSolver.mjSOL_PGS
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    data = mujoco.MjData(model)
    key = model.key("symmetric").id

    def run() -> float:
        mujoco.mj_resetDataKeyframe(model, data, key)
        began = perf_counter()
        mujoco.mj_step(model, data, steps)
        return (perf_counter() - began) / steps

    return run
