"""`OpenShares`: impulses of a contact problem that change no velocity, shares of the load that redundant rows leave
open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sarrus.analysis.sensitivity.tolerances import BORDER_OF_STEP
from sarrus.base.arrays import Array
from sarrus.dynamics.optimize.tolerances import INDEPENDENT_HELD_ROWS
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import ranked


@dataclass(frozen=True, eq=False)
class OpenShares:
    """Impulses r (m,) with velocities u = W r + b, and the ways (m × k) in which they may change without changing u.

    ``W`` has rows in units in which its diagonal is one, ``units`` are the factors of the rows. ``limits`` are the
    largest friction of rows that stick; infinite for others.
    """

    impulses: Array
    W: Array
    units: Array
    ways: Array
    limits: Array

    @classmethod
    def of(
        cls,
        impulses: Array,
        velocities: Array,
        delassus: Array,
        contacts: Sequence[tuple[int, float]],
        dry: Sequence[tuple[int, float]],
    ) -> OpenShares:
        """Return the shares of the answer to a contact problem, see `sarrus.optimize.solve_contact_problem`."""
        m, blocks = len(impulses), [*contacts, *dry]
        units = np.sqrt(np.maximum(np.diag(delassus), 0.0))
        units[units == 0.0] = 1.0
        W, r = delassus / np.outer(units, units), impulses * units
        still = BORDER_OF_STEP * (np.abs(velocities / units) + product(np.abs(W), np.abs(r))).max(initial=0.0)
        columns, limits = list[Array](), np.full(m, np.inf)
        for k, (first, end) in enumerate(pairwise(np.cumsum([0, *(size for size, _ in blocks)]).tolist())):
            head = k < len(contacts)
            if head and not r[first] > 0.0:
                continue
            tails = slice(first + head, end)
            slides = float(np.linalg.norm(velocities[tails] / units[tails])) > still
            if head:
                columns.append(np.eye(m)[first])
                if slides:
                    columns[-1][tails] = r[tails] / r[first]
            if not slides:
                columns += list(np.eye(m)[tails])
                limits[tails] = blocks[k][1] * (impulses[first] if head else 1.0)
        ways = np.array(columns).reshape(len(columns), m).T
        free = ranked(product(W, ways), relative=INDEPENDENT_HELD_ROWS).null
        return cls(impulses, W, units, product(ways, free), limits)

    def felt(self, weights: Array) -> Array:
        """Return how much each velocity depends on the shares if the impulses are multiplied by weights (m,)."""
        return np.abs(product(self.W, weights[:, None] * self.ways)).max(axis=1, initial=0.0)

    @cached_property
    def with_least_friction(self) -> Array:
        """The impulses with the same velocities and the least friction, relative to their limits, where rows stick."""
        sticks = np.isfinite(self.limits) & (self.limits > 0.0)
        if not self.ways.shape[1] or not sticks.any():
            return self.impulses
        ways, by = self.ways / self.units[:, None], 1.0 / self.limits[sticks]
        least = ranked(by[:, None] * ways[sticks]).solve(by * self.impulses[sticks])
        return self.impulses - product(ways, least)
