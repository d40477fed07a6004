"""Random states of all motions of a mechanism: closed configurations, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.base.errors import SolveError
from sarrus.design.identification.regressor import Regressor
from sarrus.design.identification.tolerances import RANDOM_STEP, RANDOM_TRIES
from sarrus.dynamics.model.compiled import random_coordinates
from sarrus.dynamics.system import System
from sarrus.kernels.linalg.ranked import at_rank


class State(NamedTuple):
    """Coordinates, velocities, accelerations and controls."""

    q: Array
    v: Array
    a: Array
    u: Array


def random_configurations(system: System, rng: np.random.Generator) -> Iterator[Array]:
    """Yield closed configurations (nq,), each a random step from an earlier one; arbitrary ones for open trees.

    The first is the neutral one, assembled. Raises `SolveError` if it cannot be closed.
    """
    if system.nc == 0:
        while True:
            yield random_coordinates(system.equations, rng)
    found = [system.assemble(system.neutral()).q]
    yield found[0]
    columns = system.model.characteristic.columns
    for _ in range(RANDOM_TRIES):
        start = found[int(rng.integers(len(found)))]
        step = RANDOM_STEP * rng.standard_normal(system.nv) / columns
        try:
            found.append(system.assemble(system.move(start, step)).q)
        except SolveError:
            continue
        yield found[-1]


def random_states(regressor: Regressor, seed: int = 0) -> Iterator[State]:
    """Yield states on the loops, with speeds and accelerations of about two rad and lengths per s and s²."""
    rng, system = np.random.default_rng(seed), regressor.system
    c = system.model.characteristic
    for q in random_configurations(system, rng):
        drawn = rng.standard_normal((2, system.nv)) * 2.0 / c.columns
        v, a, u = drawn[0], drawn[1], rng.standard_normal(system.nu)
        if system.nc:
            v = _onto(regressor, system.constraint_jacobian(q), v, system.velocity_residual(q, v))
            jacobian = system.constraint_jacobian(q, v)
            a = _onto(regressor, jacobian, a, jacobian @ a + system.constraint_bias(q, v))
        yield State(q, v, a, u)


def _onto(regressor: Regressor, jacobian: Array, x: Array, residual: Array) -> Array:
    """Return the nearest x with zero residual, in characteristic units."""
    c = regressor.system.model.characteristic
    even = at_rank(c.scaled_rows(jacobian), regressor.rank(jacobian))
    return np.asarray(x - even.solve(c.rows * residual) / c.columns)
