"""Characteristic length κ and mass of a mechanism, which make its coordinates and rows comparable.

κ weighs metres against radians: a translation by κ counts as much as a rotation by one radian (Aghili, projection
matrix formulation, section 7.2). κ is proportional to the dimensions of the mechanism, so a tolerance, a step or a
rank in units of κ is the same for a model in metres and in millimetres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log10

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.units import Described, constraint_units, coordinate_units, velocity_units
from sarrus.kernels.contact.tolerances import AT_BOUND
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.elements import WORLD, Closure
from sarrus.model.mechanism.faults import Label
from sarrus.model.mechanism.surface_contacts import balls
from sarrus.model.mechanism.tendons import TendonPoint
from sarrus.symbolic.kinematics.timed import slope_at

# Gravity of the earth [m/s²], for the estimate of the unit of length.
EARTH = 9.81


@dataclass(frozen=True, eq=False)
class Characteristic:
    """The characteristic sizes of a mechanism.

    Attributes
    ----------
    length, mass : κ [m] and the mass of all bodies [kg]; one where they are unknown or zero.
    rows : (nc,) factors of φ and ψ: 1/κ for a row that is a length, else one.
    columns : (nv,) factors of velocities and of steps along them: 1/κ for translations, else one.
    coordinates : (nq,) factors of coordinates, likewise.
    """

    length: float
    mass: float
    rows: Array
    columns: Array
    coordinates: Array

    @property
    def metric(self) -> Array:
        """Diagonal (nv,) of a metric of velocities in the units of M: a body of this mass and size κ."""
        return self.mass * (self.length * self.columns) ** 2

    def scaled_rows(self, jacobian: Array) -> Array:
        """Return A (…, m, nv), or its first m rows, with rows and velocities in characteristic units."""
        return np.asarray(self.rows[: jacobian.shape[-2], None] * jacobian / self.columns)

    def least_multipliers(self, jacobian: Array, rank: int, force: Array) -> Array:
        """Return the λ (m,) with Aᵀλ closest to ``force`` of least norm in characteristic units; A at ``rank``."""
        if rank == 0:
            return np.zeros(len(jacobian))
        return np.asarray(
            self.rows * at_rank(self.scaled_rows(jacobian), rank).solve_transposed(force / self.columns)
        )


def characteristic(system: Described) -> Characteristic:
    """Return the characteristic sizes of a system.

    Equations without a mechanism have unknown units: all factors are one.
    """
    mechanism = system.mechanism
    if mechanism is None:
        return Characteristic(1.0, 1.0, np.ones(system.nc), np.ones(system.nv), np.ones(system.nq))
    length = characteristic_length(mechanism)
    mass = sum(body.mass for body in mechanism.bodies.values())
    return Characteristic(
        length,
        mass if mass > 0.0 else 1.0,
        _row_factors(system, mechanism, length),
        np.array([1.0 / length if unit == "m/s" else 1.0 for unit in velocity_units(system)]),
        np.array([1.0 / length if unit == "m" else 1.0 for unit in coordinate_units(system)]),
    )


def _row_factors(system: Described, mechanism: Mechanism, length: float) -> Array:
    """Return the factors of the rows; of a coupling by its largest term at a coordinate of 1 rad or κ."""
    factors = np.array([1.0 / length if unit == "N" else 1.0 for unit in constraint_units(system)])
    size = {
        name: length if unit == "m" else 1.0
        for name, unit in zip(system.coordinate_names, coordinate_units(system))
    }
    for coupling in mechanism.couplings.values():
        terms = [
            abs(c)
            * size.get(term.coordinate, length) ** k  # tendon lengths are no coordinates: they count as κ
            for term in coupling.terms
            for k, c in enumerate(term.coefficients)
            if k > 0
        ]
        terms += [
            abs(slope_at(term.function, place, Label("coupling", coupling.name))) * place
            for term in coupling.terms
            if term.function is not None
            for place in (size.get(term.coordinate, length),)
        ]
        largest = max(terms, default=0.0)
        factors[system.closure_rows[coupling.name]] = 1.0 / largest if largest > 0.0 else 1.0
    return factors


def characteristic_length(mechanism: Mechanism) -> float:
    """Return κ [m], the largest distance between joints, centres of mass and closures on one body.

    If all of these coincide: the largest radius of gyration; else the largest distance in the world; else the widest
    range between two stops of a translation, unless both are one to printed digits. For points over a plane, without
    any of these lengths, κ is the power of ten nearest to gravity / gravity of the earth (1000 for a model in
    millimetres), at least one.
    """
    on_bodies, in_world = [0.0], [0.0]
    for owner, distance in _distances(mechanism):
        (in_world if owner == WORLD else on_bodies).append(distance)
    if max(on_bodies) > 0.0:
        return max(on_bodies)
    gyration = [
        float(np.sqrt(np.trace(body.inertia) / (2.0 * body.mass)))
        for body in mechanism.bodies.values()
        if body.mass > 0.0
    ]
    for candidates in (gyration, in_world):
        if max(candidates, default=0.0) > 0.0:
            return max(candidates)
    gravity = dense.norm(mechanism.gravity)
    usual = float(f"1e{round(log10(gravity / EARTH))}") if gravity > EARTH else 1.0
    widest = max(_ranges(mechanism), default=0.0)
    return widest if widest > AT_BOUND * usual else usual


def _ranges(mechanism: Mechanism) -> Iterator[float]:
    """Iterate over the ranges [m] between both limits of translations."""
    for joint in mechanism.joints():
        for (kind, _), limits in zip(joint.series, joint.limits):
            if kind == "prismatic" and limits is not None and np.isfinite(limits).all():
                yield float(limits[1] - limits[0])


def _distances(mechanism: Mechanism) -> Iterator[tuple[str, float]]:
    """Iterate over pairs of a body and a length on it [m]."""
    for body in mechanism.bodies.values():
        yield body.name, dense.norm(body.com)
        yield body.parent, dense.norm(body.placement.position)
        for joint in body.joints:
            yield body.name, dense.norm(joint.anchor)
    for element in mechanism.constraints():
        if isinstance(element, Closure):
            yield element.body1, dense.norm(element.pose1.position)
            yield element.body2, dense.norm(element.pose2.position)
            yield element.body2, element.length
    for rolling in mechanism.rollings.values():
        yield rolling.body, dense.norm(rolling.centre)
        yield rolling.body, rolling.radius
    for contact in mechanism.contacts.values():
        yield contact.body, dense.norm(contact.point)
    for pair in mechanism.geometry_contacts.values():  # like contacts at the same places
        for geom in (mechanism.geoms[pair.geom1], mechanism.geoms[pair.geom2]):
            for centre, _ in balls(geom):
                yield geom.body, dense.norm(centre)
    for spring in mechanism.springs.values():
        yield spring.body1, dense.norm(spring.point1)
        yield spring.body2, dense.norm(spring.point2)
    for tendon in mechanism.tendons.values():
        for item in tendon.path:
            if isinstance(item, TendonPoint):
                yield item.body, dense.norm(item.point)
