"""Tendons: strings along a path over the bodies, or weighted sums of coordinates, whose length carries a force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.pose import Pose

WRAP_KINDS = ("sphere", "cylinder")


@dataclass(frozen=True, eq=False)
class TendonPoint:
    """A point of a body [m, body axes] that a tendon runs through."""

    body: str
    point: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Pulley:
    """A block and tackle: what follows counts its length divided by ``divisor``, up to the next pulley.

    The path is interrupted there: the point before and the point after it are not joined.
    """

    divisor: float


@dataclass(frozen=True, eq=False)
class Wrap:
    """A sphere or an endless cylinder on a body that a tendon bends around, between the points before and after it.

    ``pose`` is its frame in the body: the centre, and for a cylinder its axis z; ``radius`` in m. Without ``side`` the
    tendon takes the shorter way around wherever the straight line would pass through, so that it jumps from one side to
    the other where the line passes through the centre. ``side`` is a point (body, point
    in body axes) on the side that the tendon keeps to: where the line would run behind the centre, seen from there, it
    goes around. A side inside the surface makes the tendon pass through the inside. Where an end lies inside the
    surface the tendon is straight (all as in MuJoCo 4). Points on the surface within 1e-6 of the radius are on it: an
    end there is where an arc begins, and a side point there is outside.
    """

    body: str
    kind: str
    radius: float
    pose: Pose = field(default_factory=Pose)
    side: tuple[str, Array] | None = None


@dataclass(frozen=True)
class TendonJoint:
    """The coordinate of a joint times a weight: part of the length of a tendon without path (MuJoCo's fixed one)."""

    coordinate: str
    weight: float


@dataclass(frozen=True, eq=False)
class Tendon:
    """A length L(q) with a spring, a damper and an inertia along it.

    ``path`` has points, pulleys and wraps (a spatial tendon), or joints alone (a fixed one). The tension is
    stiffness × x + Σ stiffness_higher[k] x^(k+2) + damping × L̇ + Σ damping_higher[k] |L̇|^(k+1) L̇ [N], with x by
    how much L is outside ``rest_length`` = (lower, upper), zero inside: (0, L) is a rope. ``armature`` [kg] adds
    ½ armature L̇² to the kinetic energy. ``force_limits`` [N], which contain zero, bound what all its actuators do
    together; ``limits`` [m] and ``friction`` (dry, [N]) are recorded and do not act.
    """

    name: str
    path: tuple[TendonPoint | Pulley | Wrap | TendonJoint, ...]
    stiffness: float = 0.0
    damping: float = 0.0
    rest_length: tuple[float, float] = (0.0, 0.0)
    armature: float = 0.0
    stiffness_higher: tuple[float, ...] = ()
    damping_higher: tuple[float, ...] = ()
    limits: tuple[float, float] | None = None
    friction: float = 0.0
    force_limits: tuple[float, float] | None = None

    @property
    def spatial(self) -> bool:
        """Whether it runs over the bodies."""
        return not any(isinstance(item, TendonJoint) for item in self.path)


@dataclass(frozen=True, eq=False)
class Segment:
    """A stretch of a spatial tendon between two points, straight or around a wrap; it counts 1 / ``divisor``."""

    start: TendonPoint
    end: TendonPoint
    wrap: Wrap | None
    divisor: float


def segments(path: Sequence[TendonPoint | Pulley | Wrap | TendonJoint]) -> list[Segment]:
    """Return the stretches of a spatial path; raises `ValueError` where the order of its items makes no path."""
    out: list[Segment] = []
    start: TendonPoint | None = None
    wrap: Wrap | None = None
    divisor, count = 1.0, 0
    for item in [*path, Pulley(1.0)]:
        if isinstance(item, TendonPoint):
            if start is not None:
                out.append(Segment(start, item, wrap, divisor))
            start, wrap, count = item, None, count + 1
        elif isinstance(item, Wrap):
            if start is None or wrap is not None:
                raise ValueError("a wrap needs a point before it and a point after it")
            wrap = item
        elif isinstance(item, Pulley):
            if wrap is not None:
                raise ValueError("a wrap needs a point before it and a point after it")
            if count == 1 or (not count and out):
                raise ValueError("it needs two points at least, and as many in every part between pulleys")
            start, divisor, count = None, item.divisor, 0
        else:
            raise ValueError("points, pulleys and wraps do not go together with coordinates")
    if not out:
        raise ValueError("it needs two points at least, and as many in every part between pulleys")
    return out
