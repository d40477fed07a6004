"""`Impacts`: velocities after an impact in a run, for all contacts and stops that are closed at that instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.impacts.restitution import impulses, lone_impulse
from sarrus.kernels.contact.tolerances import CORRECTED_GAPS, IMPACT_GAP_ROUNDING
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.motion.contacts.contact_probe import ContactProbe
from sarrus.motion.contacts.tolerances import SHOVE, STIFF_DIRECTION


class Impacts:
    """The impacts of one run. A block that leaves an impact slower than ``rest`` [m/s, rad/s] stays closed."""

    def __init__(self, probe: ContactProbe) -> None:
        self.probe = probe
        settings, length = probe.contact_run.settings, probe.loop.system.characteristic.length
        self.rest = np.where(probe.units == length, settings.rest_speed, settings.rest_turn)
        contacts = probe.loop.system.equations.friction_contacts
        self.poisson = {k for k, contact in enumerate(contacts) if contact.impact_law == "poisson"}

    def strike(
        self, closing: list[int], rates: Array, pressed: Sequence[int] = (), gaps: Array | None = None
    ) -> float:
        """Set the state to the velocity after an impact; return the kinetic energy lost [J].

        Blocks in ``pressed`` take part with a tiny speed of approach although they do not approach. With ``gaps`` that
        are not exactly zero the positions are corrected too. Raises `SolveError` if no impulses obey the laws of
        contact.
        """
        probe, contact_run = self.probe, self.probe.contact_run
        rows = probe.rows(closing)
        before = self._speeds_of(rows)
        heads = [rows.index(probe.first[k]) for k in closing]
        given, rebounds = before.copy(), np.zeros(len(closing))
        expansions = {i: contact_run.restitution[k] for i, k in enumerate(closing) if k in self.poisson}
        for i, k in enumerate(closing):
            rebound = 0.0 if k in self.poisson else -contact_run.restitution[k] * rates[k]
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
            return contact_run.answer(delassus[np.ix_(chosen, chosen)], which, b, contacts, dry).forces

        if alone is None:
            blocks = [(probe.sizes[k], probe.friction(k)) for k in closing]
            found = impulses(solve, delassus, given, blocks, rebounds, expansions)
        else:
            found = alone
        self._push(rows, found)
        if gaps is not None:
            self._make_up(closing, rates, gaps, delassus, found)
        return self._lost(closing, rows, before, delassus, found)

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
            loop = probe.loop
            loop.q[:] = loop.system.move(loop.q.copy(), self._change(probe.rows(closing), late * found))

    def stay(self, blocks: list[int]) -> float:
        """Set the normal velocities of blocks to zero by the smallest change in the kinetic metric; return the energy
        [J].

        Slow friction contacts and joints with dry friction stick too. Otherwise their remaining slip would lift the
        blocks again, impact after impact without end.
        """
        probe = self.probe
        probe.look([])
        velocity, rows = probe.contact_run.work.velocity, []
        for k in blocks:
            sticks = probe.friction(k) > 0.0 and probe.slip(velocity, k) < self.rest[k]
            rows += probe.rows([k]) if sticks else [int(probe.first[k])]
        dry = range(probe.unilateral, len(probe.sizes))
        rows += [int(probe.first[k]) for k in dry if abs(velocity[probe.first[k]]) < self.rest[k]]
        if not rows:
            return 0.0
        speeds = self._speeds_of(rows)
        found = -ranked(probe.delassus(len(rows)), relative=STIFF_DIRECTION).solve(speeds)
        self._push(rows, found)
        return -float(0.5 * (found * speeds).sum())

    def _speeds_of(self, rows: list[int]) -> Array:
        """Return the velocities of rows, after W and the compliance columns of the rows were computed.

        Raises `SolveError` if they are not finite.
        """
        probe = self.probe
        if probe.look(rows) < 0:
            raise SolveError(
                f"{probe.loop.system.name}: the Delassus matrix of the colliding rows is not finite"
            )
        return probe.contact_run.work.velocity[rows].copy()

    def _push(self, rows: list[int], found: Array) -> None:
        """Add to the velocity of the state the effect of impulses on rows whose compliance columns are known."""
        self.probe.loop.v[:] += self._change(rows, found)

    def _change(self, rows: list[int], found: Array) -> Array:
        """Return the change of velocity (nv,) by impulses on rows whose compliance columns are known."""
        nv, contact_run = self.probe.loop.system.nv, self.probe.contact_run
        responses = contact_run.work.response[: len(contact_run.names) * nv].reshape(-1, nv)[rows]
        return np.asarray((found[:, None] * responses).sum(axis=0))
