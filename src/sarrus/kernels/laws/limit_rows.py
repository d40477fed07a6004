"""Limits of a control law as rows over its unknowns: their working set in a program, and the limits in conflict.

Half-lines come first: limits of the controls, of the normal forces, of the user, inequalities among the levels. Then
come the cones. Most half-lines are far from active. A program contains the working set: half-lines that were active
in the last program. A half-line that the solution violates is added, and the program is solved again.
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

# Level of a row that belongs to no level; levels whose rows get slack variables: all levels, no level.
NO_LEVEL, ALL_LEVELS, NONE = -1, -2, -3


@internal
def sizes_of(table: LawTable):
    """Return the address of the sizes of the cones in a program (integers)."""
    contacts = table.contacts
    return contacts + (cn.PLACES + 2 * table.n_contacts + contacts.extra_cones)


@internal
def whole_sizes(table: LawTable):
    """Return the address of the sizes of all cones (integers), including cones that a program reduces or drops."""
    return sizes_of(table) + (table.n_contacts + table.contacts.extra_cones)


@internal
def order_of(table: LawTable):
    """Return the address of a buffer for a permutation (integers)."""
    return sizes_of(table) + 2 * (table.n_contacts + table.contacts.extra_cones)


@internal
def bounds_of(table: LawTable, k: int, near: bool):
    """Return the lower and upper bound of control k; with ``near`` its rate since the last sample is limited too."""
    limits = cn.physics_of(table)
    lower, upper = limits.lower[k], limits.upper[k]
    if near:
        kept, reach = cn.memory_of(table).controls[k], limits.rate[0] * table.own[table.period]
        lower, upper = max(lower, kept - reach), min(upper, kept + reach)
    return lower, upper


@internal
def largest_root(table: LawTable):
    """Return the largest unit of a control, 1 where all units are zero."""
    largest = 0.0
    for k in range(table.actuators):
        largest = max(largest, table.roots[k])
    return largest if largest > 0.0 else 1.0


@internal
def largest_control(table: LawTable, room: DistributionWorkspace, near: bool):
    """Return the largest |u| among controls with finite limits, in the units of the unknowns, or 1 if that is more.

    u is the solution without limits, clipped to its bounds, so that the result does not depend on where programs
    begin.
    """
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
    """Write the rows of all limits; return the numbers of half-lines and of cones, and a hash of the list of limits.

    With ``spares`` the limits of controls and contacts are replaced by the reduced limits of soft levels
    (`sarrus.kernels.laws.soft_levels`), friction cones only where their face is FREE; rows of levels are kept.
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
    """Write the rows of the bounds of control k; return the index of the next row."""
    limits, preferred = cn.physics_of(table), table.preferred[k]
    lower, upper = bounds_of(table, k, near)
    # rows of length one; zero rows of controls that stay at their preferred values
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
    """Write right-hand side, owner and priority level of a row; return the index of the next row."""
    room.most[row], room.owners[row], room.belongs[row] = most, owner, level
    return row + 1


@internal
def _single(
    table: LawTable, room: DistributionWorkspace, row: int, k: int, factor: float, most: float, owner: int
):
    """Write the limit ``factor`` × x_k ≤ ``most`` as a row; return the index of the next row."""
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
    """Write the half-lines of closed contact k; return the index of the next row.

    With ``spares`` its normal force, with ``frees`` its friction has reduced limits.
    """
    contacts, limits, owner = table.contacts, cn.physics_of(table), table.actuators + k + 1
    first, size, least = contacts[cn.PLACES + 2 * k], contacts[cn.PLACES + 2 * k + 1], 0.0
    if np.isfinite(limits.largest[k]):
        most = work.contacts[table.n_contacts + k] * limits.largest[k] / table.roots[first]
        if spares:
            most = spared(table, most, most, room.needed[first])
        row = _single(table, room, row, first, 1.0, most, owner)
        if limits.friction[k] == cn.BOTH_WAYS:
            least = most
    if size == 1:
        return _single(table, room, row, first, -1.0, least, owner)
    shift, coefficient = 0.0, limits.friction[k]
    if contacts.friction == cn.PYRAMID:
        side, share = coefficient / np.sqrt(size - 1.0), limits.soft_share[0] if frees else 1.0
        coefficient = side
        for i in range(1, size):
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
    """Write the user's rows first … end − 1 as rows of limits; return the index of the next row."""
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
    """Begin the working set for levels up to ``level``: half-lines that were active in the last program, and all
    cones.

    Half-lines of no level are all included, unless ``lazily``. Half-lines of later levels are excluded.
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
    """Return the violation Σ row_k x_k − most of half-line i, and the rounding error of this sum."""
    n, answer, row = table.nu, table.answer, room.limits + i * table.nu
    total, size = -room.most[i], abs(room.most[i])
    for k in range(n):
        total += row[k] * answer[k]
        size += abs(row[k] * answer[k])
    return total, HALF_LINE_ROUNDING * size


@internal
def wake(table: LawTable, room: DistributionWorkspace, linear: int, level: int):
    """Add violated half-lines to the working set; return the number of violated half-lines.

    If there are any, all half-lines of no level are added too. Half-lines of ``level`` get slack variables.
    """
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
    """Give the half-lines of a level that are in the working set slack variables."""
    for i in range(linear):
        own = room.belongs[i] == level or (level == ALL_LEVELS and room.belongs[i] >= 0)
        if own and room.faces[i] == FREE:
            room.faces[i] = SLACK


@internal
def recall(table: LawTable, room: DistributionWorkspace, linear: int, cone: ConeWorkspace):
    """Store the working set for the next call: half-lines of the last program that are active, s < z, or on a
    face."""
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
    """Return the number of rows of a program, and the number of its rows with slack variables."""
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
    """Write G, h and the cone sizes of a program; return its numbers of half-lines, hard half-lines, cones and rows.

    Its variables are ``free`` directions and then ``slack`` slack variables; hard half-lines have no slack variable.
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
    """Write limit i as row ``at`` of G and h, over the variables of the program."""
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
    """Tighten the limits of a program by ``room.margin``, but keep its start feasible unless the program ``begins``.

    The margin is in units of the unknowns; for inequalities among levels it is multiplied by the largest unit of a
    control.
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
    """Tell whether the limits hold where no direction is free; their violations are written to the multipliers z."""
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
    """Return the largest |x_k| of n unknowns, or 1 if that is more."""
    largest = 1.0
    for k in range(n):
        largest = max(largest, abs(answer[k]))
    return largest


@internal
def accuse(table: LawTable, room: DistributionWorkspace, cone: ConeWorkspace, linear: int, cones: int):
    """Write the part of each actuator, contact, user's row and inequality in a conflict to ``conflict`` of the
    report.

    It is the size of its multipliers in the proof of infeasibility, or in the relaxed program. The program must
    contain all cones unreduced.
    """
    told, whole, owners = cn.report_of(table).conflict, whole_sizes(table), room.owners
    nu, at, first = table.actuators, 0, linear
    fill(told, 0.0, nu + table.n_contacts + cn.extra_of(table))
    for i in range(linear):
        if room.faces[i] == FREE:
            # multipliers of both bounds of an actuator cancel: they prove nothing
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
