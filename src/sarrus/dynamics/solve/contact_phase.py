"""`ContactPhase`: contacts, stops and dry friction with their modes held, as rows of the equations of motion.

Between two changes of modes the motion is smooth: rows H of closed contacts and stops, and of sticking contacts and
joints all their rows, stay at rest, H v = 0, and act by Pᵀ r with the forces r of these rows. P = H except for sliding
contacts: P = H_n − μ dᵀH_t with the slip direction d = u_t/‖u_t‖, which turns with the slip,

    δd = (1 − d dᵀ) δu_t / ‖u_t‖.

A joint that slides has a constant friction force, a tendon that slides one along its row, which turns. So a phase is a
constrained system whose rows act along other rows.
`sarrus.kernels.integrate.mode_tangent` is the same for implicit methods, in coordinates of the constraints A alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode, contact_elements
from sarrus.dynamics.contacts.contact_state import ContactRowState, rows_at
from sarrus.dynamics.contacts.row_derivatives import friction_turn
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.contacts.tolerances import BORDER_OF_MODES, SHARES_FELT
from sarrus.dynamics.model.derivatives import Derivatives
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import dry_friction, joint_limits
from sarrus.dynamics.optimize.contact_tangent import with_least_friction
from sarrus.dynamics.results import ForwardDynamics
from sarrus.kernels.contact.tolerances import AT_BOUND, still_speed
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


class Sliding(NamedTuple):
    """A sliding contact: its name, normal row and tangential rows, r_t / r_n = −μ d, and its slip [m/s]."""

    name: str
    normal: int
    tails: slice
    ratio: Array
    slip: Array

    def with_slip(self, slip: Array) -> Sliding:
        """Return the contact with the friction against another slip."""
        mu, speed = np.linalg.norm(self.ratio), np.linalg.norm(slip)
        return self._replace(slip=slip, ratio=-mu / speed * slip)

    def turn(self, change: Array) -> Array:
        """Return the changes of −μ d for changes of the slip (columns)."""
        return product(friction_turn(self.slip, float(np.linalg.norm(self.ratio))), change)


@dataclass(frozen=True, eq=False)
class ContactPhase:
    """The rows of a smooth phase at a state.

    Attributes
    ----------
    held : (m,) numbers of the rows H among all rows of contacts, stops and dry friction.
    placed : (m,) whether the row holds a position too: gaps, stops, sticking points and joints; at rest all rows. Rows
        of contacts that roll are nonholonomic.
    sliding : the contacts that slide, with friction.
    rubs : (all rows,) constant dry friction [N] of the tendons that slide, zero in other rows.
    forces : (all rows,) r [N, N m]. scales : (m,) factors that give the rows H characteristic units.
    state : all rows, with features held. constraints : (nc × nv) A. rank : of A.
    names : of the contacts, stops and joints held, and of the tendons with dry friction that slide.
    rolling : names of the contacts that roll on surfaces other than planes.
    """

    held: np.ndarray
    placed: np.ndarray
    sliding: tuple[Sliding, ...]
    rubs: Array
    forces: Array
    scales: Array
    state: ContactRowState
    constraints: Array
    rank: int
    names: tuple[str, ...]
    rolling: tuple[str, ...] = ()

    @property
    def system(self) -> Evaluations:
        """The system of the rows."""
        return self.state.system

    @property
    def rows(self) -> Array:
        """All rows (m × nv) of contacts, stops and dry friction."""
        return self.state.rows

    @property
    def push(self) -> Array:
        """P (m × nv): the held forces r act by Pᵀ r."""
        out = self.rows.copy()
        for one in self.sliding:
            out[one.normal] = out[one.normal] + one.ratio @ out[one.tails]
        return out[self.held]

    @property
    def order(self) -> np.ndarray:
        """Order of the rows [A; H] in which those that hold positions come first."""
        nh, nc = self.system.nh, self.system.nc
        own = nc + np.arange(len(self.held))
        return np.concatenate([np.arange(nh), own[self.placed], np.arange(nh, nc), own[~self.placed]])

    @property
    def factors(self) -> Array:
        """Factors of the rows of `extended` to characteristic units."""
        return np.concatenate([self.system.characteristic.rows, np.ones(len(self.held))])[self.order]

    @property
    def without_place(self) -> list[int]:
        """Numbers of the held rows of contacts whose places a parameter may move unseen: those on curved surfaces."""
        found = list[int]()
        for one in self.state.elements:
            if one.name in self.rolling:
                found += [row for row in range(one.tails.start, one.tails.stop) if row in self.held]
        return found

    def ranks(self, rank: int, holonomic_rank: int, *, all_rows: bool = False) -> tuple[int, int]:
        """Return the ranks of [A; H] and of its rows that hold positions, from those of A and of its holonomic rows.

        ``all_rows``: all rows H count as rows that hold positions.
        """
        every = np.ones(len(self.held), dtype=bool)
        placed = every if all_rows else self.placed
        return self._rank(self.constraints, rank, every), self._rank(
            self.constraints[: self.system.nh], holonomic_rank, placed
        )

    def _rank(self, jacobian: Array, rank: int, chosen: np.ndarray) -> int:
        size = self.system.characteristic
        null = at_rank(size.scaled_rows(jacobian), rank).null if rank else np.eye(self.system.nv)
        even = (self.scales[:, None] * self.rows[self.held] / size.columns)[chosen]
        if not len(even) or not null.shape[1]:
            return rank
        return rank + ranked(product(even, null), cut=RANK_CUT * float(np.abs(even).max())).rank

    @property
    def motions(self) -> Array:
        """Velocities (nv × k) that the rows allow, a basis in which characteristic velocities have length one."""
        size = self.system.characteristic
        even = size.scaled_rows(self.constraints)
        null = at_rank(even, self.rank).null if self.rank else np.eye(self.system.nv)
        own = product(self.scales[:, None] * self.rows[self.held] / size.columns, null)
        return product(null, ranked(own, relative=RANK_CUT).null) / size.columns[:, None]

    def ambiguous(self, a: Array, left_null: Array, unpushed: Array, tangent: Array) -> tuple[str, ...]:
        """Return the sliding contacts whose shares of the load change derivatives although statics leaves them open.

        Their friction turns with the slip, each by its own normal force. ``left_null`` are the combinations of the rows
        of `extended` that vanish, ``unpushed`` (nv, …) motions on which forces on the rows do no work, ``tangent``
        (2 nv, …) changes of (ϑ, v) that the rows allow.
        """
        if not self.sliding or left_null.shape[1] == 0:
            return ()
        weights = np.array(np.random.default_rng(7).uniform(0.5, 1.5, left_null.shape[1]))
        shares, nv = self.split(product(left_null, weights))[1], self.system.nv
        slip_q, sizes = self.state.tangent(a, self.forces)["slip_q"], list[float]()
        for forces in (shares / np.abs(shares).max(), self.forces / np.abs(self.forces).max()):
            turned = self.turning(np.hstack([slip_q[:, :nv], self.rows]), forces)
            sizes.append(float(np.linalg.norm(product(unpushed.T, turned, tangent))))
        if not sizes[0] > SHARES_FELT * sizes[1]:
            return ()
        most = np.abs(shares).max()
        return tuple(one.name for one in self.sliding if abs(shares[one.normal]) > SHARES_FELT * most)

    def with_least_friction(self, sticking: Sequence[ContactElement]) -> Array:
        """Return the forces (all rows,) with the same effect on the motion and the least friction where it sticks."""
        null = at_rank(self.constraints, self.rank).null if self.rank else np.eye(self.system.nv)
        free = ranked(product(self.scales[:, None] * self.push, null), relative=RANK_CUT).left_null
        if not free.shape[1]:
            return self.forces
        ways = np.array([self.pushing(self.scales * way) for way in free.T]).T
        tails = np.concatenate([np.arange(one.tails.start, one.tails.stop) for one in sticking])
        sizes = [one.tails.stop - one.tails.start for one in sticking]
        limits = np.repeat([_limit(one, self.forces) for one in sticking], sizes)
        return with_least_friction(self.forces, ways, tails, limits)

    def pushing(self, forces: Array) -> Array:
        """Return the forces on all rows for ``forces`` (m,) on the held ones, friction of sliding contacts included."""
        out = np.zeros(len(self.rows))
        out[self.held] = forces
        for one in self.sliding:
            out[one.tails] = one.ratio * out[one.normal]
        return out

    def split(self, combination: Array, *, friction: bool = True) -> tuple[Array, Array]:
        """Return λ (nc,) and forces on all rows for multipliers of the rows of `extended`.

        ``friction``: the friction of sliding contacts follows their normal forces.
        """
        out, nc, forces = np.zeros(len(self.order)), self.system.nc, np.zeros(len(self.rows))
        out[self.order] = combination
        forces[self.held] = self.scales * out[nc:]
        return out[:nc], self.pushing(forces[self.held]) if friction else forces

    def turning(self, slips: Array, forces: Array) -> Array:
        """Return the changes of the friction Pᵀ r (columns) by the turn of the slip, for changes of H v of all rows."""
        found = np.zeros((self.system.nv, slips.shape[1]))
        for one in self.sliding:
            found += forces[one.normal] * product(self.rows[one.tails].T, one.turn(slips[one.tails]))
        return found

    def extended(self, d: Derivatives, a: Array) -> Derivatives:
        """Return the terms of the phase: those of the constraints with the rows H, their forces and their friction."""
        more, order, by = self.state.tangent(a, self.forces), self.order, self.scales[:, None]
        turned = self.turning(np.hstack([more["slip_q"], self.rows]), self.forces)

        def stacked(own: Array, rows: Array) -> Array:
            return np.vstack([own, by * rows])[order]

        return replace(
            d,
            force_q=d.force_q - more["force_q"] - turned[:, : -self.system.nv],
            force_v=d.force_v - turned[:, -self.system.nv :],
            jacobian=stacked(d.jacobian, self.rows[self.held]),
            push=stacked(d.jacobian, self.push),
            bias_q=stacked(d.bias_q, more["bias_q"][self.held]),
            bias_v=stacked(d.bias_v, more["bias_v"][self.held]),
            velocity_q=stacked(d.velocity_q, more["slip_q"][self.held]),
        )


def phase_at(system: Evaluations, solved: ForwardDynamics, x: Array) -> ContactPhase | None:
    """Return the phase that begins at x = [q | v | u | t | p | τ], from its forward dynamics; None if no row is held
    and no tendon with dry friction slides.

    Raises `SolveError` at a border of modes, where derivatives are one-sided: a closed contact or stop without force, a
    contact or joint that begins to slip or has all the friction that it can have. Forces and accelerations below 1e-7
    of the largest one are zero. Forces that statics does not determine are at a border if those with least friction
    are.
    """
    found = solved.contacts
    if found is None:
        return None
    q, v, t = x[system.parts.q], x[system.parts.v], float(x[system.parts.t])
    state, speeds = rows_at(system, x).with_features(), np.abs(system.characteristic.columns * v)
    still = still_speed(float(speeds.max(initial=0.0)))
    a = np.array(solved.a)
    change = state.rows @ a + state.bias
    hurry = 1.0 + float(np.abs(system.characteristic.columns * a).max(initial=0.0))
    sliding, chosen = list[Sliding](), list[tuple[ContactElement, range, bool]]()
    rolls = {one.name for one in system.equations.friction_contacts if one.rolls}
    rolling = {one.name for one in system.equations.friction_contacts if one.rolls and one.place is None}
    if state.features is not None:
        curved = {one.name for one in state.features.contacts if one.rolls}
        rolls, rolling = rolls | curved, rolling | curved
    for one in state.elements:
        mode, force, slip = found.modes[one.name], found.forces[one.rows], state.rates[one.tails]
        slides = float(np.linalg.norm(slip)) > still * one.unit
        if mode is Mode.OPEN:
            if one.name in found.closed and change[one.rows.start] <= BORDER_OF_MODES * hurry * one.unit:
                raise _border(system, one, _UNLOADED)
            continue
        if mode is Mode.SLIDING and not slides:
            raise _border(system, one, "begins to slip")
        held = one.held(mode)
        if held.start == held.stop:
            continue
        if one.kind != "friction" and force[0] <= BORDER_OF_MODES * np.abs(found.forces).max():
            raise _border(system, one, _UNLOADED)
        chosen.append((one, range(held.start, held.stop), one.name in rolls))
        if mode is Mode.SLIDING:
            sliding.append(Sliding(one.name, one.rows.start, one.tails, force[1:] / force[0], slip))
    lengths = [one for one in state.elements if one.kind == "friction"][: len(system.equations.dry_lengths)]
    rubbing = [one for one in lengths if found.modes[one.name] is Mode.SLIDING]
    if not (chosen or rubbing):
        return None
    rubs = np.zeros(len(found.forces))
    for one in rubbing:
        rubs[one.rows] = found.forces[one.rows]
    _refuse_beyond(system, q, [one for one, _, _ in chosen])
    moves = bool((speeds > still).any())
    phase = ContactPhase(
        held=np.array([row for _, rows, _ in chosen for row in rows], dtype=np.int64),
        placed=np.array(
            [not (moves and rolls and row > rows[0]) for _, rows, rolls in chosen for row in rows], dtype=bool
        ),
        sliding=tuple(sliding),
        rubs=rubs,
        forces=np.array(found.forces),
        scales=np.array([1.0 / one.unit for one, rows, _ in chosen for _ in rows]),
        state=state,
        constraints=system.constraint_jacobian(q, v, t),
        rank=solved.rank,
        names=tuple(one.name for one in (*(one for one, _, _ in chosen), *rubbing)),
        rolling=tuple(sorted(rolling)),
    )
    if state.features is not None:
        _refuse_borders(phase)
    sticking = [one for one, rows, _ in chosen if one.kind == "friction" or len(rows) > 1]
    spent = [one for one in sticking if not _has_room(one, phase.forces)]
    if spent:
        least = phase.with_least_friction(sticking)
        spent = [one for one in sticking if not _has_room(one, least)]
    if spent:
        raise _border(system, spent[0], "sticks with all the friction that it can have")
    return phase


def rubbing(system: Evaluations, found: ContactForces) -> Array:
    """Return the generalized force (nv,) of the dry friction of joints that slide, which is constant in a phase."""
    force, lengths = np.zeros(system.nv), len(system.equations.dry_lengths)
    joints = [one for one in contact_elements(system) if one.kind == "friction"][lengths:]
    for one, rate in zip(joints, dry_friction(system).rates):
        if found.modes[one.name] is Mode.SLIDING:
            force[rate] += float(found.forces[one.rows][0])
    return force


_UNLOADED = "is closed without a force"
_NO_FEATURES = "touches where a corner, an edge or a rim begins"


def _refuse_borders(phase: ContactPhase) -> None:
    """Raise `SolveError` for features at their border, such as a corner on an edge, and for those that are not known.

    Borders do not matter for two bodies that do not move against each other.
    """
    state = phase.state
    assert state.features is not None
    assert state.geometry is not None
    elements = {one.name: one for one in state.elements}
    for point, one in zip(state.geometry.points, state.features.contacts):
        if elements[one.name].rows.start not in phase.held:
            continue
        if not one.known:
            raise _border(phase.system, elements[one.name], _NO_FEATURES)
        if one.borders:
            length = phase.system.characteristic.length
            moved = product(state.geometry.relative_motion(point, length), phase.motions)
            if np.abs(moved).max(initial=0.0) > BORDER_OF_MODES * length:
                raise _border(phase.system, elements[one.name], _NO_FEATURES)


def _limit(one: ContactElement, forces: Array) -> float:
    """Return the largest friction of a sticking contact or joint."""
    return one.limit if one.kind == "friction" else one.static * float(forces[one.rows.start])


def _has_room(one: ContactElement, forces: Array) -> bool:
    """Tell whether the friction of a sticking contact or joint is below its limit."""
    return float(np.linalg.norm(forces[one.tails])) < (1.0 - BORDER_OF_MODES) * _limit(one, forces)


def _refuse_beyond(system: Evaluations, q: Array, held: Sequence[ContactElement]) -> None:
    """Raise `SolveError` for a stop that holds a coordinate beyond its limit: the stop follows it back."""
    limits, names = joint_limits(system), {one.name for one in held}
    stops = [one for one in contact_elements(system) if one.kind == "stop"]
    depths = (
        limits.signs * (q[limits.places] - limits.bounds) * system.characteristic.coordinates[limits.places]
    )
    for one, depth in zip(stops, depths.tolist()):
        if depth > AT_BOUND and one.name in names:
            raise _border(system, one, "holds a coordinate beyond its limit and follows it back")


def _border(system: Evaluations, one: ContactElement, what: str) -> SolveError:
    """Return the error for a contact at a border of modes."""
    kind = {"stop": "", "friction": "joint ", "contact": "contact "}[one.kind]
    name = one.name.removesuffix(".friction") if one.kind == "friction" else one.name
    return SolveError(
        f"{system.name}: no derivatives, where {kind}{name!r} {what}: they are one-sided there. Take a state "
        "beside it on the side that you mean, or contacts=False, which leaves contacts, stops and dry friction out",
        element=one.name,
    )
