"""`DrivenConfiguration`: a configuration given by drivers, its motion and forces, and its derivatives by the
design.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

from sarrus.analysis.sensitivity.tolerances import ROWS_FOLLOW
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError, check_known
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.codegen import NativeFunction
from sarrus.design.synthesis.conditions import Configuration
from sarrus.design.synthesis.state import FORCES, RATES, BranchLostError, State, StateDerivatives
from sarrus.design.synthesis.tolerances import DRIVERS_DETERMINE, HELD_CLOSED, LOAD_UNIQUE
from sarrus.design.synthesis.variables import Variables
from sarrus.dynamics.model.derivatives import along, bias_rows, residual_force
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.newton import follow, newton
from sarrus.kernels.linalg.ranked import Ranked, at_rank


@dataclass(frozen=True, eq=False)
class _Rows:
    """B = [A; E] in characteristic units at its full rank."""

    ranked: Ranked
    rows: Array
    columns: Array

    def solve(self, right: Array) -> Array:
        """Return B⁺ right for a vector or columns."""
        scaled = (self.rows * right.T).T
        return np.asarray((self.ranked.solve(scaled).T / self.columns).T)

    def solve_transposed(self, right: Array) -> Array:
        """Return the least [λ; μ] with Bᵀ[λ; μ] = right."""
        scaled = (right.T / self.columns).T
        return np.asarray((self.rows * self.ranked.solve_transposed(scaled).T).T)


class DrivenConfiguration:
    """Condition number ``index`` of a problem as functions of its variables x.

    With B = [A; E], E the rows of the drivers, of full column rank, q, v, a and the forces λ and μ of loops and drivers
    solve in turn φ(q, p) = 0 and q_d = θ, B v = [b; θ̇], B a = [−γ; θ̈], Bᵀ[λ; μ] = M a + h − k. Their derivatives
    follow from the same equations, solved with B⁺ again. Redundant rows of A change nothing.
    """

    def __init__(self, system: System, variables: Variables, condition: Configuration, index: int) -> None:
        self.system, self.variables, self.index = system, variables, index
        e, label = system.equations, f"{system.name}: condition {index}"
        names = [n for n in system.coordinate_names if n in system.velocity_names]
        for given in (condition.drivers, condition.rates, condition.accelerations):
            for name, value in given.items():
                check_known("driver", name, names, label)
                check_known("driver", name, condition.drivers, label)
                if not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
                    raise ArgumentError(
                        f"{label}: {name!r} must be a finite number, got {value!r}", element=name
                    )
        self.drivers = tuple(condition.drivers)
        self.places = [system.coordinate_names.index(n) for n in self.drivers]
        self.velocities = [system.velocity_names.index(n) for n in self.drivers]
        self.fixed = np.array([condition.drivers[n] for n in self.drivers], dtype=float)
        self.free = [variables.drivers.get((index, n)) for n in self.drivers]
        self.rate, self.acceleration = (
            np.array([float(given.get(n, 0.0)) for n in self.drivers])
            for given in (condition.rates, condition.accelerations)
        )
        self.select = np.zeros((len(self.drivers), system.nv))
        self.select[range(len(self.drivers)), self.velocities] = 1.0
        c = system.characteristic
        self.rows, self.columns = np.concatenate([c.rows, c.columns[self.velocities]]), c.columns
        self.t = system.checked_time(condition.t)
        self.design = np.array([list(e.parameter_values).index(n) for n in e.design_parameters], dtype=int)
        self._template = system.pack(system.neutral(), t=self.t)
        self.position = system.compiled.function("position")

    def angles(self, x: Array) -> Array:
        """Return the values of the drivers."""
        return np.array([value if i is None else x[i] for value, i in zip(self.fixed, self.free)])

    def packed(self, x: Array, q: Array, v: Array | None = None) -> Array:
        """Return the input of native functions at values of the variables."""
        z, parts = self._template.copy(), self.system.parts
        z[parts.q] = self.system.normalized(q) if self.system.equations.quaternions else q
        if v is not None:
            z[parts.v] = v
        z[parts.p][self.design] = x[: self.variables.parameters]
        return z

    def residual(self, x: Array, q: Array) -> tuple[Array, Array]:
        """Return the residuals of loops and drivers, [φ; q_d − θ], and B."""
        found = self.position.evaluate(self.packed(x, q))
        off = np.concatenate([found["residual"][:, 0], q[self.places] - self.angles(x)])
        return off, np.vstack([found["jacobian"], self.select])

    def matrix(self, b: Array) -> _Rows:
        """Return B with full column rank; `BranchLostError` if its rank is lower."""
        found = at_rank(self.rows[:, None] * b / self.columns, min(b.shape))
        if len(b) < b.shape[1] or found.values[-1] <= DRIVERS_DETERMINE * found.values[0]:
            raise BranchLostError(self.index, "is singular: loops and drivers leave a degree of freedom")
        return _Rows(found, self.rows, self.columns)

    def close(self, x: Array, q: Array, before: Array | None = None) -> Array:
        """Return q at x on the branch of the closed q at ``before``; `BranchLostError` if the branch ends on the way.

        Without ``before`` the drivers move from their values in q.
        """
        origin = x if before is None else before
        shift = q[self.places] - self.angles(x) if before is None else np.zeros(len(self.drivers))
        reason = "does not close"

        def solve(start: Array, s: float) -> Array | None:
            here = origin + s * (x - origin)

            def correction(at: Array) -> tuple[Array, float]:
                nonlocal reason
                off, b = self.residual(here, at)
                off[len(off) - len(shift) :] -= (1.0 - s) * shift
                if not (np.isfinite(off).all() and np.isfinite(b).all()):
                    return np.full(self.system.nv, np.inf), np.inf
                try:
                    rows = self.matrix(b)
                except BranchLostError as lost:
                    reason = lost.reason
                    return np.full(self.system.nv, np.inf), np.inf
                values = rows.ranked.values
                return -rows.solve(off), float(values[0] / values[-1])

            return newton(start, correction, self._move)

        found, s = follow(q, solve)
        if s < 1.0:
            raise BranchLostError(self.index, reason)
        off, _ = self.residual(x, found)
        if np.abs(self.rows * off).max(initial=0.0) > HELD_CLOSED:
            raise BranchLostError(self.index, "has redundant closures that open")
        return found

    def _move(self, q: Array, step: Array) -> Array:
        if not np.isfinite(step).all():
            return q
        return q + step if self.system.nq == self.system.nv else self.system.move(q, step)

    def state(self, x: Array, q: Array, level: int) -> State:
        """Return the `State` at a closed q up to a level: coordinates, velocities and accelerations, forces."""
        system = self.system
        z = self.packed(x, q)
        found = self.position.evaluate(z)
        rows = self.matrix(np.vstack([found["jacobian"], self.select]))
        nv, nc, nd = system.nv, system.nc, len(self.drivers)
        v, a, forces = np.zeros(nv), np.zeros(nv), np.zeros(nc + nd)
        if level >= RATES:
            v = rows.solve(np.concatenate([found["b"][:, 0], self.rate]))
            z[system.parts.v] = v
            gamma = system.compiled.function("constraint_bias")(z)
            a = rows.solve(np.concatenate([-gamma, self.acceleration]))
        if level >= FORCES:
            forces = rows.solve_transposed(self._force()(np.concatenate([z, a])))
        return State(z, v, a, forces[:nc], forces[nc:], rows, level)

    def _force(self) -> NativeFunction:
        system = self.system
        zero = ca.SX.zeros(system.nc)
        return system.compiled.named(
            "synthesis.force", lambda a: {"force": residual_force(system, a, zero)}, {"a": system.nv}
        )

    def openings(self, x: Array, q: Array) -> tuple[Array, Array]:
        """Return the derivatives of [φ; q_d − θ] by x at constant q, and along velocities, which is B."""
        system = self.system
        native = system.compiled.named("synthesis.openings", self._openings)
        d = native.evaluate(self.packed(x, q))
        return self._by_x(d["position_p"]), np.vstack([d["jacobian"], self.select])

    def _openings(self) -> dict[str, ca.SX]:
        e = self.system.equations
        return {
            "position_p": ca.jacobian(e.position_residual, self._free_numbers),
            "jacobian": e.jacobian[: e.nh, :],
        }

    def _by_x(self, by_p: Array) -> Array:
        """Return the derivative of loops and drivers by the variables, from that of loops by p."""
        turned = np.zeros((len(self.drivers), len(self.variables.names)))
        for row, place in enumerate(self.free):
            if place is not None:
                turned[row, place] = -1.0
        return np.vstack([self._wide(by_p), turned])

    def _wide(self, by_p: Array) -> Array:
        """Return derivatives by the parameters, with zeros for those by free drivers."""
        more = len(self.variables.names) - self.variables.parameters
        return np.hstack([by_p, np.zeros((len(by_p), more))]) if more else by_p

    @property
    def _free_numbers(self) -> ca.SX:
        return ca.vertcat(*(self.system.equations.p[int(place)] for place in self.design))

    def follows(self, state: State) -> StateDerivatives:
        """Return the derivatives of q (along velocities), v, a, λ and μ by x, as rows in this order."""
        system, variables = self.system, self.variables
        nv, nc, nd, n = system.nv, system.nc, len(self.drivers), len(variables.names)
        native = system.compiled.named(
            f"synthesis.follows{state.level}",
            lambda a, multipliers: self._derivatives(a, multipliers, state.level),
            {"a": nv, "multipliers": nc},
        )
        d = native.evaluate(np.concatenate([state.z, state.a, state.multipliers]))
        by_x = np.eye(variables.parameters, n)
        rows, opened = state.rows, self._by_x(d["position_p"])
        dq = -rows.solve(opened)
        self._verify(d["jacobian"], dq, opened)
        dv, da, df = np.zeros((nv, n)), np.zeros((nv, n)), np.zeros((nc + nd, n))
        still = np.zeros((nd, n))
        if state.level >= RATES:
            dv = -rows.solve(np.vstack([d["velocity_q"] @ dq + self._wide(d["velocity_p"]), still]))
            pushed = d["bias_q"] @ dq + d["bias_v"] @ dv + self._wide(d["bias_p"])
            da = -rows.solve(np.vstack([pushed, still]))
        if state.level >= FORCES:
            changed = d["force_q"] @ dq + d["force_v"] @ dv + d["mass"] @ da + self._wide(d["force_p"])
            df = rows.solve_transposed(changed)
        return StateDerivatives(np.vstack([dq, dv, da, df, by_x]))

    def _derivatives(self, a: ca.SX, multipliers: ca.SX, level: int) -> dict[str, ca.SX]:
        system, e = self.system, self.system.equations
        parts = {"position": e.position_residual}
        if level >= RATES:
            parts |= {"velocity": e.velocity_residual, "bias": bias_rows(system, a)}
        if level >= FORCES:
            parts |= {"force": residual_force(system, a, multipliers)}
        out = {"jacobian": e.jacobian, "mass": e.mass_matrix}
        for name, part in parts.items():
            out[f"{name}_p"] = ca.jacobian(part, self._free_numbers)
            if name != "position":
                out[f"{name}_q"] = along(system, part)[:, : e.nv]
                out[f"{name}_v"] = ca.jacobian(part, e.v)
        return out

    def _verify(self, jacobian: Array, dq: Array, opened: Array) -> None:
        """Raise `SolveError` if redundant rows cannot follow a variable."""
        b = np.vstack([jacobian, self.select])
        left = np.abs(self.rows[:, None] * (b @ dq + opened)).max(axis=0, initial=0.0)
        size = np.abs(self.rows[:, None] * opened).max(axis=0, initial=0.0)
        if np.any(left > ROWS_FOLLOW * (1.0 + size)):
            name = self.variables.names[int(left.argmax())]
            raise SolveError(
                f"{self.system.name}: the redundant closures cannot follow {name!r}: they would open. Let {name!r} "
                "drive all numbers that must change together",
                element=name,
            )

    def determined(self, state: State) -> np.ndarray:
        """Return the mask of unique forces in [λ; μ] (nc + drivers,)."""
        return np.asarray(state.rows.ranked.determined)

    def settles(self, state: State, changes: Array) -> np.ndarray:
        """Return the mask of unique loads (k,), from their derivatives by [λ; μ] as rows."""
        wide = changes * self.rows
        size = (wide**2).sum(axis=1)
        parts = (product(wide, state.rows.ranked.left_null) ** 2).sum(axis=1)
        return np.asarray(
            parts < LOAD_UNIQUE * np.maximum(size, LOAD_UNIQUE * size.max(initial=0.0)) + LEAST_DIVISOR
        )

    def margin(self, state: State) -> float:
        """Return the smallest singular value of B in characteristic units."""
        return float(state.rows.ranked.values[self.system.nv - 1])

    def margin_derivative(self, state: State, follows: StateDerivatives) -> Array:
        """Return the derivative of the margin by x (n,); for a repeated singular value that of one of its vectors."""
        system, found = self.system, state.rows.ranked
        left = (self.rows * found.left[:, system.nv - 1])[: system.nc]
        right = found.right[:, system.nv - 1] / self.columns
        native = system.compiled.named("synthesis.margin", self._margin, {"left": system.nc})
        z = state.z.copy()
        z[system.parts.v] = right
        d = native.evaluate(np.concatenate([z, left]))
        by_p = d["by_p"][0] @ follows.rows[-self.variables.parameters :] if len(self.design) else 0.0
        return np.asarray(d["by_q"][0] @ follows.rows[: system.nv] + by_p)

    def _margin(self, left: ca.SX) -> dict[str, ca.SX]:
        e = self.system.equations
        product = ca.dot(left, e.jacobian @ e.v) if e.nc else ca.SX(0)
        basis = ca.jacobian(e.rate, e.v)
        return {"by_q": ca.jacobian(product, e.q) @ basis, "by_p": ca.jacobian(product, self._free_numbers)}
