"""Every SDF row of docs/importers.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from importers_table import check_row, table_rows

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
BOX = "<geometry><box><size>1 1 1</size></box></geometry>"
AXIS = "<axis><xyz>0 1 0</xyz>{}</axis>"


def link(name: str, inside: str = "") -> str:
    return f'<link name="{name}">{inside}</link>'


def joint(name: str, parent: str, child: str, inside: str = "", kind: str = "revolute") -> str:
    axis = "" if "<axis>" in inside else AXIS.format("")
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{axis}{inside}</joint>'


def hinge(axis: str = "", more: str = "", inside: str = "") -> str:
    """A link on a hinge, with something in its axis, beside it, and in the link."""
    return link("a", inside) + joint("j", "world", "a", AXIS.format(axis)) + more


def marks(name: str, closing: str = "") -> str:
    """A link b on a hinge, frames closing_NAME_1 on a and closing_NAME_2 on b, perhaps a joint that closes the loop."""
    frames = "".join(
        f'<frame name="closing_{name}_{end}"><pose relative_to="{on}">1 0 0 0 0 0</pose></frame>'
        for end, on in ((1, "a"), (2, "b"))
    )
    ends = "<parent>a</parent><child>b</child>"
    return link("b") + joint("k", "world", "b") + frames + closing.format(ends)


ENDS = (("world", "a"), ("a", "b"), ("world", "b"))
RING = link("a") + link("b") + "".join(joint(f"j{k}", *ends, AXIS) for k, ends in enumerate(ENDS, start=1))
DAMPED = "<dynamics><damping>1</damping></dynamics>"
GEARS = (
    link("g") + link("h") + joint("jg", "a", "g") + joint("jh", "a", "h")
    + joint("box", "g", "h", AXIS.format("") + "<axis2><xyz>0 1 0</xyz></axis2><gearbox_reference_body>a"
            "</gearbox_reference_body><gearbox_ratio>2</gearbox_ratio>", "gearbox")
)  # fmt: skip
TWO = link("b") + joint("k", "a", "b", AXIS.format('<mimic joint="{}"><multiplier>2</multiplier></mimic>'))
INERTIA = "<inertial{}><inertia><ixx>{}</ixx></inertia>{}</inertial>"

# id → (content of the model, kind and name of the report's entry)
SNIPPETS: dict[str, tuple[str, str, str]] = {
    "sdf-revolute": (hinge(), "joint", "j"),
    "sdf-loop": (RING.replace("{}", ""), "joint", "j2"),
    "sdf-cut-loss": (RING.replace("{}", DAMPED), "joint", "j2"),
    "sdf-free": (link("a"), "free joint", "m"),
    "sdf-static": (hinge(more=f'<model name="post"><static>true</static>{link("p")}</model>'), "model", "post"),
    "sdf-mimic": (hinge(more=TWO.format("j")), "mimic", "k.mimic"),
    "sdf-mimic-dangling": (hinge(more=TWO.format("jj")), "mimic", "joint 'k': <axis>"),
    "sdf-mimic-lost": (
        hinge(more=link("b") + joint("k", "a", "b", AXIS.format('<mimic joint="j"/>'), "fixed")), "mimic", "k/axis"
    ),
    "sdf-gearbox": (hinge(more=GEARS), "gearbox", "box"),
    "sdf-unknown-joint": (hinge(more=link("b") + joint("k", "a", "b", kind="spiral")), "joint", "k"),
    "sdf-include": (hinge(more="<include><uri>part.sdf</uri></include>"), "include", "part.sdf"),
    "sdf-merge": (hinge(more='<include merge="true"><uri>part.sdf</uri></include>'), "include", "part.sdf"),
    "sdf-inertial": (hinge(), "link", "a"),
    "sdf-auto": (
        hinge(inside=f'<inertial auto="true"/><collision name="c">{BOX}</collision>'), "link", "a"
    ),
    "sdf-auto-mesh": (
        hinge(inside='<inertial auto="true"/><collision name="c"><geometry><mesh/></geometry></collision>'),
        "inertial", "a/c",
    ),
    "sdf-odd-inertia": (hinge(inside=INERTIA.format("", 9, "")), "inertia", "a"),
    "sdf-friction": (hinge("<dynamics><friction>1</friction></dynamics>"), "joint friction", "j"),
    "sdf-velocity": (hinge("<limit><velocity>1</velocity></limit>"), "axis velocity", "j"),
    "sdf-effort": (hinge("<limit><effort>1</effort></limit>"), "axis effort", "j"),
    "sdf-ball-axis": (
        link("a") + joint("j", "world", "a", AXIS.format("<limit><lower>-1</lower></limit>"), "ball"),
        "axis limits", "j",
    ),
    "sdf-marked": (hinge(more=marks("pin")), "loop", "pin"),
    "sdf-mark-carrier": (hinge(more=marks("pin", "<joint name='z' type='ball'>{}</joint>")), "frame", "closing_pin_1"),
    "sdf-plugin": (
        hinge(more=link("b") + '<plugin name="p"><parent_link>a</parent_link><child_link>b</child_link></plugin>'),
        "plugin", "p",
    ),
    "sdf-wrong-place": (hinge("<lower>-1</lower>"), "axis lower", "j/lower"),
    "sdf-outside": (hinge(inside="<velocity_decay><linear>1</linear></velocity_decay>"), "<velocity_decay>", "a"),
    "sdf-initial-position": (hinge("<initial_position>1</initial_position>"), "axis initial_position", "j"),
    "sdf-link-gravity": (hinge(inside="<gravity>false</gravity>"), "link gravity", "a"),
    "sdf-kinematic": (hinge(inside="<kinematic>true</kinematic>"), "link kinematic", "a"),
    "sdf-added-mass": (
        hinge(inside=INERTIA.format("", 1, "<fluid_added_mass/>")), "link fluid_added_mass", "a"
    ),
    "sdf-collision": (hinge(inside=f'<collision name="c">{BOX}</collision>'), "collision", "a/c"),
    "sdf-visual": (hinge(inside=f'<visual name="v">{BOX}</visual>'), "visual", "a/v"),
    "sdf-frame": (hinge(more='<frame name="f"/>'), "frame", "f"),
    "sdf-imu": (hinge(inside='<sensor name="imu" type="imu"/>'), "link sensor", "a/imu"),
    "sdf-sensor": (hinge(inside='<sensor name="eye" type="camera"/>'), "link sensor", "a/eye"),
    "sdf-light": (hinge(inside='<light name="l"/>'), "link light", "a/l"),
    "sdf-xml": (hinge(more="<!-- a -- b -->"), "XML", "m.sdf, line 1"),
}  # fmt: skip


def test_table_and_snippets_agree() -> None:
    assert set(table_rows("sdf-")) == set(SNIPPETS)


@pytest.mark.parametrize("row", SNIPPETS)
def test_row_of_the_table(row: str, tmp_path: Path) -> None:
    body, kind, name = SNIPPETS[row]
    file = tmp_path / "m.sdf"
    file.write_text(f'<sdf version="1.11"><model name="m">{body}</model></sdf>')
    (tmp_path / "part.sdf").write_text(f'<sdf version="1.11"><model name="part">{link("p")}</model></sdf>')
    check_row(file, table_rows("sdf-")[row], kind, name)
