"""`Collisions`: velocities after an impact, for all contacts with Coulomb friction and stops that are closed.

Runs by events (`sarrus.motion.contacts.contact_probe`) and `sarrus.impact` (`sarrus.dynamics.impacts.state_blocks`)
give it the same `ImpactBlocks`: rows of contacts, stops and dry friction at a state, and their Delassus matrix W with
the constraints held. Dry friction of joints has no impulse, because its force is bounded and an impact takes no time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import ContactElement, contact_elements
from sarrus.dynamics.impacts.restitution import impulses, lone_impulse
from sarrus.dynamics.impacts.tolerances import SHOVE, STIFF_DIRECTION
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.contact.tolerances import CORRECTED_GAPS, IMPACT_GAP_ROUNDING, STILL, still_speed
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked

if TYPE_CHECKING:
    from sarrus.dynamics.optimize.contact_problem import ContactSolution


class ImpactBlocks(ABC):
    """Contacts, then stops, then dry frictions of a system at a state, as an impact needs them.

    ``elements`` are those of a state, with contacts that a narrow phase has found behind the stops, and ``poisson`` the
    names of those with Poisson's law; default: `contact_elements`.

    Attributes
    ----------
    contacts, unilateral : number of contacts, and of contacts and stops: these only push.
    sizes, first, units : rows of each block, its first row, and the unit of its gap and velocities [m, rad].
    poisson : numbers of the contacts with Poisson's law.
    """

    def __init__(
        self,
        system: Evaluations,
        elements: Sequence[ContactElement] | None = None,
        poisson: Collection[str] = (),
    ) -> None:
        self.name, elements = system.name, contact_elements(system) if elements is None else elements
        self.contacts = len(system.equations.friction_contacts)
        self.unilateral = sum(one.kind != "friction" for one in elements)
        self.sizes = [one.rows.stop - one.rows.start for one in elements]
        self.first = np.array([one.rows.start for one in elements], dtype=np.int64)
        self.units = np.array([one.unit for one in elements])
        contacts = system.equations.friction_contacts
        names = {contact.name for contact in contacts if contact.impact_law == "poisson"} | set(poisson)
        self.poisson = {k for k, one in enumerate(elements) if one.name in names}
        self._columns, self._still = system.characteristic.columns, STILL

    @property
    @abstractmethod
    def restitution(self) -> Array:
        """Coefficients of restitution of the unilateral blocks."""

    @property
    @abstractmethod
    def velocity(self) -> Array:
        """Velocities of all rows at the state of the last `look`."""

    @abstractmethod
    def look(self, rows: list[int]) -> int:
        """Evaluate the velocities of all rows, and W of ``rows``; negative if a number is not finite."""

    @abstractmethod
    def delassus(self, m: int) -> Array:
        """Return the Delassus matrix W (m, m) of the m rows of the last `look`."""

    @abstractmethod
    def friction(self, k: int) -> float:
        """Return the coefficient of sliding friction of a unilateral block."""

    @abstractmethod
    def answer(
        self,
        delassus: Array,
        which: Sequence[int],
        given: Array,
        contacts: list[tuple[int, float]],
        dry: list[tuple[int, float]],
    ) -> ContactSolution:
        """Return the answer to the contact problem of the rows ``which``; raises `SolveError` if there is none."""

    @abstractmethod
    def change(self, rows: list[int], found: Array) -> Array:
        """Return the change of velocity (nv,) by impulses on rows of the last `look`."""

    @abstractmethod
    def push(self, change: Array) -> None:
        """Add a change (nv,) to the velocity of the state."""

    @abstractmethod
    def move(self, change: Array) -> None:
        """Move the position of the state by δ (nv,)."""

    def note_speed(self, v: Array) -> None:
        """Let `still` count from the velocity v (nv,) of the mechanism."""
        speeds = np.abs(self._columns * v)
        self._still = still_speed(float(np.maximum.reduce(speeds)) if len(speeds) else 0.0)

    def still(self, k: int) -> float:
        """Return the speed [m/s, rad/s] below which block k counts as at rest, at the state of the last `look`."""
        return self._still * self.units.item(k)

    @property
    def slow(self) -> Array:
        """Normal speeds [m/s, rad/s] below which the unilateral blocks count as at rest."""
        return self._still * self.units[: self.unilateral]

    def rates(self) -> Array:
        """Return the normal velocities [m/s, rad/s] of the unilateral blocks."""
        return self.velocity[self.first[: self.unilateral]].copy()

    def rows(self, blocks: list[int]) -> list[int]:
        """Return the rows of blocks."""
        return [row for k in blocks for row in range(self.first[k], self.first[k] + self.sizes[k])]

    def surface(self, k: int) -> slice:
        """Return the rows of a block that have friction, as a slice."""
        first = int(self.first[k])
        return slice(first + (k < self.unilateral), first + self.sizes[k])

    def slip(self, velocity: Array, k: int) -> float:
        """Return the slip speed of a block [m/s, rad/s]."""
        return dense.norm(velocity[self.surface(k)])


class Collisions:
    """Impacts of blocks. A block that leaves an impact slower than ``rest`` (blocks,) [m/s, rad/s] stays closed."""

    def __init__(self, probe: ImpactBlocks, rest: Array) -> None:
        self.probe, self.rest = probe, rest

    def strike(
        self, closing: list[int], rates: Array, pressed: Sequence[int] = (), gaps: Array | None = None
    ) -> tuple[float, Array]:
        """Set the state to the velocity after an impact; return the kinetic energy lost [J], and the impulses [N s].

        ``closing`` are the blocks that touch, with the normal velocities ``rates`` (unilateral,) of all blocks; the
        impulses are those of their rows. Blocks in ``pressed`` take part with a tiny speed of approach although they do
        not approach. With ``gaps`` that are not exactly zero the positions are corrected too. Raises `SolveError` if no
        impulses obey the laws of contact.
        """
        probe = self.probe
        rows = probe.rows(closing)
        before = self._speeds_of(rows)
        heads = [rows.index(probe.first[k]) for k in closing]
        given, rebounds = before.copy(), np.zeros(len(closing))
        expansions = {i: probe.restitution[k] for i, k in enumerate(closing) if k in probe.poisson}
        for i, k in enumerate(closing):
            rebound = 0.0 if k in probe.poisson else -probe.restitution[k] * rates[k]
            if rebound >= self.rest[k]:
                rebounds[i] = rebound
            elif k in pressed:
                given[heads[i]] -= SHOVE * float(self.rest[k])
        delassus = probe.delassus(len(rows))
        alone = self._alone(closing, delassus, given, rebounds, expansions)

        def solve(
            chosen: list[int], b: Array, contacts: list[tuple[int, float]], dry: list[tuple[int, float]]
        ) -> Array:
            which = [rows[i] for i in chosen]
            return probe.answer(delassus[np.ix_(chosen, chosen)], which, b, contacts, dry).forces

        if alone is None:
            blocks = [(probe.sizes[k], probe.friction(k)) for k in closing]
            found = impulses(solve, delassus, given, blocks, rebounds, expansions)
        else:
            found = alone
        probe.push(probe.change(rows, found))
        if gaps is not None:
            self._make_up(closing, rates, gaps, delassus, found)
        return self._lost(closing, rows, before, delassus, found), found

    def _alone(
        self,
        closing: list[int],
        delassus: Array,
        given: Array,
        rebounds: Array,
        expansions: dict[int, float],
    ) -> Array | None:
        """Return the impulses of a single block that hits; None if more blocks take part."""
        if len(closing) > 1 or expansions:
            return None
        wanted = float(rebounds[0])
        return lone_impulse(delassus, given, wanted, self.probe.friction(closing[0]))

    def _lost(
        self, closing: list[int], rows: list[int], before: Array, delassus: Array, found: Array
    ) -> float:
        """Return the energy [J] that impulses on rows take, including the energy of blocks that leave slowly."""
        probe = self.probe
        heads = [rows.index(probe.first[k]) for k in closing]
        after = before + dense.product(delassus, found)
        loss = 0.0 - float(0.5 * (found * (before + after)).sum())
        leaving = after[heads]
        if not ((leaving > probe.slow[closing]) & (leaving < self.rest[closing])).any():
            return loss
        return loss + self.stay([k for k, rate in zip(closing, leaving) if rate < self.rest[k]])

    def _make_up(self, closing: list[int], rates: Array, gaps: Array, delassus: Array, found: Array) -> None:
        """Correct the positions by the change of velocity times the delay of each impulse.

        The delay is gap over speed of approach, for contacts that hit nearly together or start near their planes;
        without the correction these errors add up from impact to impact. Contacts that hardly approach but are struck
        by others have no meaningful delay and get no correction.
        """
        probe, late, at = self.probe, np.zeros(len(found)), 0
        heads, units, most = list[int](), list[float](), 0.0
        for k in closing:
            unit, gap, rate = probe.units.item(k), gaps.item(k), rates.item(k)
            if rate < -probe.still(k) and abs(gap) > IMPACT_GAP_ROUNDING * unit:
                late[at : at + probe.sizes[k]] = gap / rate
                most = max(most, abs(gap) / unit)
            heads.append(at)
            units.append(unit)
            at += probe.sizes[k]
        if most == 0.0:
            return
        moved = dense.product(delassus, late * found)[heads]
        if np.abs(moved / units).max() <= 2.0 * most * (1.0 + CORRECTED_GAPS):
            probe.move(probe.change(probe.rows(closing), late * found))

    def stay(self, blocks: list[int]) -> float:
        """Set the normal velocities of blocks to zero by the smallest change in the kinetic metric; return the energy
        [J].

        Slow friction contacts and joints with dry friction stick too. Otherwise their remaining slip would lift the
        blocks again, impact after impact without end.
        """
        probe = self.probe
        probe.look([])
        velocity, rows = probe.velocity, []
        for k in blocks:
            sticks = probe.friction(k) > 0.0 and probe.slip(velocity, k) < self.rest[k]
            rows += probe.rows([k]) if sticks else [int(probe.first[k])]
        dry = range(probe.unilateral, len(probe.sizes))
        rows += [int(probe.first[k]) for k in dry if abs(velocity[probe.first[k]]) < self.rest[k]]
        return self.stop(rows) if rows else 0.0

    def stop(self, rows: list[int]) -> float:
        """Set the velocities of rows to zero by the smallest change in the kinetic metric; return the energy [J]."""
        probe, speeds = self.probe, self._speeds_of(rows)
        found = -ranked(probe.delassus(len(rows)), relative=STIFF_DIRECTION).solve(speeds)
        probe.push(probe.change(rows, found))
        return -float(0.5 * (found * speeds).sum())

    def _speeds_of(self, rows: list[int]) -> Array:
        """Return the velocities of rows, after W and the compliance columns of the rows were computed.

        Raises `SolveError` if they are not finite.
        """
        probe = self.probe
        if probe.look(rows) < 0:
            raise SolveError(f"{probe.name}: the Delassus matrix of the colliding rows is not finite")
        return probe.velocity[rows].copy()


def no_answer(name: str, names: Sequence[str], found: ContactSolution) -> SolveError:
    """Return the error for a contact problem without answer; ``names`` are the blocks of its rows."""
    pushing = dict.fromkeys(row for row, r in zip(names, found.forces) if r > 0.0)
    reason = (
        "no motion keeps these contacts from closing further"
        if found.status is Status.INFEASIBLE
        else "no forces of these contacts were found that obey the laws of friction"
    )
    result = None if found.status.ok else found
    return SolveError(f"{name}: {reason}: {', '.join(pushing or dict.fromkeys(names))}", result=result)
