"""SDF: inertia from collisions, and included models that are merged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sarrus.base.errors import ModelError, UnsupportedElementError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from sarrus.model.mechanism.report import Outcome

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")


def read(folder: Path, name: str, content: str, **options: object) -> Mechanism:
    file = folder / name
    file.write_text(content)
    return load(file, **options)


def told(mechanism: Mechanism, kind: str, outcome: Outcome) -> dict[str, str]:
    return {e.name: e.reason for e in mechanism.report if (e.kind, e.outcome) == (kind, outcome)}


SHAPES = {
    "box": ("<box><size>0.2 0.4 0.6</size></box>", '<geom type="box" size="0.1 0.2 0.3" {}/>'),
    "sphere": ("<sphere><radius>0.3</radius></sphere>", '<geom type="sphere" size="0.3" {}/>'),
    "cylinder": (
        "<cylinder><radius>0.1</radius><length>0.5</length></cylinder>", '<geom type="cylinder" size="0.1 0.25" {}/>'
    ),
    "capsule": (
        "<capsule><radius>0.1</radius><length>0.5</length></capsule>", '<geom type="capsule" size="0.1 0.25" {}/>'
    ),
    "ellipsoid": (
        "<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>", '<geom type="ellipsoid" size="0.1 0.2 0.3" {}/>'
    ),
}  # fmt: skip
AUTO = (
    '<sdf version="1.11"><model name="m"><link name="a"><inertial auto="true">{inertial}</inertial>{collisions}</link>'
    "</model></sdf>"
)


def collision(name: str, geometry: str, more: str = "") -> str:
    pose = "<pose>0.1 0.2 -0.3 0.4 -0.5 0.6</pose>"
    return f'<collision name="{name}">{pose}<geometry>{geometry}</geometry>{more}</collision>'


@pytest.mark.parametrize("shape", SHAPES)
def test_inertia_from_a_collision_is_mujocos(shape: str, tmp_path: Path) -> None:
    sdf, geom = SHAPES[shape]
    body = read(tmp_path, "m.sdf", AUTO.format(inertial="", collisions=collision("c", sdf))).bodies["a"]
    placed = geom.format('pos="0.1 0.2 -0.3" euler="0.4 -0.5 0.6"')
    compiler = '<compiler angle="radian" eulerseq="XYZ" autolimits="true"/>'
    other = read(
        tmp_path,
        "m.xml",
        f'<mujoco>{compiler}<worldbody><body name="a"><freejoint/>{placed}</body></worldbody></mujoco>',
    )
    expected = other.bodies["a"]
    assert body.mass == pytest.approx(expected.mass, rel=1e-14)
    np.testing.assert_allclose(body.com, expected.com, atol=1e-15)
    np.testing.assert_allclose(body.inertia, expected.inertia, atol=1e-13 * np.abs(expected.inertia).max())


def test_densities_and_several_collisions(tmp_path: Path) -> None:
    """Two unlike boxes of one solid bar add up to it; densities of collision, inertial, and water in this order."""
    half = "<box><size>0.5 0.1 0.2</size></box>"
    parts = "".join(
        f'<collision name="{name}"><pose>{x} 0 0 0 0 0</pose><geometry>{half}</geometry>{density}</collision>'
        for name, x, density in (("l", -0.25, ""), ("r", 0.25, "<density>500</density>"))
    )
    body = read(tmp_path, "m.sdf", AUTO.format(inertial="<density>500</density>", collisions=parts)).bodies[
        "a"
    ]
    assert body.mass == pytest.approx(10.0, rel=1e-14)
    np.testing.assert_allclose(body.com, 0.0, atol=1e-16)
    squares = np.array([1.0, 0.1, 0.2]) ** 2
    np.testing.assert_allclose(
        body.inertia, np.diag(10.0 / 12.0 * (squares.sum() - squares)), rtol=1e-13, atol=1e-15
    )
    two = read(tmp_path, "m.sdf", AUTO.format(inertial="", collisions=parts)).bodies["a"]
    assert two.mass == pytest.approx(15.0, rel=1e-14)
    assert two.com[0] == pytest.approx(-0.25 / 3.0, rel=1e-14)


def test_a_cone_by_its_slices(tmp_path: Path) -> None:
    cone = '<collision name="c"><geometry><cone><radius>0.3</radius><length>0.8</length></cone></geometry></collision>'
    body = read(tmp_path, "m.sdf", AUTO.format(inertial="", collisions=cone)).bodies["a"]
    z = (np.arange(200_000) + 0.5) / 200_000 * 0.8 - 0.4
    radius = 0.3 * (0.4 - z) / 0.8
    weight = 1000.0 * np.pi * radius**2 * 0.8 / 200_000
    centre = weight @ z / weight.sum()
    across = weight @ (radius**2 / 4.0 + (z - centre) ** 2)
    assert body.mass == pytest.approx(weight.sum(), rel=1e-9)
    np.testing.assert_allclose(body.com, [0, 0, centre], atol=1e-9)
    np.testing.assert_allclose(
        body.inertia, np.diag([across, across, weight @ radius**2 / 2.0]), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("collisions", "element"),
    [
        (collision("c", "<mesh><uri>part.stl</uri></mesh>"), "a/c"),
        (collision("c", "<plane/>"), "a/c"),
        (collision("c", SHAPES["box"][0], "<density>-1</density>"), "a/c"),
        ("", "a"),
    ],
)
def test_inertia_that_cannot_be_computed_is_refused(collisions: str, element: str, tmp_path: Path) -> None:
    text = AUTO.format(inertial="", collisions=collisions)
    with pytest.raises(
        UnsupportedElementError, match=r'<inertial auto="true">.*give the link a <mass>'
    ) as caught:
        read(tmp_path, "m.sdf", text)
    assert caught.value.element == element
    assert element in told(read(tmp_path, "m.sdf", text, strict=False), "inertial", Outcome.LEFT_OUT)


def test_numbers_beside_auto_are_told(tmp_path: Path) -> None:
    text = AUTO.format(inertial="<mass>7</mass>", collisions=collision("c", SHAPES["box"][0]))
    mechanism = read(tmp_path, "m.sdf", text)
    assert mechanism.bodies["a"].mass == pytest.approx(48.0)
    assert told(mechanism, "inertial", Outcome.ASIDE) == {"a": "auto: <mass> beside it not used"}


ARM = (
    '<sdf version="1.9"><model name="arm" canonical_link="lower"><static>true</static><pose>9 9 9 0 0 0</pose>'
    '<link name="upper"/><link name="lower"><pose relative_to="elbow">0.5 0 0 0 0 0</pose></link>'
    '<frame name="tip"><pose>0 0 1 0 0 0</pose></frame><frame name="on_lower" attached_to="lower"/>'
    '<joint name="elbow" type="revolute"><pose relative_to="__model__">0 1 0 0 0 0</pose><parent>upper</parent>'
    '<child>lower</child><axis><xyz expressed_in="__model__">0 0 1</xyz></axis></joint>'
    '<model name="hand"><pose>0 0 2 0 0 0</pose><link name="palm"/></model>'
    '<joint name="wrist" type="fixed"><parent>lower</parent><child>hand::palm</child></joint></model></sdf>'
)


def test_a_merged_include_is_written_out(tmp_path: Path) -> None:
    """The same model written by hand: poses, names, joints, the canonical link and a free joint."""
    (tmp_path / "arm.sdf").write_text(ARM)
    outer = (
        '<sdf version="1.9"><model name="robot"><frame name="mount"><pose>1 2 3 0 0 1.2</pose></frame>'
        '<include merge="true"><uri>arm.sdf</uri>{pose}{more}</include>'
        '<joint name="hold" type="revolute"><parent>world</parent><child>upper</child><axis><xyz>0 1 0</xyz>'
        '<mimic joint="elbow"/></axis></joint><frame name="far" attached_to="hand::palm">'
        '<pose relative_to="_merged__arm__model__">0 0 0.5 0 0 0</pose></frame></model></sdf>'
    )
    by_hand = (
        '<sdf version="1.9"><model name="robot"><frame name="mount"><pose>1 2 3 0 0 1.2</pose></frame>'
        '<frame name="proxy" attached_to="lower"><pose relative_to="{relative}">{place}</pose></frame>'
        '<link name="upper"><pose relative_to="proxy"/></link>'
        '<link name="lower"><pose relative_to="elbow">0.5 0 0 0 0 0</pose></link>'
        '<frame name="tip" attached_to="proxy"><pose>0 0 1 0 0 0</pose></frame>'
        '<frame name="on_lower" attached_to="lower"/>'
        '<joint name="elbow" type="revolute"><pose relative_to="proxy">0 1 0 0 0 0</pose><parent>upper</parent>'
        '<child>lower</child><axis><xyz expressed_in="proxy">0 0 1</xyz></axis></joint>'
        '<model name="hand"><pose relative_to="proxy">0 0 2 0 0 0</pose><link name="palm"/></model>'
        '<joint name="wrist" type="fixed"><parent>lower</parent><child>hand::palm</child></joint>'
        '<joint name="hold" type="revolute"><parent>world</parent><child>upper</child><axis><xyz>0 1 0</xyz>'
        '<mimic joint="elbow"/></axis></joint><frame name="far" attached_to="hand::palm">'
        '<pose relative_to="proxy">0 0 0.5 0 0 0</pose></frame></model></sdf>'
    )
    for pose, more, relative, place in (
        ("<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>", "", "__model__", "0.1 0.2 0.3 0.4 0.5 0.6"),
        ('<pose relative_to="mount">0.1 0 0 0 0 0.5</pose>', "", "mount", "0.1 0 0 0 0 0.5"),
        # the elbow sits where the pose says: the model's frame is one metre below it
        ("<pose>1 1 1 0 0 0</pose>", "<placement_frame>elbow</placement_frame>", "__model__", "1 0 1 0 0 0"),
    ):
        merged = read(tmp_path, "m.sdf", outer.format(pose=pose, more=more))
        written = read(tmp_path, "h.sdf", by_hand.format(relative=relative, place=place))
        assert set(merged.bodies) == set(written.bodies) == {"upper", "lower", "hand::palm"}
        assert [j.name for j in merged.joints()] == [j.name for j in written.joints()] == ["hold", "elbow"]
        assert list(merged.couplings) == ["hold.mimic"]
        for body in merged.bodies:
            one, two = merged.reference_pose(body), written.reference_pose(body)
            np.testing.assert_allclose(one.position, two.position, atol=1e-14)
            np.testing.assert_allclose(one.rotation, two.rotation, atol=1e-14)
        for one, two in zip(merged.joints(), written.joints(), strict=True):
            np.testing.assert_allclose(one.axis, two.axis, atol=1e-14)
        for frame in ("tip", "on_lower", "far", "mount"):
            assert merged.frames[frame][0] == written.frames[frame][0]
            np.testing.assert_allclose(
                merged.frames[frame][1].position, written.frames[frame][1].position, atol=1e-14
            )
        assert "arm.sdf" in told(merged, "include", Outcome.ACTS)


def test_names_of_a_merged_model_are_unique_and_known(tmp_path: Path) -> None:
    (tmp_path / "arm.sdf").write_text(ARM)
    include = '<include merge="true"><uri>arm.sdf</uri></include>'
    with pytest.raises(ModelError, match="the name 'upper' is given to a link and to a link"):
        read(
            tmp_path,
            "m.sdf",
            f'<sdf version="1.9"><model name="r"><link name="upper"/>{include}</model></sdf>',
        )
    with pytest.raises(ModelError, match="the name 'upper' is given to a link and to a link"):
        read(
            tmp_path,
            "m.sdf",
            f'<sdf version="1.9"><model name="r">{include}<link name="upper"/></model></sdf>',
        )
    floating = read(
        tmp_path, "m.sdf", f'<sdf version="1.9"><model name="r">{include}<link name="z"/></model></sdf>'
    )
    assert floating.bodies["upper"].joints[0].name == "r"  # the first link is the canonical one
    wrong = f'<sdf version="1.9"><model name="r">{include}<frame name="f" attached_to="uper"/></model></sdf>'
    with pytest.raises(ModelError, match=r"'uper'\. Did you mean 'upper'"):
        read(tmp_path, "m.sdf", wrong)
    with pytest.raises(UnsupportedElementError, match="merged into a world, which holds no links"):
        read(tmp_path, "m.sdf", f'<sdf version="1.9"><world name="w">{include}</world></sdf>')
