"""Closing the loops from rough guesses, and velocities that the constraints allow."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_state, random_tree
from sarrus.base.arrays import Array
from sarrus.base.errors import ArgumentError, SolveError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.pose import Pose


def four_bar(
    ground: float = 1.0, kind: str = "point", lengths: tuple[float, ...] = (0.4, 1.0, 0.8)
) -> System:
    mechanism = Mechanism("four_bar", gravity=(0, -9.81, 0))
    parent, at = "world", 0.0
    for name, length in zip(("crank", "coupler", "rocker"), lengths):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=(at, 0, 0))
        parent, at = name, length
    mechanism.add_closure("pin", kind, "world", "rocker", pose1=(ground, 0, 0), pose2=(at, 0, 0))
    return System(mechanism)


def floating_four_bar() -> Mechanism:
    """Return a four-bar of unequal bars on a free trunk, closed in the reference pose."""
    mechanism = Mechanism("floating_four_bar")
    mechanism.add_body("trunk", 5.0, (0, 0, 0), (0.1, 0.1, 0.1))
    mechanism.add_joint("trunk", "free", "world", "trunk", parent_pose=(0.3, -0.5, 1.0))
    parent, at, turn = "trunk", 0.0, 0.5 * np.pi
    for name, length in (("crank", 0.4), ("coupler", 1.0), ("rocker", 0.4)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        place = Pose.of((at, 0, 0), rpy=(0, 0, turn))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=place)
        parent, at, turn = name, length, -0.5 * np.pi
    mechanism.add_closure("pin", "point", "trunk", "rocker", pose1=(1.0, 0, 0), pose2=(0.4, 0, 0))
    return mechanism


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [1e-6, 0.05, 0.3])
def test_closes_random_loops_tightly(seed: int, distance: float) -> None:
    """Loops that are known to close somewhere near: 1e-12, at a distance of the order of the guess's."""
    plan = random_tree(seed, ("revolute", "spherical", "free", "cylindrical"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("revolute", "distance", "screw")))
    guess = system.move(q, distance * random_state(system, seed)[1])
    result = system.assemble(guess)
    assert result.status in (Status.OK, Status.SINGULAR)
    assert result.residual < 1e-12
    assert result.residual == np.abs(system.constraint_residual(result.q)).max()
    assert max(result.gaps.values()) == result.residual
    assert set(result.gaps) == {"c0", "c1", "c2"}
    if distance < 0.1:
        assert np.linalg.norm(result.q - guess) < 30 * np.linalg.norm(q - guess)


@pytest.mark.parametrize("kind", ["point", "revolute", "point_on_line"])
@pytest.mark.parametrize("seed", range(6))
def test_far_guesses_with_a_locked_crank(kind: str, seed: int) -> None:
    system = four_bar(kind=kind)
    guess = np.random.default_rng(seed).uniform(-np.pi, np.pi, 3)
    result = system.assemble(guess, locked=["crank_joint"])
    assert result.q[0] == guess[0]
    assert result.residual < 1e-12
    assert (result.status, result.rank) == (Status.OK, 2)


def test_locked_joints_of_every_kind_keep_their_values() -> None:
    plan = random_tree(1, ("universal", "planar", "spherical", "free"))
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, ("point", "distance")))
    names = list(system.coordinate_names)
    for locked in (["j3"], ["j2"], ["j1.x", "j1.angle"], ["j0"]):
        held = [i for name in locked for i in system.velocity_indices(name)]
        step = 0.05 * np.random.default_rng(3).standard_normal(system.nv)
        step[held] = 0.0
        guess = system.move(q, step)
        result = system.assemble(guess, locked=locked)
        assert result.residual < 1e-12
        kept = [i for i, n in enumerate(names) if n in locked or n.rpartition(".")[0] in locked]
        assert kept
        np.testing.assert_allclose(result.q[kept], guess[kept], rtol=0, atol=1e-15)


@pytest.mark.parametrize("crank", [-0.4, 0.3])
def test_a_locked_trunk_stays_where_it_is(crank: float) -> None:
    """A leg folds under a trunk that is held: the loop closes by the leg's own bars, wherever it was closed before."""
    system = System(floating_four_bar())
    guess = system.neutral()
    guess[system.coordinate_names.index("crank_joint")] = crank
    result = system.assemble(guess, locked=["trunk", "crank_joint"])
    assert result.status is Status.OK
    np.testing.assert_array_equal(result.q[:8], guess[:8])


def test_unreachable_loop_names_closure_and_gap() -> None:
    """Links of 2.2 m cannot span 3 m: 0.8 m stay open, stretched."""
    system = four_bar(ground=3.0)
    with pytest.raises(
        SolveError, match=r"four_bar: the loops do not close.*closure 'pin' stays open by 0\.8"
    ) as caught:
        system.assemble([0.5, -0.3, 0.2])
    result = system.assemble([0.5, -0.3, 0.2], throw=False)
    assert result.status is caught.value.result.status is Status.NOT_CLOSED  # type: ignore[attr-defined]
    assert result.residual == pytest.approx(0.8, abs=1e-5)
    assert result.gaps == {"pin": result.residual}
    assert "check the dimensions of the named closure" in str(caught.value)


def test_locking_too_much_is_not_closed() -> None:
    system = four_bar()
    names = ["crank_joint", "coupler_joint", "rocker_joint"]
    guess = np.array([0.3, 0.4, 0.5])
    result = system.assemble(guess, locked=names, throw=False)
    assert result.status is Status.NOT_CLOSED
    np.testing.assert_array_equal(result.q, guess)


def test_worst_of_several_closures_is_named() -> None:
    mechanism = Mechanism("two")
    for name, x in (("near", 1.0), ("far", 9.0)):
        mechanism.add_body(name, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", "world", name)
        mechanism.add_closure(f"{name}_end", "point", "world", name, pose1=(x, 0, 0), pose2=(1, 0, 0))
    result = System(mechanism).assemble([0.2, 0.1], throw=False)
    assert "closure 'far_end' stays open by 8" in result.message
    assert result.gaps["near_end"] < 1e-2


@pytest.mark.parametrize(
    ("lengths", "folded"), [((0.5, 1.0, 0.5), [0.0, 0.0, np.pi]), ((1.0, 1.0, 1.0), [0.0, 0.0, np.pi])]
)
def test_singular_configuration_is_told_apart(lengths: tuple[float, ...], folded: list[float]) -> None:
    """A parallelogram folded flat is closed, and its rank drops from 2 to 1."""
    system = four_bar(lengths=lengths)
    result = system.assemble(folded)
    assert (result.status, result.rank) == (Status.SINGULAR, 1)
    assert result.status.ok
    assert result.residual < 1e-12
    near = system.assemble(np.add(folded, [1e-3, -2e-3, 1e-3]))
    assert near.residual < 1e-12


def test_contradictions_of_printed_digits() -> None:
    """Redundant closures that differ by 1e-8, as in robot files: closed to the accuracy of the data; drawn open."""
    mechanism = Mechanism("digits", gravity=(0, -9.81, 0))
    parent, at = "world", 0.0
    for name, length in (("a", 0.4), ("b", 1.0), ("c", 0.8)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
        parent, at = name, length
    mechanism.add_closure(
        "pin", "revolute", "world", "c", pose1=Pose.of((1, 0, 1e-8), rpy=(1e-8, 0, 0)), pose2=(at, 0, 0)
    )
    system = System(mechanism)
    result = system.assemble([1.0, -0.5, -1.0])
    assert result.status is Status.OK
    assert 1e-9 < result.residual < 2e-8
    assert result.rank == 2
    v = system.project_velocity(result.q, [1.0, 0.0, 0.0])
    assert np.abs(system.velocity_residual(result.q, v)).max() < 1e-7
    assert system.forward_dynamics(result.q, v).status is Status.OK


def test_without_closures_there_is_nothing_to_do() -> None:
    system = System(random_tree(0, ("revolute", "spherical")).mechanism)
    q, v = random_state(system, 0)
    result = system.assemble(q)
    assert (result.status, result.residual, result.rank, result.iterations) == (Status.OK, 0.0, 0, 0)
    np.testing.assert_allclose(result.q, q, atol=1e-15)
    np.testing.assert_array_equal(system.project_velocity(q, v), v)
    assert system.constraint_jacobian(q).shape == (0, system.nv)


def test_moving_constraint_is_closed_at_its_time() -> None:
    system = System.from_lagrangian(
        nq=2, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: ca.sumsqr(q) - (1 + t) ** 2
    )
    result = system.assemble([3.0, 4.0], t=2.0)
    np.testing.assert_allclose(result.q, [1.8, 2.4], atol=1e-12)
    v = system.project_velocity(result.q, [0.0, 0.0], t=2.0)
    np.testing.assert_allclose(v, [0.6, 0.8], atol=1e-12)


def test_guess_outside_the_domain() -> None:
    system = System.from_lagrangian(
        nq=1, lagrangian=lambda q, v, t: ca.sumsqr(v) / 2, holonomic=lambda q, t: ca.sqrt(q) - 2, name="root"
    )
    with pytest.raises((ArgumentError, SolveError), match=r"root: .*(finite|infinite or NaN)"):
        system.assemble([-1.0])
    assert system.assemble([1.0]).q == pytest.approx([4.0])


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, -0.8, 0), (-0.48, 0.64, 0.6)])
@pytest.mark.parametrize("kind", ["weld", "prismatic"])
def test_half_turn_is_not_closed(kind: str, axis: tuple[float, float, float]) -> None:
    """A frame the wrong way round is open by two, and assembly turns it back."""
    mechanism = Mechanism("turned", gravity=(0, 0, 0))
    mechanism.add_body("b", 1.0, inertia=(0.1, 0.1, 0.1))
    mechanism.add_joint("free", "free", "world", "b")
    mechanism.add_closure("dock", kind, "world", "b", pose1=(1, 2, 3))
    system = System(mechanism)
    guess = np.array([1.0, 2.0, 3.0, 0.0, *axis])
    open_by = system.constraint_residual(guess)[-3:]
    np.testing.assert_allclose(np.abs(open_by), 2 * np.abs(axis), atol=1e-7)
    result = system.assemble(guess)
    assert result.residual < 1e-12
    assert abs(result.q[3]) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kinds", [("revolute", "distance"), ("weld", "weld", "point"), ("planar", "universal")]
)
def test_velocity_projection_is_the_nearest(seed: int, kinds: tuple[str, ...]) -> None:
    """Admissible, idempotent, and orthogonal in M to every admissible velocity, for any rank."""
    plan = random_tree(seed)
    q = random_coordinates(plan)
    system = System(close_loops(plan, q, kinds))
    _, wanted = random_state(system, seed)
    jacobian = system.constraint_jacobian(q)
    lower = np.linalg.cholesky(system.mass_matrix(q))
    weighted = np.linalg.solve(lower, jacobian.T).T  # A L⁻ᵀ with M = L Lᵀ
    expected: Array = wanted - np.linalg.solve(
        lower.T, np.linalg.pinv(weighted, rcond=1e-9) @ jacobian @ wanted
    )
    v = system.project_velocity(q, wanted)
    np.testing.assert_allclose(v, expected, atol=1e-9)
    np.testing.assert_allclose(jacobian @ v, 0.0, atol=1e-11)
    np.testing.assert_allclose(system.project_velocity(q, v), v, atol=1e-12)


def test_velocity_projection_does_not_depend_on_earlier_calls() -> None:
    """x y = x z = 0 has a part of rank 1 and one of rank 2; a parameter may switch a row off."""
    cross = System.from_lagrangian(
        nq=3,
        lagrangian=lambda q, v, t: ca.sumsqr(v) / 2,
        holonomic=lambda q, t: ca.vertcat(q[0] * q[1], q[0] * q[2]),
    )
    for q, v in (([0, 1, 1], [0, 1, 1]), ([1, 0, 0], [1, 0, 0]), ([0, 1, 2], [0, 1, 1])):
        np.testing.assert_allclose(cross.project_velocity(q, [1, 1, 1]), v, atol=1e-14)
    rail = System.from_lagrangian(
        nq=2,
        lagrangian=lambda q, v, t, p: ca.sumsqr(v) / 2 - 9.81 * q[1],
        holonomic=lambda q, t, p: p.on * q[1],
        parameters={"on": 0.0},
    )
    for on, held in ((0.0, False), (1.0, True), (1e-12, True), (0.0, False), (1e6, True)):
        rail.parameters["on"] = on
        np.testing.assert_allclose(rail.project_velocity([0, 0], [1, 1]), [1, 1 - held], atol=1e-14)
        result = rail.forward_dynamics([0, 0], [0, 0])
        assert (result.rank, result.status) == (int(held), Status.OK)
        np.testing.assert_allclose(result.a, [0.0, -9.81 * (1 - held)], atol=1e-9)


def test_bad_arguments_are_named() -> None:
    system = four_bar()
    with pytest.raises(ArgumentError, match="locked must be a sequence of names"):
        system.assemble([0, 0, 0], locked="crank_joint")
    with pytest.raises(
        ArgumentError,
        match=r"unknown joint or coordinate 'crank'.*Did you mean 'crank_joint'.*'rocker_joint'",
    ):
        system.assemble([0, 0, 0], locked=["crank"])
    with pytest.raises(
        ArgumentError, match=r"four_bar: q must have 3 entries \(crank_joint, coupler_joint, rocker_joint\)"
    ):
        system.assemble([0, 0])
    with pytest.raises(ArgumentError, match="four_bar: q must be finite"):
        system.assemble([0, np.nan, 0])
    with pytest.raises(ArgumentError, match="four_bar: v must be finite"):
        system.project_velocity([0, 0, 0], [0, 0, np.inf])
    ball = System(random_tree(0, ("spherical",)).mechanism)
    with pytest.raises(ArgumentError, match="the quaternion 'j0' has zero length"):
        ball.assemble(np.zeros(4))
