"""Contact problems of a step, one for each island: a set of components of velocities that active contacts join."""

from __future__ import annotations

from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill, is_finite
from sarrus.kernels.contact.compliance import has_factors, load_factors
from sarrus.kernels.contact.geometry_parts import add_parts, along_parts
from sarrus.kernels.contact.geometry_rows import compliance_of_row, work_of
from sarrus.kernels.contact.rows import turns_round
from sarrus.kernels.contact.tolerances import FEW_ROWS
from sarrus.kernels.memory import contact_layout as tl
from sarrus.kernels.memory import contact_problem_layout as cp
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.kernels.memory.contact_layout import ContactTable, ContactWork
from sarrus.kernels.memory.geometry_layout import GeometryTable, GeometryWork
from sarrus.kernels.memory.layout import Table
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.memory.tolerances import CONTACT_RESIDUAL
from sarrus.kernels.platform.native_call import call_kernel, call_native
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.solve.acceleration import are_regular
from sarrus.kernels.solve.tolerances import CLEARANCE_OF_STAGE

# Restarts of the contact problem by sweeps, at most; of a problem by parts, that it starts anew at all.
BEGINNINGS = 5


@internal
def compute_compliance(table: Table, work: ContactWork):
    """Write the compliance (acceleration by a unit force) of every velocity to ``room.block``, one block a component.

    The j-th velocities of all components are loaded at once, since the components are independent without contacts.
    """
    contact_table, nv, size = table.contact_table, table.nv, la.input_size(table)
    geometry, room, force = contact_table.geometry, work_of(table), contact_table.settings.force
    tau, j = work.middle + (size - nv), 0
    if contact_table.n_factors > 0 and has_factors(table):
        _compliance_by_factors(table, geometry, room, work)
        j = geometry.widest
    while j < geometry.widest:
        if contact_table.slope != 0:
            known = _joint_compliance(table, geometry, room, j, work)
            if known > 0:
                j += known
                continue
        copy(tau, work.scratch, nv)
        _push_all(geometry, j, force, tau, 1)
        call_kernel(contact_table.inner, table, work.middle, la.SLOPE)
        copy(work.scratch, tau, nv)
        _take(geometry, room, j, la.workspace(table).a, 1, work.free, force)
        j += 1
    room.ready[0] = 1.0


@internal
def _compliance_by_factors(table: Table, geometry: GeometryTable, room: GeometryWork, work: ContactWork):
    """Write all compliance columns, those of `LANES` velocities of every component at once, from the factors."""
    forces, slopes = load_factors(table, work), work.slopes
    for j in range(0, geometry.widest, LANES):
        count = min(LANES, geometry.widest - j)
        fill(forces, 0.0, LANES * table.nv)
        for k in range(count):
            _push_all(geometry, j + k, 1.0, forces + k, LANES)
        call_native(table.response, work.states, slopes)
        for k in range(count):
            for c in range(geometry.components):
                first, n = geometry.starts[c], geometry.starts[c + 1] - geometry.starts[c]
                if j + k < n:
                    block = room.block + geometry.blocks[c]
                    for i in range(n):
                        block[i * n + j + k] = slopes[LANES * geometry.order[first + i] + k]


@internal
def _push_all(geometry: GeometryTable, j: int, force: float, tau: Floats, stride: int):
    """Add ``force`` on the j-th velocity of every component to ``tau``, whose entries are ``stride`` apart."""
    for c in range(geometry.components):
        if j < geometry.starts[c + 1] - geometry.starts[c]:
            tau[stride * geometry.order[geometry.starts[c] + j]] += force


@internal
def _take(
    geometry: GeometryTable, room: GeometryWork, j: int, a: Floats, stride: int, free: Floats, force: float
):
    """Write the j-th compliance column of every component, from the acceleration ``a`` by ``force`` on velocity j."""
    for c in range(geometry.components):
        first, n = geometry.starts[c], geometry.starts[c + 1] - geometry.starts[c]
        if j < n:
            block = room.block + geometry.blocks[c]
            for i in range(n):
                place = geometry.order[first + i]
                block[i * n + j] = (a[stride * place] - free[place]) / force


@internal
def _joint_compliance(table: Table, geometry: GeometryTable, room: GeometryWork, j: int, work: ContactWork):
    """Write compliance columns of up to `LANES` velocities from j on; return how many precede the first failure."""
    nq, nv, size, force = table.nq, table.nv, la.input_size(table), table.contact_table.settings.force
    count = min(LANES, geometry.widest - j)
    for i in range(size):
        for k in range(LANES):
            work.states[LANES * i + k] = work.middle[i]
    for k in range(count):
        _push_all(geometry, j + k, force, work.states + (LANES * (size - nv) + k), LANES)
    call_native(table.contact_table.slope, work.states, work.slopes)
    conditioning = work.slopes + LANES * (nq + nv)
    for k in range(count):
        clear = conditioning[k] > CLEARANCE_OF_STAGE and are_regular(
            table.settings, conditioning[LANES + k], conditioning[2 * LANES + k]
        )
        if not clear:
            return k
        _take(geometry, room, j + k, work.slopes + (LANES * nq + k), LANES, work.free, force)
    return count


@internal
def _leader(room: GeometryWork, c: int):
    """Return the component whose number is the island of component c."""
    while room.leader[c] != c:
        c = int(room.leader[c])
    return c


@internal
def _join(table: Table, room: GeometryWork, m: int, work: ContactWork):
    """Write the islands of the components, joined by the m active rows, to ``room.leader``."""
    for c in range(table.contact_table.geometry.components):
        room.leader[c] = c
    for i in range(m):
        row = int(work.which[i])
        one, other = int(room.shared[2 * row]), int(room.shared[2 * row + 1])
        if one >= 0 and other >= 0:
            one, other = _leader(room, one), _leader(room, other)
            room.leader[max(one, other)] = min(one, other)


@internal
def _island_of(room: GeometryWork, row: int):
    """Return the number of the island that a row belongs to."""
    one = int(room.shared[2 * row])
    return _leader(room, one if one >= 0 else int(room.shared[2 * row + 1]))


@internal
def solve_islands(table: Table, x: Floats, h: float, m: int, again: bool, work: ContactWork):
    """Write the impulses of m active rows to ``work.impulses``, island by island; return m, −1 if a solve fails."""
    contact_table, problem = table.contact_table, table.contact_table.problem
    geometry, room = contact_table.geometry, work_of(table)
    if room.ready[0] == 0.0:
        compute_compliance(table, work)
    for i in range(m):
        row = int(work.which[i])
        if work.known[row] == 0.0:
            compliance_of_row(geometry, room, row)
            work.known[row] = 1.0
    _join(table, room, m, work)
    worst, blocks = 0.0, problem.blocks
    contacts = problem.contacts
    for c in range(geometry.components):
        if room.leader[c] != c:
            continue
        count = _gather(table, room, c, contacts, blocks, True, work)
        if count == 0:
            continue
        few = count <= FEW_ROWS
        problem.sparse = 0 if few else 1
        if problem.sparse != 0:
            finite = _list_rows(contact_table, room, count, work)
        else:
            finite = _assemble(geometry, room, count, work)
        if not finite or not is_finite(room.given, count):
            return -1
        asked = cp.ROUGH if problem.sparse != 0 and not again else BEGINNINGS
        facts = cp.contact_workspace(problem.work, 0, 0, 0).facts
        solved = call_kernel(contact_table.solver, problem, work.solver, asked) == cp.SOLVED
        if again and problem.sparse != 0 and facts.residual > CONTACT_RESIDUAL:
            if count <= cp.MANY and _assemble(geometry, room, count, work):
                problem.sparse = 0
            solved = call_kernel(contact_table.solver, problem, work.solver, asked) == cp.SOLVED
        if solved and _may_stick(table, x, h, room, count, work):
            solved = call_kernel(contact_table.solver, problem, work.solver, asked) == cp.SOLVED
        while solved and _breaks_loose(table, room, count, work):
            solved = call_kernel(contact_table.solver, problem, work.solver, asked) == cp.SOLVED
        if not solved and (again or not is_finite(room.impulses, count)):
            contact_table.failed = tl.NOT_SOLVED
            return -1
        worst = max(worst, facts.residual)
        for i in range(count):
            work.impulses[int(room.chosen[i])] = room.impulses[i]
    cp.contact_workspace(problem.work, 0, 0, 0).facts.residual = worst
    problem.contacts, problem.blocks = contacts, blocks
    return m


@internal
def keep_rows(given: Floats, turn: Floats, m: int):
    """Subtract the drift ``turn`` of m rows from their velocities ``given``; for steps in which a contact closes.

    With the rows at the middle of the step every impact dissipates energy: vᵀM v decreases if r and H v obey the
    laws. Impulses that also cancel the drift up to the end of the step would do work.
    """
    axpy(-1.0, turn, given, m)
    fill(turn, 0.0, m)


@internal
def _gather(
    table: Table,
    room: GeometryWork,
    island: int,
    contacts: int,
    blocks: int,
    moves: bool,
    work: ContactWork,
):
    """Write the rows and blocks of an island to its contact problem; return the number of rows.

    Of a problem that ``moves`` in which a contact closes, the drift of the rows is left out.
    """
    contact_table, problem = table.contact_table, table.contact_table.problem
    i, count, found, closes = 0, 0, 0, False
    for block in range(blocks):
        k = int(work.owner[i])
        n = contact_table.sizes[k] if k >= 0 else 1
        if _island_of(room, int(work.which[i])) == island:
            closes = closes or (k >= 0 and work.delay[k] > 0.0)
            problem.sizes[found], room.numbers[found] = n, work.numbers[block]
            found += 1
            for j in range(i, i + n):
                room.chosen[count] = j
                room.given[count], room.turn[count] = work.given[j], work.turn[j]
                room.impulses[count] = work.impulses[j]
                count += 1
        if block < contacts:
            problem.contacts = found
        i += n
    if contacts == 0:
        problem.contacts = 0
    problem.rows, problem.blocks = count, found
    if closes and moves:
        keep_rows(room.given, room.turn, count)
    for i in range(count if moves else 0):
        room.turn[i] += work.rebound[int(work.which[int(room.chosen[i])])]
    return count


@internal
def _assemble(geometry: GeometryTable, room: GeometryWork, m: int, work: ContactWork):
    """Write the Delassus matrix W (m × m) of an island; return False if an entry is not finite."""
    for i in range(m):
        row = int(work.which[int(room.chosen[i])])
        for j in range(i + 1):
            other, value = int(work.which[int(room.chosen[j])]), 0.0
            for s in range(2):
                c = int(room.shared[2 * row + s])
                for t in range(2):
                    if c >= 0 and c == int(room.shared[2 * other + t]):
                        n = geometry.starts[c + 1] - geometry.starts[c]
                        part = room.parts + (2 * row + s) * geometry.widest
                        value += dot(part, room.compliance_column + (2 * other + t) * geometry.widest, n)
            work.delassus[i * m + j] = work.delassus[j * m + i] = value
    return is_finite(work.delassus, m * m)


@internal
def _list_rows(contact_table: ContactTable, room: GeometryWork, m: int, work: ContactWork):
    """Write the row numbers of an island and the diagonal of W for a solve by parts; return False if not finite."""
    geometry = contact_table.geometry
    for i in range(m):
        row = int(work.which[int(room.chosen[i])])
        room.numbered[i], value = row, 0.0
        for s in range(2):
            c = int(room.shared[2 * row + s])
            if c >= 0:
                at = (2 * row + s) * geometry.widest
                value += dot(
                    room.parts + at, room.compliance_column + at, geometry.starts[c + 1] - geometry.starts[c]
                )
        work.delassus[i] = value
    return is_finite(work.delassus, m)


@internal
def _may_stick(table: Table, x: Floats, h: float, room: GeometryWork, m: int, work: ContactWork):
    """Set the static coefficient for contacts whose slip reverses within the step; return False if there are none.

    A contact that slides in the opposite direction at the end has stopped in between, and may stick.
    """
    contact_table, problem, at, found, known = (
        table.contact_table,
        table.contact_table.problem,
        0,
        False,
        False,
    )
    for block in range(problem.contacts):
        k, n = int(work.owner[int(room.chosen[at])]), problem.sizes[block]
        if (
            contact_table.static[k] > contact_table.friction[k]
            and room.numbers[block] == contact_table.friction[k]
        ):
            if not known:
                _load_way(table, room, m, work)
                known = True
            for i in range(at + 1, at + n):
                work.left[i] = _speed_ahead(table, room, i, work)
            if turns_round(table, x, h, k, work.left + at, work):
                room.numbers[block], found = contact_table.static[k], True
        at += n
    return found


@internal
def _load_way(table: Table, room: GeometryWork, m: int, work: ContactWork):
    """Write the change of the generalized velocities by the impulses of an island to ``work.way``."""
    fill(work.way, 0.0, table.nv)
    for i in range(m):
        row = int(work.which[int(room.chosen[i])])
        add_parts(table.contact_table.geometry, room, room.compliance_column, row, room.impulses[i], work.way)


@internal
def _speed_ahead(table: Table, room: GeometryWork, i: int, work: ContactWork):
    """Return the velocity of the i-th row of an island at the end of the step; needs ``work.way``."""
    row = int(work.which[int(room.chosen[i])])
    return room.given[i] + along_parts(table.contact_table.geometry, room, room.parts, row, work.way)


@internal
def _breaks_loose(table: Table, room: GeometryWork, m: int, work: ContactWork):
    """Set the sliding coefficient for contacts that slide with the static one; return False if there are none."""
    contact_table, problem, at, found = table.contact_table, table.contact_table.problem, 0, False
    loose = True
    for block in range(problem.contacts):
        k = int(work.owner[int(room.chosen[at])])
        loose = loose and room.numbers[block] <= contact_table.friction[k]
        at += problem.sizes[block]
    if loose:
        return False
    _load_way(table, room, m, work)
    at = 0
    for block in range(problem.contacts):
        k, slides = int(work.owner[int(room.chosen[at])]), False
        for i in range(at + 1, at + problem.sizes[block]):
            slides = slides or abs(_speed_ahead(table, room, i, work)) > contact_table.settings.stick_speed
        if slides and room.numbers[block] > contact_table.friction[k]:
            room.numbers[block] = contact_table.friction[k]
            found = True
        at += problem.sizes[block]
    return found


@internal
def close_gaps(table: Table, m: int, work: ContactWork):
    """Write the displacement that closes gaps as far as possible to ``work.way``, island by island.

    ``work.given`` holds minus the gaps of those of the m active rows for which ``work.turn`` is not zero.
    """
    contact_table, problem = table.contact_table, table.contact_table.problem
    geometry, room = contact_table.geometry, work_of(table)
    contacts, blocks = problem.contacts, problem.blocks
    fill(work.way, 0.0, table.nv)
    for c in range(geometry.components):
        count = 0 if room.leader[c] != c else _gather(table, room, c, contacts, blocks, False, work)
        if not _has_gaps(room, count):
            continue
        problem.sparse = 0 if count <= FEW_ROWS else 1
        if problem.sparse != 0:
            _list_rows(contact_table, room, count, work)
        else:
            _assemble(geometry, room, count, work)
        if call_kernel(contact_table.solver, problem, work.solver, cp.CLOSE) == cp.SOLVED:
            for i in range(count):
                if room.impulses[i] != 0.0:
                    row = int(work.which[int(room.chosen[i])])
                    add_parts(geometry, room, room.compliance_column, row, room.impulses[i], work.way)
    problem.contacts, problem.blocks = contacts, blocks


@internal
def _has_gaps(room: GeometryWork, count: int):
    """Return True if a gap of the rows of an island shall be closed."""
    found = False
    for i in range(count):
        found = found or room.turn[i] != 0.0
    return found
