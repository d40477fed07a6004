"""Rolling without slip on a plane or a curved surface: wheels, balls, blades and cones as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sarrus.base.arrays import Array
from sarrus.model.mechanism.elements import OnPlane
from sarrus.model.mechanism.surfaces import Surface

# Kinds and their rows: heights (holonomic), then slips (nonholonomic).
ROLLING_ROWS: dict[str, tuple[str, ...]] = {
    "disc": ("n", "longitudinal", "lateral"),
    "ball": ("n", "t1", "t2"),
    "knife_edge": ("n", "lateral"),
    "omni": ("n", "roller"),
    "cone": ("n", "n_rim", "longitudinal", "longitudinal_rim", "lateral"),
}
HEIGHTS = ("n", "n_rim")


@dataclass(frozen=True, eq=False)
class Rolling(OnPlane):
    """A body that rolls without slip, or glides along a blade, on a surface of ``ground`` without leaving it.

    ``centre`` [m] (of a circle or a ball, the point of a blade, the apex of a cone) and ``axis``, a unit vector, are in
    axes of the body; ``origin`` [m], a point of the plane, and the unit vectors ``normal``, ``tangent1`` and
    ``tangent2`` = normal × tangent1 are in axes of the ground. ``radius`` [m] is the radius of the base for a cone,
    zero for a blade. ``half_angle`` [rad] is the half angle of a cone, ``roller_angle`` [rad] the angle from the axis
    of an omni wheel to its rollers. ``surface`` is None for the plane; else its local axes are ``tangent1``,
    ``tangent2``, ``normal`` at ``origin``.
    """

    name: str
    kind: str
    body: str
    centre: Array
    axis: Array
    ground: str
    origin: Array
    normal: Array
    tangent1: Array
    tangent2: Array
    radius: float
    roller_angle: float
    half_angle: float
    rows: tuple[str, ...]
    surface: Surface | None = None

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, as ``rolling.row``, heights first."""
        return tuple(f"{self.name}.{row}" for row in self.rows)

    @property
    def parts(self) -> Iterator[RollingRows]:
        """The holonomic rows and the nonholonomic rows, each if there are any."""
        heights = tuple(row for row in self.rows if row in HEIGHTS)
        slips = tuple(row for row in self.rows if row not in HEIGHTS)
        if heights:
            yield RollingRows(f"{self.name}.{heights[0]}", self, heights)
        if slips:
            yield RollingRows(self.name, self, slips)


@dataclass(frozen=True, eq=False)
class RollingRows:
    """The heights or the slips of a rolling element: consecutive rows of A.

    The slips have the name of the element, the heights the name of their first row.
    """

    name: str
    rolling: Rolling
    rows: tuple[str, ...]

    active = None  # permanent constraints

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(f"{self.rolling.name}.{row}" for row in self.rows)

    @property
    def holonomic(self) -> bool:
        """Whether the rows are heights."""
        return self.rows[0] in HEIGHTS

    @property
    def body(self) -> str:
        """The body that rolls."""
        return self.rolling.body

    @property
    def ground(self) -> str:
        """The body that carries the plane or the surface."""
        return self.rolling.ground
