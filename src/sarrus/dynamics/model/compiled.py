"""`CompiledEquations`: the native functions of a system, each compiled at its first use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction, compile_function
from sarrus.codegen.deferred import Deferred
from sarrus.dynamics.model.tolerances import DEFINITE_MASS, NO_INERTIA, SADDLE_SHARE, SINGULAR_MASS_RIDGE
from sarrus.dynamics.model.trees import articulated_answer, articulated_pays
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.quaternions import normalize, normalized_expression
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.batch_layout import LANES
from sarrus.symbolic.equations.elimination import (
    Weighted,
    direct_projection,
    direct_solution,
    live_rows,
    weighted,
)
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.least_norm import Basis, LeastNorm, Units
from sarrus.symbolic.equations.measure import smallest_singular_value
from sarrus.symbolic.equations.sparse import column_of, elimination_work, gram_work, matrix_of, rows_of
from sarrus.symbolic.equations.stages import (
    ByGram,
    BySaddle,
    StageElimination,
    gram_size,
    nearest,
    response,
    saddle_order,
    stage,
)

# Multiplications of an elimination above which the kernels do it instead: a constant, and a number for each row.
TRACED, TRACED_FOR_EACH = 30_000, 100
# Largest number of dependent rows in straight-line code.
DEPENDENT = 16


class CompiledEquations:
    """The equations of a system as native functions of x = [q | v | u | t | p | τ], τ an applied generalized force."""

    def __init__(
        self, equations: Equations, units: Units, ridge: Array | None = None, stiff: Array | None = None
    ) -> None:
        """``units`` makes rows and velocities comparable, see `sarrus.dynamics.model.characteristic`.

        ``ridge`` (nv,) and ``stiff`` (nc,) make a singular M definite, in the units of M; see `metric`.
        """
        self.equations, self.units = equations, units
        self.ridge, self.stiff = ridge, stiff
        self._functions: dict[str, NativeFunction] = {}  # functions of the equations
        self._named: dict[str, NativeFunction] = {}  # functions built by other modules, under their own names
        self._deferred: dict[str, Deferred] = {}
        self._bases: dict[tuple[int, tuple[int, ...]], Basis | None] = {}
        self._solves: dict[Basis, LeastNorm] = {}
        self._stages: dict[tuple[int, ...], StageElimination] = {}
        #: entries of tables for these functions, see `sarrus.dynamics.model.entries`
        self.entries: dict[tuple[frozenset[str], Basis | None], Any] = {}
        self._lock = threading.RLock()  # one function for one name: kernels hold its address
        e = equations
        self.applied = ca.SX.sym("tau", e.nv)
        self.inputs = [e.q, e.v, e.u, e.t, e.p, self.applied]
        self.mode = self._elimination_mode()
        self.articulated = self.mode != la.NULL_SPACE and articulated_pays(e)
        self.live = live_rows(e) if self.mode == la.TRACED or self.articulated else None

    def function(self, name: str) -> NativeFunction:
        """Return the native function ``name``, compiling it at its first use."""
        extra = {"a": self.equations.nv} if name == "unsatisfied" else None
        own = self._functions
        return own.get(name) or self._compiled(own, name, partial(self.outputs, name), extra)

    def address(self, name: str) -> int:
        """Return the address of the native function ``name``, which is compiled at its first call."""
        if name in self._functions:
            return self._functions[name].address
        if name not in self._deferred:
            with self._lock:
                self._deferred.setdefault(name, Deferred(partial(self.function, name), self._length(name)))
        return self._deferred[name].address

    def _length(self, name: str) -> int:
        """Return the number of outputs of a function for the kernels, without tracing it."""
        e = self.equations
        nv, nc, nh = e.nv, e.nc, e.nh
        return {
            "dynamics": nv * nv + nv + nc * nv + nc + e.nq,
            "position": nh * (nv + 2),
            "velocity": nc * (nv + 1),
            "closing": nh * (nv + 2) + nv * nv,
            "unsatisfied": nc,
            "slipping": nc * (nv + 1) + nv * nv,
        }[name]

    def named(
        self,
        name: str,
        outputs: Callable[..., Mapping[str, ca.SX]],
        extra: Mapping[str, int] | None = None,
        *,
        lanes: int = 1,
    ) -> NativeFunction:
        """Return a function that is not part of the equations, built by ``outputs`` at its first use.

        ``extra`` has names and lengths of inputs after x; ``outputs`` gets their symbols in this order. The name may be
        the name of a function of the equations; the two are kept apart.
        """
        return self._compiled(self._named, name, outputs, extra, lanes)

    def _compiled(
        self,
        known: dict[str, NativeFunction],
        name: str,
        outputs: Callable[..., Mapping[str, ca.SX]],
        extra: Mapping[str, int] | None = None,
        lanes: int = 1,
    ) -> NativeFunction:
        if name not in known:
            with self._lock:
                if name not in known:
                    symbols = [ca.SX.sym(symbol, length) for symbol, length in (extra or {}).items()]
                    known[name] = self.compile(name, outputs(*symbols), symbols, lanes=lanes)
                    self.entries.clear()  # they name it as compiled at its first call
        return known[name]

    def compile(
        self, name: str, outputs: Mapping[str, ca.SX], extra: Sequence[ca.SX] = (), *, lanes: int = 1
    ) -> NativeFunction:
        """Compile expressions over the symbols of these equations and ``extra``; the caller keeps the result alive."""
        return compile_function(f"{self.equations.name}.{name}", [*self.inputs, *extra], outputs, lanes=lanes)

    @property
    def compiled(self) -> dict[str, NativeFunction]:
        """The functions compiled so far, with their sizes and compile seconds."""
        return self._functions | self._named

    @property
    def mass_is_singular(self) -> bool:
        """Whether M is singular, so that only the null-space method solves the dynamics."""
        return self.mode == la.NULL_SPACE

    def table(self) -> la.Table:
        """Return the table for the kernels with dimensions and modes; see `sarrus.kernels.memory.layout`."""
        e = self.equations
        table = la.Table.zeros(len(e.quaternions) + e.nh + e.nc + e.nv + 1)
        table.nq, table.nv, table.nu, table.np = e.nq, e.nv, e.nu, e.p.shape[0]
        table.nh, table.nc = e.nh, e.nc
        table.elimination = self.mode
        table.simple_rate = int(e.nq == e.nv and ca.is_equal(ca.simplify(e.rate), e.v, 1))
        table.generic_rank = min(e.nc, e.nv)
        table.holonomic_rank = min(e.nh, e.nv)
        table.direct_rank = -1
        table.n_quaternions = len(e.quaternions)
        table[la.QUATERNIONS : la.QUATERNIONS + len(e.quaternions)] = e.quaternions
        return table

    def outputs(self, name: str, *extra: ca.SX) -> dict[str, ca.SX]:
        """Return the outputs of a native function as expressions over ``inputs`` and the symbols ``extra``."""
        e = self.equations
        match name:
            case "dynamics":
                return self._dynamics(self.mode)
            case "whole":
                return self._dynamics(la.NULL_SPACE)
            case "position":
                b = -ca.substitute(e.velocity_residual[: e.nh], e.v, ca.SX.zeros(e.nv))
                return {"residual": e.position_residual, "jacobian": e.jacobian[: e.nh, :], "b": b}
            case "residuals":
                return {"position": e.position_residual, "velocity": e.velocity_residual}
            case "unsatisfied":
                (a,) = extra
                return {"residual": e.jacobian @ a + e.constraint_bias}
            case "velocity":
                return {"residual": e.velocity_residual, "jacobian": e.jacobian}
            case "energy":
                return {"energy": e.kinetic_energy + e.potential_energy}
            case "metric":
                traced = self.mode == la.TRACED
                return {"metric": self.weighted.factor.matrix if traced else self.metric}
            case "closing":
                rows, slip = matrix_of(self.weighted.rows[: e.nh], e.nv), e.velocity_residual[: e.nh]
                factor = self.weighted.factor.matrix
                return {"residual": e.position_residual, "rows": rows, "slip": slip, "factor": factor}
            case "slipping":
                rows, factor = matrix_of(self.weighted.rows, e.nv), self.weighted.factor.matrix
                return {"slip": e.velocity_residual, "rows": rows, "factor": factor}
            case _:
                return {name: getattr(e, name)}

    def basis(self, rank: int, independent: Sequence[int]) -> Basis | None:
        """Return the rows that straight-line code solves for at generic configurations of this rank, or None.

        ``independent`` are ``rank`` row indices. Required: they are all rows that are not structurally zero, or few
        rows depend on them and no parameter shapes A (other values could make other rows independent); and the
        elimination takes few enough multiplications.
        """
        key = rank, tuple(independent)
        if key not in self._bases:
            self._bases[key] = self._basis(*key)
        return self._bases[key]

    def _basis(self, rank: int, independent: tuple[int, ...]) -> Basis | None:
        e, live = self.equations, self.live
        if live is None or rank > e.nv:
            return None
        if self.articulated:
            return Basis(())
        found = Basis(tuple(live))
        if rank < len(live):
            extra = tuple(j for j in live if j not in set(independent))
            if e.shaping_parameters or len(extra) > DEPENDENT:
                return None
            found = Basis(independent, extra)
        work = gram_work([self.weighted.rows[j] for j in found.independent], len(found.dependent))
        return found if len(found.independent) == rank and work <= TRACED + TRACED_FOR_EACH * rank else None

    def direct(self, name: str, basis: Basis) -> NativeFunction:
        """Return the native function "checked", "direct", "closed" or "measure" for a basis of rows.

        They solve for accelerations, for accelerations at stages, for a projection, and for the smallest singular
        value.
        """
        full = name if basis.independent == tuple(self.live or ()) else f"{name} by rows {basis.label}"
        return self._compiled(self._functions, full, lambda: self.direct_outputs(name, basis))

    def nearest(self, basis: Basis) -> NativeFunction:
        """Return the function `nearest` of residuals (nc,) and of the factors left by "direct"."""
        name = f"nearest by rows {basis.label}"
        with self._lock:
            if name not in self._functions:
                *given, step = nearest(self.equations, self.stages(basis))
                full = f"{self.equations.name}.{name}"
                self._functions[name] = compile_function(full, given, {"step": step})
            return self._functions[name]

    def response(self, basis: Basis) -> NativeFunction:
        """Return the function `response` of the factors left by "direct" and of forces (nv,), in `LANES` lanes."""
        name = f"response by rows {basis.label}"
        with self._lock:
            if name not in self._functions:
                *given, a = response(self.equations, self.stages(basis))
                full = f"{self.equations.name}.{name}"
                self._functions[name] = compile_function(full, given, {"a": a}, lanes=LANES)
            return self._functions[name]

    def direct_outputs(self, name: str, basis: Basis) -> dict[str, ca.SX]:
        """Return the outputs of `direct` as expressions over ``inputs``."""
        e = self.equations
        if self.articulated:
            answer = articulated_answer(e, self.force)
            if name == "checked":
                return answer
            return {part: answer[part] for part in ("a", "rate", "conditioning")} | {"factors": ca.SX(0, 1)}
        if name == "measure":
            return smallest_singular_value(e, basis, self.units)
        if name == "closed":
            return direct_projection(e, self.weighted, self.least_norm(basis), self.moved)
        if name == "direct":  # at stages only a is needed, and dependent rows need not be consistent
            return stage(e, self.stages(basis))
        return direct_solution(e, self.weighted, self.least_norm(basis))

    def stages(self, basis: Basis) -> StageElimination:
        """Return the elimination for stages with fewer multiplications, traced once."""
        own = basis.independent
        if own not in self._stages:
            mass, rows = rows_of(self.equations.mass_matrix), rows_of(self.equations.jacobian)
            order, work = saddle_order(mass, [rows[j] for j in own])
            self._stages[own] = (
                BySaddle(self.equations, self.force, own, order, self.units)
                if work < SADDLE_SHARE * gram_size(self.weighted, own)
                else ByGram(self.weighted, self.least_norm(Basis(own)))
            )
        return self._stages[own]

    def least_norm(self, basis: Basis) -> LeastNorm:
        """Return the least-norm solves with the rows of a basis, traced once for all functions that use them."""
        if basis not in self._solves:
            self._solves[basis] = LeastNorm(self.weighted.rows, basis, self.units)
        return self._solves[basis]

    def moved(self, step: ca.SX) -> ca.SX:
        """Return q ⊕ δ: q + N(q) δ with quaternions scaled to unit length."""
        e = self.equations
        return normalized_expression(e.q + ca.substitute(e.rate, e.v, step), e.quaternions)

    @property
    def projecting(self) -> tuple[str, ...]:
        """Names of the functions needed by projections in addition to position, velocity and rate."""
        e = self.equations
        if self.mode != la.TRACED:
            return ("metric",) if e.nc else ()
        return (*(["closing"] if e.nh else []), *(["slipping"] if e.nc > e.nh else []))

    @property
    def force(self) -> ca.SX:
        """Expression of f in M a = f + Aᵀλ."""
        e = self.equations
        return e.passive_force + e.input_force - e.bias_force + e.non_ideal + self.applied

    @property
    def metric(self) -> ca.SX:
        """Expression of the metric of projections: M, or where M is singular M + AᵀD A + a small ridge.

        A motion without kinetic energy has no length in M. The shortest δ with given A δ is still unique if M is
        definite on the kernel of A, which the dynamics requires; then M + AᵀD A is definite for any D > 0 and gives the
        same shortest δ, because δᵀAᵀD A δ is fixed.
        """
        e = self.equations
        if self.mode != la.NULL_SPACE:
            return e.mass_matrix
        size = ca.trace(e.mass_matrix) / e.nv
        ridge = size * ca.SX.ones(e.nv) if self.ridge is None else ca.SX(self.ridge.tolist())
        stiff = size * ca.SX.ones(e.nc) if self.stiff is None else ca.SX(self.stiff.tolist())
        return (
            e.mass_matrix + e.jacobian.T @ ca.diag(stiff) @ e.jacobian + SINGULAR_MASS_RIDGE * ca.diag(ridge)
        )

    @cached_property
    def weighted(self) -> Weighted:
        """The problem after elimination of M, traced once for all functions that solve it."""
        return weighted(self.equations, self.force)

    def _dynamics(self, mode: int) -> dict[str, ca.SX]:
        e = self.equations
        mass, force, rows = e.mass_matrix, self.force, e.jacobian
        if mode == la.TRACED:
            w = self.weighted
            mass, force, rows = w.factor.matrix, column_of(w.force, e.nv), matrix_of(w.rows, e.nv)
        return {"mass": mass, "force": force, "rows": rows, "bias": e.constraint_bias, "rate": e.whole_rate}

    def mass_at(self, q: Array, t: float, parameters: Sequence[float]) -> Array:
        """Return M without compiling it, for occasional use; its last digits may differ from compiled code."""
        return np.array(self._probe(q, t, np.array(parameters)))

    @cached_property
    def _probe(self) -> ca.Function:
        e = self.equations
        return ca.Function("probe", [e.q, e.t, e.p], [e.mass_matrix])

    def _elimination_mode(self) -> int:
        """Choose the elimination: null space where M is singular, traced where it pays, else Cholesky."""
        e = self.equations
        rng = np.random.default_rng(0)
        parameters = list(e.parameter_values.values())
        if not all(
            is_definite(self.mass_at(random_coordinates(e, rng), 0.0, parameters), DEFINITE_MASS)
            for _ in range(3)
        ):
            return la.NULL_SPACE
        work = elimination_work(rows_of(e.mass_matrix), range(e.nv)[::-1])
        return la.TRACED if work <= TRACED + TRACED_FOR_EACH * e.nv else la.CHOLESKY


def random_coordinates(equations: Equations, rng: np.random.Generator) -> Array:
    """Return random coordinates with unit quaternions."""
    q = rng.uniform(-1.0, 1.0, equations.nq)
    normalize(q, equations.quaternions)
    return q


def is_definite(mass: Array, least: float = NO_INERTIA) -> bool:
    """Tell whether M, scaled to a unit diagonal, has all eigenvalues above ``least``; False if it is not finite."""
    scale = np.sqrt(np.maximum(np.diag(mass), 0.0))
    if not np.isfinite(mass).all():
        return True
    return bool((scale > 0.0).all()) and dense.is_definite(mass / np.outer(scale, scale), least)
