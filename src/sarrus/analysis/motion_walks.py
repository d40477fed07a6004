"""Walks over the motions of a mechanism: how far they go, and which modes of assembly there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sarrus.analysis.search_limits import SearchLimits
from sarrus.base.arrays import Array
from sarrus.dynamics.manifold import STEP, holonomic_jacobian, rank_cut, walk
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import ranked

# Steps of a walk at most.
_WALK = 80


def walks(
    system: System, start: Array, rays: int, *, hold: Array, limits: SearchLimits, t: float
) -> Iterator[Array]:
    """Yield configurations on walks over the motions, of seeded directions, within the limits; the start is first.

    Every other one begins at the start, the others where a walk has been. ``hold`` (nv, k): velocities that rest.
    """
    rng = np.random.default_rng(13)
    cut = rank_cut(system, start, t, 1.0)
    scale, seen = system.characteristic.columns, [start]
    yield start
    for ray in range(rays):
        origin = seen[int(rng.integers(len(seen)))] if ray % 2 else start
        kernel = ranked(np.vstack([holonomic_jacobian(system, origin, t), hold.T]), cut).null
        if not kernel.shape[1]:
            return
        x = kernel @ rng.standard_normal(kernel.shape[1])
        steps = walk(system, origin, x, t=t, step=2 * STEP, cut=cut, hold=hold, scale=scale)
        for q, _ in islice(steps, _WALK):
            if not limits.contain(q):
                break
            seen.append(q)
            yield q
