"""`coupler_curve`: the path of a point of a body while a driven coordinate goes through its whole range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.curve import Curve, follow_curve
from sarrus.analysis.linkages.double_points import Cusp, DoublePoint, cusps_of, double_points_of
from sarrus.analysis.linkages.tolerances import PLANAR_PATH, SIGN_ENTRY
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.dynamics.system import System

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Places and weights of Gauss's rule with four points on [0, 1].
_PLACES, _WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(4))


@dataclass(frozen=True, eq=False, repr=False)
class CouplerCurve:
    """The path of a point of a body along a curve of configurations (read-only arrays); ``print`` gives a summary.

    Attributes
    ----------
    body, point : the body, and the point (3,) in axes of the body [m].
    points : (T, 3) the path in world axes [m], at the configurations ``curve.q``.
    rates : (T, 3) derivative of the points along ``curve.tangents`` [m].
    curve : the `Curve` with configurations, ranges of the coordinates and dead centres.
    closed : whether the mechanism returns to its start; the path is then closed.
    length : length of the path [m], relative error about 1e-6; an arc that is traced to and fro counts twice.
    normal : (3,) unit normal of the plane of the path; None if the path is not planar or is straight.
    double_points : crunodes, points at which a planar path crosses itself, to rounding, with both configurations.
    cusps : points at which the path stops and reverses; general paths have none.
    """

    body: str
    point: Array
    points: Array
    rates: Array
    curve: Curve
    length: float
    normal: Array | None
    double_points: tuple[DoublePoint, ...]
    cusps: tuple[Cusp, ...]
    system: System = field(repr=False)

    @property
    def closed(self) -> bool:
        """Whether the mechanism returns to its start."""
        return self.curve.closed

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the path and the mechanism; options: `sarrus.plot.coupler_curve`."""
        return lazy_import("pictures.plots.plot", "coupler_curve")(self, path, **options)

    def __str__(self) -> str:
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        box = ", ".join(f"{a} {x:.6g} to {y:.6g}" for a, x, y in zip("xyz", low, high) if y - x > 0.0)
        kind = "straight or spatial" if self.normal is None else "planar"
        lines = [
            f"{self.system.name}: path of {self.body} {tuple(map(float, self.point))}, {self.curve.shape}, {kind}",
            f"  length {self.length:.6g} m; {box} m",
        ]
        for name, found in (("double points", self.double_points), ("cusps", self.cusps)):
            if found:
                places = "; ".join("(" + ", ".join(f"{x:.6g}" for x in one.point) + ")" for one in found)
                lines.append(f"  {name}: {places}")
        return "\n".join([*lines, *self.curve.range_lines()])

    def __repr__(self) -> str:
        return (
            f"CouplerCurve({self.system.name!r}: {self.body}, {self.curve.shape}, {len(self.points)} points)"
        )


@described()
def coupler_curve(
    system: System,
    q: ArrayLike,
    driven: str,
    body: str,
    point: ArrayLike = (0.0, 0.0, 0.0),
    *,
    lower: float | None = None,
    upper: float | None = None,
    locked: Sequence[str] = (),
    t: float = 0.0,
) -> CouplerCurve:
    """Return the `CouplerCurve` of a point of a body, from q over the whole range of a driven coordinate.

    The curve of configurations is followed (`follow_curve`), through dead centres, where the driven coordinate
    reverses, until it returns to its start or reaches limits. Other circuits of the same mechanism start at other
    assembly modes (`assembly_modes`).

    Parameters
    ----------
    q : (nq,) start, closed to 1e-5 [m, rad]. driven : scalar coordinate; lower, upper, locked : as in `follow_curve`.
    body, point : the body, and the point (3,) in axes of the body [m].

    Raises
    ------
    ArgumentError
        No such body or coordinate; not exactly one degree of freedom; open loops.

    Redundant rows change nothing. Through singular configurations the path goes straight on. A double point belongs to
    two different configurations; if the mechanism passes the same configuration twice, as at a change point, there is
    none.
    """
    check_is("coupler_curve", system, System)
    curve = follow_curve(system, q, driven, lower, upper, locked=locked, t=t)
    return path_of(curve, body, point)


def path_of(curve: Curve, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> CouplerCurve:
    """Return the `CouplerCurve` of a point of a body along a `Curve`; see `coupler_curve`."""
    system, place = curve.system, real_array(point)
    found = [system.jacobian(q, t=curve.t, body=body, point=place) for q in curve.q]
    points = np.array([one.position for one in found])
    rates = np.array([one.linear @ way for one, way in zip(found, curve.tangents)])
    normal = _normal(points)
    return CouplerCurve(
        body=body,
        point=read_only(place.copy()),
        points=read_only(points),
        rates=read_only(rates),
        curve=curve,
        length=_length(curve, points, rates),
        normal=normal,
        double_points=() if normal is None else double_points_of(curve, body, place, points, normal),
        cusps=cusps_of(curve, body, place, rates),
        system=system,
    )


def _normal(points: Array) -> Array | None:
    """Return the unit normal of the plane of points, its first component positive; None for points in space or on a
    line.
    """
    _, extents, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    if len(extents) < 3 or extents[2] > PLANAR_PATH * extents[0] or extents[1] <= PLANAR_PATH * extents[0]:
        return None
    first = axes[2][np.flatnonzero(np.abs(axes[2]) > SIGN_ENTRY)[0]]
    return read_only(axes[2] * np.sign(first))


def _length(curve: Curve, points: Array, rates: Array) -> float:
    """Return the length [m] of the path of cubics through points and rates at the stations."""
    scale = curve.trace.scale
    chords = [scale * curve.trace.chord(p, q) for p, q in zip(curve.q, curve.q[1:])]
    steps = np.array(chords).reshape(len(chords), len(scale))  # characteristic units
    size = np.sqrt((steps**2).sum(axis=1))[:, None, None]
    start, end = points[:-1, None], points[1:, None]
    s = _PLACES[:, None] + 0.5
    speed = (
        (6 * s**2 - 6 * s) * (start - end)
        + (3 * s**2 - 4 * s + 1) * size * rates[:-1, None]
        + (3 * s**2 - 2 * s) * size * rates[1:, None]
    )
    return float((np.sqrt((speed**2).sum(axis=2)) @ _WEIGHTS).sum())
