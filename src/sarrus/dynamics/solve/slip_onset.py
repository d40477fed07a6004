"""Whither something with friction begins to slip that the constraints hold at an instant: a slider at its dead centre.

There its velocity J v is zero and its acceleration J a + J̇ v next to none, whatever forces act. In a motion
v t⁰ + a t + … along which the constraints stay closed the velocity is then (B(v, v) t + … + B(a, a) t³/2), B the
quadratic part of the acceleration J a + J̇ v in velocities: for one motion both terms have one direction, whichever
way that goes. Friction there has no lever and does no work to first order, but it acts from that instant on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_state import Touching, touch_rows
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.ranks import project_velocity
from sarrus.dynamics.solve.tolerances import NO_ACCELERATION, NO_COMPLIANCE
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import STEADY, STILL


def is_moved(responses: Array, accelerations: Array) -> Array:
    """Return which of all rows move, with forces on themselves or without, by more than rounding.

    The arguments are the diagonal of W and the accelerations without these forces; both are zero where the constraints
    hold a row.
    """
    responses, accelerations = np.abs(responses), np.abs(accelerations)
    moved: Array = responses > NO_COMPLIANCE * responses.max(initial=0.0)
    return moved | (accelerations > NO_ACCELERATION * accelerations.max(initial=0.0))


def slip_onsets(
    work: Workspace,
    q: Array,
    v: Array,
    a: Array,
    t: float,
    blocks: Sequence[Touching],
    answer: Callable[[Array], ForwardDynamics],
) -> list[Array]:
    """Return the direction in which each of ``blocks`` begins to slip, of length one; zero where it stays at rest.

    ``blocks`` have neither velocity nor acceleration nor an acceleration by forces in their tangential rows at q, v
    and the acceleration a with all forces; ``answer`` is the forward dynamics without contacts at q and a velocity.
    The velocity v counts, and where it moves nothing the acceleration.
    """

    def accelerations(v: Array) -> Array:
        rows, found = touch_rows(work, q, v, t), answer(v)
        return (
            rows.rows @ np.array(found.a) + rows.bias if found.status.ok else np.full(len(rows.bias), np.nan)
        )

    found = [np.zeros(one.tails.stop - one.tails.start) for one in blocks]
    size, still = work.characteristic.columns, np.zeros(work.nv)
    hurry = 1.0 + float(np.abs(size * a).max(initial=0.0))
    drift = project_velocity(work, q, still, t) if work.nc else still
    for motion in (v, a):
        way = project_velocity(work, q, motion, t) - drift if work.nc else motion
        speed = float(np.abs(size * way).max(initial=0.0))
        if not speed > STILL:
            continue
        probe = np.sqrt(hurry) / speed * way
        ahead, back, rest = (accelerations(w) for w in (drift + probe, drift - probe, drift))
        changes = 0.5 * (ahead + back) - rest
        for one, direction in zip(blocks, found):
            own = changes[one.tails] / one.unit
            length = float(np.linalg.norm(own))
            if length > STEADY * hurry and not direction.any():
                direction[:] = own / length
    return found
