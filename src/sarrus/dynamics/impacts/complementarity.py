"""Active sets of unilateral contacts by Gauss's principle, for velocities after an impact and for accelerations.

The change x in the kinetic metric is the smallest one that the contacts allow:

    min ½ |x|²   with   B x = β,   n_i x ≥ r_i   for every contact,

B the rows of the closures and the tangential rows of sticking contacts. The active normal rows are found by the
nonnegative least squares of Lawson and Hanson (Solving Least Squares Problems, 1974, ch. 23, least distance
programming), which is exact and finite. Without friction the solution is unique.

A contact sticks only while its normal force is positive, with any friction force (the limit of Coulomb's law for a
large coefficient). The choice between sticking and opening is not a convex problem, and at some states neither is
possible: sticking would need a pulling force, opening would penetrate the ground. Therefore all sticking contacts
without normal force are freed at once, until the remaining ones have a normal force; then the closed contacts that do
not stick are set to stick again, one by one. Closed contacts that still do not stick slip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.closing.manifold import finite_jacobian
from sarrus.dynamics.impacts.tolerances import DEFINITE_IMPACT_MASS, DEPENDENT_IMPACT_ROWS, IMPULSE_ROUNDING
from sarrus.dynamics.model.evaluations import Evaluations
from sarrus.dynamics.model.inertia import ill_posed, is_singular_at
from sarrus.kernels.linalg import dense
from sarrus.kernels.linalg.dense import product
from sarrus.kernels.linalg.ranked import in_metric, ranked
from sarrus.symbolic.equations.equations import ContactRows, activity_parameter, stick_parameter


@dataclass(frozen=True)
class Pushing:
    """Result: contacts that hold (with a normal force, or able to have one), those of them that slip, and the rest."""

    holding: tuple[ContactRows, ...]
    slipping: tuple[ContactRows, ...]
    released: tuple[ContactRows, ...]

    def apply(self, system: Evaluations) -> None:
        """Deactivate the released contacts and let the slipping ones slide.

        Anchors and other contacts do not change.
        """
        for contact in self.released:
            system.parameters[activity_parameter(contact.name)] = 0.0
        for contact in self.slipping:
            system.parameters[stick_parameter(contact.name)] = 0.0


class OneSided:
    """The problem in the kinetic metric at a state, for the active contacts.

    Parameters
    ----------
    able : tells for a contact whether it may stick; by default every contact with friction may.

    Attributes
    ----------
    contacts : the active contacts.
    rows : (nc, n) rows of A in characteristic units (`sarrus.dynamics.model.characteristic`), in coordinates x with the
        identity as metric. If M is singular, x are coordinates of the motions that the closures allow, which must have
        kinetic energy (`SolveError` otherwise).
    cut : singular values of rows below it are zero.
    """

    def __init__(
        self,
        system: Evaluations,
        q: Array,
        v: Array,
        t: float,
        able: Callable[[ContactRows], bool] = lambda contact: True,
    ) -> None:
        switches, e = system.parameters, system.equations
        self.contacts = [c for c in e.contacts if switches[activity_parameter(c.name)]]
        of_contacts = {row for c in self.contacts for row in (c.normal, *c.tangential)}
        self.bilateral = [row for row in range(system.nc) if row not in of_contacts]
        self.normals = [contact.normal for contact in self.contacts]
        self.able = {k for k, c in enumerate(self.contacts) if c.tangential and able(c)}
        if self.contacts:
            self.factors = system.characteristic.rows
            self.rows = self.factors[:, None] * kinetic_rows(system, q, v, t, self.bilateral)
            self.cut = DEPENDENT_IMPACT_ROWS * dense.largest(self.rows)

    def solve(self, wanted: Array) -> Pushing:
        """Return the holding, slipping and released contacts for right-hand sides r (nc,).

        Β of the closures is zero.
        """
        self.wanted = self.factors * wanted
        self.wanted[self.bilateral] = 0.0
        sticking = set(self.able)
        holding, gone = self._try(sticking)
        while gone:
            sticking -= gone
            holding, gone = self._try(sticking)
        for k in sorted(holding & self.able - sticking):
            with_it, gone = self._try(sticking | {k})
            if not gone:
                holding, sticking = with_it, sticking | {k}
        every = list(enumerate(self.contacts))
        return Pushing(
            tuple(c for k, c in every if k in holding),
            tuple(c for k, c in every if k in holding - sticking and c.tangential),
            tuple(c for k, c in every if k not in holding),
        )

    def _try(self, sticking: set[int]) -> tuple[set[int], set[int]]:
        """Return the contacts that hold if the given ones stick, and the sticking ones without normal force.

        Closed contacts without a unique force share the load if all their forces can be nonnegative.
        """
        x, push = self._shortest(sticking)
        reached = product(self.rows, x)
        near = IMPULSE_ROUNDING * (np.abs(self.wanted).max(initial=0.0) + np.abs(reached).max(initial=0.0))
        unloaded = {
            k for k, row in enumerate(self.normals) if not push[k] and reached[row] - self.wanted[row] <= near
        }
        pushing = set(np.flatnonzero(push).tolist())
        parting = sticking - pushing - unloaded
        while True:
            holding = pushing | unloaded
            pulling, left = self._share(x, holding, sticking)
            if not unloaded or not pulling:
                break
            unloaded -= pulling & unloaded or unloaded
        return holding, parting or (sticking - holding if left > near else set())

    def _shortest(self, sticking: set[int]) -> tuple[Array, Array]:
        """Return x and the normal forces, with the given contacts sticking whatever their normal force."""
        held = self.bilateral + [row for k in sorted(sticking) for row in self.contacts[k].tangential]
        fixed = ranked(self.rows[held], self.cut)
        x = fixed.solve(self.wanted[held])
        normals = self.rows[self.normals]
        missing = self.wanted[self.normals] - product(normals, x)
        normals = normals - product(normals, fixed.right, fixed.right.T)
        size = np.linalg.norm(normals, axis=1)
        live = size > self.cut
        push = np.zeros(len(self.normals))
        if live.any():
            rows = normals[live] / size[live, None]
            push[live] = _least_distance(rows, missing[live] / size[live], np.abs(missing).max())
            x = x + product(rows.T, push[live])
        push[push <= IMPULSE_ROUNDING * push.max(initial=0.0)] = 0.0
        return x, push

    def _share(self, x: Array, holding: set[int], sticking: set[int]) -> tuple[set[int], float]:
        """Return the contacts with a pulling force in the minimum-norm forces of x, and the residual of x."""
        rows = list(self.bilateral)
        for k in sorted(holding):
            rows += [self.normals[k], *(self.contacts[k].tangential if k in sticking else ())]
        parts = ranked(self.rows[rows], self.cut)
        share = dict(zip(rows, parts.solve_transposed(x)))
        least = -IMPULSE_ROUNDING * max(map(abs, share.values()), default=0.0)
        missing = dense.norm(x - product(parts.right, product(parts.right.T, x)))
        return {k for k in holding if share[self.normals[k]] < least}, missing


def kinetic_rows(system: Evaluations, q: Array, v: Array, t: float, bilateral: Sequence[int]) -> Array:
    """Return A in velocity coordinates in which the metric M is the identity: A L⁻ᵀ with M = L Lᵀ.

    If M is singular, the coordinates are those of the motions that the bilateral rows allow, and these rows are zero.
    """
    mass, jacobian = system.mass_matrix(q, t), finite_jacobian(system, q, t, v)
    if is_singular_at(system, q, t):
        free = ranked(jacobian[bilateral], relative=DEPENDENT_IMPACT_ROWS).null.T
        mass, jacobian = mass_left(system, q, v, t, mass, free), product(jacobian, free.T)
        jacobian[bilateral] = 0.0
    return in_metric(jacobian, dense.cholesky(mass))


def mass_left(system: Evaluations, q: Array, v: Array, t: float, mass: Array, free: Array) -> Array:
    """Return the mass matrix of the motions ``free`` (by rows); `SolveError` if it is not positive definite."""
    reduced = product(free, mass, free.T)
    if len(free) and not dense.is_definite(reduced, DEFINITE_IMPACT_MASS * float(np.abs(mass).max())):
        raise Status.ILL_POSED.error(system.name, ill_posed(system, q, v, t))
    return np.asarray(reduced)


def _least_distance(rows: Array, missing: Array, scale: float) -> Array:
    """Return u ≥ 0 for which z = rowsᵀ u is the shortest vector with rows z ≥ missing."""
    from scipy.optimize import nnls  # here, because its import takes a third of a second

    if missing.max() <= 0.0:
        return np.zeros(len(missing))
    system = np.vstack([rows.T, missing / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    push, distance = nnls(system, target)
    if distance <= IMPULSE_ROUNDING:
        raise SolveError("no motion keeps all contacts from going into their planes")
    return np.asarray(push * scale / (1.0 - missing @ push / scale))
