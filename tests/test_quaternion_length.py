"""Quaternions of any length but zero are the same rotation in every evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.system import System


@pytest.fixture(scope="module")
def case() -> tuple[System, Array, Array, Array]:
    """A system with two quaternions, a state, and the same q with quaternions of other lengths."""
    plan = random_tree(3, ("free", "revolute", "spherical"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("revolute",)))
    scaled = q.copy()
    for start, factor in zip(system.equations.quaternions, (2.5, -0.3)):
        scaled[start : start + 4] *= factor
    return system, q, scaled, random_state(system, 5)[1]


EVALUATIONS: dict[str, Callable[[System, Array, Array], Array]] = {
    "mass matrix": lambda s, q, v: s.mass_matrix(q),
    "bias force": lambda s, q, v: s.bias_force(q, v),
    "passive force": lambda s, q, v: s.passive_force(q, v),
    "residual": lambda s, q, v: s.constraint_residual(q),
    "jacobian": lambda s, q, v: s.constraint_jacobian(q),
    "constraint bias": lambda s, q, v: s.constraint_bias(q, v),
    "potential energy": lambda s, q, v: np.array(s.potential_energy(q)),
    "kinetic energy": lambda s, q, v: np.array(s.kinetic_energy(q, v)),
    "placements": lambda s, q, v: s.body_placements(q)[1],
    "projected velocity": lambda s, q, v: s.project_velocity(q, v),
    "acceleration": lambda s, q, v: s.forward_dynamics(q, v).a,
    "multipliers": lambda s, q, v: s.forward_dynamics(list(q), list(v)).multipliers,
    "strided": lambda s, q, v: s.forward_dynamics(np.repeat(q, 2)[::2], v).constraint_force,
    "round trip": lambda s, q, v: s.inverse_dynamics(q, v, s.forward_dynamics(q, v).a).multipliers,
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_length_does_not_matter(case: tuple[System, Array, Array, Array], name: str) -> None:
    system, q, scaled, v = case
    v = system.project_velocity(q, v)
    expected = EVALUATIONS[name](system, q, v)
    found = EVALUATIONS[name](system, scaled, v)
    if name == "round trip":
        expected, found = (system.constraint_jacobian(q).T @ x for x in (expected, found))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_given_coordinates_are_left_alone_and_zero_length_is_named(
    case: tuple[System, Array, Array, Array],
) -> None:
    system, _, scaled, v = case
    given = scaled.copy()
    system.forward_dynamics(given, v)
    system.mass_matrix(given)
    np.testing.assert_array_equal(given, scaled)
    start = system.equations.quaternions[0]
    given[start : start + 4] = 0.0
    for call in (system.mass_matrix, lambda q: system.forward_dynamics(q, v)):
        with pytest.raises(ArgumentError, match="random3: the quaternion 'j0' has zero length"):
            call(given)
    for bad in ([1.0], scaled[:-1], np.full(system.nq, np.nan), "text", None):
        with pytest.raises(ArgumentError, match=r"random3: q must (have|be finite)"):
            system.forward_dynamics(bad, v)  # type: ignore[arg-type]
