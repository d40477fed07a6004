"""Conditions at which a design is evaluated: configurations given by drivers, at rest or moving, and equilibria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array


@dataclass(frozen=True, eq=False)
class Configuration:
    """A configuration of the mechanism given by the values of driven coordinates, which leave no degree of freedom.

    Attributes
    ----------
    drivers : values of the driven coordinates by name [rad, m]; together with the loops they determine q.
    free : names of drivers whose value is a variable of the search, starting at the given one.
    rates, accelerations : of the drivers [1/s, 1/s²]; default zero.
    guess : (nq,) start for closing the loops, which selects the branch. Default: the configuration before it among
        those of the problem; for the first one the reference pose.
    t : time [s] of closures and forces that depend on it.
    """

    drivers: Mapping[str, float]
    free: tuple[str, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    accelerations: Mapping[str, float] = field(default_factory=dict)
    guess: ArrayLike | None = None
    t: float = 0.0


@dataclass(frozen=True, eq=False)
class Rest:
    """The mechanism in equilibrium without drivers: the equilibrium near ``guess`` (nq,) under inputs u (nu,)."""

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
    """Return a `Configuration` for each value (n,) of the drivers, consecutive on one branch from the guess.

    ``rates`` and ``accelerations`` are numbers for all configurations, or (n,) values. Other arguments are those of
    `Configuration`. `ArgumentError` if lengths differ or a value is not finite.
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
