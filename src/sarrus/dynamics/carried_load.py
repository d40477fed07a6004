"""`CarriedLoad`: what results say of the forces of contacts, stops and dry friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contact_state import Mode


@dataclass(frozen=True, eq=False)
class CarriedLoad(Answer):
    """Forces of contacts with Coulomb friction, of stops and of dry friction that carry a load, within exact laws.

    Attributes
    ----------
    names : of the forces, those of ``contact_row_names`` of a `sarrus.Trajectory`.
    forces : (m,) r [N, N m]. Of several that carry the load the one of least norm, in which a moment counts as this
        force at the characteristic length; where nothing carries it those that miss it least.
    force : (nv,) Jᵀ r, what they do together.
    determined : (m,) which forces are the same in all that carry the load with these inputs, laws left aside.
    modes : what each contact, stop and joint with dry friction does, by name: open (or opening), sticking, sliding.
    carrying : names of those that have a force.
    reason : why nothing carries the load, in words: what would have to pull, how much friction it takes, where nothing
        acts; "" where it is carried.
    status : OK; INFEASIBLE, the laws do not allow it; NOT_ACHIEVABLE, nothing that acts reaches it, whatever the laws;
        INCONSISTENT, the motion goes into a plane.
    """

    names: tuple[str, ...]
    forces: Array
    force: Array
    determined: np.ndarray
    modes: Mapping[str, Mode]
    carrying: tuple[str, ...]
    reason: str
    status: Status
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
        return f"CarriedLoad({self.status}, by {carrying}{f': {self.reason}' if self.reason else ''})"
