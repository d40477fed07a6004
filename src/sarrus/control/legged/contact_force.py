"""`ContactForce`: a demand on the force of a contact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, place_of
from sarrus.control.laws.activation import adjusted
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.reference import Reference, trace_reference
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.dynamics.system import System

ROWS = ("n", "t1", "t2")


@dataclass(frozen=True, eq=False)
class ContactForce:
    """Demand λ = ``value`` on components of the force of a contact while it is closed; an open contact has no demand.

    It is eq. (35) of Aghili 2022, Optimal control of legged robots subject to friction cone constraints, with a
    priority. It determines the internal forces that redundant contacts leave free. ``rows``: some of "n", "t1", "t2".
    ``value`` [N]: a number or one for each row, the setting NAME.value, or a function of t (CasADi). In a relaxed law ρ
    is the cost of a squared force [1/N²]. ``weight``, ``on`` and ``ramp`` as in `Task`.
    """

    contact: str
    value: Reference
    rows: Sequence[str] = ("n",)
    name: str = ""
    weight: ArrayLike | None = None
    on: float | None = None
    ramp: float = 0.0

    def demand(
        self, system: System, terms: ContactTerms, closed: ca.SX, settings: Settings, name: str
    ) -> Demand:
        """Return the task as a level of a law of ``system``, whose unknowns are the controls and the contact forces."""
        k = place_of("contact", self.contact, terms.names)
        valid = ROWS[: terms.places[k].stop - terms.places[k].start]
        chosen = (self.rows,) if isinstance(self.rows, str) else tuple(self.rows)
        if not chosen or len(set(chosen)) != len(chosen) or any(row not in valid for row in chosen):
            raise ArgumentError(
                f"{name}: rows of contact {self.contact!r} must be some of {', '.join(valid)}, got {self.rows!r}",
                element="rows",
                valid=valid,
            )
        wanted, _, _ = trace_reference(system, self.value, len(chosen), settings, f"{name}.value")
        select = ca.SX(len(chosen), system.nu + terms.rows.shape[0])
        for i, row in enumerate(chosen):
            select[i, system.nu + terms.places[k].start + valid.index(row)] = 1.0
        labels = tuple(f"{self.contact}.{row}" for row in chosen)
        still, units = ca.SX(len(chosen), system.nv), ("N",) * len(chosen)
        demand = Demand(name, labels, still, closed[k] * wanted, unknowns=select, units=units)
        return adjusted(demand, settings, self.weight, self.on, self.ramp)
