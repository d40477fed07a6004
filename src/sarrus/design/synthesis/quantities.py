"""`Quantities`: coordinates, forces and other quantities at a condition, as CasADi expressions for goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.errors import ArgumentError, check_known
from sarrus.control.quantities.quantities import quantity as traced_quantity
from sarrus.design.synthesis.loads import WORLD_FRAME, Loads, Reaction
from sarrus.dynamics.system import System
from sarrus.symbolic.kinematics.frames import Frames
from sarrus.symbolic.kinematics.kinematics import cross
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.multibody.momentum import Momentum, momentum


class Quantities:
    """The mechanism at a condition, over CasADi symbols: a goal is an expression of these.

    Attributes
    ----------
    q, v, a : coordinates, velocities and accelerations; v and a are zero at rest.
    multipliers : (nc,) λ of the closures; a goal may depend on unique components only, see `reaction`.
    drive : by name of a driver the generalized force [N m, N] that holds or moves it, in addition to all forces of the
        description: springs, gravity, inertia.
    parameters : the free parameters by name.
    loads : the loads that goals have requested by `reaction`.
    """

    def __init__(self, system: System, drivers: Sequence[str]) -> None:
        e = system.equations
        assert e.tree is not None
        self.system, self.q, self.v = system, e.q, e.v
        self.a = ca.SX.sym("a", e.nv)
        self.multipliers = ca.SX.sym("multipliers", e.nc)
        self.forces = ca.SX.sym("drive", len(drivers))
        self.drive: Mapping[str, ca.SX] = dict(zip(drivers, ca.vertsplit(self.forces)))
        self.parameters: Mapping[str, ca.SX] = dict(zip(e.parameter_values, ca.vertsplit(e.p)))
        self._frames = Frames(e.tree, links(e.tree, e.q, e.v))
        self.loads = Loads(system, self.a, self.multipliers)

    def coordinate(self, name: str) -> ca.SX:
        """Return a coordinate by its name [rad, m]."""
        names = self.system.coordinate_names
        check_known("coordinate", name, names, self.system.name)
        return self.q[names.index(name)]

    def position(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> ca.SX:
        """Return the position of a point of a body, given in its axes: (3,) in world axes [m]."""
        return self._frames.point(self._body(body), np.asarray(point, dtype=float)).value

    def velocity(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> ca.SX:
        """Return the velocity of a point of a body (3,) in world axes [m/s]."""
        return self._frames.point(self._body(body), np.asarray(point, dtype=float)).rate

    def acceleration(self, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> ca.SX:
        """Return the acceleration of a point of a body (3,) in world axes [m/s²]."""
        jet = self._frames.point(self._body(body), np.asarray(point, dtype=float))
        return ca.jtimes(jet.rate, self.v, self.a) + jet.bias

    def rotation(self, body: str) -> ca.SX:
        """Return the axes of a body as columns (3, 3), in world axes."""
        return self._frames.placement(self._body(body))[1]

    def quantity(self, what: Any) -> ca.SX:
        """Return a quantity of laws as a column: `sarrus.control.singularity_measure`, `clearance`, a point, and so on.

        Characteristic units are those of the mechanism at the start of the search.
        """
        return traced_quantity(self.system, what).value

    def reaction(self, joint: str, frame: str = WORLD_FRAME) -> Reaction:
        """Return the `Reaction` of a joint of the tree, a closure or a fixed body on its child, or body 2, about its
        anchor.

        Names, signs and ``frame`` ("world", "joint" or a body) are those of `sarrus.reactions`. A goal may depend on
        quantities that the equations of motion of rigid bodies determine: single components, or combinations such as
        the sum of the forces of two hinges. Other dependence is an `ArgumentError` that names a component.
        """
        return self.loads.of(joint, frame).reaction

    @property
    def kinetic_energy(self) -> ca.SX:
        """T [J]."""
        return self.system.equations.kinetic_energy

    @property
    def potential_energy(self) -> ca.SX:
        """Potential energy V of gravity and springs [J]."""
        return self.system.equations.potential_energy

    @property
    def shaking_force(self) -> ca.SX:
        """Shaking force −ṗ of the inertia of all bodies on the ground (3,) in world axes [N]; weight is not
        included.
        """
        m = self._momentum
        return -(ca.jtimes(m.linear, self.v, self.a) + m.linear_bias)

    def shaking_moment(self, about: ArrayLike = (0.0, 0.0, 0.0)) -> ca.SX:
        """Return the shaking moment about a point of the world (3,) [N m]: −d/dt of the angular momentum about it.

        Armatures are not included.
        """
        m = self._momentum
        own = ca.jtimes(m.angular, self.v, self.a) + m.angular_bias
        arm = m.centre.value - ca.SX(ca.DM(np.asarray(about, dtype=float)))
        return cross(arm, self.shaking_force) - own

    @cached_property
    def _momentum(self) -> Momentum:
        mechanism = self.system.mechanism
        assert mechanism is not None
        if not any(body.mass > 0.0 for body in mechanism.bodies.values()):
            raise ArgumentError(
                f"{self.system.name}: no body has mass, so there is no shaking force", element="mass"
            )
        return momentum(self._frames, self.system.model.symbolic_mechanism().bodies.values())

    def _body(self, body: str) -> str:
        assert self.system.mechanism is not None
        check_known("body", body, self.system.mechanism.bodies, self.system.name)
        return body
