"""`StateSolution`: what follows from the forces at a state: modes, and which forces are unique."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode
from sarrus.dynamics.model.tolerances import EXACT_RANK_CUT
from sarrus.kernels.contact.tolerances import UNMOVED_FORCE
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.memory.state_contacts_layout import StateAnswer

_MODES = tuple(Mode)


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
            answer.modes.tolist(),
            answer.friction,
        )
        for one, start, mode, friction in each:
            if start >= 0.0:
                rows = slice(int(start), int(start) + one.rows.stop - one.rows.start)
                direction = answer.directions[one.tails]
                found.append(Block(one, rows, _MODES[int(mode)], float(friction), direction))
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
        columns = list[Array]()
        for b in self.blocks:
            held = b.one.held(b.mode)
            if b.mode is Mode.SLIDING and not b.is_dry:
                way = np.zeros(self.count)
                way[b.rows.start], way[b.tails] = 1.0, -b.friction * b.direction
                columns.append(way)
                continue
            columns.extend(np.eye(self.count)[b.rows][: held.stop - held.start])
        return np.array(columns).reshape(len(columns), self.count).T

    @cached_property
    def loose(self) -> np.ndarray:
        """Mask (m,) of the forces that may change without effect on the motion."""
        ways = self.ways
        null = ranked(self.delassus @ ways, relative=EXACT_RANK_CUT).null if ways.size else np.zeros((0, 0))
        if not null.size:
            return np.zeros(self.count, dtype=bool)
        found: np.ndarray = np.abs(ways @ null).max(axis=1, initial=0.0) > UNMOVED_FORCE
        return found

    @property
    def ambiguous(self) -> tuple[str, ...]:
        """The contacts whose forces the laws do not determine although the acceleration depends on them."""
        return tuple(one.name for one, mark in zip(self.elements, self.answer.ambiguous.tolist()) if mark)
