"""The same mechanism in another unit of length and of mass: what does not depend on units must come out the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.units import coordinate_units, velocity_units
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.joint import Joint
from sarrus.model.mechanism.pose import Pose


def scales(system: System, length: float) -> tuple[Array, Array]:
    """Return the factors of coordinates and velocities when lengths are ``length`` times the numbers they were."""
    return (
        np.array([length if unit == "m" else 1.0 for unit in coordinate_units(system)]),
        np.array([length if unit == "m/s" else 1.0 for unit in velocity_units(system)]),
    )


def scaled(system: System, length: float, mass: float = 1.0) -> Mechanism:
    """Return the mechanism of a system with all lengths and masses as so many times the numbers; times stay.

    Forces are mass × length, torques mass × length² times the numbers; controls keep theirs.
    """
    source = system.mechanism
    assert source is not None
    assert not source.forces, "forces by functions cannot be scaled"
    duplicate = source.snapshot()
    places, speeds = scales(system, length)
    of_coordinate = dict(zip(system.coordinate_names, places))
    of_velocity = dict(zip(system.velocity_names, speeds))
    energy = mass * length**2

    def moved(pose: Pose) -> Pose:
        return replace(pose, position=length * pose.position)

    def joint(given: Joint) -> Joint:
        q = [of_coordinate[name] for name in given.coordinate_names]
        v = [of_velocity[name] for name in given.velocity_names]
        assert given.stiffness == 0.0 or len(set(v)) == 1, "one stiffness for lengths and angles"
        return replace(
            given,
            anchor=length * given.anchor,
            pitch=length * given.pitch,
            reference=tuple(np.multiply(given.reference, q)),
            limits=tuple(limit and (limit[0] * s, limit[1] * s) for limit, s in zip(given.limits, v)),
            stiffness=given.stiffness * energy / (v[0] ** 2 if v else 1.0),
            spring_reference=tuple(np.multiply(given.spring_reference, q)) if given.spring_reference else (),
            damping=tuple(energy * np.divide(given.damping, np.square(v))) if given.damping else (),
            armature=tuple(energy * np.divide(given.armature, np.square(v))) if given.armature else (),
        )

    duplicate.gravity = length * source.gravity
    duplicate._bodies = {
        name: replace(
            body,
            mass=mass * body.mass,
            com=length * body.com,
            inertia=energy * body.inertia,
            placement=moved(body.placement),
            joints=tuple(map(joint, body.joints)),
        )
        for name, body in source._bodies.items()
    }
    duplicate.closures = {
        name: replace(
            c, pose1=moved(c.pose1), pose2=moved(c.pose2), pitch=length * c.pitch, length=length * c.length
        )
        for name, c in source.closures.items()
    }
    duplicate.contacts = {
        name: replace(c, point=length * c.point, origin=length * c.origin)
        for name, c in source.contacts.items()
    }
    duplicate.rollings = {
        name: replace(r, centre=length * r.centre, origin=length * r.origin, radius=length * r.radius)
        for name, r in source.rollings.items()
    }
    duplicate.couplings = {
        name: replace(
            c,
            terms=tuple(
                replace(
                    term,
                    coefficients=tuple(
                        x * of_coordinate[c.terms[0].coordinate] / of_coordinate[term.coordinate] ** k
                        for k, x in enumerate(term.coefficients)
                    ),
                    reference=term.reference * of_coordinate[term.coordinate],
                )
                for term in c.terms
            ),
        )
        for name, c in source.couplings.items()
    }
    duplicate.springs = {
        name: replace(
            s,
            point1=length * s.point1,
            point2=length * s.point2,
            stiffness=mass * s.stiffness,
            damping=mass * s.damping,
            rest_length=(length * s.rest_length[0], length * s.rest_length[1]),
        )
        for name, s in source.springs.items()
    }
    assert not source.coordinate_springs, "springs on combinations of coordinates cannot be scaled yet"
    duplicate.actuators = {
        name: replace(
            a,
            transmission=tuple((n, gear * energy / of_velocity[n]) for n, gear in a.transmission),
            bias=(a.bias[0], a.bias[1] / energy, a.bias[2] / energy),
        )
        for name, a in source.actuators.items()
    }
    return duplicate
