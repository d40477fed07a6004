"""A thousand random hierarchies of equalities and inequalities under limits: no level takes anything from one above."""

from __future__ import annotations

import numpy as np
import pytest

from random_levels import Hierarchy, carts, least_misses, misses, random_levels

COUNT, PROGRAMS = 7, 250
# Rows of each level, negative for inequalities.
SHAPES = [(2, -3, 3, 3), (-4, 2, 3, 2), (3, 3, 3), (-2, -3, 4, 2)]


@pytest.fixture(scope="module")
def system():
    return carts(COUNT)


@pytest.mark.parametrize("shape", SHAPES)
def test_lower_levels_change_nothing_above_them(system, shape):
    """Each level misses what it misses as the last one, to 1e-8; and not more than another solver finds it has to."""
    laws = [Hierarchy(system, shape, used, limits=(-1, 1)) for used in range(1, len(shape) + 1)]
    relaxed, compared = 0, 0
    for seed in range(PROGRAMS):
        rng = np.random.default_rng([seed, len(shape), abs(shape[0])])
        levels = random_levels(rng, shape, COUNT)
        lower, upper = -rng.uniform(0.3, 2.0, COUNT), rng.uniform(0.3, 2.0, COUNT)
        told, size = [], 1.0 + np.array([np.linalg.norm(level.d) for level in levels])
        for law in laws:
            law.take(levels, lower, upper)
            law.reset()
            u = law(np.zeros(COUNT), np.zeros(COUNT))
            assert (lower <= u).all()
            assert (u <= upper).all()
            told.append(misses(levels, u))
            own = law.arrays.answer[COUNT + 1 :].reshape(-1, 3)[:, 1]
            assert (np.abs(own - told[-1][: len(own)]) <= 1e-8 * size[: len(own)]).all()
        relaxed += laws[-1].outcome == "relaxed"
        for used, alone in enumerate(told, 1):
            assert (np.abs(told[-1] - alone) <= 1e-8 * size)[:used].all()
        # the other solver has ten digits of a level, and pins what it found
        truth = least_misses(levels, lower, upper)
        first = next((k for k, least in enumerate(truth) if not least < 1e-7 * size[k]), len(shape) - 1)
        assert not (told[-1] > truth + 1e-7 * size)[: first + 1].any()
        compared += first
    assert relaxed > 0.8 * PROGRAMS
    assert compared > 0.4 * PROGRAMS


def test_levels_that_come_and_go_are_passed_between(system):
    """Controls are continuous in the activities, at whose ends are those with and without a level."""
    rng = np.random.default_rng(3)
    levels, ones = random_levels(rng, (2, -3, 3), COUNT), np.ones(COUNT)
    zero = np.zeros(COUNT)

    def controls(*active: float) -> np.ndarray:
        law = Hierarchy(system, (2, -3, 3), 3, limits=(-1, 1), active=active)
        law.take(levels, -ones, ones)
        return law(zero, zero)

    def without(*kept: int) -> np.ndarray:
        chosen = [levels[k] for k in kept]
        shape = tuple(-len(x.d) if x.at_most else len(x.d) for x in chosen)
        law = Hierarchy(system, shape, len(shape), limits=(-1, 1))
        law.take(chosen, -ones, ones)
        return law(zero, zero)

    np.testing.assert_allclose(controls(1, 1, 1), without(0, 1, 2), atol=1e-9)
    np.testing.assert_allclose(controls(1, 0, 1), without(0, 2), atol=1e-9)
    half = 0.3 * without(0, 2) + 0.7 * without(0, 1, 2)
    np.testing.assert_allclose(controls(1, 0.7, 1), half, atol=1e-9)
    both = 0.4 * without(0) + 0.3 * without(0, 1) + 0.3 * without(0, 1, 2)
    np.testing.assert_allclose(controls(1, 0.6, 0.3), both, atol=1e-9)
