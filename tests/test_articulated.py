"""Articulated bodies against M and its factor: accelerations, pivots, and what forward dynamics says of long chains."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from mechanisms import random_tree
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.symbolic.kinematics.link import links
from sarrus.symbolic.multibody import articulated


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "kinds", [("revolute",), ("revolute", "prismatic", "screw"), ("spherical", "free", "revolute")]
)
def test_accelerations_and_pivots(seed: int, kinds: tuple[str, ...]) -> None:
    system = System(random_tree(seed, kinds).mechanism)
    e, rng = system.equations, np.random.default_rng(seed)
    force = ca.SX.sym("f", e.nv)
    assert e.tree is not None
    found = articulated.solve(e.tree, links(e.tree, e.q, e.v), force)
    parts = [found.a, ca.vertcat(*found.pivots), ca.vertcat(*found.diagonal)]
    native = ca.Function("solve", [e.q, e.v, force], parts)
    for _ in range(3):
        q, f = system.normalized(rng.normal(size=system.nq)), rng.normal(size=system.nv)
        a, pivots, diagonal = (np.array(part).ravel() for part in native(q, np.zeros(system.nv), f))
        mass = system.mass_matrix(q)
        expected = np.linalg.solve(mass, f)
        np.testing.assert_allclose(a, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(diagonal, np.diag(mass), rtol=1e-12)
        flipped = np.linalg.cholesky(mass[::-1, ::-1])  # M = LᵀL from the last velocity on
        np.testing.assert_allclose(pivots, np.diag(flipped)[::-1] ** 2, rtol=1e-9)


def chain(count: int, *, last_mass: float = 1.0, armature: float = 0.0) -> Mechanism:
    """Links with joints about axes in turn, the last one with another mass and no inertia."""
    m, before = Mechanism(f"chain of {count}"), "world"
    for k in range(count):
        last = k == count - 1
        inertia = (0.0, 0.0, 0.0) if last else (0.01, 0.02, 0.03)
        m.add_body(f"link{k}", last_mass if last else 1.0, (0.1, 0, 0.05), inertia)
        m.add_joint(
            f"joint{k}", "revolute", before, f"link{k}", axis=np.eye(3)[k % 3], armature=armature, damping=0.1,
            parent_pose=(0.3 if k else 0.0, 0, 0),
        )  # fmt: skip
        before = f"link{k}"
    return m


@pytest.mark.parametrize("armature", [0.0, 0.02])
def test_forward_dynamics_of_a_long_chain(armature: float) -> None:
    system, rng = System(chain(40, armature=armature)), np.random.default_rng(1)
    assert system.compiled.articulated
    q, v, tau = rng.normal(size=(3, system.nv))
    found = system.forward_dynamics(q, v, tau=tau)
    force = system.passive_force(q, v) - system.bias_force(q, v) + tau
    assert found.status is Status.OK
    mass = system.mass_matrix(q)
    expected = np.linalg.solve(mass, force)
    scale = np.linalg.cond(mass / np.sqrt(np.outer(np.diag(mass), np.diag(mass))))
    np.testing.assert_allclose(found.a, expected, rtol=0, atol=1e-15 * scale * np.abs(expected).max())
    np.testing.assert_allclose(
        mass @ found.a, force, rtol=0, atol=1e-11 * np.abs(mass @ np.abs(found.a)).max()
    )


def test_a_tip_without_inertia_is_named() -> None:
    system = System(chain(30, last_mass=0.0))
    with pytest.raises(SolveError, match="joint29"):
        system.forward_dynamics(np.full(30, 0.3), np.zeros(30))


def test_short_chains_keep_the_mass_matrix() -> None:
    assert not System(chain(3)).compiled.articulated
