"""Messages for starts that no contact allows: a tendon beyond a limit of its length, geometries in each other."""

from __future__ import annotations

from sarrus.base.errors import ArgumentError
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


def begins_too_deep(
    system: str, what: str, name: str, depth: float, deep: float, *, plane: bool | None = None
) -> ArgumentError:
    """Return the error that a run of a system begins with a contact closed by ``depth`` [m] too far.

    ``plane``: a point below its plane; False: geometries in each other; None: geometries that nothing lifts. The error
    begins with ``what``; up to ``deep`` [m] would be no error.
    """
    text = f"geometries {name!r} begin {depth:.3g} m in each other; move them apart"
    if plane:
        text = f"contact {name!r} begins {depth:.3g} m below its plane; raise the body"
    also = "" if plane is None else LIFTS
    return ArgumentError(
        f"{system}: {what}{text}, gaps may be {-deep:.1g} m at the least{also}", element=name
    )
