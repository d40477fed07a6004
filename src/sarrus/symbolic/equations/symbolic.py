"""Tracing of user functions over CasADi symbols, with checks that name the wrong argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError, SarrusError, check_known, unknown_name
from sarrus.kernels.linalg.quaternions import normalize
from sarrus.symbolic.equations.tolerances import PROBE_ROUNDING

UserFunction = Callable[..., Any]

_PROBES = 5


class Parameters:
    """Symbols of parameters, or their values, by attribute or item: ``p.m`` or ``p["m"]``."""

    def __init__(self, symbols: Mapping[str, Any]) -> None:
        self._symbols = dict(symbols)

    @classmethod
    def named(cls, names: Sequence[str]) -> Parameters:
        """Return new symbols with these names."""
        return cls({name: ca.SX.sym(name) for name in names})

    def __getitem__(self, name: str) -> Any:
        check_known("parameter", name, self._symbols)
        return self._symbols[name]

    def __getattr__(self, name: str) -> Any:
        symbols = self.__dict__.get("_symbols", {})
        if name not in symbols:
            raise AttributeError(unknown_name("parameter", name, symbols))
        return symbols[name]

    def column(self) -> ca.SX:
        """Return all symbols as a column, in the order of the names."""
        return ca.vertcat(ca.SX(0, 1), *self._symbols.values())


class ParameterValues(dict[str, float]):
    """The values of the parameters of a system: assign to existing items; nothing is compiled again.

    ``shaping`` are the parameters on which the rank of A may depend; after a change it is found anew. ``check`` raises
    for forbidden values; nothing is assigned then.
    """

    def __init__(
        self,
        system: str,
        values: Mapping[str, float] | Iterable[tuple[str, float]],
        shaping: Collection[str] = (),
        check: Callable[[Mapping[str, float]], None] | None = None,
    ) -> None:
        super().__init__(values)
        self._system, self._shaping, self._check = system, frozenset(shaping), check
        self.changes = 0  # number of assignments
        self.switched = 0  # number of changes of parameters in ``shaping``

    def __setitem__(self, name: str, value: float) -> None:
        self.update({name: value})

    def update(self, values: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:  # type: ignore[override]
        """Assign several values at once; they are checked together."""
        new = {}
        for name, value in dict(values).items():
            check_known("parameter", name, self, self._system)
            number = _finite(self._system, name, value)
            if number != self[name]:
                new[name] = number
        if new:
            if self._check is not None:
                self._check({**self, **new})
            super().update(new)
            self.switched += len(self._shaping & new.keys())
            self.changes += 1

    def __reduce__(self) -> tuple[type, tuple[dict[str, float]]]:
        return dict, (
            dict(self),
        )  # copied and pickled as a plain dictionary: this object belongs to its system

    def own(self) -> ParameterValues:
        """Return an independent copy."""
        other = ParameterValues.__new__(ParameterValues)
        vars(other).update(vars(self))
        dict.update(other, self)
        return other

    def follow(self, others: ParameterValues) -> None:
        """Copy the values of the same parameters, which have been checked."""
        self.changes, self.switched = others.changes, others.switched
        super().update(others)


class Tracer:
    """The symbols q, v, t and p of one system, and the evaluation of user functions over them.

    ``arguments`` of the methods lists the symbols that a function takes, such as "qvt", and ``optional`` the last ones
    that it may omit. The object p follows as the last argument if the system has parameters; without parameters a last
    argument named p is allowed. Every failure is an `ArgumentError` that names the argument. Values may be CasADi SX or
    DM, numbers, NumPy arrays, or (nested) lists of these.
    """

    def __init__(
        self,
        name: str,
        nq: int,
        nv: int,
        parameters: Mapping[str, float] | None,
        quaternions: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.parameter_values = _parameter_values(name, parameters)
        self.quaternions = tuple(int(start) for start in quaternions)
        self.q, self.v, self.t = ca.SX.sym("q", nq), ca.SX.sym("v", nv), ca.SX.sym("t")
        self._parameters = Parameters.named(tuple(self.parameter_values))
        self.p = self._parameters.column()

    @property
    def symbols(self) -> ca.SX:
        """All symbols allowed in the value of a function."""
        return ca.vertcat(self.q, self.v, self.t, self.p)

    def scalar(self, what: str, function: UserFunction, arguments: str, optional: str = "") -> ca.SX:
        """Return the value of a scalar function."""
        return self.column(what, function, arguments, 1, optional)

    def column(
        self, what: str, function: UserFunction, arguments: str, size: int | None = None, optional: str = ""
    ) -> ca.SX:
        """Return the value as a column of ``size`` entries (None: any number); a row is transposed."""
        value = self.matrix(what, function, arguments, optional)
        if not value.is_vector() and value.numel():
            raise self._error(what, f"must return a column, got shape {value.shape}")
        if size is not None and value.numel() != size:
            raise self._error(what, f"must return {size} {_entries(size)}, got {value.numel()}")
        return ca.reshape(value, value.numel(), 1)

    def matrix(self, what: str, function: UserFunction, arguments: str, optional: str = "") -> ca.SX:
        """Return the value as a dense matrix."""
        inputs = self._inputs(what, function, arguments, optional)
        try:
            value = function(*inputs)
        except Exception as error:
            raise self._error(
                what, f"could not be traced over CasADi symbols ({type(error).__name__}: {error})"
            ) from error
        matrix = self._expression(what, value)
        self._check_symbols(what, matrix)
        return matrix

    def _inputs(self, what: str, function: UserFunction, arguments: str, optional: str) -> list[Any]:
        """Return the arguments for a function: the fewest that its signature accepts; t and p by their names."""
        expected = ", ".join([*arguments, *("p" if self.parameter_values else "")])
        if not callable(function):
            raise self._error(what, f"must be a function of ({expected}), got {type(function).__name__}")
        signature = inspect.signature(function)
        every = [getattr(self, symbol) for symbol in arguments]
        least = len(every) - len(set(optional) - set(signature.parameters))
        last = [self._parameters] if self.parameter_values or "p" in signature.parameters else []
        for count in range(least, len(every) + 1):
            inputs = every[:count] + last
            try:
                signature.bind(*inputs)
            except TypeError:
                continue
            return inputs
        raise self._error(what, f"must be a function of ({expected}), got one of {signature}")

    def time_derivative(self, expression: ca.SX, rate: ca.SX) -> ca.SX:
        """Return d/dt of an expression of (q, t) or, at constant v, of (q, v, t)."""
        return ca.jtimes(expression, self.q, rate) + ca.jtimes(expression, self.t, ca.SX(1))

    def vanishes(self, expression: ca.SX, *terms: ca.SX) -> bool:
        """Tell whether an expression is zero to rounding, relative to ``terms``, at seeded random states.

        False if it could not be evaluated at any of them.
        """
        scale = ca.vertcat(ca.SX(1), *[ca.vec(term) for term in terms])
        function = ca.Function("probe", [self.q, self.v, self.t, self.p], [expression, scale])
        rng = np.random.default_rng(0)
        tried = 0
        for _ in range(_PROBES):
            value, size = (np.array(x) for x in function(*self._random_state(rng)))
            if np.isfinite(value).all() and np.isfinite(size).all():
                tried += 1
                if np.abs(value).max(initial=0.0) > PROBE_ROUNDING * np.abs(size).max():
                    return False
        return tried > 0

    def _random_state(self, rng: np.random.Generator) -> tuple[Any, ...]:
        q, v = rng.uniform(-1.0, 1.0, self.q.numel()), rng.uniform(-1.0, 1.0, self.v.numel())
        normalize(q, self.quaternions)
        return q, v, rng.uniform(), rng.uniform(0.5, 1.5, self.p.numel())

    def _expression(self, what: str, value: Any) -> ca.SX:
        try:
            matrix = ca.SX(ca.densify(stacked(value)))
        except Exception:
            raise self._error(
                what,
                f"must return CasADi SX expressions, numbers or lists of these, got {type(value).__name__}",
            ) from None
        for entry in (matrix.nz[k] for k in range(matrix.nnz())):
            if entry.is_constant() and not np.isfinite(float(entry)):
                raise self._error(what, f"must return finite values, got {float(entry)}")
        if holds_nan(matrix):
            raise self._error(what, "gives NaN over CasADi symbols, as float(q[0]) does")
        return matrix

    def _check_symbols(self, what: str, matrix: ca.SX) -> None:
        known = {s.element_hash() for s in ca.symvar(self.symbols)}
        foreign = [s.name() for s in ca.symvar(matrix) if s.element_hash() not in known]
        if foreign:
            raise self._error(
                what,
                f"depends on symbols that are not its arguments: {', '.join(foreign)}. "
                "Constants that are to be changed later belong in parameters",
            )

    def _error(self, what: str, sentence: str) -> ArgumentError:
        return ArgumentError(f"{self.name}: {what} {sentence}", element=what)


def names_of(system: str, what: str, names: Sequence[str] | None, size: int, prefix: str) -> tuple[str, ...]:
    """Return ``size`` unique names: the given ones, or ``prefix`` with numbers from 1."""
    if names is None:
        return tuple(f"{prefix}{k + 1}" for k in range(size))
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ArgumentError(f"{system}: {what} must be a sequence of names, got {names!r}", element=what)
    if len(names) != size:
        raise ArgumentError(
            f"{system}: {what} must have {size} {_entries(size)}, got {len(names)}: {names!r}", element=what
        )
    if len(set(names)) != size:
        raise ArgumentError(f"{system}: {what} must be unique, got {names!r}", element=what)
    return tuple(names)


def dimension(system: str, what: str, value: int) -> int:
    """Return a checked whole number ≥ 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ArgumentError(f"{system}: {what} must be a whole number ≥ 1, got {value!r}", element=what)
    return int(value)


def _parameter_values(system: str, parameters: Mapping[str, float] | None) -> dict[str, float]:
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ArgumentError(
            f"{system}: parameters must map names to numbers, got {type(parameters).__name__}",
            element="parameters",
        )
    values = {}
    for name, value in (parameters or {}).items():
        if not (isinstance(name, str) and name.isidentifier() and not name.startswith("_")):
            raise ArgumentError(
                f"{system}: parameters: {name!r} is no name that can follow 'p.'", element="parameters"
            )
        values[name] = _finite(system, name, value)
    return values


def _finite(system: str, name: str, value: float) -> float:
    if not (isinstance(value, (int, float, np.number)) and np.isreal(value) and np.isfinite(value)):
        raise ArgumentError(
            f"{system}: parameters: {name!r} must be a finite number, got {value!r}", element=name
        )
    return float(value)


def holds_nan(expression: ca.SX) -> bool:
    """Tell whether an expression contains the constant NaN, the result of float() of a symbol."""
    program = ca.Function("program", ca.symvar(expression), [expression])
    return any(
        program.instruction_id(k) == ca.OP_CONST and np.isnan(program.instruction_constant(k))
        for k in range(program.n_instructions())
    )


def traced(
    function: Callable[..., Any], symbols: Sequence[Any], what: str, remedy: str, size: int | None = None
) -> ca.SX:
    """Return function(*symbols) as an SX column, checked for ``size`` entries if given.

    Every failure is an `ArgumentError` about ``what``; ``remedy`` is the advice if tracing fails.
    """
    value = traced_matrix(function, symbols, what, remedy)
    if size is not None and value.numel() != size:
        raise ArgumentError(f"{what}: must return {size} entries, got {value.numel()}", element=what)
    return ca.reshape(value, value.numel(), 1)


def traced_matrix(
    function: Callable[..., Any],
    symbols: Sequence[ca.SX],
    what: str,
    remedy: str,
    error: type[SarrusError] = ArgumentError,
    element: str | None = None,
) -> ca.SX:
    """Return function(*symbols) as an SX matrix; failures are an ``error`` about ``element``, by default ``what``."""
    try:
        value = ca.SX(ca.densify(stacked(function(*symbols))))
    except Exception as cause:
        raise error(
            f"{what}: the function could not be traced over CasADi symbols "
            f"({type(cause).__name__}: {cause}). {remedy}",
            element=element or what,
        ) from cause
    if holds_nan(value):
        raise error(
            f"{what}: the function gives NaN over CasADi symbols, as float(q[0]) does. {remedy}",
            element=element or what,
        )
    return value


def stacked(value: Any) -> ca.SX:
    """Return numbers, arrays and nested lists as one SX matrix; NumPy object arrays go entry by entry."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        rows = [
            ca.horzcat(*map(stacked, row)) if isinstance(row, (list, tuple)) else stacked(row)
            for row in value
        ]
        return ca.vertcat(*rows) if rows else ca.SX(0, 1)
    return ca.SX(value)


def _entries(count: int) -> str:
    return "entry" if count == 1 else "entries"
