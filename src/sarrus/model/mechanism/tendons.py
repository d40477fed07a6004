"""Tendons: strings along a path over the bodies, or weighted sums of coordinates, with a force along their length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import Function
from sarrus.model.mechanism.pose import Pose

WRAP_KINDS = ("sphere", "cylinder")


@dataclass(frozen=True, eq=False)
class TendonPoint:
    """A point of a body [m, body axes] on the path of a tendon."""

    body: str
    point: Array = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Pulley:
    """A block and tackle: the length from here to the next pulley counts divided by ``divisor``.

    The path is interrupted there: the point before and the point after it are not joined.
    """

    divisor: float


@dataclass(frozen=True, eq=False)
class Wrap:
    """A sphere or an infinite cylinder on a body that a tendon bends around, between the points before and after it.

    ``pose`` is its frame in the body: the centre, and for a cylinder its axis z; ``radius`` in m. Without ``side``, if
    the straight line would pass through the surface, the tendon takes the shorter arc; it jumps to the opposite arc
    where the line passes through the centre. ``side``, a point (body, point in body axes), selects the arc: the tendon
    wraps if the line would pass the centre on the far side from this point. A side point inside the surface makes the
    tendon pass through the inside. If an end is inside the surface, the tendon is straight (all as in MuJoCo 4). A
    point within 1e-6 of the radius is on the surface: at an end the arc begins there, and a side point is outside.

    ``friction_coefficient`` μ is the capstan's: with the angle θ of the arc the tensions before and behind the wrap are
    T₁ ≤ T₂ exp(μθ) and T₂ ≤ T₁ exp(μθ), with equality against the slip while the rope slides over the surface (on a
    cylinder θ is the integral of the curvature, less than the angle of the arc for a helix). The friction acts along
    the rope, not sideways. Several wraps of a rope may have friction if they and the path between them are on one body:
    the rope slides over all of them or over none, and their factors multiply to exp(Σ μθ).
    """

    body: str
    kind: str
    radius: float
    pose: Pose = field(default_factory=Pose)
    side: tuple[str, Array] | None = None
    friction_coefficient: float = 0.0


@dataclass(frozen=True)
class TendonJoint:
    """A coordinate times a weight, a term in the length of a tendon.

    Without other items these are the length of MuJoCo's fixed tendon; beside a path they are drums: the weight is the
    radius [m], positive where a positive rotation winds rope up. Drums before the first wrap with friction are at the
    start of the path, those after it at its end.
    """

    coordinate: str
    weight: float


@dataclass(frozen=True, eq=False)
class Tendon:
    """A length L(q) with a spring, a damper and an inertia along it.

    ``path`` has points, pulleys and wraps (a spatial tendon), or joints alone (a fixed one), or both: then the length
    is the sum of the path and of weight × coordinate. The tension [N] is
    stiffness × x + Σ stiffness_higher[k] x^(k+2) + damping × L̇ + Σ damping_higher[k] |L̇|^(k+1) L̇. The extension x is
    the distance of L to the interval ``rest_length`` = (lower, upper), zero inside: (0, L) is a rope. ``armature`` [kg]
    adds ½ armature L̇² to the kinetic energy. ``force_limits`` [N], which contain zero, bound the sum of the forces of
    all its actuators. ``friction`` [N] is dry friction along the length: at most this force against L̇, taut or slack.
    It is no friction of a rope on what it wraps, which a taut rope of constant length has, too: that is
    ``friction_coefficient`` of a `Wrap`.

    ``limits`` = (lower, upper) [m], each a number or a function of time, are one-sided constraints (`LengthLimit`): at
    the upper limit the tendon is a taut rope, which pulls; at the lower limit it is a strut, which pushes.
    ``restitution`` is Newton's coefficient where one of them is reached.
    """

    name: str
    path: tuple[TendonPoint | Pulley | Wrap | TendonJoint, ...]
    stiffness: float = 0.0
    damping: float = 0.0
    rest_length: tuple[float, float] = (0.0, 0.0)
    armature: float = 0.0
    stiffness_higher: tuple[float, ...] = ()
    damping_higher: tuple[float, ...] = ()
    limits: tuple[float | Function, float | Function] | None = None
    friction: float = 0.0
    force_limits: tuple[float, float] | None = None
    restitution: float = 0.0

    @property
    def spatial(self) -> bool:
        """Whether the tendon has a path over the bodies."""
        return any(not isinstance(item, TendonJoint) for item in self.path)

    @property
    def joints(self) -> list[TendonJoint]:
        """Its terms of coordinates."""
        return [item for item in self.path if isinstance(item, TendonJoint)]

    @property
    def rubbing(self) -> tuple[Wrap, ...]:
        """The wraps with friction, in the order of the path."""
        wraps = (item for item in self.path if isinstance(item, Wrap))
        return tuple(wrap for wrap in wraps if wrap.friction_coefficient > 0.0)

    @property
    def ropes(self) -> tuple[LengthLimit, ...]:
        """The limits of its length that can act: first the upper, then the lower.

        A lower limit of zero or less is none for a path, whose length is positive.
        """
        lower, upper = self.limits or (-np.inf, np.inf)
        least = 0.0 if self.spatial and not self.joints else -np.inf
        found = []
        if not (
            isinstance(upper, float) and upper == np.inf
        ):  # a number, a function, or an expression of parameters
            rows = ("tension", "grip") if self.rubbing else ("tension",)
            names = tuple(f"{self.name}.{row}" for row in rows)
            found.append(LengthLimit(self.name, names, self, 1.0, upper))
        if not (isinstance(lower, float) and lower <= least):
            name = f"{self.name}.lower"
            found.append(LengthLimit(name, (f"{name}.compression",), self, -1.0, lower))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class LengthLimit:
    """A limit of the length ℓ of a tendon: the unilateral row with the gap ``sign`` × (``bound`` − ℓ) ≥ 0 [m].

    Its force is the tension T ≥ 0 [N] at the upper limit (``sign`` 1, named like the tendon) and the compression at the
    lower limit (−1, NAME.lower). The tension of a part of the path is T / divisor. ``bound`` is a number or a function
    of time: a winch at the end of the path.

    With friction at wraps T is the mean of the tensions before the first and behind the last one of them, and the row
    NAME.grip has a force G of at most T: these tensions are T + G tanh(α/2) and T − G tanh(α/2), α = Σ μθ.
    """

    name: str
    row_names: tuple[str, ...]
    tendon: Tendon
    sign: float
    bound: float | Function


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a spatial tendon between two points, straight or around a wrap; its length counts 1 / ``divisor``."""

    start: TendonPoint
    end: TendonPoint
    wrap: Wrap | None
    divisor: float


def segments(path: Sequence[TendonPoint | Pulley | Wrap | TendonJoint]) -> list[Segment]:
    """Return the parts of a path between its points; raises `ValueError` if its items are in no valid order."""
    out: list[Segment] = []
    start: TendonPoint | None = None
    wrap: Wrap | None = None
    divisor, count = 1.0, 0
    for item in [*(item for item in path if not isinstance(item, TendonJoint)), Pulley(1.0)]:
        if isinstance(item, TendonPoint):
            if start is not None:
                out.append(Segment(start, item, wrap, divisor))
            start, wrap, count = item, None, count + 1
        elif isinstance(item, Wrap):
            if start is None or wrap is not None:
                raise ValueError("a wrap needs a point before it and a point after it")
            wrap = item
        else:
            if wrap is not None:
                raise ValueError("a wrap needs a point before it and a point after it")
            if count == 1 or (not count and out):
                raise ValueError("it needs two points at least, and as many in every part between pulleys")
            start, divisor, count = None, item.divisor, 0
    if not out:
        raise ValueError("it needs two points at least, and as many in every part between pulleys")
    return out
