"""Following one coordinate: the loops stay closed, the branch is kept, and the limits are where geometry has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sarrus as sr
from conftest import load_example as example
from sarrus.analysis.configurations.follow import Follower
from sarrus.base.errors import ArgumentError
from sarrus.dynamics.model.measures import open_by
from scaled import scaled
from test_linkages import press, random_press

MODELS = Path(__file__).resolve().parent.parent / "models"


@pytest.fixture(scope="module")
def five_bar() -> tuple[sr.System, np.ndarray]:
    mechanism = sr.load(MODELS / "five_bar.xml")
    return sr.System(mechanism), mechanism.keyframes["symmetric"].q


def four_bar(crank: float, coupler: float, rocker: float, ground: float) -> tuple[sr.System, np.ndarray]:
    """A planar four-bar closed by a revolute joint in space (three of five rows redundant), crank at 1 rad."""
    mechanism = sr.Mechanism("four_bar", gravity=(0, -9.81, 0))
    for name, parent, at in (
        ("crank", "world", 0.0),
        ("coupler", "crank", crank),
        ("rocker", "world", ground),
    ):
        mechanism.add_body(name, 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure(
        "pin", "revolute", "coupler", "rocker", pose1=(coupler, 0, 0), pose2=(rocker, 0, 0), axis=(0, 0, 1)
    )
    system = sr.System(mechanism)
    return system, np.array(system.assemble([1.0, -0.5, 1.5], locked=["crank"]).q)


@pytest.mark.parametrize("name", ["left", "left_elbow", "right", "right_elbow"])
def test_the_five_bar_stays_closed_over_the_whole_range(
    five_bar: tuple[sr.System, np.ndarray], name: str
) -> None:
    system, q = five_bar
    follower = Follower(system)
    low, high = follower.reach(q, name)
    assert high - low == pytest.approx(2 * np.pi, abs=1e-9)
    for value in np.linspace(low, high, 40):
        found = follower.drag(q, name, value)
        assert found.reached
        assert found.value == pytest.approx(value, abs=1e-12)
        assert open_by(system, found.q) < 1e-13
        q = found.q


def test_held_joints_rest_and_bound_the_range(five_bar: tuple[sr.System, np.ndarray]) -> None:
    """With the right chain held nothing moves; with its crank held, links 1 and 2 are in line at the limits."""
    system, q = five_bar
    follower = Follower(system, ["right", "right_elbow"])
    assert follower.reach(q, "left") == pytest.approx((q[0], q[0]), abs=1e-6)  # nothing is left to move
    follower = Follower(system, ["right"])
    low, high = follower.reach(q, "right_elbow")
    found = follower.drag(q, "right_elbow", high)
    assert found.q[2] == pytest.approx(q[2], abs=1e-12)
    for limit in (low, high):
        at = follower.drag(q, "right_elbow", limit).q
        positions, rotations = system.body_placements(at)
        tip = positions[1] + rotations[1] @ (1.5, 0, 0)
        assert np.linalg.norm(tip) == pytest.approx(2.5, abs=1e-6) or np.linalg.norm(tip) == pytest.approx(
            0.5, abs=1e-6
        )


def test_the_rocker_of_a_four_bar_stops_at_its_dead_points() -> None:
    """Crank 1, coupler 2, rocker 2, ground 2.5: the rocker is extreme where crank and coupler are on one line."""
    system, q = four_bar(1.0, 2.0, 2.0, 2.5)
    follower = Follower(system)
    low, high = follower.reach(q, "rocker")

    def angle(reach: float) -> float:
        """Rocker angle from the x axis where its tip is at a distance from the crank's pivot (cosine rule)."""
        return np.pi - np.arccos((2.5**2 + 2.0**2 - reach**2) / (2 * 2.5 * 2.0))

    assert (low, high) == pytest.approx(sorted((angle(3.0), angle(1.0))), abs=1e-9)
    beyond = follower.drag(q, "rocker", high + 0.5)
    assert not beyond.reached
    assert beyond.value == pytest.approx(high, abs=1e-9)
    assert open_by(system, beyond.q) < 1e-12
    back = follower.drag(beyond.q, "rocker", q[2])  # and it comes back from there on the same side
    assert back.reached
    np.testing.assert_allclose(back.q, q, atol=1e-9)


def test_the_crank_goes_through_singular_configurations_on_its_branch() -> None:
    system = sr.System(example("slider_crank").build())
    follower, q = Follower(system), np.zeros(2)
    for value in np.arange(1, 73) * np.pi / 18:  # every ninth stop is singular
        found = follower.drag(q, "crank", value)
        assert found.reached
        q = found.q
        assert q[1] == pytest.approx(-2 * q[0], abs=1e-7)
        assert open_by(system, q) < 1e-13


def test_from_a_singular_start_it_leaves_on_a_branch() -> None:
    system = sr.System(example("slider_crank").build())
    start = np.array([np.pi / 2, -np.pi])
    rod = Follower(system).drag(start, "rod", -2.5)
    assert rod.reached
    np.testing.assert_allclose(rod.q, [1.25, -2.5], atol=1e-9)
    crank = Follower(system).drag(start, "crank", 2.5)
    assert crank.reached
    assert open_by(system, crank.q) < 1e-12


def test_an_overconstrained_linkage_follows() -> None:
    system = sr.System(example("bricard").build())
    q = np.array(system.assemble(system.neutral()).q)
    follower = Follower(system)
    for value in np.linspace(q[0], q[0] + 1.0, 12):
        found = follower.drag(q, system.coordinate_names[0], value)
        assert found.reached
        assert open_by(system, found.q) < 1e-12
        q = found.q


def test_there_and_back_is_where_it_began_with_one_degree_of_freedom() -> None:
    system, q = four_bar(1.0, 2.5, 2.0, 2.2)
    follower = Follower(system)
    away = follower.drag(q, "crank", 4.0).q
    np.testing.assert_allclose(follower.drag(away, "crank", 1.0).q, q, atol=1e-10)


def test_bad_input_is_named(five_bar: tuple[sr.System, np.ndarray]) -> None:
    system, q = five_bar
    with pytest.raises(ArgumentError, match="unknown scalar coordinate 'lft'"):
        Follower(system).drag(q, "lft", 1.0)
    with pytest.raises(ArgumentError, match="must be finite"):
        Follower(system).drag(q, "left", np.nan)
    with pytest.raises(ArgumentError, match="leaves the loops open"):
        Follower(system).drag(q + 0.1, "left", 1.0)
    with pytest.raises(ArgumentError, match="locked"):
        Follower(system, ["elbow"])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [1.0, 1e3, 1e4])  # metres, millimetres, tenths of them
def test_presses_are_moved_alike_in_any_unit(factor: float, seed: int) -> None:
    """The crank goes round past the dead centres, and the slide to both of them: rod and crank in line."""
    (crank, rod, offset), start = random_press(seed)
    system = sr.System(scaled(press(crank, rod, offset), factor))
    start = start * [factor, 1.0, 1.0]
    turn = start[2] + 7.0
    found = Follower(system).drag(start, "crank", turn)
    assert found.reached
    lift = np.arcsin((offset - crank * np.sin(turn)) / rod)
    assert found.q[:2] == pytest.approx(
        [factor * (crank * np.cos(turn) + rod * np.cos(lift)), lift], rel=1e-11
    )
    for sign in (-1.0, 1.0):
        end = Follower(system).drag(start, "slide", sign * 3.0 * factor * rod)
        assert not end.reached
        assert end.value == pytest.approx(factor * np.sqrt((rod + sign * crank) ** 2 - offset**2), rel=1e-11)
