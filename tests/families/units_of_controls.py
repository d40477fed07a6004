"""Random loops with a motor at every joint, turning and sliding, in kilograms and metres and in other units.

The same mechanism is built from numbers in two sets of units. Controls that are least must be the same forces and
torques in both; with limits of the motors they are the least (u / limit)² of all u that do the same, with a given
metric the least in that one. The reference is least squares with numpy over all controls that give the acceleration.
`python tests/families/units_of_controls.py --cases 200` prints the largest differences.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from sarrus import control, formulations

Array = np.ndarray
# Lengths and masses of one, in units of the other system: millimetres and grams; feet and slugs; kilometres and tonnes.
UNITS = ((1e3, 1e3), (3.28084, 1.0 / 14.5939), (1e-3, 1e-3))


@dataclass
class Loop:
    """One mechanism in two sets of units: systems, factors of v, u and of q, a closed configuration of the first."""

    systems: tuple[sr.System, sr.System]
    length: float
    mass: float
    slides: Array  # which joints
    q: Array
    v: Array

    @property
    def of_velocities(self) -> Array:
        return np.where(self.slides, self.length, 1.0)

    @property
    def of_controls(self) -> Array:
        """Numbers of a force or torque in the second set of units over those in the first."""
        return self.mass * self.length * np.where(self.slides, 1.0, self.length)

    def states(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        s = self.of_velocities
        return (self.q, self.v), (s * self.q, s * self.v)


def build(rng: np.random.Generator, length: float, mass: float, limits: str) -> tuple[sr.Mechanism, Array]:
    """Return a chain of links that ends at a point of the world; ``limits``: of "all" motors, "some" or "none"."""
    count = int(rng.integers(6, 9))
    m = sr.Mechanism("loop", gravity=tuple(length * np.array([1.0, -2.0, -9.81])))
    slides = rng.random(count) < 0.5
    slides[:2] = True, False
    slides = rng.permutation(slides)
    parent, place, end = "world", np.zeros(3), np.zeros(3)
    for k in range(count):
        size = rng.uniform(0.2, 0.6)
        way = rng.normal(size=3)
        way *= size / np.linalg.norm(way)
        inertia = rng.uniform(0.02, 0.04, 3) * size**2
        m.add_body(
            f"link{k}",
            mass=mass * rng.uniform(0.5, 2.0),
            com=length * way / 2,
            inertia=mass * length**2 * inertia,
        )
        axis = rng.normal(size=3)
        kind = "prismatic" if slides[k] else "revolute"
        m.add_joint(
            f"j{k}", kind, parent, f"link{k}", axis=axis / np.linalg.norm(axis),
            parent_pose=sr.Pose(position=length * place),
        )  # fmt: skip
        parent, place, end = f"link{k}", way, end + way
    m.add_closure(
        "end",
        "point",
        parent,
        "world",
        pose1=sr.Pose(position=length * place),
        pose2=sr.Pose(position=length * end),
    )
    unit = mass * length * np.where(slides, 1.0, length)
    for k in range(count):
        limit, has = (
            unit[k] * 10.0 ** rng.uniform(0.5, 2.5),
            limits == "all" or (limits == "some" and k % 2 == 0),
        )
        m.add_actuator(f"u{k}", f"j{k}", limits=(-limit, limit) if has else None)
    return m, slides


def loop(seed: int, limits: str = "none") -> Loop:
    """Return a random loop, closed where it is modelled and moving."""
    length, mass = UNITS[seed % len(UNITS)]
    systems = []
    for units in ((1.0, 1.0), (length, mass)):
        mechanism, slides = build(np.random.default_rng(seed), *units, limits)
        systems.append(sr.System(mechanism))
    rng = np.random.default_rng(seed + 1)
    one = systems[0]
    q = one.assemble(0.1 * rng.normal(size=one.nq), throw=False)
    v = one.project_velocity(q.q, rng.normal(size=one.nv))
    return Loop((systems[0], systems[1]), length, mass, slides, q.q, v)


def least(system: sr.System, q: Array, v: Array, u: Array, root: Array) -> Array:
    """Return the u of least |root u| that gives the acceleration which ``u`` gives, by numpy."""
    A, M = system.constraint_jacobian(q, v), system.mass_matrix(q)
    rank = np.linalg.matrix_rank(A)
    Z = np.linalg.svd(A)[2][rank:].T
    reach = Z.T @ system.actuation_matrix(q, v)
    assert M.shape[0] == len(v)
    scale = np.linalg.norm(reach, axis=1)[:, None]
    y = np.linalg.lstsq(reach / scale @ np.linalg.inv(root), reach @ u / scale[:, 0], rcond=1e-12)[0]
    return np.linalg.solve(root, y)


def laws(system: sr.System, which: Loop, length: float, mass: float, **options) -> dict[str, control.Law]:
    """Return laws with the same demands in the units of a system."""
    n, s = system.nv, np.where(which.slides, length, 1.0)
    free = list(range(n - 3))
    names = [system.coordinate_names[k] for k in free]
    goal, energy = s[free] * 0.2, mass * length**2
    point = control.point("link4", axes="xy")
    chosen = ca.DM(1.0 / s[free])

    def servo(q, t):
        return chosen * (q[free] - ca.DM(goal))

    every = list(system.coordinate_names)
    stiff = energy / s[free] ** 2
    return {
        "projected": control.ProjectedInverseDynamics(system, names, goal, **options),
        "operational": control.OperationalSpaceTracking(system, point, length * np.array([0.3, 0.1]), **options),
        "hierarchy": control.TaskHierarchy(system, [control.Task(point, length * np.array([0.3, 0.1]))], **options),
        "servo": control.ServoConstraint(system, servo, **options),
        "regulator": control.Regulator(
            system, names, goal, stiffness=5.0 * stiff, damping=energy / s**2, **options
        ),
        # more rows of both kinds than motions: the least squares of these
        "mixed": control.ProjectedInverseDynamics(system, every, 0.3 * s, **options),
        "mixed servo": control.ServoConstraint(system, lambda q, t: q - ca.DM(0.3 * s), **options),
        "two levels": control.TaskHierarchy(
            system, [control.Task(point, length * np.array([0.3, 0.1])), control.Task(every, 0.3 * s, name="rest")],
            **options,
        ),
    }  # fmt: skip


def differences(seed: int, limits: str) -> Iterator[tuple[str, float]]:
    """Yield what was compared and how far it is off, relative to the largest control."""
    given = loop(seed, limits)
    one, other = given.systems
    (q1, v1), (q2, v2) = given.states()
    a = one.forward_dynamics(q1, v1, np.zeros(one.nu)).a
    a = a + one.project_velocity(q1, np.random.default_rng(seed + 2).normal(size=one.nv))
    first = one.inverse_dynamics(q1, v1, a).u
    second = other.inverse_dynamics(q2, v2, given.of_velocities * a).u
    yield "inverse dynamics, units", _off(second / given.of_controls, first)
    units = control_units(one, given)
    yield "inverse dynamics, least", _off(first, least(one, q1, v1, first, np.diag(1.0 / units)))
    held = [
        sr.equilibrium(s, q, hold=True, within_limits=False, throw=False).u
        for s, q in ((one, q1), (other, q2))
    ]
    yield "inputs that hold, units", _off(held[1] / given.of_controls, held[0])
    yield "inputs that hold, least", _off(held[0], least(one, q1, 0 * v1, held[0], np.diag(1.0 / units)))
    free = {"limits": (-np.inf, np.inf)}
    pairs = (laws(one, given, 1.0, 1.0, **free), laws(other, given, given.length, given.mass, **free))
    for name, law in pairs[0].items():
        u1, u2 = law(q1, v1), pairs[1][name](q2, v2)
        yield f"{name}, units", _off(u2 / given.of_controls, u1)
        if name != "hierarchy":
            yield f"{name}, least", _off(u1, least(one, q1, v1, u1, np.diag(1.0 / units)))
    rng = np.random.default_rng(seed + 3)
    maxima = rng.uniform(1.0, 50.0, one.nu)
    full = np.linalg.qr(rng.normal(size=(one.nu, one.nu)))[0] * rng.uniform(0.5, 2.0, one.nu)
    for label, metric in (("given", formulations.actuator_metric(maxima)), ("full", full @ full.T)):
        root = np.linalg.cholesky(np.linalg.inv(metric)).T
        u = one.inverse_dynamics(q1, v1, a, metric=metric).u
        yield f"inverse dynamics, {label} metric", _off(u, least(one, q1, v1, first, root))
        law = control.ProjectedInverseDynamics(
            one,
            [one.coordinate_names[k] for k in range(one.nv - 3)],
            np.full(one.nv - 3, 0.2),
            metric=metric,
            **free,
        )
        u = law(q1, v1)
        yield f"projected, {label} metric", _off(u, least(one, q1, v1, u, root))


def control_units(system: sr.System, given: Loop) -> Array:
    """Return what controls are measured by: limits, where there are none what exerts as much as the strongest."""
    assert system.mechanism is not None
    limits = [a.limits[1] if a.limits else np.inf for a in system.mechanism.actuators.values()]
    exerted = np.where(given.slides, system.characteristic.length, 1.0)
    known = np.isfinite(limits)
    strongest = max(np.array(limits)[known] * exerted[known], default=1.0)
    return np.where(known, limits, strongest / exerted)


def _off(found: Array, right: Array) -> float:
    return float(np.abs(found - right).max() / np.abs(right).max())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    worst: dict[str, float] = {}
    over = 0
    cases = parser.parse_args().cases
    for seed in range(cases):
        for name, off in differences(seed, ("none", "all", "some")[seed // 3 % 3]):
            worst[name] = max(worst.get(name, 0.0), off)
            over += off > 1e-9
            if off > 1e-9:
                print(seed, name, off)
    for name, off in worst.items():
        print(f"{name:36} {off:.1e}")
    print(f"{cases} mechanisms, {over} comparisons off by more than 1e-9")


if __name__ == "__main__":
    main()
