"""`forecast_singularity`: does a motion pass a near singular configuration, turn back before it, or lock up?

Near a singular configuration one singular value σ of A is small, with the singular vectors u and w. On the surface
defined by all other combinations of rows, f = uᵀφ is the last constraint. f has a critical point there, and near it

    f = s + ½ zᵀ H z = 0,     σ = |H z|,     H = Σ u_j ∂²φ_j on the motions z that are left at the critical point

with the value s of f at the critical point. Newton's method finds it from the state, for (q, y, s):

    g(q) = s y,     G(q)ᵀ y = 0,     |y| = 1,     g and G the φ and A of a basis of the leading combinations of rows

so s is exact at any distance. The state then moves on this quadric under the present forces. If s = 0 the branches
cross and a motion on one of them passes. Otherwise the quadric is a hyperbola, on which the motion turns, the more
sharply the nearer it comes. Prescribed motions change s in time; where the quadric shrinks to a point the mechanism is
at a dead centre, and no motion goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import real_array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.local_quadric import Quadric, follow
from sarrus.dynamics.closing.manifold import closed_start, difference, second_derivatives
from sarrus.dynamics.contacts.contact_state import all_between, all_open, takes_part
from sarrus.dynamics.model.derivatives import row_gradient
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.dynamics.tolerances import (
    BRANCHES_CROSS,
    FORECAST_CONVERGED,
    FORECAST_ITERATIONS,
    FORECAST_REACH,
    FORECAST_ROUGH,
    FORECAST_STEP,
    FORECAST_TOGETHER,
    INVOLVED_CLOSURE,
    TIME_DIFFERENCE,
)
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT

# Number of times ahead at which prescribed motions are evaluated.
_NODES = 65


@dataclass(frozen=True, eq=False)
class SingularityForecast:
    """Forecast of a motion near a singular configuration.

    Attributes
    ----------
    outcome : "passes": the branches cross there, and the motion goes through. "turns back": σ falls to ``least``, and
        the motion leaves on the other arm of a hyperbola, with a peak of the acceleration. "locks up": prescribed
        motions lead beyond the reach of the loops, to a dead centre. "leads away": σ grows, now or before it becomes
        much smaller. "undecided": ``reason`` says why.
    time : time from now to the smallest σ, to the passage or to the dead centre [s]; NaN for "leads away".
    sigma, rate : σ now, in characteristic units, and dσ/dt [1/s].
    least : smallest σ, zero if the motion passes or locks up.
    spike : largest |uᵀȦv| / σ on the way [1/s²], the acceleration along w; infinite at a dead centre. NaN if the motion
        passes: it is finite then, and of third order in the distance, beyond the quadric.
    gap : s at the critical point, in characteristic units: the distance by which the mechanism misses a singular
        configuration.
    q : (nq,) the critical point.
    closures : names of the closures whose rows become dependent.
    reason : for "undecided", else empty.
    """

    outcome: str
    time: float
    sigma: float
    rate: float
    least: float
    spike: float
    gap: float
    q: Array
    closures: tuple[str, ...]
    reason: str = ""

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.closures))
        match self.outcome:
            case "passes":
                return f"passes a singular configuration of {names} in {self.time:.3g} s"
            case "turns back":
                return (
                    f"turns back from a singular configuration of {names} in {self.time:.3g} s, "
                    f"at σ = {self.least:.2g}, with an acceleration of {self.spike:.2g} 1/s²"
                )
            case "locks up":
                return f"locks up at a dead centre of {names} in {self.time:.3g} s"
            case "leads away":
                return f"leads away from singular configurations, σ = {self.sigma:.2g}"
        return f"is undecided: {self.reason}"


@described()
def forecast_singularity(
    system: System, q: ArrayLike, v: ArrayLike, u: ArrayLike | None = None, t: float = 0.0
) -> SingularityForecast:
    """Return whether the motion from (q, v) passes the singular configuration near it, turns back or locks up.

    Spencer 2004, section 3.1.1, tells the three apart by whether |uᵀȦv| goes to zero with σ; the forecast says it in
    advance. The critical point is exact; times and distances, computed on its quadric, are correct to first order in
    the distance. A motion that would pass closer than rounding can tell (s below 1e-13) passes.

    Parameters
    ----------
    q, v : state on the constraints; loops open by more than 1e-5 are an `ArgumentError`.
    u, t : inputs (nu,), held constant, and time.

    Full rank and redundant rows alike: σ is singular value number r of A in characteristic units, r the generic rank.
    The outcome is "undecided" in the singular configuration itself, if several singular values vanish together, if the
    nearest critical point is farther than 1.5 rad or characteristic lengths, and if contacts, stops or dry friction
    act. Raises `ArgumentError` for nonholonomic rows, which have no f, and for systems without constraints.
    """
    check_is("forecast_singularity", system, System)
    work = system.workspace().copy()
    require_holonomic(work, "forecast_singularity")
    place = closed_start(work, real_array(q), t)
    return forecast_at(work, place, work.checked(v, work.nv, "v"), None if u is None else real_array(u), t)


def require_holonomic(work: Workspace, what: str) -> None:
    """Raise `ArgumentError` if there are no rows, or if some rows are nonholonomic."""
    if work.nc == 0:
        raise ArgumentError(f"{work.name}: {what} needs constraints, and there are none", element=what)
    if work.nc > work.nh:
        name = work.equations.constraint_names[work.nh]
        raise ArgumentError(
            f"{work.name}: {what} needs holonomic rows only, and {name!r} is a row on velocities",
            element=name,
        )


def forecast_at(work: Workspace, q: Array, v: Array, u: Array | None, t: float) -> SingularityForecast:
    """Return the forecast at a closed configuration; see `forecast_singularity`."""
    rank = generic_rank(work, q, t)
    rows = Rows(work, q, t, rank)
    sigma, rate = rows.sigma, rows.rate(q, v, t)
    closures = rows.closures(np.eye(rank)[-1])

    def outcome(name: str, reason: str = "", where: Array = q) -> SingularityForecast:
        nothing = float("nan")
        return SingularityForecast(
            name, nothing, sigma, rate, sigma, nothing, nothing, read_only(where), closures, reason
        )

    if takes_part(work, True) and not (all_between(work, q) or all_open(work, q, t)):
        return outcome("undecided", "contacts, stops or dry friction act, which the quadric does not contain")
    if not sigma > FINE_RANK_CUT * max(rows.largest, 1.0):
        return outcome("undecided", "this is a singular configuration")
    if rate >= 0.0:
        return outcome("leads away")
    found = rows.critical(q, t)
    if found is None:
        return outcome("undecided", "no singular configuration is near enough to be told from here")
    there, y, s = found
    closures = rows.closures(y)
    G = rows.matrix(there, t)
    others = at_rank(G, rank - 1)
    if rank > 1 and others.kept[-1] < FORECAST_TOGETHER * others.kept[0]:
        return outcome("undecided", "several singular values vanish together", there)
    kernel, scale = others.null, work.characteristic.columns
    basis = kernel / scale[:, None]
    curved = np.tensordot(rows.combination @ y, second_derivatives(work, there, t, basis), axes=1)
    inertia = basis.T @ work.mass_matrix(there, t) @ basis
    constant, until, moved = _driven(rows, there, y, s, t, 3.0 * abs(sigma / rate))
    quadric = Quadric(0.5 * (curved + curved.T), constant, until)
    offset = kernel.T @ (scale * difference(work, there, q))
    velocity = kernel.T @ (scale * (v - moved))
    force = work.passive_force(q, v, t) + work.input_force(q, v, u, t) - work.bias_force(q, v, t)
    way = follow(quadric, inertia, basis.T @ force, offset, velocity)
    return SingularityForecast(
        way.outcome,
        way.time,
        sigma,
        rate,
        way.least,
        way.spike,
        float(s),
        read_only(there),
        closures,
        way.reason,
    )


def _driven(
    rows: Rows, q: Array, y: Array, s: float, t: float, ahead: float
) -> tuple[Callable[[float, int], float], float, Array]:
    """Return s and its derivatives as a function of the time from now, its range [s], and the velocity of the centre.

    With prescribed motions, s is exact at the critical points of times ahead, interpolated by a spline.
    """
    if not rows.work.model.is_rheonomic:
        fixed = s if abs(s) > BRANCHES_CROSS else 0.0
        return lambda time, order: 0.0 if order else fixed, np.inf, np.zeros(rows.work.nv)
    from scipy.interpolate import CubicSpline  # here: for start-up time

    times, values, centre, combination = [0.0], [s], q, y
    moved = np.zeros(rows.work.nv)
    for time in np.linspace(0.0, ahead, _NODES)[1:]:
        found = rows.critical(centre, t + time, combination)
        if found is None:
            break
        if len(times) == 1:
            moved = difference(rows.work, q, found[0]) / time
        centre, combination, value = found
        times.append(float(time))
        values.append(value if abs(value) > BRANCHES_CROSS else 0.0)
    if len(times) < 4:
        return lambda time, order: 0.0 if order else s, 0.0, moved
    spline = CubicSpline(times, values)
    return lambda time, order: float(spline(time, order)), times[-1], moved


class Rows:
    """g = Uᵀφ and G = UᵀA near a configuration, in characteristic units; U are the leading left singular vectors."""

    def __init__(self, work: Workspace, q: Array, t: float, rank: int) -> None:
        self.work, self.rank = work, rank
        sizes = work.characteristic
        left, values, right = dense.svd(sizes.scaled_rows(work.constraint_jacobian(q, None, t)), rank)
        self.sigma, self.largest = float(values[rank - 1]), float(values[0])
        self.right = right[rank - 1]
        self.combination = sizes.rows[:, None] * left[:, :rank]  # of rows in their own units

    def matrix(self, q: Array, t: float) -> Array:
        """Return G (r × nv)."""
        return np.asarray(
            self.combination.T @ self.work.constraint_jacobian(q, None, t) / self.work.characteristic.columns
        )

    def value(self, q: Array, t: float) -> Array:
        """Return g (r,)."""
        return np.asarray(self.combination.T @ self.work.constraint_residual(q, t))

    def rate(self, q: Array, v: Array, t: float) -> float:
        """Return dσ/dt = uᵀ Ȧ w at the configuration of the singular vectors."""
        across = self.right / self.work.characteristic.columns
        gradient = row_gradient(self.work, q, self.combination[:, -1], across, t)
        rate = float(gradient @ v)
        if self.work.model.is_rheonomic:
            h = TIME_DIFFERENCE
            ends = [
                self.combination[:, -1] @ self.work.constraint_jacobian(q, None, t + x) @ across
                for x in (-h, h)
            ]
            rate += float(ends[1] - ends[0]) / (2 * h)
        return rate

    def pace(self, q: Array, v: Array, t: float) -> float:
        """Return |d(Aᵀu)/dt| [1/s]: σ over this is the time in which σ and its direction change."""
        left = self.combination[:, -1]
        return float(
            np.linalg.norm(row_gradient(self.work, q, left, v, t) / self.work.characteristic.columns)
        )

    def closures(self, y: Array) -> tuple[str, ...]:
        """Return the names of the closures with large entries in the combination y (r,)."""
        left = self.combination @ y
        weight = {name: float(np.linalg.norm(left[part])) for name, part in self.work.closure_rows.items()}
        largest = max(weight.values(), default=0.0)
        return tuple(name for name, size in weight.items() if size > INVOLVED_CLOSURE * largest)

    def critical(self, q: Array, t: float, y: Array | None = None) -> tuple[Array, Array, float] | None:
        """Return q, y and s of the critical point nearby by Newton's method; None without convergence."""
        work, r, nv = self.work, self.rank, self.work.nv
        scale, start, s = work.characteristic.columns, q, 0.0
        y = np.eye(r)[-1] if y is None else y
        for _ in range(FORECAST_ITERATIONS):
            G = self.matrix(q, t)
            left = self.combination @ y
            bent = [row_gradient(work, q, left, np.eye(nv)[i] / scale[i], t) / scale for i in range(nv)]
            matrix = np.zeros((r + nv + 1, nv + r + 1))
            matrix[:r, :nv], matrix[:r, nv:-1], matrix[:r, -1] = G, -s * np.eye(r), -y
            matrix[r:-1, :nv], matrix[r:-1, nv:-1] = bent, G.T
            matrix[-1, nv:-1] = y
            residual = np.concatenate([self.value(q, t) - s * y, G.T @ y, [0.5 * (y @ y - 1.0)]])
            step = ranked(matrix, relative=FINE_RANK_CUT).solve(-residual)
            size = float(np.abs(step).max())
            step = step * min(1.0, FORECAST_STEP / max(size, LEAST_DIVISOR))
            q, y, s = work.move(q, step[:nv] / scale), y + step[nv:-1], s + float(step[-1])
            away = float(np.linalg.norm(scale * difference(work, start, q)))
            if not (np.isfinite(step).all() and away < FORECAST_REACH):
                return None
            if size < FORECAST_CONVERGED:
                return q, y / np.linalg.norm(y), s
        return (q, y / np.linalg.norm(y), s) if size < FORECAST_ROUGH * FORECAST_CONVERGED else None
