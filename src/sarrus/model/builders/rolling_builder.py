"""Adding wheels, balls, blades and cones that roll without slip to a mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sarrus.model.builders.tolerances import LEAST_ROLLER_ANGLE
from sarrus.model.mechanism.description import Description
from sarrus.model.mechanism.elements import WORLD
from sarrus.model.mechanism.faults import Label, check_name, fault
from sarrus.model.mechanism.pose import clean, perpendicular_to, scalar, unit_vector, vector
from sarrus.model.mechanism.rolling import ROLLING_ROWS, Rolling
from sarrus.model.mechanism.surfaces import Surface, check_surface
from sarrus.model.mechanism.tolerances import PERPENDICULAR


class RollingBuilder(Description):
    """The method of a mechanism that adds what rolls."""

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
        """Let a body roll without slip on a plane or a surface of another body, which it never leaves.

        Parameters
        ----------
        kind : what rolls, and its rows:

            - disc (or wheel): a thin circle about ``axis``, touching at its lowest point: n, longitudinal, lateral;
            - ball: a sphere: n, t1, t2; it may turn about the normal;
            - knife_edge: the point ``centre`` of a blade, which moves along the blade alone, ``axis`` being across it:
              n, lateral;
            - omni: a disc with rollers on its rim, of which only the slip along the axle of the roller that touches is
              tied: n, roller;
            - cone: it lies on a generator from its apex ``centre`` to its base, towards which ``axis`` points: n and
              longitudinal at the apex, n_rim and longitudinal_rim at the rim, lateral along the generator.
        ground : the body that carries the plane; it may move, and be driven. Slip is against it.
        radius : of the circle, of the ball, of the base of the cone [m], > 0; a blade has none.
        centre, axis : in axes of the body [m].
        origin, normal : a point of the plane [m] and its normal, towards what rolls, in axes of the ground.
        tangent : direction of the row t1 of a ball, as in `add_contact`.
        roller_angle : from the axle of an omni wheel to that of a roller, in the direction of rolling [rad]: π/2 for
            omni wheels, ± π/4 for Mecanum wheels. What is tied is the slip along cos · lateral + sin · longitudinal.
        half_angle : between the axis of a cone and its generators [rad], between 0 and π/2.
        rows : those that hold, all by default. A planar model needs no heights: ``rows=("longitudinal", "lateral")``.
            Redundant rows, as two lateral ones on one axle, are ordinary.

        surface : on what it rolls, one of `sarrus.surfaces`, by default the plane: Sphere or Cylinder, from outside or
            inside; Height z = h(x, y), Implicit f(x, y, z) = 0 and Parametric x(s, w) of traced functions; Curve
            (x(s), z(s)), the same for all y, as track of a wheel in a planar mechanism. Its local axes are x along
            ``tangent``, z along ``normal``, from ``origin``. Cones roll on planes alone.

        Rows NAME.n are holonomic and come with the closures, the others are nonholonomic and come behind all that are
        holonomic. Longitudinal is along axis × normal, where the wheel rolls when it turns forward about its axis;
        lateral is normal × longitudinal, along the axis as seen from above. Multipliers are forces of the ground on the
        body along these directions [N]; rows and signs are those of `sarrus.symbolic.rows.rolling`. All rows hold in
        both
        directions: the ground pulls where n is negative.

        A disc that lies flat has no lowest point: its rows are not defined there, and solves say so. On a surface rows
        are written with the normal where it touches; t1 and t2 of a ball are ``tangent`` and normal × tangent, turned
        the shortest way with the normal (on a cylinder t1 is along its axis), which the direction −``normal`` has not.
        Where a surface is as much curved as what rolls, and where this touches at a second place, rows are not defined
        either, and runs end by name. Radii that do not fit into a Sphere or Cylinder are an error here.
        """
        kind = {"wheel": "disc"}.get(kind, kind)
        label = self._fresh_constraint(name, "rolling")
        check_name("kind", kind, ROLLING_ROWS, label)
        self._check_bodies(body, ground, label)
        chosen = _rows(kind, rows, label)
        for own in chosen:
            self._fresh_constraint(f"{name}.{own}", "rolling row")
        n = unit_vector(normal, "normal", label)
        along = perpendicular_to(n) if tangent is None else unit_vector(tangent, "tangent", label)
        if abs(float(n @ along)) > PERPENDICULAR:
            raise fault(label, "tangent must be perpendicular to normal")
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
            tangent2=clean(np.cross(n, along)),
            radius=own_radius,
            roller_angle=_roller_angle(kind, roller_angle, label),
            half_angle=_half_angle(kind, half_angle, label),
            rows=chosen,
            surface=check_surface(surface, kind, own_radius, label),
        )
        self.rollings[name] = rolling
        return rolling


def _rows(kind: str, rows: Sequence[str] | None, label: Label) -> tuple[str, ...]:
    """Return the rows that hold, in the order of the kind."""
    valid = ROLLING_ROWS[kind]
    if rows is None:
        return valid
    if not isinstance(rows, Iterable):
        raise fault(label, f"rows must be names of rows, of {', '.join(valid)}, got {rows!r}")
    given = (rows,) if isinstance(rows, str) else tuple(rows)
    for row in given:
        check_name("row", row, valid, label)
    if not given:
        raise fault(label, f"rows must name one row at least, of {', '.join(valid)}")
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
            f"rollers along the axle (roller_angle = {value:g}) roll where the wheel does; π/2 is an omni wheel, "
            "π/4 or −π/4 a Mecanum wheel",
        )
    return value


def _half_angle(kind: str, angle: float, label: Label) -> float:
    value = scalar(angle, "half_angle", label)
    if kind == "cone" and not 0.0 < value < np.pi / 2:
        raise fault(label, f"half_angle of a cone must be between 0 and π/2 [rad], got {value:g}")
    if kind != "cone" and value != 0.0:
        raise fault(label, f"half_angle is for cones, this is a {kind}")
    return value
