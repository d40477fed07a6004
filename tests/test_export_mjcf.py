"""Export to MJCF: what is written has the same coordinates, matrices and forces in MuJoCo and when read back."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from sarrus.errors import ModelError, UnsupportedElementError
from sarrus.mechanism.elements import Shape
from sarrus.mechanism.load import load
from sarrus.mechanism.mechanism import Mechanism
from sarrus.mechanism.pose import Pose, rotation_of_quaternion
from sarrus.system import System

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
    assert model.nq == len(mechanism.coordinate_names())
    assert model.nv == len(mechanism.velocity_names())
    assert [model.body(i).name for i in range(1, model.nbody)] == list(mechanism.bodies)
    np.testing.assert_array_equal(model.body_mass[1:], [body.mass for body in mechanism.bodies.values()])
    np.testing.assert_array_equal(model.opt.gravity, mechanism.gravity)
    scalar = set(mechanism.coordinate_names()) & set(mechanism.velocity_names())
    for k, name in enumerate(mechanism.coordinate_names()):
        if name in scalar and not name.startswith("j4."):
            assert model.joint(name).qposadr[0] == k
    references = [x for joint in mechanism.joints() for x in joint.reference]
    turned_free = [n.startswith("j4.") for n in mechanism.coordinate_names()]
    np.testing.assert_allclose(
        model.qpos0[~np.array(turned_free)], np.array(references)[~np.array(turned_free)], atol=1e-15
    )


@pytest.mark.parametrize("seed", range(4))
def test_matrices_and_forces_equal_those_of_mujoco(seed: int, tmp_path: Path) -> None:
    mechanism = random_mechanism(seed)
    system = System(mechanism)
    model = mujoco.MjModel.from_xml_path(str(written(mechanism, tmp_path)))
    data = mujoco.MjData(model)
    for k in range(3):
        q, v = random_state(system, 10 * seed + k)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, (0.7, -1.1)
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, mass, data.qM)
        scale = np.abs(mass).max()
        np.testing.assert_allclose(system.mass_matrix(q), mass, atol=1e-12 * scale)
        bias = system.bias_force(q, v)
        np.testing.assert_allclose(bias, data.qfrc_bias, atol=1e-12 * (1 + np.abs(bias).max()))
        positions, _ = system.body_placements(q)
        np.testing.assert_allclose(positions, data.xpos[1:], atol=1e-12)
