"""Cone programs of contact problems: by motions and by forces the same, and hundreds of rows of small rank at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sarrus as sr
from sarrus.dynamics.optimize.friction_blocks import Blocks
from sarrus.dynamics.optimize.shifted_program import ShiftedProgram


def redundant(seed: int, contacts: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of contacts that all press on few motions, and velocities of one of these that closes them."""
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(3 * contacts, rank))
    H[::3] = np.abs(H[::3])  # one motion opens all of them
    return H, H @ (rng.normal(size=rank) - 2.0)


@pytest.mark.parametrize("seed", range(20))
def test_motions_and_forces_have_the_same_answer(seed: int) -> None:
    H, b = redundant(seed, 8, 5)
    rng = np.random.default_rng(100 + seed)
    rows = rng.normal(size=(3, 5))
    H, b = np.vstack([H, rows]), np.concatenate([b, rng.normal(size=3)])
    blocks = Blocks.of([(3, float(mu)) for mu in rng.choice([0.0, 0.3, 1.0], 8)], [(2, 0.5), (1, 0.2)])
    program = ShiftedProgram(H, H @ H.T, blocks)
    assert program.by_motion
    by_motion = program.solve(b)
    program.by_motion = False
    by_forces = program.solve(b)
    assert_allclose(H.T @ by_motion, H.T @ by_forces, atol=1e-6 * np.abs(H.T @ by_forces).max())
    heads, tails = blocks.heads(by_motion), blocks.lengths(by_motion)
    assert (heads[:8] >= -1e-9).all()
    assert (tails[:8] <= blocks.friction[:8] * heads[:8] + 1e-9).all()
    assert (tails[8:] <= blocks.limit[8:] + 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_many_rows_of_small_rank(seed: int) -> None:
    """A hundred rows and more that press on six motions, as the points of two feet do."""
    H, b = redundant(seed, 40, 6)
    found = sr.optimize.solve_contact_problem(H, b, [(3, 0.8)] * 40)
    assert found.residual < 1e-10
    force = found.forces.reshape(-1, 3)
    assert (np.hypot(force[:, 1], force[:, 2]) <= 0.8 * force[:, 0] + 1e-9 * np.abs(force).max()).all()
    assert (found.velocities[::3] >= -1e-9).all()
