"""Directions without inertia: null space of M, everywhere or at single configurations.

Three hinges with massless bodies between them lose a direction of M at gimbal lock, a massless knee where its leg is
stretched. If the constraints determine the acceleration in these directions, the null-space method finds it
(`sarrus.kernels.solve.null_space`); otherwise it is undetermined, and the error names the coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.model.compiled import is_definite
from sarrus.dynamics.model.tolerances import INERTIA_OF_NONE, LOST_INERTIA, NAMED_ENTRY, NO_INERTIA
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.ranked import ranked

if TYPE_CHECKING:
    from sarrus.dynamics.model.evaluations import Evaluations
    from sarrus.model.builders.mechanism import Mechanism


def is_singular_at(system: Evaluations, q: Array, t: float = 0.0) -> bool:
    """Tell whether M is numerically singular at q."""
    compiled, parameters = system.compiled, list(system.parameters.values())
    return compiled.mass_is_singular or not is_definite(compiled.mass_at(q, t, parameters))


def lightness(system: Evaluations, q: Array, t: float = 0.0) -> Array:
    """Return the diagonal (nv,) of M⁻¹ without constraints, the scale of responses to forces.

    Directions without inertia count as very light.
    """
    columns = system.characteristic.columns
    mass = system.mass_matrix(q, t) / np.outer(columns, columns)
    least = INERTIA_OF_NONE * (float(np.abs(mass).max(initial=0.0)) or 1.0)
    inverse = dense.solve(mass + least * np.eye(system.nv), np.eye(system.nv))
    return np.asarray(np.diag(inverse) / columns**2)


def may_lose_inertia(mechanism: Mechanism | None) -> bool:
    """Tell whether a body on a joint without armature has no mass, so that M may be singular at some configurations."""
    return mechanism is not None and any(
        body.mass == 0.0 and any(not np.any(joint.armature) for joint in body.joints)
        for body in mechanism.bodies.values()
    )


def without_inertia(system: Evaluations, q: Array, v: Array, t: float = 0.0) -> tuple[str, ...]:
    """Return the names of the coordinates whose motion neither M nor the constraints determine."""
    size = system.characteristic
    mass = system.mass_matrix(q, t) / np.outer(size.columns, size.columns)
    free = np.eye(system.nv)
    if system.nc:
        rows = size.scaled_rows(system.constraint_jacobian(q, v, t))
        free = ranked(rows, relative=system.options.singular_cut).null.T
    reduced = dense.product(free, mass, free.T)
    if not len(reduced):
        return ()
    found = dense.svd(reduced)
    lost = found.right[
        found.values <= LOST_INERTIA * NO_INERTIA * max(float(np.abs(mass).max()), LEAST_DIVISOR)
    ]
    along = np.abs(dense.product(lost, free)).max(axis=0, initial=0.0)
    named = along > NAMED_ENTRY * along.max(initial=0.0)
    return tuple(name for name, moves in zip(system.velocity_names, named) if moves)


def ill_posed(system: Evaluations, q: Array, v: Array, t: float = 0.0) -> str:
    """Return the diagnosis of ILL_POSED with the names of the coordinates without inertia."""
    names = ", ".join(map(repr, without_inertia(system, q, v, t)))
    return Status.ILL_POSED.diagnosis + (f": nothing resists a motion of {names}" if names else "")
