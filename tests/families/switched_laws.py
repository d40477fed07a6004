"""Random histories of constraints that come and go under control laws, from Python, in runs and from C.

One law, and one workspace of its C code, goes through a whole history; nothing is told to it but parameters and states.
What its demands ask for is compared with `System.forward_dynamics` at the controls that it gave, and what could be had
with least squares over how these accelerations depend on the controls.
`python tests/families/switched_laws.py --cases 500` prints what is wrong with OK and what is missed without need.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from collections.abc import Callable, Iterator
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
from sarrus.dynamics.impacts.activity import active
from sarrus.export import c_code
from sarrus.symbolic.equations.equations import activity_parameter, anchor_parameter

MODELS = Path(__file__).resolve().parents[2] / "models"
MET = 1e-9  # what is demanded happens to this, relative to what is summed in it
Law = control.Law


@dataclass
class Machine:
    """A system, a closed configuration, its laws, which of these are compiled from C, and what may move."""

    system: sr.System
    q: np.ndarray
    laws: list[Law]
    in_c: tuple[int, ...]
    spread: float = 0.3
    compiled: dict[int, Compiled] = field(default_factory=dict)

    def to_c(self, folder: Path) -> None:
        """Compile the laws that are also asked from C."""
        for k in self.in_c:
            export = c_code(self.laws[k].copy(), folder / f"{k}", name=f"law{k}_of", q=self.q)
            self.compiled[k] = Compiled(export, self.system)


def link(m: sr.Mechanism, name: str, parent: str, at: Any, length: float = 0.5, motor: bool = True) -> None:
    """Add a link of 1 kg on a joint about −y, with a motor."""
    m.add_body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(1e-3, length**2 / 12, length**2 / 12))
    m.add_joint(f"{name}_joint", "revolute", parent, name, axis=(0, -1, 0), parent_pose=at)
    if motor:
        m.add_actuator(f"{name}_motor", f"{name}_joint")


def common(system: sr.System, names: list[str], goal: list[float], force: str | None = None) -> list[Law]:
    """Return laws of all kinds for joints that are to go to a place."""
    index = [system.velocity_names.index(name) for name in names]
    tasks = [control.Task(name, x, 30.0, 8.0, name=name) for name, x in zip(names, goal)]
    laws: list[Law] = [
        control.ProjectedInverseDynamics(system, names, goal, stiffness=25.0, damping=10.0),
        control.ComputedTorque(system, names, goal, stiffness=25.0, damping=10.0),
        control.TaskHierarchy(system, tasks),
        control.ServoConstraint(system, lambda q, t: ca.vertcat(*(q[k] - x for k, x in zip(index, goal)))),
        control.Regulator(system, names, goal, stiffness=20.0, damping=3.0),
        control.ProjectedInverseDynamics(
            system, names, goal, stiffness=25.0, damping=10.0, limits=(-300.0, 300.0)
        ),
    ]
    if force is not None:
        laws.append(control.HybridMotionForce(system, names[:1], goal[:1], {force: 5.0}))
    return laws


def arm() -> Machine:
    """Three links with motors at two joints, a brake and a clutch."""
    m = sr.Mechanism("arm", gravity=(0, 0, -9.81))
    for k, parent in enumerate(["world", "l0", "l1"]):
        link(m, f"l{k}", parent, (0.5 if k else 0.0, 0, 0), motor=k < 2)
    m.add_coupling("brake", {"l2_joint": 1.0}, active=False)
    m.add_coupling("clutch", {"l1_joint": 1.0, "l2_joint": -0.5}, active=False)
    s = sr.System(m)
    return Machine(s, np.array([0.3, 0.2, 0.1]), common(s, ["l0_joint", "l1_joint"], [1.0, -0.5]), (0, 2, 4))


def pinned() -> Machine:
    """Four links with motors whose end is pinned to the ground, with a row too many, and a brake."""
    m = sr.Mechanism("pinned", gravity=(0, 0, -9.81))
    for k, parent in enumerate(["world", "l0", "l1", "l2"]):
        link(m, f"l{k}", parent, (0.5 if k else 0.0, 0, 0))
    m.add_closure("pin", "point", "l3", "world", pose1=(0.5, 0, 0), pose2=(1.2, 0, 0.3), active=False)
    m.add_coupling("brake", {"l3_joint": 1.0}, active=False)
    s = sr.System(m)
    laws = common(s, ["l0_joint", "l1_joint"], [1.0, -0.5], "pin.x")
    return Machine(s, np.array([0.9, -0.5, -0.6, 0.1]), laws, (0, 6))


def five_bar() -> Machine:
    """The five-bar with brakes at its elbows: free, with one motion, or rigid."""
    m = sr.load(MODELS / "five_bar.xml")
    m.add_coupling("left_brake", {"left_elbow": 1.0}, active=False)
    m.add_coupling("right_brake", {"right_elbow": 1.0}, active=False)
    s = sr.System(m)
    q = np.array(m.keyframes["symmetric"].q)
    return Machine(s, q, common(s, ["left", "right"], [2.0, 1.0], "tips.x"), (0, 5), 0.1)


def platform() -> Machine:
    """A coupler on two cranks that a third one holds once more, with an arm of two joints on it, one of them braked."""
    m = sr.Mechanism("platform", gravity=(0, 0, -9.81))
    for name, at in (("a", 0.0), ("b", 1.0), ("c", 2.0)):
        m.add_body(name, mass=1.0, com=(0, 0, 0.25), inertia=(0.02, 0.02, 1e-3))
        m.add_joint(f"{name}_joint", "revolute", "world", name, axis=(0, -1, 0), parent_pose=(at, 0, 0))
    m.add_actuator("a_motor", "a_joint")
    link(m, "coupler", "a", (0, 0, 0.5), 2.0, motor=False)
    for name, body, at, on in (("second", "b", 1.0, None), ("third", "c", 2.0, False)):
        m.add_closure(
            name, "revolute", body, "coupler", pose1=(0, 0, 0.5), pose2=(at, 0, 0), axis=(0, 1, 0), active=on
        )
    link(m, "upper", "coupler", (1, 0, 0))
    link(m, "fore", "upper", (0.5, 0, 0))
    m.add_coupling("brake", {"fore_joint": 1.0}, active=False)
    s = sr.System(m)
    places = {"a": 0.3, "b": 0.3, "c": 0.3, "coupler": -0.3, "upper": 0.4, "fore": 0.2}
    q = np.array([places[name.removesuffix("_joint")] for name in s.coordinate_names])
    return Machine(s, q, common(s, ["a_joint", "upper_joint"], [0.5, 0.2]), (0, 3), 0.2)


def docked() -> Machine:
    """A free body with a turning arm that docks to the world, and whose wrist may be locked."""
    m = sr.Mechanism("docked", gravity=(0, 0, 0))
    m.add_body("hull", mass=5.0, inertia=(0.3, 0.4, 0.5))
    m.add_joint("free", "free", "world", "hull")
    link(m, "upper", "hull", (0.2, 0, 0))
    link(m, "fore", "upper", (0.5, 0, 0))
    m.add_closure("dock", "weld", "hull", "world", active=False)
    m.add_coupling("lock", {"fore_joint": 1.0}, active=False)
    s = sr.System(m)
    return Machine(s, np.array(s.neutral()), common(s, ["upper_joint", "fore_joint"], [0.7, -0.4]), (0, 1))


def biped() -> Machine:
    """A planar trunk on two legs whose feet stick to the ground when they are down, with a knee that may be locked."""
    m = sr.Mechanism("biped", gravity=(0, 0, -9.81))
    m.add_body("cart", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.add_joint("x", "prismatic", "world", "cart", axis=(1, 0, 0))
    m.add_body("lift", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.add_joint("z", "prismatic", "cart", "lift", axis=(0, 0, 1))
    m.add_body("trunk", mass=6.0, inertia=(0.2, 0.2, 0.2))
    m.add_joint("pitch", "revolute", "lift", "trunk", axis=(0, -1, 0))
    for side, at in (("left", -0.2), ("right", 0.2)):
        link(m, f"{side}_thigh", "trunk", (at, 0, 0))
        link(m, f"{side}_shank", f"{side}_thigh", (0.5, 0, 0))
        m.add_contact(side, f"{side}_shank", (0.5, 0, 0), friction_coefficient=0.8)
    m.add_coupling("lock", {"left_shank_joint": 1.0}, active=False)
    s = sr.System(m)
    names = ["left_thigh_joint", "right_thigh_joint"]
    laws = common(s, names, [-1.3, -1.9])
    laws.append(
        control.LeggedController(
            s, [control.Task("pitch", 0.0, 40.0, 12.0)], friction="none", limits=(-3e3, 3e3), sense=False
        )
    )
    q = np.array([0.0, 0.85, 0.0, -1.2, -0.7, -1.9, 0.7])
    return Machine(s, q, laws, (0, 6), 0.15)


MACHINES: tuple[Callable[[], Machine], ...] = (arm, pinned, five_bar, platform, docked, biped)


@lru_cache
def machine(number: int) -> Machine:
    """Return one of the machines, made once."""
    return MACHINES[number]()


def state(own: Machine, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray] | None:
    """Switch at random; return a state at random that the constraints allow, None where there is none nearby."""
    s = own.system
    s.parameters.update({activity_parameter(name): float(rng.random() < 0.5) for name in active(s)})
    q = s.move(own.q, own.spread * rng.standard_normal(s.nv))
    left = s.constraint_residual(q)
    anchors = zip(map(anchor_parameter, s.constraint_names), left)
    s.parameters.update({n: s.parameters[n] + float(x) for n, x in anchors if n in s.parameters})
    closed = s.assemble(q, throw=False)
    if closed.status is not Status.OK:  # at a dead centre what is demanded has no answer of some digits
        return None
    return np.array(closed.q), np.array(s.project_velocity(closed.q, rng.standard_normal(s.nv)))


@lru_cache
def demands(law: Law) -> tuple[ca.Function, int]:
    """Return a function of (q, v, t, p, symbols of the law) that gives J, r and E of each demand, then g."""
    e, parts = law.system.equations, []
    for level in law.levels:
        if isinstance(level, control.Demand) and level.unknowns is None:
            coupling = ca.SX(0, 0) if level.multipliers is None else level.multipliers
            parts += [level.jacobian, level.wanted, coupling]
    count = len(parts)
    forces = [
        level.force for level in law.levels if isinstance(level, control.ForceDemand) and not level.soft
    ]
    parts += [force for force in forces if force is not None]
    return ca.Function("demands", [e.q, e.v, e.t, e.p, *law.symbols], parts), count


def demanded(law: Law, q: Any, v: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return J, r and E of each demand, and the forces that are demanded."""
    function, count = demands(law)
    numbers = [law.settings[name] for name in law.settings]
    sizes, inputs, at = [symbol.numel() for symbol in law.symbols[:-1]], [], 0
    for size in sizes:
        inputs.append(numbers[at : at + size])
        at += size
    found = function.call([q, v, 0.0, list(law.system.parameters.values()), *inputs, 0.0])
    values = [np.array(x) for x in found]
    return values[:count], values[count:]


@dataclass
class Count:
    """What came out."""

    asked: int = 0
    met: int = 0
    said_not: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    needless: list[str] = field(default_factory=list)


def check(
    own: Machine, law: Law, u: np.ndarray, says_ok: bool, q: Any, v: Any, count: Count, label: str
) -> None:
    """Compare what is demanded with what happens at controls."""
    s, t = own.system, 0.0
    count.asked += 1
    motion = s.forward_dynamics(q, v, u, t, throw=False)
    base = [s.forward_dynamics(q, v, x, t, throw=False) for x in np.vstack([np.zeros(s.nu), np.eye(s.nu)])]
    values, forces = demanded(law, q, v)
    worst, possible, first = 0.0, 0.0, True
    for J, r, E in zip(values[::3], values[1::3], values[2::3]):
        r = r.ravel()

        def left(a: Any, J: Any = J, r: Any = r, E: Any = E) -> np.ndarray:
            return J @ a.a - r + (E @ a.multipliers if E.size else 0.0)

        size = 1.0 + np.abs(r).max() + np.abs(J).max() * np.abs(motion.a).max()
        if E.size:
            size += np.abs(motion.multipliers).max(initial=0.0)
        worst = max(worst, np.abs(left(motion)).max(initial=0.0) / size)
        if first:
            T = np.array([left(x) - left(base[0]) for x in base[1:]]).T
            best = np.linalg.lstsq(T, -left(base[0]), rcond=1e-9)[0]
            possible = np.linalg.norm(T @ best + left(base[0])) / size
            first = False
    for g in map(np.ravel, forces):
        _, sigma, right = np.linalg.svd(s.constraint_jacobian(q, v, t))
        free, S = right[int((sigma > 1e-9).sum()) :], s.actuation_matrix(q)
        size = 1.0 + np.abs(g).max()
        worst = max(worst, np.abs(free @ (S @ u - g)).max(initial=0.0) / size)
        best = np.linalg.lstsq(free @ S, free @ g, rcond=1e-9)[0]
        possible = np.linalg.norm(free @ (S @ best - g)) / size
    if says_ok:
        count.met += worst <= MET
        if worst > MET:
            count.wrong.append(f"{label}: missed by {worst:.2g}")
    else:
        count.said_not += 1
        if worst <= MET and possible <= 1e-12 and len(law.levels) == 1:
            count.needless.append(f"{label}: could be met to {possible:.2g}")


def history(number: int, steps: int, count: Count, *, from_c: bool) -> None:
    """Do one history: a machine, laws that live through it, switches and states at random."""
    rng = np.random.default_rng(number)
    own = machine(number % len(MACHINES))
    s = own.system
    for _ in range(steps):
        found = state(own, rng)
        if found is None:
            count.refused += 1
            continue
        q, v = found
        on = active(s)
        for k, law in enumerate(own.laws):
            label = f"history {number}, {s.name}, {law.name} {k}, {''.join(str(int(x)) for x in on.values())}"
            for name in getattr(getattr(law, "terms", None), "names", ()):
                law.settings[f"{name}.closed"] = float(on[name])
            told = law.solve(q, v, throw=False)
            check(own, law, told.u, told.status is Status.OK, q, v, count, label)
            if from_c and k in own.compiled:
                code, u = own.compiled[k], np.zeros(s.nu)
                code.assign(s.parameters.values())
                for j, name in enumerate(law.settings):
                    code.library.change_setting(code.workspace, j, ctypes.c_double(law.settings[name]))
                status = Status(code.call("law", np.array(q), np.array(v), 0.0, u))
                check(own, law, u, status is Status.OK, q, v, count, f"{label} from C")


def runs(number: int, count: Count) -> None:
    """Do one run of a machine with brakes on a schedule, and compare what is demanded in all its records."""
    rng = np.random.default_rng(number)
    own = machine((0, 2, 3)[number % 3])
    s = own.system
    s.parameters.update({activity_parameter(name): float(name == "third") for name in active(s)})
    q = np.array(s.assemble(own.q).q)
    law = own.laws[int(rng.integers(len(own.laws) - (len(own.laws) == 7)))]
    if rng.random() < 0.5:  # calls before a run are no matter of it
        law.solve(q, np.zeros(s.nv), throw=False)
    names = [name for name in active(s) if name != "third"]
    schedule = {}
    for name in names:
        on, off = np.sort(rng.uniform(0.05, 0.4, 2)).tolist()
        schedule[name] = [(on, off)]
    sampled: dict[str, Any] = {} if rng.random() < 0.5 else {"sample_time": 0.01}
    done = sr.simulate(s, q, duration=0.5, dt=1e-3, control=law, switching=sr.Switching(schedule),
                       throw=False, error_estimate=False, every=10, **sampled)  # fmt: skip
    for k in range(0, len(done.t), 5):
        t = float(done.t[k])
        near = any(abs(t - x) < 1e-3 for pairs in schedule.values() for x in pairs[0])
        if near or (sampled and k % 10):
            continue
        values = {
            activity_parameter(n): float(pairs[0][0] <= t < pairs[0][1]) for n, pairs in schedule.items()
        }
        s.parameters.update(values)
        anew = law.copy()
        anew.forget_ranks()
        told = anew.solve(done.q[k], done.v[k], t, throw=False)
        check(own, law, done.u[k], told.status is Status.OK, done.q[k], done.v[k], count,
              f"run {number}, {s.name}, {law.name}, t = {t:.3f}")  # fmt: skip


def report(count: Count) -> Iterator[str]:
    """Return what is to be printed."""
    yield (
        f"{count.asked} answers: {count.met} met, {count.said_not} said not, {len(count.wrong)} wrong with OK, "
        f"{len(count.needless)} missed without need; {count.refused} states without a closed configuration"
    )
    yield from count.wrong[:20]
    yield from count.needless[:20]


def main() -> None:
    """Do as many histories as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--no-c", action="store_true")
    given = parser.parse_args()
    count = Count()
    with tempfile.TemporaryDirectory() as folder:
        if not given.no_c:
            for number, make in enumerate(MACHINES):
                machine(number).to_c(Path(folder) / make.__name__)
        for number in range(given.cases):
            history(number, given.steps, count, from_c=not given.no_c)
        print("\n".join(report(count)))


if __name__ == "__main__":
    main()
