"""Closures whose axes point in opposite directions instead of the same: turned round, or named."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import close_loops, random_coordinates, random_tree, unit
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.mechanism.pose import Pose

KINDS = ("revolute", "cylindrical", "screw", "planar")


def docked(*kinds: str) -> System:
    """Free bodies, each on the world or on the one before it by a closure about an oblique axis."""
    mechanism = Mechanism("docked", gravity=(0, 0, 0))
    before = "world"
    for k, kind in enumerate(kinds):
        mechanism.add_body(f"b{k}", 1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
        mechanism.add_joint(f"free{k}", "free", "world", f"b{k}")
        mechanism.add_closure(
            f"dock{k}",
            kind,
            before,
            f"b{k}",
            pose1=(1, 2, 3),
            pose2=(0.5, 0, 0),
            axis=(0.36, 0.48, 0.8),
            pitch=0.3,
        )
        before = f"b{k}"
    return System(mechanism)


def axes_agree(system: System, q: np.ndarray) -> bool:
    """Tell whether every closure's two axes point the same way, from the placements of the bodies."""
    assert system.mechanism is not None
    turn = {"world": np.eye(3), **dict(zip(system.mechanism.bodies, system.body_placements(q)[1]))}
    return all(
        (turn[c.body1] @ c.axis1) @ (turn[c.body2] @ c.axis2) > 0.999
        for c in system.mechanism.closures.values()
    )


@pytest.mark.parametrize(
    "kinds", [*((kind,) for kind in KINDS), ("revolute", "planar"), ("revolute", "revolute")]
)
def test_a_body_on_its_head_is_turned_round(kinds: tuple[str, ...]) -> None:
    """Half a turn about a normal of the axis zeroes every row, and yet is not the assembly that is meant."""
    system = docked(*kinds)
    over = Pose.of(
        rotation=Pose.of(quaternion=(0, 0.8, -0.6, 0)).rotation
    )  # half a turn about (0.8, −0.6, 0)
    poses, before = [], Pose()
    for _ in kinds:
        before = before @ Pose((1.0, 2.0, 3.0)) @ over @ Pose((-0.5, 0.0, 0.0))
        poses.append(np.array([*before.position, *before.quaternion]))
    guess = np.concatenate(poses)
    if "screw" not in kinds:
        assert np.abs(system.constraint_residual(guess)).max() < 1e-12
    assert not axes_agree(system, guess)
    result = system.assemble(guess)
    assert (result.status, result.antiparallel) == (Status.OK, ())
    assert result.residual < 1e-12
    assert axes_agree(system, result.q)


@pytest.mark.parametrize("seed", range(4))
def test_far_guesses_end_with_parallel_axes(seed: int) -> None:
    plan = random_tree(seed, ("revolute", "spherical", "free", "universal"))
    system = System(close_loops(plan, random_coordinates(plan), ("revolute",)))
    result = system.assemble(system.move(system.neutral(), np.pi * unit(plan.rng, system.nv)), throw=False)
    assert result.status is Status.NOT_CLOSED or axes_agree(system, result.q)


def test_an_axis_that_cannot_turn_is_named() -> None:
    """A planar loop cannot turn its axes round: a pin that was given opposite ones is named."""
    mechanism = Mechanism("four_bar")
    parent, at = "world", 0.0
    for name, length in (("crank", 0.4), ("coupler", 1.0), ("rocker", 0.8)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        mechanism.add_joint(f"{name}_joint", "revolute", parent, name, parent_pose=(at, 0, 0))
        parent, at = name, length
    mechanism.add_closure(
        "pin", "revolute", "world", "rocker", pose1=(1, 0, 0), pose2=(at, 0, 0), axis2=(0, 0, -1)
    )
    system = System(mechanism)
    text = r"four_bar: the loops close only with opposite axes of closure 'pin'; .* change the sign of axis2\. Start"
    with pytest.raises(SolveError, match=text):
        system.assemble([1.0, -0.5, -1.0])
    result = system.assemble([1.0, -0.5, -1.0], throw=False)
    assert (result.status, result.antiparallel) == (Status.NOT_CLOSED, ("pin",))
    assert result.residual < 1e-12
