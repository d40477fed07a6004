"""What an MJCF file says of joints, tendons and actuators: as in MuJoCo, in numbers, or named in the report."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from sarrus.model.mechanism.report import Outcome

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
MUJOCO = int(mujoco.__version__.split(".")[0])
VELOCITY = "vel" if MUJOCO >= 4 else "velocity"
INERTIA = '<inertial pos="0.1 0.02 0.05" mass="1" diaginertia="0.1 0.2 0.25"/>'
TENDONS = (
    '<tendon><fixed name="t" {}><joint joint="j" coef="1.5"/><joint joint="k" coef="-0.5"/></fixed>'
    '<spatial name="sp" {}><site site="s"/><site site="w"/></spatial></tendon>'
)


def model(
    outside: str = "", option: str = "", hinge: str = "", slide: str = "", ball: str = "", body: str = ""
) -> str:
    """A hinge j, a slide k on it, a ball joint bl beside them, with sites; more attributes where they are given."""
    return (
        f'<mujoco>{option}<worldbody><body name="a" pos="0.1 0 0">{INERTIA}<joint name="j" axis="0 1 0.2" {hinge}/>'
        f'<site name="s" pos="0.2 0 0.1"/><body name="b" pos="0.5 0 0" {body}>{INERTIA}'
        f'<joint name="k" type="slide" axis="1 0 0.3" {slide}/><site name="m" pos="0.1 0.1 0"/></body></body>'
        f'<body name="c" pos="0 1 0">{INERTIA}<joint name="bl" type="ball" {ball}/></body>'
        f'<site name="w" pos="0 0.3 0.4"/></worldbody>{outside}</mujoco>'
    )


def actuators(inside: str) -> str:
    return model(f"<actuator>{inside}</actuator>")


AS_IN_MUJOCO = {
    "springs and dampers of all orders": model(
        hinge='damping="1 2 3" springref="20"', slide='stiffness="3 1"'
    ),
    "springdamper": model(hinge='springdamper="0.1 1"'),
    "armature": model(hinge='armature="0.3"', slide='armature="2"', ball='armature="0.1"'),
    "ball springs": model(ball='stiffness="3" damping="0.5"'),
    "motor": actuators('<motor joint="j" gear="3" ctrlrange="-1 1" forcerange="-2 2"/>'),
    "position": actuators('<position joint="j" kp="10" kv="2" ctrlrange="-1 1"/>'),
    "position with a lag": actuators('<position joint="k" kp="10" dampratio="1" timeconst="0.1"/>'),
    "position in the joint's range": model(
        '<actuator><position joint="j" kp="3" inheritrange="1"/></actuator>', hinge='range="-90 90"'
    ),
    "velocity": actuators('<velocity joint="j" kv="4" gear="2"/>'),
    "intvelocity": actuators('<intvelocity joint="k" kp="4" actrange="-1 1"/>'),
    "damper": actuators('<damper joint="j" kv="3" ctrlrange="0 1"/>'),
    "cylinder": actuators('<cylinder joint="k" timeconst="0.2" area="0.5" bias="1 -2 -3"/>'),
    "cylinder by diameter": actuators('<cylinder joint="k" timeconst="0.2" diameter="0.5"/>'),
    "general, filterexact": actuators(
        '<general joint="j" dyntype="filterexact" dynprm="0.1" gainprm="3" biastype="affine" biasprm="1 2 3"/>'
    ),
    "general, integrator": actuators('<general joint="j" dyntype="integrator" gainprm="3"/>'),
    "general, affine gain": actuators(
        '<general joint="j" gaintype="affine" gainprm="3 1 2" biastype="affine" biasprm="0 1 2"/>'
    ),
    "dcmotor": actuators(
        '<dcmotor joint="j" motorconst="0.5" resistance="2" gear="3" saturation="0.2 2 0"/>'
    ),
    "dcmotor by nominal data": actuators('<dcmotor joint="k" nominal="12 3 400" ctrlrange="-1 1"/>'),
    "several on one joint": actuators(
        '<position joint="j" kp="3" forcerange="-1 1"/><velocity joint="j" kv="3" forcerange="-1 1"/>'
    ),
    "on a site": actuators(
        '<motor site="m" gear="1 2 3 0.1 0.2 0.3"/><motor site="m" refsite="w" gear="1 0 0 0 0 1"/>'
    ),
    "on a slider-crank": actuators(
        '<position cranksite="s" slidersite="w" cranklength="0.7" kp="3" timeconst="0.2"/>'
    ),
    "on a ball joint": actuators(
        '<position joint="bl" kp="3" gear="1 2 3"/><motor jointinparent="bl" gear="0 1 0"/>'
        '<velocity joint="bl" kv="2" gear="0 0 1"/>'
    ),
    "force limits of a joint": model(
        '<actuator><motor joint="j" gear="3"/><motor joint="j"/></actuator>', hinge='actuatorfrcrange="-1 2"'
    ),
    "tendons": model(
        TENDONS.format('stiffness="3 1" damping="1 2" springlength="0.1 0.2"', 'stiffness="3" armature="0.1"')
    ),
    "on tendons": model(
        TENDONS.format('actuatorfrcrange="-1 1"', "")
        + '<actuator><motor tendon="t" gear="2"/><motor tendon="t"/><position tendon="sp" kp="3"/></actuator>'
    ),
    "damping and armature of several on one joint": actuators(
        '<motor joint="j" armature="0.1" damping="1 2" gear="2"/>'
        '<motor jointinparent="j" armature="0.2" damping="0 1 3" gear="3"/>'
    ),
    "damping and armature on a ball joint": actuators(
        '<motor joint="bl" damping="1" armature="0.1" gear="2 1 0"/>'
        '<motor jointinparent="bl" damping="2" gear="0 0 2"/>'
    ),
    "damping and armature of one that is disabled": model(
        '<actuator><motor joint="j" damping="1" armature="0.1" gear="2" group="2"/></actuator>',
        '<option actuatorgroupdisable="2"/>',
    ),
    "damping and armature on tendons": model(
        TENDONS.format("", "") + '<actuator><motor tendon="t" gear="2" damping="1" armature="0.2"/>'
        '<motor tendon="sp" gear="2" damping="1" armature="0.2"/></actuator>'
    ),
    "no dampers": model(hinge='damping="1"', option='<option><flag damper="disable"/></option>'),
    "no springs": model(hinge='stiffness="1"', option='<option><flag spring="disable"/></option>'),
    "no friction": model(hinge='frictionloss="1"', option='<option><flag frictionloss="disable"/></option>'),
    "no constraints": model(
        '<equality><connect site1="m" site2="w"/></equality>',
        '<option><flag constraint="disable"/></option>',
        hinge='frictionloss="1" range="-1 1"',
    ),
    "no clamping": model(
        '<actuator><motor joint="j" ctrlrange="-1 1"/></actuator>',
        '<option><flag clampctrl="disable"/></option>',
    ),
    "no actuation": model(
        '<actuator><motor joint="j"/></actuator>', '<option><flag actuation="disable"/></option>'
    ),
    "gravity compensation": model(body='gravcomp="0.7"', option='<option gravity="1 2 -3"/>'),
}


@pytest.mark.parametrize("case", AS_IN_MUJOCO)
def test_accelerations_are_those_of_mujoco(case: str, tmp_path: Path) -> None:
    """Forces of every kind at once, where nothing constrains the motion; controls beyond their limits, too."""
    file = tmp_path / "model.xml"
    file.write_text(AS_IN_MUJOCO[case])
    mechanism = sr.load(file)
    assert not mechanism.report.left_out
    system, theirs = sr.System(mechanism), mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(3)
    for _ in range(3):
        mujoco.mj_resetData(theirs, data)
        mujoco.mj_integratePos(theirs, data.qpos, rng.uniform(-0.4, 0.4, theirs.nv), 1.0)
        data.qvel[:] = rng.uniform(-1.0, 1.0, theirs.nv)
        data.ctrl[:] = rng.uniform(-1.5, 1.5, theirs.nu)
        data.act[:] = rng.uniform(-0.8, 0.8, theirs.na)
        mujoco.mj_forward(theirs, data)
        q = np.concatenate([data.qpos, data.act])
        u = data.ctrl if system.nu else None
        a = system.forward_dynamics(q, data.qvel, u=u).a
        scale = max(1.0, float(np.abs(data.qacc_smooth).max()))
        np.testing.assert_allclose(a, data.qacc_smooth, atol=1e-11 * scale)


def dcmotor(more: str) -> str:
    return actuators(f'<dcmotor name="u" joint="j" motorconst="0.05" resistance="2" {more}/>')


MUSCLE = '<muscle name="u" joint="j" lengthrange="0 1"/>'
# model, kind and name of the entry, what its reason says
NAMED = {
    "muscle": (actuators(MUSCLE), "actuator", "u", "muscle"),
    "muscle dynamics": (
        actuators('<general name="u" joint="j" dyntype="muscle" dynprm="0.01 0.04" gainprm="3"/>'),
        "actuator",
        "u",
        "activation dynamics of kind 'muscle'",
    ),
    "user dynamics": (
        actuators('<general name="u" joint="j" dyntype="user" actdim="2" gainprm="3"/>'),
        "actuator",
        "u",
        "activation dynamics of kind 'user'",
    ),
    "user gain": (
        actuators('<general name="u" joint="j" gaintype="user"/>'),
        "actuator",
        "u",
        r"law \(user\)",
    ),
    "dcmotor with cogging": (dcmotor('cogging="0.1 6 0"'), "actuator", "u", "cogging"),
    "dcmotor with heat": (dcmotor('thermal="1 2 3 4 5 6"'), "actuator", "u", "heat"),
    "dcmotor with friction": (dcmotor('lugre="1 2 3 4 5"'), "actuator", "u", "LuGre friction"),
    "dcmotor with a controller": (
        dcmotor(f'input="{VELOCITY}" controller="0 0 3"'),
        "actuator",
        "u",
        "input is not its voltage",
    ),
    "dcmotor with a slow voltage": (dcmotor('saturation="0 0 0.5"'), "actuator", "u", "current_rate"),
    "pid": (actuators('<pid name="u" joint="j" kp="3" ki="1"/>'), "actuator", "u", r"law \(pid\)"),
    "orientation": (actuators('<orientation name="u" joint="bl" kp="3"/>'), "actuator", "u", "so3"),
    "adhesion": (
        actuators('<adhesion name="u" body="b" ctrlrange="0 1" gain="3"/>'),
        "actuator",
        "u",
        "adhesion",
    ),
    "delay": (
        actuators('<motor name="u" joint="j" delay="0.01" nsample="3"/>'),
        "actuator",
        "u",
        "delay of 0.01 s",
    ),
    "gravity compensation by limited actuators of a joint above": (
        model(hinge='actuatorgravcomp="true" actuatorfrcrange="-1 1"', body='gravcomp="1"'),
        "joint",
        "j",
        "does not bound the compensation",
    ),
    "margin": (model(hinge='range="-10 10" margin="0.1"'), "joint limits", "j", "margin of 0.1"),
    "yield": (model(hinge='stiffness="3" springyield="0.01"'), "joint spring", "j", "yield"),
    "yield of a tendon": (
        model(TENDONS.format('stiffness="3" springyield="0.01"', "")),
        "fixed tendon",
        "t",
        "yield",
    ),
    "higher orders of a ball joint": (
        model(ball='stiffness="3 1"'),
        "joint spring",
        "bl",
        "above first order",
    ),
    "wind": (model(option='<option wind="1 0 0" density="1.2"/>'), "fluid", "density", "drag and lift"),
}

if MUJOCO < 4:  # elements that older releases do not know
    NAMED = {case: given for case, given in NAMED.items() if "yield" not in case and case != "pid"}


@pytest.mark.parametrize("case", NAMED)
def test_what_is_not_kept_is_named(case: str, tmp_path: Path) -> None:
    xml, kind, name, reason = NAMED[case]
    file = tmp_path / "model.xml"
    file.write_text(xml)
    with pytest.warns(sr.ModelWarning, match="left out"):
        report = sr.load(file).report
    entries = [entry for entry in report.left_out if (entry.kind, entry.name) == (kind, name)]
    assert len(entries) == 1, report
    assert re.search(reason, entries[0].reason)


def test_limits_that_are_disabled_are_not_reported(tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    file.write_text(model(hinge='range="-1 1"', option='<option><flag limit="disable"/></option>'))
    mechanism = sr.load(file)
    assert next(iter(mechanism.joints())).limits == (None,)
    assert not mechanism.report.of(Outcome.KEPT)


def test_a_left_out_actuator_leaves_its_armature(tmp_path: Path) -> None:
    """MuJoCo reflects damping and armature whatever the actuator does."""
    file = tmp_path / "model.xml"
    file.write_text(actuators(MUSCLE.replace("/>", ' damping="2" armature="0.5" gear="2"/>')))
    joint = next(iter(sr.load(file).joints()))
    assert (joint.damping, joint.armature) == ((8.0,), (2.0,))
