"""`ContactStep`: steps of the time-stepping method with their derivatives, the modes of contacts held.

A step maps q, v and u through the stages of `sarrus.kernels.integrate.time_stepping`: two passes, each with forces in
the middle and a contact problem, the end of the way, and the closing of gaps. Impulses, active contacts and modes are
those of the kernel. Each stage is written once for values and derivatives (`Dual`), and its values are compared with
those of the kernel. With a(f) the acceleration in the middle under the generalized force f,

    v⁺ = v + h a(Hᵀ r/h),    δr from `mode_tangent` with the change of u at constant r.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.analysis.sensitivity.dual import Dual
from sarrus.analysis.sensitivity.flow import Flow, Point
from sarrus.analysis.sensitivity.step_record import StepRecord, record_step
from sarrus.analysis.sensitivity.tolerances import AGAINST_SLIP, KERNEL_AGREES
from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.contacts.contact_elements import ContactElement, contact_elements
from sarrus.dynamics.contacts.contact_state import ContactRowState, rows_at
from sarrus.dynamics.contacts.row_derivatives import RowSlopes
from sarrus.dynamics.contacts.tolerances import BORDER_OF_MODES
from sarrus.dynamics.optimize.contact_rows import factor_of
from sarrus.dynamics.optimize.contact_tangent import mode_tangent
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import DEPENDENT_CONTACT_PIVOT
from sarrus.kernels.integrate.tolerances import (
    CORRECTION_RIDGE,
    EXACT_GAP_OF_MODES,
    POSITION_CORRECTIONS,
    STANDING_SPEED,
)
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.projected import acceleration_change
from sarrus.kernels.linalg.ranked import at_rank, ranked


class ContactStep(Flow):
    """A `Flow` whose steps are those of time stepping, with contacts, stops and dry friction."""

    def step(self, start: Point, h: float, name: str = "", *, near: bool = False) -> Point:
        """Return the end of a step of length h [s]; ``name`` is not used.

        Raises `SolveError` at a border of modes and for steps without derivatives.
        """
        del name
        _, slope = self._terms(start, first=True)
        near = near or self._is_near(start.x, slope, h)
        record = record_step(self.work, start.x, h, near=near)
        _require_supported(self.work, record)
        begun = Point(record.x, start.along)
        middle = self.retracted(begun, self.dual(begun, self.columns.v).times(0.5 * h))
        middle.x[self.work.parts.t] += 0.5 * h
        if near:
            middle = self.projected(middle)
        first = _Pass(self, record, begun, middle, h, 0)
        halved = (first.start + first.ahead).times(0.5)
        second = _Pass(self, record, begun, self.with_velocity(middle, halved), h, 1, first.smooth)
        return self.projected(self._end(record, begun, second, h))

    def _end(self, record: StepRecord, begun: Point, last: _Pass, h: float) -> Point:
        """Return the end of the step before the projection on the constraints, with the gaps of contacts closed."""
        way = last.ahead.times(h) - last.smooth.times(0.5 * h * h)
        if (last.delay.value > 0.0).any():
            way = way - last.pushed(last.impulses.by(last.delay))
        end = self.with_velocity(self.retracted(begun, way), last.ahead)
        end.x[self.work.parts.t] += h
        end = last.closing(end)
        part = slice(0, self.columns.v.stop)
        last.require_agreement(end.x[part], record.end[part])
        return Point(record.end.copy(), end.along)

    def dual(self, point: Point, part: slice) -> Dual:
        """Return q or v of a point."""
        return Dual(point.x[part].copy(), point.along[part].copy())

    def basis(self, x: Array) -> Array:
        """Return N (nq × nv) at x."""
        return self._rows(x).basis

    def with_velocity(self, point: Point, v: Dual) -> Point:
        """Return a point with another velocity."""
        x, along = point.x.copy(), point.along.copy()
        x[self.columns.v], along[self.columns.v] = v.value, v.along
        return Point(x, along)

    def retracted(self, point: Point, way: Dual) -> Point:
        """Return a point with q ⊕ ``way`` (nv,)."""
        d, c = self._row_terms(point.x, way.value, None), self.columns
        x, along = point.x.copy(), point.along.copy()
        x[c.q] += product(d.basis, way.value)
        along[c.q] += product(d.basis, way.along) + product(d.turning, point.along)
        return self._normalized(Point(x, along))

    def acceleration(self, point: Point, force: Dual | None) -> tuple[Dual, Array]:
        """Return a (nv,) with the constraints at a point under a further generalized force, and K = ∂a/∂f."""
        x, nv = point.x.copy(), self.work.nv
        if force is not None:
            x[self.work.parts.tau] += force.value
        d, slope = self._terms(Point(x, point.along), first=False)
        met = self._met_rows(d)
        rows = at_rank(d.jacobian[met], self.rank_of_rows)
        change = product(d.force, point.along) - (0.0 if force is None else force.along)
        bias = product(d.bias[met], point.along)
        none = np.zeros((len(met), nv))
        found = acceleration_change(rows, d.mass, np.hstack([change, -np.eye(nv)]), np.hstack([bias, none]))
        width = point.along.shape[1]
        return Dual(slope[self.work.nq :], found[:, :width]), found[:, width:]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of contacts, stops and dry friction at a point, and their derivatives along its directions."""

    flow: ContactStep
    point: Point
    state: ContactRowState

    @classmethod
    def at(cls, flow: ContactStep, point: Point, bounds: Array) -> _Rows:
        return cls(flow, point, rows_at(flow.work, point.x, bounds))

    @cached_property
    def gaps(self) -> Dual:
        """Gaps of contacts, then of stops [m, rad]."""
        slopes = self._gap_slopes
        return Dual(self.state.gaps[: len(slopes)], product(slopes, self.point.along))

    def gap_rows(self, owners: np.ndarray) -> Array:
        """Return the derivatives of the gaps of these contacts and stops along velocities (owners × nv)."""
        basis = self.flow.basis(self.point.x)
        return product(self._gap_slopes[owners][:, self.flow.columns.q], basis)

    @property
    def _gap_slopes(self) -> Array:
        return self._slopes.position[
            [one.rows.start for one in self.state.elements if one.kind != "friction"]
        ]

    @cached_property
    def rates(self) -> Dual:
        """H v, and what prescribed motions add [m/s, rad/s]."""
        return Dual(self.state.rates, product(self._slopes.velocity, self.point.along))

    @cached_property
    def bias(self) -> Dual:
        """Ḣ v, and what prescribed motions add."""
        return Dual(self.state.bias, product(self._slopes.drift, self.point.along))

    def along(self, w: Dual) -> Dual:
        """Return H w for w (nv,)."""
        turned = product(self.state.slopes(w.value).forward, self.point.along)
        return Dual(product(self.state.rows, w.value), turned + product(self.state.rows, w.along))

    def push(self, forces: Dual) -> Dual:
        """Return Hᵀ f (nv,) for f on all rows."""
        found = forces.mapped(np.ascontiguousarray(self.state.rows.T))
        turned = product(self.state.slopes(forces=forces.value).backward, self.point.along)
        return Dual(found.value, found.along + turned)

    @cached_property
    def _slopes(self) -> RowSlopes:
        return self.state.slopes()


class _Pass:
    """One of the two passes of a step: ``start`` and ``ahead``, the velocities at both ends, and its impulses.

    ``smooth`` is the acceleration with the forces of lasting contacts; of the second pass, ``before`` is that of the
    first one. ``delay`` are the times until the contacts of the rows close [s].
    """

    def __init__(
        self,
        flow: ContactStep,
        record: StepRecord,
        begun: Point,
        middle: Point,
        h: float,
        number: int,
        before: Dual | None = None,
    ) -> None:
        self.flow, self.record, self.middle, self.h = flow, record, middle, h
        self.start = flow.dual(begun, flow.columns.v)
        self.rows = _Rows.at(flow, middle, record.bounds)
        self.count, self.width = len(self.rows.state.rows), begun.along.shape[1]
        self.free, self.response = flow.acceleration(middle, None)
        own, heads = record.rows, np.array([one.rows.start for one in contact_elements(flow.work)], dtype=int)
        drift = self.rows.rates - self.rows.along(flow.dual(middle, flow.columns.v))
        turn = self.rows.bias.times(0.5 * h)
        alone = self.rows.along(self.start + self.free.times(h)) + drift + turn
        earlier = self.rows.along(self.start) + drift - turn
        smooth = self.free if before is None else before
        change = alone - (self.rows.along(smooth) + self.rows.bias).times(0.5 * h)
        gaps = _Rows.at(flow, begun, record.bounds).gaps
        forecast = gaps.times(1.0 / h) + change[heads[: len(gaps.value)]]
        delays = self._delays(gaps, forecast)
        self.delay = self._of_rows(delays)
        added = self._rebounds(delays, earlier[heads[: len(gaps.value)]], alone[heads[: len(gaps.value)]])
        impulses = record.impulses if number else record.first
        constant = Dual(impulses, np.zeros((len(own), self.width)))
        offset = (drift if (delays.value > 0.0).any() else drift + turn) + added
        c = self.rows.along(self._ahead(constant)) + offset
        self.speeds = c.value[own]
        self.impulses = Dual(impulses, self._changes(impulses, c[own]))
        self.ahead = self._ahead(self.impulses)
        self.require_agreement(self.ahead.value, record.ahead[number])
        self._require_lasting(earlier)
        moved = self.rows.along(self.pushed(constant)).value[heads[: len(gaps.value)]]
        self._require_open(forecast.value + moved)
        if number:
            self._require_no_shares()
        lasting = self.impulses.times(record.lasts.astype(float))
        self.smooth = self.free + self.pushed(lasting).times(1.0 / h)

    def pushed(self, impulses: Dual) -> Dual:
        """Return K Hᵀ r for impulses of the active rows."""
        if not len(impulses.value):
            return Dual.zeros(self.flow.work.nv, self.width)
        force = impulses.times(1.0 / self.h).spread(self.record.rows, self.count)
        return (self.flow.acceleration(self.middle, self.rows.push(force))[0] - self.free).times(self.h)

    def _ahead(self, impulses: Dual) -> Dual:
        return self.start + self.free.times(self.h) + self.pushed(impulses)

    @cached_property
    def delassus(self) -> Array:
        """W (m, m) of the active rows."""
        rows = self.rows.state.rows[self.record.rows]
        found = product(rows, self.response, rows.T)
        return 0.5 * (found + found.T)

    def _delays(self, gaps: Dual, forecast: Dual) -> Dual:
        """Return the times until contacts close, for ``forecast``, gaps at the end without contacts over h."""
        record, h = self.record, self.h
        opens = record.gaps > record.closed
        for k, one in enumerate(contact_elements(self.flow.work)[: len(opens)]):
            if not opens[k]:
                continue
            if abs(forecast.value[k]) * h <= BORDER_OF_MODES * one.unit:
                raise _border(self.flow.work, one, "just closes at the end of the step")
            if record.active[k] and forecast.value[k] > 0.0:
                raise _border(self.flow.work, one, "is closed in the step by the impulses of others")
            if not record.active[k] and forecast.value[k] < 0.0:
                raise _border(self.flow.work, one, "is closed in one of both passes of the step alone")
            if record.gaps[k] <= BORDER_OF_MODES * one.unit:
                raise _border(self.flow.work, one, "is closed but for a gap that is too small to tell")
        closing = np.flatnonzero(opens & record.active)
        gap, ahead = gaps[closing], forecast[closing].times(h)
        return gap.times(h).over(gap - ahead).spread(closing, len(opens))

    def _rebounds(self, delays: Dual, earlier: Dual, alone: Dual) -> Dual:
        """Return what restitution adds to the velocities of all rows."""
        record, elements = self.record, contact_elements(self.flow.work)
        approach = earlier + delays.times(1.0 / self.h).by(alone - earlier)
        leaves = approach.times(-record.restitution)
        for k, one in enumerate(elements[: len(record.active)]):
            if not record.active[k]:
                continue
            if abs(leaves.value[k] - record.rest[k]) <= BORDER_OF_MODES * record.rest[k]:
                raise _border(self.flow.work, one, "leaves an impact at the least speed of a rebound")
            if record.rebounds[k] != (leaves.value[k] >= record.rest[k]):
                raise _border(self.flow.work, one, "rebounds in one of both passes of the step alone")
        hits = np.flatnonzero(record.rebounds)
        heads = np.array([elements[k].rows.start for k in hits], dtype=int)
        return approach.times(record.restitution)[hits].spread(heads, self.count)

    def _require_open(self, left: Array) -> None:
        """Raise `SolveError` for an open contact that the impulses of others just close; ``left`` is its gap over h."""
        for k, one in enumerate(contact_elements(self.flow.work)[: len(left)]):
            if not self.record.active[k] and left[k] * self.h <= BORDER_OF_MODES * one.unit:
                raise _border(self.flow.work, one, "just closes by the impulses of others")

    def _require_lasting(self, earlier: Dual) -> None:
        """Raise `SolveError` for a closed contact that just hits, so that its force is just lasting."""
        record = self.record
        for k, one in enumerate(contact_elements(self.flow.work)[: len(record.active)]):
            least = STANDING_SPEED * record.rest[k]
            speed = -float(earlier.value[one.rows.start])
            closed = record.active[k] and record.gaps[k] <= record.closed[k]
            if closed and abs(speed - least) <= BORDER_OF_MODES * least:
                raise _border(self.flow.work, one, "hits at the least speed of an impact")

    def _require_no_shares(self) -> None:
        """Raise `SolveError` if the end depends on shares of the load that redundant rows leave open.

        Velocities do not, but the way does if some of these contacts were closed at the start and others were not.
        """
        if not self.shares.size:
            return
        by = 1.0 / np.sqrt(np.maximum(np.diag(self.delassus), LEAST_DIVISOR))[:, None]
        least = BORDER_OF_MODES * (by * product(np.abs(self.delassus), np.abs(self.shares))).max()
        for weight in (self.delay.value / self.h, self.record.lasts.astype(float)):
            moved = np.abs(by * product(self.delassus, weight[:, None] * self.shares)).max(axis=1)
            if moved.max() > least:
                one = contact_elements(self.flow.work)[self.record.owners[int(moved.argmax())]]
                text = "closes at another time than others with which it shares the load in an open way"
                raise _border(self.flow.work, one, text)

    def _of_rows(self, delays: Dual) -> Dual:
        """Return times of contacts for the active rows, zero for dry friction."""
        owners, count = self.record.owners, len(delays.value)
        padded = delays.spread(np.arange(count), len(contact_elements(self.flow.work)))
        return padded[owners]

    def _require_laws(
        self, r: Array, u: Array, contacts: list[tuple[int, float]], dry: list[tuple[int, float]]
    ) -> None:
        """Raise `SolveError` where impulses and velocities break the laws.

        The kernel takes off drifts of redundant rows that contradict each other, so that what sticks creeps.
        """
        sizes, first = np.abs(u) + product(np.abs(self.delassus), np.abs(r)), 0
        for k, (n, number) in enumerate([*contacts, *dry]):
            head = k < len(contacts)
            part, tails = slice(first, first + n), slice(first + head, first + n)
            least = BORDER_OF_MODES * float(sizes[part].max())
            speed = float(np.linalg.norm(u[tails]))
            most = number * (r[first] if head else 1.0)
            broken = head and r[first] > 0.0 and abs(u[first]) > least
            if speed > least:
                off = np.linalg.norm(r[tails] + most / speed * u[tails])
                broken = broken or bool(off > AGAINST_SLIP * most)
            if broken:
                one = contact_elements(self.flow.work)[self.record.owners[first]]
                text = "is redundant beside others that turn against it: the step lets it creep, which is not supported"
                raise _border(self.flow.work, one, text)
            first += n

    def _changes(self, impulses: Array, speeds: Dual) -> Array:
        """Return δr for the velocities of the active rows, with their changes at constant r."""
        record, self.shares = self.record, np.zeros((0, 0))
        if not len(impulses):
            return np.zeros((0, self.width))
        dry = [(n, _finite(number, impulses)) for n, number in record.dry]
        blocks, W = (record.contacts, dry), self.delassus
        self._require_laws(impulses, speeds.value, record.contacts, dry)
        tangent = mode_tangent(factor_of(W), impulses, speeds.value, speeds.along, *blocks)
        self.shares = tangent.shares
        if not tangent.status.ok:
            starts = np.cumsum([0, *(n for n, _ in (*record.contacts, *record.dry))])
            elements = contact_elements(self.flow.work)
            if not tangent.border:
                raise _border(self.flow.work, None, tangent.reason)
            shared = "slides and shares the load with others in an open way, on which the derivatives depend"
            text = shared if tangent.is_shared else "is at a border of modes"
            raise _border(self.flow.work, elements[record.owners[starts[tangent.border[0]]]], text)
        return tangent.forces

    def closing(self, end: Point) -> Point:
        """Return the end with the gaps of contacts closed that push and do not rebound.

        Rows, matrix and ridge are those of `sarrus.kernels.contact.closing_gaps.factor_chosen`, called by time steps.
        """
        record, flow, elements = self.record, self.flow, contact_elements(self.flow.work)
        chosen = [
            i
            for i, (row, k) in enumerate(zip(record.rows.tolist(), record.owners.tolist()))
            if k < len(record.active)
            and row == elements[k].rows.start
            and not record.rebounds[k]
            and record.impulses[i] > 0.0
        ]
        if not chosen:
            return end
        owners, places = record.owners[chosen], np.array(chosen)
        matrix = self.delassus[np.ix_(chosen, chosen)]
        matrix = matrix + np.diag(CORRECTION_RIDGE * np.diag(matrix))
        for _ in range(POSITION_CORRECTIONS):
            gaps = _Rows.at(flow, end, record.bounds).gaps[owners]
            if np.abs(gaps.value / record.closed[owners]).max() <= EXACT_GAP_OF_MODES:
                return self._closed(end, owners, places)
            value = -dense.solve(matrix, gaps.value)
            held = Dual(value, np.zeros((len(chosen), self.width))).spread(places, len(record.rows))
            turned = self.rows.along(self.pushed(held))[record.rows[places]]
            change = -dense.solve(matrix, gaps.along + turned.along)
            way = self.pushed(Dual(value, change).spread(places, len(record.rows)))
            end = flow.retracted(end, way)
        gaps = _Rows.at(flow, end, record.bounds).gaps[owners]
        exact = np.abs(gaps.value / record.closed[owners]).max() <= EXACT_GAP_OF_MODES
        return self._closed(end, owners, places) if exact else end

    def _closed(self, end: Point, owners: np.ndarray, places: np.ndarray) -> Point:
        """Return the end with the changes of gaps closed along K Hᵀ, as all corrections together close them."""
        rows = _Rows.at(self.flow, end, self.record.bounds)
        columns = product(self.response, self.rows.state.rows[self.record.rows[places]].T)
        parts = ranked(product(rows.gap_rows(owners), columns), relative=DEPENDENT_CONTACT_PIVOT)
        change = -product(columns, parts.solve(rows.gaps[owners].along))
        way = Dual(np.zeros(len(columns)), change)
        return Point(end.x, self.flow.retracted(end, way).along)

    def require_agreement(self, found: Array, of_kernel: Array) -> None:
        """Raise `SolveError` if values are not those of the kernel: an active set that differs between both passes."""
        size = 1.0 + float(np.abs(of_kernel).max(initial=0.0))
        if not np.abs(found - of_kernel).max(initial=0.0) <= KERNEL_AGREES * size:
            raise _border(self.flow.work, None, "contacts are active in one of both passes alone")


def _finite(number: float, impulses: Array) -> float:
    """Return a limit of friction that no impulse reaches in the place of an infinite one."""
    return number if np.isfinite(number) else 2.0 + 2.0 * float(np.abs(impulses).sum())


def _require_supported(work: Workspace, record: StepRecord) -> None:
    """Raise `SolveError` for an active contact with another coefficient of friction at rest, or of gear flanks."""
    elements = contact_elements(work)
    for k in np.flatnonzero(record.active):
        one = elements[k]
        if one.friction < one.static < np.inf:
            raise _border(work, one, "has another coefficient of friction at rest, which is not supported")
        if one.opposite_flank >= 0:
            raise _border(
                work, one, "is one of two flanks, of which the step chooses one, which is not supported"
            )


def _border(work: Workspace, one: ContactElement | None, what: str) -> SolveError:
    """Return the error for a contact at a border of modes, or one whose derivatives are not known."""
    name = "" if one is None else f"{one.what} {one.name!r} "
    return SolveError(
        f"{work.name}: no derivatives of the step, in which {name}{what}",
        element=None if one is None else one.name,
    )
