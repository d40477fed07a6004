"""Random mechanisms in space that keep momenta, angular momenta and energy, and functions that are no invariants.

Each mechanism floats: a tree on a free joint, some with a closed loop, springs or dampers in its joints, gravity in any
direction or none, in several units. A run keeps all invariants that follow from that and one that depends on them. Its
momenta must be those of rigid motions, gᵀ M v with g the velocity of all bodies as one, constant to rounding; its
motion must be as near to an exact one as that of a run without. A function that is no invariant must end the run, by
its name alone. `python tests/families/kept_invariants.py --cases 200` prints the figures.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from sarrus.dynamics.model.units import coordinate_units, velocity_units

Array = np.ndarray
STATES = 5  # of each mechanism
# Lengths and masses of one: metres and kilograms, millimetres and grams, kilometres and tons.
UNITS = ((1.0, 1.0), (1e3, 1e3), (1e-3, 1e-3))
METHODS: tuple[dict[str, Any], ...] = (
    {"dt": 0.01}, {"method": "dopri5", "rtol": 1e-6}, {"method": "dop853", "rtol": 1e-8},
    {"method": "rodas5p", "rtol": 1e-7},
)  # fmt: skip
LENGTH_OF_RUN = 0.4


@dataclass
class Case:
    """A mechanism, its unit of length, what acts, the invariants of it and functions that are none."""

    system: sr.System
    length: float
    mass: float
    energetic: bool
    true: list[sr.Invariant]
    false: list[sr.Invariant]
    axes: list[tuple[str, Array, Array | None]]  # of momenta: kind, axis, point
    redundant: tuple[str, ...]


def build(seed: int) -> Case:
    """Return a floating mechanism."""
    rng = np.random.default_rng(seed)
    length, mass = UNITS[seed % len(UNITS)]
    down = rng.normal(size=3)
    down /= np.linalg.norm(down)
    heavy, damped, looped = bool(rng.integers(2)), rng.random() < 0.4, rng.random() < 0.5
    m = sr.Mechanism("floating", gravity=tuple(9.81 * length * down * heavy))
    parent, count = "world", int(rng.integers(3, 5))
    ends = [np.zeros(3)]
    for k in range(count):
        way = rng.normal(size=3)
        way *= rng.uniform(0.3, 0.6) / np.linalg.norm(way)
        own = mass * rng.uniform(0.5, 2.0)
        inertia = own * length**2 * rng.uniform(0.02, 0.03, 3)
        m.add_body(f"b{k}", mass=own, com=length * way / 2, inertia=inertia)
        kind = "free" if k == 0 else str(rng.choice(["revolute", "revolute", "prismatic", "spherical"]))
        axis = rng.normal(size=3)
        unit = length if kind == "prismatic" else 1.0
        more: dict[str, Any] = {}
        if kind in ("revolute", "prismatic"):
            more["stiffness"] = 2.0 * mass * length**2 / unit**2
            more["damping"] = 0.2 * mass * length**2 / unit**2 * damped
        m.add_joint(
            f"j{k}", kind, parent, f"b{k}", axis=axis / np.linalg.norm(axis),
            parent_pose=sr.Pose(position=length * ends[-1]) if k else None, **more,
        )  # fmt: skip
        parent = f"b{k}"
        ends.append(way)
    if looped:  # a rod from the last body to the first
        last = length * sum(ends[1:], np.zeros(3))
        m.add_closure(
            "rod", "distance", parent, "b0", pose1=sr.Pose(position=length * ends[-1]),
            length=float(np.linalg.norm(last)) or length,
        )  # fmt: skip
    system = sr.System(m)
    basis = np.linalg.svd(down[None])[2]  # down, and two directions across
    across = [basis[1], basis[2]] if heavy else list(rng.permutation(np.eye(3)))
    point = length * rng.normal(size=3)
    axes: list[tuple[str, Array, Array | None]] = [("momentum", axis, None) for axis in across]
    if heavy:
        axes += [("angular", axis, None) for axis in rng.permutation(np.eye(3))]
    else:
        axes += [("angular", axis, point) for axis in rng.permutation(np.eye(3))]
    true = [made(kind, axis, about, f"{kind} {k}") for k, (kind, axis, about) in enumerate(axes)]
    true.append(sr.Invariant.momentum(across[0] - 0.7 * across[1], name="depends"))
    if not damped:
        true.append(sr.Invariant.energy())
    false = [sr.Invariant("coordinate", lambda q, v, t: q[-1] / (length if "prismatic" in kind else 1.0))]
    if heavy:
        false = [
            sr.Invariant.momentum(down, name="falls"),
            sr.Invariant.angular_momentum(basis[1] + 0.3 * down, point=point, name="turns"),
        ]
    return Case(system, length, mass, not damped, true, false, axes, ("depends",))


def made(kind: str, axis: Array, about: Array | None, name: str) -> sr.Invariant:
    """Return an invariant of the library."""
    if kind == "momentum":
        return sr.Invariant.momentum(axis, name=name)
    return sr.Invariant.angular_momentum(axis, about, name=name)


def momenta(case: Case, q: Array, v: Array) -> Array:
    """Return the momenta of `axes` by gᵀ M v, with g the velocity of a rigid motion of all bodies."""
    s = case.system
    force, place, found = s.mass_matrix(q) @ v, q[:3], []
    linear = np.array([force[:3] @ np.eye(3)[k] for k in range(3)])
    bodies = list(s.mechanism.bodies.values())
    positions, turns = s.body_placements(q)
    turn = turns[0]
    centre = sum(b.mass * (positions[k] + turns[k] @ b.com) for k, b in enumerate(bodies)) / sum(
        b.mass for b in bodies
    )
    for kind, axis, point in case.axes:
        if kind == "momentum":
            found.append(linear @ axis)
            continue
        arm = place - (centre if point is None else point)
        found.append(force[:3] @ np.cross(axis, arm) + force[3:6] @ (turn.T @ axis))
    return np.array(found)


def start(case: Case, seed: int) -> tuple[Array, Array]:
    """Return a closed state."""
    s, rng = case.system, np.random.default_rng(1000 + seed)
    q = s.neutral()
    q[3:7] = rng.normal(size=4)
    units = np.array([case.length if unit.startswith("m") else 1.0 for unit in velocity_units(s)])
    q = s.move(s.normalized(q), 0.3 * rng.normal(size=s.nv) * units)
    q = s.assemble(q).q
    return q, s.project_velocity(q, rng.normal(size=s.nv) * units)


def check(case: Case, seed: int) -> tuple[str, float]:
    """Return what is wrong, or "right", and the largest change of an invariant, relative."""
    s, options = case.system, METHODS[seed % len(METHODS)]
    q, v = start(case, seed)
    common = {"duration": LENGTH_OF_RUN, "error_estimate": False, "throw": False}
    kept = sr.simulate(
        s, q, v, stabilization=sr.Stabilization(invariants=tuple(case.true)), **common, **options
    )
    if kept.status is not sr.Status.OK:
        return f"{kept.status.name}: {kept.message}", np.nan
    own = np.array([momenta(case, *state) for state in zip(kept.q, kept.v)])
    sizes = (
        case.mass
        * case.length
        * np.array([1.0 if kind == "momentum" else case.length for kind, _, _ in case.axes])
    )
    scale = np.maximum(np.abs(own).max(axis=0), sizes)
    change = float((np.abs(own - own[0]).max(axis=0) / scale).max())
    if case.energetic:
        change = max(change, kept.energy_drift / max(np.abs(kept.energy).max(), case.mass * case.length**2))
    told = [event.name for event in kept.events if "rank" in event.name]
    if len(told) != 1 or "'depends'" not in told[0]:
        return f"redundant rows told as {told}", change
    exact = sr.simulate(s, q, v, method="dop853", rtol=1e-12, **common)
    plain = sr.simulate(s, q, v, **common, **options)
    even = np.array([case.length if unit.startswith("m") else 1.0 for unit in coordinate_units(s)])
    wrong, usual = (float(np.abs((run.q[-1] - exact.q[-1]) / even).max()) for run in (kept, plain))
    if wrong > 5.0 * usual + options.get("rtol", 1e-9):
        return f"error {wrong:.2g} where it was {usual:.2g}", change
    for one in case.false:
        both = sr.Stabilization(invariants=(*case.true[:1], one))
        run = sr.simulate(s, q, v, stabilization=both, **common, **options)
        if run.status is not sr.Status.NOT_INVARIANT or f"'{one.name}'" not in run.message:
            return f"{one.name}: {run.status.name}: {run.message}", change
        if f"'{case.true[0].name}'" in run.message:
            return f"{case.true[0].name} is named beside {one.name}", change
    if options.get("dt"):
        many = sr.rollout(
            s, np.stack([q, q]), np.stack([v, 0.5 * v]), duration=LENGTH_OF_RUN, **options,
            stabilization=sr.Stabilization(invariants=tuple(case.true)), threads=1,
        )  # fmt: skip
        if (
            not (many.status == sr.Status.OK).all()
            or np.abs(many.final_q[0] - kept.q[-1]).max() > 1e-12 * case.length
        ):
            return f"rollout: {many.status}", change
    return "right" if change < 1e-11 else f"changed by {change:.2g}", change


def cases(first: int, count: int) -> Iterator[tuple[int, str, float]]:
    """Iterate over cases: seed, what is wrong, and the largest change."""
    for seed in range(first, first + count):
        if seed == first or seed % STATES == 0:
            case = build(seed // STATES)
        yield seed, *check(case, seed)


def main() -> None:
    """Print the figures of a number of cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    count: Counter[str] = Counter()
    worst = 0.0
    for seed, found, change in cases(given.first, given.cases):
        count["right" if found == "right" else "wrong"] += 1
        worst = max(worst, change)
        if found != "right":
            print(f"case {seed}: {found}", flush=True)
    print(f"{dict(count)}, largest change of an invariant {worst:.2g}")


if __name__ == "__main__":
    main()
