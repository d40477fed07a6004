"""Random laws whose last level need not be met: it drives no motor and no foot beyond its share of the limits.

Answers are compared with those of the same law without its last level, and with Clarabel: nearest to what the last
level wants in the kinetic metric, with everything above as it is.
`python tests/families/soft_levels.py --cases 400` prints what is wrong.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import casadi as ca
import clarabel
import numpy as np
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sarrus as sr
from legged_robots import ByHand, G, box, four_bar_leg, hopper, kept, moving, quadruped, rows_of
from random_levels import Rows, carts, random_levels
from sarrus import control
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.impacts import activity
from sarrus.dynamics.impacts.activity import contact_names

SHARE, ROOM = 0.9, 1e-8
SHAPES = ((2,), (1, 2), (2, -2), (1, -1, 2))


class Answers(dict[str, float]):
    """By how much an answer is wrong: of levels above, limits, the last level; −1 where Clarabel has none."""


# --- carts: the unknowns are the accelerations -------------------------------------------------------------


class CartLevels(control.Law):
    """Levels whose numbers are settings, and a force for the rest of the motions, of which coming close is enough."""

    def __init__(self, system: sr.System, shape: tuple[int, ...], rest: bool, **options: object) -> None:
        settings, levels, n = control.Settings(), [], system.nv
        for k, rows in enumerate(shape):
            count = abs(rows)
            T = ca.reshape(settings.add(f"T{k}", 0.0, count * n, "levels"), count, n)
            d = settings.add(f"d{k}", 0.0, count, "levels")
            names = tuple(f"row{k}.{i}" for i in range(count))
            levels.append(control.Demand(f"level{k}", names, T, d, at_most=rows < 0))
        force = settings.add("force", 0.0, n, "levels")
        more = [control.ForceDemand("rest", force, soft=True)] if rest else []
        super().__init__(system, [*levels, *more], settings, limits=(-1.0, 1.0), **options)

    def take(self, levels: list[Rows], force: Array, lower: Array, upper: Array) -> None:
        """Go by these numbers from now on."""
        parts = [np.concatenate([x.T.ravel(order="F"), x.d]) for x in levels]
        numbers = np.concatenate([*parts, force])
        self._own_input()[: len(numbers)] = numbers
        assert self.limits is not None
        self.limits.arrays["physics"][: 2 * self.system.nu] = [*lower, *upper]


@cache
def cart_laws(n: int, shape: tuple[int, ...]) -> tuple[CartLevels, CartLevels]:
    """Return a law of n carts with and without its last level."""
    system = carts(n)
    return CartLevels(system, shape, True), CartLevels(system, shape, False)


def shares(lower: Array, upper: Array, needed: Array) -> tuple[Array, Array]:
    """Return the limits of the last level."""
    high = np.minimum(upper, np.maximum(SHARE * upper, needed + ROOM * upper))
    return np.maximum(lower, np.minimum(SHARE * lower, needed + ROOM * lower)), high


def solved(
    P: Array, c: Array, A: Array, b: Array, rows: Array, h: Array, cones: tuple[int, ...] = ()
) -> Array | None:
    """Return the least of ½ xᵀP x + cᵀx with A x = b and half-lines, then cones, by Clarabel; None where it fails."""
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_iter = False, 400
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    kinds = [clarabel.ZeroConeT(len(A)), clarabel.NonnegativeConeT(len(rows) - sum(cones))]
    kinds += [clarabel.SecondOrderConeT(size) for size in cones]
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), c, sparse.csc_matrix(np.vstack([A, rows])), np.concatenate([b, h]), kinds,
        settings,
    ).solve()  # fmt: skip
    return np.array(found.x) if "Solved" in str(found.status) else None


def of_carts(seed: int) -> Answers:
    """Return what is wrong about random levels of carts: relative to their numbers."""
    rng = np.random.default_rng(seed)
    n, shape = int(rng.choice([3, 6])), SHAPES[rng.integers(len(SHAPES))]
    law, above = cart_laws(n, shape)
    levels, (lower, upper) = random_levels(rng, shape, n), rng.uniform(0.5, 3.0, (2, n)) * [[-1.0], [1.0]]
    force = rng.normal(size=n) * rng.choice([0.5, 2.0, 6.0])
    for each in (law, above):
        each.take(levels, force, lower, upper)
    u, needed = (each.solve(np.zeros(n), np.zeros(n), throw=False).u for each in (law, above))
    low, high = shares(lower, upper, needed)
    wrong = Answers(limits=max((u - high).max(), (low - u).max(), 0.0), above=0.0)
    rows, h, exact = [np.eye(n), -np.eye(n)], [high, -low], [np.zeros((0, n))]
    for level in levels:
        has, had, size = level.T @ u, level.T @ needed, 1.0 + np.abs(level.d).max()
        if level.at_most:
            more = has - np.maximum(level.d, had)
            rows.append(level.T)
            h.append(np.maximum(level.d, had))
        else:
            more = np.abs(has - had)
            exact.append(level.T)
        wrong["above"] = max(wrong["above"], more.max() / size)
    _, sizes, right = np.linalg.svd(np.vstack(exact))
    own = right[: (sizes > 1e-10 * max(sizes.max(initial=0.0), 1e-300)).sum()]
    x = solved(np.eye(n), -force, own, own @ needed, np.vstack(rows), np.concatenate(h))
    if x is None:
        return wrong | {"clarabel": -1.0}  # type: ignore[return-value]
    # ‖u − force‖ itself: digits of the solver are those of its square
    wrong["missed"] = max(float(np.linalg.norm(u - force) - np.linalg.norm(x - force)), 0.0)
    return wrong


# --- robots on their feet ----------------------------------------------------------------------------------


@dataclass
class Robot:
    """A robot, its stand, tasks that come before springs that pull its centre of mass, and both laws."""

    system: sr.System
    stand: Array
    tasks: tuple[control.Task, ...]
    weight: float
    stances: tuple[tuple[str, ...], ...]
    friction: float
    laws: list[control.LeggedController] = field(default_factory=list)

    def __post_init__(self) -> None:
        nv = self.system.nv
        pull = control.Regulation(control.centre_of_mass(), np.zeros(3), np.ones(3), np.ones(nv), name="pull")
        options = {"limits": (-1.0, 1.0), "largest_force": 10.0 * self.weight}
        self.laws = [
            control.LeggedController(self.system, [*self.tasks, *more], sense=False, **options)  # type: ignore[arg-type]
            for more in ((pull,), ())
        ]

    def parts(self, law: control.LeggedController, name: str) -> slice:
        """Return where a part of the numbers of a law is."""
        count, nu = len(law.terms.names), self.system.nu
        sizes = {"limits": (0, 2 * nu)}
        friction = 2 * nu + law.unknowns + len(law.levels)
        sizes |= {"friction": (friction, count), "largest": (friction + count, count)}
        at, size = sizes[name]
        return slice(at, at + size)


@cache
def robots() -> tuple[Robot, ...]:
    """Return robots with different numbers of motions that the tasks leave: loops and redundant feet are among them."""
    dog, stand = quadruped(0.6)
    legs = tuple(contact_names(dog))
    upright = control.Task(control.orientation("trunk"), np.zeros(3), 40.0, 10.0, name="upright")
    height = control.Task(control.centre_of_mass("z"), 0.407, 40.0, 10.0, name="height")
    hops, crouch = hopper(0.7)
    pitch = control.Task("pitch", 0.0, 40.0, 10.0, name="upright")
    leg, squat = four_bar_leg(0.8)
    crate = box(0.0)
    return (
        Robot(dog, stand, (upright, height), 12.0 * G, (legs, legs[1:], ("FL", "RR")), 0.6),
        Robot(hops, crouch, (pitch,), 8.0 * G, (("front", "rear"), ("rear",)), 0.7),
        Robot(leg, squat, (control.Task("pitch", 0.0, 40.0, 10.0, name="upright"),), 11.0 * G, (("toe", "heel"),), 0.8),
        Robot(crate, crate.neutral(), (control.Task("x", 0.1, 20.0, 5.0, name="push"),), 2.0 * G,
              (tuple(contact_names(crate)),), 0.5),
    )  # fmt: skip


@dataclass
class Case:
    """One law in one state: what it is given."""

    robot: Robot
    q: Array
    v: Array
    closed: tuple[str, ...]
    limit: float
    friction: float
    largest: float
    settings: dict[str, float]

    def solve(self, law: control.LeggedController, q: Array | None = None, v: Array | None = None):
        """Return what a law says."""
        assert law.limits is not None
        for name in law.terms.names:
            law.settings[f"{name}.closed"] = float(name in self.closed)
        law.settings.update({key: value for key, value in self.settings.items() if key in law.settings})
        physics, parts, nu = law.limits.arrays["physics"], self.robot.parts, self.robot.system.nu
        physics[parts(law, "limits")] = np.repeat([-self.limit, self.limit], nu)
        physics[parts(law, "friction")] = self.friction
        physics[parts(law, "largest")] = self.largest
        return law.solve(self.q if q is None else q, self.v if v is None else v, throw=False)


def case(seed: int) -> Case:
    """Return a random law in a random state."""
    rng = np.random.default_rng(seed)
    robot = robots()[rng.integers(len(robots()))]
    q, v = moving(robot.system, robot.stand, int(rng.integers(1e6)), float(rng.choice([0.01, 0.05])))
    target = robot.system.centroidal(q).centre + rng.normal(size=3) * rng.choice([0.02, 0.2, 1.0])
    stiffness = robot.weight * rng.choice([1.0, 5.0, 30.0])
    settings = {f"pull.target[{k}]": float(target[k]) for k in range(3)}
    settings |= {f"pull.stiffness[{k}]": float(stiffness) for k in range(3)}
    settings |= {f"pull.damping[{k}]": float(0.01 * stiffness) for k in range(robot.system.nv)}
    arm = 0.3 if robot is not robots()[3] else 2.0
    return Case(
        robot, q, v, robot.stances[rng.integers(len(robot.stances))],
        robot.weight * arm * float(rng.uniform(0.3, 1.2)), robot.friction * float(rng.uniform(0.3, 1.0)),
        robot.weight * float(rng.choice([0.6, 1.0, 3.0])), settings,
    )  # fmt: skip


def pulled(one: Case) -> Array:
    """Return the force that the last level wants in the place of the controls."""
    system, q, v = one.robot.system, one.q, one.v
    whole, still = system.centroidal(q, v), np.zeros(system.nv)
    gravity = system.bias_force(q, still) - system.passive_force(q, still)
    target, stiffness = (
        np.array([one.settings[f"pull.{part}[{k}]"] for k in range(3)]) for part in ("target", "stiffness")
    )
    damping = np.array([one.settings[f"pull.damping[{k}]"] for k in range(system.nv)])
    return gravity - damping * v + (whole.matrix[:3] / whole.mass).T @ (stiffness * (target - whole.centre))


def of_robots(seed: int) -> Answers | None:
    """Return what is wrong about a robot on its feet, None where no forces keep it on them; relative to its weight."""
    one = case(seed)
    robot, system = one.robot, one.robot.system
    law, above = robot.laws
    needed = one.solve(above)
    told = one.solve(law)
    if needed.outcome == "infeasible":
        assert told.outcome == "infeasible"
        return None
    full = np.full(system.nu, one.limit)
    low, high = shares(-full, full, needed.u)
    wrong = Answers(limits=max((told.u - high).max(), (low - told.u).max(), 0.0) / one.limit)
    rows, h, cones = [], [], []
    size = max(robot.weight, one.limit)
    for name in one.closed:
        has, had = told.contact_forces[name], needed.contact_forces[name]
        most = min(one.largest, max(SHARE * one.largest, had[0] + ROOM * one.largest))
        over = max(float(np.hypot(*had[1:])) - SHARE * one.friction * had[0], 0.0)
        least = over / ((1.0 - SHARE) * one.friction)
        far = float(np.hypot(*has[1:])) - SHARE * one.friction * has[0] - over
        wrong["limits"] = max(wrong["limits"], far / size, (has[0] - most) / size, (least - has[0]) / size)
        cones.append((name, most, least, over))
    for one_level, other in zip(needed.levels, told.levels):
        wrong["above"] = max(
            wrong.get("above", 0.0), abs(one_level.residual - other.residual) / (1.0 + other.demanded)
        )
    hand = ByHand(system, one.q, one.v, one.closed, coefficient=one.friction)
    n, M = len(hand.c), system.mass_matrix(one.q)
    with kept(system):
        activity.switch_off(system, contact_names(system))
        A, gamma = system.constraint_jacobian(one.q, one.v), system.constraint_bias(one.q, one.v)
    A = A[np.abs(A).max(axis=1) > 0.0]
    free = system.passive_force(one.q, one.v) - system.bias_force(one.q, one.v) + pulled(one)
    gamma = gamma[: len(A)]
    kkt = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    wanted = np.linalg.lstsq(kkt, np.r_[free, -gamma], rcond=None)[0][: system.nv]
    motion = [motions(system, one, each) for each in (needed, told)]
    for task in robot.tasks:
        J, _ = rows_of(system, task, one.q, one.v)
        wrong["above"] = max(
            wrong["above"],
            float(np.abs(J @ (motion[1] - motion[0])).max()) / (1.0 + np.abs(J @ motion[0]).max()),
        )
    P, c = np.zeros((n, n)), np.zeros(n)
    P[hand.a, hand.a], c[hand.a] = 2.0 * M, -2.0 * M @ wanted
    exact = [rows_of(system, task, one.q, one.v)[0] for task in robot.tasks]
    E = np.zeros((sum(map(len, exact)), n))
    E[:, hand.a] = np.vstack(exact)
    first = system.nu + system.nv
    rows, h = [np.eye(n)[hand.u], -np.eye(n)[hand.u]], [high, -low]
    sizes, soc, right = [], [], []
    for name, most, least, over in cones:
        part = system.closure_rows[name]
        own = np.eye(n)[first + part.start : first + part.stop]
        rows += [own[:1], -own[:1]]
        h += [[most], [-least]]
        soc += [-SHARE * one.friction * own[:1], -own[1:]]
        right += [[over], np.zeros(len(own) - 1)]
        sizes.append(len(own))
    x = solved(
        P, c, np.vstack([hand.A, E]), np.concatenate([hand.b, E[:, hand.a] @ motion[0]]), np.vstack([*rows, *soc]),
        np.concatenate([*h, *right]), tuple(sizes),
    )  # fmt: skip
    if x is None:
        return wrong | {"clarabel": -1.0}  # type: ignore[return-value]

    def distance(a: Array) -> float:
        return float(np.sqrt((a - wanted) @ M @ (a - wanted)))

    wrong["missed"] = max(distance(motion[1]) - distance(x[hand.a]), 0.0) / (1.0 + distance(motion[0]))
    return wrong


def motions(system: sr.System, one: Case, told: control.contact_law.ContactCommand) -> Array:
    """Return the accelerations that go with controls and contact forces."""
    with kept(system):
        activity.switch_off(system, contact_names(system))
        A, gamma = system.constraint_jacobian(one.q, one.v), system.constraint_bias(one.q, one.v)
        system.parameters.update({f"active.{name}": 1.0 for name in contact_names(system)})
        rows = system.constraint_jacobian(one.q, one.v)
    force = (
        system.passive_force(one.q, one.v)
        - system.bias_force(one.q, one.v)
        + system.actuation_matrix(one.q) @ told.u
    )
    for name in one.closed:
        force = force + rows[system.closure_rows[name]].T @ told.contact_forces[name]
    M = system.mass_matrix(one.q)
    kkt = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.lstsq(kkt, np.r_[force, -gamma], rcond=None)[0][: system.nv]


# --- continuity --------------------------------------------------------------------------------------------


def jump(value: Callable[[float], Array], halvings: int = 24) -> tuple[float, float, tuple[float, float]]:
    """Return how fast a value changes on a path from 0 to 1 at most, between 41 places, its largest jump and where:
    between these two places, halved again and again, each time the half in which it changes more."""
    places = np.linspace(0.0, 1.0, 41)
    values = [value(s) for s in places]
    steps = np.abs(np.diff(values, axis=0)).max(axis=1)
    k = int(steps.argmax())
    (a, b), (low, high) = places[k : k + 2], values[k : k + 2]
    for _ in range(halvings):
        middle = value(0.5 * (a + b))
        if np.abs(middle - low).max() > np.abs(high - middle).max():
            b, high = 0.5 * (a + b), middle
        else:
            a, low = 0.5 * (a + b), middle
    return float(steps.max() * 40.0), float(np.abs(high - low).max()), (float(a), float(b))


def jump_of_carts(seed: int) -> tuple[float, float]:
    """Return slope and jump of u, relative to the limits, where demands, the force of the rest and limits change."""
    rng = np.random.default_rng(seed)
    n, shape = int(rng.choice([3, 6])), SHAPES[rng.integers(len(SHAPES))]
    law, _ = cart_laws(n, shape)
    levels = random_levels(rng, shape, n)
    ends = [
        (
            [level.d + 0.3 * rng.normal(size=len(level.d)) for level in levels],
            3.0 * rng.normal(size=n),
            rng.uniform(1.0, 2.0, (2, n)) * [[-1.0], [1.0]],
        )
        for _ in range(2)
    ]

    def u(s: float) -> Array:
        wanted, force, limits = (
            [(1.0 - s) * x + s * y for x, y in zip(ends[0][0], ends[1][0])],
            (1.0 - s) * ends[0][1] + s * ends[1][1],
            (1.0 - s) * ends[0][2] + s * ends[1][2],
        )
        law.take([Rows(x.T, d, x.at_most) for x, d in zip(levels, wanted)], force, *limits)
        return law.solve(np.zeros(n), np.zeros(n), throw=False).u

    return jump(u)[:2]


def jump_of_robots(seed: int) -> tuple[float, float] | None:
    """Return slope and jump of the accelerations, relative to the largest one, where state, demands and limits change.

    It is not u: where a strict order of levels has forces between feet gain next to nothing for the motion, they are
    at one end of what is allowed or the other, with shares or without. None where a state has no answer, and where the
    levels above jump by themselves.
    """
    one = case(seed)
    robot = one.robot
    rng = np.random.default_rng(seed + 10**6)
    goal, speed = moving(robot.system, robot.stand, int(rng.integers(1e6)), 0.03)
    start, limit, q, v = dict(one.settings), one.limit, one.q, one.v
    way = {key: value * float(rng.uniform(0.2, 3.0)) for key, value in start.items()}

    def a(s: float, law: control.LeggedController = robot.laws[0]) -> Array:
        one.settings = {key: (1.0 - s) * value + s * way[key] for key, value in start.items()}
        one.limit = limit * (1.0 + 0.3 * s)
        one.q, one.v = robot.system.normalized((1.0 - s) * q + s * goal), (1.0 - s) * v + s * speed
        told = one.solve(law)
        if told.outcome == "infeasible":
            raise SolveError("no answer")
        return motions(robot.system, one, told)

    try:
        size = max(np.abs(a(s)).max() for s in (0.0, 0.5, 1.0))
        slope, most, ends = jump(lambda s: a(s) / size)
        above = [a(s, robot.laws[1]) / size for s in ends]
    except SolveError:
        return None
    return None if np.abs(above[1] - above[0]).max() > 1e-6 else (slope, most)


def main() -> None:
    """Print what is wrong in random cases."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.cases)
    for kind in (of_carts, of_robots):
        found = {seed: kind(seed) for seed in seeds}
        known = {seed: one for seed, one in found.items() if one is not None}
        print(f"{kind.__name__}: {len(known)} of {len(found)} with an answer")
        print(f"  without Clarabel's: {sum('clarabel' in one for one in known.values())}")
        for key in ("above", "limits", "missed"):
            worst = sorted(known, key=lambda seed: -known[seed].get(key, 0.0))[:5]
            print(f"  {key}: " + ", ".join(f"{known[seed].get(key, 0.0):.2g} ({seed})" for seed in worst))
    for path in (jump_of_carts, jump_of_robots):
        jumps = {seed: path(seed) for seed in seeds}
        paths = {seed: one for seed, one in jumps.items() if one is not None}
        worst = sorted(paths, key=lambda seed: -paths[seed][1])[:5]
        print(f"{path.__name__}: {len(paths)} of {len(jumps)} paths with an answer everywhere")
        print(f"  steepest: {max(one[0] for one in paths.values()):.3g}")
        print("  jumps: " + ", ".join(f"{paths[seed][1]:.2g} ({seed})" for seed in worst))


if __name__ == "__main__":
    main()
