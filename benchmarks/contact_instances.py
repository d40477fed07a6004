"""Random contact problems with friction, and a judge that knows the laws alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sarrus.base.arrays import Array
from sarrus.dynamics.optimize import ContactSolution
from sarrus.model.mechanism.elements import turning_axes


@dataclass(frozen=True, eq=False)
class Problem:
    """H, b, contacts and dry friction of one problem."""

    rows: Array
    velocities: Array
    contacts: list[tuple[int, float]]
    dry: list[tuple[int, float]]


class Guess(NamedTuple):
    """Forces and velocities of a problem that are said to be its answer."""

    forces: Array
    velocities: Array


# Numbers of rows of contacts, drawn from with equal weights; and those with rolling friction (5, 6 rows) among them.
USUAL = (1, 3, 3, 3, 4)
ROLLING = (1, 3, 4, 5, 5, 6, 6)


def random_problem(
    rng: np.random.Generator,
    most: int = 32,
    least: int = 1,
    decades: float = 6.0,
    sizes: tuple[int, ...] = USUAL,
) -> Problem:
    """Return ``least`` to ``most`` contacts between bodies whose masses differ by so many decades, and the ground.

    One contact in five repeats the one before it, one in ten has no friction; some are stops of one row, some have
    torsional friction, and with ``sizes`` of 5 and 6 rows rolling friction. The bodies move as they like, so there is
    an answer.
    """
    count = int(rng.integers(least, most + 1))
    bodies = int(rng.integers(1, count + 1))
    inverse = np.repeat(10.0 ** rng.uniform(-decades / 4.0, decades / 4.0, bodies), 6)  # L⁻¹
    inverse[3::6] *= 10.0 ** rng.uniform(0.0, 1.0)
    parts: list[Array] = []
    contacts: list[tuple[int, float]] = []
    for k in range(count):
        if k and rng.random() < 0.2:
            parts.append(parts[-1])
            contacts.append(contacts[-1])
            continue
        size = int(rng.choice(sizes))
        block = np.zeros((size, 6 * bodies))
        axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        for body, sign in {int(rng.integers(bodies)): 1.0, int(rng.integers(-1, bodies)): -1.0}.items():
            if body < 0:
                continue
            x, y, z = rng.standard_normal(3)
            cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            block[: min(size, 3), 6 * body : 6 * body + 6] = (
                sign * (axes @ np.hstack([np.eye(3), -cross]))[:size]
            )
            for row, axis in enumerate(turning_axes(size), start=3):
                length = 0.05 if axis else 0.1
                block[row, 6 * body + 3 : 6 * body + 6] = length * sign * axes[axis]
        parts.append(block)
        contacts.append((size, 0.0 if rng.random() < 0.1 or size == 1 else rng.uniform(0.0, 2.0)))
    dry = [(1, 10.0 ** rng.uniform(-3.0, 1.0)) for _ in range(int(rng.integers(0, 3)))]
    parts += [rng.standard_normal((1, 6 * bodies)) * (rng.random(6 * bodies) < 0.3) for _ in dry]
    rows = np.vstack(parts) * inverse
    return Problem(rows, rows @ (rng.standard_normal(6 * bodies) / inverse), contacts, dry)


def broken(problem: Problem, found: ContactSolution | Guess) -> float:
    """Return how far the laws of Signorini and Coulomb are broken, in units in which the rows of a contact are one.

    Velocities count relatively to what is summed in them, forces to the largest one.
    """
    H, b, r, u = problem.rows, problem.velocities, found.forces, found.velocities
    blocks = [*problem.contacts, *problem.dry]
    ends = np.cumsum([0, *(size for size, _ in blocks)])
    parts = [slice(i, j) for i, j in pairwise(ends)]
    units = [float(np.sqrt((H[part] ** 2).sum())) or 1.0 for part in parts]
    terms = np.abs(b) + np.abs(H) @ (np.abs(H.T) @ np.abs(r))
    fast = max(float(np.abs(b[part]).max()) / unit for part, unit in zip(parts, units))
    strong = max(fast, max(float(np.abs(r[part]).max()) * unit for part, unit in zip(parts, units)))
    worst = 0.0
    for k, (part, unit, (_, number)) in enumerate(zip(parts, units, blocks)):
        rates = max(fast, float(terms[part].max()) / unit)
        force, speed = r[part] * unit / strong, u[part] / unit / rates
        made = (b[part] + H[part] @ (H.T @ r)) / unit / rates
        worst = max(worst, float(np.abs(speed - made).max()))
        if k < len(problem.contacts):
            limit, drag, slip = number * force[0], force[1:], speed[1:]
            worst = max(worst, -force[0], -speed[0], min(abs(force[0]), abs(speed[0])))
        else:
            limit, drag, slip = number * unit / strong, force, speed
        slid = float(np.linalg.norm(slip))
        worst = max(
            worst, float(np.linalg.norm(drag)) - limit, float(np.linalg.norm(drag * slid + limit * slip))
        )
    return worst
