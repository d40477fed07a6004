"""`PlantContacts`: contacts, stops and dry friction of the plant of a law, for the kernel, and what was found."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.control.laws.demands import Demand
from sarrus.control.laws.explanation import LimitUse
from sarrus.control.laws.law_arrays import LawArrays
from sarrus.control.laws.law_limits import LawLimits
from sarrus.control.laws.law_options import LawOptions, hard_levels
from sarrus.control.laws.tolerances import SAME_ACCELERATION
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode, contact_elements, contact_names
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.model.control_metric import force_weight
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.optimize.cone_rows import ConeRows
from sarrus.dynamics.solve.state_contacts import StateContactTable
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import plant_contact_layout as pl
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import PROTOTYPE, law_on_contacts

if TYPE_CHECKING:
    from sarrus.dynamics.system import System

_MODES = {pl.OPEN: Mode.OPEN, pl.UNDECIDED: Mode.OPEN, pl.HELD: Mode.STICKING, pl.SLIDING: Mode.SLIDING}


def contacts_of_plant(law: Any, options: LawOptions) -> PlantContacts | None:
    """Return what a law knows of contacts, stops and dry friction of its model; None if there are none to know."""
    system, limits, own = law.system, law.limits, law.own_contacts
    known = contact_elements(system)
    if not (options.contacts and (known or system.contact_geometries)):
        return None
    if any(one.static == np.inf for one in known):  # in steps in time only
        return None
    soft = options.first_soft(law.name, law.levels) if limits is None else int(limits.table.first_soft)
    more = Known(
        constraints=options.constraints or ConeRows(np.zeros((0, law.unknowns)), np.zeros(0), 0),
        hold=options.hold,
        first_soft=soft,
        hard=hard_levels(law.levels),
        friction=cn.CONE if limits is None or own is None else int(limits.table.friction),
        contacts=() if own is None else tuple(f"contact {name!r}" for name in own.names),
        places=() if own is None else tuple((system.nu + p.start, p.stop - p.start) for p in own.places),
    )
    if limits is not None:
        return PlantContacts(law, limits.arrays["physics"], more)
    given = options.physics(law.name, system, law.unknowns, len(law.levels), unit=law.unit)
    return PlantContacts(law, given, more)


class Known(NamedTuple):
    """What a law has beside the contacts of its plant: options, and contacts whose forces are its unknowns.

    ``first_soft`` and ``hard``: number of the first level that comes close only, and of levels before the soft ones.
    ``contacts`` and ``places``: names of the contacts, first unknown and number of rows of each.
    """

    constraints: ConeRows
    hold: bool
    first_soft: int
    hard: int
    friction: int
    contacts: tuple[str, ...]
    places: tuple[tuple[int, int], ...]


class PlantContacts:
    """The tables of `sarrus.kernels.laws.plant_contacts` for one `Law`; each copy of the law has its own.

    Contacts between geometries without a gap in closed form are found by a narrow phase before each call of the kernel
    (`look`); runs then call a function of Python in place of the kernel (`_in_runs`).

    Attributes
    ----------
    system : with the contacts: that of the law, or of a run with closed forms of the same contacts.
    table : of the kernel, in place of that of the law.
    loop : addresses of the table and of the kernel for the loop of a run.
    arrays : of this table. limits : of the controls, and of the forces of contacts.
    elements : the contacts, stops and dry frictions, in the order of the kernel.
    """

    def __init__(self, law: Any, given: Array, known: Known, system: System | None = None) -> None:
        self.law, self._given, self._known = law, given, known
        self.system = law.system if system is None else system
        self._model_names = [one.name for one in contact_elements(self.system)]
        self._off = 0
        self._error: BaseException | None = None
        self._build(contact_elements(self.system), contact_names(self.system))

    def copy(self, law: Any, system: System | None = None) -> PlantContacts:
        """Return the same for a copy of the law; ``system``: a system with the same contacts in closed form."""
        given = self._given.copy() if law.limits is None else law.limits.arrays["physics"]
        return PlantContacts(law, given, self._known, system or self.system)

    def _build(self, elements: tuple[ContactElement, ...], names: tuple[str, ...]) -> None:
        self._work: Workspace = self.system.workspace().copy()
        self._at_state = StateContactTable(self._work, elements, names)
        known = self._at_state.contact_table  # the same table in another kernel
        self._work.table[la.Table.places["contact_table"]] = known.ctypes.data
        if known.contact_rows and not known.motion and elements == contact_elements(self.system):
            self._natives = contact_gaps(self._work), contact_motion_function(self._work)
            known.gaps, known.motion = (native.address for native in self._natives)
        self.elements, self.names = self._at_state.elements, names
        rows = tl.fixed_rows(known)
        self._load(known, rows, len(self.elements))

    def _load(self, known: tl.ContactTable, rows: int, blocks: int) -> None:
        law, options = self.law, self._known
        base, nv, nu = law.table, law.system.nv, law.system.nu
        own = base[ll.LEVELS :].tolist()
        levels, tail = own[: 3 * base.n_levels], own[3 * base.n_levels :][: base.n_measured + base.n_states]
        phase = [ll.PHASE, 0, 0]
        entries = [*phase, *levels, *phase * pl.RESTS, *tail]
        room = law.system.nc + nv + law.unknowns + base.n_demands + 3 * rows + 1
        table = ll.LawTable.zeros(len(entries) + room)
        for name in ll.LawTable.fields:
            setattr(table, name, getattr(base, name))
        table[ll.LEVELS : ll.LEVELS + len(entries)] = entries
        table.n_levels, table.nu, table.phase_rows = (
            base.n_levels + 1 + pl.RESTS,
            law.unknowns + rows,
            2 * rows,
        )
        table.n_contacts = law.contact_count + blocks
        self.table, self._phase = table, np.zeros(nv + 2 * rows * (nv + 1))
        table.phase = self._phase
        unknowns, count = int(table.nu), int(table.n_contacts)
        self.arrays = LawArrays(
            table=table, input=law.arrays.input, tolerances=law.arrays.tolerances, roots=np.zeros(unknowns),
            preferred=np.zeros(unknowns), state=law.arrays.state,
            answer=np.zeros(unknowns + 1 + ll.PER_LEVEL * (len(law.levels) + 1 + pl.RESTS)),
            work=np.zeros(sum(ll.law_sizes(table))),
        )  # fmt: skip
        extra = options.constraints
        wide = ConeRows(
            np.hstack([extra.G, np.zeros((len(extra.h), rows))]), extra.h, extra.linear, extra.cones
        )
        held = [Demand("contacts of the plant", ("",) * rows, ca.SX(), ca.SX())]
        nothing = Demand("", (), ca.SX(), ca.SX())
        last, places = law.unknowns - 1, options.places
        self.limits = LawLimits(
            law.name, table, [*held, *law.levels, *held, *[nothing] * (pl.RESTS - 1)],
            np.zeros(sum(cn.physics(nu, count, unknowns, len(law.levels) + 1 + pl.RESTS))),
            actuators=law.system.actuator_names, contacts=("",) * count,
            places=[*places, *[(last, 1)] * (count - len(places))], friction=options.friction,
            constraints=wide, hold=options.hold,
            first_soft=options.first_soft + 1 + (pl.RESTS if options.first_soft == len(law.levels) else 0),
        )  # fmt: skip
        self.plant = plant = pl.PlantTable.zeros()
        plant.of_law, plant.plain, plant.model = base, law.plain_kernel.address, self._work.table
        plant.state, plant.n_out = self._at_state._given, law.native.n_out  # noqa: SLF001
        plant.blocks, plant.rows, plant.given = blocks, rows, self._given
        self._opposite = np.array([one.opposite_flank for one in self.elements], dtype=np.int64)
        plant.opposite, plant.hard = self._opposite, options.hard
        plant.told, plant.off = ll.PER_LEVEL * int(table.n_levels), self._off
        sizes = pl.plant_sizes(plant, nv, nu)
        self._room = np.zeros(sum(sizes))
        plant.work = self._room
        self.room: pl.PlantRoom = view_fields(self._room, sizes)
        self.room.facts.force_root = law.unit / np.sqrt(force_weight(law.system, law.norm.weights))
        self.limits.table.plant = plant

    def leave_out(self, leaves: bool) -> None:
        """Let contacts take no part in the law, as in a run without them."""
        self._off = self.plant.off = int(leaves)

    def follow(self, run: la.Table | None, system: Evaluations) -> None:
        """Take the modes of a run of ``system`` by events from its table, or with None again those of the state.

        Only where the run has the same contacts, stops and dry frictions.
        """
        same = run is not None and [one.name for one in contact_elements(system)] == self._model_names
        self.plant.run = run if same else 0

    # --- what was found ------------------------------------------------------------------------------------------

    def look(self, q: ArrayLike, v: ArrayLike, t: float) -> None:
        """Find the contacts between geometries without a gap in closed form, which the next call knows."""
        if not self.system.contact_geometries or self._off:
            return
        work = self.law.workspace()
        x = work.pack(q, v, None, t)
        found = contact_row_state(work, x[work.parts.q], x[work.parts.v], float(x[work.parts.t]))
        if found.names != self.names:
            self._build(found.elements, found.names)
        if not self._at_state.contact_table.motion:
            self._at_state.load(found)

    @property
    def loop(self) -> tuple[int, int]:
        """Addresses of the table and of the kernel for the loop of a run."""
        if not self.system.contact_geometries:
            return self.table.ctypes.data, law_on_contacts.address
        return self.law.table.ctypes.data, ctypes.cast(self._kernel_of_runs, ctypes.c_void_p).value or 0

    @cached_property
    def _kernel_of_runs(self) -> Any:
        return PROTOTYPE(self._in_runs)

    def _in_runs(self, _: int, at: int, request: int) -> int:
        """Find the contacts at the x at an address, and call the kernel; its table may change with the contacts."""
        parts = self.law.system.parts
        x = np.ctypeslib.as_array((ctypes.c_double * parts.tau.stop).from_address(at))
        if not np.isfinite(x).all():
            return -1
        try:
            self.look(x[parts.q], x[parts.v], float(x[parts.t]))
            return int(law_on_contacts.entry(self.table.ctypes.data, at, request))
        except BaseException as error:  # C has no exceptions: it is raised behind the kernel of the run
            self._error = error
            return -1

    def raise_error(self) -> None:
        """Raise the exception of the last search for contacts in a run, if there was one."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    @property
    def acts(self) -> bool:
        """Whether any contact, stop or dry friction took part at the last call."""
        return bool(self.room.facts.acts)

    @property
    def modes(self) -> dict[str, Mode]:
        """Mode of each contact, stop and joint with dry friction at the last call, by name."""
        return {one.name: _MODES[int(mode)] for one, mode in zip(self.elements, self.room.modes)}

    @property
    def pressed(self) -> tuple[str, ...]:
        """What keeps the demands from being met because it is closed: they press on it."""
        named = zip(self.elements, self.room.pressed)
        return tuple(self._named(one) for one, pressed in named if pressed)

    @property
    def outcome(self) -> str:
        """Outcome of the last call, see `sarrus.control.Command`."""
        return self.limits.outcome

    def conflict(self) -> tuple[str, ...]:
        """Return the names of the owners of limits in conflict at the last call, contacts of the plant among them."""
        levels = self._levels()
        found = self.limits.conflict(self.arrays, levels, int(self.law.arrays.answer[self.law.unknowns]))
        return (*dict.fromkeys((*self.pressed, *found)),)

    def uses(self, wanted: Array) -> tuple[LimitUse, ...]:
        """Return all limits with their values at the last call, see `LawLimits.uses`."""
        levels, rank = self._levels(), int(self.law.arrays.answer[self.law.unknowns])
        return self.limits.uses(self.arrays, levels, rank, np.pad(wanted, (len(levels[0].rows), 0)))

    def _levels(self) -> list[Any]:
        """Return the levels of the last call, and name the contacts that had limits in it."""
        room, table = self.room, self.table
        active = (int(k) for k in room.block_of[: int(room.facts.active)])
        named = [self._named(self.elements[k]) for k in active if self._has_limit(k)]
        self.limits.name_contacts([*self._known.contacts, *named])
        held = Demand("", ("",) * int(table[ll.LEVELS + 2]), ca.SX(), ca.SX())
        return [held, *self.law.levels, *[Demand("", (), ca.SX(), ca.SX())] * pl.RESTS]

    def _has_limit(self, k: int) -> bool:
        mode, dry = int(self.room.modes[k]), self.elements[k].kind == "friction"
        return mode == pl.HELD or (mode == pl.SLIDING and not dry)

    @staticmethod
    def _named(one: ContactElement) -> str:
        return f"{one.what} {one.name!r}"

    def differs(self, q: ArrayLike, v: ArrayLike, u: Array, t: float) -> str:
        """Return why forward dynamics with u does not give the acceleration of the law; "" if it does.

        Forward dynamics is no judge where it has no contacts, as at rigid configurations, nor of laws that say
        themselves which contacts are closed.
        """
        system, facts = self.law.system, self.room.facts
        if facts.unsettled:
            return "no modes of the contacts were found with which the law and the laws of contact agree"
        acts = self.acts and self.law.own_contacts is None
        if not (acts or facts.code in (sl.CLOSING, sl.DEEP)):
            return ""
        try:
            found = system.forward_dynamics(q, v, u, t, throw=False)
        except ArgumentError as error:  # a contact is deep below its plane
            return str(error)
        own, size = self.room.acceleration, system.characteristic.columns
        if found.contacts is not None and not found.contacts.status.ok:
            return f"the plant has no acceleration with these controls: {found.contacts.message}"
        if found.contacts is None and not found.status.ok:
            return ""
        away, most = (float(np.abs(size * x).max(initial=0.0)) for x in (np.array(found.a) - own, own))
        if not acts or away <= SAME_ACCELERATION * (1.0 + most):
            return ""
        modes = {} if found.contacts is None else found.contacts.modes
        other = [name for name, mode in self.modes.items() if modes.get(name, mode) is not mode]
        named = ", ".join(f"{name!r} is {modes[name].name.lower()}" for name in other)
        return f"with these controls the plant moves otherwise: {named or 'its forces are others'}"
