"""`step_derivatives`: how the state after one step of `simulate` depends on state, inputs and parameters, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr, solve_triangular

from sarrus.errors import ArgumentError, SolveError
from sarrus.kernels import layout as la
from sarrus.kernels.forward import SINGULAR, STRIDE, forward
from sarrus.kernels.tableau import tableau
from sarrus.linear.outputs import rate_name
from sarrus.linear.taylor import on_constraints
from sarrus.mechanism.pose import Array
from sarrus.quaternions import normalize
from sarrus.sensitivity.rows import RankedRows
from sarrus.sensitivity.terms import Columns, chosen_parameters, row_terms, terms
from sarrus.solves import read_only

if TYPE_CHECKING:
    from sarrus.system import System


@dataclass(frozen=True, eq=False)
class StepDerivatives:
    """One step and its derivatives: δ⁺ = F δ + G δu + P δp.

    Changes of state are δ = (ϑ, δv) (2 nv,) with q ⊕ ϑ = `System.move` (q, ϑ), as in MuJoCo's mjd_transitionFD, and
    ``names`` are those of their entries: velocities, then these with ".rate".

    Attributes
    ----------
    F, G, P : (2 nv × 2 nv), (2 nv × nu), (2 nv × np).
    q, v : (nq,), (nv,) the state at the end of the step.
    t, dt : where the step began, and its length [s].
    rank : rank of A.
    """

    F: Array
    G: Array
    P: Array
    q: Array
    v: Array
    t: float
    dt: float
    rank: int
    names: tuple[str, ...]
    input_names: tuple[str, ...]
    parameter_names: tuple[str, ...]


def step_derivatives(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    t: float = 0.0,
    *,
    dt: float = 1e-3,
    tau: ArrayLike | None = None,
    parameters: Sequence[str] | None = None,
) -> StepDerivatives:
    """Return the derivatives of one step of `sr.simulate` with method "rk4" and stabilization "projection".

    The step is a map: the start is projected on the constraints, four stages, projection of position and velocity. Its
    derivatives are chained from exact ones (automatic differentiation of the equations, implicit differentiation of
    the solves and of the projections); no differences are taken. So F maps every change to one that the constraints
    allow at the end, and changes that they do not allow at the start act as their projections. P is the derivative
    where q and v are given and the start is projected on constraints that move with p.

    Parameters
    ----------
    q, v, u : (nq,), (nv,), (nu,) state and inputs, which are held during the step and not clipped; v and u are zero by
        default. t : time [s]; dt : length of the step [s].
    tau : (nv,) applied generalized force, held constant.
    parameters : names from ``system.parameters``; all that are no switches by default.

    Redundant rows are cut to the generic rank, as the simulator cuts them: at stages beside the constraints their
    derivatives are exact up to dt³ times the distance. Near singular configurations (`Options.near_singular`) stages
    are projected as `simulate` projects them; where it splits a step there, the derivatives are those of the whole
    step. Massless bodies are ordinary. Contacts and closures are held as they are.

    Raises
    ------
    ArgumentError
        q or v violate the constraints by more than 1e-5, or a name is unknown.
    SolveError
        A stage has no acceleration, or the rank drops there.
    """
    if not (isinstance(dt, (int, float, np.number)) and 0.0 < float(dt) < np.inf):
        raise ArgumentError(f"{system.name}: dt must be a positive number [s], got {dt!r}", element="dt")
    names, places = chosen_parameters(system, parameters)
    x = on_constraints(system, q, v, u, t)
    if tau is not None:
        x[system._tau_part] = system.checked(tau, system.nv, "tau")
    step = Step(system, x, float(t), places)
    start = step.start()
    end, near = step.end(start, float(dt)), slice(0, 2 * system.nv)
    change = step.in_tangent(end)
    nu = system.nu
    return StepDerivatives(
        F=read_only(change[:, near].copy()),
        G=read_only(change[:, 2 * system.nv : 2 * system.nv + nu].copy()),
        P=read_only(change[:, 2 * system.nv + nu :].copy()),
        q=read_only(end.x[system._q_part].copy()),
        v=read_only(end.x[system._v_part].copy()),
        t=float(t),
        dt=float(dt),
        rank=step.rank,
        names=(*system.velocity_names, *map(rate_name, system.velocity_names)),
        input_names=tuple(system.actuator_names),
        parameter_names=names,
    )


@dataclass(frozen=True, eq=False)
class Point:
    """A state x = [q | v | u | t | p | τ] and the derivatives of z = (q, v, u, p) along the directions, by columns."""

    x: Array
    along: Array


class Step:
    """One step from a state, along the directions (ϑ, δv, u, p) at its start."""

    def __init__(self, system: System, x: Array, t: float, parameters: list[int]) -> None:
        self.system, self.columns, self.x = system, Columns.of(system), x
        q, v = x[system._q_part], x[system._v_part]
        self.rank = system.ensure_generic_rank(q, t, v)
        self.holonomic_rank = min(int(system.table[la.HOLONOMIC_RANK]), self.rank)
        system.load_functions("dynamics", "position", "velocity", "rate")
        nv, nu = system.nv, system.nu
        self.width = 2 * nv + nu + len(parameters)
        self.fixed = np.zeros((self.columns.p.stop, self.width))  # how u and p follow the directions
        for k in range(nu):
            self.fixed[self.columns.u.start + k, 2 * nv + k] = 1.0
        for k, place in enumerate(parameters):
            self.fixed[self.columns.p.start + place, 2 * nv + nu + k] = 1.0
        self.near = False

    def start(self) -> Point:
        """Return the start on the constraints, with every direction projected."""
        system, nv = self.system, self.system.nv
        x = self.x.copy()
        if system.nc and system.project(x) < 0:
            raise SolveError(f"{system.name}: the start cannot be projected on the constraints")
        along = self.fixed.copy()
        along[self.columns.q, :nv] = row_terms(system, x, np.zeros(nv), np.zeros(system.nc)).basis
        along[self.columns.v, nv : 2 * nv] = np.eye(nv)
        point = self._tangent(Point(x, along))
        self.near = self._is_near(x)
        return point

    def end(self, start: Point, h: float) -> Point:
        """Return the end of the step of length h."""
        method, system = tableau("rk4"), self.system
        clock, x = system._t_index, start.x
        slopes: list[Array] = []
        changes: list[Array] = []
        for a, c in zip(method.a, method.c):
            stage = self._moved(start, h * a[: len(slopes)], slopes, changes)
            stage.x[clock] = x[clock] + c * h
            if self.near and slopes:
                stage = self.projected(stage)
            slope, change = self._slope(stage)
            slopes.append(slope)
            changes.append(change)
        end = self._moved(start, h * method.b, slopes, changes)
        end.x[clock] = x[clock] + h
        return self.projected(end)

    def in_tangent(self, point: Point) -> Array:
        """Return the changes (ϑ, δv) at a point (2 nv × width)."""
        c = self.columns
        basis = row_terms(self.system, point.x, np.zeros(self.system.nv), np.zeros(self.system.nc)).basis
        return np.vstack([np.linalg.pinv(basis) @ point.along[c.q], point.along[c.v]])

    def _moved(self, start: Point, weights: Array, slopes: list[Array], changes: list[Array]) -> Point:
        """Return the start plus the weighted slopes so far."""
        x, along, n = start.x.copy(), start.along.copy(), self.columns.v.stop
        for weight, slope, change in zip(weights, slopes, changes):
            x[:n] += weight * slope
            along[:n] += weight * change
        return Point(x, along)

    def _slope(self, point: Point) -> tuple[Array, Array]:
        """Return (q̇, v̇) at a point, and its derivative."""
        system, x = self.system, point.x
        q, v, t = x[system._q_part].copy(), x[system._v_part].copy(), float(x[system._t_index])
        system._x[:] = x
        system._u_given = True
        out = np.empty(system.output_size)
        code = forward(system.table, q, v, x[system._tau_part].copy(), t, out)
        outcome, rank = divmod(code, STRIDE) if code >= 0 else (code, -1)
        if outcome < 0:
            status = system.diagnose(x)
            raise SolveError(f"{system.name}: {status.diagnosis}. {status.remedy}")
        if outcome == SINGULAR:
            raise SolveError(
                f"{system.name}: no derivatives at a singular configuration: the constraints have rank {rank} at "
                f"t = {t:g} and {self.rank} nearby"
            )
        a = out[: system.nv]
        d = terms(system, x, a, out[system.nv : system.nv + system.nc])
        rows = RankedRows(d.jacobian, rank)
        turned = d.rate @ point.along
        accelerated = rows.acceleration_change(d.mass, d.force @ point.along, d.bias @ point.along)
        rate = d.rate[:, self.columns.v] @ v
        return np.concatenate([rate, a]), np.vstack([turned, accelerated])

    def projected(self, point: Point) -> Point:
        """Return a point brought back to unit quaternions and to the constraints, positions and velocities."""
        point = self._normalized(point)
        system, c = self.system, self.columns
        if not system.nc:
            return point
        x, along = point.x.copy(), point.along.copy()
        nh = system.nh
        if nh:  # the first correction; those that follow are as small as its square
            d = row_terms(system, x, np.zeros(system.nv), np.zeros(system.nc))
            rows = RankedRows(d.jacobian[:nh], self.holonomic_rank)
            s = -rows.inverse @ system.compiled.function("position_residual")(x)
            mu = np.zeros(system.nc)
            mu[:nh] = rows.inverse.T @ s
            d = row_terms(system, x, s, mu)
            change = rows.correction_change(d.position @ along, d.forward[:nh] @ along, d.backward @ along)
            turning = self._rate_change(x, s) @ along[c.q]
            along[c.q] += d.basis @ change + turning
            x[c.q] += d.basis @ s
            point = self._normalized(Point(x, along))
            x, along = point.x.copy(), point.along.copy()
        before = x.copy()
        if system.project(x) < 0:
            raise SolveError(f"{system.name}: a stage ends too far from the constraints; take a smaller dt")
        before[c.q] = x[c.q]
        d = row_terms(system, before, np.zeros(system.nv), np.zeros(system.nc))
        rows = RankedRows(d.jacobian, self.rank)
        s = -rows.inverse @ system.compiled.function("velocity_residual")(before)
        d = row_terms(system, before, s, rows.inverse.T @ s)
        point = self._tangent(Point(x, along), velocities=False)
        along = point.along.copy()
        along[c.v] += rows.correction_change(d.velocity @ along, d.forward @ along, d.backward @ along)
        return self._tangent(Point(x, along))

    def _tangent(self, point: Point, velocities: bool = True) -> Point:
        """Return a point on the constraints with its directions projected on them."""
        system, c = self.system, self.columns
        along, nh = point.along.copy(), system.nh
        d = row_terms(system, point.x, np.zeros(system.nv), np.zeros(system.nc))
        if nh:
            rows = RankedRows(d.jacobian[:nh], self.holonomic_rank)
            along[c.q] -= d.basis @ (rows.inverse @ (d.position @ along))
        if velocities and system.nc:
            rows = RankedRows(d.jacobian, self.rank)
            along[c.v] -= rows.inverse @ (d.velocity @ along)
        return Point(point.x, along)

    def _rate_change(self, x: Array, s: Array) -> Array:
        """Return ∂(N s)/∂q (nq × nq)."""
        y = x.copy()
        y[self.columns.v] = s
        none = np.zeros(self.system.nv), np.zeros(self.system.nc)
        return terms(self.system, y, *none).rate[:, self.columns.q]

    def _normalized(self, point: Point) -> Point:
        """Return a point with unit quaternions."""
        x, along = point.x.copy(), point.along.copy()
        for start in self.system.equations.quaternions:
            part = slice(start, start + 4)
            size = np.linalg.norm(x[part])
            unit = x[part] / size
            along[part] = (along[part] - np.outer(unit, unit @ along[part])) / size
        normalize(x[self.columns.q], self.system._quaternions)
        return Point(x, along)

    def _is_near(self, x: Array) -> bool:
        """Tell whether `simulate` would project the stages of a step from x: by the pivots of A in the metric of M."""
        system = self.system
        if not system.nc or not self.rank:
            return False
        d = terms(system, x, np.zeros(system.nv), np.zeros(system.nc))
        rows = d.jacobian
        if not system.compiled.mass_is_singular:
            rows = solve_triangular(np.linalg.cholesky(d.mass), rows.T, lower=True).T
        pivots = np.abs(np.diag(qr(rows.T, mode="r", pivoting=True)[0]))
        smallest = float(pivots[self.rank - 1])
        return smallest < system.options.near_singular * max(system.typical_pivot, smallest)
