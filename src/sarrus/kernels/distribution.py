"""Controls and contact forces of least cost inside the friction cones: the kernel of laws for legged robots.

The unknowns are x = (u, λ): to the motion, the force of a contact is one more actuator. The first level is physics:
closed contacts do not accelerate and open ones have no force. The tasks follow level by level as in
`sarrus.kernels.command`. In the directions that they leave free,

    minimise xᵀW x   subject to √(λ_t1² + λ_t2²) ≤ μ λ_n, λ_n ≤ σ λ_max, u_min ≤ u ≤ u_max, rows of the user

(Aghili, Optimal control of legged robots subject to friction cone constraints, eq. (29)). Where that has no solution,
the tasks are relaxed and physics is not. Level after level,

    minimise ‖T_k x − d_k‖² + ε ‖x − x_0‖²,   then xᵀW x

subject to the limits: x_0 is what was found before, and later levels go along the best answers of those before them
(`sarrus.kernels.faces`). Or all at once, with weights (ibid., section 3.3, for several priorities),

    minimise xᵀW x + Σ ρ_k ‖T_k x − d_k‖²

T_k x = d_k is what level k wants.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import contact_layout as cn
from sarrus.kernels import law_layout as ll
from sarrus.kernels.command import begin_levels, prepare, remember, solve_level
from sarrus.kernels.cones import Shape
from sarrus.kernels.contact_limits import (
    accuse,
    are_kept,
    bounds_of,
    count_rows,
    largest_of,
    order_of,
    sizes_of,
    tighten,
    whole_sizes,
    write_rows,
)
from sarrus.kernels.faces import COUNTS, FREE, add_across, kind_of_faces, mark, on_faces, use_up
from sarrus.kernels.flat import internal, limits_at
from sarrus.kernels.interior_point import interior_point
from sarrus.kernels.law_layout import LawTable
from sarrus.kernels.record import Floats, laid
from sarrus.kernels.vectors import axpy, copy, dot, fill, is_finite

# ε, relative to the square of the size of T, and programs for a level, each near what was found by that before it.
NEARBY, PASSES = 1e-7, 3
# The first of programs one after the other has limits that are so much tighter, relative to the largest unknown, every
# other one half of that before it: so what was found before is inside.
TIGHTER = 1e-9
# What a level misses, relative to what it wants, up to which it is fulfilled.
_MET = 1e-9


def distribution(table: LawTable, x: Floats, what: int) -> int:
    """Write u and λ at the state in x to the law's answer; return the rank of A, negative where there are none."""
    contacts, answer = table.contacts, table.answer
    contacts.report[0] = cn.EXACT
    rank, total = prepare(table, x)
    if rank < 0:
        return rank
    work, n, free = ll.law_workspace(table), table.nu, table.nv - rank
    room = laid(contacts.work, cn.distribution_sizes(n, total, table.n_levels, _most_rows(table), 0))
    copy(work.table, room.rows, total * n)
    copy(work.right, room.right, total)
    begin_levels(table, work)
    first, done = solve_level(table, work, 0, 0, 0, total, free)
    tasks = first
    room.ends[0] = done
    for level in range(1, table.n_levels):
        first, done = solve_level(table, work, level, first, done, total, free)
        room.ends[level] = done
    copy(answer, room.wanted, n)
    copy(work.turned, room.turned, n * n)
    room.margin[0] = 0.0
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
    """Remember controls and forces, and what the law is to know at the next sample."""
    kept = cn.memory_of(table)
    kept.known[0] = 1.0
    copy(table.answer, kept.controls, table.nu)
    remember(table)


@internal
def _choose(table, work, room, done, tasks, what):
    """Find the unknowns: with the tasks as they are, relaxed, relaxed with a jump, or as they were; return which."""
    kept, limits = cn.memory_of(table), cn.physics_of(table)
    near = what == ll.SAMPLE and limits.rate[0] > 0.0 and kept.known[0] == 1.0
    if _solve(table, work, room, kept.exact, done, near, True):
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
def _solve(table, work, room, slot, used, near, begins):
    """Solve for the unknowns of least cost in the directions turned[:, used:]; tell whether there are any."""
    cone = _begin(table, work, room, used, near)
    _add_cost(table, work, used, cone)
    _complete(cone, table.nu - used)
    return _distribute(table, work, room, cone, slot, used, near, begins)


@internal
def _weigh(table, work, room, tasks, near):
    """Solve with costs of what all levels miss at once; tell whether there is a solution."""
    used, row, limits = int(room.ends[0]), tasks, cn.physics_of(table)
    cone = _begin(table, work, room, used, near)
    _add_cost(table, work, used, cone)
    for level in range(1, table.n_levels):
        row = _add_misses(table, work, room, level, row, used, limits.relaxation[level], cone)
    _complete(cone, table.nu - used)
    found = _distribute(table, work, room, cone, cn.memory_of(table).relaxed, used, near, True)
    if found:
        accuse(table, work, cone, near)
    return found


@internal
def _descend(table, work, room, tasks, near):
    """Solve level after level, then for the least cost; tell whether the limits allow anything.

    The first levels that the limits allow as they are take one program together. Each of the others takes some, every
    one near where that before it has led, and leaves its best answers to those after it: the faces of the limits on
    which these are, in directions that the level does not see. A program that rounding ends leaves what was found
    before it.
    """
    n, levels, slots = table.nu, table.n_levels, cn.memory_of(table).relaxed
    size, row = cn.slot_size(n, _most_rows(table)), tasks
    copy(room.turned, work.turned, n * n)
    room.margin[0] = 0.0
    kept, found = levels - 1, False
    while kept > 0 and not found:
        kept -= 1
        copy(room.wanted, table.answer, n)
        found = _solve(table, work, room, slots + kept * size, int(room.ends[kept]), near, True)
    if not found:
        return False
    used = int(room.ends[kept])
    room.margin[0] = TIGHTER * largest_of(table.answer, n)
    fill(room.faces, FREE, _most_rows(table))
    for level in range(1, levels):
        after = row + table[ll.LEVELS + 3 * level + 2]
        if level > kept:
            slot = slots + (levels + level) * size
            used = _fulfil(table, work, room, slot, level, row, used, near, level == kept + 1)
        row = after
    _solve(table, work, room, slots + levels * size, used, near, False)
    for k in range(table.actuators):  # what rounding has left outside
        lower, upper = bounds_of(table, k, near)
        table.answer[k] = min(max(table.answer[k], lower), upper)
    return True


@internal
def _fulfil(table, work, room, slot, level, row, used, near, tells):
    """Find a best answer of a level whose rows begin at ``row``, and use up directions across its best answers.

    Returns how many directions are used up. With ``tells`` it says whose limits are in the way.
    """
    n, free, end = table.nu, table.nu - used, row + table[ll.LEVELS + 3 * level + 2]
    scale, solved = _size(table, room, level, row), False
    cone = _begin(table, work, room, used, near)
    for turn in range(PASSES):
        cone = _begin(table, work, room, used, near)
        _add_misses(table, work, room, level, row, used, 1.0 / scale, cone)
        for a in range(free):
            cone.quadratic[a * (free + 1)] += NEARBY
        _complete(cone, free)
        # one that is the first does not know yet of tighter limits
        begins = tells and turn == 0
        solved = _distribute(table, work, room, cone, slot, used, near, begins)
        if begins:
            accuse(table, work, cone, near)
    out = laid(room.across, cn.across_sizes(n, _total(table), _most_rows(table)))
    missed, count = _misses(table, room, row, end), 0
    if solved and missed > _MET * (1.0 + table.answer[_out(table, level) + 2]):
        linear, cones, _, _ = count_rows(table, work, whole_sizes(table), near)
        slope = 2.0 * missed / np.sqrt(scale)
        count = mark(cone, linear, cones, whole_sizes(table), free, COUNTS * slope, room.faces, out)
    count = add_across(room.rows, row, end, n, work.turned, used, np.sqrt(scale), out, count)
    return use_up(work.turned, n, used, out, count, order_of(table))


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
def _total(table):
    """Return the number of rows of all levels."""
    total = 0
    for level in range(table.n_levels):
        total += table[ll.LEVELS + 3 * level + 2]
    return total


@internal
def _most_rows(table):
    return cn.most_rows(table.actuators, table.n_contacts, table.contacts.extra_rows)


@internal
def _begin(table, work, room, used, near):
    """Begin a program in the directions turned[:, used:], without costs, and return it."""
    free = table.nu - used
    _, _, rows, _ = count_rows(table, work, whole_sizes(table), near)
    cone = cl.cone_workspace(room.program, free, rows)
    fill(cone.quadratic, 0.0, free * free + free)
    return cone


@internal
def _distribute(table, work, room, cone, slot, used, near, begins):
    """Solve a program whose costs are there; where it has a solution add that to the answer.

    What was found before is inside the limits unless it ``begins``."""
    n, answer, told = table.nu, table.answer, cn.report_of(table)
    free, sizes = n - used, sizes_of(table)
    linear, cones, rows, signature = count_rows(table, work, sizes, near)
    write_rows(table, work, used, near, cone)
    if room.margin[0] > 0.0:
        signature = kind_of_faces(room.faces, linear + cones, signature)
        linear, cones, rows = on_faces(cone, linear, cones, sizes, free, room.faces)
    shape = Shape(free, rows, linear, cones, sizes, order_of(table))
    if room.margin[0] > 0.0:
        tighten(cone, shape, room.margin[0], begins)
        room.margin[0] *= 0.5
    if free == 0:
        fill(told.facts, 0.0, cl.N_FACTS)
        if are_kept(cone, shape, answer, n):
            return True
        accuse(table, work, cone, near)
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
            accuse(table, work, cone, near)
        return False
    for k in range(n):
        answer[k] += dot(work.turned + (k * n + used), cone.x, free)
    slot[0] = signature
    copy(answer, slot + 1, n)
    for i in range(rows):
        slot[1 + n + i], slot[1 + n + rows + i] = cone.s[i], cone.z[i]
    return True


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
    """Add P and q of ρ ‖T x − d‖² of a level whose rows begin at ``row``; return the next row."""
    n, free = table.nu, table.nu - used
    for _ in range(table[ll.LEVELS + 3 * level + 2]):
        fill(room.vector, 0.0, free)
        for k in range(n):
            if room.rows[row * n + k] != 0.0:
                axpy(room.rows[row * n + k], work.turned + (k * n + used), room.vector, free)
        missed = dot(room.rows + row * n, table.answer, n) - room.right[row]
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
    """Return what rows of levels miss."""
    total = 0.0
    for row in range(first, end):
        total += (dot(room.rows + row * table.nu, table.answer, table.nu) - room.right[row]) ** 2
    return np.sqrt(total)


@internal
def _note_misses(table, room, tasks):
    """Write what levels miss to what they tell."""
    row = tasks
    for level in range(1, table.n_levels):
        end = row + table[ll.LEVELS + 3 * level + 2]
        table.answer[_out(table, level) + 1] = _misses(table, room, row, end)
        row = end
