"""Results on unilateral and friction forces: `ContactReactions`, `SupportReactions`, `ContactForces`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode
from sarrus.dynamics.model.tolerances import EXACT_RANK_CUT
from sarrus.kernels.contact.tolerances import UNLOADED, UNMOVED_FORCE
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.memory.state_contacts_layout import StateAnswer

_MODES = tuple(Mode)


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


@dataclass(frozen=True)
class Block:
    """A contact, stop or dry friction: its rows in W, mode, slip direction, and present friction coefficient."""

    one: ContactElement
    rows: slice
    mode: Mode
    friction: float
    direction: Array

    @property
    def is_dry(self) -> bool:
        """Whether it is dry friction, without a normal force."""
        return self.one.kind == "friction"


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
    answer: StateAnswer
    elements: tuple[ContactElement, ...]
    _also: tuple[str, ...]

    def __init__(
        self,
        elements: tuple[ContactElement, ...],
        names: tuple[str, ...],
        answer: StateAnswer,
        status: Status = Status.OK,
        reason: str = "",
        residual: float | None = None,
        also: tuple[str, ...] = (),
    ) -> None:
        """``answer``: that of the kernel; only the forces are computed now. ``also``: more that are ``ambiguous``."""
        ok = status.ok
        if residual is None:
            residual = float(answer.facts.residual) if ok else np.inf
        own: dict[str, Any] = vars(self)
        own.update(status=status, reason=reason, residual=residual, _also=also)
        own.update(elements=elements, names=names, answer=answer)
        own["forces"] = read_only(answer.forces if ok else np.zeros(len(answer.forces)))
        own["force"] = read_only(answer.force if ok else np.zeros(len(answer.force)))

    def doubted(self, names: tuple[str, ...]) -> ContactForces:
        """Return the same forces with further names of contacts that are ``ambiguous``."""
        more = (self.status, self.reason, self.residual, (*self._also, *names))
        return ContactForces(self.elements, self.names, self.answer, *more)

    def failed(self, status: Status, reason: str, residual: float | None = None) -> ContactForces:
        """Return the answer without forces."""
        return ContactForces(self.elements, self.names, self.answer, status, reason, residual)

    @cached_property
    def closed(self) -> tuple[str, ...]:
        starts = self.answer.start.tolist()
        return tuple(one.name for one, start in zip(self.elements, starts) if start >= 0.0)

    @cached_property
    def modes(self) -> Mapping[str, Mode]:
        modes = self.answer.modes.tolist()
        if not self.status.ok:  # only dry friction that slides has another mode than open
            modes = [mode if going == 2.0 else 0.0 for mode, going in zip(modes, self.answer.going.tolist())]
        return {one.name: _MODES[int(mode)] for one, mode in zip(self.elements, modes)}

    @cached_property
    def carrying(self) -> tuple[str, ...]:
        sizes = np.abs(self.forces)
        least = UNLOADED * float(sizes.max(initial=0.0))
        return tuple(one.name for one in self.elements if sizes[one.rows].max() > least)

    @cached_property
    def determined(self) -> np.ndarray:
        found = np.ones(len(self.forces), dtype=bool)
        if self.status.ok and self._ways.size:
            null = ranked(self.delassus @ self._ways, relative=EXACT_RANK_CUT).null
            loose = np.abs(self._ways @ null).max(axis=1, initial=0.0) > UNMOVED_FORCE
            for b in self.blocks:
                found[b.one.rows] = ~loose[b.rows]
        return read_only(found)

    @cached_property
    def ways(self) -> Array:
        ways = self._ways if self.status.ok else np.zeros((0, 0))
        found = np.zeros((len(self.forces), ways.shape[1]))
        for b in self.blocks if ways.size else ():
            found[b.one.rows] = ways[b.rows] / b.one.unit
        return read_only(found)

    @cached_property
    def ambiguous(self) -> tuple[str, ...]:
        marks = self.answer.ambiguous.tolist()
        return tuple(
            dict.fromkeys((*(one.name for one, mark in zip(self.elements, marks) if mark), *self._also))
        )

    # --- the contact problem ----------------------------------------------------------------------------------

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the contact problem: they may stick, slide or open."""
        found, answer = list[Block](), self.answer
        each = zip(self.elements, answer.start.tolist(), answer.modes.tolist(), answer.friction)
        for one, start, mode, friction in each:
            if start >= 0.0:
                rows = slice(int(start), int(start) + one.rows.stop - one.rows.start)
                direction = answer.directions[one.tails]
                found.append(Block(one, rows, _MODES[int(mode)], float(friction), direction))
        return tuple(found)

    @property
    def delassus(self) -> Array:
        """W (n, n) of the contact problem."""
        count = int(self.answer.facts.rows)
        return self.answer.delassus[: count**2].reshape(count, count)

    @property
    def given(self) -> Array:
        """The accelerations b (n,) of the rows of the contact problem without forces."""
        return self.answer.given[: int(self.answer.facts.rows)]

    @cached_property
    def _ways(self) -> Array:
        """The directions (n × k) in which the forces of the contact problem may change with these modes."""
        columns, count = list[Array](), int(self.answer.facts.rows)
        for b in self.blocks:
            held = b.one.held(b.mode)
            ways = np.eye(count)[b.rows][: held.stop - held.start]
            if b.mode is Mode.SLIDING and not b.is_dry:
                ways[0, b.rows.start + 1 : b.rows.stop] = -b.friction * b.direction
            columns.extend(ways)
        return np.array(columns).reshape(len(columns), count).T
