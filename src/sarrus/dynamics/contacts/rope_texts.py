"""`beyond_length`: the message for a tendon whose length is beyond a limit."""

from __future__ import annotations

from sarrus.dynamics.model.evaluations import Evaluations

# Remedy in errors about deep penetration.
LIFTS = ", or take system.assemble(q, within_limits=True).q"


def beyond_length(system: Evaluations, rope: str, excess: float) -> str:
    """Return the message for a tendon whose length is beyond a limit by ``excess`` [m]."""
    assert system.mechanism is not None
    limits = {limit.name: limit for tendon in system.mechanism.tendons.values() for limit in tendon.ropes}
    longer, ends = ("longer", "nearer") if limits[rope].sign > 0.0 else ("shorter", "farther")
    return (
        f"the path of tendon {limits[rope].tendon.name!r} is {excess:.3g} m {longer} than its limit allows; move its "
        f"ends {ends}, or change the limit{LIFTS}"
    )
