"""MJCF files: every row of the table in docs/importers.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from importers_table import check_row, table_rows
from mjcf_models import FIXED, INERTIA, PAIR, on_pair, single, world

FREE = f'<body name="f">{INERTIA}<freejoint name="fr"/></body>'
BALL = f'<body name="bb">{INERTIA}<joint name="bl" type="ball"/></body>'
CLOTH = '<flexcomp name="cloth" type="grid" count="2 2 1" spacing=".1 .1 .1" mass="1"'
SPATIAL = '<tendon><spatial name="t" {}><site site="s"/><site site="r"/></spatial></tendon>'

# id → (model, kind and name of the report's entry)
SNIPPETS: dict[str, tuple[str, str, str]] = {
    "hinge": (single('<joint name="j"/>'), "joint", "j"),
    "slide": (single('<joint name="j" type="slide"/>'), "joint", "j"),
    "ball": (world(BALL), "joint", "bl"),
    "free": (world(FREE), "joint", "fr"),
    "series": (single('<joint name="x"/><joint name="y" axis="0 1 0"/>'), "joint", "y"),
    "fixed-body": (single('<joint name="j"/>', '<body name="tip" pos="0 0 1"/>'), "body", "tip"),
    "massless": (
        world(
            f'<body name="rod"><joint name="j"/><body name="b">{INERTIA}<joint axis="1 0 0"/></body></body>'
        ),
        "body",
        "rod",
    ),
    "mocap": (world('<body name="hand" mocap="true"/>' + PAIR), "mocap body", "hand"),
    "gravcomp": (
        world(f'<body name="a" gravcomp="1">{INERTIA}<joint name="j"/></body>'),
        "gravity compensation",
        "a",
    ),
    "polynomial": (single('<joint name="j" stiffness="1 2 3"/>'), "joint spring", "j"),
    "frictionloss": (single('<joint name="j" frictionloss="0.1"/>'), "joint friction", "j"),
    "range": (single('<joint name="j" range="-10 20"/>'), "joint limits", "j"),
    "limit-margin": (single('<joint name="j" range="-10 20" margin="0.1"/>'), "joint limits", "j"),
    "ball-range": (single('<joint name="j" type="ball" range="0 20"/>'), "joint limits", "j"),
    "keyframe": (
        on_pair('<keyframe><key name="home" time="3" qpos="1 2" qvel="1 0"/></keyframe>'),
        "keyframe",
        "home",
    ),
    "keyframe-lost": (
        on_pair(
            '<actuator><muscle name="u" joint="j" lengthrange="0 1"/></actuator>'
            '<keyframe><key name="home" act="0.5"/></keyframe>'
        ),
        "keyframe",
        "home",
    ),
    "keyframe-mocap": (
        world(
            '<body name="hand" mocap="true"/>' + PAIR, '<keyframe><key name="up" mpos="0 0 1"/></keyframe>'
        ),
        "keyframe",
        "up",
    ),
    "connect": (
        on_pair('<equality><connect name="c" site1="s" site2="r"/></equality>'),
        "equality connect",
        "c",
    ),
    "weld": (on_pair('<equality><weld name="w" body1="a" body2="b"/></equality>'), "equality weld", "w"),
    "weld-point": (
        on_pair('<equality><weld name="w" body1="a" body2="b" torquescale="0"/></equality>'),
        "equality weld",
        "w",
    ),
    "equality-joint": (
        on_pair('<equality><joint name="e" joint1="j" joint2="k"/></equality>'),
        "equality joint",
        "e",
    ),
    "equality-tendon": (
        on_pair(f'{FIXED}</tendon><equality><tendon name="e" tendon1="t"/></equality>'),
        "equality tendon",
        "e",
    ),
    "equality-rod": (
        on_pair(SPATIAL.format("") + '<equality><tendon name="e" tendon1="t"/></equality>'),
        "equality tendon",
        "e",
    ),
    "equality-spatial": (
        on_pair(
            '<tendon><spatial name="t"><site site="s"/><site site="m"/><site site="r"/></spatial></tendon>'
            '<equality><tendon name="e" tendon1="t"/></equality>'
        ),
        "equality tendon",
        "e",
    ),
    "equality-tendon-polynomial": (
        on_pair(
            f'{FIXED}<fixed name="u"><joint joint="k" coef="1"/></fixed></tendon>'
            '<equality><tendon name="e" tendon1="u" tendon2="t" polycoef="0 1 1 0 0"/></equality>'
        ),
        "equality tendon",
        "e",
    ),
    "equality-flex": (
        world(PAIR + f'<body name="cloth">{CLOTH}><edge equality="true"/></flexcomp></body>'),
        "equality flex",
        "flex_0",
    ),
    "equality-self": (
        on_pair('<equality><connect name="e" site1="r" site2="m"/></equality>'),
        "equality connect",
        "e",
    ),
    "marked-loop": (
        world(PAIR.replace('"s"', '"closing_pin_1"').replace('"r"', '"closing_pin_2"')),
        "loop",
        "pin",
    ),
    "equality-inactive": (
        on_pair('<equality><weld name="w" body1="a" body2="b" active="false"/></equality>'),
        "equality weld",
        "w",
    ),
    "softness": (
        on_pair('<equality><weld name="w" body1="a" body2="b" solref="0.002 1"/></equality>'),
        "equality weld",
        "w",
    ),
    "fixed-tendon": (on_pair(FIXED.replace('"t"', '"t" stiffness="3"') + "</tendon>"), "fixed tendon", "t"),
    "spatial-tendon": (on_pair(SPATIAL.format('stiffness="3"')), "spatial tendon", "t"),
    "rigid-tendon": (
        on_pair(
            '<tendon><spatial name="t" stiffness="3"><site site="r"/><site site="m"/></spatial></tendon>'
        ),
        "spatial tendon",
        "t",
    ),
    "idle-tendon": (on_pair(SPATIAL.format("")), "spatial tendon", "t"),
    "wrapped-tendon": (
        world(
            PAIR + '<geom name="ball" size="0.1"/>',
            '<tendon><spatial name="t" damping="1"><site site="s"/><geom geom="ball" sidesite="m"/>'
            '<site site="r"/></spatial></tendon>',
        ),
        "spatial tendon",
        "t",
    ),
    "pulley-tendon": (
        on_pair(
            '<tendon><spatial name="t" stiffness="1"><site site="s"/><site site="m"/><pulley divisor="2"/>'
            '<site site="m"/><site site="s"/></spatial></tendon>'
        ),
        "spatial tendon",
        "t",
    ),
    "tendon-armature": (on_pair(SPATIAL.format('armature="3"')), "spatial tendon", "t"),
    "tendon-range": (on_pair(SPATIAL.format('range="0 5"')), "tendon range", "t"),
    "tendon-friction": (on_pair(SPATIAL.format('frictionloss="5"')), "tendon friction", "t"),
    "tendon-force": (on_pair(SPATIAL.format('stiffness="3" actuatorfrcrange="-2 5"')), "spatial tendon", "t"),
    "motor": (on_pair('<actuator><motor name="u" joint="j" gear="3"/></actuator>'), "actuator", "u"),
    "motor-ball": (
        world(BALL, '<actuator><motor name="u" joint="bl" gear="1 2 3"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-free": (
        world(FREE, '<actuator><motor name="u" joint="fr" gear="1 2 3 4 5 6"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-tendon": (
        on_pair(f'{FIXED}</tendon><actuator><motor name="u" tendon="t"/></actuator>'),
        "actuator",
        "u",
    ),
    "position": (on_pair('<actuator><position name="u" joint="j" kp="10"/></actuator>'), "actuator", "u"),
    "actuator-damping": (
        on_pair('<actuator><motor name="u" joint="j" damping="1"/></actuator>'),
        "actuator damping",
        "u",
    ),
    "filter": (
        on_pair('<actuator><position name="u" joint="j" kp="1" timeconst="0.1"/></actuator>'),
        "actuator",
        "u",
    ),
    "dcmotor": (
        on_pair(
            '<actuator><dcmotor name="u" joint="j" motorconst="1" resistance="1" inductance="1"/></actuator>'
        ),
        "actuator",
        "u",
    ),
    "dcmotor-more": (
        on_pair(
            '<actuator><dcmotor name="u" joint="j" motorconst="1" resistance="1" cogging="1 3"/></actuator>'
        ),
        "actuator",
        "u",
    ),
    "integrator": (
        on_pair('<actuator><intvelocity name="u" joint="j" kp="1" actrange="-1 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "servo-ball": (
        world(BALL, '<actuator><position name="u" joint="bl" kp="1"/></actuator>'),
        "actuator",
        "u",
    ),
    "jointinparent-ball": (
        world(BALL, '<actuator><motor name="u" jointinparent="bl" gear="1 0 0"/></actuator>'),
        "actuator",
        "u",
    ),
    "damper": (
        on_pair('<actuator><damper name="u" joint="j" kv="1" ctrlrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "muscle": (
        on_pair('<actuator><muscle name="u" joint="j" lengthrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "plugin-actuator": (
        on_pair('<actuator><plugin name="u" joint="j" plugin="mujoco.pid"/></actuator>').replace(
            "<mujoco>", '<mujoco><extension><plugin plugin="mujoco.pid"/></extension>'
        ),
        "actuator",
        "u",
    ),
    "motor-site": (
        on_pair('<actuator><motor name="u" site="s" gear="0 0 1 0 0 0"/></actuator>'),
        "actuator",
        "u",
    ),
    "slider-crank": (
        on_pair('<actuator><motor name="u" cranksite="s" slidersite="r" cranklength="9"/></actuator>'),
        "actuator",
        "u",
    ),
    "adhesion": (
        on_pair('<actuator><adhesion name="u" body="a" ctrlrange="0 1"/></actuator>'),
        "actuator",
        "u",
    ),
    "motor-spatial": (
        on_pair(SPATIAL.format("") + '<actuator><motor name="u" tendon="t"/></actuator>'),
        "actuator",
        "u",
    ),
    "actuator-disabled": (
        '<mujoco><option actuatorgroupdisable="1"/>'
        f'<worldbody>{PAIR}</worldbody><actuator><motor name="u" joint="j" group="1"/></actuator></mujoco>',
        "actuator",
        "u",
    ),
    "contact": (single('<joint name="j"/><geom size="0.1"/>'), "contact geometry", "1 geoms"),
    "pair": (on_pair('<contact><exclude body1="a" body2="b"/></contact>'), "contact exclude", "1"),
    "contact-disabled": (
        single('<joint name="j"/><geom size="0.1"/>').replace(
            "<mujoco>", '<mujoco><option><flag contact="disable"/></option>'
        ),
        "contact geometry",
        "1 geoms",
    ),
    "contact-surface": (
        single('<joint name="j"/><geom name="belt" size="0.1" surfacevel="1 0 0"/>'),
        "contact geometry",
        "belt",
    ),
    "contact-softness": (
        single('<joint name="j"/><geom name="pad" size="0.1" solref="0.01 1"/>'),
        "contact softness",
        "pad",
    ),
    "sensor": (on_pair('<sensor><jointpos joint="j"/></sensor>'), "sensor", "sensor_0"),
    "sensor-contact": (on_pair('<sensor><touch name="sole" site="m"/></sensor>'), "sensor", "sole"),
    "sensor-disabled": (
        on_pair('<option><flag sensor="disable"/></option><sensor><jointpos joint="j"/></sensor>'),
        "sensor",
        "sensor_0",
    ),
    "camera": (world(PAIR + '<camera name="c"/>'), "camera", "1"),
    "light": (world(PAIR + "<light/>"), "light", "1"),
    "material": (on_pair('<asset><material name="steel"/></asset>'), "material", "1"),
    "skin-custom": (on_pair('<custom><numeric name="n" data="1"/></custom>'), "custom numeric", "1"),
    "flex": (
        world(PAIR + f'<body name="cloth">{CLOTH}><contact selfcollide="none"/></flexcomp></body>'),
        "flex",
        "1",
    ),
    "fluid": (f'<mujoco><option density="1.2"/><worldbody>{PAIR}</worldbody></mujoco>', "fluid", "density"),
    "missing-mesh": (
        '<mujoco><asset><mesh name="part" file="nowhere.stl"/></asset>'
        f'<worldbody><body name="a">{INERTIA}<joint/><geom type="mesh" mesh="part"/></body></worldbody>'
        "</mujoco>",
        "mesh",
        "part",
    ),
    "hfield": (
        '<mujoco><asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>'
        f'<worldbody>{PAIR}<geom type="hfield" hfield="h"/></worldbody></mujoco>',
        "geom",
        "1 hfield",
    ),
    "odd-inertia": (
        world('<body name="a"><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body>'),
        "inertia",
        "a",
    ),
}


def test_table_and_snippets_agree() -> None:
    assert set(table_rows(None)) == set(SNIPPETS)


@pytest.mark.parametrize("row", SNIPPETS)
def test_row_of_the_table(row: str, tmp_path: Path) -> None:
    xml, kind, name = SNIPPETS[row]
    file = tmp_path / "model.xml"
    file.write_text(xml)
    check_row(file, table_rows(None)[row], kind, name)
