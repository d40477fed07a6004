"""`RotationVector`: rotation vectors of spherical and free joints as independent coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, factorial

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, check_known
from sarrus.base.numbers import finite_array
from sarrus.dynamics.coordinates.relation import Relation
from sarrus.dynamics.coordinates.tolerances import (
    ANGLE_TERMS,
    NEAR_HALF_TURN_ANGLE,
    SHORT_ROTATION,
    SMALL_HALF_ANGLE,
)
from sarrus.dynamics.coordinates.traced_relation import Place, TracedRelation
from sarrus.dynamics.system import System
from sarrus.symbolic.kinematics.kinematics import skew
from sarrus.symbolic.kinematics.rotations import conjugate, product

_BERNOULLI = tuple(
    abs(top / bottom) / factorial(2 * n)
    for n, (top, bottom) in enumerate(
        [(1, 6), (1, 30), (1, 42), (1, 30), (5, 66), (691, 2730), (7, 6), (3617, 510)], start=1
    )
)


class RotationVector(Relation):
    """Rotation vectors θ of spherical and free joints, q = q₀ exp(θ/2), with other coordinates, as independent ones.

    θ [rad] is in axes of the child body, |θ| < π; θ ≈ 2 vec(q₀⁻¹ q) near q₀. Its rate is θ̇ = J(θ)⁻¹ ω, the angular
    velocity at q₀. y are JOINT.rx, JOINT.ry and JOINT.rz of every joint, then y.NAME of the others; z are their rates,
    NAME.rate, or the ``velocities``.

    Parameters
    ----------
    joints : name of a spherical or free joint, or several.
    others : names of additional independent coordinates, such as the position of a free joint. Together with θ they are
        nv − rank of the holonomic rows.
    velocities : names of independent velocities z instead of the rates; required with nonholonomic constraints, which
        have fewer z than y.
    reference : q₀, a wxyz quaternion, or one by the name of each joint. By default the orientation at the start; a run
        takes a new one after the step in which |θ| passes 1.2 rad (recorded as an event of the trajectory; θ restarts
        at zero). With a given reference a run ends with COORDINATES_FAILED when |θ| reaches π.

    Redundant constraints are legal. Conditions and errors are those of a `Relation`.
    """

    def __init__(
        self,
        joints: str | Sequence[str],
        others: str | Sequence[str] = (),
        *,
        velocities: Sequence[str] | None = None,
        reference: ArrayLike | Mapping[str, ArrayLike] | None = None,
    ) -> None:
        self.joints = (joints,) if isinstance(joints, str) else tuple(joints)
        self.others = (others,) if isinstance(others, str) else tuple(others)
        self.velocities = None if velocities is None else tuple(velocities)
        if not self.joints:
            raise ArgumentError("rotation vector: joints must name one joint at least", element="joints")
        self.reference = None if reference is None else self._quaternions(reference)
        turned = [f"{joint}.r{axis}" for joint in self.joints for axis in "xyz"]
        self.names = (*turned, *(f"y.{name}" for name in self.others))
        self.velocity_names = tuple(f"{n}.rate" for n in self.names) if velocities is None else self._named()

    @property
    def has_velocities(self) -> bool:
        """Whether z is given by its own rows: True."""
        return True

    @property
    def renews(self) -> bool:
        """Whether a run may renew the reference orientation."""
        return self.reference is None

    def traced(self, system: System, x: Place, ranks: tuple[int, int]) -> tuple[TracedRelation, Array]:
        """Return the relation about the reference orientations over the symbols of a system, and (y, z) at x."""
        self._counts(system, ranks)
        e, starts = system.equations, self._starts(system)
        for name in self.others:
            check_known("coordinate", name, system.coordinate_names, system.name)
        for name in self.velocities or ():
            check_known("velocity", name, system.velocity_names, system.name)
        places = [system.coordinate_names.index(name) for name in self.others]
        constants = ca.SX.sym("chart", 4 * len(starts))
        own = ca.SX.sym("own", len(self.names) + len(self.velocity_names or ()))
        turns = [
            rotation_vector(product(conjugate(constants[4 * k : 4 * k + 4]), e.q[start : start + 4]))
            for k, start in enumerate(starts)
        ]
        y = ca.vertcat(*turns, e.q[places])
        if self.velocities is None:
            starts = [system.velocity_names.index(f"{joint}.wx") for joint in self.joints]
            spins = [
                inverse_right_jacobian(own[3 * k : 3 * k + 3]) @ e.v[start : start + 3]
                for k, start in enumerate(starts)
            ]
            z = ca.vertcat(*spins, e.rate[places])
        else:
            z = e.v[[system.velocity_names.index(name) for name in self.velocities]]
        n, chart = len(self.names), self.chart(system, x, ranks)
        found = TracedRelation(
            system, self.names, self.velocity_names or (), own, own[:n] - y, own[n:] - z, constants, chart.values,
            _conditioning(own, len(starts)),
        )  # fmt: skip
        return found, np.concatenate([chart.y, np.zeros(own.numel() - n)])

    def chart(self, system: System, x: Place, ranks: tuple[int, int]) -> RotationChart:
        """Return the reference orientations, by default those at x, and y at x with θ = 0 for these."""
        starts = self._starts(system)
        here = [x.q[start : start + 4] for start in starts]
        held = here if self.reference is None else [self.reference[joint] for joint in self.joints]
        others = x.q[[system.coordinate_names.index(name) for name in self.others]]
        return RotationChart(np.concatenate(held), np.concatenate([np.zeros(3 * len(starts)), others]))

    def limit_met(self, own: Array) -> str:
        """Return a text with the joint whose |θ| has reached π; empty if there is none."""
        for k, joint in enumerate(self.joints):
            theta = own[3 * k : 3 * k + 3]
            size = float(np.sqrt(np.add.reduce(theta * theta)))
            if size > NEAR_HALF_TURN_ANGLE:
                return (
                    f"the rotation vector of {joint!r} has come to {size:.3g} rad from its reference, and ends at π: "
                    "leave reference= out, and a run renews it"
                )
        return ""

    def _starts(self, system: System) -> list[int]:
        """Return the start indices of the joints' quaternions in q."""
        with_turns = [name[:-3] for name in system.coordinate_names if name.endswith(".qw")]
        for joint in self.joints:
            check_known("spherical or free joint", joint, with_turns, system.name)
        return [system.coordinate_names.index(f"{joint}.qw") for joint in self.joints]

    def _named(self) -> tuple[str, ...]:
        return tuple(f"z.{name}" for name in self.velocities or ())

    def _quaternions(self, reference: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, Array]:
        given = reference if isinstance(reference, Mapping) else dict.fromkeys(self.joints, reference)
        found = {}
        for joint in self.joints:
            array = finite_array(given[joint]) if joint in given else None
            size = np.zeros(0) if array is None else np.sqrt(np.add.reduce(array * array))
            if array is None or array.shape != (4,) or not size > 0.0:
                raise ArgumentError(
                    f"rotation vector: the reference of {joint!r} must be a wxyz quaternion, got {given.get(joint)!r}",
                    element="reference",
                )
            found[joint] = array / size
        return found

    def __repr__(self) -> str:
        return f"RotationVector({', '.join((*self.joints, *self.others))})"


@dataclass(frozen=True, eq=False)
class RotationChart:
    """The reference orientations as constants of the relation, and y there."""

    values: Array
    y: Array


def rotation_vector(quaternion: ca.SX) -> ca.SX:
    """Return axis × angle of a rotation with angle below π; smooth at angle zero."""
    quaternion = quaternion / ca.norm_2(quaternion)
    quaternion = quaternion * ca.if_else(quaternion[0] < 0, -1, 1)
    vector = quaternion[1:]
    square = ca.dot(vector, vector)
    small = square < SMALL_HALF_ANGLE
    series = ca.SX(0)  # 2 arcsin(s)/s in powers of s²
    for k in reversed(range(ANGLE_TERMS)):
        series = series * square + 2 * comb(2 * k, k) / (4**k * (2 * k + 1))
    sine = ca.sqrt(ca.if_else(small, 1, square))
    return ca.if_else(small, series, 2 * ca.atan2(sine, quaternion[0]) / sine) * vector


def inverse_right_jacobian(theta: ca.SX) -> ca.SX:
    """Return J⁻¹ of θ̇ = J(θ)⁻¹ ω, ω in axes of the body: 1 + [θ×]/2 + (1 − (|θ|/2) cot(|θ|/2)) [θ×]²/|θ|²."""
    turn, square = skew(theta), ca.dot(theta, theta)
    small = square < SHORT_ROTATION
    series = ca.SX(0)
    for factor in reversed(_BERNOULLI):
        series = series * square + factor
    size = ca.sqrt(ca.if_else(small, 1, square))
    whole = (1 - size / 2 * ca.cos(size / 2) / ca.sin(size / 2)) / size**2
    return ca.SX.eye(3) + turn / 2 + ca.if_else(small, series, whole) * (turn @ turn)


def _conditioning(own: ca.SX, count: int) -> ca.SX:
    """Return a matrix whose smallest pivot falls from one at θ = 0 to zero at |θ| = π, for the largest |θ|.

    Rows (1, 0) and (sin α, cos α) with α = |θ|²/2π.
    """
    squares = [ca.dot(own[3 * k : 3 * k + 3], own[3 * k : 3 * k + 3]) for k in range(count)]
    most = squares[0]
    for square in squares[1:]:
        most = ca.fmax(most, square)
    angle = ca.fmin(most / (2 * np.pi), np.pi / 2)
    matrix = ca.SX.eye(own.numel())
    matrix[1, 0], matrix[1, 1] = ca.sin(angle), ca.cos(angle)
    return ca.densify(matrix)
