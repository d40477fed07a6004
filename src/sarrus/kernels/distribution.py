"""Controls and contact forces of least cost inside the friction cones: the kernel of laws for legged robots.

The unknowns are x = (u, λ): to the motion, the force of a contact is one more actuator. The first level is physics:
closed contacts do not accelerate and open ones have no force. The tasks follow level by level as in
`sarrus.kernels.command`, and give x_h. In the directions that they leave free,

    minimise xᵀW x   subject to √(λ_t1² + λ_t2²) ≤ μ λ_n, λ_n ≤ σ λ_max, u_min ≤ u ≤ u_max, rows of the user

(Aghili, Optimal control of legged robots subject to friction cone constraints, eq. (29)). Where that has no solution,
the tasks are relaxed and physics is not. Level after level, in the directions that physics and the levels before leave,

    minimise ‖T_k (x − x_h)‖² + ε ‖x − x_0‖²,   then xᵀW x

subject to the limits: x_0 is what was found before, and T_k, the rows of a level, are zero along the directions that those before it leave, so what is
found for a level stays as it is. Or all at once, with weights (ibid., section 3.3, for several priorities),

    minimise xᵀW x + Σ ρ_k ‖T_k (x − x_h)‖²

T_k (x − x_h) is the acceleration by which level k is disturbed.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import contact_layout as cn
from sarrus.kernels import law_layout as ll
from sarrus.kernels.command import begin_levels, prepare, remember, solve_level
from sarrus.kernels.cones import Shape
from sarrus.kernels.flat import internal, limits_at
from sarrus.kernels.interior_point import interior_point
from sarrus.kernels.law_layout import LawTable
from sarrus.kernels.record import Floats, laid
from sarrus.kernels.vectors import axpy, copy, copy_scaled, dot, fill, is_finite

# Where nothing is free, limits may be missed by this much, relative to the largest unknown. Of programs one after the
# other each has limits that are so much wider than those before it, so that what these have found is inside.
_MISSED, _TIGHTER = 1e-9, 1e-11
# ε, relative to the square of the size of T, and programs for a level, each near what was found by that before it.
NEARBY, PASSES = 1e-7, 3


def distribution(table: LawTable, x: Floats, what: int) -> int:
    """Write u and λ at the state in x to the law's answer; return the rank of A, negative where there are none."""
    contacts, answer = table.contacts, table.answer
    contacts.report[0] = cn.EXACT
    rank, total = prepare(table, x)
    if rank < 0:
        return rank
    work, n, free = ll.law_workspace(table), table.nu, table.nv - rank
    room = laid(contacts.work, cn.distribution_sizes(n, total, table.n_levels, 0))
    copy(work.table, room.rows, total * n)
    begin_levels(table, work)
    first, done = solve_level(table, work, 0, 0, 0, total, free)
    tasks = first
    room.ends[0] = done
    for level in range(1, table.n_levels):
        first, done = solve_level(table, work, level, first, done, total, free)
        room.ends[level] = done
    copy(answer, room.wanted, n)
    outcome = _choose(table, work, room, done, tasks, what)
    contacts.report[0] = outcome
    if outcome == cn.FAILED:
        return -2
    if not is_finite(answer, n):
        return -1
    if what == ll.SAMPLE:
        _go_on(table)
    return rank


@internal
def _go_on(table):
    """Remember controls and forces, and let the shares of the contacts go on."""
    own, kept = table.own, cn.memory_of(table)
    kept.known[0] = 1.0
    copy(table.answer, kept.controls, table.nu)
    remember(table)
    for k in range(table.states, table.states + table.n_states):
        own[k] = min(max(own[k], 0.0), 1.0)


@internal
def _choose(table, work, room, done, tasks, what):
    """Find the unknowns: with the tasks as they are, relaxed, relaxed with a jump, or as they were; return which."""
    kept, limits = cn.memory_of(table), cn.physics_of(table)
    near = what == ll.SAMPLE and limits.rate[0] > 0.0 and kept.known[0] == 1.0
    if _solve(table, work, room, kept.exact, done, near, 0, True):
        return cn.EXACT
    for attempt in range(2 if near else 1):
        held = near and attempt == 0
        if limits.relaxation[1] == 0.0:
            found = _descend(table, work, room, tasks, held)
        else:
            found = _weigh(table, work, room, tasks, held)
        if found:
            _note_misses(table, room, tasks)
            return cn.JUMPED if near and attempt == 1 else cn.RELAXED
    if table.contacts.hold == 1 and kept.known[0] == 1.0:
        copy(kept.controls, table.answer, table.nu)
        return cn.HELD
    return cn.FAILED


@internal
def _solve(table, work, room, slot, used, near, left, begins):
    """Solve for the unknowns of least cost in the directions turned[:, used:]; tell whether there are any."""
    cone = _begin(table, work, room, used, near)
    _add_cost(table, work, used, cone)
    _complete(cone, table.nu - used)
    return _distribute(table, work, cone, slot, used, near, left, begins)


@internal
def _weigh(table, work, room, tasks, near):
    """Solve with costs of what all levels miss at once; tell whether there is a solution."""
    used, row, limits = int(room.ends[0]), tasks, cn.physics_of(table)
    cone = _begin(table, work, room, used, near)
    _add_cost(table, work, used, cone)
    for level in range(1, table.n_levels):
        row = _add_misses(table, work, room, level, row, used, limits.relaxation[level], cone)
    _complete(cone, table.nu - used)
    found = _distribute(table, work, cone, cn.memory_of(table).relaxed, used, near, 0, True)
    if found:
        _accuse(table, work, cone, near)
    return found


@internal
def _descend(table, work, room, tasks, near):
    """Solve level after level, then for the least cost; tell whether the limits allow anything.

    The first levels that the limits allow as they are take one program together. Each of the others takes some, every
    one near where that before it has led. A program that rounding ends leaves what was found before it.
    """
    levels, slots = table.n_levels, cn.memory_of(table).relaxed
    size = cn.slot_size(table.nu, _most_rows(table))
    kept, found = levels - 1, False
    while kept > 0 and not found:
        kept -= 1
        copy(room.wanted, table.answer, table.nu)
        left = PASSES * (levels - 1 - kept)
        found = _solve(table, work, room, slots + kept * size, int(room.ends[kept]), near, left, True)
    if not found:
        return False
    row = tasks
    for level in range(1, levels):
        after = row + table[ll.LEVELS + 3 * level + 2]
        for turn in range(PASSES if level > kept else 0):
            left -= 1
            cone = _approach(table, work, room, slots + (levels + level) * size, level, row, near, left)
            if level == kept + 1 and turn == 0:
                _accuse(table, work, cone, near)
        row = after
    _solve(table, work, room, slots + levels * size, int(room.ends[levels - 1]), near, 0, False)
    for k in range(table.actuators):  # what rounding has left outside
        lower, upper = _bounds(table, k, near)
        table.answer[k] = min(max(table.answer[k], lower), upper)
    return True


@internal
def _approach(table, work, room, slot, level, row, near, left):
    """Solve for a level, whose rows begin at ``row``, near where the unknowns are; return the program."""
    used = int(room.ends[level - 1])
    cone = _begin(table, work, room, used, near)
    _add_misses(table, work, room, level, row, used, 1.0 / _size(table, room, level, row), cone)
    for a in range(table.nu - used):
        cone.quadratic[a * (table.nu - used + 1)] += NEARBY
    _complete(cone, table.nu - used)
    _distribute(table, work, cone, slot, used, near, left, False)
    return cone


@internal
def _bounds(table, k, near):
    """Return the least and the largest value of a control, from the one before it where that limits its rate."""
    limits = cn.physics_of(table)
    lower, upper = limits.lower[k], limits.upper[k]
    if near:
        kept, reach = cn.memory_of(table).controls[k], limits.rate[0] * table.settings.period
        lower, upper = max(lower, kept - reach), min(upper, kept + reach)
    return lower, upper


@internal
def _size(table, room, level, row):
    """Return the square of the largest acceleration of a level by one of all unknowns together."""
    n, size = table.nu, 0.0
    for i in range(row, row + table[ll.LEVELS + 3 * level + 2]):
        size = max(size, dot(room.rows + i * n, room.rows + i * n, n))
    return size if size > 0.0 else 1.0


@internal
def _out(table, level):
    """Return where in the answer stands what became of a level."""
    return table.nu + 1 + ll.PER_LEVEL * level


@internal
def _most_rows(table):
    return cn.most_rows(table.actuators, table.n_contacts, table.contacts.extra_rows)


@internal
def _begin(table, work, room, used, near):
    """Begin a program in the directions turned[:, used:], without costs, and return it."""
    free = table.nu - used
    _, _, rows, _ = _count(table, work, _sizes(table), near)
    cone = cl.cone_workspace(room.program, free, rows)
    fill(cone.quadratic, 0.0, free * free + free)
    return cone


@internal
def _sizes(table):
    """Return where the sizes of the cones of a program are."""
    contacts = table.contacts
    return contacts + (cn.PLACES + 2 * table.n_contacts + contacts.extra_cones)


@internal
def _distribute(table, work, cone, slot, used, near, left, begins):
    """Solve a program whose costs are there, after which so many others are left; where it has a solution add that to
    the answer. What was found before is inside the limits unless it ``begins``."""
    n, contacts, answer, told = table.nu, table.contacts, table.answer, cn.report_of(table)
    free, sizes = n - used, _sizes(table)
    linear, cones, rows, signature = _count(table, work, sizes, near)
    shape = Shape(free, rows, linear, cones, sizes, sizes + cones)
    _rows(table, work, used, near, cone)
    _tighten(cone, shape, left, begins, answer, n)
    if free == 0:
        fill(told.facts, 0.0, cl.N_FACTS)
        if _within(cone, shape, answer, n):
            return True
        _accuse(table, work, cone, near)
        return False
    warm = slot[0] == signature
    if warm:
        fill(cone.x, 0.0, free)
        for k in range(n):
            away = slot[1 + k] - answer[k]
            axpy(away, work.turned + (k * n + used), cone.x, free)
        for i in range(rows):
            cone.s[i], cone.z[i] = slot[1 + n + i], slot[1 + n + rows + i]
    limits = limits_at(cn.physics_of(table).solver)
    verdict = interior_point(cone, shape, limits, warm)
    _tell(cone, free, rows, told.facts)
    slot[0] = -1.0
    if verdict != cl.SOLVED:
        if begins:
            _accuse(table, work, cone, near)
        return False
    for k in range(n):
        answer[k] += dot(work.turned + (k * n + used), cone.x, free)
    slot[0] = signature
    copy(answer, slot + 1, n)
    for i in range(rows):
        slot[1 + n + i], slot[1 + n + rows + i] = cone.s[i], cone.z[i]
    return True


@internal
def _tighten(cone, shape, left, begins, answer, n):
    """Have limits be a little tighter the more programs are left, and what was found before be inside."""
    if begins and left == 0:
        return
    margin, at = _TIGHTER * _largest(answer, n), shape.linear
    least = -np.inf if begins else 0.5 * margin
    for i in range(at):
        cone.limits[i] = max(cone.limits[i] - left * margin, least)
    for c in range(shape.count):
        outer, size = cone.limits + at + 1, shape.sizes[c]
        least = np.sqrt(dot(outer, outer, size - 1)) + 0.5 * margin if not begins else -np.inf
        cone.limits[at] = max(cone.limits[at] - left * margin, least)
        at += size


@internal
def _largest(answer, n):
    """Return the largest unknown, or 1."""
    largest = 1.0
    for k in range(n):
        largest = max(largest, abs(answer[k]))
    return largest


@internal
def _tell(cone, n, m, told):
    """Write the facts of a program: residuals, costs and their gap, from its data."""
    curve = cost = bound = dual = primal = 0.0
    for c in range(n):
        slope = dot(cone.quadratic + c * n, cone.x, n)
        curve += cone.x[c] * slope
        cost += cone.linear[c] * cone.x[c]
        slope += cone.linear[c]
        for i in range(m):
            slope += cone.rows[i * n + c] * cone.z[i]
        dual = max(dual, abs(slope))
    for i in range(m):
        bound -= cone.limits[i] * cone.z[i]
        missed = cone.limits[i] - cone.s[i] - dot(cone.rows + i * n, cone.x, n)
        primal = max(primal, abs(missed))
    told[cl.COUNT] = cone.iterations[0]
    told[cl.PRIMAL], told[cl.DUAL], told[cl.GAP] = primal, dual, curve + cost - bound
    told[cl.COST], told[cl.DUAL_COST] = 0.5 * curve + cost, bound - 0.5 * curve


@internal
def _count(table, work, sizes, near):
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
def _add_cost(table, work, used, cone):
    """Add P and q of xᵀW x."""
    n, answer, limits = table.nu, table.answer, cn.physics_of(table)
    free = n - used
    for k in range(n):
        turned, weight = work.turned + k * n + used, 2.0 * limits.weights[k]
        for a in range(free):
            share = weight * turned[a]
            cone.linear[a] += share * answer[k]
            axpy(share, turned, cone.quadratic + a * free, a + 1)


@internal
def _add_misses(table, work, room, level, row, used, rho, cone):
    """Add P and q of ρ ‖T (x − x_h)‖² of a level whose rows begin at ``row``; return the next row."""
    n, answer, free = table.nu, table.answer, table.nu - used
    for _ in range(table[ll.LEVELS + 3 * level + 2]):
        fill(room.vector, 0.0, free)
        missed = 0.0
        for k in range(n):
            entry, at = room.rows[row * n + k], work.turned + k * n + used
            if entry != 0.0:
                axpy(entry, at, room.vector, free)
                missed += entry * (answer[k] - room.wanted[k])
        for a in range(free):
            share = 2.0 * rho * room.vector[a]
            cone.linear[a] += share * missed
            axpy(share, room.vector, cone.quadratic + a * free, a + 1)
        row += 1
    return row


@internal
def _complete(cone, free):
    """Copy the lower half of P to the upper one."""
    for a in range(free):
        for b in range(a):
            cone.quadratic[b * free + a] = cone.quadratic[a * free + b]


@internal
def _misses(table, room, first, end):
    """Return what rows of levels miss by the limits."""
    n, total = table.nu, 0.0
    for row in range(first, end):
        missed = 0.0
        for k in range(n):
            missed += room.rows[row * n + k] * (table.answer[k] - room.wanted[k])
        total += missed * missed
    return np.sqrt(total)


@internal
def _note_misses(table, room, tasks):
    """Add what levels miss by the limits to what they tell."""
    row = tasks
    for level in range(1, table.n_levels):
        end = row + table[ll.LEVELS + 3 * level + 2]
        table.answer[_out(table, level) + 1] += _misses(table, room, row, end)
        row = end


@internal
def _put(cone, free, row, at, factor, limit):
    """Write the row limit − factor × (row of the turned unknowns)."""
    copy_scaled(factor, at, cone.rows + row * free, free)
    cone.limits[row] = limit


@internal
def _rows(table, work, used, near, cone):
    """Write G and h: limits of the controls, of the normal forces and of the user, then the cones."""
    contacts, limits, answer = table.contacts, cn.physics_of(table), table.answer
    n, nu, count, mode = table.nu, table.actuators, table.n_contacts, contacts.friction
    free, row = n - used, 0
    for k in range(nu):
        at = work.turned + k * n + used
        lower, upper = _bounds(table, k, near)
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
def _within(cone, shape, answer, n):
    """Tell whether the limits hold where nothing is free; write by how much they do not to the dual."""
    allowed = _MISSED * _largest(answer, n)
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
def _accuse(table, work, cone, near):
    """Write how strongly each actuator, contact and row of the user takes part in the conflict: by the proof that there
    is no solution, or by the multipliers of the relaxed one."""
    contacts, limits, told = table.contacts, cn.physics_of(table), cn.report_of(table).conflict
    nu, count, mode = table.actuators, table.n_contacts, contacts.friction
    _, _, rows, _ = _count(table, work, _sizes(table), near)
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
