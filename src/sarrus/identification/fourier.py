"""Finite Fourier series of independent coordinates, and the motion of all others that the loops make of it.

c(t) = c₀ + Σ_k α_k sin(k ω t) / (k ω) − β_k cos(k ω t) / (k ω), k = 1 … N (Swevers, Ganseman, Tükel, De Schutter, Van
Brussel: Optimal Robot Excitation and Identification, IEEE Transactions on Robotics and Automation 13(5), 1997, eq. 11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.dynamics.system import System
from sarrus.linalg.ranked import CUT, ranked

_NEWTON, _CLOSED = 20, 1e-12
# The longest step between samples from which loops are closed anew [rad, lengths]; longer ones are cut.
_STRIDE = 0.2


@dataclass(frozen=True, eq=False)
class Fourier:
    """A series: centre (m,), sine and cosine coefficients (m, N) of the rates, and the period [s]."""

    centre: Array
    sine: Array
    cosine: Array
    period: float

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Return coordinates, rates and accelerations at times t: shape of t plus (m,)."""
        k = np.arange(1, self.sine.shape[1] + 1) * (2.0 * np.pi / self.period)
        phase = np.multiply.outer(np.asarray(t, dtype=float), k)
        s, c = np.sin(phase), np.cos(phase)
        place = self.centre + s @ (self.sine / k).T - c @ (self.cosine / k).T
        rate = c @ self.sine.T + s @ self.cosine.T
        acceleration = -s @ (self.sine * k).T + c @ (self.cosine * k).T
        return place, rate, acceleration

    def scaled(self, factor: Array | float, centre: Array | None = None) -> Fourier:
        """Return the series with its swing multiplied, by one factor or one for each coordinate (m,)."""
        f = np.broadcast_to(np.asarray(factor, dtype=float), self.centre.shape)[:, None]
        return Fourier(self.centre if centre is None else centre, f * self.sine, f * self.cosine, self.period)


class Loops:
    """Closes the loops for given independent coordinates, from one sample to the next."""

    def __init__(self, system: System, independent: list[int], q: Array) -> None:
        self.system, self.independent, self.start = system, independent, q
        self.dependent = [k for k in range(system.nv) if k not in independent]
        self.columns = system.model.characteristic.columns
        self.rows = system.model.characteristic.rows

    def follow(self, series: Fourier, t: Array) -> tuple[Array, Array, Array] | None:
        """Return q, v, a at times t; None where the loops cannot follow, or lose a freedom, on the way."""
        places, rates, accelerations = series(t)
        q, out, last = self.start, [], self.start[self._coordinates]
        for k in range(len(t)):
            closed = self._go(q, last, places[k])
            if closed is None:
                return None
            q, last = closed, places[k]
            found = self._rates(q, rates[k], accelerations[k], float(t[k]))
            if found is None:
                return None
            out.append((q, *found))
        qs, vs, accs = zip(*out)
        return np.array(qs), np.array(vs), np.array(accs)

    @property
    def _coordinates(self) -> list[int]:
        names = self.system.coordinate_names
        return [names.index(self.system.velocity_names[k]) for k in self.independent]

    def _go(self, q: Array, origin: Array, aim: Array) -> Array | None:
        pieces = max(1, int(np.ceil(np.abs((aim - origin) * self.columns[self.independent]).max() / _STRIDE)))
        for k in range(1, pieces + 1):
            found = self._close(q, origin + (aim - origin) * (k / pieces))
            if found is None:
                return None
            q = found
        return q

    def _close(self, q: Array, place: Array) -> Array | None:
        q = q.copy()
        q[self._coordinates] = place
        s, nh = self.system, self.system.nh
        reach = 0.0
        for _ in range(_NEWTON if nh else 0):
            residual = s.constraint_residual(q)
            if np.abs(self.rows[:nh] * residual).max() < _CLOSED:
                break
            jacobian = s.constraint_jacobian(q)[:nh, self.dependent]
            even = self.rows[:nh, None] * jacobian / self.columns[self.dependent]
            x = -ranked(even, relative=CUT).solve(self.rows[:nh] * residual)
            reach += float(np.abs(x).max(initial=0.0))
            if reach > 1.0:  # another branch
                return None
            step = np.zeros(s.nv)
            step[self.dependent] = x / self.columns[self.dependent]
            q = s.move(q, step)
        else:
            if nh:
                return None
        return q

    def _rates(self, q: Array, rate: Array, acceleration: Array, t: float) -> tuple[Array, Array] | None:
        s = self.system
        v, a = np.zeros(s.nv), np.zeros(s.nv)
        v[self.independent], a[self.independent] = rate, acceleration
        if not s.nc:
            return v, a
        jacobian = s.constraint_jacobian(q, v, t)
        even = self.rows[:, None] * jacobian[:, self.dependent] / self.columns[self.dependent]
        found = ranked(even, relative=CUT)
        if found.rank < len(self.dependent):
            return None  # the others are not determined here
        v[self.dependent] = (
            -found.solve(self.rows * s.velocity_residual(q, v, t)) / self.columns[self.dependent]
        )
        bias = s.constraint_bias(q, v, t)
        a[self.dependent] = -found.solve(self.rows * (jacobian @ a + bias)) / self.columns[self.dependent]
        return v, a
