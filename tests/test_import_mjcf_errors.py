"""MJCF files and paths that cannot be read: one clear line that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from mjcf_models import PAIR, on_pair, read, single, world
from sarrus.base.errors import ArgumentError, ModelError, ModelFileError
from sarrus.model.formats.load import load


@pytest.mark.parametrize(
    ("xml", "text"),
    [
        ("<mujoco><worldbody></mujoco>", r"malformed XML at line 1, column"),
        (single('<jont name="j"/>'), r"MuJoCo: .*unrecognized element.*jont"),
        (world(PAIR + PAIR), r"repeated name 'a'"),
        ("<sdf/>", r"root element is <sdf>"),
        (single('<joint name="j" axis="0 0 0"/>'), r"axis.*joint"),
        (single('<joint name="j" axis="nan 0 1"/>'), r"<joint> 'j' has NaN in 'axis'"),
        (on_pair('<equality><connect body1="a" body2="zzz" anchor="0 0 0"/></equality>'), r"zzz"),
        (
            '<mujoco><asset><mesh name="part" file="nowhere.stl"/></asset><worldbody><body name="a"><joint/>'
            '<geom type="mesh" mesh="part"/></body></worldbody></mujoco>',
            r"nowhere.stl.*inertia of body 'a'",
        ),
    ],
)
def test_bad_files_give_one_clear_line(tmp_path: Path, xml: str, text: str) -> None:
    with pytest.raises(ModelFileError, match=text) as caught:
        read(tmp_path, xml)
    assert "\n" not in str(caught.value)
    assert "model.xml" in str(caught.value)


def test_missing_file_unknown_suffix_and_misplaced_options(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="no such file"):
        load(tmp_path / "none.xml")
    with pytest.raises(ModelFileError, match="is a folder; load takes one model file"):
        load(tmp_path)
    with pytest.raises(ArgumentError, match="load needs the path of a model file, got 3"):
        load(3)  # type: ignore[arg-type]
    other = tmp_path / "model.step"
    other.write_text("")
    with pytest.raises(ModelFileError, match=r"unknown suffix '\.step'.*\.urdf"):
        load(other)
    with pytest.raises(ArgumentError, match="floating_base is for URDF"):
        read(tmp_path, on_pair(""), floating_base=True)
    with pytest.raises(ModelError, match=r"unknown frame 'nope'"):
        read(tmp_path, on_pair(""), loops=[{"kind": "point", "frame1": "nope", "frame2": "a"}])
