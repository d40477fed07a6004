"""Contact problems in HDF5 files: seeded random ones, and those of robots that fall on their feet.

``python -m benchmarks.contact_files FILE [MODEL ...]`` writes one, with the problems of further model files. Every
problem is a group: the datasets ``rows`` H (m × k), ``velocities`` b (m), ``sizes`` and ``numbers`` (of all contacts,
then of all dry friction: their rows, and μ or the limit); the attributes ``contacts``, how many of these are contacts,
and ``family``. Forces r and velocities u = H Hᵀ r + b are asked for, in coordinates in which the kinetic metric is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import casadi as ca
import h5py
import numpy as np
from examples import biped_four_bar

import sarrus as sr
from benchmarks.contact_instances import Problem, random_problem
from benchmarks.models import ROOT
from sarrus.base.arrays import Array
from sarrus.dynamics.impacts import activity

SIZES, EACH, SEED = (1, 2, 4, 8, 16, 32), 40, 19
# By how many decades masses differ in random problems.
MASSES = {"masses alike": 0.0, "masses over six decades": 6.0}
# A robot is dropped by so much [m], falls for so long [s]; a step of it is a problem, with what is closed to this [m].
DROP, FALL, DT, NEAR = 0.02, 0.4, 1e-3, 1e-4
FRICTION = 0.6

Family = tuple[str, Problem]


def random_families() -> Iterator[Family]:
    """Yield random problems of every kind and size."""
    for kind, decades in MASSES.items():
        for size in SIZES:
            rng = np.random.default_rng([SEED, size])
            for _ in range(EACH):
                yield f"{kind}, {size} contacts", random_problem(rng, size, size, decades)


def robots(models: Sequence[Path] = ()) -> Iterator[sr.Mechanism]:
    """Yield robots of the repository, and those of files, with friction at what touches the floor."""
    quadruped = sr.load(ROOT / "models" / "quadruped.xml")
    quadruped.add_floor_contacts()
    yield quadruped
    biped = biped_four_bar.build()
    for name in list(biped.contacts):
        biped.contacts[name] = replace(
            biped.contacts[name], friction="coulomb", friction_coefficient=FRICTION
        )
    yield biped
    for path in models:
        robot = sr.load(path)
        robot.add_floor_contacts(friction_coefficient=FRICTION)
        yield robot


def harvest(mechanism: sr.Mechanism, most: int = EACH) -> Iterator[Problem]:
    """Drop a robot on its feet, without control, and yield problems of steps of its fall that have contacts."""
    system = sr.System(mechanism)
    q = np.array(system.assemble(_pose(mechanism, system)).q)
    height = system.coordinate_names.index(next(n for n in system.coordinate_names if n.endswith(".z")))
    q[height] += DROP - min(activity.gaps(system, q).values())
    motion = sr.simulate(system, q, duration=FALL, dt=DT, error_estimate=False, progress=False)
    found = [problem for q, v in zip(motion.q, motion.v) if (problem := problem_at(system, q, v)) is not None]
    chosen = np.unique(np.linspace(0, len(found) - 1, most).astype(int))
    yield from (found[k] for k in chosen)


def _pose(mechanism: sr.Mechanism, system: sr.System) -> Array:
    """Return the first key frame, that of the example, or the neutral configuration."""
    if mechanism.name == "biped_four_bar":
        return biped_four_bar.standing(sr.System(biped_four_bar.build()))
    for frame in mechanism.keyframes.values():
        return np.array(frame.q)
    return system.neutral()


def problem_at(system: sr.System, q: Array, v: Array) -> Problem | None:
    """Return the problem of a step from a state, loops eliminated by their null space; None where nothing touches."""
    e = system.equations
    gaps = activity.gaps(system, q)
    closed = [k for k, touch in enumerate(e.friction_contacts) if gaps[touch.name] < NEAR]
    if not closed:
        return None
    motion = system.compiled.named(
        "rows of contacts",
        lambda: {"J": ca.jacobian(ca.vertcat(*(t.rates for t in e.friction_contacts)), e.v)},
    )
    ends = np.cumsum([0, *(len(touch.row_names) for touch in e.friction_contacts)])
    J = motion(system.pack(q, v, None, 0.0)).reshape(ends[-1], system.nv)
    J = np.vstack([J[ends[k] : ends[k + 1]] for k in closed])
    root = np.linalg.cholesky(system.mass_matrix(q))
    A = np.linalg.solve(root, system.constraint_jacobian(q).T).T
    _, sizes, axes = np.linalg.svd(np.vstack([A, np.zeros((1, system.nv))]))
    free = axes[np.sum(sizes > 1e-9 * sizes.max(initial=1e-300)) :]
    H = np.linalg.solve(root, J.T).T @ free.T
    b = J @ (v + DT * system.forward_dynamics(q, v, contacts=False).a)
    return Problem(
        H,
        b,
        [
            (len(e.friction_contacts[k].row_names), e.friction_contacts[k].friction_coefficient)
            for k in closed
        ],
        [],
    )


def write(path: Path, problems: Sequence[Family]) -> None:
    """Write problems to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for k, (family, problem) in enumerate(problems):
            group = file.create_group(f"{k:05d}")
            blocks = [*problem.contacts, *problem.dry]
            group["rows"], group["velocities"] = problem.rows, problem.velocities
            group["sizes"] = np.array([size for size, _ in blocks], dtype=np.int64)
            group["numbers"] = np.array([number for _, number in blocks])
            group.attrs["contacts"], group.attrs["family"] = len(problem.contacts), family


def read(path: Path) -> list[Family]:
    """Return the problems of a file."""
    found = []
    with h5py.File(path) as file:
        for group in file.values():
            blocks = list(zip(group["sizes"][()].tolist(), group["numbers"][()].tolist()))
            count = int(group.attrs["contacts"])
            problem = Problem(group["rows"][()], group["velocities"][()], blocks[:count], blocks[count:])
            found.append((str(group.attrs["family"]), problem))
    return found


def make(path: Path, models: Sequence[Path] = ()) -> None:
    """Write the random problems, and those of all robots."""
    fallen = [(robot.name, problem) for robot in robots(models) for problem in harvest(robot)]
    write(path, [*random_families(), *fallen])


if __name__ == "__main__":
    make(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
