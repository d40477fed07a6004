"""Search for exciting trajectories: random series, improved by quasi-Newton steps.

x (m × (2 N + 1)) are centres and coefficients, in units of half the ranges of the independent coordinates. Violated
limits add the square of the violation to the cost. Derivatives are finite differences of all x at once, closed from the
motion about which they are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.fourier import Fourier, frequencies, unit_series
from sarrus.design.identification.information import Information, Told
from sarrus.design.identification.limits import Limits
from sarrus.design.identification.loops import Loops, Motion
from sarrus.design.identification.tolerances import (
    ARMIJO,
    COST_FALL,
    CURVED,
    DIFFERENCE_STEP,
    FORCES_MISSED,
    LEAST_SLOPE,
    LIMIT_PENALTY,
    SEARCH_FIRST_STEP,
    SEARCH_LONGEST_STEP,
    SHORTEST_SEARCH_STEP,
    SINGULAR_COST,
    SINGULAR_INFORMATION,
    SLOW_FALLS,
    SMALLER_SWINGS,
)
from sarrus.dynamics.closing.manifold import differences

CRITERIA = ("relative", "logdet", "condition")
_DRAWS = 64  # random series, of which the best are improved
# At most so many of them, each for so many evaluations at least and all for half of them; the best goes on to the end.
_STARTS, _EACH = 6, 15
_FINER = 8  # times the samples at which limits are checked in the end


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of a search: a series, its motion and controls at the samples, its information, and that of the draws (P,
    b, b).
    """

    series: Fourier
    motion: Motion
    u: Array
    matrix: Array
    margin: float
    start: Array
    evaluations: int


class Search:
    """The search among series of a period at sample times t (T,) [s]."""

    def __init__(
        self,
        information: Information,
        loops: Loops,
        limits: Limits,
        t: Array,
        harmonics: int,
        period: float,
        criterion: str,
    ) -> None:
        self.information, self.loops, self.limits = information, loops, limits
        self.t, self.period, self.criterion = t, period, criterion
        self.m, self.harmonics = len(loops.independent), harmonics
        self.width = self.m * (2 * harmonics + 1)
        at = loops.independent
        self.middle = 0.5 * (limits.upper[at] + limits.lower[at])
        self.half = 0.5 * (limits.upper[at] - limits.lower[at])
        self.basis = unit_series(t, harmonics, period)
        self.count = 0

    def series(self, x: Array) -> Fourier:
        """Return the series of x."""
        n = self.harmonics
        parts = x.reshape(self.m, 2 * n + 1) * self.half[:, None]
        k = frequencies(n, self.period)
        return Fourier(
            self.middle + parts[:, 0], parts[:, 1 : n + 1] * k, -parts[:, n + 1 :] * k, self.period
        )

    def independent(self, xs: Array) -> Array:
        """Return values, rates, accelerations (3, P, T, m) of series (P, width)."""
        parts = xs.reshape(len(xs), self.m, -1) * self.half[:, None]
        out = np.einsum("ktj,pmj->kptm", self.basis, parts, optimize=True)
        out[0] += self.middle
        return np.asarray(out)

    def costs(self, own: Array, q: Array) -> tuple[Array, Told]:
        """Return the costs of series (P,) with known closed q (P, T, nq), and their information."""
        count, times = q.shape[:2]
        flat = [x.reshape(count * times, -1) for x in (q, own[1], own[2])]
        v, a, margin = self.loops.moving(flat[0], flat[1], flat[2], np.tile(self.t, count))
        v, a = v.reshape(count, times, -1), a.reshape(count, times, -1)
        told = self.information.of((q, v, a), self.t, self._swings(q))
        broken = self.limits.broken(q, v, a, told.u, margin.reshape(count, times), told.drive)
        cost = np.array([self._criterion(matrix) for matrix in told.matrix])
        return cost + LIMIT_PENALTY * (broken**2).sum(axis=(1, 2)) / times, told

    def _criterion(self, matrix: Array) -> float:
        if not np.isfinite(matrix).all():
            return SINGULAR_COST
        values = np.linalg.eigvalsh(matrix)
        if values[0] <= SINGULAR_INFORMATION * values[-1]:
            return SINGULAR_COST
        if self.criterion == "relative":
            return float(0.5 * np.log((1.0 / values).sum() / len(values)))
        if self.criterion == "logdet":
            return float(-0.5 * np.log(values).sum())
        return float(0.5 * np.log(values[-1] / values[0]))

    def _swings(self, q: Array) -> Array:
        system = self.loops.system
        if not system.equations.quaternions:
            return q[:, :, : system.nv]
        return np.array([differences(system, one[0], one) for one in q])

    def cost(self, x: Array, near: Array | None = None) -> tuple[float, Array | None]:
        """Return the cost of a series and its closed motion (1, T, nq), found from a neighbouring one if given."""
        self.count += 1
        own = self.independent(x[None])
        if near is not None:
            q, found = self.loops.closed(near[0], own[0, 0], self.t)
            if found.all():
                return float(self.costs(own, q[None])[0][0]), q[None]
        q, good = self.loops.along(own[0], self.t)
        return (float(self.costs(own, q)[0][0]), q) if good[0] else (np.inf, None)

    def slope(self, x: Array, cost: float, q: Array) -> Array:
        """Return the derivative of the cost of a series with a closed motion q (1, T, nq); NaN if it does not exist."""
        own = self.independent(x + DIFFERENCE_STEP * np.eye(self.width))
        count, times = self.width, len(self.t)
        closed, found = self.loops.closed(
            np.tile(q[0], (count, 1)), own[0].reshape(count * times, -1), np.tile(self.t, count)
        )
        if not found.all():
            return np.full(self.width, np.nan)
        return np.asarray((self.costs(own, closed.reshape(count, times, -1))[0] - cost) / DIFFERENCE_STEP)

    def run(self, rng: np.random.Generator, evaluations: int) -> Plan:
        """Return the best series found within limits; `SolveError` if none can be followed."""
        draws = self._draws(rng)
        own = self.independent(draws)
        q, good = self.loops.along(own[0], self.t)
        name = self.loops.system.name
        if not good.any():
            raise SolveError(
                f"{name}: no series could be followed within its limits; give narrower limits or another q",
                element=name,
            )
        draws = draws[good]
        costs, told = self.costs(own[:, good], q[good])
        system = self.loops.system
        if system.nu and told.missed.min() > FORCES_MISSED:
            raise ArgumentError(
                f"{name}: {', '.join(system.actuator_names)} do not drive all degrees of freedom; along random motions "
                f"they lack at least {told.missed.min():.0%} of the forces",
                element=system.actuator_names[0],
            )
        starts = min(_STARTS, max(1, evaluations // (2 * _EACH)))
        order = np.argsort(costs, kind="stable")[:starts]
        best = draws[order[0]]
        if starts > 1:
            found = [self._improved(draws[k], evaluations // (2 * starts)) for k in order]
            best = min(found, key=lambda pair: pair[0])[1]
        if evaluations > self.count:
            best = self._improved(best, evaluations - self.count)[1]
        return self._within(self.series(best), told.matrix)

    def _draws(self, rng: np.random.Generator) -> Array:
        """Return random series (P, width): half of them fill their ranges, the others a third."""
        n = self.harmonics
        x = rng.uniform(-1.0, 1.0, (_DRAWS, self.m, 2 * n + 1))
        x[:, :, 1:] /= np.sqrt(n)
        x[_DRAWS // 2 :, :, 1:] *= 0.3
        x[: _DRAWS // 2, :, 0] *= 0.2
        own = self.independent(x.reshape(_DRAWS, -1))
        at = self.loops.independent
        reach = np.abs(own[0] - self.middle).max(axis=1) / self.half
        reach = np.maximum(reach, np.abs(own[1]).max(axis=1) / self.limits.speed[at])
        reach = np.maximum(reach, np.abs(own[2]).max(axis=1) / self.limits.acceleration[at])
        return np.asarray((x / np.maximum(reach, 1.0)[:, :, None]).reshape(_DRAWS, -1))

    def _improved(self, x: Array, evaluations: int) -> tuple[float, Array]:
        """Return the cost and the series after BFGS steps (Nocedal, Wright: Numerical Optimization, ch. 6)."""
        last = self.count + evaluations
        cost, q = self.cost(x)
        if q is None:
            return cost, x
        slope = self.slope(x, cost, q)
        fresh, slow = True, 0
        while self.count < last and np.isfinite(slope).all() and slow < SLOW_FALLS:
            if fresh:
                inverse = np.eye(self.width) * (
                    SEARCH_FIRST_STEP / max(float(np.linalg.norm(slope)), LEAST_SLOPE)
                )
            way = -inverse @ slope
            way *= min(1.0, SEARCH_LONGEST_STEP / max(float(np.abs(way).max()), LEAST_DIVISOR))
            fall, size = float(way @ slope), 1.0
            new, new_q = self.cost(x + way, q)
            while (
                (new_q is None or not new <= cost + ARMIJO * size * fall)
                and size > SHORTEST_SEARCH_STEP
                and self.count < last
            ):
                size *= 0.3
                new, new_q = self.cost(x + size * way, q)
            if new_q is None or not new < cost:
                if fresh:
                    break
                fresh = True
                continue
            slow = slow + 1 if cost - new < COST_FALL else 0
            step, before = size * way, slope
            x, cost, q = x + step, new, new_q
            slope = self.slope(x, cost, q)
            change = slope - before
            product = float(step @ change)
            if fresh and product > 0.0:
                inverse *= product / float(change @ change) / inverse[0, 0]
            fresh = False
            if product > CURVED * float(np.linalg.norm(step) * np.linalg.norm(change)):
                turned = inverse @ change
                inverse = inverse + np.outer(step, step) * ((product + float(change @ turned)) / product**2)
                inverse -= (np.outer(turned, step) + np.outer(step, turned)) / product
        return cost, x

    def _within(self, series: Fourier, start: Array) -> Plan:
        """Return the plan, with its amplitude reduced until no limit is violated, also between samples."""
        fine = np.arange(_FINER * len(self.t)) * (self.t[1] / _FINER)
        worst = "loops that cannot be followed"
        for factor in SMALLER_SWINGS:
            smaller = series.scaled(factor)
            own = [x[None] for x in smaller(fine)]
            q, good = self.loops.along(own[0], fine)
            if not good[0]:
                continue
            v, a, margin = self.loops.moving(q[0], own[1][0], own[2][0], fine)
            motion = q, v[None], a[None]
            told = self.information.of(motion, fine, self._swings(q))
            broken = self.limits.broken(*motion, told.u, margin[None], told.drive, inset=0.0)[0]
            if self.loops.system.nu and told.missed[0] > FORCES_MISSED:
                worst = "what the actuators can do"
                continue
            if broken.any():
                worst = self.limits.names(self.information.regressor)[int(np.argmax(broken.max(axis=0)))]
                continue
            some = slice(None, None, _FINER)
            return Plan(
                smaller,
                (q[0][some], v[some], a[some]),
                told.u[0][some],
                told.matrix[0] / _FINER,
                float(margin.min()),
                start,
                self.count,
            )
        name = self.loops.system.name
        raise SolveError(
            f"{name}: limits are violated at any amplitude, the last one was {worst}; "
            "give other limits or another q",
            element=name,
        )
