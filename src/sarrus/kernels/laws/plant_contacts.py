"""Control laws that know the contacts, stops and dry friction of their plant.

A closed contact of the plant exerts a force, and this force is one more unknown of the law, as those of laws with
contacts are (`sarrus.kernels.laws.hierarchy_in_cones`); rows H of what is held do not accelerate, which is a level
before all others. The modes are those that the demands ask for:

1. The law is solved with all closed contacts free to exert any force, and last levels that keep their rows at rest:
   gaps, then places on planes, then joints with dry friction. Its accelerations tell the modes: a contact opens, sticks
   or slides; a joint with dry friction slides in the direction of the demanded motion. What the demands would press
   into its stop is left out, and holds afterwards.
2. The law is solved in these modes: sticking forces within their cones or limits, normal forces of at least zero,
   friction of what slides against the slip, dry friction that slides as a known force.
3. Where the accelerations of this solution contradict the modes (an open contact closes, a slip turns), these are
   changed, and 2. follows.
4. If a demand is missed, and forces in 1. pull or are beyond their friction, these open or slide in another try. The
   better one counts.

So forces, accelerations and modes obey the laws of contact, as those of forward dynamics with these controls do.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import copy, fill
from sarrus.kernels.laws.hierarchy import prepared, remember, solve_levels
from sarrus.kernels.laws.hierarchy_in_cones import forget_programs, within_limits
from sarrus.kernels.laws.plant_equations import law_table_at, lay_equations
from sarrus.kernels.laws.plant_state import accelerate, friction_of, held_rows, law_of, sort_contacts
from sarrus.kernels.laws.tolerances import MODE_ROUNDS, SAME_DIRECTION, SAME_MISS, UNPULLED
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory import plant_contact_layout as pl
from sarrus.kernels.memory.law_layout import LawTable
from sarrus.kernels.memory.plant_contact_layout import PlantRoom
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import exists, internal


def law_on_contacts(table: LawTable, x: Floats, request: int) -> int:
    """Write the unknowns of a law at the state x to the answer of its table without contacts of the plant, ``base``.

    ``table`` has room for the forces of these contacts; the controls are in its answer, too. Return the rank of A,
    negative where there is no solution.
    """
    plant = table.contacts.plant
    base, nq, nv = law_table_at(plant.of_law), table.nq, table.nv
    room = pl.plant_room(plant, nv, table.actuators)
    copy(x, base.own, nq + nv)
    base.own[nq + nv + table.actuators] = x[nq + nv + table.actuators]
    if not sort_contacts(table, room):
        code = call_kernel(plant.plain, base, x, request)
        copy(base.answer, table.answer, base.nu)
        return code
    own = ll.law_workspace(base)
    call_native(base.native, base.own, own.mass)
    copy(own.force, room.force, nv)
    table.generic_rank, table.n_used = base.generic_rank, base.n_used + 1
    code = _ask(table, room)
    if code >= 0:
        code = _choose(table, room, request)
    if request == ll.SAMPLE and code >= 0:
        _go_on(table, base)
    _tell(table, base, code)
    return code


# --- the modes that the demands ask for -------------------------------------------------------------------------


@internal
def _ask(table: LawTable, room: PlantRoom):
    """Find the modes by the law with closed contacts that exert any force; return the rank of A, −1 on failure."""
    facts, pressed, again, code = room.facts, False, True, 0
    while again:
        again = False
        lay_equations(table, room, True)
        work = ll.law_workspace(table)
        rank, total = prepared(table, work)
        if rank < 0:
            return rank
        solve_levels(table, work, rank, total, table.n_levels)
        accelerate(table, room, rank)
        code = rank
        for b in range(int(facts.active)):
            k, at, _, _, dry, _ = law_of(table, room, b)
            if not dry and room.modes[k] == pl.UNDECIDED and room.rates[at] < -facts.zero:
                room.modes[k], room.pressed[k], again, pressed = pl.OPEN, 1.0, True, True
    push = 0.0
    for b in range(int(facts.active)):
        k, at, _, _, dry, going = law_of(table, room, b)
        if room.unknown[b] >= 0.0:
            count = 1 if going else held_rows(table, room, b)
            copy(table.answer + int(room.unknown[b]), room.forces + at, count)
            push = max(push, abs(room.forces[at]))
    for b in range(int(facts.active)):
        _decide(table, room, b, UNPULLED * push)
    _open_flanks(table, room)
    fill(room.nearest, np.nan, table.actuators)
    return _press(table, room) if pressed else code


@internal
def _open_flanks(table: LawTable, room: PlantRoom):
    """Open one of two opposite closed flanks, the one that pushes less; another try has the other one open."""
    plant = table.contacts.plant
    for b in range(int(room.facts.active)):
        k, at, n, _, _, _ = law_of(table, room, b)
        other = plant.opposite[k]
        for c in range(b if other >= 0 and room.modes[k] != pl.OPEN else 0):
            j, start, _, _, _, _ = law_of(table, room, c)
            if j != other or room.modes[j] == pl.OPEN:
                continue
            first = room.forces[at] > room.forces[start]
            stays, goes = (k, j) if first else (j, k)
            row = start if first else at
            room.beyond[stays], room.beyond[goes] = pl.OPEN, room.modes[goes]
            room.modes[goes] = pl.OPEN
            copy(room.directions + row, room.retried + row, n)


@internal
def _press(table: LawTable, room: PlantRoom):
    """Write the controls of the law without what its demands press on; return the rank of A, −1 on failure."""
    lay_equations(table, room, False)
    work = ll.law_workspace(table)
    rank, total = prepared(table, work)
    if rank < 0:
        return rank
    solve_levels(table, work, rank, total, table.n_levels)
    copy(table.answer, room.nearest, table.actuators)
    for b in range(int(room.facts.active)):
        k, _, _, _, _, going = law_of(table, room, b)
        if room.pressed[k] != 0.0:
            room.modes[k] = pl.SLIDING if going or _slips(table, room, b) else pl.HELD
    return rank


@internal
def _decide(table: LawTable, room: PlantRoom, b: int, least: float):
    """Set the mode of active block b from the accelerations of its rows; forces within ``least`` are none.

    Where the law of its force does not allow its force, ``beyond`` is the mode of another try, and ``retried`` the slip
    against it.
    """
    facts = room.facts
    k, at, _, _, dry, going = law_of(table, room, b)
    if room.pressed[k] != 0.0:
        return
    if not dry and room.rates[at] > facts.zero:
        room.modes[k] = pl.OPEN
        return
    slides = going or _slips(table, room, b)
    room.modes[k] = pl.SLIDING if slides else pl.HELD
    if not dry and room.forces[at] < -least:
        room.beyond[k] = pl.OPEN
    elif not slides:
        first, square = at if dry else at + 1, 0.0
        end = at + held_rows(table, room, b)
        for i in range(first, end):
            square += room.forces[i] ** 2
        size, most = np.sqrt(square), friction_of(table, room, b, False)
        if not dry:
            most *= max(room.forces[at], 0.0)
        if size > most + least:
            room.beyond[k] = pl.SLIDING
            for i in range(first, end):
                room.retried[i] = -room.forces[i] / size


@internal
def _slips(table: LawTable, room: PlantRoom, b: int):
    """Tell whether a block with friction begins to slide, and write its direction then."""
    facts = room.facts
    _, at, n, _, dry, _ = law_of(table, room, b)
    first, square = at if dry else at + 1, 0.0
    if not friction_of(table, room, b, False) > 0.0:
        return False
    for i in range(first, at + n):
        square += room.rates[i] ** 2
    size = np.sqrt(square)
    if not size > facts.zero:
        return False
    for i in range(first, at + n):
        room.directions[i] = room.rates[i] / size
    return True


# --- the law in these modes --------------------------------------------------------------------------------------


@internal
def _choose(table: LawTable, room: PlantRoom, request: int):
    """Solve the law with forces beyond their laws held, or else open or sliding if that misses less."""
    plant, beyond = table.contacts.plant, False
    for k in range(plant.blocks):
        beyond = beyond or room.beyond[k] != 0.0
    copy(room.modes, room.first_modes, plant.blocks)
    code = _settle(table, room, request)
    lost = _is_lost(table, code)
    if lost and not beyond:
        return _let_slip(table, room, request)
    if not beyond or (not lost and table.contacts.report[0] == cn.EXACT and room.facts.unsettled == 0.0):
        return code
    unsettled = room.facts.unsettled
    copy(table.answer + (table.nu + 1), room.misses, ll.PER_LEVEL * table.n_levels)
    copy(room.first_modes, room.modes, plant.blocks)
    for b in range(int(room.facts.active)):
        k, at, n, _, _, _ = law_of(table, room, b)
        if room.beyond[k] != 0.0:
            room.modes[k] = room.beyond[k]
        if room.beyond[k] == pl.SLIDING:
            copy(room.retried + at, room.directions + at, n)
    code = _settle(table, room, request)
    again = _is_lost(table, code)
    if lost and again:
        copy(room.first_modes, room.modes, plant.blocks)
        return _let_slip(table, room, request)
    if lost or (not again and room.facts.unsettled <= unsettled and _misses_less(table, room)):
        return code
    copy(room.first_modes, room.modes, plant.blocks)
    return _settle(table, room, request)


@internal
def _is_lost(table: LawTable, code: int):
    """Tell whether no solution within all limits was found, even if joints are damped."""
    return code < 0 or table.contacts.report[0] == cn.DAMPED


@internal
def _let_slip(table: LawTable, room: PlantRoom, request: int):
    """Solve the law where no forces within all limits hold what is at rest: it slides as it would without friction."""
    for b in range(int(room.facts.active)):
        k, at, n, _, dry, _ = law_of(table, room, b)
        room.beyond[k] = 0.0
        if room.modes[k] == pl.HELD and friction_of(table, room, b, False) > 0.0:
            room.beyond[k] = pl.SLIDING
            room.modes[k] = pl.OPEN if dry else pl.SLIDING
            fill(room.directions + at, 0.0, n)
    lay_equations(table, room, False)
    rank, total = prepared(table, ll.law_workspace(table))
    code = within_limits(table, rank, total, request)
    if _is_lost(table, code):
        return code
    accelerate(table, room, rank)
    for b in range(int(room.facts.active)):
        k, _, _, _, _, _ = law_of(table, room, b)
        if room.beyond[k] != 0.0:
            room.modes[k] = pl.SLIDING if _slips(table, room, b) else pl.HELD
    return _settle(table, room, request)


@internal
def _misses_less(table: LawTable, room: PlantRoom):
    """Tell whether the first level that differs from the solution before misses less now."""
    told = table.answer + (table.nu + 1)
    for level in range(1, table.n_used):
        at = ll.PER_LEVEL * level + 1
        if abs(told[at] - room.misses[at]) > SAME_MISS * (1.0 + told[at + 1]):
            return told[at] < room.misses[at]
    return False


@internal
def _settle(table: LawTable, room: PlantRoom, request: int):
    """Solve the law until its modes agree with its accelerations; return the rank of A, negative on failure."""
    facts, code, changed = room.facts, -1, True
    facts.rounds = 0.0
    while changed and facts.rounds < MODE_ROUNDS:
        facts.rounds += 1.0
        lay_equations(table, room, False)
        _keep_pressing(table, room)
        work = ll.law_workspace(table)
        rank, total = prepared(table, work)
        if rank < 0:
            return rank
        code = within_limits(table, rank, total, request)
        if _is_lost(table, code):
            return code
        accelerate(table, room, rank)
        changed = False
        for b in range(int(facts.active)):
            changed = _correct(table, room, b) or changed
    facts.unsettled = 1.0 if changed else 0.0
    return code


@internal
def _keep_pressing(table: LawTable, room: PlantRoom):
    """Stay near the controls of the demands where these press on something: they then do not jump at touch.

    Soft levels have their share in these controls; what is pressed on would leave them more.
    """
    if table.actuators > 0 and np.isfinite(room.nearest[0]):
        limits, plant = cn.physics_of(table), table.contacts.plant
        table.n_used = min(table.n_used, plant.hard + 1)
        for k in range(table.actuators):
            if table.roots[k] > 0.0:
                table.preferred[k] = min(max(room.nearest[k], limits.lower[k]), limits.upper[k])


@internal
def _correct(table: LawTable, room: PlantRoom, b: int):
    """Change the mode of active block b if the accelerations contradict it; tell whether it has changed."""
    facts = room.facts
    k, at, n, _, dry, going = law_of(table, room, b)
    if room.modes[k] == pl.OPEN and room.rates[at] < -facts.zero:
        room.modes[k] = pl.SLIDING if going or _slips(table, room, b) else pl.HELD
        return True
    if room.modes[k] != pl.SLIDING or going:
        return False
    first, along, square = at if dry else at + 1, 0.0, 0.0
    for i in range(first, at + n):
        along += room.directions[i] * room.rates[i]
        square += room.rates[i] ** 2
    if not (along > 0.0 and np.sqrt(square) > facts.zero):
        room.modes[k] = pl.HELD
        return True
    if square - along * along > SAME_DIRECTION * square:
        return _slips(table, room, b)
    return False


# --- the answer --------------------------------------------------------------------------------------------------


@internal
def _go_on(table: LawTable, base: LawTable):
    """Store the controls and forces, and the states of the law, for the next sample."""
    if exists(base.contacts):
        kept = cn.memory_of(base)
        kept.known[0] = 1.0
        copy(table.answer, kept.controls, base.nu)
    remember(base)


@internal
def _tell(table: LawTable, base: LawTable, code: int):
    """Write unknowns, rank, levels and outcome to the answer and the report of the law without these contacts."""
    copy(table.answer, base.answer, base.nu)
    base.answer[base.nu] = code
    first, own = table.nu + 1 + ll.PER_LEVEL, base.nu + 1
    copy(table.answer + first, base.answer + own, ll.PER_LEVEL * base.n_levels)
    if exists(base.contacts):
        base.contacts.report[0] = table.contacts.report[0]
        forget_programs(base)
