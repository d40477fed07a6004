"""How long a motion is determined that passes singular configurations.

At a passage the acceleration divides rounding by the square of the smallest singular value; a motion that is off a
crossing by little may leave on another branch than the one that goes through; and what is lost there grows as the
motion goes on, by many powers of ten where it is unstable. So the run is repeated with somewhat other steps, from a
start that differs by as much as the passages make of rounding: where the two part, the equations and the precision of
the numbers do not say which is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sarrus.mechanism.pose import Array
from sarrus.trajectory import Trajectory

# Relative size of rounding, and bounds of what the passages make of it. Relative distance from which motions count as
# parted, unless the tolerance of the run is more.
ROUNDING, LEAST_CHANGE, LARGEST_CHANGE, PARTED = 1e-16, 1e-13, 1e-9, 1e-6
# Distance of two motions before a passage, as a part of their distance from the singular configuration, that leaves it
# open on which side of it they pass.
SIDE = 0.01
# Fixed steps of the repetition in those of the run, and tolerances likewise.
STEP, TOLERANCE = 0.95, 4.0
# Most times at which the two are compared.
MOST = 200


def neighbour(motion: Trajectory, nv: int, q: ArrayLike, v: ArrayLike | None) -> tuple[Array, Array]:
    """Return a start near (q, v), the same one every time; what is at rest stays at rest.

    It differs by rounding times what the crossing that loses most digits makes of it.
    """
    random = np.random.default_rng(0)
    digits = max((p.digits_lost for p in motion.passages if p.crossed), default=0.0)
    change = float(np.clip(ROUNDING * 10.0**digits, LEAST_CHANGE, LARGEST_CHANGE))
    place, speed = np.array(q, dtype=float), np.array(np.zeros(nv) if v is None else v, dtype=float)
    place += change * (1.0 + np.abs(place)) * random.choice([-1.0, 1.0], place.shape)
    return place, speed * (1.0 + change * random.choice([-1.0, 1.0], speed.shape))


def other_steps(
    motion: Trajectory, adaptive: bool, dt: float | None, rtol: float | None, atol: float | None
) -> dict[str, Any]:
    """Return the options in which the repetition differs; it costs at most the time of the run."""
    every = {"every": 1 + motion.steps // MOST}
    if not adaptive:
        return every | {"dt": STEP * (1e-3 if dt is None else dt)}
    looser = {"rtol": 1e-8 if rtol is None else rtol, "atol": 1e-10 if atol is None else atol}
    return every | {"dt": None} | {name: TOLERANCE * value for name, value in looser.items()}


def compared_times(motion: Trajectory) -> Array:
    """Return times of a motion after its start at which its neighbour is wanted, about evenly spread."""
    t = np.unique(motion.t)[1:]
    wanted = np.linspace(motion.t[0], motion.t[-1], MOST + 1)[1:]
    return t[np.unique(np.minimum(np.searchsorted(t, wanted), len(t) - 1))] if len(t) else t


def determined_until(motion: Trajectory, neighbouring: Trajectory, rtol: float | None = None) -> float:
    """Return the last time [s] up to which two motions agree, relative to 1 + |q|; infinity where they do to the end.

    Compared are times that both have recorded. Agreement ends, too, with the neighbour, and at a passage before which
    the two are not much closer to each other than the steps come to the singular configuration: then it is not
    determined on which side of it they pass.
    """
    _, here, there = np.intersect1d(motion.t, neighbouring.t, return_indices=True)
    t, size = motion.t[here], 1.0 + np.abs(motion.q[here])
    apart = (np.abs(motion.q[here] - neighbouring.q[there]) / size).max(axis=1)
    ends = [np.inf]
    for passage in motion.passages:
        before = apart[t < passage.time]
        if len(before) and not before[-1] <= SIDE * 10.0 ** (-0.5 * passage.digits_lost):
            ends.append(passage.time)
    wrong = np.flatnonzero(~(apart <= (PARTED if rtol is None or np.isinf(rtol) else max(PARTED, rtol))))
    if len(wrong):
        ends.append(float(t[max(wrong[0] - 1, 0)]))
    elif motion.t[-1] > t[-1]:
        ends.append(float(t[-1]))
    return min(ends)
