"""`exciting_trajectory`: periodic motions that make the base parameters well identifiable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_sequence, place_of
from sarrus.design.identification.base import BaseParameters, base_parameters
from sarrus.design.identification.fourier import Fourier
from sarrus.design.identification.information import Information
from sarrus.design.identification.limits import Limits
from sarrus.design.identification.loops import Loops
from sarrus.design.identification.noise import given_noise
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.search import CRITERIA, Plan, Search
from sarrus.design.identification.tolerances import WELL_TOLD
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class ExcitingTrajectory:
    """A periodic motion: t (T,) of one period, q (T, nq), v, a (T, nv) with closed loops, controls u (T, nu).

    Attributes
    ----------
    coordinates : names of the independent coordinates. series : these at any time, with rates and accelerations, as a
        reference for a controller.
    labels : (b,) the base parameters. size : (b,) their scales, as in an `Identification`.
    unit_std : (b,) their standard deviations for one measured sample, averaged over the period; see `expected_std`.
    margin : least distance to configurations where the independent coordinates do not determine the others: between the
        smallest singular value of the constraint columns of the latter, in characteristic units, and that over the
        square root of their number; inf without loops.
    condition : condition number of the weighted equations along the motion, columns in sizes of the base parameters;
        ``start_condition``: median over the initial random series. evaluations : number of series evaluated.
    """

    coordinates: tuple[str, ...]
    series: Fourier
    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    labels: tuple[str, ...]
    size: Array
    unit_std: Array
    margin: float
    condition: float
    start_condition: float
    evaluations: int
    _system: System = field(repr=False)

    def expected_std(self, samples: int) -> Array:
        """Return the expected standard deviations (b,) for a log of so many samples, spread over whole periods."""
        if samples < 1:
            raise ArgumentError(f"samples must be at least 1, got {samples}", element="samples")
        return np.asarray(self.unit_std / np.sqrt(samples))

    def samples_needed(self, relative: float = WELL_TOLD) -> int:
        """Return the number of samples for standard deviations of at most ``relative`` times the size of each base
        parameter.
        """
        if not relative > 0.0:
            raise ArgumentError(f"relative must be positive, got {relative}", element="relative")
        return int(np.ceil(float((self.unit_std / self.size).max() / relative) ** 2))

    def motion(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return q (…, nq), v and a (…, nv) at any times [s], loops closed."""
        times = np.asarray(t, dtype=np.float64)
        period = self.series.period
        phase = np.atleast_1d(np.mod(times, period)).ravel()
        loops = Loops(self._system, _places(self._system, self.coordinates), self.q[0])
        places, rates, accelerations = self.series(phase)
        near = np.rint(phase * (len(self.t) / period)).astype(int) % len(self.t)
        q, found = loops.towards(self.q[near], self.q[near][:, loops.coordinates], places, phase)
        if not found.all():
            at = float(phase[int(np.argmin(found))])
            raise SolveError(f"{self._system.name}: the loops could not be closed at {at:g} s", element="t")
        v, a, _ = loops.moving(q, rates, accelerations, phase)
        return tuple(x.reshape(*times.shape, -1) for x in (q, v, a))  # type: ignore[return-value]


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
    effort: float | Mapping[str, float] = np.inf,
    margin: float = 0.05,
    noise: Mapping[str, ArrayLike | float] | None = None,
    criterion: str = "relative",
    samples: int = 60,
    evaluations: int = 200,
    base: BaseParameters | None = None,
    seed: int = 0,
) -> ExcitingTrajectory:
    """Return a periodic motion of the independent coordinates that minimises the uncertainty of the base parameters.

    Each independent coordinate is a finite Fourier series (Swevers et al. 1997); the other coordinates follow by the
    loops. The criterion is a function of the covariance that `identify` will give, with noise in q, v, a and u. The
    search begins with random series and continues by quasi-Newton steps (BFGS). The same seed gives the same motion.

    Parameters
    ----------
    coordinates : names of independent coordinates, as many as degrees of freedom; they must determine all others along
        the whole motion.
    q : closed configuration that selects the branch (nq,); default: the neutral one, assembled.
    period : of the motion [s]. harmonics : number of terms of the series.
    limits : (lower, upper) by coordinate names, also of dependent ones; default: joint limits. An independent
        coordinate without limits stays within 1 rad or characteristic length of q.
    speed, acceleration : largest absolute values, one for all velocities or by names [m/s, rad/s, m/s², rad/s²].
    effort : largest absolute controls, one for all or by names; limits of the actuators hold as well.
    margin : least distance to singular configurations: of the loops, see `ExcitingTrajectory`, and to those where the
        actuators do not drive all degrees of freedom, m / (‖B⁺‖ ‖B‖) ≤ 1 with B the forces per control (in
        characteristic units and ranges of the controls). The motion crosses neither.
    noise : standard deviations of "q" (along velocities), "v", "a" and "u", as in `identify`. Default: one percent of
        the root mean square of each channel (of q about its mean), for q, v and a at least a fifth of the largest of
        its kind, so that no coordinate is kept at rest because its sensor would then count as exact.
    criterion : "relative", least mean square of standard deviations over the sizes of the base parameters (A-optimal);
        "logdet", largest determinant of the information matrix (D-optimal); "condition", least condition number of the
        weighted equations.
    samples : per period, at which all quantities are evaluated. evaluations : approximate number of series evaluated,
        each with its derivatives.
    base : base parameters of the regressor, if already known.

    Limits hold between samples too: the motion is checked at eight times as many, and its amplitude reduced if
    necessary.

    Raises `ArgumentError` for unknown names, for coordinates that do not determine the others at q, for actuators that
    do not drive all degrees of freedom, for velocity constraints (rolling), and for invalid limits; `SolveError` if no
    series can be followed, or none lies within limits, which it names. A mechanism without actuators is moved from
    outside.
    """
    system = regressor.system
    check_sequence("coordinates", coordinates, system.name)
    names = tuple(coordinates)
    independent = _places(system, names)
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
    if not (np.isfinite(margin) and margin >= 0.0):
        raise ArgumentError(f"margin must be a number ≥ 0, got {margin}", element="margin")
    if system.nh < system.nc:
        raise ArgumentError(
            f"{system.name}: {system.constraint_names[system.nh]!r} constrains velocities only, so coordinates do not "
            "determine others. Plan the motion by a simulation",
            element=system.constraint_names[system.nh],
        )
    start = system.assemble(system.neutral() if q is None else q).q
    jacobian = system.constraint_jacobian(start)
    others = [k for k in range(system.nv) if k not in independent]
    if regressor.rank(jacobian) != len(others) or regressor.rank_of_columns(jacobian, others) != len(others):
        raise ArgumentError(
            f"{system.name}: {', '.join(names)} do not determine the other coordinates at q; the mechanism has "
            f"{system.nv - regressor.rank(jacobian)} degrees of freedom",
            element=names[0] if names else "coordinates",
        )
    base = base_parameters(regressor) if base is None else base
    size = regressor.sizes(base.matrix, base.matrix @ regressor.values)
    bounds = Limits.of(regressor, start, independent, limits, speed, acceleration, effort, margin)
    information = Information(regressor, base, independent, given_noise(system, noise), size)
    t = np.arange(samples, dtype=np.float64) * (period / samples)
    search = Search(information, Loops(system, independent, start), bounds, t, harmonics, period, criterion)
    plan = search.run(np.random.default_rng(seed), evaluations)
    return _answer(system, base, names, t, plan, size)


def _answer(
    system: System, base: BaseParameters, names: tuple[str, ...], t: Array, plan: Plan, size: Array
) -> ExcitingTrajectory:
    q, v, a = (read_only(x.copy()) for x in plan.motion)
    return ExcitingTrajectory(
        names,
        plan.series,
        read_only(t),
        q,
        v,
        a,
        read_only(plan.u.copy()),
        base.labels,
        read_only(size),
        read_only(np.sqrt(np.diag(np.linalg.inv(plan.matrix)) * len(t)) * size),
        margin=plan.margin,
        condition=_condition(plan.matrix),
        start_condition=float(np.median([_condition(matrix) for matrix in plan.start])),
        evaluations=plan.evaluations,
        _system=system,
    )


def _condition(matrix: Array) -> float:
    """Return the condition number of weighted equations from their information matrix."""
    values = np.linalg.eigvalsh(matrix)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf


def _places(system: System, names: tuple[str, ...]) -> list[int]:
    """Return the velocities of scalar coordinates by name."""
    places = [place_of("velocity", n, system.velocity_names, f"{system.name}: coordinates") for n in names]
    if any(n not in system.coordinate_names for n in names):
        raise ArgumentError(
            f"{system.name}: coordinates must be scalar ones, got {names}", element=str(names)
        )
    return places
