"""`ComputedTorque`: computed torque in minimal coordinates, the classical law, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import name_or_names, names
from sarrus.base.errors import ArgumentError, check_is, check_known
from sarrus.control.laws.demands import Settings
from sarrus.control.laws.law import Law
from sarrus.control.laws.reference import Reference
from sarrus.control.motion.tasks import Task
from sarrus.dynamics.system import System


class ComputedTorque(Law):
    """Computed torque: independent coordinates y follow a reference, with one actuator for each and no other.

    u = S_y⁻¹ (Kᵀ M K (ÿ_d + G_D ė + G_P e) + Kᵀ(M K̇ ẏ + h − k)), e = y_d − y, v = K ẏ, S_y = Kᵀ S of the chosen
    actuators, as if the mechanism were a tree with these joints driven (Murray, Li and Sastry 1994, chapter 4; with
    closed loops, for instance Nakamura and Ghodoussi 1989). Near configurations at which these actuators cannot hold
    the mechanism (type 2 singularities) u grows without bound; `sarrus.control.ProjectedInverseDynamics` avoids this if
    there are more actuators.

    Parameters
    ----------
    system : the model of the law.
    coordinates : names of coordinates, as many as there are degrees of freedom.
    reference, stiffness, damping : y_d, G_P [1/s²] and G_D [1/s], as in `sarrus.control.Task`.
    actuators : names of the actuators to use; default: those that act on these coordinates alone.
    limits : `LawOptions`, each by its name, or all as options=.
    """

    def __init__(
        self,
        system: System,
        coordinates: str | Sequence[str],
        reference: Reference,
        *,
        stiffness: ArrayLike = 100.0,
        damping: ArrayLike = 20.0,
        actuators: Sequence[str] | None = None,
        **limits: Any,
    ) -> None:
        check_is(type(self).__name__, system, System)
        system.require_no_activations("control laws")
        name_or_names("coordinates", coordinates)
        if actuators is not None:
            names("actuators", actuators)
        named = [coordinates] if isinstance(coordinates, str) else list(coordinates)
        settings = Settings()
        demand = Task(named, reference, stiffness, damping).demand(system, settings, "motion")
        used = _acting_on(system, named) if actuators is None else list(actuators)
        for name in used:
            check_known("actuator", name, system.actuator_names)
        if len(used) != len(named):
            raise ArgumentError(
                f"{system.name}: {len(named)} coordinates need as many actuators, got {', '.join(used) or 'none'}; "
                "name them with actuators=",
                element="actuators",
            )
        super().__init__(system, [demand], settings, **limits)
        self.arrays.roots *= [1.0 if name in used else 0.0 for name in system.actuator_names]


def _acting_on(system: System, names: Sequence[str]) -> list[str]:
    """Return the actuators whose generalized force has entries for these coordinates only."""
    own = [i for name in names for i in system.velocity_indices(name)]
    actuation = system.equations.actuation
    share = np.array([[not actuation[i, k].is_zero() for k in range(system.nu)] for i in range(system.nv)])
    return [
        actuator
        for k, actuator in enumerate(system.actuator_names)
        if share[own, k].any() and not np.delete(share[:, k], own).any()
    ]
