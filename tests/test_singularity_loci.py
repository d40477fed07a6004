"""Loci of singular configurations against circles, and a platform whose legs let go at a known pose."""

from __future__ import annotations

import numpy as np
import pytest

import sarrus as sr
from five_bars import ARMS, START, TIP, five_bar
from sarrus.base.errors import ArgumentError


def test_where_a_five_bar_stretches_or_folds_a_leg():
    """Type 1: the tip is on circles about a pivot of radius far ± near."""
    near, far, apart = ARMS
    found = sr.singularity_locus(five_bar(*ARMS), START, output=TIP, rays=5)
    assert found.residual < 1e-12
    assert all(found.closed)
    seen = set()
    for piece, path in zip(found.pieces, found.points(*TIP)):
        elbows = np.abs(np.sin(piece[:, [1, 3]])).max(axis=0)
        side = int(np.argmin(elbows))
        assert elbows[side] < 1e-12
        radius = np.hypot(path[:, 0] - apart * side, path[:, 2])
        wanted = far + near if np.cos(piece[0, 1 + 2 * side]) > 0 else far - near
        assert np.abs(radius - wanted).max() < 1e-12
        seen.add((side, wanted))
    assert len(seen) == 4


def test_where_the_inputs_of_a_five_bar_let_go():
    """Type 2: the far links are in line, stretched: the elbows are 2 far apart, the tip in their middle; or on one
    another: the elbows meet, and the tip goes round them."""
    near, far, apart = ARMS
    for closure, rays in (("point_on_line", 12), ("revolute", 4)):
        system = five_bar(*ARMS, closure)
        found = sr.singularity_locus(system, START, driven=["left", "right"], rays=rays)
        assert found.residual < 1e-12
        stretched = folded = 0
        for piece in found.pieces:
            ends = [near * np.exp(1j * piece[:, 0]), apart + near * np.exp(1j * piece[:, 2])]
            gap = np.abs(ends[0] - ends[1])
            if gap.max() > 1.0:
                assert np.abs(gap - 2 * far).max() < 1e-11
                stretched += 1
            else:
                assert gap.max() < 1e-11
                folded += 1
        assert stretched + folded >= 1
        if closure == "point_on_line":
            assert (stretched >= 1, folded) == (True, 2)


def test_the_legs_of_a_platform_let_go_where_their_lines_depend(example):
    """Level platform, over height and turn about the vertical: the determinant of the six lines vanishes there, which
    is so at a quarter of a turn at every height (Fichter)."""
    module = example("stewart")
    system = sr.System(module.build())
    pose = sr.Pose.of((0.0, 0.0, 1.1), rpy=(0.0, 0.0, 0.6))
    names = [f"platform.{name}" for name in ("vx", "vy", "wx", "wy")]
    legs = [f"cylinder{k}" for k in range(1, 7)]
    found = sr.singularity_locus(
        system,
        module.configuration(pose),
        driven=legs,
        locked=names,
        rays=3,
        limits={"cylinder1": (1.0, 1.6)},
    )
    assert len(found) >= 1
    for piece in found.pieces:
        for q in piece[::5]:
            there = sr.Pose.of(q[:3], quaternion=q[3:7])
            assert abs(module.determinant(there)) < 1e-10
            assert abs(there.rotation[0, 0]) < 1e-10
    assert max(np.ptp(piece[:, 2]) for piece in found.pieces) > 0.3


def test_errors_say_what_would_be_right():
    system = five_bar(*ARMS)
    with pytest.raises(ArgumentError, match="give either driven"):
        sr.singularity_locus(system, START)
    with pytest.raises(ArgumentError, match=r"still moves at the start\. Name more"):
        sr.singularity_locus(system, START, driven=["left"])
    with pytest.raises(
        ArgumentError, match="a locus needs two degrees of freedom, and the mechanism has 1; unlock"
    ):
        sr.singularity_locus(system, START, driven=["left", "right"], locked=["left"])


def test_pictures_of_a_locus_and_of_the_clearance_of_a_run(tmp_path):
    system = five_bar(*ARMS)
    found = sr.singularity_locus(system, START, driven=["left", "right"], rays=2)
    found.plot(tmp_path / "over.png", over=("left", "right"))
    found.plot(tmp_path / "paths.png", body=TIP[0], point=TIP[1])
    with pytest.raises(ArgumentError, match="give either over"):
        found.plot()
    run = sr.simulate(system, START, duration=0.3)
    profile = sr.distance_to_singularity(system, run, driven=["left", "right"])
    assert profile.t is not None
    assert "singular configurations of rank 2" in str(profile)
    assert profile.clearance == (0.0 if profile.crossings else np.abs(profile.distance).min())
    profile.plot(tmp_path / "clearance.png")
    for name in ("over", "paths", "clearance"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
