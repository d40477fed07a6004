"""Wrenches in all joints, closures and contacts at many states: evaluated, split and expressed in other frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import three_numbers
from sarrus.dynamics.contacts.open_forces import push_count
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.symbolic.multibody.connections import Connection, changes, connections, loads
from sarrus.symbolic.multibody.cuts import Cuts

JOINT = "joint"


@dataclass(frozen=True, eq=False)
class Loads:
    """Wrenches in the connections at T states.

    Attributes
    ----------
    wrench : (T, n, 6) force [N] and couple [N m] about the ``point``, along own axes.
    point : (T, n, 3) in the world [m]. axes : (T, n, 3, 3) own axes as rows, in the world.
    positions, rotations : (T, bodies + 1, 3), (…, 3, 3) of the bodies in the world; the last is the world itself.
    """

    wrench: Array
    point: Array
    axes: Array
    positions: Array
    rotations: Array


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """Axes (T, n, 3, 3), rows in the world, and points (T, n, 3) [m] in which wrenches are expressed."""

    axes: Array
    point: Array
    loads: Loads

    def of(self, wrench: Array) -> Array:
        """Return wrenches (…, T, n, 6), given in own axes and about own points, in these axes and about these
        points.
        """
        force = np.einsum("tnji,...tnj->...tni", self.loads.axes, wrench[..., :3])
        couple = np.einsum("tnji,...tnj->...tni", self.loads.axes, wrench[..., 3:])
        couple = couple + np.cross(self.loads.point - self.point, force)
        parts = [np.einsum("tnij,...tnj->...tni", self.axes, part) for part in (force, couple)]
        return np.concatenate(parts, axis=-1)


def connections_of(system: Evaluations) -> tuple[Connection, ...]:
    """Return the joints, closures and contacts of a system; `ArgumentError` for a system of own equations, which has
    none.
    """
    if system.mechanism is None:
        raise ArgumentError(
            f"{system.name}: only a system made from a Mechanism has joints with reactions; own equations have "
            "generalized forces only",
            element="mechanism",
        )
    return connections(system.current_mechanism())


def evaluated(system: Evaluations, rows: Array) -> Loads:
    """Return the loads at rows of [x | a | λ | r] (T, …)."""
    native = system.compiled.named("reactions", partial(_loads, system), _sizes(system))
    out = np.array([native(row) for row in rows]).reshape(len(rows), native.n_out)
    found = {name: out[:, place].reshape(len(rows), -1, 3) for name, (place, _) in native.outputs.items()}
    still = np.zeros((len(rows), 1, 3)), np.tile(np.eye(3), (len(rows), 1, 1, 1))
    positions = np.concatenate([found["position"], still[0]], axis=1)
    rotations = np.concatenate([found["rotation"].reshape(len(rows), -1, 3, 3), still[1]], axis=1)
    axes = found["axes"].reshape(len(rows), -1, 3, 3)
    own = [np.einsum("tnij,tnj->tni", axes, found[part]) for part in ("force", "couple")]
    return Loads(np.concatenate(own, axis=-1), found["point"], axes, positions, rotations)


def changed(system: Evaluations, x: Array, ways: Array, axes: Array) -> Array:
    """Return the changes of wrenches (k, n, 6), in own axes (n, 3, 3), for directions of [λ | r] (columns of ``ways``)
    at x.
    """
    if not ways.shape[1]:
        return np.zeros((0, len(axes), 6))
    native = system.compiled.named("reaction changes", partial(_changes, system), {"ways": len(ways)})
    out = np.array([native(np.concatenate([x, way])) for way in ways.T]).reshape(ways.shape[1], native.n_out)
    parts = [out[:, native.outputs[name][0]].reshape(len(out), -1, 3) for name in ("force", "couple")]
    return np.concatenate([np.einsum("nij,knj->kni", axes, part) for part in parts], axis=-1)


def bearing(found: tuple[Connection, ...], wrench: Array) -> Array:
    """Return the part of wrenches (…, n, 6) in own axes that the bearings carry; see `Connection.carried`."""
    part = np.array([one.carried for one in found]).reshape(-1, 6, 6)
    return np.asarray(np.einsum("nij,...nj->...ni", part, wrench))


def viewpoint(
    system: Evaluations,
    found: tuple[Connection, ...],
    given: Loads,
    frame: str,
    points: Mapping[str, ArrayLike] | None,
) -> Viewpoint:
    """Return the requested axes and points of the wrenches; errors name the wrong argument."""
    assert system.mechanism is not None
    numbers = system.mechanism.body_numbers
    if frame == JOINT:
        axes = given.axes
    else:
        check_known("frame", frame, (JOINT, *numbers), system.name, element="frame")
        axes = np.repeat(np.swapaxes(given.rotations[:, [numbers[frame]]], 2, 3), len(found), axis=1)
    point = given.point.copy()
    labels = [one.label for one in found]
    for label, place in (points or {}).items():
        check_known("joint", label, labels, f"{system.name}: points")
        k = labels.index(label)
        where = f" in axes of {found[k].body!r}"
        own = three_numbers(place, f"{system.name}: the point of {label!r}", unit=where, element=label)
        body = numbers[found[k].body]
        point[:, k] = given.positions[:, body] + given.rotations[:, body] @ own
    return Viewpoint(axes, point, given)


def _sizes(system: Evaluations) -> dict[str, int]:
    return {"a": system.nv, "multipliers": system.nc, "pushes": push_count(system)}


def _cuts(system: Evaluations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX) -> Cuts:
    return Cuts(system.model.symbolic_mechanism(), system.equations, a, multipliers, pushes)


def _loads(system: Evaluations, a: ca.SX, multipliers: ca.SX, pushes: ca.SX) -> dict[str, ca.SX]:
    cuts = _cuts(system, a, multipliers, pushes)
    placed = [cuts.frames.placement(body) for body in cuts.bodies]
    position = ca.vertcat(*(place for place, _ in placed))
    rotation = ca.vertcat(*(ca.vec(turn.T) for _, turn in placed))
    return loads(cuts) | {"position": ca.densify(position), "rotation": ca.densify(rotation)}


def _changes(system: Evaluations, ways: ca.SX) -> dict[str, ca.SX]:
    forces = ca.SX.sym("forces", system.nc + push_count(system))
    cuts = _cuts(system, ca.SX.zeros(system.nv), forces[: system.nc], forces[system.nc :])
    return changes(cuts, forces, ways)
