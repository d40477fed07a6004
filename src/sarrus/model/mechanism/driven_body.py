"""A body with a prescribed pose in the world: a mocap body of MJCF, a shaker, a moving platform."""

from __future__ import annotations

from dataclasses import dataclass

from sarrus.model.mechanism.elements import Function


@dataclass(frozen=True, eq=False)
class DrivenBody:
    """A body fixed to the ground whose pose is ``function`` of time; without a function it stands still.

    ``function(t)`` returns CasADi expressions: the position of the body in the world [m], three entries, or that and
    a wxyz quaternion, as seven entries or as a pair. The quaternion is scaled to length one.
    """

    name: str
    function: Function | None = None
