"""Mass matrices of URDF robots against NumPy, Pinocchio and MuJoCo; inertias that no body can have; order."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np
import pytest

from sarrus.base.errors import (
    ArgumentError,
    ModelError,
    ModelFileError,
    ModelWarning,
    UnsupportedElementError,
)
from sarrus.dynamics.system import System
from sarrus.model.builders.document import from_json, to_json
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from urdf_robots import BOX, DAMPED, ROBOTS, Array, joint, link, mass_matrix, origin_of

IMPOSSIBLE = {
    "A + B < C": "a",
    "negative eigenvalue": "a",
    "negative mass": "c",
    "inertia without mass": "rotor",
}


def read(folder: Path, xml: str, name: str = "robot.urdf", **options: object) -> Mechanism:
    file = folder / name
    file.write_text(xml)
    return load(file, **options)


def configuration(system: System, seed: int) -> Array:
    """A random configuration with unit quaternions."""
    rng = np.random.default_rng(seed)
    q = system.neutral() + rng.uniform(-0.9, 0.9, system.nq)
    names = list(system.coordinate_names)
    for name in (n for n in names if n.endswith(".qw")):
        at = names.index(name)
        q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    return q


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix_is_that_of_the_file(name: str, tmp_path: Path) -> None:
    system = System(read(tmp_path, ROBOTS[name]))
    for seed in range(3):
        q = configuration(system, seed)
        coordinates = dict(zip(system.coordinate_names, q, strict=True))
        expected = mass_matrix(ROBOTS[name], coordinates, tuple(system.velocity_names))
        np.testing.assert_allclose(
            system.mass_matrix(q), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
        )


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
@pytest.mark.parametrize(
    "name", sorted(ROBOTS.keys() - {"negative mass"})
)  # Pinocchio adds inertias of positive mass only
def test_mass_matrix_is_pinocchios(name: str, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    system = System(read(tmp_path, ROBOTS[name]))
    model = pin.buildModelFromXML(ROBOTS[name])
    placed = {j.get("name"): origin_of(j) for j in ElementTree.fromstring(ROBOTS[name]).findall("joint")}
    q = configuration(system, 5)
    here, theirs, turn = (
        dict(zip(system.coordinate_names, q, strict=True)),
        pin.neutral(model),
        np.zeros((model.nv, system.nv)),
    )
    columns = list(system.velocity_names)
    for index in range(1, model.njoints):
        label, j = model.names[index], model.joints[index]
        kind, at, row = j.shortname(), j.idx_q, j.idx_v
        if kind == "JointModelFreeFlyer":
            w, x, y, z = (here[f"{label}.q{c}"] for c in "wxyz")
            pose = pin.SE3(
                pin.Quaternion(w, x, y, z).matrix(), np.array([here[f"{label}.{c}"] for c in "xyz"])
            )
            above = model.parents[index]
            base = model.jointPlacements[index]  # of the joint in the world or the moving link above it
            origin = base if above == 0 else pin.SE3(placed[label][1], placed[label][0])
            theirs[at : at + 7] = pin.SE3ToXYZQUAT(origin.inverse() * pose)
            first = columns.index(f"{label}.vx")
            turn[row : row + 3, first : first + 3] = pose.rotation.T
            turn[row + 3 : row + 6, first + 3 : first + 6] = np.eye(3)
        elif kind == "JointModelPlanar":
            x, y, angle = (here[f"{label}_{c}"] for c in ("TX", "TY", "RZ"))
            c, s = np.cos(angle), np.sin(angle)
            theirs[at : at + 4] = x, y, c, s
            first = columns.index(f"{label}_TX")
            turn[row : row + 3, first : first + 3] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
        else:
            theirs[at : at + j.nq] = (
                [here[label]] if j.nq == 1 else [np.cos(here[label]), np.sin(here[label])]
            )
            turn[row, columns.index(label)] = 1.0
    upper = pin.crba(model, model.createData(), theirs)
    full = np.triu(upper) + np.triu(upper, 1).T
    expected = turn.T @ full @ turn
    np.testing.assert_allclose(system.mass_matrix(q), expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_inertia_that_no_body_can_have_is_taken_as_it_is(name: str, tmp_path: Path) -> None:
    with pytest.warns(ModelWarning, match=f"impossible inertia of '{IMPOSSIBLE[name]}', used unchanged"):
        mechanism = read(tmp_path, ROBOTS[name])
    (entry,) = (e for e in mechanism.report if e.kind == "inertia")
    assert entry.name == IMPOSSIBLE[name]
    assert "taken as it is" in entry.reason
    again = from_json(to_json(mechanism))
    np.testing.assert_array_equal(again.bodies[entry.name].inertia, mechanism.bodies[entry.name].inertia)


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
def test_possible_inertias_are_not_mentioned(tmp_path: Path) -> None:
    xml = ROBOTS["A + B < C"].replace(
        'izz="0.4"', 'izz="0.05000001"'
    )  # a hair too much, as printed digits are
    assert not [e for e in read(tmp_path, xml).report if e.kind == "inertia"]


def test_strict_refuses_impossible_inertias(tmp_path: Path) -> None:
    with pytest.raises(
        ModelFileError, match=r"inertia 'a': principal moments .* break the triangle inequality"
    ):
        read(tmp_path, ROBOTS["A + B < C"], strict=True)


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
@pytest.mark.parametrize(
    "given", ["diaginertia='1 1 3'", "fullinertia='1 1 1 2 0 0'", "diaginertia='-1 2 2' quat='1 1 0 0'"]
)
def test_mjcf_and_sdf_take_them_as_well(given: str, tmp_path: Path) -> None:
    mjcf = (
        "<mujoco><worldbody><body name='a'><joint name='j' axis='1 2 3'/>"
        f"<inertial pos='1 0 0' mass='2' {given}/></body></worldbody></mujoco>"
    )
    with pytest.warns(ModelWarning, match="impossible inertia of 'a'"):
        body = read(tmp_path, mjcf, "m.xml").bodies["a"]
    expected = {
        "diaginertia='1 1 3'": np.diag([1, 1, 3]),
        "fullinertia='1 1 1 2 0 0'": [[1, 2, 0], [2, 1, 0], [0, 0, 1]],
    }.get(given, np.diag([-1, 2, 2]))
    np.testing.assert_allclose(body.inertia, expected, atol=1e-15)
    assert (body.mass, body.com.tolist()) == (2.0, [1.0, 0.0, 0.0])
    with pytest.raises(ModelFileError, match="inertia 'a'"):
        read(tmp_path, mjcf, "m.xml", strict=True)
    xx, yy, zz, xy = np.array(expected)[[0, 1, 2, 0], [0, 1, 2, 1]]
    sdf = (
        "<sdf version='1.9'><model name='m'><link name='a'><inertial><inertia>"
        f"<ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz><ixy>{xy}</ixy></inertia></inertial></link></model></sdf>"
    )
    with pytest.warns(ModelWarning, match="impossible inertia of 'a'"):
        body = read(tmp_path, sdf, "m.sdf").bodies["a"]
    np.testing.assert_array_equal(body.inertia, expected)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ('<mass value="2.0"/>', '<mass value="inf"/>', "body 'a': mass must be finite"),
        ('ixx="0.02"', 'ixx="inf"', "body 'a': inertia must be finite"),
        ('ixx="0.02"', "", "link 'a': <inertia ixx> of <inertial> must be a number"),
        ('<mass value="2.0"/>', "", "link 'a': <mass value> of <inertial> must be a number, got ''"),
        (
            'xyz="0.1 -0.02 0.05"',
            'xyz="0.1 x 0.05"',
            "link 'a': <origin xyz> of <inertial> must be 3 numbers",
        ),
    ],
)
def test_numbers_that_are_none_stay_errors(old: str, new: str, text: str, tmp_path: Path) -> None:
    xml = ROBOTS["A + B < C"]
    with pytest.raises(ModelError, match=text):
        read(tmp_path, xml.replace(old, new, 1))


def test_the_builder_refuses_them_unless_told_and_mujoco_gets_none(tmp_path: Path) -> None:
    mechanism = Mechanism("m")
    with pytest.raises(ModelError, match="triangle"):
        mechanism.add_body("a", 1.0, inertia=(1, 1, 3))
    assert mechanism.add_body("a", 1.0, inertia=(1, 1, 3), physical=False).inertia[2, 2] == 3.0
    mechanism.add_joint("j", "revolute", "world", "a")
    text = to_json(mechanism)
    assert from_json(text).bodies["a"].inertia[2, 2] == 3.0
    with pytest.raises(ArgumentError, match="triangle"):
        from_json(text.replace('"physical":false', '"physical":true'))
    with pytest.raises(UnsupportedElementError, match=r"body 'a': MuJoCo refuses its inertia: .*triangle"):
        mechanism.to_mjcf(tmp_path / "m.xml")


def test_masses_that_are_scaled_need_all_bodies_to_have_one(tmp_path: Path) -> None:
    text = (
        '<mujoco><compiler settotalmass="5"/><worldbody><body name="a"><joint/><body name="b"><joint/>'
        '<geom size="1"/></body></body></worldbody></mujoco>'
    )
    with pytest.raises(ModelFileError, match="settotalmass cannot be applied beside bodies without mass"):
        read(tmp_path, text, "m.xml")
    alone = text.replace('<body name="a"><joint/>', '<body name="a"><joint/><geom size="1"/>')
    assert read(tmp_path, alone, "m.xml").bodies["b"].mass == pytest.approx(2.5)


# --- links without inertial, settings of MuJoCo ----------------------------------------------------


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
def test_a_link_without_inertial_is_massless_whatever_its_shapes(tmp_path: Path) -> None:
    mechanism = read(tmp_path, ROBOTS["frames without inertial"])
    assert mechanism.bodies["tool"].mass == 0.0
    (entry,) = (e for e in mechanism.report if (e.kind, e.name) == ("link", "tool"))
    assert "no <inertial>: massless" in entry.reason
    missing = ROBOTS["frames without inertial"].replace(
        BOX, '<collision><geometry><mesh filename="nowhere.stl"/></geometry></collision>'
    )
    for strict in (None, True, False):
        assert read(tmp_path, missing, strict=strict).bodies["tool"].mass == 0.0


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
def test_settings_that_would_change_inertias_are_told(tmp_path: Path) -> None:
    compiler = '<mujoco><compiler balanceinertia="true" inertiafromgeom="true" boundmass="0.5"/></mujoco>'
    mechanism = read(tmp_path, ROBOTS["frames without inertial"].replace("</robot>", compiler + "</robot>"))
    told = {e.name for e in mechanism.report.left_out if e.kind == "<mujoco> compiler"}
    assert told == {"balanceinertia", "inertiafromgeom", "boundmass"}
    assert mechanism.bodies["tool"].mass == 0.0


# --- floating joints -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
@pytest.mark.parametrize("name", ["floating from the world", "floating below fixed links"])
def test_floating_joints_are_mujocos(name: str, tmp_path: Path) -> None:
    """Order of coordinates, reference, damping and M, where MuJoCo takes the file."""
    # MuJoCo 3.11 turns inertias the wrong way by this angle, and finds principal axes to nine digits
    xml = re.sub(r'(ixy|ixz|iyz)="[^"]*"', r'\1="0"', ROBOTS[name].replace('rpy="0.3 -0.2 0.5"', ""))
    system, model = System(read(tmp_path, xml)), mujoco.MjModel.from_xml_string(xml)
    names = [model.joint(i).name for i in range(model.njnt)]
    assert [j.name for j in system.mechanism.joints()] == names
    damping = [d for j in system.mechanism.joints() for d in j.damping]
    assert damping == model.dof_damping.tolist()
    np.testing.assert_allclose(system.neutral(), model.qpos0, atol=1e-15)
    data, q, full = mujoco.MjData(model), configuration(system, 2), np.zeros((model.nv, model.nv))
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    for row, unit in zip(full, np.eye(model.nv), strict=True):
        mujoco.mj_mulM(model, data, row, unit)
    np.testing.assert_allclose(system.mass_matrix(q), full, atol=1e-12)
    v = np.linspace(-1, 1, system.nv)
    np.testing.assert_allclose(system.passive_force(q, v), -model.dof_damping * v, atol=1e-15)


@pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(12))
def test_order_is_mujocos_with_floating_and_fixed_joints(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    links, fixed, joints = ["base"], {"base"}, []
    for i in range(9):
        parent = links[rng.integers(len(links))]
        kinds = ["fixed", "fixed", "continuous", "planar", *(["floating"] if parent in fixed else [])]
        kind = kinds[rng.integers(len(kinds))]
        links.append(f"l{i}")
        if kind == "fixed" and parent in fixed:
            fixed.add(f"l{i}")
        joints.append(joint(f"j{i}", kind, parent, f"l{i}"))
    moving = link("last") + joint("last", "continuous", "l8", "last")
    parts = "".join([*map(link, links[1:]), *rng.permutation(joints), moving])
    xml = f'<robot name="r"><link name="base"/>{parts}</robot>'
    model = mujoco.MjModel.from_xml_string(xml)
    assert [j.name for j in read(tmp_path, xml).joints()] == [model.joint(i).name for i in range(model.njnt)]


def test_friction_of_a_floating_joint_is_told(tmp_path: Path) -> None:
    xml = ROBOTS["floating in the tree"].replace(DAMPED, '<dynamics damping="0.7" friction="0.2"/>')
    with pytest.warns(ModelWarning, match="joint friction"):
        mechanism = read(tmp_path, xml)
    assert ("joint friction", "f") in {(e.kind, e.name) for e in mechanism.report.kept}
    free = next(j for j in mechanism.joints() if j.kind == "free")
    assert free.damping == (0.7,) * 6
    assert free.friction == (0.2,) * 6
