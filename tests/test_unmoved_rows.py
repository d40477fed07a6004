"""Loops that stay open along a direction in which no joint moves: the row is named, and what to change."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from sarrus import Status


def four_bar(offset: float, turn: np.ndarray, unit: float = 1.0) -> sr.System:
    """A planar four-bar of links 1, 2, 1 on a base of 2, whose closure is ``offset`` across the plane."""
    mechanism = sr.Mechanism("four bar")
    parent, place = "world", np.zeros(3)
    axis = turn @ [0, 1, 0]
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.0)):
        mechanism.add_body(name, 1.0, tuple(turn @ [0.5 * length * unit, 0, 0]), (0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, axis=axis, parent_pose=tuple(turn @ place))
        parent, place = name, np.array([length * unit, 0, 0])
    mechanism.add_closure(
        "loop",
        "point",
        "rocker",
        "world",
        pose1=tuple(turn @ place),
        pose2=tuple(turn @ [2 * unit, offset * unit, 0]),
    )
    return sr.System(mechanism)


@pytest.mark.parametrize("row", ["x", "y", "z"])
def test_the_row_across_the_plane_is_named(row: str) -> None:
    swap = {"x": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "y": np.eye(3), "z": [[1, 0, 0], [0, 0, -1], [0, 1, 0]]}
    system = four_bar(0.002, np.array(swap[row], dtype=float))
    found = system.assemble([-1.2, 1.0, 1.5], throw=False)
    assert found.status is Status.NOT_CLOSED
    assert found.unmoved == (f"loop.{row}",)
    assert f"no joint moves the two bodies along 'loop.{row}'" in found.message
    assert found.gaps["loop"] == pytest.approx(0.002, rel=1e-6)


def test_links_that_are_too_short_are_none_of_it() -> None:
    system = four_bar(0.0, np.eye(3))
    assert system.assemble([-1.2, 1.0, 1.5]).unmoved == ()
    far = sr.Mechanism("far")
    far.add_body("link", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    far.add_joint("hinge", "revolute", "world", "link", axis=(0, 1, 0))
    far.add_closure("tip", "point", "link", "world", pose1=(1, 0, 0), pose2=(1.5, 0, 0))
    found = sr.System(far).assemble([0.3], throw=False)
    assert found.status is Status.NOT_CLOSED
    assert found.unmoved == ()
