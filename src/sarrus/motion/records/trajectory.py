"""`Trajectory`: the labelled result of a simulation, to look at, to save and to load again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.motion.records import storage
from sarrus.motion.records.interpolation import interpolate
from sarrus.motion.records.recorded_motion import RecordedMotion

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from sarrus.dynamics.solve.sensing import Readings
    from sarrus.motion.records.body_motion_along import BodyMotion
    from sarrus.motion.records.singularity_channels import SingularityChannels


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(RecordedMotion):
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
    condition : condition number σ₁ / σ_r of A in characteristic units (T,), lengths in κ, with the rank r of A at
        generic configurations: redundant and dead rows do not count. Infinite where singular, 1 without constraints. It
        is evaluated when it is first asked for, or saved, from the recorded q, v and t; with ``formulation`` it is that
        of the matrix which the formulation inverted.
    residual : largest entry of the position closure φ in absolute value (T,) [m, rad].
    error : estimated error of the coordinates up to each sample (T,), relative: to one radian for angles, to the
        largest coordinate of the run for lengths. NaN where it was not estimated, see `sarrus.simulate`; infinite after
        ``determined_until`` where the status is NOT_DETERMINED.
    contact_forces : (T, rows), forces of contacts with friction along their normals and tangents, of stops at joint
        limits, and dry friction of joints [N, N m]; ``contact_row_names`` label them. Those at each time, with the
        method "moreau-jean" means over the step that ends there.
    meetings : contacts between geometries, see `sarrus.motion.records.geometry_log.Meetings`; `geometry_forces`.
    contact_loss : energy that all of these have taken up to then (T,) [J]. contact_residual : by how much they break
        the laws of Signorini and Coulomb at the most, relative; see `sarrus.optimize.solve_contact_problem`.
        In steps in time rows that depend on each other turn as one motion has them turn.
    mean_contacts : 1 where forces of contacts are means over steps, with what impacts add to them, else 0.
    invariants : (T, k) values of the invariants that the projection kept, ``invariant_names`` (`sarrus.Stabilization`);
        ``invariant_drift`` has the largest deviation of each from its first value.
    sample_time : interval [s] at which controls were sampled and held; zero where u is a function of the state.
    held_controls : of held controls 1 where the u of a sample acts from it on (laws), −1 where it acted up to it
        (functions that Python calls); zero where nothing was held.
    status, message : how the run ended. After a failure the motion up to then is kept.
    passages, limit_crossings, events, switches : what happened on the way, in order of time.
    determined_until : last time [s] up to which a motion with singular passages agrees with one that takes somewhat
        other steps and begins beside it by rounding, to 1e-6 relative to 1 + |q|, or the run's rtol if that is more.
        What comes later is not determined to that: rounding grows. Infinity where the two agree to the end and where
        nothing was passed, NaN where the motion was not repeated (see `sarrus.simulate`).
    coordinate_names, velocity_names, actuator_names, constraint_names, contact_row_names : labels of the second axes.
    coordinate_units, velocity_units, constraint_units : units of q, v and the multipliers; () where they
        are not known.
    steps, rejected : accepted and rejected steps of the integrator. wall_seconds : time the run took,
        without the estimate of its error.
    system : the `System` that moved; None for a trajectory from a file, where `moved_system` makes it.
    parameters : values of the system's parameters in the run, but for those that switch constraints.
    readings : of a trajectory from a file, what the sensors read (T, entries), where the file holds it; see `sensors`.
    channels : of a trajectory from a file, the channels of singularity (T, 4), where the file holds them.
    mechanism : of a trajectory from a file, the mechanism that moved, with the parameters that it had when the file
        was written; None where the file holds none (equations of one's own, files older than that).
    """

    def at(self, t: ArrayLike) -> Array:
        """Return the coordinates at times t: shape of t plus (nq,). Times outside the run are an error.

        Between samples, a coordinate whose rate is the velocity of the same name follows the polynomial of degree
        five through q, v and a (sixth order in the sample distance); the others are linear, quaternions then
        scaled to unit length. Good for pictures; the samples themselves are as exact as the run.
        """
        return interpolate(self, real_array(t))

    def geometry_forces(self, sample: int) -> dict[str, Array]:
        """Return of every pair of geometries that touches at a sample the force on the second one (3,) [N].

        In world axes, the mean over the step that ends there; ``meetings.at(sample)`` has the points one by one.
        """
        return self.meetings.forces(range(len(self.t))[sample])

    @property
    def sensors(self) -> Readings:
        """What the sensors of the mechanism read, by name: arrays (time, size), evaluated when first asked for.

        Forces and accelerations are those of the run, from the recorded ``a`` and ``multipliers``.
        """
        from sarrus.motion.records.readings import read_run

        return read_run(self)

    @property
    def currents(self) -> dict[str, Array]:
        """Currents (T,) [A] of the windings of motors with inductance, by the names of the motors; none is empty."""
        return {
            name.rpartition(".")[0]: self.q[:, k]
            for k, (name, unit) in enumerate(zip(self.coordinate_names, self.coordinate_units))
            if unit == "A"
        }

    def body_motion(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> BodyMotion:
        """Return position, velocity and acceleration of a point of a body (3,) and of its axes at every sample.

        In world axes, of the recorded q, v and a; the point is given in axes of the body [m]. Accelerations are those
        of the run, one-sided where it jumps. Redundant rows and singular configurations change nothing.

        Raises `ArgumentError` for an unknown body, a point that is not three finite numbers, and a run whose mechanism
        is not known.
        """
        from sarrus.motion.records.body_motion_along import body_motion  # here: it brings CasADi

        return body_motion(self, body, point)

    def motor_loss(self, weights: ArrayLike | None = None) -> Any:
        """Return a `sarrus.MotorLoss`: R i² [W] of the windings of the motors along the run, and its integral [J].

        ``weights`` are W (nu,) or (nu, nu) of a loss uᵀW u for actuators whose motors the mechanism does not know; see
        `sarrus.analysis.loads.motor_loss.motor_loss_along`, also for errors.
        """
        return lazy_import("analysis.loads.motor_loss", "motor_loss_along")(self, weights)

    def energy_per_metre(
        self,
        body: str | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
        *,
        coordinate: str | None = None,
        weights: ArrayLike | None = None,
    ) -> Any:
        """Return a `sarrus.EnergyPerMetre`: loss and energy of the motors over the path of a point or a coordinate.

        See `sarrus.analysis.loads.energy_per_metre.energy_per_metre`.
        """
        return lazy_import("analysis.loads.energy_per_metre", "energy_per_metre")(
            self, body, point, coordinate=coordinate, weights=weights
        )

    # --- channels of singularity, evaluated when one of them is first asked for ------------------------

    @property
    def smallest_singular_value(self) -> Array:
        """The smallest singular value σ of A at every sample (T,) that is not zero at generic configurations.

        Of A in characteristic units (`sarrus.dynamics.model.characteristic`): lengths in κ, so that metres and
        millimetres agree. Redundant and dead rows do not count, as σ is the singular value number r of A of generic
        rank r. It goes to zero linearly in time where the motion passes through a singular configuration. Infinite
        where nothing is constrained; NaN where A is no number. Constraints are those that held then.

        Raises `ArgumentError` where the equations, or which constraints held, are not known any more: of a trajectory
        from a file that was saved without ``singularity=True``.
        """
        return self._channels_of_singularity.smallest_singular_value

    @property
    def spike_indicator(self) -> Array:
        """Spencer's indicator |uᵀȦv| at every sample (T,) [1/s²], u the left singular vector of σ.

        −A⁺Ȧv = −Σ wᵢ uᵢᵀȦv / σᵢ is the part of the accelerations that the constraints ask for. Close to a singular
        configuration the indicator goes to zero as σ does where the motion passes, and stays finite where
        the mechanism locks up or is turned back. In characteristic units, with γ in place of Ȧv. Singular values as
        small as the smallest one count together. Zero where nothing is constrained.

        Source: Spencer 2004, eqs. (3.6), (3.7), section 3.1.1; at one state `sarrus.formulations.spike_indicator`.
        """
        return self._channels_of_singularity.spike_indicator

    @property
    def spike_acceleration(self) -> Array:
        """Size of the term that belongs to σ, |uᵀȦv| / σ, at every sample (T,) [1/s²], in characteristic units.

        It is the acceleration along the right singular vector of σ: large in a true spike. NaN where σ is below 1e-12
        of the largest singular value, so that it is a ratio of roundings, unless Ȧv is zero; zero where nothing
        is constrained.
        """
        return self._channels_of_singularity.spike_acceleration

    @property
    def singular_value_rate(self) -> Array:
        """Rate dσ/dt = uᵀ Ȧ w of `smallest_singular_value` at every sample (T,) [1/s], by the exact derivative of A.

        −σ / (dσ/dt) is the time until a singular configuration at the present rate, from where it is a fraction of the
        motion. Where σ goes through zero the rate jumps to its opposite: σ has no sign. Zero where nothing is
        constrained; NaN where A is no number, and for files of before.
        """
        from sarrus.motion.records.singularity_channels import rates_of

        return rates_of(self)

    @property
    def _channels_of_singularity(self) -> SingularityChannels:
        from sarrus.motion.records.singularity_channels import channels_of

        return channels_of(self)

    def reactions(self, **options: Any) -> Any:
        """Return forces and couples in all joints along the run; options are those of `sarrus.reactions_along`."""
        return lazy_import("analysis.loads.reactions_along", "reactions_along")(self, **options)

    # --- files -------------------------------------------------------------------------------------

    def to_xarray(self, *, singularity: bool = False) -> xr.Dataset:
        """Return an `xarray.Dataset`: labelled dimensions, units, status and records as attributes.

        ``singularity`` adds `smallest_singular_value`, `singular_value_rate`, `spike_indicator` and
        `spike_acceleration`, by these names.
        """
        return storage.to_xarray(self, singularity)

    def save(self, path: str | Path, *, singularity: bool = False) -> Path:
        """Write a NetCDF file (.nc), every number bit for bit; `load` and `xarray.open_dataset` read it.

        ``singularity`` adds `smallest_singular_value`, `singular_value_rate`, `spike_indicator` and
        `spike_acceleration`, by these names.
        The file is there whole or not at all: on a full disk (`WriteError`, with the room that is missing) or after a
        kill an old file is as it was. Its last line is a checksum of all before it.
        """
        return storage.save(self, path, singularity)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Trajectory:
        """Read a file that `save` wrote; a missing, foreign or damaged one is an `ArgumentError`.

        ``verify`` off: read it even if its checksum is missing or wrong, as in a file that another program changed.
        """
        return cls(**storage.load(path, verify))

    def to_csv(self, path: str | Path, *, singularity: bool = False) -> Path:
        """Write a .csv file, a row per sample, in 17 digits; the header names each column with its unit.

        ``singularity`` adds `smallest_singular_value`, `spike_indicator` and `spike_acceleration`.
        """
        return storage.save_csv(self, path, singularity)

    # --- pictures ----------------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Plot coordinates, energy, closure and condition over time; options are those of `sarrus.plot.history`."""
        return lazy_import("pictures.plots.plot", "history")(self, path, **options)

    def draw(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw skeletons of the bodies at several times; options are those of `sarrus.plot.stroboscope`."""
        return lazy_import("pictures.plots.plot", "stroboscope")(self, path, **options)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write an animated GIF of the motion; options are those of `sarrus.plot.animation`."""
        return lazy_import("pictures.plots.plot", "animation")(self, path, **options)

    def view(self, **options: Any) -> Any:
        """Show the motion in 3-D in the browser; see `sarrus.view`, also for motions laid over each other."""
        return lazy_import("pictures.browser.server", "view")(self, **options)

    def _repr_html_(self) -> str:
        return str(lazy_import("pictures.plots.notebook", "trajectory_html")(self))

    def __repr__(self) -> str:
        end = f"{self.duration:.6g} s" if len(self.t) else "empty"
        parts = [f"{len(self.t)} samples", f"{self.steps} steps", f"status {self.status}"]
        if self.constraint_names and len(self.t):
            parts.append(f"closure within {np.max(self.residual):.2g}")
        if len(self.t) and not np.isnan(self.error[-1]):
            parts.append(f"error about {self.error[-1]:.1g}")
        if beyond := [
            one.name for one in self.limit_crossings if one.value != one.limit and one.time == self.t[0]
        ]:
            parts.append(f"{', '.join(beyond)} beyond limits at the start")
        if self.passages:
            parts.append(f"{len(self.passages)} singular passages")
        if self.determined_until < np.inf:
            parts.append(f"determined until {self.determined_until:.4g} s")
        return f"Trajectory({self.name!r}: {end}, {', '.join(parts)})"
