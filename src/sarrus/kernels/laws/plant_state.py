"""Contacts, stops and dry friction of the plant of a law at a state, for `sarrus.kernels.laws.plant_contacts`."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.retraction import longest_entry
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.contact.rows import add_row, still_speed
from sarrus.kernels.contact.state_problem import first_row, size_of, sort_blocks
from sarrus.kernels.contact.tolerances import STILL
from sarrus.kernels.laws.tolerances import UNMOVED
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory import plant_contact_layout as pl
from sarrus.kernels.memory import state_contacts_layout as sl
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.law_layout import LawTable
from sarrus.kernels.memory.plant_contact_layout import PlantRoom
from sarrus.kernels.memory.state_contacts_layout import StateAnswer, StateRoom
from sarrus.kernels.platform.native_call import call_native
from sarrus.kernels.platform.pointers import exists, internal, table_at


@internal
def sort_contacts(table: LawTable, room: PlantRoom):
    """Sort all blocks at the state in the input of the law; return False if none of them takes part."""
    plant, facts = table.contacts.plant, room.facts
    facts.acts = facts.code = 0.0
    if plant.off == 1:
        return False
    model = table_at(plant.model)
    contacts, nq, nv = model.contact_table, table.nq, table.nv
    size = la.input_size(model)
    work = tl.contact_work(contacts, nq, nv, size)
    answer = sl.answer_of(plant.state, contacts, plant.rows, nv)
    sorting = sl.room_of(plant.state, plant.rows, nv)
    fill(answer.facts, 0.0, sl.N_FACTS)
    fill(answer.forces, 0.0, plant.rows)
    copy(table.own, work.middle, size)
    if exists(plant.run):
        code, _ = _sort_by_phase(table, answer, sorting, work)
    else:
        code, _ = sort_blocks(model, plant.state, answer, sorting, work)
    facts.code, facts.at_fault, facts.speed = code, answer.facts.at_fault, answer.facts.speed
    facts.active = facts.unsettled = facts.rounds = 0.0
    for k in range(plant.blocks):
        room.pressed[k] = room.beyond[k] = 0.0
        room.modes[k] = pl.SLIDING if answer.going[k] == 2.0 else pl.OPEN
    if code == sl.DEEP or code == sl.IDLE:
        return False
    blocks = int(answer.facts.blocks)
    copy(work.middle + (size - nv), room.slid, nv)
    rubs = 0.0
    for c in range(nv):
        rubs = max(rubs, abs(room.slid[c]))
    if blocks == 0 and rubs == 0.0:
        return False
    facts.acts, facts.active = 1.0, blocks
    for b in range(blocks):
        k = int(sorting.block_of[b])
        room.block_of[b] = k
        room.modes[k] = pl.UNDECIDED
        at, row = int(answer.start[k]), first_row(model, k)
        for i in range(size_of(model, k)):
            fill(room.rows + (at + i) * nv, 0.0, nv)
            add_row(model, work, row + i, 1.0, room.rows + (at + i) * nv)
            room.directions[at + i] = answer.directions[row + i]
            drifts = row + i < contacts.contact_rows
            room.bias[at + i] = work.native[contacts.contact_rows + row + i] if drifts else 0.0
    return True


@internal
def _sort_by_phase(table: LawTable, answer: StateAnswer, sorting: StateRoom, work: ContactWork):
    """Sort all blocks by the modes of the smooth phase of a run, as `sort_blocks` does by the state.

    Within steps, states are off the constraints of the phase, and slips are too small to tell their direction.
    """
    plant, nq, nv = table.contacts.plant, table.nq, table.nv
    model, run = table_at(plant.model), table_at(plant.run)
    contacts, phase, tau = model.contact_table, run.contact_table, work.middle + (la.input_size(model) - nv)
    unilateral, m, blocks, code = tl.lasting_contacts(contacts), 0, 0, sl.IDLE
    if contacts.motion != 0:
        call_native(contacts.motion, work.middle, work.native)
    still = still_speed(model, work.middle + nq) * STILL / contacts.settings.stick_speed
    for k in range(unilateral + contacts.dry):
        mode, row, n, dry = phase.modes[k], first_row(model, k), size_of(model, k), k >= unilateral
        answer.going[k], answer.start[k] = 0.0, -1.0
        if mode == tl.OPEN and not dry:
            continue
        code, square = sl.FOUND, 0.0
        for j in range(0 if dry else 1, n):
            answer.directions[row + j] = phase.directions[row + j]
            if not dry:
                square += work.native[row + j] ** 2
        speed = np.sqrt(square)
        if speed > still * plant.state.units[k]:
            for j in range(1, n):
                answer.directions[row + j] = work.native[row + j] / speed
        if dry and mode == tl.SLIDING:
            answer.going[k] = 2.0
            add_row(model, work, row, -contacts.limits[k - unilateral] * answer.directions[row], tau)
            continue
        answer.going[k], answer.start[k] = 1.0 if mode == tl.SLIDING and n > 1 else 0.0, m
        sorting.block_of[blocks] = k
        blocks += 1
        for j in range(n):
            work.which[m] = row + j
            m += 1
    answer.facts.blocks = blocks
    return code, m


@internal
def law_of(table: LawTable, room: PlantRoom, b: int):
    """Return of active block b its number, first row, number of rows, unit, whether it is dry, and slides now."""
    plant = table.contacts.plant
    model, k = table_at(plant.model), int(room.block_of[b])
    answer = sl.answer_of(plant.state, model.contact_table, plant.rows, table.nv)
    dry = k >= tl.lasting_contacts(model.contact_table)
    return k, int(answer.start[k]), size_of(model, k), plant.state.units[k], dry, answer.going[k] == 1.0


@internal
def friction_of(table: LawTable, room: PlantRoom, b: int, slides: bool):
    """Return the coefficient of active block b, or its largest dry friction [N, N m]."""
    plant = table.contacts.plant
    model, k = table_at(plant.model), int(room.block_of[b])
    contacts = model.contact_table
    if k >= tl.lasting_contacts(contacts):
        return contacts.limits[k - tl.lasting_contacts(contacts)]
    return contacts.friction[k] if slides else contacts.static[k]


@internal
def held_rows(table: LawTable, room: PlantRoom, b: int):
    """Return the number of rows of active block b that it holds where it does not slide: one without friction."""
    _, _, n, _, dry, _ = law_of(table, room, b)
    return n if dry or friction_of(table, room, b, False) > 0.0 else 1


@internal
def accelerate(table: LawTable, room: PlantRoom, rank: int):
    """Write the acceleration by the unknowns in the answer, and the accelerations of all rows."""
    nv, nu, work, facts = table.nv, table.nu, ll.law_workspace(table), room.facts
    plant = table.contacts.plant
    model = table_at(plant.model)
    copy(work.motion, room.acceleration, nv)
    for i in range(nv - rank):
        axpy(dot(work.gains + i * nu, table.answer, nu), work.basis + i * nv, room.acceleration, nv)
    for b in range(int(facts.active)):
        _, at, n, unit, _, _ = law_of(table, room, b)
        for i in range(at, at + n):
            room.rates[i] = (dot(room.rows + i * nv, room.acceleration, nv) + room.bias[i]) / unit
    speed, push = longest_entry(model, table.own + table.nq), longest_entry(model, room.acceleration)
    facts.zero = UNMOVED * (1.0 + speed * speed + push)
