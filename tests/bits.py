"""Digests of what shipped models do: ``python tests/bits.py [NAME …]`` prints them as JSON.

`tests/test_reproducible_bits.py` compares those of processes with other processors, BLAS kernels and C libraries.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import sarrus as sr
from legged_robots import quadruped
from linear_precision import SHIPPED, shipped
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.activity import gaps

# Runs through singular configurations: q, v and duration [s].
SINGULAR = {
    "five_bar": ((np.pi, -np.pi, 0.0, np.pi), (0.0, 0.0, 0.0, 0.0), 2.9),
    "parallelogram": ((0.4, 1.4, -1.0, 1.0 - np.pi), (0.0, 0.0, 0.0, 0.0), 1.5),
    "slider_crank": ((0.0, 0.0), (8.0, -16.0), 1.5),
}
STIFF = {"stiff, springs"}
SEED = 5


def digest(arrays: Iterable[Array]) -> str:
    """Return the start of the SHA-256 of arrays, bit for bit but for the sign of NaN."""
    found = hashlib.sha256()
    for array in arrays:
        values = np.array(array, dtype=np.float64)
        values[np.isnan(values)] = np.nan
        found.update(values.tobytes())
    return found.hexdigest()[:16]


def of_motion(motion: sr.Trajectory) -> str:
    """Return the digest of a run."""
    facts = [p.time for p in motion.passages]
    return digest(
        [
            *(
                motion.t,
                motion.q,
                motion.v,
                motion.a,
                motion.u,
                motion.multipliers,
                motion.energy,
                motion.rank,
            ),
            *(motion.condition, motion.residual, np.array(facts)),
        ]
    )


def start_of(name: str) -> tuple[sr.System, Array, Array]:
    """Return a system, closed coordinates and admissible velocities, beside what the model begins with."""
    system, middle = shipped(name)
    rng = np.random.default_rng(SEED)
    closed = system.assemble(middle + 0.03 * rng.normal(size=system.nq), throw=False)
    q = closed.q if closed.status.ok else middle
    return system, q, system.project_velocity(q, 0.3 * rng.normal(size=system.nv))


def digests(name: str) -> Iterator[tuple[str, str]]:
    """Do with a model what depends on compiled code, and yield a digest of each."""
    system, q, v = start_of(name)
    u = np.random.default_rng(SEED).normal(size=system.nu)
    yield "assemble", digest([q, v])
    answer = system.forward_dynamics(q, v, u, throw=False)
    yield "forward", digest([answer.a, answer.multipliers, answer.constraint_force, np.array([answer.rank])])
    options = {"switching": False, "throw": False, "progress": False}
    dt = 1e-5 if name in STIFF else 1e-3
    yield "rk4", of_motion(sr.simulate(system, q, v, duration=40 * dt, dt=dt, **options))
    for method in ("dop853", "rodas5p"):
        yield (
            method,
            of_motion(sr.simulate(system, q, v, duration=40 * dt, method=method, rtol=1e-8, **options)),
        )
    runs = sr.rollout(
        system, np.tile(q, (9, 1)), np.linspace(0.5, 1.5, 9)[:, None] * v, duration=20 * dt, dt=dt, every=10,
        switching=False, threads=1,
    )  # fmt: skip
    yield "rollout", digest([runs.q, runs.v, runs.a])
    if name in SINGULAR:
        begin, speed, duration = SINGULAR[name]
        for method in ({"dt": 1e-3}, {"method": "dop853", "rtol": 1e-9}):
            motion = sr.simulate(system, begin, speed, duration=duration, **method, **options)
            assert motion.passages or "dt" not in method
            yield f"singular {method.get('method', 'rk4')}", of_motion(motion)
    if system.nu:
        names = system.coordinate_names[: min(system.nu, system.nv)]
        law = sr.control.ProjectedInverseDynamics(
            system, names, q[: len(names)] + 0.01, stiffness=10.0, damping=2.0
        )
        motion = sr.simulate(system, q, v, duration=20 * dt, dt=dt, control=law, **options)
        yield "law", of_motion(motion)
    if name == "quadruped":
        yield "legged law", of_motion(standing())
        fall = falling()
        yield "contacts", digest([fall.q, fall.v, fall.a, fall.contact_forces, fall.contact_loss])
    try:
        linear = sr.linearize_at(system, q, v, u)
    except (sr.ArgumentError, sr.SolveError) as error:
        yield "linear", type(error).__name__
    else:
        yield "linear", digest([linear.A, linear.B])


def standing() -> sr.Trajectory:
    """Return a run of the quadruped that holds its trunk on four feet with forces inside friction cones."""
    system, q = quadruped()
    tasks = [
        sr.control.Task(sr.control.orientation("trunk"), (0.02, 0.0, 0.0), 200.0, 25.0),
        sr.control.Task(sr.control.centre_of_mass("z"), 0.25, 200.0, 25.0),
    ]
    law = sr.control.LeggedController(system, tasks)
    return sr.simulate(system, q, duration=0.02, dt=1e-3, control=law, progress=False)


def falling() -> sr.Trajectory:
    """Return a run of the quadruped that drops on a floor with friction, slides and sags."""
    mechanism = sr.load(Path(__file__).resolve().parent.parent / "models" / "quadruped.xml")
    mechanism.add_floor_contacts()
    system = sr.System(mechanism)
    q, v = np.array(system.neutral()), np.zeros(system.nv)
    q[2] += 0.01 - min(gaps(system, q).values())
    v[:2] = 0.8, -0.3
    return sr.simulate(system, q, v, duration=0.12, dt=1e-3, error_estimate=False, progress=False)


def main() -> None:
    """Print the digests of the models named, of all by default."""
    print(json.dumps({name: dict(digests(name)) for name in sys.argv[1:] or SHIPPED}))


if __name__ == "__main__":
    main()
