"""A body whose pose in the world is given from outside: a mocap body of MJCF, a shaker, a moving platform."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.model.mechanism.elements import Function


@dataclass(frozen=True, eq=False)
class DrivenBody:
    """A body fixed to the ground that moves as ``function`` of time says; without one it stays where it is.

    ``function(t)`` returns CasADi expressions: the position of the body in the world [m], three entries, or that and
    a wxyz quaternion, as seven entries or as a pair. The quaternion is scaled to length one.
    """

    name: str
    function: Function | None = None
