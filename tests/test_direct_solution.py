"""The straight-line solve where rows are independent, against NumPy, and where they are nearly not."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.results import ForwardDynamics
from sarrus.dynamics.system import System
from sarrus.model.formats.load import load


def agree(found: ForwardDynamics, system: System, q: Array, v: Array, tau: Array, digits: float) -> None:
    """Compare with the equations as they stand, M a − Aᵀλ = f and A a = −γ, solved by NumPy.

    M may be singular. Of the multipliers those of least norm in characteristic units.
    """
    mass, rows = system.mass_matrix(q), system.constraint_jacobian(q, v)
    force = system.passive_force(q, v) - system.bias_force(q, v) + tau
    whole = np.block([[mass, -rows.T], [rows, np.zeros((system.nc, system.nc))]])
    right = np.concatenate([force, -system.constraint_bias(q, v)])
    a = np.linalg.lstsq(whole, right, rcond=1e-10)[0][: system.nv]
    reaction, factors = mass @ a - force, system.characteristic.rows
    multipliers = factors * np.linalg.lstsq(rows.T * factors, reaction, rcond=1e-10)[0]
    for mine, expected in (
        (found.a, a),
        (found.multipliers, multipliers),
        (found.constraint_force, reaction),
    ):
        np.testing.assert_allclose(mine, expected, rtol=0, atol=digits * np.abs(expected).max(initial=1.0))


@pytest.mark.parametrize(
    "name", ["five_bar", "three_leg_platform", "slider_crank", "leg_four_bar", "stewart"]
)
def test_examples(example, name: str) -> None:
    system = System(example(name).build())
    rng = np.random.default_rng(3)
    tried = 0
    for _ in range(6):
        guess = system.normalized(system.neutral() + 0.2 * rng.normal(size=system.nq))
        assembly = system.assemble(guess, throw=False)
        if assembly.status is not Status.OK:
            continue
        v = system.project_velocity(assembly.q, rng.normal(size=system.nv))
        tau = rng.normal(size=system.nv)
        found = system.forward_dynamics(assembly.q, v, tau=tau)
        assert found.status is Status.OK
        assert found.rank == np.linalg.matrix_rank(system.constraint_jacobian(assembly.q, v), tol=1e-6)
        agree(found, system, assembly.q, v, tau, 1e-11)
        tried += 1
    assert tried >= 3


@pytest.mark.parametrize("seed", range(4))
def test_random_loops(seed: int) -> None:
    plan = random_tree(seed, ("revolute", "spherical", "free", "prismatic"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point",)))
    v = system.project_velocity(q, random_state(system, seed)[1])
    found = system.forward_dynamics(q, v)
    assert found.rank == np.linalg.matrix_rank(system.constraint_jacobian(q, v), tol=1e-6)
    agree(found, system, q, v, np.zeros(system.nv), 1e-11)


def test_nearly_dependent_rows_are_left_to_the_factorisation() -> None:
    """Two rows at a small angle: the answer keeps the digits of the QR factorisation, not of its square."""
    import casadi as ca

    system = System.from_equations(
        3,
        lambda q: ca.SX.eye(3),
        lambda q, v: ca.SX.zeros(3),
        velocity=lambda q, v, t: ca.vertcat(v[0], v[0] + q[2] * v[1]),
    )
    force = np.array([1.0, 2.0, 3.0])
    for angle in (1.0, 1e-3, 1e-6, 1e-8):
        result = system.forward_dynamics([0.0, 0.0, angle], np.zeros(3), tau=force)
        np.testing.assert_allclose(result.a, [0.0, 0.0, 3.0], atol=2e-15 / angle)
        exact = np.array([-1.0 + 2.0 / angle, -2.0 / angle])
        np.testing.assert_allclose(result.multipliers, exact, rtol=2e-15 / angle)


def test_structurally_zero_rows_carry_nothing() -> None:
    """A planar loop closed by a point in space has a dead row, which vanishes when it is traced."""
    system = System(load("models/five_bar.xml"))
    q = system.assemble(system.neutral()).q
    result = system.forward_dynamics(q, np.zeros(system.nv))
    assert (result.rank, system.nc) == (2, 3)
    assert result.multipliers[result.determined].all()
    assert result.multipliers[~result.determined].tolist() == [0.0]
