"""The constraints that were active at a sample of a run, for systems whose constraints switch."""

from __future__ import annotations

import numpy as np

from sarrus.dynamics.impacts.activity import active
from sarrus.dynamics.system import System
from sarrus.motion.records.recorded_motion import RecordedMotion
from sarrus.symbolic.equations.equations import activity_parameter, stick_parameter


def as_in_run(system: System, run: RecordedMotion, k: int) -> System:
    """Return the system with the constraints that were active at sample k of a run.

    Active are the constraints with a nonzero multiplier, the ones that are active in the system, and the ones that
    closed and did not open again before the sample. A contact that can stick and carries a normal force alone slides.
    """
    on = active(system)
    for switch in run.switches:
        if switch.time > run.t[k]:
            break
        on |= {name: True for name in switch.closed if name in on}
        on |= {name: False for name in switch.opened if name in on}
    held: dict[str, float] = {}
    for name, holds in on.items():
        rows = run.multipliers[k, system.closure_rows[name]]
        loaded = bool(np.any(rows != 0.0))
        held[activity_parameter(name)] = float(holds or loaded)
        stick = stick_parameter(name)
        if stick in system.parameters:
            held[stick] = float(not loaded or np.any(rows[1:] != 0.0))
    return system.with_parameters(held)
