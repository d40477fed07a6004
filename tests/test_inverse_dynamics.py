"""Inverse dynamics of constrained, partly and redundantly actuated mechanisms."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism

JOINTS = {"left": ("world", "l1"), "elbow": ("l1", "l2"), "right": ("world", "r1"), "wrist": ("r1", "r2")}


@lru_cache
def five_bar(*motors: str, kind: str = "point") -> System:
    """Two chains of two links pinned together: two degrees of freedom, a redundant row out of the plane."""
    mechanism = Mechanism("five_bar", gravity=(0, -9.81, 0))
    for joint, (parent, body) in JOINTS.items():
        x = {"left": 0.0, "right": 0.7}.get(joint, 1.0)
        mechanism.add_body(body, 1.5, (0.5, 0, 0), (0.1, 0.1, 0.1))
        mechanism.add_joint(joint, "revolute", parent, body, parent_pose=(x, 0, 0))
    mechanism.add_closure("pin", kind, "l2", "r2", pose1=(1.2, 0, 0), pose2=(1.2, 0, 0))
    for joint in motors:
        mechanism.add_actuator(f"{joint}_motor", joint, gear=1 + len(joint))
    return System(mechanism)


def moving(system: System, seed: int = 0) -> tuple[Array, Array, Array]:
    """A closed configuration, an admissible velocity, and an acceleration that the loop allows."""
    rng = np.random.default_rng(seed)
    q = system.assemble([2.0, -1.0, 1.0, 1.0]).q
    v = system.project_velocity(q, rng.standard_normal(4))
    return q, v, system.forward_dynamics(q, v, tau=5 * rng.standard_normal(4)).a


@pytest.mark.parametrize(
    "motors", [("left", "right"), ("left", "elbow"), ("elbow", "wrist"), ("left", "elbow", "right")]
)
@pytest.mark.parametrize("kind", ["point", "revolute", "point_on_line"])
def test_controls_produce_the_acceleration(motors: tuple[str, ...], kind: str) -> None:
    system = five_bar(*motors, kind=kind)
    q, v, a = moving(system)
    result = system.inverse_dynamics(q, v, a)
    assert (result.status, result.rank, result.actuation_rank) == (Status.OK, 2, 2)
    assert result.residual < 1e-9
    assert result.acceleration_residual < 1e-9
    found = system.forward_dynamics(q, v, result.u)
    np.testing.assert_allclose(found.a, a, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.multipliers, result.multipliers, rtol=1e-8, atol=1e-8)
    force = system.passive_force(q, v) - system.bias_force(q, v) + system.actuation_matrix(q) @ result.u
    np.testing.assert_allclose(system.mass_matrix(q) @ a, force + result.constraint_force, atol=1e-9)


def test_inverse_after_forward_is_identity() -> None:
    system = five_bar("left", "right")
    q, v, _ = moving(system)
    u = np.array([0.7, -1.3])
    np.testing.assert_allclose(
        system.inverse_dynamics(q, v, system.forward_dynamics(q, v, u).a).u, u, rtol=1e-9
    )


def test_redundant_actuators_take_the_least_weighted_effort() -> None:
    system = five_bar(*JOINTS)
    q, v, a = moving(system)
    weights = np.array([1.0, 10.0, 0.3, 2.0])
    u = system.inverse_dynamics(q, v, a, weights=weights).u
    # Stationary: W u is orthogonal to every change of u that leaves the motion as it is.
    _, _, right = np.linalg.svd(system.constraint_jacobian(q))
    _, _, idle = np.linalg.svd(right[2:] @ system.actuation_matrix(q))
    np.testing.assert_allclose(idle[2:] @ (weights * u), 0.0, atol=1e-9)
    plain = system.inverse_dynamics(q, v, a).u
    assert plain @ plain < u @ u
    assert u @ (weights * u) < plain @ (weights * plain)
    np.testing.assert_allclose(system.forward_dynamics(q, v, u).a, a, atol=1e-9)


def test_not_achievable_says_how_much_is_missing() -> None:
    system = five_bar("left")
    q, v, a = moving(system)
    with pytest.raises(
        SolveError, match="five_bar: the actuators cannot produce the requested acceleration"
    ) as caught:
        system.inverse_dynamics(q, v, a)
    result = system.inverse_dynamics(q, v, a, throw=False)
    assert result.status is caught.value.result.status is Status.NOT_ACHIEVABLE  # type: ignore[attr-defined]
    assert f"{result.residual:.3g}" in str(caught.value)
    assert "Actuate more joints" in str(caught.value)
    # Least squares: what is missing is orthogonal to what the actuator can do, and as large as the residual.
    _, _, right = np.linalg.svd(system.constraint_jacobian(q))
    free, actuation = right[2:], system.actuation_matrix(q)
    needed = system.mass_matrix(q) @ a + system.bias_force(q, v)
    missing = free @ (needed - actuation @ result.u)
    assert result.residual == pytest.approx(np.linalg.norm(missing))
    assert (free @ actuation).T @ missing == pytest.approx([0.0], abs=1e-9)


def test_acceleration_that_opens_the_loop() -> None:
    system = five_bar("left", "right")
    q, v, a = moving(system)
    broken = a + np.array([0.0, 1.0, 0.0, 0.0])
    expected = np.linalg.norm(system.constraint_jacobian(q) @ broken + system.constraint_bias(q, v))
    with pytest.raises(SolveError, match="contradict each other"):
        system.inverse_dynamics(q, v, broken)
    result = system.inverse_dynamics(q, v, broken, throw=False)
    assert result.status is Status.INCONSISTENT
    assert result.acceleration_residual == pytest.approx(expected)


def test_applied_force_and_passive_joints() -> None:
    """tau takes load from the actuators; springs, dampers and servos count as passive forces."""
    mechanism = Mechanism("arm")
    mechanism.add_body("b", 2.0, (1, 0, 0))
    mechanism.add_joint("j", "revolute", "world", "b", axis=(0, -1, 0), stiffness=3.0, damping=0.5)
    mechanism.add_actuator("servo", "j", gear=2.0, gain=5.0, bias=(1.0, -5.0, -0.1))
    system = System(mechanism)
    u = system.inverse_dynamics([0.2], [0.4], [1.5], tau=[0.3]).u
    needed = 2.0 * 1.5 + 2 * 9.81 * np.cos(0.2) + 3.0 * 0.2 + 0.5 * 0.4 - 0.3
    assert 2.0 * (5.0 * u[0] + 1.0 - 5.0 * 2 * 0.2 - 0.1 * 2 * 0.4) == pytest.approx(needed, rel=1e-12)


def test_singular_actuation() -> None:
    """With the long links on one line, motors at the ground cannot hold the pin: their rank says so."""
    system = five_bar("left", "right")
    angle = np.arccos(0.85)
    q = np.array([np.pi - angle, angle - np.pi, angle, np.pi - angle])
    assert np.abs(system.constraint_residual(q)).max() < 1e-12
    result = system.inverse_dynamics(q, np.zeros(4), np.zeros(4), throw=False)
    assert (result.rank, result.actuation_rank) == (2, 1)
    assert result.status is Status.NOT_ACHIEVABLE
    assert np.abs(result.u).max() < 100.0


@pytest.mark.parametrize("seed", range(3))
def test_random_loops_fully_actuated(seed: int) -> None:
    """With a motor on every velocity, every admissible acceleration is achievable."""
    plan = random_tree(seed, ("revolute", "cylindrical", "universal", "planar", "spherical", "free"))
    q = random_coordinates(plan)
    mechanism = close_loops(plan, q, ("weld", "weld", "point_on_plane"))
    for name in mechanism.velocity_names:
        mechanism.add_actuator(name, name)
    system = System(mechanism)
    v = system.project_velocity(q, random_state(system, seed)[1])
    a = system.forward_dynamics(q, v, u=np.random.default_rng(seed).standard_normal(system.nu)).a
    result = system.inverse_dynamics(q, v, a)
    assert result.actuation_rank == system.nv - result.rank
    np.testing.assert_allclose(system.forward_dynamics(q, v, result.u).a, a, rtol=1e-7, atol=1e-7)


def test_without_actuators_only_free_motion_is_achievable() -> None:
    system = five_bar()
    q, v, a = moving(system)
    assert system.inverse_dynamics(q, v, system.forward_dynamics(q, v).a).u.shape == (0,)
    assert system.inverse_dynamics(q, v, a, throw=False).status is Status.NOT_ACHIEVABLE


@pytest.mark.parametrize("name", ["q", "v", "a", "tau", "weights", "t"])
@pytest.mark.parametrize("bad", [np.nan, "length", "text", "number"])
def test_bad_arguments_are_named(name: str, bad: float | str) -> None:
    system = five_bar("left", "right")
    q, v, a = moving(system)
    value: object = {"length": np.zeros(3), "text": "fast", "number": 1.0}.get(str(bad), np.full(4, np.nan))
    if name == "t":
        value = {"length": [1.0, 2.0], "text": "now", "number": None}.get(str(bad), bad)
    arguments: dict[str, object] = {"q": q, "v": v, "a": a, name: value}
    with pytest.raises(ArgumentError, match=f"five_bar: {name} must be|five_bar: {name} must have"):
        system.inverse_dynamics(**arguments)  # type: ignore[arg-type]


def test_singular_configuration_gives_no_multiplier() -> None:
    """Equal-link slider-crank folded up: its only row is zero but for rounding."""
    mechanism = Mechanism("slider_crank", gravity=(0, -9.81, 0))
    for name, parent, at in (("crank", "world", 0.0), ("rod", "crank", 1.0)):
        mechanism.add_body(name, 1.0, com=(1, 0, 0))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
        mechanism.add_actuator(name, name)
    mechanism.add_closure("slider", "point_on_plane", "world", "rod", axis=(0, 1, 0), pose2=(1, 0, 0))
    system = System(mechanism)
    for q, rank in (([0.3, -0.6], 1), ([np.pi / 2, np.pi], 0), ([0.3, -0.6], 1)):
        assert np.abs(system.constraint_residual(q)).max() < 1e-15
        result = system.inverse_dynamics(q, np.zeros(2), [1.0, -2.0])
        assert (result.rank, result.actuation_rank) == (rank, 2 - rank)
        assert np.abs(result.multipliers).max() < 1e2
        found = system.forward_dynamics(q, np.zeros(2), result.u)
        np.testing.assert_allclose(found.a, [1.0, -2.0], atol=1e-12)
