"""Offsets of closures along directions in which no joint moves the two bodies.

A planar loop whose two frames are 2 mm apart along the normal of its plane cannot close: no joint moves them along this
direction, in any configuration. A closure with ``keep_offset`` keeps the modelled offset: its part in the left null
space of the rows, at the reference pose and t = 0, is subtracted from the residual. The remaining part must be closed
by the joints.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.quaternions import normalize
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.symbolic.kinematics.jet import Jet
from sarrus.symbolic.multibody.tolerances import OFFSET_CONFIGURATIONS, OFFSET_DISTANCE


def less_offset(
    residual: Jet,
    q: ca.SX,
    v: ca.SX,
    t: ca.SX,
    p: ca.SX,
    values: Sequence[float],
    neutral: Array,
    quaternions: np.ndarray,
) -> Jet:
    """Return the rows of a closure minus the part of φ at the reference pose along which no joint moves them.

    ``values`` are the values of the parameters p; if the part depends on p, it is an expression of p.
    """
    rng, lengths = np.random.default_rng(13), OFFSET_CONFIGURATIONS + 1
    rows = ca.Function("rows", [q, v, p, t], [ca.jacobian(residual.rate, v)])
    places = [
        neutral,
        *(neutral + OFFSET_DISTANCE * rng.standard_normal(len(neutral)) for _ in range(lengths - 1)),
    ]
    found = []
    for place in places:
        normalize(place, quaternions)
        found.append(np.array(rows(place, np.zeros(v.numel()), values, 0.0)))
    null = ranked(np.hstack(found), relative=RANK_CUT).left_null
    along = ca.DM(dense.product(null, null.T))
    there = ca.substitute(ca.substitute(residual.value, q, ca.DM(neutral)), t, ca.SX(0.0))
    if not p.numel() or not ca.depends_on(there, p):
        there = ca.SX(ca.evalf(ca.substitute(there, p, ca.DM(values)) if p.numel() else there))
    return Jet(residual.value - along @ there, residual.rate, residual.bias)
