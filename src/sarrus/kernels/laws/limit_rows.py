"""All limits of a control law as rows over its unknowns, which of them a program has, and who is in conflict.

Half-lines come first: limits of the controls, of the normal forces, of the user, inequalities among the levels; then
the cones. Most half-lines are far away: a program has those that took part in the last one, and those that its solution
would break, which is then found again.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.laws.faces import FREE, IDLE, LATER, RAY, SLACK
from sarrus.kernels.laws.soft_levels import cut_off, spared, wider
from sarrus.kernels.laws.tolerances import CANCELLED_GAIN, FREE_ROW, HALF_LINE_ROUNDING, LIMITS_MISSED
from sarrus.kernels.memory import law_contact_layout as cn
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.cone_layout import ConeWorkspace
from sarrus.kernels.memory.law_contact_layout import DistributionWorkspace
from sarrus.kernels.memory.law_layout import LawTable, LawWorkspace
from sarrus.kernels.memory.record import Floats, Integers
from sarrus.kernels.platform.pointers import internal

# What rows of no level belong to; levels whose rows may be missed: all of them, none.
NO_LEVEL, ALL_LEVELS, NONE = -1, -2, -3


@internal
def sizes_of(table: LawTable):
    """Return where the sizes of the cones of a program are."""
    contacts = table.contacts
    return contacts + (cn.PLACES + 2 * table.n_contacts + contacts.extra_cones)


@internal
def whole_sizes(table: LawTable):
    """Return where they are of all cones, whatever is left of them in a program."""
    return sizes_of(table) + (table.n_contacts + table.contacts.extra_cones)


@internal
def order_of(table: LawTable):
    """Return the room for a permutation."""
    return sizes_of(table) + 2 * (table.n_contacts + table.contacts.extra_cones)


@internal
def bounds_of(table: LawTable, k: int, near: bool):
    """Return the least and the largest value of a control, from the one before it where that limits its rate."""
    limits = cn.physics_of(table)
    lower, upper = limits.lower[k], limits.upper[k]
    if near:
        kept, reach = cn.memory_of(table).controls[k], limits.rate[0] * table.own[table.period]
        lower, upper = max(lower, kept - reach), min(upper, kept + reach)
    return lower, upper


@internal
def largest_root(table: LawTable):
    """Return the largest unit of a control."""
    largest = 0.0
    for k in range(table.actuators):
        largest = max(largest, table.roots[k])
    return largest if largest > 0.0 else 1.0


@internal
def largest_control(table: LawTable, room: DistributionWorkspace, near: bool):
    """Return the size of the largest control with limits, or 1: of those wanted without limits, brought inside their
    own, so that it is the same wherever programs begin."""
    largest = 1.0
    for k in range(table.actuators):
        lower, upper = bounds_of(table, k, near)
        if table.roots[k] > 0.0 and upper - lower < np.inf:
            lower, upper = (
                (lower - table.preferred[k]) / table.roots[k],
                (upper - table.preferred[k]) / table.roots[k],
            )
            largest = max(largest, abs(min(max(room.wanted[k], lower), upper)))
    return largest


@internal
def write_limit_rows(
    table: LawTable, work: LawWorkspace, room: DistributionWorkspace, near: bool, spares: bool
):
    """Write all limits; return how many half-lines and how many cones there are, and what tells such lists apart.

    With ``spares`` limits of controls and contacts that are laid and free are written anew as levels have them of which
    coming close is enough (`sarrus.kernels.laws.soft_levels`); rows of levels stay as they are.
    """
    contacts, limits, sizes = table.contacts, cn.physics_of(table), whole_sizes(table)
    nu, count, mode = table.actuators, table.n_contacts, contacts.friction
    row, kind, weight, cones = 0, 2.0 if near else 0.0, 4.0, 0
    before = int(cn.report_of(table).counts[0]) if spares else 0
    for k in range(nu):
        row = _bounds(table, room, row, k, near, spares)
    for k in range(count):
        size = contacts[cn.PLACES + 2 * k + 1]
        if work.contacts[k] != 0.0 and mode != cn.NO_LIMITS:
            kind += weight
            frees = spares
            if mode == cn.CONE and size > 1:
                frees = spares and room.faces[before + cones] == FREE
                cones += 1
            row = _lines_of_contact(table, work, room, row, k, spares, frees)
        weight *= 2.0
    owner = nu + count + 1
    row = _users(table, room, 0, contacts.extra_linear, row)
    owner += contacts.extra_rows
    for level in range(table.n_levels):
        if table[ll.LEVELS + 3 * level] == ll.AT_MOST:
            for i in range(int(room.firsts[level]), int(room.firsts[level + 1])):
                if not spares:
                    copy(room.rows + i * table.nu, room.limits + row * table.nu, table.nu)
                    row = _note(room, row, room.right[i], owner, level)
                else:
                    row += 1
                owner += 1
    linear, cones = row, 0
    for k in range(count):
        size = contacts[cn.PLACES + 2 * k + 1]
        if work.contacts[k] == 0.0 or mode != cn.CONE or size == 1:
            continue
        first, coefficient, shift = contacts[cn.PLACES + 2 * k], limits.friction[k], 0.0
        if spares and room.faces[linear + cones] == FREE:
            shift = wider(table, room, first, size, coefficient)
            coefficient *= limits.soft_share[0]
        row = _single(table, room, row, first, -coefficient, shift, nu + k + 1)
        for i in range(1, size):
            row = _single(table, room, row, first + i, -1.0, 0.0, nu + k + 1)
        sizes[cones] = size
        cones += 1
    for k in range(contacts.extra_cones):
        sizes[cones] = contacts[cn.PLACES + 2 * count + k]
        cones += 1
    _users(table, room, contacts.extra_linear, contacts.extra_rows, row)
    counts = cn.report_of(table).counts
    counts[0], counts[1] = linear, cones
    return linear, cones, kind


@internal
def _bounds(table: LawTable, room: DistributionWorkspace, row: int, k: int, near: bool, spares: bool):
    """Write the limits of a control; return the next row."""
    limits, preferred = cn.physics_of(table), table.preferred[k]
    lower, upper = bounds_of(table, k, near)
    # rows of length one; none of what stays as it is preferred
    factor, unit = (1.0, table.roots[k]) if table.roots[k] > 0.0 else (0.0, 1.0)
    if np.isfinite(upper):
        most = (upper - preferred) / unit
        if spares:
            most = spared(table, most, (limits.upper[k] - preferred) / unit, room.needed[k])
        row = _single(table, room, row, k, factor, most, k + 1)
    if np.isfinite(lower):
        most = (preferred - lower) / unit
        if spares:
            most = spared(table, most, (preferred - limits.lower[k]) / unit, -room.needed[k])
        row = _single(table, room, row, k, -factor, most, -(k + 1))
    return row


@internal
def _note(room: DistributionWorkspace, row: int, most: float, owner: int, level: int):
    """Write what a row is at most, whose it is and of which level; return the next one."""
    room.most[row], room.owners[row], room.belongs[row] = most, owner, level
    return row + 1


@internal
def _single(
    table: LawTable, room: DistributionWorkspace, row: int, k: int, factor: float, most: float, owner: int
):
    """Write a limit of one unknown; return the next row."""
    at = room.limits + row * table.nu
    fill(at, 0.0, table.nu)
    at[k] = factor
    return _note(room, row, most, owner, NO_LEVEL)


@internal
def _lines_of_contact(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    row: int,
    k: int,
    spares: bool,
    frees: bool,
):
    """Write the half-lines of a closed contact; return the next row. ``frees``: those of its friction are shares."""
    contacts, limits, owner = table.contacts, cn.physics_of(table), table.actuators + k + 1
    first, size = contacts[cn.PLACES + 2 * k], contacts[cn.PLACES + 2 * k + 1]
    if np.isfinite(limits.largest[k]):
        most = work.contacts[table.n_contacts + k] * limits.largest[k] / table.roots[first]
        if spares:
            most = spared(table, most, most, room.needed[first])
        row = _single(table, room, row, first, 1.0, most, owner)
    if size == 1:
        return _single(table, room, row, first, -1.0, 0.0, owner)
    shift, coefficient = 0.0, limits.friction[k]
    if contacts.friction == cn.PYRAMID:
        side, share = coefficient / np.sqrt(2.0), limits.soft_share[0] if frees else 1.0
        coefficient = side
        for i in range(1, 3):
            for way in range(2):
                sign, most = 1.0 - 2.0 * way, 0.0
                if frees:
                    most = max(sign * room.needed[first + i] - share * side * room.needed[first], 0.0)
                    shift = max(shift, most)
                row = _single(table, room, row, first, -share * side, most, owner)
                room.limits[(row - 1) * table.nu + first + i] = sign
    elif frees:
        shift = wider(table, room, first, size, coefficient)
    if contacts.first_soft < table.n_levels:
        row = _single(table, room, row, first, -1.0, -cut_off(table, shift, coefficient), owner)
        room.belongs[row - 1] = table.n_levels
    return row


@internal
def _users(table: LawTable, room: DistributionWorkspace, first: int, end: int, row: int):
    """Write rows of the user; return the next one."""
    n, contacts = table.nu, table.contacts
    extra, given, roots, preferred = contacts.extra_rows, contacts.extra, table.roots, table.preferred
    unit = largest_root(table)
    for i in range(first, end):
        most = given[extra * n + i]
        for k in range(n):
            most -= given[i * n + k] * preferred[k]
            room.limits[row * n + k] = given[i * n + k] * roots[k] / unit
        row = _note(room, row, most / unit, table.actuators + table.n_contacts + i + 1, NO_LEVEL)
    return row


@internal
def enter(table: LawTable, room: DistributionWorkspace, linear: int, cones: int, level: int, lazily: bool):
    """Have the rows of levels up to ``level`` count: half-lines that took part in the last program, and all cones.

    Unless ``lazily`` all half-lines take part that are no level's.
    """
    working = cn.memory_of(table).working
    for i in range(linear):
        room.faces[i] = LATER
        if room.belongs[i] <= level:
            needed = working[i] != 0.0 or (room.belongs[i] == NO_LEVEL and not lazily)
            room.faces[i] = FREE if needed else IDLE
    fill(room.faces + linear, FREE, cones)


@internal
def excess(table: LawTable, room: DistributionWorkspace, i: int):
    """Return by how much the unknowns break a half-line, and what of this is rounding."""
    n, answer, row = table.nu, table.answer, room.limits + i * table.nu
    total, size = -room.most[i], abs(room.most[i])
    for k in range(n):
        total += row[k] * answer[k]
        size += abs(row[k] * answer[k])
    return total, HALF_LINE_ROUNDING * size


@internal
def wake(table: LawTable, room: DistributionWorkspace, linear: int, level: int):
    """Have idle half-lines that the unknowns break take part, and with them all that are no level's; those of
    ``level`` may be missed. Return how many are broken."""
    count = 0
    for i in range(linear):
        if room.faces[i] == IDLE:
            more, rounding = excess(table, room, i)
            if more > rounding:
                room.faces[i] = FREE
                count += 1
    for i in range(linear if count > 0 else 0):
        if room.faces[i] == IDLE and room.belongs[i] == NO_LEVEL:
            room.faces[i] = FREE
    allow(room, linear, level)
    return count


@internal
def allow(room: DistributionWorkspace, linear: int, level: int):
    """Let half-lines of a level be missed that take part."""
    for i in range(linear):
        own = room.belongs[i] == level or (level == ALL_LEVELS and room.belongs[i] >= 0)
        if own and room.faces[i] == FREE:
            room.faces[i] = SLACK


@internal
def recall(table: LawTable, room: DistributionWorkspace, linear: int, cone: ConeWorkspace):
    """Remember which half-lines take part: those of the last program that are at their ends or pushed."""
    working, at = cn.memory_of(table).working, 0
    for i in range(linear):
        working[i] = 0.0
        if room.faces[i] == FREE:
            working[i] = 1.0 if cone.z[at] > cone.s[at] else 0.0
            at += 1
        elif room.faces[i] != IDLE and room.faces[i] != LATER:
            working[i] = 1.0


@internal
def count_rows(table: LawTable, room: DistributionWorkspace, linear: int, cones: int):
    """Return how many rows a program has, and how many of them may be missed."""
    whole, rows, slack = whole_sizes(table), 0, 0
    for i in range(linear):
        rows += 1 if room.faces[i] == FREE else 0
        slack += 1 if room.faces[i] == SLACK else 0
    for c in range(cones):
        rows += 1 if room.faces[linear + c] == RAY else 0
        rows += whole[c] if room.faces[linear + c] == FREE else 0
    return rows + slack, slack


@internal
def write_rows(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    used: int,
    free: int,
    slack: int,
    linear: int,
    cones: int,
    sizes: Integers,
):
    """Write G and h of a program and the sizes of its cones; return its half-lines, those that may not be missed, its
    cones and its rows.

    ``free`` directions are variables, then ``slack`` of what may be missed.
    """
    whole, width, at, first = whole_sizes(table), free + slack, 0, linear
    for i in range(linear):
        if room.faces[i] == FREE:
            _write(table, work, room, cone, used, free, width, i, at)
            at += 1
    for c in range(cones):
        if room.faces[linear + c] == RAY:
            _write(table, work, room, cone, used, free, width, first, at)
            at += 1
        first += whole[c]
    hard, variable = at, free
    for i in range(linear):
        if room.faces[i] == SLACK:
            _write(table, work, room, cone, used, free, width, i, at)
            cone.rows[at * width + variable] = -1.0
            variable += 1
            at += 1
    lines, left, first = at, 0, linear
    for c in range(cones):
        size = whole[c]
        if room.faces[linear + c] == FREE:
            for i in range(size):
                _write(table, work, room, cone, used, free, width, first + i, at)
                at += 1
            sizes[left] = size
            left += 1
        first += size
    return lines, hard, left, at


@internal
def _write(
    table: LawTable,
    work: LawWorkspace,
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    used: int,
    free: int,
    width: int,
    i: int,
    at: int,
):
    """Write the row of a limit over the variables."""
    n, answer, row, out = table.nu, table.answer, room.limits + i * table.nu, cone.rows + at * width
    fill(out, 0.0, width)
    room.places[at], most, size = i, room.most[i], 0.0
    for k in range(n):
        if row[k] != 0.0:
            most -= row[k] * answer[k]
            size += row[k] ** 2
            axpy(row[k], work.turned + (k * n + used), out, free)
    cone.limits[at] = most
    largest = 0.0
    for c in range(free):
        largest = max(largest, abs(out[c]))
    least = CANCELLED_GAIN * largest if largest > FREE_ROW * np.sqrt(size) else largest
    for c in range(free):
        if not abs(out[c]) > least:
            out[c] = 0.0


@internal
def tighten(
    table: LawTable,
    room: DistributionWorkspace,
    cone: ConeWorkspace,
    hard: int,
    lines: int,
    count: int,
    sizes: Integers,
    begins: bool,
):
    """Have limits be tighter by a margin, and what was found before be inside, unless a program ``begins``.

    The margin is one of unknowns; inequalities among levels have it in units of the controls.
    """
    margin = room.margin[0]
    at, inside, unit = lines, -np.inf if begins else 0.5 * margin, largest_root(table)
    for i in range(hard):
        factor = 1.0 if room.belongs[int(room.places[i])] == NO_LEVEL else unit
        cone.limits[i] = max(cone.limits[i] - margin * factor, inside * factor)
    for c in range(count):
        outer, size = cone.limits + at + 1, sizes[c]
        cone.limits[at] = max(cone.limits[at] - margin, np.sqrt(dot(outer, outer, size - 1)) + inside)
        at += size


@internal
def are_kept(cone: ConeWorkspace, lines: int, count: int, sizes: Integers, allowed: float):
    """Tell whether the limits hold where nothing is free; write by how much they do not to the dual."""
    missed, at = 0.0, lines
    for i in range(lines):
        cone.z[i] = max(0.0, -cone.limits[i])
        cone.s[i] = max(0.0, cone.limits[i])
        missed = max(missed, cone.z[i])
    for c in range(count):
        outer = cone.limits + at + 1
        fill(cone.z + at, 0.0, sizes[c])
        cone.z[at] = max(0.0, np.sqrt(dot(outer, outer, sizes[c] - 1)) - cone.limits[at])
        missed = max(missed, cone.z[at])
        at += sizes[c]
    return missed <= LIMITS_MISSED * allowed


@internal
def largest_of(answer: Floats, n: int):
    """Return the largest unknown, or 1."""
    largest = 1.0
    for k in range(n):
        largest = max(largest, abs(answer[k]))
    return largest


@internal
def accuse(table: LawTable, room: DistributionWorkspace, cone: ConeWorkspace, linear: int, cones: int):
    """Write how strongly each actuator, contact, row of the user and inequality takes part in the conflict: by the
    proof that there is no solution, or by the multipliers of the relaxed one.

    Of a program with all cones as they are.
    """
    told, whole, owners = cn.report_of(table).conflict, whole_sizes(table), room.owners
    nu, at, first = table.actuators, 0, linear
    fill(told, 0.0, nu + table.n_contacts + cn.extra_of(table))
    for i in range(linear):
        if room.faces[i] == FREE:
            # what pushes against both limits of an actuator proves nothing
            own = int(abs(owners[i])) - 1
            told[own] += cone.z[at] if owners[i] > 0.0 else -cone.z[at]
            at += 1
    for i in range(linear):
        at += 1 if room.faces[i] == SLACK else 0
    for k in range(nu):
        told[k] = abs(told[k])
    for c in range(cones):
        for i in range(first, first + whole[c]):
            told[int(owners[i]) - 1] += abs(cone.z[at])
            at += 1
        first += whole[c]
