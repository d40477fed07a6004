"""A mode of a linear model as a motion of the whole mechanism, with its loops closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closed_state import OPEN
from sarrus.dynamics.manifold import close, difference, open_by
from sarrus.dynamics.system import System


class HasModes(Protocol):
    """What a mode is taken from: a `sarrus.LinearSystem`."""

    @property
    def system(self) -> System: ...
    @property
    def q(self) -> Array: ...
    @property
    def t(self) -> float: ...
    @property
    def eigenvalues(self) -> np.ndarray: ...
    @property
    def mode_shapes(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class VibrationMode:
    """One period of a mode: phases (N,) from 0 to below 2π, and closed configurations q (N, nq) at them."""

    phase: Array
    q: Array
    eigenvalue: complex
    amplitude: float

    def __str__(self) -> str:
        """Say what kind of mode it is."""
        s = self.eigenvalue
        if abs(s) == 0.0:
            return "s = 0: drifts"
        if abs(s.imag) <= 1e-9 * abs(s):
            return f"s = {s.real:.3g}/s: " + ("grows" if s.real > 0.0 else "decays") + ", drawn as a swing"
        frequency, damping = abs(s) / (2 * np.pi), -s.real / abs(s)
        return f"{frequency:.3g} Hz" + (f", damping ratio {damping:.2g}" if abs(damping) > 1e-9 else "")


def vibration_mode(model: HasModes, mode: int, amplitude: float = 0.2, frames: int = 50) -> VibrationMode:
    """Return a period of a mode on the constraint manifold: q ⊕ amplitude Re(shape e^{iθ}), loops closed again.

    Growth and decay are left out, so that the film can go round; a mode with a real eigenvalue is drawn as a swing
    along its shape. The frames are near the linear motion by the square of the amplitude.

    Parameters
    ----------
    mode : index of the eigenvalue, as in ``model.eigenvalues``; a conjugate pair has one motion.
    amplitude : of the velocity that moves most [rad or m]. frames : N.

    Raises
    ------
    ArgumentError
        No such mode, or one that moves nothing (it changes velocities alone, as with nonholonomic constraints).
    SolveError
        At this amplitude the loops do not close, or farther from the linear motion than half of it.
    """
    count, system = len(model.eigenvalues), model.system
    if not isinstance(mode, (int, np.integer)) or not 0 <= mode < count:
        raise ArgumentError(
            f"{system.name}: mode must be an index below {count}, got {mode!r}", element="mode"
        )
    if not (np.isfinite(amplitude) and amplitude > 0.0):
        raise ArgumentError(f"amplitude must be positive, got {amplitude}", element="amplitude")
    if not isinstance(frames, (int, np.integer)) or frames < 2:
        raise ArgumentError(f"frames must be at least 2, got {frames!r}", element="frames")
    shape = model.mode_shapes[:, mode]
    if not np.abs(shape).max(initial=0.0) > 0.5:
        raise ArgumentError(f"{system.name}: mode {mode} moves nothing", element="mode")
    phase = 2 * np.pi * np.arange(frames) / frames
    q = []
    for angle in phase:
        swing = (shape * np.exp(1j * angle)).real
        linear = system.move(model.q, amplitude * swing)
        there = close(system, linear, model.t)
        aside = float(np.abs(difference(system, linear, there)).max())
        if open_by(system, there, model.t) > OPEN or aside > amplitude / 2:
            raise SolveError(
                f"{system.name}: at an amplitude of {amplitude:g} mode {mode} is no motion near the linear one: the "
                f"loops close {aside:.2g} beside it, or not at all. Choose a smaller one"
            )
        q.append(there)
    return VibrationMode(
        read_only(phase), read_only(np.array(q)), complex(model.eigenvalues[mode]), amplitude
    )
