"""Surfaces for rolling: spheres, cylinders, and surfaces given by a function, in axes of the ground.

Local axes are x along ``tangent``, y along normal × tangent and z along ``normal`` of `Mechanism.add_rolling`, from its
``origin``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.model.mechanism.faults import Label, fault
from sarrus.model.mechanism.pose import scalar, unit_vector
from sarrus.model.mechanism.spline import Spline


@dataclass(frozen=True, eq=False)
class Sphere:
    """A sphere about the origin with ``radius`` [m] > 0; ``inside`` for bodies that roll inside, as in a bowl."""

    radius: float
    inside: bool = False

    def checked(self, label: Label) -> Sphere:
        """Return the surface with its numbers checked."""
        return Sphere(_positive(self.radius, label), bool(self.inside))


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A cylinder with ``radius`` [m] > 0 about an ``axis`` through the origin, in axes of the ground.

    ``inside`` is for bodies that roll inside: a trough, a pipe. Row t1 of a ball is along the axis.
    """

    radius: float
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    inside: bool = False

    def checked(self, label: Label) -> Cylinder:
        """Return the surface with its numbers checked, its axis a unit vector."""
        axis = unit_vector(self.axis, "axis of the cylinder", label)
        return Cylinder(_positive(self.radius, label), axis, bool(self.inside))


@dataclass(frozen=True, eq=False)
class Height:
    """The surface z = h(x, y) in local axes, with the bodies above it.

    ``function`` takes x and y [m] as CasADi expressions and returns the height [m]. A `Spline` of one row is the curve
    z = h(x) for all y: the track of a wheel in a planar mechanism.
    """

    function: Callable[[Any, Any], Any] | Spline

    def checked(self, label: Label) -> Height:
        """Return the surface with its function checked, except for its values."""
        _callable(self.function, 1, "one column: a height", label)
        return self


@dataclass(frozen=True, eq=False)
class Implicit:
    """The surface f(x, y, z) = 0 in local axes, with the bodies on the side f > 0.

    ``function`` takes x, y and z [m] as CasADi expressions and returns one number of any unit, whose gradient does not
    vanish on the surface.
    """

    function: Callable[[Any, Any, Any], Any]

    def checked(self, label: Label) -> Implicit:
        """Return the surface with its function checked, except for its values."""
        if isinstance(self.function, Spline):
            raise fault(label, "a table is no implicit surface; give Height(spline) for z = h(x)")
        _callable(self.function, 1, "", label)
        return self


@dataclass(frozen=True, eq=False)
class Parametric:
    """The surface x(s, w) in local axes, with the bodies on the side of ∂x/∂s × ∂x/∂w, or opposite with ``flip``.

    ``function`` takes s and w as CasADi expressions and returns (x, y, z) [m]. ``near`` (n, 2) are start values of s
    and w: the contact point is found from the nearest of them.
    """

    function: Callable[[Any, Any], Any]
    near: Array
    flip: bool = False

    def checked(self, label: Label) -> Parametric:
        """Return the surface with its function checked, except for its values."""
        if isinstance(self.function, Spline):
            raise fault(label, "a table has one argument; give Curve(spline) for a curve in the plane")
        _callable(self.function, 1, "", label)
        return Parametric(self.function, _places(self.near, 2, label), bool(self.flip))


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve (x(s), z(s)) in the local plane, the same for all y: a cam, a loop, the track of a wheel.

    Bodies are on its left in the direction of growing s, seen with x to the right and z up; on its right with ``flip``.
    ``function`` takes s as a CasADi expression and returns (x, z) [m], or is a `Spline` of two rows. ``near`` (n,) are
    start values of s: the contact point is found from the nearest of them. For a spline the default is its knots.
    """

    function: Callable[[Any], Any] | Spline
    near: Array | None = None
    flip: bool = False

    def checked(self, label: Label) -> Curve:
        """Return the surface with its function checked, except for its values."""
        _callable(self.function, 2, "two columns: x and z", label)
        near = self.near
        if near is None and isinstance(self.function, Spline):
            near = self.function.knots
        if near is None:
            raise fault(
                label, "near is missing: values of s near the contact point, from which its search starts"
            )
        return Curve(self.function, _places(near, 1, label), bool(self.flip))


__all__ = ["Curve", "Cylinder", "Height", "Implicit", "Parametric", "Sphere"]

Surface = Sphere | Cylinder | Height | Implicit | Parametric | Curve
_KINDS = (Sphere, Cylinder, Height, Implicit, Parametric, Curve)


def check_surface(surface: Surface | None, kind: str, radius: float, label: Label) -> Surface | None:
    """Return a checked surface on which a ``kind`` of this ``radius`` [m] can roll."""
    if surface is None:
        return None
    if not isinstance(surface, _KINDS):
        names = ", ".join(one.__name__ for one in _KINDS)
        raise fault(label, f"surface must be one of sarrus.surfaces ({names}), got {surface!r}")
    if kind == "cone":
        raise fault(label, "a cone rolls on planes only: leave surface out")
    found = surface.checked(label)
    if isinstance(found, (Sphere, Cylinder)) and found.inside and radius >= found.radius:
        raise fault(
            label,
            f"the radius {radius:g} m does not fit into a {type(found).__name__.lower()} of {found.radius:g} m: "
            "it would touch at two places; give a smaller radius",
        )
    return found


def _positive(value: Any, label: Label) -> float:
    number = scalar(value, "radius of the surface", label)
    if number <= 0.0:
        raise fault(label, f"radius of the surface must be positive [m], got {number:g}")
    return number


def _callable(function: Any, rows: int, what: str, label: Label) -> None:
    if isinstance(function, Spline):
        if function.rows != rows:
            raise fault(label, f"the table of the surface must have {what}, got {function.rows}")
    elif not callable(function):
        raise fault(label, f"function of the surface must be a function, got {function!r}")


def _places(near: ArrayLike, width: int, label: Label) -> Array:
    """Return the start values as an array (n,) or (n, 2)."""
    try:
        places = np.asarray(near, dtype=float)
    except (TypeError, ValueError):
        places = np.full(1, np.nan)
    if width == 1:
        places = places.reshape(-1) if places.ndim <= 1 else places
    elif places.shape == (width,):
        places = places[None]
    fits = places.ndim == 1 if width == 1 else places.ndim == 2 and places.shape[1] == width
    if not fits or not places.size or not np.isfinite(places).all():
        raise fault(label, f"near must be finite places of {'s' if width == 1 else 's and w'}, got {near!r}")
    return places
