"""Runs of smooth phases with Coulomb friction, stops and dry friction: what becomes of them where one of these changes.

The kernels (`sarrus.kernels.phases`) hold what is closed and stop where a margin falls through zero. There (`resolve`)

1. what hits takes part in an impact: velocities after it obey the laws of Signorini and Coulomb, with Newton's law of
   restitution, all contacts that touch at once (`sarrus.optimize.solve_contact_problem`);
2. of those that stay, and of dry friction, the same laws for accelerations say what opens, sticks or slides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.kernels import layout as la
from sarrus.kernels import touching_layout as tl
from sarrus.kernels.c_function import phase_acceleration, phase_survey
from sarrus.kernels.record import laid
from sarrus.kernels.touching_layout import OPEN, SLIDING, STICKING
from sarrus.linalg import dense
from sarrus.linalg.ranked import ranked
from sarrus.optimize.sharing import share

if TYPE_CHECKING:
    from sarrus.simulation.time_loop import TimeLoop
    from sarrus.simulation.touching import Touches

# Contacts whose gap is below this part of the one that is closed touch, and as much more per m/s of its rate.
NEAR = 1.0
# Normal velocities below this multiple of the largest one (or of 1 mm/s) are none; forces below this part of the
# largest one are none.
SLOW, UNLOADED = 1e-8, 1e-9
# What slides has this speed, in accelerations of the largest one, where it is asked what else will.
GOING = 1e3
# A contact whose velocity has this cosine or less with that of before has turned round; where it is slower than this
# multiple of the speed that is none, it may stick.
TURNED, CAUGHT = 0.1, 100.0
# Part of an acceleration from which on nothing holds what goes into what it touches; the speed, as a part of that of
# rest, with which that hits.
PRESSED, SHOVE = 1e-6, 1e-6
# Singular values of W below this part of the largest one are none: a leg that is almost stretched has small ones.
STIFF = 1e-12
# What sticks with all of its friction but this part of it begins to slide.
CRITICAL = 1e-9
# From less than this part of it, forces of redundant rows are shared anew.
SPENT = 1e-3
# Phases shorter than this [s] in a row after which margins are taken ten times less exactly, and how much at the most.
SOON, PATIENCE, MOST_LOOSE = 1e-7, 4, 1e6
# Rounds in which directions of what begins to slide are found, and their change that is none.
ROUNDS, SAME = 20, 1e-12


class Change(NamedTuple):
    """What one instant changed, by names, and the kinetic energy that an impact took [J]."""

    closed: tuple[str, ...]
    opened: tuple[str, ...]
    bounced: tuple[str, ...]
    slipping: tuple[str, ...]
    sticking: tuple[str, ...]
    energy_loss: float


def _slow(rates: Array) -> float:
    """Return the normal velocity that is none among these."""
    return SLOW * max(1e-3, float(np.abs(rates).max(initial=0.0)))


class Phases:
    """The contacts, stops and dry frictions of one run with events."""

    def __init__(self, loop: TimeLoop, touches: Touches, rest_speed: float) -> None:
        self.loop, self.touches, self.rest_speed = loop, touches, rest_speed
        touching = touches.touching
        self.contacts, self.unilateral = touching.contacts, touching.contacts + touching.stops
        self.sizes = [*touches.rows_of_contacts, *([1] * (touching.stops + touching.dry))]
        self.first = np.concatenate([[0], np.cumsum(self.sizes)])
        self.modes, self.directions = touches.modes, touches.directions
        self.settings = touches.settings
        self._acting, self._last, self._soon = 0, -np.inf, 0
        self._begin_slots(0.0)

    @property
    def any_closed(self) -> bool:
        """Tell whether anything holds or rubs, so that implicit methods cannot step."""
        return self._acting > 0

    def resolve(self) -> Change:
        """Say what holds, sticks and slides from the present state on, which an impact may change.

        Raises `SolveError` where an impact has no answer.
        """
        before = self.modes.copy()
        self._give_way()
        self.touches.touching.acting = len(before)  # what acts is yet to be found
        self._survey([])
        work = self.touches.work
        gaps, rates = work.gap[: self.unilateral].copy(), self._rates()
        near = NEAR * self.settings.closed * (1.0 + np.abs(rates))
        touching = np.flatnonzero((before[: self.unilateral] != OPEN) | (gaps <= near)).tolist()
        slow = _slow(rates[touching])
        approaching, loss = [k for k in touching if rates[k] < -slow], 0.0
        if approaching:
            loss = self._impact(touching, rates)
            self._survey([])
            rates = self._rates()
        resting = [k for k in touching if rates[k] <= slow]
        self._settle(resting)
        if pressed := self._pressed(resting):
            loss += self._impact(touching, rates, pressed)
            self._survey([])
            rates = self._rates()
            resting = [k for k in touching if rates[k] <= slow]
            self._settle(resting)
        self._begin_slots(loss)
        at_stop = [
            k for k in touching if k >= self.contacts and (k in approaching or self.modes[k] > before[k])
        ]
        self.touches.hits += [(self.loop.time, k - self.contacts) for k in at_stop]
        return self._change(before, approaching, loss)

    def _give_way(self) -> None:
        """Have margins be less exact where they end one phase after the other at once, and exact again after that.

        So it is where redundant contacts all come to the limit of their friction together: what is decided there is
        known a moment later.
        """
        time = self.loop.time
        self._soon = self._soon + 1 if time - self._last < SOON else 0
        self._last = time
        self.settings.loose = min(MOST_LOOSE, 10.0 ** min(self._soon // PATIENCE, 300))

    # --- what the kernel knows -----------------------------------------------------------------------

    def _survey(self, rows: list[int]) -> int:
        """Have the gaps and velocities of all rows, W and the accelerations of these rows at the present state."""
        work = self.touches.work
        work.which[: len(rows)] = rows
        return phase_survey(self.loop.table, self.loop.x, len(rows))

    def _rates(self) -> Array:
        return self.touches.work.velocity[self.first[: self.unilateral]].copy()

    def _rows(self, blocks: list[int]) -> list[int]:
        """Return the rows of blocks."""
        return [row for k in blocks for row in range(self.first[k], self.first[k + 1])]

    def _operator(self, m: int) -> Array:
        return self.touches.work.operator[: m * m].reshape(m, m)

    def _begin_slots(self, loss: float) -> None:
        """Have the present state be the end of a step, after which contacts have taken so much more."""
        slots = self.touches.slots.reshape(tl.ROOM + 1, -1)
        sizes = tl.slot_sizes(self.touches.touching, self.loop.system.nv)
        known = [laid(slot, sizes).facts for slot in slots[: tl.ROOM]]
        time = self.loop.time
        spent = [f.loss for f in known if f.length > 0.0 and abs(time - f.time) <= 1e-6 * f.length]
        slots[:] = 0.0
        facts = laid(slots[0], sizes).facts
        facts.time, facts.length = time, max(self.loop.state.step, 1e-9)
        facts.loss = (spent[0] if self._acting and spent else self.settings.loss) + loss
        self.settings.loss = facts.loss
        touching = self.touches.touching
        touching.acting = self._acting = int((self.modes[: self.unilateral] != OPEN).sum()) + touching.dry

    # --- impacts -------------------------------------------------------------------------------------

    def _impact(self, touching: list[int], rates: Array, pressed: Sequence[int] = ()) -> float:
        """Give the state the velocity after an impact; return the energy that it took.

        What is ``pressed`` hits with next to no speed, although it does not approach.
        """
        touches, rows = self.touches, self._rows(touching)
        before = self._speeds_of(rows)
        given = before.copy()
        for k in touching:
            rebound = -touches.restitution[k] * rates[k]
            if rebound >= self.rest_speed:
                given[rows.index(self.first[k])] -= rebound
            elif k in pressed:
                given[rows.index(self.first[k])] -= SHOVE * self.rest_speed
        blocks = [(self.sizes[k], self._friction(k)) for k in touching]
        operator = self._operator(len(rows))
        impulses = touches.answer(operator, rows, given, blocks, []).forces
        self._push(rows, impulses)
        after = before + dense.product(operator, impulses)
        loss = -float(0.5 * (impulses * (before + after)).sum())
        leaving = after[[rows.index(self.first[k]) for k in touching]]
        if not ((leaving > _slow(rates[touching])) & (leaving < self.rest_speed)).any():
            return loss
        return loss + self._stay([k for k, rate in zip(touching, leaving) if rate < self.rest_speed])

    def _stay(self, blocks: list[int]) -> float:
        """Take the normal velocities of blocks from the state, by the smallest change; return the energy of that.

        Those with friction that slide as slowly stick, too.
        """
        self._survey([])
        velocity, rows = self.touches.work.velocity, []
        for k in blocks:
            sticks = self._friction(k) > 0.0 and self._slip(velocity, k) < self.rest_speed
            rows += self._rows([k]) if sticks else [int(self.first[k])]
        speeds = self._speeds_of(rows)
        impulses = -ranked(self._operator(len(rows)), relative=STIFF).solve(speeds)
        self._push(rows, impulses)
        return -float(0.5 * (impulses * speeds).sum())

    def _speeds_of(self, rows: list[int]) -> Array:
        """Return the velocities of rows, and have W and responses of these; `SolveError` where they are no numbers."""
        if self._survey(rows) < 0:
            raise SolveError(f"{self.loop.system.name}: the responses of what hits are not finite")
        return self.touches.work.velocity[rows].copy()

    def _push(self, rows: list[int], impulses: Array) -> None:
        """Change the velocity of the state by impulses on rows whose responses are known."""
        nv = self.loop.system.nv
        responses = self.touches.work.response[: len(self.touches.names) * nv].reshape(-1, nv)[rows]
        self.loop.v[:] += (impulses[:, None] * responses).sum(axis=0)

    def _friction(self, k: int) -> float:
        return self.touches.friction[k] if k < self.contacts else 0.0

    # --- accelerations -------------------------------------------------------------------------------

    def _settle(self, resting: list[int]) -> None:
        """Find what of the blocks that neither approach nor leave, and of dry friction, sticks or slides."""
        self.modes[: self.unilateral] = OPEN
        work = self.touches.work
        velocity, dry = work.velocity.copy(), range(self.unilateral, len(self.modes))
        held = []
        for k in dry:
            row, moving = self.first[k], self._slip(velocity, k) > self.settings.still
            self.modes[k] = SLIDING if moving else STICKING
            self.directions[row] = np.sign(velocity[row])
            held += [] if moving else [k]
        going = {k for k in resting if self._goes_on(velocity, k)}
        coefficients = {
            k: self.touches.static[k] if k < self.contacts and k not in going else self._friction(k)
            for k in resting
        }
        if resting or held:
            while self._loosened(resting, held, going, velocity, coefficients):
                pass
            self._ease(resting)
        self._verify()

    def _goes_on(self, velocity: Array, k: int) -> bool:
        """Tell whether a contact slides on: not if it is as good as still, nor if it is slow and has turned round."""
        own = self._along_surface(k)
        slip, still = dense.norm(velocity[own]), self.settings.still
        turned = dense.dot(velocity[own], self.directions[own]) <= TURNED * slip
        return slip > (CAUGHT * still if turned else still)

    def _along_surface(self, k: int) -> slice:
        """Return the rows of a block that have friction."""
        return slice(int(self.first[k]) + (k < self.unilateral), int(self.first[k + 1]))

    def _slip(self, velocity: Array, k: int) -> float:
        """Return how fast a block slides."""
        return dense.norm(velocity[self._along_surface(k)])

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
        touches, blocks = self.touches, [*resting, *held]
        rows, at, start = self._rows(blocks), {}, 0
        for k in blocks:
            at[k], start = start, start + self.sizes[k]
        if self._survey(rows) < 0:  # something is no number, which the run will say
            return False
        given = touches.work.given[: len(rows)].copy()
        fast = GOING * np.abs(given).max(initial=0.0)
        for k in going:
            own, slip = self._along_surface(k), self._slip(velocity, k)
            self.directions[own] = velocity[own] / slip
            given[at[k] + 1 : at[k] + self.sizes[k]] += fast * self.directions[own]
        limits = [(1, touches.limits[k - self.unilateral]) for k in held]
        found = touches.answer(
            self._operator(len(rows)),
            rows,
            given,
            [(self.sizes[k], coefficients[k]) for k in resting],
            limits,
        )
        least = UNLOADED * np.abs(found.forces).max(initial=0.0)
        touches.begun[:], touches.begun[rows] = 0.0, found.forces
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
                if coefficients[k] > self._friction(k):
                    coefficients[k] = self._friction(k)
                    return True
                own, way = self._along_surface(k), found.velocities[at[k] + 1 : at[k] + self.sizes[k]]
                if self._slip(velocity, k) > self.settings.still:  # it slides on after all
                    way = velocity[own]
                self.directions[own] = way / dense.norm(way)
        self._turn([k for k in resting if self.modes[k] == SLIDING and k not in going])
        return False

    def _ease(self, resting: list[int]) -> None:
        """Share the forces of redundant rows anew, where something sticks with all of its friction."""
        static, begun = self.touches.static, self.touches.begun
        sticking = [
            k for k in resting if self.modes[k] == STICKING and (self.sizes[k] == 1 or static[k] > 0.0)
        ]
        rows = self._rows(sticking)
        if not any(self._slips(k, begun, SPENT) for k in sticking) or self._survey(rows) < 0:
            return
        sizes, coefficients = [self.sizes[k] for k in sticking], [static[k] for k in sticking]
        begun[rows] = share(self._operator(len(rows)), begun[rows], sizes, coefficients)

    def _turn(self, beginning: list[int]) -> None:
        """Find the directions in which contacts begin to slide: those of their accelerations."""
        velocity, still = self.touches.work.velocity, self.settings.still
        spatial = [
            k for k in beginning
            if self.sizes[k] > 2 and self._friction(k) > 0.0 and self._slip(velocity, k) <= still
        ]  # fmt: skip
        least = self._least()
        for _ in range(ROUNDS if spatial else 0):
            a, change = self._acceleration(), 0.0
            if a is None:
                return
            for k in spatial:
                own = self._along_surface(k)
                way = self._along(range(own.start, own.stop), a)
                size = dense.norm(way)
                if size > least:
                    change = max(change, float(np.abs(way / size - self.directions[own]).max()))
                    self.directions[own] = way / size
            if change < SAME:
                return

    def _pressed(self, resting: list[int]) -> list[int]:
        """Return which of the blocks that rest go into what they touch, as no force prevents it (Painlevé)."""
        opened = [k for k in resting if self.modes[k] == OPEN]
        a = self._acceleration() if opened else None
        if a is None:
            return []
        rates, least = self._along([int(self.first[k]) for k in opened], a), self._least()
        return [k for k, rate in zip(opened, rates) if rate < -least]

    def _acceleration(self) -> Array | None:
        """Return the acceleration with the modes as they are, None where there is none."""
        if phase_acceleration(self.loop.table, self.loop.x, la.SLOPE) < 0:
            return None
        return self.loop.vectors.a[: self.loop.system.nv].copy()

    def _least(self) -> float:
        """Return what counts as no acceleration of a row."""
        return PRESSED * float(np.abs(self.touches.work.given).max(initial=0.0))

    def _along(self, rows: Sequence[int], a: Array) -> Array:
        """Return the accelerations of rows, after that of the mechanism has been found."""
        touches, found, nv = self.touches, np.zeros(len(rows)), len(a)
        count, native = touches.touching.contact_rows, touches.work.native
        for i, row in enumerate(rows):
            if row < count:
                at = 2 * count + row * nv
                found[i] = dense.dot(native[at : at + nv], a) + native[count + row]
            else:
                own = row - count
                sign = touches.signs[own] if own < touches.touching.stops else 1.0
                found[i] = sign * a[touches.speeds[own]]
        return found

    def _verify(self) -> None:
        """Open what would have to pull, as redundant rows may have other forces while they are held.

        What sticks with all the friction that there is begins to slide, where it then does.
        """
        found, kept = self.touches.forces, set[int]()
        for _ in range(2 * len(self.modes) + 1):
            if not (self.modes != OPEN).any() or self._acceleration() is None:
                return
            pushes = found[self.first[: self.unilateral]]
            closed = self.modes[: self.unilateral] != OPEN
            pulls = closed & (pushes <= UNLOADED * np.abs(pushes).max(initial=0.0))
            if pulls.any():
                self.modes[int(np.argmin(np.where(pulls, pushes, np.inf)))] = OPEN
            elif not self._let_go(kept):
                return

    def _let_go(self, kept: set[int]) -> bool:
        """Have what sticks with all the friction that there is slide against that; False where nothing does.

        What would go back then is ``kept``.
        """
        sticking = np.flatnonzero(self.modes == STICKING).tolist()
        critical = [k for k in sticking if k not in kept and self._slips(k, self.touches.forces)]
        for k in critical:
            own = self._along_surface(k)
            force = self.touches.forces[own]
            friction = dense.norm(force)
            self.directions[own] = -force / friction if friction > 0.0 else 1.0 / np.sqrt(len(force))
            self.modes[k] = SLIDING
        a = self._acceleration() if critical else None
        for k in critical:
            own = self._along_surface(k)
            way = self._along(range(own.start, own.stop), a) if a is not None else -self.directions[own]
            if dense.dot(way, self.directions[own]) < -self._least():
                self.modes[k] = STICKING
                kept.add(k)
        self._turn([k for k in critical if self.modes[k] == SLIDING])
        return bool(critical)

    def _slips(self, k: int, found: Array, spent: float = CRITICAL) -> bool:
        """Tell whether what sticks takes all the friction that there is, but a part ``spent`` of it."""
        touches = self.touches
        if k < self.unilateral and self.sizes[k] == 1:
            return False
        dry = k >= self.unilateral
        limit = touches.limits[k - self.unilateral] if dry else touches.static[k] * found[self.first[k]]
        return dense.norm(found[self._along_surface(k)]) > (1.0 - spent) * limit

    # --- what is said of it --------------------------------------------------------------------------

    def _named(self, which: np.ndarray) -> tuple[str, ...]:
        return tuple(self.touches.blocks[int(k)] for k in np.flatnonzero(which))

    def _change(self, before: Array, approaching: list[int], loss: float) -> Change:
        """Return what is not as it was."""
        now, hit = self.modes, np.zeros(len(self.modes), dtype=bool)
        hit[approaching] = True
        own = np.arange(len(now)) < self.unilateral
        return Change(
            closed=self._named(own & (now != OPEN) & (before == OPEN)),
            opened=self._named(own & (now == OPEN) & (before != OPEN) & ~hit),
            bounced=self._named(own & hit & (now == OPEN)),
            slipping=self._named((now == SLIDING) & (before != SLIDING)),
            sticking=self._named((now == STICKING) & (before == SLIDING)),
            energy_loss=loss,
        )
