"""`linearize`: the linear model at an equilibrium; other configurations are refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sarrus.analysis.configurations.equilibrium_search import loads_at_rest
from sarrus.analysis.linear.linear_system import LinearSystem
from sarrus.analysis.linear.linearize_at import extended, linearize_at, without_held
from sarrus.analysis.linear.tolerances import ACTIVATION_MOVING, LINEARIZED_AT_REST
from sarrus.base.arguments import described
from sarrus.base.errors import ArgumentError, check_is
from sarrus.base.numbers import real_array
from sarrus.dynamics.closing.closed_state import require_rest
from sarrus.dynamics.contacts.contact_state import takes_part
from sarrus.dynamics.coordinates.choices import PARTITION, Coordinates
from sarrus.dynamics.coordinates.relation import Relation
from sarrus.dynamics.model.activations import activations_of
from sarrus.dynamics.system import System


@described()
def linearize(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *more: ArrayLike,
    t: float = 0.0,
    tau: ArrayLike | None = None,
    coordinates: Coordinates | Relation = PARTITION,
    outputs: Sequence[str] | None = None,
    contacts: bool = True,
) -> LinearSystem:
    """Return the `LinearSystem` d/dt δx = A δx + B δu about an equilibrium, in independent coordinates.

    Arguments and result are those of `linearize_at` at v = 0; ``affine`` is zero to rounding. Eigenvalues, frequencies
    and damping do not depend on the choice of coordinates (Spencer 2004, theorem 4.1.1). Redundant rows change nothing.
    A configuration counts as an equilibrium if the force along the motions is below 1e-7 of the forces here or nearby.

    Raises
    ------
    ArgumentError
        A velocity stands in the place of u; q is no equilibrium under u, τ and its own forces (the largest
        acceleration and the name of its velocity are given); or q is not on the constraints.
    SolveError
        A constraint prescribes a motion at rest, or as in `linearize_at`.
    """
    check_is("linearize", system, System)
    _check_controls(system, u, more)
    if isinstance(coordinates, Relation) and not coordinates.has_velocities:
        if takes_part(system, contacts):
            _, tau = without_held(system, q, None, u, t, tau)
        system, q, _, tau, coordinates = extended(system, q, None, tau, coordinates, t)
        contacts = False
    still = np.zeros(system.nv)
    require_rest(system, real_array(q), t, "; use linearize_at")
    model = linearize_at(
        system, q, still, u, t=t, tau=tau, coordinates=coordinates, outputs=outputs, contacts=contacts
    )
    a = np.asarray(system.forward_dynamics(model.q, still, model.u, t, tau, contacts=contacts).a)
    x = system.pack(model.q, None, model.u, t)
    name = activations_of(system, x).moving(model.q[system.equations.activation_places], ACTIVATION_MOVING)
    if name is not None:
        raise ArgumentError(
            f"{system.name}: {name!r} moves under these inputs, so q is no equilibrium. Find one with "
            "sr.equilibrium(system, q, u), or use sr.linearize_at",
            element=name,
        )
    left, size = _force_left(system, model, tau)
    if left > LINEARIZED_AT_REST * size:
        worst = int(np.abs(a).argmax())
        raise ArgumentError(
            f"{system.name}: q is no equilibrium: {system.velocity_names[worst]!r} accelerates by {a[worst]:.3g}, "
            f"and a force of {left:.3g} is left along the motions (largest force: {size:.3g}). Find one with "
            "sr.equilibrium(system, q), or use sr.linearize_at",
            element="q",
        )
    return model


def _check_controls(system: System, u: ArrayLike | None, more: tuple[ArrayLike, ...]) -> None:
    """Raise `ArgumentError` if a velocity was given in the place of u; an equilibrium has none."""
    if more or (u is not None and np.shape(u) == (system.nv,) != (system.nu,)):
        raise ArgumentError(
            f"{system.name}: linearize takes (system, q, u), at rest; the argument u (nu = {system.nu}) looks like a "
            f"velocity (nv = {system.nv}). With v use linearize_at(system, q, v, u)",
            element="u",
            valid=system.actuator_names,
        )


def _force_left(system: System, model: LinearSystem, tau: ArrayLike | None) -> tuple[float, float]:
    """Return the residual force along the motions, and the size of the forces here or nearby, both along K.

    In equations of one's own, forces may balance within one term; then only nearby configurations show their size.
    """
    basis = model.tangent[system.nv :, 0 if model.own is not None else len(model.coordinates) :]
    if not basis.size:
        return 0.0, 0.0
    force = np.zeros(system.nv) if tau is None else real_array(tau)
    beside = system.move(model.q, 0.5 * np.random.default_rng(11).standard_normal(system.nv))
    here, there = (loads_at_rest(system, place, model.u, force, model.t) for place in (model.q, beside))
    size = max(float(np.linalg.norm(loads, axis=1).sum()) for loads in (here, np.nan_to_num(there)))
    return float(np.linalg.norm(basis.T @ here.sum(axis=0))), size * float(np.linalg.norm(basis, 2))
