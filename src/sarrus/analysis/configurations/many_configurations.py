"""`ManyConfigurations`: closures, points and steps at many configurations at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.model.body_motion import motion_function
from sarrus.dynamics.system import System


class ManyConfigurations:
    """Evaluations of a system at n configurations q (n, nq) and a time."""

    def __init__(self, system: System, t: float) -> None:
        self.system, self.t = system, t
        self._state = system.pack(system.neutral(), t=t)
        self._position = system.compiled.function("position")
        self._rate = system.compiled.function("rate")

    def states(self, q: Array) -> Array:
        """Return x (n, …), the input of the native functions, at rest."""
        x = np.tile(self._state, (len(q), 1))
        x[:, self.system.parts.q] = q
        return x

    def closures(self, q: Array) -> tuple[Array, Array]:
        """Return φ (n, nh) and its rows of A (n, nh, nv)."""
        out = self._position.each(self.states(q))
        residual, jacobian = (self._position.outputs[name][0] for name in ("residual", "jacobian"))
        return out[:, residual], out[:, jacobian].reshape(len(q), self.system.nh, self.system.nv)

    def points(self, body: str, point: Array, q: Array) -> tuple[Array, Array]:
        """Return the positions of a point of a body (n, 3) [m] and its Jacobian (n, 3, nv), in world axes."""
        function = motion_function(self.system, body)
        x = np.hstack([self.states(q), np.tile(point, (len(q), 1))])
        out = function.each(x)
        place, linear = (function.outputs[name][0] for name in ("position", "linear"))
        return out[:, place], out[:, linear].reshape(-1, 3, self.system.nv)

    def move(self, q: Array, steps: Array) -> Array:
        """Return q ⊕ steps (n, nv), with unit quaternions."""
        x = self.states(q)
        x[:, self.system.parts.v] = steps
        moved = q + self._rate.each(x)[:, : self.system.nq]
        for s in self.system.equations.quaternions:
            moved[:, s : s + 4] /= np.linalg.norm(moved[:, s : s + 4], axis=1, keepdims=True)
        return np.asarray(moved)


def chords(start: Array, end: Array, system: System, turns: Sequence[int] | np.ndarray) -> Array:
    """Return end − start of configurations (n, nq), modulo full turns and signs of quaternions."""
    out = end - start
    out[:, turns] -= 2 * np.pi * np.rint(out[:, turns] / (2 * np.pi))
    for s in system.equations.quaternions:
        part = slice(s, s + 4)
        other = np.sum(end[:, part] * start[:, part], axis=1) < 0.0
        out[other, part] = -(end + start)[other, part]
    return np.asarray(out)
