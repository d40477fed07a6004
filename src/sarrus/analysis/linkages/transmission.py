"""`transmission_angle`: how well a linkage transmits force to its output, along a curve or a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from sarrus.analysis.configurations.curve import Curve
from sarrus.analysis.configurations.targets import scalar_coordinates
from sarrus.analysis.linkages.tolerances import ANGLE_SEARCH, DOES_WORK, EQUAL_ANGLES, NO_FORCE
from sarrus.analysis.loads.reaction_loads import changed, connections_of, evaluated
from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError, check_is, check_known
from sarrus.base.lazy_import import lazy_import
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.assembly import free_velocities
from sarrus.dynamics.contacts.open_forces import push_count
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT
from sarrus.motion.records.trajectory import Trajectory
from sarrus.symbolic.multibody.connections import Connection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Joints and closures that pass on no couple about an axis of their motion: a force through one point.
_POINTS = ("revolute", "spherical", "universal", "point", "distance", "point_on_line", "point_on_plane")


@dataclass(frozen=True, eq=False, repr=False)
class TransmissionAngle:
    """The transmission angle along a path (read-only arrays); ``print`` gives a summary.

    Attributes
    ----------
    driven, output : names of the coordinates. through : joint or closure whose force defines the angle.
    parameter : (T,) values of the driven coordinate [rad, m]. q : (T, nq) the path.
    angle : (T,) μ [rad], from 0 (the force does not move the output) to π/2.
    least, least_at, least_q : the least angle [rad], the driven coordinate [rad, m] and the configuration (nq,) there.
        Along a curve it is located between configurations, too; of equal values the first.
    """

    driven: str
    output: str
    through: str
    parameter: Array
    q: Array
    angle: Array
    least: float
    least_at: float
    least_q: Array
    system: System = field(repr=False)

    @property
    def pressure_angle(self) -> Array:
        """Pressure angle α = π/2 − μ (T,) [rad], between the force and the velocity of its point of application."""
        return np.asarray(np.pi / 2 - self.angle)

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Return a figure of the angle over the driven coordinate; options: `sarrus.plot.transmission_angle`."""
        return lazy_import("pictures.plots.plot", "transmission_angle")(self, path, **options)

    def __str__(self) -> str:
        return (
            f"{self.system.name}: transmission angle from {self.driven} to {self.output} through {self.through}\n"
            f"  least {np.degrees(self.least):.4g} deg at {self.driven} = {self.least_at:.6g}, "
            f"greatest {np.degrees(self.angle.max()):.4g} deg"
        )

    def __repr__(self) -> str:
        return f"TransmissionAngle({self.system.name!r}: least {np.degrees(self.least):.4g} deg)"


@described()
def transmission_angle(
    system: System,
    path: Curve | Trajectory | ArrayLike,
    driven: str,
    output: str,
    through: str | None = None,
    *,
    locked: Sequence[str] = (),
    t: float = 0.0,
) -> TransmissionAngle:
    """Return the `TransmissionAngle` μ along a curve, a trajectory or configurations (T, nq).

    The driven coordinate is held and a load acts on the output; weight, inertia, friction and springs are left out. The
    force F of the joint ``through`` on the output's body, and the velocity w of its point when the output alone moves,
    include the pressure angle α; μ = π/2 − α, so sin μ = |F · w| / |F||w|. In a four-bar μ is the angle between coupler
    and follower, from 0 to π/2; in a slider-crank the angle between rod and the normal of the slide. sin μ is the
    virtual coefficient relative to its largest possible value, which defines μ for spatial linkages and does not depend
    on units.

    F is the direction of the static force with driven and output loaded, which is continuous through dead centres of
    both. At configurations that do not determine F, where A loses rank as at change points of a parallelogram,
    `SolveError` names the first one. Redundant rows: the least-norm force is taken, which has no component across a
    planar linkage.

    Parameters
    ----------
    driven, output : scalar coordinates of joints; the output's body is the child of its joint.
    through : joint or closure that transmits a force through a point (revolute, spherical, universal, point, distance,
        point_on_line, point_on_plane); default: the only other connection of the output's body.
    locked : joints or coordinates that are held besides the driver; along a curve those that it held.
    t : time of the constraints [s].

    Raises
    ------
    ArgumentError
        Unknown names; a connection that also transmits couples; equal output and driver.
    SolveError
        The force is not determined, as above; or the joint transmits a couple that moves the output, as hinges of
        spatial loops do.

    Source: G. Sutherland, B. Roth, A Transmission Index for Spatial Mechanisms, Journal of Engineering for Industry
    95(2), 1973; for planar linkages H. Alt, Der Übertragungswinkel und seine Bedeutung für das Konstruieren
    periodischer Getriebe, Werkstattstechnik 26, 1932.
    """
    check_is("transmission_angle", system, System)
    if isinstance(path, Curve):
        q, times = path.q, np.full(len(path.q), path.t)
    elif isinstance(path, Trajectory):
        q, times = path.q, path.t
    else:
        q = np.atleast_2d(real_array(path))
        times = np.full(len(q), t)
    if q.ndim != 2 or q.shape[1] != system.nq or len(q) == 0:
        raise ArgumentError(
            f"{system.name}: path must be a curve, a trajectory or configurations of shape (T, {system.nq})",
            element="path",
        )
    places = scalar_coordinates(system)
    for name, argument in ((driven, "driven"), (output, "output")):
        check_known("scalar coordinate", name, places, argument)
    if driven == output:
        raise ArgumentError(
            f"{system.name}: {output!r} is driver and output; name two coordinates", element="output"
        )
    held = free_velocities(system, locked) == 0.0
    if isinstance(path, Curve):
        held |= path.trace.hold.any(axis=1)
    statics = _Statics(system, driven, output, through, held)
    angle = np.array([statics.angle(place, float(time)) for place, time in zip(q, times)])
    value, at = float(angle.min()), q[_first(angle)]
    if isinstance(path, Curve):
        value, at = _least(statics, path, angle)
    k = places[driven][0]
    return TransmissionAngle(
        driven,
        output,
        statics.through.label,
        read_only(q[:, k].copy()),
        read_only(q.copy()),
        read_only(angle),
        value,
        float(at[k]),
        read_only(at.copy()),
        system,
    )


def _first(values: Array) -> int:
    """Return the index of the least value; of values equal up to rounding the first."""
    return int(np.flatnonzero(values <= values.min() + EQUAL_ANGLES)[0])


def _least(statics: _Statics, curve: Curve, angle: Array) -> tuple[float, Array]:
    """Return the least angle along a curve and its configuration, refined in every local minimum."""
    trace, n = curve.trace, len(angle)
    places, values = [curve.q[_first(angle)]], [float(angle.min())]
    for k in range(n):
        before, after = max(k - 1, 0), min(k + 1, n - 1)
        if angle[k] > min(angle[before], angle[after]) or n < 2:
            continue
        way = curve.tangents[k]
        low, high = (trace.along(way, trace.chord(curve.q[k], curve.q[j])) for j in (before, after))
        if curve.closed and k == 0:
            low = -high
        if curve.closed and k == n - 1:
            high = -low
        found = minimize_scalar(
            lambda x, k=k, way=way: statics.angle(trace.place(curve.q[k], way, x), curve.t),
            bounds=(low, high),
            method="bounded",
            options={"xatol": ANGLE_SEARCH * (high - low)},
        )
        if found.fun < angle[k] - EQUAL_ANGLES:
            places.append(trace.place(curve.q[k], way, float(found.x)))
            values.append(float(found.fun))
    best = _first(np.array(values))
    return values[best], places[best]


class _Statics:
    """The force in a joint that balances a load on the output while the driver is held."""

    def __init__(
        self, system: System, driven: str, output: str, through: str | None, held: np.ndarray
    ) -> None:
        self.system = system
        self.found = connections_of(system)
        places = scalar_coordinates(system)
        self.output = places[output][1]
        self.loaded = sorted({*map(int, np.flatnonzero(held)), places[driven][1], self.output})
        assert system.mechanism is not None
        joint = next(j for j in system.mechanism.joints() if output in j.coordinate_names)
        body = next(one for one in self.found if one.what == "joint" and one.name == joint.name)
        self.body = body.body
        self.through = self._chosen(body, through)
        self.index = self.found.index(self.through)
        self.end: Array | None = None  # of a rod that begins on the output's body
        if self.through.kind == "distance" and self.through.on == self.body:
            self.end = system.mechanism.closures[self.through.name].pose1.position

    def _chosen(self, own: Connection, through: str | None) -> Connection:
        others = {one.label: one for one in self.found if one is not own and self.body in (one.body, one.on)}
        if through is None:
            points = [label for label, one in others.items() if one.kind in _POINTS]
            if len(points) != 1:
                raise ArgumentError(
                    f"{self.system.name}: {self.body!r} has {len(points)} joints or closures of a point besides "
                    f"{own.label!r}; name one as through" + (f": {', '.join(points)}" if points else ""),
                    element="through",
                )
            through = points[0]
        check_known("joint or closure", through, others, "through")
        chosen = others[through]
        if chosen.kind not in _POINTS:
            raise ArgumentError(
                f"{self.system.name}: {through!r} is {chosen.kind} and transmits couples, too; a transmission angle "
                f"needs a force through a point: one of the kinds {', '.join(_POINTS)}",
                element="through",
            )
        return chosen

    def angle(self, q: Array, t: float) -> float:
        """Return μ at a configuration."""
        system, sizes = self.system, self.system.characteristic
        even = sizes.scaled_rows(system.constraint_jacobian(q, t=t))
        others = np.delete(even, self.loaded, axis=1)
        largest = float(np.linalg.norm(even, 2))
        free = ranked(others.T, RANK_CUT * largest).null
        pull = even[:, self.loaded].T @ free
        _, size, ways = np.linalg.svd(pull)
        if (
            free.shape[1] == 0
            or size[0] <= RANK_CUT * largest
            or (len(size) > 1 and size[1] > RANK_CUT * largest)
        ):
            raise SolveError(
                f"{system.name}: at q = {q} the force from driver to output is not unique: "
                + (
                    "there are several ways"
                    if free.shape[1] and size[0] > RANK_CUT * largest
                    else "none is passed on, or the configuration is singular"
                ),
                element=self.through.label,
            )
        multipliers = sizes.rows * (free @ ways[0])
        x = system.pack(q, t=t)
        zeros = np.zeros(system.nv + system.nc + push_count(system))
        loads = evaluated(system, np.concatenate([x, zeros])[None])
        ways_of = np.concatenate([multipliers, np.zeros(push_count(system))])[:, None]
        wrench = changed(system, x, ways_of, loads.axes[0])[0]
        force = loads.axes[0, self.index].T @ wrench[self.index, :3]
        seen = system.jacobian(q, t=t, body=self.body)
        point = loads.point[0, self.index]
        if self.end is not None:
            point = seen.position + seen.rotation @ self.end
        lever = point - seen.position
        rate = seen.linear[:, self.output] + np.cross(seen.angular[:, self.output], lever)
        sizes_of = float(np.linalg.norm(force) * np.linalg.norm(rate))
        if sizes_of <= NO_FORCE * np.linalg.norm(wrench[:, :3]) * sizes.length * np.linalg.norm(
            seen.angular[:, self.output]
        ):
            raise SolveError(
                f"{system.name}: at q = {q} {self.through.label!r} transmits no force, or its point rests",
                element=self.through.label,
            )
        couple = loads.axes[0, self.index].T @ wrench[self.index, 3:]
        if abs(float(couple @ seen.angular[:, self.output])) > DOES_WORK * sizes_of:
            raise SolveError(
                f"{system.name}: at q = {q} {self.through.label!r} transmits a couple that moves the output, too, so "
                "the angle of the force alone does not describe the transmission of this linkage",
                element=self.through.label,
            )
        return float(np.arcsin(min(1.0, abs(float(force @ rate)) / sizes_of)))
