"""`ModeSearch`: what of contacts, stops and dry friction holds, sticks and slides, by the laws for accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.impacts.collisions import Collisions
from sarrus.dynamics.optimize.redundant_forces import share
from sarrus.kernels.contact.tolerances import RESTICK_SPEED, UNLOADED
from sarrus.kernels.integrate.tolerances import COUPLED_CONTACTS
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING
from sarrus.kernels.memory.state_contacts_layout import (
    FOUND,
    IDLE,
    IMPOSSIBLE,
    LEFT_OUT,
    NOT_FINITE,
    RESTS,
    SLIDES_ALONG,
    STAYS,
    StateAnswer,
)
from sarrus.kernels.platform.c_function import mode_acceleration
from sarrus.motion.contacts.contact_probe import ContactProbe
from sarrus.motion.contacts.tolerances import (
    CRITICAL_FRICTION,
    NEARLY_CRITICAL_FRICTION,
    PRESSED,
    REVERSED_SLIP,
    SLIDING_BACK,
    SPENT_FRICTION,
    TURNED_SLIP,
)

if TYPE_CHECKING:
    from sarrus.motion.loop.contact_run import ContactRun
    from sarrus.motion.loop.time_loop import TimeLoop


class ModeSearch:
    """Modes and slip directions of what rests in a run by events, written to the tables of its kernels."""

    def __init__(
        self, loop: TimeLoop, contact_run: ContactRun, probe: ContactProbe, impacts: Collisions
    ) -> None:
        self.loop, self.contact_run, self.probe, self._impacts = loop, contact_run, probe, impacts
        self.contacts, self.unilateral = probe.contacts, probe.unilateral
        self.sizes, self.first = probe.sizes, probe.first
        self.modes, self.directions = contact_run.modes, contact_run.directions
        self._jammed: list[int] = []  # what slides and jams: no forces let it slide on (Painlevé)

    def settle(self, resting: list[int], before: Array) -> None:
        """Find what of the blocks that neither approach nor leave, and of dry friction, sticks or slides."""
        self.modes[: self.unilateral], self._jammed = OPEN, []
        if not resting and self.unilateral == len(self.modes):
            return
        work = self.contact_run.work
        velocity, dry = work.velocity.copy(), range(self.unilateral, len(self.modes))
        turned = self._turned(velocity, before)
        stopped = [k for k in turned if k < self.contacts]
        if any(self.probe.slip(velocity, k) > self.probe.still(k) for k in stopped):
            tails = [j for k in stopped for j in self.probe.rows([k])[1:]]
            self._impacts.stop([*(int(self.first[k]) for k in resting), *tails])
            self.probe.look([])
            velocity = work.velocity.copy()
            turned = self._turned(velocity, before)
        on = self._sliding_on(velocity, before, turned)
        asked = [LEFT_OUT] * len(self.modes)
        for k in [*resting, *dry]:
            own = self.probe.surface(k)
            reversed_slip = dense.dot(
                velocity[own], self.directions[own]
            ) < -REVERSED_SLIP * self.probe.still(k)
            stays = k < self.contacts and before[k] == SLIDING and reversed_slip
            asked[k] = SLIDES_ALONG if on[k] else STAYS if stays else RESTS
        if self._load_modes(asked, velocity):
            held = [k for k in dry if self.modes[k] == STICKING]
            self._let_rub(resting, held)
            self._ease(resting)
            self._verify()

    def _load_modes(self, asked: list[int], velocity: Array) -> bool:
        """Write modes, slip directions and forces of the laws at the state; return False where there are none.

        What is ``asked`` of each block is of `kernels.memory.state_contacts_layout`. What rests, but slides after all,
        slides along its velocity if this is more than still.
        """
        slips = [self.probe.slip(velocity, k) for k in range(len(self.modes))]
        moving = [slip > self.probe.still(k) for k, slip in enumerate(slips)]
        for _ in range(len(asked) + 1):
            for k in np.flatnonzero(np.array(asked) == SLIDES_ALONG).tolist():
                own = self.probe.surface(k)
                self.directions[own] = velocity[own] / (slips[k] or 1.0)
            code, answer = self.probe.forces(asked, self.directions)
            if code != FOUND:
                return self._refuse(code, answer)
            modes = answer.modes.astype(int)
            late = [
                k
                for k, mode in enumerate(modes)
                if mode == SLIDING and asked[k] in (RESTS, STAYS) and moving[k]
            ]
            if not late:
                break
            for k in late:
                asked[k] = SLIDES_ALONG
        smooth = [k for k in range(self.contacts) if self.sizes[k] > 1 and self.probe.friction(k) == 0.0]
        modes[[k for k in smooth if modes[k] == STICKING]] = SLIDING
        self.modes[:], self.directions[:] = modes, answer.directions
        self.contact_run.start_forces[:] = answer.forces
        return True

    def _refuse(self, code: int, answer: StateAnswer) -> bool:
        """Note what jams; return False. Raises `SolveError` where nothing jams and no forces obey the laws."""
        self._jammed = (
            np.flatnonzero(answer.ambiguous[: self.contacts] != 0.0).tolist() if code == IMPOSSIBLE else []
        )
        if code in (NOT_FINITE, IDLE) or self._jammed:
            return False
        raise self.probe.no_forces(code, answer)

    def _turned(self, velocity: Array, before: Array) -> list[int]:
        """Return the blocks that slid and are slow, and have passed zero: their slip is no longer along its direction.

        What is left of it then is of the rest of the step, and of how fast the direction of a slow slip turns.
        """
        found = list[int]()
        for k in np.flatnonzero(before == SLIDING).tolist():
            own, slip = self.probe.surface(k), self.probe.slip(velocity, k)
            if slip <= self._slow(k) and dense.dot(velocity[own], self.directions[own]) <= TURNED_SLIP * slip:
                found.append(k)
        return found

    def _slow(self, k: int) -> float:
        """Return the slip below which a block that has turned may stick."""
        return max(RESTICK_SPEED * float(self.probe.units[k]), self.probe.still(k))

    def _sliding_on(self, velocity: Array, before: Array, turned: list[int]) -> list[bool]:
        """Tell of all blocks whether they slide on: not if they are still, nor if they have ``turned``.

        Where a contact stops, those that slid, are slow and share motions with it may stop, too: of a body with several
        contacts a slow turn is left for the rest of the step, in which some may still go on.
        """
        slips = [self.probe.slip(velocity, k) for k in range(len(self.modes))]
        still = [self.probe.still(k) for k in range(len(self.modes))]
        slow = [
            k for k in range(self.contacts)
            if before[k] == SLIDING and k not in turned and still[k] < slips[k] <= self._slow(k)
        ]  # fmt: skip
        stops = [*turned, *self._shared(turned, slow)]
        return [slip > least and k not in stops for k, (slip, least) in enumerate(zip(slips, still))]

    def _shared(self, stops: list[int], others: list[int]) -> list[int]:
        """Return which of other contacts move with forces at those that stop."""
        stops = [k for k in stops if k < self.contacts]
        rows, columns = self.probe.rows(others), self.probe.rows(stops)
        if not rows or not columns or self.probe.look([*rows, *columns]) < 0:
            return []
        delassus = np.abs(self.probe.delassus(len(rows) + len(columns)))
        moved = delassus[: len(rows), len(rows) :].max(axis=1) > COUPLED_CONTACTS * delassus.max()
        ends = np.cumsum([self.sizes[k] for k in others]).tolist()
        return [k for k, end in zip(others, ends) if moved[end - self.sizes[k] : end].any()]

    def _ease(self, resting: list[int]) -> None:
        """Share the forces of redundant rows anew, where something sticks with all of its friction."""
        static, begun = self.contact_run.static, self.contact_run.start_forces
        sticking = [
            k for k in resting if self.modes[k] == STICKING and (self.sizes[k] == 1 or static[k] > 0.0)
        ]
        rows = self.probe.rows(sticking)
        if not any(self._slips(k, begun, SPENT_FRICTION) for k in sticking):
            return
        sizes, coefficients = [self.sizes[k] for k in sticking], [static[k] for k in sticking]
        begun[rows] = share(self.probe.shared_delassus(sticking), begun[rows], sizes, coefficients)

    def _let_rub(self, resting: list[int], held: list[int]) -> None:
        """Have dry friction keep its limit, next to which it is, where other rows hold its joint and take the load."""
        begun = self.contact_run.start_forces
        blocks = [k for k in (*resting, *held) if self.modes[k] == STICKING]
        spent = [k for k in held if k in blocks and self._slips(k, begun, SPENT_FRICTION)]
        for k in spent if len(blocks) > 1 else ():
            rows, own = self.probe.rows(blocks), int(self.first[k])
            if self.probe.look(rows) < 0:
                return
            null = ranked(self.probe.delassus(len(rows)), relative=FINE_RANK_CUT).null
            if np.abs(null[rows.index(own)]).max(initial=0.0) > SPENT_FRICTION:
                self.modes[k], self.directions[own] = SLIDING, -np.sign(begun[own])
                blocks.remove(k)

    def pressed(self, resting: list[int]) -> list[int]:
        """Return which of the blocks that rest go into what they touch, as no force prevents it (Painlevé)."""
        return [k for k in resting if k in self._jammed]

    def _acceleration(self) -> Array | None:
        """Return the acceleration with the modes as they are, None where there is none."""
        if mode_acceleration(self.loop.table, self.loop.x, la.SLOPE) < 0:
            return None
        return self.loop.vectors.a[: self.loop.system.nv].copy()

    def _least(self) -> float:
        """Return what counts as no acceleration of a row."""
        return PRESSED * float(np.abs(self.contact_run.work.given).max(initial=0.0))

    def _along(self, rows: Sequence[int], a: Array) -> Array:
        """Return the accelerations of rows, after that of the mechanism has been found."""
        contact_run, found, nv = self.contact_run, np.zeros(len(rows)), len(a)
        count, native = contact_run.contact_table.contact_rows, contact_run.work.native
        for i, row in enumerate(rows):
            if row < count:
                at = 2 * count + row * nv
                found[i] = dense.dot(native[at : at + nv], a) + native[count + row]
            else:
                own = row - count
                sign = contact_run.signs[own] if own < contact_run.contact_table.stops else 1.0
                found[i] = sign * a[contact_run.speeds[own]]
        return found

    def _verify(self) -> None:
        """Open what would have to pull, as redundant rows may have other forces while they are held.

        What sticks with all the friction that there is begins to slide, where it then does.
        """
        found, kept, tried = self.contact_run.forces, set[int](), set[tuple[int, ...]]()
        for _ in range(2 * len(self.modes) + 1):
            if not (self.modes != OPEN).any() or self._acceleration() is None:
                return
            pushes = found[self.first[: self.unilateral]]
            closed = self.modes[: self.unilateral] != OPEN
            pulls = closed & (pushes <= UNLOADED * np.abs(pushes).max(initial=0.0))
            if pulls.any():
                self.modes[int(np.argmin(np.where(pulls, pushes, np.inf)))] = OPEN
            elif not (self._begin_together(kept, tried) or self._let_go(kept)):
                return

    def _begin_together(self, kept: set[int], tried: set[tuple[int, ...]]) -> bool:
        """Find which of the contacts that rest with next to all of their friction slide, and in which direction.

        Those that do not slide are ``kept``. False where there are none, or they were ``tried`` before.
        """
        velocity, forces = self.contact_run.work.velocity, self.contact_run.forces
        resting = [
            k for k in range(self.contacts)
            if self.modes[k] != OPEN
            and self.sizes[k] > 1
            and self.probe.friction(k) > 0.0
            and self.probe.slip(velocity, k) <= self.probe.still(k)
        ]  # fmt: skip
        sticking = [k for k in resting if self.modes[k] == STICKING and k not in kept]
        sliding = [k for k in resting if self.modes[k] == SLIDING]
        spent = {
            k: CRITICAL_FRICTION
            if self.contact_run.static[k] > self.probe.friction(k)
            else NEARLY_CRITICAL_FRICTION
            for k in sticking
        }
        near = [k for k in sticking if self._slips(k, forces, spent[k])]
        members = sorted([*sliding, *near])
        if not members or tuple(members) in tried:
            return False
        if not sliding and not any(self._slips(k, forces) for k in near):
            return False
        tried.add(tuple(members))
        before = {k: -forces[self.probe.surface(k)] / dense.norm(forces[self.probe.surface(k)]) for k in near}
        found = self.probe.first_directions(members, before)
        if found is None:
            return False
        for k, one in zip(members, found):
            own = self.probe.surface(k)
            if one.growth >= -SLIDING_BACK:
                self.directions[own], self.modes[k] = one.direction, SLIDING
            elif one.growth < 0.0:  # next to that friction
                self.modes[k] = STICKING
                self.contact_run.start_forces[self.first[k]] = one.push
                self.contact_run.start_forces[own] = -self.probe.friction(k) * one.push * one.direction
                kept.add(k)
        return True

    def _let_go(self, kept: set[int]) -> bool:
        """Have what sticks with all the friction that there is slide against that; False where nothing does.

        What would go back then is ``kept``.
        """
        sticking = np.flatnonzero(self.modes == STICKING).tolist()
        critical = [k for k in sticking if k not in kept and self._slips(k, self.contact_run.forces)]
        for k in critical:
            own = self.probe.surface(k)
            force = self.contact_run.forces[own]
            friction = dense.norm(force)
            self.directions[own] = -force / friction if friction > 0.0 else 1.0 / np.sqrt(len(force))
            self.modes[k] = SLIDING
        a = self._acceleration() if critical else None
        for k in critical:
            own = self.probe.surface(k)
            way = self._along(range(own.start, own.stop), a) if a is not None else -self.directions[own]
            if dense.dot(way, self.directions[own]) < -self._least():
                self.modes[k] = STICKING
                kept.add(k)
        return bool(critical)

    def _slips(self, k: int, found: Array, spent: float = CRITICAL_FRICTION) -> bool:
        """Tell whether what sticks takes all the friction that there is, but a part ``spent`` of it."""
        if k < self.unilateral and self.sizes[k] == 1:
            return False
        run, dry = self.contact_run, k >= self.unilateral
        limit = run.limits[k - self.unilateral] if dry else run.static[k] * found[self.first[k]]
        return dense.norm(found[self.probe.surface(k)]) > (1.0 - spent) * limit
