"""Results of the constrained solves: forward dynamics, inverse dynamics, assembly, with their own residuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Answer, Status
from sarrus.dynamics.contacts.support_reactions import ContactForces, SupportReactions
from sarrus.kernels.linalg.ranked import at_rank
from sarrus.kernels.memory.layout import N_FACTS

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations


class ForwardDynamics(Answer):
    """Acceleration and constraint force at one state, as read-only arrays.

    Attributes
    ----------
    a : (nv,) acceleration v̇.
    multipliers : (nc,) λ [N, N m; see `sarrus.dynamics.model.units.constraint_units`]. If A is redundant, the λ of
        least norm in characteristic units, R⁻¹λ (see `sarrus.dynamics.model.characteristic`): a moment is divided by
        the characteristic length, so a model in metres and in millimetres has the same λ.
    constraint_force : (nv,) Aᵀλ (plus the non-ideal force C, if the system has one), the force of the
        constraints on the mechanism. Unique even if λ is not.
    rank, dof : rank of A used, and nv − rank.
    determined : (nc,) bool, which multipliers are unique.
    residual : norm of A a + γ, zero unless the constraints contradict each other.
    unbalanced : (nv,) force that no finite multipliers balance, M a + h = k + S u + τ + Aᵀλ + unbalanced; nonzero
        only if the status is RIGID.
    status : OK; SINGULAR (rank below the rank nearby); INCONSISTENT (least squares); NOT_CLOSED (the loops are open
        by more than runs accept, ``message`` names the row; the numbers are for the rows at q); ILL_POSED; RIGID: q is
        isolated, or v or the forces point where the constraints to second order allow no motion. ``a`` has no part in
        these directions; an isolated q at rest stays at rest, a = 0. If contacts act, also the status of ``contacts``:
        without contact forces a is the acceleration without contacts.
    contacts : forces of contacts with Coulomb friction, joint stops and dry friction; None if all are open and no
        joint has dry friction.
    """

    __slots__ = ("_out", "_reason", "_system", "_time", "_unbalanced", "contacts", "rank", "status")

    def __init__(
        self,
        system: Evaluations,
        out: Array,
        rank: int,
        status: Status,
        time: float,
        unbalanced: Array | None = None,
        reason: str = "",
    ) -> None:
        self._system = system
        self._reason = reason
        self._unbalanced = unbalanced
        self._out = out
        self._time = time
        self.rank = rank
        self.status = status
        self.contacts: ContactForces | None = None

    def on(self, contacts: ContactForces) -> ForwardDynamics:
        """Return this result with the forces of contacts added, or with the status that explains their absence."""
        status = self.status if contacts.status.ok else contacts.status
        found = ForwardDynamics(self._system, self._out, self.rank, status, self._time, self._unbalanced)
        found.contacts = contacts
        return found

    @property
    def message(self) -> str:
        """The diagnosis in words."""
        if self.contacts and self.contacts.reason:
            return self.contacts.reason
        return self._reason or self.status.diagnosis

    @property
    def state(self) -> tuple[Array, Array]:
        """The state (q, v) that it is for, with quaternions of length one."""
        start = 2 * self._system.nv + self._system.nc + N_FACTS
        return self._part(start, start + self._system.nq), self._part(start + self._system.nq, len(self._out))

    @property
    def time(self) -> float:
        """The time that it is for [s]."""
        return self._time

    def _part(self, start: int, end: int) -> Array:
        self._out.setflags(write=False)
        return self._out[start:end]

    @property
    def a(self) -> Array:
        """Acceleration (nv,)."""
        return self._part(0, self._system.nv)

    @property
    def multipliers(self) -> Array:
        """Multipliers λ (nc,)."""
        return self._part(self._system.nv, self._system.nv + self._system.nc)

    @property
    def constraint_force(self) -> Array:
        """Force of the constraints on the mechanism (nv,)."""
        start = self._system.nv + self._system.nc
        return self._part(start, start + self._system.nv)

    @property
    def unbalanced(self) -> Array:
        """Force (nv,) that no finite multipliers balance, zero unless the status is RIGID."""
        return read_only(np.zeros(self._system.nv) if self._unbalanced is None else self._unbalanced)

    @property
    def residual(self) -> float:
        """Norm of A a + γ, zero unless the constraints contradict each other."""
        return float(self._out[2 * self._system.nv + self._system.nc])

    @property
    def gap(self) -> float:
        """Ratio of the last pivot of the rank to the first pivot beyond it; inf if all pivots are used."""
        kept, beyond = self._out[2 * self._system.nv + self._system.nc + 3 :][:2]
        return float(kept / beyond) if beyond > 0.0 else float("inf")

    @property
    def tolerance(self) -> float:
        """Relative pivot below which a direction counts as singular."""
        return self._system.options.singular_cut

    @property
    def dof(self) -> int:
        """Degrees of freedom, nv − rank."""
        return self._system.nv - self.rank

    @property
    def determined(self) -> np.ndarray:
        """Mask (nc,) of the unique multipliers."""
        system = self._system
        if self.rank == system.nc:
            return np.ones(system.nc, dtype=bool)
        q, v = np.split(self._out[2 * system.nv + system.nc + N_FACTS :], [system.nq])
        jacobian = system.constraint_jacobian(q, v, self._time)
        return at_rank(system.characteristic.scaled_rows(jacobian), self.rank).determined

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of the constraint rows whose multipliers are not unique."""
        return tuple(n for n, sure in zip(self._system.constraint_names, self.determined) if not sure)

    def closure_force(self, name: str) -> dict[str, float]:
        """Return the multipliers of one closure by row name: forces [N] and torques [N m] of body 1 on body 2.

        Axes: of `Mechanism.carrier` (often the world) for rows x, y, z; frame 2 for rx, ry, rz; directions fixed to
        body 1 for p1, p2, height. The multiplier of row n1 is the couple about normal 2, of row n2 the couple about
        minus normal 1, and of ``perpendicular`` the couple about axis 2 × axis 1, because these are the rotations that
        change the rows. `sarrus.symbolic.rows.closures` defines the directions. An unknown name is an `ArgumentError`.
        """
        return self._system.rows_of_closure(name, self.multipliers)

    def __copy__(self) -> ForwardDynamics:
        return self  # immutable

    def __deepcopy__(self, memo: object) -> ForwardDynamics:
        return self

    def __repr__(self) -> str:
        return f"ForwardDynamics(status={self.status}, rank={self.rank}, dof={self.dof}, a={self.a})"


@dataclass(frozen=True, eq=False)
class InverseDynamics(Answer):
    """Controls u and multipliers for a given acceleration. ``residual`` is the norm of the missing generalized force.

    ``multipliers`` are as in `ForwardDynamics`; ``rank`` is the rank of A, ``actuation_rank`` the rank of the actuators
    on the motions that the constraints allow. ``status`` is OK, NOT_ACHIEVABLE (the actuators cannot produce a),
    INCONSISTENT (a violates the constraints by ``acceleration_residual``, or v or a penetrates a plane), NOT_CLOSED
    (the loops are open by more than runs accept), or INFEASIBLE (the contact laws do not allow the motion).
    ``saturated`` names the actuators whose limits u exceeds.
    ``contacts`` are the forces of contacts with Coulomb friction, joint stops and dry friction, None without any.
    """

    u: Array
    multipliers: Array
    constraint_force: Array
    residual: float
    acceleration_residual: float
    rank: int
    actuation_rank: int
    status: Status
    saturated: tuple[str, ...] = ()
    contacts: SupportReactions | None = None


@dataclass(frozen=True, eq=False)
class Assembly(Answer):
    """A configuration q with closed loops. ``residual`` is the largest entry of φ [m, rad], ``gaps`` by closure.

    ``antiparallel`` names the closures that hold with opposite instead of parallel axes, ``left_branch`` the closures
    whose answer may be on another assembly branch than the guess (another elbow, the mirror image). ``limits``: if
    locked coordinates could not be moved to their values from the closed configuration of the guess, the values
    reached; no continuous motion leads to the answer then. ``outside``: coordinates beyond their joint limits by more
    than rounding of a file, with their values. ``unsatisfied``: with ``within_limits``, stops and contacts that stay
    violated. ``unmoved`` names rows that stay open because no joint moves the bodies along them in any configuration,
    such as along the normal of a planar linkage. ``status``: OK; NOT_ACHIEVABLE (``unsatisfied`` is not empty);
    SINGULAR (closed, and the rank drops here); RIGID (closed in an isolated configuration without finite motion,
    although A allows velocities); INCONSISTENT (redundant rows contradict each other by more than the digits of the
    model explain (`sarrus.dynamics.model.model_precision`), and by less than 1e-6); NOT_CLOSED (at a local minimum, or
    antiparallel).
    """

    q: Array
    residual: float
    iterations: int
    rank: int
    status: Status
    gaps: dict[str, float]
    antiparallel: tuple[str, ...] = ()
    left_branch: tuple[str, ...] = ()
    limits: dict[str, float] = field(default_factory=dict)
    outside: dict[str, float] = field(default_factory=dict)
    unsatisfied: tuple[str, ...] = ()
    unmoved: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The diagnosis in words, with the worst closure, limits and the branch."""
        limits = ", ".join(f"{name!r} at {value:.6g}" for name, value in self.limits.items())
        text = self._diagnosis()
        if limits:
            text += f"; moved from where the loops were closed, it stops with {limits}"
        if self.left_branch:
            names = ", ".join(map(repr, self.left_branch))
            text += f"; perhaps on another branch than the guess, by closure {names}"
        if self.unsatisfied:
            text += f"; not brought inside: {', '.join(self.unsatisfied)}"
        elif self.outside:
            names = ", ".join(f"{name!r} at {value:.6g}" for name, value in self.outside.items())
            text += f"; beyond limits: {names}; within_limits=True moves them inside"
        return text

    def _diagnosis(self) -> str:
        if self.antiparallel:
            names = ", ".join(repr(name) for name in self.antiparallel)
            return (
                f"the loops close only with opposite axes of closure {names}; if this is intended, change "
                "the sign of axis2"
            )
        if self.status is not Status.NOT_CLOSED or not self.gaps:
            return self.status.diagnosis
        worst = max(self.gaps, key=lambda name: self.gaps[name])
        if self.unmoved:
            rows = ", ".join(map(repr, self.unmoved))
            return (
                f"closure {worst!r} stays open by {self.gaps[worst]:.3g}: no joint moves the two bodies along {rows}, "
                "in no configuration. keep_offset=True in sr.load or add_closure keeps the modelled offset "
                "there; else give both sides of the closure the same place along it"
            )
        return f"{self.status.diagnosis}: closure {worst!r} stays open by {self.gaps[worst]:.3g}"
