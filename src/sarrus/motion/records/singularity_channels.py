"""`SingularityChannels`: σ, its rate and the spike indicator at each sample of a run, as distances from singularity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.solve.ranks import generic_rank
from sarrus.dynamics.system import System
from sarrus.motion.records.readings import states_of
from sarrus.motion.records.recorded_motion import RecordedMotion
from sarrus.motion.records.tolerances import ALIKE_SINGULAR_VALUES, LEVEL_SINGULAR_VALUES, UNKNOWN_INDICATOR

# Numbers of A that are decomposed at a time.
_BLOCK = 1 << 20


class SingularityChannels(NamedTuple):
    """Channels (T,) of a run; `sarrus.Trajectory` documents them."""

    smallest_singular_value: Array
    spike_indicator: Array
    spike_acceleration: Array


def channels_of(trajectory: RecordedMotion) -> SingularityChannels:
    """Return the channels of singularity of a run, evaluated once."""
    found: SingularityChannels | None = vars(trajectory).get("_channels")
    if found is None:
        if trajectory.channels is None:
            found = _evaluate(trajectory)
        else:
            found = SingularityChannels(*(read_only(column.copy()) for column in trajectory.channels.T[:3]))
        vars(trajectory)["_channels"] = found
    return found


def rates_of(trajectory: RecordedMotion) -> Array:
    """Return the rate (T,) of the smallest singular value along a run, evaluated once."""
    found: Array | None = vars(trajectory).get("_singular_value_rate")
    if found is None:
        given = trajectory.channels
        if given is None:
            (found,) = _along(trajectory, [0.0], rates_of_states)
        else:
            found = given[:, 3].copy() if given.shape[1] > 3 else np.full(len(given), np.nan)
        vars(trajectory)["_singular_value_rate"] = read_only(found)
    return found


def _evaluate(trajectory: RecordedMotion) -> SingularityChannels:
    return SingularityChannels(*map(read_only, _along(trajectory, [np.inf, 0.0, 0.0], _of_states)))


def _along(
    trajectory: RecordedMotion, free: list[float], of_states: Callable[[System, Array, int], Array]
) -> Array:
    """Return channels (n, T) from a function of states (n, …); ``free`` (n) are the values without constraints."""
    count = len(trajectory.t)
    out = np.empty((len(free), count))
    out[:] = np.array(free)[:, None]
    system = trajectory.moved_system()
    if system is None:
        if trajectory.constraint_names:
            raise ArgumentError(
                f"trajectory {trajectory.name!r}: its equations are not known, and its file has no channels of "
                "singularity. Save the run with singularity=True",
                element="singularity",
            )
    elif count and system.nc:
        for start, stop, rank, values in stretches(trajectory, system):
            step = max(1, _BLOCK // (system.nc * system.nv)) if rank else count
            for begin in range(start, stop, step):
                part = slice(begin, min(begin + step, stop))
                if rank:
                    out[:, part] = of_states(system, states_of(trajectory, system, values, part), rank)
    return out


def stretches(
    trajectory: RecordedMotion, system: System
) -> Iterator[tuple[int, int, int, Mapping[str, float]]]:
    """Yield (first sample, sample after the last, generic rank of A, parameters) of each stretch with constant
    constraints.
    """
    rows = vars(trajectory).get("_rows")
    values = {**system.parameters, **trajectory.parameters}
    if rows is not None:
        for start, stop, (_, rank, own) in rows.spans():
            yield start, stop, rank, {**values, **own}
        return
    switched = [name for name in system.parameters if name not in system.equations.design_parameters]
    if switched:
        raise ArgumentError(
            f"trajectory {trajectory.name!r}: its file does not say when the constraints {', '.join(switched)} were "
            "active. Save the run with singularity=True",
            element=switched[0],
        )
    work = system.with_parameters(values).workspace()
    yield 0, len(trajectory.t), generic_rank(work, trajectory.q[0], float(trajectory.t[0])), values


def _even(system: System, states: Array, rank: int) -> tuple[Array, NDArray[np.intp], NDArray[np.bool_]]:
    """Return A (n, m, nv) in characteristic units without dead rows, the mask of the other rows, and of finite states.

    No state counts as finite if A has fewer than ``rank`` rows that are not dead.
    """
    sizes, nc, nv = system.characteristic, system.nc, system.nv
    jacobian = system.compiled.function("jacobian").each(states).reshape(-1, nc, nv)
    alive = np.flatnonzero((jacobian != 0.0).any(axis=(0, 2)))
    even = sizes.rows[alive, None] * jacobian[:, alive] / sizes.columns
    possible = rank <= min(len(alive), nv)
    return even, alive, np.asarray(np.isfinite(even).all(axis=(1, 2)) & possible)


def _of_states(system: System, states: Array, rank: int) -> Array:
    """Return the channels (3, n) at states x (n, …), for this generic rank of A."""
    even, alive, finite = _even(system, states, rank)
    rate = (
        system.characteristic.rows[alive] * system.compiled.function("constraint_bias").each(states)[:, alive]
    )
    out = np.full((3, len(states)), np.nan)
    finite &= np.isfinite(rate).all(axis=1)
    if finite.any():
        out[:, finite] = _of_matrices(even[finite], rate[finite], rank)
    return out


def rates_of_states(system: System, states: Array, rank: int) -> Array:
    """Return the rate dσ/dt = uᵀ Ȧ w (1, n) [1/s] of the smallest singular value at states x (n, …).

    If several singular values are equal to the smallest one, the rate is the least eigenvalue of the symmetric part of
    UᵀȦW: the rate of the singular value that will be the smallest.
    """

    def outputs() -> dict[str, ca.SX]:
        e = system.equations
        flat = ca.vec(e.jacobian.T)
        moving = ca.jtimes(flat, e.q, e.rate) + ca.jtimes(flat, e.t, ca.SX(1.0))
        return {"rate": ca.reshape(moving, e.nv, e.nc).T}

    even, alive, finite = _even(system, states, rank)
    sizes = system.characteristic
    change = system.compiled.named("jacobian_rate", outputs).each(states).reshape(-1, system.nc, system.nv)
    change = sizes.rows[alive, None] * change[:, alive] / sizes.columns
    out = np.full((1, len(states)), np.nan)
    finite &= np.isfinite(change).all(axis=(1, 2))
    if not finite.any():
        return out
    left, values, right = np.linalg.svd(even[finite], full_matrices=False)
    alike = _alike(values, rank)
    moved = np.einsum("nij,nik,nlk->njl", left[:, :, :rank], change[finite], right[:, :rank])
    rates = moved[:, -1, -1]
    for k in np.flatnonzero(alike.sum(axis=1) > 1):
        part = moved[k][np.ix_(alike[k], alike[k])]
        rates[k] = np.linalg.eigvalsh(0.5 * (part + part.T))[0]
    out[0, finite] = rates
    return out


def _alike(values: Array, rank: int) -> NDArray[np.bool_]:
    """Return which of the singular values (n, rank) are equal to the smallest one up to rounding."""
    limit = (1.0 + ALIKE_SINGULAR_VALUES) * values[:, rank - 1] + LEVEL_SINGULAR_VALUES * values[:, 0]
    return np.asarray(values[:, :rank] <= limit[:, None])


def _of_matrices(matrices: Array, rates: Array, rank: int) -> Array:
    """Return the channels of A (n, m, k) and Ȧv (n, m)."""
    left, values, _ = np.linalg.svd(matrices, full_matrices=False)
    least, largest = values[:, rank - 1], values[:, 0]
    alike = _alike(values, rank)
    along = np.where(alike, np.einsum("nij,ni->nj", left[:, :, :rank], rates), 0.0)
    indicator = np.sqrt((along**2).sum(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.sqrt((np.where(alike, along / values[:, :rank], 0.0) ** 2).sum(axis=1))
    acceleration[least <= UNKNOWN_INDICATOR * largest] = np.nan
    acceleration[(rates == 0.0).all(axis=1)] = 0.0
    return np.array([least, indicator, acceleration])
