"""The configuration at which a model is shown and analysed if the user gives none."""

from __future__ import annotations

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.closing.tolerances import OPEN
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System


def default_configuration(system: System) -> Array:
    """Return the first keyframe (nq,), else the reference pose, with its loops closed if they can be."""
    keyframes = system.mechanism.keyframes if system.mechanism else {}
    start = system.normalized(next((key.q for key in keyframes.values()), system.neutral()))
    if open_by(system, start) > OPEN:
        closed = system.assemble(start, throw=False)
        start = np.array(closed.q) if closed.status is Status.OK else start
    return start
