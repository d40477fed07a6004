"""Equilibrium on contacts: where a mechanism settles, and which motions its loaded contacts leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
import numpy as np

from sarrus.analysis.configurations.tolerances import (
    CONTACT_PLACED,
    CONTACT_STEPS,
    CONTACTS_SOLVED,
    FAR_GAP,
    LONGEST_STEP,
    ON_VERGE,
    SETTLED_STEP,
    SHORTEST_REST_STEP,
    SOFT_DIRECTION,
)
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.manifold import close, comparable, stays_closed
from sarrus.dynamics.contacts.contact_elements import Mode, opposite_flanks
from sarrus.dynamics.contacts.contact_state import (
    ContactRowState,
    contact_row_state,
    geometry_contacts,
)
from sarrus.dynamics.contacts.geometry_state import GeometryContacts
from sarrus.dynamics.contacts.support_reactions import SupportReactions
from sarrus.dynamics.model.control_metric import default_weights
from sarrus.dynamics.model.derivatives import stiffness_times
from sarrus.dynamics.model.joint_limits import bounds_at, joint_limits
from sarrus.dynamics.optimize.contact_problem import solve_contact_problem
from sarrus.dynamics.optimize.tolerances import FORCE_OF_NONE
from sarrus.dynamics.solve.support import support_load
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import RANK_CUT


@dataclass(frozen=True)
class Carried:
    """Forces of the contacts that carry a mechanism at rest, and the velocities that they hold.

    ``held`` (rows, nv): velocities that are zero while loaded contacts stay closed and stick. ``grazing`` (rows, nv):
    of closed contacts without force, which may open. ``verge``: whether a contact is at the limit of friction.
    """

    load: SupportReactions
    held: Array
    grazing: Array
    verge: bool

    def verdict(self, stable: bool | None, motions: Array, stiffness: Array, zero: float) -> bool | None:
        """Return the verdict on stability with friction at its limit and closed contacts without force taken into
        account.
        """
        if self.verge:
            return None if stable else stable
        if stable is not False or len(self.grazing) == 0:
            return stable
        values, vectors = np.linalg.eigh((stiffness + stiffness.T) / 2)
        for fall in (motions @ vectors)[:, values < -zero].T:
            opening = self.grazing @ fall
            if (opening >= -ON_VERGE).all() or (opening <= ON_VERGE).all():
                return False
        return None


class StaticContacts:
    """Contacts, stops and dry friction of a system at rest under loads that depend on q, at time t [s].

    Stops act from ``start``: coordinates that begin beyond a limit go no further out. ``held`` are contact forces found
    together with inputs, for the q that these hold.
    """

    def __init__(self, system: System, t: float, loads: Callable[[Array], Array], start: Array) -> None:
        self.system, self.t, self.loads = system, t, loads
        self.still = np.zeros(system.nv)
        self.held: SupportReactions | None = None
        self.bounds = bounds_at(joint_limits(system), start)

    def free(self, jacobian: Array, rank: int) -> Array:
        """Return the motions that A leaves, as rows, orthonormal in characteristic units."""
        size = self.system.characteristic
        return at_rank(size.scaled_rows(jacobian), rank).null.T / size.columns

    def _at(self, q: Array) -> tuple[Array, Array, Array, float]:
        """Return q, velocity and acceleration at rest, and t."""
        return q, self.still, self.still, self.t

    def carried(self, q: Array, jacobian: Array, rank: int, balanced: bool = False) -> Carried:
        """Return the contacts that carry the loads at q; ``balanced``: the residual along the motions is rounding."""
        load = self.held
        if load is None:
            none = np.zeros((self.system.nv, 0))
            loads = self.still if balanced else -self.loads(q)
            _, load = support_load(
                self.system.workspace(), self._at(q), self.free(jacobian, rank), loads, none
            )
        return self.holding(contact_row_state(self.system, q, self.still, self.t), load)

    def holding(self, state: ContactRowState, load: SupportReactions) -> Carried:
        """Return the velocities that the contacts at a state hold with these forces."""
        least = FORCE_OF_NONE * float(np.abs(load.forces).max(initial=0.0))
        rough = any(one.static > 0.0 and one.name in load.carrying for one in state.elements)
        slips = rough and not load.holds_with(1.0 - ON_VERGE)
        verge, held, grazing = slips, [], []
        for one in state.elements:
            mode = load.modes.get(one.name, Mode.OPEN)
            force, on_limit = load.forces[one.rows], slips
            if one.kind == "friction":
                on_limit = mode is Mode.SLIDING or abs(force[0]) >= (1.0 - ON_VERGE) * one.limit
                verge |= on_limit
            elif mode is not Mode.OPEN and force[0] <= least:
                grazing.append(state.rows[one.rows][:1])
                continue
            held.append(state.rows[one.held(Mode.SLIDING if on_limit and mode is not Mode.OPEN else mode)])
        empty = np.zeros((0, self.system.nv))
        return Carried(load, np.vstack([empty, *held]), np.vstack([empty, *grazing]), verge)

    def inputs(self, q: Array, cut: float, limits: Array | None) -> Array:
        """Return the least inputs with which contacts carry the loads at q; if there are none, those with the least
        residual.
        """
        jacobian = self.system.constraint_jacobian(q, t=self.t)
        free = self.free(jacobian, ranked(comparable(self.system, jacobian), cut).rank)
        reach = self.system.actuation_matrix(q, t=self.t)
        u, self.held = support_load(
            self.system.workspace(), self._at(q), free, -self.loads(q), reach,
            weights=default_weights(self.system), limits=limits,
        )  # fmt: skip
        return u

    def is_deep(self, q: Array) -> bool:
        """Return whether a contact penetrates by more than 1e-6 characteristic lengths."""
        return bool(contact_row_state(self.system, q, self.still, self.t, self.bounds).deep)

    def contact(self, q: Array) -> Array:
        """Return q with contacts and stops that are open or penetrate by up to 1e-6 lengths moved to a gap of zero."""
        for _ in range(3):
            found = contact_row_state(self.system, q, self.still, self.t, self.bounds)
            elements, near = found.elements, found.closed
            between = {k for pair in opposite_flanks(elements, near) for k in pair}
            near = [k for k in near if k not in between]  # whichever flank pushes, there is next to no play
            units = np.array([elements[k].unit for k in near])
            gaps = found.gaps[near] / units
            if np.abs(gaps).max(initial=0.0) <= CONTACT_PLACED:
                break
            size = self.system.characteristic
            rows = found.rows[[elements[k].rows.start for k in near]].reshape(len(near), -1) / size.columns
            loops = size.scaled_rows(self.system.constraint_jacobian(q, t=self.t))
            both = np.vstack([loops, rows / units[:, None]])
            step = ranked(both, relative=RANK_CUT).solve(np.concatenate([np.zeros(len(loops)), -gaps]))
            q = close(self.system, self.system.move(q, step / size.columns), self.t)
        return q

    # --- settling ------------------------------------------------------------------------------------

    def settle(self, q: Array, u: Array, cut: float) -> tuple[Array, int]:
        """Follow the loads, with contacts and friction, until nothing moves; return q and the number of steps.

        A step x is quasi-static with a viscous resistance G: G x = f + Jᵀ r, with r within the laws of contact for x as
        the velocity, so that gaps at its end are ≥ 0. G is the stiffness with all eigenvalues positive: steps are
        Newton steps near a stable equilibrium and short elsewhere.
        """
        size, reach, before = self.system.characteristic, LONGEST_STEP, None
        names: tuple[str, ...] = ()
        forces = np.zeros(0)
        for count in range(CONTACT_STEPS):
            jacobian = self.system.constraint_jacobian(q, t=self.t)
            basis = self.free(jacobian, ranked(comparable(self.system, jacobian), cut).rank).T
            found = contact_row_state(
                self.system, q, self.still, self.t, self.bounds, 2.0 * reach * size.length
            )
            sorted_rows = SortedRows.of(found)
            load = self.loads(q)
            known = dict(zip(names, forces))
            names = found.names
            forces = np.array([known.get(name, 0.0) for name in names])
            push, rows = basis.T @ load, found.rows @ basis
            left = float(np.linalg.norm(push + rows.T @ forces))
            values, vectors = np.linalg.eigh(self.stiffness(q, u, load, forces, jacobian, basis, cut, found))
            largest = max(float(np.abs(values).max(initial=0.0)), float(np.linalg.norm(push)), LEAST_DIVISOR)
            root = 1.0 / np.sqrt(np.maximum(np.abs(values), SOFT_DIRECTION * largest) + left / reach)
            H = rows @ vectors * root
            given = H @ (root * (vectors.T @ push))
            order, contacts = sorted_rows.order, sorted_rows.contacts
            given[sorted_rows.heads] += np.minimum(found.gaps[: len(contacts)], FAR_GAP * size.length)
            answer = solve_contact_problem(
                H[order], given[order], contacts, sorted_rows.dry, start=forces[order], throw=False
            )
            y = vectors @ (root * (root * (vectors.T @ push) + answer.change))
            length = float(np.linalg.norm(y))
            near = answer.status is Status.NOT_CONVERGED and answer.residual <= CONTACTS_SOLVED
            if not (answer.status.ok or near) or not np.isfinite(length):
                reach /= 4
                if reach < SHORTEST_REST_STEP:
                    return q, count
                continue
            step = basis @ y * min(1.0, reach / max(length, LEAST_DIVISOR))
            p = close(self.system, self.system.move(q, step), self.t)
            if not stays_closed(self.system, p, q, self.t):
                reach = min(reach, length) / 4
                if reach < SHORTEST_REST_STEP:
                    return q, count
                continue
            along = size.columns * step
            turns = (
                before is not None and along @ before < 0.0 and 2.0 * length > float(np.linalg.norm(before))
            )
            reach = reach / 4 if turns else min(2.0 * reach, LONGEST_STEP)
            last = np.inf if before is None else float(np.linalg.norm(before))
            q, before = p, along
            forces = np.zeros(len(names))
            forces[order] = answer.forces
            if (
                length <= SETTLED_STEP
                or (length <= SHORTEST_REST_STEP and 2.0 * length > last)
                or reach < SHORTEST_REST_STEP
            ):
                return q, count + 1
        return q, CONTACT_STEPS

    def stiffness(
        self,
        q: Array,
        u: Array,
        load: Array,
        forces: Array,
        jacobian: Array,
        basis: Array,
        cut: float,
        found: ContactRowState,
    ) -> Array:
        """Return the symmetric stiffness along a basis, with the forces of contacts and loops constant."""
        rank = ranked(comparable(self.system, jacobian), cut).rank
        multipliers = self.system.characteristic.least_multipliers(
            jacobian, rank, -(load + found.rows.T @ forces)
        )
        columns = [self.stiffness_times(q, u, multipliers, forces, way, found.geometry) for way in basis.T]
        K = basis.T @ np.array(columns).reshape(len(columns), self.system.nv).T
        return np.asarray((K + K.T) / 2)

    def stiffness_times(
        self,
        q: Array,
        u: Array,
        multipliers: Array,
        forces: Array,
        way: Array,
        geometry: GeometryContacts | None = None,
    ) -> Array:
        """Return −d/ds (f + Aᵀλ + Jᵀ r) along a way, with u, λ and r constant.

        ``geometry`` are the contacts between geometries of r, by default those that are closed at q.
        """
        out = stiffness_times(self.system, q, u, multipliers, way, self.t)
        if self.system.contact_geometries:
            geometry = geometry or geometry_contacts(self.system, q, self.t)
            out = out + geometry.stiffness_times(forces[len(forces) - len(geometry.rows) :], way)
        e = self.system.equations
        count = e.row_rates.numel()
        if not count:
            return out

        def outputs(forces: ca.SX) -> dict[str, ca.SX]:
            return {"force": -ca.jtimes(ca.jtimes(e.row_rates, e.v, forces, True), e.q, e.rate)}

        native = self.system.compiled.named("touch stiffness", outputs, {"forces": count})
        return out + native(np.concatenate([self.system.pack(q, way, u, self.t), forces[:count]]))


class SortedRows(NamedTuple):
    """Rows in the order of the contact problem: contacts and stops, then dry friction.

    ``order`` are the numbers of the rows, ``heads`` those of the normals; blocks as (number of rows, coefficient or
    limit).
    """

    order: list[int]
    heads: list[int]
    contacts: list[tuple[int, float]]
    dry: list[tuple[int, float]]

    @classmethod
    def of(cls, found: ContactRowState) -> SortedRows:
        """Return the order of the rows of a state."""
        pushing = [one for one in found.elements if np.isinf(one.limit)]
        rubbing = [one for one in found.elements if not np.isinf(one.limit)]
        return cls(
            [k for one in (*pushing, *rubbing) for k in range(one.rows.start, one.rows.stop)],
            [one.rows.start for one in pushing],
            [(one.rows.stop - one.rows.start, one.static) for one in pushing],
            [(1, one.limit) for one in rubbing],
        )
