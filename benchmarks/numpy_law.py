"""The control laws written by hand in NumPy, as carefully as one would for a loop at 1 kHz."""

from __future__ import annotations

import numpy as np

from sarrus import control
from sarrus.base.arrays import Array
from sarrus.control.laws.demands import Demand


class NumpyLaw:
    """u(q, v, t) of a law by QR, LU and normal equations, for full-rank A and demands that can be met.

    M, f, A, γ, S, the rows and what is wanted of them come from the same compiled function as in `control.Law`, so that
    only the algebra differs. There are no tests of rank and no diagnosis. ``rest`` tells whether what the demands leave
    free is to be left alone, as in a hierarchy.
    """

    def __init__(self, law: control.Law) -> None:
        system, native = law.system, law.native
        self._evaluate, self._x = native, law.arrays.input.copy()
        self._q, self._v, self._t = system.parts.q, system.parts.v, system.parts.t
        self._places = native.outputs
        self._roots = law.arrays.roots.copy()
        self._rest = isinstance(law, control.TaskHierarchy)
        self._levels, start = [], 0
        for level in law.levels:
            if isinstance(level, Demand):
                self._levels.append(slice(start, start + len(level.rows)))
                start += len(level.rows)

    def __call__(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """Return u (nu,)."""
        x = self._x
        x[self._q], x[self._v], x[self._t] = q, v, t
        out = self._evaluate(x)
        terms = {name: out[place].reshape(shape) for name, (place, shape) in self._places.items()}
        mass, rows, push = terms["mass"], terms["rows"], terms["actuation"].T * self._roots
        force, nc, nu = terms["force"][:, 0], len(rows), push.shape[1]
        full, triangle = np.linalg.qr(rows.T, mode="complete")
        basis = full[:, nc:]
        if "forces" in terms:
            return self._roots * _least_norm(basis.T @ push, basis.T @ terms["forces"][0])
        bound = -full[:, :nc] @ np.linalg.solve(triangle[:nc].T, terms["bias"][:, 0])
        inertia = basis.T @ mass @ basis
        right = basis.T @ np.column_stack([push, force - mass @ bound])
        motion = np.linalg.solve(inertia, right)
        gain = basis @ motion[:, :nu]
        alone = bound + basis @ motion[:, nu]
        table, wanted = terms["demands"] @ gain, terms["wanted"][:, 0] - terms["demands"] @ alone
        if "couplings" in terms:
            load = mass @ np.column_stack([gain, alone]) - np.column_stack([push, force])
            reaction = terms["couplings"] @ np.linalg.solve(triangle[:nc], full[:, :nc].T @ load)
            table, wanted = table + reaction[:, :nu], wanted - reaction[:, nu]
        if not self._rest:
            return self._roots * _least_norm(table, wanted)
        u, left = np.zeros(nu), np.eye(nu)
        for level in self._levels:
            part = table[level] @ left
            u += left @ _least_norm(part, wanted[level] - table[level] @ u)
            turned, _ = np.linalg.qr(part.T, mode="complete")
            left = left @ turned[:, len(part) :]
        scaled = np.linalg.solve(np.linalg.cholesky(inertia), right[:, :nu])
        u -= left @ np.linalg.lstsq(scaled @ left, scaled @ u, rcond=1e-8)[0]
        return self._roots * u


def _least_norm(rows: Array, wanted: Array) -> Array:
    return rows.T @ np.linalg.solve(rows @ rows.T, wanted)
