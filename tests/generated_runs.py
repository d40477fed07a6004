"""Generated runs whose errors are known: stiff, fast, singular and driven mechanisms, fixed and adaptive steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

import sarrus as sr
from mechanisms import LOOPS, random_loop, random_state, random_tree

# Relative tolerance of the runs that count as exact, and the tolerance that confirms them.
EXACT, CONFIRMED = 1e-12, 3e-11


@dataclass(frozen=True)
class Run:
    """A motion and the options that it is done with."""

    family: str
    system: sr.System
    q: np.ndarray
    v: np.ndarray
    duration: float
    options: dict[str, Any]
    driven: dict[str, Any]


@lru_cache
def _stiff(seed: int) -> sr.System:
    """A tree with springs and dampers over many decades."""
    rng = np.random.default_rng(seed)
    mechanism = sr.Mechanism(f"stiff{seed}")
    parent = "world"
    for k in range(3):
        mechanism.add_body(f"b{k}", 1.0, (0.4, 0, 0), (0.05, 0.08, 0.08))
        stiffness, damping = 10.0 ** rng.uniform(0, 4.5), 10.0 ** rng.uniform(-1, 3)
        mechanism.add_joint(
            f"j{k}", "revolute", parent, f"b{k}", axis=rng.standard_normal(3),
            parent_pose=(0.8 * (k > 0), 0, 0), stiffness=stiffness, damping=damping,
        )  # fmt: skip
        parent = f"b{k}"
    return sr.System(mechanism)


@lru_cache
def _fast(seed: int) -> sr.System:
    """A free tree without damping: chaotic where it is fast."""
    return sr.System(random_tree(seed, ("revolute", "universal", "spherical")).mechanism)


@lru_cache
def _loop(kind: str) -> tuple[sr.System, np.ndarray]:
    mechanism, guess = random_loop(kind)
    system = sr.System(mechanism)
    return system, system.assemble(guess).q


@lru_cache
def _singular() -> sr.System:
    """A parallelogram of unequal masses, flat twice a turn."""
    mechanism = sr.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    for name, parent, mass, length, at in (
        ("driver", "world", 1.0, 1.0, 0.0),
        ("coupler", "driver", 1.0, 2.0, 1.0),
        ("rocker", "world", 2.0, 1.0, 2.0),
    ):
        mechanism.add_body(
            name, mass, (length / 2, 0, 0), (0.0, mass * length**2 / 12, mass * length**2 / 12)
        )
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure("pin", "point", "coupler", "rocker", pose1=(2, 0, 0), pose2=(1, 0, 0))
    return sr.System(mechanism)


def _options(rng: np.random.Generator, scale: float) -> dict[str, Any]:
    """Return fixed steps, or tolerances, over a range from hopeless to exact; ``scale`` [s] is that of the motion."""
    choice = rng.integers(4)
    if choice < 2:
        return {"dt": float(scale * 10.0 ** rng.uniform(-3.0, -0.3))}
    if choice == 2:
        return {"rtol": float(10.0 ** rng.uniform(-10.0, -2.0))}
    return {
        "method": str(rng.choice(["dopri5", "dop853", "rodas5p"])),
        "rtol": float(10.0 ** rng.uniform(-9.0, -2.0)),
    }


def generate(count: int, seed: int = 1) -> Iterator[Run]:
    """Return so many runs, the same for the same seed."""
    rng = np.random.default_rng(seed)
    kinds = tuple(LOOPS)[:4]
    for k in range(count):
        family = ("stiff", "fast", "singular", "driven")[k % 4]
        driven: dict[str, Any] = {}
        if family == "stiff":
            system, scale = _stiff(int(rng.integers(6))), 0.1
            q, v = 0.3 * rng.standard_normal(3), 2.0 * rng.standard_normal(3)
            duration = float(rng.uniform(0.3, 2.0))
        elif family == "fast":
            system, scale = _fast(int(rng.integers(4))), 0.1
            q, v = random_state(system, k)
            v, duration = 3.0 * v, float(10.0 ** rng.uniform(-0.5, 0.7))
        elif family == "singular":
            system, scale = _singular(), 0.1
            angle, rate = rng.uniform(-1.5, 1.5), rng.uniform(1.0, 4.0)
            q = np.array([np.pi / 2 - angle, angle - np.pi / 2, np.pi / 2 - angle])
            v = np.array([-rate, rate, -rate])
            duration = float(rng.uniform(0.5, 3.0))
        else:
            system, q = _loop(str(rng.choice(kinds)))
            scale, duration = 0.1, float(rng.uniform(0.5, 2.0))
            v = system.project_velocity(q, random_state(system, k)[1])
            rates = rng.uniform(3.0, 30.0, system.nv)

            def force(q: ca.SX, v: ca.SX, t: ca.SX, rates: np.ndarray = rates) -> ca.SX:
                return ca.vertcat(*(2.0 * ca.sin(float(w) * t) for w in rates))

            driven = {"force": force}
        yield Run(family, system, q, v, duration, _options(rng, scale), driven)


def judge(run: Run) -> tuple[float, sr.Trajectory] | None:
    """Return the largest relative error of a run, with the run; None where the exact motion is not known.

    Where a run ends early it has no error to speak of, and counts as infinitely wrong.
    """
    common = {"duration": run.duration, "throw": False, "progress": False, **run.driven}
    exact, other = (
        sr.simulate(
            run.system, run.q, run.v, rtol=tol, dt=run.duration / 1000, error_estimate=False, **common
        )
        for tol in (EXACT, CONFIRMED)
    )
    if exact.status is not sr.Status.OK or other.status is not sr.Status.OK:
        return None
    scale = _scale(exact)
    if not (np.abs(exact.q[-1] - other.q[-1]) / scale).max() < 1e-7:
        return None
    motion = sr.simulate(run.system, run.q, run.v, **run.options, **common)
    if not len(motion.t) or motion.t[-1] < run.duration - 1e-9:
        return np.inf, motion
    end = np.abs(motion.q[-1] - exact.q[-1]) / scale
    smooth = [k for k, name in enumerate(exact.coordinate_names) if name in exact.velocity_names]
    between = np.abs(motion.q - exact.at(motion.t))[:, smooth] / scale[smooth]
    return float(max(end.max(), between.max(initial=0.0))), motion


def _scale(exact: sr.Trajectory) -> np.ndarray:
    """Return one for angles, and the largest of the lengths for lengths."""
    lengths = np.array([unit == "m" for unit in exact.coordinate_units])
    return np.where(lengths, np.abs(exact.q[:, lengths]).max(initial=0.0) or 1.0, 1.0)
