"""`Rollout`: the samples, final states and statuses of many runs of one system."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.base.files.netcdf import Dataset, Variable
from sarrus.dynamics.model.units import labels
from sarrus.dynamics.system import System
from sarrus.motion.inputs.run_options import REDUCTIONS
from sarrus.motion.records.conditioning import condition_numbers
from sarrus.motion.records.quantities import QUANTITIES, Quantities
from sarrus.motion.records.recorded_motion import ARRAY_ATTRIBUTES, RECORDED
from sarrus.motion.records.records import EventRecord
from sarrus.motion.records.storage import axis_labels
from sarrus.motion.records.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray as xr


# Facts of a run that need no samples, with their dimensions after the run and their attributes.
FACTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "final_q": (("coordinate",), {"long_name": "coordinates where the run ended"}),
    "final_v": (("velocity",), {"long_name": "velocities where the run ended"}),
    "steps": ((), {"long_name": "accepted steps", "units": "1"}),
    "rejected": ((), {"long_name": "rejected steps", "units": "1"}),
}


@dataclass(frozen=True, eq=False, repr=False)
class Rollout:
    """The result of many runs; the run is the leading axis, then the sample. Arrays are read-only.

    Attributes
    ----------
    t : times of the samples (samples,) [s]; without ``every`` the final time alone.
    samples : `Quantities` of every run at every sample (runs, samples, …); NaN after a run has failed. ``rollout.q`` is
        short for ``rollout.samples.q``, and so on.
    status, success, message : (runs,) `Status` of each run, whether it is a full answer, and the diagnosis in words.
    reached : time that each run reached (runs,) [s].
    x : last state of each run; ``rollout.final_q`` (runs, nq) and ``rollout.final_v`` (runs, nv) are its parts.
    steps, rejected : accepted and rejected steps of each run (runs,).
    minimum, maximum, mean, rms : `Quantities` over the samples of each run (runs, …); None unless asked for.
    parameters : values (runs,) by parameter name.
    begun_beyond : texts by number of run, for runs that began beyond a limit of a joint.
    side_by_side : whether runs shared vector registers (`sarrus.kernels.batch.lanes`). wall_seconds : time of all
        runs [s].
    """

    system: System
    t: Array
    samples: Quantities
    status: NDArray[np.object_]
    reached: Array
    final_q: Array
    final_v: Array
    steps: NDArray[np.int64]
    rejected: NDArray[np.int64]
    parameters: dict[str, Array]
    side_by_side: bool
    wall_seconds: float
    begun_beyond: dict[int, tuple[str, ...]] = field(default_factory=dict)
    minimum: Quantities | None = None
    maximum: Quantities | None = None
    mean: Quantities | None = None
    rms: Quantities | None = None

    def __len__(self) -> int:
        return len(self.status)

    def __getattr__(self, name: str) -> Any:
        if name in QUANTITIES:
            return getattr(self.samples, name)
        raise AttributeError(f"Rollout has no attribute {name!r}")

    @property
    def rank(self) -> NDArray[np.int64]:
        """Rank of the constraint Jacobian A (runs, samples); −1 after a run has failed."""
        return np.nan_to_num(self.samples.rank, nan=-1.0).astype(np.int64)

    @cached_property
    def condition(self) -> Array:
        """Condition number σ₁ / σ_r of A in characteristic units (runs, samples), r the rank; see `sarrus.Trajectory`.

        Evaluated at the first access. NaN after a run has failed.
        """
        s, made = self.system, self.samples
        out = np.ones(self.rank.shape)
        if s.nc:
            for run, ranks in enumerate(self.rank):
                own = {name: values[run] for name, values in self.parameters.items()}
                values = {**s.parameters, **own}
                p = np.tile(list(values.values()), (len(ranks), 1)).reshape(len(ranks), len(values))
                states = np.hstack(
                    (
                        made.q[run],
                        made.v[run],
                        made.u[run],
                        made.t[run][:, None],
                        p,
                        np.zeros_like(made.v[run]),
                    )
                )
                out[run] = condition_numbers(s, states, ranks)
            out[made.smallest_pivot == 0.0] = np.inf
        out[self.rank < 0] = np.nan
        return read_only(out)

    @property
    def failed(self) -> NDArray[np.int64]:
        """Numbers of the runs whose status is no full answer."""
        return np.flatnonzero(~self.success)

    @cached_property
    def success(self) -> NDArray[np.bool_]:
        """Whether each run reached its end with a full answer (runs,)."""
        return np.array([status.ok for status in self.status], dtype=bool)

    @cached_property
    def message(self) -> tuple[str, ...]:
        """Diagnosis of each run, with time and remedy if it failed (runs,)."""
        return tuple(
            status.diagnosis if status.ok else f"{status.diagnosis} at t = {reached:.6g} s. {status.remedy}"
            for status, reached in zip(self.status, self.reached)
        )

    def trajectory(self, run: int) -> Trajectory:
        """Return one run as a `Trajectory`, to plot or to save, without singular passages and limit crossings.

        Raises `ArgumentError` for a number that no run has.
        """
        if not -len(self) <= run < len(self):
            raise ArgumentError(f"run must be from {-len(self)} to {len(self) - 1}, got {run}", element="run")
        s = self.system
        made = ~np.isnan(self.samples.t[run])
        arrays = {name: getattr(self, name)[run][made] for name in RECORDED}
        return Trajectory(
            name=s.name,
            t=self.samples.t[run, made],
            **arrays,
            status=self.status[run],
            message=self.message[run],
            **labels(s),
            events=tuple(
                EventRecord(f"{text}, and goes no further", float(self.t[0]))
                for text in self.begun_beyond.get(run % len(self), ())
            ),
            parameters={
                name: float(self.parameters[name][run])
                for name in s.equations.design_parameters
                if name in self.parameters
            },
            steps=int(self.steps[run]),
            rejected=int(self.rejected[run]),
            system=s,
        )

    def motor_loss(self, weights: ArrayLike | None = None) -> Array:
        """Return the energy that each motor lost as heat in each run (runs, nu) [J], up to the time reached.

        It is the integral over the samples, so give ``every``; see `Trajectory.motor_loss`. NaN for runs with fewer
        than two samples.
        """
        lost = np.full((len(self), self.system.nu), np.nan)
        for k in np.flatnonzero((~np.isnan(self.samples.t)).sum(axis=1) > 1):
            lost[k] = self.trajectory(int(k)).motor_loss(weights).energy[-1]
        return read_only(lost)

    def to_xarray(self) -> xr.Dataset:
        """Return an `xarray.Dataset` with the dimensions run and time and those of `Trajectory.to_xarray`."""
        data = {name: variable(self, name) for name in RECORDED}
        for how, fold in REDUCTIONS.items():
            for name in () if getattr(self, fold) is None else QUANTITIES:
                data[f"{name}_{fold}"] = variable(self, f"{name}.{how}")
        data["status"] = Variable(("run",), np.array([status.name for status in self.status], dtype=str))
        data["reached"] = Variable(("run",), self.reached, {"units": "s", "long_name": "time reached"})
        along = {"time": Variable(("time",), self.t, {"units": "s"}), **axis_labels(labels(self.system))}
        along |= {name: Variable(("run",), values) for name, values in self.parameters.items()}
        along["run"] = Variable(("run",), np.arange(len(self)))
        return Dataset(data, along, {"name": self.system.name}).to_xarray()

    def __repr__(self) -> str:
        parts = [f"{len(self)} runs", f"{len(self.t)} samples"]
        parts.append(f"{len(self.failed)} failed" if len(self.failed) else "all OK")
        if self.begun_beyond:
            parts.append(f"{len(self.begun_beyond)} beyond limits at the start")
        return f"Rollout({self.system.name!r}: {', '.join(parts)})"


def variable(rollout: Rollout, name: str) -> Variable:
    """Return a quantity "q", a reduction "q.max" or one of `FACTS` of many runs, with its dimensions and units."""
    quantity, _, how = name.partition(".")
    if name in FACTS:
        dimensions, attributes = FACTS[name]
        return Variable(("run", *dimensions), getattr(rollout, name), attributes)
    dimensions, attributes = RECORDED[quantity], ARRAY_ATTRIBUTES[quantity]
    if not how:
        return Variable(("run", "time", *dimensions), getattr(rollout, name), attributes)
    fold = REDUCTIONS[how]
    values = getattr(getattr(rollout, fold), quantity)
    return Variable(("run", *dimensions), values, {**attributes, "cell_methods": f"time: {fold}"})
