"""`Equations`: the symbolic equations of motion of a system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import casadi as ca


def activity_parameter(constraint: str) -> str:
    """Return the name of the parameter that is 1 while a constraint is active and 0 while it is not."""
    return f"active.{constraint}"


def stick_parameter(contact: str) -> str:
    """Return the name of the parameter that is 1 if a closed contact sticks and 0 if it slides without friction."""
    return f"stick.{contact}"


def anchor_parameter(row: str) -> str:
    """Return the name of the parameter that shifts a row by its residual at the moment its constraint was closed."""
    return f"anchor.{row}"


@dataclass(frozen=True)
class ContactRows:
    """The normal and tangential rows of a unilateral contact in the equations.

    φ of the normal row is the gap [m]; its multiplier is ≥ 0 if the ground pushes. ``tangential`` is empty for a
    frictionless contact. ``friction_coefficient`` is None if none was given.
    """

    name: str
    normal: int
    tangential: tuple[int, ...] = ()
    restitution: float = 0.0
    friction_coefficient: float | None = None


@dataclass(frozen=True, eq=False)
class ContactEquations:
    """A contact with Coulomb friction or a rope: its gap [m] and the velocities of its rows, independent of activity.

    ``rates`` are the velocities along the normal (positive: opening) and along the tangents [m/s], then of rotations;
    ``bias`` is the part of their derivatives without accelerations. The contact is not among the constraints. The
    restitution belongs to the ``impact_law``, "newton" or "poisson", see `sarrus.dynamics.impacts.restitution`.
    ``opposite_flank`` is the name of the opposite flank of a gearing, "" without one: at most one of two flanks pushes,
    however small the backlash. ``kind`` is "contact", or "rope" for a limit of the length of a tendon, which has one
    row, and a second one with friction at a wrap; ``grip`` is tanh(μθ/2) then. ``place`` are the coordinates [m] of the
    point, or of the centre of the ball, on the plane along the tangents; None on other surfaces. ``rolls`` tells that
    the velocities of the rows with friction are not the rates of ``place``: a ball rolls, and some rows turn. A contact
    on features of surfaces (corner, edge, rim) has a ``border``: where it is positive the gap is `OUT_OF_REACH`; a
    closed contact opens where it becomes 1. ``held_gap`` is the gap that goes on smoothly beyond. Steps of runs by
    events are shorter than 1/``hurry`` [s], so that features which come and go are not missed; the first place of a
    pair has it.
    """

    name: str
    row_names: tuple[str, ...]
    gap: ca.SX
    rates: ca.SX
    bias: ca.SX
    friction_coefficient: float
    static_coefficient: float
    restitution: float
    impact_law: str = "newton"
    opposite_flank: str = ""
    kind: str = "contact"
    place: ca.SX | None = None
    rolls: bool = False
    grip: ca.SX | None = None
    held_gap: ca.SX | None = None
    border: ca.SX | None = None
    hurry: ca.SX | None = None


class DryLength(NamedTuple):
    """Dry friction along the length of a tendon: the rate of the length [m/s], the part of its derivative without
    accelerations, and the largest friction force [N]."""

    name: str
    rate: ca.SX
    bias: ca.SX
    limit: float


@dataclass(frozen=True, eq=False)
class Equations:
    """Expressions over the symbols q, v, u, t and the parameters p (columns of CasADi SX).

    M(q) a + h(q, v) = k(q, v, t) + s(q, v, u) + τ + Aᵀλ, φ(q, t) = 0, ψ(q, v, t) = 0, A a + γ = 0,
    q̇ = N v + d(q, v, u, t).

    The first ``nh`` rows of ψ, A and γ are the derivatives of the holonomic rows φ; the others are
    nonholonomic, with A = ∂ψ/∂v. ``non_ideal`` is Udwadia and Kalaba's C(q, v, t), the part of the
    constraint force that does work. ``conservative`` says that T + V is constant in free motion.

    ``input_force`` is s, the force of the controls beyond k: S u without limits and activations, with S the
    ``actuation``. ``drift`` is d, the rates of the last ``activations`` coordinates, which have no velocity; they
    include currents of windings, whose rates depend on v.

    The rows of a switchable constraint are multiplied by its parameter "active.NAME", so that they are zero rows while
    it is off, and tangential rows of contacts by "stick.NAME" too; see `sarrus.dynamics.impacts.activity`.
    ``contacts`` are the unilateral ones among the constraints; ``friction_contacts`` are contacts with Coulomb
    friction, then flanks of gearings, then ropes. ``dry_lengths`` are tendons with dry friction.

    ``tree`` is the kinematic tree of the mechanism, None without a mechanism; ``rotors`` tells whether M and h contain
    terms beyond the tree (armature of tendons). ``linear_momentum`` (nv,) is ∂L/∂v at v = 0 of a Lagrangian with terms
    linear in v, ∂L/∂v = M v + linear_momentum; None without such terms, or if L is not known.
    """

    name: str
    q: ca.SX
    v: ca.SX
    u: ca.SX
    t: ca.SX
    p: ca.SX
    mass_matrix: ca.SX
    bias_force: ca.SX
    passive_force: ca.SX
    actuation: ca.SX
    input_force: ca.SX
    rate: ca.SX
    position_residual: ca.SX
    velocity_residual: ca.SX
    jacobian: ca.SX
    constraint_bias: ca.SX
    kinetic_energy: ca.SX
    potential_energy: ca.SX
    non_ideal: ca.SX
    coordinate_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    constraint_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    conservative: bool
    drift: ca.SX | None = None
    activations: int = 0
    parameter_values: dict[str, float] = field(default_factory=dict)
    quaternions: tuple[int, ...] = ()
    contacts: tuple[ContactRows, ...] = ()
    friction_contacts: tuple[ContactEquations, ...] = ()
    dry_lengths: tuple[DryLength, ...] = ()
    tree: Any = None  # a `sarrus.symbolic.kinematics.tree.Tree`, of a package above this one
    rotors: bool = False
    linear_momentum: ca.SX | None = None
    nq: int = field(init=False)  #: number of coordinates
    nv: int = field(init=False)  #: number of velocities
    nu: int = field(init=False)  #: number of controls
    nc: int = field(init=False)  #: number of constraint rows
    nh: int = field(init=False)  #: number of holonomic rows, which come first

    def __post_init__(self) -> None:
        columns = self.q, self.v, self.u, self.velocity_residual, self.position_residual
        sizes = (int(column.shape[0]) for column in columns)
        vars(self).update(zip(("nq", "nv", "nu", "nc", "nh"), sizes))

    @property
    def input_jacobian(self) -> ca.SX:
        """∂s/∂u (nv × nu): S, with zeros for controls at a limit."""
        return ca.jacobian(self.input_force, self.u)

    @property
    def row_rates(self) -> ca.SX:
        """Velocities of the rows of the contacts with Coulomb friction, then of the lengths with dry friction."""
        rates = [contact.rates for contact in self.friction_contacts]
        return ca.vertcat(ca.SX(0, 1), *rates, *(length.rate for length in self.dry_lengths))

    @property
    def row_bias(self) -> ca.SX:
        """Parts of the derivatives of `row_rates` without accelerations."""
        bias = [contact.bias for contact in self.friction_contacts]
        return ca.vertcat(ca.SX(0, 1), *bias, *(length.bias for length in self.dry_lengths))

    @property
    def activation_places(self) -> slice:
        """Slice of the activations in q, after the coordinates of the joints."""
        return slice(self.nq - self.activations, self.nq)

    @property
    def drift_jacobian(self) -> ca.SX:
        """∂d/∂u (nq × nu), with zeros for controls at a limit."""
        return ca.SX(self.nq, self.nu) if self.drift is None else ca.jacobian(self.drift, self.u)

    @property
    def whole_rate(self) -> ca.SX:
        """q̇ = N v + d."""
        return self.rate if self.drift is None else self.rate + self.drift

    @property
    def shaping_parameters(self) -> tuple[str, ...]:
        """Names of the parameters in A, on which its rank may depend."""
        if not self.nc or not self.parameter_values:
            return ()
        found = ca.which_depends(ca.vec(self.jacobian), self.p)
        return tuple(name for name, depends in zip(self.parameter_values, found) if depends)

    @property
    def design_parameters(self) -> tuple[str, ...]:
        """Names of the parameters other than the switches and anchors of constraints."""
        return tuple(name for name in self.parameter_values if name.isidentifier())
