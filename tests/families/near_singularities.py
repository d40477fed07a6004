"""Random arms and five-bars that are told to go to random places, with a bound of the distance to singularities.

Values along the motion are those of numpy's decomposition of Jacobians by hand (arms in the plane, five-bars) or of
`System.jacobian` (arms in space); the bound holds at every sample. `python tests/families/near_singularities.py --cases
200` counts the runs, what came nearer than it may, and the largest difference of a value.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from sarrus import control
from sarrus.control.quantities.singularity_measure import LEAST, LOG, MEASURES, SMOOTH

Array = np.ndarray
KINDS = ("plane", "space", "five-bar")
ALIKE = 1e-9  # of values, relative to the largest singular value


@dataclass
class Case:
    """A mechanism with a motor for each motion, where it starts, and the quantity that is told where to go."""

    system: sr.System
    q: Array
    part: control.Part
    told: object
    goal: Array
    rows: object  # of q: J by hand, characteristic units
    label: str


def chain(rng: np.random.Generator, axes: Array, lengths: Array) -> sr.System:
    mechanism = sr.Mechanism("arm", gravity=(0, 0, -9.81))
    parent, place = "world", 0.0
    for k, (axis, length) in enumerate(zip(axes, lengths)):
        mechanism.add_body(f"b{k}", rng.uniform(0.5, 2.0), (length / 2, 0, 0), (0.02, 0.03, 0.04))
        mechanism.add_joint(
            f"j{k}", "revolute", parent, f"b{k}", axis=tuple(axis), parent_pose=(place, 0, 0), armature=0.1
        )
        mechanism.add_actuator(f"u{k}", f"j{k}")
        parent, place = f"b{k}", length
    return sr.System(mechanism)


def plane(rng: np.random.Generator, measure: str) -> Case:
    """Return an arm of two or three links about parallel axes."""
    count = int(rng.integers(2, 4))
    lengths = rng.uniform(0.3, 0.9, count) * 10.0 ** rng.uniform(-1, 1)
    system = chain(rng, np.tile([0.0, -1.0, 0.0], (count, 1)), lengths)
    tip = control.point(f"b{count - 1}", (lengths[-1], 0, 0), axes="xz")
    kappa = system.characteristic.length

    def rows(q: Array) -> Array:
        turned = np.cumsum(q)
        steps = lengths * np.array([-np.sin(turned), np.cos(turned)])
        return np.cumsum(steps[:, ::-1], axis=1)[:, ::-1] / kappa

    q = np.concatenate([rng.uniform(-3, 3, 1), rng.uniform(0.6, 2.2, count - 1) * rng.choice([-1, 1])])
    goal = np.concatenate([q[:1] + rng.normal(size=1), -q[1:] * rng.uniform(0.3, 1.0)])
    part = control.singularity_measure(tip, measure=measure, q=q)
    return Case(system, q, part, list(system.coordinate_names), goal, rows, f"{count} links")


def space(rng: np.random.Generator, measure: str) -> Case:
    """Return an arm of three to six links about random axes: a point, or a pose where there are six."""
    count = int(rng.integers(3, 7))
    axes = rng.normal(size=(count, 3))
    lengths = rng.uniform(0.3, 0.9, count)
    system = chain(rng, axes / np.linalg.norm(axes, axis=1)[:, None], lengths)
    body, point = f"b{count - 1}", np.array([lengths[-1], 0.05, 0.0])
    asked = [control.point(body, point)]
    if count == 6:
        asked.append(control.orientation(body))
    size = system.characteristic

    def rows(q: Array) -> Array:
        found = system.jacobian(q, body=body, point=point)
        both = [found.linear / size.length, found.angular]
        return np.vstack(both[: len(asked)]) / size.columns

    q = rng.uniform(-2, 2, count)
    part = control.singularity_measure(asked, measure=measure, q=q)
    goal = q + rng.normal(size=count)
    return Case(system, q, part, list(system.coordinate_names), goal, rows, f"{count} links")


def five_bar(rng: np.random.Generator, measure: str) -> Case:
    """Return a five-bar with motors on its cranks, the pin a hinge in space in half of the cases: type 2 or 1."""
    near, far, apart = rng.uniform(0.6, 1.2), rng.uniform(1.1, 1.6), rng.uniform(0.3, 1.2)
    mechanism = sr.Mechanism("five-bar", gravity=(0, 0, -9.81))
    for side, x in (("left", 0.0), ("right", apart)):
        for name, parent, length, at in ((side, "world", near, x), (f"{side}_elbow", side, far, near)):
            mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.1, 0.1))
            mechanism.add_joint(name, "revolute", parent, name, axis=(0, -1, 0), parent_pose=(at, 0, 0))
        mechanism.add_actuator(side, side)
    closure = ("point_on_line", "revolute")[int(rng.integers(2))]
    ends = {"pose1": (far, 0, 0), "pose2": (far, 0, 0)}
    mechanism.add_closure("tip", closure, "left_elbow", "right_elbow", axis=(0, 1, 0), **ends)
    system = sr.System(mechanism)
    kappa = system.characteristic.length
    guess = np.array([2.2, -1.2, 0.9, 1.2]) + 0.2 * rng.normal(size=4)
    q = np.array(system.assemble(guess).q)
    first = bool(rng.integers(2))

    def ends_of(q: Array) -> list[Array]:
        parts = []
        for k in (0, 2):
            a, b = q[k], q[k] + q[k + 1]
            outer = far * np.array([-np.sin(b), np.cos(b)])
            parts.append(np.column_stack([near * np.array([-np.sin(a), np.cos(a)]) + outer, outer]) / kappa)
        return parts

    def rows(q: Array) -> Array:
        left, right = ends_of(q)
        motions = np.linalg.svd(np.hstack([left, -right]))[2][2:]
        own = np.hstack([left, np.zeros((2, 2))]) if first else np.eye(4)[[0, 2]]
        return own @ motions.T

    tip = control.point("left_elbow", (far, 0, 0), axes="xz")
    asked = {"quantity": tip} if first else {"driven": ["left", "right"]}
    part = control.singularity_measure(**asked, measure=measure, q=q)
    if first:
        place = np.array(control.TaskSpace(system, tip).kinematics(q).value)
        return Case(system, q, part, tip, place + rng.normal(size=2), rows, f"{closure}, type 1")
    return Case(
        system, q, part, ["left", "right"], q[[0, 2]] + 1.5 * rng.normal(size=2), rows, f"{closure}, type 2"
    )


def of_values(values: Array, what: str) -> float:
    """Return a measure of singular values."""
    if what == LEAST:
        return float(values.min())
    if what == SMOOTH:
        return float((values**-8.0).sum() ** -0.125)
    return float(np.log(values).sum() if what == LOG else values.prod())


@dataclass
class Outcome:
    """What came of a case."""

    label: str
    status: str
    start: float
    lower: float
    least: float
    difference: float

    @property
    def kept(self) -> bool:
        """Whether no sample is nearer than it may, to 1e-6 of the start."""
        return self.least >= self.lower - 1e-6 * max(1.0, abs(self.start))


def check(seed: int, kinds: tuple[str, ...] = KINDS, duration: float = 1.0) -> Outcome:
    """Run a case and compare."""
    rng = np.random.default_rng(seed)
    kind, measure = kinds[seed % len(kinds)], MEASURES[int(rng.integers(len(MEASURES)))]
    while True:
        case = {"plane": plane, "space": space, "five-bar": five_bar}[kind](rng, measure)
        values = np.linalg.svd(case.rows(case.q), compute_uv=False)
        if values[-1] > 0.05 * values[0]:
            break
    system = case.system
    label = f"{seed}: {kind}, {case.label}, {measure}"
    start = of_values(values, measure)
    lower = start + np.log(0.4) if measure == LOG else rng.uniform(0.2, 0.6) * start
    bound = control.Bound(
        case.part, lower=lower, rate=10.0, deceleration=10.0 ** rng.uniform(0, 1.5), name="away"
    )
    law = control.TaskHierarchy(system, [bound, control.Task(case.told, case.goal, 20.0, 9.0, name="go")])
    motion = sr.simulate(system, case.q, duration=duration, control=law, dt=1e-3, throw=False)
    seen_by = control.TaskSpace(system, case.part)
    least, difference = np.inf, 0.0
    for q in motion.q[:: max(1, len(motion.q) // 60)]:
        told = float(seen_by.kinematics(q).value[0])
        values = np.linalg.svd(case.rows(q), compute_uv=False)
        difference = max(difference, abs(told - of_values(values, measure)) / max(1.0, abs(told)))
        least = min(least, told)
    return Outcome(label, motion.status.name, start, lower, least, difference)


def main() -> None:
    """Check many and print what is not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    bad, worst, active, stopped = 0, 0.0, 0, 0
    for seed in range(given.first, given.first + given.cases):
        found = check(seed)
        worst = max(worst, found.difference)
        active += found.least < found.lower + 0.02 * max(abs(found.start), 0.1)
        stopped += found.status != "OK"
        if not found.kept or found.status != "OK" or found.difference > ALIKE:
            bad += not found.kept or found.difference > ALIKE
            print(
                f"{found.label}: {found.status}, least {found.least:.6g}, lower {found.lower:.6g}, "
                f"start {found.start:.6g}, difference {found.difference:.1g}",
                flush=True,
            )
    print(
        f"{given.cases} cases: {active} at the bound, {bad} wrong, {stopped} not OK; "
        f"values differ by {worst:.1e} at most"
    )


if __name__ == "__main__":
    main()
