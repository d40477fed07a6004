"""`support_load`: forces of contacts, stops and dry friction that support a load, with the least controls."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.contact_state import (
    ContactRowState,
    below_its_plane,
    contact_row_state,
    it_hits,
)
from sarrus.dynamics.contacts.support_reactions import SupportReactions
from sarrus.dynamics.optimize.force_balance import BalanceTable, ForceBalance
from sarrus.dynamics.optimize.tolerances import FORCE_OF_NONE
from sarrus.dynamics.solve.state_contacts import StateContactTable, contacts_at
from sarrus.dynamics.solve.tolerances import MOST_NAMED_VELOCITIES, NAMED_VELOCITY
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory import state_support_layout as ss
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.c_function import supported_state

_STATUS = {
    ss.UNREACHABLE: Status.NOT_ACHIEVABLE,
    ss.FORBIDDEN: Status.INFEASIBLE,
    ss.ALMOST: Status.ALMOST,
    ss.SUPPORTED: Status.OK,
}
_MODES = tuple(Mode)


class ContactModes(NamedTuple):
    """The modes of the contacts, stops and dry friction of a state that follow from (q, v, a).

    Open or opening; slipping, with the friction against the slip; sticking: a force whose row has neither velocity nor
    acceleration is any force within its law. ``modes`` are those of ``state.elements``, ``ways`` (m × k) directions in
    which the forces on the rows of ``state`` may change.
    """

    state: ContactRowState
    modes: tuple[Mode, ...]
    ways: Array


def contact_modes(work: Workspace, q: Array, v: Array, a: Array, t: float = 0.0) -> ContactModes:
    """Return the modes of contacts, stops and dry friction at (q, v, t) with the acceleration a; see `support_load`."""
    state = contact_row_state(work, q, v, t)
    return _table_of(contacts_at(work, q, v, t, state)).modes(state, a)


def _table_of(contacts: StateContactTable) -> SupportTable:
    if contacts.support is None:
        contacts.support = SupportTable(contacts)
    table: SupportTable = contacts.support
    return table


def support_load(
    work: Workspace,
    state: tuple[Array, Array, Array, float],
    free: Array,
    load: Array,
    actuation: Array,
    *,
    weights: Array | None = None,
    limits: Array | None = None,
) -> tuple[Array, SupportReactions]:
    """Return u and r with free · (S u + Jᵀ r) = free · load, u minimal, then r minimal.

    Parameters
    ----------
    state : q, v, the acceleration a and t: they give the modes of the contacts.
    free : (k × nv) the motions along which forces must balance, by rows. load : (nv,). actuation : S (nv × nu).
    weights : (nu,) of the squares of u, positive. limits : (2, nu) of u, infinite without a limit.

    If several r exist, the one of least norm in characteristic units (a moment divided by the characteristic length).
    At most one of two opposite flanks pushes: for up to six pairs the choice with the least u is taken. Gaps up to
    `ContactElement.reach` are closed, of approaching contacts up to 1e-9 lengths. A joint beyond its limit is at a stop
    there, as in runs; a contact deeper below its plane is an `ArgumentError`.
    """
    q, v, a, t = state
    table = _table_of(contacts_at(work, q, v, t))
    return table.find(work.pack(q, v, None, t), a, free, load, actuation, weights, limits)


class SupportTable:
    """The table of the kernel of forces that support a load, beside a table of contacts."""

    def __init__(self, contacts: StateContactTable) -> None:
        work, self.contacts, rows = contacts.work, contacts, len(contacts.names)
        sizes = ss.support_sizes(rows, work.nv, work.nu, work.nc)
        self.balance = BalanceTable(work.nv, work.nu, rows)
        self.balance.allocate()
        self._table = given = ss.StateSupport.zeros()
        self._input = np.zeros(la.input_size(work.table) + work.nv)
        self._support, self._units = np.zeros(sum(sizes)), np.ones(work.nu)
        self._answer = np.zeros(sum(sl.answer_sizes(contacts.contact_table, rows, work.nv)))
        given.contact_table, given.answer = contacts.contact_table, self._answer
        for name in ("units", "reach", "opposites", "asked", "pairs", "firsts"):
            setattr(given, name, contacts.arrays[name])
        given.balance, given.units_of_controls = self.balance.record, self._units
        given.input, given.support = self._input, self._support
        self._room: ss.SupportRoom = view_fields(self._support, sizes)
        self._found = contacts.view(self._answer)
        self._arguments = work.table.ctypes.data, given.ctypes.data

    def _call(self, x: Array, a: Array, what: int) -> int:
        """Return how the kernel ended at x, the input of the native functions, with the acceleration a."""
        self._input[: len(x)], self._input[len(x) :] = x, a
        code = self.contacts.call(supported_state, self._arguments, what)
        if code == ss.DEEP:
            facts = self._found.facts
            one = self.contacts.elements[int(facts.at_fault)]
            raise below_its_plane(self.contacts.work, one, float(facts.gap))
        return code

    @property
    def _modes(self) -> tuple[Mode, ...]:
        """The modes of all elements after a call, as ``given_elements``."""
        modes = self._found.modes.tolist()
        return tuple(_MODES[int(modes[k])] for k in self.contacts.order)

    @property
    def _ways(self) -> Array:
        """The ways (m × k) of the forces after a call, by rows as ``names``."""
        count, rows = self.balance.record.forces, len(self.contacts.names)
        return self.contacts.sorted_by_names(self._room.ways[: count * rows].reshape(count, rows).T)

    def modes(self, state: ContactRowState, a: Array) -> ContactModes:
        """Return the answer of `contact_modes` at a state."""
        self.balance.record.controls = 0
        self._call(state.x, a, ss.MODES)
        return ContactModes(state, self._modes, self._ways)

    def find(
        self,
        x: Array,
        a: Array,
        free: Array,
        load: Array,
        actuation: Array,
        weights: Array | None,
        limits: Array | None,
    ) -> tuple[Array, SupportReactions]:
        """Return the answer of `support_load` at x, the input of the native functions."""
        contacts, record, room = self.contacts, self.balance.record, self._room
        work, nu = contacts.work, actuation.shape[1]
        room.terms[: work.nv], room.terms[work.nv : work.nv * (1 + nu)] = load, actuation.ravel()
        room.free[: free.size] = free.ravel()
        self._units[:nu] = 1.0 if weights is None else 1.0 / np.sqrt(weights)
        record.motions, record.controls = len(free), nu
        self.balance.restrict(limits)
        code = self._call(x, a, ss.FORCES)
        answer, balance, own = self._found, self.balance.copy(), self.balance.room
        forces = contacts.sorted_by_names(answer.forces)
        loose = np.abs(self._ways[:, own.unique[: record.forces] == 0.0]).max(axis=1, initial=0.0) > 0.0
        status = _STATUS[code]
        missing = own.left[: len(free)] * own.size[0]
        reason = _reason(contacts, balance, status, free.T @ missing / work.characteristic.columns)
        if answer.facts.at_fault >= 0.0:
            reason, status = _impossible(contacts, answer.facts), Status.INCONSISTENT
        supported = SupportReactions(
            names=contacts.names,
            forces=read_only(forces),
            force=read_only(answer.force.copy()),
            determined=read_only(~loose),
            modes={one.name: mode for one, mode in zip(contacts.given_elements, self._modes)},
            carrying=_carrying(contacts, forces),
            reason=reason,
            status=status,
            _friction=partial(balance.friction, code in (ss.SUPPORTED, ss.ALMOST)),
            _balances=balance.balances,
        )
        return room.best[:nu].copy(), supported


def _carrying(contacts: StateContactTable, forces: Array) -> tuple[str, ...]:
    """Return the names of the contacts with a nonzero force."""
    least = FORCE_OF_NONE * float(np.abs(forces).max(initial=0.0))
    return tuple(one.name for one in contacts.given_elements if np.abs(forces[one.rows.start]) > least)


def _impossible(contacts: StateContactTable, facts: sl.StateFacts) -> str:
    """Return why no finite forces give a motion that penetrates a closed contact."""
    one = contacts.elements[int(facts.at_fault)]
    if facts.speed > 0.0:
        return it_hits(one, float(facts.speed))
    return f"{one.what} {one.name!r} is closed, and this acceleration penetrates it by {float(facts.gap):.3g}"


def _reason(contacts: StateContactTable, balance: ForceBalance, status: Status, missing: Array) -> str:
    """Return the reason why there is no balance; ``missing`` (nv,) is the load that is left, in units."""
    if status is Status.OK:
        return ""
    if status is Status.ALMOST:
        return status.diagnosis
    if status is Status.NOT_ACHIEVABLE:
        along = np.abs(missing)
        largest = np.argsort(-along, kind="stable")[:MOST_NAMED_VELOCITIES]
        known = contacts.work.velocity_names
        names = [known[i] for i in sorted(largest) if along[i] >= NAMED_VELOCITY * along.max()]
        return f"no actuator, loop or closed contact acts along {listed(names)}"
    if pulling := balance.pulling():
        names = list(dict.fromkeys(contacts.elements[k].name for k in pulling))
        return f"{listed(names)} would have to pull"
    factor = balance.friction(False)
    if np.isfinite(factor):
        rough = dict.fromkeys(balance.block[~balance.dry & (balance.law > 0.0)].tolist())
        sticking = [contacts.elements[k] for k in rough]
        needed = {one.static * factor for one in sticking}
        text = f"all friction coefficients {factor:.6g} times as large are needed"
        if max(needed) - min(needed) < FORCE_OF_NONE * max(needed):
            text = f"friction coefficients of {max(needed):.6g} are needed"
        return f"{listed([one.name for one in sticking])} would slide: {text}"
    return "dry friction and the limits of the actuators leave too little"


def listed(names: Sequence[str]) -> str:
    """Return names for a message."""
    return ", ".join(map(repr, names))
