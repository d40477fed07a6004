"""Motions that lead beyond what the loops can reach: where a run ends because nothing closes a moment later."""

from __future__ import annotations

import numpy as np

from sarrus.base.status import Status
from sarrus.dynamics.closing.assembly import assemble
from sarrus.motion.loop.time_loop import TimeLoop
from sarrus.motion.loop.tolerances import UNREACHABLE_AHEAD


def beyond_reach(loop: TimeLoop) -> str:
    """Return what a run has to say of motions that end it, nothing where the loops close a moment later, too."""
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
        f"{', '.join(map(repr, given))} leads beyond what the loops can reach from t = {t:.6g} s on: at {later:.6g} s "
        f"{gap!r} stays open by {found.gaps[gap]:.2g}. Give it a smaller range, or change lengths; "
        "sarrus.follow_curve says how far a coordinate can go. The motion up to then is kept"
    )
