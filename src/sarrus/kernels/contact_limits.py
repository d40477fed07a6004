"""Limits of controls and contact forces as rows of a cone program over the directions that are left, and who is in
conflict where they leave nothing."""

from __future__ import annotations

import numpy as np

from sarrus.kernels import contact_layout as cn
from sarrus.kernels.flat import internal
from sarrus.kernels.vectors import axpy, copy_scaled, dot, fill

# Where nothing is free, limits may be missed by this much, relative to the largest unknown.
_MISSED = 1e-9


@internal
def sizes_of(table):
    """Return where the sizes of the cones of a program are."""
    contacts = table.contacts
    return contacts + (cn.PLACES + 2 * table.n_contacts + contacts.extra_cones)


@internal
def whole_sizes(table):
    """Return where they are of a program with all rows, whatever is left of it."""
    return sizes_of(table) + (table.n_contacts + table.contacts.extra_cones)


@internal
def order_of(table):
    """Return the room for a permutation."""
    return sizes_of(table) + 2 * (table.n_contacts + table.contacts.extra_cones)


@internal
def count_rows(table, work, sizes, near):
    """Write the sizes of the cones; return the number of half-lines, of cones, of rows, and what tells programs of
    different rows apart."""
    contacts, limits = table.contacts, cn.physics_of(table)
    nu, count, mode = table.actuators, table.n_contacts, contacts.friction
    linear, cones, signature = 0, 0, 2.0 if near else 0.0
    for k in range(nu):
        linear += 1 if np.isfinite(limits.upper[k]) or near else 0
        linear += 1 if np.isfinite(limits.lower[k]) or near else 0
    weight = 4.0
    for k in range(count):
        if work.contacts[k] != 0.0 and mode != cn.NO_LIMITS:
            signature += weight
            size = contacts[cn.PLACES + 2 * k + 1]
            linear += 1 if np.isfinite(limits.largest[k]) else 0
            if size == 1:
                linear += 1
            elif mode == cn.PYRAMID:
                linear += 4
            else:
                sizes[cones] = size
                cones += 1
        weight *= 2.0
    linear += contacts.extra_linear
    for k in range(contacts.extra_cones):
        sizes[cones] = contacts[cn.PLACES + 2 * count + k]
        cones += 1
    rows = linear
    for c in range(cones):
        rows += sizes[c]
    return linear, cones, rows, signature


@internal
def bounds_of(table, k, near):
    """Return the least and the largest value of a control, from the one before it where that limits its rate."""
    limits = cn.physics_of(table)
    lower, upper = limits.lower[k], limits.upper[k]
    if near:
        kept, reach = cn.memory_of(table).controls[k], limits.rate[0] * table.own[table.period]
        lower, upper = max(lower, kept - reach), min(upper, kept + reach)
    return lower, upper


@internal
def _put(cone, free, row, at, factor, limit):
    """Write the row limit − factor × (row of the turned unknowns)."""
    copy_scaled(factor, at, cone.rows + row * free, free)
    cone.limits[row] = limit


@internal
def write_rows(table, work, used, near, cone):
    """Write G and h: limits of the controls, of the normal forces and of the user, then the cones."""
    contacts, limits, answer = table.contacts, cn.physics_of(table), table.answer
    n, nu, count, mode = table.nu, table.actuators, table.n_contacts, contacts.friction
    free, row = n - used, 0
    for k in range(nu):
        at = work.turned + k * n + used
        lower, upper = bounds_of(table, k, near)
        if np.isfinite(upper):
            _put(cone, free, row, at, 1.0, upper - answer[k])
            row += 1
        if np.isfinite(lower):
            _put(cone, free, row, at, -1.0, answer[k] - lower)
            row += 1
    for cones in range(2):
        for k in range(count):
            if work.contacts[k] == 0.0 or mode == cn.NO_LIMITS:
                continue
            first, size, mu = (
                contacts[cn.PLACES + 2 * k],
                contacts[cn.PLACES + 2 * k + 1],
                limits.friction[k],
            )
            at = work.turned + first * n + used
            if cones == 1:
                if size > 1 and mode == cn.CONE:
                    _put(cone, free, row, at, -mu, mu * answer[first])
                    for i in range(1, size):
                        _put(cone, free, row + i, at + i * n, -1.0, answer[first + i])
                    row += size
                continue
            if np.isfinite(limits.largest[k]):
                limit = work.contacts[count + k] * limits.largest[k]
                _put(cone, free, row, at, 1.0, limit - answer[first])
                row += 1
            if size == 1:
                _put(cone, free, row, at, -1.0, answer[first])
                row += 1
            elif mode == cn.PYRAMID:
                side = mu / np.sqrt(2.0)
                for i in range(1, 3):
                    for way in range(2):
                        sign = 1.0 - 2.0 * way
                        _put(cone, free, row, at, -side, side * answer[first] - sign * answer[first + i])
                        axpy(sign, at + i * n, cone.rows + row * free, free)
                        row += 1
        if cones == 0:
            linear = contacts.extra_linear
            row = _users(table, work, used, 0, linear, row, cone)
    first, end = contacts.extra_linear, contacts.extra_rows
    _users(table, work, used, first, end, row, cone)


@internal
def _users(table, work, used, first, end, row, cone):
    """Write rows of the user, h − G x; return the next row."""
    n, contacts, answer = table.nu, table.contacts, table.answer
    free = n - used
    extra, given = contacts.extra_rows, contacts.extra
    for i in range(first, end):
        fill(cone.rows + row * free, 0.0, free)
        value = given[extra * n + i]
        for k in range(n):
            weight = given[i * n + k]
            if weight != 0.0:
                value -= weight * answer[k]
                axpy(weight, work.turned + (k * n + used), cone.rows + row * free, free)
        cone.limits[row] = value
        row += 1
    return row


@internal
def tighten(cone, shape, margin, begins):
    """Have limits be tighter by a margin, and what was found before be inside, unless a program ``begins``."""
    at, inside = shape.linear, -np.inf if begins else 0.5 * margin
    for i in range(at):
        cone.limits[i] = max(cone.limits[i] - margin, inside)
    for c in range(shape.count):
        outer, size = cone.limits + at + 1, shape.sizes[c]
        cone.limits[at] = max(cone.limits[at] - margin, np.sqrt(dot(outer, outer, size - 1)) + inside)
        at += size


@internal
def are_kept(cone, shape, answer, n):
    """Tell whether the limits hold where nothing is free; write by how much they do not to the dual."""
    allowed = _MISSED * largest_of(answer, n)
    linear, sizes = shape.linear, shape.sizes
    missed, at = 0.0, linear
    for i in range(linear):
        cone.z[i] = max(0.0, -cone.limits[i])
        missed = max(missed, cone.z[i])
    for c in range(shape.count):
        outer = cone.limits + at + 1
        fill(cone.z + at, 0.0, sizes[c])
        cone.z[at] = max(0.0, np.sqrt(dot(outer, outer, sizes[c] - 1)) - cone.limits[at])
        missed = max(missed, cone.z[at])
        at += sizes[c]
    return missed <= allowed


@internal
def largest_of(answer, n):
    """Return the largest unknown, or 1."""
    largest = 1.0
    for k in range(n):
        largest = max(largest, abs(answer[k]))
    return largest


@internal
def accuse(table, work, cone, near):
    """Write how strongly each actuator, contact and row of the user takes part in the conflict: by the proof that there
    is no solution, or by the multipliers of the relaxed one."""
    contacts, limits, told = table.contacts, cn.physics_of(table), cn.report_of(table).conflict
    nu, count, mode = table.actuators, table.n_contacts, contacts.friction
    _, _, rows, _ = count_rows(table, work, whole_sizes(table), near)
    fill(told, 0.0, nu + count)
    row, users = 0, nu + count
    for k in range(nu):
        # what pushes against both limits of an actuator proves nothing
        if np.isfinite(limits.upper[k]) or near:
            told[k] += cone.z[row]
            row += 1
        if np.isfinite(limits.lower[k]) or near:
            told[k] -= cone.z[row]
            row += 1
        told[k] = abs(told[k])
    for cones in range(2):
        for k in range(count):
            if work.contacts[k] == 0.0 or mode == cn.NO_LIMITS:
                continue
            size = contacts[cn.PLACES + 2 * k + 1]
            number = 0
            if cones == 0:
                number += 1 if np.isfinite(limits.largest[k]) else 0
                number += 1 if size == 1 else 0
                number += 4 if size > 1 and mode == cn.PYRAMID else 0
            elif size > 1 and mode == cn.CONE:
                number = size
            row = _blame(told + (nu + k), cone.z, row, number)
        number = contacts.extra_linear if cones == 0 else rows - row
        for i in range(number):
            told[users + i] = abs(cone.z[row + i])
        users += number
        row += number


@internal
def _blame(told, dual, row, number):
    """Add so many entries of the dual to what is told of one; return the next row."""
    for i in range(number):
        told[0] += abs(dual[row + i])
    return row + number
