"""The quadratic programme of whole-body control as TSID and others set it up, solved by ProxQP.

Accelerations and forces of contacts are the variables, torques follow from them. Closed contacts do not accelerate, the
base obeys its equations of motion; pyramids inside the friction cones, limits of torques and forces are inequalities;
levels have weights in the place of priorities. The terms are those of the law that it is compared with, at no charge.
"""

from __future__ import annotations

import numpy as np
from proxsuite import proxqp

from sarrus import control
from sarrus.base.arrays import Array
from sarrus.kernels.memory import law_layout as ll
from sarrus.kernels.memory.record import view_fields

BASE = 6  # velocities without a motor, which come first
STEP, LIGHT = 1e2, 1e-4  # weight of a level over the next one, of torques and forces
ACCURACY = 1e-6


class ProxQPPeer:
    """The programme of a `LeggedController` whose motors drive one joint each; started where the last one ended."""

    def __init__(self, law: control.LeggedController, friction: float, torque: float, force: float) -> None:
        self._law, self._torque, self._force = law, torque, force
        system = law.system
        self._contacts = len(law.terms.names)
        self._nv, self._nf = system.nv, 3 * self._contacts
        side = friction / np.sqrt(2.0)
        pyramid = np.array([[side, 1, 0], [side, -1, 0], [side, 0, 1], [side, 0, -1]])
        self._pyramids = np.kron(np.eye(self._contacts), pyramid)
        n = self._nv + self._nf
        equalities = BASE + 2 * self._nf
        inequalities = (self._nv - BASE) + len(self._pyramids) + self._contacts
        self._qp = proxqp.dense.QP(n, equalities, inequalities)
        self._qp.settings.eps_abs, self._qp.settings.eps_rel = ACCURACY, 0.0
        self._qp.settings.initial_guess = proxqp.InitialGuess.WARM_START_WITH_PREVIOUS_RESULT
        self._started = False

    def programme(self) -> tuple[Array, ...]:
        """Return H, g, A, b, C, l, u at the state at which the law was asked last."""
        law, nv, nf = self._law, self._nv, self._nf
        terms = view_fields(law.arrays.work, ll.law_sizes(law.table))
        closed = terms.contacts[: self._contacts] != 0.0
        shares = terms.contacts[self._contacts :]
        M, f = terms.mass.reshape(nv, nv), terms.force
        demands, wanted = terms.demands.reshape(-1, nv), terms.wanted
        rows = demands[:nf]  # of closed contacts, the first level
        H, g, weight, first = np.zeros((nv + nf, nv + nf)), np.zeros(nv + nf), STEP ** len(law.levels), nf
        for level in law.levels[1:]:
            weight /= STEP
            J, r = demands[first : first + len(level.rows)], wanted[first : first + len(level.rows)]
            H[:nv, :nv] += weight * J.T @ J
            g[:nv] -= weight * J.T @ r
            first += len(level.rows)
        moving = np.hstack([M, -rows.T])  # S u = M a − Aᵀλ − f
        H += LIGHT * moving[BASE:].T @ moving[BASE:]
        g -= LIGHT * moving[BASE:].T @ f[BASE:]
        H[np.arange(nv, nv + nf), np.arange(nv, nv + nf)] += 1e-4 * LIGHT
        each = np.repeat(closed, 3).astype(float)
        still = np.hstack([rows, np.zeros((nf, nf))])
        open_ = np.hstack([np.zeros((nf, nv)), np.diag(1.0 - each)])
        A = np.vstack([moving[:BASE], still, open_])
        b = np.concatenate([f[:BASE], wanted[:nf], np.zeros(nf)])
        normal = np.zeros((self._contacts, nv + nf))
        normal[np.arange(self._contacts), nv + 3 * np.arange(self._contacts)] = 1.0
        C = np.vstack(
            [moving[BASE:], np.hstack([np.zeros((len(self._pyramids), nv)), self._pyramids]), normal]
        )
        lower = [f[BASE:] - self._torque, np.zeros(len(self._pyramids)), np.full(self._contacts, -1e20)]
        upper = [f[BASE:] + self._torque, np.full(len(self._pyramids), 1e20), shares * self._force]
        return H, g, A, b, C, np.concatenate(lower), np.concatenate(upper)

    def solve(self, programme: tuple[Array, ...]) -> Array:
        """Return accelerations and forces."""
        if self._started:
            self._qp.update(*programme)
        else:
            self._qp.init(*programme)
            self._started = True
        self._qp.solve()
        return np.array(self._qp.results.x)
