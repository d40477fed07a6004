"""`Model`: the equations of motion of a mechanism, or of the user's own, with their compiled code. It never changes."""

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
# So many findings are kept for values of the parameters.
_KEPT = 64


@dataclass(frozen=True, eq=False)
class Model(Described):
    """Equations, compiled code, dimensions and names, shared by threads; equal only to itself.

    Values of parameters, tolerances and arrays belong to a `sarrus.dynamics.solve.workspace.Workspace`. A model made
    from a mechanism can be pickled: the copy compiles again, from the disk cache.
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
        """Trace the equations of a mechanism; see `sarrus.System` for the arguments."""
        check_size(mechanism, largest)
        driven = MechanismParameters.read(mechanism, parameters)
        return cls(trace(mechanism, driven), mechanism.snapshot(), driven)

    def symbolic_mechanism(self) -> Mechanism:
        """Return the mechanism with the symbols of its parameters, ``equations.p``, in its numbers."""
        assert self.mechanism is not None
        symbols = dict(zip(self.equations.parameter_values, ca.vertsplit(self.equations.p)))
        return self.driven.apply(self.mechanism, symbols)

    def with_equations(self, equations: Equations) -> Model:
        """Return the model of the same mechanism with other equations in the same coordinates and rows."""
        return Model(equations, self.mechanism, self.driven)

    def parameter_values(self) -> ParameterValues:
        """Return values of the parameters: those that the model was made with."""
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

    def lasting(self, name: str, find: Callable[[], Found]) -> Found:
        """Return what follows from the model alone, found once."""
        if name not in self._lasting:
            self._lasting[name] = find()
        return self._lasting[name]

    def remember(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return what was found for a key, or find it; the latest findings are kept. Keys begin with their subject."""
        with self._lock:
            if key in self._findings:
                self._findings.move_to_end(key)
                return self._findings[key]
        value = find()
        self.revise(key, value)
        return value

    def revise(self, key: Hashable, value: Any) -> None:
        """Keep a finding for a key, in the place of an earlier one."""
        with self._lock:
            self._findings[key] = value
            if len(self._findings) > _KEPT:
                self._findings.popitem(last=False)

    # --- what follows from them --------------------------------------------------------------------

    @cached_property
    def description(self) -> dict[str, Any]:
        """The attributes of `Described`, as systems and workspaces have them too."""
        return description(self.equations, self.mechanism)

    @cached_property
    def first_rows(self) -> list[int]:
        """For every row the first one of its closure."""
        return [row.start for row in self.closure_rows.values() for _ in range(row.start, row.stop)]

    @cached_property
    def quaternions(self) -> np.ndarray:
        """Indices in q where quaternions begin."""
        return np.array(self.equations.quaternions, dtype=np.int64)

    @cached_property
    def is_ideal(self) -> bool:
        """Whether the constraints do no work."""
        return bool(self.equations.non_ideal.is_zero())

    @cached_property
    def characteristic(self) -> Characteristic:
        """What sizes are measured by."""
        return characteristic(self)

    @cached_property
    def settings(self) -> Settings:
        """What the kernels are told of sizes, and zeros for tolerances; nobody writes to it."""
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
        """The native functions, each compiled when it is first asked for."""
        size = self.characteristic
        units = Units(size.rows, size.columns, self.first_rows)
        if self.mechanism is None:
            return CompiledEquations(self.equations, units)
        stiff = size.mass * (size.length * size.rows) ** 2
        return CompiledEquations(self.equations, units, size.metric, stiff)
