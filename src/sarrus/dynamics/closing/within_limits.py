"""Configurations inside the joint limits and above the planes of contacts, and the violations of a configuration."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.closing.levenberg_marquardt import Rows, data_of, levenberg_marquardt_close
from sarrus.dynamics.closing.tolerances import INSIDE, INSIDE_BESIDE, INSIDE_STARTS
from sarrus.dynamics.contacts.contact_elements import contact_elements
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import beyond_limits, joint_limits
from sarrus.dynamics.model.measures import open_by

# Contacts between geometries with rows of their own: of each pair, and at the most.
_EACH, _DEEPEST = 8, 128


def outside_limits(system: Evaluations, q: Array) -> dict[str, float]:
    """Return the coordinates beyond a limit by more than rounding of a file, with their values."""
    limits = joint_limits(system)
    return {limits.names[k]: float(q[limits.places[k]]) for k in np.flatnonzero(beyond_limits(system, q))}


def bring_inside(system: Evaluations, q: Array, t: float, free: Array) -> tuple[Array, tuple[str, ...], int]:
    """Return q moved inside all limits and above all planes with closed loops, the violations left, the iterations.

    Violations left are names of stops and contacts. The equations φ = 0 and g_k = 0 for the negative gaps g_k are
    solved by shortest steps in the kinetic metric; velocities with ``free`` (nv,) zero are locked.
    """
    gaps = _Gaps(system, t)
    rows = Rows(system, system.nh + gaps.count, gaps.residual, gaps.jacobian)
    rng, best, left, iterations = np.random.default_rng(9), q, gaps.names_outside(q), 0
    for attempt in range(INSIDE_STARTS + 1):
        if not left and attempt:
            break
        beside = (
            INSIDE_BESIDE * attempt * rng.standard_normal(system.nv) * free / system.characteristic.columns
        )
        found, more = levenberg_marquardt_close(rows, system.move(q, beside) if attempt else q, t, free)
        iterations += more
        closed = open_by(system, found, t) <= max(INSIDE, data_of(system).closed())
        if closed and len(names := gaps.names_outside(found)) < len(left):
            best, left = found, names
    return best, left, iterations


class _Gaps:
    """Gaps of stops and contacts at a fixed time, as equations g_k = 0 for the negative ones.

    Of geometries whose contacts a narrow phase finds, the deepest contacts have a row each, up to `_DEEPEST`.
    """

    def __init__(self, system: Evaluations, t: float) -> None:
        self.system, self.t = system, t
        self.own = [one for one in contact_elements(system) if one.kind != "friction"]
        self.heads = [one.rows.start for one in self.own]
        self.units = np.array([one.unit for one in self.own])
        self.room = min(_EACH * len(system.contact_geometries), _DEEPEST)
        self.count = len(self.own) + self.room
        self.bounds, self.still = joint_limits(system).bounds, np.zeros(system.nv)

    def _at(self, q: Array) -> tuple[Array, Array, list[str]]:
        """Return gaps and their derivatives along velocities, in characteristic lengths and radians, and names."""
        found = contact_row_state(self.system, q, self.still, self.t, self.bounds, 0.0)
        gaps, rows = found.gaps[: len(self.own)] / self.units, found.rows[self.heads] / self.units[:, None]
        names = [one.name for one in self.own]
        if found.geometry is None:
            return gaps, rows, names
        length = self.system.characteristic.length
        points = sorted(found.geometry.points, key=lambda one: one.gap)[: self.room]
        more, heads = np.zeros(self.room), np.zeros((self.room, self.system.nv))
        for k, one in enumerate(points):
            more[k], heads[k] = one.gap / length, found.geometry.rows[one.rows.start] / length
        names += [one.pair.name for one in points]
        return np.concatenate([gaps, more]), np.vstack([rows, heads]), names

    def residual(self, q: Array) -> Array:
        """Return φ and the gaps, with zeros for positive gaps."""
        phi = self.system.constraint_residual(q, self.t)
        return np.concatenate([phi, np.minimum(self._at(q)[0], 0.0)])

    def jacobian(self, q: Array) -> Array:
        """Return the derivative of the residual along velocities."""
        gaps, rows, _ = self._at(q)
        loops = self.system.constraint_jacobian(q, t=self.t)[: self.system.nh]
        return np.vstack([loops, np.where(gaps[:, None] < 0.0, rows, 0.0)])

    def names_outside(self, q: Array) -> tuple[str, ...]:
        """Return the names of the stops, contacts and pairs of geometries with negative gaps at q."""
        gaps, _, names = self._at(q)
        return tuple(dict.fromkeys(name for name, gap in zip(names, gaps) if not gap >= -INSIDE))
