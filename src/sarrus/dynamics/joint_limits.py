"""Limits and dry friction of joints: at which coordinates, on which velocities they act."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.evaluations import Evaluations


class JointLimits(NamedTuple):
    """All limits of joints: coordinate and velocity of each, the bound, and the sign with which it is an upper one.

    ``restitution`` is Newton's coefficient of each.
    """

    names: tuple[str, ...]
    places: np.ndarray
    rates: np.ndarray
    bounds: Array
    signs: Array
    restitution: Array


class DryFriction(NamedTuple):
    """All dry friction of joints: name and place of each velocity, and the largest force [N, N m]."""

    names: tuple[str, ...]
    rates: np.ndarray
    limits: Array


def joint_limits(system: Evaluations) -> JointLimits:
    """Return the limits of the joints of a system."""
    return system.model.lasting("limits", lambda: _limits_of(system))


def dry_friction(system: Evaluations) -> DryFriction:
    """Return the dry friction of the joints of a system."""
    return system.model.lasting("dry friction", lambda: _dry_friction_of(system))


def _limits_of(system: Evaluations) -> JointLimits:
    """Return the limits of a model, the lower one of each coordinate first."""
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
    return JointLimits(
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
