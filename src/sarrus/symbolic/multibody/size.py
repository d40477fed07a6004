"""The size of a mechanism before it is traced: the cost of its equations as straight-line code.

Measured on one core of a 2-core machine, CPU time to the first answer of forward dynamics and peak memory:

======================================  ==========  =======  ======
revolute joints                         velocities  time     memory
======================================  ==========  =======  ======
tree, two children per body             400         23 s     0.5 GB
tree, two children per body             800         53 s     1.0 GB
tree, two children per body             1,600       257 s    3.1 GB
one chain                               200         39 s     0.5 GB
one chain                               300         74 s     0.9 GB
one chain                               400         127 s    1.4 GB
======================================  ==========  =======  ======

The cost follows the number of velocities and the number of nonzero entries of M, one for each pair of velocities of
which one moves the other.
"""

from __future__ import annotations

from math import ceil, sqrt

from sarrus.base.errors import ModelError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.multibody.tolerances import ENTRIES_PER_VELOCITY

LARGEST = 1000


def size(mechanism: Mechanism) -> int:
    """Return the number of velocities, or, for long chains, √(20 n) with the number n of nonzero entries i ≥ j of M.

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
        f"{largest} are allowed. With {LARGEST} the first answer takes about a minute and a gigabyte; "
        f"System(mechanism, largest={counted}) accepts it",
        element=mechanism.name,
    )
