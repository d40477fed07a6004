"""Starts of many runs that satisfy the constraints and keep the values of the axes."""

from __future__ import annotations

import casadi as ca
import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.dynamics.closing.assembly import RESTARTS, free_velocities
from sarrus.dynamics.closing.tolerances import DATA_TOLERANCE
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.quaternions import normalized_expression
from sarrus.runs.studies.tolerances import HOPELESS_DAMPING, LEAST_START_DAMPING, START_CLOSED, START_CUT

_ITERATIONS = 100


class Closer:
    """Closes the loops of many starts at once; the values at ``held_q`` and ``held_v`` (indices) are kept.

    Levenberg–Marquardt on φ as in `sarrus.dynamics.closing.levenberg_marquardt`, from the given start and, if it
    stagnates, from small seeded perturbations of it; then the nearest velocities that satisfy ψ = 0, both in the
    kinetic metric. Redundant rows change nothing. The starts are independent of each other.
    """

    def __init__(self, system: System, held_q: list[int], held_v: list[int]) -> None:
        e, self.system = system.equations, system
        names = [system.coordinate_names[k] for k in held_q]
        locked = [n if system.velocity_indices(n) else n.rpartition(".")[0] for n in names]
        self.free_q = free_velocities(system, locked)
        self.free_v = np.ones(system.nv)
        self.free_v[held_v] = 0.0
        self.size = size = system.characteristic
        metric = ca.vec(system.compiled.metric / (size.mass * size.length**2))
        rows = ca.DM(size.rows)
        position = [
            rows[: e.nh] * e.position_residual,
            ca.vec(_scaled(rows[: e.nh], e.jacobian[: e.nh, :])),
            metric,
        ]
        velocity = [rows * e.velocity_residual, ca.vec(_scaled(rows, e.jacobian)), metric]
        self._position = ca.Function("position", [e.q, e.t, e.p], position)
        self._velocity = ca.Function("velocity", [e.q, e.v, e.t, e.p], velocity)
        moved = normalized_expression(e.q + e.rate, e.quaternions)
        self._move = ca.Function("move", [e.q, e.v, e.p], [moved])

    def close(self, q: Array, v: Array, t: float, p: Array) -> tuple[Array, Array, Array]:
        """Return q, v and the statuses (runs,) of starts (runs, …) with parameters p (runs, np).

        NOT_CLOSED: the loops cannot be closed with the values kept; INCONSISTENT: the velocities kept contradict the
        constraints.
        """
        q, closed = self._close(q.copy(), t, p)
        v, admissible = self._admit(q, v.copy(), t, p)
        status = np.where(closed, np.where(admissible, Status.OK, Status.INCONSISTENT), Status.NOT_CLOSED)
        return q, v, status

    def _close(self, q: Array, t: float, p: Array) -> tuple[Array, Array]:
        start, rng = q.copy(), np.random.default_rng(1)
        q, closed = self._descend(q, t, p)
        for attempt in range(RESTARTS):
            stuck = np.flatnonzero(np.logical_not(closed))
            if not stuck.size:
                break
            kick = 0.1 * (1 + attempt) * rng.standard_normal(self.system.nv) * self.free_q / self.size.columns
            kicks = np.tile(kick[:, None], stuck.size)
            kicked = _rows(self._move(start[stuck].T, kicks, p[stuck].T))
            q[stuck], closed[stuck] = self._descend(kicked, t, p[stuck])
        return q, closed

    def _descend(self, q: Array, t: float, p: Array) -> tuple[Array, Array]:
        phi, jacobian, metric = self._at(q, t, p)
        size, scale = _norm(phi), np.ones(len(q))
        for _ in range(_ITERATIONS):
            active = np.flatnonzero((size > START_CLOSED) & (scale < HOPELESS_DAMPING))
            if not active.size:
                break
            damping = scale[active] * size[active] ** 2
            step = self._damped(jacobian[active], phi[active], damping, metric[active], self.free_q)
            step /= np.maximum(1.0, np.abs(self.size.columns * step).max(axis=1, keepdims=True))
            trial = _rows(self._move(q[active].T, step.T, p[active].T))
            new_phi, new_jacobian, new_metric = self._at(trial, t, p[active])
            better = _norm(new_phi) < size[active]
            good = active[better]
            q[good], phi[good], jacobian[good] = trial[better], new_phi[better], new_jacobian[better]
            metric[good] = new_metric[better]
            size[good] = _norm(phi[good])
            scale[active] = np.where(
                better, np.maximum(0.1 * scale[active], LEAST_START_DAMPING), 10.0 * scale[active]
            )
        return q, np.abs(phi).max(axis=1, initial=0.0) <= DATA_TOLERANCE

    def _admit(self, q: Array, v: Array, t: float, p: Array) -> tuple[Array, Array]:
        size, active = np.zeros(len(q)), np.arange(len(q))
        for _ in range(4):  # one step for ψ linear in v
            shape = (len(active), self.system.nv, self.system.nc)
            times = np.full((1, len(active)), t)
            residual, flat, metric = (
                _rows(x) for x in self._velocity(q[active].T, v[active].T, times, p[active].T)
            )
            size[active] = np.abs(residual).max(axis=1, initial=0.0)
            moving = size[active] > START_CLOSED * (
                1.0 + np.abs(self.size.columns * v[active]).max(axis=1, initial=0.0)
            )
            active = active[moving]
            if not active.size:
                break
            rows, metric = flat.reshape(shape).transpose(0, 2, 1)[moving], self._square(metric)[moving]
            v[active] += self._damped(rows, residual[moving], np.zeros(len(active)), metric, self.free_v)
        return v, size <= DATA_TOLERANCE * (1.0 + np.abs(self.size.columns * v).max(axis=1, initial=0.0))

    def _at(self, q: Array, t: float, p: Array) -> tuple[Array, Array, Array]:
        n, nh = len(q), self.system.nh
        phi, flat, metric = (_rows(x) for x in self._position(q.T, np.full((1, n), t), p.T))
        return phi, flat.reshape(n, self.system.nv, nh).transpose(0, 2, 1), self._square(metric)

    def _square(self, metric: Array) -> Array:
        """Return the kinetic metrics of many starts (runs, nv, nv); the characteristic metric if one is not finite."""
        square = np.array(metric.reshape(len(metric), self.system.nv, self.system.nv))
        square[~np.isfinite(metric).all(axis=1)] = np.diag(self.size.columns**2)
        return square

    def _damped(self, rows: Array, residual: Array, damping: Array, metric: Array, free: Array) -> Array:
        """Return −(JᵀJ + damping G)⁻¹ Jᵀ r of many J (runs, rows, nv) for the free velocities, G their metric.

        Small singular values count as zero.
        """
        steps, index = np.zeros((len(rows), rows.shape[2])), np.flatnonzero(free)
        if not rows.size or not index.size:
            return steps
        try:
            root = np.linalg.cholesky(metric[:, index][:, :, index])
        except np.linalg.LinAlgError:
            root = np.tile(np.diag(self.size.columns[index]), (len(rows), 1, 1))
        weighted = np.linalg.solve(root, rows[:, :, index].transpose(0, 2, 1)).transpose(0, 2, 1)
        left, values, right = np.linalg.svd(weighted, full_matrices=False)
        keep = values > START_CUT * np.maximum(values[:, :1], LEAST_DIVISOR)
        along = (left.transpose(0, 2, 1) @ residual[:, :, None])[:, :, 0]
        weights = np.where(keep, values, 0.0) / np.where(keep, values**2 + damping[:, None], 1.0)
        found = right.transpose(0, 2, 1) @ (weights * along)[:, :, None]
        steps[:, index] = -np.linalg.solve(root.transpose(0, 2, 1), found)[:, :, 0]
        return steps


def _scaled(factors: ca.DM, rows: ca.SX) -> ca.SX:
    return ca.diag(factors) @ rows if rows.shape[0] else rows


def _rows(columns: ca.DM) -> Array:
    return np.array(columns.full().T)


def _norm(rows: Array) -> Array:
    return np.sqrt((rows * rows).sum(axis=1))
