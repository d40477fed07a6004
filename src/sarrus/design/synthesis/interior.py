"""Interior point method: IPOPT, which comes with CasADi, with exact first derivatives and limited-memory Hessians.

A. Wächter, L. T. Biegler: On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming. Mathematical Programming 106, 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.design.synthesis.evaluation import Found
from sarrus.design.synthesis.nonlinear import Nonlinear
from sarrus.design.synthesis.program import Ended, Program
from sarrus.design.synthesis.tolerances import INTERIOR_ACCEPTED, INTERIOR_OPTIMAL, INTERIOR_PUSH

# Designs that are tried per iteration, on average: more are tried at the edge of what closes, where steps shrink.
_TRIALS = 5
_TOO_MANY = ("Maximum_Iterations_Exceeded", "User_Requested_Stop")
# Bounds are bounds, and a start near one is not pushed far from it: it might not close there.
_OPTIONS = {
    "print_level": 0,
    "sb": "yes",
    "hessian_approximation": "limited-memory",
    "nlp_scaling_method": "none",
    "tol": INTERIOR_OPTIMAL,
    "acceptable_tol": INTERIOR_ACCEPTED,
    "bound_relax_factor": 0.0,
    "bound_push": INTERIOR_PUSH,
    "bound_frac": INTERIOR_PUSH,
}


def require_ipopt(label: str) -> None:
    """Raise `ArgumentError` where CasADi has no IPOPT."""
    if not ca.has_nlpsol("ipopt"):
        raise ArgumentError(
            f"{label}: method 'ipopt' needs a CasADi with IPOPT, which this one lacks (the wheels have it). "
            "method='slsqp' solves the same problems",
            element="ipopt",
        )


def ipopt(program: Program, found: Found, iterations: int) -> Ended:
    """Return the end of a search from a design that closes; designs that do not close are NaN, and the step is
    shortened.
    """
    p = Nonlinear(program, found)
    evaluation, guard = program.evaluation, _Guard()
    last = evaluation.count + _TRIALS * iterations
    n, above, equal = len(p.start), len(p.above(p.start)), len(p.equal(p.start))

    def constraints(y: Array) -> Array | None:
        return np.concatenate([p.above(y), p.equal(y)]) if p.at(y) else None

    def rows(y: Array) -> Array:
        return np.vstack([p.above_slope(y), p.equal_slope(y)])

    objective = _Function("objective", n, 1, guard, p.objective, lambda y: p.slope(y)[None, :])
    y = ca.MX.sym("y", n)
    described: dict[str, Any] = {"x": y, "f": objective(y)}
    held = _Function("constraints", n, above + equal, guard, constraints, rows)
    if above + equal:
        described["g"] = held(y)
    watch = _Watch(n, above + equal, lambda: guard.error is not None or evaluation.count > last)
    options: dict[str, Any] = {
        "print_time": False,
        "show_eval_warnings": False,
        "error_on_fail": False,
        "iteration_callback": watch,
    }
    solver = ca.nlpsol(
        "synthesis", "ipopt", described, options | {"ipopt": _OPTIONS | {"max_iter": iterations}}
    )
    room = np.concatenate([np.full(above, np.inf), np.zeros(equal)])
    answer = solver(x0=p.start, lbx=p.lower, ubx=p.upper, lbg=np.zeros(above + equal), ubg=room)
    guard.check()
    said = str(solver.stats()["return_status"])
    return p.ended(np.array(answer["x"])[:, 0], said not in _TOO_MANY, said.replace("_", " ").lower())


class _Guard:
    """Stores an exception of a callback, which must not pass through the solver."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def call(self, f: Callable[[Array], object], y: Array, shape: tuple[int, ...]) -> ca.DM:
        """Return values of a function, NaN if it has none or raised."""
        value = None
        if self.error is None:
            try:
                value = f(y)
            except Exception as error:  # raised again by `check`
                self.error = error
        return ca.DM(np.full(shape, np.nan) if value is None else np.reshape(np.asarray(value), shape))

    def check(self) -> None:
        """Raise the stored exception."""
        if self.error is not None:
            raise self.error


class _Function(ca.Callback):
    """A Python function with its derivative as a CasADi callback."""

    def __init__(
        self,
        name: str,
        n: int,
        m: int,
        guard: _Guard,
        value: Callable[[Array], object],
        slope: Callable[[Array], Array] | None = None,
        *,
        columns: int = 1,
    ) -> None:
        super().__init__()
        self._n, self._m, self._columns, self._guard = n, m, columns, guard
        self._value, self._slope = value, slope
        self._derivative: _Function | None = None
        self.construct(name, {"enable_fd": False})

    def get_n_in(self) -> int:
        return 1 if self._slope is not None else 2

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._n if i == 0 else self._m, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self._m, self._columns)

    def eval(self, arguments: Sequence[ca.DM]) -> Sequence[ca.DM]:
        y = np.array(arguments[0])[:, 0]
        return [self._guard.call(self._value, y, (self._m, self._columns))]

    def has_jacobian(self) -> bool:
        return self._slope is not None

    def get_jacobian(
        self, name: str, names_in: Sequence[str], names_out: Sequence[str], options: object
    ) -> ca.Function:
        assert self._slope is not None
        self._derivative = _Function(name, self._n, self._m, self._guard, self._slope, columns=self._n)
        return self._derivative


class _Watch(ca.Callback):
    """A callback that ends a search between iterations."""

    def __init__(self, n: int, m: int, ends: Callable[[], bool]) -> None:
        super().__init__()
        self._sizes = {"x": n, "lam_x": n, "f": 1, "g": m, "lam_g": m, "lam_p": 0}
        self._ends = ends
        self.construct("watch", {})

    def get_n_in(self) -> int:
        return int(ca.nlpsol_n_out())

    def get_n_out(self) -> int:
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        size = self._sizes[ca.nlpsol_out(i)]
        return ca.Sparsity.dense(size, 1 if size else 0)

    def eval(self, arguments: Sequence[ca.DM]) -> Sequence[ca.DM]:
        return [ca.DM(int(self._ends()))]
