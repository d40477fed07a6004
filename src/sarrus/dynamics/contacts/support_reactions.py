"""Results on unilateral and friction forces: `ContactReactions`, `SupportReactions`, `ContactForces`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_elements import Mode
from sarrus.dynamics.contacts.state_solution import StateSolution
from sarrus.kernels.contact.tolerances import UNLOADED


@dataclass(frozen=True, eq=False)
class ContactReactions(Answer):
    """Forces of contacts with Coulomb friction, of joint stops and of dry friction, within exact laws.

    Attributes
    ----------
    names : names of the forces, as ``contact_row_names`` of a `sarrus.Trajectory`.
    forces : (m,) r [N, N m]. If several r have the same effect, the one of least norm; a moment is divided by the
        characteristic length.
    force : (nv,) Jᵀ r, the generalized force of all r.
    determined : (m,) bool, which entries of r are unique for this Jᵀ r (without regard to the laws).
    modes : mode of each contact, stop and joint with dry friction, by name: open (or opening), sticking, sliding.
    carrying : names of the contacts, stops and joints with a nonzero force.
    reason : why no such forces exist, in words; "" if they exist.
    status : OK, or the reason as a status.
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
        """The reason, or the diagnosis of the status."""
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
class SupportReactions(ContactReactions):
    """Forces that support a load in statics; if the load cannot be supported, ``forces`` have the smallest residual.

    ``reason`` names the contacts that would have to pull, the friction needed, or the missing support. ``status``: OK;
    INFEASIBLE, the laws do not allow the forces; NOT_ACHIEVABLE, no forces of the active contacts balance the load,
    even without laws; INCONSISTENT, the velocity or acceleration penetrates a plane. ``determined`` is for these
    inputs.
    """

    _friction: Callable[[], float] = field(repr=False)
    _balances: Callable[[float], bool] = field(repr=False)

    @cached_property
    def friction_needed(self) -> float:
        """The least factor of the friction coefficients of all sticking contacts with which the load is supported.

        At most 1 if the load is supported (with any inputs); infinite if no friction is enough. Accuracy 1e-9; values
        below 1e-3 are not resolved further.
        """
        return self._friction()

    def holds_with(self, factor: float) -> bool:
        """Tell whether friction coefficients of all sticking contacts times ``factor`` support the load."""
        return self._balances(factor)


class ContactForces(ContactReactions):
    """Forces of contacts, stops and dry friction together with an acceleration.

    Attributes
    ----------
    closed : names of the closed contacts and stops without normal velocity, and of the joints with dry friction at
        rest: these may stick, slide or open.
    residual : largest violation of the laws: of forces relative to the largest force, of accelerations relative to the
        largest acceleration without these forces.
    ambiguous : contacts whose forces are not unique although the acceleration depends on them, so that other solutions
        exist: sliding contacts whose normal acceleration falls with the normal force (Painlevé), and contacts that
        share a load with contacts sliding in other directions (the corners of a spinning box). () does not prove
        uniqueness.
    ways : (m × k) directions in which forces may change with these modes.
    status : OK; INCONSISTENT, a contact closes with a velocity: there is an impact; INFEASIBLE, no finite forces
        satisfy the laws; NOT_CONVERGED, none were found.
    """

    residual: float
    _solution: StateSolution
    _also: tuple[str, ...]

    def __init__(
        self,
        solution: StateSolution,
        status: Status,
        reason: str,
        residual: float | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        """``also``: further contacts that are ``ambiguous``. Only the forces are computed now."""
        answer, ok = solution.answer, status.ok
        if residual is None:
            residual = float(answer.facts.residual) if ok else np.inf
        own: dict[str, Any] = vars(self)
        own.update(status=status, reason=reason, residual=residual, _solution=solution, _also=also)
        own["forces"] = read_only(answer.forces if ok else np.zeros(len(answer.forces)))
        own["force"] = read_only(answer.force if ok else np.zeros(len(answer.force)))

    def doubted(self, names: tuple[str, ...]) -> ContactForces:
        """Return the same forces with further names of contacts that are ``ambiguous``."""
        also = (*self._also, *names)
        return ContactForces(self._solution, self.status, self.reason, self.residual, also)

    @property
    def names(self) -> tuple[str, ...]:
        return self._solution.names

    @property
    def closed(self) -> tuple[str, ...]:
        return self._solution.closed

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        return self._solution.modes(not self.status.ok)

    @cached_property
    def carrying(self) -> tuple[str, ...]:
        sizes = np.abs(self.forces)
        least = UNLOADED * float(sizes.max(initial=0.0))
        return tuple(one.name for one in self._solution.elements if sizes[one.rows].max() > least)

    @cached_property
    def determined(self) -> np.ndarray:
        found = np.ones(len(self.forces), dtype=bool)
        for b in self._solution.blocks if self.status.ok else ():
            found[b.one.rows] = ~self._solution.loose[b.rows]
        return read_only(found)

    @cached_property
    def ways(self) -> Array:
        blocks = self._solution.blocks if self.status.ok else ()
        ways = self._solution.ways if blocks else np.zeros((0, 0))
        found = np.zeros((len(self.forces), ways.shape[1]))
        for b in blocks:
            found[b.one.rows] = ways[b.rows] / b.one.unit
        return read_only(found)

    @cached_property
    def ambiguous(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._solution.ambiguous, *self._also)))
