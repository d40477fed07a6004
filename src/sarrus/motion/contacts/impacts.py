"""`Impacts`: velocities after an impact in a run, for all contacts and stops that are closed at that instant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.impacts.restitution import impulses, lone_impulse
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked
from sarrus.motion.contacts.contact_probe import Survey
from sarrus.motion.contacts.tolerances import CORRECTED_GAPS, IMPACT_GAP_ROUNDING, SHOVE, STIFF_DIRECTION


class Impacts:
    """The impacts of one run. A block that leaves an impact slower than ``rest`` [m/s, rad/s] stays closed."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        settings, length = survey.touches.settings, survey.loop.system.characteristic.length
        self.rest = np.where(survey.units == length, settings.rest_speed, settings.rest_turn)
        contacts = survey.loop.system.equations.touches
        self.poisson = {k for k, touch in enumerate(contacts) if touch.impact_law == "poisson"}

    def strike(
        self, touching: list[int], rates: Array, pressed: Sequence[int] = (), gaps: Array | None = None
    ) -> float:
        """Set the state to the velocity after an impact; return the kinetic energy lost [J].

        Blocks in ``pressed`` take part with a tiny speed of approach although they do not approach. With ``gaps`` that
        are not exactly zero the positions are corrected too. Raises `SolveError` if no impulses obey the laws of
        contact.
        """
        survey, touches = self.survey, self.survey.touches
        rows = survey.rows(touching)
        before = self._speeds_of(rows)
        heads = [rows.index(survey.first[k]) for k in touching]
        given, rebounds = before.copy(), np.zeros(len(touching))
        expansions = {i: touches.restitution[k] for i, k in enumerate(touching) if k in self.poisson}
        for i, k in enumerate(touching):
            rebound = 0.0 if k in self.poisson else -touches.restitution[k] * rates[k]
            if rebound >= self.rest[k]:
                rebounds[i] = rebound
            elif k in pressed:
                given[heads[i]] -= SHOVE * float(self.rest[k])
        operator = survey.operator(len(rows))
        alone = self._alone(touching, operator, given, rebounds, expansions)

        def solve(
            chosen: list[int], b: Array, contacts: list[tuple[int, float]], dry: list[tuple[int, float]]
        ) -> Array:
            which = [rows[i] for i in chosen]
            return touches.answer(operator[np.ix_(chosen, chosen)], which, b, contacts, dry).forces

        if alone is None:
            blocks = [(survey.sizes[k], survey.friction(k)) for k in touching]
            found = impulses(solve, operator, given, blocks, rebounds, expansions)
        else:
            found = alone
        self._push(rows, found)
        if gaps is not None:
            self._make_up(touching, rates, gaps, operator, found)
        return self._lost(touching, rows, before, operator, found)

    def _alone(
        self,
        touching: list[int],
        operator: Array,
        given: Array,
        rebounds: Array,
        expansions: dict[int, float],
    ) -> Array | None:
        """Return the impulses of a single block that hits; None if more blocks take part."""
        if len(touching) > 1 or expansions:
            return None
        wanted = float(rebounds[0])
        return lone_impulse(operator, given, wanted, self.survey.friction(touching[0]))

    def _lost(
        self, touching: list[int], rows: list[int], before: Array, operator: Array, found: Array
    ) -> float:
        """Return the energy [J] that impulses on rows take, including the energy of blocks that leave slowly."""
        survey = self.survey
        heads = [rows.index(survey.first[k]) for k in touching]
        after = before + dense.product(operator, found)
        loss = 0.0 - float(0.5 * (found * (before + after)).sum())
        leaving = after[heads]
        if not ((leaving > survey.slow[touching]) & (leaving < self.rest[touching])).any():
            return loss
        return loss + self.stay([k for k, rate in zip(touching, leaving) if rate < self.rest[k]])

    def _make_up(self, touching: list[int], rates: Array, gaps: Array, operator: Array, found: Array) -> None:
        """Correct the positions by the change of velocity times the delay of each impulse.

        The delay is gap over speed of approach, for contacts that hit nearly together or start near their planes;
        without the correction these errors add up from impact to impact. Contacts that hardly approach but are struck
        by others have no meaningful delay and get no correction.
        """
        survey, late, at = self.survey, np.zeros(len(found)), 0
        heads, units, most = list[int](), list[float](), 0.0
        for k in touching:
            unit, gap, rate = survey.units.item(k), gaps.item(k), rates.item(k)
            if rate < -survey.still(k) and abs(gap) > IMPACT_GAP_ROUNDING * unit:
                late[at : at + survey.sizes[k]] = gap / rate
                most = max(most, abs(gap) / unit)
            heads.append(at)
            units.append(unit)
            at += survey.sizes[k]
        if most == 0.0:
            return
        moved = dense.product(operator, late * found)[heads]
        if np.abs(moved / units).max() <= 2.0 * most * (1.0 + CORRECTED_GAPS):
            loop = survey.loop
            loop.q[:] = loop.system.move(loop.q.copy(), self._change(survey.rows(touching), late * found))

    def stay(self, blocks: list[int]) -> float:
        """Set the normal velocities of blocks to zero by the smallest change in the kinetic metric; return the energy
        [J].

        Slow friction contacts and joints with dry friction stick too. Otherwise their remaining slip would lift the
        blocks again, impact after impact without end.
        """
        survey = self.survey
        survey.look([])
        velocity, rows = survey.touches.work.velocity, []
        for k in blocks:
            sticks = survey.friction(k) > 0.0 and survey.slip(velocity, k) < self.rest[k]
            rows += survey.rows([k]) if sticks else [int(survey.first[k])]
        dry = range(survey.unilateral, len(survey.sizes))
        rows += [int(survey.first[k]) for k in dry if abs(velocity[survey.first[k]]) < self.rest[k]]
        if not rows:
            return 0.0
        speeds = self._speeds_of(rows)
        found = -ranked(survey.operator(len(rows)), relative=STIFF_DIRECTION).solve(speeds)
        self._push(rows, found)
        return -float(0.5 * (found * speeds).sum())

    def _speeds_of(self, rows: list[int]) -> Array:
        """Return the velocities of rows, after W and the compliance columns of the rows were computed.

        Raises `SolveError` if they are not finite.
        """
        survey = self.survey
        if survey.look(rows) < 0:
            raise SolveError(
                f"{survey.loop.system.name}: the Delassus matrix of the colliding rows is not finite"
            )
        return survey.touches.work.velocity[rows].copy()

    def _push(self, rows: list[int], found: Array) -> None:
        """Add to the velocity of the state the effect of impulses on rows whose compliance columns are known."""
        self.survey.loop.v[:] += self._change(rows, found)

    def _change(self, rows: list[int], found: Array) -> Array:
        """Return the change of velocity (nv,) by impulses on rows whose compliance columns are known."""
        nv, touches = self.survey.loop.system.nv, self.survey.touches
        responses = touches.work.response[: len(touches.names) * nv].reshape(-1, nv)[rows]
        return np.asarray((found[:, None] * responses).sum(axis=0))
