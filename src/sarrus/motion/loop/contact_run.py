"""`ContactRun`: what a time-stepping run needs of the contacts, stops and dry friction of a system, for its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import (
    ContactElement,
    contact_elements,
    contact_names,
    require_limited_friction,
)
from sarrus.dynamics.contacts.contact_functions import (
    border_functions,
    contact_gaps,
    contact_motion_function,
    step_gaps,
)
from sarrus.dynamics.contacts.contact_state import below_its_plane
from sarrus.dynamics.contacts.geometry_arrays import GeometryArrays
from sarrus.dynamics.contacts.model_contacts import write_model_contacts
from sarrus.dynamics.contacts.row_derivatives import row_tangent
from sarrus.dynamics.contacts.tolerances import CLOSED_OF_FLANKS
from sarrus.dynamics.impacts.collisions import no_answer
from sarrus.dynamics.model.inertia import lightness
from sarrus.dynamics.model.joint_limits import bounds_at, joint_limits
from sarrus.dynamics.solve.forward_dynamics import forward_dynamics
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.compliance import ALONE
from sarrus.kernels.contact.tolerances import (
    ARRIVED,
    AT_BOUND,
    RESIDUAL_OF_MANY,
    REST_SPEED,
    SLOW_SLIP,
    still_speed,
)
from sarrus.kernels.linalg import dense
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import geometry_layout as cl
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.local_layout import local_sizes
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import (
    contact_acceleration,
    contact_problem,
    mode_acceleration,
    mode_probe,
    mode_projection,
    time_step,
)
from sarrus.motion.loop.lane_functions import lane_slope, suits_lanes
from sarrus.motion.loop.step_impact_arrays import StepImpactArrays
from sarrus.motion.loop.tolerances import EVIDENT_SPEED, UNREACHED
from sarrus.motion.records.geometry_log import NONE, ContactLog, contact_log
from sarrus.symbolic.equations.sparse import rows_of

if TYPE_CHECKING:
    from sarrus.dynamics.optimize.contact_problem import ContactSolution

# So often a step is tried with other forces to begin with.
TRIES = 5
# Contacts between geometries that the log of a call of the kernel has room for, and records at the least.
_LOG, _LEAST_RECORDS = 1 << 16, 256


class ContactRun:
    """The arrays of one run; `attach` has the kernels step with them.

    Coordinates that are beyond a limit when the run begins may come back and go no further out, see
    `sarrus.dynamics.model.joint_limits`.
    """

    def __init__(self, system: Workspace, q: Array, t: float, rest_speed: float | None = None) -> None:
        self.system = system
        contacts, limits = system.equations.friction_contacts, joint_limits(system)
        self.names = contact_names(system)
        self.stuck, self.tried = np.nan, 0  # when the kernel failed last, and how often
        self._step = 0.0  # of a run in steps of time [s]
        self.hits: list[tuple[float, int, float]] = []  # times at which stops were met, with their bounds
        self.contact_table = contact_table = tl.ContactTable.zeros()
        size = system.characteristic
        self.settings = settings = tl.ContactSettings.zeros()
        settings.closed, settings.at_bound = ARRIVED * size.length, AT_BOUND * size.length
        settings.rest_speed, settings.rest_turn = REST_SPEED * size.length, REST_SPEED
        if rest_speed is not None:
            settings.rest_speed = settings.rest_turn = rest_speed
        if any(contact.opposite_flank for contact in contacts):  # their play is no gap that is closed
            settings.closed = settings.at_bound = min(settings.closed, CLOSED_OF_FLANKS)
        widths = [len(contact.row_names) for contact in contacts]
        self._of_model = of_model = write_model_contacts(system, contact_table, settings, widths)
        self.blocks = tuple(one.name for one in contact_elements(system))
        self.speeds, self._scales = of_model["speeds"], of_model["scales"]
        self.signs, self.limits, self.bounds = of_model["signs"], of_model["limits"], limits.bounds.copy()
        self.modes: Any = np.zeros(len(self.blocks), dtype=np.int64)
        self.directions, self.forces, self.start_forces = np.zeros((3, tl.fixed_rows(contact_table)))
        contact_table.bounds, contact_table.modes = self.bounds, self.modes
        contact_table.directions, contact_table.forces = self.directions, self.forces
        contact_table.start_forces = self.start_forces
        contact_table.lightness = self._lightness = lightness(system, q, t)
        self.units = np.array([one.unit for one in contact_elements(system)])[
            : len(contacts) + contact_table.stops
        ]
        self.heads = [one.rows.start for one in contact_elements(system)][: len(self.units)]
        self.rows_of_contacts = widths
        self.bounds[:], contact_table.given_bounds = bounds_at(limits, q, settings.closed), limits.bounds
        self.problem = cp.ContactProblem.zeros()
        contact_table.settings, contact_table.problem = settings, self.problem
        self.geometry_run = None
        if system.contact_geometries:
            self.geometry_run = GeometryArrays(system)
            self.geometry_run.share(self._rows())
            contact_table.geometry = self.geometry_run.table
        self.slots, self._log, self._logged = np.zeros(0), np.zeros(0), list[Array]()
        contact_table.n_factors = system.table.n_factors if system.table.response != 0 else 0
        self._make_room()
        rank = int(system.table.generic_rank)
        many = self.geometry_run is not None or tl.fixed_rows(contact_table) > ALONE
        if many and contact_table.n_factors == 0 and suits_lanes(system, rank):
            self._slope = lane_slope(system, rank)
            contact_table.slope = self._slope.address
        assert tl.fixed_rows(contact_table) == len(self.names)
        if contact_table.contact_rows:
            self._load(system)

    def _rows(self) -> list[list[int]]:
        """Return the velocities that each row depends on which is there in every step."""
        system, speeds = self.system, self.speeds
        rows = rows_of(ca.jacobian(system.equations.row_rates, system.equations.v))
        return [*(list(row) for row in rows), *([int(place)] for place in speeds)]

    def _make_room(self) -> None:
        """Make room for a step, with as many contacts between geometries as there is room for in their table."""
        system, contact_table = self.system, self.contact_table
        contacts, geometry_run = system.equations.friction_contacts, self.geometry_run
        more = 0 if geometry_run is None else int(geometry_run.table.room)
        before, slots = self._sizes() if len(self.slots) else None, self.slots
        contact_table.more_contacts = more
        contact_table.more_rows = (
            0 if geometry_run is None else more * max(c.width for c in geometry_run.contacts)
        )
        rows, unilateral = tl.row_count(contact_table), tl.lasting_contacts(contact_table) + more
        if geometry_run is not None:
            geometry_run.make_room(rows, system.nv)
        widths = [*(len(contact.row_names) for contact in contacts), *[1] * contact_table.stops]
        starts = [one.rows.start for one in contact_elements(system)][: len(widths)]
        self._counts = [
            np.array([*widths, *[0] * more], dtype=np.int64),
            np.array([*starts, *[0] * (1 + more)], dtype=np.int64),
            np.zeros(unilateral + contact_table.dry + contact_table.contacts, dtype=np.int64),
        ]
        contact_table.sizes, contact_table.first_rows, self.problem.sizes = self._counts
        self._laws = np.zeros((3, unilateral))
        for k, contact in enumerate(contacts):
            self._laws[:, k] = contact.friction_coefficient, contact.static_coefficient, contact.restitution
        self._laws[2, len(contacts) : tl.lasting_contacts(contact_table)] = joint_limits(system).restitution
        contact_table.friction, contact_table.static, contact_table.restitution = self._laws
        self.friction, self.static, self.restitution = self._laws
        self.slots = np.zeros((tl.ROOM + 1) * tl.slot_size(contact_table, system.nv))
        if before is not None:
            for old, new in zip(slots.reshape(tl.ROOM + 1, -1), self.slots.reshape(tl.ROOM + 1, -1)):
                for part, place in zip(view_fields(old, before), view_fields(new, self._sizes())):
                    place[: len(part)] = part
        self._aside = np.zeros_like(self.slots)
        contact_table.slots, contact_table.kept = self.slots, self._aside
        if geometry_run is not None:
            self.drain()
            self._log = np.empty(cl.N_LOGGED * max(_LOG, _LEAST_RECORDS * more))
            contact_table.log = self._log
        sizes = tl.contact_sizes(contact_table, system.nq, system.nv, la.input_size(system.table))
        self.room = np.zeros(sum(sizes))
        contact_table.work = self.room
        self.work = work = view_fields(self.room, sizes)
        self._own: Any = work
        if geometry_run is not None:
            self._own = view_fields(geometry_run.room, cl.geometry_sizes(geometry_run.table, rows, system.nv))
        own, problem = self._own, self.problem
        problem.numbers, problem.velocities, problem.forces = own.numbers, own.given, own.impulses
        problem.delassus, problem.turn, problem.work = work.delassus, own.turn, work.solver
        self.impact = None
        if any(contact.impact_law == "poisson" for contact in contacts):
            self.impact = StepImpactArrays(system, rows, len(self._counts[2]))
            contact_table.impact = self.impact.table
        if geometry_run is not None:
            self._parts = parts = geometry_run.parts(own, rows, system.nv)
            self._room_of_parts = np.zeros(sum(cp.parts_sizes(parts)))
            parts.work, problem.parts = self._room_of_parts, parts

    def _sizes(self) -> tl.Slot:
        return tl.slot_sizes(self.contact_table, self.system.nv)

    def _load(self, system: Workspace) -> None:
        self._motion, self._gaps = contact_motion_function(system), contact_gaps(system)
        self.contact_table.motion, self.contact_table.gaps = self._motion.address, self._gaps.address

    def refuse_depth(self, x: Array, what: str = "") -> None:
        """Raise `ArgumentError` where a contact begins deep below its plane at x = [q | v | u | t | p | τ].

        A step in time may end below a plane, by less than the way of the fastest body within the step: the next step
        lifts it. Runs in steps begin from such states, too.
        """
        deep = AT_BOUND * self.system.characteristic.length
        if self._step > 0.0:
            deep = max(deep, self._step * self._speed(x) * self.system.characteristic.length)
        if self.geometry_run is not None:
            self._refuse_overlap(x, what, deep)
        if self.contact_table.contacts == 0:
            return
        gaps = self._gaps(x)
        worst = int(np.argmin(gaps))
        if not gaps[worst] >= -deep:
            raise below_its_plane(self.system, contact_elements(self.system)[worst], gaps[worst], what, -deep)

    def attach_contact_modes(self, table: la.Table) -> None:
        """Have the kernels hold what is closed from now on, and look for where that changes."""
        require_limited_friction(self.system)
        self.settings.event_slack, self.settings.slow_speed = (
            1.0,
            SLOW_SLIP * self.system.characteristic.length,
        )
        self.contact_table.inner, self.contact_table.projection = table.acceleration, table.projection
        table.contact_table, table.n_event_functions = (
            self.contact_table,
            tl.event_function_count(self.contact_table),
        )
        table.acceleration, table.projection = mode_acceleration.address, mode_projection.address
        self._borders = border_functions(self.system)  # kept alive
        if self._borders is not None:
            held, borders, hurry = self._borders
            self.contact_table.held_gaps, self.contact_table.borders = held.address, borders.address
            self.contact_table.hurry = hurry.address

    def attach_tangent(self, table: la.Table) -> None:
        """Have implicit methods step with the linear model of smooth phases (`kernels.integrate.mode_tangent`)."""
        size = la.input_size(table)
        self.derived = np.zeros(sum(tl.tangent_sizes(self.contact_table, table, size)))
        self.contact_table.derived = self.derived
        if self.contact_table.contact_rows:
            self._tangent = row_tangent(self.system)
            self.contact_table.tangent = self._tangent.address

    def close(self, table: la.Table, x: Array) -> bool:
        """Bring to their planes and limits what is as good as closed at x = [q | v | u | t | p | τ], as a run begins.

        These are gaps up to `AT_BOUND` at rest, and what is that deep, whatever its velocity. True where q has moved.
        """
        contact_table, settings, units = self.contact_table, self.settings, self.units
        count = contact_table.contacts + contact_table.stops
        if not count:
            return False
        mode_probe(table, x, 0)
        gaps, rates = self.work.gap[:count], self.work.velocity[self.heads]
        still = still_speed(self._speed(x))
        closed, bound = (
            part / self.system.characteristic.length * units for part in (settings.closed, settings.at_bound)
        )
        begun = (
            (np.abs(gaps) > 0.1 * closed)
            & (np.abs(gaps) <= bound)
            & ((gaps < 0.0) | (np.abs(rates) <= still * units))
        )
        if not begun.any():
            return False
        v = x[self.system.parts.v].copy()
        self.modes[:count], contact_table.n_active = np.where(begun, tl.SLIDING, tl.OPEN), int(begun.sum())
        mode_projection(table, x, la.CONSTRAINTS)
        self.modes[:], contact_table.n_active, x[self.system.parts.v] = tl.OPEN, 0, v
        if self.system.nc:
            self.system.project(x)
        return True

    def is_slow(self, table: la.Table, x: Array) -> bool:
        """Tell whether something that touches, or rubs, moves at x slower than steps in time tell from rest."""
        if self.system.contact_geometries or not np.isfinite(self.static).all():
            return False
        mode_probe(table, x, 0)
        speeds, reach = np.abs(self.work.velocity), AT_BOUND * self.units
        if (self.work.gap[: len(reach)] < -reach).any():  # states have no forces below planes
            return False
        near = [*(np.abs(self.work.gap[: len(reach)]) <= reach), *([True] * self.contact_table.dry)]
        return any(
            contact_run and 0.0 < float(speeds[one.rows].max()) < EVIDENT_SPEED * one.unit
            for contact_run, one in zip(near, contact_elements(self.system))
        )

    def begin_with_forces(self, system: Workspace, x: Array, step: float) -> None:
        """Have steps in time begin with the forces of forward dynamics at x, where there are any."""
        from sarrus.dynamics.solve.accelerate import accelerate

        parts, tau = system.parts, x[system.parts.tau]
        free = forward_dynamics(system, x[parts.q], x[parts.v], x[parts.u], float(x[parts.t]), tau, False)
        found = accelerate(system, free, tau, False).contacts
        if found is not None and not found.status.ok:
            return
        self.slots[:] = 0.0
        first = view_fields(self.slots.reshape(tl.ROOM + 1, -1)[0], self._sizes())
        first.facts.time, first.facts.length = float(x[parts.t]), step
        if found is not None:
            first.forces[:], first.lasting[:], first.applied[:] = found.forces, found.forces, found.force
            first.facts.residual = found.residual

    def _speed(self, x: Array) -> float:
        """Return the largest velocity at x [characteristic lengths/s, rad/s]."""
        return float(np.abs(self.system.characteristic.columns * x[self.system.parts.v]).max(initial=0.0))

    def _refuse_overlap(self, x: Array, what: str, deep: float) -> None:
        """Raise `ArgumentError` where geometries begin farther than ``deep`` [m] in each other."""
        assert self.geometry_run is not None
        room = int(self.geometry_run.table.room)
        found = self.geometry_run.look(x, 0.0)
        if (
            int(self.geometry_run.table.room) != room
        ):  # its arrays are new: the kernels need those of a step again
            found = [seen.copy() for seen in found]
            self._make_room()
        for seen in found:
            if not seen.gap >= -deep:
                name = self.geometry_run.contacts[int(seen.pair)].name
                one = ContactElement(name, "contact", slice(0, 0), self.system.characteristic.length)
                raise below_its_plane(self.system, one, float(seen.gap), what, -deep)

    def attach(self, table: la.Table, step: float) -> None:
        """Have the kernels take steps with contacts from now on, of length ``step`` [s]."""
        self.contact_table.inner, self.contact_table.solver = table.acceleration, contact_problem.address
        self.contact_table.projection, self._step = table.projection, step
        if self.contact_table.contacts:
            self._step_gaps = step_gaps(self.system)
            self.contact_table.gaps = self._step_gaps.address
        self.local = np.zeros(sum(local_sizes(table)))
        table.local, table.contact_table = self.local, self.contact_table
        table.implicit, table.acceleration = time_step.address, contact_acceleration.address

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The numbers that describe them, by their fields of `sarrus.kernels.memory.contact_layout.ContactTable`."""
        of_model = self._of_model
        integers = dict(zip(("sizes", "first_rows"), self._counts))
        integers |= {name: of_model[name] for name in ("coordinates", "speeds", "widths")}
        floats = {"signs": self.signs, "bounds": self.bounds, "limits": self.limits}
        floats |= dict(zip(("friction", "static", "restitution"), self._laws))
        floats |= {"scales": self._scales, "lightness": self._lightness}
        bounds = joint_limits(self.system).bounds
        floats |= {"given_bounds": bounds, "ends": np.full(len(bounds), np.inf)}
        return {**integers, **floats, "settings": self.settings}

    @property
    def residual(self) -> float:
        """Largest residual of the contact problems so far."""
        sizes, slots = self._sizes(), self.slots.reshape(tl.ROOM + 1, -1)
        return max(float(view_fields(slot, sizes).facts.residual) for slot in slots)

    @property
    def problem_blocks(self) -> list[tuple[int, float]]:
        """Number of rows, and coefficient or limit [N s, N m s], of each block of the last contact problem."""
        count = int(self.problem.blocks)
        return list(zip(self._counts[2][:count].tolist(), self._own.numbers[:count].tolist()))

    def begin_anew(self, t: float, step: float, loss: float) -> None:
        """Forget the last steps [s] before t but for what contacts have taken up to then, and ``loss`` [J] besides."""
        slots, sizes = self.slots.reshape(tl.ROOM + 1, -1), self._sizes()
        known = [view_fields(slot, sizes).facts for slot in slots[: tl.ROOM]]
        before = [
            (float(f.time), float(f.loss), float(f.residual)) for f in known if f.length > 0.0 and f.time <= t
        ]
        _, spent, residual = max(before, default=(0.0, 0.0, 0.0))
        self.slots[:] = 0.0
        facts = view_fields(slots[0], sizes).facts
        facts.time, facts.length, facts.loss, facts.residual = t - step, step, spent + loss, residual

    def drain(self) -> None:
        """Take what the kernel has logged of contacts between geometries."""
        if self.contact_table.logged:
            self._logged.append(self._log[: cl.N_LOGGED * int(self.contact_table.logged)].copy())
            self.contact_table.logged = 0

    def most_records(self) -> int:
        """Return how many records the log has room for."""
        return len(self._log) // (cl.N_LOGGED * max(1, int(self.contact_table.more_contacts)))

    def contact_log(self, t: Array) -> ContactLog:
        """Return the contacts between geometries of a run with records at these times."""
        if self.geometry_run is None:
            return NONE
        self.drain()
        names = tuple(c.name for c in self.geometry_run.contacts)
        return contact_log(names, self.geometry_run.reversed_pairs, self._logged, t)

    def solve(self, t: float) -> bool:
        """Solve the contact problem of a step from t that the kernel has given up, for it to go on from.

        False where nothing failed.

        Raises `SolveError` where it has no answer.
        """
        if not self.contact_table.failed:
            return False
        if self.contact_table.failed == tl.NO_ROOM:
            assert self.geometry_run is not None
            self.geometry_run.table.room *= 2
            self._make_room()
            self.contact_table.failed = 0
            return True
        self.contact_table.failed = 0
        problem = self.problem
        self.tried = self.tried + 1 if t == self.stuck else 1
        # what the kernel refuses once more it takes next as it is, between geometries
        self.stuck, problem.lenient = t, int(self.geometry_run is not None and self.tried > 1)
        m, contacts = problem.rows, problem.contacts
        which = self._which(m)
        sizes, numbers = self._counts[2][: problem.blocks], self._own.numbers[: problem.blocks]
        operator = self._operator(m, which)
        if np.isinf(numbers).any():  # friction without a limit
            stiffest = np.diag(operator)[np.diag(operator) > 0.0].min(initial=np.inf)
            most = UNREACHED * float(np.abs(self._own.given[:m]).max()) / float(stiffest)
            numbers = np.minimum(numbers, most)
        blocks = list(zip(sizes.tolist(), numbers.tolist()))
        refused = self.tried > TRIES
        found = self.answer(
            operator,
            which,
            self._own.given[:m],
            blocks[:contacts],
            blocks[contacts:],
            refused=refused,
        )
        self.work.answer[:] = 0.0
        self.work.answer[which] = found.forces
        if self.impact is not None:
            self.work.answer[which] += self.impact.impulses[which]
        settings = self.settings
        settings.answered, settings.answered_length = settings.step_start, settings.length
        self.contact_table.given = 1
        return True

    def answer(
        self,
        delassus: Array,
        which: Sequence[int],
        given: Array,
        contacts: list[tuple[int, float]],
        dry: list[tuple[int, float]],
        *,
        refused: bool = False,
    ) -> ContactSolution:
        """Return the answer to the contact problem of these rows with W and b, see `solve_contact_problem`.

        Raises `SolveError` with the names of those that push where there is none, or it is ``refused``; one between
        geometries that is nearly there is taken.
        """
        from sarrus.dynamics.optimize.contact_problem import solve_contact_problem

        symmetric = 0.5 * (delassus + delassus.T)
        found = solve_contact_problem(None, given, contacts, dry, delassus=symmetric, throw=False)
        if found.status.ok and not refused:
            return found
        nearly = found.status is Status.NOT_CONVERGED and found.residual <= RESIDUAL_OF_MANY
        if nearly and self.geometry_run is not None and not refused:
            self.problem.lenient = 1
            return found
        raise no_answer(self.system.name, [self._name_of(int(row)) for row in which], found)

    def _operator(self, m: int, which: Any) -> Array:
        """Return W of the problem that was not solved."""
        if not self.problem.sparse:
            return self.work.delassus[: m * m].reshape(m, m)
        assert self.geometry_run is not None
        table, own = self.geometry_run.table, self._own
        rows, columns = np.zeros((2, m, table.components * table.widest))
        for i, row in enumerate(which):
            for s, c in enumerate(own.shared[2 * row : 2 * row + 2].astype(int)):
                if c >= 0:
                    place, at = slice(c * table.widest, (c + 1) * table.widest), (2 * row + s) * table.widest
                    rows[i, place] = own.parts[at : at + table.widest]
                    columns[i, place] = own.compliance_column[at : at + table.widest]
        return dense.product(rows, columns.T)

    def _which(self, m: int) -> Any:
        """Return the m rows of the problem that was not solved."""
        if self.geometry_run is None:
            return self.work.which[:m].astype(int)
        return self.work.which[self._own.chosen[:m].astype(int)].astype(int)

    def _name_of(self, row: int) -> str:
        """Return the name of the contact, stop or joint of a row."""
        if row < tl.fixed_rows(self.contact_table):
            return self.names[row].rpartition(".")[0]
        assert self.geometry_run is not None
        first = self._counts[1][tl.lasting_contacts(self.contact_table) :][: int(self.contact_table.found)]
        place = cl.N_SEEN * (np.searchsorted(first, row, side="right") - 1)
        seen = self._own.found[place:].view(cl.ContactPoint)
        return self.geometry_run.contacts[int(seen.pair)].name
