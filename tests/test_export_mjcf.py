"""Export to MJCF: the same coordinates, matrices and forces in MuJoCo, and when the file is read back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from mujoco_rows import seen_from_carrier
from sarrus.base.errors import ModelError, UnsupportedElementError
from sarrus.dynamics.system import System
from sarrus.model.builders.mechanism import Mechanism
from sarrus.model.formats.load import load
from sarrus.model.mechanism.elements import Shape
from sarrus.model.mechanism.pose import Pose, rotation_of_quaternion

KINDS = ("revolute", "prismatic", "cylindrical", "universal", "planar", "spherical", "fixed")
FREEDOMS = {"cylindrical": 2, "universal": 2, "planar": 3, "spherical": 3, "fixed": 0}


def random_pose(rng: np.random.Generator) -> Pose:
    return Pose.of(rng.uniform(-1, 1, 3), quaternion=rng.normal(size=4))


def random_axes(rng: np.random.Generator) -> dict[str, np.ndarray]:
    rotation = rotation_of_quaternion(rng.normal(size=4))
    return {"axis": rotation[:, 0], "axis2": rotation[:, 1]}


def random_inertia(rng: np.random.Generator) -> np.ndarray:
    points = rng.normal(size=(8, 3))
    return 0.1 * sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points)


def random_mechanism(seed: int, bodies: int = 7, free: bool = True) -> Mechanism:
    """A random tree with every joint kind that MJCF can say, springs, couplings, actuators, closures."""
    rng = np.random.default_rng(seed)
    m = Mechanism(f"random{seed}", gravity=rng.normal(size=3))
    names = ["world"]
    for k in range(bodies):
        name = f"body{k}"
        m.add_body(name, rng.uniform(0.5, 2.0), rng.normal(size=3), random_inertia(rng))
        parent = names[rng.integers(len(names))]
        if free and k == 2:
            reference = [*rng.normal(size=3), *random_pose(rng).quaternion]
            m.add_joint(f"j{k}", "free", "world", name, reference=reference, damping=0.3, armature=0.02)
        elif free and k == 4:  # turned, and on a body that may move
            m.add_joint(
                f"j{k}", "free", parent, name, parent_pose=random_pose(rng), damping=(1, 2, 3, 4, 4, 4)
            )
        else:
            kind = KINDS[rng.integers(len(KINDS))]
            n = FREEDOMS.get(kind, 1)
            ball = kind == "spherical"
            m.add_joint(
                f"j{k}",
                kind,
                parent,
                name,
                parent_pose=random_pose(rng),
                child_pose=random_pose(rng),
                reference=0.0 if ball or n == 0 else rng.normal(size=n),
                limits=None if ball else [(-3.0 - i, 2.5) for i in range(n)],
                stiffness=rng.uniform(0, 3),
                spring_reference=0.0 if ball or n == 0 else rng.normal(size=n),
                damping=0.4 if ball else rng.uniform(0, 1, n),
                armature=0.1 if ball else rng.uniform(0, 0.3, n),
                **random_axes(rng),
            )
        names.append(name)
    m.add_joint(
        "extra", "revolute", m.bodies["body0"].parent, "body0", child_pose=random_pose(rng), armature=0.1
    )
    m.add_body("tip", 0.7, (0.1, 0.2, 0.3), (0.2, 0.25, 0.4))
    m.add_joint("tip_slide", "prismatic", "body1", "tip", parent_pose=random_pose(rng), **random_axes(rng))
    m.add_spring_damper(
        "rope",
        "world",
        "tip",
        point1=(1, 2, 3),
        point2=(0.1, 0, 0),
        stiffness=4,
        damping=0.5,
        rest_length=(0.2, 0.9),
    )
    m.add_coordinate_spring(
        "pair", {"tip_slide": 1.5, "extra": -0.5}, stiffness=3, damping=0.2, rest_length=-1.0
    )
    m.add_actuator(
        "motor", "extra", gear=3.0, gain=2.0, bias=(0.1, -0.2, -0.3), limits=(-2, 2), force_limits=(-5, 4)
    )
    m.add_actuator("both", {"extra": 2.0, "tip_slide": -1.0}, gain=1.5)
    m.add_closure("hang", "point", "tip", "body1", pose1=random_pose(rng), pose2=random_pose(rng))
    m.add_closure("glue", "weld", "tip", "world", pose1=random_pose(rng), pose2=random_pose(rng))
    m.add_closure(
        "rod", "distance", "body0", "world", pose1=random_pose(rng), pose2=random_pose(rng), length=1.3
    )
    m.add_coupling("gear", {"extra": (0.1, 2.0), "tip_slide": -3.0}, {"extra": 0.2, "tip_slide": -0.1})
    m.add_coupling("cam", {"tip_slide": 2.0, "extra": (0.3, 0.1, -0.2, 0.05, 0.01)}, {"extra": 0.7})
    return m


def random_state(system: System, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=system.nq)
    for k, name in enumerate(system.coordinate_names):
        if name.endswith(".qw"):
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
    return q, rng.normal(size=system.nv)


def written(mechanism: Mechanism, folder: Path) -> Path:
    path = folder / "model.xml"
    mechanism.to_mjcf(path)
    return path


@pytest.mark.parametrize("seed", range(4))
def test_coordinates_are_the_same_in_mujoco(seed: int, tmp_path: Path) -> None:
    mechanism = random_mechanism(seed)
    model = mujoco.MjModel.from_xml_path(str(written(mechanism, tmp_path)))
    assert model.nq == len(mechanism.coordinate_names)
    assert model.nv == len(mechanism.velocity_names)
    assert [model.body(i).name for i in range(1, model.nbody)] == list(mechanism.bodies)
    np.testing.assert_array_equal(model.body_mass[1:], [body.mass for body in mechanism.bodies.values()])
    np.testing.assert_array_equal(model.opt.gravity, mechanism.gravity)
    scalar = set(mechanism.coordinate_names) & set(mechanism.velocity_names)
    for k, name in enumerate(mechanism.coordinate_names):
        if name in scalar and not name.startswith("j4."):
            assert model.joint(name).qposadr[0] == k
    references = [x for joint in mechanism.joints() for x in joint.reference]
    turned_free = [n.startswith("j4.") for n in mechanism.coordinate_names]
    np.testing.assert_allclose(
        model.qpos0[~np.array(turned_free)], np.array(references)[~np.array(turned_free)], atol=1e-15
    )


def mujoco_mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    columns = np.zeros((model.nv, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, columns[k], unit)
    return columns.T


@pytest.mark.parametrize("seed", range(4))
def test_matrices_and_forces_equal_those_of_mujoco(seed: int, tmp_path: Path) -> None:
    mechanism = random_mechanism(seed)
    system = System(mechanism)
    model = mujoco.MjModel.from_xml_path(str(written(mechanism, tmp_path)))
    data = mujoco.MjData(model)
    for k in range(3):
        q, v = random_state(system, 10 * seed + k)
        u = np.array([0.05, -1.1])
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        mujoco.mj_forward(model, data)
        close(system.mass_matrix(q), mujoco_mass_matrix(model, data))
        close(system.bias_force(q, v), data.qfrc_bias)
        close(system.body_placements(q)[0], data.xpos[1:])
        force = system.passive_force(q, v) + system.actuation_matrix(q) @ u
        close(force, data.qfrc_passive + data.qfrc_actuator)
        rows = data.efc_J.reshape(-1, model.nv)[:3], data.efc_pos[:3]
        jacobian, _ = seen_from_carrier(mechanism, "hang", model, data, *rows)
        close(np.abs(system.constraint_jacobian(q)[system.closure_rows["hang"]]), np.abs(jacobian))


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * (1.0 + np.abs(theirs).max()))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_reads_back_as_the_same_equations(seed: int, tmp_path: Path) -> None:
    mechanism = random_mechanism(seed)
    system, again = System(mechanism), System(load(written(mechanism, tmp_path)))
    assert again.coordinate_names == system.coordinate_names
    assert again.constraint_names == system.constraint_names
    assert again.actuator_names == system.actuator_names
    limits = [limit for joint in mechanism.joints() for limit in joint.limits]
    assert [limit for joint in again.mechanism.joints() for limit in joint.limits] == limits
    for k in range(3):
        q, v = random_state(system, 10 * seed + k)
        close(again.mass_matrix(q), system.mass_matrix(q))
        close(again.bias_force(q, v), system.bias_force(q, v))
        close(again.passive_force(q, v), system.passive_force(q, v))
        close(again.actuation_matrix(q), system.actuation_matrix(q))
        # A joint equality is solved for its first linear coordinate: same row up to a factor.
        scale = np.ones(system.nc)
        for name, factor in (("gear", 2.0), ("cam", 2.0)):
            scale[system.closure_rows[name]] = factor
        close(scale * again.constraint_residual(q), system.constraint_residual(q))
        close(scale[:, None] * again.constraint_jacobian(q), system.constraint_jacobian(q))
        close(scale * again.constraint_bias(q, v), system.constraint_bias(q, v))


def pendulum(**joint: object) -> Mechanism:
    m = Mechanism("pendulum")
    m.add_body("rod", 1.0, (0.0, 0.0, -0.5), (0.1, 0.1, 0.01))
    m.add_joint("pivot", **({"kind": "revolute", "axis": (0, 1, 0)} | joint), parent="world", child="rod")
    return m


def test_a_revolute_closure_has_the_same_tangent_space(tmp_path: Path) -> None:
    m = Mechanism("four_bar")
    for name, length in (("crank", 0.4), ("rocker", 0.7)):
        m.add_body(name, 1.0, (0, 0, length / 2), (0.02, 0.02, 0.001))
    m.add_body("coupler", 1.0, (0.5, 0, 0), (0.001, 0.1, 0.1))
    m.add_joint("a", "revolute", "world", "crank", axis=(0, 1, 0))
    m.add_joint("b", "revolute", "crank", "coupler", axis=(0, 1, 0), parent_pose=(0, 0, 0.4))
    m.add_joint("d", "revolute", "world", "rocker", axis=(0, 1, 0), parent_pose=(1, 0, 0))
    m.add_closure("c", "revolute", "coupler", "rocker", axis=(0, 1, 0), pose1=(0.9, 0, 0), pose2=(0, 0, 0.7))
    system, again = System(m), System(load(written(m, tmp_path)))
    assert list(again.mechanism.closures) == ["c", "c.axis"]
    q = system.assemble([0.3, 0.2, 0.1]).q
    np.testing.assert_allclose(again.constraint_residual(q), 0.0, atol=1e-12)
    ours, theirs = system.constraint_jacobian(q), again.constraint_jacobian(q)
    projections = [np.linalg.pinv(a, rcond=1e-9) @ a for a in (ours, theirs)]
    np.testing.assert_allclose(*projections, atol=1e-12)


@pytest.mark.parametrize("name", ["four_bar", "frames", "nested_include"])
def test_an_imported_sdf_model_opens_in_mujoco(name: str, tmp_path: Path) -> None:
    mechanism = load(Path(__file__).parent / "models" / f"{name}.sdf")
    system = System(mechanism)
    model = mujoco.MjModel.from_xml_path(str(written(mechanism, tmp_path)))
    data = mujoco.MjData(model)
    q, v = random_state(system, 5)
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    close(system.mass_matrix(q), mujoco_mass_matrix(model, data))
    close(system.bias_force(q, v), data.qfrc_bias)
    close(system.body_placements(q)[0], data.xpos[1:])


def test_shapes_and_keyframes_are_written(tmp_path: Path) -> None:
    m = pendulum()
    m.world_shapes = (Shape("plane", np.zeros(3)),)
    m.add_keyframe("up", [np.pi])
    line = Shape("line", points=np.array([[0.0, 0, 0], [0, 0, -1], [0.2, 0, -1]]))
    kinds = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "plane")
    solid = [Shape(kind, np.array([0.1, 0.2, 0.3]), Pose.of((1, 2, 3))) for kind in kinds]
    m.add_body("hat", shapes=(line, *solid, Shape("mesh", np.ones(3), file="not--here.stl")))
    m.add_joint("glue", "fixed", "rod", "hat")
    model = mujoco.MjModel.from_xml_path(str(written(m, tmp_path)))
    assert model.ngeom == 1 + 2 + len(kinds)
    assert not model.geom_contype.any()
    assert model.body_mass.sum() == 1.0
    again = load(tmp_path / "model.xml")
    np.testing.assert_array_equal(again.keyframes["up"].q, m.keyframes["up"].q)
    assert len(again.bodies["hat"].shapes) == 2 + len(kinds)


def test_limits_infinite_on_one_side_are_kept(tmp_path: Path) -> None:
    again = load(written(pendulum(limits=(-np.inf, 1.5)), tmp_path))
    assert next(again.joints()).limits == ((-np.inf, 1.5),)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.add_force("wind", lambda q, v, t: q), "force 'wind'.*user's force"),
        (lambda m: m.add_closure("slot", "point_on_line", "rod", "world"), "closure 'slot'.*point_on_line"),
        (lambda m: m.add_coupling("cam", {"pivot": (0, 0, 1)}), "coupling 'cam'.*degrees"),
        (lambda m: add_child(m, "screw", pitch=0.1), "joint 'next'.*screw.*cylindrical"),
        (lambda m: add_child(m, "spherical", damping=(1, 2, 3)), "joint 'next'.*one damping"),
        (lambda m: add_child(m, "spherical", limits=[(0, 1)] * 3), "joint 'next'.*no limits"),
        (lambda m: add_child(m, "revolute", mass=0.0), "body 'child'.*positive mass"),
        (lambda m: add_child(m, "revolute", inertia=(0, 0, 0)), "body 'child'.*moments of inertia"),
    ],
)
def test_what_mjcf_cannot_say_is_an_error_that_names_it(change, message: str, tmp_path: Path) -> None:
    m = pendulum()
    change(m)
    with pytest.raises(UnsupportedElementError, match=message):
        m.to_mjcf(tmp_path / "model.xml")
    assert not (tmp_path / "model.xml").exists()


def add_child(m: Mechanism, kind: str, mass: float = 1.0, inertia=(1, 1, 1), **joint: object) -> None:
    m.add_body("child", mass, inertia=inertia)
    m.add_joint("next", kind, "rod", "child", **joint)


def test_what_mujoco_refuses_is_an_error_with_its_message(tmp_path: Path) -> None:
    m = pendulum()
    add_child(m, "spherical")
    m.add_joint("after", "revolute", "rod", "child")
    with pytest.raises(ModelError, match=r"MuJoCo refuses it: .*ball followed by rotation"):
        m.to_mjcf(tmp_path / "model.xml")
