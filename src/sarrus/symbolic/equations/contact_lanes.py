"""Straight-line solution of small contact problems: r = P_K(r − u − μ ‖u_t‖ n), u = W r + b, in slots of fixed number.

The first slots hold contacts with Coulomb friction, of three rows each, the next ones unilateral rows, the last ones
dry friction, r = P_[−l, l](r − u). A slot that is not used has zeros in W: it gets a unit diagonal and a positive
velocity, so its forces vanish, and no sum of other slots changes by a bit. So the result of a problem does not depend
on the number of slots. The laws and the Newton step are those of `sarrus.kernels.contact.contact_problem`, without a
line search and without pivoting: a problem for which this does not converge is left to that kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from sarrus.kernels.contact.tolerances import (
    RESIDUAL_AT_ROUNDING,
    RESIDUAL_OF_SHARED_FORCES,
    UNLOADED,
)
from sarrus.kernels.integrate.tolerances import CORRECTION_RIDGE
from sarrus.symbolic.equations.sparse import Column, largest
from sarrus.symbolic.equations.tolerances import (
    DEPENDENT_ROUNDING,
    RIDGE_OF_CONTACTS,
    RIDGE_OF_SINGLE_ROWS,
    SAME_FRICTION,
    SHARED_PIVOT,
)

Matrix = list[Column]


@dataclass(frozen=True)
class Slots:
    """Numbers of slots for contacts with friction, of three rows each, for unilateral rows and for dry friction."""

    contacts: int
    single: int
    dry: int = 0

    @property
    def rows(self) -> int:
        """Number of rows of all slots."""
        return 3 * self.contacts + self.single + self.dry

    @property
    def blocks(self) -> list[range]:
        """Rows of each slot."""
        c = 3 * self.contacts
        return [*(range(k, k + 3) for k in range(0, c, 3)), *(range(k, k + 1) for k in range(c, self.rows))]

    @property
    def heads(self) -> list[int]:
        """Normal row of each contact and each unilateral row."""
        return [block[0] for block in self.blocks[: self.contacts + self.single]]

    @property
    def name(self) -> str:
        """The numbers in words."""
        dry = f", {self.dry} dry" if self.dry else ""
        return f"{self.contacts} contacts, {self.single} rows{dry}"

    @property
    def packed(self) -> int:
        """Number of entries of the lower triangle of W."""
        return self.rows * (self.rows + 1) // 2

    def law(self, mu: Column, k: int) -> Law:
        """Return the projection of slot k, whose numbers ``mu`` are coefficients of friction, then limits."""
        if k < self.contacts:
            return Law(mu[k])
        behind = k - self.contacts - self.single
        return Law(ca.SX(0), mu[self.contacts + behind] if behind >= 0 else None)

    def symbols(self) -> tuple[ca.SX, Matrix, Column, Column, Column]:
        """Return the input [W | b | μ and limits | r] as one column, and its parts."""
        m, x = self.rows, ca.SX.sym("x", self.packed + 2 * self.rows + self.contacts + self.dry)
        entries = iter(ca.vertsplit(x))
        lower = [[next(entries) for _ in range(i + 1)] for i in range(m)]
        W = [[lower[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)]
        b, mu, r = ([next(entries) for _ in range(n)] for n in (m, self.contacts + self.dry, m))
        return x, W, b, mu, r


@dataclass(frozen=True)
class Law:
    """Coulomb's law with a coefficient of friction, or the law of a single row: r ≥ 0, or |r| ≤ ``limit``."""

    mu: ca.SX
    limit: ca.SX | None = None


def pack(W: Matrix) -> Column:
    """Return the lower triangle of W by rows."""
    return [value for i, row in enumerate(W) for value in row[: i + 1]]


def delassus(
    slots: Slots, nv: int, compliance: ca.Function, factors: ca.SX, joints: Sequence[int] = ()
) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return symbols of the rows J (slot by slot) and W = J K Jᵀ with the columns K Jᵀ.

    ``compliance`` is K τ of (factors, τ). The last rows are those of dry friction of ``joints``, numbers of velocities:
    they are known, whatever J has there.
    """
    J = ca.SX.sym("J", nv * slots.rows)
    rows = ca.vertsplit(J, nv) if slots.rows > 1 else [J]
    rows = [*rows[: slots.rows - len(joints)], *(ca.SX([float(i == k) for i in range(nv)]) for k in joints)]
    columns = [compliance(factors, row) for row in rows]
    lower = [
        _sum(zip(ca.vertsplit(row), ca.vertsplit(column)))
        for i, row in enumerate(rows)
        for column in columns[: i + 1]
    ]
    return J, {"columns": ca.vertcat(*columns), "W": ca.vertcat(*lower)}


def push(slots: Slots, nv: int) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return the sum of the columns times the forces: input [r | columns of all slots]."""
    x = ca.SX.sym("x", (1 + nv) * slots.rows)
    forces, entries = ca.vertsplit(x)[: slots.rows], ca.vertsplit(x)[slots.rows :]
    columns = [entries[nv * s : nv * (s + 1)] for s in range(slots.rows)]
    return x, {"sum": ca.vertcat(*(_sum(zip((column[i] for column in columns), forces)) for i in range(nv)))}


def scaled(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return units of r, and [W | b | μ and limits | r] in units in which each block of W has the trace one and b the
    size one.
    """
    x, W, b, mu, r = slots.symbols()
    m, scales, used = slots.rows, [ca.SX(0)] * slots.rows, [ca.SX(0)] * slots.rows
    for block in slots.blocks:
        trace = sum((W[i][i] for i in block), ca.SX(0))
        for i in block:
            used[i] = trace > 0
            scales[i] = ca.if_else(used[i], 1 / ca.sqrt(trace), 1)
    longest = largest([ca.if_else(used[i], ca.fabs(b[i]) * scales[i], 0) for i in range(m)])
    size = ca.if_else(longest > 0, longest, 1)
    W = [[W[i][j] * scales[i] * scales[j] for j in range(i + 1)] for i in range(m)]
    for i in range(m):
        W[i][i] = ca.if_else(used[i], W[i][i], 1)
    b = [ca.if_else(used[i], b[i] * scales[i] / size, 1) for i in range(m)]
    units = [scale * size for scale in scales]
    r = [value / unit for value, unit in zip(r, units)]
    last = range(m - slots.dry, m)
    mu = [*mu[: slots.contacts], *(mu[slots.contacts + j] / units[i] for j, i in enumerate(last))]
    return x, {"units": ca.vertcat(*units), "problem": ca.vertcat(*pack(W), *b, *mu, *r)}


def sweep(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return the forces r after a sweep of projections, block by block (Jourdan, Alart and Jean 1998)."""
    x, W, b, mu, r = slots.symbols()
    r = list(r)
    for k, block in enumerate(slots.blocks):
        u = [_sum(zip(W[i], r), b[i]) for i in block]
        own = [r[i] for i in block]
        law = slots.law(mu, k)
        for i, value in zip(block, _project(law, _beside(law, own, u))):
            r[i] = value
    return x, {"r": ca.vertcat(*r)}


def newton(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return the relative residual at r and the forces after a whole Newton step with a ridge on W.

    Forces of single rows (unilateral, dry friction) are eliminated first, as W is symmetric; the equations of contacts
    with friction are not. Dry friction that slides is known.
    """
    x, W, b, mu, r = slots.symbols()
    m, first, laws = slots.rows, 3 * slots.contacts, [slots.law(mu, k) for k in range(len(slots.blocks))]
    # velocities by the forces of contacts with friction alone
    without = [_sum(zip(W[i][:first], r), b[i]) for i in range(m)]
    u = [_sum(zip(W[i][first:], r[first:]), without[i]) for i in range(m)]
    ridge = [RIDGE_OF_CONTACTS] * first + [RIDGE_OF_SINGLE_ROWS] * (m - first)
    soft = [[W[i][j] + ridge[i] if i == j else W[i][j] for j in range(m)] for i in range(m)]
    z = [_beside(law, [r[i] for i in block], [u[i] for i in block]) for law, block in zip(laws, slots.blocks)]
    after = [value for law, own in zip(laws, z) for value in _project(law, own)]
    left = [value - force for value, force in zip(after, r)]
    free, slides = list[ca.SX](), dict[int, ca.SX]()
    for law, (own,), row in zip(laws[slots.contacts :], z[slots.contacts :], range(first, m)):
        if law.limit is None:
            free.append(ca.if_else(own > 0, 1, 0))
        else:
            free.append(ca.if_else(ca.fabs(own) < law.limit, 1, 0))
            slides[row] = (1 - free[-1]) * after[row]
    without = [_sum(((W[i][j], force) for j, force in slides.items()), without[i]) for i in range(m)]
    singles = _Singles.of(soft, first, free, [ridge[i] * r[i] - without[i] for i in range(first, m)])
    matrix, rhs = [], []
    for k, block in enumerate(slots.blocks[: slots.contacts]):
        S = _slope(laws[k], z[k])
        T = _shifted(laws[k], [u[i] for i in block], S)
        known = [u[i] - without[i] - singles.velocity[i] for i in block]
        for i, row in enumerate(block):
            entries = [
                _sum((T[i][n], singles.compliance[block[n]][j]) for n in range(len(block)))
                for j in range(first)
            ]
            for n, column in enumerate(block):
                entries[column] = entries[column] - S[i][n] + (1 if column == row else 0)
            matrix.append(entries)
            rhs.append(_sum(zip(T[i], known), left[row]))
    step = _eliminated(matrix, rhs)
    behind = [
        force + slides[row] if row in slides else force
        for row, force in zip(range(first, m), singles.forces(step))
    ]
    ahead = [*(value + change for value, change in zip(r, step)), *behind]
    error, size = largest([ca.fabs(value) for value in left]), largest([ca.SX(1), *map(ca.fabs, r)])
    return x, {"residual": error / size, "r": ca.vertcat(*ahead)}


def iteration(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return the forces after a step of `newton`, or the same ones where the iteration has ended, and its state.

    The state, behind the inputs of `newton`, is (forces of the smallest residual, this residual, whether it has ended).
    """
    x, step = newton(slots)
    best, least, done = ca.SX.sym("best", slots.rows), ca.SX.sym("least"), ca.SX.sym("done")
    r, left = x[-slots.rows :], step["residual"]
    better = ca.logic_and(left < least, done == 0)
    ends = ca.logic_or(
        left <= RESIDUAL_OF_SHARED_FORCES, ca.logic_and(left >= least, least <= RESIDUAL_AT_ROUNDING)
    )
    ended = ca.logic_or(done > 0, ends)
    return ca.vertcat(x, best, least, done), {
        "r": _chosen(ended, r, step["r"]), "best": _chosen(better, r, best),
        "least": ca.if_else(better, left, least), "done": ended,
    }  # fmt: skip


def _chosen(condition: ca.SX, one: ca.SX, other: ca.SX) -> ca.SX:
    return ca.vertcat(*(ca.if_else(condition, *pair) for pair in zip(ca.vertsplit(one), ca.vertsplit(other))))


def sharing(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return 1 if the motion may depend on how redundant contacts share a load, at forces r that solve the problem.

    That is where a contact slides, normal rows of contacts depend on each other or on single rows with a free force,
    and the friction of another contact is another part of its normal force or not known because it has none, or a
    single row has a free force.
    """
    x, W, b, mu, r = slots.symbols()
    u = [_sum(zip(row, r), value) for row, value in zip(W, b)]
    nothing = UNLOADED * largest([ca.SX(1), *map(ca.fabs, r)])
    heads, single, free = slots.heads[: slots.contacts], range(3 * slots.contacts, slots.rows), list[ca.SX]()
    for k, i in enumerate(single, slots.contacts):
        limit, z = slots.law(mu, k).limit, r[i] - u[i]
        free.append(z > -nothing if limit is None else ca.fabs(z) < limit + nothing)
    touch, slides, px, py = [r[i] - u[i] > -nothing for i in heads], ca.SX(0), ca.SX(0), ca.SX(0)
    for i, number in zip(heads, mu):
        head = r[i]
        edge = (1 - SAME_FRICTION) * (number * head) ** 2
        own = ca.logic_and(head > 0, r[i + 1] ** 2 + r[i + 2] ** 2 >= edge)
        first = ca.logic_and(own, ca.logic_not(slides))
        px, py = (ca.if_else(first, r[i + n] / head, old) for n, old in ((1, px), (2, py)))
        slides = ca.logic_or(slides, own)
    differs = largest([ca.SX(0), *free])
    for i, has in zip(heads, touch):
        apart = (r[i + 1] - px * r[i]) ** 2 + (r[i + 2] - py * r[i]) ** 2 > (SAME_FRICTION * r[i]) ** 2
        differs = ca.logic_or(differs, ca.logic_and(has, ca.logic_or(r[i] == 0, apart)))
    chosen = [*zip(single, free), *zip(heads, touch)]
    lower = [
        [
            ca.if_else(ca.logic_and(own, has), W[max(i, j)][min(i, j)], 1 if i == j else 0)
            for j, has in chosen[: k + 1]
        ]
        for k, (i, own) in enumerate(chosen)
    ]
    dependent = _least_pivot(lower, len(single)) <= SHARED_PIVOT if heads else ca.SX(0)
    return x, {"shares": ca.logic_and(ca.logic_and(slides, differs), dependent)}


def closing(slots: Slots) -> tuple[ca.SX, dict[str, ca.SX]]:
    """Return normal forces that close the gaps g of the slots with ``on`` = 1, otherwise 0: input [W | g | on].

    W has the rows of contacts and unilateral rows, without those of dry friction.
    """
    heads, slots = slots.heads, Slots(slots.contacts, slots.single)
    n = len(heads)
    x = ca.SX.sym("x", slots.packed + 2 * n)
    entries = ca.vertsplit(x)
    g, on = entries[slots.packed : slots.packed + n], entries[slots.packed + n :]
    rows: Matrix = []
    for i, head in enumerate(heads):
        row = [
            entries[head * (head + 1) // 2 + other] * (on[i] * on[j])
            for j, other in enumerate(heads[: i + 1])
        ]
        row[i] = ca.if_else(on[i] > 0, row[i] * (1 + CORRECTION_RIDGE), 1)
        rows.append(row)
    whole = [[rows[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
    return x, {"forces": ca.vertcat(*_eliminated(whole, [-g[i] * on[i] for i in range(n)]))}


@dataclass(frozen=True)
class _Singles:
    """Single rows with a free force, eliminated from W, whose other rows are those of contacts with friction.

    ``compliance`` is what is left of the latter; ``velocity`` is theirs by the free forces of single rows alone.
    """

    below: Matrix  # by columns: the rows of contacts, then single rows behind
    right: Column
    compliance: Matrix
    velocity: Column

    @classmethod
    def of(cls, W: Matrix, first: int, pushes: Column, right: Column) -> _Singles:
        """Eliminate rows ``first`` … of W where ``pushes`` is 1; ``right`` are the negative velocities without them."""
        n = len(pushes)
        one = [[W[first + j][first + i] * (pushes[i] * pushes[j]) for i in range(j + 1)] for j in range(n)]
        other = [[pushes[j] * W[i][first + j] for j in range(n)] for i in range(first)]
        right, below = [value * push for value, push in zip(right, pushes)], list[Column]()
        for k in range(n):
            one[k][k] = one[k][k] + (1 - pushes[k])
        left = [list(W[i][: i + 1]) for i in range(first)]
        velocity = [ca.SX(0)] * first
        for k in range(n):
            inverse = 1 / one[k][k]
            column = [*(other[i][k] for i in range(first)), *(one[j][k] for j in range(k + 1, n))]
            weights = [entry * inverse for entry in column]
            for i in range(first):
                for j in range(i + 1):
                    left[i][j] = left[i][j] - weights[i] * column[j]
                velocity[i] = velocity[i] + weights[i] * right[k]
            for j in range(k + 1, n):
                weight = weights[first + j - k - 1]
                for i in range(first):
                    other[i][j] = other[i][j] - weight * column[i]
                for i in range(k + 1, j + 1):
                    one[j][i] = one[j][i] - weight * column[first + i - k - 1]
                right[j] = right[j] - weight * right[k]
            right[k] = right[k] * inverse
            below.append(weights)
        whole = [[left[max(i, j)][min(i, j)] for j in range(first)] for i in range(first)]
        return cls(below, right, whole, velocity)

    def forces(self, step: Column) -> Column:
        """Return the forces of the single rows with a change of the forces of contacts; zero where none is free."""
        found, first = list(self.right), len(step)
        for k in reversed(range(len(found))):
            weights = self.below[k]
            for weight, change in zip(weights, step):
                found[k] = found[k] - weight * change
            for weight, force in zip(weights[first:], found[k + 1 :]):
                found[k] = found[k] - weight * force
        return found


def _least_pivot(lower: Matrix, first: int) -> ca.SX:
    """Return the smallest pivot of the rows ``first`` … of a positive matrix, relative to its diagonal.

    The matrix is given by its lower triangle.
    """
    rows, found = [list(row) for row in lower], list[ca.SX]()
    for k, row in enumerate(rows):
        found.append(row[k] / lower[k][k])
        divisor = ca.fmax(row[k], DEPENDENT_ROUNDING * lower[k][k])
        for i in range(k + 1, len(rows)):
            weight = rows[i][k] / divisor
            for j in range(k + 1, i + 1):
                rows[i][j] = rows[i][j] - weight * rows[j][k]
    return -largest([-pivot for pivot in found[first:]])


def _sum(products: object, start: ca.SX | None = None) -> ca.SX:
    """Return start + Σ a b, from the first to the last."""
    total = start
    for one, other in products:  # type: ignore[attr-defined]
        total = one * other if total is None else total + one * other
    return ca.SX(0) if total is None else total


def _norm(tails: Sequence[ca.SX]) -> ca.SX:
    return ca.sqrt(_sum(zip(tails, tails)))


def _beside(law: Law, r: Column, u: Column) -> Column:
    """Return z = r − u − μ ‖u_t‖ n."""
    z = [force - speed for force, speed in zip(r, u)]
    if len(z) > 1:
        z[0] = r[0] - (u[0] + law.mu * _norm(u[1:]))
    return z


def _zones(mu: ca.SX, z: Column) -> tuple[ca.SX, ca.SX, Column, ca.SX, ca.SX]:
    """Return ‖z_t‖, 1/‖z_t‖, z_t/‖z_t‖, whether z is in the cone, and whether it is projected on its surface."""
    tail = _norm(z[1:])
    inside = ca.logic_and(tail <= mu * z[0], z[0] >= 0)
    opened = mu * tail <= -z[0]
    inverse, on = 1 / ca.if_else(tail > 0, tail, 1), ca.logic_not(ca.logic_or(inside, opened))
    return tail, inverse, [value * inverse for value in z[1:]], inside, on


def _project(law: Law, z: Column) -> Column:
    """Return the forces that the law allows nearest to z."""
    if law.limit is not None:
        return [ca.fmin(ca.fmax(z[0], -law.limit), law.limit)]
    if len(z) == 1:
        return [ca.fmax(z[0], 0)]
    mu = law.mu
    tail, _, d, inside, on = _zones(mu, z)
    head = on * ((z[0] + mu * tail) / (1 + mu * mu))
    ray = [head, *(mu * head * value for value in d)]
    return [inside * value + other for value, other in zip(z, ray)]


def _slope(law: Law, z: Column) -> Matrix:
    """Return the derivative of `_project` at a contact with friction."""
    mu = law.mu
    tail, inverse, d, inside, on = _zones(mu, z)
    gain = on / (1 + mu * mu)
    turn, n = mu * (z[0] + mu * tail) * gain * inverse, len(z)
    across, around = [gain * mu * value for value in d], gain * mu * mu - turn
    S: Matrix = [[gain + inside, *across]]
    for i in range(1, n):
        row = [across[i - 1], *(around * d[max(i, j) - 1] * d[min(i, j) - 1] for j in range(1, n))]
        row[i] = row[i] + (turn + inside)
        S.append(row)
    return S


def _shifted(law: Law, u: Column, S: Matrix) -> Matrix:
    """Return S B, B the derivative of u + μ ‖u_t‖ n by u."""
    if len(u) == 1:
        return S
    tail = _norm(u[1:])
    ways = [ca.if_else(tail > 0, law.mu * value / tail, 0) for value in u[1:]]
    return [[row[0], *(row[j + 1] + way * row[0] for j, way in enumerate(ways))] for row in S]


def _eliminated(matrix: Matrix, rhs: Column) -> Column:
    """Return the solution of a system of equations, by elimination without pivoting."""
    rows, right, n = [list(row) for row in matrix], list(rhs), len(rhs)
    inverse: Column = []
    for k in range(n):
        inverse.append(1 / rows[k][k])
        for i in range(k + 1, n):
            weight = rows[i][k] * inverse[k]
            for j in range(k + 1, n):
                rows[i][j] = rows[i][j] - weight * rows[k][j]
            right[i] = right[i] - weight * right[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            right[k] = right[k] - rows[k][j] * right[j]
        right[k] = right[k] * inverse[k]
    return right
