"""What the reference parsers read and say nothing of: loaded and listed by default, refused with strict=True."""

from __future__ import annotations

import struct
from pathlib import Path

import mujoco
import numpy as np
import pytest

from sarrus.base.errors import ModelFileError, UnsupportedElementError
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from sarrus.model.formats.model_xml import parse_xml
from sarrus.model.mechanism.report import Outcome

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = (
    '<robot name="r">\n<link name="base"/>\n<link name="a">{inertial}{shape}</link>\n<joint name="q" type="continuous">'
    '<parent link="base"/><child link="a"/>{mimic}</joint>\n{more}\n</robot>'
)
SDF = (
    '<sdf version="1.9">\n<model name="m">\n<link name="a"/>\n<joint name="q" type="revolute"><parent>world</parent>'
    "<child>a</child><axis>{mimic}</axis></joint>\n{more}\n</model></sdf>"
)
MJCF = (
    '<mujoco>\n<asset>{asset}</asset>\n<worldbody>{world}<body name="a"><joint name="q"/>'
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>{geom}</body></worldbody>\n{more}\n</mujoco>'
)


def urdf(more: str = "", *, mimic: str = "", shape: str = "") -> str:
    return URDF.format(inertial=INERTIAL, shape=shape, mimic=mimic, more=more)


def read(folder: Path, name: str, content: str | bytes, **options: object) -> Mechanism:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(file, **options)


def told(mechanism: Mechanism, kind: str, outcome: Outcome) -> dict[str, str]:
    return {e.name: e.reason for e in mechanism.report if (e.kind, e.outcome) == (kind, outcome)}


# --- XML as TinyXML reads it -----------------------------------------------------------------------

PLAIN = {
    "m.urdf": urdf(),
    "m.sdf": SDF.format(mimic="", more=""),
    "m.xml": MJCF.format(asset="", world="", geom="", more=""),
}


@pytest.mark.parametrize("name", PLAIN)
def test_comments_with_dashes(name: str, tmp_path: Path) -> None:
    text = PLAIN[name].replace("\n", "\n<!-- a -- <joint> -->\n", 1).replace("\n", "\n<!---- b\n---->", 1)
    mechanism = read(tmp_path, name, text)
    assert [j.name for j in mechanism.joints()] == ["q"]
    assert told(mechanism, "XML", Outcome.ACTS) == {
        f"{name}, line 2": "'--' inside a comment",
        f"{name}, line 3": "'--' inside a comment",
    }
    with pytest.raises(ModelFileError, match=rf"{name}.*line 2': '--' inside a comment"):
        read(tmp_path, name, text, strict=True)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("blank", [b"\n\n", b" \t\r\n\n", b"\xef\xbb\xbf\n\n"])
def test_blank_lines_before_the_declaration(name: str, blank: bytes, tmp_path: Path) -> None:
    text = blank + b'<?xml version="1.0" encoding="utf-8"?>\n' + PLAIN[name].encode()
    mechanism = read(tmp_path, name, text)
    assert [j.name for j in mechanism.joints()] == ["q"]
    assert told(mechanism, "XML", Outcome.ACTS) == {
        f"{name}, line 3": "blank space before the XML declaration"
    }


@pytest.mark.parametrize("name", ["m.urdf", "m.sdf"])
def test_prefixes_that_nothing_declares(name: str, tmp_path: Path) -> None:
    last = "</robot>" if name == "m.urdf" else "</model>"
    text = PLAIN[name].replace(last, '<x:thing y:at="1"><joint name="q"/></x:thing>' + last)
    mechanism = read(tmp_path, name, text)
    line = text.count("\n", 0, text.index("<x:thing")) + 1
    assert {(e.name, e.reason) for e in mechanism.report if e.kind == "XML"} == {
        (f"{name}, line {line}", "the prefix 'x' is not declared"),
        (f"{name}, line {line}", "the prefix 'y' is not declared"),
    }
    declared = text.replace("<robot ", '<robot xmlns:x="u" xmlns:y="v" ').replace(
        "<sdf ", '<sdf xmlns:x="u" xmlns:y="v" '
    )
    assert not told(read(tmp_path, name, declared, strict=True), "XML", Outcome.ACTS)


def test_a_default_namespace_is_an_attribute_like_others(tmp_path: Path) -> None:
    assert [
        j.name for j in read(tmp_path, "m.urdf", urdf().replace("<robot ", '<robot xmlns="u" ')).joints()
    ] == ["q"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("\n\n<?xml version='1.0'?>\n<!-- a -- \n b -->\n<r>\n  <x:a>\n </r>", 8, 4),
        ("<r>\n<!-- open -- \n<a/>\n</r>", 2, 13),
        ("<r>\n<a b='<!-- -- -->'/>\n<c></r>", 2, 7),
        ("<r>\n<![CDATA[ <!-- -- ]]>\n<c></r>", 3, 6),
    ],
)
def test_places_in_errors_are_those_of_the_file(text: str, line: int, column: int, tmp_path: Path) -> None:
    file = tmp_path / "m.xml"
    file.write_text(text)
    with pytest.raises(ModelFileError, match=rf"malformed XML at line {line}, column {column}:"):
        parse_xml(file)


def test_cdata_and_instructions_keep_their_dashes(tmp_path: Path) -> None:
    file = tmp_path / "m.xml"
    file.write_text("<r><![CDATA[ <!-- a -- b --> ]]><?do <!-- -- ?></r>")
    odd: list[tuple[int, str]] = []
    assert parse_xml(file, odd).text == " <!-- a -- b --> "
    assert not odd


def test_many_open_comments_take_no_time(tmp_path: Path) -> None:
    file = tmp_path / "m.xml"
    file.write_text("<r>" + "<!-- " * 300_000)
    with pytest.raises(ModelFileError, match="malformed XML at line 1"):
        parse_xml(file)


# --- names of nothing ------------------------------------------------------------------------------

TRANSMISSION = '<transmission name="t"><joint name="qq"/><actuator name="m"/></transmission>'
ROS2 = '<ros2_control name="c"><joint name="qq"><command_interface name="effort"/></joint></ros2_control>'


@pytest.mark.parametrize(
    ("name", "text", "options", "entry"),
    [
        ("m.urdf", urdf(TRANSMISSION), {}, ("transmission", "t", "unknown movable joint 'qq'. Did you mean 'q'")),
        ("m.urdf", urdf(ROS2), {}, ("ros2_control", "qq", "unknown movable joint 'qq'. Did you mean 'q'")),
        ("m.urdf", urdf(mimic='<mimic joint="qq"/>'), {}, ("mimic", "q", "unknown joint 'qq'. Did you mean 'q'")),
        ("m.urdf", urdf(), {"loops": {"motors": ["qq"]}}, ("actuator", "qq", "unknown motor joint 'qq'")),
        (
            "m.urdf", urdf(), {"loops": {"joint_name": ["qq"], "joint_type": ["FIXED"]}},
            ("joint_name", "qq", "unknown joint 'qq'. Did you mean 'q'"),
        ),
        (
            "m.sdf", SDF.format(mimic='<mimic joint="qq"/>', more=""), {},
            ("mimic", "joint 'q': <axis>", "unknown joint 'qq'. Did you mean 'q'"),
        ),
    ],
)  # fmt: skip
def test_names_of_nothing_are_left_out(
    name: str, text: str, options: dict[str, object], entry: tuple[str, str, str], tmp_path: Path
) -> None:
    mechanism = read(tmp_path, name, text, **options)
    kind, element, reason = entry
    assert told(mechanism, kind, Outcome.LEFT_OUT)[element].startswith(reason)
    assert not mechanism.report.complete
    assert not {**mechanism.actuators, **mechanism.couplings}
    with pytest.raises(ModelFileError, match=reason) as caught:
        read(tmp_path, name, text, strict=True, **options)
    assert "q" in caught.value.valid


LOOP = (
    '<loop name="l" type="revolute"><predecessor link="base"/><successor link="zz"/></loop>'
    '<coupling name="c"><predecessor link="a"/><successor link="zz"/><ratio value="2"/></coupling>'
)


def test_a_closure_of_unknown_frames_stays_an_error(tmp_path: Path) -> None:
    loops = [{"name": "pin", "kind": "point", "frame1": "base", "frame2": "zz"}]
    for text, options in ((urdf(), {"loops": loops}), (urdf(LOOP), {})):
        for strict in (None, True):
            with pytest.raises(ModelFileError, match="unknown frame 'zz'"):
                read(tmp_path, "m.urdf", text, strict=strict, **options)
    assert "pin" in told(
        read(tmp_path, "m.urdf", urdf(), strict=False, loops=loops), "loop point", Outcome.LEFT_OUT
    )
    lenient = read(tmp_path, "m.urdf", urdf(LOOP), strict=False)
    assert "l" in told(lenient, "loop revolute", Outcome.LEFT_OUT)
    assert "c" in told(lenient, "coupling", Outcome.LEFT_OUT)


# --- what is only drawn ----------------------------------------------------------------------------

TRIANGLE = struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)
FILES = {
    "flat.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n",
    "ascii.stl": b"solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    b"endfacet\nendsolid x\n",
    "empty.stl": b"",
    "cut.stl": bytes(80) + struct.pack("<I", 9) + TRIANGLE,
    "one.stl": bytes(80) + struct.pack("<I", 1) + TRIANGLE,
    "noise.obj": b"hello\nf 1 2 9\n",
    "nan.obj": b"v 0 0 nan\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 2 4 3\n",
    "noise.msh": b"noise",
    "part.dae": b"<COLLADA/>",
}


@pytest.mark.parametrize("file", [*FILES, "nowhere.stl"])
@pytest.mark.parametrize("tag", ["visual", "collision"])
def test_meshes_that_cannot_be_read_are_set_aside_in_urdf(file: str, tag: str, tmp_path: Path) -> None:
    if file in FILES:
        (tmp_path / file).write_bytes(FILES[file])
    shape = f'<{tag}><geometry><mesh filename="{file}"/></geometry></{tag}>'
    for strict in (None, True):
        mechanism = read(tmp_path, "m.urdf", urdf(shape=shape), strict=strict)
        assert mechanism.bodies["a"].mass == 1.0
        assert not (*mechanism.geoms, *mechanism.bodies["a"].shapes)
        assert told(mechanism, "mesh", Outcome.ASIDE)


@pytest.mark.parametrize("file", [*FILES, "nowhere.stl"])
def test_meshes_that_cannot_be_read_are_set_aside_in_mjcf(file: str, tmp_path: Path) -> None:
    if file in FILES:
        (tmp_path / file).write_bytes(FILES[file])
    asset, geom = (
        f'<mesh name="part" file="{file}"/>',
        '<geom type="mesh" mesh="part"/><geom type="box" mesh="part"/>',
    )
    text = MJCF.format(asset=asset, world="", geom=geom, more="")
    mechanism = read(tmp_path, "m.xml", text)
    assert mechanism.bodies["a"].mass == 1.0
    assert not (*mechanism.geoms, *mechanism.bodies["a"].shapes)  # nor a box fitted to a placeholder
    assert "drawing and contact only" in told(mechanism, "mesh", Outcome.ASIDE)["part"]
    weighed = text.replace('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', "")
    asked = text.replace("<mujoco>", '<mujoco><compiler inertiafromgeom="true"/>')
    for needed in (weighed, asked):
        with pytest.raises(
            ModelFileError, match=r"mesh 'part'.*the inertia of body 'a' would be computed from it"
        ):
            read(tmp_path, "m.xml", needed)


@pytest.mark.parametrize(
    ("asset", "world", "kind", "label"),
    [
        (
            '<hfield name="h" file="none.png" size="1 1 1 1"/>',
            '<geom type="hfield" hfield="h"/>',
            "hfield",
            "h",
        ),
        (
            '<hfield name="h" file="none.bin" size="1 1 1 1"/>',
            '<geom type="hfield" hfield="h"/>',
            "hfield",
            "h",
        ),
        (
            '<hfield name="h" file="bad.png" size="1 1 1 1"/>',
            '<geom type="hfield" hfield="h"/>',
            "hfield",
            "h",
        ),
        ('<texture name="t" type="cube" fileup="none.png" filedown="other.png"/>', "", "texture", "t"),
        ('<texture name="t" type="2d" file="none.png"/>', "", "texture", "t"),
        ('<texture name="t" type="2d" file="bad.png"/>', "", "texture", "t"),
        ('<texture name="t" type="2d" file="bad.tif"/>', "", "texture", "t"),
        (
            '<texture name="t" type="skybox" file="none.png" gridsize="3 4" gridlayout=".U..LFRB.D.."/>',
            "",
            "texture",
            "t",
        ),
    ],
)
def test_height_fields_and_textures(asset: str, world: str, kind: str, label: str, tmp_path: Path) -> None:
    for name in ("bad.png", "bad.tif"):
        (tmp_path / name).write_bytes(b"no picture")
    mechanism = read(tmp_path, "m.xml", MJCF.format(asset=asset, world=world, geom="", more=""))
    assert [j.name for j in mechanism.joints()] == ["q"]
    assert label in told(mechanism, kind, Outcome.ASIDE)
    assert not mechanism.geoms


def test_an_error_of_something_else_with_the_name_of_an_asset_ends(tmp_path: Path) -> None:
    """MuJoCo names the element at fault and not its kind: nothing is replaced twice."""
    (tmp_path / "bad.png").write_bytes(b"no picture")
    asset = (
        '<texture name="s" type="2d" file="bad.png"/><hfield name="s" file="bad.png" size="1 1 1 1"/>'
        '<mesh name="s" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><texture name="t" builtin="flat" width="2" height="2"/>'
    )
    for name in ("s", "t"):
        sensor = f'<sensor><jointpos name="{name}" joint="nowhere"/></sensor>'
        with pytest.raises(ModelFileError, match="nowhere"):
            read(tmp_path, "m.xml", MJCF.format(asset=asset, world="", geom="", more=sensor))


def test_what_joins_is_refused_by_default_and_strictly(tmp_path: Path) -> None:
    text = PLAIN["m.sdf"].replace('type="revolute"', 'type="spiral"')
    for strict in (None, True):
        with pytest.raises(UnsupportedElementError, match="'spiral'"):
            read(tmp_path, "m.sdf", text, strict=strict)


def test_the_compiler_of_mujoco_has_no_placeholder_left(tmp_path: Path) -> None:
    """A massless body, an impossible inertia and a lost mesh in one file: the others are MuJoCo's own."""
    bodies = (
        '<body name="none"><joint/></body>'
        '<body name="odd"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/></body>'
        '<body name="good"><joint/><geom type="box" size="1 2 3"/><geom type="mesh" mesh="part" mass="0"/></body>'
    )
    text = MJCF.format(asset='<mesh name="part" file="nowhere.stl"/>', world=bodies, geom="", more="")
    mechanism = read(tmp_path, "m.xml", text)
    own = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><body><geom type="box" size="1 2 3"/></body></worldbody></mujoco>'
    )
    assert mechanism.bodies["good"].mass == own.body_mass[1]
    np.testing.assert_allclose(
        np.sort(np.diag(mechanism.bodies["good"].inertia)), np.sort(own.body_inertia[1]), rtol=1e-14
    )
    assert mechanism.bodies["none"].mass == 0.0
    np.testing.assert_array_equal(mechanism.bodies["odd"].inertia, np.diag([1, 1, 9]))


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
def test_a_ball_limited_to_no_angle_is_read_and_written(tmp_path: Path) -> None:
    first, second = tmp_path / "ball.xml", tmp_path / "again.xml"
    first.write_text(
        '<mujoco><worldbody><body><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
        '<joint name="k" type="ball" limited="true"/></body></worldbody></mujoco>'
    )
    load(first).to_mjcf(second)
    for file in (first, second):
        (ball,) = load(file).joints()
        assert ball.largest_angle == 0.0
