"""Conditions that a design is looked at under: configurations that drivers hold, moving or not, and places of rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array


@dataclass(frozen=True, eq=False)
class Configuration:
    """The mechanism as drivers hold it: coordinates with given values, which leave nothing else free.

    Attributes
    ----------
    drivers : values of the driven coordinates by name [rad, m]; together with the loops they determine q.
    free : names of drivers whose value is searched for too, from the given one.
    rates, accelerations : of the drivers [1/s, 1/s²]; zero where they are left out.
    guess : (nq,) where the loops are closed from, which selects the branch. By default the configuration before it
        among those of the problem; of the first one the reference pose.
    t : time [s], for closures and forces that depend on it.
    """

    drivers: Mapping[str, float]
    free: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    accelerations: Mapping[str, float] = field(default_factory=dict)
    guess: ArrayLike | None = None
    t: float = 0.0


@dataclass(frozen=True, eq=False)
class Rest:
    """The mechanism at rest where nothing drives it: the place of equilibrium near ``guess`` (nq,) under inputs u."""

    guess: ArrayLike
    u: ArrayLike | None = None
    t: float = 0.0


Condition = Configuration | Rest


def sweep(
    drivers: Mapping[str, ArrayLike],
    *,
    free: Sequence[str] = (),
    rates: Mapping[str, ArrayLike] | None = None,
    accelerations: Mapping[str, ArrayLike] | None = None,
    guess: ArrayLike | None = None,
    t: float = 0.0,
) -> tuple[Configuration, ...]:
    """Return a configuration for each value (n,) of the drivers, one after the other on one branch from the guess.

    ``rates`` and ``accelerations`` are numbers that hold for all, or (n,) values. Other arguments are those of
    `Configuration`. `ArgumentError` where lengths differ or a value is no finite number.
    """
    columns = {name: np.atleast_1d(real_array(values)) for name, values in drivers.items()}
    sizes = {values.shape for values in columns.values()}
    if len(sizes) != 1 or len(next(iter(sizes))) != 1:
        raise ArgumentError(
            "sweep: drivers must map names to values of one length, such as {'crank': [0.0, 0.1]}",
            element="drivers",
        )
    n = next(iter(sizes))[0]
    moving = {
        what: {name: _spread(what, name, values, n) for name, values in (given or {}).items()}
        for what, given in (("rates", rates), ("accelerations", accelerations))
    }
    return tuple(
        Configuration(
            _at(columns, k),
            tuple(free),
            _at(moving["rates"], k),
            _at(moving["accelerations"], k),
            guess if k == 0 else None,
            t,
        )
        for k in range(n)
    )


def _at(columns: Mapping[str, np.ndarray], k: int) -> dict[str, float]:
    return {name: float(values[k]) for name, values in columns.items()}


def _spread(what: str, name: str, values: ArrayLike, n: int) -> np.ndarray:
    array = real_array(values)
    if array.shape not in ((), (n,)):
        raise ArgumentError(
            f"sweep: {what}[{name!r}] must be one number or {n}, got shape {array.shape}", element=name
        )
    return np.broadcast_to(array, (n,))
