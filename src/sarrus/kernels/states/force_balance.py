"""Least controls, then least forces of contacts and dry friction, that balance a load: two cone programs.

R u + C y = w, y within the laws of friction, u within limits: u is minimal, then y is minimal for this u. For
`sarrus.kernels.states.support`, and for `sarrus.dynamics.optimize.force_balance`.
"""

from __future__ import annotations

import numpy as np

from sarrus.kernels.algebra import factor as fa
from sarrus.kernels.algebra.vectors import axpy, copy, dot, fill
from sarrus.kernels.memory import balance_layout as bl
from sarrus.kernels.memory import cone_layout as cl
from sarrus.kernels.memory.balance_layout import Balance, BalanceRoom
from sarrus.kernels.memory.record import Floats
from sarrus.kernels.platform.native_call import call_kernel
from sarrus.kernels.platform.pointers import internal
from sarrus.kernels.states.tolerances import ROUNDING_OF_FORCES


def force_balance(x: Balance, state: Floats, what: int) -> int:
    """Write the forces of a balance and which are unique; return how well they balance. ``state`` is not used.

    With ``what`` ANY: return `SUPPORTED` where any forces balance.
    """
    room = bl.balance_room(x)
    n = x.controls + x.forces
    if what == bl.ANY:
        if least_squares(x, 0, n, room) > x.tolerances.balanced:
            return bl.UNREACHABLE
        if n == 0:
            return bl.SUPPORTED
        return bl.SUPPORTED if _solve_program(x, 0, n, room) else bl.FORBIDDEN
    code = balance(x, room)
    mark_unique(x, room)
    return code


@internal
def balance(x: Balance, room: BalanceRoom):
    """Write the least u, then the least y, to ``room.x``; without a balance those with the least residual."""
    f, nu = x.motions, x.controls
    n = nu + x.forces
    code = bl.UNREACHABLE
    if least_squares(x, 0, n, room) <= x.tolerances.balanced:
        code = bl.SUPPORTED
    if x.forces > 0 or (x.limited != 0 and nu > 0):
        if code == bl.SUPPORTED:
            code = _least_forces(x, room)
        if code != bl.SUPPORTED:
            _nearest(x, room)
    _clear_rounding(nu, n, room)
    left = _missing(f, n, room)
    if code == bl.FORBIDDEN and left <= x.tolerances.balanced:
        code = bl.SUPPORTED
    if code == bl.SUPPORTED and left > x.tolerances.balanced:
        code = bl.ALMOST
    return code


@internal
def _clear_rounding(nu: int, n: int, room: BalanceRoom):
    """Set y that are rounding of the largest one to zero."""
    largest = 0.0
    for j in range(nu, n):
        largest = max(largest, abs(room.x[j]))
    for j in range(nu, n):
        if abs(room.x[j]) <= ROUNDING_OF_FORCES * largest:
            room.x[j] = 0.0


@internal
def least_squares(x: Balance, first: int, n: int, room: BalanceRoom):
    """Write the least x from ``first`` on that balances best, with those before zero; return the residual."""
    f, width = x.motions, n - first
    fill(room.x, 0.0, n)
    if width == 0 or f == 0:
        return np.sqrt(dot(room.load, room.load, f))
    A = _columns(x, first, n, room)
    rank, _ = fa.solve(A, width, x.tolerances.cut, 0.0, room.load, room.y, room.x + first)
    if rank < 0:
        fill(room.x, 0.0, n)
    return _missing(f, n, room)


@internal
def _columns(x: Balance, first: int, n: int, room: BalanceRoom):
    """Return a copy of the columns of [R C] from ``first`` on, to be factored."""
    f, width = x.motions, n - first
    for i in range(f):
        copy(room.matrix + (i * n + first), room.copy + i * width, width)
    return fa.Matrix(room.copy, f, width, x.order, room.diagonal, room.beta, room.beta2, room.norms)


@internal
def _missing(f: int, n: int, room: BalanceRoom):
    """Write w − [R C] x to ``room.left``; return its length."""
    for i in range(f):
        room.left[i] = room.load[i] - dot(room.matrix + i * n, room.x, n)
    return np.sqrt(dot(room.left, room.left, f))


@internal
def mark_unique(x: Balance, room: BalanceRoom):
    """Mark the y that no change without effect on the load alters."""
    f, nu, k = x.motions, x.controls, x.forces
    for j in range(k):
        room.unique[j] = 1.0
    rank = 0
    A = _columns(x, nu, nu + k, room)
    if f > 0 and k > 0:
        rank = max(fa.factor(A, k, x.tolerances.cut, 0.0), 0)
    for i in range(rank, k):
        fill(room.change, 0.0, k)
        room.change[i] = 1.0
        fa.apply_q(A, rank, room.change)
        for j in range(k):
            if not abs(room.change[j]) < x.tolerances.none:
                room.unique[j] = 0.0


# --- cone programs -------------------------------------------------------------------------------------------


@internal
def _least_forces(x: Balance, room: BalanceRoom):
    """Write the x of least u, then of least y for this u; return FORBIDDEN where the laws allow none."""
    f, nu = x.motions, x.controls
    n = nu + x.forces
    if not _solve_program(x, 0, nu if nu > 0 else n, room):
        return bl.FORBIDDEN
    if nu > 0 and n > nu:
        copy(room.x, room.change, n)
        copy(room.load, room.given, f)
        for i in range(f):
            room.load[i] -= dot(room.matrix + i * n, room.x, nu)
        good = _solve_program(x, nu, n, room)
        copy(room.given, room.load, f)
        copy(room.change, room.x, n if not good else nu)
    return bl.SUPPORTED


@internal
def _solve_program(x: Balance, first: int, weighed: int, room: BalanceRoom):
    """Write the x from ``first`` on, least up to ``weighed``, that balances within the laws; tell if there is one."""
    program, f, n = x.program, x.motions, x.controls + x.forces
    width = n - first
    m = _shape(x, first, room)
    program.variables, program.equalities = width, f
    data = program.program
    fill(data, 0.0, width * width + width + f * width + f + m * width + m)
    for j in range(first, min(weighed, n)):
        data[(j - first) * (width + 1)] = 1.0
    rows = data + (width * width + width)
    for i in range(f):
        copy(room.matrix + (i * n + first), rows + i * width, width)
        rows[f * width + i] = room.load[i]
    _load_laws(x, first, m, rows + (f * width + f), room)
    if call_kernel(x.solver, program, program.work, cl.COLD) != cl.SOLVED:
        return False
    copy(program.answer, room.x + first, width)
    # what rounding of the program leaves of the load
    for i in range(f):
        room.left[i] = room.load[i] - dot(room.matrix + (i * n + first), room.x + first, width)
    A = _columns(x, first, n, room)
    change, rank = program.answer, 0
    if f > 0:
        rank, _ = fa.solve(A, width, x.tolerances.cut, 0.0, room.left, room.y, change)
    if rank > 0:
        axpy(1.0, change, room.x + first, width)
    return True


@internal
def _nearest(x: Balance, room: BalanceRoom):
    """Write the x within the laws that balances best."""
    program, f, n = x.program, x.motions, x.controls + x.forces
    m = _shape(x, 0, room)
    program.variables, program.equalities = n, 0
    data = program.program
    fill(data, 0.0, n * n + n + m * n + m)
    for i in range(f):
        line = room.matrix + i * n
        for j in range(n):
            axpy(line[j], line, data + j * n, n)
        axpy(-room.load[i], line, data + n * n, n)
    for j in range(n):
        data[j * (n + 1)] += x.tolerances.ridge
    _load_laws(x, 0, m, data + (n * n + n), room)
    call_kernel(x.solver, program, program.work, cl.COLD)
    copy(program.answer, room.x, n)


@internal
def _block_size(x: Balance, j: int, room: BalanceRoom):
    """Return the number of y in the block that begins with the y of number j."""
    size = 1
    while j + size < x.forces and room.block[j + size] == room.block[j]:
        size += 1
    return size


@internal
def _shape(x: Balance, first: int, room: BalanceRoom):
    """Write the numbers of half-lines and cones of the laws, and the sizes of cones; return the number of rows."""
    program, linear, cones, m, j = x.program, 0, 0, 0, 0
    sizes = program + cl.SIZES
    while j < x.forces:
        size = _block_size(x, j, room)
        if room.dry[j] != 0.0 or size > 1:
            sizes[cones] = size + (1 if room.dry[j] != 0.0 else 0)
            m += sizes[cones]
            cones += 1
        else:
            linear += 1
            m += 1
        j += size
    if first == 0 and x.limited != 0:
        for i in range(2 * x.controls):
            if np.isfinite(x.limits[i]):
                linear += 1
                m += 1
    program.linear, program.cones = linear, cones
    return m


@internal
def _load_laws(x: Balance, first: int, m: int, G: Floats, room: BalanceRoom):
    """Write the rows G (m × n − first) and the limits h of the laws: half-lines, limits of u, then cones."""
    nu, width = x.controls, x.controls + x.forces - first
    line, h = 0, G + m * width
    for conic in range(2):
        j = 0
        while j < x.forces:
            size, at = _block_size(x, j, room), nu + j - first
            dry = room.dry[j] != 0.0
            if dry and conic == 1:
                h[line] = room.law[j] / room.size[0]
                line += 1
                for i in range(size):
                    G[(line + i) * width + (at + i)] = -room.units[nu + j + i]
                line += size
            elif not dry and (size > 1) == (conic == 1):
                for i in range(size):
                    weight = room.law[j] if i == 0 and size > 1 else 1.0
                    G[(line + i) * width + (at + i)] = -weight * room.units[nu + j + i]
                line += size
            j += size
        if conic == 0 and first == 0 and x.limited != 0:
            for i in range(2 * nu):
                if np.isfinite(x.limits[i]):
                    column, sign = i, -1.0
                    if i >= nu:
                        column, sign = i - nu, 1.0
                    G[line * width + column] = sign
                    h[line] = sign * x.limits[i] / (room.units[column] * room.size[0])
                    line += 1
