"""URDF files that urdfdom reads though they are odd: what Pinocchio makes of them is what is made of them here."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from sarrus.base.errors import ModelError, ModelFileError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from test_import_urdf import INERTIAL, joint, robot

pytestmark = pytest.mark.filterwarnings("ignore::sarrus.base.errors.ModelWarning")
ORIGIN = '<origin xyz="0.3 0.2 0.1" rpy="0 0 0.4"/>'
TURN = '<axis xyz="0 1 0"/>'
ODD = {
    "no inertia": robot(joint("continuous", TURN), link=f'<inertial>{ORIGIN}<mass value="2"/></inertial>'),
    "no mass": robot(joint("continuous", TURN), link=f"<inertial>{ORIGIN}</inertial>"),
    "no mass and no moments": robot(
        joint("continuous", TURN),
        link='<inertial><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>',
    ),
    "mimic on a fixed joint": robot(joint("fixed", f'{ORIGIN}<mimic joint="q"/>')),
    "second axis": robot(joint("continuous", TURN + '<axis xyz="1 0 0"/>')),
}


def read(folder: Path, xml: str, **options: object) -> Mechanism:
    file = folder / "robot.urdf"
    file.write_text(xml)
    return load(file, **options)


@pytest.mark.parametrize("name", ODD)
def test_mass_matrix_is_pinocchios(name: str, tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    mechanism = read(tmp_path, ODD[name])
    model = pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    order = [model.idx_vs[model.getJointId(name)] for name in mechanism.velocity_names]
    angles = np.array([0.4, -0.7])[: model.nv]
    q = pin.integrate(model, pin.neutral(model), angles)
    expected = np.triu(pin.crba(model, model.createData(), q))
    expected = (expected + np.triu(expected, 1).T)[np.ix_(order, order)]
    own = System(mechanism).mass_matrix(angles[order])
    np.testing.assert_allclose(own, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ODD)
def test_strict_refuses_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        read(tmp_path, ODD[name], strict=True)
    assert caught.value.element in ("b", "j")


def test_moments_without_a_mass_are_not_lost(tmp_path: Path) -> None:
    link = INERTIAL.replace('<mass value="1"/>', "")
    with pytest.raises(ModelFileError, match="mass value"):
        read(tmp_path, robot(joint("continuous"), link=link))


def test_a_joint_that_mimics_a_fixed_one_stays_free(tmp_path: Path) -> None:
    still = '<joint name="s" type="fixed"><parent link="base"/><child link="c"/></joint><link name="c"/>'
    mechanism = read(tmp_path, robot(joint("continuous", '<mimic joint="s"/>'), still))
    assert not mechanism.couplings
    (told,) = (entry for entry in mechanism.report.left_out if entry.kind == "mimic")
    assert told.name == "j"
    assert "'s' is fixed" in told.reason


@pytest.mark.parametrize(
    "shape",
    [
        '<box size="0 0 0"/>',
        '<sphere radius="-1"/>',
        '<cylinder radius="0.1"/>',
        '<plane normal="0 0 1"/>',
        '<mesh filename="a.stl" scale="1 1 1 1"/>',
        "",
    ],
)
def test_a_shape_that_cannot_be_drawn_does_not_stop_the_load(shape: str, tmp_path: Path) -> None:
    drawn = (
        f"<visual><geometry>{shape}</geometry></visual><collision><geometry>{shape}</geometry></collision>"
    )
    mechanism = read(tmp_path, robot(joint("continuous"), link=INERTIAL + drawn))
    (told,) = (entry for entry in mechanism.report.aside if entry.name == "2 shapes")
    assert "drawing and contact only" in told.reason
    assert not mechanism.bodies["b"].shapes


def test_a_mesh_that_stops_mujoco_without_a_name_is_found(tmp_path: Path) -> None:
    tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "sound.obj").write_text(tetrahedron)
    (tmp_path / "broken.obj").write_text("vn 0 0 1\n" + tetrahedron.replace("f 1 3 2", "f 1//9 3//9 2//9"))
    meshes = "".join(
        f'<visual><geometry><mesh filename="{file}.obj"/></geometry></visual>' for file in ("sound", "broken")
    )
    mechanism = read(tmp_path, robot(joint("continuous"), link=INERTIAL + meshes))
    stops = int(mujoco.__version__.split(".")[0]) >= 4  # before, MuJoCo passed over such a normal
    aside = [entry.name for entry in mechanism.report.aside if entry.kind == "mesh"]
    assert aside == (["broken"] if stops else [])
    assert len(mechanism.bodies["b"].shapes) == (1 if stops else 2)
