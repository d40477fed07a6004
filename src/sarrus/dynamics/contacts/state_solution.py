"""`StateSolution`: what follows from the forces at a state: modes, which forces are unique, which might jam."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode
from sarrus.dynamics.model.tolerances import EXACT_RANK_CUT
from sarrus.kernels.contact.tolerances import UNLOADED, UNMOVED_FORCE
from sarrus.kernels.linalg.ranked import Ranked, ranked
from sarrus.kernels.memory.state_contacts_layout import StateAnswer

_MODES = tuple(Mode)


@dataclass(frozen=True)
class Block:
    """A contact, stop or dry friction: its rows in W, mode, slip direction, and present friction coefficient.

    ``going``: it slides at the present velocity. ``at_rest``: it sticks at a dead centre, where it neither moves nor is
    moved by forces.
    """

    one: ContactElement
    rows: slice
    going: bool
    at_rest: bool
    mode: Mode
    friction: float
    direction: Array

    @property
    def is_dry(self) -> bool:
        """Whether it is dry friction, without a normal force."""
        return self.one.kind == "friction"

    @property
    def tails(self) -> slice:
        """Its rows with friction."""
        return slice(self.rows.start + (not self.is_dry), self.rows.stop)


class StateSolution:
    """The answer of the kernel for forces at a state; the rest is found when it is asked for."""

    def __init__(
        self, elements: tuple[ContactElement, ...], names: tuple[str, ...], answer: StateAnswer
    ) -> None:
        self.elements, self.names, self.answer = elements, names, answer
        self.count = int(answer.facts.rows)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the problem: they may stick, slide or open."""
        found, answer = list[Block](), self.answer
        each = zip(
            self.elements,
            answer.start.tolist(),
            answer.going.tolist(),
            answer.modes.tolist(),
            answer.friction,
        )
        for one, start, going, mode, friction in each:
            if start >= 0.0:
                rows = slice(int(start), int(start) + one.rows.stop - one.rows.start)
                direction = answer.directions[one.tails]
                found.append(
                    Block(one, rows, going > 0.0, going < 0.0, _MODES[int(mode)], float(friction), direction)
                )
        return tuple(found)

    @property
    def closed(self) -> tuple[str, ...]:
        """Names of the blocks of the problem."""
        return tuple(
            one.name for one, start in zip(self.elements, self.answer.start.tolist()) if start >= 0.0
        )

    def modes(self, failed: bool) -> Mapping[str, Mode]:
        """Return the mode of each element; without forces only dry friction that slides has another one than open."""
        modes = self.answer.modes.tolist()
        if failed:
            modes = [mode if going == 2.0 else 0.0 for mode, going in zip(modes, self.answer.going.tolist())]
        return {one.name: _MODES[int(mode)] for one, mode in zip(self.elements, modes)}

    @cached_property
    def delassus(self) -> Array:
        """W (m, m) of the problem."""
        return self.answer.delassus[: self.count**2].reshape(self.count, self.count)

    @cached_property
    def given(self) -> Array:
        """The accelerations b (m,) of its rows without forces."""
        return self.answer.given[: self.count]

    @cached_property
    def ways(self) -> Array:
        """The directions (m × k) in which the forces of the modes may change."""
        return self._ways_and_held[0]

    @cached_property
    def _ways_and_held(self) -> tuple[Array, np.ndarray]:
        """The directions of forces, and a mask of the rows without motion."""
        held, columns = np.zeros(self.count, dtype=bool), []
        for b in self.blocks:
            if b.mode is Mode.OPEN or (b.is_dry and b.mode is Mode.SLIDING):
                continue
            if b.mode is Mode.SLIDING:
                way = np.zeros(self.count)
                way[b.rows.start], way[b.tails] = 1.0, -b.friction * b.direction
                columns.append(way)
                held[b.rows.start] = True
                continue
            rows = b.rows if b.is_dry or b.friction > 0.0 else slice(b.rows.start, b.rows.start + 1)
            columns.extend(np.eye(self.count)[rows])
            held[rows] = True
        return np.array(columns).reshape(len(columns), self.count).T, held

    @cached_property
    def loose(self) -> np.ndarray:
        """Mask (m,) of the forces that may change without effect on the motion."""
        ways = self.ways
        null = _ranked(self.delassus @ ways).null if ways.size else np.zeros((0, 0))
        if not null.size:
            return np.zeros(self.count, dtype=bool)
        found: np.ndarray = np.abs(ways @ null).max(axis=1, initial=0.0) > UNMOVED_FORCE
        return found

    @cached_property
    def ambiguous(self) -> tuple[str, ...]:
        """The contacts whose forces the laws do not determine although the acceleration depends on them."""
        names = self.jamming
        ways, held = self._ways_and_held
        if not ways.size or not any(b.mode is Mode.SLIDING for b in self.blocks):
            return names
        null = _ranked(self.delassus[held] @ ways).null
        size = float(np.abs(self.delassus).max())
        felt = null[:, np.abs(self.delassus @ ways @ null).max(axis=0, initial=0.0) > UNMOVED_FORCE * size]
        loose = np.abs(ways @ felt).max(axis=1, initial=0.0) > UNMOVED_FORCE
        return (*names, *(b.one.name for b in self.blocks if loose[b.rows].any() and b.one.name not in names))

    @cached_property
    def jamming(self) -> tuple[str, ...]:
        """The slipping contacts whose normal acceleration falls with their normal force, each alone."""
        found = []
        for b in self.blocks:
            if b.going and not b.is_dry:
                row = self.delassus[b.rows.start]
                own = row[b.rows.start]
                if own - b.friction * row[b.tails] @ b.direction <= UNLOADED * own:
                    found.append(b.one.name)
        return tuple(found)


def _ranked(matrix: Array) -> Ranked:
    """Return a response matrix with singular values that are rounding set to zero."""
    return ranked(matrix, relative=EXACT_RANK_CUT)
