"""Random walks over the motions of a mechanism, which find ranges of coordinates and assembly modes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sarrus.analysis.configurations.search_limits import SearchLimits
from sarrus.base.arrays import Array
from sarrus.dynamics.closing.manifold import holonomic_jacobian, rank_cut, walk
from sarrus.dynamics.closing.tolerances import WALK_STEP
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked

# Steps of a walk at most, their length [rad, κ], and how often it is halved at limits.
_WALK, _STEP, _HALVED = 80, 2 * WALK_STEP, 16


def motions(system: System, q: Array, *, hold: Array, t: float, cut: float) -> Array:
    """Return velocities (nv, k) that keep loops closed and ``hold`` at rest, orthonormal in characteristic units.

    Singular values below ``cut`` count as zero, in characteristic units.
    """
    sizes = system.characteristic
    rows = sizes.scaled_rows(holonomic_jacobian(system, q, t))
    return np.asarray(ranked(np.vstack([rows, hold.T]), cut).null / sizes.columns[:, None])


def walks(
    system: System, start: Array, rays: int, *, hold: Array, limits: SearchLimits, t: float
) -> Iterator[Array]:
    """Yield configurations on walks over the motions in seeded directions, within the limits; the start is the first.

    Every other walk begins at the start, the rest at configurations of earlier walks. Steps are halved near limits.
    ``hold`` (nv, k): velocities that are held at rest.
    """
    rng = np.random.default_rng(13)
    cut, even_cut = (rank_cut(system, start, t, 1.0, even=even) for even in (False, True))
    scale, seen = system.characteristic.columns, [start]
    yield start
    for ray in range(rays):
        origin = seen[int(rng.integers(len(seen)))] if ray % 2 else start
        kernel = motions(system, origin, hold=hold, t=t, cut=even_cut)
        if not kernel.shape[1]:
            return
        x = kernel @ rng.standard_normal(kernel.shape[1])
        left, halved = _WALK, 0
        while left and halved <= _HALVED:
            steps = walk(system, origin, x, t=t, step=_STEP / 2**halved, cut=cut, hold=hold, scale=scale)
            for q, tangent in islice(steps, left):
                if not limits.contain(q):
                    halved += 1
                    break
                origin, x, left = q, tangent, left - 1
                if not halved:  # others crowd at limits
                    seen.append(q)
                yield q
            else:
                break
