"""`CentreOfPressure`: the centre of pressure of contacts on a plane, at a reference or within a rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, place_of
from sarrus.control.laws.activation import adjusted
from sarrus.control.laws.demands import Demand, Settings
from sarrus.control.laws.reference import Reference, trace_reference
from sarrus.control.legged.contact_law import ContactTerms
from sarrus.control.motion.bounds import per_row
from sarrus.control.quantities.quantities import frames_of
from sarrus.dynamics.impacts.wrenches import contacts_of
from sarrus.dynamics.system import System

WAYS = ("t1", "t2")


@dataclass(frozen=True, eq=False)
class CentreOfPressure:
    """Demand on the centre of pressure p = Σ f_k r_k / Σ f_k of contacts on one plane: p = ``reference``, or bounds.

    r_k is the vector [m] from the centre of all the contact points to contact k, along the tangents t1 and t2 of the
    first one, and f_k its normal force, as in `sarrus.contact_wrench`. The rows are linear in the forces, moments [N
    m]: Σ f_k (r_k − p_d) = 0, and with bounds Σ f_k (r_k − upper) ≤ 0 ≤ Σ f_k (r_k − lower), which are inequalities.
    Open contacts count for the centre only; without a closed contact there is no demand.

    Parameters
    ----------
    contacts : name of a patch or a contact, or several on one plane.
    reference : p_d (2,) [m] along t1 and t2, numbers, a function of t or `streamed`; the setting NAME.reference[k].
    lower, upper : (2,) [m], numbers, or one number for both; None or infinite: no row. Settings NAME.lower[k],
        NAME.upper[k].
    name, weight, on, ramp : as in `Task`.

    Raises `ArgumentError` for unknown contacts, contacts on several planes, and unless there is either a reference or a
    bound.
    """

    contacts: str | Sequence[str]
    reference: Reference | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    name: str = ""
    weight: ArrayLike | None = None
    on: float | None = None
    ramp: float = 0.0

    def demand(
        self, system: System, terms: ContactTerms, closed: ca.SX, settings: Settings, name: str
    ) -> Demand:
        """Return the task as a level of a law of ``system``, whose unknowns are the controls and the contact forces."""
        contacts = contacts_of(system, self.contacts)
        bounds = self._bounds(name)
        if (self.reference is None) == (not bounds):
            raise ArgumentError(
                f"{name}: give the centre of pressure either a reference or a finite lower or upper",
                element=name,
            )
        frames = frames_of(system, *(c.body for c in contacts), contacts[0].ground)
        ground = contacts[0].ground
        tangents = [frames.direction(ground, w).value for w in (contacts[0].tangent1, contacts[0].tangent2)]
        points = [frames.point(c.body, c.point).value for c in contacts]
        centre = sum(points, ca.SX.zeros(3)) / len(points)
        ways = ca.horzcat(*tangents).T @ (ca.horzcat(*points) - centre)
        columns = [system.nu + terms.places[place_of("contact", c.name, terms.names)].start for c in contacts]

        def row(way: int, at: ca.SX) -> ca.SX:
            """Return the row of the moments about a place along a tangent."""
            full = ca.SX(1, system.nu + terms.rows.shape[0])
            full[columns] = ways[way, :] - at
            return full

        if self.reference is not None:
            wanted, _, _ = trace_reference(system, self.reference, 2, settings, f"{name}.reference")
            rows = {way: row(k, wanted[k]) for k, way in enumerate(WAYS)}
        else:
            rows = {}
            for (side, k), value in bounds.items():
                sign = 1.0 if side == "upper" else -1.0
                rows[f"{WAYS[k]} {side}"] = sign * row(k, settings.add(f"{name}.{side}[{k}]", value, 1, name))
        count = len(rows)
        demand = Demand(
            name,
            tuple(rows),
            ca.SX(count, system.nv),
            ca.SX.zeros(count),
            unknowns=ca.vertcat(*rows.values()),
            at_most=self.reference is None,
            units=("N m",) * count,
        )
        return adjusted(demand, settings, self.weight, self.on, self.ramp)

    def _bounds(self, name: str) -> dict[tuple[str, int], float]:
        """Return the finite bounds by side and tangent."""
        none = {"lower": -np.inf, "upper": np.inf}
        sides = {what: per_row(getattr(self, what), 2, f"{name}.{what}", none[what]) for what in none}
        if np.any(sides["lower"] > sides["upper"]):
            raise ArgumentError(
                f"{name}: lower must not be above upper, got {self.lower!r} and {self.upper!r}",
                element=f"{name}.lower",
            )
        found = {(what, k): float(value) for what, values in sides.items() for k, value in enumerate(values)}
        return {place: value for place, value in found.items() if np.isfinite(value)}
