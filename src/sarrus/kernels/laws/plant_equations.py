"""Unknowns, rows and limits of a control law in given modes of its plant; see `sarrus.kernels.laws.plant_contacts`."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, fill
from sarrus.kernels.laws.hierarchy_in_cones import forget_programs
from sarrus.kernels.laws.plant_state import friction_of, held_rows, law_of
from sarrus.kernels.laws.tolerances import INSIDE_CONE, PLANT_FORCE_WEIGHT
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import plant_contact_layout as pl
from sarrus.kernels.memory.law_layout import LawTable
from sarrus.kernels.memory.plant_contact_layout import PlantRoom
from sarrus.kernels.memory.record import view_fields
from sarrus.kernels.platform.pointers import exists, internal, record_pointer

law_table_at = record_pointer(LawTable)


@internal
def lay_equations(table: LawTable, room: PlantRoom, asks: bool):
    """Write unknowns, rows and limits of the blocks in their modes; ``asks``: undecided ones exert any force.

    Undecided blocks have no rows that hold, but rows of the last levels.
    """
    plant, nv, facts = table.contacts.plant, table.nv, room.facts
    base = law_table_at(plant.of_law)
    unknowns = holds = 0
    contacts = base.n_contacts
    fill(room.rests, 0.0, pl.RESTS)
    for b in range(int(facts.active)):
        k, _, n, _, dry, going = law_of(table, room, b)
        mode, heads = int(room.modes[k]), held_rows(table, room, b)
        room.unknown[b] = -1.0
        if mode == pl.UNDECIDED or mode == pl.HELD or (mode == pl.SLIDING and not dry):
            room.unknown[b] = base.nu + unknowns
            unknowns += heads if mode == pl.HELD or (mode == pl.UNDECIDED and not going) else 1
        if mode == pl.HELD or (mode == pl.SLIDING and not dry):
            holds += heads if mode == pl.HELD else 1
            contacts += 1
        if asks and mode == pl.UNDECIDED:
            room.rests[2 if dry else 0] += 1.0
            room.rests[1] += 0.0 if going or dry else heads - 1.0
    end = _order(table, room, holds, asks)
    table.nu, table.n_contacts, table.phase_rows = base.nu + unknowns, contacts, end
    work, own = ll.law_workspace(table), ll.law_workspace(base)
    copy(own.mass, work.mass, plant.n_out)  # the last solution has factored A in place
    _write_limits(table, room)
    pushes = ll.pushes_of(table, work)
    if table.nu > table.own_unknowns:
        copy(work.actuation, pushes, table.own_unknowns * nv)
    copy(base.roots, table.roots, base.nu)
    copy(base.preferred, table.preferred, base.nu)
    fill(table.roots + base.nu, facts.force_root, unknowns)
    fill(table.preferred + base.nu, 0.0, unknowns)
    copy(room.slid, table.phase, nv)
    hold, contact = 0, base.n_contacts
    for b in range(int(facts.active)):
        k, at, n, unit, dry, going = law_of(table, room, b)
        mode, heads, first = int(room.modes[k]), held_rows(table, room, b), int(room.unknown[b])
        if mode == pl.HELD or (mode == pl.UNDECIDED and not going):
            for i in range(heads):
                copy(room.rows + (at + i) * nv, pushes + (first + i) * nv, nv)
        elif mode == pl.SLIDING and dry:
            force = -friction_of(table, room, b, True) * room.directions[at]
            axpy(force, room.rows + at * nv, table.phase, nv)
        elif mode == pl.SLIDING or mode == pl.UNDECIDED:
            copy(room.rows + at * nv, pushes + first * nv, nv)
            for i in range(1, n):
                share = -friction_of(table, room, b, True) * room.directions[at + i]
                axpy(share, room.rows + (at + i) * nv, pushes + first * nv, nv)
        if mode == pl.HELD or (mode == pl.SLIDING and not dry):
            count = heads if mode == pl.HELD else 1
            for i in range(count):
                _hold(table, room, at + i, unit, hold)
                hold += 1
            _limit(table, room, b, contact, first, count)
            contact += 1
        if asks and mode == pl.UNDECIDED:
            for i in range(1 if going else heads):
                kind = 2 if dry else (0 if i == 0 else 1)
                _hold(table, room, at + i, unit, int(room.rests[kind]))
                room.rests[kind] += 1.0
    copy(room.force, work.force, nv)
    axpy(1.0, table.phase, work.force, nv)


@internal
def _order(table: LawTable, room: PlantRoom, holds: int, asks: bool):
    """Write the list of levels: ``holds`` rows that hold, those of the law, and those that keep rows at rest.

    Where the law ``asks`` for modes, gaps and places on planes come before its soft levels. Return the number of rows
    of all but the levels of the law.
    """
    plant = table.contacts.plant
    base, end = law_table_at(plant.of_law), holds
    own = base.n_levels
    level = _put(table, 0, ll.PHASE, 0, holds)
    for k in range(plant.hard):
        level = _put_own(table, base, level, k)
    for kind in range(2 if asks else 0):
        level = _put(table, level, ll.PHASE, end, int(room.rests[kind]))
        end += int(room.rests[kind])
    for k in range(plant.hard, own):
        level = _put_own(table, base, level, k)
    for kind in range(2 if asks else 0, pl.RESTS):
        level = _put(table, level, ll.PHASE, end, int(room.rests[kind]))
        end += int(room.rests[kind])
    end = holds
    for kind in range(pl.RESTS):
        count = room.rests[kind]
        room.rests[kind] = end
        end += int(count)
    return end


@internal
def _put(table: LawTable, level: int, kind: int, first: int, count: int):
    """Write an entry of the list of levels; return the number of the next one."""
    at = ll.LEVELS + 3 * level
    table[at], table[at + 1], table[at + 2] = kind, first, count
    return level + 1


@internal
def _put_own(table: LawTable, base: LawTable, level: int, k: int):
    """Write level k of the law to the list of levels; return the number of the next one."""
    at = ll.LEVELS + 3 * k
    return _put(table, level, base[at], base[at + 1], base[at + 2])


@internal
def _hold(table: LawTable, room: PlantRoom, row: int, unit: float, number: int):
    """Write the row J a = −bias of a row that is not to accelerate, in units."""
    nv = table.nv
    out = table.phase + (nv + number * (nv + 1))
    fill(out, 0.0, nv)
    axpy(1.0 / unit, room.rows + row * nv, out, nv)
    out[nv] = -room.bias[row] / unit


@internal
def _write_limits(table: LawTable, room: PlantRoom):
    """Write limits, weights and memory of the law for its present numbers of unknowns and contacts."""
    plant, contacts = table.contacts.plant, table.contacts
    base = law_table_at(plant.of_law)
    given = view_fields(plant.given, cn.physics(base.actuators, base.n_contacts, base.nu, base.n_levels))
    limits, count = cn.physics_of(table), base.n_contacts
    copy(given.lower, limits.lower, base.actuators)
    copy(given.upper, limits.upper, base.actuators)
    copy(given.weights, limits.weights, base.nu)
    fill(limits.weights + base.nu, PLANT_FORCE_WEIGHT, table.nu - base.nu)
    fill(limits.relaxation, 0.0, table.n_levels)
    copy(given.relaxation, limits.relaxation + 1, base.n_levels)
    copy(given.friction, limits.friction, count)
    copy(given.largest, limits.largest, count)
    limits.rate[0], limits.soft_share[0] = given.rate[0], given.soft_share[0]
    copy(given.solver, limits.solver, 4)
    work, own = ll.law_workspace(table), ll.law_workspace(base)
    for k in range(table.n_contacts):
        work.contacts[k] = own.contacts[k] if k < count else 1.0
        work.contacts[table.n_contacts + k] = own.contacts[count + k] if k < count else 1.0
    kept = cn.memory_of(table)
    kept.known[0] = 0.0
    if exists(base.contacts):
        before = cn.memory_of(base)
        kept.known[0] = before.known[0]
        copy(before.controls, kept.controls, base.nu)
        more = contacts.extra_rows
        for i in range(more):
            copy(base.contacts.extra + i * base.nu, contacts.extra + i * table.nu, base.nu)
            fill(contacts.extra + (i * table.nu + base.nu), 0.0, table.nu - base.nu)
        copy(base.contacts.extra + more * base.nu, contacts.extra + more * table.nu, more)
        for c in range(contacts.extra_cones):
            contacts[cn.PLACES + 2 * table.n_contacts + c] = base.contacts[cn.PLACES + 2 * count + c]
    forget_programs(table)


@internal
def _limit(table: LawTable, room: PlantRoom, b: int, contact: int, first: int, count: int):
    """Write place and limits of the forces of active block b."""
    limits, contacts = cn.physics_of(table), table.contacts
    _, _, _, _, dry, _ = law_of(table, room, b)
    contacts[cn.PLACES + 2 * contact], contacts[cn.PLACES + 2 * contact + 1] = first, count
    limits.friction[contact] = INSIDE_CONE * friction_of(table, room, b, False) if count > 1 else 0.0
    limits.largest[contact] = np.inf
    if dry:
        limits.friction[contact] = cn.BOTH_WAYS
        limits.largest[contact] = INSIDE_CONE * friction_of(table, room, b, False)
