"""Adjustment of a log: the nearest states and parameters for which loops close and forces balance.

q, v, a and u are all measured with noise, so the regressor has noise too, and plain least squares is biased. The sum of
squares of the corrections, in standard deviations, is minimised under all equations of each sample: loops, their
derivatives and Zᵀ(W p + w − τ) = 0. This is Helmert's general adjustment, solved by Gauss–Newton steps (Mikhail,
Observations and Least Squares, 1976, ch. 9): with g + J e + B δ = 0 each sample has the weight (J Σ Jᵀ)⁺.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.measurements import Measurements
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import (
    ADJUSTMENT_SETTLED,
    ADJUSTMENT_STEPS,
    COVARIANCE_CUT,
    LOG_OPEN,
    SAMPLE_CLOSED,
    SAMPLE_RESTS,
    SPEEDS_ASTRAY,
)
from sarrus.dynamics.closing.manifold import difference
from sarrus.kernels.linalg.ranked import at_rank

_CLOSING = 30


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Result of an adjustment: p (n,), weighted rows (m, n) of all samples, and sums of squares.

    ``misfit`` is the sum of squares of the equations of motion in standard deviations, with ``freedom`` degrees of
    freedom (equations minus parameters); ``loop_misfit`` that of loops, with ``loop_freedom``.
    """

    values: Array
    rows: Array
    misfit: float
    freedom: int
    loop_misfit: float
    loop_freedom: int
    iterations: int


@dataclass(eq=False)
class _Sample:
    """One sample: its measured and its adjusted state, and the ranks there."""

    index: int
    t: float
    measured: tuple[Array, Array, Array, Array]
    state: list[Array]
    tau: Array
    holonomic_rank: int
    rank: int


class Adjuster:
    """The closed samples of a log, and the dependence of their equations on the parameters."""

    def __init__(self, regressor: Regressor, log: Measurements, sigma: Array) -> None:
        self.regressor, self.sigma = regressor, sigma
        self.samples = _closed(regressor, log)

    def plain_rows(self) -> tuple[Array, Array]:
        """Return Zᵀ W and Zᵀ (τ − w) of all samples at the closed states, without weights."""
        rows, right = [], []
        for s in self.samples:
            matrix, known = self.regressor.rows(s.state[0], s.state[1], s.state[2], s.state[3], s.t, s.tau)
            rows.append(matrix)
            right.append(known)
        return np.vstack(rows), np.concatenate(right)

    def run(self, values: Array, kept: list[int]) -> Adjustment:
        """Return the `Adjustment` that begins at p (n,) and changes the parameters ``kept``."""
        size, settled = self.regressor.size[kept], False
        p = values.copy()
        for iteration in range(1, ADJUSTMENT_STEPS + 1):
            parts = [self._linear(s, p, kept) for s in self.samples]
            rows = np.vstack([x.rows for x in parts]) * size
            right = np.concatenate([x.right for x in parts])
            step, *_ = np.linalg.lstsq(rows, -right, rcond=None)
            for s, x in zip(self.samples, parts):
                self._correct(s, x, step * size)
            p[kept] += step * size
            if not np.isfinite(p).all():
                break
            if np.linalg.norm(rows @ step) < ADJUSTMENT_SETTLED * np.sqrt(len(kept)) and iteration > 2:
                settled = True
                break
        if not settled:
            raise SolveError(
                f"{self.regressor.system.name}: the adjustment of the log did not converge in {ADJUSTMENT_STEPS} "
                "steps. The log does not fit the mechanism, or its noise is far larger than noise= says",
                element=self.regressor.system.name,
            )
        total = float(((rows @ step + right) ** 2).sum())
        loops = sum(x.loop_misfit for x in parts)
        loop_freedom = sum(s.holonomic_rank + 2 * s.rank for s in self.samples)
        equations = sum(len(x.right) for x in parts) - loop_freedom
        whole = np.vstack([x.whole for x in parts])
        return Adjustment(
            p,
            whole,
            max(total - loops, 0.0),
            equations - len(kept),
            loops,
            loop_freedom,
            iteration,
        )

    def _linear(self, s: _Sample, p: Array, kept: list[int]) -> _Linear:
        r, system = self.regressor, self.regressor.system
        function, nc = r.linearized, system.nc
        x = np.concatenate([r.pack(s.state[0], s.state[1], s.state[2], s.state[3], s.t), p, np.zeros(nc)])
        c = system.model.characteristic
        at = function.evaluate(x)
        force = at["equations"][:, 0] - s.tau
        z = r.allowed(at["jacobian"], s.rank)
        if nc:
            x[-nc:] = c.least_multipliers(at["jacobian"], s.rank, force)
            at = function.evaluate(x)
        slopes = np.vstack([at["residual_slopes"], z.T @ at["slopes"]])
        values = np.concatenate([at["residuals"][:, 0], z.T @ force])
        ahead = _apart(r, s.state, s.measured)
        values = values + slopes @ ahead
        scaled = slopes * self.sigma
        n = len(slopes)
        whole = np.zeros((n, len(r.names)))
        whole[n - z.shape[1] :] = z.T @ at["matrix"]
        loops = n - z.shape[1]
        ranks = s.holonomic_rank + 2 * s.rank
        root = _inverse_root(scaled, ranks + z.shape[1])
        loop_root = _inverse_root(scaled[:loops], ranks)
        white = root @ whole
        return _Linear(
            white[:, kept],
            root @ values,
            white,
            scaled,
            root,
            ahead,
            float(((loop_root @ values[:loops]) ** 2).sum()),
        )

    def _correct(self, s: _Sample, x: _Linear, step: Array) -> None:
        """Move the state to the solution of all linearized equations."""
        error = -self.sigma * (x.scaled.T @ (x.root.T @ (x.right + x.rows @ step)))
        move, nv = x.ahead + error, self.regressor.system.nv
        s.state[0] = self.regressor.system.move(s.state[0], move[:nv])
        s.state[1] = s.state[1] + move[nv : 2 * nv]
        s.state[2] = s.state[2] + move[2 * nv : 3 * nv]
        s.state[3] = s.state[3] + move[3 * nv :]


@dataclass(frozen=True, eq=False)
class _Linear:
    """Weighted rows and right sides of one sample, and the matrices of its corrections."""

    rows: Array
    right: Array
    whole: Array
    scaled: Array
    root: Array
    ahead: Array
    loop_misfit: float


def _inverse_root(scaled: Array, rank: int) -> Array:
    """Return R (rank, m) with RᵀR = (J Σ Jᵀ)⁺ for J Σ^½ (m, n), which has ``rank`` independent rows."""
    size = np.sqrt((scaled**2).sum(axis=1))
    size = np.where(size > 0.0, size, 1.0)
    left, values, _ = np.linalg.svd(scaled / size[:, None], full_matrices=False)
    rank = min(rank, int(np.count_nonzero(values > COVARIANCE_CUT * values.max(initial=0.0))))
    return np.asarray((left[:, :rank] / values[:rank]).T / size)


def _apart(regressor: Regressor, state: list[Array], measured: tuple[Array, ...]) -> Array:
    """Return the difference of the measured state from another one (3 nv + nu,)."""
    system = regressor.system
    if system.equations.quaternions:
        first = difference(system, state[0], measured[0])
    else:
        first = (measured[0] - state[0])[: system.nv]
    return np.concatenate([first, *(m - x for m, x in zip(measured[1:], state[1:]))])


def _closed(regressor: Regressor, log: Measurements) -> list[_Sample]:
    """Return the samples moved onto the loops, by least distance in characteristic units; raises if they are far from
    them.
    """
    system = regressor.system
    c = system.model.characteristic
    samples: list[_Sample] = []
    rank = holonomic = 0
    if system.nc:
        first = system.assemble(log.q[0], log.t[0])
        first_jacobian = system.constraint_jacobian(first.q, t=log.t[0])
        holonomic = regressor.rank(first_jacobian[: system.nh]) if system.nh else 0
        rank = regressor.rank(first_jacobian)
        for k in (len(log) // 3, 2 * len(log) // 3):  # the first one may be singular
            jacobian = system.constraint_jacobian(system.assemble(log.q[k], log.t[k]).q, t=log.t[k])
            holonomic = max(holonomic, regressor.rank(jacobian[: system.nh]) if system.nh else 0)
            rank = max(rank, regressor.rank(jacobian))
    strays, speeds = 0.0, LEAST_DIVISOR
    for k in range(len(log)):
        q, v, a, u, t = log.q[k].copy(), log.v[k], log.a[k], log.u[k], float(log.t[k])
        own, own_holonomic = rank, holonomic
        if system.nc:
            q = _close(regressor, q, t, holonomic, k)
            jacobian = system.constraint_jacobian(q, v, t)
            even = c.scaled_rows(jacobian)
            own = min(rank, regressor.rank(jacobian))
            own_holonomic = min(holonomic, regressor.rank(jacobian[: system.nh])) if system.nh else 0
            solved = at_rank(even, own)
            correction = solved.solve(c.rows * system.velocity_residual(q, v, t))
            v = v - correction / c.columns
            strays += float(correction @ correction)
            speeds += float(((c.columns * v) ** 2).sum())
            bias = system.constraint_bias(q, v, t)
            a = a - solved.solve(c.rows * (jacobian @ a + bias)) / c.columns
        measured = log.q[k], log.v[k], log.a[k], u
        samples.append(_Sample(k, t, measured, [q, v, a, u.copy()], log.tau[k], own_holonomic, own))
    if np.sqrt(strays) > SPEEDS_ASTRAY * np.sqrt(speeds):
        raise ArgumentError(
            f"{system.name}: velocities of the log would open the loops: {np.sqrt(strays / speeds):.0%} of their norm "
            f"violates A v = b. Check their signs, units and order ({', '.join(system.velocity_names)})",
            element="v",
        )
    return samples


def _close(regressor: Regressor, q: Array, t: float, rank: int, sample: int) -> Array:
    """Return the closed configuration next to q, by Newton steps of least norm."""
    system = regressor.system
    c, nh, start = system.model.characteristic, system.nh, q
    reach = 0.0
    for _ in range(_CLOSING):
        residual = system.constraint_residual(q, t)
        if not nh or np.abs(c.rows[:nh] * residual).max() < SAMPLE_CLOSED:
            break
        even = at_rank(c.scaled_rows(system.constraint_jacobian(q, t=t)[:nh]), rank)
        step = -even.solve(c.rows[:nh] * residual) / c.columns
        q = system.move(q, step)
        reach += float(np.abs(c.columns * step).max())
        if reach > 10.0 or np.abs(c.columns * step).max() < SAMPLE_RESTS:
            break
    if reach > LOG_OPEN:
        phi = np.abs(system.constraint_residual(start, t))
        row = int(np.argmax(c.rows[:nh] * phi))
        raise ArgumentError(
            f"{system.name}: the loops are open in sample {sample} at {t:g} s: {system.constraint_names[row]!r} by "
            f"{phi[row]:.3g}, and closing them would move coordinates by {reach:.2g} rad or lengths. Check the units, "
            f"offsets and order of q ({', '.join(system.coordinate_names)})",
            element=system.constraint_names[row],
        )
    return q
