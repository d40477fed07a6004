"""Limits and dry friction of joints: coordinates, velocities, bounds.

A coordinate may start beyond its limit: digits of model files end somewhere, and reference poses of public files often
violate their own limits. The stop then acts at the coordinate (`bounds_at`): the coordinate may return, the stop
follows it, and no motion goes further out. Once the coordinate is inside, the modelled limit acts.
"""

from __future__ import annotations

from typing import NamedTuple
from warnings import warn

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import LimitWarning
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.kernels.contact.tolerances import AT_BOUND


class JointStops(NamedTuple):
    """All joint limits: coordinate, velocity and bound of each; the sign is 1 for an upper, −1 for a lower limit.

    ``restitution`` is Newton's coefficient of each limit.
    """

    names: tuple[str, ...]
    places: np.ndarray
    rates: np.ndarray
    bounds: Array
    signs: Array
    restitution: Array


class DryFriction(NamedTuple):
    """Dry friction of joints: name and index of each velocity, and the largest friction force [N, N m]."""

    names: tuple[str, ...]
    rates: np.ndarray
    limits: Array


def joint_limits(system: Evaluations) -> JointStops:
    """Return the limits of the joints of a system."""
    return system.model.cached("limits", lambda: _limits_of(system))


def dry_friction(system: Evaluations) -> DryFriction:
    """Return the dry friction of the joints of a system."""
    return system.model.cached("dry friction", lambda: _dry_friction_of(system))


def bounds_at(limits: JointStops, q: Array, closed: float = 0.0) -> Array:
    """Return the active bound of each limit at q: the modelled one, or the coordinate if it is beyond.

    q is (nq,) or (runs, nq), the bounds (limits,) or (runs, limits). Up to ``closed`` [m, rad] beyond it the modelled
    limit still acts.
    """
    places = q[..., limits.places]
    return np.where(limits.signs * (places - limits.bounds) > closed, places, limits.bounds)


def beyond_limits(system: Evaluations, q: Array) -> Array:
    """Return a mask (limits,), or (runs, limits), of limits exceeded by more than rounding of a file.

    Rounding of a file is `AT_BOUND` of the range between both limits, or of the characteristic length (1 rad).
    """
    limits = joint_limits(system)
    return np.asarray(limits.signs * (q[..., limits.places] - limits.bounds) > digits_of_limits(system))


def digits_of_limits(system: Evaluations) -> Array:
    """Return how far beyond each limit (limits,) [m, rad] is rounding of a file; see `beyond_limits`."""
    return system.model.cached("digits of limits", lambda: _digits_of_limits(system))


def _digits_of_limits(system: Evaluations) -> Array:
    limits = joint_limits(system)
    pairs = limits.bounds.reshape(-1, 2)
    ranges = np.repeat(pairs[:, 1] - pairs[:, 0], 2)
    sizes = 1.0 / system.characteristic.coordinates[limits.places]
    return np.asarray(AT_BOUND * np.maximum(np.where(np.isfinite(ranges), ranges, 0.0), sizes))


def sides_beyond(system: Evaluations, q: Array) -> list[str]:
    """Return a text for each limit that a coordinate of q (nq,) exceeds by more than rounding of a file."""
    limits, sides = joint_limits(system), {-1.0: "lower", 1.0: "upper"}
    return [
        f"{limits.names[k]} = {q[limits.places[k]]:.6g} is beyond its {sides[float(limits.signs[k])]} limit "
        f"{limits.bounds[k]:.6g}"
        for k in np.flatnonzero(beyond_limits(system, q))
    ]


def warn_beyond(name: str, beyond: list[str], *, stacklevel: int) -> None:
    """Warn that the texts ``beyond`` hold for the start of the system ``name``."""
    remedy = "system.assemble(q, within_limits=True) moves q inside"
    text = f"{name}: {'; '.join(beyond)}; it may come back and goes no further out; {remedy}"
    warn(text, LimitWarning, stacklevel=stacklevel + 1)


def _limits_of(system: Evaluations) -> JointStops:
    """Return the limits of a model, lower before upper for each coordinate."""
    place = {name: i for i, name in enumerate(system.coordinate_names)}
    rate = {name: i for i, name in enumerate(system.velocity_names)}
    joints = system.mechanism.joints() if system.mechanism is not None else ()
    limited = [
        (name, limit, restitution)
        for joint in joints
        for name, limit, restitution in zip(
            joint.velocity_names, joint.limits, joint.limit_restitution or (0.0,) * joint.nv
        )
        if limit is not None and name in place
    ]
    return JointStops(
        tuple(name for name, *_ in limited for _ in range(2)),
        np.repeat(np.array([place[name] for name, *_ in limited], dtype=np.int64), 2),
        np.repeat(np.array([rate[name] for name, *_ in limited], dtype=np.int64), 2),
        np.array([bound for _, limit, _ in limited for bound in limit], dtype=float),
        np.tile([-1.0, 1.0], len(limited)),
        np.repeat(np.array([restitution for *_, restitution in limited], dtype=float), 2),
    )


def _dry_friction_of(system: Evaluations) -> DryFriction:
    places = {name: k for k, name in enumerate(system.velocity_names)}
    joints = system.mechanism.joints() if system.mechanism is not None else ()
    found = [
        (name, places[name], limit)
        for joint in joints
        for name, limit in zip(joint.velocity_names, joint.friction)
        if limit > 0.0
    ]
    names, rates, limits = zip(*found) if found else ((), (), ())
    return DryFriction(names, np.array(rates, dtype=np.int64), np.array(limits, dtype=float))
