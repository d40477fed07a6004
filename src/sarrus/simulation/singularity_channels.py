"""`SingularityChannels`: how near a run is to singular configurations at each sample, and how it takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.simulation.readings import states_of
from sarrus.simulation.recorded_motion import CHANNELS, RecordedMotion

# Numbers of A that are decomposed at a time.
_BLOCK = 1 << 20
# Singular values that differ from the smallest one by this part of it, and by this part of the largest one, are as
# small: their vectors are anybody's, so that they count together.
_ALIKE, _LEVEL = 1e-6, 1e-9
# Below this part of the largest singular value, the ratio of the indicator to the smallest one is rounding.
_UNKNOWN = 1e-12


class SingularityChannels(NamedTuple):
    """Channels (T,) of a run; `sarrus.Trajectory` documents them."""

    smallest_singular_value: Array
    spike_indicator: Array
    spike_acceleration: Array


def channels_of(trajectory: RecordedMotion) -> SingularityChannels:
    """Return the channels of a run, evaluated once."""
    found: SingularityChannels | None = vars(trajectory).get("_channels")
    if found is None:
        if trajectory.channels is None:
            found = _evaluate(trajectory)
        else:
            found = SingularityChannels(*(read_only(column.copy()) for column in trajectory.channels.T))
        vars(trajectory)["_channels"] = found
    return found


def _evaluate(trajectory: RecordedMotion) -> SingularityChannels:
    count = len(trajectory.t)
    out = np.empty((len(CHANNELS), count))
    out[:] = np.array([np.inf, 0.0, 0.0])[:, None]  # where nothing is constrained
    system = trajectory.moved_system()
    if system is None:
        if trajectory.constraint_names:
            raise ArgumentError(
                f"trajectory {trajectory.name!r}: its equations are not known, and its file has no channels of "
                "singularity: save the run with singularity=True",
                element="singularity",
            )
    elif count and system.nc:
        for start, stop, rank, values in stretches(trajectory, system):
            step = max(1, _BLOCK // (system.nc * system.nv)) if rank else count
            for begin in range(start, stop, step):
                part = slice(begin, min(begin + step, stop))
                if rank:
                    out[:, part] = _of_states(system, states_of(trajectory, system, values, part), rank)
    return SingularityChannels(*map(read_only, out))


def stretches(
    trajectory: RecordedMotion, system: System
) -> Iterator[tuple[int, int, int, Mapping[str, float]]]:
    """Yield (first sample, the one behind the last, generic rank of A, values of parameters) of each stretch."""
    rows = vars(trajectory).get("_rows")
    values = {**system.parameters, **trajectory.parameters}
    if rows is not None:
        for start, stop, (_, rank, own) in rows.spans():
            yield start, stop, rank, {**values, **own}
        return
    switched = [name for name in system.parameters if name not in system.equations.design_parameters]
    if switched:
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: it is not known any more which constraints held when "
            f"({', '.join(switched)}): save the run with singularity=True",
            element=switched[0],
        )
    work = system.with_parameters(values).workspace()
    yield 0, len(trajectory.t), generic_rank(work, trajectory.q[0], float(trajectory.t[0])), values


def _of_states(system: System, states: Array, rank: int) -> Array:
    """Return the channels (3, n) at states x (n, …), A having this rank at generic configurations."""
    sizes, nc, nv = system.characteristic, system.nc, system.nv
    jacobian = system.compiled.function("jacobian").each(states).reshape(-1, nc, nv)
    bias = system.compiled.function("constraint_bias").each(states)
    alive = np.flatnonzero((jacobian != 0.0).any(axis=(0, 2)))
    even = sizes.rows[alive, None] * jacobian[:, alive] / sizes.columns
    rate = sizes.rows[alive] * bias[:, alive]
    out = np.full((len(CHANNELS), len(states)), np.nan)
    finite = np.isfinite(even).all(axis=(1, 2)) & np.isfinite(rate).all(axis=1)
    if finite.any() and rank <= min(len(alive), nv):
        out[:, finite] = _of_matrices(even[finite], rate[finite], rank)
    return out


def _of_matrices(matrices: Array, rates: Array, rank: int) -> Array:
    """Return the channels of matrices A (n, m, k) and Ȧv (n, m)."""
    left, values, _ = np.linalg.svd(matrices, full_matrices=False)
    least, largest = values[:, rank - 1], values[:, 0]
    limit = (1.0 + _ALIKE) * least + _LEVEL * largest
    alike = values[:, :rank] <= limit[:, None]
    along = np.where(alike, np.einsum("nij,ni->nj", left[:, :, :rank], rates), 0.0)
    indicator = np.sqrt((along**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.sqrt((np.where(alike, along / values[:, :rank], 0.0) ** 2).sum(axis=1))
    acceleration[least <= _UNKNOWN * largest] = np.nan
    acceleration[(rates == 0.0).all(axis=1)] = 0.0
    return np.array([least, indicator, acceleration])
