"""`support_load`: forces of contacts, stops and dry friction that support a load, with the least controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.status import Status
from sarrus.dynamics.contacts.contact_elements import choices_of_flanks
from sarrus.dynamics.contacts.contact_state import ContactState, ForceLaws
from sarrus.dynamics.contacts.support_reactions import SupportReactions
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.optimize.force_balance import ForceBalance, balance_forces
from sarrus.dynamics.optimize.tolerances import FORCE_OF_NONE
from sarrus.dynamics.solve.tolerances import MOST_NAMED_VELOCITIES, NAMED_VELOCITY
from sarrus.kernels.linalg.ranked import ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT


def support_load(
    system: Evaluations,
    state: ContactState,
    free: Array,
    load: Array,
    actuation: Array,
    *,
    weights: Array | None = None,
    limits: Array | None = None,
) -> tuple[Array, SupportReactions]:
    """Return u and r with free · (S u + Jᵀ r) = free · load, u minimal, then r minimal.

    Parameters
    ----------
    state : the modes of the contacts. free : (k × nv) the motions along which forces must balance, by rows.
    load : (nv,). actuation : S (nv × nu).
    weights, limits : of u, see `sarrus.dynamics.optimize.force_balance.balance_forces`.

    If several r exist, the one of least norm in characteristic units (a moment divided by the characteristic length).
    At most one of two opposite flanks pushes: for up to six pairs the choice with the least u is taken.
    """
    asked = _Asked(system.characteristic.length, free, load, actuation, weights, limits)
    if state.opposite_flank:
        state = _on_flanks(asked, state)
    laws = state.laws
    found = asked.balance(state)
    forces = laws.base + laws.ways @ found.y
    free_rows = (np.abs(laws.ways) @ (~found.determined).astype(float)) > 0.0
    reason, status = _reason(system, state, laws, found, free), found.status
    if state.impossible:
        reason, status = state.impossible, Status.INCONSISTENT
    carried = SupportReactions(
        names=state.names,
        forces=read_only(forces),
        force=read_only(state.rows.T @ forces),
        determined=read_only(~free_rows),
        modes={one.name: mode for one, mode in zip(state.elements, state.modes)},
        carrying=_carrying(state, forces),
        reason=reason,
        status=status,
        _friction=found.friction,
        _balances=found.balances,
    )
    return found.u, carried


@dataclass(frozen=True, eq=False)
class _Asked:
    """The forces to be balanced, and the means; ``length`` is the characteristic length."""

    length: float
    free: Array
    load: Array
    actuation: Array
    weights: Array | None
    limits: Array | None

    def balance(self, state: ContactState) -> ForceBalance:
        """Return the least u, and then the least contact forces within the laws of a state."""
        laws, free = state.laws, self.free
        owners = [state.elements[k] for k in laws.owners]
        counts = [size for size, _ in (*laws.contacts, *laws.dry)]
        return balance_forces(
            free @ self.actuation,
            free @ state.rows.T @ laws.ways,
            free @ (self.load - state.rows.T @ laws.base),
            laws.contacts,
            laws.dry,
            weights=self.weights,
            sizes=np.repeat([self.length / one.unit for one in owners], counts),
            limits=self.limits,
        )


def _on_flanks(asked: _Asked, state: ContactState) -> ContactState:
    """Return the state with one of two opposite flanks open, chosen for the least u of a balance.

    First the flanks that push in a frictionless solution with pulling allowed; without a balance this choice stays.
    """
    pairs = state.opposite_flank
    heads = [state.elements[one].rows.start for one, _ in pairs]
    nu = asked.actuation.shape[1]
    reach = asked.free @ np.hstack([asked.actuation, state.rows[heads].T])
    pushes = ranked(reach, relative=FINE_RANK_CUT).solve(asked.free @ asked.load)[nu:]
    first = pushes >= -FORCE_OF_NONE * float(np.abs(pushes).max(initial=0.0))
    weights = np.ones(nu) if asked.weights is None else asked.weights
    best, least = None, np.inf
    for left_out in choices_of_flanks(pairs, first.tolist()):
        chosen = state.without(left_out)
        found = asked.balance(chosen)
        cost = float(weights @ found.u**2) if found.status.ok else np.inf
        if best is None or cost < (1.0 - FORCE_OF_NONE) * least:
            best, least = chosen, cost
        if least == 0.0:
            break
    assert best is not None
    return best


def _carrying(state: ContactState, forces: Array) -> tuple[str, ...]:
    """Return the names of the contacts with a nonzero force."""
    least = FORCE_OF_NONE * float(np.abs(forces).max(initial=0.0))
    return tuple(one.name for one in state.elements if np.abs(forces[one.rows.start]) > least)


def _reason(
    system: Evaluations, state: ContactState, laws: ForceLaws, found: ForceBalance, free: Array
) -> str:
    """Return the reason why there is no balance."""
    if found.status is Status.OK:
        return ""
    if found.status is Status.ALMOST:
        return found.status.diagnosis
    if found.status is Status.NOT_ACHIEVABLE:
        along = np.abs(free.T @ found.missing / system.characteristic.columns)
        largest = np.argsort(-along, kind="stable")[:MOST_NAMED_VELOCITIES]
        names = [
            system.velocity_names[i] for i in sorted(largest) if along[i] >= NAMED_VELOCITY * along.max()
        ]
        return f"no actuator, loop or closed contact acts along {listed(names)}"
    if found.pulling:
        names = list(dict.fromkeys(state.elements[laws.owners[k]].name for k in found.pulling))
        return f"{listed(names)} would have to pull"
    factor = found.friction()
    if np.isfinite(factor):
        sticking = [state.elements[k] for k, (_, mu) in zip(laws.owners, laws.contacts) if mu > 0.0]
        needed = {one.static * factor for one in sticking}
        text = f"all friction coefficients {factor:.6g} times as large are needed"
        if max(needed) - min(needed) < FORCE_OF_NONE * max(needed):
            text = f"friction coefficients of {max(needed):.6g} are needed"
        return f"{listed([one.name for one in sticking])} would slide: {text}"
    return "dry friction and the limits of the actuators leave too little"


def listed(names: Sequence[str]) -> str:
    """Return names for a message."""
    return ", ".join(map(repr, names))
