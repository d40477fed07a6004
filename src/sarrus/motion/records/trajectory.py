"""`Trajectory`: the labelled result of a simulation, with plots, files and evaluations along the motion."""

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
    """The motion computed by `sarrus.simulate`; arrays are read-only, time is their leading axis.

    Attributes
    ----------
    name : name of the system.
    t : times (T,) [s].
    q, v, a : coordinates (T, nq) [m, rad], velocities (T, nv) and accelerations (T, nv) [per second, per second²].
    u : controls (T, nu).
    multipliers : λ (T, nc), the force that each constraint row exerts on the mechanism; least norm for redundant rows.
    energy : kinetic plus potential energy (T,) [J].
    rank : rank of the constraint Jacobian A (T,).
    condition : condition number σ₁ / σ_r of A (T,) in characteristic units (lengths in κ), r the generic rank:
        redundant and dead rows do not count. Infinite at a singular configuration, 1 without constraints. Evaluated
        from q, v and t at the first access or when saved. With ``formulation``: condition number of the matrix that the
        formulation inverts.
    residual : largest entry of φ in absolute value (T,) [m, rad].
    error : estimated error of the coordinates up to each sample (T,), relative to 1 rad for angles, and to the largest
        coordinate of the run for lengths. NaN if it was not estimated, see `sarrus.simulate`; infinite after
        ``determined_until`` if the status is NOT_DETERMINED.
    contact_forces : (T, rows) normal and tangential forces of contacts with friction, tensions of ropes (`tensions`),
        forces of stops at joint limits, and dry friction [N, N m]; ``contact_row_names`` label the rows. Instantaneous
        values; with the method "moreau-jean" means over the step that ends at the sample.
    meetings : contact points between geometries, see `sarrus.motion.records.geometry_log.ContactLog`;
        `geometry_forces`.
    contact_loss : energy dissipated by contacts, stops and dry friction up to each sample (T,) [J].
    contact_residual : largest residual of the laws of Signorini and Coulomb, relative; see
        `sarrus.optimize.solve_contact_problem`. In time stepping, rows that depend on each other follow one
        motion.
    mean_contacts : 1 if contact forces are means over steps, which include impacts; else 0.
    invariants : (T, k) values of the invariants that the projection kept, with labels ``invariant_names``
        (`sarrus.Stabilization`); ``invariant_drift`` is the largest deviation of each from its first value.
    sample_time : interval [s] at which controls were sampled and held; zero if u is a function of the state.
    held_controls : 1 if the u of a sample acts after it (laws), −1 if it acted before it (functions called by Python);
        zero if no control was held.
    status, message : the outcome of the run. After a failure the motion up to then is kept.
    passages, limit_crossings, events, switches : records of the run, in order of time.
    determined_until : last time [s] up to which a motion with singular passages agrees with a repetition that has
        slightly different steps and a start changed by rounding, to 1e-6 relative to 1 + |q|, or to rtol if larger.
        Infinity if the two agree to the end and if there were no passages; NaN if the motion was not repeated (see
        `sarrus.simulate`).
    coordinate_names, velocity_names, actuator_names, constraint_names, contact_row_names : labels of the second axes.
    coordinate_units, velocity_units, constraint_units : units of q, v and the multipliers; () if unknown.
    steps, rejected : accepted and rejected steps of the integrator.
    wall_seconds : duration of the computation [s], without the error estimate.
    system : the `System` that moved; None for a trajectory from a file, for which `moved_system` makes it.
    parameters : values of the system's parameters in the run, without those that switch constraints.
    readings : of a trajectory from a file, the sensor readings (T, entries), if the file has them; see `sensors`.
    channels : of a trajectory from a file, the channels of singularity (T, 4), if the file has them.
    mechanism : of a trajectory from a file, the mechanism with the parameters at the time of saving; None if the file
        has none (equations of one's own, older files).
    """

    def at(self, t: ArrayLike) -> Array:
        """Return the coordinates at times t [s]: shape of t plus (nq,).

        Between samples, a coordinate whose rate is a velocity follows the polynomial of degree five through q, v and a
        (sixth order in the sample distance). The other coordinates are interpolated linearly, quaternions then scaled
        to unit length. It is meant for pictures; the samples themselves have the accuracy of the run.

        Raises `ArgumentError` for times outside of the run.
        """
        return interpolate(self, real_array(t))

    def geometry_forces(self, sample: int) -> dict[str, Array]:
        """Return the force on the second geometry (3,) [N], in world axes, of each pair in contact at a sample.

        With "moreau-jean" it is the mean over the step that ends there; ``contact_log.at(sample)`` lists the contact
        points.
        """
        return self.contact_log.forces(range(len(self.t))[sample])

    @property
    def sensors(self) -> Readings:
        """Sensor readings by name, arrays (T, size) in the units of each sensor, evaluated at the first access.

        Forces and accelerations follow from the recorded ``a`` and ``multipliers``.
        """
        from sarrus.motion.records.readings import read_run  # here: it brings CasADi

        return read_run(self)

    @property
    def currents(self) -> dict[str, Array]:
        """Currents (T,) [A] of the windings of motors with inductance, by the names of the motors.

        A mechanism without such motors has an empty dictionary.
        """
        return {
            name.rpartition(".")[0]: self.q[:, k]
            for k, (name, unit) in enumerate(zip(self.coordinate_names, self.coordinate_units))
            if unit == "A"
        }

    @property
    def tensions(self) -> dict[str, Array]:
        """Tensions (T,) [N], zero or more, of tendons with an upper limit of their length, such as ropes, by name.

        Zero while a rope is slack. With "moreau-jean" they are means over the step that ends at the sample, impacts
        included. In a part of a path behind a pulley the tension is this one over the divisor. A rope with friction at
        a wrap has two tensions: "NAME.1" before the wrap and "NAME.2" behind it. ``switches`` lists when a rope became
        taut (``closed``, with the energy lost in the impact) and slack (``opened``).
        """
        found = {
            name.removesuffix(".tension"): np.maximum(self.contact_forces[:, k], 0.0)
            for k, name in enumerate(self.contact_row_names)
            if name.endswith(".tension")
        }
        if all(f"{rope}.grip" not in self.contact_row_names for rope in found):
            return found
        from sarrus.motion.records.readings import tensions_along  # here: it brings CasADi

        return tensions_along(self)

    def body_motion(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> BodyMotion:
        """Return a `BodyMotion`: position, velocity and acceleration of a point of a body, and of the body's axes, (T,
        …).

        All are in world axes, from the recorded q, v and a; ``point`` (3,) [m] is in axes of the body. Where the
        acceleration jumps it is the one-sided value of the record. Redundant rows and singular configurations change
        nothing.

        Raises `ArgumentError` for an unknown body, a point that is not three finite numbers, and a run whose mechanism
        is not known.
        """
        from sarrus.motion.records.body_motion_along import body_motion  # here: it brings CasADi

        return body_motion(self, body, point)

    def motor_loss(self, weights: ArrayLike | None = None) -> Any:
        """Return a `sarrus.MotorLoss`: heat R i² [W] in the windings of the motors along the run, and its integral [J].

        ``weights`` W (nu,) or (nu, nu) define a loss uᵀW u [W] for actuators without a motor model; see
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
        """Return a `sarrus.EnergyPerMetre`: loss and energy of the motors per path of a point or a coordinate [J/m,
        J/rad].

        See `sarrus.analysis.loads.energy_per_metre.energy_per_metre`.
        """
        return lazy_import("analysis.loads.energy_per_metre", "energy_per_metre")(
            self, body, point, coordinate=coordinate, weights=weights
        )

    # --- channels of singularity, evaluated when one of them is first asked for ------------------------

    @property
    def smallest_singular_value(self) -> Array:
        """Singular value σ = σ_r of A at every sample (T,), r the generic rank: the distance from a singular
        configuration.

        A is in characteristic units (`sarrus.dynamics.model.characteristic`), lengths in κ, so that metres and
        millimetres agree. Redundant and dead rows do not count. σ goes to zero linearly in time where the motion
        passes through a singular configuration. Infinite without constraints; NaN where A is not finite. Switched
        constraints are those active then.

        Raises `ArgumentError` if the equations, or the times of switched constraints, are unknown: for a trajectory
        from a file that was saved without ``singularity=True``.
        """
        return self._channels_of_singularity.smallest_singular_value

    @property
    def spike_indicator(self) -> Array:
        """Spencer's spike indicator |uᵀȦv| at every sample (T,) [1/s²], u the left singular vector of σ.

        −A⁺Ȧv = −Σ wᵢ uᵢᵀȦv / σᵢ is the part of the acceleration that the constraints determine. Near a singular
        configuration the indicator goes to zero with σ if the motion passes; it stays finite if the mechanism locks up
        or turns back. In characteristic units, with γ in place of Ȧv. Singular values equal to σ count together. Zero
        without constraints.

        Source: Spencer 2004, eqs. (3.6), (3.7), section 3.1.1; at one state `sarrus.formulations.spike_indicator`.
        """
        return self._channels_of_singularity.spike_indicator

    @property
    def spike_acceleration(self) -> Array:
        """Spike acceleration |uᵀȦv| / σ at every sample (T,) [1/s²], in characteristic units.

        It is the acceleration along the right singular vector of σ, and large in a true spike. NaN where σ is below
        1e-12 of the largest singular value, because the ratio is then rounding, unless Ȧv is zero. Zero without
        constraints.
        """
        return self._channels_of_singularity.spike_acceleration

    @property
    def singular_value_rate(self) -> Array:
        """Rate dσ/dt = uᵀ Ȧ w of `smallest_singular_value` at every sample (T,) [1/s], by the exact derivative of A.

        −σ / (dσ/dt) is the time to a singular configuration at the present rate. Where σ passes zero the rate changes
        its sign, because σ ≥ 0. Zero without constraints; NaN where A is not finite, and for files of older versions.
        """
        from sarrus.motion.records.singularity_channels import rates_of  # here: it brings CasADi

        return rates_of(self)

    def _condition_along(self) -> Array:
        from sarrus.motion.records.conditioning import condition_along  # here: it brings CasADi

        return condition_along(self)

    @property
    def _channels_of_singularity(self) -> SingularityChannels:
        from sarrus.motion.records.singularity_channels import channels_of  # here: it brings CasADi

        return channels_of(self)

    def reactions(self, **options: Any) -> Any:
        """Return forces and couples in all joints along the run; options and result are those of
        `sarrus.reactions_along`.
        """
        return lazy_import("analysis.loads.reactions_along", "reactions_along")(self, **options)

    # --- files -------------------------------------------------------------------------------------

    def to_xarray(self, *, singularity: bool = False) -> xr.Dataset:
        """Return an `xarray.Dataset`: labelled dimensions with units; status and records are attributes.

        ``singularity=True`` adds `smallest_singular_value`, `singular_value_rate`, `spike_indicator` and
        `spike_acceleration`, by these names.
        """
        return storage.to_xarray(self, singularity)

    def save(self, path: str | Path, *, singularity: bool = False) -> Path:
        """Write a NetCDF file (.nc) with every number bit for bit; return its path. `load` and `xarray.open_dataset`
        read it.

        ``singularity=True`` adds `smallest_singular_value`, `singular_value_rate`, `spike_indicator` and
        `spike_acceleration`, by these names. The file is written whole or not at all: on a full disk (`WriteError`,
        which says how much room is missing) or after a kill, an older file is unchanged. The last line is a checksum of
        the file.
        """
        return storage.save(self, path, singularity)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Trajectory:
        """Return the trajectory in a file that `save` wrote.

        ``verify=False`` reads the file even if its checksum is missing or wrong, for instance after another program
        changed it.

        Raises `ArgumentError` for a missing, foreign or damaged file.
        """
        return cls(**storage.load(path, verify))

    def to_csv(self, path: str | Path, *, singularity: bool = False) -> Path:
        """Write a .csv file with one row per sample, 17 digits, and a header with name and unit of each column; return
        its path.

        ``singularity=True`` adds `smallest_singular_value`, `spike_indicator` and `spike_acceleration`.
        """
        return storage.save_csv(self, path, singularity)

    # --- pictures ----------------------------------------------------------------------------------

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of coordinates, energy, closure residual and condition over time; options:
        `sarrus.plot.history`.
        """
        return lazy_import("pictures.plots.plot", "history")(self, path, **options)

    def draw(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure with skeletons of the bodies at several times; options: `sarrus.plot.stroboscope`."""
        return lazy_import("pictures.plots.plot", "stroboscope")(self, path, **options)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write an animated GIF of the motion; return its path. Options: `sarrus.plot.animation`."""
        return lazy_import("pictures.plots.plot", "animation")(self, path, **options)

    def view(self, **options: Any) -> Any:
        """Show the motion in 3-D in the browser; options, also to show several motions at once: `sarrus.view`."""
        return lazy_import("pictures.browser.server", "view")(self, **options)

    def _repr_html_(self) -> str:
        return str(lazy_import("pictures.plots.notebook", "trajectory_html")(self))

    def __repr__(self) -> str:
        end = f"{self.duration:.6g} s" if len(self.t) else "empty"
        parts = [f"{len(self.t)} samples", f"{self.steps} steps", f"status {self.status}"]
        if self.constraint_names and len(self.t):
            parts.append(f"closure residual at most {np.max(self.residual):.2g} m or rad")
        if len(self.t) and not np.isnan(self.error[-1]):
            parts.append(f"estimated relative error {self.error[-1]:.1g}")
        if beyond := [
            one.name for one in self.limit_crossings if one.value != one.limit and one.time == self.t[0]
        ]:
            parts.append(f"{', '.join(beyond)} beyond limits at the start")
        if self.passages:
            parts.append(f"{len(self.passages)} singular passages")
        if self.determined_until < np.inf:
            parts.append(f"determined until {self.determined_until:.4g} s")
        return f"Trajectory({self.name!r}: {end}, {', '.join(parts)})"
