"""`ContactPhase`: contacts, stops and dry friction with their modes held, as rows of the equations of motion.

Between two changes of modes the motion is smooth: rows H of closed contacts and stops, and of sticking contacts and
joints all their rows, stay at rest, H v = 0, and act by Pᵀ r with the forces r of these rows. P = H except for sliding
contacts: P = H_n − μ dᵀH_t with the slip direction d = u_t/‖u_t‖, which turns with the slip,

    δd = (1 − d dᵀ) δu_t / ‖u_t‖.

A joint that slides has a constant friction force. So a phase is a constrained system whose rows act along other rows.
`sarrus.kernels.integrate.mode_tangent` is the same for implicit methods, in coordinates of the constraints A alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.dynamics.contacts.contact_elements import ContactElement, Mode, contact_elements
from sarrus.dynamics.contacts.contact_functions import contact_gaps, contact_motion_function
from sarrus.dynamics.contacts.contact_state import ContactRowState, contact_row_state
from sarrus.dynamics.contacts.row_derivatives import contact_slopes, contact_tangent
from sarrus.dynamics.contacts.support_reactions import ContactForces
from sarrus.dynamics.model.derivatives import Derivatives
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.joint_limits import bounds_at, dry_friction, joint_limits
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.solve.tolerances import BORDER, SHARES_MATTER
from sarrus.kernels.contact.tolerances import AT_BOUND, still_speed
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT

if TYPE_CHECKING:
    from sarrus.dynamics.contacts.held_features import HeldFeatures


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
        speed, mu = np.linalg.norm(self.slip), np.linalg.norm(self.ratio)
        d = self.slip / speed
        return -mu / speed * (change - np.multiply.outer(d, d @ change))


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """Derivatives by z = (q, v, u, p) of all rows of contacts, stops and dry friction.

    Of gaps and places (``position``, see `ContactEquations`; zero for rows without a place), of H v, of H w and of Hᵀ f
    with constant w and f, and of Ḣ v.
    """

    position: Array
    velocity: Array
    forward: Array
    backward: Array
    drift: Array


@dataclass(frozen=True, eq=False)
class ContactPhase:
    """The rows of a smooth phase at a state.

    Attributes
    ----------
    held : (m,) numbers of the rows H among all rows of contacts, stops and dry friction.
    placed : (m,) whether the row holds a position too: gaps, stops, sticking points and joints; at rest all rows. Rows
        of contacts that roll are nonholonomic.
    sliding : the contacts that slide, with friction.
    forces : (all rows,) r [N, N m]. scales : (m,) factors that give the rows H characteristic units.
    rows : (all rows × nv) the rows. bounds : those that stops hold [m, rad].
    constraints : (nc × nv) A. rank : of A. names : of the contacts, stops and joints held.
    elements : all contacts, stops and joints with dry friction at the state. rolling : names of those that roll on
        surfaces other than planes.
    features : contacts between geometries that a narrow phase has found, with their features held, whose rows come
        behind all others; None without such contacts.
    """

    system: Evaluations
    held: np.ndarray
    placed: np.ndarray
    sliding: tuple[Sliding, ...]
    forces: Array
    scales: Array
    rows: Array
    bounds: Array
    constraints: Array
    rank: int
    names: tuple[str, ...]
    elements: tuple[ContactElement, ...]
    rolling: tuple[str, ...] = ()
    features: HeldFeatures | None = None

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
        for one in self.elements:
            if one.name in self.rolling:
                found += [row for row in range(one.tails.start, one.tails.stop) if row in self.held]
        return found

    def motion(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return gaps (of ``elements``), all rows, their velocities and biases at x = [q | v | u | t | p | τ].

        Contacts between geometries keep their features; stops are those of the state of the phase.
        """
        system, rows = self.system, self.rows.copy()
        parts, count = system.parts, int(system.equations.row_rates.numel())
        rates, bias = product(rows, x[parts.v]), np.zeros(len(rows))
        gaps = {"contact": np.zeros(0), "friction": np.zeros(len(self.elements))}
        if count:
            found = contact_motion_function(system).evaluate(x)
            rows[:count] = np.reshape(found["rows"], (count, system.nv))
            rates[:count], bias[:count] = found["rates"][:, 0], found["bias"][:, 0]
            gaps["contact"] = contact_gaps(system)(x)
        limits = joint_limits(system)
        gaps["stop"] = limits.signs * (self.bounds - x[parts.q][limits.places])
        if self.features is not None:
            own = slice(len(rows) - self.features.count, None)
            known, rows[own], rates[own], bias[own] = self.features.motion(x)
            gaps["contact"] = np.concatenate([gaps["contact"], known])
        places = dict.fromkeys(gaps, 0)
        total = np.zeros(len(self.elements))
        for k, one in enumerate(self.elements):
            total[k] = gaps[one.kind][places[one.kind]]
            places[one.kind] += 1
        return total, rows, rates, bias

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

    def ambiguous(
        self, x: Array, a: Array, left_null: Array, unpushed: Array, tangent: Array
    ) -> tuple[str, ...]:
        """Return the sliding contacts whose shares of the load change derivatives although statics leaves them open.

        Their friction turns with the slip, each by its own normal force. ``left_null`` are the combinations of the rows
        of `extended` that vanish, ``unpushed`` (nv, …) motions on which forces on the rows do no work, ``tangent``
        (2 nv, …) changes of (ϑ, v) that the rows allow.
        """
        if not self.sliding or left_null.shape[1] == 0:
            return ()
        weights = np.array(np.random.default_rng(7).uniform(0.5, 1.5, left_null.shape[1]))
        shares, nv = self.split(product(left_null, weights))[1], self.system.nv
        slip_q, sizes = self.tangent(x, a, self.forces)["slip_q"], list[float]()
        for forces in (shares / np.abs(shares).max(), self.forces / np.abs(self.forces).max()):
            turned = self.turning(np.hstack([slip_q[:, :nv], self.rows]), forces)
            sizes.append(float(np.linalg.norm(product(unpushed.T, turned, tangent))))
        if not sizes[0] > SHARES_MATTER * sizes[1]:
            return ()
        most = np.abs(shares).max()
        return tuple(one.name for one in self.sliding if abs(shares[one.normal]) > SHARES_MATTER * most)

    def with_least_friction(self, sticking: Sequence[ContactElement]) -> Array:
        """Return the forces (all rows,) with the same effect on the motion and the least friction where it sticks."""
        null = at_rank(self.constraints, self.rank).null if self.rank else np.eye(self.system.nv)
        free = ranked(product(self.scales[:, None] * self.push, null), relative=RANK_CUT).left_null
        if not free.shape[1]:
            return self.forces
        ways = np.array([self.pushing(self.scales * way) for way in free.T]).T
        tails = np.concatenate([np.arange(one.tails.start, one.tails.stop) for one in sticking])
        by = np.concatenate(
            [np.full(one.tails.stop - one.tails.start, 1.0 / _limit(one, self.forces)) for one in sticking]
        )
        return self.forces - product(ways, ranked(by[:, None] * ways[tails]).solve(by * self.forces[tails]))

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

    def tangent(self, x: Array, a: Array, forces: Array) -> dict[str, Array]:
        """Return ∂(Hᵀ f), ∂(H a + Ḣ v) and ∂(H v) of all rows, see `tangent_outputs`; f are ``forces``."""
        nv, count = self.system.nv, int(self.system.equations.row_rates.numel())
        sizes = {"bias_q": nv + 1, "bias_v": nv, "slip_q": nv + 1}
        found = {name: np.zeros((len(self.rows), n)) for name, n in sizes.items()}
        found["force_q"] = np.zeros((nv, nv + 1))
        if count:
            _add(found, contact_tangent(self.system).evaluate(np.concatenate([x, a, forces[:count]])), 0)
        if self.features is not None:
            first = len(self.rows) - self.features.count
            _add(found, self.features.tangent(x, a, forces[first:]), first)
        return found

    def turning(self, slips: Array, forces: Array) -> Array:
        """Return the changes of the friction Pᵀ r (columns) by the turn of the slip, for changes of H v of all rows."""
        found = np.zeros((self.system.nv, slips.shape[1]))
        for one in self.sliding:
            found += forces[one.normal] * product(self.rows[one.tails].T, one.turn(slips[one.tails]))
        return found

    def slopes(self, x: Array, w: Array, forces: Array) -> RowSlopes:
        """Return the derivatives of all rows by z at x = [q | v | u | t | p | τ], w (nv,) and f = ``forces``."""
        system, e = self.system, self.system.equations
        count = int(e.row_rates.numel())
        width = system.nq + system.nv + system.nu + len(e.design_parameters)
        found = {
            name: np.zeros((len(self.rows), width)) for name in ("position", "velocity", "forward", "drift")
        }
        found["backward"] = np.zeros((system.nv, width))
        last = len(self.rows)
        if count:
            _add(found, contact_slopes(system).evaluate(np.concatenate([x, w, forces[:count]])), 0)
        if self.features is not None:
            last -= self.features.count
            _add(found, self.features.slopes(x, w, forces[last:]), last)
        found["velocity"][count:last, system.nq : system.nq + system.nv] = self.rows[count:last]
        limits = joint_limits(system)
        found["position"][count + np.arange(len(limits.places)), limits.places] = -limits.signs
        return RowSlopes(**found)

    def extended(self, d: Derivatives, x: Array, a: Array) -> Derivatives:
        """Return the terms of the phase: those of the constraints with the rows H, their forces and their friction."""
        more, order, by = self.tangent(x, a, self.forces), self.order, self.scales[:, None]
        turned_q, turned_v = (self.turning(slips, self.forces) for slips in (more["slip_q"], self.rows))

        def stacked(own: Array, rows: Array) -> Array:
            return np.vstack([own, by * rows])[order]

        return replace(
            d,
            force_q=d.force_q - more["force_q"] - turned_q,
            force_v=d.force_v - turned_v,
            jacobian=stacked(d.jacobian, self.rows[self.held]),
            push=stacked(d.jacobian, self.push),
            bias_q=stacked(d.bias_q, more["bias_q"][self.held]),
            bias_v=stacked(d.bias_v, more["bias_v"][self.held]),
            velocity_q=stacked(d.velocity_q, more["slip_q"][self.held]),
        )


def _add(found: dict[str, Array], given: Mapping[str, Array], first: int) -> None:
    """Add derivatives of forces, and write those of rows from row ``first`` on."""
    for name, part in given.items():
        if name in ("force_q", "backward"):
            found[name] += part
        else:
            found[name][first : first + len(part)] = part


def phase_at(
    system: Evaluations, solved: ForwardDynamics, q: Array, v: Array, t: float, where: str = ""
) -> ContactPhase | None:
    """Return the phase that begins at a state, from its forward dynamics; None if no row is held.

    Raises `SolveError` at a border of modes, where derivatives are one-sided: a closed contact or stop without force, a
    contact or joint that begins to slip or has all the friction that it can have. Forces and accelerations below 1e-7
    of the largest one are zero. Forces that statics does not determine are at a border if those with least friction
    are.
    """
    found = solved.contacts
    if found is None:
        return None
    state, speeds = contact_row_state(system, q, v, t), np.abs(system.characteristic.columns * v)
    still = still_speed(float(speeds.max(initial=0.0)))
    a = np.array(solved.a)
    change = state.rows @ a + state.bias
    hurry = 1.0 + float(np.abs(system.characteristic.columns * a).max(initial=0.0))
    sliding, chosen = list[Sliding](), list[tuple[ContactElement, range, bool]]()
    features = held_features(system, state)
    rolls = {one.name for one in system.equations.friction_contacts if one.rolls}
    rolling = {one.name for one in system.equations.friction_contacts if one.rolls and one.place is None}
    if features is not None:
        curved = {one.name for one in features.contacts if one.rolls}
        rolls, rolling = rolls | curved, rolling | curved
    for one in state.elements:
        mode, force, slip = found.modes[one.name], found.forces[one.rows], state.rates[one.tails]
        slides = float(np.linalg.norm(slip)) > still * one.unit
        if mode is Mode.OPEN:
            if one.name in found.closed and change[one.rows.start] <= BORDER * hurry * one.unit:
                raise _border(system, one, _UNLOADED, where)
            continue
        if mode is Mode.SLIDING and not slides:
            raise _border(system, one, "begins to slip", where)
        if one.kind == "friction" and mode is Mode.SLIDING:
            continue
        if one.kind != "friction" and force[0] <= BORDER * np.abs(found.forces).max():
            raise _border(system, one, _UNLOADED, where)
        sticks = mode is Mode.STICKING and (one.kind == "friction" or one.static > 0.0)
        rows = range(one.rows.start, one.rows.stop if sticks else one.rows.start + 1)
        chosen.append((one, rows, one.name in rolls))
        if mode is Mode.SLIDING:
            sliding.append(Sliding(one.name, one.rows.start, one.tails, force[1:] / force[0], slip))
    if not chosen:
        return None
    _refuse_beyond(system, q, [one for one, _, _ in chosen], where)
    moves = bool((speeds > still).any())
    phase = ContactPhase(
        system,
        held=np.concatenate([list(rows) for _, rows, _ in chosen]),
        placed=np.array(
            [not (moves and rolls and row > rows[0]) for _, rows, rolls in chosen for row in rows]
        ),
        sliding=tuple(sliding),
        forces=np.array(found.forces),
        scales=np.array([1.0 / one.unit for one, rows, _ in chosen for _ in rows]),
        rows=state.rows,
        bounds=bounds_at(joint_limits(system), q),
        constraints=system.constraint_jacobian(q, v, t),
        rank=solved.rank,
        names=tuple(one.name for one, _, _ in chosen),
        elements=state.elements,
        rolling=tuple(sorted(rolling)),
        features=features,
    )
    if features is not None:
        phase = replace(phase, rows=phase.motion(system.pack(q, v, None, t))[1])
        _refuse_borders(phase, state, where)
    sticking = [one for one, rows, _ in chosen if one.kind == "friction" or len(rows) > 1]
    spent = [one for one in sticking if not _has_room(one, phase.forces)]
    if spent:
        least = phase.with_least_friction(sticking)
        spent = [one for one in sticking if not _has_room(one, least)]
    if spent:
        raise _border(system, spent[0], "sticks with all the friction that it can have", where)
    return phase


def rubbing(system: Evaluations, found: ContactForces) -> Array:
    """Return the generalized force (nv,) of the dry friction of joints that slide, which is constant in a phase."""
    force = np.zeros(system.nv)
    joints = [one for one in contact_elements(system) if one.kind == "friction"]
    for one, rate in zip(joints, dry_friction(system).rates):
        if found.modes[one.name] is Mode.SLIDING:
            force[rate] += float(found.forces[one.rows][0])
    return force


_UNLOADED = "is closed without a force"
_NO_FEATURES = "touches where a corner, an edge or a rim begins"


def held_features(system: Evaluations, state: ContactRowState) -> HeldFeatures | None:
    """Return the contacts that a narrow phase has found at a state, with their features held; None without any."""
    if state.geometry is None or not state.geometry.points:
        return None
    from sarrus.dynamics.contacts.held_features import HeldFeatures  # here: few systems need it

    return HeldFeatures(system, state.geometry)


def _refuse_borders(phase: ContactPhase, state: ContactRowState, where: str) -> None:
    """Raise `SolveError` for features at their border, such as a corner on an edge, and for those that are not known.

    Borders do not matter for two bodies that do not move against each other.
    """
    assert phase.features is not None
    assert state.geometry is not None
    elements = {one.name: one for one in phase.elements}
    for point, one in zip(state.geometry.points, phase.features.contacts):
        if elements[one.name].rows.start not in phase.held:
            continue
        if not one.known:
            raise _border(phase.system, elements[one.name], _NO_FEATURES, where)
        if one.borders:
            length = phase.system.characteristic.length
            moved = product(state.geometry.relative_motion(point, length), phase.motions)
            if np.abs(moved).max(initial=0.0) > BORDER * length:
                raise _border(phase.system, elements[one.name], _NO_FEATURES, where)


def _limit(one: ContactElement, forces: Array) -> float:
    """Return the largest friction of a sticking contact or joint."""
    return one.limit if one.kind == "friction" else one.static * float(forces[one.rows.start])


def _has_room(one: ContactElement, forces: Array) -> bool:
    """Tell whether the friction of a sticking contact or joint is below its limit."""
    return float(np.linalg.norm(forces[one.tails])) < (1.0 - BORDER) * _limit(one, forces)


def _refuse_beyond(system: Evaluations, q: Array, held: Sequence[ContactElement], where: str) -> None:
    """Raise `SolveError` for a stop that holds a coordinate beyond its limit: the stop follows it back."""
    limits, names = joint_limits(system), {one.name for one in held}
    stops = [one for one in contact_elements(system) if one.kind == "stop"]
    depths = (
        limits.signs * (q[limits.places] - limits.bounds) * system.characteristic.coordinates[limits.places]
    )
    for one, depth in zip(stops, depths.tolist()):
        if depth > AT_BOUND and one.name in names:
            raise _border(system, one, "holds a coordinate beyond its limit and follows it back", where)


def _border(system: Evaluations, one: ContactElement, what: str, where: str) -> SolveError:
    """Return the error for a contact at a border of modes."""
    kind = {"stop": "", "friction": "joint ", "contact": "contact "}[one.kind]
    name = one.name.removesuffix(".friction") if one.kind == "friction" else one.name
    return SolveError(
        f"{system.name}: no derivatives{where}, where {kind}{name!r} {what}: they are one-sided there. Take a state "
        "beside it on the side that you mean, or contacts=False, which leaves contacts, stops and dry friction out",
        element=one.name,
    )
