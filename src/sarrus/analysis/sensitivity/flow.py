"""`Flow`: states and their derivatives in given directions, through the steps of the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.analysis.sensitivity.parameters import Columns
from sarrus.analysis.sensitivity.tolerances import LOOK_AHEAD
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.model.derivatives import RowTerms, Terms, row_terms, terms
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.integrate.tableau import tableau
from sarrus.kernels.integrate.tolerances import STAGE_BESIDE
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.projected import acceleration_change, correction
from sarrus.kernels.linalg.quaternions import normalize
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.tolerances import SPLIT_PIVOT


@dataclass(frozen=True, eq=False)
class Point:
    """A state x = [q | v | u | t | p | τ] and the derivatives of z = (q, v, u, p) in the directions, as columns."""

    x: Array
    along: Array


class Flow:
    """Steps with derivatives in the directions (ϑ, δv, δw) of the start, then of some inputs, then of some parameters.

    w are the activations of actuators (also currents of windings); without any, changes are (ϑ, δv). x is a state near
    the start, for the rank of the constraints. The reasons for which `simulate` projects the stages of a step are kept
    from step to step: ``split``, that redundant rows separate at the stages, and how fast the smallest pivot falls.
    """

    def __init__(
        self, work: Workspace, x: Array, parameters: Sequence[int], inputs: Sequence[int] = ()
    ) -> None:
        self.work, self.columns = work, Columns.of(work)
        t = float(x[work.parts.t])
        self.rank = generic_rank(work, x[work.parts.q], t, x[work.parts.v])
        self.holonomic_rank = min(int(work.table.holonomic_rank), self.rank)
        work.load_functions("dynamics", "checked", "position", "velocity", "rate")
        #: number of directions of the start
        self.size = 2 * work.nv + work.equations.activations
        held = [self.columns.u.start + k for k in inputs] + [self.columns.p.start + k for k in parameters]
        # how u and p follow the directions
        self.fixed = np.zeros((self.columns.p.stop, self.size + len(held)))
        self.fixed[held, range(self.size, self.fixed.shape[1])] = 1.0
        e = work.equations
        self.fixed[e.activation_places, 2 * work.nv : self.size] = np.eye(e.activations)
        self.split, self._separated, self._largest = False, False, work.typical_pivot
        self._smallest, self._met = 0.0, list(range(work.nc))  # at a stage, and the rows that are met there
        self._last: tuple[float, float] | None = None  # smallest pivot before the last step, and its length
        #: rows that hold positions, among all rows, and their rank; rank of all rows
        self.places, self.rank_of_places, self.rank_of_rows = (
            np.arange(work.nh), self.holonomic_rank, self.rank
        )  # fmt: skip

    def start(self, x: Array) -> Point:
        """Return the state x on the constraints, with every direction projected."""
        system, nv, x = self.work, self.work.nv, x.copy()
        if system.nc and system.project(x) < 0:
            raise SolveError(f"{system.name}: the start cannot be projected on the constraints")
        along = self.fixed.copy()
        along[self.columns.q, :nv] += self._rows(x).basis
        along[self.columns.v, nv : 2 * nv] = np.eye(nv)
        return self._tangent(Point(x, along))

    def step(self, start: Point, h: float, name: str = "rk4", *, near: bool = False) -> Point:
        """Return the end of a step of length h [s] by an explicit method; ``near``: stages are projected in any
        case.
        """
        method, system, given = tableau(name), self.work, near
        clock, x = system.parts.t, start.x
        slopes: list[Array] = []
        changes: list[Array] = []
        for a, c in zip(method.a, method.c):
            stage = self._moved(start, h * a[: len(slopes)], slopes, changes)
            stage.x[clock] = x[clock] + c * h
            if near and slopes:
                stage = self.projected(stage)
            d, slope = self._terms(stage, first=not slopes)
            if not (slopes or given):
                near = self._is_near(x, slope, h)
            slopes.append(slope)
            changes.append(self._change(d, stage))
        self.split = self.split or (not near and self._separated)
        end = self._moved(start, h * method.b, slopes, changes)
        end.x[clock] = x[clock] + h
        return self.projected(end)

    def may_cross(self, start: Point, h: float) -> bool:
        """Return whether a step may cross a singular configuration: at its present rate σ = uᵀA w falls to zero in half
        of it.
        """
        if not self.rank:
            return False
        system, x = self.work, start.x
        ahead = x.copy()
        ahead[self.columns.q] += LOOK_AHEAD * h * system.coordinate_rate(x[self.columns.q], x[self.columns.v])
        ahead[system.parts.t] += LOOK_AHEAD * h
        here, there = (system.characteristic.scaled_rows(self._jacobian(each)) for each in (x, ahead))
        rows = at_rank(here, self.rank)
        u, w = rows.left[:, -1], rows.right[:, -1]
        return bool(rows.kept[-1] < 2.0 / LOOK_AHEAD * abs(u @ (there - here) @ w))

    def in_tangent(self, point: Point) -> Array:
        """Return the changes (ϑ, δv, δw) at a point (size, width)."""
        c, e = self.columns, self.work.equations
        basis, along = self._rows(point.x).basis, point.along
        parts = [product(ranked(basis).inverse, along[c.q]), along[c.v]]
        return np.vstack([*parts, along[c.q][e.activation_places]] if e.activations else parts)

    def _moved(self, start: Point, weights: Array, slopes: list[Array], changes: list[Array]) -> Point:
        """Return the start plus the weighted slopes so far."""
        x, along, n = start.x.copy(), start.along.copy(), self.columns.v.stop
        for weight, slope, change in zip(weights, slopes, changes):
            x[:n] += weight * slope
            along[:n] += weight * change
        return Point(x, along)

    def _terms(self, point: Point, *, first: bool) -> tuple[Terms, Array]:
        """Return the derivatives of the equations at a point, and (q̇, v̇) there."""
        system, x = self.work, point.x
        t = float(x[system.parts.t])
        stage = None if first else system.stage(x)
        if stage is not None:
            self._separated, (self._met, out) = False, stage
            return self._derivatives(x, out)
        rank, out = system.accelerate(x)
        if rank < 0:
            raise system.diagnose(x).error(system.name)
        facts = out[2 * system.nv + system.nc :].view(la.Facts)
        if first and facts.outcome == la.INCONSISTENT_ANSWER:
            raise Status.INCONSISTENT.error(system.name)
        if rank < system.table.generic_rank:
            raise SolveError(
                f"{system.name}: no derivatives at a singular configuration: the constraints have rank {rank} at "
                f"t = {t:g} and {self.rank} nearby"
            )
        self._smallest, self._met = float(facts.smallest), list(range(system.nc))
        self._separated = bool(facts.beyond > SPLIT_PIVOT * facts.largest)
        return self._derivatives(x, out)

    def _derivatives(self, x: Array, answer: Array) -> tuple[Terms, Array]:
        """Return the derivatives of the equations at x with its (a, λ, …), and (q̇, v̇)."""
        system, a = self.work, answer[: self.work.nv]
        d = terms(system, x, a, answer[system.nv : system.nv + system.nc])
        if d.drift is None:
            return d, np.concatenate([d.rate[:, self.columns.v] @ x[system.parts.v], a])
        rate = self._rows(x).basis @ x[system.parts.v] + d.drift[:, 0]
        return d, np.concatenate([rate, a])

    def _change(self, d: Terms, point: Point) -> Array:
        """Return the derivative of (q̇, v̇) at a point."""
        met = self._met_rows(d)
        rows, bias = at_rank(d.jacobian[met], self.rank_of_rows), d.bias[met] @ point.along
        push = None if d.push is None else d.push[met]
        accelerated = acceleration_change(rows, d.mass, d.force @ point.along, bias, push)
        return np.vstack([d.rate @ point.along, accelerated])

    def projected(self, point: Point) -> Point:
        """Return a point brought back to unit quaternions and to the rows, positions and velocities."""
        point = self._normalized(point)
        system, c, places = self.work, self.columns, self.places
        count = len(self._rows(point.x).jacobian)
        if not count:
            return point
        x, along, first = point.x.copy(), point.along.copy(), None
        if len(
            places
        ):  # the first correction; those that follow are as small as its square, in the same metric
            here = self._rows(x)
            rows, metric = at_rank(here.jacobian[places], self.rank_of_places), here.metric
            first = metric
            s = correction(rows, metric, self._gaps(x))
            mu = np.zeros(count)
            mu[places] = rows.inverse.T @ (metric @ s)
            d = self._row_terms(x, s, mu)
            change = acceleration_change(
                rows, metric, (d.heavy - d.backward) @ along, (d.position + d.forward[places]) @ along
            )
            along[c.q] += d.basis @ change + d.turning @ along
            x[c.q] += d.basis @ s
            point = self._normalized(Point(x, along))
            x, along = point.x.copy(), point.along.copy()
        before = x.copy()
        if not self._close(x):
            raise SolveError(
                f"{system.name}: a stage ends too far from the constraints to be projected; take a smaller dt"
            )
        before[c.q] = x[c.q]
        along = self._tangent(Point(x, along), velocities=False, metric=first).along
        here = self._rows(before)
        rows, metric = at_rank(here.jacobian, self.rank_of_rows), here.metric
        s = correction(rows, metric, self._slips(before))
        d = self._row_terms(before, s, rows.inverse.T @ (metric @ s))
        along[c.v] += acceleration_change(
            rows, metric, (d.heavy - d.backward) @ along, (d.velocity + d.forward) @ along
        )
        # Holonomic rows are linear in v, so that one correction is all; others may need more.
        return Point(x, along) if system.nc == system.nh else self._tangent(Point(x, along))

    def _tangent(self, point: Point, velocities: bool = True, metric: Array | None = None) -> Point:
        """Return a point on the rows with its directions projected on them, in a given metric or the kinetic one
        there.
        """
        c, places = self.columns, self.places
        along = point.along.copy()
        d = self._rows(point.x)
        metric = d.metric if metric is None else metric
        if len(places):
            rows = at_rank(d.jacobian[places], self.rank_of_places)
            along[c.q] += d.basis @ correction(rows, metric, d.position @ along)
        if velocities and len(d.jacobian):
            rows = at_rank(d.jacobian, self.rank_of_rows)
            along[c.v] += correction(rows, metric, d.velocity @ along)
        return Point(point.x, along)

    # --- rows that hold; a phase with contacts has more -------------------------------------------------

    def _rows(self, x: Array) -> RowTerms:
        return self._row_terms(x, np.zeros(self.work.nv), None)

    def _row_terms(self, x: Array, w: Array, mu: Array | None) -> RowTerms:
        """Return the derivatives of all rows for w (nv,) and multipliers of all rows (None: zero).

        ``position`` has the rows of ``places`` only.
        """
        return row_terms(self.work, x, w, np.zeros(self.work.nc) if mu is None else mu)

    def _met_rows(self, d: Terms) -> list[int]:
        """Return the rows that are met at the present stage."""
        del d
        return self._met

    def _gaps(self, x: Array) -> Array:
        """Return the residuals of the rows of ``places``."""
        return self.work.compiled.function("position_residual")(x)

    def _slips(self, x: Array) -> Array:
        """Return the residuals of the velocities of all rows."""
        return self.work.compiled.function("velocity_residual")(x)

    def _close(self, x: Array) -> bool:
        """Bring q and v of x to the rows in place; return False if that fails."""
        return not self.work.nc or self.work.project(x) >= 0

    def _jacobian(self, x: Array) -> Array:
        return self.work.compiled.function("jacobian")(x).reshape(self.work.nc, self.work.nv)

    def _normalized(self, point: Point) -> Point:
        """Return a point with unit quaternions."""
        x, along = point.x.copy(), point.along.copy()
        for start in self.work.equations.quaternions:
            part = slice(start, start + 4)
            size = np.linalg.norm(x[part])
            unit = x[part] / size
            along[part] = (along[part] - np.outer(unit, unit @ along[part])) / size
        normalize(x[self.columns.q], self.work.model.quaternions)
        return Point(x, along)

    def _is_near(self, x: Array, slope: Array, h: float) -> bool:
        """Return whether `simulate` projects the stages of a step from x, by the pivots there and the drift of the
        stages.
        """
        system = self.work
        if not system.nc or not self.rank:
            return False
        self._largest = max(self._largest, self._smallest)
        size = self._smallest / self._largest
        speed = 0.0 if self._last is None else (self._last[0] - size) / self._last[1]
        self._last = size, h
        if self.split or size < 2.0 * speed * h:
            return True
        return size < system.options.near_singular and self._strays(x, slope, h, size)

    def _strays(self, x: Array, slope: Array, h: float, size: float) -> bool:
        """Tell whether stages leave the constraints too far (`sarrus.kernels.integrate.stepping.strays`)."""
        system, nh = self.work, self.work.nh
        if system.basis is None or system.nc > nh or system.options.near_singular == np.inf:
            return True
        ahead = x.copy()
        ahead[: self.columns.v.stop] += h * slope
        ahead[system.parts.t] += h
        left, rows = np.abs(system.compiled.function("residuals")(ahead)), system.characteristic.rows
        gap, slip = (rows[:nh] * left[:nh]).max(), (rows * left[nh:]).max()
        return not max(gap, h * slip) <= STAGE_BESIDE * size * size
