"""`RollingBuilder`: adds wheels, balls, blades and cones that roll without slip to a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.builders.tolerances import LEAST_ROLLER_ANGLE
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import plane_axes, scalar, unit_vector, vector
from sarrus.model.mechanism.rolling import ROLLING_ROWS, Rolling
from sarrus.model.mechanism.surfaces import Surface, check_surface


class RollingBuilder(Description):
    """The method of `Mechanism` that adds rolling elements."""

    def add_rolling(
        self,
        name: str,
        kind: str,
        body: str,
        ground: str = WORLD,
        *,
        radius: float = 0.0,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        axis: ArrayLike = (0.0, 1.0, 0.0),
        origin: ArrayLike = (0.0, 0.0, 0.0),
        normal: ArrayLike = (0.0, 0.0, 1.0),
        tangent: ArrayLike | None = None,
        roller_angle: float = np.pi / 2,
        half_angle: float = 0.0,
        rows: Sequence[str] | None = None,
        surface: Surface | None = None,
    ) -> Rolling:
        """Let a body roll without slip on a plane or a surface of another body, without leaving it.

        Parameters
        ----------
        kind : the rolling element and its rows:

            - disc (or wheel): a thin circle about ``axis``, touching at its lowest point: n, longitudinal, lateral;
            - ball: a sphere: n, t1, t2; it may turn about the normal;
            - disc (or wheel): a thin circle about ``axis``, touching at its lowest point: n, longitudinal, lateral;
            - ball: a sphere: n, t1, t2; it may spin about the normal;
            - knife_edge: the point ``centre`` of a blade, without velocity along ``axis``, which is across the blade:
              n, lateral;
            - omni: a disc with rollers on its rim; only the slip along the axle of the touching roller is zero:
              n, roller;
            - cone: it touches along a generator, from its apex ``centre`` to its base; ``axis`` points to the base: n
              and longitudinal at the apex, n_rim and longitudinal_rim at the rim, lateral along the generator.
        ground : the body that carries the plane; it may move or be driven. Slip is relative to it.
        radius : of the circle, of the ball, of the base of the cone [m], > 0; a blade has none.
        centre, axis : in axes of the body [m].
        origin, normal : a point of the plane [m] and its normal, towards the rolling body, in axes of the ground.
        tangent : direction of the row t1 of a ball, as in `add_contact`.
        roller_angle : from the axle of an omni wheel to that of a roller, in the direction of rolling [rad]: π/2 for
            omni wheels, ± π/4 for Mecanum wheels. Row: the slip along cos · lateral + sin · longitudinal is zero.
        half_angle : between the axis of a cone and its generators [rad], between 0 and π/2.
        rows : names of the active rows, all by default. A planar model needs no heights:
            ``rows=("longitudinal", "lateral")``. Redundant rows, such as two lateral ones on one axle, are legal.
            inside; Height z = h(x, y), Implicit f(x, y, z) = 0 and Parametric x(s, w) of traced functions; Curve
        surface : one of `sarrus.surfaces`, by default the plane. Sphere or Cylinder, from outside or inside; Height
            z = h(x, y), Implicit f(x, y, z) = 0 and Parametric x(s, w) of traced functions; Curve (x(s), z(s)), the
            same for all y, as the track of a wheel in a planar mechanism. Local axes: x along ``tangent``, z along
            ``normal``, from ``origin``. Cones roll on planes only.

        Rows NAME.n are holonomic and follow the closures; the other rows are nonholonomic and follow all holonomic
        rows. Longitudinal is axis × normal, the direction of travel for a positive rotation about the axis; lateral is
        normal × longitudinal. Multipliers are the forces of the ground on the body along these directions [N]; rows and
        signs are in `sarrus.symbolic.rows.rolling`. All rows are bilateral: for n < 0 the ground pulls.

        The rows of a disc that lies flat are not defined, because it has no lowest point; solves report it. On a
        surface the rows use the normal at the contact point; t1 and t2 of a ball are ``tangent`` and
        normal × tangent, turned with the normal along the shortest arc (on a cylinder t1 is along its axis), which is
        not defined for the direction −``normal``. Where the curvatures of surface and body are equal, or the body
        touches at a second place, rows are not defined either, and runs end with an error that names the element.

        Raises `ModelError` for an unknown kind, body or row, and for radii that do not fit into a Sphere or Cylinder.
        """
        kind = {"wheel": "disc"}.get(kind, kind)
        label = self._fresh_constraint(name, "rolling")
        check_name("kind", kind, ROLLING_ROWS, label)
        self._check_bodies(body, ground, label)
        chosen = _rows(kind, rows, label)
        for own in chosen:
            self._fresh_constraint(f"{name}.{own}", "rolling row")
        n, along, across = plane_axes(normal, tangent, label)
        own_radius = _radius(kind, radius, label)
        rolling = Rolling(
            name=name,
            kind=kind,
            body=body,
            centre=vector(centre, 3, "centre", label),
            axis=unit_vector(axis, "axis", label),
            ground=ground,
            origin=vector(origin, 3, "origin", label),
            normal=n,
            tangent1=along,
            tangent2=across,
            radius=own_radius,
            roller_angle=_roller_angle(kind, roller_angle, label),
            half_angle=_half_angle(kind, half_angle, label),
            rows=chosen,
            surface=check_surface(surface, kind, own_radius, label),
        )
        self.rollings[name] = rolling
        return rolling


def _rows(kind: str, rows: Sequence[str] | None, label: Label) -> tuple[str, ...]:
    """Return the active rows, in the order of the kind."""
    valid = ROLLING_ROWS[kind]
    if rows is None:
        return valid
    if not isinstance(rows, Iterable):
        raise fault(label, f"rows must be names of rows, of {', '.join(valid)}, got {rows!r}")
    given = (rows,) if isinstance(rows, str) else tuple(rows)
    for row in given:
        check_name("row", row, valid, label)
    if not given:
        raise fault(label, f"rows must name at least one of {', '.join(valid)}")
    return tuple(row for row in valid if row in given)


def _radius(kind: str, radius: float, label: Label) -> float:
    value = scalar(radius, "radius", label)
    if kind == "knife_edge":
        if value != 0.0:
            raise fault(
                label, f"a knife_edge has no radius, got {value:g}; give the point of the blade as centre"
            )
    elif value <= 0.0:
        raise fault(label, f"radius must be positive [m], got {value:g}")
    return value


def _roller_angle(kind: str, angle: float, label: Label) -> float:
    value = scalar(angle, "roller_angle", label)
    if kind == "omni" and abs(np.sin(value)) < LEAST_ROLLER_ANGLE:
        raise fault(
            label,
            f"the rollers are parallel to the axle (roller_angle = {value:g}); give π/2 for an omni wheel, "
            "π/4 or −π/4 for a Mecanum wheel",
        )
    return value


def _half_angle(kind: str, angle: float, label: Label) -> float:
    value = scalar(angle, "half_angle", label)
    if kind == "cone" and not 0.0 < value < np.pi / 2:
        raise fault(label, f"half_angle of a cone must be between 0 and π/2 [rad], got {value:g}")
    if kind != "cone" and value != 0.0:
        raise fault(label, f"half_angle is for cones, this is a {kind}")
    return value
