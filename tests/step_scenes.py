"""Random scenes of steps in time with closed forms of masses, forces, rows and gaps, for any number of digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf

import sarrus as sr
from sarrus.base.arrays import Array
from sarrus.dynamics.system import System

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


def dot(a: Row, b: Row) -> Any:
    return mpmath.fdot(a, b)


def unit_row(count: int, place: int, sign: float = 1.0) -> Row:
    return [mpf(sign) if k == place else mpf(0) for k in range(count)]


def still(count: int) -> Callable[[Row, Row], Row]:
    return lambda q, v: [mpf(0)] * count


def plank(mu: float, restitution: float) -> Scene:
    """A planar body with its centre of mass aside, on up to four corners, driven along x and in its angle."""
    corners = [(-0.5, -0.1), (0.4, -0.1), (-0.3, 0.2), (0.5, 0.15)]
    cx, cz, turning, d = mpf(0.05), mpf(0.02), mpf(0.1), mpf(0.3)
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
        return [
            [p[0], 0, -p[0] * z],
            [0, p[0], p[0] * x],
            [-p[0] * z, p[0] * x, turning + p[0] * (x * x + z * z)],
        ]

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
        lowest = [
            k for k, (x, z) in enumerate(corners) if q[1] + x * np.sin(angle) + z * np.cos(angle) < 1e-12
        ]
        kind = rng.random()
        if kind < 0.75:  # resting, with slip or without
            H = np.array(
                [
                    [float(y) for y in row]
                    for k in lowest
                    for row in corner(k, *corners[k]).rows([mpf(y) for y in q])
                ]
            )
            chosen = H if kind < 0.3 else H[::2]
            v -= np.linalg.pinv(chosen) @ chosen @ v
            if kind > 0.6:
                v[1] -= 1e-2 * rng.random() * np.abs(v).max()
        elif kind < 0.9:
            q[1] += 10.0 ** rng.uniform(-6, -3)
        return q, v

    return Scene(
        system,
        mass,
        force,
        [corner(k, *one) for k, one in enumerate(corners)],
        start,
        float(system.workspace().characteristic.length),
    )


def cart(mu: float, restitution: float) -> Scene:
    """A cart with dry friction between stops, and a pole with dry friction whose tip may touch the ground."""
    m1, m2, arm, tip, turning, k, height = 1.2, mpf(0.7), mpf(0.3), mpf(0.5), mpf(0.02), mpf(5), mpf(0.3)
    m = sr.Mechanism("cart")
    m.add_body("cart", m1, inertia=(0.1,) * 3)
    m.add_body("pole", 0.7, com=(0.3, 0, 0), inertia=(0.02,) * 3)
    m.add_joint(
        "x",
        "prismatic",
        "world",
        "cart",
        axis=(1, 0, 0),
        friction=1.5,
        limits=(-0.4, 0.5),
        limit_restitution=restitution,
        stiffness=5.0,
    )
    m.add_joint("turn", "revolute", "cart", "pole", axis=(0, -1, 0), friction=0.2)
    m.add_contact(
        "tip",
        "pole",
        (0.5, 0, 0),
        offset=-0.3,
        friction="coulomb",
        friction_coefficient=mu,
        restitution=restitution,
    )
    m.add_actuator("push", "x")
    system = System(m, parameters={"m": "cart.mass", "g": "gravity.z"})

    def mass(q: Row, p: Row) -> list[Row]:
        s = mpmath.sin(q[1])
        return [[p[0] + m2, -m2 * arm * s], [-m2 * arm * s, turning + m2 * arm * arm]]

    def force(q: Row, v: Row, u: Row, p: Row) -> Row:
        c = mpmath.cos(q[1])
        return [m2 * arm * c * v[1] ** 2 - k * q[0] + u[0], m2 * p[1] * arm * c]

    def rows(q: Row) -> list[Row]:
        return [[mpf(0), tip * mpmath.cos(q[1])], [mpf(1), -tip * mpmath.sin(q[1])]]

    def bias(q: Row, v: Row) -> Row:
        return [-tip * mpmath.sin(q[1]) * v[1] ** 2, -tip * mpmath.cos(q[1]) * v[1] ** 2]

    elements = [
        Element("tip", rows, bias, lambda q: tip * mpmath.sin(q[1]) + height, mu, restitution),
        Element("x.lower", lambda q: [unit_row(2, 0)], still(1), lambda q: q[0] + mpf(0.4), 0.0, restitution),
        Element(
            "x.upper", lambda q: [unit_row(2, 0, -1.0)], still(1), lambda q: mpf(0.5) - q[0], 0.0, restitution
        ),
        Element("x.friction", lambda q: [unit_row(2, 0)], still(1), limit=1.5),
        Element("turn.friction", lambda q: [unit_row(2, 1)], still(1), limit=0.2),
    ]

    def start(rng: np.random.Generator) -> tuple[Array, Array]:
        low = np.arcsin(-0.6)
        q = np.array(
            [
                rng.choice([-0.4, 0.5, *rng.uniform(-0.3, 0.4, 3)]),
                rng.choice([low, -np.pi - low, *rng.uniform(-0.5, np.pi + 0.5, 2)]),
            ]
        )
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
        m.add_contact(
            f"ground{i}",
            f"bob{i}",
            (0, 0, 0),
            friction="coulomb",
            friction_coefficient=mu,
            restitution=restitution,
        )
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
        return [
            pull[0] + u[0],
            pull[1],
            pull[2] + masses[0] * p[1],
            -pull[0] + u[1],
            -pull[1],
            -pull[2] + p[0] * p[1],
        ]

    def ground(i: int) -> Element:
        order = (2, 0, 1)
        return Element(
            f"ground{i}",
            lambda q: [unit_row(6, 3 * i + j) for j in order],
            still(3),
            lambda q: q[3 * i + 2],
            mu,
            restitution,
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
        Element(
            "between",
            row_between,
            lambda q, v: [rope(between(q)[0], [v[3 + i] - v[i] for i in range(3)], between(q)[1])],
            lambda q: long - between(q)[1],
            0.0,
            restitution,
        ),
        Element(
            "tied",
            row_tied,
            lambda q, v: [rope(q[:3], v[:3], mpmath.sqrt(dot(q[:3], q[:3])))],
            lambda q: tied - mpmath.sqrt(dot(q[:3], q[:3])),
        ),
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
            H = np.array(
                [[float(x) for x in row] for e in closed for row in e.rows(z)[: 3 if kind < 0.15 else 1]]
            )
            if len(H):
                v -= np.linalg.pinv(H) @ H @ v
        if kind > 0.75:
            q *= 1.0 - 10.0 ** rng.uniform(-6, -3)
            q[[2, 5]] += 10.0 ** rng.uniform(-6, -3)
        return q, v

    return Scene(system, mass, force, elements, start, float(system.workspace().characteristic.length))


def scenes() -> list[Scene]:
    return [make(mu, e) for make in (plank, cart, bobs) for mu, e in ((0.3, 0.0), (0.8, 0.4))]
