"""The straight-line solve against the rank-revealing one, and when it is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.status import Status
from sarrus.dynamics.solves import ForwardDynamics
from sarrus.dynamics.system import System
from sarrus.kernels import layout as la
from sarrus.kernels.record import laid


def general(system: System, q: Array, v: Array, **inputs: Any) -> ForwardDynamics:
    """The answer without the straight-line solve."""
    table = system.workspace().table
    rank = table.direct_rank
    table.direct_rank = -2
    try:
        return system.forward_dynamics(q, v, **inputs)
    finally:
        table.direct_rank = rank


def clearance(system: System) -> float:
    """Squared sine of the angle between the last rows solved."""
    work = system.workspace()
    return laid(work.work, la.workspace_sizes(work.table)).gauge.clearance


@pytest.mark.parametrize(
    "name", ["five_bar", "three_leg_platform", "slider_crank", "leg_four_bar", "stewart"]
)
def test_both_solves_agree_on_examples(example, name: str) -> None:
    system = System(example(name).build())
    rng = np.random.default_rng(3)
    used = 0
    for _ in range(6):
        guess = system.normalized(system.neutral() + 0.2 * rng.normal(size=system.nq))
        assembly = system.assemble(guess, throw=False)
        if assembly.status is not Status.OK:
            continue
        v = system.project_velocity(assembly.q, rng.normal(size=system.nv))
        tau = rng.normal(size=system.nv)
        direct = system.forward_dynamics(assembly.q, v, tau=tau)
        gauge = clearance(system)
        other = general(system, assembly.q, v, tau=tau)
        for name in ("a", "multipliers", "constraint_force"):
            expected = getattr(other, name)
            error = np.abs(getattr(direct, name) - expected).max(initial=0.0)
            assert error <= 1e-12 * np.abs(expected).max(initial=1.0)
        assert (direct.rank, direct.status) == (other.rank, other.status)
        used += gauge > 0.1
    assert used or system.workspace().table.direct_rank < system.workspace().table.generic_rank


@pytest.mark.parametrize("seed", range(4))
def test_both_solves_agree_on_random_loops(seed: int) -> None:
    plan = random_tree(seed, ("revolute", "spherical", "free", "prismatic"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point",)))
    v = system.project_velocity(q, random_state(system, seed)[1])
    direct, other = system.forward_dynamics(q, v), general(system, q, v)
    assert system.workspace().table.direct_rank == 3
    np.testing.assert_allclose(direct.a, other.a, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(direct.multipliers, other.multipliers, rtol=1e-10, atol=1e-10)


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


def test_structurally_zero_rows_need_no_factorisation(example) -> None:
    """A planar loop closed by a point in space has a dead row, which vanishes when it is traced."""
    system = System(example("five_bar").build())
    assert system.workspace().table.direct_rank <= system.nc
    q = system.assemble(system.neutral()).q
    result = system.forward_dynamics(q, np.zeros(system.nv))
    assert result.rank == 2
