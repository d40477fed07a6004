"""Exciting trajectories: motions from which the base parameters can be told well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_sequence, place_of
from sarrus.identification.base import BaseParameters, base_parameters
from sarrus.identification.fourier import Fourier, Loops
from sarrus.identification.regressor import Regressor

# Where a coordinate has no limits it swings by so much [rad, lengths].
_SWING = 1.0
_DRAWS = 24  # random series, of which the best is improved
_FAILED = 1e6
# What limits of coordinates that follow cost, for each that is broken by its own range.
_PENALTY = 1e3
CRITERIA = ("logdet", "condition")


@dataclass(frozen=True, eq=False)
class ExcitingTrajectory:
    """A periodic motion: t (T,) of one period, q (T, nq), v, a (T, nv) with all loops closed.

    ``series`` gives the independent ``coordinates`` at any time, with rates and accelerations, for a controller to
    follow. ``condition`` is that of the equations along it, columns of the base parameters in characteristic sizes;
    ``start_condition`` the median of the random series that the search began with.
    """

    coordinates: tuple[str, ...]
    series: Fourier
    t: Array
    q: Array
    v: Array
    a: Array
    condition: float
    start_condition: float
    evaluations: int


def exciting_trajectory(
    regressor: Regressor,
    coordinates: Sequence[str],
    *,
    q: ArrayLike | None = None,
    period: float = 10.0,
    harmonics: int = 5,
    limits: Mapping[str, tuple[float, float]] | None = None,
    speed: float | Mapping[str, float] = np.inf,
    acceleration: float | Mapping[str, float] = np.inf,
    criterion: str = "logdet",
    samples: int = 40,
    evaluations: int = 600,
    base: BaseParameters | None = None,
    seed: int = 0,
) -> ExcitingTrajectory:
    """Return a periodic motion of the independent coordinates that makes the base parameters as sure as it can.

    A finite Fourier series for each (Swevers et al. 1997); the others follow by the loops. The largest determinant of
    the information matrix ("logdet"), or the least condition number of the equations ("condition"), is sought from
    the best of some random series, by SLSQP with differences. The same seed gives the same motion.

    Parameters
    ----------
    coordinates : names of independent coordinates, as many as there are freedoms; all others must follow from them
        along the whole motion: it avoids configurations where they do not.
    q : closed configuration that says on which branch (nq,); by default the neutral one, assembled.
    period : of the motion [s]. harmonics : terms of the series.
    limits : (lower, upper) by coordinate names, of those that follow too; joint limits by default. An independent
        coordinate without any stays within 1 rad or characteristic length of q.
    speed, acceleration : largest absolute values, one for all velocities or by names [m/s, rad/s, m/s², rad/s²].
    samples : of the period, at which everything is checked. evaluations : about how many series are tried.

    Independent coordinates keep limits exactly, by their scale; those that follow do at the samples: a motion that
    breaks one of theirs shrinks until it does not.

    Raises `ArgumentError` for unknown names, for coordinates that do not determine the others at q, and for bad limits;
    `SolveError` where no series can be followed.
    """
    system = regressor.system
    check_sequence("coordinates", coordinates, system.name)
    names = tuple(coordinates)
    independent = [
        place_of("velocity", n, system.velocity_names, f"{system.name}: coordinates") for n in names
    ]
    if any(n not in system.coordinate_names for n in names):
        raise ArgumentError(
            f"{system.name}: coordinates must be scalar ones, got {names}", element=str(names)
        )
    if criterion not in CRITERIA:
        raise ArgumentError(
            f"criterion must be one of {', '.join(CRITERIA)}, got {criterion!r}",
            element="criterion",
            valid=CRITERIA,
        )
    if not (np.isfinite(period) and period > 0.0) or harmonics < 1 or samples < 4:
        raise ArgumentError(
            f"period must be positive, harmonics at least 1 and samples at least 4, got {period}, "
            f"{harmonics}, {samples}",
            element="period",
        )
    start = system.assemble(system.neutral() if q is None else q).q
    jacobian = system.constraint_jacobian(start)
    others = [k for k in range(system.nv) if k not in independent]
    if regressor.rank(jacobian) != len(others) or regressor.rank_of_columns(jacobian, others) != len(others):
        raise ArgumentError(
            f"{system.name}: {', '.join(names)} do not determine the other coordinates at q; there are "
            f"{system.nv - regressor.rank(jacobian)} freedoms",
            element=names[0] if names else "coordinates",
        )
    base = base_parameters(regressor) if base is None else base
    search = _Search(
        regressor,
        base,
        Loops(system, independent, start),
        _Bounds.of(regressor, start, independent, limits, speed, acceleration),
        np.arange(samples, dtype=np.float64) * (period / samples),
        (len(names), harmonics),
        period,
        criterion,
    )
    return search.run(names, np.random.default_rng(seed), evaluations)


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Limits of coordinates that are velocities too (nv,), and largest speeds and accelerations (nv,)."""

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    places: list[int]  # coordinates of the velocities, −1 where there is none

    @classmethod
    def of(
        cls,
        regressor: Regressor,
        q: Array,
        independent: list[int],
        limits: Mapping[str, tuple[float, float]] | None,
        speed: float | Mapping[str, float],
        acceleration: float | Mapping[str, float],
    ) -> _Bounds:
        system, mechanism = regressor.system, regressor.numbers.mechanism
        names = system.velocity_names
        lower, upper = np.full(system.nv, -np.inf), np.full(system.nv, np.inf)
        start = 0
        for joint in mechanism.joints():
            for k, pair in enumerate(joint.limits or ()):
                if pair is not None:
                    lower[start + k], upper[start + k] = pair
            start += joint.nv
        for name, pair in (limits or {}).items():
            k = place_of("coordinate", name, names, f"{system.name}: limits")
            low, high = map(float, pair)
            if not low < high:
                raise ArgumentError(
                    f"{system.name}: limits of {name!r} must be (lower, upper), got {pair}", element=name
                )
            lower[k], upper[k] = low, high
        places = [system.coordinate_names.index(n) if n in system.coordinate_names else -1 for n in names]
        for k in independent:
            room = _SWING / system.model.characteristic.columns[k]
            if lower[k] == -np.inf:
                lower[k] = min(q[places[k]] - room, upper[k] - 2 * room)
            if upper[k] == np.inf:
                upper[k] = max(q[places[k]] + room, lower[k] + 2 * room)
        return cls(
            lower, upper, _largest(system.name, names, speed, "speed"),
            _largest(system.name, names, acceleration, "acceleration"), places,
        )  # fmt: skip

    def broken(self, motion: tuple[Array, Array, Array]) -> float:
        """Return by which part of their ranges limits are broken in all."""
        q, v, a = motion
        total = 0.0
        for k, place in enumerate(self.places):
            if place >= 0 and (np.isfinite(self.lower[k]) or np.isfinite(self.upper[k])):
                width = self.upper[k] - self.lower[k] if np.isfinite(self.upper[k] - self.lower[k]) else 1.0
                over = max(
                    float((q[:, place] - self.upper[k]).max()), float((self.lower[k] - q[:, place]).max())
                )
                total += max(over, 0.0) / width
        for values, bound in ((v, self.speed), (a, self.acceleration)):
            over = np.abs(values).max(axis=0) / bound - 1.0
            total += float(np.maximum(over, 0.0).sum())
        return total


def _largest(label: str, names: tuple[str, ...], given: float | Mapping[str, float], what: str) -> Array:
    out = np.full(len(names), np.inf)
    if isinstance(given, Mapping):
        for name, value in given.items():
            out[place_of("velocity", name, names, f"{label}: {what}")] = value
    else:
        out[:] = given
    if not (out > 0.0).all():
        raise ArgumentError(f"{label}: {what} must be positive, got {given!r}", element=what)
    return out


class _Search:
    """The search among series; x in [−1, 1] (m × (2 N + 1)) are centres and coefficients before they are scaled."""

    def __init__(
        self,
        regressor: Regressor,
        base: BaseParameters,
        loops: Loops,
        bounds: _Bounds,
        t: Array,
        shape: tuple[int, int],
        period: float,
        criterion: str,
    ) -> None:
        self.regressor, self.base, self.loops, self.bounds = regressor, base, loops, bounds
        self.t, self.shape, self.period, self.criterion = t, shape, period, criterion
        self.size, self.count = regressor.size[list(base.kept)], 0
        # A dense set of times at which the scale of independent coordinates is found.
        self.fine = np.arange(20 * shape[1]) * (period / (20 * shape[1]))

    def series(self, x: Array) -> Fourier:
        """Return the series of x, scaled to what its coordinates may do."""
        m, n = self.shape
        parts = x.reshape(m, 2 * n + 1)
        at = self.loops.independent
        lower, upper = self.bounds.lower[at], self.bounds.upper[at]
        harmonic = np.arange(1, n + 1) * (2 * np.pi / self.period)
        half = 0.5 * (upper - lower)
        rates = half[:, None] * harmonic / np.sqrt(n)
        raw = Fourier(np.zeros(m), parts[:, 1 : n + 1] * rates, parts[:, n + 1 :] * rates, self.period)
        place, rate, acceleration = raw(self.fine)
        reach = np.maximum(np.ptp(place, axis=0) / (2 * half) * 1.02, 1.0)
        reach = np.maximum(reach, 1.02 * np.abs(rate).max(axis=0) / self.bounds.speed[at])
        reach = np.maximum(reach, 1.02 * np.abs(acceleration).max(axis=0) / self.bounds.acceleration[at])
        fitted = raw.scaled(1.0 / reach)
        place = place / reach
        low, high = lower - place.min(axis=0), upper - place.max(axis=0)
        margin = 0.01 * np.maximum(high - low, 0.0)
        share = 0.5 + 0.5 * np.clip(parts[:, 0], -1.0, 1.0)
        return fitted.scaled(1.0, low + margin + share * np.maximum(high - low - 2 * margin, 0.0))

    def rows(self, motion: tuple[Array, Array, Array]) -> Array:
        """Return the equations along a motion, columns of the base parameters in characteristic sizes."""
        u = np.zeros(self.regressor.system.nu)
        parts = [self.regressor.rows(q, v, a, u, t)[0] for t, q, v, a in zip(self.t, *motion)]
        return np.vstack(parts)[:, list(self.base.kept)] * self.size

    def cost(self, x: Array) -> float:
        self.count += 1
        motion = self.loops.follow(self.series(x), self.t)
        if motion is None:
            return _FAILED
        values = np.linalg.svd(self.rows(motion), compute_uv=False)
        if len(values) < len(self.base) or values[-1] <= 1e-12 * values[0]:
            return _FAILED
        told = -2.0 * np.log(values).sum() if self.criterion == "logdet" else np.log(values[0] / values[-1])
        return float(told) + _PENALTY * self.bounds.broken(motion)

    def run(self, names: tuple[str, ...], rng: np.random.Generator, evaluations: int) -> ExcitingTrajectory:
        m, n = self.shape
        width = m * (2 * n + 1)
        draws = rng.uniform(-1.0, 1.0, (max(1, min(_DRAWS, evaluations // 2)), width))
        draws[len(draws) // 2 :] *= 0.3  # small swings, which loops follow more often
        costs = np.array([self.cost(x) for x in draws])
        good = costs < _FAILED
        if not good.any():
            raise SolveError(
                f"{self.regressor.system.name}: no series of {', '.join(names)} could be followed within its limits; "
                "give narrower limits or another q",
                element=names[0],
            )
        best = draws[int(np.argmin(costs))]
        rounds = max(0, (evaluations - self.count) // (width + 3))
        if rounds:
            found = minimize(
                self.cost, best, method="SLSQP", bounds=[(-1.0, 1.0)] * width,
                options={"maxiter": rounds, "eps": 1e-4, "ftol": 1e-4},
            )  # fmt: skip
            if np.isfinite(found.fun) and found.fun < costs.min():
                best = found.x
        series, motion = self._within(self.series(best))
        begin = [self._condition(self.loops.follow(self.series(x), self.t)) for x in draws[good]]
        return ExcitingTrajectory(
            names,
            series,
            read_only(self.t.copy()),
            read_only(motion[0]),
            read_only(motion[1]),
            read_only(motion[2]),
            condition=self._condition(motion),
            start_condition=float(np.median(begin)),
            evaluations=self.count,
        )

    def _condition(self, motion: tuple[Array, Array, Array] | None) -> float:
        assert motion is not None
        values = np.linalg.svd(self.rows(motion), compute_uv=False)
        return float(values[0] / values[-1])

    def _within(self, series: Fourier) -> tuple[Fourier, tuple[Array, Array, Array]]:
        """Return the series, its swing made smaller until nothing that follows breaks a limit."""
        for k in range(40):
            smaller = series.scaled(0.9**k)
            motion = self.loops.follow(smaller, self.t)
            if motion is not None and self.bounds.broken(motion) == 0.0:
                return smaller, motion
        raise SolveError(
            f"{self.regressor.system.name}: limits of coordinates that follow are broken however small "
            "the swing is; give other limits or another q",
            element=self.regressor.system.name,
        )
