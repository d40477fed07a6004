"""A mode of a linear model as a motion of the whole mechanism, with its loops closed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sarrus.analysis.linear.tolerances import NO_DAMPING, NO_OSCILLATION
from sarrus.base.arrays import Array, read_only
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.dynamics.closing.levenberg_marquardt import data_of
from sarrus.dynamics.closing.manifold import close, difference
from sarrus.dynamics.closing.tolerances import OPEN
from sarrus.dynamics.model.measures import open_by
from sarrus.dynamics.system import System


@dataclass(frozen=True, eq=False)
class VibrationMode:
    """One period of a mode: phases (N,) from 0 to below 2π, and closed configurations q (N, nq) at them."""

    phase: Array
    q: Array
    eigenvalue: complex
    amplitude: float

    def __str__(self) -> str:
        """Return frequency and damping ratio of the mode, or its real eigenvalue."""
        s = self.eigenvalue
        if abs(s) == 0.0:
            return "s = 0: drifts"
        if abs(s.imag) <= NO_OSCILLATION * abs(s):
            return f"s = {s.real:.3g}/s: " + ("grows" if s.real > 0.0 else "decays") + ", drawn as a swing"
        frequency, damping = abs(s) / (2 * np.pi), -s.real / abs(s)
        return f"{frequency:.3g} Hz" + (f", damping ratio {damping:.2g}" if abs(damping) > NO_DAMPING else "")


def swing(
    system: System,
    q: Array,
    t: float,
    mode: int,
    shape: np.ndarray,
    eigenvalue: complex,
    amplitude: float,
    frames: int,
) -> VibrationMode:
    """Return the `VibrationMode` of a shape (nv,) about q; see `sarrus.LinearSystem.vibration_mode`."""
    if not (np.isfinite(amplitude) and amplitude > 0.0):
        raise ArgumentError(f"amplitude must be positive, got {amplitude}", element="amplitude")
    if not isinstance(frames, (int, np.integer)) or frames < 2:
        raise ArgumentError(f"frames must be at least 2, got {frames!r}", element="frames")
    phase = 2 * np.pi * np.arange(frames) / frames
    configurations = []
    for angle in phase:
        linear = system.move(q, amplitude * (shape * np.exp(1j * angle)).real)
        there = close(system, linear, t)
        aside = float(np.abs(difference(system, linear, there)).max())
        if open_by(system, there, t) > data_of(system).closed(OPEN) or aside > amplitude / 2:
            raise SolveError(
                f"{system.name}: at an amplitude of {amplitude:g} mode {mode} is no motion near the linear one: the "
                f"loops close at a distance of {aside:.2g} from it, or not at all. Give a smaller amplitude"
            )
        configurations.append(there)
    return VibrationMode(
        read_only(phase), read_only(np.array(configurations)), complex(eigenvalue), amplitude
    )
