"""Compliance columns K Jᵀ of rows: accelerations by a unit force on each, with the loops closed.

The pass that found the acceleration without contacts has left the factors of M and of the rows of A. `LANES` columns
at a time come from these factors. Next to singular configurations, where the factors alone are not accurate enough, and
for trees whose acceleration is found without factors, a column is the difference of two accelerations.
"""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import copy, fill, is_finite
from sarrus.kernels.contact.rows import add_force, lift_of
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.memory.contact_layout import ContactWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import are_regular, is_clear
from sarrus.kernels.solve.tolerances import CLEARANCE_OF_STAGE

# Up to this number of rows, differences of accelerations are found one after the other.
ALONE = 2


@internal
def find_columns(table: Table, m: int, work: ContactWork):
    """Write the compliance columns of the first m rows at ``which`` that are not known to ``work.response``.

    ``work.free`` is the acceleration at ``work.middle``, the state of the last call of the kernel for accelerations.
    """
    if table.contact_table.n_factors > 0 and has_factors(table):
        _columns_by_factors(table, m, work)
    elif table.contact_table.slope != 0 and m > ALONE:
        _columns_by_slopes(table, m, work)
    for i in range(m):
        compliance_column_of_row(table, int(work.which[i]), work)


@internal
def has_factors(table: Table):
    """Return True if the factors of the last acceleration are there, and accurate enough for compliance columns."""
    work = la.workspace(table)
    return (
        table.response != 0
        and work.factored[0] != 0.0
        and is_clear(table.settings, work.conditioning, CLEARANCE_OF_STAGE)
    )


@internal
def load_factors(table: Table, work: ContactWork):
    """Write the factors of the last acceleration to every lane of the input of ``response``; return its forces."""
    factors, count = la.stage_answer(table).factors, table.contact_table.n_factors
    for i in range(count):
        value, out = factors[i], work.states + LANES * i
        for k in range(LANES):
            out[k] = value
    return work.states + LANES * count


@internal
def _columns_by_factors(table: Table, m: int, work: ContactWork):
    """Write the unknown compliance columns, `LANES` at once, from the factors of the last acceleration."""
    nv, forces, at, first = table.nv, work.states, 0, True
    while at < m:
        start, count = at, 0
        while at < m and count < LANES:
            row = int(work.which[at])
            if work.known[row] == 0.0:
                if first:
                    forces, first = load_factors(table, work), False
                if count == 0:
                    fill(forces, 0.0, LANES * nv)
                fill(work.scratch, 0.0, nv)
                add_force(table, work, row, 1.0, work.scratch)
                for i in range(nv):
                    forces[LANES * i + count] = work.scratch[i]
                count += 1
            at += 1
        if count == 0:
            continue
        call_native(table.response, work.states, work.slopes)
        lane = 0
        for i in range(start, at):
            row = int(work.which[i])
            if work.known[row] != 0.0:
                continue
            out = work.response + row * nv
            for j in range(nv):
                out[j] = work.slopes[LANES * j + lane]
            work.known[row] = 1.0 if is_finite(out, nv) else 0.0
            lane += 1


@internal
def _columns_by_slopes(table: Table, m: int, work: ContactWork):
    """Write the unknown compliance columns, `LANES` at once, as differences of accelerations.

    Columns that fail remain unknown.
    """
    nq, nv, size, slope = table.nq, table.nv, la.input_size(table), table.contact_table.slope
    states, slopes, at = work.states, work.slopes, 0
    while at < m:
        for i in range(size):
            for k in range(LANES):
                states[LANES * i + k] = work.middle[i]
        first, count = at, 0
        while at < m and count < LANES:
            row = int(work.which[at])
            if work.known[row] == 0.0:
                fill(work.scratch, 0.0, nv)
                add_force(table, work, row, lift_of(table, work, row), work.scratch)
                for i in range(nv):
                    states[LANES * (size - nv + i) + count] += work.scratch[i]
                count += 1
            at += 1
        if count == 0:
            continue
        call_native(slope, states, slopes)
        conditioning, lane = slopes + LANES * (nq + nv), 0
        for i in range(first, at):
            row = int(work.which[i])
            if work.known[row] != 0.0:
                continue
            regular = are_regular(table.settings, conditioning[LANES + lane], conditioning[2 * LANES + lane])
            if conditioning[lane] > CLEARANCE_OF_STAGE and regular:
                out, force = work.response + row * nv, lift_of(table, work, row)
                for j in range(nv):
                    out[j] = (slopes[LANES * (nq + j) + lane] - work.free[j]) / force
                if is_finite(out, nv):
                    work.known[row] = 1.0
            lane += 1


@internal
def compliance_column_of_row(table: Table, row: int, work: ContactWork):
    """Write the compliance column of a row (nv) to ``work.response``, unless it is known."""
    if work.known[row] != 0.0:
        return
    nv, force = table.nv, lift_of(table, work, row)
    tau, out = work.middle + (la.input_size(table) - nv), work.response + row * nv
    copy(tau, work.scratch, nv)
    add_force(table, work, row, force, tau)
    call_kernel(table.contact_table.inner, table, work.middle, la.SLOPE)
    copy(work.scratch, tau, nv)
    a = la.workspace(table).a
    for i in range(nv):
        out[i] = (a[i] - work.free[i]) / force
    work.known[row] = 1.0
