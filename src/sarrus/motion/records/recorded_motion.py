"""`RecordedMotion`: the data of a trajectory, samples and labels, checked and read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.status import Answer, Status
from sarrus.motion.records.geometry_log import NONE, ContactLog
from sarrus.motion.records.records import EventRecord, LimitCrossing, Passage, SwitchRecord

if TYPE_CHECKING:
    from sarrus.dynamics.system import System
    from sarrus.model.builders.mechanism import Mechanism
    from sarrus.motion.records.quantities import RunRows


def _samples(long_name: str, *along: str, **units: str) -> dict[str, Any]:
    """Return the metadata of an array: dimensions after time, dimensions of label tuples, and attributes on disk."""
    return {"along": along, "attributes": {"long_name": long_name, **units}}


@dataclass(frozen=True, eq=False, repr=False)
class RecordedMotion(Answer):
    """What one run recorded; `sarrus.Trajectory` documents the attributes."""

    name: str
    t: Array
    q: Array = field(metadata=_samples("coordinates", "coordinate"))
    v: Array = field(metadata=_samples("velocities", "velocity"))
    a: Array = field(metadata=_samples("accelerations", "velocity"))
    u: Array = field(metadata=_samples("controls", "actuator"))
    multipliers: Array = field(metadata=_samples("constraint multipliers", "constraint"))
    energy: Array = field(metadata=_samples("kinetic and potential energy", units="J"))
    rank: NDArray[np.int64] = field(metadata=_samples("rank of the constraint Jacobian", units="1"))
    condition: Array = field(metadata=_samples("condition number of the constraint Jacobian", units="1"))
    residual: Array = field(metadata=_samples("largest position closure residual", units="m or rad"))
    error: Array = field(  # None: NaN
        default=None,  # type: ignore[arg-type]
        metadata=_samples("estimated relative error of the coordinates", units="1"),
    )
    contact_forces: Array = field(  # of no rows unless these have names
        default=None,  # type: ignore[arg-type]
        metadata=_samples("forces of contacts, stops and dry friction", "contact_row"),
    )
    contact_loss: Array = field(  # zero then
        default=None,  # type: ignore[arg-type]
        metadata=_samples("energy that contacts, stops and dry friction took", units="J"),
    )
    invariants: Array = field(  # of no rows unless these have names
        default=None,  # type: ignore[arg-type]
        metadata=_samples("invariants that the projection kept", "invariant"),
    )
    status: Status = Status.OK
    message: str = ""
    passages: tuple[Passage, ...] = ()
    limit_crossings: tuple[LimitCrossing, ...] = ()
    events: tuple[EventRecord, ...] = ()
    switches: tuple[SwitchRecord, ...] = ()
    coordinate_names: tuple[str, ...] = ()
    velocity_names: tuple[str, ...] = ()
    actuator_names: tuple[str, ...] = ()
    constraint_names: tuple[str, ...] = ()
    contact_row_names: tuple[str, ...] = ()
    invariant_names: tuple[str, ...] = ()
    coordinate_units: tuple[str, ...] = ()
    velocity_units: tuple[str, ...] = ()
    constraint_units: tuple[str, ...] = ()
    steps: int = 0
    rejected: int = 0
    wall_seconds: float = 0.0
    determined_until: float = np.inf
    contact_residual: float = 0.0
    mean_contacts: int = 0
    sample_time: float = 0.0
    held_controls: int = 0
    contact_log: ContactLog = NONE
    parameters: Mapping[str, float] = field(default_factory=dict)
    readings: Array | None = None
    channels: Array | None = None
    system: System | None = field(default=None, compare=False)
    mechanism: Mechanism | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        own, count = vars(self), np.size(self.t)
        if self.error is None:
            own["error"] = np.full(count, np.nan)
        if not self.invariant_names:
            own["invariants"] = np.zeros((count, 0))
        if not self.contact_row_names:
            own["contact_forces"] = np.zeros((count, 0))
        if self.contact_loss is None or (not self.contact_row_names and self.contact_log is NONE):
            own["contact_loss"] = np.zeros(count)
        for array, dimension in {"t": (), **DIMENSIONS}.items():
            shape = (count, *(len(own[f"{d}_names"]) for d in dimension))
            value = np.asarray(own[array], dtype=np.int64 if array == "rank" else np.float64)
            if value.shape != shape:
                raise ArgumentError(
                    f"trajectory {self.name!r}: {array} has shape {value.shape}, "
                    f"expected {shape} from the times and names",
                    element=array,
                )
            if value.flags.writeable:
                value = value.view()
                value.flags.writeable = False
            own[array] = value

    @classmethod
    def of_rows(cls, rows: RunRows, **data: Any) -> Self:
        """Return the motion with the records of a run and the other fields in ``data``, without checks."""
        motion = object.__new__(cls)
        vars(motion).update(rows.contact_arrays(), **data, _rows=rows)
        return motion

    if TYPE_CHECKING:

        def _condition_along(
            self,
        ) -> Array: ...  # of `Trajectory`: the condition number of A at the samples (T,)

    else:  # fields are known by their names

        def __getattr__(self, name: str) -> Any:
            """Return an array of a run, which is cut out of its records when it is first asked for."""
            rows = vars(self).get("_rows")
            if rows is None or name not in _CUT:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            if name in ("t", "q", "v"):
                vars(self)[name] = rows.array(name)
            elif name == "condition" and not rows.formulated:
                vars(self)[name] = self._condition_along()
            else:
                vars(self).update(rows.arrays() | {k: x for k, x in vars(self).items() if k in _CUT})
            return vars(self)[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_CUT})

    def revised(self, **changes: Any) -> Self:
        """Return a copy with changed fields, without checks."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    def names(self, dimension: str) -> tuple[str, ...]:
        """Return the labels of the dimension "coordinate", "velocity", "actuator" or "constraint"."""
        return tuple(getattr(self, f"{dimension}_names"))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    @property
    def energy_drift(self) -> float:
        """Largest deviation of the energy from its first value [J]; a measure of error if energy is conserved."""
        return float(np.abs(self.energy - self.energy[0]).max()) if len(self.t) else 0.0

    @property
    def invariant_drift(self) -> dict[str, float]:
        """Largest deviation of every invariant from its first value, by name; see `sarrus.Stabilization`."""
        drift = np.abs(self.invariants - self.invariants[:1]).max(axis=0, initial=0.0)
        return dict(zip(self.invariant_names, drift.tolist()))

    @property
    def dof(self) -> NDArray[np.int64]:
        """Degrees of freedom nv − rank at every sample (T,)."""
        return len(self.velocity_names) - self.rank

    def moved_system(self) -> System | None:
        """Return ``system``; for a trajectory from a file, a `System` made from its ``mechanism`` at the first call."""
        if self.system is None and self.mechanism is not None:
            from sarrus.dynamics.system import System  # here: it brings CasADi, which a file does not need

            object.__setattr__(self, "system", System(self.mechanism, largest=None))
        return self.system


# What is evaluated along a run when asked for (`sarrus.motion.records.singularity_channels`), with attributes on disk.
CHANNELS = {
    "smallest_singular_value": {
        "long_name": "smallest singular value of the constraint Jacobian in characteristic units",
        "units": "1",
    },
    "spike_indicator": {
        "long_name": "rate of the constraint Jacobian along its smallest singular vector, times velocity",
        "units": "s-2",
    },
    "spike_acceleration": {
        "long_name": "spike indicator over the smallest singular value",
        "units": "s-2",
    },
    "singular_value_rate": {
        "long_name": "rate of the smallest singular value along the motion",
        "units": "s-1",
    },
}
_ARRAYS = {f.name: f.metadata for f in fields(RecordedMotion) if f.metadata}
# Dimensions of the arrays after time, and their attributes on disk; first of what a run records.
DIMENSIONS: dict[str, tuple[str, ...]] = {name: array["along"] for name, array in _ARRAYS.items()}
_CUT = frozenset(("t", *DIMENSIONS)) - {"error"}
_OF_SINGLE_RUNS = ("error", "contact_forces", "contact_loss", "invariants")
RECORDED = {name: along for name, along in DIMENSIONS.items() if name not in _OF_SINGLE_RUNS}
ARRAY_ATTRIBUTES: dict[str, dict[str, str]] = {name: array["attributes"] for name, array in _ARRAYS.items()}
