"""Continuation of closed configurations while locked coordinates move to new values.

If only locked coordinates of a guess differ from a closed configuration, moving them back closes the loops and finds
it. From there the locked coordinates move straight to their values, in steps with a tangent predictor and Newton's
method (Allgower and Georg, Introduction to numerical continuation methods, 2003, chapter 2); the free coordinates move
as little as possible in the kinetic metric. Steps are short enough that the tangent hardly turns. If the closures
determine the free coordinates, the orientation of their columns of A must not change, det(N₀ᵀN₁) > 0: a jump to another
branch changes it, even if it looks straight. So does a crossing of branches; a change is accepted once the step is too
short for a jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.antiparallel import antiparallel
from sarrus.dynamics.closing.levenberg_marquardt import (
    data_of,
    directions,
    is_closed,
    levenberg_marquardt_close,
)
from sarrus.dynamics.closing.manifold import difference, turning
from sarrus.dynamics.closing.tolerances import (
    CONTINUATION_ASIDE,
    CONTINUATION_CONTRACTION,
    CONTINUATION_CONVERGED,
    CONTINUATION_ITERATIONS,
    CONTINUATION_STEP,
    CONTINUATION_STEPS,
    CONTINUATION_TURN,
    FARTHER_GUESS,
    GUESS_GAP,
    GUESS_SHARE,
    GUESS_STARTS,
    NEAR_GUESS,
    NO_JUMP_STEP,
    SAME_CONFIGURATION,
    SHORTEST_CONTINUATION,
    TANGENT_DIFFERENCE,
    UNMOVED_DIRECTION,
)
from sarrus.dynamics.model.compiled import random_coordinates
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.measures import longest, metric_root, open_by
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.newton import contract
from sarrus.kernels.linalg.ranked import are_independent, in_metric, ranked


@dataclass(frozen=True, eq=False)
class Followed:
    """End of a continuation: the configuration, and whether the locked coordinates reached their values."""

    q: Array
    arrived: bool


def closed_origins(system: Evaluations, q: Array, t: float, free: Array) -> list[Array]:
    """Return the closed configurations that differ from q in the locked coordinates only, the nearest first.

    ``free`` (nv,) is zero for locked velocities. The free coordinates may have small residuals. The search starts from
    q and, with several locked coordinates, which may close the loops in several ways, from seeded starts; angles stay
    within half a turn of their values in q.
    """
    locked, turns = 1.0 - free, turning(system)
    columns, rng = system.characteristic.columns, np.random.default_rng(5)
    most = min(GUESS_GAP, GUESS_SHARE * open_by(system, q, t))
    origins: list[Array] = []
    for k in range(GUESS_STARTS if np.count_nonzero(locked) > 1 else 1):
        start = system.move(q, rng.uniform(-np.pi, np.pi, system.nv) * locked / columns) if k else q
        back, _ = levenberg_marquardt_close(system, start, t, locked)
        if open_by(system, back, t) > most:
            continue
        origin, _ = levenberg_marquardt_close(system, back, t, np.ones(system.nv))
        if not is_closed(system, origin, t) or antiparallel(system, origin, t):
            continue
        origin = origin.copy()
        origin[turns] += 2.0 * np.pi * np.rint((q - origin)[turns] / (2.0 * np.pi))
        if all(longest(system, difference(system, other, origin)) > SAME_CONFIGURATION for other in origins):
            origins.append(origin)
    far = {id(origin): longest(system, difference(system, q, origin)) for origin in origins}
    origins.sort(key=lambda origin: far[id(origin)])
    if origins and far[id(origins[0])] < NEAR_GUESS:
        return [origin for origin in origins if far[id(origin)] < FARTHER_GUESS * far[id(origins[0])]]
    return origins


def same_place(system: Evaluations, p: Array, q: Array) -> bool:
    """Tell whether two configurations are equal up to full turns."""
    return longest(system, difference(system, p, q, turning(system))) <= SAME_CONFIGURATION


def follow(system: Evaluations, origin: Array, q: Array, t: float, free: Array) -> Followed:
    """Move the locked coordinates from the closed configuration ``origin`` to their values in q, with closed loops.

    If the path is blocked and a single angle is locked, the opposite direction of rotation is tried.
    """
    way = _Way(system, origin, q, t, free)
    found = way.walk()
    if not found.arrived and way.turning is not None:
        index = way.turning
        goal = q.copy()
        goal[index] -= 2.0 * np.pi * np.sign(q[index] - origin[index])
        again = _Way(system, origin, goal, t, free).walk()
        if again.arrived:
            again.q[index] = q[index]
            return again
    return found


class _Way:
    """The path of the locked coordinates from their values in a closed configuration to given ones, s from 0 to 1."""

    def __init__(self, system: Evaluations, origin: Array, goal: Array, t: float, free: Array) -> None:
        self.system, self.t, self.origin = system, t, origin
        self.size = system.characteristic
        self.basis, self.locked = directions(free), free == 0.0
        self.indices = held_coordinates(system, free)
        self.goal = origin.copy()
        self.goal[self.indices] = goal[self.indices]
        for first in system.equations.quaternions:
            part = slice(first, first + 4)
            if self.goal[part] @ origin[part] < 0.0:
                self.goal[part] *= -1.0
        moved = np.flatnonzero(self.goal != origin)
        turns = len(moved) == 1 and moved[0] in turning(system)
        self.turning: int | None = int(moved[0]) if turns else None

    def placed(self, q: Array, s: float) -> Array:
        """Return q with its locked coordinates at path parameter s."""
        out = q.copy()
        out[self.indices] = ((1.0 - s) * self.origin + s * self.goal)[self.indices]
        return self.system.normalized(out)

    def rows(self, q: Array) -> tuple[Array, Array]:
        """Return φ and A of the holonomic rows, in characteristic units."""
        system, factors = self.system, self.size.rows[: self.system.nh]
        phi = factors * system.constraint_residual(q, self.t)
        jacobian = system.constraint_jacobian(q, t=self.t)[: system.nh]
        return phi, factors[:, None] * jacobian / self.size.columns

    def solve(self, q: Array, rows: Array, residual: Array) -> Array:
        """Return the least motion of the free coordinates, in characteristic units, with rows @ motion = −residual."""
        free = rows[:, ~self.locked]
        root = np.eye(free.shape[1])
        if not self.unique:
            root = metric_root(self.system, q, self.t, self.basis / self.size.columns[:, None])
        weighted = ranked(in_metric(free, root), relative=data_of(self.system).rank_cut(UNMOVED_DIRECTION))
        out = np.zeros(self.system.nv)
        out[~self.locked] = dense.solve(root.T, -dense.product(weighted.inverse, residual))
        return out

    def tangent(self, q: Array, s: float, rows: Array) -> Array:
        """Return the derivative of the motion by s, in characteristic units."""
        ahead = (
            self.size.columns
            * difference(self.system, q, self.placed(q, s + TANGENT_DIFFERENCE))
            / TANGENT_DIFFERENCE
        )
        ahead[~self.locked] = 0.0
        return ahead + self.solve(q, rows, dense.product(rows, ahead))

    def walk(self) -> Followed:
        """Follow the path until its end or until it is blocked."""
        q, s = self.origin, 0.0
        _, rows = self.rows(q)
        regular = self.unique = are_independent(rows[:, ~self.locked])
        tangent, h = self.tangent(q, s, rows), 1.0
        for _ in range(CONTINUATION_STEPS):
            speed = float(np.abs(tangent).max(initial=0.0))
            h = min(h, 1.0 - s, CONTINUATION_STEP / max(speed, LEAST_DIVISOR))
            last = h >= 1.0 - s
            p, aside = self.step(q, s, h, tangent)
            good, turn = p is not None, 0.0
            if p is not None:
                _, there = self.rows(p)
                self.unique = are_independent(there[:, ~self.locked])
                # at a singular configuration the motion continues in its direction
                ahead = self.tangent(p, s + h, there) if self.unique or not regular else tangent
                turn = float(np.abs(ahead - tangent).max()) / max(
                    float(np.abs(ahead).max()), speed, LEAST_DIVISOR
                )
                good = turn <= CONTINUATION_TURN
                if good and _reversed(rows[:, ~self.locked], there[:, ~self.locked]):
                    good = h * speed <= NO_JUMP_STEP
            if not good:
                h /= 2.0
                if h * max(speed, 1.0) < SHORTEST_CONTINUATION:
                    return Followed(q, False)
                continue
            assert p is not None
            if last:
                return Followed(p, True)
            q, s, tangent = p, s + h, ahead
            rows = there if self.unique or not regular else rows
            regular = regular or self.unique
            if aside < 0.25 * CONTINUATION_ASIDE and turn < 0.25 * CONTINUATION_TURN:
                h *= 2.0
        return Followed(q, False)

    def step(self, q: Array, s: float, h: float, tangent: Array) -> tuple[Array | None, float]:
        """Return the closed configuration at s + h near the predicted one, None if there is none near it.

        The second result is the share of the step that Newton's method corrected.
        """
        system = self.system
        length = h * float(np.abs(tangent).max(initial=0.0))
        aim = self.placed(system.move(q, h * tangent / self.size.columns), s + h)
        sizes: list[float] = []

        def correction(p: Array) -> tuple[Array, float]:
            phi, rows = self.rows(p)
            motion = self.solve(p, rows, phi)
            sizes.append(float(np.abs(motion).max(initial=0.0)))
            return motion / self.size.columns, sizes[-1]

        p = contract(
            aim,
            correction,
            lambda p, step: self.placed(system.move(p, step), s + h),
            rate=CONTINUATION_CONTRACTION,
            done=CONTINUATION_CONVERGED,
            first=CONTINUATION_ASIDE * length,
            most=CONTINUATION_ITERATIONS,
        )
        aside = sizes[0] / max(length, LEAST_DIVISOR)
        if p is not None:
            return (p if is_closed(system, p, self.t) else None), aside
        if s + h >= 1.0:  # the end may be a singular configuration, where Newton's method converges slowly
            p, _ = levenberg_marquardt_close(system, aim, self.t, self.basis)
            moved = longest(system, difference(system, aim, p))
            if is_closed(system, p, self.t) and moved <= CONTINUATION_ASIDE * length:
                return p, moved / max(length, LEAST_DIVISOR)
        return None, aside


def held_coordinates(system: Evaluations, free: Array) -> np.ndarray:
    """Return the indices of the coordinates locked by ``free`` = 0: whole quaternions or none of them."""
    q = system.normalized(random_coordinates(system.equations, np.random.default_rng(6)))
    rates = np.array([system.coordinate_rate(q, v) for v in np.eye(system.nv)]).T
    return np.flatnonzero(rates.any(axis=1) & ~rates[:, free != 0.0].any(axis=1))


def _reversed(before: Array, after: Array) -> bool:
    """Tell whether independent columns changed their orientation."""
    if not (are_independent(before) and are_independent(after)):
        return False
    sign, _ = np.linalg.slogdet(dense.product(before.T, after))
    return bool(sign < 0.0)
