"""The size of a mechanism, known before anything is traced: what its equations cost as straight-line code.

Measured with trees of revolute joints in which every body carries two, and with single chains, on one core of a
2-core machine: the first answer takes 23 s of CPU time for a tree of 400 velocities and 53 s for one of 800 (1 GB),
39 s for a chain of 200 and 74 s for one of 300 (0.9 GB). It follows the velocities, and the entries of M that are not
zero: one for each pair of velocities of which the one moves the other.
"""

from __future__ import annotations

from math import ceil, sqrt

from sarrus.errors import ModelError
from sarrus.mechanism.elements import WORLD
from sarrus.mechanism.mechanism import Mechanism

LARGEST = 1000
# A chain costs as much as a tree of N velocities where its M has N² over this many entries.
_ENTRIES = 20.0


def size(mechanism: Mechanism) -> int:
    """Return the number of velocities, or more for long chains: √(20 n), n the entries i ≥ j of M that are not zero.

    A single chain of N velocities counts as about 3.2 N.
    """
    depth, velocities, entries = {WORLD: 0}, 0, 0
    for body in mechanism.bodies.values():
        own = sum(joint.nv for joint in body.joints)
        above = depth.get(body.parent, 0)
        depth[body.name] = above + own
        velocities += own
        entries += own * above + own * (own + 1) // 2
    return max(velocities, ceil(sqrt(_ENTRIES * entries)))


def check_size(mechanism: Mechanism, largest: int | None) -> None:
    """Raise `ModelError` for a mechanism whose `size` is above ``largest``; None allows any."""
    counted = 0 if largest is None else size(mechanism)
    if largest is None or counted <= largest:
        return
    velocities = len(mechanism.velocity_names())
    chains = f", in chains so long that they count as {counted}" if counted > velocities else ""
    raise ModelError(
        f"mechanism {mechanism.name!r} is too large to be compiled: it has {velocities} velocities{chains}; at most "
        f"{largest} are taken. With {LARGEST} the first answer takes about a minute and a gigabyte; "
        f"System(mechanism, largest={counted}) waits for it",
        element=mechanism.name,
    )
