"""Hybrid motion and force control of constrained mechanisms (Aghili 2005, section 7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_is, place_of
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.reference import Reference, trace_reference
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.model.units import constraint_units, velocity_units
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank


class HybridMotionForce(Law):
    """Hybrid control: coordinates x follow a reference, and multipliers λ of the closures follow another,
    independently.

    Motion: ë + G_D ė + G_P e = 0, e = x_d − x, as in `sarrus.control.ProjectedInverseDynamics`. Forces: λ = λ_d + G_F
    e_f + G_I ∫e_f dt, e_f = λ_d − λ (Aghili 2005, eqs. (51), (52)), with the cross-coupling μ from motion to forces and
    the velocity terms fed forward. λ is affine in u, so both are linear equations in the controls, the motion with
    priority. Enough actuators for both are needed (redundant actuation).

    Parameters
    ----------
    system : the model of the law.
    quantity, reference, stiffness, damping : x, x_d, G_P [1/s²], G_D [1/s] of the motion, as in `sarrus.control.Task`.
    forces : λ_d by name of constraint row, such as {"grip.x": 20.0} or {"grip.x": lambda t: ...} [N, N m]; signs and
        axes are those of ``system.forward_dynamics(...).closure_force``.
    constraint_force : instead of ``forces``, (Aᵀλ)_d (nv,), the generalized force of all constraints, which is unique
        even if λ is not. A part that no λ produces is missed (least squares).
    proportional, integral : G_F [1] (below one) and G_I [1/s], numbers or one for each force. The integral is a memory
        of the law and needs samples: ``sr.simulate(..., sample_time=...)``, or `sample` with the measured λ. Both zero
        (the default) is feed-forward, which is exact for an exact model.
    weights : (nu,) of the norm of u.
    limits : `LawOptions`, each by its name, or all as options=.

    If closures are redundant a multiplier may not be unique; this law then refuses the row by name at its first use,
    and Aᵀλ can be controlled instead. If there are too few actuators the motion has priority (`solve` returns
    NOT_ACHIEVABLE for "force").
    """

    def __init__(
        self,
        system: System,
        quantity: Any,
        reference: Reference,
        forces: Mapping[str, Reference] | None = None,
        *,
        constraint_force: Reference | None = None,
        stiffness: ArrayLike = 100.0,
        damping: ArrayLike = 20.0,
        proportional: ArrayLike = 0.0,
        integral: ArrayLike = 0.0,
        weights: ArrayLike | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        settings, names = Settings(), tuple(forces or {})
        if bool(names) == (constraint_force is not None):
            raise ArgumentError(
                f"{system.name}: give either forces= by constraint row, or constraint_force= for Aᵀλ as a whole",
                element="forces",
            )
        self._rows = tuple(place_of("constraint row", name, system.constraint_names) for name in names)
        motion = Task(quantity, reference, stiffness, damping).demand(system, settings, "motion")
        if constraint_force is not None:
            names, measured_rows = system.velocity_names, tuple(range(system.nc))
            units = tuple({"m/s": "N", "rad/s": "N m"}.get(unit, "") for unit in velocity_units(system))
            wanted = trace_reference(system, constraint_force, system.nv, settings, "force")[0]
            select = system.equations.jacobian.T
        else:
            measured_rows, select = self._rows, ca.SX.zeros(len(names), system.nc)
            units = tuple(constraint_units(system)[k] for k in self._rows)
            for row, k in enumerate(self._rows):
                select[row, k] = 1
            wanted = ca.vertcat(
                *[
                    trace_reference(system, (forces or {})[name], 1, settings, f"force.{name}")[0]
                    for name in names
                ]
            )
        size = len(names)
        p = settings.add("force.proportional", proportional, size, "force")
        i = settings.add("force.integral", integral, size, "force")
        settings.measured, settings.measured_at = measured_rows, settings.count
        known = settings.add("force.known", 0.0, 1, "force")
        measured = settings.add("force.measured", 0.0, len(measured_rows), "force")
        seen = measured if constraint_force is None else select @ measured
        total = settings.remember("force.memory", 0.0, size, "force")
        error = known * (wanted - seen)
        total.next = total.value + settings.period * error
        demand = Demand(
            "force",
            names,
            ca.SX.zeros(size, system.nv),
            wanted + p * error + i * total.value,
            ca.densify(select),
            units=units,
        )
        super().__init__(system, [motion, demand], settings, weights=weights, **limits)
        self.needs_samples = bool(np.any(proportional) or np.any(integral))

    def rank_near(self, work: Workspace, q: ArrayLike, v: ArrayLike, t: float) -> tuple[int, Array]:
        """Return rank, cut and scale as `Law.rank_near`; raises `ArgumentError` for a controlled multiplier that is not
        unique.
        """
        rank, cuts = super().rank_near(work, q, v, t)
        x = work.pack(q, v, None, t)
        jacobian = work.constraint_jacobian(x[work.parts.q], x[work.parts.v], t)
        sure, names = (
            at_rank(work.characteristic.scaled_rows(jacobian), rank).determined,
            work.constraint_names,
        )
        for row in self._rows:
            if not sure[row] and jacobian[row].any():  # a row that is off says NOT_ACHIEVABLE by itself
                unique = ", ".join(name for name, yes in zip(names, sure) if yes)
                raise ArgumentError(
                    f"{self.name}: the multiplier of {names[row]!r} is not unique, because the closures are "
                    f"redundant. Choose among {unique or 'none'}, or control Aᵀλ with "
                    "constraint_force=",
                    element=names[row],
                )
        return rank, cuts
