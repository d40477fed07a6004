"""Activation of demands: the setting NAME.on switches a demand on and off, at once or within a ramp [s]."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import finite_array, number_between
from sarrus.control.laws.demands import Demand, Settings


def adjusted(
    demand: Demand, settings: Settings, weight: ArrayLike | None, on: float | None, ramp: float
) -> Demand:
    """Return a demand whose rows are switched by NAME.on and multiplied by NAME.weight, if these are given."""
    name, size = demand.name, len(demand.rows)
    demand = replace(demand, active=_active(settings, name, size, on, ramp))
    if weight is None:
        return demand
    given = finite_array(weight)
    if given is None or not np.all(given > 0.0):
        raise ArgumentError(
            f"{name}: weight must be positive numbers, got {weight!r}", element=f"{name}.weight"
        )
    w = ca.diag(settings.add(f"{name}.weight", given, size, name))
    unknowns = None if demand.unknowns is None else w @ demand.unknowns
    return replace(demand, jacobian=w @ demand.jacobian, wanted=w @ demand.wanted, unknowns=unknowns)


def smooth_step(x: ca.SX) -> ca.SX:
    """Return 0 below 0, 1 above 1 and 3 x² − 2 x³ between them."""
    x = ca.fmin(ca.fmax(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def _active(settings: Settings, name: str, rows: int, on: float | None, ramp: float) -> ca.SX | None:
    """Return the activity (1,) of the rows of a demand, from 0 to 1: the setting NAME.on, at once or within ``ramp``
    [s].

    With a ramp NAME.on is the target, and the state NAME.active follows it at the rate 1 / ramp from sample to sample;
    a law that is reset, as at the start of a run, begins at NAME.on. Without a ramp no samples are needed. Returns None
    for ``on`` None: the rows are always active.
    """
    ramp = number_between(ramp, 0.0, np.inf, f"{name}.ramp")
    if on is None:
        if ramp > 0.0:
            raise ArgumentError(
                f"{name}: ramp= is for a demand that is switched; give on=1.0 or on=0.0 too",
                element=f"{name}.on",
            )
        return None
    on = number_between(on, 0.0, 1.0, f"{name}.on")
    wanted = ca.fmin(ca.fmax(settings.add(f"{name}.on", on, 1, name), 0.0), 1.0)
    if ramp == 0.0:
        return ca.repmat(wanted, rows, 1)
    state = settings.remember(f"{name}.active", on, 1, name, like=f"{name}.on")
    step = settings.period / ramp
    state.next = state.value + ca.fmin(ca.fmax(wanted - state.value, -step), step)
    return ca.repmat(ca.fmin(ca.fmax(state.value, 0.0), 1.0), rows, 1)
