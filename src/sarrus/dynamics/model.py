"""`Model`: the equations of motion of a mechanism, or of the user's own, with their compiled code. It never changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sarrus.base.errors import ArgumentError
from sarrus.dynamics.characteristic import Characteristic, characteristic
from sarrus.dynamics.compiled import CompiledEquations
from sarrus.equations.equations import Equations
from sarrus.mechanism.mechanism import Mechanism
from sarrus.multibody.model import trace
from sarrus.multibody.parameters import NO_PARAMETERS, MechanismParameters, Targets
from sarrus.multibody.size import LARGEST, check_size

Found = TypeVar("Found")
# So many findings are kept for values of the parameters.
_KEPT = 64


class Parts(NamedTuple):
    """Places in x = [q | v | u | t | p | τ], the input of the native functions."""

    q: slice
    v: slice
    u: slice
    t: int
    p: slice
    tau: slice


@dataclass(frozen=True, eq=False)
class Model:
    """Equations, compiled code, dimensions and names, shared by threads; equal only to itself.

    Values of parameters, tolerances and arrays belong to a `sarrus.dynamics.workspace.Workspace`. A model made from a
    mechanism can be pickled: the copy compiles again, from the disk cache.
    """

    equations: Equations
    mechanism: Mechanism | None = None
    driven: MechanismParameters = NO_PARAMETERS
    _findings: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict, repr=False)
    _lock: Any = field(default_factory=Lock, repr=False)

    @classmethod
    def of_mechanism(
        cls, mechanism: Mechanism, parameters: Targets | None = None, largest: int | None = LARGEST
    ) -> Model:
        """Trace the equations of a mechanism; see `sarrus.System` for the arguments."""
        check_size(mechanism, largest)
        driven = MechanismParameters.read(mechanism, parameters)
        return cls(trace(mechanism, driven), mechanism.snapshot(), driven)

    def with_equations(self, equations: Equations) -> Model:
        """Return the model of the same mechanism with other equations in the same coordinates and rows."""
        return Model(equations, self.mechanism, self.driven)

    def __reduce__(self) -> tuple[Callable[..., Model], tuple[Any, ...]]:
        if self.mechanism is None:
            raise ArgumentError(
                f"{self.name}: a system from your own equations cannot be copied or pickled; build it again "
                "from its functions, or use a Mechanism",
                element=self.name,
            )
        return Model.of_mechanism, (self.mechanism, self.driven.targets, None)

    def remember(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return what was found for a key, or find it; the latest findings are kept. Keys begin with their subject."""
        with self._lock:
            if key in self._findings:
                self._findings.move_to_end(key)
                return self._findings[key]
        value = find()
        with self._lock:
            self._findings[key] = value
            if len(self._findings) > _KEPT:
                self._findings.popitem(last=False)
        return value

    # --- dimensions and names ----------------------------------------------------------------------

    @cached_property
    def description(self) -> dict[str, Any]:
        """Name, dimensions and names, as attributes of systems and workspaces have them."""
        e = self.equations
        sizes = {"name": e.name, "nq": e.nq, "nv": e.nv, "nu": e.nu, "nc": e.nc, "nh": e.nh}
        names = {f"{kind}_names": getattr(e, f"{kind}_names") for kind in _NAMED}
        joints = tuple(j.name for j in self.mechanism.joints()) if self.mechanism else e.velocity_names
        return {**sizes, **names, "joint_names": joints, "parts": self.parts}

    @cached_property
    def parts(self) -> Parts:
        """Places of q, v, u, t, p and τ in x."""
        e = self.equations
        v, u, t = e.nq, e.nq + e.nv, e.nq + e.nv + e.nu
        tau = t + 1 + e.p.shape[0]
        return Parts(slice(0, v), slice(v, u), slice(u, t), t, slice(t + 1, tau), slice(tau, tau + e.nv))

    @property
    def name(self) -> str:
        """Name of the mechanism or of the equations."""
        return self.equations.name

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.equations.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.equations.nv

    @property
    def nc(self) -> int:
        """Number of constraint rows."""
        return self.equations.nc

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self.equations.coordinate_names

    @cached_property
    def closure_rows(self) -> dict[str, slice]:
        """Rows of each closure, coupling or constraint by its name."""
        if self.mechanism is None:
            return {name: slice(i, i + 1) for i, name in enumerate(self.equations.constraint_names)}
        rows, start = {}, 0
        for element in self.mechanism.constraints():
            rows[element.name] = slice(start, start + len(element.row_names))
            start += len(element.row_names)
        return rows

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

    # --- what follows from them --------------------------------------------------------------------

    @cached_property
    def characteristic(self) -> Characteristic:
        """What sizes are measured by."""
        return characteristic(self)

    @cached_property
    def compiled(self) -> CompiledEquations:
        """The native functions, each compiled when it is first asked for."""
        size = self.characteristic
        known = (size.metric, size.mass * (size.length * size.rows) ** 2, size.rows)
        return CompiledEquations(self.equations, *known if self.mechanism else ())


_NAMED = ("coordinate", "velocity", "constraint", "actuator")
