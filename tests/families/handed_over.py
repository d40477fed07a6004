"""Random switches of clutches, brakes, pins, grasps and contacts under laws that hand them over.

At a state that both topologies allow, one law is asked with what switches holding and not holding, from Python and
from C. An independent program, least squares over M, h, k, S and A, says whether there are controls that meet tasks and
hand-over in both: then the controls of the law must be these, without a jump; else it must name what it misses. Runs on
random schedules with samples of T and T/2 say how much the controls change from sample to sample at the switches.
`python tests/families/handed_over.py --cases 500 --runs 60` prints what came out.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from c_code import Compiled
from sarrus import control
from sarrus.base.status import Status
from sarrus.dynamics.impacts.activity import switch_on
from sarrus.export import c_code
from sarrus.symbolic.equations.equations import activity_parameter, anchor_parameter

MODELS = Path(__file__).resolve().parents[2] / "models"
SAME, AT, RAMP, GAIN, RATE = 1e-9, 1.0, 0.2, 25.0, 8.0


@dataclass
class Machine:
    """A system, a closed configuration, what switches, the coordinates of its task, and laws by what switches."""

    system: sr.System
    q: np.ndarray
    switching: tuple[tuple[str, ...], ...]
    names: list[str]
    goal: np.ndarray
    spread: float = 0.2
    laws: dict[tuple[str, ...], list[control.Law]] = field(default_factory=dict)
    compiled: dict[tuple[str, ...], Compiled] = field(default_factory=dict)

    def laws_of(self, names: tuple[str, ...]) -> list[control.Law]:
        """Return the laws that hand these over at AT.

        The first four do so after their tasks, the others before them, the last one in limits that are often reached.
        """
        if names not in self.laws:
            s, goal, own = self.system, self.goal, self.names
            index = [s.coordinate_names.index(name) for name in own]

            def given(before: bool) -> dict[str, Any]:
                return {"hand_overs": [control.HandOver(names, AT, RAMP, before_tasks=before)]}

            def servo(q: Any, t: Any) -> Any:
                return ca.vertcat(*(q[k] - x for k, x in zip(index, goal)))

            gains = {"stiffness": GAIN, "damping": RATE}
            tasks = [control.Task(n, x, GAIN, RATE, name=f"to {n}") for n, x in zip(own, goal)]
            self.laws[names] = [
                control.ProjectedInverseDynamics(s, own, goal, **gains, **given(False)),
                control.ServoConstraint(s, servo, alpha=RATE / 2, beta=GAIN**0.5, **given(False)),
                control.TaskHierarchy(s, tasks, **given(False)),
                control.ProjectedInverseDynamics(s, own, goal, **gains, limits=(-1e4, 1e4), **given(False)),
                control.ProjectedInverseDynamics(s, own, goal, **gains, **given(True)),
                control.Regulator(s, own, goal, stiffness=20.0, damping=3.0, **given(True)),
                control.TaskHierarchy(s, tasks, limits=(-25.0, 25.0), **given(True)),
            ]
        return self.laws[names]


def chain(m: sr.Mechanism, lengths: list[float], motors: list[bool], at: Any = (0, 0, 0)) -> None:
    """Add links of 1 kg in a row on joints j0, j1, … about −y."""
    parent = "world"
    for k, (length, motor) in enumerate(zip(lengths, motors)):
        m.add_body(f"l{k}", 1.0, com=(length / 2, 0, 0), inertia=(1e-3, length**2 / 12, length**2 / 12))
        m.add_joint(f"j{k}", "revolute", parent, f"l{k}", axis=(0, -1, 0), parent_pose=at)
        if motor:
            m.add_actuator(f"m{k}", f"j{k}")
        parent, at = f"l{k}", (length, 0, 0)


def arm() -> Machine:
    """Four links with four motors, a brake and a clutch; the task is about two joints."""
    m = sr.Mechanism("arm")
    chain(m, [0.5] * 4, [True] * 4)
    m.add_coupling("brake", {"j3": 1.0}, active=False)
    m.add_coupling("clutch", {"j1": 1.0, "j2": -0.5}, active=False)
    switching = (("brake",), ("clutch",), ("brake", "clutch"))
    return Machine(
        sr.System(m), np.array([0.3, 0.2, 0.1, 0.4]), switching, ["j0", "j1"], np.array([1.0, -0.5])
    )


def weak_arm() -> Machine:
    """The same with motors at two of the joints: what the brake carries nobody can take over."""
    m = sr.Mechanism("weak_arm")
    chain(m, [0.5] * 3, [True, True, False])
    m.add_coupling("brake", {"j2": 1.0}, active=False)
    m.add_coupling("clutch", {"j1": 1.0, "j2": -0.5}, active=False)
    switching = (("brake",), ("clutch",))
    return Machine(sr.System(m), np.array([0.3, 0.2, 0.1]), switching, ["j0"], np.array([1.0]))


def pinned() -> Machine:
    """Five links whose end is pinned to the ground, and a brake."""
    m = sr.Mechanism("pinned")
    chain(m, [0.5] * 5, [True] * 5)
    m.add_closure("pin", "point", "l4", "world", pose1=(0.5, 0, 0), pose2=(1.2, 0, 0.3), active=False)
    m.add_coupling("brake", {"j4": 1.0}, active=False)
    q = np.array([1.2, -0.5, -0.6, -0.6, 0.1])
    switching = (("pin",), ("brake",), ("pin", "brake"))
    return Machine(sr.System(m), q, switching, ["j0", "j1"], np.array([1.0, -0.5]), 0.1)


def carrier() -> Machine:
    """An arm of four joints and a crate, with a stand under it and a grasp."""
    m = sr.Mechanism("carrier")
    chain(m, [0.6, 0.5, 0.4, 0.2], [True] * 4, (0, 0, 0.5))
    m.add_body("crate", 2.0, com=(0.03, 0, 0.1), inertia=(0.02, 0.02, 0.02))
    m.add_joint("crate", "planar", "world", "crate", axis=(0, -1, 0), axis2=(1, 0, 0))
    m.add_closure("grasp", "weld", "l3", "crate", pose1=(0.2, 0, 0), active=True)
    m.add_closure(
        "stand", "weld", "world", "crate", pose1=sr.Pose.of((0.9, 0, 0.2), rpy=(0, 1.2, 0)), active=True
    )
    system = sr.System(m)
    q = np.array(system.assemble(np.array([0.5, -1.2, -0.6, 0.1, 0.9, 0.2, -1.2])).q)
    return Machine(system, q, (("grasp",), ("stand",)), ["j1"], np.array([-1.0]), 0.0)


def five_bar() -> Machine:
    """The five-bar with motors at its elbows too, and brakes there: free, with one motion, or rigid."""
    m = sr.load(MODELS / "five_bar.xml")
    for side in ("left", "right"):
        m.add_coupling(f"{side}_brake", {f"{side}_elbow": 1.0}, active=False)
        m.add_actuator(f"{side}_elbow_motor", f"{side}_elbow")
    s = sr.System(m)
    switching = (("left_brake",), ("right_brake",), ("left_brake", "right_brake"))
    return Machine(s, np.array(m.keyframes["symmetric"].q), switching, ["left"], np.array([2.0]), 0.1)


def platform() -> Machine:
    """A coupler on two cranks that a third one holds once more, with a braked joint on it."""
    m = sr.Mechanism("platform")
    for name, at in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
        m.add_body(name, 1.0, com=(0, 0, 0.25), inertia=(0.02, 0.02, 1e-3))
        m.add_joint(name, "revolute", "world", name, axis=(0, -1, 0), parent_pose=(at, 0, 0))
        m.add_actuator(f"{name}_motor", name)
    m.add_body("coupler", 1.0, com=(1, 0, 0), inertia=(1e-3, 0.3, 0.3))
    m.add_joint("coupler", "revolute", "a", "coupler", axis=(0, -1, 0), parent_pose=(0, 0, 0.5))
    for name, body, at, on in (("second", "b", 1.0, None), ("third", "c", 2.0, False)):
        m.add_closure(
            name, "revolute", body, "coupler", pose1=(0, 0, 0.5), pose2=(at, 0, 0), axis=(0, 1, 0), active=on
        )
    m.add_body("tool", 1.0, com=(0.2, 0, 0), inertia=(1e-3, 0.02, 0.02))
    m.add_joint("tool", "revolute", "coupler", "tool", axis=(0, -1, 0), parent_pose=(1, 0, 0))
    m.add_actuator("tool_motor", "tool")
    m.add_coupling("brake", {"tool": 1.0}, active=False)
    s = sr.System(m)
    places = {"a": 0.3, "b": 0.3, "c": 0.3, "coupler": -0.3, "tool": 0.2}
    q = np.array([places[name] for name in s.coordinate_names])
    return Machine(s, q, (("brake",), ("third",)), ["a"], np.array([0.5]), 0.2)


MACHINES: tuple[Callable[[], Machine], ...] = (arm, weak_arm, pinned, carrier, five_bar, platform)


@lru_cache
def machine(number: int) -> Machine:
    """Return one of the machines, made once."""
    return MACHINES[number]()


@dataclass
class Count:
    """What came out."""

    asked: int = 0
    continuous: int = 0
    named: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    needless: list[str] = field(default_factory=list)
    possible: int = 0
    largest: float = 0.0
    ratios: list[float] = field(default_factory=list)


def switch(own: Machine, names: tuple[str, ...], on: float) -> None:
    own.system.parameters.update({activity_parameter(name): on for name in names})


def affine(own: Machine, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return α and Γ of a(u) = α + Γ u with what holds now: least squares over the equations of motion."""
    s = own.system
    M, S, A = s.mass_matrix(q), s.actuation_matrix(q), s.constraint_jacobian(q, v)
    force = s.passive_force(q, v, 0.0) - s.bias_force(q, v)
    count = s.nv
    matrix = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    right = np.zeros((len(matrix), 1 + s.nu))
    right[:count, 0], right[count:, 0], right[:count, 1:] = force, -s.constraint_bias(q, v), S
    found = np.linalg.lstsq(matrix, right, rcond=1e-11)[0][:count]
    return found[:, 0], found[:, 1:]


def expected(
    own: Machine, names: tuple[str, ...], q: np.ndarray, v: np.ndarray, roots: np.ndarray
) -> tuple[np.ndarray, float, float]:
    """Return the least u that meets task and hand-over, by how much both, and the hand-over alone, must be missed."""
    s = own.system
    switch(own, names, 1.0)
    rows = [k for name in names for k in range(*s.closure_rows[name].indices(s.nc))]
    A_s, gamma = s.constraint_jacobian(q, v)[rows], s.constraint_bias(q, v)[rows]
    switch(own, names, 0.0)
    alpha, gamma_u = affine(own, q, v)
    index = [s.velocity_names.index(name) for name in own.names]
    at = [s.coordinate_names.index(name) for name in own.names]
    wanted = GAIN * (own.goal - q[at]) - RATE * v[index]
    task, rest = gamma_u[index] * roots, wanted - alpha[index]
    hand, left = A_s @ gamma_u * roots, -gamma - A_s @ alpha
    size = 1.0 + max(np.abs(rest).max(), np.abs(left).max(), np.abs(alpha).max())
    both, right = np.vstack([task, hand]), np.append(rest, left)
    x = np.linalg.lstsq(both, right, rcond=1e-10)[0]
    alone = np.linalg.lstsq(hand, left, rcond=1e-10)[0]
    return (
        roots * x, float(np.abs(both @ x - right).max()) / size, float(np.abs(hand @ alone - left).max()) / size
    )  # fmt: skip


def state(
    own: Machine, names: tuple[str, ...], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a state that both topologies allow, others of what switches holding or not at random."""
    s = own.system
    each = {name for group in own.switching for name in group}
    s.parameters.update({activity_parameter(n): float(rng.random() < 0.5) for n in sorted(each)})
    switch(own, names, 1.0)
    q = s.move(own.q, own.spread * rng.standard_normal(s.nv))
    anchors = zip(map(anchor_parameter, s.constraint_names), s.constraint_residual(q))
    s.parameters.update({n: s.parameters[n] + float(x) for n, x in anchors if n in s.parameters})
    closed = s.assemble(q, throw=False)
    if closed.status is not Status.OK:
        return None
    return np.array(closed.q), np.array(s.project_velocity(closed.q, rng.standard_normal(s.nv)))


def case(number: int, count: Count, *, from_c: bool = False) -> None:
    """Do one case: a machine, what switches, a state, and all its laws."""
    rng = np.random.default_rng(number)
    own = machine(number % len(MACHINES))
    names = own.switching[int(rng.integers(len(own.switching)))]
    found = state(own, names, rng)
    if found is None:
        count.refused += 1
        return
    q, v = found
    for k, law in enumerate(own.laws_of(names)):
        label = f"case {number}, {own.system.name}, {' and '.join(names)}, {law.name} {k}"
        least, both, alone = expected(own, names, q, v, law.arrays.roots[: own.system.nu])
        u, missed = [], set()
        for on in (1.0, 0.0):
            switch(own, names, on)
            told = law.solve(q, v, AT, throw=False)
            u.append(told.u)
            missed |= set(told.missed)
            if from_c and k in (0, 2) and (code := own.compiled.get((*names, str(k)))) is not None:
                out = np.zeros(own.system.nu)
                code.assign(own.system.parameters.values())
                code.call("law", q, v, AT, out)
                count.asked += 1
                if np.abs(out - told.u).max() > SAME * (1.0 + np.abs(told.u).max()):
                    count.wrong.append(f"{label}: C differs")
        count.asked += 1
        if k == 6 and any(name.endswith((" unloaded", " held")) for name in missed):
            count.named += 1  # limits are in the way of the hand-over itself
            continue
        size = 1.0 + max(np.abs(x).max() for x in u)
        jump = float(np.abs(u[1] - u[0]).max()) / size
        possible = (both if k < 4 else alone) <= 1e-10
        count.possible += possible
        if jump <= SAME:
            count.continuous += 1
            count.largest = max(count.largest, jump)
            if k in (0, 3) and possible and np.abs(u[0] - least).max() > 1e-7 * size:
                count.wrong.append(f"{label}: not the least, {u[0]} for {least}")
        elif missed and k < 6:
            count.named += 1
            if possible:
                count.needless.append(f"{label}: jump {jump:.2g} though possible, missed {sorted(missed)}")
        else:
            count.wrong.append(
                f"{label}: jump {jump:.2g} and nothing is missed (possible to {both:.2g}, {alone:.2g})"
            )


def run(number: int, count: Count) -> None:
    """Do runs on a random schedule with samples of T, T/2 and T/4; note by how much changes at switches shrink.

    Paths are those that both topologies allow, so that nothing hits where something closes.
    """
    rng = np.random.default_rng(number)
    own = machine((0, 2, 3, 4)[number % 4])
    s, q = own.system, own.q
    first, second = (round(x, 2) for x in (0.2 + 0.15 * rng.random(), 0.5 + 0.15 * rng.random()))
    one, other = (0.2 * rng.standard_normal(2)).tolist()
    schedule: dict[str, list[tuple[float, float]]]
    shape = [one, other, 2.0 * other, 0.0]  # the clutch allows these
    if s.name == "arm":
        schedule = {"brake": [(first, second)], "clutch": [(first + 0.07, second + 0.2)]}
    elif s.name == "pinned":
        schedule, shape = {"brake": [(first, second)]}, [one, other, one, other, 0.0]
    elif s.name == "carrier":
        schedule, shape = {"stand": [(0.0, second)], "grasp": [(first, np.inf)]}, [0.0] * 4
        if rng.random() < 0.5:
            schedule = {"stand": [(0.0, np.inf)], "grasp": [(first, second)]}
    else:
        schedule, shape = {"left_brake": [(0.0, first)]}, [one]
    for name in (name for group in own.switching for name in group):
        s.parameters[activity_parameter(name)] = 0.0
    if "left_brake" in schedule:
        switch_on(s, ["left_brake"], q)

    def off(q: Any, t: Any) -> Any:
        return ca.vertcat(
            *(q[k] - x - c * ca.sin(3.0 * t) ** 3 for k, (x, c) in enumerate(zip(own.q, shape)))
        )

    ramp = float(rng.uniform(0.05, 0.15))
    law = control.ServoConstraint(s, off, alpha=5.0, beta=8.0, hand_overs=control.hand_overs(schedule, ramp))
    changes, switches = [], sorted({x for pairs in schedule.values() for x in pairs[0] if 0.0 < x < 1.0})
    for period in (0.01, 0.005, 0.0025):
        done = sr.simulate(s, q, duration=0.95, dt=0.0025, control=law, sample_time=period,
                           switching=sr.Switching(schedule), error_estimate=False)  # fmt: skip
        near = [(np.abs(done.t[1:] - x) < 1.5 * period) for x in switches]
        steps = np.abs(np.diff(done.u, axis=0)).max(axis=1)
        changes.append(max(float(steps[where].max()) for where in near))
    count.asked += 1
    count.ratios.append(changes[0] / changes[2])
    if not changes[2] < 0.4 * changes[0] and changes[2] > 1e-9:
        count.wrong.append(f"run {number}, {s.name}: changes {changes}")


def report(count: Count) -> list[str]:
    """Return what is to be printed."""
    lines = [
        f"{count.asked} asked: {count.continuous} continuous (largest jump {count.largest:.1e} of u), "
        f"{count.named} named; {count.possible} possible; "
        f"{len(count.wrong)} wrong with OK, {len(count.needless)} named without need; {count.refused} without a state"
    ]
    if count.ratios:
        lines.append(
            f"changes at switches fall by {min(count.ratios):.2f} to {max(count.ratios):.2f}, T to T/4"
        )
    return [*lines, *count.wrong[:20], *count.needless[:20]]


def main() -> None:
    """Do as many cases and runs as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--c", action="store_true")
    given = parser.parse_args()
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        if given.c:
            to_c(Path(folder))
        for number in range(given.cases):
            case(number, count, from_c=given.c)
    print("\n".join(report(count)))
    count = Count()
    for number in range(given.runs):
        run(number, count)
    print("\n".join(report(count)))


def to_c(folder: Path) -> None:
    """Compile two laws of each machine from C."""
    for number in range(len(MACHINES)):
        own = machine(number)
        names = own.switching[0]
        for k in (0, 2):
            export = c_code(
                own.laws_of(names)[k].copy(), folder / f"{number}_{k}", name=f"law{number}_{k}", q=own.q
            )
            own.compiled[(*names, str(k))] = Compiled(export, own.system)


if __name__ == "__main__":
    main()
