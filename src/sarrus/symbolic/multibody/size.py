"""The size of a mechanism, known before anything is traced: what its equations cost as straight-line code.

Measured on one core of a 2-core machine, CPU time to the first answer of forward dynamics and peak memory:

======================================  ==========  =======  ======
revolute joints                         velocities  time     memory
======================================  ==========  =======  ======
tree, every body carries two            400         23 s     0.5 GB
the same                                800         53 s     1.0 GB
the same                                1,600       257 s    3.1 GB
one chain                               200         39 s     0.5 GB
the same                                300         74 s     0.9 GB
the same                                400         127 s    1.4 GB
======================================  ==========  =======  ======

It follows the velocities, and the entries of M that are not zero: one for each pair of velocities of which the one
moves the other.
"""

from __future__ import annotations

from math import ceil, sqrt

from sarrus.base.errors import ModelError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.multibody.tolerances import ENTRIES_PER_VELOCITY

LARGEST = 1000


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
    return max(velocities, ceil(sqrt(ENTRIES_PER_VELOCITY * entries)))


def check_size(mechanism: Mechanism, largest: int | None) -> None:
    """Raise `ModelError` for a mechanism whose `size` is above ``largest``; None allows any."""
    counted = 0 if largest is None else size(mechanism)
    if largest is None or counted <= largest:
        return
    velocities = len(mechanism.velocity_names)
    chains = f", in chains so long that they count as {counted}" if counted > velocities else ""
    raise ModelError(
        f"mechanism {mechanism.name!r} is too large to be compiled: it has {velocities} velocities{chains}; at most "
        f"{largest} are taken. With {LARGEST} the first answer takes about a minute and a gigabyte; "
        f"System(mechanism, largest={counted}) waits for it",
        element=mechanism.name,
    )
