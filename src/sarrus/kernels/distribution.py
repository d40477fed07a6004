"""Controls and contact forces of least cost inside the friction cones: the kernel of laws for legged robots.

The unknowns are x = (u, λ): to the motion, the force of a contact is one more actuator. The first level is physics:
closed contacts do not accelerate and open ones have no force. The tasks follow level by level as in
`sarrus.kernels.command`, and give x_h. In the directions that they leave free,

    minimise xᵀW x   subject to √(λ_t1² + λ_t2²) ≤ μ λ_n, λ_n ≤ σ λ_max, u_min ≤ u ≤ u_max, rows of the user

(Aghili, Optimal control of legged robots subject to friction cone constraints, eq. (29)). Where that has no solution,
the tasks are relaxed and physics is not: in all directions that the first level leaves,

    minimise xᵀW x + Σ ρ_k ‖T_k (x − x_h)‖²

over the rows T_k of the levels (ibid., section 3.3, for several priorities): T_k (x − x_h) is the acceleration by which
level k is disturbed.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels import cone_layout as cl
from sarrus.kernels import contact_layout as cn
from sarrus.kernels import law_layout as ll
from sarrus.kernels.command import begin_levels, permutation, prepare, remember, solve_level
from sarrus.kernels.cones import dot
from sarrus.kernels.flat import flat_at, integers_at, internal
from sarrus.kernels.interior_point import interior_point

# Where nothing is free, limits may be missed by this much, relative to the largest unknown.
_MISSED = 1e-9


def distribution(table, x, what):
    """Write u and λ at the state in x to the law's answer; return the rank of A, negative where there are none."""
    settings, contacts = flat_at(table[ll.SETTINGS]), integers_at(table[ll.CONTACTS])
    flat_at(contacts[cn.REPORT])[0] = cn.EXACT
    rank, total = prepare(table, x)
    if rank < 0:
        return rank
    answer, s = flat_at(table[ll.ANSWER]), flat_at(table[ll.WORK])
    ws, perm, n, free = ll.law_workspace(table), permutation(table), table[ll.NU], table[ll.NV] - rank
    dw = cn.distribution_workspace(n, total, 0)
    work = flat_at(contacts[cn.WORK])
    for i in range(total * n):
        work[dw.rows + i] = s[ws.table + i]
    begin_levels(table, s, ws)
    first, done = solve_level(table, settings, answer, s, perm, ws, 0, 0, 0, total, free)
    tasks, left = first, done
    for level in range(1, table[ll.N_LEVELS]):
        first, done = solve_level(table, settings, answer, s, perm, ws, level, first, done, total, free)
    outcome = _choose(table, contacts, s, ws, work, dw, done, tasks, left, what)
    flat_at(contacts[cn.REPORT])[0] = outcome
    if outcome == cn.FAILED:
        return -2
    wrong = 0.0
    for k in range(n):
        wrong += 0.0 * answer[k]
    if wrong != 0.0:
        return -1
    if what == ll.SAMPLE:
        _go_on(table, contacts, answer)
    return rank


@internal
def _go_on(table, contacts, answer):
    """Remember controls and forces, and let the shares of the contacts go on."""
    own, kept = flat_at(table[ll.INPUT]), flat_at(contacts[cn.MEMORY])
    kept[0] = 1.0
    for k in range(table[ll.NU]):
        kept[1 + k] = answer[k]
    remember(table)
    for k in range(table[ll.STATES], table[ll.STATES] + table[ll.N_STATES]):
        own[k] = min(max(own[k], 0.0), 1.0)


@internal
def _choose(table, contacts, s, ws, work, dw, done, tasks, left, what):
    """Find the unknowns: with the tasks as they are, relaxed, relaxed with a jump, or as they were; return which."""
    n, nu, answer = table[ll.NU], table[ll.ACTUATORS], flat_at(table[ll.ANSWER])
    ph = cn.physics(nu, table[ll.N_CONTACTS], n, table[ll.N_LEVELS])
    data, kept = flat_at(contacts[cn.PHYSICS]), flat_at(contacts[cn.MEMORY])
    near = what == ll.SAMPLE and data[ph.rate] > 0.0 and kept[0] == 1.0
    if _distribute(table, contacts, s, ws, work, dw, done, n - done, tasks, near, False):
        return cn.EXACT
    for attempt in range(2 if near else 1):
        held = near and attempt == 0
        if _distribute(table, contacts, s, ws, work, dw, left, n - left, tasks, held, True):
            return cn.JUMPED if near and attempt == 1 else cn.RELAXED
    if contacts[cn.HOLD] == 1 and kept[0] == 1.0:
        for k in range(n):
            answer[k] = kept[1 + k]
        return cn.HELD
    return cn.FAILED


@internal
def _distribute(table, contacts, s, ws, work, dw, used, free, tasks, near, relaxed):
    """Solve for the unknowns in the directions turned[:, used:], with costs on the rows from ``tasks`` on; where
    there is a solution write it to the answer."""
    n, nu, count = table[ll.NU], table[ll.ACTUATORS], table[ll.N_CONTACTS]
    answer = flat_at(table[ll.ANSWER])
    data, kept, told = (
        flat_at(contacts[cn.PHYSICS]),
        flat_at(contacts[cn.MEMORY]),
        flat_at(contacts[cn.REPORT]),
    )
    ph = cn.physics(nu, count, n, table[ll.N_LEVELS])
    sizes = contacts + (cn.PLACES + 2 * count + contacts[cn.EXTRA_CONES])
    linear, cones, rows, signature = _count(table, contacts, s, ws, data, ph, sizes, near)
    perm = contacts + (cn.PLACES + 2 * count + contacts[cn.EXTRA_CONES] + cones)
    wc = cl.cone_workspace(free, rows)
    p = flat_at(contacts[cn.WORK] + 8 * dw.program)
    _cost(table, data, ph, answer, s, ws, work, dw, used, free, tasks, relaxed, p, wc)
    _rows(table, contacts, s, ws, data, ph, answer, kept, used, free, near, p, wc)
    if free == 0:
        for k in range(cl.N_FACTS):
            told[1 + k] = 0.0
        if _within(p, wc, linear, cones, sizes, answer, n):
            return True
        _accuse(table, contacts, s, ws, p, wc, told, rows, near)
        return False
    me = cn.memory(n, cn.most_rows(nu, count, contacts[cn.EXTRA_ROWS]))
    slot = me.relaxed if relaxed else me.exact
    warm = kept[slot] == signature
    if warm:
        for c in range(free):
            p[wc.x + c] = 0.0
        for k in range(n):
            away = kept[slot + 1 + k] - answer[k]
            for c in range(free):
                p[wc.x + c] += away * s[ws.turned + k * n + used + c]
        for i in range(rows):
            p[wc.s + i], p[wc.z + i] = kept[slot + 1 + n + i], kept[slot + 1 + n + rows + i]
    verdict = interior_point(p, wc, free, linear, cones, sizes, perm, data + ph.solver, warm)
    _tell(p, wc, free, rows, told)
    kept[slot] = -1.0
    if verdict != cl.SOLVED:
        _accuse(table, contacts, s, ws, p, wc, told, rows, near)
        return False
    if relaxed:
        _accuse(table, contacts, s, ws, p, wc, told, rows, near)
    _settle(table, answer, s, ws, work, dw, used, free, tasks, relaxed, p, wc)
    kept[slot] = signature
    for k in range(n):
        kept[slot + 1 + k] = answer[k]
    for i in range(rows):
        kept[slot + 1 + n + i], kept[slot + 1 + n + rows + i] = p[wc.s + i], p[wc.z + i]
    return True


@internal
def _tell(p, wc, n, m, told):
    """Write the facts of a program: residuals, costs and their gap, from its data."""
    curve = cost = bound = dual = primal = 0.0
    for c in range(n):
        slope = dot(p, wc.quadratic + c * n, wc.x, n)
        curve += p[wc.x + c] * slope
        cost += p[wc.linear + c] * p[wc.x + c]
        slope += p[wc.linear + c]
        for i in range(m):
            slope += p[wc.rows + i * n + c] * p[wc.z + i]
        dual = max(dual, abs(slope))
    for i in range(m):
        bound -= p[wc.limits + i] * p[wc.z + i]
        missed = p[wc.limits + i] - p[wc.s + i] - dot(p, wc.rows + i * n, wc.x, n)
        primal = max(primal, abs(missed))
    told[1 + cl.COUNT] = p[wc.iterations]
    told[1 + cl.PRIMAL], told[1 + cl.DUAL], told[1 + cl.GAP] = primal, dual, curve + cost - bound
    told[1 + cl.COST], told[1 + cl.DUAL_COST] = 0.5 * curve + cost, bound - 0.5 * curve


@internal
def _count(table, contacts, s, ws, data, ph, sizes, near):
    """Write the sizes of the cones; return the number of half-lines, of cones, of rows, and what tells programs of
    different rows apart."""
    nu, count, mode = table[ll.ACTUATORS], table[ll.N_CONTACTS], contacts[cn.FRICTION]
    linear, cones, signature = 0, 0, 2.0 if near else 0.0
    for k in range(nu):
        linear += 1 if np.isfinite(data[ph.upper + k]) or near else 0
        linear += 1 if np.isfinite(data[ph.lower + k]) or near else 0
    weight = 4.0
    for k in range(count):
        if s[ws.contacts + k] != 0.0 and mode != cn.NO_LIMITS:
            signature += weight
            size = contacts[cn.PLACES + 2 * k + 1]
            linear += 1 if np.isfinite(data[ph.largest + k]) else 0
            if size == 1:
                linear += 1
            elif mode == cn.PYRAMID:
                linear += 4
            else:
                sizes[cones] = size
                cones += 1
        weight *= 2.0
    linear += contacts[cn.EXTRA_LINEAR]
    for k in range(contacts[cn.EXTRA_CONES]):
        sizes[cones] = contacts[cn.PLACES + 2 * count + k]
        cones += 1
    rows = linear
    for c in range(cones):
        rows += sizes[c]
    return linear, cones, rows, signature


@internal
def _cost(table, data, ph, answer, s, ws, work, dw, used, free, tasks, relaxed, p, wc):
    """Write P and q of xᵀW x, and of what the levels miss where they are relaxed."""
    n = table[ll.NU]
    for i in range(free * free + free):
        p[wc.quadratic + i] = 0.0
    for k in range(n):
        row, weight = ws.turned + k * n + used, 2.0 * data[ph.weights + k]
        for a in range(free):
            share = weight * s[row + a]
            p[wc.linear + a] += share * answer[k]
            for b in range(a + 1):
                p[wc.quadratic + a * free + b] += share * s[row + b]
    if relaxed:
        row = tasks
        for level in range(1, table[ll.N_LEVELS]):
            weight = 2.0 * data[ph.relaxation + level]
            for _ in range(table[ll.LEVELS + 3 * level + 2]):
                for a in range(free):
                    work[dw.vector + a] = 0.0
                for k in range(n):
                    entry, at = work[dw.rows + row * n + k], ws.turned + k * n + used
                    if entry != 0.0:
                        for a in range(free):
                            work[dw.vector + a] += entry * s[at + a]
                for a in range(free):
                    share = weight * work[dw.vector + a]
                    for b in range(a + 1):
                        p[wc.quadratic + a * free + b] += share * work[dw.vector + b]
                row += 1
    for a in range(free):
        for b in range(a):
            p[wc.quadratic + b * free + a] = p[wc.quadratic + a * free + b]


@internal
def _put(p, wc, free, row, s, at, factor, limit):
    """Write the row limit − factor × (row of the turned unknowns)."""
    for c in range(free):
        p[wc.rows + row * free + c] = factor * s[at + c]
    p[wc.limits + row] = limit


@internal
def _rows(table, contacts, s, ws, data, ph, answer, kept, used, free, near, p, wc):
    """Write G and h: limits of the controls, of the normal forces and of the user, then the cones."""
    n, nu, count, mode = table[ll.NU], table[ll.ACTUATORS], table[ll.N_CONTACTS], contacts[cn.FRICTION]
    reach = data[ph.rate] * flat_at(table[ll.SETTINGS])[ll.PERIOD]
    row = 0
    for k in range(nu):
        at, upper, lower = ws.turned + k * n + used, data[ph.upper + k], data[ph.lower + k]
        if near:
            upper, lower = min(upper, kept[1 + k] + reach), max(lower, kept[1 + k] - reach)
        if np.isfinite(upper):
            _put(p, wc, free, row, s, at, 1.0, upper - answer[k])
            row += 1
        if np.isfinite(lower):
            _put(p, wc, free, row, s, at, -1.0, answer[k] - lower)
            row += 1
    for cones in range(2):
        for k in range(count):
            if s[ws.contacts + k] == 0.0 or mode == cn.NO_LIMITS:
                continue
            first, size, mu = (
                contacts[cn.PLACES + 2 * k],
                contacts[cn.PLACES + 2 * k + 1],
                data[ph.friction + k],
            )
            at = ws.turned + first * n + used
            if cones == 1:
                if size > 1 and mode == cn.CONE:
                    _put(p, wc, free, row, s, at, -mu, mu * answer[first])
                    for i in range(1, size):
                        _put(p, wc, free, row + i, s, at + i * n, -1.0, answer[first + i])
                    row += size
                continue
            if np.isfinite(data[ph.largest + k]):
                limit = s[ws.contacts + count + k] * data[ph.largest + k]
                _put(p, wc, free, row, s, at, 1.0, limit - answer[first])
                row += 1
            if size == 1:
                _put(p, wc, free, row, s, at, -1.0, answer[first])
                row += 1
            elif mode == cn.PYRAMID:
                side = mu / np.sqrt(2.0)
                for i in range(1, 3):
                    for way in range(2):
                        sign = 1.0 - 2.0 * way
                        _put(
                            p,
                            wc,
                            free,
                            row,
                            s,
                            at,
                            -side,
                            side * answer[first] - sign * answer[first + i],
                        )
                        for c in range(free):
                            p[wc.rows + row * free + c] += sign * s[at + i * n + c]
                        row += 1
        if cones == 0:
            linear = contacts[cn.EXTRA_LINEAR]
            row = _users(contacts, answer, n, 0, linear, s, ws, used, free, row, p, wc)
    first, end = contacts[cn.EXTRA_LINEAR], contacts[cn.EXTRA_ROWS]
    _users(contacts, answer, n, first, end, s, ws, used, free, row, p, wc)


@internal
def _users(contacts, answer, n, first, end, s, ws, used, free, row, p, wc):
    """Write rows of the user, h − G x; return the next row."""
    extra, given = contacts[cn.EXTRA_ROWS], flat_at(contacts[cn.EXTRA])
    for i in range(first, end):
        for c in range(free):
            p[wc.rows + row * free + c] = 0.0
        value = given[extra * n + i]
        for k in range(n):
            weight = given[i * n + k]
            if weight != 0.0:
                value -= weight * answer[k]
                for c in range(free):
                    p[wc.rows + row * free + c] += weight * s[ws.turned + k * n + used + c]
        p[wc.limits + row] = value
        row += 1
    return row


@internal
def _within(p, wc, linear, cones, sizes, answer, n):
    """Tell whether the limits hold where nothing is free; write by how much they do not to the dual."""
    allowed = 1.0
    for k in range(n):
        allowed = max(allowed, abs(answer[k]))
    allowed *= _MISSED
    missed, at = 0.0, linear
    for i in range(linear):
        p[wc.z + i] = max(0.0, -p[wc.limits + i])
        missed = max(missed, p[wc.z + i])
    for c in range(cones):
        outer = wc.limits + at + 1
        for i in range(sizes[c]):
            p[wc.z + at + i] = 0.0
        p[wc.z + at] = max(0.0, np.sqrt(dot(p, outer, outer, sizes[c] - 1)) - p[wc.limits + at])
        missed = max(missed, p[wc.z + at])
        at += sizes[c]
    return missed <= allowed


@internal
def _settle(table, answer, s, ws, work, dw, used, free, tasks, relaxed, p, wc):
    """Add the solution to the unknowns, and what levels miss by it to what they tell."""
    n = table[ll.NU]
    for k in range(n):
        change = 0.0
        for c in range(free):
            change += s[ws.turned + k * n + used + c] * p[wc.x + c]
        work[dw.vector + k] = change
        answer[k] += change
    if relaxed:
        row = tasks
        for level in range(1, table[ll.N_LEVELS]):
            total = 0.0
            for _ in range(table[ll.LEVELS + 3 * level + 2]):
                total += dot(work, dw.rows + row * n, dw.vector, n) ** 2
                row += 1
            answer[n + 1 + ll.PER_LEVEL * level + 1] += np.sqrt(total)


@internal
def _accuse(table, contacts, s, ws, p, wc, told, rows, near):
    """Write how strongly each actuator, contact and row of the user takes part in the conflict: by the proof that there
    is no solution, or by the multipliers of the relaxed one."""
    nu, count, mode = table[ll.ACTUATORS], table[ll.N_CONTACTS], contacts[cn.FRICTION]
    data, ph = flat_at(contacts[cn.PHYSICS]), cn.physics(nu, count, table[ll.NU], table[ll.N_LEVELS])
    out = 1 + cl.N_FACTS
    for k in range(nu + count):
        told[out + k] = 0.0
    row, users = 0, out + nu + count
    for k in range(nu):
        # what pushes against both limits of an actuator proves nothing
        if np.isfinite(data[ph.upper + k]) or near:
            told[out + k] += p[wc.z + row]
            row += 1
        if np.isfinite(data[ph.lower + k]) or near:
            told[out + k] -= p[wc.z + row]
            row += 1
        told[out + k] = abs(told[out + k])
    for cones in range(2):
        for k in range(count):
            if s[ws.contacts + k] == 0.0 or mode == cn.NO_LIMITS:
                continue
            size = contacts[cn.PLACES + 2 * k + 1]
            number = 0
            if cones == 0:
                number += 1 if np.isfinite(data[ph.largest + k]) else 0
                number += 1 if size == 1 else 0
                number += 4 if size > 1 and mode == cn.PYRAMID else 0
            elif size > 1 and mode == cn.CONE:
                number = size
            row = _blame(told, out + nu + k, p, wc.z, row, number)
        number = contacts[cn.EXTRA_LINEAR] if cones == 0 else rows - row
        for i in range(number):
            told[users + i] = abs(p[wc.z + row + i])
        users += number
        row += number


@internal
def _blame(told, who, p, dual, row, number):
    """Add so many entries of the dual to what is told of one; return the next row."""
    for i in range(number):
        told[who] += abs(p[dual + row + i])
    return row + number
