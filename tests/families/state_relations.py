"""Random loops in random coordinates: relations with velocities and momenta, in several units, with redundant rows.

Each case is a state of a random spatial loop. In coordinates y = q_i + sin(q_j)/5, z = C(q) v, and in momenta, its
motion must be the one in all coordinates; its linear model must have the derivatives of ẇ = f̂(w), by differences of
fourth order; and momenta must obey Hamilton's equations, by differences of the energy of Ψ(y, p).
`python tests/families/state_relations.py --cases 200` prints the largest differences.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import casadi as ca
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from sarrus.base.errors import SarrusError
from sarrus.dynamics.coordinates import Momenta, Relation

Array = np.ndarray
STATES = 10  # of each loop
STEP = 2.5e-4  # of differences, relative
# Lengths and masses of one: metres and kilograms, millimetres and grams, feet and slugs.
UNITS = ((1.0, 1.0), (1e3, 1e3), (3.28084, 1.0 / 14.5939))


def build(seed: int) -> tuple[sr.System, Array]:
    """Return a loop of five joints with two degrees of freedom, and what its coordinates are measured by."""
    rng = np.random.default_rng(seed)
    length, mass = UNITS[seed % len(UNITS)]
    m = sr.Mechanism("loop", gravity=tuple(length * np.array([1.0, -2.0, -9.81])))
    slides = rng.permutation([True, False, False, False, False])
    parent, place, end = "world", np.zeros(3), np.zeros(3)
    for k in range(5):
        way = rng.normal(size=3)
        way *= rng.uniform(0.3, 0.6) / np.linalg.norm(way)
        own = mass * rng.uniform(0.5, 2.0)
        inertia = own * length**2 * rng.uniform(0.02, 0.03, 3)
        m.add_body(f"link{k}", mass=own, com=length * way / 2, inertia=inertia)
        axis = rng.normal(size=3)
        m.add_joint(
            f"j{k}", "prismatic" if slides[k] else "revolute", parent, f"link{k}",
            axis=axis / np.linalg.norm(axis), parent_pose=sr.Pose(position=length * place),
        )  # fmt: skip
        m.add_actuator(f"u{k}", f"j{k}")
        parent, place, end = f"link{k}", way, end + way
    ends = {"pose1": sr.Pose(position=length * place), "pose2": sr.Pose(position=length * end)}
    for k in range(1 + seed % 2):  # the second one is redundant
        m.add_closure(f"end{k}", "point", parent, "world", **ends)
    return sr.System(m), np.where(slides, length, 1.0)


def relation(system: sr.System, size: Array, rng: np.random.Generator) -> Relation:
    """Return y = q_i + s_i sin(q_j / s_j) / 5 and z = C(q) v at two coordinates i, j one of the others."""
    two = rng.choice(system.nq, 2, replace=False)
    other = [int(rng.choice([k for k in range(system.nq) if k != i])) for i in two]
    mix = rng.uniform(-0.4, 0.4, (2, 2))

    def place(q: ca.SX, y: ca.SX) -> list[ca.SX]:
        return [
            q[i] + size[i] * ca.sin(q[j] / size[j]) / 5 - y[k] for k, (i, j) in enumerate(zip(two, other))
        ]

    def speed(q: ca.SX, v: ca.SX, y: ca.SX, z: ca.SX) -> list[ca.SX]:
        return [
            v[i] + sum(mix[k, m] * ca.cos(q[i] / size[i]) * v[n] * size[i] / size[n] for m, n in enumerate(two)) - z[k]
            for k, i in enumerate(two)
        ]  # fmt: skip

    return Relation(place, ["a", "b"], velocity=speed, velocity_names=["va", "vb"])


def slopes(function: Callable[[Array], Array], w: Array, size: Array) -> Array:
    """Return the derivatives of a function by differences of fourth order."""
    columns = []
    for k in range(len(w)):
        e = STEP * size[k] * np.eye(len(w))[k]
        near, far = (function(w + s * e) - function(w - s * e) for s in (1, 2))
        columns.append((8 * near - far) / (12 * STEP * size[k]))
    return np.array(columns).T


def check(system: sr.System, size: Array, seed: int) -> dict[str, float]:
    """Return the largest relative differences at one state: of the motion, of the linear model, of Hamilton's."""
    rng = np.random.default_rng(1000 + seed)
    found = system.assemble(0.3 * size * rng.normal(size=system.nq), throw=False)
    q, u = found.q, rng.normal(size=system.nu)
    v = system.project_velocity(q, size * rng.normal(size=system.nv))
    own = relation(system, size, rng)
    worst = {"motion": 0.0, "model": 0.0, "hamilton": 0.0}
    plain = sr.simulate(system, q, v, duration=0.1, rtol=1e-11, error_estimate=False)
    for coordinates in (own, Momenta()):
        chart = sr.parametrize(system, q, v, coordinates=coordinates)
        if chart.condition(q, v) > 100.0:  # differences say little there
            raise SarrusError("poor coordinates")
        run = sr.simulate(
            system, q, v, duration=0.1, rtol=1e-11, error_estimate=False, coordinates=coordinates
        )
        nv = system.nv
        last = (run.q[-1] - plain.q[-1]) / size, (run.v[-1, :nv] - plain.v[-1]) / size / 10.0
        worst["motion"] = max(worst["motion"], *(float(np.abs(part).max()) for part in last))
        y, z = chart.to_independent(q, v)
        w, n = np.concatenate([y, z]), len(y)
        scale = np.maximum(np.abs(chart.tangent(q, v) / np.tile(size, 2)[:, None]).max(axis=0), 1e-300) ** -1

        def rates(w: Array, chart: sr.Parametrization = chart, n: int = n) -> Array:
            return np.concatenate(chart.state_rate(w[:n], w[n:], u))

        model = sr.linearize_at(system, q, v, u, coordinates=coordinates)
        difference = (model.A - slopes(rates, w, scale)) * scale / scale[:, None]
        even = np.abs(model.A * scale / scale[:, None]).max()
        worst["model"] = max(worst["model"], float(np.abs(difference).max()) / max(even, 1.0))
        if coordinates is not own:

            def energy(w: Array, chart: sr.Parametrization = chart, n: int = n) -> Array:
                place, speed = chart.to_full(w[:n], w[n:])
                return np.array([system.kinetic_energy(place, speed) + system.potential_energy(place)])

            gradient = slopes(energy, w, scale)[0]
            expected = np.concatenate([gradient[n:], -gradient[:n]])
            free = np.concatenate(chart.state_rate(y, z))
            typical = np.abs(expected / scale).max()
            worst["hamilton"] = float(np.abs((free - expected) / scale).max() / max(typical, 1.0))
    return worst


def cases(count: int) -> Iterator[tuple[int, dict[str, float] | str]]:
    """Iterate over cases: the largest differences, or why a state was refused."""
    for seed in range(count):
        if seed % STATES == 0:
            system, size = build(seed // STATES)
        try:
            yield seed, check(system, size, seed)
        except SarrusError as error:
            yield seed, f"{type(error).__name__}: {error}"


def main() -> None:
    """Print the figures of a number of cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    refused: Counter[str] = Counter()
    worst: dict[str, float] = {}
    for seed, found in cases(parser.parse_args().cases):
        if isinstance(found, str):
            refused[found[:60]] += 1
            continue
        for name, value in found.items():
            if value > worst.get(name, 0.0):
                worst[name] = value
                print(seed, name, f"{value:.2g}", flush=True)
    print(worst, sum(refused.values()), "refused:", *refused.items(), sep="\n")


if __name__ == "__main__":
    main()
