"""`controllability`: the motions that the actuators can produce; the test for passive joints (Aghili 2005, 7.4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arguments import described
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import check_is
from sarrus.control.laws.tolerances import NO_ENTRY
from sarrus.dynamics.contacts.contact_state import contact_row_state, takes_part
from sarrus.dynamics.model.activations import driving_matrix
from sarrus.dynamics.solve.inverse_dynamics import constraint_rank
from sarrus.dynamics.solve.workspace import Workspace
from sarrus.dynamics.system import System
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import at_rank, ranked
from sarrus.kernels.linalg.tolerances import FINE_RANK_CUT, RANK_CUT


@dataclass(frozen=True, eq=False)
class Controllability:
    """The motions that the actuators reach at a configuration.

    Attributes
    ----------
    controllable : whether the actuators produce every motion that the constraints allow.
    dof, rank : degrees of freedom, and rank of Zᵀ S: the number of motions that the actuators reach.
    redundancy : dimension of the controls that do not change the motion (internal forces).
    uncontrollable : (nv, dof − rank) motions that no control drives, orthonormal columns x with A x = 0 and Sᵀ x = 0.
    names : each of these in words, such as "rocker + 0.5 coupler".
    singular_values : of Zᵀ S, Z an orthonormal basis of the motions.
    """

    controllable: bool
    dof: int
    rank: int
    redundancy: int
    uncontrollable: Array
    names: tuple[str, ...]
    singular_values: Array


@described()
def controllability(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    t: float = 0.0,
    *,
    u: ArrayLike | None = None,
    contacts: bool = True,
) -> Controllability:
    """Return a `Controllability`: which motions at a configuration the actuators can drive.

    With Z a basis of the motions A v = 0, the controls act by Zᵀ S u. The mechanism is controllable if Zᵀ S has full
    row rank, N ∩ B⊥ ⊆ N⊥ ∩ B⊥ (Aghili 2005, eq. (64)), B the range of S. Redundant closures change nothing; in a
    singular configuration there are more motions, and the answer is for these.

    Contacts with Coulomb friction, contacts between geometries, ropes, transmissions with losses, limits of joints and
    dry friction hold as they do at the state with the controls ``u`` (nu,), by default zero: closed ones are
    constraints, in the modes of `System.forward_dynamics`. The motions are then those that they leave; friction of
    what slides follows its normal force, so that forces act along rows n − μ d instead of n. ``contacts=False`` leaves
    all of them out. Raises `SolveError` where forward dynamics has no answer.
    """
    check_is("controllability", system, System)
    velocity = np.zeros(system.nv) if v is None else system.checked(v, system.nv, "v")
    place, held = system.normalized(q), None
    if takes_part(system, contacts):
        held = _held(system, place, velocity, u, t)
    return controllability_at(system.workspace(), place, velocity, t, held)


def _held(system: System, q: Array, v: Array, u: ArrayLike | None, t: float) -> Array | None:
    """Return the rows along which forces of contacts, stops and dry friction act at a state; None without any."""
    found = system.forward_dynamics(q, v, u, t).contacts
    if found is None:
        return None
    if not found.ways.shape[1]:
        return None
    return dense.product(found.ways.T, contact_row_state(system, q, v, t).rows)


def controllability_at(
    system: Workspace, q: Array, velocity: Array, t: float, held: Array | None = None
) -> Controllability:
    """Return the `Controllability` with the parameters of a workspace, for arguments already checked.

    ``held`` (m × nv): rows along which further forces act, of any size.
    """
    jacobian = system.constraint_jacobian(q, velocity, t)
    rank = constraint_rank(system, q, velocity, t, jacobian)
    basis = at_rank(jacobian, rank).null
    if held is not None:
        sizes = np.abs(held / system.characteristic.columns).max(axis=1, keepdims=True)
        rows = held / np.where(sizes > 0.0, sizes, 1.0)
        basis = basis @ ranked(rows @ basis, cut=RANK_CUT * dense.norm(rows)).null
    actuation = driving_matrix(system, q, velocity, t)
    reach = ranked(basis.T @ actuation, FINE_RANK_CUT * dense.norm(actuation))
    lost, found, dof = basis @ reach.left_null, reach.rank, basis.shape[1]
    return Controllability(
        controllable=found == dof,
        dof=dof,
        rank=found,
        redundancy=actuation.shape[1] - found,
        uncontrollable=read_only(lost),
        names=tuple(in_words(system.velocity_names, column) for column in lost.T),
        singular_values=read_only(reach.values),
    )


def in_words(names: Sequence[str], direction: Array) -> str:
    """Return a direction as a combination of these names, its first largest entry scaled to one."""
    lengths = np.abs(direction)
    scaled = direction / direction[np.argmax(lengths > 0.99 * lengths.max())]  # of equal ones the first
    terms = []
    for name, weight in zip(names, scaled):
        if abs(weight) < NO_ENTRY:
            continue
        sign = "− " if weight < 0.0 else "+ "
        size = "" if abs(abs(weight) - 1.0) < NO_ENTRY else f"{abs(weight):.3g} "
        terms.append(f"{sign}{size}{name}")
    return " ".join(terms).removeprefix("+ ")
