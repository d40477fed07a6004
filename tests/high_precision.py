"""The reduced dynamics of a system and its derivatives with sixty digits, by none of the library's linear algebra.

The library's expressions are evaluated, before anything is eliminated in them, over decimal numbers; Newton's method,
Gauss's elimination and central differences do the rest. Doubles in the data count as the numbers that they are.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

import casadi as ca
import mpmath
import numpy as np
from scipy.linalg import qr

from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.base.arrays import Array
from sarrus.codegen.program import read_program

DIGITS = 60
STEP = Decimal("1e-18")  # of the differences, whose errors are of the order of its square
CLOSED = Decimal("1e-40")  # the last of Newton's steps; each gains some fifteen digits

Exact = np.ndarray  # of Decimal


def exact(values: object) -> Exact:
    """Return doubles as the decimal numbers that they are."""
    flat = np.asarray(values, dtype=float)
    return np.array([Decimal(float(x)) for x in flat.flat], dtype=object).reshape(flat.shape)


def elementary(function: Callable[[Any], Any]) -> Callable[[Decimal, Decimal], Decimal]:
    """Return a function of mpmath as one of decimal numbers."""

    def value(a: Decimal, _: Decimal) -> Decimal:
        with mpmath.workdps(DIGITS + 5):
            return Decimal(mpmath.nstr(function(mpmath.mpf(str(a))), DIGITS + 3))

    return value


# What the shipped models need.
OPERATIONS: dict[int, Callable[[Decimal, Decimal], Decimal]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a, _: -a,
    ca.OP_SQ: lambda a, _: a * a,
    ca.OP_TWICE: lambda a, _: a + a,
    ca.OP_INV: lambda a, _: 1 / a,
    ca.OP_SQRT: lambda a, _: a.sqrt(),
    ca.OP_SIN: elementary(mpmath.sin),
    ca.OP_COS: elementary(mpmath.cos),
    ca.OP_LT: lambda a, b: Decimal(a < b),
    ca.OP_NOT: lambda a, _: Decimal(a == 0),
    ca.OP_LE: lambda a, b: Decimal(int(a <= b)),
    ca.OP_AND: lambda a, b: Decimal(int(a != 0 and b != 0)),
    ca.OP_OR: lambda a, b: Decimal(int(a != 0 or b != 0)),
    ca.OP_FABS: lambda a, _: abs(a),
    ca.OP_FMIN: lambda a, b: min(a, b),
    ca.OP_FMAX: lambda a, b: max(a, b),
    ca.OP_IF_ELSE_ZERO: lambda a, b: b if a != 0 else Decimal(0),
}


class ExactFunction:
    """Expressions over a column of inputs, evaluated one scalar operation after the other.

    Outputs with a capital name are matrices, the others vectors.
    """

    def __init__(self, inputs: ca.SX, **outputs: ca.SX) -> None:
        column = ca.vertcat(*(ca.vec(ca.densify(value)) for value in outputs.values()))
        function = ca.Function("exact", [inputs], [column])
        self._instructions = [
            (op, Decimal(a) if op == ca.OP_CONST else int(a), b)
            for op, a, b in read_program(function, "exact").instructions
        ]
        self._shapes = {name: value.shape for name, value in outputs.items()}
        self._size = column.shape[0]

    def __call__(self, x: Exact) -> dict[str, Exact]:
        """Return the outputs by their names."""
        values: list[Any] = []
        flat = np.full(self._size, Decimal(0), dtype=object)
        for op, a, b in self._instructions:
            if op == ca.OP_INPUT:
                values.append(x[a])
            elif op == ca.OP_CONST:
                values.append(a)
            elif op == ca.OP_OUTPUT:
                flat[a] = values[b]
                values.append(None)
            else:
                values.append(OPERATIONS[op](values[a], values[b]))
        out, start = {}, 0
        for name, (rows, columns) in self._shapes.items():
            part = flat[start : start + rows * columns].reshape((rows, columns), order="F")
            out[name] = part if name.isupper() else part[:, 0]
            start += rows * columns
        return out


def solve(matrix: Exact, right: Exact) -> Exact:
    """Return the solution X of matrix X = right by Gauss's elimination with partial pivoting."""
    n = len(matrix)
    columns = right.reshape(n, -1)
    both = np.hstack([matrix, columns])
    for k in range(n):
        best = k + int(np.argmax(np.abs(both[k:, k])))
        both[[k, best]] = both[[best, k]]
        both[k, k:] = both[k, k:] / both[k, k]
        for i in (*range(k), *range(k + 1, n)):
            if both[i, k] != 0:
                both[i, k:] = both[i, k:] - both[i, k] * both[k, k:]
    return both[:, n:].reshape(right.shape)


def independent_rows(jacobian: Array, rank: int) -> list[int]:
    """Return as many rows as the rank says, by QR with column pivoting in double precision."""
    return sorted(int(k) for k in qr(jacobian.T, pivoting=True, mode="r")[1][:rank]) if rank else []


class ReducedMotion:
    """ẋ of the nonlinear motion near a state, in the coordinates of a linear model.

    x = (y, η): y = R q and η = ẏ, or velocities chosen on their own, η = W v, where there are nonholonomic rows. The
    point of reference is the state (q, v, u, t), moved by the rounding that it takes to lie on the constraints.
    """

    def __init__(self, model: LinearSystem, q: Array, v: Array, u: Array, t: float) -> None:
        s = self.system = model.system
        e = s.equations
        self._x = exact(s.pack(q, v, u, t))
        self._rows = exact(model.coordinate_rows)
        self._own = None if model.velocity_rows is None else exact(model.velocity_rows)
        inputs, basis = ca.vertcat(*s.compiled.inputs), ca.jacobian(e.rate, e.v)
        self._position = ExactFunction(inputs, residual=e.position_residual)
        self._velocity = ExactFunction(inputs, residual=e.velocity_residual, rate=e.rate)
        self._jacobian = ExactFunction(inputs, A=e.jacobian, N=basis)
        self._dynamics = ExactFunction(
            inputs, M=e.mass_matrix, A=e.jacobian, force=s.compiled.force, bias=e.constraint_bias, N=basis,
            spin=ca.jtimes(e.rate, e.q, e.rate),
        )  # fmt: skip
        jacobian = s.constraint_jacobian(q, v, t)
        self._chosen = independent_rows(jacobian, model.rank)
        self._holonomic = independent_rows(jacobian[: s.nh], s.nv - len(self._rows))
        with localcontext(prec=DIGITS):
            here = self._jacobian(self._x)
            along = self._rows @ here["N"]
            one = exact(np.eye(s.nv))
            self._to_q = solve(np.vstack([here["A"][self._holonomic], along]), one)
            self._to_v = solve(
                np.vstack([here["A"][self._chosen], along if self._own is None else self._own]), one
            )
            self._eta = along @ exact(v) if self._own is None else self._own @ exact(v)

    def __call__(self, dy: Exact, deta: Exact, du: Exact, dt: Decimal) -> Exact:
        """Return ẋ at the state moved by (dy, dη, du, dt) on the constraints."""
        s, x = self.system, self._x.copy()
        x[s.parts.u] = x[s.parts.u] + du
        time = s.nq + s.nv + s.nu
        x[time] = x[time] + dt
        q0 = self._x[s.parts.q]

        def gap_of_positions() -> Exact:
            phi = self._position(x)["residual"][self._holonomic]
            return np.concatenate([phi, self._rows @ (x[s.parts.q] - q0) - dy])

        def move(step: Exact) -> None:
            tangent = x.copy()
            tangent[s.parts.v] = step
            x[s.parts.q] = x[s.parts.q] + self._velocity(tangent)["rate"]
            for start in s.equations.quaternions:
                part = x[start : start + 4]
                x[start : start + 4] = part / (part @ part).sqrt()

        def gap_of_velocities() -> Exact:
            at = self._velocity(x)
            eta = self._rows @ at["rate"] if self._own is None else self._own @ x[s.parts.v]
            return np.concatenate([at["residual"][self._chosen], eta - self._eta - deta])

        def speed_up(step: Exact) -> None:
            x[s.parts.v] = x[s.parts.v] + step

        newton(self._to_q, gap_of_positions, move)
        newton(self._to_v, gap_of_velocities, speed_up)
        v = x[s.parts.v]
        at = self._dynamics(x)
        rows = at["A"][self._chosen]
        zeros = np.full((len(rows), len(rows)), Decimal(0), dtype=object)
        kkt = np.vstack([np.hstack([at["M"], -rows.T]), np.hstack([rows, zeros])])
        a = solve(kkt, np.concatenate([at["force"], -at["bias"][self._chosen]]))[: s.nv]
        ydot = self._rows @ (at["N"] @ v)
        if self._own is not None:
            return np.concatenate([ydot, self._own @ a])
        return np.concatenate([ydot, self._rows @ (at["N"] @ a + at["spin"])])

    def derivatives(self, every: int = 1) -> Array:
        """Return [A | B | E | affine], rounded to doubles: ∂ẋ/∂(x, u, t) by central differences, and ẋ.

        With ``every`` = k it is each k-th column alone, counted back from the last.
        """
        s, ny, neta = self.system, len(self._rows), len(self._eta)
        ends = np.cumsum([ny, neta, s.nu])
        zero = exact(np.zeros(ends[-1] + 1))
        with localcontext(prec=DIGITS):

            def at(shift: Exact) -> Exact:
                dy, deta, du, dt = np.split(shift, ends)
                return self(dy, deta, du, dt[0])

            columns = [at(zero)]
            for k in range(len(zero) - every, -1, -every):
                step = zero.copy()
                step[k] = STEP
                columns.append((at(step) - at(-step)) / (2 * STEP))
            return np.array(columns[::-1]).T.astype(float)


def newton(inverse: Exact, gap: Callable[[], Exact], move: Callable[[Exact], None]) -> None:
    """Close a gap by Newton's method with a fixed inverse of its derivative."""
    for _ in range(12):
        step = -(inverse @ gap())
        move(step)
        if max(np.abs(step), default=Decimal(0)) < CLOSED:
            return
    raise ArithmeticError(f"Newton's method does not contract: {step}")
