"""Cone programs for the tests, and the check of an answer against the data alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sarrus.base.status import Status
from sarrus.dynamics.optimize import ConeSolution, solve_cone_program

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.cone_instances import instance

Array = np.ndarray


class Program(NamedTuple):
    """The data of a program in the order of the arguments."""

    P: Array
    q: Array
    G: Array
    h: Array
    A: Array
    b: Array
    linear: int
    cones: tuple[int, ...]

    def solve(self, **options: bool) -> ConeSolution:
        return solve_cone_program(*self[:6], linear=self.linear, cones=self.cones, **options)


def of_family(seed: int) -> Program:
    p = instance(seed)
    return Program(p.P, p.q, p.rows.G, p.rows.h, p.A, p.b, p.rows.linear, p.rows.cones)


def depth(s: Array, linear: int, cones: tuple[int, ...]) -> float:
    """Return how far s is inside the cone, negative outside; 0 at most, so that no rows are not infinitely far."""
    least, at = min([0.0, *s[:linear]]), linear
    for size in cones:
        least = min(least, s[at] - np.linalg.norm(s[at + 1 : at + size]))
        at += size
    return float(least)


def check(p: Program, s: ConeSolution, tolerance: float = 1e-9) -> None:
    """Recompute what the status claims: conditions of optimality, a proof of infeasibility, or a direction."""
    P, q, G, h, A, b, linear, cones = p
    x, z, y = s.x, s.dual, s.multipliers
    facts = [s.cost, s.dual_cost, s.gap, s.primal_residual, s.dual_residual]
    assert np.isfinite(np.concatenate([x, s.slack, z, y, facts])).all()
    largest = max(1.0, np.abs(z).max(initial=0.0), np.abs(y).max(initial=0.0))
    if s.status is Status.OK:
        size = max(1.0, np.abs(h).max(initial=0.0), np.abs(b).max(initial=0.0), np.abs(x).max())
        slope = P @ x + q + G.T @ z + A.T @ y
        cost = 0.5 * x @ P @ x + q @ x
        assert np.abs(A @ x - b).max(initial=0.0) < tolerance * size
        assert np.abs(h - G @ x - s.slack).max(initial=0.0) < tolerance * size
        assert depth(s.slack, linear, cones) > -tolerance * size
        assert depth(z, linear, cones) > -tolerance * largest
        assert np.abs(slope).max() < tolerance * max(largest, np.abs(q).max(), np.abs(P @ x).max())
        assert abs(s.slack @ z) < tolerance * (1.0 + abs(cost))
        np.testing.assert_allclose(
            [s.cost, s.dual_residual], [cost, np.abs(slope).max()], rtol=1e-9, atol=1e-12
        )
    elif s.status is Status.INFEASIBLE:
        assert h @ z + b @ y == pytest.approx(-1.0, abs=1e-9 * largest)
        assert np.abs(G.T @ z + A.T @ y).max() < tolerance * largest
        assert depth(z, linear, cones) >= -1e-12 * largest
    else:
        assert s.status is Status.UNBOUNDED
        assert q @ x == pytest.approx(-1.0)
        for missed in (P @ x, A @ x, G @ x + s.slack):
            assert np.abs(missed).max(initial=0.0) < tolerance * max(1.0, np.abs(x).max())
        assert depth(s.slack, linear, cones) > -tolerance * max(1.0, np.abs(x).max())


def random_program(rng: np.random.Generator, kind: str) -> Program:
    """Return a program with cones of 1 to 6 rows; a feasible x is known, and an optimal cost bound."""
    n, e, linear = int(rng.integers(1, 11)), int(rng.integers(0, 4)), int(rng.integers(0, 9))
    cones = tuple(int(size) for size in rng.integers(1, 7, rng.integers(0, 4)))
    m, e = linear + sum(cones), min(e, n)
    rank = int(rng.integers(0, n + 1))
    B = rng.standard_normal((rank, n))
    G, A, x = rng.standard_normal((m, n)), rng.standard_normal((e, n)), rng.standard_normal(n)
    h, z = G @ x + _inside(rng, linear, cones), _inside(rng, linear, cones)
    if kind == "duplicate rows" and linear > 1:
        G[1], h[1] = G[0], h[0]
    if kind == "zero rows" and linear:
        G[0], h[0] = 0.0, 0.0
    if kind == "zero column":
        G[:, 0] = 0.0
        h = G @ x + _inside(rng, linear, cones)
    if kind == "redundant" and e:
        A = np.vstack([A, rng.standard_normal((2, e)) @ A, np.zeros((1, n))])
    P = B.T @ B
    q = -P @ rng.standard_normal(n) - G.T @ z - A.T @ rng.standard_normal(len(A))
    return Program(P, q, G, h, A, A @ x, linear, cones)


def _inside(rng: np.random.Generator, linear: int, cones: tuple[int, ...]) -> Array:
    """Return a point of the cone, in a third of the parts at its boundary or apex."""
    parts = [np.abs(rng.standard_normal(linear)) * (rng.random(linear) < 0.7)]
    for size in cones:
        s = rng.standard_normal(size)
        s[0] = np.linalg.norm(s[1:]) + abs(s[0]) * (rng.random() < 0.7)
        parts.append(s * (rng.random() < 0.9))
    return np.concatenate(parts)
