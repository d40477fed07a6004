"""`HeldFeatures`: contacts between geometries with the features that touch held (corner on face, edge on edge, …).

At a state a narrow phase finds contact points and `surface_features` the features of both surfaces there. As long as
the same features touch, gaps, rows and their biases are functions of the state (`sarrus.symbolic.rows.feature_pairs`),
with one native function for each pair of bodies and kinds of features: the numbers of the features are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.codegen import NativeFunction
from sarrus.dynamics.contacts.geometry_state import body_names, body_placements
from sarrus.dynamics.contacts.row_derivatives import slopes_of, tangent_of
from sarrus.dynamics.contacts.tolerances import NORMAL_FOUND, NORMAL_STEPS
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.model.mechanism.elements import WORLD
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.rows.feature_pairs import PAIR_SIZE, FeatureShape, PairMotion, feature_pair_motion

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.geometry_state import GeometryContacts, GeometryPoint

_NORMAL = slice(30, 33)


@dataclass(frozen=True, eq=False)
class HeldFeature:
    """A contact of two features, by the numbers of both in axes of their bodies (`PAIR_SIZE`).

    ``rows`` are its rows among those of all contacts between geometries. ``rolls`` tells that the contact point moves
    on a body while it sticks. ``borders``: the features are those of other pairs as well, such as a corner on an edge,
    so that other features touch after most motions. ``known`` is False where the features do not touch as the narrow
    phase says.
    """

    name: str
    pair: str
    shape: FeatureShape
    rows: slice
    numbers: Array
    rolls: bool
    borders: bool
    known: bool


class HeldFeatures:
    """The contacts between geometries at a state, with their features held; rows are in the order of the points."""

    def __init__(self, system: Evaluations, found: GeometryContacts) -> None:
        self.system, self.count = system, len(found.rows)
        names, length = [*body_names(system), WORLD], system.characteristic.length
        rotations, positions = body_placements(system, found.q, found.t)
        self.contacts = tuple(_held(one, names, rotations, positions, length) for one in found.points)

    def motion(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return gaps (n,), rows (m × nv), their velocities and biases (m,) at x = [q | v | u | t | p | τ].

        Normals without closed form are iterated; those found are where the next iteration begins.
        """
        gaps, rows = np.zeros(len(self.contacts)), np.zeros((self.count, self.system.nv))
        rates, bias = np.zeros(self.count), np.zeros(self.count)
        for k, one in enumerate(self.contacts):
            found = self._found(one, x)
            gaps[k] = found["gap"][0, 0]
            rows[one.rows] = found["rows"]
            rates[one.rows], bias[one.rows] = found["rates"][:, 0], found["bias"][:, 0]
        return gaps, rows, rates, bias

    def tangent(self, x: Array, a: Array, forces: Array) -> dict[str, Array]:
        """Return the derivatives `row_derivatives.tangent_outputs` of all rows, for ``forces`` (m,) on them."""
        return self._summed("tangent", "a", x, a, forces)

    def slopes(self, x: Array, w: Array, forces: Array) -> dict[str, Array]:
        """Return the derivatives `row_derivatives.slope_outputs` of all rows, for ``forces`` (m,) on them."""
        return self._summed("slopes", "w", x, w, forces)

    def _found(self, one: HeldFeature, x: Array) -> dict[str, Array]:
        native, found = self._native("motion", one), dict[str, Array]()
        for _ in range(NORMAL_STEPS):
            found = native.evaluate(np.concatenate([x, one.numbers]))
            normal, before = found["normal"][:, 0], one.numbers[_NORMAL].copy()
            one.numbers[_NORMAL] = normal
            if np.abs(normal - before).max() <= NORMAL_FOUND:
                break
        return found

    def _summed(self, what: str, way: str, x: Array, given: Array, forces: Array) -> dict[str, Array]:
        """Return the outputs of all contacts: rows one below the other, forces (nv rows) added."""
        total: dict[str, Array] = {}
        nv = self.system.nv
        for one in self.contacts:
            self._found(one, x)  # the normal at x
            found = self._native(what, one, way).evaluate(
                np.concatenate([x, one.numbers, given, forces[one.rows]])
            )
            for name, part in found.items():
                summed = name in ("force_q", "backward")
                if name not in total:
                    total[name] = np.zeros((nv if summed else self.count, part.shape[1]))
                if summed:
                    total[name] += part
                else:
                    total[name][one.rows] = part
        return total

    def _native(self, what: str, one: HeldFeature, way: str = "") -> NativeFunction:
        shape = one.shape
        inputs = {"pair": PAIR_SIZE}
        if way:
            inputs |= {way: self.system.nv, "forces": shape.width}
        name = " ".join(("features", what, *shape.bodies, *shape.kinds, str(shape.width)))
        outputs: dict[str, Callable[..., dict[str, ca.SX]]] = {
            "motion": _motion_outputs,
            "tangent": _tangent_outputs,
            "slopes": _slope_outputs,
        }
        return self.system.compiled.named(name, partial(outputs[what], self.system, shape), inputs)


def _held(
    one: GeometryPoint, names: Sequence[str], rotations: Array, positions: Array, length: float
) -> HeldFeature:
    (features, borders), _, known = one.on_features(length)
    numbers = list[Array]()
    for feature, body in zip(features, one.bodies):
        own = feature.placed(rotations[body].T, -rotations[body].T @ positions[body])
        numbers += [own.centre, own.axes.T.ravel(), own.size]
    numbers += [one.axes[0], one.axes[1]]
    numbers += [rotations[body].T @ (one.point - positions[body]) for body in one.bodies]
    kinds = features[0].kind, features[1].kind
    sharp = [feature.kind == "point" and feature.size[0] == 0.0 for feature in features]
    edges = all(feature.kind == "line" and feature.size[0] == 0.0 for feature in features)
    width = one.pair.width
    return HeldFeature(
        one.name,
        one.pair.name,
        FeatureShape((names[one.bodies[0]], names[one.bodies[1]]), kinds, width),
        one.rows,
        np.concatenate([*numbers, [one.pair.margin, one.pair.torsion, one.pair.rolling]]),
        rolls=width > 3 or (width > 1 and (one.pair.margin > 0.0 or not (any(sharp) or edges))),
        borders=borders,
        known=known,
    )


def _motion(system: Evaluations, shape: FeatureShape, pair: ca.SX) -> tuple[PairMotion, dict[str, ca.SX]]:
    """Return the motion of a contact, and velocities, biases and rows as `contact_functions.motion_outputs`."""
    e = system.equations
    assert e.tree is not None
    found = feature_pair_motion(Frames(e.tree, links(e.tree, e.q, e.v)), shape, pair)
    bias = ca.jtimes(found.rates, ca.vertcat(e.q, e.t), ca.vertcat(e.rate, 1))
    return found, {"rates": found.rates, "bias": bias, "rows": ca.jacobian(found.rates, e.v)}


def _motion_outputs(system: Evaluations, shape: FeatureShape, pair: ca.SX) -> dict[str, ca.SX]:
    found, motion = _motion(system, shape, pair)
    return motion | {"gap": found.gap, "normal": found.normal}


def _tangent_outputs(
    system: Evaluations, shape: FeatureShape, pair: ca.SX, a: ca.SX, forces: ca.SX
) -> dict[str, ca.SX]:
    return tangent_of(system, _motion(system, shape, pair)[1], a, forces)


def _slope_outputs(
    system: Evaluations, shape: FeatureShape, pair: ca.SX, w: ca.SX, forces: ca.SX
) -> dict[str, ca.SX]:
    found, motion = _motion(system, shape, pair)
    places = found.place[: min(shape.width - 1, 2)]
    position = ca.vertcat(found.gap, places, ca.SX(shape.width - 1 - places.numel(), 1))
    return slopes_of(system, motion, position, w, forces)
