"""Closed forms of the projection formulations: a particle on a circle, a slider-crank with equal links."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sarrus.formulations.problem import Formulation
from sarrus.formulations.projections.constraint_inertia import (
    parameterized_projection,
    projection,
    symmetric_projection,
)
from sarrus.formulations.projections.oblique import oblique_projection
from sarrus.formulations.projections.tangent_space import decompose_force, projector, projector_rate

Array = np.ndarray
Matrices = tuple[Array, Array, Array, Array, Array]
SOLVERS = [projection, symmetric_projection, parameterized_projection, oblique_projection]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("solve", SOLVERS)
def test_particle_on_a_circle(solve: Callable[..., Formulation], seed: int) -> None:
    """Aghili 2005, section 5.4: P, C q̇, tangential and normal equations."""
    rng = np.random.default_rng(seed)
    mass, radius = rng.uniform(0.5, 2.0, 2)
    angle, rate = rng.uniform(-3.0, 3.0, 2)
    tangent, outward = np.array([[-np.sin(angle), np.cos(angle)], [np.cos(angle), np.sin(angle)]])
    q, v, f = radius * outward, radius * rate * tangent, rng.standard_normal(2)
    A, Adot = q[None] / radius, v[None] / radius
    motion = projector_rate(A, Adot)
    centripetal = -radius * rate**2 * outward
    result = solve(mass * np.eye(2), np.zeros(2), A, Adot @ v, f)
    assert np.abs(motion.P - np.outer(tangent, tangent)).max() < 1e-14
    assert np.abs(motion.P_dot @ v - centripetal).max() < 1e-14 * (1 + np.abs(centripetal).max())
    scale = 1e-14 * (1.0 + np.linalg.norm(f) + mass * np.linalg.norm(centripetal))
    potent, impotent = decompose_force(f, A)
    assert np.abs(potent - (f @ tangent) * tangent).max() < scale
    assert np.abs(impotent - (f @ outward) * outward).max() < scale
    # The text has m q̈ = P f, which is the tangential part; the normal one is centripetal.
    assert np.abs(mass * result.a - potent - mass * centripetal).max() < scale
    assert np.abs(result.constraint_force - (mass * centripetal - impotent)).max() < scale
    assert abs(result.multipliers[0] + mass * radius * rate**2 + f @ outward) < scale


def slider_crank(q1: float, rate: float, mass: float, length: float) -> Matrices:
    """Return the open two-link chain with its end on the line y = 0; equal links, point masses at their ends."""
    q2, g = 2.0 * np.pi - 2.0 * q1, 9.81
    v1, v2 = rate, -2.0 * rate
    c2, s2 = np.cos(q2), np.sin(q2)
    unit = mass * length**2
    M = unit * np.array([[3.0 + 2.0 * c2, 1.0 + c2], [1.0 + c2, 1.0]])
    weight = mass * length * g * np.array([np.cos(q1 + q2) + 2.0 * np.cos(q1), np.cos(q1 + q2)])
    h = unit * s2 * np.array([-(v2**2) - 2.0 * v1 * v2, v1**2]) + weight
    A = length * np.array([[np.cos(q1) + np.cos(q1 + q2), np.cos(q1 + q2)]])
    gamma = -length * np.array([np.sin(q1) * v1**2 + np.sin(q1 + q2) * (v1 + v2) ** 2])
    return M, h, A, gamma, np.array([0.3, -0.2]) * unit


RANK_ONE = np.array([[0.2, -0.4], [-0.4, 0.8]])


@pytest.mark.parametrize("q1", [-2.5, -1.4, 0.0, 0.4, 1.1, 1.5, 2.2])
def test_slider_crank_with_equal_links(q1: float) -> None:
    """Aghili 2005, eqs. (70), (71), with the conditions put right and g = m l²."""
    mass, length, rate = 1.3, 0.7, 1.9
    unit = mass * length**2
    data = slider_crank(q1, rate, mass, length)
    c2 = np.cos(2.0 * q1)
    assert np.abs(projector(data[2]) - RANK_ONE).max() < 1e-14
    assert abs(data[3][0]) < 1e-14  # the normal acceleration vanishes, C = 0
    result = parameterized_projection(*data, g=unit)
    inertia = unit * np.array([[1.0, (1.0 + c2) / 5.0], [0.0, (3.0 - 2.0 * c2) / 5.0]])
    assert np.abs(result.details["inertia"] - inertia).max() < 1e-14
    assert abs(np.linalg.det(result.details["inertia"]) - unit**2 * (3.0 - 2.0 * c2) / 5.0) < 1e-14
    # One degree of freedom: (1, −2) q̈₁, with the equation of motion along it.
    direction = np.array([1.0, -2.0])
    acceleration = direction @ (data[4] - data[1]) / (direction @ data[0] @ direction)
    for solve in SOLVERS:
        assert np.abs(solve(*data).a - acceleration * direction).max() < 1e-13 * (1 + abs(acceleration))


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-3])
@pytest.mark.parametrize("q1", [0.5 * np.pi, -0.5 * np.pi])
def test_slider_crank_near_its_singular_configurations(q1: float, distance: float) -> None:
    """P has rank one while |c₁| ≥ ε / (l √5), and is the identity below: M_c″ = M there."""
    length, epsilon = 0.7, 1e-9
    data = slider_crank(q1 - distance, 1.0, 1.3, length)
    singular = abs(np.cos(q1 - distance)) < epsilon / (length * np.sqrt(5.0))
    assert singular == (distance < 1e-9)
    P = projector(data[2], absolute_tolerance=epsilon)
    # Near the singularity A itself has lost digits: its entries are differences of numbers of size one.
    assert np.abs(P - (np.eye(2) if singular else RANK_ONE)).max() < 1e-14 + 1e-15 / max(distance, 1e-9)
    result = parameterized_projection(*data, absolute_tolerance=epsilon)
    assert result.rank == (0 if singular else 1)
    if singular:
        assert np.abs(result.details["inertia"] - data[0]).max() < 1e-15
        assert np.abs(data[0] @ result.a - (data[4] - data[1])).max() < 1e-13
        assert not result.constraint_force.any()
        assert not result.determined[0]
