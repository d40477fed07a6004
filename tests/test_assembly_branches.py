"""Assembly stays on the branch of its guess: offsets of driven joints lead where continuous motion leads."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from branch_offsets import CASES, assembled, four_bar, survey, system_of
from sarrus.base.errors import SolveError
from sarrus.base.status import Status
from sarrus.model.builders.mechanism import Mechanism


@pytest.mark.parametrize(
    ("name", "count"),
    [("four-bar", 60), ("slider-crank", 30), ("five-bar", 30), ("bricard", 15), ("stewart", 5)],
)
def test_offsets_of_driven_joints_lead_where_continuous_motion_leads(name: str, count: int) -> None:
    """No change of branch goes unreported, and where there is a way it is found."""
    verdicts = survey(name, count)
    known = {"followed", "reported", "not closed", "arrived where the judge did not"}
    if len(CASES[name].locked) > 1:  # several driven joints may close the loops in several ways
        known.add("reported, but there is a way")
    assert set(verdicts) <= known
    assert verdicts["followed"] > 0.6 * count
    assert verdicts["arrived where the judge did not"] <= 0.1 * count


def test_every_offset_of_a_crank_that_turns_round() -> None:
    """The four-bar at 120 offsets up to a full turn: in one jump 31 of these end as the mirror image.

    Its rocker never comes in line with the coupler, so that the sign of the sine between them is the branch.
    """
    system = system_of("four-bar")
    q = assembled(system, [1.0, -0.5, -1.0])
    for offset in np.linspace(-2 * np.pi, 2 * np.pi, 120):
        found = system.assemble(q + np.array([offset, 0.0, 0.0]), locked=["crank"])
        assert (found.status, found.left_branch, found.limits) == (Status.OK, (), {})
        assert found.q[0] == q[0] + offset
        assert np.sign(np.sin(found.q[2])) == np.sign(np.sin(q[2]))


def rocking() -> sr.System:
    """A four-bar whose crank 0.8 cannot turn round over ground 1, coupler 0.4, rocker 0.9."""
    mechanism = Mechanism("rocking", gravity=(0, -9.81, 0))
    parent, at = "world", 0.0
    for name, length in (("crank", 0.8), ("coupler", 0.4), ("rocker", 0.9)):
        mechanism.add_body(name, 1.0, (length / 2, 0, 0), (0.01, 0.05, 0.05))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
        parent, at = name, length
    mechanism.add_closure("pin", "point", "world", "rocker", pose1=(1, 0, 0), pose2=(at, 0, 0))
    return sr.System(mechanism)


def test_a_crank_beyond_its_limit_is_not_closed_and_the_limit_is_named() -> None:
    """The crank stops where coupler and rocker are in line: cos = (0.8² + 1 − 1.3²) / 1.6."""
    system = rocking()
    q = assembled(system, [1.0, -0.5, -1.5])
    limit = float(np.arccos((0.64 + 1.0 - 1.69) / 1.6))
    beyond = np.array([limit + 0.3, q[1], q[2]])
    result = system.assemble(beyond, locked=["crank"], throw=False)
    assert result.status is Status.NOT_CLOSED
    assert result.limits["crank"] == pytest.approx(limit, abs=1e-7)
    with pytest.raises(
        SolveError, match=r"moved from where the loops were closed, it stops with 'crank' at 1\.6"
    ):
        system.assemble(beyond, locked=["crank"])


def test_a_jump_to_another_branch_is_reported() -> None:
    """A flat guess closes only by leaving it: the closures that decide are named, whichever elbow comes out."""
    system = sr.System(four_bar())
    result = system.assemble([0.0, 0.0, 0.0])
    assert result.status is Status.OK
    assert result.left_branch == ("pin",)
    assert "perhaps on another branch than the guess, by closure 'pin'" in result.message


@pytest.mark.parametrize("seed", range(10))
def test_a_rough_guess_keeps_its_elbow_or_says_so(seed: int) -> None:
    """With the crank locked the sign of the elbow angle is the branch; a guess decides it."""
    system = sr.System(four_bar())
    guess = np.random.default_rng(seed).uniform(-np.pi, np.pi, 3)
    result = system.assemble(guess, locked=["crank"])
    elbows = np.sign(np.sin([guess[2], result.q[2]]))
    assert result.status is Status.OK
    assert (elbows[0] == elbows[1]) == (result.left_branch == ())


def test_flat_passages_are_gone_through_straight() -> None:
    """A parallelogram stays one through its flat pose, where it could become an antiparallelogram."""
    mechanism = sr.Mechanism("parallelogram", gravity=(0, -9.81, 0))
    for name, parent, at in (("left", "world", 0.0), ("coupler", "left", 1.0), ("right", "world", 1.5)):
        mechanism.add_body(name, 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
        mechanism.add_joint(name, "revolute", parent, name, parent_pose=(at, 0, 0))
    mechanism.add_closure("pin", "point", "coupler", "right", pose1=(1.5, 0, 0), pose2=(1, 0, 0))
    system = sr.System(mechanism)
    for angle in (-0.7, -3.0, 2.0, 4.0):
        result = system.assemble([angle, -0.6, 0.6], locked=["left"])
        np.testing.assert_allclose(
            np.exp(1j * result.q), np.exp(1j * np.array([angle, -angle, angle])), atol=1e-9
        )
        assert result.left_branch == ()
