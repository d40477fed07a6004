"""`ModeSearch`: what of contacts, stops and dry friction holds, sticks and slides, by the laws for accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.impacts.collisions import Collisions
from sarrus.dynamics.optimize.redundant_forces import on_springs, share
from sarrus.kernels.contact.tolerances import RESTICK_SPEED, SLIDING_ACCELERATION, UNLOADED
from sarrus.kernels.integrate.tolerances import COUPLED_CONTACTS
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT
from sarrus.kernels.memory import layout as la
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING
from sarrus.kernels.platform.c_function import mode_acceleration
from sarrus.motion.contacts.contact_probe import ContactProbe, is_moved
from sarrus.motion.contacts.tolerances import (
    BEGINNING_ROUNDS,
    CRITICAL_FRICTION,
    NEARLY_CRITICAL_FRICTION,
    PRESSED,
    REVERSED_SLIP,
    SAME_BEGINNING,
    SLIDING_BACK,
    SPENT_FRICTION,
    TURNED_SLIP,
)

if TYPE_CHECKING:
    from sarrus.dynamics.optimize.contact_problem import ContactSolution
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
        self._unmoved: list[int] = []  # what neither moves nor is moved by forces on it
        self._sprung = False  # whether normal forces are those on springs

    def settle(self, resting: list[int], before: Array) -> None:
        """Find what of the blocks that neither approach nor leave, and of dry friction, sticks or slides."""
        self.modes[: self.unilateral] = OPEN
        if not resting and self.unilateral == len(self.modes):
            return
        self._unmoved = []
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
        held, on = [], self._sliding_on(velocity, before, turned)
        for k in dry:
            row, moving = self.first[k], on[k]
            self.modes[k] = SLIDING if moving else STICKING
            self.directions[row] = np.sign(velocity[row])
            held += [] if moving else [k]
        going = {k for k in resting if on[k]}
        coefficients = {
            k: self.contact_run.static[k] if k < self.contacts and k not in going else self.probe.friction(k)
            for k in resting
        }
        if resting or held:
            while self._loosened(resting, held, going, velocity, coefficients):
                pass
            self._let_rub(resting, held)
            self._ease(resting)
        self._verify()
        self._slip_at_rest(velocity, before)

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

    def _loosened(
        self,
        resting: list[int],
        held: list[int],
        going: set[int],
        velocity: Array,
        coefficients: dict[int, float],
    ) -> bool:
        """Solve for accelerations and note the modes; True where a contact breaks loose, whose coefficient is then
        that of sliding."""
        contact_run, blocks = self.contact_run, [*resting, *held]
        rows, at, start = self.probe.rows(blocks), {}, 0
        for k in blocks:
            at[k], start = start, start + self.sizes[k]
        if self.probe.look(rows) < 0:  # something is no number, which the run will say
            return False
        given = contact_run.work.given[: len(rows)].copy()
        moved = is_moved(np.diag(self.probe.delassus(len(rows))), given)
        tails = {k: slice(at[k] + (k < self.unilateral), at[k] + self.sizes[k]) for k in blocks}
        self._unmoved = [k for k, tail in tails.items() if not moved[tail].any()]
        fast = SLIDING_ACCELERATION * np.abs(given).max(initial=0.0)
        for k in going:
            own, slip = self.probe.surface(k), self.probe.slip(velocity, k)
            self.directions[own] = velocity[own] / slip
            given[at[k] + 1 : at[k] + self.sizes[k]] += fast * self.directions[own]
        contacts = [(self.sizes[k], coefficients[k]) for k in resting]
        limits = [(1, contact_run.limits[k - self.unilateral]) for k in held]
        found = self._answer([at[k] for k in resting if k < self.contacts], rows, given, contacts, limits)
        least = UNLOADED * np.abs(found.forces).max(initial=0.0)
        contact_run.start_forces[:], contact_run.start_forces[rows] = 0.0, found.forces
        for k, mode in zip(blocks, found.modes):
            force = found.forces[at[k] : at[k] + self.sizes[k]]
            if k >= self.unilateral:
                self.modes[k] = SLIDING if int(mode) == SLIDING else STICKING
                if self.modes[k] == SLIDING:
                    self.directions[self.first[k]] = np.sign(found.velocities[at[k]])
                continue
            slides = k in going or (int(mode) == SLIDING and self.sizes[k] > 1)
            self.modes[k] = OPEN if force[0] <= least else SLIDING if slides else STICKING
            if self.modes[k] == SLIDING and k not in going:
                if coefficients[k] > self.probe.friction(k):
                    coefficients[k] = self.probe.friction(k)
                    return True
                own, way = self.probe.surface(k), found.velocities[at[k] + 1 : at[k] + self.sizes[k]]
                if self.probe.slip(velocity, k) > self.probe.still(k):  # it slides on after all
                    way = velocity[own]
                self.directions[own] = way / dense.norm(way)
        self._turn([k for k in resting if self.modes[k] == SLIDING and k not in going])
        return False

    def _answer(
        self,
        normals: list[int],
        rows: list[int],
        given: Array,
        contacts: list[tuple[int, float]],
        dry: list[tuple[int, float]],
    ) -> ContactSolution:
        """Return forces that obey the laws for accelerations, with W of ``rows`` as it was looked at.

        Normal forces that statics does not determine are those on equal springs, so that they follow from the state
        alone, unless one would have to pull then.
        """
        delassus = self.probe.delassus(len(rows))
        sprung = on_springs(delassus, normals)
        self._sprung = sprung is not None
        if sprung is not None:
            with suppress(SolveError):
                found = self.contact_run.answer(sprung, rows, given, contacts, dry)
                pushes = found.forces[normals]
                if pushes.min() > UNLOADED * pushes.max():
                    return found
        self._sprung = False
        return self.contact_run.answer(delassus, rows, given, contacts, dry)

    def _ease(self, resting: list[int]) -> None:
        """Share the forces of redundant rows anew, where something sticks with all of its friction."""
        static, begun = self.contact_run.static, self.contact_run.start_forces
        sticking = [
            k for k in resting if self.modes[k] == STICKING and (self.sizes[k] == 1 or static[k] > 0.0)
        ]
        rows = self.probe.rows(sticking)
        if not any(self._slips(k, begun, SPENT_FRICTION) for k in sticking) or self.probe.look(rows) < 0:
            return
        sizes, coefficients = [self.sizes[k] for k in sticking], [static[k] for k in sticking]
        delassus, first = self.probe.delassus(len(rows)), np.cumsum([0, *sizes[:-1]])
        if self._sprung:  # normal forces stay as they are
            normals = [int(i) for i, k in zip(first, sticking) if k < self.contacts]
            sprung = on_springs(delassus, normals)
            delassus = delassus if sprung is None else sprung
        begun[rows] = share(delassus, begun[rows], sizes, coefficients)

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

    def _turn(self, beginning: list[int]) -> None:
        """Find the directions in which contacts begin to slide: those of their accelerations."""
        velocity = self.contact_run.work.velocity
        spatial = [
            k for k in beginning
            if self.sizes[k] > 2
            and self.probe.friction(k) > 0.0
            and self.probe.slip(velocity, k) <= self.probe.still(k)
        ]  # fmt: skip
        least, begun, first, change = self._least(), self.directions.copy(), np.inf, 0.0
        for _ in range(BEGINNING_ROUNDS if len(spatial) == 1 else 0):  # several: see `_begin_together`
            a, first, change = self._acceleration(), min(first, change or np.inf), 0.0
            if a is None:
                return
            for k in spatial:
                own = self.probe.surface(k)
                way = self._along(range(own.start, own.stop), a)
                size = dense.norm(way)
                if size > least:
                    change = max(change, float(np.abs(way / size - self.directions[own]).max()))
                    self.directions[own] = way / size
            if change < SAME_BEGINNING:
                return
        if change >= first:  # in circles
            self.directions[:] = begun

    def _slip_at_rest(self, velocity: Array, before: Array) -> None:
        """Have what the constraints hold, and rubs, slide as it does a moment later, as at a dead centre.

        What slid and turned round has come to rest.
        """
        contact_run, blocks = self.contact_run, list[int]()
        for k in self._unmoved:
            own, dry = self.probe.surface(k), k >= self.unilateral
            turned = dense.dot(velocity[own], self.directions[own]) < -REVERSED_SLIP * self.probe.still(k)
            rubs = contact_run.limits[k - self.unilateral] if dry else self.probe.friction(k)
            if self.modes[k] == STICKING and rubs > 0.0 and not (before[k] == SLIDING and turned):
                blocks.append(k)
        a = self._acceleration() if blocks else None
        if a is None:
            return
        ways = self.probe.slip_onsets(blocks, a)
        for k, way in zip(blocks, ways):
            if way.any():
                self.modes[k], self.directions[self.probe.surface(k)] = SLIDING, way

    def pressed(self, resting: list[int]) -> list[int]:
        """Return which of the blocks that rest go into what they touch, as no force prevents it (Painlevé)."""
        opened = [k for k in resting if self.modes[k] == OPEN]
        a = self._acceleration() if opened else None
        if a is None:
            return []
        rates, least = self._along([int(self.first[k]) for k in opened], a), self._least()
        return self._free([k for k, rate in zip(opened, rates) if rate < -least])

    def _free(self, blocks: list[int]) -> list[int]:
        """Return those of blocks that the constraints do not hold: of these all that moves is rounding."""
        if not blocks or self.probe.look([int(self.first[k]) for k in blocks]) < 0:
            return blocks
        given, own = self.contact_run.work.given, np.diag(self.probe.delassus(len(blocks)))
        return [
            k
            for k, bias, compliance_column in zip(blocks, given, own)
            if compliance_column != 0.0 or bias != 0.0
        ]

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
        """Find which of several contacts that rest, with next to all of their friction, slide, and whither.

        Those that do not are ``kept``. False where there are not several, or they were ``tried`` before.
        """
        velocity, forces = self.contact_run.work.velocity, self.contact_run.forces
        resting = [
            k for k in range(self.contacts)
            if self.modes[k] != OPEN
            and self.sizes[k] > 2
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
        if len(members) < 2 or tuple(members) in tried:
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
        self._turn([k for k in critical if self.modes[k] == SLIDING])
        return bool(critical)

    def _slips(self, k: int, found: Array, spent: float = CRITICAL_FRICTION) -> bool:
        """Tell whether what sticks takes all the friction that there is, but a part ``spent`` of it."""
        if k < self.unilateral and self.sizes[k] == 1:
            return False
        run, dry = self.contact_run, k >= self.unilateral
        limit = run.limits[k - self.unilateral] if dry else run.static[k] * found[self.first[k]]
        return dense.norm(found[self.probe.surface(k)]) > (1.0 - spent) * limit
