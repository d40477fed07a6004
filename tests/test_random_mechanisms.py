"""Random closed mechanisms of any joints and closures: the identities that hold for every one of them.

Bounds are roundings times the sizes of what is added, and the condition number of what is solved.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mechanisms import CLOSURES, KINDS, close_loops, random_coordinates, random_tree
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.system import System

EPSILON = float(np.finfo(float).eps)
# Roundings in an entry of a traced term, generously: frames along a chain of three bodies, a hundred operations each.
OPERATIONS = 300 * EPSILON
MECHANISMS = (1, 5, 7, 8, 9, 10)  # between them eight kinds of joints and seven of closures; none is rigid


class Case(NamedTuple):
    """A closed mechanism without dampers, a state on its manifold, and applied forces."""

    system: System
    q: Array
    v: Array
    tau: Array


@cache
def mechanism(number: int) -> tuple[System, Array]:
    """Return two or three bodies on joints of any kinds with one or two closures, and coordinates that close them."""
    rng = np.random.default_rng(number)
    joints, closures = rng.choice(KINDS, rng.integers(2, 4)), rng.choice(CLOSURES, rng.integers(1, 3))
    plan = random_tree(number, tuple(map(str, joints)), damping=False)
    q = random_coordinates(plan)
    return System(close_loops(plan, q, tuple(map(str, closures)))), q


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a mechanism and a state near the one it was closed at."""
    system, middle = mechanism(draw(st.sampled_from(MECHANISMS)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    found = system.assemble(system.move(middle, 0.1 * rng.standard_normal(system.nv)), throw=False)
    assume(found.status is Status.OK)
    v = system.project_velocity(found.q, rng.standard_normal(system.nv))
    assume(np.linalg.norm(v) > 0.1)
    return Case(system, found.q, v, rng.standard_normal(system.nv))


def conditioning(case: Case, rank: int) -> float:
    """Return the condition number of A M^(−1/2) A at its rank, and of M: by what errors of a solve are magnified."""
    mass, rows = case.system.mass_matrix(case.q), case.system.constraint_jacobian(case.q, case.v)
    values = np.linalg.svd(np.linalg.solve(np.linalg.cholesky(mass), rows.T), compute_uv=False)
    return float((values[0] / values[rank - 1]) ** 2 * np.linalg.cond(mass)) if rank else np.linalg.cond(mass)


@given(cases())
def test_equations_of_motion(case: Case) -> None:
    """M a + h = k + τ + Aᵀλ and A a + γ = 0, A v = 0, and the constraints do no work."""
    system, q, v, tau = case
    found = system.forward_dynamics(q, v, tau=tau)
    assert found.status is Status.OK
    mass, rows = system.mass_matrix(q), system.constraint_jacobian(q, v)
    bias, passive, gamma = system.bias_force(q, v), system.passive_force(q, v), system.constraint_bias(q, v)
    assert_allclose(mass, mass.T, rtol=0, atol=0)
    allowed = OPERATIONS * conditioning(case, found.rank)
    terms = (mass @ found.a, bias, -passive, -tau, -found.constraint_force)
    size = max(map(np.linalg.norm, terms))
    assert np.linalg.norm(sum(terms)) <= allowed * size
    assert_allclose(rows.T @ found.multipliers, found.constraint_force, rtol=0, atol=allowed * size)
    reach = np.linalg.norm(rows, 2) * np.linalg.norm(found.a) + np.linalg.norm(gamma)
    assert np.linalg.norm(rows @ found.a + gamma) <= allowed * reach
    assert np.linalg.norm(rows @ v) <= allowed * np.linalg.norm(rows, 2) * np.linalg.norm(v)
    assert abs(v @ found.constraint_force) <= allowed * np.linalg.norm(v) * size


@given(cases())
def test_the_power_of_applied_forces_is_the_rate_of_energy(case: Case) -> None:
    """By central differences of two widths: the error of the narrow one is a third of their difference."""
    system, q, v, tau = case
    a, h = system.forward_dynamics(q, v, tau=tau).a, 1e-4 / (1.0 + np.linalg.norm(v))

    def energy(step: float) -> float:
        there = system.move(q, step * v)
        return system.kinetic_energy(there, v + step * a) + system.potential_energy(there)

    wide, narrow = ((energy(s) - energy(-s)) / (2 * s) for s in (2 * h, h))
    scale = (
        system.kinetic_energy(q, v)
        + abs(system.potential_energy(q))
        + np.linalg.norm(v) * np.linalg.norm(tau)
    )
    # The next term of the expansion is smaller by h², 1e-8 here; twice the estimate leaves room for it.
    assert abs(narrow - v @ tau) <= 2 * abs(wide - narrow) / 3 + OPERATIONS * scale / h


@given(cases())
def test_forward_after_inverse_is_identity(case: Case) -> None:
    system, q, v, tau = case
    first = system.forward_dynamics(q, v, tau=tau)
    needed = system.mass_matrix(q) @ first.a + system.bias_force(q, v) - system.passive_force(q, v)
    again = system.forward_dynamics(q, v, tau=needed)
    allowed = OPERATIONS * conditioning(case, first.rank)
    assert_allclose(again.a, first.a, rtol=0, atol=allowed * max(1.0, np.abs(first.a).max()))
    size = max(np.linalg.norm(needed), np.linalg.norm(first.constraint_force))
    assert (
        np.linalg.norm(again.constraint_force) <= allowed * size
    )  # nothing is left for the constraints to do
