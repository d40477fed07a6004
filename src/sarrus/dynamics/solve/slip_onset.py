"""Direction in which a contact with friction begins to slip although the constraints hold it at this instant.

Example: a slider at its dead centre. Its velocity J v is zero and its acceleration J a + J̇ v nearly so, for all
forces. On a motion v t⁰ + a t + … along closed constraints the velocity is then B(v, v) t + … + B(a, a) t³/2, with the
quadratic part B of J a + J̇ v in velocities; for one motion both terms have the same direction, and so has the reversed
motion. Friction there does no work to first order, but it acts from this instant on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.contact_elements import ContactElement
from sarrus.dynamics.contacts.contact_state import contact_row_state
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.ranks import project_velocity
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.kernels.contact.tolerances import NO_ACCELERATION, NO_COMPLIANCE, STEADY, STILL


def is_moved(responses: Array, accelerations: Array) -> Array:
    """Return a mask of the rows that move, under forces on themselves or without, by more than rounding.

    The arguments are the diagonal of W and the accelerations without these forces; both are zero for rows held by the
    constraints.
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
    blocks: Sequence[ContactElement],
    answer: Callable[[Array], ForwardDynamics],
) -> list[Array]:
    """Return the unit direction in which each of ``blocks`` begins to slip; zero if it stays at rest.

    ``blocks`` have tangential rows without velocity, acceleration and response to forces at q, v and the acceleration
    a with all forces; ``answer`` is the forward dynamics without contacts at q for a velocity. The velocity v decides
    the direction, and if it gives none the acceleration.
    """

    def accelerations(v: Array) -> Array:
        rows, found = contact_row_state(work, q, v, t), answer(v)
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
