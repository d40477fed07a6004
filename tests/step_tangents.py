"""Derivatives of steps in time against differences of the same steps in forty digits, for random scenes.

``python tests/step_tangents.py 2000`` says how so many went. The twin of the step is written here from the docstring of
`sarrus.kernels.integrate.time_stepping`, with closed forms of masses, forces, rows and gaps, in mpmath; it takes nothing
from the library but the start of its contact problems, whose answers it polishes. Its active contacts and modes are
those of the unchanged step.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf
from scipy.linalg import qr

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.optimize import Mode, solve_contact_problem
from sarrus.dynamics.system import System

DIGITS, CHANGE, CLOSED, POLISH, CORRECTIONS = 50, mpf("1e-18"), 1e-9, 6, 30
Row = list[Any]


@dataclass(frozen=True)
class Element:
    """A contact, rope or stop with gap and rows, or a dry friction: closed forms of (q) and (q, v)."""

    name: str
    rows: Callable[[Row], list[Row]]
    bias: Callable[[Row, Row], Row]
    gap: Callable[[Row], Any] | None = None
    mu: float = 0.0
    restitution: float = 0.0
    limit: float = 0.0
    unit: float = 1.0


@dataclass(frozen=True)
class Scene:
    """A system with closed forms: M(q, p) a = f(q, v, u, p), and its elements; characteristic length [m]."""

    system: System
    mass: Callable[[Row, Row], list[Row]]
    force: Callable[[Row, Row, Row, Row], Row]
    elements: list[Element]
    start: Callable[[np.random.Generator], tuple[Array, Array]]
    length: float


@dataclass
class Held:
    """What a pass holds: active contacts, closing and rebounding ones, modes, and forces that redundant rows keep."""

    active: list[int] = field(default_factory=list)
    closing: set[int] = field(default_factory=set)
    rebounds: set[int] = field(default_factory=set)
    lasting: set[int] = field(default_factory=set)
    modes: list[Mode] = field(default_factory=list)
    solved: list[int] = field(default_factory=list)
    start: Array = field(default_factory=lambda: np.zeros(0))


def dot(a: Row, b: Row) -> Any:
    return mpmath.fdot(a, b)


def plus(a: Row, b: Row, factor: Any = 1) -> Row:
    return [x + factor * y for x, y in zip(a, b)]


class Step:
    """The step of a scene in forty digits."""

    def __init__(self, scene: Scene, h: float) -> None:
        self.scene, self.h = scene, mpf(h)
        self.held: list[Held] | None = None
        self.exact = True  # the kernel's three corrections close the gaps

    def __call__(self, q: Row, v: Row, u: Row, p: Row) -> tuple[Row, Row]:
        """Return the end of the step; the first call says what later ones hold."""
        scene, h, fresh = self.scene, self.h, self.held is None
        held = [Held(), Held()] if self.held is None else self.held
        middle = plus(q, v, h / 2)
        gaps = [e.gap(q) if e.gap else mpf(0) for e in scene.elements]
        H = [e.rows(middle) for e in scene.elements]
        M = mpmath.matrix(scene.mass(middle, p))
        inverse = M**-1
        vm, smooth = v, None
        for k in range(2):
            if fresh and k == 1:
                held[1].active = []
            free = list(inverse * mpmath.matrix(scene.force(middle, vm, u, p)))
            bias = [e.bias(middle, vm) for e in scene.elements]
            ahead, smooth, delay, impulses = self._pass(
                held[k], fresh, k, v, free, smooth, gaps, H, bias, inverse
            )
            vm = [(a + b) / 2 for a, b in zip(v, ahead)]
        way = plus([h * x for x in ahead], smooth, -h * h / 2)
        for i, r in impulses.items():
            if delay.get(i, 0):
                for row, x in zip(H[i], r):
                    way = plus(way, list(inverse * mpmath.matrix(row)), -delay[i] * x)
        end = plus(q, way)
        chosen = [
            i for i in held[1].active
            if scene.elements[i].gap and i not in held[1].rebounds and self._pushes(held[1], i)
        ]  # fmt: skip
        if chosen:
            heads = [H[i][0] for i in chosen]
            W = mpmath.matrix([[dot(a, list(inverse * mpmath.matrix(b))) for b in heads] for a in heads])
            for i in range(len(chosen)):
                W[i, i] *= 1 + mpf(1e-12)
            for correction in range(CORRECTIONS):
                gap = mpmath.matrix([scene.elements[i].gap(end) for i in chosen])
                open_ = max(abs(g) / (CLOSED * scene.elements[i].unit * scene.length) for i, g in zip(chosen, gap))
                if fresh and correction == 3:
                    self.exact = open_ <= 1e-4
                if correction == 3 and not self.exact:
                    break
                for row, x in zip(heads, mpmath.lu_solve(W, -gap)):
                    end = plus(end, list(inverse * mpmath.matrix(row)), x)
        self.held = held
        return end, ahead

    def _pushes(self, held: Held, i: int) -> bool:
        return held.modes[held.active.index(i)] is not Mode.OPEN

    def _pass(
        self,
        held: Held,
        fresh: bool,
        number: int,
        v: Row,
        free: Row,
        smooth: Row | None,
        gaps: Row,
        H: list[list[Row]],
        bias: list[Row],
        inverse: Any,
    ) -> tuple[Row, Row, dict[int, Any], dict[int, Row]]:
        h, elements = self.h, self.scene.elements
        smooth = free if smooth is None else smooth
        alone = plus(v, free, h)
        speeds = [[dot(row, alone) + h / 2 * b for row, b in zip(H[i], bias[i])] for i in range(len(H))]
        earlier = [dot(H[i][0], v) - h / 2 * bias[i][0] for i in range(len(H))]
        delay = dict[int, Any]()
        if fresh:
            for i, e in enumerate(elements):
                if e.gap is None:
                    held.active.append(i)
                    continue
                if gaps[i] <= CLOSED * e.unit * self.scene.length:
                    held.active.append(i)
                    continue
                if gaps[i] / h + speeds[i][0] - h / 2 * (dot(H[i][0], smooth) + bias[i][0]) < 0:
                    held.active.append(i)
                    held.closing.add(i)
        for i in held.active:
            e = elements[i]
            if e.gap is None:
                continue
            if i in held.closing:
                forecast = gaps[i] / h + speeds[i][0] - h / 2 * (dot(H[i][0], smooth) + bias[i][0])
                delay[i] = h * gaps[i] / (gaps[i] - h * forecast)
            approach = earlier[i] + delay.get(i, mpf(0)) / h * (speeds[i][0] - earlier[i])
            rest = 1e-3 * (self.scene.length if e.unit == 1.0 else 1.0)
            if fresh and -e.restitution * approach >= rest:
                held.rebounds.add(i)
            if i in held.rebounds:
                speeds[i] = [speeds[i][0] + e.restitution * approach, *speeds[i][1:]]
            if fresh and i not in held.closing and i not in held.rebounds and -earlier[i] < 0.1 * rest:
                held.lasting.add(i)
        if fresh:
            held.lasting |= {i for i in held.active if elements[i].gap is None}
        rows = [row for i in held.active for row in H[i]]
        given = [x for i in held.active for x in speeds[i]]
        if delay:
            turn = [h / 2 * b for i in held.active for b in bias[i]]
            given = plus(given, turn, -1)
        r = self._impulses(held, fresh, rows, given, inverse, [len(H[i]) for i in held.active])
        impulses, at, ahead, smooth = dict[int, Row](), 0, alone, free
        for i in held.active:
            impulses[i] = r[at : at + len(H[i])]
            at += len(H[i])
            for row, x in zip(H[i], impulses[i]):
                column = list(inverse * mpmath.matrix(row))
                ahead = plus(ahead, column, x)
                if i in held.lasting:
                    smooth = plus(smooth, column, x / h)
        return ahead, smooth, delay, impulses

    def _impulses(self, held: Held, fresh: bool, rows: list[Row], given: Row, inverse: Any, counts: list[int]) -> Row:
        """Return the impulses that obey the laws with the modes held, polished from an answer in double precision."""
        m, elements = len(rows), self.scene.elements
        if not m:
            return []
        columns = [list(inverse * mpmath.matrix(row)) for row in rows]
        W = [[dot(row, column) for column in columns] for row in rows]
        parts, at = [], 0
        for n in counts:
            parts.append(range(at, at + n))
            at += n
        if fresh:
            dense = np.array(W, dtype=float)
            sizes = [(len(part), elements[i].mu) for i, part in zip(held.active, parts) if elements[i].gap]
            dry = [(len(part), float(self.h) * elements[i].limit) for i, part in zip(held.active, parts) if not elements[i].gap]
            found = solve_contact_problem(
                None, np.array(given, dtype=float), sizes, dry, delassus=(dense + dense.T) / 2
            )
            held.modes, held.start = list(found.modes), found.forces.copy()
            unknown = []
            for i, part, mode in zip(held.active, parts, held.modes):
                if mode is not Mode.OPEN and not (elements[i].gap is None and mode is Mode.SLIDING):
                    unknown += list(part)
            held.solved = unknown
            if unknown:
                J = np.array(self._equations(held, parts, W, given, [mpf(x) for x in held.start])[1], dtype=float)
                _, upper, order = qr(J, pivoting=True)
                sizes_of = np.abs(np.diag(upper))
                held.solved = sorted(unknown[k] for k in order[: int((sizes_of > 1e-9 * sizes_of[0]).sum())])
        r = [mpf(float(x)) for x in held.start]
        for part, i, mode in zip(parts, held.active, held.modes):
            if mode is Mode.OPEN:
                for k in part:
                    r[k] = mpf(0)
            elif elements[i].gap is None and mode is Mode.SLIDING:
                r[part[0]] = mpmath.sign(r[part[0]]) * self.h * elements[i].limit
        for _ in range(POLISH):
            left, J, unknown = self._equations(held, parts, W, given, r)
            if not unknown:
                break
            if len(held.solved) == len(unknown):
                step = mpmath.lu_solve(mpmath.matrix(J), mpmath.matrix(left))
            else:
                places = [unknown.index(k) for k in held.solved]
                thin = mpmath.matrix([[line[k] for k in places] for line in J])
                step = mpmath.lu_solve(thin, mpmath.matrix(left))
            for k, x in zip(held.solved, step):
                r[k] -= x
        return r

    def _equations(
        self, held: Held, parts: Sequence[range], W: list[Row], given: Row, r: Row
    ) -> tuple[Row, list[Row], list[int]]:
        """Return residuals, their derivatives by the unknown impulses, and which these are."""
        elements, m = self.scene.elements, len(r)
        u = [dot(line, r) + b for line, b in zip(W, given)]
        left, J, unknown = list[Any](), list[Row](), list[int]()
        for i, part, mode in zip(held.active, parts, held.modes):
            e = elements[i]
            if mode is Mode.OPEN or (e.gap is None and mode is Mode.SLIDING):
                continue
            unknown += list(part)
            tails = list(part) if e.gap is None else list(part)[1:]
            if e.gap is not None:
                left.append(u[part[0]])
                J.append(W[part[0]])
            if mode is Mode.STICKING:
                for k in tails:
                    left.append(u[k])
                    J.append(W[k])
                continue
            speed = mpmath.sqrt(dot([u[k] for k in tails], [u[k] for k in tails])) if tails else mpf(0)
            for k in tails:
                left.append(r[k] * speed + e.mu * r[part[0]] * u[k])
                line = [
                    r[k] * sum(u[t] * W[t][j] for t in tails) / speed + e.mu * r[part[0]] * W[k][j] if speed else mpf(0)
                    for j in range(m)
                ]
                line[k] += speed
                line[part[0]] += e.mu * u[k]
                J.append(line)
        return left, [[line[k] for k in unknown] for line in J], unknown


# --- scenes -----------------------------------------------------------------------------------------------


def unit_row(count: int, place: int, sign: float = 1.0) -> Row:
    return [mpf(sign) if k == place else mpf(0) for k in range(count)]


def still(count: int) -> Callable[[Row, Row], Row]:
    return lambda q, v: [mpf(0)] * count


def plank(mu: float, restitution: float) -> Scene:
    """A planar body with its centre of mass aside, on up to four corners, driven along x and in its angle."""
    corners = [(-0.5, -0.1), (0.4, -0.1), (-0.3, 0.2), (0.5, 0.15)]
    cx, cz, I, d = mpf(0.05), mpf(0.02), mpf(0.1), mpf(0.3)
    m = sr.Mechanism("plank")
    m.add_body("plank", 1.5, com=(0.05, 0, 0.02), inertia=(0.1,) * 3)
    m.add_joint("free", "planar", "world", "plank", axis=(0, -1, 0), axis2=(1, 0, 0), damping=0.3)
    for k, (x, z) in enumerate(corners):
        m.add_contact(
            f"c{k}", "plank", (x, 0, z), friction="coulomb", friction_coefficient=mu, restitution=restitution
        )
    m.add_actuator("push", "free.x")
    m.add_actuator("turn", "free.angle")
    system = System(m, parameters={"m": "plank.mass", "g": "gravity.z"})

    def arm(q: Row, x: Any, z: Any) -> tuple[Any, Any]:
        c, s = mpmath.cos(q[2]), mpmath.sin(q[2])
        return x * c - z * s, x * s + z * c

    def mass(q: Row, p: Row) -> list[Row]:
        x, z = arm(q, cx, cz)
        return [[p[0], 0, -p[0] * z], [0, p[0], p[0] * x], [-p[0] * z, p[0] * x, I + p[0] * (x * x + z * z)]]

    def force(q: Row, v: Row, u: Row, p: Row) -> Row:
        x, z = arm(q, cx, cz)
        w2 = v[2] ** 2
        return [
            p[0] * w2 * x - d * v[0] + u[0],
            p[0] * w2 * z + p[0] * p[1] - d * v[1],
            p[0] * p[1] * x - d * v[2] + u[1],
        ]

    def corner(k: int, x: float, z: float) -> Element:
        def rows(q: Row) -> list[Row]:
            ax, az = arm(q, mpf(x), mpf(z))
            return [[mpf(0), mpf(1), ax], [mpf(1), mpf(0), -az]]

        def bias(q: Row, v: Row) -> Row:
            ax, az = arm(q, mpf(x), mpf(z))
            return [-az * v[2] ** 2, -ax * v[2] ** 2]

        return Element(f"c{k}", rows, bias, lambda q: q[1] + arm(q, mpf(x), mpf(z))[1], mu, restitution)

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        angle = 0.0 if rng.random() < 0.3 else rng.uniform(-np.pi, np.pi)
        q = np.array([rng.normal(), 0.0, angle])
        q[1] = -min(x * np.sin(angle) + z * np.cos(angle) for x, z in corners)
        v = rng.normal(size=3) * 10.0 ** rng.uniform(-2, 1)
        lowest = [k for k, (x, z) in enumerate(corners) if q[1] + x * np.sin(angle) + z * np.cos(angle) < 1e-12]
        kind = rng.random()
        if kind < 0.75:  # resting, with slip or without
            H = np.array([[float(y) for y in row] for k in lowest for row in corner(k, *corners[k]).rows([mpf(y) for y in q])])
            chosen = H if kind < 0.3 else H[::2]
            v -= np.linalg.pinv(chosen) @ chosen @ v
            if kind > 0.6:
                v[1] -= 1e-2 * rng.random() * np.abs(v).max()
        elif kind < 0.9:
            q[1] += 10.0 ** rng.uniform(-6, -3)
        return q, v

    return Scene(system, mass, force, [corner(k, *one) for k, one in enumerate(corners)], start, float(system.workspace().characteristic.length))


def cart(mu: float, restitution: float) -> Scene:
    """A cart with dry friction between stops, and a pole with dry friction whose tip may touch the ground."""
    m1, m2, l, tip, I, k, height = 1.2, mpf(0.7), mpf(0.3), mpf(0.5), mpf(0.02), mpf(5), mpf(0.3)
    m = sr.Mechanism("cart")
    m.add_body("cart", m1, inertia=(0.1,) * 3)
    m.add_body("pole", 0.7, com=(0.3, 0, 0), inertia=(0.02,) * 3)
    m.add_joint("x", "prismatic", "world", "cart", axis=(1, 0, 0), friction=1.5, limits=(-0.4, 0.5), limit_restitution=restitution, stiffness=5.0)
    m.add_joint("turn", "revolute", "cart", "pole", axis=(0, -1, 0), friction=0.2)
    m.add_contact("tip", "pole", (0.5, 0, 0), offset=-0.3, friction="coulomb", friction_coefficient=mu, restitution=restitution)
    m.add_actuator("push", "x")
    system = System(m, parameters={"m": "cart.mass", "g": "gravity.z"})

    def mass(q: Row, p: Row) -> list[Row]:
        s = mpmath.sin(q[1])
        return [[p[0] + m2, -m2 * l * s], [-m2 * l * s, I + m2 * l * l]]

    def force(q: Row, v: Row, u: Row, p: Row) -> Row:
        c = mpmath.cos(q[1])
        return [m2 * l * c * v[1] ** 2 - k * q[0] + u[0], m2 * p[1] * l * c]

    def rows(q: Row) -> list[Row]:
        return [[mpf(0), tip * mpmath.cos(q[1])], [mpf(1), -tip * mpmath.sin(q[1])]]

    def bias(q: Row, v: Row) -> Row:
        return [-tip * mpmath.sin(q[1]) * v[1] ** 2, -tip * mpmath.cos(q[1]) * v[1] ** 2]

    elements = [
        Element("tip", rows, bias, lambda q: tip * mpmath.sin(q[1]) + height, mu, restitution),
        Element("x.lower", lambda q: [unit_row(2, 0)], still(1), lambda q: q[0] + mpf(-(-0.4)), 0.0, restitution),
        Element("x.upper", lambda q: [unit_row(2, 0, -1.0)], still(1), lambda q: mpf(0.5) - q[0], 0.0, restitution),
        Element("x.friction", lambda q: [unit_row(2, 0)], still(1), limit=1.5),
        Element("turn.friction", lambda q: [unit_row(2, 1)], still(1), limit=0.2),
    ]

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        low = np.arcsin(-0.6)
        q = np.array([rng.choice([-0.4, 0.5, *rng.uniform(-0.3, 0.4, 3)]), rng.choice([low, -np.pi - low, *rng.uniform(-0.5, np.pi + 0.5, 2)])])
        v = rng.normal(size=2) * 10.0 ** rng.uniform(-2, 0.5)
        kind = rng.random()
        if kind < 0.8:
            v[0] = v[0] if -0.4 < q[0] < 0.5 and kind < 0.6 else 0.0
            if abs(0.5 * np.sin(q[1]) + 0.3) < 1e-9:
                v[1] = 0.0
        if kind > 0.9:
            q = q + 10.0 ** rng.uniform(-6, -3) * np.array([np.sign(0.05 - q[0]), np.sign(np.cos(q[1]))])
        return q, v

    return Scene(system, mass, force, elements, start, float(system.workspace().characteristic.length))


def bobs(mu: float, restitution: float) -> Scene:
    """Two points in space on the ground, joined by a rope and a spring, the first tied to the world by a rope."""
    masses, k, rest, long, tied = (1.0, 0.6), mpf(8), mpf(0.25), mpf(0.5), mpf(0.8)
    m = sr.Mechanism("bobs")
    for i, size in enumerate(masses):
        parent = "world"
        for axis in range(3):
            body = f"bob{i}" if axis == 2 else f"slide{i}{axis}"
            m.add_body(body, size if axis == 2 else 0.0, inertia=(1e-2 if axis == 2 else 0.0,) * 3)
            m.add_joint(f"{'xyz'[axis]}{i}", "prismatic", parent, body, axis=np.eye(3)[axis])
            parent = body
        m.add_contact(f"ground{i}", f"bob{i}", (0, 0, 0), friction="coulomb", friction_coefficient=mu, restitution=restitution)
        m.add_actuator(f"push{i}", f"x{i}")
    m.add_rope("between", ["bob0", "bob1"], length=0.5, restitution=restitution)
    m.add_rope("tied", ["world", "bob0"], length=0.8)
    m.add_spring_damper("spring", "bob0", "bob1", stiffness=8.0, rest_length=0.25)
    system = System(m, parameters={"m": "bob1.mass", "g": "gravity.z"})

    def mass(q: Row, p: Row) -> list[Row]:
        return [[(masses[0] if i < 3 else p[0]) * (i == j) for j in range(6)] for i in range(6)]

    def between(q: Row) -> tuple[Row, Any]:
        d = [q[3 + i] - q[i] for i in range(3)]
        return d, mpmath.sqrt(dot(d, d))

    def force(q: Row, v: Row, u: Row, p: Row) -> Row:
        d, size = between(q)
        pull = [k * (size - rest) * x / size for x in d]
        return [pull[0] + u[0], pull[1], pull[2] + masses[0] * p[1], -pull[0] + u[1], -pull[1], -pull[2] + p[0] * p[1]]

    def ground(i: int) -> Element:
        order = (2, 0, 1)
        return Element(
            f"ground{i}", lambda q: [unit_row(6, 3 * i + j) for j in order], still(3), lambda q: q[3 * i + 2], mu, restitution
        )

    def rope(d: Row, w: Row, size: Any) -> Any:
        rate = dot(d, w) / size
        return -(dot(w, w) - rate**2) / size

    def row_between(q: Row) -> list[Row]:
        d, size = between(q)
        return [[x / size for x in d] + [-x / size for x in d]]

    def row_tied(q: Row) -> list[Row]:
        size = mpmath.sqrt(dot(q[:3], q[:3]))
        return [[-x / size for x in q[:3]] + [mpf(0)] * 3]

    elements = [
        ground(0),
        ground(1),
        Element("between", row_between, lambda q, v: [rope(between(q)[0], [v[3 + i] - v[i] for i in range(3)], between(q)[1])], lambda q: long - between(q)[1], 0.0, restitution),
        Element("tied", row_tied, lambda q, v: [rope(q[:3], v[:3], mpmath.sqrt(dot(q[:3], q[:3])))], lambda q: tied - mpmath.sqrt(dot(q[:3], q[:3]))),
    ]

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        q, v = np.zeros(6), rng.normal(size=6) * 10.0 ** rng.uniform(-2, 0.5)
        way = rng.normal(size=3)
        way[2] = 0.0 if rng.random() < 0.6 else abs(way[2])
        q[:3] = way / np.linalg.norm(way) * (0.8 if rng.random() < 0.5 else 0.6)
        turn = rng.normal(size=3)
        turn[2] = 0.0 if rng.random() < 0.6 else abs(turn[2])
        q[3:] = q[:3] + turn / np.linalg.norm(turn) * (0.5 if rng.random() < 0.6 else 0.4)
        kind = rng.random()
        if kind < 0.85:
            z = [mpf(x) for x in q]
            closed = [e for e in elements if float(e.gap(z)) < 1e-9]  # type: ignore[misc]
            H = np.array([[float(x) for x in row] for e in closed for row in e.rows(z)[: 3 if kind < 0.15 else 1]])
            if len(H):
                v -= np.linalg.pinv(H) @ H @ v
        if kind > 0.75:
            q *= 1.0 - 10.0 ** rng.uniform(-6, -3)
            q[[2, 5]] += 10.0 ** rng.uniform(-6, -3)
        return q, v

    return Scene(system, mass, force, elements, start, float(system.workspace().characteristic.length))


def scenes() -> list[Scene]:
    return [make(mu, e) for make in (plank, cart, bobs) for mu, e in ((0.3, 0.0), (0.8, 0.4))]


def judge(scene: Scene, rng: np.random.Generator) -> tuple[str, float, str]:
    """Return how the derivatives of a random step went, and their error along a random change if they are OK.

    The error is relative to the largest entry of the derivative, or one.
    """
    system = scene.system
    q, v = scene.start(rng)
    u, h = rng.normal(size=system.nu) * 10.0 ** rng.uniform(-1, 1), 10.0 ** rng.uniform(-3, -1.7)
    system.parameters["m"] = rng.uniform(0.3, 2.0)
    p = [system.parameters["m"], system.parameters["g"]]
    try:
        found = sr.sensitivity.step_derivatives(system, q, v, u, dt=h, method="moreau-jean")
    except ArgumentError:  # deep in a wall or a rope too long
        return judge(scene, rng)
    except SolveError as error:
        return (str(error.element) if error.element else str(error).split(",")[1][:60]), 0.0, str(error)
    with mp.workdps(DIGITS):
        step = Step(scene, h)
        base = [[mpf(float(x)) for x in part] for part in (q, v, u, p)]
        end = step(*base)
        values = np.array([float(x) for part in end for x in part])
        apart = np.abs(values - np.concatenate([found.q, found.v])).max()
        if apart > 1e-9 * (1.0 + np.abs(values).max()):
            return "other step", float(apart), ""
        change = [rng.normal(size=len(part)) for part in (q, v, u, p)]
        ends = []
        for sign in (1, -1):
            ends.append(step(*(plus(part, [mpf(float(x)) for x in d], sign * CHANGE) for part, d in zip(base, change))))
        exact = np.array([float((a - b) / (2 * CHANGE)) for x, y in zip(*ends) for a, b in zip(x, y)])
    whole = np.hstack([found.F, found.G, found.P]) @ np.concatenate(change)
    return "OK", float(np.abs(whole - exact).max() / max(1.0, np.abs(exact).max())), ""


if __name__ == "__main__":
    count, all_scenes = int(sys.argv[1]), scenes()
    rng, went, worst = np.random.default_rng(0), Counter[str](), list[tuple[float, str, int]]()
    for k in range(count):
        scene = all_scenes[k % len(all_scenes)]
        name, error, text = judge(scene, rng)
        went["border or refused" if text and "-v" not in sys.argv else name] += 1
        if not text:
            worst.append((error, f"{name} {scene.system.name}", k))
    print(went, sorted(worst)[-8:], np.median([one[0] for one in worst]))
