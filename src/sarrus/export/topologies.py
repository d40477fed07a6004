"""`Topologies`: rank and scales of A for each active set of the switchable constraints, for exported functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SarrusError
from sarrus.base.status import Status
from sarrus.dynamics.closing.assembly import assemble
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.symbolic.equations.equations import activity_parameter, anchor_parameter, stick_parameter

# Largest number of switches with a table: 2^10 active sets take some seconds.
MOST_SWITCHES = 10
_STICK = stick_parameter("")


@dataclass(frozen=True, eq=False)
class Topologies:
    """A row of numbers for each active set; the first ``counts`` entries of a row are whole numbers.

    ``switches`` are indices of parameters, the first one the lowest bit of the row index. With too many switches there
    is one row for all active sets.
    """

    switches: tuple[int, ...]
    values: Array
    counts: int


def topologies(
    system: System,
    q: Array,
    names: Sequence[str],
    look: Callable[[Workspace, Array], Sequence[float]],
    otherwise: Sequence[float],
    counts: int,
    t: float = 0.0,
) -> Topologies | None:
    """Return the results of ``look`` for a workspace near a closed configuration, one for each active set.

    ``names`` are parameters in A; only switches among them are varied, the others keep their values. None without
    switches. ``otherwise`` is the result if the constraints are not finite, and for too many switches: pivots then
    decide the rank.
    """
    keys, switches = list(system.parameters), switches_of(system, names)
    if not switches:
        return None
    if len(switches) > MOST_SWITCHES:
        return Topologies(switches, np.array([otherwise], dtype=float), counts)
    found: dict[tuple[float, ...], Sequence[float]] = {}
    rows = []
    for number in range(2 ** len(switches)):
        values = {keys[index]: float(number >> bit & 1) for bit, index in enumerate(switches)}
        for name in values:  # an open contact neither sticks nor slides
            own = name.removeprefix(_STICK)
            if own != name and not values.get(activity_parameter(own), 1.0):
                values[name] = 0.0
        key = tuple(values.values())
        if key not in found:
            found[key] = _looked_at(system, q, t, values, look, otherwise)
        rows.append(found[key])
    return Topologies(switches, np.array(rows, dtype=float), counts)


def switches_of(system: System, names: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the parameters that are switches of constraints."""
    keys = list(system.parameters)
    return tuple(keys.index(name) for name in names if name.startswith((activity_parameter(""), _STICK)))


def _looked_at(
    system: System,
    q: Array,
    t: float,
    values: dict[str, float],
    look: Callable[[Workspace, Array], Sequence[float]],
    otherwise: Sequence[float],
) -> Sequence[float]:
    """Return the result for one active set, with couplings and sticking contacts anchored at q."""
    work = system.workspace().copy()
    try:
        work.parameters.update(values)
        left = work.constraint_residual(q, t)
        anchors = zip(map(anchor_parameter, work.constraint_names), left.tolist())
        work.parameters.update(
            {name: work.parameters[name] + value for name, value in anchors if name in work.parameters}
        )
        closed = assemble(work, q, t, throw=False)
        return look(work, q if closed.status is Status.NOT_CLOSED else np.array(closed.q))
    except SarrusError:
        return otherwise
