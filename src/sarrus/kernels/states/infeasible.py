"""Proof that no acceleration at a state keeps all closed contacts and stops from closing further."""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import fill
from sarrus.kernels.contact.contact_problem import power_of_two
from sarrus.kernels.contact.islands import BEGINNINGS
from sarrus.kernels.contact.tolerances import NO_ANSWER_PROVED, UNLOADED
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.state_contacts_layout import StateAnswer, StateRoom
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import internal


@internal
def closes_further(table: Table, answer: StateAnswer, room: StateRoom, work: ContactWork):
    """Tell whether forces z ≥ 0 on normal rows with W z = 0 and bᵀz < 0 exist; write them to ``answer.forces`` then.

    They are a proof (Farkas): accelerations u = W r + b ≥ 0 of these rows would give bᵀz = uᵀz ≥ 0. z minimises
    zᵀ W z + (bᵀz + 1)², which is a contact problem without friction, of W + b bᵀ and b.
    """
    contact_table, m = table.contact_table, int(answer.facts.rows)
    problem, unilateral, count, largest = contact_table.problem, tl.lasting_contacts(contact_table), 0, 0.0
    for block in range(int(answer.facts.blocks)):
        k = int(room.block_of[block])
        if k < unilateral:
            row = int(answer.start[k])
            room.unknowns[count] = row
            problem.sizes[count], work.numbers[count] = 1, 0.0
            room.vectors[count] = power_of_two(np.sqrt(max(answer.delassus[row * (m + 1)], 0.0)))
            work.given[count] = answer.given[row] / room.vectors[count]
            largest = max(largest, -work.given[count])
            count += 1
    if not largest > 0.0:
        return False
    unit = power_of_two(largest)
    for i in range(count):
        work.given[i] /= unit
    problem.rows = problem.blocks = problem.contacts = count
    for i in range(count):
        line, size = answer.delassus + int(room.unknowns[i]) * m, room.vectors[i]
        for j in range(count):
            room.square[i * count + j] = line[int(room.unknowns[j])] / (size * room.vectors[j])
            work.delassus[i * count + j] = room.square[i * count + j] + work.given[i] * work.given[j]
    fill(work.impulses, 0.0, count)
    call_kernel(contact_table.solver, problem, work.solver, BEGINNINGS)
    pushed, left = 1.0, 0.0
    for i in range(count):
        change = 0.0
        for j in range(count):
            change += room.square[i * count + j] * work.impulses[j]
        pushed += work.given[i] * work.impulses[i]
        left += change * change
    if not left + pushed * pushed <= NO_ANSWER_PROVED * NO_ANSWER_PROVED:
        return False
    fill(answer.forces, 0.0, tl.fixed_rows(contact_table))
    largest = 0.0
    for i in range(count):
        largest = max(largest, work.impulses[i])
    for i in range(count):
        if work.impulses[i] > UNLOADED * largest:
            answer.forces[int(work.which[int(room.unknowns[i])])] = work.impulses[i] / room.vectors[i]
    return True
