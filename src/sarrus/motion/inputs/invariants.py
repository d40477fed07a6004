"""`Invariant`: a function I(q, v, t) that the motion keeps constant and the projection after each step restores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SarrusError, check_known
from sarrus.base.numbers import three_numbers
from sarrus.codegen import NativeFunction
from sarrus.control.quantities.quantities import AXES, Part, bodies_of, direction, frames_of
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.state_functions import arguments_beyond
from sarrus.dynamics.system import System
from sarrus.motion.inputs.tolerances import GRADIENT_STATES, GRADIENT_STEP
from sarrus.symbolic.equations.symbolic import traced
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.multibody.momentum import momentum

ENERGY = "energy"
# Ready-made invariants by name.
NAMES = (ENERGY, *(f"{kind}.{axis}" for kind in ("momentum", "angular_momentum") for axis in AXES))


@dataclass(frozen=True)
class _Traced:
    """An expression of the symbols of a system."""

    trace: Callable[[System], ca.SX]

    def __call__(self, *state: Any) -> Any:
        raise TypeError("a ready-made invariant is traced, not called")


_TOTAL = _Traced(lambda system: system.equations.kinetic_energy + system.equations.potential_energy)


@dataclass(frozen=True)
class Invariant:
    """A function I(q, v, t) that is constant along motions, for ``Stabilization(invariants=)``.

    Parameters
    ----------
    name : name in reports and trajectories; the rows of a column are name[0], name[1], ...
    function : (q, v, t) or, with parameters ``p.name``, (q, v, t, p) → number or column, of CasADi symbols; or a
        quantity of `sarrus.control`, such as ``sr.control.momentum("xy", "z")``.

    `momentum`, `angular_momentum` and `energy` return ready-made ones. Every run checks dI/dt along the motion: if
    forces change I, the run ends with NOT_INVARIANT, which names the function and its rate.
    """

    name: str
    function: Callable[..., Any] | Part | _Traced

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name):
            raise ArgumentError(
                f"Invariant: the name must be a word, got {self.name!r}", element="invariants"
            )
        if not (callable(self.function) or isinstance(self.function, Part)):
            raise ArgumentError(
                f"Invariant {self.name!r}: give a function of (q, v, t) or a quantity of sarrus.control, got "
                f"{self.function!r}",
                element=self.name,
            )

    @classmethod
    def energy(cls) -> Invariant:
        """Return the invariant kinetic plus potential energy [J], constant without drives, dampers and friction."""
        return cls(ENERGY, _TOTAL)

    @classmethod
    def momentum(cls, axis: ArrayLike, name: str | None = None) -> Invariant:
        """Return the invariant linear momentum of all bodies along ``axis`` (3,) in world axes [kg m/s].

        It is constant if no external force (gravity, ground) has a component along ``axis``.
        """
        along = direction(axis, "axis")

        def trace(system: System) -> ca.SX:
            return ca.dot(ca.DM(along), momentum(frames_of(system), bodies_of(system)).linear)

        return cls(name or f"momentum along {_text(along)}", _Traced(trace))

    @classmethod
    def angular_momentum(
        cls, axis: ArrayLike, point: ArrayLike | None = None, name: str | None = None
    ) -> Invariant:
        """Return the invariant angular momentum of all bodies along ``axis`` (3,) [kg m²/s], world axes.

        It is taken about ``point`` (3,) [m], fixed in the world; without a point about the centre of mass. It is
        constant if no external force has a moment about that axis: a hinge on the ground has none about its own axis,
        gravity none about a vertical axis.
        """
        along = direction(axis, "axis")
        fixed = None if point is None else three_numbers(point, "point")

        def trace(system: System) -> ca.SX:
            m = momentum(frames_of(system), bodies_of(system))
            about = m.angular
            if fixed is not None:
                about = about + cross(m.centre.value - ca.DM(fixed), m.linear)
            return ca.dot(ca.DM(along), about)

        where = "the centre of mass" if fixed is None else _text(fixed)
        return cls(name or f"angular momentum along {_text(along)} about {where}", _Traced(trace))


def _text(vector: Array) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in vector) + ")"


def checked_invariants(given: Any) -> tuple[str | Invariant, ...]:
    """Return the invariants of a `Stabilization` as a tuple; raises `ArgumentError` for other types and equal names."""
    if isinstance(given, str | Invariant) or not isinstance(given, Sequence):
        raise ArgumentError(
            f"Stabilization: invariants must be a sequence of Invariant or of {', '.join(NAMES)}, got {given!r}",
            element="invariants",
        )
    for one in given:
        if isinstance(one, str):
            check_known("invariant", one, NAMES, element="invariants")
        elif not isinstance(one, Invariant):
            raise ArgumentError(
                f"Stabilization: invariants are names or sr.Invariant(name, function), got {one!r}",
                element="invariants",
            )
    names = [name_of(one) for one in given]
    if len(set(names)) != len(names):
        raise ArgumentError(
            f"Stabilization: invariants need names of their own, got {names}", element="invariants"
        )
    return tuple(given)


def name_of(one: str | Invariant) -> str:
    """Return the name of an invariant."""
    return one if isinstance(one, str) else one.name


def is_energy(one: str | Invariant) -> bool:
    """Tell whether an invariant is the energy."""
    return one == ENERGY if isinstance(one, str) else one.function is _TOTAL


def _ready_made(name: str) -> Invariant:
    kind, _, axis = name.partition(".")
    if kind == ENERGY:
        return Invariant.energy()
    unit = np.eye(3)[AXES.index(axis)]
    if kind == "momentum":
        return Invariant.momentum(unit, name=name)
    return Invariant.angular_momentum(unit, point=(0.0, 0.0, 0.0), name=name)


class InvariantFunctions(NamedTuple):
    """Native functions for the kernels: values at x, rates at [x | a], and (φ, ψ, I) with its derivatives at x."""

    values: NativeFunction
    rates: NativeFunction
    projected: NativeFunction


class TracedInvariants:
    """The invariants of one system: a name for every row, and expressions over the symbols of the system.

    Attributes
    ----------
    names : of the rows (k).
    value : I (k), an SX column.
    sizes : (k,) scale of a value that is small: its change by velocities of one characteristic unit per second and
        steps of one unit, at seeded states about the reference; for the energy the characteristic mass times
        (characteristic length per second) squared.
    """

    def __init__(self, system: Evaluations, given: Sequence[str | Invariant]) -> None:
        e = system.equations
        names, columns, owners = list[str](), list[ca.SX](), list[str | Invariant]()
        for one in given:
            name, value = name_of(one), _value(system, one)
            names += [name] if value.numel() == 1 else [f"{name}[{k}]" for k in range(value.numel())]
            columns.append(value)
            owners += [one] * value.numel()
        self.names, self.value = tuple(names), ca.vertcat(ca.SX(0, 1), *columns)
        for k, name in enumerate(self.names):
            if not ca.depends_on(self.value[k], ca.vertcat(e.q, e.v)):
                raise ArgumentError(
                    f"{system.name}: the invariant {name!r} depends on neither q nor v, so that nothing keeps it",
                    element=name,
                )
        self.by_name = all(isinstance(one, str) for one in given)
        energies = [k for k, one in enumerate(owners) if is_energy(one)]
        self.sizes = _sizes(system, self.value, energies)
        self._compiled: list[tuple[CompiledEquations, InvariantFunctions]] = []
        self._values: ca.Function | None = None

    @classmethod
    def of(cls, system: Evaluations, given: tuple[str | Invariant, ...]) -> TracedInvariants:
        """Return the invariants of a system, traced at its parameters; the latest ones are cached."""
        key = "invariants", given, *system.parameters.values()
        try:
            hash(key)
        except TypeError:  # a function that is an object without a hash
            return cls(system, given)
        return system.model.cached_lru(key, lambda: cls(system, given))

    def functions(self, compiled: CompiledEquations) -> InvariantFunctions:
        """Return the native functions over the symbols of compiled equations, compiled once for these equations."""
        for known, functions in self._compiled:
            if known is compiled:
                return functions
        e, a = compiled.equations, ca.SX.sym("a", compiled.equations.nv)
        label = ", ".join(self.names)
        outputs: dict[str, tuple[Callable[..., dict[str, ca.SX]], ca.SX | None]] = {
            "values": (lambda: {"value": self.value}, None),
            "rates": (lambda a: {"rate": self.rate(compiled, a)}, a),
            "invariants": (lambda: self._projected(compiled), None),
        }
        made = []
        for kind, (expressions, symbol) in outputs.items():
            if self.by_name:
                extra = {} if symbol is None else {"a": e.nv}
                made.append(compiled.named(f"{kind} of {label}", expressions, extra))
            else:
                given = [] if symbol is None else [symbol]
                made.append(compiled.compile(kind, expressions(*given), given))
        functions = InvariantFunctions(*made)
        self._compiled = [*self._compiled[-3:], (compiled, functions)]
        return functions

    def rate(self, compiled: CompiledEquations, a: ca.SX) -> ca.SX:
        """Return dI/dt (k) at accelerations a."""
        e, value = compiled.equations, self.value
        along = ca.jtimes(value, e.q, e.rate) + ca.jtimes(value, e.v, a)
        return along + ca.jtimes(value, e.t, ca.SX(1))

    def _projected(self, compiled: CompiledEquations) -> dict[str, ca.SX]:
        """Return c = (φ, ψ, I) and its derivative with respect to (δq = N δ, δv)."""
        e = compiled.equations
        c = ca.vertcat(e.position_residual, e.velocity_residual, self.value)
        along_q = ca.jacobian(c, e.q) @ ca.jacobian(e.rate, e.v)
        return {"c": c, "jacobian": ca.horzcat(along_q, ca.jacobian(c, e.v))}

    def along(self, system: Evaluations, q: Array, v: Array, t: Array, parameters: Sequence[float]) -> Array:
        """Return the values (T, k) at states q (T, nq), v (T, nv), times t (T,), for one set of parameters."""
        if self._values is None:
            e = system.equations
            self._values = ca.Function("invariants", [e.q, e.v, e.t, e.p], [self.value])
        found = np.empty((len(t), len(self.names)))
        p = np.array(list(parameters), dtype=float)
        for first in range(0, len(t), 4096):
            part = slice(first, first + 4096)
            rows = self._values(q[part].T, v[part].T, t[None, part], np.tile(p[:, None], (1, len(t[part]))))
            found[part] = np.array(rows).T
        return found


def _value(system: Evaluations, one: str | Invariant) -> ca.SX:
    """Return the value of an invariant as an SX column over the symbols of a system."""
    e, invariant = system.equations, _ready_made(one) if isinstance(one, str) else one
    function, what = invariant.function, f"{system.name}: invariant {invariant.name!r}"
    try:
        if isinstance(function, _Traced):
            return function.trace(system)  # type: ignore[arg-type]
        if isinstance(function, Part):
            return ca.SX(function.trace(system).value)  # type: ignore[arg-type]
    except SarrusError as error:
        raise ArgumentError(f"{what}: {error}", element=invariant.name) from error
    more = arguments_beyond(function, e.parameter_values, ca.vertsplit(e.p) if e.parameter_values else ())
    symbols = (e.q, e.v, e.t, *more)
    value = traced(function, symbols, what, "Write it with CasADi operations of (q, v, t)")
    if value.numel() == 0:
        raise ArgumentError(f"{what}: gives no number", element=invariant.name)
    return value


def _sizes(system: Evaluations, value: ca.SX, energies: Sequence[int]) -> Array:
    """Return the scales (k,) of small values, see `TracedInvariants`; ``energies`` are the rows of energies."""
    e, size = system.equations, system.model.characteristic
    rate = ca.jacobian(e.rate, e.v)
    gradient = ca.horzcat(ca.jacobian(value, e.q) @ rate, ca.jacobian(value, e.v))
    function = ca.Function("gradient", [e.q, e.v, e.t, e.p], [gradient])
    move = ca.Function("move", [e.q, e.v], [e.q + e.rate])
    rng, found = np.random.default_rng(7), np.zeros((GRADIENT_STATES, value.numel()))
    unit, q = 1.0 / size.columns, np.array(system.neutral(), dtype=float)
    for k in range(GRADIENT_STATES):
        v = rng.choice([-1.0, 1.0], e.nv) * unit
        values = np.array(function(q, v, 0.0, list(system.parameters.values())))
        found[k] = (np.abs(values) * np.tile(unit, 2)).max(axis=1, initial=0.0)
        step = GRADIENT_STEP * rng.uniform(-1.0, 1.0, e.nv) * unit
        q = system.normalized(np.array(move(q, step)).ravel())
    found[~np.isfinite(found)] = 0.0
    sizes = found.max(axis=0)
    sizes[sizes == 0.0] = 1.0
    sizes[list(energies)] = size.mass * size.length**2
    return sizes
