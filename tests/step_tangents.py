"""Derivatives of steps in time against differences of the same steps in forty digits, for random scenes.

``python tests/step_tangents.py 2000`` says how so many went. The twin of the step is written here from the
docstring of `sarrus.kernels.integrate.time_stepping`, with closed forms of masses, forces, rows and gaps, in mpmath.
It takes nothing from the library but the start of its contact problems, whose answers it polishes. Its active contacts
and modes are those of the unchanged step.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
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
from step_scenes import Row, Scene, dot, scenes

DIGITS, CHANGE, CLOSED, AT_REST, POLISH, CORRECTIONS = 50, mpf("1e-18"), 1e-9, 1e-6, 6, 30


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


def plus(a: Row, b: Row, factor: Any = 1) -> Row:
    return [x + factor * y for x, y in zip(a, b)]


class Step:
    """The step of a scene in forty digits."""

    def __init__(self, scene: Scene, h: float) -> None:
        self.scene, self.h = scene, mpf(h)
        self.held: list[Held] | None = None
        self.resting = set[int]()
        self.exact = True  # the kernel's three corrections close the gaps

    def __call__(self, q: Row, v: Row, u: Row, p: Row) -> tuple[Row, Row]:
        """Return the end of the step; the first call says what later ones hold."""
        scene, h, fresh = self.scene, self.h, self.held is None
        held = [Held(), Held()] if self.held is None else self.held
        middle = plus(q, v, h / 2)
        gaps = [e.gap(q) if e.gap else mpf(0) for e in scene.elements]
        for i, e in enumerate(scene.elements):  # printed digits: at rest it is closed
            near = CLOSED < gaps[i] / (e.unit * scene.length) <= AT_REST
            if (fresh and near and abs(dot(e.rows(q)[0], v)) <= 1e-8 * scene.length) or i in self.resting:
                gaps[i] = mpf(0)
                self.resting.add(i)
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
                open_ = max(
                    abs(g) / (CLOSED * scene.elements[i].unit * scene.length) for i, g in zip(chosen, gap)
                )
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

    def _impulses(
        self, held: Held, fresh: bool, rows: list[Row], given: Row, inverse: Any, counts: list[int]
    ) -> Row:
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
            dry = [
                (len(part), float(self.h) * elements[i].limit)
                for i, part in zip(held.active, parts)
                if not elements[i].gap
            ]
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
                J = np.array(
                    self._equations(held, parts, W, given, [mpf(x) for x in held.start])[1], dtype=float
                )
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
                    r[k] * sum(u[t] * W[t][j] for t in tails) / speed + e.mu * r[part[0]] * W[k][j]
                    if speed
                    else mpf(0)
                    for j in range(m)
                ]
                line[k] += speed
                line[part[0]] += e.mu * u[k]
                J.append(line)
        return left, [[line[k] for k in unknown] for line in J], unknown


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
        ends = [
            step(*(plus(part, [mpf(float(x)) for x in d], sign * CHANGE) for part, d in zip(base, change)))
            for sign in (1, -1)
        ]
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
