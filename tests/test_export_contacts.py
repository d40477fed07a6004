"""Contacts in exported models: MuJoCo rests, slides and leaves the ground where it should."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import sarrus as sr
from mechanisms import random_pose, rotation_about, unit
from sarrus.base.errors import ArgumentError, ModelError, UnsupportedElementError
from sarrus.dynamics.impacts import activity

MASS, GRAVITY, TALL = 2.0, 9.81, 0.05


def block(angle: float = 0.0, drop: float = 0.0, **contact: object) -> sr.Mechanism:
    """Return a block on four corners over a plane that slopes down along x, as high above it as ``drop``."""
    mechanism = sr.Mechanism("block", gravity=(0, 0, -GRAVITY))
    turn = rotation_about((0, 1, 0), angle)
    mechanism.add_body(
        "block",
        MASS,
        (0.02, 0.01, 0),
        inertia=(0.004, 0.006, 0.008),
        shapes=[sr.Shape("box", np.full(3, 0.2))],
    )
    pose = sr.Pose.of(turn @ (0, 0, TALL + drop), rotation=turn)
    mechanism.add_joint("block", "free", "world", "block", reference=[*pose.position, *pose.quaternion])
    mechanism.add_contact_patch(
        "foot", "block", (0, 0, -TALL), extent=(0.1, 0.06), normal=turn[:, 2], **contact
    )
    mechanism.world_shapes = (sr.Shape("box", np.full(3, 0.3)),)
    return mechanism


def exported(
    mechanism: sr.Mechanism, tmp_path: Path, **options: object
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    path = tmp_path / "model.xml"
    mechanism.to_mjcf(path, contacts="geoms", **options)
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


def forces_of(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """Return normal force and friction of every contact that MuJoCo finds."""
    out = np.zeros((data.ncon, 6))
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, out[k])
    return out[:, :3]


def test_a_dropped_block_comes_to_rest_on_the_plane_with_its_weight_on_the_corners(tmp_path):
    model, data = exported(block(drop=0.05, friction_coefficient=0.6), tmp_path)
    assert model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    for _ in range(2000):
        mujoco.mj_step(model, data)
    assert np.abs(data.qvel).max() < 1e-6
    assert data.qpos[2] == pytest.approx(TALL, abs=1e-3)  # MuJoCo's contacts give way a little
    np.testing.assert_allclose(data.qpos[[4, 5]], 0.0, atol=5e-3)
    forces = forces_of(model, data)[:, 0]
    assert len(forces) == 4  # the block and the box around the ground draw only
    assert forces.sum() == pytest.approx(MASS * GRAVITY, rel=1e-6)
    # The centre of pressure is under the mass.
    points = np.array([data.contact[k].pos for k in range(4)])
    np.testing.assert_allclose(forces @ points[:, :2] / forces.sum(), data.xipos[1][:2], atol=1e-5)


@pytest.mark.parametrize(("angle", "slides"), [(0.3, False), (0.5, True)])
def test_friction_is_that_of_the_contact(angle, slides, tmp_path):
    model, data = exported(block(angle, friction_coefficient=0.4), tmp_path)  # tan 0.3 < 0.4 < tan 0.5
    for _ in range(300):
        mujoco.mj_step(model, data)
    forces = forces_of(model, data)
    assert (np.linalg.norm(data.qvel[:3]) > 0.5) == slides
    if slides:
        np.testing.assert_allclose(np.hypot(forces[:, 1], forces[:, 2]), 0.4 * forces[:, 0], rtol=1e-4)
    else:
        friction = np.linalg.norm(forces[:, 1:].sum(axis=0))
        assert friction == pytest.approx(MASS * GRAVITY * np.sin(angle), rel=1e-3)


def test_a_frictionless_contact_slides_and_one_without_coefficient_has_that_of_mujoco(tmp_path):
    model, _ = exported(block(friction="frictionless"), tmp_path)
    assert set(model.pair_dim) == {1}
    model, _ = exported(block(), tmp_path)
    assert set(model.pair_dim) == {3}
    np.testing.assert_array_equal(model.pair_friction[:, :2], 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_spheres_touch_where_the_points_do_in_the_reference_pose(seed, tmp_path):
    rng = np.random.default_rng(seed)
    mechanism = sr.Mechanism("pair")
    mechanism.add_body("table", 1.0, inertia=(1, 1, 1))
    mechanism.add_joint("table", "fixed", "world", "table", parent_pose=random_pose(rng))
    for name in ("a", "b"):
        mechanism.add_body(name, 1.0, inertia=(1, 1, 1))
        pose = random_pose(rng)
        kind, reference = (
            ("free", [*pose.position, *pose.quaternion]) if name == "a" else ("universal", [0.3, -0.4])
        )
        mechanism.add_joint(name, kind, "world", name, reference=reference)
    normals = unit(rng), unit(rng)
    for k, (body, ground) in enumerate((("a", "world"), ("b", "world"), ("a", "table"), ("b", "world"))):
        mechanism.add_contact(
            f"c{k}", body, rng.normal(size=3), ground=ground, normal=normals[k % 2], offset=0.1
        )
    gaps = activity.gaps(sr.System(mechanism), sr.System(mechanism).neutral())
    model, data = exported(mechanism, tmp_path, contact_radius=0.03)
    mujoco.mj_forward(model, data)
    assert model.npair == 4
    planes = [k for k in range(model.ngeom) if model.geom_type[k] == mujoco.mjtGeom.mjGEOM_PLANE]
    assert len(planes) == 3  # c1 and c3 share theirs
    seen = {}
    for pair in zip(model.pair_geom1, model.pair_geom2):
        plane, sphere = sorted(map(int, pair), key=lambda geom: geom not in planes)
        assert model.geom(sphere).size[0] == 0.03
        seen[model.geom(sphere).name] = mujoco.mj_geomDistance(model, data, plane, sphere, 100.0, None)
    assert seen == pytest.approx(gaps, abs=1e-12)


def test_nothing_but_the_pairs_collides(tmp_path):
    mechanism = block(drop=0.5)
    mechanism.add_body("other", 1.0, inertia=(1, 1, 1), shapes=[sr.Shape("box", np.full(3, 0.2))])
    mechanism.add_joint("other", "free", "world", "other", parent_pose=(0, 0, TALL + 0.5))
    mechanism.add_contact("c", "other", (0, 0, -TALL), normal=(1, 0, 0), offset=-5.0)
    model, data = exported(mechanism, tmp_path)
    mujoco.mj_forward(model, data)
    assert data.ncon == 0
    assert model.npair == 5


def test_a_model_that_is_read_back_has_its_contacts_by_name(tmp_path):
    mechanism = block(drop=0.1, friction_coefficient=0.3)
    exported(mechanism, tmp_path)
    again = sr.load(tmp_path / "model.xml")
    for name in mechanism.patches["foot"].contacts:
        again.add_contact(name, geom=name)
    one, two = sr.System(mechanism), sr.System(again)
    assert activity.gaps(two, two.neutral()) == pytest.approx(activity.gaps(one, one.neutral()), abs=1e-14)
    assert again.contacts["foot.1"].friction_coefficient == 0.3


def test_contacts_may_be_left_out(tmp_path):
    path = tmp_path / "model.xml"
    block().to_mjcf(path, contacts="ignore")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert (model.npair, model.ngeom) == (0, 2)
    assert not sr.load(path).geoms


def test_what_cannot_be_written_is_an_error(tmp_path):
    path = tmp_path / "model.xml"
    with pytest.raises(
        UnsupportedElementError, match=r"contact 'foot.1'.*contacts='geoms' writes.*'ignore' leaves"
    ):
        block().to_mjcf(path)
    with pytest.raises(ArgumentError, match=r"unknown contacts 'geom'\. Did you mean 'geoms'"):
        block().to_mjcf(path, contacts="geom")
    for radius in (0.0, -1.0):
        with pytest.raises(ArgumentError, match="contact_radius must be positive"):
            block().to_mjcf(path, contacts="geoms", contact_radius=radius)
    with pytest.raises(ModelError, match="contact_radius must be finite"):
        block().to_mjcf(path, contacts="geoms", contact_radius=np.nan)
    moving = block()
    moving.add_body("cart", 1.0, inertia=(1, 1, 1))
    moving.add_joint("cart", "prismatic", "world", "cart")
    moving.add_contact("ride", "block", ground="cart")
    with pytest.raises(UnsupportedElementError, match="contact 'ride': its plane is on 'cart', which moves"):
        moving.to_mjcf(path, contacts="geoms")
    assert not path.exists()
