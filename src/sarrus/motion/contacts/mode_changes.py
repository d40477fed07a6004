"""`Change`: contacts, stops and dry frictions whose mode changed at one instant of a run."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from sarrus.base.arrays import Array
from sarrus.kernels.memory.contact_layout import OPEN, SLIDING, STICKING


class Change(NamedTuple):
    """Names of the contacts and joints whose mode changed at one instant, and the kinetic energy lost in an
    impact [J].
    """

    closed: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    bounced: tuple[str, ...] = ()
    slipping: tuple[str, ...] = ()
    sticking: tuple[str, ...] = ()
    energy_loss: float = 0.0


def change_between(
    names: Sequence[str],
    unilateral: int,
    before: Array,
    after: Array,
    approaching: Container[int],
    loss: float,
) -> Change:
    """Return the `Change` between the modes of the blocks before and after; the first ``unilateral`` blocks only
    push.
    """
    closed, opened, bounced, slipping, sticking = (list[str]() for _ in range(5))
    for k, (name, was, now) in enumerate(zip(names, before.tolist(), after.tolist())):
        if k < unilateral and now == OPEN:
            if k in approaching:
                bounced.append(name)
            elif was != OPEN:
                opened.append(name)
        elif k < unilateral and was == OPEN:
            closed.append(name)
        if now == SLIDING != was:
            slipping.append(name)
        elif now == STICKING and was == SLIDING:
            sticking.append(name)
    return Change(
        tuple(closed), tuple(opened), tuple(bounced), tuple(slipping), tuple(sticking), energy_loss=loss
    )
