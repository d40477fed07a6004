"""Chattering: a force or control jumps across a surface and pushes back from both sides, and steps shrink without end.

On the surface the equations have no solution in the usual sense; Filippov's solution slides along it (A. F. Filippov,
Differential Equations with Discontinuous Righthand Sides, 1988, section 4). The usual cause is dry friction written as
sign(v): if it exceeds all other forces the body sticks, and the integrator sees only jumps. Coulomb friction of
contacts does not chatter, because stick and slip are events; in slow slip its direction turns fast, which is no jump.
"""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.motion.loop.time_loop import TimeLoop
from sarrus.motion.loop.tolerances import CHATTER_FAR, CHATTER_NEAR, CHATTER_ROUNDING, CHATTER_SAME


def jump(loop: TimeLoop) -> str | None:
    """Return the text that names the jumping acceleration at the state of a run and its two values; None without a
    jump.
    """
    s = loop.system
    v = loop.v.copy()
    here = loop.acceleration(v)
    weights = s.characteristic.columns
    size = float(np.abs(weights * here).max(initial=0.0))
    if not np.isfinite(here).all() or size == 0.0:
        return None
    rounding = CHATTER_ROUNDING * float(np.abs(weights * v).max(initial=0.0))
    step = max(float(loop.state.step) * size, rounding) / size
    near, far = (_sides(loop, v, factor * step * here) for factor in (CHATTER_NEAR, CHATTER_FAR))
    if near is None or far is None:
        return None
    change, before = near[1] - near[0], far[1] - far[0]
    metric = weights**2 * here
    pushes_back = metric @ near[1] < 0.0 < metric @ near[0]
    if not pushes_back or np.abs(weights * before).max() > CHATTER_SAME * np.abs(weights * change).max():
        return None
    if not _jumps_without_contacts(
        loop, v, CHATTER_NEAR * step * here, float(np.abs(weights * change).max())
    ):
        return None
    k = int(np.argmax(np.abs(weights * change)))
    return (
        f"the acceleration of {s.velocity_names[k]!r} jumps from {near[0][k]:.4g} to {near[1][k]:.4g} across "
        f"{s.velocity_names[k]} = {v[k]:.4g} per second, and both sides push back"
    )


def _jumps_without_contacts(loop: TimeLoop, v: Array, apart: Array, change: float) -> bool:
    """Return whether more than half of a jump, in characteristic units, remains if contacts have no friction."""
    if loop.contact_run is None or not loop.contact_run.friction.any():
        return True
    friction = loop.contact_run.friction.copy()
    try:
        loop.contact_run.friction[:] = 0.0
        sides = _sides(loop, v, apart)
    finally:
        loop.contact_run.friction[:] = friction
    if sides is None:
        return True
    return float(np.abs(loop.system.characteristic.columns * (sides[1] - sides[0])).max()) > 0.5 * change


def _sides(loop: TimeLoop, v: Array, apart: Array) -> tuple[Array, Array] | None:
    """Return the accelerations at v − apart and v + apart; None if one of them does not exist."""
    sides = loop.acceleration(v - apart), loop.acceleration(v + apart)
    return sides if np.isfinite(sides).all() else None
