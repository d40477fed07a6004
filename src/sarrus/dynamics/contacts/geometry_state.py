"""Contacts between geometries at a state: points, axes, rows and biases, from MuJoCo's narrow phase.

The rows are those of time steps (`sarrus.kernels.contact.geometry_parts`). Their biases follow from the motion of
contact point and normal, which the features of both surfaces determine (`sarrus.dynamics.contacts.surface_features`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import local
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.contacts.feature_pairs import (
    FeatureContact,
    ProperPair,
    agrees,
    contact_of_features,
    proper_pair,
)
from sarrus.dynamics.contacts.surface_features import (
    Body,
    ContactRates,
    Feature,
    Surface,
    contact_rates,
    cross,
    feature_at,
)
from sarrus.dynamics.contacts.tolerances import EXACT, FEATURE_GAP
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.model.mechanism.elements import GeometryContact
from sarrus.symbolic.multibody.geometry_bodies import geometry_bodies, twists, wrench_force, wrench_stiffness

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.geometry_arrays import GeometryArrays


@dataclass(frozen=True, eq=False)
class GeometryPoint:
    """A contact point of two geometries, in world axes.

    ``name`` is the name of the pair and the number of the point in it; ``rows`` are its rows among those of all points.
    ``bodies`` are the numbers of both bodies among `geometry_bodies`, −1 for the ground. ``axes`` (3, 3) has normal and
    tangents as rows; the normal points from the first geometry to the second one.
    """

    name: str
    pair: GeometryContact
    rows: slice
    gap: float
    point: Array
    axes: Array
    bodies: tuple[int, int]
    features: tuple[Feature, Feature]

    @property
    def row_names(self) -> tuple[str, ...]:
        """Names of the rows, as ``contact.row``."""
        return tuple(f"{self.name}.{row}" for row in self.pair.rows)

    @property
    def distance(self) -> float:
        """Distance of both surfaces [m]: the gap and the margin."""
        return self.gap + self.pair.margin

    def on_features(self, length: float) -> tuple[ProperPair, FeatureContact, bool]:
        """Return the features that determine the contact, how they touch, and whether as the point says.

        Where the surfaces are at the point, a smooth one gives the normal to begin with: normals of the narrow phase
        may be wrong by 1 where an ellipsoid is 1e-9 m deep in a cylinder.
        """
        normal = self.axes[0]
        if abs(self.distance) <= FEATURE_GAP * length:
            for sign, feature in zip((1.0, -1.0), self.features):
                own = feature.normal_at(self.point)
                normal = normal if own is None else sign * own
        pair = proper_pair(self.features, self.point, normal, self.pair.margin)
        found = contact_of_features(pair, normal)
        known = agrees(pair, found, FeatureContact(self.distance, self.point, normal), length)
        return pair, found, known and all(one.kind != "ridge" for one in self.features)

    def wrench(self, forces: Array) -> tuple[Array, Array]:
        """Return force (3,) [N] and moment (3,) [N m] on the second body by forces on the rows."""
        force, moment = forces[:3] @ self.axes[: len(forces[:3])], np.zeros(3)
        for (axis, length), part in zip(self.pair.turns, forces[3:]):
            moment += length * part * self.axes[axis]
        return force, moment


class GeometryContacts:
    """The contact points of geometries at q and t with a gap up to a distance, and their rows J (m × nv).

    Normals, points and gaps are those of the features of both surfaces, where they agree with the narrow phase.
    """

    def __init__(self, system: Evaluations, q: Array, t: float, within: float) -> None:
        self.system, self.q, self.t, self.still = system, q, t, np.zeros(system.nv)
        arrays = arrays_of(system)
        found, self.rows = arrays.rows(system.pack(q, None, None, t), within, system.nv)
        surfaces = arrays.surfaces
        count: dict[str, int] = {}
        self.points, start = list[GeometryPoint](), 0
        for seen in found:
            number = int(seen.pair)
            pair = arrays.contacts[number]
            count[pair.name] = count.get(pair.name, 0) + 1
            normal, point = np.array([seen.nx, seen.ny, seen.nz]), np.array([seen.x, seen.y, seen.z])
            distance = float(seen.gap) + pair.margin
            geoms = int(arrays.ones[number]), int(arrays.others[number])
            features = tuple(
                self._feature(
                    arrays, surfaces[geom], geom, point + 0.5 * sign * distance * normal, -sign * normal
                )
                for geom, sign in zip(geoms, (-1.0, 1.0))
            )
            self.points.append(
                GeometryPoint(
                    f"{pair.name}.{count[pair.name]}",
                    pair,
                    slice(start, start := start + pair.width),
                    float(seen.gap),
                    point,
                    np.array([normal, *_tangents(normal)]),
                    (int(arrays.bodies1[number]), int(arrays.bodies2[number])),
                    (features[0], features[1]),
                )
            )
        # MuJoCo's functions for single pairs of kinds, such as box and box, are exact
        self._refine([k for k, seen in enumerate(found) if arrays.general[int(seen.pair)]])

    def _refine(self, which: Sequence[int]) -> None:
        """Replace normals, points, gaps and rows that the features know more exactly than the narrow phase."""
        length = self.system.characteristic.length
        for k in which:
            one = self.points[k]
            pair, found, known = one.on_features(length)
            error = max(
                float(np.abs(found.normal - one.axes[0]).max()),
                float(np.abs([found.gap - one.distance, *(found.point - one.point)]).max()) / length,
            )
            if error <= EXACT or pair.borders or not known:
                continue
            n = found.normal
            first, second = one.features
            self.points[k] = exact = replace(
                one,
                gap=found.gap - one.pair.margin,
                point=found.point,
                axes=np.array([n, *_tangents(n)]),
                features=(first._replace(outward=n), second._replace(outward=-n)),
            )
            for row, unit in zip(range(exact.rows.start, exact.rows.stop), np.eye(exact.pair.width)):
                total = np.zeros((self.count, 6))
                add_wrench(total, exact.bodies, self._origins(exact), exact.point, *exact.wrench(unit))
                self.rows[row] = self.generalized(total.ravel())

    def _feature(
        self, arrays: GeometryArrays, surface: Surface, geom: int, point: Array, outward: Array
    ) -> Feature:
        """Return the feature of a geometry at a point of its surface, in world axes."""
        rotation, position = arrays.data.geom_xmat[geom].reshape(3, 3), arrays.data.geom_xpos[geom]
        found = feature_at(surface, rotation.T @ (point - position), rotation.T @ outward)
        return found.placed(rotation, position)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows."""
        return tuple(name for point in self.points for name in point.row_names)

    @property
    def gaps(self) -> Array:
        """Gaps (n,) [m]."""
        return np.array([point.gap for point in self.points])

    def motion(self, v: Array) -> tuple[Array, Array]:
        """Return the velocities of the rows and their biases (m,): J a + bias is the rate of the velocities."""
        rates, bias = np.zeros(len(self.rows)), np.zeros(len(self.rows))
        twist = self._twists(v)
        if not twist.any():
            return rates, bias
        for one in self.points:
            moved = self.rates(one, twist)
            (velocity, acceleration), (spin, turning) = self._relative(one, twist, moved)
            axes, change = one.axes, _turned(one, moved)
            width, own = one.pair.width, one.rows.start
            for k in range(min(width, 3)):
                rates[own + k] = axes[k] @ velocity
                bias[own + k] = axes[k] @ acceleration + change[k] @ velocity
            for row, (k, length) in zip(range(own + 3, one.rows.stop), one.pair.turns):
                rates[row] = length * axes[k] @ spin
                bias[row] = length * (axes[k] @ turning + change[k] @ spin)
        return rates, bias

    def rates(self, one: GeometryPoint, twist: Array) -> ContactRates:
        """Return the rates of contact point and normal for the twists of the bodies."""
        bodies = [
            Body(own[0] + cross(own[1], one.point - origin), own[1])
            for own, origin in zip(self._of(twist, one), self._origins(one))
        ]
        return contact_rates(one.features, (bodies[0], bodies[1]), one.axes[0], one.distance)

    def wrenches(self, forces: Array) -> Array:
        """Return the wrenches (6 n,) on the n bodies of `geometry_bodies`: force, moment about the body's origin."""
        total = np.zeros((self.count, 6))
        for one in self.points:
            add_wrench(total, one.bodies, self._origins(one), one.point, *one.wrench(forces[one.rows]))
        return total.ravel()

    def wrench_map(self) -> Array:
        """Return the matrix (6 n × m) of the wrenches by unit forces on the rows."""
        columns = [self.wrenches(unit) for unit in np.eye(len(self.rows))]
        return np.array(columns).reshape(len(self.rows), 6 * self.count).T

    def generalized(self, wrenches: Array) -> Array:
        """Return the generalized force (nv,) of wrenches on the bodies, as of `wrenches`."""
        return generalized(self.system, self.q, self.t, wrenches)

    def relative_motion(self, one: GeometryPoint, length: float) -> Array:
        """Return the rows (6 × nv) of the velocity of the second body relative to the first at a contact point [m/s].

        The last three are those of the angular velocity, times a length [m].
        """
        rows = list[Array]()
        for force, moment in ((np.eye(3), np.zeros((3, 3))), (np.zeros((3, 3)), length * np.eye(3))):
            for each in zip(force, moment):
                total = np.zeros((self.count, 6))
                add_wrench(total, one.bodies, self._origins(one), one.point, *each)
                rows.append(self.generalized(total.ravel()))
        return np.array(rows)

    def stiffness_times(self, forces: Array, way: Array) -> Array:
        """Return −d/ds (Jᵀ r) (nv,) along a velocity, with the forces r on the rows constant."""
        twist, change = self._twists(way) - self._twists(self.still), np.zeros((self.count, 6))
        for one in self.points:
            own, moved = forces[one.rows], self.rates(one, twist)
            force, _ = one.wrench(own)
            turned = replace(one, axes=_turned(one, moved))
            add_wrench(change, one.bodies, self._origins(one), one.point, *turned.wrench(own))
            for sign, body in zip((-1.0, 1.0), one.bodies):
                if body >= 0:
                    change[body, 3:] += sign * cross(moved.point - twist[body, 0], force)
        held = _native(
            self.system, "geometry stiffness", wrench_stiffness, self.q, way, self.t, self.wrenches(forces)
        )
        return held - self.generalized(change.ravel())

    # --- motion of the bodies --------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """Number of bodies with geometries."""
        return len(body_names(self.system))

    @cached_property
    def _origin(self) -> Array:
        """Origins of the bodies, see `body_origins`."""
        return body_origins(self.system, self.q, self.t)

    def _origins(self, one: GeometryPoint) -> list[Array]:
        return [self._origin[body] for body in one.bodies]

    def _twists(self, v: Array) -> Array:
        """Return the twists of the bodies (n + 1, 4, 3): velocity, angular velocity and their rates at v̇ = 0."""
        system = self.system
        native = system.compiled.named(
            "geometry twists", lambda: {"twists": twists(system.equations, body_names(system))}
        )
        found = native(system.pack(self.q, v, None, self.t)).reshape(-1, 4, 3)
        return np.concatenate([found, np.zeros((1, 4, 3))])

    def _of(self, twist: Array, one: GeometryPoint) -> list[Array]:
        return [twist[body] for body in one.bodies]

    def _relative(self, one: GeometryPoint, twist: Array, moved: ContactRates) -> tuple[Array, Array]:
        """Return velocity and spin of the second body relative to the first at the contact point, and their rates.

        Two arrays (2, 3): the value and, at v̇ = 0, its rate along the motion of the contact point.
        """
        total = np.zeros((2, 2, 3))
        for sign, own, origin in zip((-1.0, 1.0), self._of(twist, one), self._origins(one)):
            arm = one.point - origin
            velocity = own[0] + cross(own[1], arm)
            rate = own[2] + cross(own[3], arm) + cross(own[1], moved.point - own[0])
            total += sign * np.array([[velocity, rate], own[1::2]])
        return total[0], total[1]


def body_names(system: Evaluations) -> list[str]:
    """Return the moving bodies with geometries whose contacts a narrow phase finds."""
    if system.mechanism is None:
        return []
    mechanism = system.mechanism
    return system.model.cached("geometry bodies", lambda: geometry_bodies(mechanism))


def body_origins(system: Evaluations, q: Array, t: float) -> Array:
    """Return the origins (n + 1, 3) [m] of the bodies of `body_names`, zeros in the last row for the ground."""
    return body_placements(system, q, t)[1]


def body_placements(system: Evaluations, q: Array, t: float) -> tuple[Array, Array]:
    """Return rotations (n + 1, 3, 3) and origins (n + 1, 3) [m] of the bodies of `body_names`, then of the ground."""
    found = arrays_of(system).placements(system.pack(q, None, None, t))
    rotations = np.concatenate([found[:, 3:].reshape(-1, 3, 3), np.eye(3)[None]])
    return rotations, np.vstack([found[:, :3], np.zeros((1, 3))])


def generalized(system: Evaluations, q: Array, t: float, wrenches: Array) -> Array:
    """Return the generalized force (nv,) of wrenches (6 n,) on the bodies of `body_names`."""
    return _native(system, "geometry force", wrench_force, q, np.zeros(system.nv), t, wrenches)


def _native(
    system: Evaluations,
    name: str,
    outputs: Callable[..., ca.SX],
    q: Array,
    v: Array,
    t: float,
    wrenches: Array,
) -> Array:
    """Return the value of a native function of the state and of wrenches on the bodies."""
    bodies = body_names(system)
    native = system.compiled.named(
        name, lambda given: {"force": outputs(system.equations, bodies, given)}, {"wrenches": 6 * len(bodies)}
    )
    return native(np.concatenate([system.pack(q, v, None, t), wrenches]))


def arrays_of(system: Evaluations) -> GeometryArrays:
    """Return the arrays of the narrow phase of this model for this thread."""
    of_thread = system.model.cached("geometry arrays", local)
    if not hasattr(of_thread, "arrays"):
        from sarrus.dynamics.contacts.geometry_arrays import (
            GeometryArrays,  # here: mujoco takes long to import
        )

        of_thread.arrays = GeometryArrays(system)
    arrays: GeometryArrays = of_thread.arrays
    return arrays


def add_wrench(
    total: Array, bodies: Sequence[int], origins: Sequence[Array], point: Array, force: Array, moment: Array
) -> None:
    """Add a force (3,) and a moment (3,) at a point, on the second body and reversed on the first, to wrenches (n, 6).

    ``origins`` are those of both bodies. Numbers −1 are the ground.
    """
    for sign, body, origin in zip((-1.0, 1.0), bodies, origins):
        if body >= 0:
            total[body, :3] += sign * force
            total[body, 3:] += sign * (moment + cross(point - origin, force))


def _turned(one: GeometryPoint, moved: ContactRates) -> Array:
    """Return the rates of the axes of a contact: of the tangents, the smallest with which they stay tangents."""
    tangents = [-(tangent @ moved.normal) * one.axes[0] for tangent in one.axes[1:]]
    return np.array([moved.normal, *tangents])


def _tangents(normal: Array) -> tuple[Array, Array]:
    """Return the tangents of `sarrus.kernels.contact.geometry_parts.tangent`."""
    first = cross(np.eye(3)[int(np.argmin(np.abs(normal)))], normal)
    first /= np.linalg.norm(first)
    return first, cross(normal, first)
