"""`Sampling`: sample time, delay and noise of a control law in a simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.base.numbers import real_array
from sarrus.control.tolerances import WHOLE_SAMPLE
from sarrus.dynamics.model.evaluations import Evaluations


@dataclass(frozen=True, eq=False)
class Sampling:
    """A law evaluated every ``sample_time`` [s], with its controls held in between, inside the compiled loop.

    delay : number of samples after which controls reach the actuators; until then they are zero.
    position_noise, velocity_noise : standard deviations of the measured q, along velocities [m, rad], and of the
        measured v [per second]; a number or one for each of the nv velocities. Normal, independent from sample to
        sample.
    seed : of the noise; the same seed gives the same run.
    """

    sample_time: float
    delay: int = 0
    position_noise: ArrayLike = 0.0
    velocity_noise: ArrayLike = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (isinstance(self.delay, int | np.integer) and self.delay >= 0):
            raise ArgumentError(
                f"delay must be a number of samples, 0 or more, got {self.delay!r}", element="delay"
            )

    def noise(self, system: Evaluations, duration: float) -> Array | None:
        """Return the noise at each sample of a run, positions then velocities (n, 2 nv); None without noise."""
        deviations = []
        for name in ("position_noise", "velocity_noise"):
            value = real_array(getattr(self, name))
            if value.shape not in ((), (system.nv,)) or not np.isfinite(value).all() or (value < 0.0).any():
                raise ArgumentError(
                    f"{name} must be a standard deviation, or one for each of the {system.nv} velocities, got "
                    f"{getattr(self, name)!r}",
                    element=name,
                )
            deviations.append(np.broadcast_to(value, (system.nv,)))
        scale = np.concatenate(deviations)
        if not scale.any():
            return None
        count = int(np.ceil(duration / self.sample_time * (1 + WHOLE_SAMPLE))) + 2
        return np.random.default_rng(self.seed).standard_normal((count, 2 * system.nv)) * scale
