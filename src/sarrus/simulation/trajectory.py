"""`Trajectory`: the labelled result of a simulation, to look at, to save and to load again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.errors import ArgumentError
from sarrus.base.later import later
from sarrus.base.numbers import real_array
from sarrus.base.status import Answer, Status
from sarrus.simulation.records import EventRecord, LimitCrossing, Passage, SwitchRecord

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from sarrus.dynamics.sensing import Readings
    from sarrus.dynamics.system import System
    from sarrus.mechanism.mechanism import Mechanism

Array = NDArray[np.float64]

# Dimensions of the arrays after time; each is the dimension of a tuple of names. First what a run records.
RECORDED: dict[str, tuple[str, ...]] = {
    "q": ("coordinate",),
    "v": ("velocity",),
    "a": ("velocity",),
    "u": ("actuator",),
    "multipliers": ("constraint",),
    "energy": (),
    "rank": (),
    "condition": (),
    "residual": (),
}
DIMENSIONS = RECORDED | {"error": ()}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Answer):
    """The motion that `sarrus.simulate` found; arrays are read-only, time is their leading axis.

    Attributes
    ----------
    name : name of the system.
    t : times (T,) [s].
    q, v, a : coordinates (T, nq), velocities (T, nv) and accelerations (T, nv).
    u : controls (T, nu).
    multipliers : λ (T, nc), the force that each constraint row exerts on the mechanism (least norm
        where rows are redundant).
    energy : kinetic plus potential energy (T,) [J].
    rank : rank of the constraint Jacobian A (T,).
    condition : condition number of A (T,), estimated by the largest pivot of the run over the smallest pivot
        that is not zero at generic configurations; infinite where singular, 1 without constraints.
    residual : largest entry of the position closure φ in absolute value (T,) [m, rad].
    error : estimated error of the coordinates up to each sample (T,), relative: to one radian for angles, to the
        largest coordinate of the run for lengths. NaN where it was not estimated, see `sarrus.simulate`.
    status, message : how the run ended. After a failure the motion up to then is kept.
    passages, limit_crossings, events, switches : what happened on the way, in order of time.
    determined_until : last time [s] up to which a motion with singular passages agrees with one that takes somewhat
        other steps and begins beside it by rounding, to 1e-6 relative to 1 + |q|, or the run's rtol if that is more.
        What comes later is not determined to that: rounding grows. Infinity where the two agree to the end and where
        nothing was passed, NaN where the motion was not repeated (see `sarrus.simulate`).
    coordinate_names, velocity_names, actuator_names, constraint_names : labels of the second axes.
    coordinate_units, velocity_units, constraint_units : units of q, v and the multipliers; () where they
        are not known.
    steps, rejected : accepted and rejected steps of the integrator. wall_seconds : time the run took,
        without the estimate of its error.
    system : the `System` that moved; None for a trajectory from a file, where `moved_system` makes it.
    parameters : values of the system's parameters in the run, but for those that switch constraints.
    readings : of a trajectory from a file, what the sensors read (T, entries), where the file holds it; see `sensors`.
    mechanism : of a trajectory from a file, the mechanism that moved, with the parameters that it had when the file
        was written; None where the file holds none (equations of one's own, files older than that).
    """

    name: str
    t: Array
    q: Array
    v: Array
    a: Array
    u: Array
    multipliers: Array
    energy: Array
    rank: NDArray[np.int64]
    condition: Array
    residual: Array
    error: Array = None  # type: ignore[assignment]  # NaN without one
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
    coordinate_units: tuple[str, ...] = ()
    velocity_units: tuple[str, ...] = ()
    constraint_units: tuple[str, ...] = ()
    steps: int = 0
    rejected: int = 0
    wall_seconds: float = 0.0
    determined_until: float = np.inf
    parameters: Mapping[str, float] = field(default_factory=dict)
    readings: Array | None = None
    system: System | None = field(default=None, compare=False)
    mechanism: Mechanism | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.error is None:
            object.__setattr__(self, "error", np.full(np.size(self.t), np.nan))
        shapes: dict[str, tuple[int, ...]] = {"t": (np.size(self.t),)}
        for array, dimension in DIMENSIONS.items():
            shapes[array] = (np.size(self.t), *(len(self.names(d)) for d in dimension))
        for array, shape in shapes.items():
            value = np.asarray(getattr(self, array), dtype=np.int64 if array == "rank" else np.float64).view()
            if value.shape != shape:
                raise ArgumentError(
                    f"trajectory {self.name!r}: {array} has shape {value.shape}, "
                    f"expected {shape} from the times and names",
                    element=array,
                )
            value.flags.writeable = False
            object.__setattr__(self, array, value)

    # --- figures -----------------------------------------------------------------------------------

    def names(self, dimension: str) -> tuple[str, ...]:
        """Return the labels of a dimension: coordinate, velocity, actuator or constraint."""
        return tuple(getattr(self, f"{dimension}_names"))

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s]."""
        return float(self.t[-1] - self.t[0]) if len(self.t) else 0.0

    @property
    def energy_drift(self) -> float:
        """Largest deviation of the energy from its first value [J]; an error where energy is conserved."""
        return float(np.abs(self.energy - self.energy[0]).max()) if len(self.t) else 0.0

    @property
    def dof(self) -> NDArray[np.int64]:
        """Degrees of freedom nv − rank at every sample (T,)."""
        return len(self.velocity_names) - self.rank

    def at(self, t: ArrayLike) -> Array:
        """Return the coordinates at times t: shape of t plus (nq,). Times outside the run are an error.

        Between samples, a coordinate whose rate is the velocity of the same name follows the polynomial of degree
        five through q, v and a (sixth order in the sample distance); the others are linear, quaternions then
        scaled to unit length. Good for pictures; the samples themselves are as exact as the run.
        """
        from sarrus.simulation.interpolation import interpolate

        return interpolate(self, real_array(t))

    def moved_system(self) -> System | None:
        """Return ``system``; for a trajectory from a file, made from its ``mechanism`` on the first call."""
        if self.system is None and self.mechanism is not None:
            from sarrus.dynamics.system import System

            object.__setattr__(self, "system", System(self.mechanism, largest=None))
        return self.system

    @property
    def sensors(self) -> Readings:
        """What the sensors of the mechanism read, by name: arrays (time, size), evaluated when first asked for.

        Forces and accelerations are those of the run, from the recorded ``a`` and ``multipliers``.
        """
        found = self.__dict__.get("_sensors")
        if found is None:
            from sarrus.simulation.readings import read_run

            found = self.__dict__["_sensors"] = read_run(self)
        return found

    # --- files -------------------------------------------------------------------------------------

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset`: labelled dimensions, units, status and records as attributes."""
        from sarrus.simulation.storage import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write a NetCDF file (.nc), every number bit for bit; `load` and `xarray.open_dataset` read it.

        The file is there whole or not at all: on a full disk (`WriteError`, with the room that is missing) or after a
        kill an old file is as it was. Its last line is a checksum of all before it.
        """
        from sarrus.simulation.storage import save

        return save(self, path)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Trajectory:
        """Read a file that `save` wrote; a missing, foreign or damaged one is an `ArgumentError`.

        ``verify`` off: read it even if its checksum is missing or wrong, as in a file that another program changed.
        """
        from sarrus.simulation.storage import load

        return load(path, verify)

    def to_csv(self, path: str | Path) -> Path:
        """Write a .csv file, a row per sample, in 17 digits; the header names each column with its unit."""
        from sarrus.simulation.storage import save_csv

        return save_csv(self, path)

    # --- pictures ----------------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None) -> Figure:
        """Plot coordinates, energy, closure and condition over time; see `sarrus.plot.history`."""
        return later("plotting.plot", "history")(self, path)

    def draw(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw skeletons of the bodies at several times; options are those of `sarrus.plot.stroboscope`."""
        return later("plotting.plot", "stroboscope")(self, path, **options)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write an animated GIF of the motion; options are those of `sarrus.plot.animation`."""
        return later("plotting.plot", "animation")(self, path, **options)

    def view(self, **options: Any) -> Any:
        """Show the motion in 3-D in the browser; see `sarrus.view`, also for motions laid over each other."""
        return later("viewer.server", "view")(self, **options)

    def __repr__(self) -> str:
        end = f"{self.duration:.6g} s" if len(self.t) else "empty"
        parts = [f"{len(self.t)} samples", f"{self.steps} steps", f"status {self.status}"]
        if self.constraint_names and len(self.t):
            parts.append(f"closure within {np.max(self.residual):.2g}")
        if len(self.t) and not np.isnan(self.error[-1]):
            parts.append(f"error about {self.error[-1]:.1g}")
        if self.passages:
            parts.append(f"{len(self.passages)} singular passages")
        if self.determined_until < np.inf:
            parts.append(f"determined until {self.determined_until:.4g} s")
        return f"Trajectory({self.name!r}: {end}, {', '.join(parts)})"
