"""`Task`: a quantity follows a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.control.laws.activation import adjusted
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.reference import Reference, trace_reference
from sarrus.control.quantities.body_quantities import orientation, point
from sarrus.control.quantities.centroidal_quantities import centre_of_mass
from sarrus.control.quantities.quantities import Part, Quantity, quantity
from sarrus.dynamics.system import System

__all__ = ["Part", "Quantity", "Task", "centre_of_mass", "orientation", "point", "quantity"]


@dataclass(frozen=True, eq=False)
class Task:
    """Demand ẍ = ẍ_d + ``damping`` (ẋ_d − ẋ) + ``stiffness`` (x_d − x): a quantity x follows ``reference`` x_d.

    For a quantity y(q, v, t) of velocities, such as `momentum`, ẏ = ẏ_d + ``stiffness`` (y_d − y), and damping is
    refused.

    Parameters
    ----------
    quantity : "boom" or ["boom", "bucket"], coordinates of the mechanism by name; `point`, `orientation`, `gaze`,
        `clearance`, `centre_of_mass`, `momentum`, `capture_point`, `singularity_measure`; or a function x(q, t) or y(q,
        v, t) of CasADi vectors.
    reference : x_d, numbers, which are held; a function of t (CasADi, as from `sarrus.control.references`); or
        `streamed`.
    stiffness : [1/s²], for velocities [1/s]; a number or one for each row.
    damping : [1/s], a number or one for each row; default 20.
    weight : positive, a number or one for each row: factor of the rows, which weighs rows of one level that contradict
        each other.
    on : 1 or 0, a switch that may be changed while the law runs; an inactive task has no effect. None: always active.
    ramp : time [s] in which a task is switched when ``on`` changes; it needs samples. 0: at once.

    Settings of the law: NAME.stiffness, NAME.damping and, if numbers are held, NAME.reference; if given, NAME.weight
    and NAME.on.
    """

    quantity: Any
    reference: Reference
    stiffness: ArrayLike = 100.0
    damping: ArrayLike | None = None
    name: str = ""
    weight: ArrayLike | None = None
    on: float | None = None
    ramp: float = 0.0

    def demand(self, system: System, settings: Settings, name: str) -> Demand:
        """Return the task as a `Demand` of a law of ``system``."""
        x = quantity(system, self.quantity)
        size = len(x.rows)
        wanted, rate, acceleration = trace_reference(
            system, self.reference, size, settings, f"{name}.reference"
        )
        stiffness = settings.add(f"{name}.stiffness", self.stiffness, size, name)
        if x.degree == 2:
            damping = settings.add(
                f"{name}.damping", 20.0 if self.damping is None else self.damping, size, name
            )
            target = acceleration + damping * (rate - x.rate) + stiffness * x.error(wanted)
        elif self.damping is None:
            target = rate + stiffness * x.error(wanted)
        else:
            raise ArgumentError(
                f"{name}: {', '.join(x.rows)} are velocities, whose task has no damping: the error decays with the "
                "stiffness [1/s] alone. Leave damping out",
                element=f"{name}.damping",
            )
        demand = Demand(name, x.rows, x.jacobian, target - x.bias, units=x.units)
        return adjusted(demand, settings, self.weight, self.on, self.ramp)
