"""Information matrix of the base parameters for a planned motion.

It is the inverse covariance of `sarrus.identification.identify` for a log of the motion, to first order in its
noise. A sample lies on the loops, so its corrections are those of the independent coordinates, rates and
accelerations, δx = N δy, with covariance C = (Nᵀ Σ⁻¹ N)⁻¹; the equations of motion L β = f have a residual with
covariance V = G N C Nᵀ Gᵀ + Zᵀ S Σᵤ Sᵀ Z, G their derivative with respect to the state. The information is Σ Lᵀ V⁻¹
L. Many motions are evaluated at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.tolerances import LEAST_DIVISOR
from sarrus.design.identification.base import BaseParameters
from sarrus.design.identification.loops import Motion, left_inverse
from sarrus.design.identification.numbers import rubbing
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import (
    LEAST_LEVEL,
    LEAST_NOISE,
    NOISE_FLOOR,
    NOISE_PART,
    RIDGE_OF_SQUARE,
    SLOW_DEVIATIONS,
)
from sarrus.model.mechanism.elements import Actuator


@dataclass(frozen=True, eq=False)
class Told:
    """For P motions: information (P, b, b) of β in its sizes, controls u (P, T, nu), missing part of the forces (P,).

    ``drive`` (P, T): distance from configurations where actuators do not drive all degrees of freedom, at most one,
    negative beyond them.
    """

    matrix: Array
    u: Array
    missed: Array
    drive: Array


class Information:
    """The information of motions of a mechanism, with columns of the base parameters times ``size`` (b,).

    ``noise``: standard deviations (3 nv + nu,) of q, v, a, u; NaN for one percent of the root mean square of the motion
    (of q about its mean), at least a fifth of that of the channel of its kind that moves most.
    """

    def __init__(
        self, regressor: Regressor, base: BaseParameters, independent: list[int], noise: Array, size: Array
    ) -> None:
        self.regressor, self.noise, self.size = regressor, noise, size
        self.kept = list(base.kept)
        self.independent = independent
        self.dependent = [k for k in range(regressor.system.nv) if k not in independent]
        self.rubbing = rubbing(regressor.numbers)
        # Controls to begin with, between their limits: beyond these they have no effect.
        self.middle = np.array([_middle(a) for a in regressor.numbers.mechanism.actuators.values()])

    def of(self, motion: Motion, t: Array, swings: Array) -> Told:
        """Return the information of motions q (P, T, nq), v, a (P, T, nv); swings (P, T, nv): q along velocities."""
        q, v, a = motion
        count, times, nv = v.shape
        system, m = self.regressor.system, len(self.independent)
        nu = system.nu
        flat = [x.reshape(count * times, -1) for x in (q, v, a)]
        middle = self.middle
        x = self._pack(flat[0], flat[1], flat[2], np.tile(t, count))
        at = self.regressor.linearized.evaluate_each(x)
        jacobian, force = at["jacobian"], at["equations"][:, :, 0]
        inverse = self._inverse(jacobian)
        z = self._allowed(jacobian, inverse)
        zt = z.transpose(0, 2, 1)
        drive = -(zt @ at["slopes"][:, :, 3 * nv :])
        wanted = zt @ force[:, :, None]
        u = _least(drive, wanted) + middle
        places = self._places
        x[:, places["u"]] = u
        if len(self.dependent):
            force = force + (at["slopes"][:, :, 3 * nv :] @ (u - middle)[:, :, None])[:, :, 0]
            x[:, places["lambda"]] = (inverse.transpose(0, 2, 1) @ force[:, self.dependent, None])[:, :, 0]
        at = self.regressor.linearized.evaluate_each(x)
        missed = (zt @ at["equations"]).reshape(count, -1)
        whole = (wanted.reshape(count, -1) ** 2).sum(axis=1)
        rows = zt @ at["matrix"][:, :, self.kept] * self.size
        slopes = zt @ at["slopes"]
        moves = self._moves(at["residual_slopes"], inverse, z)
        signals = (swings, v, a, u.reshape(count, times, nu))
        sigma = self._sigma(signals).repeat(times, axis=0)
        scaled = moves / sigma[:, : 3 * nv, None]
        spread = slopes[:, :, : 3 * nv] @ moves
        covariance = spread @ np.linalg.solve(scaled.transpose(0, 2, 1) @ scaled, spread.transpose(0, 2, 1))
        driven = slopes[:, :, 3 * nv :] * sigma[:, None, 3 * nv :]
        covariance += driven @ driven.transpose(0, 2, 1)
        weight = self._counted(flat[1], sigma)
        told = rows.transpose(0, 2, 1) @ np.linalg.solve(covariance, rows) * weight[:, None, None]
        b = len(self.kept)
        return Told(
            told.reshape(count, times, b, b).sum(axis=1),
            u.reshape(count, times, nu),
            np.sqrt((missed**2).sum(axis=1) / np.maximum(whole, LEAST_DIVISOR)),
            self._driven(drive.reshape(count, times, m, nu)),
        )

    @property
    def _places(self) -> dict[str, slice]:
        s, n = self.regressor.system, len(self.regressor.names)
        end = self.regressor.linearized.n_in
        start = s.nq + 2 * s.nv
        return {
            "u": slice(start, start + s.nu),
            "lambda": slice(end - s.nc, end),
            "p": slice(end - s.nc - n, end - s.nc),
        }

    def _pack(self, q: Array, v: Array, a: Array, t: Array) -> Array:
        r, s = self.regressor, self.regressor.system
        one = r.pack(q[0], v[0], a[0], np.zeros(s.nu), 0.0)
        blank = np.concatenate([one, r.values, np.zeros(s.nc)])
        x = np.tile(blank, (len(q), 1))
        x[:, self._places["u"]] = self.middle
        x[:, : s.nq + 2 * s.nv] = np.concatenate([q, v, a], axis=1)
        x[:, s.nq + 2 * s.nv + s.nu] = t
        return x

    def _inverse(self, jacobian: Array) -> Array:
        """Return D⁺ (B, nd, nc)."""
        c = self.regressor.system.model.characteristic
        columns = c.columns[self.dependent]
        even = c.scaled_rows(jacobian)[:, :, self.dependent]
        return np.asarray(left_inverse(even) / columns[:, None] * c.rows)

    def _allowed(self, jacobian: Array, inverse: Array) -> Array:
        """Return Z (B, nv, m): all velocities for unit rates of the independent coordinates."""
        m = len(self.independent)
        z = np.zeros((len(jacobian), jacobian.shape[2], m))
        z[:, self.independent] = np.eye(m)
        z[:, self.dependent] = -inverse @ jacobian[:, :, self.independent]
        return z

    def _moves(self, slopes: Array, inverse: Array, z: Array) -> Array:
        """Return N (B, 3 nv, 3 m): derivatives of q, v, a with respect to the independent ones and their rates, on the
        loops.
        """
        s, m = self.regressor.system, len(self.independent)
        nv, nh, nc = s.nv, s.nh, s.nc
        moves = np.zeros((len(z), 3 * nv, 3 * m))
        for k in range(3):
            moves[:, k * nv : (k + 1) * nv, k * m : (k + 1) * m] = z
        if nc:
            rate, second = slopes[:, nh : nh + nc], slopes[:, nh + nc :]
            by_place = np.zeros((len(z), nv, m))
            by_place[:, self.dependent] = -inverse @ (rate[:, :, :nv] @ z)
            moves[:, nv : 2 * nv, :m] = by_place
            both = second[:, :, :nv] @ z + second[:, :, nv : 2 * nv] @ by_place
            moves[:, [2 * nv + k for k in self.dependent], :m] = -inverse @ both
            moves[:, [2 * nv + k for k in self.dependent], m : 2 * m] = -inverse @ (
                second[:, :, nv : 2 * nv] @ z
            )
        return moves

    def _driven(self, drive: Array) -> Array:
        """Return m / (‖B⁺‖ ‖B‖) (P, T) of forces per control B (P, T, m, nu), in characteristic units and ranges of u.

        For as many controls as degrees of freedom it has the sign of det B relative to that of most of the motion.
        """
        m, nu = drive.shape[2:]
        if not nu:
            return np.ones(drive.shape[:2])
        even = drive / self.regressor.system.model.characteristic.columns[self.independent][:, None]
        size = np.sqrt((even**2).sum(axis=2)).max(axis=1)
        even = even / np.maximum(size, LEAST_DIVISOR)[:, None, None]
        square = even @ even.transpose(0, 1, 3, 2)
        trace = np.trace(square, axis1=2, axis2=3)
        square += (RIDGE_OF_SQUARE * trace + LEAST_DIVISOR)[:, :, None, None] * np.eye(m)
        out = m / np.sqrt(np.maximum(np.trace(np.linalg.inv(square), axis1=2, axis2=3) * trace, m**2))
        if m == nu:
            sign = np.sign(np.linalg.det(even))
            out = out * sign * np.where(sign.sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        return np.asarray(out)

    def _sigma(self, signals: tuple[Array, ...]) -> Array:
        """Return standard deviations (P, 3 nv + nu)."""
        out, start = [], 0
        factors = self.regressor.system.model.characteristic.columns
        for k, x in enumerate(signals):
            own = self.noise[start : start + x.shape[2]]
            start += x.shape[2]
            level = x.std(axis=1) if k == 0 else np.sqrt((x**2).mean(axis=1))
            if k < 3:
                level = np.maximum(
                    level, LEAST_LEVEL * (level * factors).max(axis=1, keepdims=True) / factors
                )
            level = np.where(np.isnan(own), NOISE_PART * level, own)
            out.append(np.maximum(level, NOISE_FLOOR * level.max(axis=1, keepdims=True, initial=LEAST_NOISE)))
        return np.concatenate(out, axis=1)

    def _counted(self, v: Array, sigma: Array) -> Array:
        """Return the weights of samples (B,): nearly zero if too slow for dry friction."""
        slow = (
            SLOW_DEVIATIONS * sigma[:, self.rubbing] / np.maximum(np.abs(v[:, self.rubbing]), LEAST_DIVISOR)
        ) ** 8
        return np.asarray(1.0 / (1.0 + slow.sum(axis=1)))


def _least(drive: Array, wanted: Array) -> Array:
    """Return the least controls (B, nu) whose forces B u (m, nu) are nearest to the required ones (B, m, 1)."""
    if not drive.shape[2]:
        return np.zeros((len(drive), 0))
    square = drive @ drive.transpose(0, 2, 1)
    size = np.trace(square, axis1=1, axis2=2) * RIDGE_OF_SQUARE + LEAST_DIVISOR
    square += size[:, None, None] * np.eye(square.shape[1])
    return np.asarray((drive.transpose(0, 2, 1) @ np.linalg.solve(square, wanted))[:, :, 0])


def _middle(actuator: Actuator) -> float:
    """Return zero, or the middle of the range of the control if zero is outside of it."""
    low, high = actuator.limits or (-np.inf, np.inf)
    if low < 0.0 < high:
        return 0.0
    return 0.5 * (low + high) if np.isfinite(high - low) else (low + 1.0 if np.isfinite(low) else high - 1.0)
