"""What results say of the forces of contacts, stops and dry friction: `TouchForces`, `CarriedLoad`, `ContactForces`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_state import Mode


@dataclass(frozen=True, eq=False)
class TouchForces(Answer):
    """Forces of contacts with Coulomb friction, of stops and of dry friction, within exact laws.

    Attributes
    ----------
    names : of the forces, those of ``contact_row_names`` of a `sarrus.Trajectory`.
    forces : (m,) r [N, N m]. Of several that do the same the one of least norm, in which a moment counts as this force
        at the characteristic length.
    force : (nv,) Jᵀ r, what they do together.
    determined : (m,) which forces are the same in all that do the same, laws left aside.
    modes : what each contact, stop and joint with dry friction does, by name: open (or opening), sticking, sliding.
    carrying : names of those that have a force.
    reason : why there are no such forces, in words; "" where there are.
    status : OK, or what is in the way.
    """

    names: tuple[str, ...]
    forces: Array
    force: Array
    determined: np.ndarray
    modes: Mapping[str, Mode]
    carrying: tuple[str, ...]
    reason: str
    status: Status

    @property
    def message(self) -> str:
        """The reason, or that all is well."""
        return self.reason or self.status.diagnosis

    def __getitem__(self, name: str) -> Array:
        """Return the forces of a contact, stop or joint with dry friction by its name."""
        rows = [k for k, row in enumerate(self.names) if row == name or row.rpartition(".")[0] == name]
        if not rows:
            raise KeyError(f"{name!r}; there are {', '.join(self.modes)}")
        return self.forces[rows]

    def __repr__(self) -> str:
        carrying = ", ".join(self.carrying) or "nothing"
        reason = f": {self.reason}" if self.reason else ""
        return f"{type(self).__name__}({self.status}, by {carrying}{reason})"


@dataclass(frozen=True, eq=False, repr=False)
class CarriedLoad(TouchForces):
    """Forces that carry a load; where nothing carries it ``forces`` are those that miss it least.

    ``reason`` says what would have to pull, how much friction it takes, where nothing acts. ``status``: OK;
    INFEASIBLE, the laws do not allow it; NOT_ACHIEVABLE, nothing that acts reaches it, whatever the laws;
    INCONSISTENT, the motion goes into a plane. ``determined`` is meant with these inputs.
    """

    _friction: Callable[[], float] = field(repr=False)
    _balances: Callable[[float], bool] = field(repr=False)

    @cached_property
    def friction_needed(self) -> float:
        """The least factor of the friction coefficients of all that sticks with which the load is carried.

        At most 1 where it is carried, with any inputs; infinite where no friction is enough; found to 1e-9, and not
        any further below 1e-3.
        """
        return self._friction()

    def holds_with(self, factor: float) -> bool:
        """Tell whether the load is carried with the friction coefficients of all that sticks times a factor."""
        return self._balances(factor)


@dataclass(frozen=True, eq=False, repr=False)
class ContactForces(TouchForces):
    """Forces that go with an acceleration.

    Attributes
    ----------
    touching : names of what is closed and neither approaches nor leaves, and of joints at rest with dry friction: what
        may hold, slide or let go.
    residual : largest violation of the laws: of forces over the largest force, of accelerations over the largest
        without these forces.
    ambiguous : contacts whose forces the laws leave open although the acceleration depends on them, so that there are
        others: what slides and is pressed the less the more it pushes (Painlevé), and what shares a load with others
        that slide in other directions, as the corners of a box that spins. () does not prove that there is no other.
    ways : (m × k) directions in which forces may change with these modes.
    status : OK; INCONSISTENT, something closes with a velocity, which takes an impact; INFEASIBLE, no finite forces
        obey the laws; NOT_CONVERGED, none were found.
    """

    touching: tuple[str, ...]
    residual: float
    ambiguous: tuple[str, ...]
    ways: Array = field(repr=False)
