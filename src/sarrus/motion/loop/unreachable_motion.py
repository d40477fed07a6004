"""Prescribed motions that leave the reach of the loops: a run ends where the loops cannot be closed a moment later."""

from __future__ import annotations

import numpy as np

from sarrus.base.status import Status
from sarrus.dynamics.closing.assembly import assemble
from sarrus.motion.loop.time_loop import TimeLoop
from sarrus.motion.loop.tolerances import UNREACHABLE_AHEAD


def unreachable_motion(loop: TimeLoop) -> str:
    """Return the message that names the prescribed motions which end a run; "" if the loops still close a moment
    later.
    """
    s, q, t = loop.system, loop.q, loop.time
    if not (s.nh and s.model.is_rheonomic and np.isfinite(q).all()):
        return ""
    speeds = np.abs(s.velocity_residual(q, np.zeros(s.nv), t) * s.characteristic.rows)[: s.nh]
    if not speeds.any():
        return ""
    later = t + 2.0 * loop.state.step + UNREACHABLE_AHEAD / speeds.max()
    found = assemble(s, q, later, throw=False)
    if found.status is not Status.NOT_CLOSED:
        return ""
    given = [name for name, rows in s.closure_rows.items() if speeds[rows].any()]
    gap = max(found.gaps, key=lambda name: found.gaps[name])
    return (
        f"the prescribed motion of {', '.join(map(repr, given))} leaves the reach of the loops at t = {t:.6g} s: "
        f"at {later:.6g} s closure {gap!r} stays open by {found.gaps[gap]:.2g} (m or rad). Give the motion a smaller "
        "range, or change the lengths; sarrus.follow_curve returns the range of a coordinate"
    )
