"""`TracedRelation`: a relation R(x, y) = 0 over the symbols of one system, and its numerical derivatives.

x = (q, v) is the state of the mechanism and (y, z) the independent one: y of positions, z of velocities. Spencer 2004,
section 2.3: with the derivatives H of φ = 0 and ψ = 0 by x,

    |∂R/∂(y, z)| ≠ 0        (2.21), (y, z) follow from x,
    |[∂R/∂x; H]| ≠ 0        (2.22), x follows from (y, z) and the constraints.

If R = (R_q(q, y), R_v(q, v, y, z)) both matrices are block-triangular, and each condition splits into one for
positions, (2.27) and (2.28), and one for velocities.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.coordinates.choices import condition_number
from sarrus.dynamics.coordinates.tolerances import WORST_COORDINATES
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.newton import follow, newton
from sarrus.kernels.linalg.ranked import at_rank


class Place(NamedTuple):
    """A state x = (q, v) of the mechanism at a time."""

    q: Array
    v: Array
    t: float

    def toward(self, end: Place, s: float) -> Place:
        """Return the state at a share s of the straight line to another state."""
        q, v, t = self
        return Place(q + s * (end.q - q), v + s * (end.v - v), t + s * (end.t - t))


class Slopes(NamedTuple):
    """Derivatives of R: along velocities (δq = N δ), by v, by (y, z), and dR/dt at v̇ = 0 with constant (y, z)."""

    by_place: Array
    by_velocity: Array
    by_own: Array
    flow: Array


@dataclass(frozen=True)
class Condition:
    """A rank condition for R(x, y) = 0 to be a change of coordinates, with the condition number of its matrix.

    ``equation`` is its number in Spencer 2004, ``matrix`` the matrix that must be regular, ``fails`` the quantity that
    is undetermined otherwise.
    """

    equation: str
    matrix: str
    number: float
    fails: str

    @property
    def holds(self) -> bool:
        """Whether the matrix is regular, its condition number below 1e8."""
        return self.number < WORST_COORDINATES

    def __str__(self) -> str:
        return f"{self.equation} {self.matrix}: condition number {self.number:.3g}"


class TracedRelation:
    """R(x, y) = 0 of one system.

    ``position`` is R_q over (q, y, t, p), None for a coupled R; ``velocity`` are the other rows, None if they are
    d/dt R_q with z = ẏ. ``own`` are the symbols of (y, z); ``constants`` are symbols whose ``values`` belong to a
    chart; the smallest pivot of ``conditioning``, by default ∂R/∂(y, z), rates the chart in a run.
    """

    def __init__(
        self, system: System, names: tuple[str, ...], velocity_names: tuple[str, ...], own: ca.SX,
        position: ca.SX | None, velocity: ca.SX | None, constants: ca.SX | None = None,
        values: Array | None = None, conditioning: ca.SX | None = None,
    ) -> None:  # fmt: skip
        e = system.equations
        self.system, self.names, self.velocity_names = system, names, velocity_names
        self.own, self.position = own, position
        self.constants = ca.SX(0, 1) if constants is None else constants
        self.values = np.zeros(0) if values is None else values
        self.chained = velocity is None
        if velocity is None:
            assert position is not None
            velocity = ca.jtimes(position, own[: self.count], own[self.count :])
            velocity += _along(e.q, e.rate, e.t, position)
        self.rows = ca.densify(velocity if position is None else ca.vertcat(position, velocity))
        self._inputs = [e.q, e.v, e.t, e.p, own, self.constants]
        self.flow = ca.densify(_along(e.q, e.rate, e.t, self.rows))
        self.by_own = ca.jacobian(self.rows, own)
        self.conditioning = self.by_own if conditioning is None else conditioning

    def with_values(self, system: System, values: Array) -> TracedRelation:
        """Return the same relation for the system with other parameters, and other constants of the chart."""
        other = copy(self)
        other.system, other.values = system, values
        return other

    @property
    def count(self) -> int:
        """Number of y."""
        return len(self.names)

    @property
    def coupled(self) -> bool:
        """Whether R does not separate rows of positions and of velocities."""
        return self.position is None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names of y, then of z."""
        return (*self.names, *self.velocity_names)

    @cached_property
    def _residual(self) -> ca.Function:
        return ca.Function("residual", self._inputs, [self.rows])

    @cached_property
    def _slopes(self) -> ca.Function:
        e = self.system.equations
        by_place = ca.jacobian(self.rows, e.q) @ ca.jacobian(e.rate, e.v)
        slopes = [by_place, ca.jacobian(self.rows, e.v), self.by_own, self.flow]
        return ca.Function("slopes", self._inputs, [ca.densify(slope) for slope in slopes])

    @cached_property
    def _turning(self) -> ca.Function:
        e = self.system.equations
        slope = ca.jacobian(e.velocity_residual, e.q) @ ca.jacobian(e.rate, e.v)
        return ca.Function("turning", [e.q, e.v, e.t, e.p], [ca.densify(slope)])

    def _numbers(self, x: Place, w: Array) -> list[object]:
        return [*x, list(self.system.parameters.values()), w, self.values]

    def residual(self, x: Place, w: Array) -> Array:
        """Return R at x and w = (y, z)."""
        return np.array(self._residual(*self._numbers(x, w))).ravel()

    def slopes(self, x: Place, w: Array) -> Slopes:
        """Return the derivatives of R."""
        place, velocity, own, flow = self._slopes(*self._numbers(x, w))
        n, nv = len(self.all_names), self.system.nv
        return Slopes(
            np.array(place).reshape(n, nv), np.array(velocity).reshape(n, nv), np.array(own).reshape(n, n),
            np.array(flow).ravel(),
        )  # fmt: skip

    def constraint_rows(self, x: Place) -> Array:
        """Return H = [A_h, 0; ∂ψ/∂q N, A]: the derivatives of φ and ψ by x."""
        s = self.system
        jacobian = s.constraint_jacobian(*x)
        turning = np.array(self._turning(*x, list(s.parameters.values()))).reshape(s.nc, s.nv)
        still = np.zeros((s.nh, s.nv))
        return np.block([[jacobian[: s.nh], still], [turning, jacobian]])

    def rates(self, x: Place, w: Array, a: Array) -> Array:
        """Return d/dt (y, z) for v̇ = a: −(∂R/∂(y, z))⁻¹ (∂R/∂x ẋ + ∂R/∂t)."""
        slopes = self.slopes(x, w)
        return -dense.solve(slopes.by_own, slopes.flow + dense.product(slopes.by_velocity, a))

    def bias(self, x: Place, w: Array) -> Array:
        """Return d/dt R_v at v̇ = 0 and ż = 0, with moving y."""
        n, slopes = self.count, self.slopes(x, w)
        rate = -dense.solve(slopes.by_own[:n, :n], slopes.flow[:n])
        return slopes.flow[n:] + dense.product(slopes.by_own[n:, :n], rate)

    def solve(self, x: Place, w: Array, start: Place | None = None) -> Array:
        """Return the (y, z) with R = 0 at x, by continuation from w at R(start, w), by default with start = x.

        Both x and the residual move on straight lines. Raises `SolveError` if the solution is lost: ∂R/∂(y, z)
        becomes singular on the way, or there is no solution near w.
        """
        origin = x if start is None else start
        left = self.residual(origin, w)

        def at(w: Array, s: float) -> Array | None:
            place = origin.toward(x, s)

            def correction(w: Array) -> tuple[Array, float]:
                by_own = self.slopes(place, w).by_own
                condition = max(c for _, c in self._dependence(by_own))
                if not condition < WORST_COORDINATES:
                    return np.full(len(w), np.nan), condition
                return dense.solve(by_own, (1.0 - s) * left - self.residual(place, w)), condition

            return newton(w, correction)

        found, s = follow(w, at)
        if s < 1.0:
            what = "R(q, y) = 0" if self.chained else "R(x, y) = 0"
            lost = self.names if self.chained else self.all_names
            shown = found[: len(lost)]
            raise SolveError(
                f"{self.system.name}: {what} has no solution {', '.join(lost)} that follows from y = {w[: len(lost)]}: "
                f"it is lost at {shown}, {s:.1%} of the way; give a guess near the solution",
                element="relation",
            )
        return found

    # --- the conditions of theorem 2.3.1 -----------------------------------------------------------

    def _dependence(self, by_own: Array) -> list[tuple[str, float]]:
        """Return equation numbers and condition numbers of the blocks of ∂R/∂(y, z)."""
        n = self.count
        if self.coupled:
            return [("(2.21)", _condition(_even(by_own)))]
        first = _condition(by_own[:n, :n])
        return (
            [("(2.27)", first)]
            if self.chained
            else [("(2.27)", first), ("(2.21)", _condition(by_own[n:, n:]))]
        )

    def dependence(self, x: Place, w: Array) -> list[Condition]:
        """Return the conditions under which x determines (y, z): (2.27) and, unless R_v = d/dt R_q, (2.21)."""
        found, own = self._dependence(self.slopes(x, w).by_own), ", ".join
        if self.coupled:
            texts = [("∂R/∂y", f"x does not determine {own(self.all_names)}")]
        elif self.chained:
            texts = [("∂R/∂y", f"q does not determine {own(self.names)}")]
        else:
            texts = [
                ("∂R_q/∂y", f"q does not determine {own(self.names)}"),
                ("∂R_v/∂z", f"q and v do not determine {own(self.velocity_names)}"),
            ]
        return [Condition(equation, matrix, c, fails) for (equation, c), (matrix, fails) in zip(found, texts)]

    def independence(self, x: Place, w: Array, ranks: tuple[int, int]) -> list[Condition]:
        """Return the conditions under which (y, z) and the constraints determine x: (2.28) and (2.22).

        ``ranks`` are the ranks of the holonomic rows and of all rows. Characteristic units, rows of R of length one.
        """
        s, slopes, n = self.system, self.slopes(x, w), self.count
        if self.coupled:
            both = np.hstack([slopes.by_place, slopes.by_velocity])
            number = stacked_condition(s, self.constraint_rows(x), both, sum(ranks))
            fails = f"{', '.join(self.all_names)} and the constraints (rank {ranks[1]}) do not determine x = (q, v)"
            return [Condition("(2.22)", "[∂R/∂x; H]", number, fails)]
        jacobian = s.constraint_jacobian(*x)
        of_q = _of_rows(s, jacobian[: s.nh], slopes.by_place[:n], ranks[0])
        fails = f"{', '.join(self.names)} and the constraints (rank {ranks[0]}) do not determine q"
        first = Condition("(2.28)", "[∂R/∂q N; A]" if self.chained else "[∂R_q/∂q N; A]", of_q, fails)
        if self.chained:
            return [first]
        of_v = _of_rows(s, jacobian, slopes.by_velocity[n:], ranks[1])
        fails = f"{', '.join(self.velocity_names)} and the constraints (rank {ranks[1]}) do not determine v"
        return [first, Condition("(2.22)", "[∂R_v/∂v; A]", of_v, fails)]

    def conditions(self, x: Place, w: Array, ranks: tuple[int, int]) -> tuple[Condition, ...]:
        """Return all conditions of theorem 2.3.1 at x and (y, z)."""
        return (*self.dependence(x, w), *self.independence(x, w, ranks))

    def check_dependence(self, x: Place, w: Array) -> None:
        """Raise `ArgumentError` unless x determines (y, z) near here."""
        for found in self.dependence(x, w):
            if not found.holds:
                y = w[: self.count] if "(2.27)" in found.equation else w
                raise ArgumentError(
                    f"{self.system.name}: relation: {found.fails} at y = {y}: {found.matrix} has the condition number "
                    f"{found.number:.3g}, condition {found.equation}; give a guess elsewhere or choose other "
                    "coordinates",
                    element="relation",
                )

    def check(self, x: Place, w: Array, ranks: tuple[int, int]) -> None:
        """Raise `ArgumentError` unless all conditions of theorem 2.3.1 hold."""
        self.check_dependence(x, w)
        for found in self.independence(x, w, ranks):
            if not found.holds:
                raise ArgumentError(
                    f"{self.system.name}: relation: {found.fails} here: {found.matrix} has the condition number "
                    f"{found.number:.3g}, condition {found.equation}; choose other coordinates",
                    element="relation",
                )


def stacked_condition(system: System, constraints: Array, rows: Array, rank: int) -> float:
    """Return the condition number of [H / |H|; ∂R/∂x] with H cut to its rank, in characteristic units."""
    size = system.characteristic
    columns = np.concatenate([size.columns, size.columns])
    rows = rows / columns
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=1))[:, None]
    if not (np.isfinite(rows).all() and np.isfinite(constraints).all() and lengths.all()):
        return np.inf
    rows = rows / lengths
    if rank:
        factors = np.concatenate([size.rows[: system.nh], size.rows])[:, None]
        parts = at_rank(factors * constraints / columns, rank)
        rows = np.vstack([(parts.kept / parts.values[0])[:, None] * parts.right.T, rows])
    return dense.condition(rows)


def _of_rows(system: System, jacobian: Array, rows: Array, rank: int) -> float:
    finite = np.isfinite(rows).all() and rows.any(axis=1).all()
    return condition_number(system, jacobian, rows, rank) if finite else np.inf


def _along(q: ca.SX, rate: ca.SX, t: ca.SX, expression: ca.SX) -> ca.SX:
    """Return the derivative of an expression along q̇ = ``rate`` and time."""
    return ca.densify(ca.jtimes(expression, q, rate) + ca.jtimes(expression, t, ca.SX(1)))


def _even(matrix: Array) -> Array:
    """Return a matrix whose nonzero rows, then columns, are scaled to length one."""
    if not np.isfinite(matrix).all():
        return matrix
    for axis in (1, 0):
        lengths = np.sqrt(np.add.reduce(matrix * matrix, axis=axis, keepdims=True))
        matrix = matrix / np.where(lengths > 0.0, lengths, 1.0)
    return matrix


def _condition(matrix: Array) -> float:
    if matrix.size == 0:
        return 1.0
    return dense.condition(matrix) if np.isfinite(matrix).all() else np.inf
