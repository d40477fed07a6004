"""Noise of logs: standard deviations of q (along velocities), v, a and u, given or estimated from the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.design.identification.measurements import Measurements
from sarrus.design.identification.tolerances import LEAST_NOISE, NOISE_FLOOR, NOISE_PART
from sarrus.dynamics.closing.manifold import differences
from sarrus.dynamics.system import System


def given_noise(system: System, given: Mapping[str, Any] | None) -> Array:
    """Return standard deviations (3 nv + nu,) of the noise of q along velocities, v, a and u; NaN without any."""
    widths = {"q": system.nv, "v": system.nv, "a": system.nv, "u": system.nu}
    if given is None:
        return np.full(sum(widths.values()), np.nan)
    unknown = sorted(set(given) - set(widths))
    if unknown:
        raise ArgumentError(
            f"{system.name}: noise must have standard deviations of q, v, a and u, not {unknown[0]!r}",
            element=unknown[0],
        )
    columns = []
    for name, width in widths.items():
        if name not in given:
            raise ArgumentError(
                f"{system.name}: noise has nothing for {name!r}; give its standard deviation", element=name
            )
        array = np.asarray(real_array(given[name]))
        if array.shape not in ((), (width,)) or not np.isfinite(array).all() or (array < 0.0).any():
            raise ArgumentError(
                f"{system.name}: noise[{name!r}] must be a number ≥ 0, or {width} of them, got {given[name]!r}",
                element=name,
            )
        columns.append(np.broadcast_to(array, (width,)))
    return np.concatenate(columns)


def noise_levels(system: System, log: Measurements, given: Mapping[str, Any] | None) -> Array:
    """Return standard deviations (3 nv + nu,) of the noise of q along velocities, v, a and u.

    They are given by the user, for one sample of the log; or from the scatter of periods; or one percent of each
    channel's root mean square, of q about its mean.
    """
    swings = differences(system, log.q[0], log.q)
    signals = (
        swings.std(axis=0),
        *(np.sqrt((x**2).mean(axis=0)) for x in (log.v, log.a, log.u)),
    )
    own = log.scatter if given is None else given_noise(system, given) / np.sqrt(log.periods)
    start, columns = 0, []
    for signal in signals:
        level = own[start : start + len(signal)]
        start += len(signal)
        level = np.where(np.isnan(level), NOISE_PART * signal / np.sqrt(log.periods), level)
        floor = NOISE_FLOOR * max(level.max(initial=0.0), NOISE_PART * signal.max(initial=0.0), LEAST_NOISE)
        columns.append(np.maximum(level, floor))
    return np.concatenate(columns)
