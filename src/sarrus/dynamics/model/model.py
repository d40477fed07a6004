"""`Model`: the equations of motion of a mechanism, or of the user's own, with their compiled code; immutable."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import casadi as ca
import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.characteristic import Characteristic, characteristic
from sarrus.dynamics.model.compiled import CompiledEquations
from sarrus.dynamics.model.described import Described, description
from sarrus.kernels.memory.layout import Factors, Settings
from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.equations.equations import Equations
from sarrus.symbolic.equations.least_norm import Units
from sarrus.symbolic.equations.symbolic import ParameterValues
from sarrus.symbolic.multibody.model import trace
from sarrus.symbolic.multibody.parameters import NO_PARAMETERS, MechanismParameters, Targets
from sarrus.symbolic.multibody.size import LARGEST, check_size

Found = TypeVar("Found")
# Largest number of results kept in `remember`.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class Model(Described):
    """Equations, compiled code, dimensions and names, immutable and shared by threads; equal only to itself.

    Values of parameters, tolerances and arrays belong to a `sarrus.dynamics.solve.workspace.Workspace`. A model of a
    mechanism can be pickled: the copy compiles again, from the disk cache.
    """

    equations: Equations
    mechanism: Mechanism | None = None
    driven: MechanismParameters = NO_PARAMETERS
    _findings: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict, repr=False)
    _lasting: dict[str, Any] = field(default_factory=dict, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        vars(self).update(self.description)

    @classmethod
    def of_mechanism(
        cls, mechanism: Mechanism, parameters: Targets | None = None, largest: int | None = LARGEST
    ) -> Model:
        """Return the model of a mechanism, with traced equations; arguments as in `sarrus.System`."""
        check_size(mechanism, largest)
        driven = MechanismParameters.read(mechanism, parameters)
        return cls(trace(mechanism, driven), mechanism.snapshot(), driven)

    def symbolic_mechanism(self) -> Mechanism:
        """Return the mechanism with the symbols of its parameters, ``equations.p``, as its numbers."""
        assert self.mechanism is not None
        symbols = dict(zip(self.equations.parameter_values, ca.vertsplit(self.equations.p)))
        return self.driven.apply(self.mechanism, symbols)

    def with_equations(self, equations: Equations) -> Model:
        """Return the model of the same mechanism with other equations in the same coordinates and rows."""
        return Model(equations, self.mechanism, self.driven)

    def parameter_values(self) -> ParameterValues:
        """Return the parameter values with which the model was made."""
        e = self.equations
        return ParameterValues(e.name, e.parameter_values, e.shaping_parameters, self.driven.check)

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        if self.mechanism is None:
            raise ArgumentError(
                f"{self.name}: a system from your own equations cannot be copied or pickled; build it again "
                "from its functions, or use a Mechanism",
                element=self.name,
            )
        return Model.of_mechanism, (self.mechanism, self.driven.targets, None)

    def cached(self, name: str, find: Callable[[], Found]) -> Found:
        """Return a result that depends on the model alone, computed once under this name."""
        if name not in self._lasting:
            self._lasting[name] = find()
        return self._lasting[name]

    def cached_lru(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return the result for a key, computed once; the most recent ones are kept. Keys begin with their subject."""
        with self._lock:
            if key in self._findings:
                self._findings.move_to_end(key)
                return self._findings[key]
        value = find()
        self.revise(key, value)
        return value

    def revise(self, key: Hashable, value: Any) -> None:
        """Replace the result for a key."""
        with self._lock:
            self._findings[key] = value
            if len(self._findings) > _KEPT:
                self._findings.popitem(last=False)

    # --- derived properties ------------------------------------------------------------------------

    @cached_property
    def description(self) -> dict[str, Any]:
        """The attributes of `Described`."""
        return description(self.equations, self.mechanism)

    @cached_property
    def first_rows(self) -> list[int]:
        """For each row the index of the first row of its closure."""
        return [row.start for row in self.closure_rows.values() for _ in range(row.start, row.stop)]

    @cached_property
    def quaternions(self) -> np.ndarray:
        """Indices in q where quaternions begin."""
        return np.array(self.equations.quaternions, dtype=np.int64)

    @cached_property
    def is_ideal(self) -> bool:
        """Whether the constraints do no work (no force C)."""
        return bool(self.equations.non_ideal.is_zero())

    @cached_property
    def characteristic(self) -> Characteristic:
        """The characteristic length and mass."""
        return characteristic(self)

    @cached_property
    def settings(self) -> Settings:
        """Sizes for the kernels, with zeros for tolerances; read-only."""
        size = self.characteristic
        factors = Factors(size.rows, size.columns, self.first_rows, size.coordinates)
        settings = np.concatenate([Settings.zeros(), *factors]).view(Settings)
        settings.flags.writeable = False
        return settings

    @cached_property
    def is_rheonomic(self) -> bool:
        """Whether holonomic constraints depend on time."""
        return bool(ca.depends_on(self.equations.position_residual, self.equations.t))

    @cached_property
    def compiled(self) -> CompiledEquations:
        """The native functions, each compiled at its first use."""
        size = self.characteristic
        units = Units(size.rows, size.columns, self.first_rows)
        if self.mechanism is None:
            return CompiledEquations(self.equations, units)
        stiff = size.mass * (size.length * size.rows) ** 2
        return CompiledEquations(self.equations, units, size.metric, stiff)
